"""Knows which processes were started for a host: Linux, by /proc."""

import os
from pathlib import Path


def processes(folder: Path) -> set[int]:
    """Living processes that were started for a host with its folder in ``folder``."""
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{entry}/environ").read_bytes()
            state = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if b"HOME=" + os.fsencode(folder) in environment and state != "Z":
            found.add(int(entry))
    return found
