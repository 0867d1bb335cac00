"""One mistake costs one place: what is built rightly on a wrong part keeps its points, a mistake on top still costs."""

import pytest

from tests.diagnosis.measure import grade, spec
from tests.wrong.hand_decoder import all_wrong, pair_source, source

BY_ID = {wrong.id: wrong for wrong in all_wrong()}
OF_ALL = {"causality", "stability", "gradients", "no-side-effects"}  # criteria that every part has a share in
ONE_PLACE = (
    "scale-missing--attention-scores--numpy-vectorised",
    "scale-by-d-k--attention-scores--torch-plain",
    "scores-negated--attention-scores--numpy-vectorised",
    "scale-by-width--attention-head--numpy-einsum",
    "key-is-query--attention-head--numpy-classes",
    "heads-reversed--multi-head-attention--numpy-vectorised",
    "heads-averaged--multi-head-attention--torch-plain",
    "norm-sample-variance--layer-norm--numpy-loops",
    "norm-gain-missing--layer-norm--torch-functional",
    "norm-rms--layer-norm--numpy-vectorised",
    "ffn-gelu--feed-forward--torch-functional",
    "ffn-b1-missing--feed-forward--numpy-vectorised",
    "block-post-norm--decoder-block--numpy-classes",
    "softmax-base-two--softmax--numpy-vectorised",
)
ON_TOP = (
    (
        "block-norms-swapped--decoder-block--numpy-vectorised",
        "ffn-no-activation--feed-forward--numpy-vectorised",
    ),
    (
        "block-no-second-norm--decoder-block--numpy-einsum",
        "heads-averaged--multi-head-attention--numpy-einsum",
    ),
    (
        "final-norm-from-last-block--decoder--numpy-vectorised",
        "norm-gain-missing--layer-norm--numpy-vectorised",
    ),
    (
        "readout-bias-missing--decoder--torch-functional",
        "ffn-relu-squared--feed-forward--torch-functional",
    ),
)


def criterion(part):
    """The criterion that belongs to one part."""
    slug = spec().part(part).slug
    return next(c.id for c in spec().criteria if c.checks == (f"{slug}.*",) or list(c.checks) == [f"{slug}.*"])


def full():
    return {c.id: c.points for c in spec().criteria}


@pytest.mark.parametrize("key", ONE_PLACE)
def test_one_wrong_part_costs_that_part(key, warm):
    wrong = BY_ID[key]
    outcome = grade(source(wrong), warm)
    points = outcome.points()
    short = {c for c, most in full().items() if points[c] < most - 1e-9}
    own = criterion(wrong.part)
    assert own in short
    assert short <= {own, *OF_ALL}
    carried = {verdict.part for verdict in outcome.verdicts if verdict.carried}
    assert carried
    assert wrong.part not in carried


@pytest.mark.parametrize(("top", "below"), ON_TOP)
def test_a_mistake_on_top_costs_its_own_points(top, below, warm):
    first, second = BY_ID[top], BY_ID[below]
    points = grade(pair_source(first, second), warm).points()
    short = {c for c, most in full().items() if points[c] < most - 1e-9}
    assert {criterion(first.part), criterion(second.part)} <= short
    assert short <= {criterion(first.part), criterion(second.part), *OF_ALL}
