"""What goes wrong from tokens to logits: embeddings, positions, layers, final norm, readout."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family
from reference import BOOK, Parts
from reference.book import real


def decoder_with(
    tokens: Any,
    params: Any,
    *,
    embed: str = "E",
    positions: str = "added",
    layers: str = "all",
    norm: str = "final",
    readout: str = "W_out",
    returns: str = "logits",
    eps: str = "params",
    the: Parts = BOOK,
) -> Any:
    """The decoder, with a choice at each step."""
    tokens = np.asarray(tokens)
    T, E = len(tokens), real(params["embedding"])
    d = E.shape[1]
    embedded: dict[str, Any] = {
        "E": lambda: E[tokens],
        "times √d": lambda: E[tokens] * np.sqrt(d),
        "over √d": lambda: E[tokens] / np.sqrt(d),
        "one less": lambda: E[tokens - 1],
        "one more": lambda: E[(tokens + 1) % len(E)],
        "reversed": lambda: E[tokens[::-1]],
        "sorted": lambda: E[np.sort(tokens)],
        "by position": lambda: E[np.arange(T) % len(E)],
    }
    H = embedded[embed]()
    P = params.get("positions")
    if P is not None:
        P = real(P)
        placed: dict[str, Any] = {
            "added": lambda: H + P[:T],
            "missing": lambda: H,
            "from 1": lambda: H + P[1 : T + 1],
            "reversed": lambda: H + P[:T][::-1],
            "last rows": lambda: H + P[-T:],
            "first row": lambda: H + P[0],
            "by token": lambda: H + P[tokens % len(P)],
            "multiplied": lambda: H * P[:T],
            "subtracted": lambda: H - P[:T],
            "in each block": lambda: H + P[:T],
            "scaled": lambda: (H + P[:T]) * np.sqrt(d),
            "after the blocks": lambda: H,
            "alone": lambda: P[:T],
        }
        H = placed[positions]()
    blocks = list(params["blocks"])
    used = {
        "all": blocks,
        "reversed": blocks[::-1],
        "skip last": blocks[:-1],
        "skip first": blocks[1:],
        "first only": blocks[:1],
        "last only": blocks[-1:],
        "first shared": [blocks[0]] * len(blocks) if blocks else [],
        "last shared": [blocks[-1]] * len(blocks) if blocks else [],
        "twice": blocks * 2,
        "none": [],
        "side by side": blocks,
    }[layers]
    small = params["eps"] if eps == "params" else blocks[-1]["eps"] if eps == "block" else float(eps)

    def LN(x: Any, which: Any) -> Any:
        return the.layer_norm(x, which["gain"], which["shift"], small)

    if norm == "before the blocks":
        H = LN(H, params["norm_f"])
    start, total = H, H
    for index, block in enumerate(used):
        if positions == "in each block" and index and P is not None:
            H = H + P[:T]
        H = the.decoder_block(start if layers == "side by side" else H, block)
        total = total + H - start
        if norm == "in every block":
            H = LN(H, params["norm_f"])
    if layers == "side by side":
        H = total
    if positions == "after the blocks" and P is not None:
        H = H + P[:T]
    H = {
        "final": lambda: LN(H, params["norm_f"]),
        "missing": lambda: H,
        "before the blocks": lambda: H,
        "in every block": lambda: H,
        "norm_2 of the last block": lambda: LN(H, blocks[-1]["norm_2"]),
        "norm_1 of the first block": lambda: LN(H, blocks[0]["norm_1"]),
        "twice": lambda: LN(LN(H, params["norm_f"]), params["norm_f"]),
        "plain": lambda: the.layer_norm(H, np.ones(d), np.zeros(d), small),
    }[norm]()
    W, b = real(params["W_out"]), real(params["b_out"])
    Z = {
        "W_out": lambda: H @ W + b,
        "no bias": lambda: H @ W,
        "tied": lambda: H @ E.T + b,
        "tied, no bias": lambda: H @ E.T,
        "minus bias": lambda: H @ W - b,
        "ReLU": lambda: np.maximum(H, 0) @ W + b,
        "none": lambda: H,
    }[readout]()
    return {
        "logits": lambda: Z,
        "probabilities": lambda: the.next_token_probabilities(Z),
        "logarithms": lambda: (
            Z - Z.max(-1, keepdims=True) - np.log(np.exp(Z - Z.max(-1, keepdims=True)).sum(-1, keepdims=True))
        ),
        "last row": lambda: Z[-1],
        "last row, kept": lambda: Z[-1:],
        "shifted": lambda: Z[:-1],
        "tokens": lambda: Z.argmax(-1),
        "hidden": lambda: H,
    }[returns]()


FULL = "H⁰ = embedding[tokens] (+ positions[:T]), every block in order, Z = LN_f(H^L) W_out + b_out."


def _c(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, FULL)


DECODER = Family(
    "decoder",
    decoder_with,
    {
        "embed": {
            "times √d": _c(
                "embedding-times-root-width",
                "embeddings multiplied by √d",
                "H⁰ = √d · E[tokens]",
                "The original transformer does so.",
            ),
            "one less": _c(
                "embedding-shifted-down",
                "token ids are counted from 1",
                "H⁰ = E[tokens - 1]",
                "Ids are taken to start at 1; here they start at 0.",
            ),
            "one more": _c(
                "embedding-shifted-up",
                "the row of the next id is taken",
                "H⁰ = E[tokens + 1]",
                "Row 0 is taken to be kept for padding.",
            ),
            "reversed": _c(
                "tokens-reversed",
                "the tokens are read backwards",
                "H⁰[t] = E[tokens[T-1-t]]",
                "The order is turned.",
            ),
            "sorted": _c("tokens-sorted", "the tokens are sorted", "H⁰ = E[sorted tokens]", "np.unique sorts."),
            "by position": _c(
                "embedding-by-position",
                "the tokens do not count",
                "H⁰ = E[0..T-1]",
                "The loop's index is used in place of the token.",
            ),
            "over √d": _c(
                "embedding-over-root-width",
                "embeddings divided by √d",
                "H⁰ = E[tokens] / √d",
                "A scale is borrowed from the scores.",
            ),
        },
        "positions": {
            "missing": _c(
                "positions-missing",
                "positions are not added",
                "H⁰ = E[tokens]",
                "The key is optional and is overlooked.",
            ),
            "from 1": _c(
                "positions-from-one",
                "positions are counted from 1",
                "H⁰ = E[tokens] + P[1:T+1]",
                "The count starts at 1.",
            ),
            "reversed": _c(
                "positions-reversed",
                "positions are counted backwards",
                "H⁰[t] = E[tokens[t]] + P[T-1-t]",
                "The order is turned.",
            ),
            "last rows": _c(
                "positions-last-rows",
                "the last rows of the table are used",
                "H⁰ = E[tokens] + P[-T:]",
                "The slice is taken from the end.",
            ),
            "first row": _c(
                "positions-first-row",
                "every position gets the first row",
                "H⁰ = E[tokens] + P[0]",
                "The index does not move.",
            ),
            "by token": _c(
                "positions-by-token",
                "positions are looked up by token",
                "H⁰ = E[tokens] + P[tokens]",
                "The token id is used as index.",
            ),
            "multiplied": _c(
                "positions-multiplied", "positions are multiplied", "H⁰ = E[tokens] · P[:T]", "* is written for +."
            ),
            "subtracted": _c(
                "positions-subtracted", "positions are subtracted", "H⁰ = E[tokens] - P[:T]", "- is written for +."
            ),
            "in each block": _c(
                "positions-in-each-block",
                "positions are added before every block",
                "H^l + P[:T]",
                "The line stands inside the loop.",
            ),
            "after the blocks": _c(
                "positions-after-blocks",
                "positions are added after the blocks",
                "H^L + P[:T]",
                "The line stands behind the loop; attention never sees an order.",
            ),
            "alone": _c(
                "positions-replace-embedding",
                "positions replace the embeddings",
                "H⁰ = P[:T]",
                "= is written for +=.",
            ),
            "scaled": _c(
                "positions-scaled",
                "embeddings and positions multiplied by √d",
                "√d · (E[tokens] + P[:T])",
                "A bracket too many.",
            ),
        },
        "layers": {
            "reversed": _c(
                "layers-reversed", "the blocks run backwards", "block L first, block 1 last", "The list is turned."
            ),
            "skip last": _c(
                "layers-skip-last", "the last block is left out", "H^(L-1) is read out", "The loop ends one too early."
            ),
            "skip first": _c(
                "layers-skip-first",
                "the first block is left out",
                "H⁰ goes into block 2",
                "The loop starts one too late.",
            ),
            "first only": _c(
                "layers-only-first", "only the first block runs", "H¹ is read out", "The loop returns early."
            ),
            "last only": _c(
                "layers-only-last",
                "only the last block counts",
                "H⁰ goes into block L",
                "Each block gets H⁰ in place of H^(l-1).",
            ),
            "first shared": _c(
                "layers-share-first",
                "every layer uses the first block",
                "block 1, L times",
                "blocks[0] stands in the loop.",
            ),
            "last shared": _c(
                "layers-share-last", "every layer uses the last block", "block L, L times", "A name outlives the loop."
            ),
            "side by side": _c(
                "layers-side-by-side",
                "every block reads H⁰, their changes are summed",
                "H⁰ + Σ_l (block_l(H⁰) - H⁰)",
                "The stream is not passed on from block to block.",
            ),
            "twice": _c("layers-twice", "the blocks run twice", "2 L layers", "The loop is nested."),
            "none": _c("layers-none", "no block runs", "H⁰ is read out", "The loop's result is not kept."),
        },
        "norm": {
            "missing": _c(
                "final-norm-missing",
                "the final norm is missing",
                "Z = H^L W_out + b_out",
                "Post-norm models need none.",
            ),
            "before the blocks": _c(
                "final-norm-before-blocks",
                "the final norm comes before the blocks",
                "H⁰ = LN_f(E[tokens] + P[:T]), Z = H^L W_out + b_out",
                "Some models normalize the embeddings.",
            ),
            "in every block": _c(
                "final-norm-in-every-block",
                "the final norm is applied after every block",
                "H^l = LN_f(block_l(H^(l-1)))",
                "The line is indented too far: it stands inside the loop.",
            ),
            "norm_2 of the last block": _c(
                "final-norm-from-block",
                "a block's norm in place of the final one",
                "Z = LN_2(H^L) W_out + b_out",
                "The loop's variable is used on.",
            ),
            "norm_1 of the first block": _c(
                "final-norm-from-first-block",
                "the first block's norm in place of the final one",
                "Z = LN_1(H^L) W_out + b_out",
                "A norm is taken for the other.",
            ),
            "twice": _c(
                "final-norm-twice",
                "the final norm is applied twice",
                "Z = LN_f(LN_f(H^L)) W_out + b_out",
                "It stands in two places.",
            ),
            "plain": _c(
                "final-norm-plain",
                "the final norm has no gain and shift",
                "Z = N(H^L) W_out + b_out",
                "At their start values they do nothing.",
            ),
        },
        "readout": {
            "no bias": _c("readout-bias-missing", "b_out is missing", "Z = LN_f(H^L) W_out", "Many models have none."),
            "tied": _c(
                "readout-tied",
                "the embedding is used as readout",
                "Z = LN_f(H^L) Eᵀ + b_out",
                "Many models tie the two; here W_out is given.",
            ),
            "tied, no bias": _c(
                "readout-tied-without-bias",
                "the embedding is used as readout, without bias",
                "Z = LN_f(H^L) Eᵀ",
                "Many models tie the two; here W_out is given.",
            ),
            "ReLU": _c(
                "readout-relu",
                "a ReLU before the readout",
                "Z = ReLU(LN_f(H^L)) W_out + b_out",
                "Classifiers often have one there.",
            ),
            "minus bias": _c(
                "readout-bias-subtracted", "b_out is subtracted", "Z = LN_f(H^L) W_out - b_out", "- is written for +."
            ),
        },
        "returns": {
            "probabilities": _c(
                "decoder-returns-probabilities",
                "probabilities in place of logits",
                "softmax(Z)",
                "The softmax is the next step.",
            ),
            "logarithms": _c(
                "decoder-returns-logarithms",
                "log-probabilities in place of logits",
                "log softmax(Z)",
                "Cross-entropy and argmax cannot tell.",
            ),
            "last row": _c(
                "decoder-last-only", "only the last position is returned", "Z[-1]", "Generating needs no more."
            ),
            "last row, kept": _c(
                "decoder-last-row-only", "only the last position is returned", "Z[-1:]", "Generating needs no more."
            ),
            "shifted": _c("decoder-drops-last", "the last position is dropped", "Z[:-1]", "Training needs no more."),
            "tokens": _c(
                "decoder-returns-tokens",
                "token ids in place of logits",
                "argmax Z",
                "The next token is what one wants in the end.",
            ),
            "hidden": _c(
                "decoder-returns-hidden", "the readout is missing", "LN_f(H^L)", "The last line is forgotten."
            ),
        },
        "eps": {
            "block": _c(
                "final-norm-eps-from-block",
                "the final norm uses the last block's eps",
                "√(variance + blocks[-1]['eps'])",
                "The loop's variable is used on.",
            ),
        }
        | {
            value: _c(
                f"final-norm-eps-{value}",
                f"the final norm uses eps = {value}",
                f"√(variance + {value}), whatever params['eps'] is",
                "A default from a library is written down.",
            )
            for value in ("1e-5", "1e-6", "1e-8", "0")
        },
    },
)
