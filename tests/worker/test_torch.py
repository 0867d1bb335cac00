"""Tensors of every kind, gradients, and torch as a guest in a process that was started without it."""

import numpy as np
import pytest

from grader.worker import BadResult, NoGradient, Raised

X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("expression", "dtype", "own"),
    [
        ("x.clone().requires_grad_() * 1", "float64", "float64"),
        ("torch.nn.Parameter(x)", "float64", "float64"),
        ("x.t().contiguous().t()", "float64", "float64"),
        ("x.to(torch.bfloat16)", "float32", "bfloat16"),
        ("x.half()", "float32", "float16"),
        ("x.to_sparse()", "float64", "float64"),
        ("torch.complex(x, -x).conj().real", "float64", "float64"),
        ("[row for row in x]", "float64", "float64"),
        ("[[value for value in row] for row in x]", "float64", "float64"),
        ("Sub(x)", "float64", "float64"),
        ("x.numpy().astype('float32')", "float32", "float32"),
        ("x.tolist()", "float64", "float64"),
        ("(-x)._neg_view()", "float64", "float64"),
    ],
)
def test_tensors_become_arrays(torch_worker, expression, dtype, own):
    worker = torch_worker(f"""
        import torch
        class Sub(torch.Tensor):
            def __new__(cls, x): return torch.Tensor._make_subclass(cls, x)
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise RuntimeError("hostile")
        def f(x):
            return {expression}
    """)
    reply = worker.call("f", [X])
    assert reply.value.tolist() == X.tolist()
    assert reply.value.dtype == dtype
    assert reply.dtypes == (own,)


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("torch.ones(2, device='meta')", "meta device"),
        ("torch.complex(x, x)", "complex tensor"),
        ("torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8)", "quantized"),
        ("[x[0], x[0, :2]]", "ragged"),
        ("[x, None]", "a list that holds None"),
        ("torch.ones(1).expand(2**31)", "MiB are taken"),
        ("(x, x)", "returned a tuple of 2, 1 array is asked"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_are_refused(torch_worker, expression, sentence):
    worker = torch_worker(f"import torch\ndef f(x):\n    return {expression}\n")
    with pytest.raises(BadResult, match=sentence):
        worker.call("f", [X])


def test_a_changed_default_dtype_does_not_change_arguments(torch_worker):
    worker = torch_worker("""
        import torch
        torch.set_default_dtype(torch.float16)
        torch.set_grad_enabled(False)
        def f(x, mask, tokens, pair):
            assert (x.dtype, mask.dtype, tokens.dtype) == (torch.float32, torch.bool, torch.int64)
            return pair[0]["w"]
    """)
    w = np.ones((), np.float32)
    reply = worker.call("f", [X.astype(np.float32), X > 1, np.arange(3), ({"w": w},)])
    assert reply.value.dtype == np.float32
    assert reply.value.shape == ()


GRADIENTS = """
    import torch
    def head(x, block):
        return torch.softmax(x @ block["W"][0], -1), [row for row in x * x]
    def detached(x):
        return x.detach() * 2
    def through_numpy(x):
        return x.numpy() * 2
    def no_grad(x):
        with torch.no_grad():
            return x * 2
    def wrong_shape(x):
        return x[0]
    def boom(x):
        raise ValueError("no")
    def inference(x):
        return x * 2
    torch.set_grad_enabled(False)
"""


def test_gradients_reach_any_path(torch_worker):
    worker = torch_worker(GRADIENTS)
    rng = np.random.default_rng(0)
    x, w, unused = rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), np.ones(2)
    c, d = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    args = [x, {"W": (w,), "b": unused}]
    reply = worker.gradient("head", args, ("array", "array"), [c, d], [(0,), (1, "W", 0), (1, "b")])

    def scalar(x, w):
        e = np.exp(x @ w)
        return (c * e / e.sum(-1, keepdims=True)).sum() + (d * x * x).sum()

    step = 1e-6
    for value, at in zip(reply.value[:2], (x, w), strict=True):
        for index in np.ndindex(at.shape):
            kept = at[index]
            at[index] = kept + step
            up = scalar(x, w)
            at[index] = kept - step
            down = scalar(x, w)
            at[index] = kept
            assert value[index] == pytest.approx((up - down) / (2 * step), abs=1e-6)
    assert reply.value[2] is None
    only = worker.gradient("head", args, ("array", "array"), [None, d], [(0,), (1, "W", 0)])
    assert np.allclose(only.value[0], 2 * d * x)
    assert only.value[1] is None
    assert worker.gradient("inference", [x], "array", [c], [(0,)]).value[0] == pytest.approx(2 * c)


def test_an_output_without_a_graph(torch_worker):
    worker = torch_worker(GRADIENTS)
    for name in ("detached", "no_grad"):
        with pytest.raises(NoGradient, match="carries no gradient"):
            worker.gradient(name, [X], "array", [X], [(0,)])
    with pytest.raises(Raised, match="requires grad"):
        worker.gradient("through_numpy", [X], "array", [X], [(0,)])
    with pytest.raises(BadResult, match=r"returned the shape \[3\], \[2, 3\] is wanted"):
        worker.gradient("wrong_shape", [X], "array", [X], [(0,)])
    with pytest.raises(Raised, match="ValueError: no"):
        worker.gradient("boom", [X], "array", [X], [(0,)])


def test_numpy_has_no_gradient(numpy_worker):
    worker = numpy_worker("def f(x):\n    return x\n")
    with pytest.raises(NoGradient):
        worker.gradient("f", [X], "array", [X], [(0,)])


def test_a_numpy_host_serves_a_submission_that_imports_torch(numpy_host):
    sources = {
        "decoder.py": 'import helper\nBACKEND = "numpy"\ndef f(x):\n    return helper.twice(x)\n',
        "helper.py": "import torch\nassert torch.get_num_threads() == 1\n"
        "def twice(x):\n    return 2 * torch.from_numpy(x)\n",
    }
    with numpy_host.start() as worker:
        assert worker.scan(sources, "decoder") == "torch"
        loaded = worker.load(sources, "decoder")
        assert loaded.backend == "numpy"
        assert loaded.versions["torch"] is not None
        assert worker.call("f", [X]).value.tolist() == (2 * X).tolist()


def test_many_forks_with_backward_passes(torch_host):
    for _ in range(20):
        with torch_host.start() as worker:
            worker.load({"m.py": "import torch\ndef f(x):\n    return (x @ x.T).softmax(-1)\n"}, "m")
            assert worker.gradient("f", [X], "array", [np.eye(2)], [(0,)]).value[0].shape == (2, 3)
