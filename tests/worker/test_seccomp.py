"""The filter of system calls, run here by an interpreter of its own: tables, and every decision on both machines."""

import re
import struct
from pathlib import Path

import pytest

from grader.worker.inside.seccomp import assemble
from grader.worker.inside.syscalls import ARCHITECTURES, ARGUMENTS, numbers

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
PID = 4711
ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
MACHINES = tuple(ARCHITECTURES)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels(machine):
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    if machine == "aarch64":
        found |= {"fcntl": "25", "statfs": "43", "fstatfs": "44", "ftruncate": "46", "lseek": "62", "sendfile": "71"}
        found |= {"newfstatat": "79", "fstat": "80", "mmap": "222", "fadvise64": "223"}
    assert {name: str(number) for name, number in numbers(machine).items()}.items() <= found.items()


def verdict(machine, number, *arguments, architecture=None):
    """What the program answers to a call, by the rules of the kernel's filter language."""
    words = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    architecture = ARCHITECTURES[machine] if architecture is None else architecture
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(word & (2**64 - 1) for word in words))
    program = list(struct.iter_unpack("<HBBI", assemble(machine, PID)))
    at, register = 0, 0
    while True:
        code, true, false, operand = program[at]
        at += 1
        if code == 0x20:
            register = struct.unpack_from("<I", data, operand)[0]
        elif code == 0x15:
            at += true if register == operand else false
        elif code == 0x45:
            at += true if register & operand else false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_decided_by_the_table(machine):
    allowed = {number for name, number in numbers(machine).items() if name not in (*ARGUMENTS, "clone", "clone3")}
    for number in range(600):
        if number not in set(numbers(machine).values()) - allowed:
            assert verdict(machine, number) == (ALLOW if number in allowed else EPERM), number
    assert verdict(machine, numbers(machine)["clone3"]) == ENOSYS
    assert verdict(machine, 0x40000000 | numbers(machine)["read"]) == EPERM  # the x32 door
    assert verdict(machine, 1, architecture=0x40000003) == KILL


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("clone", (0x3D0F00,), True),  # what a thread library asks for
        ("clone", (0x11,), False),
        ("clone", (0x4111,), False),
        ("clone", (0x3D0F00 | 0x10000000,), False),
        ("kill", (PID, 9), True),
        ("kill", (0, 9), True),
        ("kill", (PID + 1, 0), False),
        ("kill", (-1, 9), False),
        ("kill", (1, 0), False),
        ("tgkill", (PID, 1, 9), True),
        ("tgkill", (1, 1, 9), False),
        ("fcntl", (0, 1030), True),
        ("fcntl", (0, 8), False),
        ("fcntl", (0, 10), False),
        ("fcntl", (0, 1024), False),
        ("ioctl", (0, 0x5401), True),
        ("ioctl", (0, 0x5412), False),
        ("prctl", (15,), True),
        ("prctl", (1, 0), False),
        ("prctl", (22, 2), False),
        ("prlimit64", (0, 7), True),
        ("prlimit64", (1, 7), False),
    ],
)
def test_arguments_decide(machine, name, arguments, allowed):
    assert verdict(machine, numbers(machine)[name], *arguments) == (ALLOW if allowed else EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_dangerous_is_in_the_table(machine):
    never = "fork vfork execve execveat socket socketpair connect bind sendmsg recvmsg ptrace process_vm_readv"
    never += " memfd_create io_uring_setup bpf mount unshare setns symlink link mknod chmod fchmod setuid capset"
    never += " setsid setpgid keyctl perf_event_open userfaultfd seccomp shmget mq_open pidfd_open truncate tkill"
    assert not set(never.split()) & numbers(machine).keys()
    assert len(assemble(machine, PID)) // 8 < 4096


def test_another_compiler_knows_the_same_numbers():
    compiler = pytest.importorskip("pyseccomp", exc_type=ImportError)
    known = {"x86_64": compiler.Arch.X86_64, "aarch64": compiler.Arch.AARCH64}
    for machine, arch in known.items():
        table = numbers(machine)
        assert {name: compiler.resolve_syscall(arch, name) for name in table} == table
