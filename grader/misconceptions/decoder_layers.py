"""What goes wrong in the wiring of a post-norm decoder layer: causality, the memory, three norms, three residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from grader.misconceptions.encoder_blocks import network_of, norm_of
from reference.book import real
from reference.encoder import ENCODER
from reference.parts import Parts

POST = "U = LN_1(X + causal MHA(X)), C = LN_cross(U + CA(U, memory)), Y = LN_2(C + FFN(C))."
CAUSAL = "Position t of X consults s ≤ t: np.tri(T, dtype=bool) is the mask of the self-attention."
MEMORY = "Every position consults all of the memory that memory_mask allows: no causal mask there."
WEIGHTS = "self_heads, self_W_O and norm_1 belong together, cross_heads, cross_W_O and norm_cross do."


def layer(
    X: Any,
    memory: Any,
    params: Any,
    memory_mask: Any = None,
    *,
    consults: str = "past",
    sees: str = "allowed",
    weights: str = "own",
    asks: str = "U",
    norms: str = "1 cross 2",
    self_keeps: str = "X",
    cross_keeps: str = "U",
    feeds: str = "C",
    ends: str = "C",
    eps: str = "params",
    the: Parts = ENCODER,
) -> Any:
    """Self-attention, cross-attention and network, each added and normalized, with a choice at each place."""
    X, memory = real(X), real(memory)
    T, n = len(X), len(memory)
    named = {name[5:] or name: norm_of(params, name, the, eps) for name in ("norm_1", "norm_cross", "norm_2")}
    named["-"] = lambda z: z
    LN = [named[name] for name in norms.split()]
    past = np.tri(T, dtype=bool)
    causal: Any = {
        "past": past,
        "everything": None,
        "future": past.T,
        "strict past": np.tri(T, k=-1, dtype=bool),
        "one ahead": np.tri(T, k=1, dtype=bool),
    }[consults]
    allowed = np.ones(n, bool) if memory_mask is None else np.asarray(memory_mask, bool)
    seen: Any = {
        "allowed": memory_mask,
        "everything": None,
        "forbidden": None if memory_mask is None else ~allowed,
    }.get(sees)
    own = ("self_heads", "self_W_O", "cross_heads", "cross_W_O")
    a, b, c, d = {
        "own": own,
        "self for both": ("self_heads", "self_W_O", "self_heads", "self_W_O"),
        "cross for both": ("cross_heads", "cross_W_O", "cross_heads", "cross_W_O"),
        "swapped": ("cross_heads", "cross_W_O", "self_heads", "self_W_O"),
        "self W_O for both": ("self_heads", "self_W_O", "cross_heads", "self_W_O"),
        "outputs swapped": ("self_heads", "cross_W_O", "cross_heads", "self_W_O"),
    }[weights]
    M = the.multi_head(X, X, params[a], params[b], causal)
    U = LN[0]({"X": X + M, "0": M, "2 X": 2 * X + M}[self_keeps])
    query = {"U": U, "X": X, "MHA": M}[asks]
    if sees in ("past", "past and allowed"):
        square = np.tri(T, n, dtype=bool)
        R = the.multi_head(query, memory, params[c], params[d], square & allowed if sees != "past" else square)
    elif sees == "itself":
        R = the.multi_head(query, query, params[c], params[d], None)
    else:
        R = the.cross_attention(query, memory, params[c], params[d], seen)
    C = LN[1]({"U": U + R, "0": R, "X": X + R, "U + X": U + X + R}[cross_keeps])
    F = network_of(params, the)({"C": C, "U": U, "X": X, "R": R}[feeds])
    return LN[2]({"C": C + F, "0": F, "U": U + F, "X": X + F, "C + U": C + U + F}[ends])


def _wiring(key: str, title: str, formula: str, why: str, cure: str = POST) -> Choice:
    return Choice(f"layer-{key}", title, formula, why, cure)


def _norms(key: str, title: str, formula: str) -> Choice:
    return _wiring(key, title, formula, "At their start values all norms are equal, and the shapes fit.")


LAYER = Family(
    "decoder_layer",
    layer,
    {
        "consults": {
            "everything": _wiring(
                "no-causal-mask", "no causal mask", "U = LN_1(X + MHA(X)) over all s", "The encoder's is used.", CAUSAL
            ),
            "future": _wiring(
                "mask-transposed",
                "the causal mask is transposed",
                "position t consults s ≥ t",
                "triu stands for tril, or the polarity is turned.",
                CAUSAL,
            ),
            "strict past": _wiring(
                "mask-strict",
                "a position does not consult itself",
                "s < t in place of s ≤ t",
                "k=-1 in tril cuts off the diagonal too.",
                CAUSAL,
            ),
            "one ahead": _wiring(
                "mask-one-ahead", "every position sees the next one", "s ≤ t + 1", "k is off by one.", CAUSAL
            ),
        },
        "sees": {
            "everything": _wiring(
                "memory-mask-ignored",
                "the memory mask is not used",
                "CA(U, memory) without it",
                "Never passed.",
                MEMORY,
            ),
            "forbidden": _wiring(
                "memory-mask-flipped",
                "the memory mask is the wrong way round",
                "only what memory_mask forbids is consulted",
                "True = padding in torch's memory_key_padding_mask; here True = may be consulted.",
                MEMORY,
            ),
            "past and allowed": _wiring(
                "causal-on-memory",
                "a causal mask over the memory",
                "position t consults memory positions s ≤ t only",
                "Every attention of a decoder is taken for causal.",
                MEMORY,
            ),
            "past": _wiring(
                "causal-instead-of-memory-mask",
                "a causal mask in place of the memory mask",
                "position t consults memory positions s ≤ t, allowed or not",
                "Every attention of a decoder is taken for causal.",
                MEMORY,
            ),
            "itself": _wiring(
                "memory-not-read",
                "keys and values of the cross-attention come from X",
                "C = LN_cross(U + MHA(U, U)): the memory is not used",
                "It is written like self-attention.",
                MEMORY,
            ),
        },
        "weights": {
            "self for both": _wiring(
                "self-weights-for-both",
                "the self-attention's weights serve both",
                "CA with self_heads and self_W_O",
                "A line is copied.",
                WEIGHTS,
            ),
            "cross for both": _wiring(
                "cross-weights-for-both",
                "the cross-attention's weights serve both",
                "MHA with cross_heads and cross_W_O",
                "A line is copied.",
                WEIGHTS,
            ),
            "swapped": _wiring(
                "weights-swapped", "the two attentions' weights are swapped", "MHA with cross_heads", "A slip.", WEIGHTS
            ),
            "self W_O for both": _wiring(
                "self-output-for-both", "self_W_O serves both", "CA with self_W_O", "A line is copied.", WEIGHTS
            ),
            "outputs swapped": _wiring(
                "outputs-swapped", "the two W_O are swapped", "MHA with cross_W_O", "A slip.", WEIGHTS
            ),
        },
        "asks": {
            "X": _wiring(
                "cross-queries-from-X", "cross-attention asks with X", "CA(X, memory)", "The wrong variable is passed."
            ),
            "MHA": _wiring(
                "cross-queries-from-attention",
                "cross-attention asks with attention's output alone",
                "CA(MHA(X), memory)",
                "The sum and the norm come too late.",
            ),
        },
        "norms": {
            "1 - 2": _norms("no-cross-norm", "the norm after cross-attention is missing", "C = U + CA(U, memory)"),
            "- cross 2": _norms("no-norm-1", "the norm after self-attention is missing", "U = X + MHA(X)"),
            "1 cross -": _norms("no-norm-2", "the last norm is missing", "Y = C + FFN(C)"),
            "- - 2": _norms("only-last-norm", "only the last norm is there", "U = X + MHA(X), C = U + CA(U, memory)"),
            "- - -": _norms("no-norms", "all norms are missing", "Y = C + FFN(C) without any norm"),
            "cross 1 2": _norms("norms-1-and-cross-swapped", "norm_1 and norm_cross are swapped", "U = LN_cross(…)"),
            "1 2 cross": _norms("norms-cross-and-2-swapped", "norm_cross and norm_2 are swapped", "C = LN_2(…)"),
            "2 cross 1": _norms("norms-1-and-2-swapped", "norm_1 and norm_2 are swapped", "U = LN_2(…), Y = LN_1(…)"),
            "1 1 2": _norms("norm-1-for-cross", "norm_1 serves the cross-attention too", "C = LN_1(U + CA(U, memory))"),
            "1 2 2": _norms("norm-2-for-cross", "norm_2 serves the cross-attention too", "C = LN_2(U + CA(U, memory))"),
            "1 1 1": _norms("norm-1-for-all", "norm_1 serves all three sums", "U, C and Y through LN_1"),
            "1 cross cross": _norms("norm-cross-for-network", "norm_cross serves the network too", "Y = LN_cross(…)"),
            "1 cross 1": _norms("norm-1-for-network", "norm_1 serves the network too", "Y = LN_1(C + FFN(C))"),
        },
        "self_keeps": {
            "0": _wiring(
                "no-self-residual", "the residual around self-attention is missing", "U = LN_1(MHA(X))", "No sum."
            ),
            "2 X": _wiring(
                "self-residual-doubled", "X is added twice", "U = LN_1(2 X + MHA(X))", "Attention adds it too."
            ),
        },
        "cross_keeps": {
            "0": _wiring(
                "no-cross-residual",
                "the residual around cross-attention is missing",
                "C = LN_cross(CA(U, memory))",
                "The sum is forgotten.",
            ),
            "X": _wiring(
                "cross-residual-from-X",
                "the residual around cross-attention starts from X",
                "C = LN_cross(X + CA(U, memory))",
                "The wrong variable is added.",
            ),
            "U + X": _wiring(
                "cross-residual-X-again", "X is added once more", "C = LN_cross(X + U + CA(U, memory))", "A slip."
            ),
        },
        "feeds": {
            "U": _wiring(
                "network-reads-U", "the network reads U, not C", "Y = LN_2(C + FFN(U))", "The wrong variable."
            ),
            "X": _wiring(
                "network-reads-X", "the network reads X, not C", "Y = LN_2(C + FFN(X))", "The wrong variable."
            ),
            "R": _wiring(
                "network-reads-cross",
                "the network reads the cross-attention's output alone",
                "Y = LN_2(C + FFN(CA(U, memory)))",
                "The sum comes too late.",
            ),
        },
        "ends": {
            "0": _wiring(
                "no-network-residual", "the residual around the network is missing", "Y = LN_2(FFN(C))", "No sum."
            ),
            "U": _wiring(
                "network-residual-from-U",
                "the last residual starts from U",
                "Y = LN_2(U + FFN(C))",
                "A wrong variable.",
            ),
            "X": _wiring(
                "network-residual-from-X",
                "the last residual starts from X",
                "Y = LN_2(X + FFN(C))",
                "A wrong variable.",
            ),
            "C + U": _wiring("network-residual-U-again", "U is added once more", "Y = LN_2(U + C + FFN(C))", "A slip."),
        },
        "eps": {
            value: _wiring(
                f"eps-{value}",
                f"the layer's norms use eps = {value}",
                f"√(variance + {value}), whatever params['eps'] is",
                "A default from a library is written down.",
                "Use params['eps'].",
            )
            for value in ("1e-5", "1e-6", "1e-12", "0")
        },
    },
)


class _Steps:
    """The layer's sublayers and norms, each a function of one array."""

    def __init__(self, X: Any, memory: Any, params: Any, memory_mask: Any, the: Parts) -> None:
        self.params, self.the = params, the
        self.memory, self.memory_mask, self.past = real(memory), memory_mask, np.tri(len(X), dtype=bool)
        self.LN_1, self.LN_c, self.LN_2 = (norm_of(params, key, the) for key in ("norm_1", "norm_cross", "norm_2"))
        self.FFN = network_of(params, the)

    def MHA(self, x: Any) -> Any:
        """Causal self-attention."""
        return self.the.multi_head(x, x, self.params["self_heads"], self.params["self_W_O"], self.past)

    def CA(self, x: Any) -> Any:
        """Cross-attention."""
        p = self.params
        return self.the.cross_attention(x, self.memory, p["cross_heads"], p["cross_W_O"], self.memory_mask)


