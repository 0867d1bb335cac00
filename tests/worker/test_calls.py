"""Arguments in, results out: every form that the contract allows and every one that is refused."""

import numpy as np
import pytest

from grader.worker import BadResult, Handle, Missing

SAME = "def same(x):\n    return x\n"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.arange(24.0).reshape(4, 6)[::2, ::-3],
        np.array([[True, False], [False, True]]),
        np.array(3, dtype=np.int64),
        np.array(2.5),
        np.zeros((0, 3)),
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.array([np.nan, np.inf, -np.inf, -0.0]),
    ],
)
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_an_array_survives_the_round_trip(array, kind, request):
    worker = request.getfixturevalue(f"{kind}_worker")("import torch\n" * (kind == "torch") + SAME)
    reply = worker.call("same", [array])
    assert reply.value.dtype == array.dtype
    assert reply.value.shape == array.shape
    assert reply.value.tobytes() == array.tobytes()
    assert reply.kinds[0].startswith({"numpy": "numpy.ndarray", "torch": "torch.Tensor"}[kind])
    assert reply.dtypes == (array.dtype.name,)


def test_scalars_and_trees_arrive_as_they_were(numpy_worker):
    worker = numpy_worker("""
        def check(block, text, none, flag, number, pair):
            assert type(block) is dict and type(block["heads"]) is list and type(block["heads"][0]) is tuple
            assert (text, none, flag, number) == ("é", None, True, 7) and type(pair) is tuple
            assert block["eps"] == 1e-5 and block[3] == "three"
            block["heads"][0][1][:] = 1.0
            return block
    """)
    block = {"eps": 1e-5, "heads": [(np.zeros((2, 2)), np.zeros(2))], 3: "three"}
    reply = worker.call("check", [block, "é", None, True, np.int64(7), (1, 2)], "tree")
    assert reply.value["eps"] == 1e-5
    assert reply.value["heads"][0][1].tolist() == [1.0, 1.0]
    assert block["heads"][0][1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("expression", "expected", "kind"),
    [
        ("3", 3, "int"),
        ("2.5", 2.5, "float"),
        ("True", True, "bool"),
        ("[[1, 2.5], [3, 4]]", [[1, 2.5], [3, 4]], "list"),
        ("((1, 2), (3, 4))", [[1, 2], [3, 4]], "tuple"),
        ("[]", [], "list"),
        ("np.float32(1.5)", 1.5, "float32"),
        ("[np.ones(2), np.zeros(2)]", [[1, 1], [0, 0]], "list"),
        ("[[np.float64(1), 2]]", [[1, 2]], "list"),
        ("np.matrix([[1, 2]])", [[1, 2]], "numpy.matrix int64 [1, 2]"),
        ("np.arange(3, dtype='>f4')", [0, 1, 2], "numpy.ndarray float32 [3]"),
        ("np.arange(3, dtype=np.int8)", [0, 1, 2], "numpy.ndarray int8 [3]"),
        ("np.array([0, 2, 0], np.uint8).view(bool)", [False, True, False], "numpy.ndarray bool [3]"),
    ],
)
def test_what_counts_as_an_array(numpy_worker, expression, expected, kind):
    reply = numpy_worker(f"import numpy as np\ndef f():\n    return {expression}\n").call("f")
    assert reply.value.tolist() == expected
    assert reply.kinds == (kind,)


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("None", "returned None: is a `return` missing?"),
        ("1j", "returned a complex number; real numbers are wanted"),
        ("np.ones(2) * 1j", "returned an array of complex numbers; real numbers are wanted"),
        ("np.array([None])", "returned an array of Python objects; real numbers are wanted"),
        ("np.array(['a'])", "returned an array of strings; real numbers are wanted"),
        ("'a'", "returned a str; an array is wanted"),
        ("{1}", "returned a set; an array is wanted"),
        ("[1, None]", "returned a list that holds None; an array is wanted"),
        ("[1, 'a']", "returned a list that holds a str; an array is wanted"),
        ("[[1, 2], [3]]", "returned a ragged list, which is no array: its entries have the shapes [2] and [1]"),
        ("[2**70]", "returned a list with an integer that does not fit 64 bits"),
        ("2**70", "returned an array of Python objects; real numbers are wanted"),
        ("(np.ones((2, 2)), np.ones((2, 2)))", "returned a tuple of 2, 1 array is asked"),
        ("np.ma.masked_array([1.0], [True])", "returned a masked array; return a plain array"),
        ("(x for x in [1])", "returned a generator; an array is wanted"),
        ("loop", "returned lists nested deeper than 8"),
        ("Evil()", "returned an Evil; an array is wanted"),
    ],
)
def test_what_is_refused_and_how(numpy_worker, expression, sentence):
    worker = numpy_worker(f"""
        import numpy as np
        loop = [1]
        loop[0] = loop
        class Evil:
            def __array__(self, *args, **kwargs):
                raise SystemExit
        def f():
            return {expression}
    """)
    with pytest.raises(BadResult) as caught:
        worker.call("f")
    assert caught.value.message.startswith(sentence)
    assert worker.alive


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("np.ones(2)", "returned 1 ndarray, 2 are asked: (O, A)"),
        ("np.ones((2, 2))", "returned 1 array, 2 are asked: (O, A)"),
        ("(np.ones(2),)", "returned 1 value, 2 are asked: (O, A)"),
        ("(1, 2, 3)", "returned 3 values, 2 are asked: (O, A)"),
        ("None", "returned None, 2 are asked: (O, A): is a `return` missing?"),
        ("(1, None)", "returned None: is a `return` missing?"),
    ],
)
def test_a_wrong_number_of_outputs_is_told(numpy_worker, expression, sentence):
    worker = numpy_worker(f"import numpy as np\ndef f():\n    return {expression}\n")
    with pytest.raises(BadResult) as caught:
        worker.call("f", (), ("array", "array"))
    assert caught.value.message == sentence


