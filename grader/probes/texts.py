"""Holds the texts for language models: prose with order across words, noise with none; and what counting predicts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import numpy as np

from grader.compare import Array

# who does what, with what, where: verbs and things belong to somebody who was named some words before
PEOPLE = {
    "farmer": (("ploughs", "waters", "harvests"), ("field", "orchard", "garden")),
    "sailor": (("steers", "mends", "paints"), ("boat", "sail", "rudder")),
    "baker": (("kneads", "weighs", "bakes"), ("dough", "bread", "cake")),
    "teacher": (("reads", "explains", "corrects"), ("letter", "lesson", "poem")),
    "painter": (("draws", "sketches", "frames"), ("portrait", "window", "mountain")),
    "doctor": (("treats", "visits", "comforts"), ("patient", "child", "neighbour")),
    "smith": (("forges", "sharpens", "heats"), ("knife", "hammer", "horseshoe")),
    "weaver": (("spins", "dyes", "folds"), ("wool", "linen", "carpet")),
}
ANIMALS = {"dog": "barks", "cow": "moos", "bee": "hums", "frog": "croaks", "owl": "hoots", "sheep": "bleats"}
ADJECTIVES = ("old", "young", "quiet", "clever", "tired", "cheerful", "patient", "strange")
PLACES = ("river", "harbour", "market", "forest", "village", "bridge", "tower", "well")
NEAR = ("near", "behind", "beside", "below")
TIMES = ("In the morning", "At noon", "In winter", "After the rain", "On Sunday", "Before sunrise")
ONE = ("the", "a", "this", "that")


def prose(characters: int, seed: int = 0) -> str:
    """English-like text of this length, always the same one for a seed.

    Which verb, which thing, which pronoun comes next is settled several words before.
    """
    rng, text, length = Random(seed), [], 0
    for sentence in _sentences(rng):
        if length >= characters:
            break
        text.append(sentence)
        length += len(sentence)
    return "".join(text)[:characters]


def _sentences(rng: Random) -> Iterator[str]:
    while True:
        for _ in range(3 + int(4 * rng.random())):
            yield _capital(_sentence(rng)) + ". "
        yield "\n"


def _sentence(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        animal = _of(rng, tuple(ANIMALS))
        return f"{_of(rng, ONE)} {_of(rng, ADJECTIVES)} {animal} {_where(rng)} {ANIMALS[animal]}"
    person = _of(rng, tuple(PEOPLE))
    verbs, things = PEOPLE[person]
    who = f"{_of(rng, ONE)} {_of(rng, ADJECTIVES)} {person}"
    does = f"{_of(rng, verbs)} the {_of(rng, things)}"
    if kind < 0.55:
        return f"{who} {_where(rng)} {does}"
    if kind < 0.8:
        return f"{_of(rng, TIMES)} {who} {does}, and then {_of(rng, verbs)} the {_of(rng, things)}"
    return f"{who} who {does} is {_of(rng, ADJECTIVES)}"


def _where(rng: Random) -> str:
    return f"{_of(rng, NEAR)} the {_of(rng, PLACES)}"


def _of(rng: Random, words: tuple[str, ...]) -> str:
    return words[int(rng.random() * len(words))]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def noise(count: int, vocab_size: int, seed: int = 0) -> Array:
    """Ids drawn one by one, whatever came before, with the probabilities of `noise_weights`. shapes: (count)"""
    bounds = np.cumsum(noise_weights(vocab_size))[:-1]
    drawn: Array = np.searchsorted(bounds, np.random.default_rng((seed, 71)).random(count), side="right")
    return drawn.astype(np.int64)


@cache
def _weights(vocab_size: int) -> tuple[float, ...]:
    raw = 1.0 / np.arange(2, vocab_size + 2)
    return tuple((raw / raw.sum()).tolist())


def noise_weights(vocab_size: int) -> Array:
    """The probability of each id in `noise`: unequal, none 0. shapes: (v)"""
    return np.array(_weights(vocab_size))


def noise_entropy(vocab_size: int) -> float:
    """In nats: no honest model predicts `noise` better than this, on average."""
    p = noise_weights(vocab_size)
    return float(-(p * np.log(p)).sum())


def unigram_loss(seen: Array, held_out: Array, vocab_size: int) -> float:
    """Nats per token on held-out ids, each predicted by how often it was seen, plus one. shapes: (n), (m) -> ()"""
    counts = np.bincount(seen, minlength=vocab_size) + 1.0
    return float(-np.log(counts / counts.sum())[held_out[1:]].mean())


def bigram_loss(seen: Array, held_out: Array, vocab_size: int) -> float:
    """The same where each is predicted by how often it followed the one before. shapes: (n), (m) -> ()"""
    counts = np.full((vocab_size, vocab_size), 0.1)
    np.add.at(counts, (seen[:-1], seen[1:]), 1.0)
    table = -np.log(counts / counts.sum(axis=1, keepdims=True))
    return float(table[held_out[:-1], held_out[1:]].mean())