def _whole(key: str, title: str, formula: str, why: str) -> Callable[[Any], Any]:
    """Register a wrong order of steps: a function of X and of the steps."""

    def register(wrong: Any) -> Any:
        def function(X: Any, memory: Any, params: Any, memory_mask: Any = None, *, the: Parts = ENCODER) -> Any:
            return wrong(real(X), _Steps(X, memory, params, memory_mask, the))

        known = misconception(f"layer-{key}", part="decoder_layer", title=title, formula=formula, why=why, cure=POST)
        known(function)
        return wrong

    return register


@_whole(
    "pre-norm",
    "pre-norm in place of post-norm",
    "U = X + MHA(LN_1(X)), C = U + CA(LN_cross(U), memory), Y = C + FFN(LN_2(C))",
    "Newer models are built that way.",
)
def pre_norm(X: Any, do: _Steps) -> Any:
    U = X + do.MHA(do.LN_1(X))
    C = U + do.CA(do.LN_c(U))
    return C + do.FFN(do.LN_2(C))


@_whole(
    "norm-on-the-branch",
    "each branch's output is normalized, not the sum",
    "U = X + LN_1(MHA(X)), C = U + LN_cross(CA(U, memory)), Y = C + LN_2(FFN(C))",
    "The norm is put behind the sublayer, and then the residual is added.",
)
def on_the_branch(X: Any, do: _Steps) -> Any:
    U = X + do.LN_1(do.MHA(X))
    C = U + do.LN_c(do.CA(U))
    return C + do.LN_2(do.FFN(C))


