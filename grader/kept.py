"""Knows what lies in a submission's folder of results: files written whole, and what they were made from.

Beside `rubric.json` lies `.graded.json`, written last: hashes of the submission, the spec, the grader and the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from grader.gradebook import problem
from grader.lane import RUBRIC, Parcel
from grader.output import write_whole
from grader.submission import Submission

STATE = ".graded.json"


def keep(folder: Path, files: Mapping[str, str], grader_sha256: str) -> dict[str, Any]:
    """Write a submission's files and what they were made from; returns the head of the rubric. Errors: OSError."""
    rubric: dict[str, Any] = json.loads(files[RUBRIC])
    with suppress(FileNotFoundError):
        (folder / STATE).unlink()  # until all is written, nothing is
    for name, text in files.items():
        write_whole(folder / name, text)
    made_from = {
        "name": rubric["submission"]["name"],
        "submission": rubric["submission"]["sha256"],
        "spec": rubric["assignment"]["spec_sha256"],
        "grader": grader_sha256,
        "seed": rubric["provenance"]["seed"],
        "isolation": rubric["provenance"]["isolation"],
    }
    digests = {name: _sha256(text.encode("utf-8", "replace")) for name, text in files.items()}
    write_whole(folder / STATE, json.dumps({**made_from, "files": digests}, indent=2, sort_keys=True) + "\n")
    return head(rubric)


def head(rubric: dict[str, Any]) -> dict[str, Any]:
    """A rubric without its criteria, with its `problem`: what is kept in memory of each of thousands."""
    short = {key: value for key, value in rubric.items() if key not in ("criteria", "misconceptions")}
    return {**short, "problem": problem(rubric)}


def origin(parcel: Parcel, isolation: str) -> dict[str, Any]:
    """What the files would be made from if they were made now."""
    assert isinstance(parcel.submission, Submission)
    return {
        "name": parcel.name,
        "submission": parcel.submission.sha256,
        "spec": parcel.spec_sha256,
        "grader": parcel.grader,
        "seed": parcel.seed,
        "isolation": isolation,
    }


def before(folder: Path, made_from: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any] | None:
    """The head of the rubric that lies there, when it and the named files are whole and were made from the same."""
    try:
        state = json.loads((folder / STATE).read_bytes())
        digests = state.pop("files")
        data = {name: (folder / name).read_bytes() for name in {RUBRIC, *names}}
        if state != made_from or any(digests[name] != _sha256(content) for name, content in data.items()):
            return None
        return head(json.loads(data[RUBRIC]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def forget(folder: Path) -> None:
    """What lay there from before says nothing of this submission."""
    for name in (STATE, RUBRIC):
        with suppress(OSError):
            (folder / name).unlink()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
