"""From sources to a module: what is found, what is refused, and what each failure says."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.worker import GraderFault, Host, Limits, LoadFailed, Raised, launch


def failure(worker, sources, main="decoder", **options):
    with pytest.raises(LoadFailed) as caught:
        worker.load({"decoder.py": sources} if isinstance(sources, str) else sources, main, **options)
    return caught.value


def test_helpers_packages_and_relative_imports(numpy_host):
    sources = {
        "decoder.py": "from helpers.attn import attend\nimport pkg\nfrom bare import deep\n"
        "assert __name__ == 'decoder' and __file__ == 'decoder.py'\nif __name__ == '__main__':\n    1 / 0\n"
        "def f(x):\n    return attend(x) + pkg.ONE + deep.TWO\n_private = len\n",
        "helpers/attn.py": "from .scale import SCALE\nfrom . import scale\ndef attend(x):\n    return x * SCALE\n",
        "helpers/scale.py": "SCALE = 3\n",
        "pkg/__init__.py": "from .inner import ONE\n",
        "pkg/inner.py": "ONE = 1\n",
        "bare/deep.py": "TWO = 2\n",
        "grader.py": "",
    }
    with numpy_host.start() as worker:
        loaded = worker.load(sources, "decoder")
        assert loaded.names == ("attend", "f")
        assert loaded.backend == "numpy"
        assert worker.call("f", [np.ones(1)]).value.tolist() == [6.0]


def test_a_main_module_inside_a_package_and_one_that_shadows_an_installed_name(numpy_host):
    with numpy_host.start() as worker:
        worker.load({"a/b.py": "from . import c\ndef f(): return c.X\n", "a/c.py": "X = 4\n"}, "a.b")
        assert worker.call("f").value == 4
    with numpy_host.start() as worker:
        worker.load(
            {"decoder.py": "import random, tokenize\ndef f(): return random.X\n", "random.py": "X = 5\n"}, "decoder"
        )
        assert worker.call("f").value == 5


def test_adapters_win(numpy_host):
    sources = {"mine.py": "def f(): return 1\ndef g(): return 2\n", "adapters.py": "import mine\ndef f(): return 10\n"}
    with numpy_host.start() as worker:
        assert worker.load(sources, "mine", adapters="adapters").names == ("f", "g")
        assert [int(worker.call(name).value) for name in "fg"] == [10, 2]
    with numpy_host.start() as worker:
        assert worker.load(sources, "decoder", adapters="adapters").names == ("f",)
    with numpy_host.start() as worker:
        assert failure(worker, sources).message == "decoder.py is not there"


def test_bytes_with_a_coding_line_and_a_byte_order_mark(numpy_host):
    source = "# -*- coding: latin-1 -*-\ndef f():\n    raise ValueError('é')\n".encode("latin-1")
    with numpy_host.start() as worker:
        worker.load({"decoder.py": source}, "decoder")
        with pytest.raises(Raised, match="ValueError: é"):
            worker.call("f")
    with numpy_host.start() as worker:
        worker.load({"decoder.py": "\ufeffdef f(): return 1\n"}, "decoder")


@pytest.mark.parametrize("path", ["/etc/a.py", "../a.py", "a/../b.py", "a//b.py", "", "./a.py", "a\0.py"])
def test_a_path_that_leads_outside_is_the_callers_mistake(numpy_host, path):
    with numpy_host.start() as worker, pytest.raises(ValueError, match="plain relative path"):
        worker.load({path: "", "decoder.py": ""}, "decoder")


def test_a_syntax_error_points_at_the_line(numpy_host):
    with numpy_host.start() as worker:
        fault = failure(worker, {"decoder.py": "import helper\n", "helper.py": "x = 1\ndef f(:\n    pass\n"})
    assert (fault.kind, fault.file, fault.line, fault.source_line) == ("syntax", "helper.py", 2, "def f(:")
    assert fault.message == "helper.py, line 2: SyntaxError: invalid syntax"


@pytest.mark.parametrize("text", ["(" * 5000, "\0", b"\xff\xfe", "x = '\ud800'", "-" * 300_000 + "1", "if 1:\nx"])
def test_text_that_is_no_python(numpy_host, text):
    with numpy_host.start() as worker:
        assert failure(worker, {"decoder.py": text}).kind in ("syntax", "crash")


def test_an_import_error_inside_a_helper(numpy_host):
    with numpy_host.start() as worker:
        fault = failure(worker, {"decoder.py": "import helper\n", "helper.py": "\nimport not_installed_anywhere\n"})
    assert (fault.kind, fault.file, fault.line) == ("import", "helper.py", 2)
    assert fault.message == "helper.py, line 2: ModuleNotFoundError: No module named 'not_installed_anywhere'"
    assert [(f.file, f.line, f.function, f.code) for f in fault.frames] == [
        ("decoder.py", 1, "<module>", "import helper"),
        ("helper.py", 2, "<module>", "import not_installed_anywhere"),
    ]


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("import sys\nsys.exit(3)", "exit", "decoder.py, line 2: the code called exit(3)"),
        ("raise KeyboardInterrupt", "import", "KeyboardInterrupt: the code raised KeyboardInterrupt"),
        ("import os\nos._exit(3)", "crash", "importing the module ended the process: left by os._exit(3)"),
        ("x = 1 / 0", "import", "decoder.py, line 1: ZeroDivisionError: division by zero"),
        ("BACKEND = 'jax'", "backend", 'decoder.py: BACKEND is \'jax\'; it must be "numpy" or "torch"'),
        ("raise MemoryError", "memory", "importing the module went over the memory limit of 4.0 GiB"),
        ("import grader.worker", "import", "ModuleNotFoundError: grader is not available while grading"),
        ("import reference", "import", "ModuleNotFoundError: reference is not available while grading"),
        ("import specs", "import", "ModuleNotFoundError: specs is not available while grading"),
        ("import student_template", "import", "student_template is not available while grading"),
        ("import _decoder_grader_inside", "import", "No module named '_decoder_grader_inside'"),
        ("import serve", "import", "decoder.py, line 1: ModuleNotFoundError: No module named 'serve'"),
        ("#" * 6_000_000, "size", "the sources are 5.7 MiB, at most 4.8 MiB are taken"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_way_to_fail_has_its_own_message(numpy_host, source, kind, message):
    with numpy_host.start() as worker:
        fault = failure(worker, source)
    assert fault.kind == kind
    assert fault.message.endswith(message)


def test_a_module_that_never_ends(quick_host):
    with quick_host.start() as worker:
        fault = failure(worker, "print('before')\nwhile True: pass")
        assert (fault.kind, fault.message) == ("timeout", "importing the module took longer than 0.5 seconds")
        assert fault.printed == "before\n"
        assert not worker.alive


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import numpy", "numpy"),
        ("import torch.nn as nn", "torch"),
        ("from torch import nn", "torch"),
        ("def f():\n    try:\n        import torch\n    except ImportError: pass", "torch"),
        ("if __name__ == '__main__':\n    import torch", "numpy"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", "numpy"),
        ("import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import torch", "torch"),
        ("import importlib\nt = importlib.import_module('torch')", "torch"),
        ("BACKEND = 'torch'", "torch"),
        ("BACKEND: str = 'torch'", "torch"),
        ("import uses", "torch"),
        ("from pkg import part", "torch"),
        ("from pkg.part import x", "torch"),
        ("import torchless, torch_like", "numpy"),
        ("'import torch'", "numpy"),
    ],
)
def test_which_host_is_needed_is_read_without_running_anything(numpy_host, source, kind):
    sources = {
        "decoder.py": source + "\nimport os\nos._exit(1)\n",
        "uses.py": "import torch",
        "unused.py": "import torch",
        "pkg/part.py": "from . import deeper",
        "pkg/deeper.py": "from .. import x\nfrom torch.nn import functional",
    }
    with numpy_host.start() as worker:
        assert worker.scan(sources, "decoder") == kind
        assert worker.alive


def test_the_callers_backend_wins(torch_host):
    with torch_host.start() as worker:
        loaded = worker.load({"decoder.py": "def f(x): return x\n"}, "decoder", backend="torch")
        assert loaded.backend == "torch"
        assert worker.call("f", [np.ones(1)]).kinds == ("torch.Tensor float64 [1]",)


@pytest.fixture
def bare_python(tmp_path, monkeypatch):
    """An interpreter that has NumPy and nothing else, and the folder where it finds more."""
    if sys.platform == "win32":
        pytest.skip("needs symbolic links")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = tmp_path / "site"
    site.mkdir()
    installed = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    monkeypatch.setattr(launch, "library_paths", lambda: [str(site)])
    return str(tmp_path / "venv" / "bin" / "python"), site


def test_torch_that_cannot_be_imported_is_the_graders_fault(bare_python):
    python, site = bare_python
    (site / "torch.py").write_text("raise ImportError('libtorch is broken')\n")
    with Host(python=python) as host, host.start() as worker, pytest.raises(GraderFault, match="libtorch is broken"):
        worker.load({"decoder.py": "import torch\n"}, "decoder")
    with Host("torch", python=python) as host, pytest.raises(GraderFault, match="libtorch is broken"):
        host.start()


def test_torch_that_is_not_installed(bare_python):
    told = "this submission imports torch, which is not installed; install it with: pip install 'decoder-grader[torch]'"
    sources = [
        "import torch",
        "def f():\n    import torch\n",
        "import importlib\nimportlib.import_module('to' + 'rch')",
    ]
    with Host(python=bare_python[0]) as host:
        for source in sources:
            with host.start() as worker:
                fault = failure(worker, source)
                assert (fault.kind, fault.message) == ("import", told)
        with host.start() as worker:
            assert worker.load(
                {"decoder.py": "try:\n    import torch\nexcept ImportError: pass\nBACKEND = 'numpy'\n"}, "decoder"
            )


def test_torch_is_imported_nowhere_without_need(numpy_worker):
    worker = numpy_worker("import sys\ndef f():\n    return 'torch' in sys.modules\n")
    assert not worker.call("f").value
    code = "import grader.worker as w, sys; h = w.Host(); h.start(); h.close(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(launch.__file__).parents[2])


def test_the_process_sees_nothing_of_the_callers_environment(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cr3t")
    source = """