@_whole(
    "cross-first",
    "cross-attention comes before self-attention",
    "C = LN_cross(X + CA(X, memory)), U = LN_1(C + MHA(C)), Y = LN_2(U + FFN(U))",
    "The order is mixed up.",
)
def cross_first(X: Any, do: _Steps) -> Any:
    C = do.LN_c(X + do.CA(X))
    U = do.LN_1(C + do.MHA(C))
    return do.LN_2(U + do.FFN(U))


@_whole(
    "cross-first-norms-in-order",
    "cross-attention comes before self-attention, norms stay where they were",
    "C = LN_1(X + CA(X, memory)), U = LN_cross(C + MHA(C)), Y = LN_2(U + FFN(U))",
    "The order is mixed up.",
)
def cross_first_norms_in_order(X: Any, do: _Steps) -> Any:
    C = do.LN_1(X + do.CA(X))
    U = do.LN_c(C + do.MHA(C))
    return do.LN_2(U + do.FFN(U))


@_whole(
    "network-before-cross",
    "the network comes before cross-attention",
    "U = LN_1(X + MHA(X)), C = LN_2(U + FFN(U)), Y = LN_cross(C + CA(C, memory))",
    "An encoder block is completed first.",
)
def network_before_cross(X: Any, do: _Steps) -> Any:
    U = do.LN_1(X + do.MHA(X))
    C = do.LN_2(U + do.FFN(U))
    return do.LN_c(C + do.CA(C))


