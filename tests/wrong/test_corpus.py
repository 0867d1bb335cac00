"""Holds the wrong submissions to their word: each is wrong where it says, and only there."""

import itertools

import numpy as np
import pytest

from grader.cases import thorough
from grader.misconceptions import all_misconceptions
from reference import BOOK
from tests.wrong import in_process
from tests.wrong.compare import gap, same
from tests.wrong.hand_decoder import PAIRS, all_wrong, backend, one_of_each, pair_source, source
from tests.wrong.hand_decoder.model import BASES
from tests.wrong.probes import PROBES

pytest.importorskip("torch")

WRONG = all_wrong()
RAISED = "raised"
EXACT = ("gradient", "mutation", "state")  # one call alone gives the right numbers
MODULES = {}


def module_of(wrong):
    if wrong.id not in MODULES:
        MODULES[wrong.id] = in_process.load_source(source(wrong), wrong.id)
    return MODULES[wrong.id]


def fresh(wrong):
    return in_process.load_source(source(wrong), wrong.id)


def cases_of(name):
    return [case for family in PROBES for case in family[name]]


def answer(function, args):
    try:
        with in_process.quiet():
            return function(*args)
    except Exception:  # noqa: BLE001 - whatever a wrong submission raises
        return RAISED


def ask(module, name, args, kind):
    return answer(lambda *given: in_process.call(module, name, given, kind), args)


def book(name, args, parts=BOOK):
    return answer(getattr(parts, name), in_process.to_backend(args, "numpy"))


TRUTH = {name: [book(name, args) for args in cases_of(name)] for name in in_process.NAMES}
PATTERNS = {known.id for known in all_misconceptions() if known.wrong is None}  # many functions leave the same pattern
SHOWN = ("value", "structure", "stability", "dtype")  # told from what a single call returns
WRONG_VALUES = [wrong for wrong in WRONG if wrong.part != "hand_calculation" and wrong.how in SHOWN]


def apart(one, other):
    return (one is RAISED) != (other is RAISED) or (one is not RAISED and not gap(one, other) <= 1e-6)


def test_the_corpus_is_large_and_its_ids_are_unique():
    assert len(WRONG) >= 110
    assert len({wrong.id for wrong in WRONG}) == len(WRONG)
    assert {wrong.base for wrong in WRONG} >= set(BASES)
    assert {w.misconception for w in one_of_each()} == {w.misconception for w in WRONG}


def test_every_patch_fits_exactly_once_and_compiles():
    for wrong in WRONG:
        compile(source(wrong), wrong.id, "exec")


@pytest.mark.parametrize("wrong", WRONG_VALUES, ids=lambda wrong: wrong.id)
def test_wrong_values_differ_at_the_named_part(wrong):
    ours = [ask(module_of(wrong), wrong.part, args, backend(wrong)) for args in cases_of(wrong.part)]
    differs = [apart(a, b) for a, b in zip(ours, TRUTH[wrong.part], strict=True)]
    assert any(differs)
    if wrong.how == "stability":
        assert not differs[0], "right on ordinary numbers"


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how in EXACT], ids=lambda wrong: wrong.id)
def test_hidden_mistakes_give_the_right_numbers_at_first(wrong):
    if "dropout" in wrong.id or "noise" in wrong.id:
        pytest.skip("random from the first call on")
    first = ask(fresh(wrong), wrong.part, cases_of(wrong.part)[0], backend(wrong))
    assert not apart(first, TRUTH[wrong.part][0])


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how == "gradient"], ids=lambda wrong: wrong.id)
def test_gradient_mistakes_have_a_wrong_slope(wrong):
    assert in_process.slope_error(module_of(wrong), wrong.part, cases_of(wrong.part)[0]) > 1e-3


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how == "mutation"], ids=lambda wrong: wrong.id)
def test_mutations_change_an_argument(wrong):
    args = cases_of(wrong.part)[0]
    given = in_process.to_backend(args, backend(wrong))
    with in_process.quiet():
        getattr(fresh(wrong), wrong.part)(*given)
    assert not same(given, args)


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how == "state"], ids=lambda wrong: wrong.id)
def test_states_show_after_other_calls(wrong):
    module = fresh(wrong)
    ours = [ask(module, wrong.part, args, backend(wrong)) for args in 2 * cases_of(wrong.part)]
    assert any(apart(a, b) for a, b in zip(ours, 2 * TRUTH[wrong.part], strict=True))


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how == "exception"], ids=lambda wrong: wrong.id)
def test_exceptions_are_raised(wrong):
    assert any(ask(module_of(wrong), wrong.part, args, backend(wrong)) is RAISED for args in cases_of(wrong.part))


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.how == "size"], ids=lambda wrong: wrong.id)
def test_sizes_show_at_few_sizes_only(wrong):
    module, part = module_of(wrong), wrong.part
    for args, truth in zip(cases_of(part), TRUTH[part], strict=True):
        assert not apart(ask(module, part, args, backend(wrong)), truth)
    rare = [case.args for case in thorough(part, 0)]
    assert any(apart(ask(module, part, args, backend(wrong)), book(part, args)) for args in rare)


