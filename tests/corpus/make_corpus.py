"""Write the corpora accepted/, rejected/ and malformed/ beside this file: `python -m
tests.corpus.make_corpus`.

A certificate whose data are outside has its data file beside it, with the ending `.data`.
`expected.json` names, per file, words that the checker's reason must contain and, where it is not
the folder's verdict, the verdicts allowed. The script is deterministic; files dropped into the
folders by hand are left alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.corpus.corpus_accepted import accepted
from tests.corpus.corpus_additive_stream import (
    additive_stream_accepted,
    additive_stream_malformed,
    additive_stream_rejected,
)
from tests.corpus.corpus_families_accepted import family_accepted
from tests.corpus.corpus_families_malformed import family_malformed
from tests.corpus.corpus_families_rejected import family_rejected
from tests.corpus.corpus_malformed import malformed
from tests.corpus.corpus_patches import patches_accepted, patches_malformed, patches_rejected
from tests.corpus.corpus_previous_bugs import previous_bugs_malformed, previous_bugs_rejected
from tests.corpus.corpus_regularized import (
    regularized_accepted,
    regularized_malformed,
    regularized_rejected,
)
from tests.corpus.corpus_rejected import rejected
from tests.corpus.corpus_several import several_accepted, several_malformed, several_rejected
from tests.corpus.corpus_shapes import shapes_accepted, shapes_malformed, shapes_rejected
from tests.corpus.corpus_started import (
    started_accepted,
    started_malformed,
    started_rejected,
    started_undecided,
)
from tests.corpus.corpus_stream import stream_accepted, stream_malformed, stream_rejected
from tests.corpus.corpus_trajectory import (
    trajectory_accepted,
    trajectory_malformed,
    trajectory_rejected,
)
from tests.corpus.corpus_trajectory_variants import (
    variants_accepted,
    variants_malformed,
    variants_rejected,
)
from tests.corpus.drafts import data_file, seal

HERE = Path(__file__).resolve().parent
File = tuple[bytes, bytes | None]


def corpus() -> tuple[dict[str, File], dict[str, Any]]:
    """(path below this folder -> bytes of certificate and data file, table of expectations)."""
    drafts = accepted()
    files: dict[str, File] = {}
    expected: dict[str, Any] = {}
    for name, draft in drafts.items():
        files[f"accepted/{name}.gmc"] = seal(draft), None if draft.stored else data_file(draft)
    twice = drafts["interpolation_softplus_W_rows"]
    files["accepted/interpolation_same_data_given_beside_the_stored_ones.gmc"] = (
        seal(twice),
        data_file(twice),
    )
    for name, fault in rejected(drafts).items():
        path = f"rejected/{name}.gmc"
        data = fault.other_data or (None if fault.draft.stored else fault.draft)
        files[path] = seal(fault.draft), None if data is None else data_file(data)
        entry = ({"reason": fault.reason} if fault.reason else {}) | (
            {} if fault.verdicts == ("REJECTED",) else {"verdicts": list(fault.verdicts)}
        )
        if entry:
            expected[path] = entry
    for name, pair in malformed(drafts).items():
        files[f"malformed/{name}.gmc"] = pair
    families, reasons = _families()
    return files | families, expected | reasons


def _families() -> tuple[dict[str, File], dict[str, Any]]:
    """The files of the families' claims and of former defects; all of rejected/ are refused."""
    faults = (
        family_rejected()
        | trajectory_rejected()
        | variants_rejected()
        | started_rejected()
        | regularized_rejected()
        | several_rejected()
        | shapes_rejected()
        | patches_rejected()
        | stream_rejected()
        | additive_stream_rejected()
        | previous_bugs_rejected()
    )
    undecided = started_undecided()
    honest = (
        family_accepted()
        | trajectory_accepted()
        | variants_accepted()
        | started_accepted()
        | regularized_accepted()
        | several_accepted()
        | shapes_accepted()
        | patches_accepted()
        | stream_accepted()
        | additive_stream_accepted()
    )
    broken = (
        family_malformed()
        | trajectory_malformed()
        | variants_malformed()
        | started_malformed()
        | regularized_malformed()
        | several_malformed()
        | shapes_malformed()
        | patches_malformed()
        | stream_malformed()
        | additive_stream_malformed()
        | previous_bugs_malformed()
    )
    files: dict[str, File] = {f"accepted/{name}.gmc": (raw, None) for name, raw in honest.items()}
    files |= {
        f"rejected/{name}.gmc": (raw, None) for name, (raw, _) in (faults | undecided).items()
    }
    files |= {f"malformed/{name}.gmc": (raw, None) for name, raw in broken.items()}
    expected: dict[str, Any] = {
        f"rejected/{name}.gmc": {"reason": reason} for name, (_, reason) in faults.items() if reason
    }
    return files, expected | {
        f"rejected/{name}.gmc": {"reason": reason, "verdicts": ["UNDECIDED"]}
        for name, (_, reason) in undecided.items()
    }


def main() -> None:
    """Write everything."""
    files, expected = corpus()
    for path, (raw, data) in files.items():
        target = HERE / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(raw)
        if data is not None:
            target.with_suffix(".data").write_bytes(data)
    (HERE / "expected.json").write_text(
        json.dumps(expected, indent=1, sort_keys=True) + "\n", encoding="ascii"
    )
    sizes = {
        folder: sum(path.startswith(folder) for path in files)
        for folder in ("accepted", "rejected", "malformed")
    }
    print(sizes, sum(len(raw) for raw, _ in files.values()), "bytes")


if __name__ == "__main__":
    main()
