"""What goes wrong in decoding with a cache: positions, masks, what is kept, whose it is, and whether it is used."""

from __future__ import annotations

from grader.misconceptions import pattern
from grader.misconceptions.cached_decoding import How

PART = "DecoderLM.decode"
WAYS: list[tuple[str, How]] = []  # a mistake's id, and a way to decode that makes it; some have several


def _known(key: str, title: str, formula: str, why: str, cure: str, *ways: How) -> None:
    name = f"cache-{key}"
    pattern(name, part=(PART,), title=title, formula=formula, why=why, cure=cure, file=__file__)
    WAYS.extend((name, way) for way in ways)


# Positions.
GO_ON = "Let positions go on where the cache ends: past, past + 1, ..., where past is the number of cached tokens."
_known(
    "position-zero",
    "new tokens begin at position 0 again",
    "positions 0 .. t-1 in place of past .. past+t-1",
    "forward begins at 0, and its code is used again.",
    GO_ON,
    How(start="zero"),
    How(turned="queries"),
    How(turned="keys"),
)
_known(
    "position-doubled",
    "the tokens of the past are counted twice",
    "positions 2·past, 2·past + 1, ...",
    "The offset is advanced by the caller and by the cache.",
    GO_ON,
    How(start="doubled"),
)
_known(
    "position-ahead",
    "new tokens stand one position too far",
    "positions past + 1, past + 2, ...",
    "The length is taken after the new token was counted.",
    GO_ON,
    How(start="ahead"),
)
_known(
    "position-behind",
    "new tokens stand one position too early",
    "positions past - 1, past, ...",
    "The last cached position is taken for the next one.",
    GO_ON,
    How(start="behind"),
)
_known(
    "position-repeated",
    "all tokens of a chunk get the same position",
    "positions past, past, past, ...",
    "The code was written for one new token at a time.",
    GO_ON,
    How(start="one"),
)
_known(
    "counter-early",
    "a layer moves the counter on before the next one reads it",
    "layer 0 reads past, layer 1 reads past + t",
    "All layers share one counter, and a layer advances it.",
    "Advance the counter once a call, after the last layer.",
    How(start="early"),
    How(start="early", ghost=True),
    How(start="bumped"),
)
_known(
    "keys-turned-again",
    "cached keys are turned once more in every call",
    "R(s) R(s) k_s",
    "Rotary is applied to the joined keys, and the turned ones are cached.",
    "Turn the new keys only, then join; or cache keys that are not turned.",
    How(turned="again"),
)
_known(
    "keys-unturned",
    "cached keys are not turned",
    "q_t R(t) · k_s in place of q_t R(t) · R(s) k_s",
    "Keys are cached before rotary, which new keys alone get.",
    "Cache keys after rotary, or turn all of them in every call.",
    How(turned="raw"),
)

# Masks.
ABSOLUTE = "Token i of a chunk may consult s ≤ past + i: torch.ones(t, past + t).tril(past)."
_known(
    "no-mask",
    "no mask when there is a cache",
    "every token of a chunk consults the whole chunk",
    "With one new token no mask is needed.",
    ABSOLUTE,
    How(mask="none"),
)
_known(
    "mask-corner",
    "the mask begins at the first key, as if nothing were cached",
    "s ≤ i in place of s ≤ past + i",
    "tril() and is_causal=True align the mask at the top left corner.",
    ABSOLUTE,
    How(mask="corner"),
)
_known(
    "mask-square",
    "the mask is t × t, the scores are t × (past + t)",
    "mask (t, t) on scores (t, past + t)",
    "The mask is made for the new tokens alone.",
    ABSOLUTE,
)
_known(
    "mask-ahead",
    "a token of a chunk consults the one after it",
    "s ≤ past + i + 1",
    "diagonal=1 keeps one more than the diagonal.",
    ABSOLUTE,
    How(mask="ahead"),
)
_known(
    "mask-strict",
    "a new token does not consult itself",
    "s < past + i",
    "The mask is shifted by one.",
    ABSOLUTE,
    How(mask="strict"),
)
_known(
    "mask-offset",
    "the mask is shifted by the chunk's length, not by that of the past",
    "s ≤ i + t",
    "The two lengths are mixed up.",
    ABSOLUTE,
    How(mask="offset"),
)
_known(
    "chunk-apart",
    "the tokens of a chunk do not consult each other",
    "s < past, and s = past + i",
    "The code was written for one new token at a time.",
    ABSOLUTE,
    How(mask="apart"),
)

