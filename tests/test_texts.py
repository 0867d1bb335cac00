"""Holds the texts to what is said of them: always the same, with order beyond pairs or with none at all."""

import numpy as np

from grader.probes.texts import bigram_loss, noise, noise_entropy, noise_weights, prose, unigram_loss


def trigram_loss(seen, held_out, size):
    counts = np.full((size, size, size), 0.01)
    np.add.at(counts, (seen[:-2], seen[1:-1], seen[2:]), 1.0)
    table = -np.log(counts / counts.sum(axis=-1, keepdims=True))
    return table[held_out[:-2], held_out[1:-1], held_out[2:]].mean()


def test_prose_is_as_long_as_asked_and_always_the_same():
    assert [len(prose(n)) for n in (0, 1, 57, 5000)] == [0, 1, 57, 5000]
    assert prose(5000) == prose(5000)
    assert prose(5000).startswith(prose(57))
    assert prose(200, seed=1) != prose(200)
    assert prose(90) == "At noon a tired teacher explains the poem, and then explains the lesson. A patient painter"


def test_prose_has_order_beyond_single_characters_and_pairs():
    text = prose(24_000).lower()
    known = sorted(set(text))
    ids = np.array([known.index(character) for character in text])
    seen, held = ids[:20_000], ids[20_000:]
    losses = [loss(seen, held, len(known)) for loss in (unigram_loss, bigram_loss, trigram_loss)]
    assert losses[0] - losses[1] > 0.5
    assert losses[1] - losses[2] > 0.5


def test_noise_has_none_and_its_entropy_is_known():
    ids = noise(40_000, 11)
    assert ids.dtype == np.int64
    assert np.array_equal(ids, noise(40_000, 11))
    assert not np.array_equal(ids, noise(40_000, 11, seed=1))
    assert np.isclose(noise_weights(11).sum(), 1)
    assert np.abs(np.bincount(ids, minlength=11) / len(ids) - noise_weights(11)).max() < 0.01
    single, pairs = (loss(ids[:30_000], ids[30_000:], 11) for loss in (unigram_loss, bigram_loss))
    assert abs(single - noise_entropy(11)) < 0.02
    assert pairs > noise_entropy(11) - 0.02
