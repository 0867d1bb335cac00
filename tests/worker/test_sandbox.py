"""Each promise of the sandbox: what a submission reaches, and that every layer of it is in force."""

import os
import socket
import sys
import textwrap
import time
from pathlib import Path

import pytest

from grader.worker import Crashed, GraderFault, Host, Limits, Raised
from grader.worker.levels import Layer, levels_available, resolve
from tests.worker.conftest import PATIENT

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif("sandbox" not in levels_available(), reason="this machine gives no sandbox")

TRY = """
import os
def tried(code):
    try:
        exec(code, {"os": os})
    except BaseException as error:
        return type(error).__name__ + ": " + str(error)
    return "done"
"""


@pytest.fixture(scope="module", params=["forked", "fresh", "without bubblewrap"])
def host(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without bubblewrap":
            patch.setattr("grader.worker.bubble.find", lambda: (None, "not asked"))
        with Host("numpy", "sandbox", PATIENT, fork=request.param != "fresh") as host:
            yield host


@pytest.fixture
def attempt(host):
    worker = host.start()
    worker.load({"m.py": TRY}, "m")
    yield lambda code: str(worker.call("tried", (textwrap.dedent(code),), "text").value)
    worker.close()


def test_every_promised_layer_is_told_by_the_process(host):
    with host.start() as worker:
        assert {"landlock", "seccomp"} <= {layer.split()[0] for layer in worker.layers}
        assert {"RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "no capabilities"} <= set(worker.layers)
        assert host.isolation.missing(worker.layers) == []
        assert host.isolation.missing([]) != []


REFUSED = ("PermissionError", "FileNotFoundError")
FILES = [
    ROOT / "grader" / "engine.py",
    ROOT / "grader" / "worker" / "inside" / "serve.py",
    ROOT / "reference" / "attention.py",
    ROOT / "specs" / "hand-decoder.toml",
    ROOT / "student_template" / "hand-decoder" / "decoder.py",
    ROOT / "tests" / "right" / "hand_decoder" / "numpy_einsum.py",
    Path("/etc/passwd"),
    Path("/proc/self/environ"),
    Path("/proc/self/maps"),
    Path("/proc/1/cmdline"),
    Path(f"/proc/{os.getpid()}/environ"),
]


@pytest.mark.parametrize("path", FILES, ids=[str(path).replace(str(os.getpid()), "pid") for path in FILES])
def test_a_file_out_of_the_view_cannot_be_read(attempt, path):
    assert path.exists()
    assert attempt(f"open({str(path)!r}, 'rb').read()").startswith(REFUSED)


def test_neither_home_nor_other_folders_can_be_read(attempt, tmp_path, host):
    (tmp_path / "secret").write_text("secret")
    with host.start() as other:
        for folder in (tmp_path, Path.home(), ROOT, Path("/tmp"), Path("/"), Path("/proc"), host._folder):
            assert attempt(f"os.listdir({str(folder)!r})").startswith(REFUSED), folder
        other.load({"m.py": "import os\nopen('left', 'w').write('mine')\ndef where(): return os.getcwd()\n"}, "m")
        theirs = str(other.call("where", (), "text").value)
        for code in ("open({!r} + '/left').read()", "open({!r} + '/left', 'a')", "os.listdir({!r})"):
            assert attempt(code.format(theirs)).startswith(REFUSED)


def test_links_lead_nowhere(attempt):
    assert attempt("os.symlink('/etc/passwd', 'p')").startswith(REFUSED)
    assert attempt("os.link('/etc/passwd', 'p')").startswith(REFUSED)


@pytest.mark.parametrize(
    "code",
    [
        "open('/tmp' + '/of-the-grader', 'w')",
        "os.mkdir('/tmp' + '/of-the-grader')",
        "open(os.__file__, 'a')",
        "import numpy; open(numpy.__file__, 'a')",
        "os.rename(os.__file__, 'mine')",
        "os.unlink(os.__file__)",
        "os.truncate(os.__file__, 0)",
        "os.chmod('.', 0o777)",
        "os.utime(os.__file__)",
        "os.mkfifo('pipe')",
        "os.setxattr('.', 'user.a', b'1')",
    ],
)
def test_nothing_outside_is_written(attempt, code):
    assert attempt(code).startswith((*REFUSED, "OSError")), code


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import multiprocessing as m; p = m.get_context('fork').Process(target=print); p.start()",
        "import socket; socket.socket()",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import socket; socket.socketpair()",
        "os.memfd_create('x')",
        "os.pidfd_open(os.getpid())",
        "os.setpriority(os.PRIO_PROCESS, 0, 5)",
        "os.kill(1, 0)",
        "os.kill(os.getppid(), 0)",
        "os.kill(-1, 0)",
        "os.setsid()",
        "os.unshare(os.CLONE_NEWUSER)" if hasattr(os, "unshare") else "os.setuid(0); os.fork()",
        "import resource as r; r.prlimit(os.getppid(), r.RLIMIT_CPU, (1, 1))",
        "import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
        "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",  # TIOCSTI
    ],
)
def test_a_forbidden_call_is_refused(attempt, code):
    assert attempt(code).startswith(("PermissionError", "OSError: [Errno 1]")), code


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *[("ptrace", "16, 1, 0, 0"), ("process_vm_readv", "1, 0, 0, 0, 0, 0"), ("bpf", "0, 0, 0")],
        *[("io_uring_setup", "1, 0"), ("keyctl", "0, 0"), ("mount", "0, 0, 0, 0, 0"), ("unshare", "0x10000000")],
        *[("userfaultfd", "0"), ("perf_event_open", "0, 0, 0, 0, 0"), ("seccomp", "0, 0, 0"), ("shmget", "0, 1, 0")],
        *[("setns", "0, 0"), ("chroot", "0"), ("personality", "0"), ("clone", "0x10000011, 0, 0, 0, 0")],
        *[("mq_open", "0, 0"), ("name_to_handle_at", "0, 0, 0, 0, 0"), ("open_by_handle_at", "0, 0, 0")],
        *[("prctl", "1, 0, 0, 0, 0"), ("prctl", "4, 1, 0, 0, 0"), ("capset", "0, 0"), ("vfork", "")],
    ],
)
def test_a_raw_system_call_is_refused(attempt, name, arguments):
    number = RAW[name]
    code = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        answer = libc.syscall({", ".join(filter(None, (str(number), arguments)))})
        raise OSError(ctypes.get_errno(), str(answer))
    """
    assert attempt(code) == "PermissionError: [Errno 1] -1"


# name:x86-64:aarch64; vfork is no call of its own there, and the number is one of none
_NUMBERS = """
ptrace:101:117 process_vm_readv:310:270 bpf:321:280 io_uring_setup:425:425 keyctl:250:219 mount:165:40
unshare:272:97 userfaultfd:323:282 perf_event_open:298:241 seccomp:317:277 shmget:29:194 setns:308:268
chroot:161:51 personality:135:92 clone:56:220 mq_open:240:180 name_to_handle_at:303:264
open_by_handle_at:304:265 prctl:157:167 capset:126:91 vfork:58:1071
"""
_COLUMN = 1 if os.uname().machine == "x86_64" else 2
RAW = {row.split(":")[0]: int(row.split(":")[_COLUMN]) for row in _NUMBERS.split()}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="calls of 32-bit programs are an affair of x86")
def test_calls_by_another_architectures_door_end_the_process(host):
    code = """
        import ctypes, mmap
        code = bytes.fromhex("b814000000cd80c3")  # mov eax, getpid of 32 bits; int 0x80; ret
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        def f():
            ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
            return 1
    """
    with host.start() as worker:
        worker.load({"m.py": textwrap.dedent(code)}, "m")
        with pytest.raises(Crashed, match=r"killed by signal 31|segmentation"):
            worker.call("f")


def test_a_listening_server_of_this_machine_is_out_of_reach(attempt):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/', timeout=1)"
        assert "Operation not permitted" in attempt(code)


def test_the_environment_holds_nothing_of_the_graders(attempt, monkeypatch):
    monkeypatch.setenv("GRADER_SECRET", "1")
    assert attempt("assert not [k for k in os.environ if 'SECRET' in k or 'TOKEN' in k or k == 'PATH']") == "done"


def test_its_own_folder_can_be_used_within_limits(attempt):
    code = """
        import tempfile, pathlib, shutil
        for make in (tempfile.TemporaryFile, tempfile.NamedTemporaryFile, tempfile.SpooledTemporaryFile):
            with make() as file: file.write(b'x'); file.flush()
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, 'a'); place.mkdir(); (place / 'b').write_text('c')
            os.rename(place / 'b', pathlib.Path(folder) / 'd'); shutil.copyfile(f'{folder}/d', f'{folder}/e')
        assert os.listdir('.') == []
    """
    assert attempt(code) == "done"


def test_threads_work_and_processes_do_not(attempt):
    code = """
        import threading, concurrent.futures as c
        with c.ThreadPoolExecutor(8) as pool: assert list(pool.map(abs, [-1] * 20)) == [1] * 20
    """
    assert attempt(code) == "done"


def test_open_files_are_counted(attempt):
    assert "Too many open files" in attempt("kept = [open('/dev/null') for _ in range(1000)]")


@pytest.mark.parametrize("level", ["process", "sandbox"])
@pytest.mark.parametrize("fork", [True, False])
@pytest.mark.parametrize("what", ["bytes", "files"])
def test_a_folder_that_overflows_ends_the_process(level, fork, what):
    source = """
        import itertools, time
        def f(what):
            for n in itertools.count():
                with open(f"f{n}", "wb") as file:
                    file.write(bytes(2**20 if what == "bytes" else 0))
                time.sleep(0.001)
    """
    limits = Limits(call_seconds=30, folder_bytes=20 << 20, folder_files=300)
    with Host("numpy", level, limits, fork=fork) as host, host.start() as worker:
        worker.load({"m.py": textwrap.dedent(source)}, "m")
        with pytest.raises(Crashed, match=r"left more than 20.0 MiB or 300 files"):
            worker.call("f", (what,))


def test_one_file_has_a_largest_size():
    limits = Limits(file_bytes=1 << 20)
    with Host("numpy", "sandbox", limits) as host, host.start() as worker:
        worker.load({"m.py": "def f():\n    open('f', 'wb').write(bytes(2**21))\n    return 1\n"}, "m")
        with pytest.raises((Raised, Crashed), match=r"File too large|too large"):
            worker.call("f")


def test_the_pending_answer_of_a_stopped_thread_does_not_hold_the_grader():
    with Host("numpy", "sandbox", Limits(call_seconds=0.3)) as host:
        worker = host.start()
        worker.load({"m.py": "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSTOP)\n"}, "m")
        began = time.monotonic()
        with pytest.raises(Exception, match="no answer"):
            worker.call("f")
        assert time.monotonic() - began < 5


def test_automatic_is_the_strongest_level_and_names_its_layers():
    isolation = resolve("auto")
    assert isolation.level == "sandbox"
    assert str(isolation).startswith("sandbox: landlock ")
    assert str(isolation) == str(resolve("sandbox"))
    assert str(resolve("sandbox", wrapped=False)) == str(isolation).removesuffix(", bubblewrap")


def test_a_level_that_the_machine_does_not_give_is_refused_with_the_remedy(monkeypatch):
    lacking = Layer("landlock", False, "the kernel has no Landlock", "Use a newer one")
    monkeypatch.setattr("grader.worker.levels.sandbox", lambda python: (lacking, Layer("seccomp", True)))
    assert resolve("auto").level == "process"
    with pytest.raises(GraderFault, match=r"'sandbox' is not to be had here. landlock: the kernel has no.*Use a newer"):
        Host("numpy", "sandbox")


def test_a_layer_that_does_not_come_into_force_is_no_grade(monkeypatch):
    monkeypatch.setattr("grader.worker.levels.Isolation.missing", lambda self, layers: ["seccomp"])
    with (
        Host("numpy", "sandbox") as host,
        pytest.raises(GraderFault, match="not confined as promised: without seccomp"),
    ):
        host.start()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can be another user")
def test_root_becomes_another_user_for_good():
    from grader.worker.inside.identity import become, drop_capabilities

    pid = os.fork()
    if pid == 0:
        try:
            become(61000)
            drop_capabilities()
            os.setuid(0)
        except PermissionError:
            os._exit(0 if os.getresuid() == (61000,) * 3 and os.getgroups() == [] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
