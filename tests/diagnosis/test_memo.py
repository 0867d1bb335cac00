"""A book that remembers gives the numbers of the book, and forgets what is built on another function."""

import numpy as np
import pytest

from grader.carried import Composed, same
from grader.cases import HANDOUT, make
from grader.diagnosis import _prints
from grader.memo import Memo, takes_the
from grader.misconceptions import singles
from tests.diagnosis.measure import spec

FLOAT64 = spec().tolerances.float64.tolerance


def memo(part):
    below = spec().below(spec().part(part))
    return Memo(spec().book, {name: spec().below(spec().part(name)) for name in below})


@pytest.mark.parametrize("part", ["attention_head", "multi_head_attention", "decoder_block", "decoder"])
def test_remembered_numbers_are_the_book_s(part):
    args, remembers = make(part, HANDOUT, 0).args, memo(part)
    with np.errstate(all="ignore"):
        for name in spec().part(part).uses:
            for candidate in singles(name):
                plain = getattr(spec().book.replace(**{name: candidate.wrong}), part)
                quick = getattr(remembers.put(**{name: candidate.wrong}), part)
                try:
                    expected = plain(*args)
                except (ValueError, IndexError, TypeError):
                    continue
                assert same(quick(*args), expected, FLOAT64), candidate.mistakes[0].id


def test_each_input_is_computed_once():
    calls = []

    def counted(x):
        calls.append(x)
        return spec().book.softmax(x)

    book = spec().book.replace(softmax=counted)
    remembers = Memo(book, {"softmax": (), "causal_attention_weights": ("softmax",)})
    S = np.random.default_rng(0).standard_normal((3, 3))
    for _ in range(3):
        remembers.plain.causal_attention_weights(S)
    assert len(calls) == 1
    remembers.plain.causal_attention_weights(S + 1)
    assert len(calls) == 2


def test_a_function_tells_whether_it_is_to_be_told_its_book():
    assert takes_the(spec().book.functions["decoder"])
    assert not takes_the(spec().book.decoder)


def test_cases_that_are_kept_cannot_be_written_to():
    for case in _prints("decoder_block", 0):
        with pytest.raises(ValueError, match="read-only"):
            case.args[1]["b_1"] *= 0


def test_a_composition_works_on_a_copy_of_its_arguments():
    def changes_its_bias(H, W_1, b_1, W_2, b_2):
        results = spec().book.feed_forward(H, W_1, b_1, W_2, b_2)
        b_1 *= 0
        return results

    H, block = make("decoder_block", HANDOUT, 0).args
    composed = Composed(spec().book.replace(feed_forward=changes_its_bias), "numpy")
    composed.call(spec().part("decoder_block"), (H, block))
    assert block["b_1"].all()
    _, (_, after) = composed.echo(spec().part("decoder_block"), (H, block))
    assert block["b_1"].all()
    assert not after["b_1"].any()
