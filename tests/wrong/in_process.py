"""Knows how to run our own test submissions in this process: NumPy in, NumPy out. Never for code of unknown origin."""

import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

with contextlib.suppress(ImportError):  # loaded before any submission, so that its global settings can be put back
    import torch as _torch

    _torch.set_num_threads(1)  # arrays this small only wait for a second thread

NAMES = (
    "softmax",
    "attention_scores",
    "causal_attention_weights",
    "attention_head",
    "multi_head_attention",
    "layer_norm",
    "feed_forward",
    "decoder_block",
    "decoder",
    "next_token_probabilities",
    "loss",
)


_QUIET = False


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence prints, warnings and floating point flags, and put torch's global settings back. Nested: does nothing."""
    global _QUIET
    if _QUIET:
        yield
        return
    _QUIET = True
    torch = sys.modules.get("torch")
    before = (torch.get_default_dtype(), torch.get_num_threads()) if torch else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            try:
                yield
            finally:
                _QUIET = False
                if torch and before:
                    torch.set_default_dtype(before[0])
                    torch.set_num_threads(before[1])


def load_source(source: str, label: str = "decoder") -> types.ModuleType:
    """Run `source` as a module of its own and return it."""
    module = types.ModuleType("student_decoder")
    with quiet():
        exec(compile(source, label, "exec"), module.__dict__)
    return module


def load_path(path: Path, folder: Path | None = None) -> types.ModuleType:
    """Run the file at `path`, with the modules of `folder` importable while it loads."""
    if folder is None:
        return load_source(path.read_text(encoding="utf-8"), str(path))
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        return load_source(path.read_text(encoding="utf-8"), str(path))
    finally:
        sys.path.remove(str(folder))
        for name in {file.stem for file in folder.glob("*.py")} - known:
            sys.modules.pop(name, None)


def to_backend(value: Any, backend: str) -> Any:
    """Arrays in `value` become fresh arrays of the backend; containers are rebuilt, numbers stay."""
    if isinstance(value, np.ndarray):
        if backend == "torch":
            import torch

            return torch.from_numpy(value.copy())
        return value.copy()
    if isinstance(value, dict):
        return {key: to_backend(item, backend) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(to_backend(item, backend) for item in value)
    return value


def to_numpy(value: Any) -> Any:
    """Tensors become arrays; tuples and lists of arrays keep their structure, nested lists of numbers become arrays."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {key: to_numpy(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(to_numpy(item) for item in value)
    if isinstance(value, list):
        items = [to_numpy(item) for item in value]
        try:
            return np.asarray(items)
        except ValueError:  # ragged: (O, A) as a list
            return tuple(np.asarray(item) for item in items)
    return value


def call(module: types.ModuleType, name: str, args: tuple[Any, ...], backend: str) -> Any:
    """The result of the module's function `name` as NumPy values; whatever it raises is raised here."""
    function: Callable[..., Any] = getattr(module, name)
    given = to_backend(args, backend)
    with quiet():
        return to_numpy(function(*given))


def pair(value: Any) -> tuple[Any, ...]:
    """`(O, A)` from a tuple, or from a list that was turned into an array because both have one shape."""
    many = isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return tuple(value) if many else (value,)


def slope_error(module: types.ModuleType, name: str, args: tuple[Any, ...], seed: int = 0) -> float:
    """Relative error of autograd's directional derivative against a central difference; infinite when there is none.

    The direction moves every float entry of every argument, so a blocked or detached path anywhere shows.
    """
    import torch

    rng = np.random.default_rng(seed)
    leaves: list[tuple[Any, Any]] = []

    def moved(value: Any, step: float) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            direction = np.random.default_rng([seed, value.size]).normal(size=value.shape)
            tensor = torch.from_numpy(value + step * direction)
            if not step:
                leaves.append((tensor.requires_grad_(), torch.from_numpy(direction)))
            return tensor
        if isinstance(value, dict):
            return {key: moved(item, step) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(moved(item, step) for item in value)
        return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

    def scalar(step: float) -> Any:
        out = getattr(module, name)(*moved(args, step))
        parts = out if isinstance(out, list | tuple) else (out,)
        if not all(isinstance(part, torch.Tensor) for part in parts):
            return None
        weights = fixed or [torch.from_numpy(rng.normal(size=tuple(part.shape))) for part in parts]
        fixed[:] = weights
        return sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True))

    fixed: list[Any] = []
    with quiet():
        value = scalar(0.0)
        if value is None or not value.requires_grad:
            return float("inf")
        grads = torch.autograd.grad(value, [leaf for leaf, _ in leaves], allow_unused=True)
        ours = sum(float((g * v).sum()) for g, (_, v) in zip(grads, leaves, strict=True) if g is not None)
        h = 1e-6
        numeric = float(scalar(h) - scalar(-h)) / (2 * h)
    error = abs(ours - numeric) / max(1.0, abs(numeric))
    return error if np.isfinite(error) else float("inf")
