"""Right submissions: every one earns full marks."""
