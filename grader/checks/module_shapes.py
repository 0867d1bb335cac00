"""A module's results: shapes, number types, sizes that do not fit, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Array, counted, number
from grader.part import Part
from grader.probes.module import HEADS, WIDTH, Raised, build
from grader.verdict import Violation

SIZES = ((2, 5, 12, 3), (3, 4, 10, 2), (2, 7, 6, 1))  # B, T, d, h
LONG = 200
MEET = ("same-shape", "positions-meet")


def module_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of modules draws, it draws from the seed."""
    yield Case("", (), (seed, 41), SMALLEST)


def inputs(case: Case, *shape: int, stream: int = 0) -> Array:
    """Random vectors of the shape asked for."""
    x: Array = np.random.default_rng((*case.key, stream)).standard_normal(shape)
    return x


@check(parts=["@module"], says="The result has the shape of the input.", cases=module_cases, needs=(), numbers=False)
def same_shape(part: Part, case: Case) -> Violation | None:
    for B, T, d, h in SIZES:
        block, x = build(part, width=d, heads=h), inputs(case, B, T, d)
        try:
            y = block.forward(x)
        except Raised as fault:
            if found := _addition(fault, d):
                return found
            raise
        if found := wrong_shape(y, x, f"width {d}, {h} heads"):
            return found
        if found := _broadcast(block.redraw(case.key[0])(x) - x):
            return found
    return None


def wrong_shape(y: Array, x: Array, where: str) -> Violation | None:
    """A violation when a result's shape is not the input's."""
    if y.shape == x.shape:
        return None
    B, T, d = x.shape
    name, hint = {
        (T, B, d): ("module-axes-swapped", "Batch comes first, then time: with batch_first=True, or transposed back."),
        (B, d, T): ("module-axes-swapped", "Time comes second, width last."),
        (B, d): ("module-last-only", "Return the vectors of all positions, not of one."),
        (B, 1, d): ("module-last-only", "Return the vectors of all positions, not of one."),
    }.get(y.shape, ("", "Both branches end in [batch, time, width], and so does the block."))
    return Violation(
        f"{list(x.shape)} becomes {list(y.shape)} ({where})",
        expected=list(x.shape),
        observed=list(y.shape),
        hint=hint,
        names=(name,),
    )


def _addition(fault: Raised, d: int) -> Violation | None:
    """A sum of two tensors that do not fit, said in widths."""
    found = re.search(
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\).*dimension (\d+|-1)", fault.text
    )
    if not found or found[3] not in ("2", "-1"):
        return None
    sizes = [int(found[1]), int(found[2])]
    if d not in sizes or not fault.frames:
        return None
    other = sizes[0] if sizes[1] == d else sizes[1]
    frame = fault.frames[-1]
    factor = other / d
    wide = f"{factor:g}·width" if factor > 1 and factor == round(factor) else f"width/{1 / factor:g}"
    return Violation(
        f"cannot add [B, T, {wide}] to [B, T, width]: line {frame.line}, {frame.code}",
        expected=[d],
        observed=[other],
        hint="A branch comes back to the width of the stream before it is added: end it in a linear map to `width`.",
        names=("module-branch-width",),
    )


def _broadcast(change: Array) -> Violation | None:
    """A branch of one number for each position, which torch adds to every coordinate without a word."""
    if np.isfinite(change).all() and change.any() and np.ptp(change, axis=-1).max() <= 1e-9 * np.abs(change).max():
        return Violation(
            "every coordinate of a position changes by the same number",
            hint="The branches end in [batch, time, width]; [batch, time, 1] is added to all coordinates alike.",
            names=("module-branch-broadcast",),
        )
    return None


@check(
    parts=["@module"],
    says="One position, one sequence, and a long sequence work.",
    cases=module_cases,
    needs=MEET,
    numbers=False,
)
def any_length(part: Part, case: Case) -> Violation | None:
    block = build(part)
    for B, T in ((2, 1), (1, 5), (1, LONG)):
        x = inputs(case, B, T, WIDTH)
        try:
            y = block.forward(x)
        except Raised as fault:
            if T < LONG:
                raise
            return Violation(
                f"{counted(T, 'position')}: {fault.message}",
                hint="Make the mask for the sequence that comes in: its length is x.shape[1].",
                names=("module-length-limited",),
            )
        if found := wrong_shape(y, x, f"batch {B}, time {T}"):
            return found
    return None


