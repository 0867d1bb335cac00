"""What goes wrong in a tokenizer: texts that come back changed, merges that are others, special tokens that break."""

from __future__ import annotations

from grader.misconceptions import pattern


def _known(key: str, title: str, formula: str, why: str, cure: str) -> None:
    pattern(key, part=("Tokenizer",), title=title, formula=formula, why=why, cure=cure, file=__file__)


# Texts that come back changed.
_known(
    "tokenizer-text-stripped",
    "white space is lost at the ends of a text",
    "decode(encode(s)) = s.strip()",
    "The text is stripped, or split at spaces and joined again.",
    "Encode the text as it is: every space is a byte.",
)
_known(
    "tokenizer-spaces-joined",
    "several spaces become one",
    '" ".join(s.split())',
    "Words are split at white space and joined with single spaces.",
    "Keep the white space in the pieces: a pattern such as r' ?\\w+|[^\\w\\s]+|\\s+' loses nothing.",
)
_known(
    "tokenizer-lower-case",
    "capitals are lost",
    "decode(encode(s)) = s.lower()",
    "Lower case makes the vocabulary smaller.",
    "Encode the text as it is.",
)
_known(
    "tokenizer-newlines",
    "line ends are rewritten",
    '"\\r\\n" becomes "\\n"',
    "The text goes through a file in text mode, splitlines or a replacement.",
    "Encode the bytes of the text itself; open files with newline='' or as bytes.",
)
_known(
    "tokenizer-unicode-normalized",
    "characters are normalized",
    "unicodedata.normalize(form, s)",
    "Two ways to write an é are made one.",
    "Encode the text as it is: combining marks are bytes like others.",
)
_known(
    "tokenizer-prefix-space",
    "a space is put before the text",
    "decode(encode(s)) = ' ' + s",
    "Words are to look alike at the beginning of a text and within it.",
    "Do not add what is not there.",
)
_known(
    "tokenizer-characters-dropped",
    "characters that the pattern does not match are lost",
    "re.findall(pattern, s) joined is not s",
    "The pattern names letters, digits and signs, and forgets some: white space, _, control characters, emoji.",
    "End the pattern with an alternative for everything else, such as |\\s+|[^\\s].",
)
_known(
    "tokenizer-unknown-dropped",
    "characters that the training text does not hold are lost",
    "'', '?' or <unk> in place of the character",
    "The vocabulary begins with the characters of the training text.",
    "Begin with the 256 bytes: every text is made of them.",
)
_known(
    "tokenizer-unknown-raises",
    "characters that the training text does not hold raise an exception",
    "KeyError",
    "The vocabulary begins with the characters of the training text.",
    "Begin with the 256 bytes: every text is made of them.",
)
_known(
    "tokenizer-marker",
    "a marker of spaces or of word ends is taken for text, or text for a marker",
    "'\u2581' decodes to ' '",
    "Spaces are written as another character, which a text may hold too.",
    "Keep spaces as bytes; a marker that a text can hold is not to be told from it.",
)
_known(
    "tokenizer-not-utf-8",
    "the text is not encoded as UTF-8",
    'text.encode("ascii", "replace"), text.encode("latin-1", "ignore")',
    "With English texts there is no difference.",
    'Write text.encode("utf-8").',
)
_known(
    "tokenizer-merge-loses",
    "merging loses or doubles bytes",
    "merge(a, b) gives something else than ab",
    "The index goes on by 1 after a merge, or the last id is not looked at.",
    "After a merge go on by 2; else keep the id and go on by 1, up to the last one.",
)
_known(
    "tokenizer-decode-per-token",
    "each id is decoded by itself",
    "''.join(bytes_of[i].decode('utf-8') for i in ids)",
    "It looks like joining texts; a character of several bytes may be cut across ids.",
    "Join the bytes of all ids first, then decode them once.",
)
_known(
    "tokenizer-decode-strict",
    "bytes that are no whole characters raise an exception",
    "b''.join(...).decode('utf-8')",
    "decode is strict unless told otherwise, and a model may give any row of ids.",
    'Decode with errors="replace".',
)
_known(
    "tokenizer-decode-ignores",
    "bytes that are no whole characters vanish",
    'decode("utf-8", errors="ignore")',
    "It raises nothing, and hides that something was wrong.",
    'Decode with errors="replace".',
)

