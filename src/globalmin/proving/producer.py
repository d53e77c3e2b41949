"""The one road to a proof: `prove`, and `certify`, which stops before the checker.

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.errors import CannotCertify, HypothesisError, MemoryRefused
from globalmin.proving.checking import check
from globalmin.proving.ladder import certified
from globalmin.proving.proof import Proof, no_proof, proof_from
from globalmin.proving.record import Question

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.proving.certificate import Certificate


def prove(
    network: Any,
    data: Any,
    *,
    trained: str = "W",
    weight_decay: float | None = None,
    claims: Iterable[str] | None = None,
    step_size: float | None = None,
    is_quick: bool = False,
    path: str | os.PathLike[str] | None = None,
) -> Proof:
    """Find the strongest claims that hold, write the certificate file, and let the independent
    checker read it from disk.

    Never raises for want of a proof: `verdict` is then NOT PROVED and `reasons` says why.

    Parameters
    ----------
    network : Any
        A ShallowNetwork or DeepNetwork; a OneFilterNetwork or Factors.
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
    question = Question(network, data, trained, step_size, weight_decay or None)
    try:
        certificate, answered = certified(question, claims, is_quick=is_quick)
    except (CannotCertify, HypothesisError, MemoryRefused) as error:
        return _unproved(error, data)
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
        seconds={"prove": proved - started, "check": time.perf_counter() - proved},
    )


def certify(
    network: Any,
    data: Dataset,
    claims: Iterable[str] | None = None,
    trained: str = "W",
    *,
    store_data: bool = True,
    step_size: float | None = None,
    weight_decay: float | None = None,
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
        "relu-descent", "loss-floor", "head-gap"; for smooth networks "strict-saddle",
        "second-order-stationary", "unique-minimum"; for quadratic ones "optimality-gap",
        "identifies", "ambiguous", "below-barrier"; about the data alone "gram-positive", see also
        `certify_gram`; for deep networks "deep-descent", the only one); by default the strongest
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
        The step the claims descent, relu-descent, deep-descent and below-barrier should speak of;
        by default the largest they allow.
    weight_decay : float | None
        For quadratic networks, w > 0: the optimality gap is that of L + (w/2) |W|^2 instead of L.

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
    question = Question(network, data, trained, step_size, weight_decay)
    certificate: Any = certified(question, claims, store_data=store_data)[0]
    return certificate


def _unproved(error: CannotCertify | HypothesisError | MemoryRefused, data: Any) -> Proof:
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
