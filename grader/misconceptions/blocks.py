"""What goes wrong in the wiring of a block: which norm, which residual, which order."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK, Parts
from reference.book import real


def block_with(
    H: Any,
    block: Any,
    *,
    attends: str = "LN_1(H)",
    keeps: str = "H",
    feeds: str = "LN_2(U)",
    ends: str = "U",
    order: str = "attention first",
    eps: str = "block",
    signs: str = "plus",
    repeats: str = "once",
    the: Parts = BOOK,
) -> Any:
    """U = keeps + MHA(attends), H' = ends + FF(feeds), with a choice at each of the four places."""
    H = real(H)
    small = block["eps"] if eps == "block" else float(eps)

    def LN_1(x: Any) -> Any:
        return the.layer_norm(x, block["norm_1"]["gain"], block["norm_1"]["shift"], small)

    def LN_2(x: Any) -> Any:
        return the.layer_norm(x, block["norm_2"]["gain"], block["norm_2"]["shift"], small)

    def MHA(x: Any) -> Any:
        return the.multi_head_attention(x, block["heads"], block["W_O"])

    def FF(x: Any) -> Any:
        return the.feed_forward(x, block["W_1"], block["b_1"], block["W_2"], block["b_2"])

    if order == "feed-forward first":
        U = H + FF(LN_2(H))
        return U + MHA(LN_1(U))
    if order == "feed-forward first, norms in order":
        U = H + FF(LN_1(H))
        return U + MHA(LN_2(U))
    if order == "attention only":
        return H + MHA(LN_1(H))
    if order == "feed-forward only":
        return H + FF(LN_2(H))
    into: dict[str, Any] = {
        "LN_1(H)": LN_1,
        "H": lambda x: x,
        "LN_2(H)": LN_2,
        "LN_1(LN_1(H))": lambda x: LN_1(LN_1(x)),
    }
    first: dict[str, Any] = {"H": lambda: H, "0": lambda: 0.0, "LN_1(H)": lambda: LN_1(H), "2 H": lambda: 2 * H}
    attention = MHA(into[attends](H)) * (-1 if signs == "attention subtracted" else 1)
    U = first[keeps]() + attention
    if repeats == "attention":
        U = U + MHA(LN_1(U))
    if signs == "scaled":
        U = U / np.sqrt(2)
    fed: dict[str, Any] = {
        "LN_2(U)": lambda: LN_2(U),
        "U": lambda: U,
        "LN_1(U)": lambda: LN_1(U),
        "LN_2(H)": lambda: LN_2(H),
        "LN_1(H)": lambda: LN_1(H),
        "LN_2(MHA)": lambda: LN_2(attention),
        "LN_2(LN_2(U))": lambda: LN_2(LN_2(U)),
    }
    last: dict[str, Any] = {
        "U": lambda: U,
        "0": lambda: 0.0,
        "LN_2(U)": lambda: LN_2(U),
        "H": lambda: H,
        "U + H": lambda: U + H,
        "2 U": lambda: 2 * U,
        "MHA": lambda: attention,
    }
    H_prime = last[ends]() + FF(fed[feeds]()) * (-1 if signs == "feed-forward subtracted" else 1)
    if repeats == "feed-forward":
        H_prime = H_prime + FF(LN_2(H_prime))
    return H_prime / np.sqrt(2) if signs == "scaled" else H_prime


PRE = "U = H + MHA(LN_1(H)), H' = U + FF(LN_2(U))."


def _wiring(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, PRE)


