"""Watch a model while the student's code trains or evaluates it: what goes in, what comes out, what is done to it."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from .arrays import as_array
from .submission import Submission
from .tensors import get_torch

MOST = 4000  # calls of the model that are told of
_CELLS = 1 << 20  # entries of logits that are kept in all
FORWARD, BACKWARD, STEP = 0, 1, 2


class Watch:
    """A context manager; while it is open, calls of the model's class, backward passes and optimizer steps are noted.

    calls    [tokens, logits or None, whether they have a gradient, whether the model trains, whether it is this model]
    pulled   for each call: the gradient that came back to its logits, or None
    events   [kind, call or -1, flags]: FORWARD; BACKWARD with 1 = a parameter that has changed since the backward pass
             before still has a gradient; STEP with 1 = there is a gradient, 2 = it brings a closure
    reached, learning   for each parameter: the greatest entry of its gradient at any step, and whether it could learn
             in every call
    first    the parameters at the first call of this model, None before
    """

    def __init__(self, submission: Submission, model: Any) -> None:
        self.model, self.torch = model, get_torch()
        self.cap = int(submission.limits["result_bytes"])
        self.parameters = list(self.torch.nn.Module.parameters(model))
        self.calls: list[list[Any]] = []
        self.pulled: list[Any] = []
        self.events: list[list[int]] = []
        self.reached = [0.0] * len(self.parameters)
        self.learning = [parameter.requires_grad for parameter in self.parameters]
        self.first: list[Any] | None = None
        self._depth, self._cells = 0, 0
        self._last: list[Any] | None = None

    def __enter__(self) -> Self:
        watch, kind = self, type(self.model)
        self._kind, self._own, original = kind, kind.__dict__.get("forward"), kind.forward

        def forward(model: Any, *args: Any, **kwargs: Any) -> Any:
            watch._depth += 1
            try:
                value = original(model, *args, **kwargs)
            finally:
                watch._depth -= 1
            given = args[0] if args else next(iter(kwargs.values()), None)
            if watch._depth == 0 and len(watch.calls) < MOST:
                with suppress(Exception):  # what cannot be noted, such as a traced call, is no fault of the student's
                    watch._note(model, given, value)
            return value

        type.__setattr__(kind, "forward", forward)
        optimizers = sys.modules[self.torch.optim.Optimizer.__module__]
        self._hook = optimizers.register_optimizer_step_pre_hook(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()
        if self._own is None:
            type.__delattr__(self._kind, "forward")
        else:
            type.__setattr__(self._kind, "forward", self._own)

    def _note(self, model: Any, given: Any, value: Any) -> None:
        Tensor = self.torch.Tensor
        if not (isinstance(given, Tensor) and isinstance(value, Tensor)) or given.ndim != 2 or value.ndim != 3:
            return
        self._cells += value.numel()
        kept = self._cells <= _CELLS
        tokens = as_array(given.detach().long().clone(), self.cap, 0)[0]
        logits = as_array(value.detach().double().clone(), self.cap, 0)[0] if kept else None
        if model is self.model and self.first is None:
            self.first = [as_array(p.detach().double().clone(), self.cap, 0)[0] for p in self.parameters]
        number = len(self.calls)
        self.calls.append([tokens, logits, bool(value.requires_grad), bool(model.training), model is self.model])
        self.pulled.append(None)
        self._event(FORWARD, number, 0)
        for i, parameter in enumerate(self.parameters):
            self.learning[i] = self.learning[i] and bool(parameter.requires_grad)
        if kept and value.requires_grad:
            value.register_hook(self._pulling(number))

    def _pulling(self, number: int) -> Callable[[Any], None]:
        def pulled(gradient: Any) -> None:
            found = as_array(gradient.detach().double().clone(), self.cap, 0)[0]
            before = self.pulled[number]
            self.pulled[number] = found if before is None else before + found
            now = [parameter.detach().clone() for parameter in self.parameters]
            pairs = zip(self.parameters, self._last or now, now, strict=True)
            stale = any(_size(parameter) and not self.torch.equal(old, new) for parameter, old, new in pairs)
            self._last = now
            self._event(BACKWARD, number, stale)

        return pulled

    def _step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.reached = [max(known, _size(p)) for known, p in zip(self.reached, self.parameters, strict=True)]
        closure = any(map(callable, [*args[1:], *dict(kwargs).values()]))
        self._event(STEP, -1, any(map(_size, held)) + 2 * closure)

    def _event(self, kind: int, call: int, flags: int) -> None:
        if len(self.events) < 3 * MOST:
            self.events.append([kind, call, int(flags)])


def _size(parameter: Any) -> float:
    """The greatest entry of its gradient."""
    gradient = parameter.grad
    return 0.0 if gradient is None or not gradient.numel() else float(gradient.detach().abs().max())
