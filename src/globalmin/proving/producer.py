"""The one road to a proof: `prove`, `certify`, which stops before the checker, and `check`; with
the ladder: which claims are tried, in which order, and when the climb is over.

What is tried for which network and data is said by the records of the claims themselves
(`ClaimRecord.rungs`); here is only the rule. Levels are tried from the strongest statement down,
all claims of a level, and the first level at which one holds is the end. Only a bound far below the
stored network does not end the climb: it is true, and kept for the case that nothing better holds.

Everybody who wants something proved comes here: Python, the estimators, the command line, the
recovery of teachers, the reproductions. So one question has one answer.

This room is below the networks it speaks of, because their claims are built on it, and families
such as `recovery` prove things themselves. It knows none of them: the rooms bring the records of
their claims, and of the networks these are about, in their folders `claims` (see `registry`).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin._options import Trained
from globalmin.errors import CannotCertify, DataError, HypothesisError, MemoryRefused
from globalmin.proving.claim import Claim, ClaimRecord, Proves, Question, Rung, records, subject_of
from globalmin.proving.proof import Proof, joined, no_proof, proof_from

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.proving.certificate import Certificate, SealedCertificate
    from globalmin_check import Result


def check(path: str | os.PathLike[str], data: str | os.PathLike[str] | None = None) -> Result:
    """Verify the file at `path` with `globalmin_check` and return its result (`verdict`, `claims`,
    `statement`, `reason`).

    Parameters
    ----------
    path : str | os.PathLike[str]
        The certificate file.
    data : str | os.PathLike[str] | None
        The data file, for a certificate that stores only the digest of its data.
    """
    from globalmin_check import check_file

    return check_file(path, data)


Step = tuple[ClaimRecord, Rung]


def certified(
    question: Question,
    claims: Iterable[str] | None = None,
    *,
    store_data: bool = True,
    is_quick: bool = False,
) -> tuple[SealedCertificate, Question]:
    """The certificate of the claims that hold, and the question it answers: rows may be left out.

    Raises
    ------
    CannotCertify
        With `reasons`, claim by claim.
    MemoryRefused
        If nothing holds and something was given up for the memory it needs.
    """
    subject = subject_of(question.network)
    wanted = wanted_records(claims, question.network)
    question = subject.prepare(question, wanted)
    steps = _unasked(question) if wanted is None else [_asked(r, question) for r in wanted]
    if not steps:
        raise subject.refusal(question)
    climb = _Climb(is_quick=is_quick)
    built = climb.to_the_top(steps) if wanted is None else climb.all_of(steps)
    if not built or (wanted is not None and climb.reasons):
        climb.fail()
    answered = replace(question, unmet=climb.reasons)
    return subject.certificate(tuple(built), question, store_data), answered


def wanted_records(claims: Iterable[str] | None, network: object) -> tuple[ClaimRecord, ...] | None:
    """The records of the kinds asked for, each once; None for the ladder."""
    if claims is None:
        return None
    kinds = (claims,) if isinstance(claims, str) else tuple(dict.fromkeys(claims))
    known = records()
    if not kinds or any(kind not in known for kind in kinds):
        raise DataError(
            f"claims={list(kinds)!r} must name at least one of {', '.join(known)}, and nothing else"
        )
    foreign = [kind for kind in kinds if not isinstance(network, known[kind].network)]
    if foreign:
        fitting = [kind for kind, r in known.items() if isinstance(network, r.network)]
        about = known[foreign[0]].network.__name__
        raise DataError(
            f"claims={list(kinds)!r}: {foreign[0]!r} is about a {about}, not about a "
            f"{type(network).__name__}; ask for {', '.join(fitting)}"
        )
    return tuple(known[kind] for kind in kinds)


def _asked(record: ClaimRecord, question: Question) -> Step:
    return record, Rung(1, lambda: record.build(question))


def _unasked(question: Question) -> list[Step]:
    steps = [
        (record, rung)
        for record in records().values()
        if isinstance(question.network, record.network)
        and (question.kinds is None or record.kind in question.kinds)
        for rung in record.rungs(question)
    ]
    return sorted(steps, key=lambda step: (step[1].level, step[1].place))


def _is_wide(claims: Sequence[Claim]) -> bool:
    """Whether all of them are bounds, and the stored network is not near any."""
    known = records()
    return all(known[c.kind].proves in (Proves.FLOOR, Proves.GAP) and c.is_wide for c in claims)


class _Climb:
    """One climb: what stood in the way of which kind, for the one who asks why."""

    def __init__(self, *, is_quick: bool) -> None:
        self.is_quick = is_quick
        self.reasons: dict[str, str] = {}
        self.refused: MemoryRefused | None = None

    def to_the_top(self, steps: Sequence[Step]) -> list[Claim]:
        """The claims of the first level at which one holds, and what may stand beside them."""
        about = [step for step in steps if not step[1].is_beside]
        best: list[Claim] = []
        for _, level in groupby(about, key=lambda step: step[1].level):
            built = self._level(list(level))
            best = built if built and not (best and _is_wide(built)) else best
            if best and not _is_wide(best):
                break
        beside = [step for step in steps if step[1].is_beside and best and not self.is_quick]
        return [*best, *self.all_of(beside)]

    def _level(self, steps: Sequence[Step]) -> list[Claim]:
        if not self.is_quick:
            return self.all_of(steps)
        needed = [step for step in steps if not step[1].is_extra]
        return self.all_of(needed) or self.all_of([step for step in steps if step[1].is_extra])

    def all_of(self, steps: Sequence[Step]) -> list[Claim]:
        """Those that hold, each attempted."""
        built: list[Claim] = []
        for record, rung in steps:
            try:
                built.append(rung.build())
            except CannotCertify as failure:
                self._note(record.kind, str(failure))
            except MemoryRefused as refusal:
                self.refused = self.refused or refusal
                self._note(record.kind, str(refusal))
        return built

    def _note(self, kind: str, why: str) -> None:
        known = self.reasons.get(kind)
        self.reasons[kind] = why if known in (None, why) else f"{known}; {why}"

    def fail(self) -> None:
        """Raise what was found out."""
        if self.refused is not None:
            raise self.refused
        raise CannotCertify(f"nothing certified: {joined(self.reasons)}", reasons=self.reasons)


def prove(
    network: Any,
    data: Any,
    *,
    trained: Trained = "W",
    weight_decay: float | None = None,
    claims: Iterable[str] | None = None,
    step_size: float | None = None,
    run: Any = None,
    is_quick: bool = False,
    path: str | os.PathLike[str] | None = None,
) -> Proof:
    """Find the strongest claims that hold, write the certificate file, and let the independent
    checker read it from disk.

    Never raises for want of a proof: `verdict` is then NOT PROVED and `reasons` says why.

    Parameters
    ----------
    network : Any
        A ShallowNetwork, DeepNetwork or PatchNetwork; a OneFilterNetwork or Factors.
    data : Any
        The data set it was trained on; the FilterTeacher, or the matrix.
    trained : str
        "W" or "vW", the parameters that a proof of zero loss may move; "v": the minimum over heads
        for the stored hidden weights (head-gap).
    weight_decay : float | None
        For quadratic networks, w > 0: prove the gap of L + (w/2) |W|^2 instead of L.
    claims : Iterable[str] | None
        As in `certify`.
    step_size : float | None
        As in `certify`.
    run : Any
        A run of gradient descent that kept its start, as `train(..., until="proved")` returns it:
        the ladder then begins with the claim *trajectory* about that start, and `reasons` says what
        stands in the way if the file has none. See also `prove_start`.
    is_quick : bool
        Leave out claims that say more than that the minimum is reached; they may double the time.
    path : str | os.PathLike[str] | None
        Where the file is to be; it appears there after it was checked, whatever the verdict.

    Returns
    -------
    Proof
        With `verdict`, `statement`, `loss_upper`, `loss_lower`, `gap`, `certificate` and `notes`.
        Rows that repeat another, inputs and label, are left out where they do not matter for the
        minimum; the bounds are then about the distinct rows, and `notes` says so.

    Examples
    --------
    >>> import numpy as np
    >>> import globalmin as gm
    >>> rng = np.random.default_rng(0)
    >>> data = gm.Dataset(rng.standard_normal((20, 3)), rng.standard_normal(20))
    >>> proof = gm.prove(gm.train_auto(data).network, data)
    >>> proof.verdict, proof.gap < 1e-20
    ('ACCEPTED', True)
    """
    started = time.perf_counter()
    options = {} if run is None else {"run": run}
    question = Question(network, data, trained, step_size, weight_decay or None, options)
    try:
        certificate, answered = certified(question, claims, is_quick=is_quick)
    except (CannotCertify, HypothesisError, MemoryRefused) as error:
        return unproved(error, data)
    with _file_at(path) as file:
        certificate.save(file)
        proved = time.perf_counter()
        result, content = check(file), file.read_bytes()
    return proof_from(
        result,
        notes_on_data=answered.notes,
        certificate=content if result.verdict == "ACCEPTED" else None,
        data=answered.data,
        copies=answered.copies,
        reasons={} if run is None else answered.unmet,
        seconds={"prove": proved - started, "check": time.perf_counter() - proved},
    )


def certify(
    network: Any,
    data: Dataset,
    claims: Iterable[str] | None = None,
    trained: Trained = "W",
    *,
    store_data: bool = True,
    step_size: float | None = None,
    weight_decay: float | None = None,
    run: Any = None,
) -> Certificate:
    """The certificate that `prove` would have checked: the strongest claims about the stored
    weights that hold, with their witnesses.

    Parameters
    ----------
    network : ShallowNetwork | DeepNetwork
        Trained network and the data set it was trained on.
    data : Dataset
        Trained network and the data set it was trained on.
    claims : Iterable[str] | None
        Kinds to prove, all of them ("interpolation", "descent", "relu-interpolation",
        "relu-descent", "relu-linearized-descent", "loss-floor", "head-gap"; for smooth networks
        "strict-saddle",
        "second-order-stationary", "unique-minimum"; for quadratic ones "optimality-gap",
        "identifies", "ambiguous", "below-barrier"; about the data alone "gram-positive", see also
        `certify_gram`; for deep networks "deep-descent", for patch networks "patch-interpolation",
        for networks with weight decay "dual-gap" and "unused-terms"); by default the strongest
        that hold: a positive loss floor if the data have one, otherwise descent and interpolation
        (smooth activations) or relu-interpolation; for quadratic networks the optimality gap where
        interpolation does not hold, if need be at the smallest weight decay that has a proof; for
        other smooth networks with fewer trained weights than samples, where no zero loss can be
        proved, a unique minimum (trained "W", at most 400 weights, in its quick form).
    trained : str
        "W" or "vW", the parameters that descent or interpolation may move; "v" for the claim
        head-gap.
    store_data : bool
        Keep the data in the file; otherwise only their digest, see `Certificate.save_data`.
    step_size : float | None
        The step the claims descent, relu-descent, relu-linearized-descent, deep-descent and
        below-barrier should speak of; by default the largest they allow.
    weight_decay : float | None
        For quadratic networks, w > 0: the optimality gap is that of L + (w/2) |W|^2 instead of L.
    run : Any
        As in `prove`.

    Returns
    -------
    Certificate
        Rows that repeat another are left out where they do not matter for the minimum; its `data`
        are the rows it speaks of, and `notes` says what was left out.

    Raises
    ------
    CannotCertify
        With `reasons`, claim by claim, and the measured numbers.
    MemoryRefused
        Before anything large is allocated, naming the memory needed.
    """
    options = {} if run is None else {"run": run}
    question = Question(network, data, trained, step_size, weight_decay, options)
    certificate: Any = certified(question, claims, store_data=store_data)[0]
    return certificate


def unproved(error: CannotCertify | HypothesisError | MemoryRefused, data: Any) -> Proof:
    """The proof that was not found, with the reasons."""
    reasons = error.reasons if isinstance(error, CannotCertify) else {}
    message = "none of the claims tried holds" if reasons else str(error).strip().rstrip(".")
    lacks_memory = isinstance(error, MemoryRefused)
    return no_proof(reasons, message=message, data=data, lacks_memory=lacks_memory)


@contextmanager
def _file_at(path: str | os.PathLike[str] | None) -> Iterator[Path]:
    """A file to write and check; afterwards it is at `path`, or gone."""
    folder = None if path is None else Path(path).absolute().parent
    handle, name = tempfile.mkstemp(prefix=".globalmin-", suffix=".gmc", dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if path is not None:
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
