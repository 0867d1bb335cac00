"""Byte-level BPE, held to a second way of writing it: by ids, with one list for the whole text."""

from random import Random

import pytest

from reference.bpe import learn, merge, pairs, segment, split


def by_ids(text, count):
    ids, names, merges = list(text), [bytes([i]) for i in range(256)], []
    for _ in range(count):
        counts = {}
        for i in range(len(ids) - 1):
            counts[ids[i], ids[i + 1]] = counts.get((ids[i], ids[i + 1]), 0) + 1
        if not counts:
            break
        a, b = min(counts, key=lambda pair: (-counts[pair], names[pair[0]], names[pair[1]]))
        names.append(names[a] + names[b])
        merges.append((names[a], names[b]))
        i = 0
        while i + 1 < len(ids):
            if (ids[i], ids[i + 1]) == (a, b):
                ids[i : i + 2] = [len(names) - 1]
            i += 1
    return merges, [names[i] for i in ids]


@pytest.mark.parametrize("seed", range(5))
def test_two_ways_to_write_it_agree(seed):
    rng = Random(seed)
    text = bytes(97 + int(5 * rng.random() ** 2) for _ in range(400))
    merges, tokens = by_ids(text, 9)
    assert learn([text], 9) == merges
    assert segment(text, merges) == tokens
    assert b"".join(tokens) == text


def test_the_usual_example():
    words = [b"low"] * 5 + [b"lower"] * 2 + [b"newest"] * 6 + [b"widest"] * 3
    assert learn(words, 3) == [(b"e", b"s"), (b"es", b"t"), (b"l", b"o")]
    assert learn(words, 1, last=True) == [(b"s", b"t")]
    assert segment(b"lowest", learn(words, 4)) == [b"low", b"est"]


def test_small_things():
    assert learn([b""], 5) == learn([b"a", b"b"], 5) == []
    assert segment(b"", [(b"a", b"b")]) == []
    assert merge(split(b"aaa"), (b"a", b"a")) == [b"aa", b"a"]
    assert pairs(split(b"aab")) == {(b"a", b"a"): 1, (b"a", b"b"): 1}
