"""Whether mistakes are named, carried forward, and named rightly, measured on submissions that were written apart."""
