"""A decoder-only language model from scratch: tokenizer, model, KV cache, training, sampling, bundle.

Shapes: B batch, T positions, d width, h heads, d_k = d / h, m hidden, v vocabulary size, L layers. Batch comes first,
then time, then width. Token ids are integers from 0. Losses are in nats per token.

Masks: True = may be consulted. Position t may consult every s <= t, itself included.

No transformer module: torch.nn.MultiheadAttention, torch.nn.Transformer*, scaled_dot_product_attention,
multi_head_attention_forward and transformer packages are not allowed, however they are reached. Linear, Embedding,
LayerNorm, Dropout, GELU, softmax, cross_entropy and the optimizers are.
"""

import torch
from torch import nn


class Tokenizer:
    """Byte-level BPE: decode(encode(s)) == s for every string that UTF-8 can encode.

    vocab_size    how many ids there are: 256 bytes, the merges, the special tokens; ids are 0 .. vocab_size - 1
    """

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        """A tokenizer from a text, always the same one from the same text: at most vocab_size ids.

        Merge the most frequent pair of neighbours, count anew, and so on. A special token, such as "<|end|>", is one id
        wherever it stands in a text, and takes no part in merges.
        """
        raise NotImplementedError("step 1: begin with the 256 bytes; then count pairs")

    def encode(self, text):
        """A list of ids. Merges are applied in the order in which they were learned."""
        raise NotImplementedError("step 2")

    def decode(self, ids):
        """The text. Join the bytes of all ids first, then decode them (errors="replace")."""
        raise NotImplementedError("step 3")

    def save(self, path):
        """Into one file."""
        raise NotImplementedError("step 4: json is enough")

    @classmethod
    def load(cls, path):
        """The tokenizer that was saved."""
        raise NotImplementedError("step 4")


class DecoderLM(nn.Module):
    """tokens (B, T) -> logits (B, T, v).

    H = E[tokens] (+ P[:T] where rotary is False)                      P: learned positions, (context, d)
    each block:  H = H + attention(norm_1(H));  H = H + feed_forward(norm_2(H))         feed_forward: ReLU or GELU
    logits = norm_f(H) W_out + b_out                                                    W_out may be tied to E

    rotary: every query and key is turned, in pairs of coordinates (i, i + d_k/2), i < d_k/2, by the angle
        position * 10000^(-2i/d_k):  (a, b) -> (a cos - b sin, a sin + b cos).  Values are not turned.
    Layer norms have eps = 1e-5. Dropout, if you use any, is off in evaluation.
    """

    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        raise NotImplementedError("step 5")

    def forward(self, tokens):
        """Logits for every position. tokens (B, T), T <= context -> (B, T, v)."""
        raise NotImplementedError("step 6")

    def decode(self, tokens, cache=None):
        """Append t tokens to a cache. tokens (B, t) -> (logits (B, t, v) of the new positions, the new cache).

        cache=None starts an empty one. The new tokens' positions go on where the cache ends. The caller's old cache
        stays valid: two continuations of one prefix do not meet. Compute keys and values of the new tokens only.
        """
        raise NotImplementedError("step 7: keys and values of each layer, joined along time")

    # Optional. With it your numbers are compared with the reference's, and mistakes are named more often.
    # weights is a dict of tensors, all applied from the right (x @ W):
    #   "embedding" (v, d), "positions" (context, d) where rotary is False,
    #   for each layer l = 0, 1, ...:
    #   "blocks.l.norm_1.gain" (d), "blocks.l.norm_1.shift" (d), "blocks.l.W_Q" (d, d), "blocks.l.W_K" (d, d),
    #   "blocks.l.W_V" (d, d), "blocks.l.W_O" (d, d), "blocks.l.norm_2.gain" (d), "blocks.l.norm_2.shift" (d),
    #   "blocks.l.W_1" (d, m), "blocks.l.b_1" (m), "blocks.l.W_2" (m, d), "blocks.l.b_2" (d),
    #   "norm_f.gain" (d), "norm_f.shift" (d), "W_out" (d, v), "b_out" (v).
    # In W_Q, W_K and W_V the columns of head 0 come first, then those of head 1, ...; the rows of W_O likewise.
    # nn.Linear keeps its weight transposed: linear.weight.copy_(W.T). A bias of yours that is not listed becomes 0. With
    # tied embeddings, or norms without a shift, leave this method out.
    #
    # def load_reference(self, weights):


def train(model, tokens, steps, batch_size, lr, seed):
    """Train on random windows of `tokens` (n), a tensor of ids. Returns the list of the `steps` training losses.

    A window is context + 1 tokens (or all of them, where there are fewer): inputs are its first ones, targets the ones
    that follow. The loss is the mean of -log p(target) over all positions of a batch, in nats, before the step.
    The same seed gives the same batches, and so the same losses from the same model. The optimizer is yours.
    """
    raise NotImplementedError("step 8: zero the gradients, loss.backward(), step")


def evaluate(model, tokens):
    """The mean next-token loss on `tokens` (n), in nats, as a number: every token but the first is predicted once.

    Cut it into windows of the context where it is longer. Dropout is off; afterwards the model is in the mode that it was in.
    """
    raise NotImplementedError("step 9")


def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    """The list of max_new_tokens new ids that follow the ids of the prompt (which are not repeated).

    Draw from softmax(logits / temperature); temperature 0 takes the largest logit. top_k keeps the k largest; top_p
    keeps the fewest tokens whose probabilities add up to at least top_p; with both, top_k comes first, and top_p counts
    the probabilities of the tokens that are left. The same seed gives the same ids, seed=None others at every call.
    use_cache=True calls model.decode: once for the prompt, then with one new token at a time; use_cache=False calls the
    model itself. Both give the same. Prompt and new tokens fit into the context.
    """
    raise NotImplementedError("step 10")


def save_bundle(path, model, tokenizer, generation):
    """One versioned file with everything that is needed to go on: tokenizer (merges, special tokens), the model's
    arguments and weights, and `generation`, a dict such as
    {"prompt_template": "Q: {prompt} A:", "temperature": 0.7, "top_k": 5, "top_p": None, "max_new_tokens": 20}.
    """
    raise NotImplementedError("step 11: keep a version and a checksum in it")


def load_bundle(path):
    """(model, tokenizer, generation), the model in evaluation mode.

    A file that is cut off or changed, or of another version, raises a ValueError that says what is wrong.
    """
    raise NotImplementedError("step 12")
