"""Holds the design to its word: who imports whom, what the trusted process loads, and what no file contains."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.folders import clean_environment
from tests.right.hand_decoder import HERE

ROOT = Path(__file__).parent.parent
OURS = {"grader", "reference", "specs", "student_template", "tests", "benchmarks"}
STUDENTS = ("tests/right/", "tests/wrong/", "tests/hostile/", "student_template/")
TEXT = {".py", ".toml", ".md", ".txt", ".json", ".ini", ".cfg", ".yml", ".yaml", ".sh", ".csv", ".html"}


def tracked() -> list[Path]:
    """The repository's files: all but what is generated."""
    generated = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split() if line.endswith("/")}

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and path.name not in generated | {".git"} and not path.match("*.egg-info"):
                yield from walk(path)
            elif path.is_file() and path.suffix != ".pyc":
                yield path

    return list(walk(ROOT))


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """Every absolute module name that a file imports, at any level, a name from a package as a module of it."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def within(name: str, allowed: set[str]) -> bool:
    return any(name == one or name.startswith(one + ".") for one in allowed)


def foreign(path: Path, allowed: set[str]) -> list[str]:
    """Imports that are neither allowed nor the standard library's."""
    names = sorted(set(imports(path)))
    return [n for n in names if n.split(".")[0] not in sys.stdlib_module_names and not within(n, allowed)]


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", python_files("grader/worker/inside"), ids=ids)
def test_what_runs_beside_a_submission_imports_nothing_of_ours(path):
    assert foreign(path, {"numpy", "torch", "grader.worker.inside"}) == []


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@pytest.mark.parametrize("path", python_files("grader/checks"), ids=ids)
def test_checks_see_cases_comparison_part_and_reference_only(path):
    seen = {"cases", "checks", "compare", "misconceptions", "part", "patterns", "spec", "verdict", "registry", "search"}
    seen |= {"probes"}  # how modules and language models are asked
    assert foreign(path, {"numpy", "reference", *(f"grader.{name}" for name in seen)}) == []


@pytest.mark.parametrize("path", python_files("reference"), ids=ids)
def test_the_reference_knows_numpy_and_nothing_of_the_grader(path):
    torch = {"torch"} if path.name.endswith("torch_twin.py") else set()
    assert foreign(path, {"numpy", "reference", "specs", *torch}) == []


@pytest.mark.parametrize(
    "name", ["engine", "part", "compare", "cases", "verdict", "rubric", "spec", "student", "grading"]
)
def test_judging_knows_no_front_end(name):
    front = {"pytest", "_pytest", "click", "rich", "grader.cli", "grader.commands", "grader.reports", "grader.api"}
    path = ROOT / "grader" / f"{name}.py"
    assert [one for one in imports(path) if within(one, front | {"grader.pytest_plugin", "torch"})] == []


@pytest.mark.parametrize("name", ["engine", "part", "compare", "student"])
def test_judging_knows_no_points(name):
    assert [one for one in imports(ROOT / "grader" / f"{name}.py") if within(one, {"grader.rubric"})] == []


AFTERWARDS = """
import sys, grader
result = grader.grade(sys.argv[1], assignment="hand-decoder")
assert result.score == 100, result.problem
loaded = set(sys.modules)
for name in ("torch", "decoder", "numpy_einsum", "torch_plain", "pytest", "click", "rich", "hypothesis", "nbformat"):
    assert name not in loaded, name
"""


@pytest.mark.parametrize("name", ["numpy_einsum", "torch_plain"])
def test_the_trusted_process_loads_neither_torch_nor_the_submission(name):
    if name.startswith("torch") and not find_spec("torch"):
        pytest.skip("torch is not installed")
    command = [sys.executable, "-c", AFTERWARDS, str(HERE / f"{name}.py")]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_grader_is_cheap():
    code = "import grader, sys; assert not {'numpy', 'pydantic', 'torch', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], env=clean_environment(), check=True, timeout=60)


def test_every_file_says_what_it_knows():
    silent = [
        ids(path)
        for path in tracked()
        if path.suffix == ".py" and not ids(path).startswith(STUDENTS) and not _first_line(path)
    ]
    assert silent == []


def _first_line(path: Path) -> str:
    """The first paragraph of the docstring, when it is a sentence."""
    first = (ast.get_docstring(_tree(path)) or "").split("\n\n")[0].strip()
    return first if first.endswith((".", ":", "!")) else ""


MACHINE = re.compile(rb"/(?:work|home|root|Users|opt)/\w|/tmp/(?!\$)[\w-]+|[A-Z]:\\Users")
REGISTRY = re.compile(rb"(?:pypi|pythonhosted|anaconda|npmjs|pytorch)\.(?:org|com|io)", re.I)


def test_no_file_names_a_machines_path_or_a_registry():
    mine = Path(__file__)
    files = [path for path in tracked() if path.suffix in TEXT or ids(path) == ".ci/run"]
    assert len(files) > 50
    found = [
        f"{ids(path)}: {match.group().decode()}"
        for path in files
        if path != mine
        for pattern in (MACHINE, REGISTRY)
        for match in pattern.finditer(path.read_bytes())
    ]
    assert found == []


def test_the_folders_at_the_top_are_the_designs():
    tops = {path.relative_to(ROOT).parts[0] for path in tracked() if len(path.relative_to(ROOT).parts) > 1}
    assert tops == {"grader", "reference", "specs", "student_template", "tests", "benchmarks", ".ci"}


def test_every_test_folder_mirrors_a_folder_of_ours():
    corpora = {"right", "wrong", "hostile", "golden", "readme"}
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in tracked() if ids(path).startswith("tests/")}
    folders = {name for name in folders if (ROOT / "tests" / name).is_dir()} - corpora
    mirrored = {path.stem for path in (ROOT / "grader").iterdir()} | OURS
    assert folders <= mirrored
