"""Everything about torch tensors; torch itself is reached only after the submission or the host has imported it."""

import importlib
import sys
from typing import Any

import numpy as np

from .faults import bad, plain

_WIDENED = ("bfloat16", "float16")
_from_numpy_dtypes = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")


def get_torch() -> Any:
    """torch if this process has imported it, else None."""
    return sys.modules.get("torch")


def import_torch() -> str | None:
    """Import torch for one thread; its version, or None where it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None
    torch.set_num_threads(1)
    return str(torch.__version__)


def warm_up() -> None:
    """Touch what torch sets up at its first operation, forward and backward, so that forks find it done."""
    torch = get_torch()
    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    torch.autograd.grad(torch.softmax(x @ x, -1).sum(), [x])
    str(x.detach())


def is_tensor(value: Any) -> bool:
    """Whether the value's real type is a tensor's."""
    torch = get_torch()
    tensor = getattr(torch, "Tensor", None)
    return type(tensor) is not type(None) and tensor in type.mro(type(value))


def dtype_name(tensor: Any) -> str:
    """ "float64" of a tensor."""
    return str(tensor.dtype).removeprefix("torch.")


def to_tensor(array: np.ndarray[Any, Any]) -> Any:
    """A tensor that shares the array's memory, of the same dtype and shape."""
    return get_torch().from_numpy(array)


def to_array(value: Any, cap: int) -> tuple[np.ndarray[Any, Any], str]:
    """A plain array and the tensor's own dtype; bfloat16 and float16 come as float32. Raises Fault."""
    torch = get_torch()
    try:
        with torch._C.DisableTorchFunctionSubclass():
            refusal = _refusal(torch, value, cap)
            if refusal is None:
                return _convert(torch, value)
    except BaseException as error:  # noqa: BLE001 - a tensor subclass may run any code
        refusal = f"returned a tensor that cannot be read: {plain(error)[:300]}"
    raise bad(refusal)


def _refusal(torch: Any, value: Any, cap: int) -> str | None:
    if value.is_meta:
        return "returned a tensor on the meta device, which holds no numbers"
    if value.is_quantized:
        return "returned a quantized tensor; return its dequantize()"
    if value.is_nested:
        return "returned a nested tensor, whose rows differ in length; return one rectangular array"
    if value.is_complex():
        return "returned a complex tensor; real numbers are wanted"
    if value.numel() * value.element_size() > cap:
        return over_cap(value.numel() * value.element_size(), cap)
    return None


def over_cap(count: int, cap: int) -> str:
    """The sentence for a result that is too large."""
    return f"returned {count / 2**20:,.1f} MiB, at most {cap / 2**20:,.1f} MiB are taken"


def _convert(torch: Any, value: Any) -> tuple[np.ndarray[Any, Any], str]:
    plain_tensor = value.detach()
    if plain_tensor.layout != torch.strided:
        plain_tensor = plain_tensor.to_dense()
    plain_tensor = plain_tensor.as_subclass(torch.Tensor).cpu().resolve_conj().resolve_neg().contiguous()
    name = dtype_name(plain_tensor)
    if name not in _from_numpy_dtypes:
        plain_tensor = plain_tensor.to(torch.float32 if name in _WIDENED or "float" in name else torch.int64)
    array: np.ndarray[Any, Any] = plain_tensor.numpy()
    return array, name
