"""What the operations on torch modules share: whether an object is one, its parameters, running several in a row."""

from typing import Any

from .arrays import a
from .faults import bad, plain, type_name
from .submission import Submission
from .tensors import get_torch

MOST = 2000  # parameters and attributes that are told of
_LONGEST = 120


def checked(submission: Submission, value: Any) -> Any:
    """The value when it is a torch module. Raises Fault."""
    module = submission.run(getattr, get_torch().nn, "Module")
    if module not in type.mro(type(value)):
        raise bad(f"made {a(value)}, a torch.nn.Module is wanted")
    if "_parameters" not in vars(value):
        raise bad("is no complete module: __init__ begins with super().__init__()")
    return value


def parameters(submission: Submission, module: Any) -> list[tuple[str, Any]]:
    """Its parameters by name, those of modules inside it too, each once. Raises Fault."""
    found = submission.run(lambda: list(get_torch().nn.Module.named_parameters(module)))
    return [(plain(name)[:_LONGEST], parameter) for name, parameter in found[:MOST]]


def loose(submission: Submission, module: Any) -> list[str]:
    """Attributes that hold modules or parameters where torch does not find them: in lists, tuples and dicts."""
    found: list[str] = submission.run(_loose, module)
    return found


def _loose(module: Any) -> list[str]:
    torch = get_torch()
    known = {id(parameter) for parameter in torch.nn.Module.parameters(module)}
    found = []
    for inner in torch.nn.Module.modules(module):
        for name, value in list(vars(inner).items()):
            if not str(name).startswith("_") and any(_unknown(item, known) for item in _items(value, 0)):
                found.append(f"{type_name(inner)}.{plain(name)}"[:_LONGEST])
    return found[:MOST]


def _items(value: Any, depth: int) -> list[Any]:
    """What a container holds, or the value itself."""
    if depth < 3 and type(value) in (list, tuple):
        return [inner for item in value[:MOST] for inner in _items(item, depth + 1)]
    if depth < 3 and type(value) is dict:
        return [inner for item in list(value.values())[:MOST] for inner in _items(item, depth + 1)]
    return [value]


def _unknown(value: Any, known: set[int]) -> bool:
    torch = get_torch()
    if isinstance(value, torch.nn.Module):
        return any(id(parameter) not in known for parameter in torch.nn.Module.parameters(value))
    if not isinstance(value, torch.Tensor) or not value.requires_grad or id(value) in known:
        return False
    return bool(value.is_leaf) or not _follows(value, known)


def _follows(value: Any, known: set[int]) -> bool:
    """Whether a tensor is computed from known parameters alone, as the weight is that weight norm makes."""
    nodes, at = [value.grad_fn], 0
    while at < min(len(nodes), MOST):
        leaf = getattr(nodes[at], "variable", None)
        if leaf is not None and id(leaf) not in known:
            return False
        nodes += [node for node, _ in nodes[at].next_functions if node is not None and node not in nodes]
        at += 1
    return True


def lazy(submission: Submission, module: Any) -> bool:
    """Whether some of its parameters or buffers get their shapes by the first call."""
    torch = get_torch()

    def found() -> bool:
        held = (*torch.nn.Module.parameters(module), *torch.nn.Module.buffers(module))
        return any(torch.nn.parameter.is_lazy(tensor) for tensor in held)

    return bool(submission.run(found))


def computed(submission: Submission, module: Any) -> bool:
    """Whether torch computes some of its weights from parameters before each call: weight norm, spectral norm."""
    return bool(
        submission.run(lambda: any(_parametrized(m) or _hooks(m) for m in get_torch().nn.Module.modules(module)))
    )


def as_parameters(submission: Submission, module: Any) -> None:
    """Make parameters of the weights that torch computes from parameters."""
    torch = get_torch()

    def settle() -> None:
        for inner in list(torch.nn.Module.modules(module)):
            for name in _parametrized(inner):
                torch.nn.utils.parametrize.remove_parametrizations(inner, name, leave_parametrized=True)
            for key in _hooks(inner):
                inner._forward_pre_hooks.pop(key).remove(inner)

    submission.run(settle)


def _parametrized(inner: Any) -> list[str]:
    """The names of the weights with a parametrization."""
    held = vars(inner).get("_modules", {}).get("parametrizations")
    return list(held.keys()) if type(held) is get_torch().nn.ModuleDict else []


def _hooks(inner: Any) -> list[int]:
    """The keys of the hooks by which older ways of torch compute a weight."""
    hooks = vars(inner).get("_forward_pre_hooks", {})
    return [
        k
        for k, hook in hooks.items()
        if type(hook).__module__.startswith("torch.nn.utils.") and hasattr(hook, "remove")
    ]


def through(submission: Submission, modules: list[Any], x: Any, seed: int) -> list[Any]:
    """x and what each module in turn makes of it; random generators start at ``seed``. Raises Fault."""
    torch = get_torch()
    submission.run(torch.manual_seed, seed)
    stages = [x]
    for module in modules:
        value = submission.run(module, stages[-1])
        if len(modules) > 1:
            value = tensor(value)
        stages.append(value)
    return stages


def tensor(value: Any) -> Any:
    """The value when it is a tensor. Raises Fault."""
    torch = get_torch()
    if torch.Tensor not in type.mro(type(value)):
        asked = ", 1 array is asked" if type(value) in (tuple, list) else "; an array is wanted"
        told = f"a tuple of {len(value)}" if type(value) in (tuple, list) else a(value)
        raise bad("returned None: is a `return` missing?" if value is None else f"returned {told}{asked}")
    return value