BLOCK = Family(
    "decoder_block",
    block_with,
    {
        "attends": {
            "H": _wiring(
                "no-norm-before-attention", "attention gets the raw input", "U = H + MHA(H)", "LN_1 is forgotten."
            ),
            "LN_2(H)": _wiring(
                "norm-2-for-both",
                "the second norm serves both sublayers",
                "U = H + MHA(LN_2(H))",
                "The norms are mixed up.",
            ),
            "LN_1(LN_1(H))": _wiring(
                "norm-1-twice",
                "the first norm is applied twice",
                "U = H + MHA(LN_1(LN_1(H)))",
                "It stands inside and outside.",
            ),
        },
        "keeps": {
            "0": _wiring(
                "no-residual-around-attention",
                "the residual around attention is missing",
                "U = MHA(LN_1(H))",
                "The sum is forgotten.",
            ),
            "LN_1(H)": _wiring(
                "residual-from-norm-1",
                "the first residual starts from the normalized input",
                "U = LN_1(H) + MHA(LN_1(H))",
                "x = norm(x) overwrites the stream.",
            ),
            "2 H": _wiring(
                "residual-doubled",
                "the input is added twice",
                "U = 2 H + MHA(LN_1(H))",
                "Attention adds it, and the block again.",
            ),
        },
        "feeds": {
            "U": _wiring(
                "no-norm-before-feed-forward",
                "the feed-forward gets the raw stream",
                "H' = U + FF(U)",
                "LN_2 is forgotten.",
            ),
            "LN_1(U)": _wiring(
                "norm-1-for-both",
                "the first norm serves both sublayers",
                "H' = U + FF(LN_1(U))",
                "A line is copied; at their start values both norms are equal.",
            ),
            "LN_2(H)": _wiring(
                "parallel-sublayers",
                "the feed-forward reads H, not U",
                "H' = U + FF(LN_2(H)) = H + MHA(LN_1(H)) + FF(LN_2(H))",
                "The wrong variable is passed; some models run the sublayers side by side.",
            ),
            "LN_1(H)": _wiring(
                "parallel-sublayers-one-norm",
                "the feed-forward reads what attention read",
                "H' = U + FF(LN_1(H)) = H + MHA(LN_1(H)) + FF(LN_1(H))",
                "The normalized input is used again; some models run the sublayers side by side.",
            ),
            "LN_2(MHA)": _wiring(
                "feed-forward-reads-attention",
                "the feed-forward reads attention's output alone",
                "H' = U + FF(LN_2(MHA(LN_1(H))))",
                "The sum comes too late.",
            ),
            "LN_2(LN_2(U))": _wiring(
                "norm-2-twice",
                "the second norm is applied twice",
                "H' = U + FF(LN_2(LN_2(U)))",
                "It stands inside and outside.",
            ),
        },
        "ends": {
            "0": _wiring(
                "no-residual-around-feed-forward",
                "the residual around the feed-forward is missing",
                "H' = FF(LN_2(U))",
                "The sum is forgotten.",
            ),
            "LN_2(U)": _wiring(
                "residual-from-norm-2",
                "the second residual starts from the normalized stream",
                "H' = LN_2(U) + FF(LN_2(U))",
                "x = norm(x) overwrites the stream.",
            ),
            "H": _wiring(
                "residual-skips-attention",
                "the second residual starts from H",
                "H' = H + FF(LN_2(U)): attention's output is lost on the way",
                "The wrong variable is added.",
            ),
            "U + H": _wiring(
                "residual-input-again",
                "H is added once more at the end",
                "H' = H + U + FF(LN_2(U))",
                "Both residuals start from the input.",
            ),
            "2 U": _wiring(
                "residual-2-doubled",
                "U is added twice",
                "H' = 2 U + FF(LN_2(U))",
                "The feed-forward adds it, and the block again.",
            ),
            "MHA": _wiring(
                "residual-2-from-attention",
                "the second residual starts from attention's output alone",
                "H' = MHA(LN_1(H)) + FF(LN_2(U))",
                "The wrong variable is added.",
            ),
        },
        "order": {
            "feed-forward first": _wiring(
                "feed-forward-first",
                "the feed-forward comes first",
                "U = H + FF(LN_2(H)), H' = U + MHA(LN_1(U))",
                "The order is mixed up.",
            ),
            "feed-forward first, norms in order": _wiring(
                "feed-forward-first-norms-in-order",
                "the feed-forward comes first",
                "U = H + FF(LN_1(H)), H' = U + MHA(LN_2(U))",
                "The order is mixed up.",
            ),
            "attention only": _wiring(
                "no-feed-forward",
                "the feed-forward is missing",
                "H' = H + MHA(LN_1(H))",
                "The second half is forgotten.",
            ),
            "feed-forward only": _wiring(
                "no-attention", "attention is missing", "H' = H + FF(LN_2(H))", "The first half is forgotten."
            ),
        },
        "signs": {
            "attention subtracted": _wiring(
                "attention-subtracted",
                "attention's output is subtracted",
                "U = H - MHA(LN_1(H))",
                "- is written for +.",
            ),
            "feed-forward subtracted": _wiring(
                "feed-forward-subtracted",
                "the feed-forward's output is subtracted",
                "H' = U - FF(LN_2(U))",
                "- is written for +.",
            ),
            "scaled": _wiring(
                "residuals-divided-by-root-2",
                "each sum is divided by √2",
                "U = (H + MHA(LN_1(H))) / √2, H' = (U + FF(LN_2(U))) / √2",
                "It keeps the spread of a sum of two; some models do so.",
            ),
        },
        "repeats": {
            "attention": _wiring(
                "attention-twice",
                "the attention sublayer runs twice",
                "U = H + MHA(LN_1(H)), U' = U + MHA(LN_1(U)), H' = U' + FF(LN_2(U'))",
                "A line is repeated.",
            ),
            "feed-forward": _wiring(
                "feed-forward-twice",
                "the feed-forward sublayer runs twice",
                "U' = U + FF(LN_2(U)), H' = U' + FF(LN_2(U'))",
                "A line is repeated.",
            ),
        },
        "eps": {
            value: _wiring(
                f"block-eps-{value}",
                f"the block's norms use eps = {value}",
                f"√(variance + {value}), whatever block['eps'] is",
                "A default from a library is written down.",
            )
            for value in ("1e-5", "1e-6", "1e-8", "1e-12", "0")
        },
    },
)