import os, sys, glob
def f():
    seen = str(dict(os.environ))
    for place in ("/proc/self/environ", "/proc/%d/environ" % os.getppid()):
        if os.path.exists(place):
            seen += open(place).read()
    assert os.listdir(".") == [] and os.getcwd() != "/" and sys.stdin.read() == ""
    return seen + str(sys.argv) + str(os.getcwd() in os.environ["HOME"])
"""
    for fork in (True, False):
        with Host(fork=fork) as host, host.start() as worker:
            worker.load({"decoder.py": source}, "decoder")
            seen = worker.call("f", (), "text").value
            assert "s3cr3t" not in seen
            assert "SECRET" not in seen


def test_two_runs_draw_the_same_random_numbers_and_hash_alike():
    source = (
        "import random, numpy as np\ndef f():\n    return [random.random(), np.random.rand(), hash('a') % 1000, "
        "list({'a', 'b', 'c'}).index('a')]\n"
    )
    values = []
    for fork in (True, True, False):
        with Host(fork=fork) as host, host.start() as worker:
            worker.load({"decoder.py": source}, "decoder")
            values.append(worker.call("f").value.tolist())
    assert values[0] == values[1] == values[2]


def test_inspect_finds_the_source(numpy_worker):
    worker = numpy_worker("import inspect\ndef f():\n    return inspect.getsource(f)\n")
    assert worker.call("f", (), "text").value == "def f():\n    return inspect.getsource(f)\n"


def test_importing_torch_is_no_part_of_the_students_time():
    with Host("numpy", limits=Limits(import_seconds=0.2)) as host, host.start() as worker:
        assert worker.load({"decoder.py": "import torch\n"}, "decoder").backend == "torch"