# Ids and vocabulary.
_known(
    "tokenizer-specials-not-counted",
    "vocab_size leaves the special tokens out",
    "vocab_size = 256 + merges",
    "They were added later.",
    "Count bytes, merges and special tokens.",
)
_known(
    "tokenizer-ids-out-of-range",
    "an id is not below vocab_size",
    "id ≥ vocab_size",
    "Ids begin at 1, vocab_size leaves something out, or new ids go on from the wrong number.",
    "Ids are 0 .. vocab_size - 1; bytes, merges and special tokens all count.",
)
_known(
    "tokenizer-vocabulary-larger",
    "there are more ids than were asked for",
    "256 + vocab_size",
    "vocab_size is taken for the number of merges.",
    "Learn vocab_size - 256 - len(special_tokens) merges at most.",
)
_known(
    "tokenizer-specials-on-top",
    "special tokens come on top of the vocabulary that was asked for",
    "vocab_size + len(special_tokens)",
    "They are added once training is over.",
    "Learn vocab_size - 256 - len(special_tokens) merges at most.",
)
_known(
    "tokenizer-no-pair-left",
    "training fails where no pair is left to merge",
    "max() of nothing",
    "The text always had pairs enough.",
    "Stop when there is no pair: at most vocab_size ids.",
)

# Merges.
_known(
    "bpe-bytes-only",
    "no merges at all: a token for each byte",
    "encode(s) = list(s.encode())",
    "Bytes already give every text back.",
    "Merge the most frequent pair of neighbours, count anew, and so on.",
)
_known(
    "bpe-merges-not-applied",
    "merges are learned and not applied",
    "encode(s) = list(s.encode())",
    "encode stops after the bytes.",
    "Apply the merges in encode, in the order in which they were learned.",
)
_known(
    "bpe-longest-match",
    "encode takes the longest token that fits",
    "max(len(token)) at each place, from left to right",
    "WordPiece does so, and the vocabulary is the same.",
    "Apply the merges one after the other, in the order in which they were learned.",
)
_known(
    "bpe-by-position",
    "encode merges whatever comes first in the text",
    "the leftmost pair that can be merged",
    "A loop from left to right merges what it meets.",
    "Of all pairs take the one that was learned first.",
)
_known(
    "bpe-last-rank-first",
    "encode applies the merges in the reverse order",
    "max(rank) in place of min(rank)",
    "Later merges make longer tokens.",
    "Of all pairs take the one that was learned first.",
)
_known(
    "bpe-first-occurrence",
    "encode applies each merge once only",
    "the first occurrence of each pair",
    "index() finds one place.",
    "Merge every occurrence of the pair.",
)
_known(
    "bpe-one-merge",
    "encode stops after one merge",
    "one round in place of all",
    "The loop returns too early, or it is no loop.",
    "Go on until no pair can be merged.",
)
_known(
    "bpe-counted-once",
    "pairs are counted once, before any merge",
    "the N most frequent pairs of bytes",
    "counts.most_common(N) gives all merges at once.",
    "Count anew after each merge: merged tokens make new pairs.",
)
_known(
    "bpe-least-frequent",
    "the rarest pair is merged",
    "min(counts)",
    "A comparison is turned round.",
    "Merge the most frequent pair.",
)
_known(
    "bpe-normalized-score",
    "pairs are scored, not counted",
    "count(a, b) / (count(a) · count(b))",
    "WordPiece does so.",
    "Merge the pair with the largest count.",
)
_known(
    "bpe-word-types",
    "a word counts once, however often it stands in the text",
    "for word in set(words)",
    "The words are collected in a set, or their counts are not used.",
    "Add a word's number of occurrences to the count of each of its pairs.",
)
_known(
    "bpe-hash-order",
    "equal counts are decided by the order of a set",
    "max(set(pairs), key=counts.get)",
    "A set looks ordered; its order changes from one process to the next.",
    "Decide equal counts by the pair itself: max(counts, key=lambda p: (counts[p], p)).",
)
_known(
    "bpe-random",
    "training is random",
    "train(s) twice gives two tokenizers",
    "Equal counts are decided by chance, or the text is sampled or shuffled.",
    "Decide equal counts by the pair itself.",
)
_known(
    "bpe-remembers",
    "training depends on what was trained before",
    "merges live in the class",
    "A list in the class, or at the top of the file, outlives the call.",
    "Make everything in train, and keep it in the instance.",
)
_known(
    "bpe-rescans",
    "the whole text is scanned again for each single merge",
    "O(n²)",
    "One pair is replaced, then everything begins anew.",
    "Merge all occurrences of a pair in one pass.",
)

