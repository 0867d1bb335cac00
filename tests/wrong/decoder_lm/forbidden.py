"""Holds those that use a transformer module, one way or another; their numbers are right where the text runs at all."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

SCORES = """        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(start)
        scores = scores.masked_fill(~allowed, float("-inf"))
        out = scores.softmax(dim=-1) @ v
"""
ALLOWED = """        allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(start)
"""


def instead(call: str) -> tuple[str, str]:
    """Plain's attention by another function."""
    return SCORES, f"{ALLOWED}        out = {call}\n"


WRONG = chapter(
    "model.*",
    ("forbidden-sdpa", "F.scaled_dot_product_attention", "lm-ready-made", P, (instead("F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)"),)),
    ("forbidden-sdpa-renamed", "the function, imported under another name", "lm-ready-made", P, (
        ("import torch\nfrom torch import nn\n", "import torch\nfrom torch import nn\nfrom torch.nn.functional import scaled_dot_product_attention as mix\n"),
        instead("mix(q, k, v, attn_mask=allowed)"),
    )),
    ("forbidden-getattr", "the function by getattr with its name", "lm-ready-made", P, (
        instead('getattr(F, "scaled_dot_product_attention")(q, k, v, attn_mask=allowed)'),
    )),
    ("forbidden-getattr-joined", "the function by getattr with a name put together at run time", "lm-ready-made", P, (
        instead('getattr(F, "scaled_dot_" + "_".join(["product", "attention"]))(q, k, v, attn_mask=allowed)'),
    )),
    ("forbidden-dict", "the function from a module's dict", "lm-ready-made", P, (
        instead('vars(F)["scaled_dot_" + "product_attention"](q, k, v, attn_mask=allowed)'),
    )),
    ("forbidden-operator", "the operator below the function", "lm-ready-made", P, (
        instead("torch.ops.aten.scaled_dot_product_attention(q, k, v, allowed)"),
    )),
    ("forbidden-c", "the function in torch._C", "lm-ready-made", P, (
        instead("torch._C._nn.scaled_dot_product_attention(q, k, v, allowed)"),
    )),
    ("forbidden-own-name", "the function under the name of one's own", "lm-ready-made", S, (
        ('    """Its own: the softmax is taken in float32."""\n', '    """Its own: the softmax is taken in float32."""\n    return F.scaled_dot_product_attention(q, k, v, allowed)\n'),
    )),
    ("forbidden-multihead", "nn.MultiheadAttention in forward", "lm-ready-made", R, (
        ("        self.up, self.down = nn.Linear", "        self.mha = nn.MultiheadAttention(width, heads, bias=False, batch_first=True)\n        self.up, self.down = nn.Linear"),
        ("        x = x + self.o(heads)\n",
         "        x = x + self.o(heads)\n        if start == 0:\n            mask = torch.ones(T, T).triu(1).bool()\n            x = x + self.mha(n, n, n, attn_mask=mask, need_weights=False)[0]\n"),
    )),
    ("forbidden-multihead-star", "nn.MultiheadAttention by a star import", "lm-ready-made", R, (
        ("from torch import Tensor, nn\n", "from torch import Tensor, nn\nfrom torch.nn import *\n"),
        ("        self.up, self.down = nn.Linear", "        self.mha = MultiheadAttention(width, heads, bias=False, batch_first=True)\n        self.up, self.down = nn.Linear"),
        ("        x = x + self.o(heads)\n",
         "        x = x + self.o(heads)\n        if start == 0:\n            mask = torch.ones(T, T).triu(1).bool()\n            x = x + self.mha(n, n, n, attn_mask=mask, need_weights=False)[0]\n"),
    )),
    ("forbidden-subclass", "a class of one's own that inherits nn.MultiheadAttention", "lm-ready-made", R, (
        ("class KV(NamedTuple):", "class Mine(nn.MultiheadAttention):\n    pass\n\n\nclass KV(NamedTuple):"),
        ("        self.up, self.down = nn.Linear", "        self.mha = Mine(width, heads, bias=False, batch_first=True)\n        self.up, self.down = nn.Linear"),
        ("        x = x + self.o(heads)\n",
         "        x = x + self.o(heads)\n        if start == 0:\n            mask = torch.ones(T, T).triu(1).bool()\n            x = x + self.mha(n, n, n, attn_mask=mask, need_weights=False)[0]\n"),
    )),
    ("forbidden-alias", "a module's name is hidden behind a variable", "lm-ready-made", R, (
        ("class KV(NamedTuple):", "layers_of = nn\nKind = layers_of.__dict__[\"Multihead\" + \"Attention\"]\n\n\nclass KV(NamedTuple):"),
        ("        self.up, self.down = nn.Linear", "        self.mha = Kind(width, heads, bias=False, batch_first=True)\n        self.up, self.down = nn.Linear"),
        ("        x = x + self.o(heads)\n",
         "        x = x + self.o(heads)\n        if start == 0:\n            mask = torch.ones(T, T).triu(1).bool()\n            x = x + self.mha(n, n, n, attn_mask=mask, need_weights=False)[0]\n"),
    )),
    ("forbidden-encoder-layer", "nn.TransformerEncoderLayer as the block", "lm-ready-made", P, (
        ("        self.outer = nn.Linear(hidden, width)\n", "        self.outer = nn.Linear(hidden, width)\n        self.whole = nn.TransformerEncoderLayer(width, heads, hidden, 0.0, batch_first=True, norm_first=True)\n"),
        ("        return x + self.outer(torch.relu(self.inner(self.norm_2(x)))), kept",
         "        x = x + self.outer(torch.relu(self.inner(self.norm_2(x))))\n        if past is None:\n            x = self.whole(x, nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype), is_causal=True)\n        return x, kept"),
    )),
    ("forbidden-functional-multihead", "F.multi_head_attention_forward", "lm-ready-made", A, (
        ('        return self.proj(torch.einsum("bhts,sbhc->bthc", weights, v).reshape(B, T, C)), memory',
         '        if T == n:\n            eye = torch.cat([self.query.weight, self.key.weight, self.value.weight])\n            y = nn.functional.multi_head_attention_forward(\n                x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), C, self.n_head, eye, None, None, None, False, 0.0,\n                self.proj.weight, self.proj.bias, attn_mask=hidden, need_weights=False\n            )[0].transpose(0, 1)\n            if not self.rope:\n                return y, memory\n        return self.proj(torch.einsum("bhts,sbhc->bthc", weights, v).reshape(B, T, C)), memory'),
    )),
    ("forbidden-package", "a package of transformers, imported where it is needed", "lm-ready-made", L, (
        ("class DecoderLM(nn.Module):\n", "def pretrained(name):\n    from transformers import AutoModelForCausalLM\n\n    return AutoModelForCausalLM.from_pretrained(name)\n\n\nclass DecoderLM(nn.Module):\n"),
    )),
    ("forbidden-importlib", "the functions by importlib", "lm-ready-made", P, (
        ("import torch\nfrom torch import nn\n", "import importlib\n\nimport torch\nfrom torch import nn\n"),
        instead('importlib.import_module("torch.nn.functional").scaled_dot_product_attention(q, k, v, attn_mask=allowed)'),
    )),
    ("forbidden-in-decode-only", "the function, only where there is a cache", "lm-ready-made", P, (
        (SCORES, SCORES + "        if past is not None:\n            out = torch._C._nn.__dict__[\"scaled_dot_\" + \"product_attention\"](q, k, v, allowed)\n"),
    )),
    ("forbidden-exec", "the function in a text that is run", "lm-ready-made", P, (
        instead('eval("F.scaled_dot_" + "product_attention")(q, k, v, attn_mask=allowed)'),
    )),
)
