"""How much submissions may leave in their private folders: looked at while they run, ended where it is too much."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

_EVERY = 0.1


def used(folder: Path, entries: int) -> tuple[int, int]:
    """(bytes, files and folders) below ``folder``, counting no further than ``entries``; links are not followed."""
    size, count, waiting = 0, 0, [str(folder)]
    while waiting and count <= entries:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    count += 1
                    if count > entries:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # it goes away, or it is too deep to be named
    return size, count


class Watch:
    """One thread for the folders of a host. ``end`` is called once, from it, for a folder that holds too much."""

    def __init__(self, bytes_allowed: int, entries_allowed: int) -> None:
        self._limits = bytes_allowed, entries_allowed
        self._folders: dict[Path, Callable[[], None]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, folder: Path, end: Callable[[], None]) -> None:
        """Look at ``folder`` until it is gone."""
        self._folders[folder] = end
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="grader-quota", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        pause = _EVERY
        while not self._stop.wait(pause):
            began = time.monotonic()
            for folder, end in list(self._folders.items()):
                if not folder.exists():
                    self._folders.pop(folder, None)
                    continue
                size, count = used(folder, self._limits[1])
                if size > self._limits[0] or count > self._limits[1]:
                    self._folders.pop(folder, None)
                    end()
            pause = max(_EVERY, 5 * (time.monotonic() - began))

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