@check(
    parts=["@module"],
    says="Without arguments it is 64 wide with 4 heads.",
    cases=module_cases,
    needs=MEET,
    numbers=False,
)
def default_size(part: Part, case: Case) -> Violation | None:
    x = inputs(case, 2, 3, 64)
    try:
        y = build(part, width=64, heads=4, arguments={}).forward(x)
    except Raised as fault:
        return Violation(
            f"DecoderBlock() takes no vectors of width 64: {fault.message}", hint="The defaults are width=64, heads=4."
        )
    return wrong_shape(y, x, "no arguments")


@check(
    parts=["@module"],
    says="A width that is not a multiple of the heads is refused.",
    cases=module_cases,
    needs=MEET,
    numbers=False,
)
def uneven_heads(part: Part, case: Case) -> Violation | None:
    for d, h in ((10, 3), (9, 2)):
        try:
            build(part, width=d, heads=h).forward(inputs(case, 2, 5, d))
        except Raised:
            continue
        return Violation(
            f"width {d} with {h} heads is taken without an error",
            hint="Raise a ValueError in __init__ when width % heads is not 0.",
            names=("module-accepts-any-heads",),
        )
    return None


@check(
    parts=["@module"],
    says="float32 and float64 give results of that type, which agree, also for an input that is not contiguous.",
    cases=module_cases,
    needs=MEET,
    numbers=False,
    noted=True,
)
def number_types(part: Part, case: Case) -> Violation | None:
    x, block = inputs(case, 2, 5, WIDTH), build(part).redraw(case.key[0])
    reply, strided = block.reply(x), block.forward(x, strided=True)
    single = build(part, precision="float32").redraw(case.key[0]).reply(x)
    for given, found in ((block.precision, reply.dtypes[0]), ("float32", single.dtypes[0])):
        if not found.startswith(("float", "bfloat")):
            return Violation(f"the result is of type {found} for {given}", hint="Keep the numbers floating-point.")
        if found != given:
            part.note(f"the result is {found} for {given}; accepted")
    if not np.allclose(strided, reply.value, rtol=1e-4, atol=1e-5, equal_nan=True):
        return Violation("an input that is not contiguous gives another result")
    gap = float(np.abs(single.value - reply.value).max() / np.abs(reply.value).max())
    if not gap > 1e-4:
        return None
    return Violation(
        f"float32 and float64 differ by {number(gap)} of the largest number",
        size=gap,
        allowed=1e-4,
        hint="Compute in the type of the input.",
    )


@check(
    parts=["@module"],
    says="Twice a small step of the input moves the result twice as far.",
    cases=module_cases,
    needs=("same-shape", "same-again", "positions-meet"),
    numbers=False,
)
def fine_steps(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    x, u = (inputs(case, 2, 5, WIDTH, stream=stream) for stream in (0, 1))
    step = 1e-4 if block.precision == "float64" else 1e-3
    here, near, far = (block(x + k * step * u) for k in (0, 1, 2))
    uneven = float(np.abs(far - 2 * near + here).max() / max(np.abs(near - here).max(), 1e-300))
    if not uneven > 0.3:
        return None
    return Violation(
        f"a step twice as long moves the result by {number(100 * uneven)} % of the step more or less",
        size=uneven,
        allowed=0.3,
        hint="Compute in the type of the input: without half(), bfloat16() and without rounding.",
        names=("module-half-precision",),
    )


@check(
    parts=["@module"],
    says="torch knows every parameter that the block uses.",
    cases=module_cases,
    needs=MEET,
    numbers=False,
)
def registered(part: Part, case: Case) -> Violation | None:
    block = build(part)
    if block.loose:
        return Violation(
            f"torch does not find the parameters in {', '.join(block.loose[:6])}",
            hint="Use nn.ModuleList, nn.ModuleDict or nn.ParameterList in place of lists and dicts.",
            names=("module-loose-layers",),
        )
    if not block.parameters:
        return Violation("it has no parameters", hint="Assign layers and nn.Parameter to self in __init__.")
    return None


assert HEADS * 4 == WIDTH
