"""The checker of `dual-gap` that Coq proved sound, on a certificate of one's own.

Usage: python -m scripts.extracted_checker FILE.gmc

Coq writes proofs/dual_gap_program.v as OCaml; here the file is read (by the reader of the slow
checker), its numbers are written as rationals, and the program says ACCEPTED or REJECTED. Reading
is not verified.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from shutil import which

from scripts.proofs import BUILT, SOURCES, build_checker, compiler
from tests.oracles.claim_grammar import Fields, MalformedError
from tests.oracles.fraction_regularized import repaired
from tests.oracles.regularized_grammar import RegularizedFile, Row, read_regularized

LOSSES = ("squared", "huber", "quantile", "hinge", "squared_hinge")
CONSTRAINTS = ("columns", "cones")
PARTS = (("hidden_bias", "tau"), ("intercept", "k0"), ("linear", "k1"))
PATIENCE = 600  # seconds for one claim


def checkable(file: RegularizedFile) -> str:
    """Why the extracted checker does not know the file; empty if it does."""
    kinds = {(kind, fields["constraint"]) for kind, fields, _ in file.claims}
    if not kinds <= {("dual-gap", name) for name in CONSTRAINTS}:
        return f"it knows the claim dual-gap with constraint columns, not {sorted(kinds)}"
    if file.loss not in LOSSES or file.c > 1:
        return f"it knows one output and the losses {', '.join(LOSSES)}"
    if "shapes" in file.network:
        return "it knows no shapes of curves"
    several = any(len(group) != 1 for group in file.network["groups"])
    return "it knows networks of one column per neuron" if several else ""


def dual_vector(file: RegularizedFile, claim: int) -> Row | None:
    """The vector u' of the page; None if the rows of `repair` do not determine it."""
    _, fields, tensors = file.claims[claim]
    flat, n = tensors["u"].numbers(), len(file.X)
    u = flat if fields["parts"] == 1 else [flat[i] + flat[n + i] for i in range(n)]
    return repaired(file, u, tensors["repair"].integers()) if "repair" in tensors else u


def numbers(file: RegularizedFile, claim: int, u: Row) -> list[str]:
    """One claim in the order in which proofs/read_numbers.ml reads it."""
    network, d = file.network, len(file.X[0])
    listed = {group[0] for group in network["groups"]}
    signs = network.get("monotone", [0] * d)
    words: list[object] = [d]
    for j in range(d):
        words += [int(j in listed), signs[j]]
    for part, name in PARTS:
        words += [network[part], *([network[name]] if name in network else [])]
    words += [int(network["heads"] == "nonnegative"), network["b"], *_loss(file), len(file.X)]
    for row, y, om, dual in zip(file.X, file.y, file.om, u, strict=True):
        words += [*row, y, om, dual]
    words.append(len(file.W))
    for weights, bias, head in zip(file.W, file.bias, file.v, strict=True):
        words += [*weights, bias, head]
    fields: Fields = file.claims[claim][1]
    words += [file.intercept, *file.linear, fields["p_up"], fields["p_low"], fields["gap"]]
    return [str(word) for word in words]


def _loss(file: RegularizedFile) -> list[str | Fraction]:
    return [file.loss] + [file.parameter] * (file.loss in ("huber", "quantile"))


def verdict(program: Path, file: RegularizedFile) -> str:
    """ACCEPTED if the program accepts every claim of the file."""
    for claim in range(len(file.claims)):
        u = dual_vector(file, claim)
        if u is None:
            return "REJECTED"
        ran = subprocess.run(
            [program], input=" ".join(numbers(file, claim, u)), capture_output=True, text=True,
            check=True, timeout=PATIENCE,
        )  # fmt: skip
        if ran.stdout != "ACCEPTED\n":
            return "REJECTED"
    return "ACCEPTED"


def stale() -> bool:
    """Whether the program is not there, or older than its sources."""
    built = BUILT.stat().st_mtime if BUILT.exists() else 0.0
    return any(path.stat().st_mtime > built for path in SOURCES.iterdir())


def main() -> None:
    """Build the program where it is not there, and run it on the file."""
    if len(sys.argv) != 2:
        sys.exit("one certificate: python -m scripts.extracted_checker FILE.gmc")
    if stale():
        if compiler() is None or which("ocamlfind") is None:
            sys.exit("no Coq or no OCaml on this machine: bash scripts/debian.sh installs both")
        build_checker(BUILT)
    try:
        file = read_regularized(Path(sys.argv[1]).read_bytes())
    except MalformedError as error:
        sys.exit(f"MALFORMED: {error}")
    unknown = checkable(file)
    if unknown:
        sys.exit(f"the extracted checker does not know this file: {unknown}")
    print(verdict(BUILT, file))


if __name__ == "__main__":
    main()
