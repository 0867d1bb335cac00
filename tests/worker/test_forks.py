"""Fork safety of torch: hundreds of children that go forward and backward, from one warm parent."""

import sys
import time

import numpy as np
import pytest

from grader.worker import Host, Limits
from grader.worker.levels import levels_available

FORKS = 500
SOURCE = """
import torch
def f(x, W):
    heads = torch.softmax(x @ W @ x.T, -1) @ x
    y = torch.nn.functional.layer_norm(heads, heads.shape[-1:])
    return torch.linalg.solve(y.T @ y + torch.eye(y.shape[1], dtype=y.dtype), y.T)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are no forks")
def test_five_hundred_forks_go_backward():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, W, seed = rng.normal(size=(6, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 6))
    gradients, slowest = set(), 0.0
    with Host("torch", levels_available()[0], Limits(call_seconds=20)) as host:
        host.start().close()
        for _ in range(FORKS):
            began = time.perf_counter()
            with host.start() as worker:
                worker.load({"m.py": SOURCE}, "m")
                reply = worker.gradient("f", (x, W), "array", [seed], [(0,), (1,)])
                gradients.add(b"".join(array.tobytes() for array in reply.value))
            slowest = max(slowest, time.perf_counter() - began)
        assert host.forks
    assert len(gradients) == 1  # to the last bit
    assert slowest < 5
