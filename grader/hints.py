"""Knows what to do about an exception of the student's code, where its text or its place tells."""

from __future__ import annotations

import re

from grader.part import Part
from grader.student import Student
from grader.worker import Raised

NUMPY = re.compile(rb"^[ \t]*(?:import|from)[ \t]+numpy\b", re.M)
DECLARED = re.compile(rb"^BACKEND\b", re.M)
FORWARD = re.compile(r"Module \[(\w{1,80})\] is missing the required \"forward\"")
RAISES = re.compile(r"\braise\b|NotImplemented")
APART = re.compile(r"could not be broadcast together with (?:remapped )?shapes? \(([\d,]+)\) \(([\d,]+)\)")
TENSORS = (
    'The file imports torch, so its arguments are tensors. If it computes with NumPy, write BACKEND = "numpy" in it.'
)
FILES = "Only the Python files of the folder are taken along: what they need must stand in them."
BY_TYPE = {
    "EOFError": "There is nobody to answer input(): take everything from the arguments.",
    "FileNotFoundError": FILES,
}


def hint(fault: Raised, part: Part) -> str:
    """One or two sentences, or nothing."""
    name = part.name
    if fault.type == "NotImplementedError":
        return _unwritten(fault, name)
    if fault.type in BY_TYPE:
        return BY_TYPE[fault.type]
    if isinstance(part.caller, Student) and _tensors_for_numpy(part.caller):
        return TENSORS
    return _shapes(fault.text)


def _unwritten(fault: Raised, name: str) -> str:
    """What is to be written, where the student's own line raises; a library may lack something too."""
    if found := FORWARD.search(fault.text):
        return f"Write {found[1]}.forward: the method has that very name."
    if not fault.frames:
        return f"Write {name}."
    inner = fault.frames[-1]
    if not RAISES.search(inner.code):
        return ""
    return f"Write {inner.function} first." if inner.function != name else f"Write {name}."


def _tensors_for_numpy(student: Student) -> bool:
    """Whether a submission that imports NumPy gets tensors: it imports torch too and does not say what it takes."""
    sources = student.submission.sources.values()
    return (
        student.backend == "torch"
        and any(NUMPY.search(source) for source in sources)
        and not any(DECLARED.search(source) for source in sources)
    )


def _shapes(text: str) -> str:
    """What two shapes that do not fit tell."""
    if "attn_mask" in text and "should be" in text:
        return "nn.MultiheadAttention takes [batch, time, width] with batch_first=True only."
    if not (found := APART.search(text)):
        return ""
    whole, reduced = sorted((tuple(shape.strip(",").split(",")) for shape in found.groups()), key=len, reverse=True)
    if len(whole) == len(reduced) + 1 and whole[:-1] == reduced:
        return "A sum, mean or maximum over the last axis loses that axis: keepdims=True keeps it."
    return ""