# Special tokens.
_known(
    "tokenizer-special-split",
    "a special token is encoded like other text",
    "encode(token) has several ids",
    "It is in the vocabulary, and encode does not look for it.",
    "Split the text at the special tokens first, longest first, and encode what lies between.",
)
_known(
    "tokenizer-special-dropped",
    "a special token is lost in encode",
    "encode(token) is an empty list",
    "re.split drops what it splits at, unless it is in a group.",
    "Keep it: re.split('(' + pattern + ')', text) gives the pieces and what stands between.",
)
_known(
    "tokenizer-special-added",
    "encode adds a special token to the text",
    "encode('') is not empty",
    "A text is to begin or end with it when a model is trained.",
    "Encode what is there; who trains may add it.",
)
_known(
    "tokenizer-special-alone",
    "a special token is found only where it stands alone",
    "encode('ab' + token + 'cd')",
    "The whole text, or each word, is compared with it.",
    "Split the text at the special tokens first, wherever they stand.",
)
_known(
    "tokenizer-special-same-id",
    "special tokens share an id",
    "id(a) = id(b)",
    "Ids are given from a counter that does not move, or they fall on merges.",
    "Give each special token an id of its own, after bytes and merges.",
)
_known(
    "tokenizer-special-not-decoded",
    "decode leaves special tokens out",
    "decode([id]) = ''",
    "They are not wanted in what a reader sees.",
    "decode(encode(s)) == s also with special tokens: give their text.",
)
_known(
    "tokenizer-special-regex",
    "special tokens are taken for regular expressions",
    "re.split('|'.join(special_tokens), s)",
    "'|', '[' and '+' mean something in a pattern.",
    "Escape them: '|'.join(map(re.escape, special_tokens)).",
)
_known(
    "tokenizer-special-overlap",
    "a special token hides a longer one that begins alike",
    "'<|end' before '<|end|>'",
    "The alternatives of a pattern are tried from left to right.",
    "Sort the special tokens by length, longest first.",
)
_known(
    "tokenizer-special-trained",
    "special tokens take part in training",
    "merges of '<' and '|', or across a special token",
    "The training text is not split at them, or they are cut out and the rest is joined.",
    "Split the training text at the special tokens and count pairs within the pieces.",
)

# What is saved.
_known(
    "tokenizer-special-lost",
    "special tokens are lost when it is saved",
    "load(save(t)).encode(token) has several ids",
    "Only the merges are written.",
    "Write the special tokens too.",
)
_known(
    "tokenizer-merges-lost",
    "merges are lost when it is saved",
    "load(save(t)).encode(s) = list(s.encode())",
    "Only the vocabulary is written, or load does not read the merges.",
    "Write the merges, in their order.",
)
_known(
    "tokenizer-merges-reordered",
    "merges come back in another order",
    "rank(load(save(t))) ≠ rank(t)",
    "They are written as a set, sorted, or by the tokens that they make.",
    "Write the merges as a list, in the order in which they were learned.",
)
_known(
    "tokenizer-not-in-the-file",
    "what load needs is not in the file",
    "it lives in the class or in the module",
    "In the process that has trained it everything is still there.",
    "Write everything that encode and decode use into the file.",
)
