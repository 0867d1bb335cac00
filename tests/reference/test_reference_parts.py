"""Parts are replaced everywhere at once, change nothing of the book, and say which names there are."""

import copy
import functools
import inspect

import numpy as np
import pytest

from reference import BOOK, Parts

COMPOSITES = {
    "softmax": "causal_attention_weights attention_head multi_head_attention decoder_block decoder "
    "next_token_probabilities hand_calculation",
    "attention_scores": "attention_head multi_head_attention decoder_block decoder hand_calculation",
    "causal_attention_weights": "attention_head multi_head_attention decoder_block decoder hand_calculation",
    "attention_head": "multi_head_attention decoder_block decoder hand_calculation",
    "multi_head_attention": "decoder_block decoder",
    "layer_norm": "decoder_block decoder hand_calculation",
    "feed_forward": "decoder_block decoder",
    "decoder_block": "decoder",
    "decoder": "",
    "next_token_probabilities": "hand_calculation",
    "loss": "hand_calculation",
    "hand_calculation": "",
}
CONTRACT = {
    "softmax": ["x"],
    "attention_scores": ["Q", "K"],
    "causal_attention_weights": ["S"],
    "attention_head": ["H", "W_Q", "W_K", "W_V"],
    "multi_head_attention": ["H", "heads", "W_O"],
    "layer_norm": ["H", "gain", "shift", "eps"],
    "feed_forward": ["H", "W_1", "b_1", "W_2", "b_2"],
    "decoder_block": ["H", "block"],
    "decoder": ["tokens", "params"],
    "next_token_probabilities": ["Z"],
    "loss": ["Z", "targets"],
    "hand_calculation": [],
}


def bent(function):
    """Another function of the same shapes, whose difference no norm and no softmax takes away."""

    def bend(out):
        if isinstance(out, dict):
            return {key: bend(value) for key, value in out.items()}
        return tuple(bend(o) for o in out) if isinstance(out, tuple) else out + 0.1 * np.square(out)

    return lambda *args: bend(function(*args))


def same(a, b):
    if isinstance(a, dict):
        return all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    return np.allclose(a, b, rtol=1e-9, atol=1e-12)


def test_names_and_arguments_are_the_contracts():
    assert list(BOOK.names) == list(CONTRACT)
    for name, function in BOOK.functions.items():
        parameters = inspect.signature(function).parameters.values()
        assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == CONTRACT[name]
        assert [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] in ([], ["the"])


@pytest.mark.parametrize("replaced", BOOK.names)
def test_replace_reaches_every_composite_and_nothing_else(replaced, draw):
    other = BOOK.replace(**{replaced: bent(getattr(BOOK, replaced))})
    changed = {replaced, *COMPOSITES[replaced].split()}
    for name, arguments in draw().arguments().items():
        moves = not same(getattr(BOOK, name)(*arguments), getattr(other, name)(*arguments))
        assert moves == (name in changed), name


def test_replace_leaves_the_book_as_it_was(draw):
    arguments = draw().arguments()["decoder"]
    before = BOOK.decoder(*arguments)
    BOOK.replace(layer_norm=lambda H, gain, shift, eps: H).decoder(*arguments)
    np.testing.assert_array_equal(BOOK.decoder(*arguments), before)
    assert BOOK.functions["layer_norm"] is BOOK.layer_norm


def test_replacements_add_up():
    other = BOOK.replace(softmax=lambda x: "s").replace(attention_scores=lambda Q, K: "r")
    assert other.next_token_probabilities(np.zeros((1, 2))) == "s"
    assert other.attention_scores(1, 2) == "r"
    assert other.names == BOOK.names


def test_a_replacement_that_takes_the_gets_the_new_parts():
    seen = []

    def head(H, W_Q, W_K, W_V, *, the):
        seen.append(the)
        return the.softmax(H), None

    other = BOOK.replace(attention_head=head, softmax=lambda x: x)
    np.testing.assert_array_equal(other.multi_head_attention(np.eye(2), [(0, 0, 0)], np.eye(2)), np.eye(2))
    assert seen == [other]


def test_a_function_taken_from_other_parts_stays_wired_to_them():
    constant = BOOK.replace(softmax=lambda x: np.full(np.shape(x), 7.0))
    Z = np.zeros((1, 2))
    assert (
        BOOK.replace(next_token_probabilities=constant.next_token_probabilities).next_token_probabilities(Z) == 7
    ).all()
    free = constant.functions["next_token_probabilities"]
    assert (BOOK.replace(next_token_probabilities=free).next_token_probabilities(Z) == 0.5).all()


def test_a_function_without_a_signature_and_a_partial_can_be_parts():
    other = BOOK.replace(loss=max, softmax=functools.partial(np.add, 1))
    assert other.loss(1, 2) == 2
    assert other.next_token_probabilities(1) == 2


def test_a_part_is_bound_once_and_keeps_its_name_and_docstring():
    assert BOOK.decoder is BOOK.decoder
    assert BOOK.decoder.__name__ == "decoder"
    assert BOOK.decoder.__doc__ == BOOK.functions["decoder"].__doc__


def test_unknown_names_list_the_known_ones():
    with pytest.raises(AttributeError, match=r"no part is named layernorm; .*attention_head.*layer_norm"):
        _ = BOOK.layernorm
    with pytest.raises(AttributeError, match=r"no part is named layernorm; .*layer_norm"):
        BOOK.replace(layernorm=max)
    assert not hasattr(BOOK, "layernorm")


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="loss is to be a function, not int"):
        BOOK.replace(loss=3)


def test_parts_do_not_change():
    with pytest.raises(AttributeError, match=r"replace\(softmax=...\)"):
        BOOK.softmax = max
    with pytest.raises(AttributeError, match="do not change"):
        del BOOK.softmax
    with pytest.raises(TypeError):
        BOOK.functions["softmax"] = max
    with pytest.raises(TypeError, match="sealed"):
        BOOK.register(max)
    with pytest.raises(TypeError, match="sealed"):
        BOOK.replace(softmax=max).register(min)


def test_another_assignment_has_parts_of_its_own():
    parts = Parts()

    @parts.register
    def double(x, *, the=parts):
        return the.identity(x) * 2

    @parts.register
    def identity(x):
        return x

    parts.seal()
    assert parts.names == ("double", "identity")
    assert parts.double(3) == 6 == double(3)
    assert parts.replace(identity=lambda x: -x).double(3) == -6
    assert "double" not in BOOK.names


@pytest.mark.parametrize("name", ["replace", "names", "functions", "seal", "register", "_private"])
def test_a_name_that_parts_use_is_refused(name):
    with pytest.raises(ValueError, match="uses that name itself"):
        Parts({name: max})


def test_a_name_is_given_once():
    parts = Parts({"max": max})
    with pytest.raises(ValueError, match="already a part named max"):
        parts.register(max)


def test_parts_can_be_copied_and_listed():
    assert copy.copy(BOOK).names == BOOK.names
    assert {"softmax", "replace"} <= set(dir(BOOK))
    assert repr(Parts({"max": max})) == "Parts(max)"
