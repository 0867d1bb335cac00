"""Block and decoder by their wiring: residuals, pre-norm, final norm, positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, some
from grader.checks import check
from grader.compare import number
from grader.part import Part, violation
from grader.verdict import Violation

TINY_EPS = 1e-12  # so small that a norm's output does not depend on the scale of its input


def silent(block: dict[str, Any]) -> dict[str, Any]:
    """A block whose sublayers add nothing: W_O, W_2 and b_2 are zero."""
    return {**block, **{key: np.zeros_like(block[key]) for key in ("W_O", "W_2", "b_2")}}


@check(
    parts=["decoder_block"],
    says="A block whose sublayers output zero returns its input.",
    cases=some(SMALLEST, HANDOUT),
)
def zeroed_sublayers(part: Part, case: Case) -> Violation | None:
    H, block = case.args
    observed = np.asarray(part(H, silent(block)))
    if not (gap := part.gap(observed, H)):
        return None
    norm = part.spec.book.layer_norm
    LN_1 = norm(H, **block["norm_1"], eps=block["eps"])
    LN_2 = norm(H, **block["norm_2"], eps=block["eps"])
    causes = (
        (np.zeros_like(H), "It returns zeros: the residuals are missing. U = H + MHA(...), H' = U + FF(...)."),
        (2 * H, "It returns 2 H: the residual is added twice."),
        (3 * H, "It returns 3 H: both residuals start from H again and are added up."),
        (LN_1, "It returns LN_1(H): the residual starts from the normalized input instead of H."),
        (LN_2, "It returns LN_2(H): the second residual starts from the normalized U instead of U."),
        (
            norm(LN_1, **block["norm_2"], eps=block["eps"]),
            "It returns LN_2(LN_1(H)): that is post-norm. Norms stand before the sublayers.",
        ),
    )
    hint = next((text for candidate, text in causes if part.gap(observed, candidate) is None), "")
    return violation(f"the output differs from the input by {number(gap.size)}", gap, observed, H, hint)


@check(
    parts=["decoder_block"],
    says="Each sublayer works on a normalized input: what the block adds does not grow with the input's scale.",
    cases=some(SMALLEST, MIDDLE),
)
def pre_norm(part: Part, case: Case) -> Violation | None:
    H, block = case.args
    scale = 64.0
    for name, quiet in (("attention", ("W_2", "b_2")), ("feed-forward", ("W_O",))):
        changed = {**block, "eps": TINY_EPS, **{key: np.zeros_like(block[key]) for key in quiet}}
        small_change = np.asarray(part(H, changed)) - H
        large_change = np.asarray(part(scale * H, changed)) - scale * H
        # the subtraction loses digits of `scale * H`; a missing norm makes the change larger by factors
        if not np.abs(large_change - small_change).max() <= 1e-3 * (1 + np.abs(small_change).max()):
            return Violation(
                f"what {name} adds changes by {number(float(np.abs(large_change - small_change).max()))}"
                f" when the input is {scale:g} times as large",
                hint="U = H + MHA(LN_1(H)) and H' = U + FF(LN_2(U)): norms before sublayers, residuals around.",
            )
        if not np.abs(small_change).max() > 1e-3:
            return Violation(f"{name} adds nothing to the input", hint="U = H + MHA(LN_1(H)), H' = U + FF(LN_2(U)).")
    return None


@check(
    parts=["decoder"],
    says="The readout works on a normalized input: silent blocks give logits that ignore the embeddings' scale.",
    cases=some(SMALLEST, MIDDLE),
)
def final_norm(part: Part, case: Case) -> Violation | None:
    tokens, params = case.args
    bare = {key: value for key, value in params.items() if key != "positions"}
    bare |= {"eps": TINY_EPS, "blocks": [silent(block) for block in params["blocks"]]}
    before = part(tokens, bare)
    after = part(tokens, {**bare, "embedding": 64.0 * bare["embedding"]})
    if gap := part.gap(after, before):
        return violation(
            f"the logits move by {number(gap.size)} when the embeddings are 64 times as large",
            gap,
            after,
            before,
            "Z = LN_f(H^L) W_out + b_out: the final norm comes before the readout.",
        )
    if part.gap(np.asarray(before)[0], np.asarray(before)[-1]) is None:
        return Violation("different tokens get the same logits", hint="H⁰ = embedding[tokens].")
    return None


@check(
    parts=["decoder"],
    says="Row t of the positions is added to the embedding of token t; without positions nothing is added.",
    cases=some(SMALLEST, MIDDLE),
)
def positions_added(part: Part, case: Case) -> Violation | None:
    tokens, params = case.args
    T = len(tokens)
    with_positions = part(tokens, params)
    rows = params["embedding"][tokens] + params["positions"][:T]
    table = np.concatenate([rows, params["embedding"]])
    bare = {key: value for key, value in params.items() if key != "positions"}
    by_hand = part(np.arange(T), {**bare, "embedding": table, "W_out": params["W_out"]})
    if gap := part.gap(with_positions, by_hand):
        return violation(
            f"the logits differ by {number(gap.size)} from those for embeddings that already hold the positions",
            gap,
            with_positions,
            by_hand,
            "H⁰ = embedding[tokens] + positions[:T].",
        )
    if part.gap(with_positions, part(tokens, bare)) is None:
        return Violation(
            "the logits are the same with and without positions", hint="H⁰ = embedding[tokens] + positions[:T]."
        )
    return None
