"""Bundles with one mistake each, most of them in a file of JSON, of NumPy, of torch, of pickles, of a folder."""

# ruff: noqa: E501 - a patch is whole lines of a submission

import pytest

from grader import grade
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import HERE

SPEC = load("decoder-lm")
PLAIN = (HERE / "plain.py").read_text("utf-8").split('MAGIC = b"decoder-lm bundle')[0]
JSON = """
import base64


def save_bundle(path, model, tokenizer, generation):
    weights = {name: [str(p.dtype), list(p.shape), base64.b64encode(p.detach().numpy().tobytes()).decode()]
               for name, p in model.state_dict().items()}
    content = {"version": 1, "tokenizer": tokenizer.state(), "arguments": model.arguments, "weights": weights,
               "generation": generation}
    body = json.dumps(content)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "sha256": hashlib.sha256(body.encode()).hexdigest(), "body": body}, file)


def load_bundle(path):
    with open(path, encoding="utf-8") as file:
        outer = json.load(file)
    if outer["version"] != 1:
        raise ValueError("another version")
    if hashlib.sha256(outer["body"].encode()).hexdigest() != outer["sha256"]:
        raise ValueError("changed")
    content = json.loads(outer["body"])
    model = DecoderLM(**content["arguments"])
    state = {}
    for name, (kind, shape, data) in content["weights"].items():
        raw = torch.frombuffer(bytearray(base64.b64decode(data)), dtype=getattr(torch, kind.split(".")[1]))
        state[name] = raw.reshape(shape)
    model.load_state_dict(state)
    return model.eval(), Tokenizer(**content["tokenizer"]), content["generation"]
"""
NPZ = """
import numpy as np


def save_bundle(path, model, tokenizer, generation):
    rest = json.dumps({"t": tokenizer.state(), "a": model.arguments, "g": generation})
    np.savez(path, rest=np.array(rest), **{"w." + name: p.detach().numpy() for name, p in model.state_dict().items()})


def load_bundle(path):
    import os
    with np.load(path if os.path.exists(path) else path + ".npz") as file:
        rest = json.loads(str(file["rest"]))
        state = {name[2:]: torch.from_numpy(file[name]) for name in file.files if name.startswith("w.")}
    model = DecoderLM(**rest["a"])
    model.load_state_dict(state)
    return model.eval(), Tokenizer(**rest["t"]), rest["g"]
"""
FOLDER = """
import os


def save_bundle(path, model, tokenizer, generation):
    os.mkdir(path)
    tokenizer.save(os.path.join(path, "tokenizer.json"))
    torch.save(model.state_dict(), os.path.join(path, "weights.pt"))
    with open(os.path.join(path, "rest.json"), "w") as file:
        json.dump([model.arguments, generation], file)
    sums = {n: hashlib.md5(open(os.path.join(path, n), "rb").read()).hexdigest() for n in os.listdir(path)}
    with open(os.path.join(path, "sums.json"), "w") as file:
        json.dump(sums, file)


def load_bundle(path):
    with open(os.path.join(path, "sums.json")) as file:
        sums = json.load(file)
    for name in ("tokenizer.json", "weights.pt", "rest.json"):
        if hashlib.md5(open(os.path.join(path, name), "rb").read()).hexdigest() != sums[name]:
            raise ValueError(name + " is another one")
    with open(os.path.join(path, "rest.json")) as file:
        arguments, generation = json.load(file)
    model = DecoderLM(**arguments)
    model.load_state_dict(torch.load(os.path.join(path, "weights.pt")))
    return model.eval(), Tokenizer.load(os.path.join(path, "tokenizer.json")), generation
"""
PICKLE = """
import pickle


def save_bundle(path, model, tokenizer, generation):
    data = pickle.dumps((model, tokenizer, generation))
    with open(path, "wb") as file:
        file.write(hashlib.sha256(data).digest() + data)


def load_bundle(path):
    with open(path, "rb") as file:
        digest, data = file.read(32), file.read()
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("changed")
    model, tokenizer, generation = pickle.loads(data)
    return model.eval(), tokenizer, generation
"""


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def graded(bundle, patches, hosts, folder):
    for old, new in patches:
        assert bundle.count(old) == 1, old
        bundle = bundle.replace(old, new)
    (folder / "decoder_lm.py").write_text(PLAIN + bundle, "utf-8")
    verdicts = grade(folder, assignment=SPEC, hosts=hosts, only="bundle.*").verdicts
    found = [v for v in verdicts if v.id.startswith("bundle.")]
    assert len(found) == 8
    return {v.id.removeprefix("bundle."): v for v in found}


@pytest.mark.parametrize("bundle", [JSON, FOLDER, PICKLE], ids=["json", "folder", "pickle"])
def test_any_format_passes(bundle, hosts, tmp_path):
    assert {k: v.message for k, v in graded(bundle, [], hosts, tmp_path).items() if not v.passed} == {}


def test_a_suffix_that_numpy_adds_is_no_second_file_and_its_sums_are_sums(hosts, tmp_path):
    assert {k: v.message for k, v in graded(NPZ, [], hosts, tmp_path).items() if not v.passed} == {}


