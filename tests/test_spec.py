"""What is wrong in a spec is said in its own words: file, key, what stands there, and what is allowed or close."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

import grader
from grader import cli
from grader.checks import Check
from grader.engine import plan
from grader.spec import SpecError, available, load, parse
from reference import BOOK
from tests.folders import INI, RIGHT, lay, run_pytest

TEXT = (files("specs") / "hand-decoder.toml").read_text("utf-8")
SOFTMAX = 'checks = ["softmax.*"]'
HAND = 'rule = "each"\nchecks = ["hand-calculation.*"]'
FIRST = '[[parts]]\nname = "softmax"\ntraits = ["function", "rowwise", "distribution"]'
FIGURES = [key.replace("_", "-").lower() for key in BOOK.hand_calculation()]

# what is changed, by what, and what is said of it
UNUSABLE = {
    "no TOML": ('id = "hand-decoder"', "id = ", "not valid TOML"),
    "a key that is missing": ('version = "1"\n', "", "version: is missing and has no default"),
    "a key that is unknown": ('version = "1"', 'version = "1"\nversoin = "2"', "versoin: there is no such key"),
    "a word that is not allowed": (HAND, HAND.replace("each", "most"), "rule: 'most' is not allowed; allowed: 'part'"),
    "the place of a criterion": (
        'id = "softmax"\ntitle = "Softmax"\npoints = 5',
        'id = "softmax"\ntitle = "Softmax"\npoints = 0',
        r"criteria\[4\] \(softmax\)\.points: 0: .*greater than 0",
    ),
    "an id that is none": ('id = "hand-decoder"', 'id = "Hand Decoder"', "id: 'Hand Decoder': .*match pattern"),
    "a file that is none": ('file = "decoder.py"', 'file = "decoder"', "file: 'decoder': .*match pattern"),
    "a tolerance without a reason": (
        "relative = 1e-9\nabsolute = 1e-12\nreason = ",
        "relative = 1e-9\nabsolute = 1e-12\nreason = 'short' #",
        r"tolerances\.float64\.reason: 'short': .*at least 10",
    ),
    "a part twice": ('name = "feed_forward"', 'name = "softmax"', "parts.name: softmax stands there twice"),
    "an id of a part twice": (
        'name = "feed_forward"',
        'id = "softmax"\nname = "feed_forward"',
        "parts.id: softmax stands there twice",
    ),
    "a criterion twice": ('id = "loss"', 'id = "softmax"', "criteria.id: softmax stands there twice"),
    "a part that uses none": ('uses = ["softmax"]\nformula = "A', 'uses = ["sofmax"]\nformula = "A', "'sofmax' is not"),
    "an automatic criterion without checks": (SOFTMAX, "", "an automatic criterion has `checks`"),
    "a manual criterion with checks": (SOFTMAX, 'kind = "manual"\n' + SOFTMAX, "a manual one has none"),
    "a manual criterion that is a gate": (SOFTMAX, 'kind = "manual"\ngate = true', "a manual criterion is no gate"),
    "a pattern of checks": (SOFTMAX, 'checks = ["sofmax.*"]', r"checks: 'sofmax\.\*' matches no check; .*softmax\.\*"),
    "one pattern of two": (SOFTMAX, 'checks = ["softmax.*", "*.valeu"]', r"'\*\.valeu' matches no check; .*\.value"),
    "a hidden pattern": (
        SOFTMAX,
        SOFTMAX + '\nhidden = ["softmax.order_kept"]',
        r"\(softmax\): hidden: 'softmax.order_kept' matches no check of this criterion",
    ),
    "a hidden pattern of another criterion": (
        SOFTMAX,
        SOFTMAX + '\nhidden = ["softmax.gradient"]',
        "hidden: 'softmax.gradient' matches no check of this criterion",
    ),
    "a weight": (HAND, HAND + '\nweights = { "hand-calculation.x" = 2 }', "'hand-calculation.x' is no check of"),
    "a criterion behind another": (
        SOFTMAX,
        'checks = ["softmax.gradient"]',
        r"\(softmax\): checks: everything that it selects belongs to a criterion before it",
    ),
    "a skipped check": ("[[criteria]]", '[skip]\n"softmax.valeu" = "why"\n[[criteria]]', "'softmax.valeu' is no check"),
    "a criterion that is skipped": (
        "[[criteria]]",
        "[skip]\n" + "".join(f'"hand-calculation.{name}" = "why"\n' for name in FIGURES) + "[[criteria]]",
        r"\(hand-calculation\): all its checks stand under `skip`, so that nobody could earn its 7 points",
    ),
    "a trait": (FIRST, FIRST.replace("rowwise", "row-wise"), r"\(softmax\): traits: 'row-wise' is .*rowwise"),
    "a reference's module": (
        'reference = "reference:BOOK"',
        'reference = "nope:BOOK"',
        "'nope:BOOK' cannot be imported",
    ),
    "a reference's name": ('reference = "reference:BOOK"', 'reference = "reference:NO"', "'reference:NO' cannot be"),
    "a part that the reference lacks": (
        FIRST,
        '[[parts]]\nname = "soft_max"\ntraits = ["function"]\narguments = {}\nreturns = { p = "()" }\n\n' + FIRST,
        r"parts\[0\]: name: 'soft_max' is no part of the reference reference:BOOK; close to it: softmax",
    ),
}


def changed(old: str, new: str) -> bytes:
    assert old in TEXT
    return TEXT.replace(old, new, 1).encode()


@pytest.mark.parametrize("name", UNUSABLE)
def test_it_is_said_what_is_wrong_and_where(name):
    old, new, says = UNUSABLE[name]
    with pytest.raises(SpecError, match=says) as told:
        plan(parse(changed(old, new), "course/mine.toml"))
    assert all(line.startswith("course/mine.toml: ") for line in str(told.value).splitlines())


def test_several_things_are_said_at_once():
    data = changed(SOFTMAX, 'checks = ["sofmax.*"]').replace(b'["loss.*"]', b'["los.*"]')
    with pytest.raises(SpecError, match=r"sofmax(.|\n)*'los\.\*'"):
        plan(parse(data, "mine.toml"))


def test_bytes_that_are_no_text_are_no_toml():
    with pytest.raises(SpecError, match=r"mine\.toml: not valid TOML"):
        parse(b"\xff\xfe", "mine.toml")


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        (("shpae",), r"checks/mine\.py: the check 'half': needs: 'shpae' is no check; close to it: shape"),
        (("half",), r"'half': needs: it would wait for itself: half -> half"),
    ],
)
def test_a_check_that_waits_for_what_never_comes(needs, says):
    spec = parse(TEXT.encode(), "mine.toml")
    half = Check("half", ("softmax",), "Half.", lambda *_: [], lambda *_: None, needs, True, True, "checks/mine.py")
    spec._checks = (half,)
    with pytest.raises(SpecError, match=says):
        plan(spec)


def test_an_unknown_assignment_lists_the_known():
    with pytest.raises(SpecError, match=r"no assignment is called 'hand'; there are: .*hand-decoder.*\.toml file"):
        load("hand")


def test_a_spec_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path / "none.toml")


def test_an_assignment_of_two_packages_is_an_error(monkeypatch):
    monkeypatch.setattr("grader.spec.load_entry_points", lambda group: [("hand-decoder", Path("theirs.toml"))])
    with pytest.raises(SpecError, match=r"'hand-decoder' of the entry point theirs\.toml is already defined in"):
        available()


@pytest.mark.parametrize("arguments", [("check", "decoder.py"), ("grade", "decoder.py", "--out", "out")])
def test_the_command_line_ends_with_status_2_before_anything_is_graded(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_bytes(changed(SOFTMAX, 'checks = ["sofmax.*"]'))
    Path("decoder.py").write_text(RIGHT, "utf-8")
    assert cli.run([*arguments, "--assignment", "mine.toml"]) == 2
    assert "mine.toml: criteria[4] (softmax): checks: 'sofmax.*' matches no check" in capsys.readouterr().err
    assert not Path("out", "decoder").exists()


@pytest.mark.parametrize("seed", [-1, 1.5, "2", True])
def test_a_seed_that_is_none_is_said_at_once(seed):
    with pytest.raises(ValueError, match=re.escape(f"the seed is {seed!r}; it is a whole number from 0 on")):
        grader.grade("no-such-file.py", assignment="hand-decoder", seed=seed)


@pytest.mark.parametrize("seed", ["abc", "-1"])
def test_pytest_names_the_key_of_a_seed_that_is_none(tmp_path, seed):
    ran = run_pytest(lay(tmp_path, INI + f"grader_seed = {seed}\n", decoder=RIGHT))
    assert ran.status == 4
    assert f"grader_seed = {seed}: a whole number from 0 on is wanted" in ran.out
