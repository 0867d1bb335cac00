"""Grades hand-written transformer decoders: names the mistake, carries errors forward, emits a rubric."""

__version__ = "0.1.0"
