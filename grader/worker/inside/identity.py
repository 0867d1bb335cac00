"""Who a process is to the kernel: another user, no capabilities, ended with its parent, closed to debuggers (Linux)."""

import os
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
_CAPABILITY_VERSION = 0x20080522


def prctl(option: int, value: int) -> None:
    """The system call of that name. Raises OSError."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) was refused")


def become(uid: int) -> None:
    """Be the user and group ``uid`` and in no other group, for ever. Raises OSError."""
    if sys.platform == "linux":
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up every capability: root is then a user like others, whose files happen to be the system's."""
    import ctypes

    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset was refused")
