"""The level "none" is for a debugger: the terminal is there, nothing is limited, and nothing of it counts."""

import subprocess
import sys
from pathlib import Path

import pytest

import grader
from grader.hosts import Hosts
from grader.worker import Host, Limits
from tests.folders import clean_environment
from tests.right.hand_decoder import HERE

ROOT = Path(__file__).parents[2]

SCRIPT = """
from grader.worker import Host, Limits
source = "def f():\\n    x = 41\\n    breakpoint()\\n    return x\\n"
with Host("numpy", "none", Limits(call_seconds=0.2)) as host, host.start() as worker:
    worker.load({"m.py": source}, "m")
    print("answer", worker.call("f").value)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the terminal carries the conversation")
def test_a_debugger_reads_from_the_terminal_and_has_time():
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)  # longer than the limit of a call
        out, _ = process.communicate("p x + 1\nx = 7\nc\n", timeout=60)
    assert "(Pdb) 42" in out
    assert "answer 7" in out


def test_it_says_so_and_does_not_count():
    with Hosts("none") as hosts:
        result = grader.grade(HERE / "numpy_einsum.py", assignment="hand-decoder", only="softmax", hosts=hosts)
    assert result.rubric["provenance"]["isolation"] == "none"
    assert not result.counts


def test_no_layer_holds():
    with Host("numpy", "none", Limits(call_seconds=0.1)) as host, host.start() as worker:
        assert worker.layers == ()
        worker.load({"m.py": "import time\ndef f():\n    time.sleep(0.3)\n    return 1\n"}, "m")
        assert worker.call("f").value == 1
