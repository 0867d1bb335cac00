"""What a submission may use: seconds, bytes, printed text."""

from dataclasses import asdict, dataclass, fields

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of one worker; every field must be above zero (ValueError names the one that is not).

    call_seconds    wall time of one exchange
    total_seconds   wall time of a submission's exchanges together, in all its processes; what is left is not asked
    import_seconds  wall time of importing the student's module
    start_seconds   wall time of starting an interpreter and importing NumPy or torch
    cpu_seconds     processor time of the process in all
    memory_bytes    address space beyond what the process holds when it is handed over (Linux)
    file_bytes      size of one written file (POSIX)
    folder_bytes    all files in its private folder; folder_files their number, with folders
    printed_bytes   kept of standard output and error of one exchange; the rest is read and dropped
    result_bytes    arrays of one reply
    source_bytes    sources of one submission
    """

    call_seconds: float = 5.0
    total_seconds: float = 300.0
    import_seconds: float = 20.0
    start_seconds: float = 120.0
    cpu_seconds: int = 300
    memory_bytes: int = 4 * GIB
    file_bytes: int = 256 * MIB
    folder_bytes: int = 256 * MIB
    folder_files: int = 5000
    printed_bytes: int = 64 * KIB
    result_bytes: int = 64 * MIB
    source_bytes: int = 5_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"Limits.{field.name} is {value!r}; it must be a number above zero")

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for the program in the student's process."""
        return asdict(self)


@dataclass
class Used:
    """Seconds that a submission has used so far, in all its processes."""

    seconds: float = 0.0


def size(count: float) -> str:
    """``count`` bytes for a reader: "4.0 GiB", "64.0 KiB", "12 bytes"."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} bytes"
