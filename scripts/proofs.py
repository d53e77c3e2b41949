"""Compile proofs/ in a folder apart, check it again with coqchk, print the axioms of every theorem,
write the table of docs/proofs.md and build the extracted checker. Usage: python scripts/proofs.py
[--no-recheck]
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proofs"
PAGE = ROOT / "docs/proofs.md"
BEGIN, END = "<!-- table: scripts/proofs.py -->\n", "<!-- end of table -->"
CLOSED = "Closed under the global context"
VERSION = "8.16"  # Debian 12; MathComp 2 names its lemmas otherwise
PATIENCE = 300  # seconds for one file, on machines with many jobs
EXTRACTION = "dual_gap_extraction"  # the file that writes OCaml
READER = "read_numbers.ml"
BUILT = ROOT / "build/dual-gap-checker"


@dataclass(frozen=True)
class Proof:
    """One file of proofs/: its theorems with their axioms."""

    name: str
    lines: int
    seconds: float
    axioms: dict[str, str]


def compiler() -> str | None:
    """The program coqc of the version that proofs/ is written for, or None."""
    found = shutil.which("coqc")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    return found if f"version {VERSION}" in said else None


def theorems(path: Path) -> list[str]:
    """Names of the statements that are called theorems."""
    return re.findall(r"^Theorem (\w+)", path.read_text(encoding="utf-8"), re.M)


def uses() -> dict[str, set[str]]:
    """The files that each file of proofs/ requires."""
    line = re.compile(r"^From globalmin Require Import ([\w ]+)\.", re.M)
    return {
        path.stem: set(" ".join(line.findall(path.read_text(encoding="utf-8"))).split())
        for path in sorted(SOURCES.glob("*.v"))
    }


def ordered(last: str | None = None) -> list[str]:
    """The files, or those that the last one needs, each after the ones that it uses."""
    needs = uses()
    done: list[str] = []
    while len(done) < len(needs):
        done += [name for name in needs if name not in done and needs[name] <= set(done)]
    if last is None:
        return done
    wanted = {last}
    for name in reversed(done):
        wanted |= needs[name] if name in wanted else set()
    return [name for name in done if name in wanted]


def coqc(folder: Path, name: str) -> tuple[str, float]:
    """Compile one file of the folder; what it printed and the CPU seconds it took.

    Raises
    ------
    RuntimeError
        The file does not compile; the message is Coq's.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        ["coqc", "-w", "none", "-Q", ".", "globalmin", f"{name}.v"],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise RuntimeError(f"{name}.v does not compile: {ran.stderr or ran.stdout}")
    return ran.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def axioms(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """What Print Assumptions says of every theorem of the compiled files."""
    stated = [(name, theorem) for name in names for theorem in theorems(SOURCES / f"{name}.v")]
    ask = [f"From globalmin Require {name}." for name in names]
    ask += [f"Print Assumptions {name}.{theorem}." for name, theorem in stated]
    (folder / "axioms.v").write_text("\n".join(ask), encoding="utf-8")
    said = coqc(folder, "axioms")[0].strip()
    answers = re.split(rf"(?<={CLOSED})\n|\n(?=Axioms:)", said)
    if len(answers) != len(stated):
        raise RuntimeError(f"{len(stated)} theorems, {len(answers)} answers: {said}")
    result: dict[str, dict[str, str]] = {name: {} for name in names}
    for (name, theorem), answer in zip(stated, answers, strict=True):
        result[name][theorem] = answer.strip()
    return result


def build(folder: Path) -> list[Proof]:
    """Compile every file in the folder and read its axioms."""
    for path in SOURCES.glob("*.v"):
        shutil.copy(path, folder)
    names = ordered()
    seconds = {name: coqc(folder, name)[1] for name in names}
    used = axioms(folder, names)
    return [
        Proof(
            name,
            len((SOURCES / f"{name}.v").read_text(encoding="utf-8").splitlines()),
            seconds[name],
            used[name],
        )
        for name in names
    ]


def link(folder: Path, program: Path) -> Path:
    """The OCaml that Coq wrote into the folder, with its reader, as a program."""
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / READER, folder)
    sources = ["dual_gap_checker.mli", "dual_gap_checker.ml", READER]
    # -w -a: what Coq extracts has names that nobody uses
    subprocess.run(
        ["ocamlfind", "ocamlopt", "-package", "zarith", "-linkpkg", "-w", "-a", *sources,
         "-o", program],
        cwd=folder, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    return program


def build_checker(program: Path) -> Path:
    """The extracted checker alone, from its sources."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for needed in ordered(EXTRACTION):
            shutil.copy(SOURCES / f"{needed}.v", folder)
            coqc(folder, needed)
        return link(folder, program.resolve())


def recheck(folder: Path, proofs: list[Proof]) -> str:
    """The end of what coqchk, the independent checker of compiled files, says of all of them."""
    modules = [f"globalmin.{proof.name}" for proof in proofs]
    # -o prints the axioms of all files together; the files of libraries are read, not checked again
    ran = subprocess.run(
        ["coqchk", "-silent", "-o", "-norec", *modules, "-Q", ".", "globalmin"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise RuntimeError(f"coqchk refuses: {ran.stdout}{ran.stderr}")
    return ran.stdout + ran.stderr


def table(proofs: list[Proof]) -> str:
    """Rows of docs/proofs.md; a file without a theorem holds lemmas that others use."""
    rows = ["| file | theorems | lines | axioms | CPU s |", "|---|---|---|---|---|"]
    for proof in proofs:
        used = sorted({said for said in proof.axioms.values() if said != CLOSED})
        rows.append(
            f"| `{proof.name}.v` | {', '.join(f'`{name}`' for name in proof.axioms) or '(lemmas)'} "
            f"| {proof.lines} | {'; '.join(used) or 'none'} | {proof.seconds:.1f} |"
        )
    return "\n".join(rows) + "\n"


def main() -> None:
    """Compile, recheck, print, write."""
    if compiler() is None:
        sys.exit(f"no coqc {VERSION} on this machine: bash scripts/debian.sh installs Debian 12's")
    with tempfile.TemporaryDirectory() as name:
        proofs = build(Path(name))
        for proof in proofs:
            for theorem, said in proof.axioms.items():
                print(f"{proof.name}.{theorem}: {said}")
        head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(head + BEGIN + table(proofs) + END + rest.split(END)[1], encoding="utf-8")
        print(f"the extracted checker: {link(Path(name), BUILT).relative_to(ROOT)}")
        if "--no-recheck" not in sys.argv:
            print(recheck(Path(name), proofs))


if __name__ == "__main__":
    main()
