"""What each assignment asks and what it is worth, as TOML, and the hand-computed numbers with their derivations."""