@_whole(
    "side-by-side",
    "self- and cross-attention run side by side",
    "C = LN_1(X + MHA(X) + CA(X, memory)), Y = LN_2(C + FFN(C))",
    "The two attentions look alike.",
)
def side_by_side(X: Any, do: _Steps) -> Any:
    C = do.LN_1(X + do.MHA(X) + do.CA(X))
    return do.LN_2(C + do.FFN(C))


@_whole(
    "no-cross-attention",
    "cross-attention is missing",
    "U = LN_1(X + MHA(X)), Y = LN_2(U + FFN(U))",
    "It is a decoder-only layer.",
)
def no_cross(X: Any, do: _Steps) -> Any:
    U = do.LN_1(X + do.MHA(X))
    return do.LN_2(U + do.FFN(U))


@_whole(
    "no-self-attention",
    "self-attention is missing",
    "C = LN_cross(X + CA(X, memory)), Y = LN_2(C + FFN(C))",
    "The first step is forgotten.",
)
def no_self(X: Any, do: _Steps) -> Any:
    C = do.LN_c(X + do.CA(X))
    return do.LN_2(C + do.FFN(C))


@_whole(
    "no-network",
    "the network is missing",
    "U = LN_1(X + MHA(X)), Y = LN_cross(U + CA(U, memory))",
    "The last step is forgotten.",
)
def no_network(X: Any, do: _Steps) -> Any:
    U = do.LN_1(X + do.MHA(X))
    return do.LN_c(U + do.CA(U))


@_whole(
    "no-residuals",
    "all residuals are missing",
    "U = LN_1(MHA(X)), C = LN_cross(CA(U, memory)), Y = LN_2(FFN(C))",
    "The norms are there, the sums are forgotten.",
)
def no_residuals(X: Any, do: _Steps) -> Any:
    return do.LN_2(do.FFN(do.LN_c(do.CA(do.LN_1(do.MHA(X))))))
