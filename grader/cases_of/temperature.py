"""Knows the inputs of the temperature laboratory: scores in one row, and a temperature that is not 1."""

from __future__ import annotations

from grader.cases import arguments_of

arguments_of("temperature_lab", "T")(lambda rng, s: (1.5 * rng.standard_normal(s.T + 1), 0.3 + s.T / 4))