def test_missing_names_are_missing():
    missing = [wrong for wrong in WRONG if wrong.how == "missing"]
    assert missing
    for wrong in missing:
        assert not hasattr(module_of(wrong), wrong.part)


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.part == "hand_calculation"], ids=lambda wrong: wrong.id)
def test_wrong_hand_numbers_differ_by_more_than_half_a_digit(wrong):
    with in_process.quiet():
        found = in_process.to_numpy(module_of(wrong).hand_calculation())
    wanted = BOOK.hand_calculation()
    off = [key for key in wanted if not found or key not in found or gap(found[key], wanted[key]) > 5e-7]
    assert off
    for name in in_process.NAMES:
        assert not apart(ask(module_of(wrong), name, cases_of(name)[0], backend(wrong)), TRUTH[name][0])


CARRIED = [wrong for wrong in WRONG_VALUES if wrong.how in ("value", "stability")]


@pytest.mark.parametrize("wrong", CARRIED, ids=lambda wrong: wrong.id)
def test_one_mistake_sits_in_one_part(wrong):
    """Every other function is right, or right given the submission's own parts."""
    module, kind = module_of(wrong), backend(wrong)

    def own(name):
        def call(*args):
            result = in_process.call(module, name, args, kind)
            return in_process.pair(result) if name == "attention_head" else result

        return call

    with in_process.quiet():
        for name in [name for name in in_process.NAMES if name != wrong.part and name not in wrong.also]:
            args = cases_of(name)[0]
            ours = ask(module, name, args, kind)
            if apart(ours, TRUTH[name][0]):
                given_own = BOOK.replace(**{other: own(other) for other in in_process.NAMES if other != name})
                assert not apart(ours, book(name, args, given_own)), name


def prints():
    """Answers at the part on every probe, by part and misconception."""
    found = {}
    for wrong in WRONG_VALUES:
        if wrong.how != "dtype":
            answers = [ask(module_of(wrong), wrong.part, args, backend(wrong)) for args in cases_of(wrong.part)]
            found.setdefault(wrong.part, []).append((wrong, answers))
    return found


def test_one_misconception_is_one_function_and_two_are_two():
    """NaN and exceptions aside, where two spellings may part."""
    problems = []
    for group in prints().values():
        for (a, x), (b, y) in itertools.combinations(group, 2):
            if a.misconception in PATTERNS:
                continue
            if a.misconception is not None and a.misconception == b.misconception:
                gaps = [gap(p, q) for p, q in zip(x, y, strict=True) if p is not RAISED and q is not RAISED]
                if min(gaps, default=np.inf) > 1e-6 and "structure" not in (a.how, b.how):
                    problems.append(f"not the same: {a.id} and {b.id}")
            elif a.mistake != b.mistake and all(not apart(p, q) for p, q in zip(x, y, strict=True)):
                problems.append(f"the same: {a.id} and {b.id}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda wrong: wrong.id)
def test_pairs_are_wrong_in_both_parts(first, second):
    assert first.part != second.part
    module = in_process.load_source(pair_source(first, second))
    for wrong in (first, second):
        ours = [ask(module, wrong.part, args, backend(wrong)) for args in cases_of(wrong.part)]
        assert any(apart(a, b) for a, b in zip(ours, TRUTH[wrong.part], strict=True)), wrong.id