# What is kept.
JOIN = "Return torch.cat([past, new]) along time, of keys and of values, in every call."
_known(
    "ignored",
    "new tokens do not consult what is cached",
    "attention over the new keys alone",
    "The cache is carried along and not joined.",
    "Join cached and new keys and values before the scores.",
    How(mask="alone"),
    How(mask="alone", start="zero"),
)
_known(
    "not-appended",
    "the cache stays as the first call left it",
    "keys of the prompt, and of the newest chunk",
    "The joined keys are consulted, and the old ones returned.",
    JOIN,
    How(keep="first"),
    How(keep="first", counted=False),
)
_known(
    "newest-only",
    "only the newest keys and values are kept",
    "cache = (k_new, v_new)",
    "The new ones are returned in place of the joined ones.",
    JOIN,
    How(keep="newest"),
    How(keep="newest", counted=False),
)
_known(
    "last-token-only",
    "of several new tokens only the last is cached",
    "keys of the prompt's last token in place of all its keys",
    "The code was written for one new token at a time.",
    JOIN,
    How(keep="last"),
    How(keep="last", counted=False),
)
_known(
    "window",
    "the oldest tokens are dropped",
    "keys past - w .. past in place of 0 .. past",
    "Memory is bounded; the assignment's cache holds the whole context.",
    JOIN,
)
_known(
    "half-precision",
    "keys and values are kept in half precision",
    "bfloat16(k), bfloat16(v)",
    "It halves the memory, and changes the logits by a thousandth.",
    "Keep keys and values in the precision of the model.",
    How(rounded="bfloat16"),
    How(rounded="float16"),
)
_known(
    "overwritten",
    "the newest cached token is overwritten",
    "keys 0 .. past-2, then the new ones",
    "An index is off by one.",
    JOIN,
    How(keep="overwrite"),
    How(keep="overwrite", counted=False),
    How(keep="overwrite", start="behind"),
)
_known(
    "empty-slot",
    "a slot stays empty between the past and the new tokens",
    "a key of zeros at position past",
    "The index is advanced before it is used.",
    "Write the new keys at past .. past+t-1.",
    How(ghost=True),
    How(ghost=True, start="ahead"),
)
_known(
    "prepended",
    "new keys are put before the old ones",
    "[new, past] in place of [past, new]",
    "The arguments of torch.cat change places.",
    JOIN,
    How(keep="prepend"),
)
_known(
    "new-missing",
    "new tokens consult the cached ones only",
    "keys 0 .. past-1",
    "The new keys are joined after attention.",
    "Join first, then compute the scores.",
    How(keep="late"),
)
_known(
    "swapped",
    "cached keys and values change places",
    "(V, K) read as (K, V)",
    "The order in the cache is not the one in which it is read.",
    "Read them in the order in which they were kept.",
    How(swapped=True),
)
_known(
    "shared-by-layers",
    "layers find keys and values that are not their own",
    "cache of layer j in layer l ≠ j",
    "One cache, or one index, serves all layers.",
    "Keep one pair of keys and values for each layer, in the layers' order.",
    How(layers="first"),
    How(layers="last"),
    How(layers="chained"),
    How(layers="chained", counted=False),
    How(layers="reversed"),
)
_known(
    "first-row",
    "all rows of the batch consult the first row's past",
    "cached keys [0] for every b",
    "The cache is kept for one sequence, and broadcasts.",
    "Keep keys and values of every row: (B, h, n, d_k).",
    How(rows="first"),
    How(rows="first keys"),
    How(rows="first values"),
)
_known(
    "last-logits-only",
    "only the last new token's logits are returned",
    "(B, 1, v) in place of (B, t, v)",
    "Generating needs no more.",
    "Return the logits of all new positions.",
)

# Whose it is.
RETURNED = "Keep nothing in the model: make a new cache in every call, and return it."
_known(
    "stale",
    "a new prompt finds the cache of the one before",
    "decode(tokens, None) goes on where the last prompt ended",
    "The cache is an attribute, or a default argument, and is not emptied.",
    RETURNED,
)
_known(
    "in-model",
    "the model holds the cache, whatever cache is given",
    "self.cache in place of the argument",
    "The argument is ignored, as one sequence at a time does not show it.",
    RETURNED,
)
_known(
    "aliased",
    "a call changes the cache that it was given",
    "the old cache is the new one",
    "append, update and slices write into the caller's tensors or lists.",
    "Join into new tensors and a new list, or copy a buffer before writing into it.",
)
_known(
    "shared-by-models",
    "all models share one cache",
    "the cache of one model in another",
    "It is global, or an attribute of the class.",
    RETURNED,
)
_known(
    "changed-by-forward",
    "a call of the model itself changes how decoding goes on",
    "model(tokens) between two calls of decode",
    "forward writes into the cache that the model holds.",
    RETURNED,
)

# Whether it is used.
_known(
    "recomputes",
    "every step computes all positions anew",
    "forward(all tokens) in every step",
    "The cache holds tokens, and forward is called on all of them.",
    "Keep keys and values; compute those of the new tokens only.",
)
_known(
    "reprojects",
    "every step computes the keys and values of all positions anew",
    "H W_K and H W_V of all positions in every step",
    "The cache holds hidden states in place of keys and values.",
    "Keep keys and values; compute those of the new tokens only.",
)
