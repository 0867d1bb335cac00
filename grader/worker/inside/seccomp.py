"""The filter of system calls: an allow-list assembled into the kernel's filter language, and how it is put in force."""

import platform
import struct
import sys

from .syscalls import ARCHITECTURES, ARGUMENTS, CLONE_NEW, CLONE_THREAD, ENOSYS, numbers

_LOAD, _JUMP_EQUAL, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000  # with an error number
_EPERM = 1
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data, little-endian
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def assemble(machine: str, pid: int) -> bytes:
    """The program for "x86_64" or "aarch64" and the process ``pid``: struct sock_filter, one after the other.

    Another architecture's calls (32-bit on x86-64) end the process; what is not in the table gets EPERM.
    """
    known = numbers(machine)
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for name, number in known.items():
        body = _body(name, pid)
        program += [(_JUMP_EQUAL, 0, len(body), number), *body]
    program.append((_RETURN, 0, 0, _REFUSE | _EPERM))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _body(name: str, pid: int) -> list[Instruction]:
    """What happens when the call is ``name``: always ends in a return."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE | _EPERM)
    if name == "clone3":  # its flags lie in memory, out of the filter's sight: the C library then takes clone
        return [(_RETURN, 0, 0, _REFUSE | ENOSYS)]
    if name == "clone":
        flags = (_LOAD, 0, 0, _ARGUMENTS)
        return [flags, (_JUMP_BITS, 2, 0, CLONE_NEW), (_JUMP_BITS, 0, 1, CLONE_THREAD), allow, refuse]
    if name not in ARGUMENTS:
        return [allow]
    index, values = ARGUMENTS[name]
    body: list[Instruction] = [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]
    for value in values:
        body += [(_JUMP_EQUAL, 0, 1, pid if value == "self" else int(value)), allow]
    return [*body, refuse]


def machine() -> str | None:
    """The machine, where there is a table for it and this is a 64-bit little-endian Linux; else None."""
    name = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    fits = sys.platform == "linux" and sys.byteorder == "little" and sys.maxsize > 2**32
    return name if fits and name in ARCHITECTURES else None


def available() -> str:
    """Empty when the kernel takes filters, else why not."""
    if machine() is None:
        return f"there is no filter for {sys.platform} on {platform.machine()}"
    import ctypes

    answer = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    error = ctypes.get_errno()  # a null program: EFAULT from a kernel that would take one
    return "" if answer == -1 and error == 14 else f"the kernel refuses filters of system calls (error {error})"


def restrict(pid: int) -> None:
    """Put the filter in force for this thread, which must be the only one. Raises OSError."""
    import ctypes

    here = machine()
    if here is None:
        raise OSError(f"no filter of system calls for {platform.machine()}")
    code = assemble(here, pid)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")
