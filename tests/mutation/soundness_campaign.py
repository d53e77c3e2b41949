"""The soundness campaign: files of one claim kind by an attacker who postpones checks, spoils
witnesses and knows the truth.

Every file goes through both checkers. A file that the fast checker accepts must be true: by its
construction, by the exact oracle, and by a run where the claim is about one. The two checkers may
differ only where one of them is undecided.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from tests.corpus.whole_files import Whole
from tests.mutation import exact_kinks, stored_ties
from tests.mutation.factor_attacks import cached_factors, refitted, with_small_factor
from tests.mutation.hostile_witnesses import (
    PROVED_BY_P1,
    nudged,
    reworded,
    side_by_side,
    spoiled,
    strengthened,
)
from tests.mutation.planted_truths import planted
from tests.mutation.postponed_checks import EXPONENTS, KNOTS, Tied, beside, cached_tie, open_checks
from tests.mutation.precision_worlds import two_worlds
from tests.mutation.simulated_runs import refuted_by_its_run
from tests.mutation.tiny_instances import base
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
SEED = 20277
WIDTH = 8  # honest files that one seed attacks; as many in a row hold every variant of a kind
RUNS = (
    "descent",
    "relu-descent",
    "relu-linearized-descent",
    "deep-descent",
    "relu-trajectory",
    "deep-trajectory",
)  # whose rate a simulated run can contradict
COLUMNS = (
    "files",
    "accepted",
    "false",
    "postponed",
    "undecided on one side",
    "malformed",
    "disagreements",
    "false acceptances",
)


@dataclass(frozen=True)
class Attack:
    """One file, how it was made, and whether it is false by construction."""

    style: str
    file: Whole
    known_false: bool = False


@dataclass
class Tally:
    """What happened to the files of one kind."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    styles: Counter[tuple[str, str]] = field(default_factory=Counter)
    postponed: Counter[tuple[str, str]] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    bad_files: list[bytes] = field(default_factory=list)

    def found(self, raw: bytes, problem: str) -> None:
        """Keep a file that should not exist."""
        self.problems.append(problem)
        self.bad_files.append(raw)

    def row(self) -> str:
        """One line of the Markdown table."""
        return (
            f"| `{self.kind}` | "
            + " | ".join(f"{self.counts[column]:,}" for column in COLUMNS)
            + " |"
        )


def table(tallies: list[Tally]) -> str:
    """The counts of several kinds as a Markdown table with a line of sums."""
    whole = Tally("all")
    for tally in tallies:
        whole.counts += tally.counts
    head = "| kind | " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * len(COLUMNS)
    return (
        "\n".join([head, *(tally.row() for tally in tallies), whole.row().replace("`all`", "all")])
        + "\n"
    )


