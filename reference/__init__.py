"""The mathematics: a transformer decoder in NumPy, float64, as parts of which any one can be replaced.

BOOK holds them. `BOOK.decoder(tokens, params)` computes, and `BOOK.replace(layer_norm=f)` is the same book with `f`
for the layer norm, wherever it is used. The torch twin is imported on demand, as `reference.torch_twin`.
"""

from reference.book import BOOK
from reference.parts import Parts

# The chapters register themselves, so their order here is the order of BOOK.names.
from reference import attention, norm, block, decoder, hand  # isort: skip

BOOK.seal()

__all__ = ["BOOK", "Parts", "attention", "block", "decoder", "hand", "norm"]
