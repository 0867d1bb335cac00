"""Knows the bases of the wrong blocks: right submissions, one written out, one with torch's attention, one fused."""

from tests.wrong.hand_decoder.model import Replace, Wrong, mistake

__all__ = ["PLAIN", "MHA", "FUSED", "SDPA", "HEADS", "Replace", "Wrong", "block"]

PLAIN, MHA, FUSED, SDPA, HEADS = "plain", "multihead_attention", "fused_qkv", "sdpa", "per_head_modules"


def block(name: str, row: str, misconception: str | None, patches: dict[str, Replace], note: str = "") -> list[Wrong]:
    """One mistake in DecoderBlock on several bases."""
    return mistake(name, row, "DecoderBlock", patches, misconception=misconception, note=note)
