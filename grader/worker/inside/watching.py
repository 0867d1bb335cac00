"""Watch one forward pass of a language model: the operators that it calls, its scores, values and projections."""

import sys
from contextlib import suppress
from typing import Any

from .faults import plain
from .forbidden import NAMES, PACKAGES
from .tensors import get_torch, is_tensor

SOFTENING = ("_softmax", "_safe_softmax", "softmax", "_log_softmax", "amax", "max", "logsumexp", "exp", "exp_")
LINEAR = ("mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "add")
MOST = 64  # matrices of scores, projections


class Seen:
    """What was seen of one forward pass over tokens (B, T).

    operators    name -> (file, line) of the submission's code that called it, None where none did
    scores       matrices (T, T), queries by keys, of the first operator that takes such; its own name is `entered`
    values       what weights (T, T) are multiplied with
    projections  results of linear maps before the scores, at position 0 of each row of the batch: (B, n)
    """

    def __init__(self, texts: Any, B: int, T: int, wanted: int) -> None:
        self.texts, self.B, self.T, self.wanted = texts, B, T, min(wanted, MOST)
        self.operators: dict[str, tuple[str, int] | None] = {}
        self.scores: list[Any] = []
        self.values: list[Any] = []
        self.projections: list[Any] = []
        self.entered = ""

    def named(self, name: str) -> None:
        """Remember an operator of a transformer."""
        if NAMES.fullmatch(name) and name not in self.operators and len(self.operators) < MOST:
            self.operators[name] = _caller(self.texts)

    def operator(self, name: str, args: Any, out: Any) -> None:
        """Look at one operator's arguments and result."""
        self.named(name)
        if name in SOFTENING and args and is_tensor(args[0]) and self.entered in ("", name):
            if len(self.scores) < self.wanted:
                self._scores(name, args)
        elif name in ("bmm", "mm", "matmul") and self.scores and len(self.values) < self.wanted:
            self._values(args)
        elif name in LINEAR and not self.scores and is_tensor(out) and len(self.projections) < MOST:
            self._projection(out)

    def _scores(self, name: str, args: Any) -> None:
        x, T = args[0].detach(), self.T
        axes = [axis for axis, size in enumerate(x.shape) if size == T]
        if len(axes) != 2 or not x.is_floating_point():
            return
        dim = args[1] if len(args) > 1 else -1
        dim = dim[0] if isinstance(dim, list | tuple) and dim else dim
        key = (dim if type(dim) is int else -1) % x.dim()
        if key not in axes:
            return
        query = axes[0] if key == axes[1] else axes[1]
        self.entered = name
        found = x.movedim((query, key), (-2, -1)).reshape(-1, T, T)
        self.scores.extend(found[: self.wanted - len(self.scores)].unbind(0))

    def _values(self, args: Any) -> None:
        if not all(map(is_tensor, args[:2])) or args[0].shape[-2:] != (self.T, self.T):
            return
        x = args[1].detach()
        if x.shape[-2] == self.T and x.shape[-1] < self.T:
            found = x.reshape(-1, self.T, x.shape[-1])
            self.values.extend(found[: self.wanted - len(self.values)].unbind(0))

    def _projection(self, out: Any) -> None:
        x, rows = out.detach(), self.B * self.T
        if x.dim() > 3 or not x.is_floating_point() or x.numel() % rows or x.numel() > 4096 * rows:
            return
        n = x.shape[-1]
        if n != self.T and x.numel() == rows * n:
            self.projections.append(x.reshape(self.B, self.T, n)[:, 0])


def _caller(texts: Any) -> tuple[str, int] | None:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in texts:
            return plain(frame.f_code.co_filename), int(frame.f_lineno)
        frame = frame.f_back
    return None


def modes(seen: Seen) -> tuple[Any, Any]:
    """The two modes under which a module is watched: below autograd, and where torch's functions are called."""
    torch = get_torch()

    class Below(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        pass

    class Above(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.named(plain(getattr(func, "__name__", "")))
            return func(*args, **(kwargs or {}))

    def dispatched(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(getattr(func, "_schema", None), "name", None) or getattr(func, "__name__", "")
        with suppress(Exception):  # what cannot be looked at is not seen
            seen.operator(plain(name).split("::")[-1], args, out)
        return out

    Below.__torch_dispatch__ = dispatched  # set afterwards: in the class it would import torch's compiler, for seconds
    return Above(), Below()


def ready_made(module: Any, local: frozenset[str]) -> list[tuple[str, str]]:
    """(name, class) of the modules in the tree that are torch's transformer modules, or of a package of such."""
    torch = get_torch()
    kinds = {kind for kind in vars(torch.nn.modules.transformer).values() if isinstance(kind, type)}
    kinds = {kind for kind in kinds if kind.__name__.startswith("Transformer")} | {torch.nn.MultiheadAttention}
    found = []
    for name, inner in list(torch.nn.Module.named_modules(module))[:2000]:
        for kind in type.mro(type(inner)):
            home = plain(type.__getattribute__(kind, "__module__")).split(".")[0]
            if kind in kinds or (home in PACKAGES and home not in local):
                found.append((plain(name)[:120], plain(kind.__name__)[:80]))
                break
    return found
