"""Count the floating-point operations of one more token after prefixes of several lengths, and of forward."""

from typing import Any

import numpy as np

from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack

_MOST = 1 << 60


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: model, tokens (B, T), prefixes -> steps, forwards: one count for each prefix.

    A step is decode of one token after the prefix; forward gets prefix and token.
    """
    asked = unpack(arguments, body, submission.leaf)
    model, tokens = asked["model"], asked["tokens"]
    with get_torch().no_grad():
        counted = [submission.run(_counted, model, tokens, int(n)) for n in asked["prefixes"]]
    steps, forwards = (np.array(column, np.int64) for column in zip(*counted, strict=True))
    return {"steps": steps, "forwards": forwards}


def _counted(model: Any, tokens: Any, n: int) -> tuple[int, int]:
    cache = model.decode(tokens[:, :n])[1]
    return _flops(model.decode, tokens[:, n : n + 1], cache), _flops(model, tokens[:, : n + 1])


def _flops(function: Any, *args: Any) -> int:
    """By torch's own formulas; its FlopCounterMode gives the same, and imports torch's compiler."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    total = 0
    mode: Any = TorchDispatchMode

    class Counter(mode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # True, the default, imports torch's compiler, for more than a second

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal total
            formula = flop_registry.get(func._overloadpacket)
            if formula is None:
                with self:  # what is made of other operators, as `linear` is in inference mode
                    made = func.decompose(*args, **(kwargs or {}))
                if made is not NotImplemented:
                    return made
            out = func(*args, **(kwargs or {}))
            if formula is not None:
                total += int(formula(*args, **(kwargs or {}), out_val=out))
            return out

    with Counter():
        function(*args)
    return min(total, _MOST)