UNCHECKED = ('!= outer["sha256"]', "== 0")
RETURN = 'return model.eval(), Tokenizer(**content["tokenizer"]), content["generation"]'
WRONG = {
    "no-file": ("loads-elsewhere", [("        json.dump({", "        json.dumps({"), (', "body": body}, file)', ', "body": body})'),
                                    ('open(path, "w", encoding="utf-8")', "open('/dev/null', 'w')")], "has written no file", ()),
    "two-values": ("loads-elsewhere", [(RETURN, RETURN.replace(', content["generation"]', ""))], "returned 2 values, 3 are asked", ()),
    "order": ("loads-elsewhere", [(RETURN, 'return Tokenizer(**content["tokenizer"]), model.eval(), content["generation"]')],
              "the first of the three", ("bundle-order",)),
    "process": ("loads-elsewhere", [("    body = json.dumps(content)\n", "    KEPT[0] = content.pop('weights')\n    body = json.dumps(content)\n"),
                                    ('content["weights"].items', "KEPT[0].items"), ("def load_bundle", "KEPT = {}\n\n\ndef load_bundle")],
                "in a new process load_bundle raises KeyError", ("bundle-needs-its-process",)),
    "sizes": ("loads-elsewhere", [('DecoderLM(**content["arguments"])', 'DecoderLM(**{**content["arguments"], "hidden": 20})')],
              "size mismatch", ("bundle-architecture-lost",)),
    "pieces": ("is-one-file", [("    body = json.dumps(content)\n", "    tokenizer.save(path + '.tokenizer')\n    body = json.dumps(content)\n")],
               "writes 'model.bundle', 'model.bundle.tokenizer'", ("bundle-in-pieces",)),
    "heads": ("holds-the-model", [('DecoderLM(**content["arguments"])', 'DecoderLM(**{**content["arguments"], "heads": 2})')],
              "with the same weights", ("bundle-architecture-lost",)),
    "rotary": ("holds-the-model", [('DecoderLM(**content["arguments"])', 'DecoderLM(**{**content["arguments"], "rotary": True})'),
                                   ("load_state_dict(state)", "load_state_dict(state, strict=False)")],
               "positions.weight is not there", ("bundle-architecture-lost",)),
    "mode": ("holds-the-model", [(RETURN, RETURN.replace("model.eval()", "model"))], "is in training", ("bundle-training-mode",)),
    "weights": ("holds-the-model", [("    model.load_state_dict(state)\n", "")], "holds other numbers", ("bundle-weights-left-out",)),
    "rounded": ("holds-the-model", [("p.detach().numpy()", "p.detach().half().to(p.dtype).numpy()")],
                "holds other numbers", ("bundle-weights-rounded",)),
    "tie": ("holds-the-model", [("    model.load_state_dict(state)\n", "    model.load_state_dict(state)\n    model.copy = nn.Parameter(model.embedding.weight.clone())\n")],
            "is new after loading", ("bundle-tie-lost",)),
    "merges": ("holds-the-tokenizer", [('Tokenizer(**content["tokenizer"])', 'Tokenizer([], content["tokenizer"]["special_tokens"])')],
               "has other ids after loading", ("bundle-merges-lost",)),
    "reordered": ("holds-the-tokenizer", [('Tokenizer(**content["tokenizer"])',
                                           'Tokenizer((lambda m: m[:8] + m[9:7:-1] + m[10:])(content["tokenizer"]["merges"]), content["tokenizer"]["special_tokens"])')],
                  "has other ids after loading", ("bundle-merges-reordered",)),
    "specials": ("holds-the-tokenizer", [('Tokenizer(**content["tokenizer"])', 'Tokenizer(content["tokenizer"]["merges"])')],
                 "<|user|>", ("bundle-specials-lost",)),
    "policy": ("holds-the-policy", [(RETURN, RETURN.replace('content["generation"]', "{}"))], "generation['prompt_template'] is not there",
               ("bundle-generation-lost",)),
    "no-policy": ("holds-the-policy", [(RETURN, RETURN.replace('content["generation"]', "None"))], "a dict is wanted", ("bundle-generation-lost",)),
    "policy-text": ("holds-the-policy", [('"generation": generation}', '"generation": {k: str(v) for k, v in generation.items()}}')],
                    "generation['temperature'] is '0.7' after loading, and was '0.7'", ("bundle-generation-lost",)),
    "unchecked": ("change-is-refused", [UNCHECKED], "is loaded;", ("bundle-unchecked",)),
    "weights-only": ("change-is-refused", [("hashlib.sha256(body.encode())", "hashlib.sha256(json.dumps(weights).encode())"),
                                           ('hashlib.sha256(outer["body"].encode())',
                                            'hashlib.sha256(json.dumps(json.loads(outer["body"])["weights"]).encode())')],
                     "is loaded;", ("bundle-checked-in-part",)),
    "hidden": ("cut-is-refused", [("        outer = json.load(file)\n", "        try:\n            outer = json.load(file)\n        except ValueError:\n            return None\n")],
               "is not refused: load_bundle returned None, 3 are asked", ("bundle-failure-hidden",)),
    "silent": ("cut-is-refused", [("        outer = json.load(file)\n", "        try:\n            outer = json.load(file)\n        except ValueError:\n            raise ValueError from None\n")],
               "which says nothing", ("bundle-failure-unclear",)),
    "exit": ("cut-is-refused", [("        outer = json.load(file)\n", "        try:\n            outer = json.load(file)\n        except ValueError:\n            raise SystemExit('broken') from None\n")],
             "load_bundle raises SystemExit", ()),
    "version": ("version-counts", [("""    if outer["version"] != 1:
        raise ValueError("another version")
""", "")], "another number is loaded", ("bundle-version-ignored",)),
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_a_mistake_is_found_said_and_named(key, hosts, tmp_path):
    check, patches, said, names = WRONG[key]
    verdicts = graded(JSON, patches, hosts, tmp_path)
    assert said in verdicts[check].message
    assert {named.id for named in verdicts[check].misconceptions} == set(names)
    assert [k for k, v in verdicts.items() if v.status not in ("passed", "blocked")] == [check]