def _norms(block: Any, the: Parts) -> Any:
    return [
        lambda x, n=block[name]: the.layer_norm(x, n["gain"], n["shift"], block["eps"]) for name in ("norm_1", "norm_2")
    ]


def _sublayers(block: Any, the: Parts) -> Any:
    return (
        lambda x: the.multi_head_attention(x, block["heads"], block["W_O"]),
        lambda x: the.feed_forward(x, block["W_1"], block["b_1"], block["W_2"], block["b_2"]),
    )


@misconception(
    "post-norm",
    part="decoder_block",
    title="post-norm in place of pre-norm",
    formula="U = LN_1(H + MHA(H)), H' = LN_2(U + FF(U))",
    why="The original transformer is built that way.",
    cure=PRE,
)
def post_norm(H: Any, block: Any, *, the: Parts = BOOK) -> Any:
    (LN_1, LN_2), (MHA, FF) = _norms(block, the), _sublayers(block, the)
    U = LN_1(real(H) + MHA(real(H)))
    return LN_2(U + FF(U))


@misconception(
    "norm-on-branch-output",
    part="decoder_block",
    title="each branch's output is normalized",
    formula="U = H + LN_1(MHA(H)), H' = U + LN_2(FF(U))",
    why="The norm is put behind the sublayer.",
    cure=PRE,
)
def norm_on_branch(H: Any, block: Any, *, the: Parts = BOOK) -> Any:
    (LN_1, LN_2), (MHA, FF) = _norms(block, the), _sublayers(block, the)
    U = real(H) + LN_1(MHA(real(H)))
    return U + LN_2(FF(U))


@misconception(
    "pre-and-post-norm",
    part="decoder_block",
    title="norms before and after",
    formula="U = LN_1(H + MHA(LN_1(H))), H' = LN_2(U + FF(LN_2(U)))",
    why="Both conventions at once.",
    cure=PRE,
)
def pre_and_post(H: Any, block: Any, *, the: Parts = BOOK) -> Any:
    (LN_1, LN_2), (MHA, FF) = _norms(block, the), _sublayers(block, the)
    U = LN_1(real(H) + MHA(LN_1(real(H))))
    return LN_2(U + FF(LN_2(U)))


@misconception(
    "norms-swapped",
    part="decoder_block",
    title="the two norms are swapped",
    formula="U = H + MHA(LN_2(H)), H' = U + FF(LN_1(U))",
    why="At their start values both norms are equal.",
    cure=PRE,
)
def norms_swapped(H: Any, block: Any, *, the: Parts = BOOK) -> Any:
    return block_with(H, block, attends="LN_2(H)", feeds="LN_1(U)", the=the)


@misconception(
    "block-norm-at-the-end",
    part="decoder_block",
    title="one more norm at the end of the block",
    formula="H' = LN_2(U + FF(LN_2(U)))",
    why="The final norm belongs to the decoder, not to each block.",
    cure=PRE,
)
def norm_at_the_end(H: Any, block: Any, *, the: Parts = BOOK) -> Any:
    _, LN_2 = _norms(block, the)
    return LN_2(block_with(H, block, the=the))
