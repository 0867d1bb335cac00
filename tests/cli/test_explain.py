"""`grader explain`: every id has something to say."""

import pytest

from grader.explain import SOURCES, hints
from grader.near import near
from grader.spec import load


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("attention_head", "O = A (H W_V)"),
        ("attention-head", "takes     H (T, d), W_Q (d, d_k)"),
        ("attention-scores.value", "tried at  T_q = 3"),
        ("future-does-not-matter", "hint      Mask S[t, s] for s > t"),
        ("causality", "without it the assignment is not passed"),
        ("scale-by-width", "Q Kᵀ / d_k"),
    ],
)
def test_says_what_it_is(run, wanted, says):
    done = run("explain", wanted)
    assert done.status == 0
    assert says in done.out


def test_part_and_criterion_of_one_name_are_both_shown(run):
    done = run("explain", "softmax")
    assert "a function of decoder.py" in done.out
    assert "a criterion of hand-decoder" in done.out


def test_each_text_says_of_which_assignment_it_is(run):
    titles = [line for line in run("explain", "layer_norm").out.splitlines() if line.startswith("layer_norm(")]
    assert [title.rsplit("[", 1)[1] for title in titles] == ["encoder-block]", "hand-decoder]"]
    assert "[hand-decoder]" in run("explain", "softmax", "-a", "hand-decoder").out


@pytest.mark.parametrize("here", ["hand-decoder", "encoder-block"])
def test_the_folders_assignment_comes_first(run, tmp_path, monkeypatch, here):
    (tmp_path / "grader.toml").write_text(f'assignment = "{here}"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    assert f"[{here}]" in run("explain", "layer_norm").out.splitlines()[0]
    assert "[hand-decoder]" in run("explain", "feed_forward").out.splitlines()[0]


def test_unknown_id_has_near_matches(run):
    done = run("explain", "causalty")
    assert done.status == 2
    assert "close to it: causality" in done.err


def test_everything_known_can_be_explained():
    spec = load("hand-decoder")
    for source in SOURCES:
        for ids, text in source(spec):
            assert ids
            assert len(text().splitlines()) > 1, ids


def test_hints_are_read_from_the_source():
    from grader.checks import all_checks

    assert "Mask S[t, s] for s > t before the softmax, with -inf rather than 0." in hints(
        all_checks().get("future-does-not-matter")
    )


@pytest.mark.parametrize("wanted", ["", "*", "?"])
def test_nothing_is_near_to_nothing(wanted):
    assert near(wanted, ["softmax"]) == []