def test_two_outputs(numpy_worker):
    reply = numpy_worker("import numpy as np\ndef f(x):\n    return [x, np.float32(2) * x[0]]\n").call(
        "f", [np.ones((2, 2), np.float32)], ("array", "array")
    )
    assert [part.shape for part in reply.value] == [(2, 2), (2,)]
    assert reply.dtypes == ("float32", "float32")


def test_a_dict_of_arrays(numpy_worker):
    worker = numpy_worker("""
        def good(): return {"w": 0.5, "A": [[1, 0], [0, 1]]}
        def inner(): return {"w": None}
        def keys(): return {1: 2}
        def none(): pass
    """)
    reply = worker.call("good", (), "dict")
    assert reply.value["w"].shape == ()
    assert reply.value["A"].tolist() == [[1, 0], [0, 1]]
    for name, sentence in {
        "inner": "returned a dict whose 'w' is no array: None: is a `return` missing?",
        "keys": "returned a dict with the key 1; keys are strings",
        "none": "returned None, a dict is wanted: is a `return` missing?",
    }.items():
        with pytest.raises(BadResult) as caught:
            worker.call(name, (), "dict")
        assert caught.value.message == sentence


def test_arguments_are_fresh_copies_and_changes_are_shown_on_request(numpy_worker):
    worker = numpy_worker("""
        kept = []
        def spoil(x, block):
            kept.append(x)
            x += 1
            block["new"] = object()
            return kept[0]
    """)
    x = np.zeros(3)
    first = worker.call("spoil", [x, {"a": x}], echo=True)
    assert first.args_after[0].tolist() == [1, 1, 1]
    assert first.args_after[1]["new"] == "<now an object>"
    assert first.args_after[1]["a"].tolist() == [0, 0, 0]
    assert x.tolist() == [0, 0, 0]
    assert worker.call("spoil", [x, {}]).args_after is None
    assert worker.call("spoil", [x, {}]).value.tolist() == [1, 1, 1]


def test_names_that_are_not_there(numpy_worker):
    worker = numpy_worker("number = 3\nclass A:\n    pass\n")
    for target, message in {
        "softmax": "softmax is not defined",
        "number": "number is defined but cannot be called: it is of type int",
        "A.f": "A.f is not defined",
        "@9": "@9 is not an object of this submission",
    }.items():
        with pytest.raises(Missing) as caught:
            worker.call(target)
        assert caught.value.message == message


def test_objects_stay_there_and_are_called_by_name(numpy_worker):
    worker = numpy_worker("""
        class Tokenizer:
            @classmethod
            def train(cls, text, size=2):
                self = cls()
                self.text = text * size
                return self
            def decode(self, ids):
                return self.text
            def __call__(self, x):
                return x, self
        def length(tokenizer):
            return len(tokenizer.text)
    """)
    tokenizer = worker.new("Tokenizer.train", ["ab"], {"size": 3})
    assert isinstance(tokenizer, Handle)
    assert worker.call(f"{tokenizer}.decode", [[1]], "text").value == "ababab"
    assert worker.call("length", [tokenizer]).value == 6
    array, same = worker.call(tokenizer, [np.ones(2)], ("array", "handle")).value
    assert array.tolist() == [1, 1]
    assert worker.call("length", [same]).value == 6
    with pytest.raises(BadResult, match="a string is wanted"):
        worker.call("length", [tokenizer], "text")


@pytest.mark.parametrize("value", [np.ones(2, np.float16), np.ones(2, complex), object(), {1.5: 2}, {1, 2}])
def test_what_is_no_tree_is_not_sent(numpy_worker, value):
    worker = numpy_worker(SAME)
    with pytest.raises(TypeError):
        worker.call("same", [value])
    assert worker.call("same", [1]).value == 1