class Attacker:
    """Draws attacks of one kind from one seed; `width` honest files are attacked in turn."""

    def __init__(self, kind: str, seed: int, width: int) -> None:
        self.kind, self.width = kind, width
        self.rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
        self.first = width * seed  # no two seeds attack the same honest file
        self.styles: dict[str, tuple[float, Callable[[], Attack | None]]] = {
            "honest": (0.02, lambda: Attack("honest", self.honest())),
            "tie": (0.28, self.tie),
            "small factor": (0.12, self.small_factor),
            "two ties": (0.08, self.two_ties),
            "tie and spoiled": (0.06, self.tie_and_spoiled),
            "spoiled": (0.14, lambda: Attack("spoiled", self.spoiled(self.honest()))),
            "strengthened": (0.14, self.strengthened),
            "nudged": (0.04, lambda: Attack("nudged", nudged(self.rng, self.honest()))),
            "reworded": (0.02, lambda: Attack("reworded", reworded(self.rng, self.honest()))),
            "two claims": (0.05, self.two_claims),
            "planted": (0.14, self.planted),
        }
        if kind == "relu-descent":
            self.styles["two worlds"] = (1.0, self.two_worlds)
        if kind in ("spurious-minimum", "global-basin"):
            self.styles["stored tie"] = (0.12, self.stored_tie)
        if kind == "relu-interpolation":
            self.styles["kink"] = (0.12, lambda: Attack("kink", exact_kinks.relu_kink(self.rng)))
        if kind == "gram-positive":
            self.styles["kink"] = (
                0.12,
                lambda: Attack("kink", exact_kinks.nearly_parallel(self.rng)),
            )
            self.styles["stored tie"] = (0.004, self.stored_tie)

    def number(self) -> int:
        """The number of the honest file that is attacked."""
        return self.first + int(self.rng.integers(self.width))

    def honest(self) -> Whole:
        """An honest file."""
        return base(self.kind, self.number())

    def exponent(self) -> int:
        """How near to the tie: mostly visible at 256 or 512 bits; the slow checker of deep networks
        ends at 512.
        """
        last = 0.0 if self.kind in ("deep-descent", "deep-trajectory") else 0.5
        weights = np.array([4 if e < 256 else 2 if e < 450 else last for e in EXPONENTS])
        return int(self.rng.choice(EXPONENTS, p=weights / weights.sum()))

    def side(self) -> int:
        """+1: true beyond the tie, -1: false."""
        return int(self.rng.choice([1, -1]))

    def _tied(self) -> Tied | None:
        knots = KNOTS[self.kind]
        if not knots:
            return None
        return cached_tie(self.kind, self.number(), knots[int(self.rng.integers(len(knots)))])

    def tie(self) -> Attack | None:
        """One check beside its tie."""
        tied = self._tied()
        return None if tied is None else Attack("tie", beside(tied, self.exponent(), self.side()))

    def two_ties(self) -> Attack | None:
        """Two checks of one file beside their ties, or one of them and a small factor."""
        number, rng = self.number(), self.rng
        knots = KNOTS[self.kind]
        ties = [
            cached_tie(self.kind, number, knots[int(i)]) for i in rng.permutation(len(knots))[:3]
        ]
        simple = [tied for tied in ties if tied is not None and not tied.refit]
        if not simple:
            return None
        file = beside(simple[0], self.exponent(), self.side())
        for tied in simple[1:2]:
            moved = beside(Tied(tied.number, file, tied.tie, False), self.exponent(), self.side())
            file = moved if tied.tie.path != simple[0].tie.path else file
        return Attack("two ties", self._shrunk(file, number) or file)

    def two_claims(self) -> Attack | None:
        """Two claims about one stored network, each beside its own tie or honest, their witnesses
        perhaps exchanged.
        """
        number, knots = self.number(), KNOTS[self.kind]
        files = [base(self.kind, number)]
        for index in self.rng.integers(max(len(knots), 1), size=2):
            if not knots:
                files.append(nudged(self.rng, files[0]))
                continue
            tied = cached_tie(self.kind, number, knots[int(index)])
            files.append(files[0] if tied is None else beside(tied, self.exponent(), self.side()))
        first, second = (files[int(i)] for i in self.rng.permutation(3)[:2])
        return Attack("two claims", side_by_side(self.rng, first, second))

    def _shrunk(self, file: Whole, number: int) -> Whole | None:
        uses = cached_factors(self.kind, number)
        if not uses:
            return None
        use = uses[int(self.rng.integers(len(uses)))]
        return with_small_factor(
            file, use, int(self.rng.integers(len(use.A))), 1 if self.rng.random() < 0.6 else -1
        )

    def small_factor(self) -> Attack | None:
        """The residual of P1 just below or above 1."""
        number = self.number()
        file = self._shrunk(base(self.kind, number), number)
        return None if file is None else Attack("small factor", file)

    def tie_and_spoiled(self) -> Attack | None:
        """One check beside its tie, another witness spoiled."""
        tied = self._tied()
        if tied is None:
            return None
        return Attack("tie and spoiled", self.spoiled(beside(tied, self.exponent(), self.side())))

    def spoiled(self, file: Whole) -> Whole:
        """One witness array spoiled."""
        return spoiled(self.rng, file, self.honest())

    def strengthened(self) -> Attack:
        """The claim says more than before; the factors are made for the lie, too small to matter,
        as they were, or spoiled.
        """
        draw = self.rng.random()
        if draw < 0.4:
            return Attack(
                "strengthened",
                refitted(strengthened(self.rng, self.honest(), PROVED_BY_P1), shy=True),
            )
        file = strengthened(self.rng, self.honest())
        if draw < 0.7:
            return Attack("strengthened", refitted(file))
        return Attack("strengthened", self.spoiled(file) if draw < 0.85 else file)

    def planted(self) -> Attack:
        """False by construction; some with a spoiled witness as well, where that does not touch
        what makes them false.
        """
        file = planted(self.kind, self.rng)
        moves_the_start = self.kind in (
            "spurious-minimum",
            "global-basin",
            "factorization-gap",
            "identifies",
            "stream-gap",  # without its rows it is about the stored sums
            "additive-stream-gap",
        )
        if self.rng.random() < 0.3 and not moves_the_start:
            file = self.spoiled(file)
        return Attack("planted", file, known_false=True)

    def two_worlds(self) -> Attack | None:
        """Sets of pairs that depend on the precision."""
        file = two_worlds(self.rng)
        return None if file is None else Attack("two worlds", file)

    def stored_tie(self) -> Attack:
        """A tie made of stored doubles."""
        if self.kind == "gram-positive":
            return Attack(
                "stored tie",
                stored_ties.at_the_last_slope(
                    "tanh", int(self.rng.choice([132, 136, 140])), self.side()
                ),
            )
        number, exponent = (
            int(self.rng.integers(stored_ties.PLANTED_BASES)),
            int(self.rng.integers(132, 149)),
        )
        return Attack(
            "stored tie", stored_ties.at_the_barrier(self.kind, number, exponent, self.side())
        )

    def tour(self) -> Iterator[Attack]:
        """Every check that balls decide, once or twice on either side of its tie, whatever is drawn
        later.
        """
        for side in (1, -1):
            for knot in KNOTS[self.kind]:
                found = (
                    cached_tie(self.kind, self.first + number, knot) for number in range(self.width)
                )
                for tied in islice((tied for tied in found if tied is not None), 2):
                    yield Attack("tie", beside(tied, 140, side))
            yield from self._fieldless_factors(side)
            for _ in range(6 if self.kind == "relu-interpolation" else 0):
                yield Attack("kink", exact_kinks.relu_kink(self.rng))
            if self.kind == "gram-positive":
                yield Attack("stored tie", stored_ties.at_the_last_slope("tanh", 140, side))
            if self.kind in ("spurious-minimum", "global-basin"):
                yield Attack("stored tie", stored_ties.at_the_barrier(self.kind, 0, 140, side))

    def _fieldless_factors(self, side: int) -> Iterator[Attack]:
        """Uses of P1 that no field ties alone: norms of layers, and blocks of neurons after the
        first.
        """
        if self.kind not in ("deep-descent", "deep-trajectory", "second-order-stationary"):
            return
        for number in range(self.first, self.first + self.width):
            for use in cached_factors(self.kind, number):
                alone = "omega" in use.name or use.start
                small = with_small_factor(base(self.kind, number), use, 0, side) if alone else None
                if small is not None:
                    yield Attack("small factor", small)

    def attack(self) -> Attack:
        """The next file."""
        names, weights = list(self.styles), np.array([weight for weight, _ in self.styles.values()])
        while True:
            made = self.styles[str(self.rng.choice(names, p=weights / weights.sum()))][1]()
            if made is not None:
                return made


