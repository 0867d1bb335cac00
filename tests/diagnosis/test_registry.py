"""The registry: one mistake, one function; each differs clearly from the right one; a cut leaves the numbers right."""

from itertools import combinations

import numpy as np
import pytest

from grader.carried import same
from grader.cases import EXTREMES, HANDOUT, generic, make
from grader.checks.gradients import leaves, moved, weighted
from grader.checks.stability import extremes
from grader.compare import Tolerance
from grader.diagnosis import MARGIN
from grader.misconceptions import all_misconceptions, cuts_of, pairs, singles
from tests.diagnosis.measure import spec

BOOKS = {part.name: spec(name).book for name in ("encoder-block", "hand-decoder") for part in spec(name).parts}
PARTS = list(BOOKS)
FLOAT64 = spec().tolerances.float64.tolerance
CLEAR = Tolerance(MARGIN * FLOAT64.relative, MARGIN * FLOAT64.absolute)


def cases_of(part):
    more = [c for c in extremes(part, 0) if c.extra["width"] == "float64"] if part in EXTREMES else []
    return [*generic(part, 0), *more]


def outputs(function, part):
    found = []
    for case in cases_of(part):
        try:
            with np.errstate(all="ignore"):
                found.append(function(*case.args))
        except (ValueError, IndexError, TypeError):
            found.append(None)
    return found


def alike(left, right, tolerance=FLOAT64):
    return all(
        (a is None) == (b is None) and (a is None or same(a, b, tolerance)) for a, b in zip(left, right, strict=True)
    )


def in_the_book(part, function):
    return getattr(BOOKS[part].replace(**{part: function}), part)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", PARTS)
def test_two_misconceptions_are_two_functions_and_neither_is_right(part):
    found = {c.mistakes[0].id: outputs(in_the_book(part, c.wrong), part) for c in singles(part)}
    right = outputs(getattr(BOOKS[part], part), part)
    assert [key for key, results in found.items() if all(result is None for result in results)] == []
    assert [key for key, results in found.items() if alike(results, right, CLEAR)] == []
    assert [(a, b) for a, b in combinations(found, 2) if alike(found[a], found[b])] == []


def test_every_text_is_a_short_plain_sentence():
    for known in all_misconceptions():
        assert known.cure.endswith("."), known.id
        assert known.why.endswith("."), known.id
        assert len(known.title) <= 90, known.id
        assert not known.title.endswith("."), known.id


def test_a_family_pairs_only_places_of_its_own():
    for part in PARTS:
        for candidate in pairs(part):
            assert len({mistake.id for mistake in candidate.mistakes}) == 2


def slopes(function, args, cotangents, rng):
    for path, leaf in leaves(args):
        u = rng.standard_normal(leaf.shape)
        ahead, behind = (weighted(function(*moved(args, h, {path: u})), cotangents) for h in (6e-6, -6e-6))
        yield (ahead - behind) / 1.2e-5


@pytest.mark.parametrize("part", [part for part in PARTS if list(cuts_of(part))])
def test_cuts_leave_the_numbers_right_and_the_slopes_wrong_each_in_its_way(part):
    args, book = make(part, HANDOUT, 0).args, BOOKS[part]
    right = getattr(book, part)
    results = right(*args)
    rng = np.random.default_rng(0)
    cotangents = [rng.standard_normal(np.shape(y)) for y in (results if isinstance(results, tuple) else (results,))]

    def along(function):
        return np.array(list(slopes(function, args, cotangents, np.random.default_rng(1))))

    true = along(right)
    found = {}
    for known in cuts_of(part):
        assert same(known.frozen(args, args, book), results, FLOAT64), known.id
        found.setdefault(known.id, []).append(along(lambda *now, f=known.frozen: f(now, args, book)))
    for key, forms in found.items():
        for form in forms:
            assert np.abs(form - true).max() > 1e-3, key
    for (a, one), (b, other) in combinations(found.items(), 2):
        assert all(np.abs(x - y).max() > 1e-3 for x in one for y in other), (a, b)
