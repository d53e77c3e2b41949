"""What a test measured, kept beside its outcome: `python -m scripts.campaign` adds it up."""

from collections.abc import Callable, Mapping

Record = Callable[[str, object], None]  # pytest's fixture `record_property`


def record_hostile(record: Record, counts: Mapping[str, int], files: int) -> None:
    """So many hostile files were judged; `counts` may say how many were accepted, and how many
    the oracle calls false.
    """
    record("files", files)
    for name in ("ACCEPTED", "false"):
        if name in counts:
            record(name.lower(), counts[name])