def _truth(attack: Attack, raw: bytes, accepted: bool) -> bool | None:
    """What the oracle says; and of an accepted claim about a run, what the run does."""
    truth = oracle_truth(raw)
    if (
        accepted
        and truth is not False
        and attack.file.claim["kind"] in RUNS
        and refuted_by_its_run(attack.file)
    ):
        return False
    return truth


def judge(attack: Attack, tally: Tally, where: str) -> None:
    """Both checkers, the truth, and what is open at 128 bits."""
    raw, counts = attack.file.sealed(), tally.counts
    result, slow = check_bytes(raw), slow_check(raw)
    fast = result.verdict.value
    counts["files"] += 1
    tally.styles[attack.style, fast] += 1
    if fast != slow.verdict:
        one_sided = "UNDECIDED" in (fast, slow.verdict)
        counts["undecided on one side" if one_sided else "disagreements"] += 1
        if not one_sided:
            tally.found(
                raw,
                f"{where} ({attack.style}): {fast} ({result.reason}) against {slow.verdict} "
                f"({slow.reason})",
            )
    if fast == "MALFORMED":
        counts["malformed"] += 1
        return
    _count_postponed(raw, fast, tally)
    truth = _truth(attack, raw, fast == "ACCEPTED")
    if attack.known_false and truth is True:
        tally.found(
            raw, f"{where} ({attack.style}): the oracle calls true what is false by construction"
        )
    false = truth is False or attack.known_false
    counts["false"] += false
    counts["accepted"] += fast == "ACCEPTED"
    counts["accepted, truth open"] += fast == "ACCEPTED" and truth is None
    if fast == "ACCEPTED" and false:
        counts["false acceptances"] += 1
        tally.found(raw, f"{where} ({attack.style}): ACCEPTED although false")


def _count_postponed(raw: bytes, verdict: str, tally: Tally) -> None:
    if verdict == "UNDECIDED":
        return
    numbers = open_checks(raw)
    tally.counts["postponed"] += bool(numbers)
    for number in numbers:
        tally.postponed[number, verdict] += 1


def attacks(kind: str, files: int, seed: int = SEED, width: int = WIDTH) -> Iterator[Attack]:
    """This many files of one kind: first the tour of all checks, then whatever the seed draws.

    A problem is reported by kind, seed and file, and found again as `list(attacks(kind, file + 1,
    seed))[file]`.
    """
    attacker = Attacker(kind, seed, width)
    return islice(chain(attacker.tour(), iter(attacker.attack, None)), files)


def judged(kind: str, files: Iterable[Attack], seed: int) -> Tally:
    """The tally of these files."""
    tally = Tally(kind)
    for index, attack in enumerate(files):
        judge(attack, tally, f"{kind}, seed {seed}, file {index}")
    return tally


def campaign(kind: str, files: int, seed: int = SEED) -> Tally:
    """Attack one kind with this many files."""
    return judged(kind, attacks(kind, files, seed), seed)
