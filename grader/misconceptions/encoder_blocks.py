"""What goes wrong in the wiring of a post-norm encoder block: the norms, the residuals, the order, the padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference.book import real
from reference.encoder import ENCODER
from reference.parts import Parts

POST = "U = LN_1(X + MHA(X)), Y = LN_2(U + FFN(U))."
PADS = "padding_mask[s] closes column s, for every query alike: mask[t, s] = padding_mask[s]."


def norm_of(params: Any, name: str, the: Parts, eps: str = "params") -> Any:
    """One of the norms of params, as a function of z."""
    small = params["eps"] if eps == "params" else float(eps)
    return lambda z: the.layer_norm(z, params[name]["gain"], params[name]["shift"], small)


def network_of(params: Any, the: Parts) -> Any:
    """The feed-forward network of params, as a function of u."""
    return lambda u: the.ffn(u, params["W_1"], params["b_1"], params["W_2"], params["b_2"])


def encoder(
    X: Any,
    params: Any,
    padding_mask: Any = None,
    *,
    consults: str = "not padding",
    attends: str = "X",
    keeps: str = "X",
    first: str = "LN_1",
    feeds: str = "U",
    ends: str = "U",
    last: str = "LN_2",
    signs: str = "plus",
    eps: str = "params",
    pads: str = "kept",
    the: Parts = ENCODER,
) -> Any:
    """U = first(keeps + MHA(attends)), Y = last(ends + FFN(feeds)), with a choice at each place."""
    X = real(X)
    T = len(X)
    LN_1, LN_2 = norm_of(params, "norm_1", the, eps), norm_of(params, "norm_2", the, eps)
    FFN = network_of(params, the)
    real_ones = np.ones(T, bool) if padding_mask is None else np.asarray(padding_mask, bool)
    columns, past = np.broadcast_to(real_ones, (T, T)), np.tri(T, dtype=bool)
    mask: Any = {
        "not padding": None if padding_mask is None else columns,
        "everything": None,
        "padding": None if padding_mask is None else ~columns,
        "by real queries": columns.T,
        "real by real": columns & columns.T,
        "past": past & columns,
        "past only": past,
        "itself too": columns | np.eye(T, dtype=bool),
    }[consults]
    if pads == "emptied before":
        X = X * real_ones[:, None]
    norms: dict[str, Any] = {
        "LN_1": LN_1,
        "LN_2": LN_2,
        "none": lambda z: z,
        "both": lambda z: LN_2(LN_1(z)),
        "twice": lambda z: LN_2(LN_2(z)),
    }
    N_1 = LN_1(X)
    M = the.multi_head(
        N_1 if attends == "LN_1(X)" else X,
        N_1 if attends in ("LN_1(X)", "keys of LN_1(X)") else X,
        params["self_heads"],
        params["self_W_O"],
        mask,
    ) * (-1 if signs == "attention subtracted" else 1)
    kept = {"X": X, "0": 0.0, "2 X": 2 * X, "LN_1(X)": N_1}[keeps]
    U = norms[first](kept + M)
    fed = {
        "U": lambda: U,
        "X": lambda: X,
        "MHA": lambda: M,
        "X + MHA": lambda: X + M,
        "LN_2(U)": lambda: LN_2(U),
        "LN_1(MHA)": lambda: LN_1(M),
    }[feeds]()
    F = FFN(fed) * (-1 if signs == "network subtracted" else 1)
    added = {
        "U": lambda: U + F,
        "0": lambda: F,
        "X": lambda: X + F,
        "X + MHA": lambda: X + M + F,
        "U + X": lambda: U + X + F,
        "2 U": lambda: 2 * U + F,
        "MHA": lambda: M + F,
    }[ends]()
    Y = norms[last](added)
    return Y * real_ones[:, None] if pads == "emptied after" else Y


def _wiring(key: str, title: str, formula: str, why: str, cure: str = POST) -> Choice:
    return Choice(f"encoder-{key}", title, formula, why, cure)


BLOCK = Family(
    "encoder_block",
    encoder,
    {
        "consults": {
            "everything": _wiring(
                "padding-ignored",
                "the padding mask is not used",
                "MHA(X) without a mask",
                "It is passed nowhere.",
                PADS,
            ),
            "padding": _wiring(
                "padding-flipped",
                "the padding mask is the wrong way round",
                "only the padding is consulted",
                "True = padding in torch's key_padding_mask; here True = may be consulted.",
                PADS,
            ),
            "by real queries": _wiring(
                "padding-on-queries",
                "the padding mask closes rows, not columns",
                "mask[t, s] = padding_mask[t]: padding consults nothing, and is consulted",
                "The mask is given the shape (T, 1).",
                PADS,
            ),
            "real by real": _wiring(
                "padding-on-queries-and-keys",
                "the padding mask closes rows and columns",
                "mask[t, s] = padding_mask[t] and padding_mask[s]: padding consults nothing",
                "An outer product of the mask with itself looks symmetric and right.",
                PADS,
            ),
            "past": _wiring(
                "causal",
                "a causal mask in the encoder",
                "position t consults s ≤ t only",
                "The decoder's attention is used again.",
                "The encoder sees the whole sequence: mask padding alone.",
            ),
            "past only": _wiring(
                "causal-instead-of-padding",
                "a causal mask in place of the padding mask",
                "position t consults s ≤ t, padding or not",
                "The decoder's attention is used again.",
                "The encoder sees the whole sequence: mask padding alone.",
            ),
            "itself too": _wiring(
                "padding-consults-itself",
                "every position may consult itself, padding too",
                "mask[t, s] = padding_mask[s] or t = s",
                "The diagonal is kept open so that no row is empty.",
                PADS,
            ),
        },
        "attends": {
            "LN_1(X)": _wiring(
                "norm-before-attention-too",
                "attention reads the normalized input",
                "U = LN_1(X + MHA(LN_1(X)))",
                "Pre-norm and post-norm at once.",
            ),
            "keys of LN_1(X)": _wiring(
                "norm-of-keys",
                "keys and values come from the normalized input",
                "U = LN_1(X + MHA(X, LN_1(X)))",
                "Another variable is passed on.",
            ),
        },
        "keeps": {
            "0": _wiring(
                "no-residual-around-attention",
                "the residual around attention is missing",
                "U = LN_1(MHA(X))",
                "No sum.",
            ),
            "2 X": _wiring("residual-doubled", "X is added twice", "U = LN_1(2 X + MHA(X))", "Attention adds it too."),
            "LN_1(X)": _wiring(
                "residual-from-norm",
                "the first residual starts from the normalized input",
                "U = LN_1(LN_1(X) + MHA(X))",
                "x = norm(x) overwrites the input.",
            ),
        },
        "first": {
            "LN_2": _wiring(
                "norm-2-for-both", "the second norm serves both sums", "U = LN_2(X + MHA(X))", "A line is copied."
            ),
            "none": _wiring(
                "no-norm-after-attention", "the first norm is missing", "U = X + MHA(X)", "One norm looks enough."
            ),
            "both": _wiring(
                "both-norms-after-attention", "both norms follow attention", "U = LN_2(LN_1(X + MHA(X)))", "A slip."
            ),
        },
        "feeds": {
            "X": _wiring(
                "parallel-sublayers", "the network reads X, not U", "Y = LN_2(U + FFN(X))", "The wrong variable."
            ),
            "MHA": _wiring(
                "network-reads-attention",
                "the network reads attention's output alone",
                "Y = LN_2(U + FFN(MHA(X)))",
                "The sum comes too late.",
            ),
            "X + MHA": _wiring(
                "network-reads-sum",
                "the network reads the sum before its norm",
                "Y = LN_2(U + FFN(X + MHA(X)))",
                "The wrong variable is passed.",
            ),
            "LN_2(U)": _wiring(
                "norm-before-network-too",
                "the network reads a normalized U",
                "Y = LN_2(U + FFN(LN_2(U)))",
                "Pre-norm and post-norm at once.",
            ),
            "LN_1(MHA)": _wiring(
                "network-reads-normed-attention",
                "the network reads LN_1 of attention's output alone",
                "Y = LN_2(U + FFN(LN_1(MHA(X))))",
                "The sum comes too late.",
            ),
        },
        "ends": {
            "0": _wiring(
                "no-residual-around-network",
                "the residual around the network is missing",
                "Y = LN_2(FFN(U))",
                "No sum.",
            ),
            "X": _wiring(
                "residual-skips-attention",
                "the second residual starts from X",
                "Y = LN_2(X + FFN(U)): attention's output is lost on the way",
                "The wrong variable is added.",
            ),
            "X + MHA": _wiring(
                "residual-before-norm",
                "the second residual starts before the first norm",
                "Y = LN_2(X + MHA(X) + FFN(U))",
                "The stream of a pre-norm block goes past its norms.",
            ),
            "U + X": _wiring("input-again", "X is added once more", "Y = LN_2(X + U + FFN(U))", "Both start at X."),
            "2 U": _wiring("residual-2-doubled", "U is added twice", "Y = LN_2(2 U + FFN(U))", "FFN adds it too."),
            "MHA": _wiring(
                "residual-2-from-attention",
                "the second residual starts from attention's output alone",
                "Y = LN_2(MHA(X) + FFN(U))",
                "The wrong variable is added.",
            ),
        },
        "last": {
            "LN_1": _wiring(
                "norm-1-for-both", "the first norm serves both sums", "Y = LN_1(U + FFN(U))", "A line is copied."
            ),
            "none": _wiring("no-norm-at-the-end", "the second norm is missing", "Y = U + FFN(U)", "One looks enough."),
            "twice": _wiring(
                "norm-2-twice", "the second norm is applied twice", "Y = LN_2(LN_2(U + FFN(U)))", "A slip."
            ),
        },
        "signs": {
            "attention subtracted": _wiring(
                "attention-subtracted", "attention's output is subtracted", "U = LN_1(X - MHA(X))", "- stands for +."
            ),
            "network subtracted": _wiring(
                "network-subtracted", "the network's output is subtracted", "Y = LN_2(U - FFN(U))", "- stands for +."
            ),
        },
        "pads": {
            "emptied before": _wiring(
                "padding-emptied-before",
                "rows of padding are set to 0 first",
                "X · padding_mask, then the block",
                "It looks like masking; their own rows change, and nothing else needs it.",
                PADS,
            ),
            "emptied after": _wiring(
                "padding-emptied-after",
                "rows of padding are set to 0 at the end",
                "Y · padding_mask",
                "It looks tidy; the mask says who is consulted, not who consults.",
                PADS,
            ),
        },
        "eps": {
            value: _wiring(
                f"eps-{value}",
                f"the block's norms use eps = {value}",
                f"√(variance + {value}), whatever params['eps'] is",
                "A default from a library is written down.",
                "Use params['eps'].",
            )
            for value in ("1e-5", "1e-6", "1e-12", "0")
        },
    },
)


def _whole(key: str, title: str, formula: str, why: str) -> Callable[[Any], Any]:
    return misconception(f"encoder-{key}", part="encoder_block", title=title, formula=formula, why=why, cure=POST)


def _sublayers(X: Any, params: Any, padding_mask: Any, the: Parts) -> Any:
    """LN_1, LN_2, MHA and FFN, each a function of one array."""
    T = len(X)
    mask = None if padding_mask is None else np.broadcast_to(np.asarray(padding_mask, bool), (T, T))

    def MHA(x: Any) -> Any:
        return the.multi_head(x, x, params["self_heads"], params["self_W_O"], mask)

    return norm_of(params, "norm_1", the), norm_of(params, "norm_2", the), MHA, network_of(params, the)


@_whole(
    "pre-norm",
    "pre-norm in place of post-norm",
    "U = X + MHA(LN_1(X)), Y = U + FFN(LN_2(U))",
    "Newer models are built that way.",
)
def pre_norm(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    X = real(X)
    LN_1, LN_2, MHA, FFN = _sublayers(X, params, padding_mask, the)
    U = X + MHA(LN_1(X))
    return U + FFN(LN_2(U))


@_whole(
    "norm-on-the-branch",
    "each branch's output is normalized, not the sum",
    "U = X + LN_1(MHA(X)), Y = U + LN_2(FFN(U))",
    "The norm is put behind the sublayer, and then the residual is added.",
)
def on_the_branch(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    X = real(X)
    LN_1, LN_2, MHA, FFN = _sublayers(X, params, padding_mask, the)
    U = X + LN_1(MHA(X))
    return U + LN_2(FFN(U))


@_whole(
    "norms-swapped",
    "the two norms are swapped",
    "U = LN_2(X + MHA(X)), Y = LN_1(U + FFN(U))",
    "At their start values both norms are equal.",
)
def norms_swapped(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    return encoder(X, params, padding_mask, first="LN_2", last="LN_1", the=the)


@_whole(
    "no-norms",
    "both norms are missing",
    "U = X + MHA(X), Y = U + FFN(U)",
    "The shapes fit without them.",
)
def no_norms(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    return encoder(X, params, padding_mask, first="none", last="none", the=the)


@_whole(
    "no-residuals",
    "both residuals are missing",
    "U = LN_1(MHA(X)), Y = LN_2(FFN(U))",
    "The norms are there, the sums are forgotten.",
)
def no_residuals(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    return encoder(X, params, padding_mask, keeps="0", ends="0", the=the)


@_whole(
    "network-first",
    "the network comes first",
    "U = LN_1(X + FFN(X)), Y = LN_2(U + MHA(U))",
    "The order is mixed up.",
)
def network_first(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    X = real(X)
    LN_1, LN_2, MHA, FFN = _sublayers(X, params, padding_mask, the)
    U = LN_1(X + FFN(X))
    return LN_2(U + MHA(U))


@_whole("no-network", "the network is missing", "Y = LN_1(X + MHA(X))", "The second half is forgotten.")
def no_network(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    X = real(X)
    LN_1, _, MHA, _ = _sublayers(X, params, padding_mask, the)
    return LN_1(X + MHA(X))


@_whole("no-attention", "attention is missing", "Y = LN_2(X + FFN(X))", "The first half is forgotten.")
def no_attention(X: Any, params: Any, padding_mask: Any = None, *, the: Parts = ENCODER) -> Any:
    X = real(X)
    _, LN_2, _, FFN = _sublayers(X, params, padding_mask, the)
    return LN_2(X + FFN(X))
