"""Call the student's `generate` on a model of theirs that answers with given logits, and note what it is asked."""

import random
from typing import Any

import numpy as np

from ..results import echo
from ..submission import Submission
from ..tensors import get_torch, is_tensor
from ..tree import unpack

_MOST = 20_000  # tokens and calls that are told
_FORWARD, _DECODE = 0, 1
_NONE, _UNKNOWN = -1, -2


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: target, model, prompt (ids), count, kwargs, seed of the global generators, rows, other, hollow.

    rows (n, v) are the logits of the last position, call by call, counted around; None for the model's own. other (v)
    are those of every other position. hollow: caches are empty, decode's own work is not done.

    -> value (an array), prompt (as it is afterwards), calls (·, 5): 0 forward or 1 decode, rows of the batch, tokens,
       which call's cache was given (-1 None, -2 another), whether the model was in training; fed: all tokens of all
       calls; kept: whether parameters are as before and have no new gradients
    """
    asked = unpack(arguments, body, submission.leaf)
    torch, model, prompt = get_torch(), asked["model"], asked["prompt"]
    function = submission.find(asked["target"])
    random.seed(asked["seed"])
    np.random.seed(asked["seed"] % 2**32)
    torch.manual_seed(asked["seed"])
    before = submission.run(_state, torch, model)
    hook = submission.run(_Hook, torch, model, asked["rows"], asked["other"], hollow=asked["hollow"])
    try:
        value = submission.run(function, model, prompt, asked["count"], **asked["kwargs"])
    finally:
        submission.run(hook.remove)
    taken = submission.taken()
    told = {
        "value": submission.run(taken.value, value, "array"),
        "prompt": submission.run(echo, prompt, submission.taken()),
        "calls": np.array(hook.calls[:_MOST], np.int64).reshape(-1, 5),
        "fed": np.array(hook.fed[:_MOST], np.int64),
        "kept": submission.run(_same, torch, before, submission.run(_state, torch, model)),
    }
    return {"value": told, "kinds": taken.kinds, "dtypes": taken.dtypes, "after": None}


class _Hook:
    """Stands in for `forward` and `decode` of one model; decode's own work is done too, as the caches come from it."""

    def __init__(self, torch: Any, model: Any, rows: Any, other: Any, *, hollow: bool) -> None:
        self.torch, self.model = torch, model
        self.rows: Any = None if rows is None else torch.as_tensor(rows)
        self.other: Any = torch.as_tensor(other)
        self.calls: list[tuple[int, ...]] = []
        self.fed: list[int] = []
        self.caches: list[Any] = []  # what decode has returned, kept alive so that identity tells them apart
        self.own = {"forward": model.forward, "decode": getattr(model, "decode", None)}
        self.before = {name: model.__dict__[name] for name in self.own if name in model.__dict__}
        like = next(iter(torch.nn.Module.parameters(model)), None)
        self.dtype = torch.get_default_dtype() if like is None else like.dtype
        self.inside, self.broken, self.made = False, hollow, 0
        model.__dict__["forward"] = self.forward
        model.__dict__["decode"] = self.decode

    def remove(self) -> None:
        for name in self.own:
            self.model.__dict__.pop(name, None)
        self.model.__dict__.update(self.before)

    def forward(self, tokens: Any, *args: Any, **kwargs: Any) -> Any:
        if self.inside or not _is_batch(tokens):
            return self.own["forward"](tokens, *args, **kwargs)
        self.note(_FORWARD, tokens, _NONE)
        if self.rows is None:
            return self.really("forward", tokens, *args, **kwargs)
        return self.logits(tokens)

    def decode(self, tokens: Any, cache: Any = None) -> Any:
        if self.inside or not _is_batch(tokens):
            return self.own["decode"](tokens, cache)
        self.note(_DECODE, tokens, self.place(cache))
        if self.rows is None:
            logits, after = self.really("decode", tokens, cache)
        else:
            logits, after = self.logits(tokens), self.cache(tokens, cache)
        self.caches.append(after)
        return logits, after

    def place(self, cache: Any) -> int:
        """The latest call that has returned this cache: one that is changed in place is returned again and again."""
        if cache is None:
            return _NONE
        return next((i for i in range(len(self.caches) - 1, -1, -1) if self.caches[i] is cache), _UNKNOWN)

    def cache(self, tokens: Any, cache: Any) -> Any:
        """The model's own cache; something else where it cannot make one, which is no fault of `generate`."""
        if not self.broken:
            try:
                return self.really("decode", tokens, cache)[1]
            except Exception:  # noqa: BLE001 - whatever a wrong decode raises
                self.broken = True
        return [object()]

    def really(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self.inside = True
        try:
            return self.own[name](*args, **kwargs)
        finally:
            self.inside = False

    def note(self, kind: int, tokens: Any, place: int) -> None:
        B, t = (int(size) for size in tokens.shape)
        self.made += 1
        if len(self.calls) < _MOST:
            self.calls.append((kind, B, t, place, int(bool(self.model.training))))
        if len(self.fed) < _MOST:
            self.fed.extend(tokens.reshape(-1).tolist())

    def logits(self, tokens: Any) -> Any:
        B, t = tokens.shape
        made = self.other.to(self.dtype).repeat(B, t, 1)
        made[:, -1] = self.rows[(self.made - 1) % len(self.rows)].to(self.dtype)
        return made


def _is_batch(tokens: Any) -> bool:
    return is_tensor(tokens) and tokens.dim() == 2 and tokens.shape[1] > 0


def _state(torch: Any, model: Any) -> list[tuple[Any, bool]]:
    return [(p.detach().clone(), p.grad is None) for p in torch.nn.Module.parameters(model)]


def _same(torch: Any, before: list[Any], after: list[Any]) -> bool:
    same = len(before) == len(after)
    return same and all(torch.equal(a, b) and c >= d for (a, d), (b, c) in zip(before, after, strict=True))
