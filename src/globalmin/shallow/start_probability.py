r"""How likely a random start of this width succeeds on these data: N seeds, each proved or not, and
the exact binomial bound that follows.

The papers' theorem says that gradient descent from $W_0 \sim N(0,1)$ reaches zero loss with high
probability if the network is wide enough, with constants that ask for millions of neurons. Here the
data are in front of us: the seeds 0..N-1 are drawn by a rule that the checker repeats, each start
is proved by the claim *trajectory* or counts as a failure, and with confidence $1-\alpha$ the
probability of success is at least the number printed (proposition ST of the claim's page).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import ExecutorName
from globalmin.errors import DataError
from globalmin.shallow.from_start import prove_start, seeded_network
from globalmin.shallow.methods.gradient_descent import MAX_ITER, check_step
from globalmin.shallow.step_sizes import (
    general_step,
    has_os_head,
    has_unit_rows,
    smooth_step,
    spectral_norm,
)

if TYPE_CHECKING:
    from globalmin._types import NDArray
    from globalmin.data import Dataset

STEPS = 10**4  # the bound is a multiple of 1/STEPS
_ASSUMPTION = "outputs of SHA-256 are taken as independent uniform bits"


@dataclass(frozen=True)
class StartShare:
    """Of `n_seeds` random starts of this width, `n_proved` are proved to reach zero loss.

    Attributes
    ----------
    width : int
        Neurons; with activation, head and step fixed before the first seed.
    activation : str
        Of the neurons.
    step_size : float
        On L = (1/2) sum r^2.
    n_seeds : int
        The seeds 0..n_seeds-1 were tried; everything that was not accepted is a failure.
    n_proved : int
        Accepted certificates.
    confidence : float
        Of the bound.
    variants : int
        Settings tried in all, which the bound pays for.
    probability_lower : float
        With this confidence a random start succeeds at least so often; proved but for the
        assumption on SHA-256.
    steps : NDArray[np.int64]
        K of each proved run.
    reasons : Mapping[int, str]
        Why the other seeds are not proved.
    certificates : Mapping[int, bytes]
        The accepted files, by seed.
    """

    width: int
    activation: str
    step_size: float
    n_seeds: int
    n_proved: int
    confidence: float
    variants: int
    probability_lower: float
    steps: NDArray[np.int64] = field(repr=False)
    reasons: Mapping[int, str] = field(repr=False)
    certificates: Mapping[int, bytes] = field(repr=False)

    @property
    def share(self) -> float:
        """The part of the seeds that was proved."""
        return self.n_proved / self.n_seeds

    @property
    def statement(self) -> str:
        """The sentence, with what it rests on."""
        tried = (
            f" ({self.variants} variants were tried, which is accounted for)"
            if self.variants > 1
            else ""
        )
        return (
            f"From {self.n_proved} of {self.n_seeds} starts with independent N(0, 1) hidden "
            f"weights and {self.width} {self.activation} neurons, gradient descent on W with step "
            f"{self.step_size:.6g} is proved to reach zero loss. So with confidence "
            f"{100 * self.confidence:g} % a random start succeeds on these data with probability "
            f"at least {self.probability_lower:g}{tried}. Fixed before the first seed: data, head, "
            f"width, step and the number of seeds. Assumed: {_ASSUMPTION}. Nothing is said of "
            "other data."
        )

    def __str__(self) -> str:
        return self.statement


def probability_below(n_proved: int, n_seeds: int, alpha: Fraction) -> Fraction:
    r"""The largest q0 on a grid of 1/10,000 with $\sum_{j\ge s}\binom Nj q_0^j(1-q_0)^{N-j} \le
    \alpha$, decided in integers: the lower end of Clopper and Pearson.
    """
    low, high = 0, STEPS  # q0 = 0 always holds unless s = 0, where nothing can be said
    if n_proved == 0:
        return Fraction(0)
    while high - low > 1:
        middle = (low + high) // 2
        if _tail(n_proved, n_seeds, middle) <= alpha * STEPS**n_seeds:
            low = middle
        else:
            high = middle
    return Fraction(low, STEPS)


def _tail(s: int, n: int, q: int) -> int:
    """STEPS^n times the probability of at least s successes of n, each with q/STEPS."""
    return sum(math.comb(n, j) * q**j * (STEPS - q) ** (n - j) for j in range(s, n + 1))


def prove_starts(
    data: Dataset,
    *,
    width: int,
    seeds: int,
    activation: str = "softplus",
    step_size: float | str = "theory",
    confidence: float = 0.99,
    variants: int = 1,
    max_iter: int = MAX_ITER,
    out: str | Path | None = None,
    executor: ExecutorName = "local",
    workers: int | None = None,
) -> StartShare:
    """Prove N random starts, and bound the probability that one succeeds.

    Parameters
    ----------
    data : Dataset
        The samples.
    width : int
        Neurons k; the head is that of OS, +-||y||/sqrt(kn).
    seeds : int
        N: the seeds 0..N-1 are tried, all of them.
    activation : str
        softplus, sigmoid, tanh or erf.
    step_size : float | str
        One step for all seeds, on L = (1/2) sum r^2; "theory" for that of OS-T6.2.
    confidence : float
        Of the bound.
    variants : int
        How many settings (steps, widths, versions of the data) were tried in all, this one
        included; the bound pays for each.
    max_iter : int
        Steps after which a start is given up.
    out : str | Path | None
        Folder of the sweep: a second call goes on where an interrupted one ended. None: nothing is
        kept.
    executor : str
        "local" processes, "dask" or "ray".
    workers : int | None
        Processes.

    Examples
    --------
    >>> import globalmin as gm
    >>> data = gm.generators.sphere_with_random_labels(4, 6, seed=0)
    >>> found = gm.prove_starts(data, width=20, seeds=4, activation="tanh", step_size=0.3)
    >>> found.n_proved, found.probability_lower  # 4 of 4 says little: .01^(1/4)
    (4, 0.3162)
    """
    _check(seeds, confidence, variants)
    eta = common_step(data, width, activation, step_size)
    setting = {"width": width, "activation": activation, "step_size": eta, "max_iter": max_iter}
    with TemporaryDirectory(prefix="globalmin-starts-") as passing:
        folder = Path(passing if out is None else out)
        rows = _swept(folder, data, setting, seeds, executor=executor, workers=workers)
    files = {
        int(row["seed"]): row["certificate"].tobytes()
        for row in rows
        if row.get("verdict") == "ACCEPTED"
    }
    _require_one_setting(files, seeds)
    alpha = (1 - Fraction(str(confidence))) / variants
    reasons = {int(r["seed"]): _why(r) for r in rows if r.get("verdict") != "ACCEPTED"}
    return StartShare(
        width,
        activation,
        eta,
        seeds,
        len(files),
        confidence,
        variants,
        float(probability_below(len(files), seeds, alpha)),
        np.array([int(r["steps"]) for r in rows if r.get("verdict") == "ACCEPTED"], dtype=np.int64),
        reasons,
        files,
    )


def _check(seeds: int, confidence: float, variants: int) -> None:
    if not seeds >= 1:
        raise DataError(f"seeds={seeds!r} must be at least 1")
    if not 0.0 < confidence < 1.0:
        raise DataError(f"confidence={confidence!r} must lie between 0 and 1, for example 0.99")
    if not variants >= 1:
        raise DataError(f"variants={variants!r} must be at least 1, this setting included")


def common_step(
    data: Dataset, width: int, activation: str, step_size: float | str = "theory"
) -> float:
    """The step of all seeds, fixed before the first is drawn: "theory" looks at data and head only.

    OS-T6.2 for unit rows, otherwise 1/(B |v| |X|)^2, which no |J(W)|^2 exceeds (OS-L6.6).
    """
    if step_size != "theory":
        return check_step(step_size)
    network = seeded_network(0, data, width, activation)  # only its head and activation are read
    X, y, B = data.X, np.asarray(data.y), float(network.activation.supremum(1))
    if has_unit_rows(X) and has_os_head(network.v, y):
        norms = {"X_norm": spectral_norm(X), "y_norm": float(np.linalg.norm(y))}
        return check_step(smooth_step(len(y), B=B, **norms))
    return check_step(general_step(X, network.v, B))


def one_start(
    data: str, *, width: int, activation: str, step_size: float, max_iter: int, seed: int
) -> dict[str, Any]:
    """One trial of the sweep: the verdict on this seed, K, and the certificate."""
    from globalmin.data import Dataset

    with np.load(data, allow_pickle=False) as stored:
        samples = Dataset.from_preprocessed(stored["X"], stored["y"], bias=bool(stored["bias"]))
    proof = prove_start(
        seed,
        samples,
        width=width,
        activation=activation,
        step_size=step_size,
        max_iter=max_iter,
    )
    numbers = proof.claims[0].numbers if proof.is_accepted else None
    return {
        "verdict": proof.verdict,
        "why": proof.why,
        "steps": -1 if numbers is None else int(numbers.others["steps"]),
        "prove_seconds": float(proof.seconds.get("prove", math.nan)),
        "check_seconds": float(proof.seconds.get("check", math.nan)),
        "certificate": np.frombuffer(proof.certificate or b"", dtype=np.uint8),
    }


def _swept(
    folder: Path, data: Dataset, setting: dict[str, Any], seeds: int, **options: Any
) -> list[dict[str, Any]]:
    """The trials of all seeds through the sweep engine, in their order."""
    from globalmin import sweep

    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"data-{data.digest[:16]}.npz"
    if not place.exists():
        np.savez(place, X=data.X, y=np.asarray(data.y), bias=data.bias)
    plan = sweep.Plan(one_start, fixed=setting | {"data": str(place.absolute())}, seeds=seeds)
    sweep.run(plan, folder / "trials", **options)
    return sweep.rows(folder / "trials", arrays=True)


def _why(row: Mapping[str, Any]) -> str:
    lines = str(row.get("why") or row.get("error") or row["status"]).strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _require_one_setting(files: Mapping[int, bytes], seeds: int) -> None:
    """All files speak of one setting and each of its own seed: what the sentence rests on is read
    from the certificates, not from what we think we asked for.
    """
    settings = set()
    for seed, raw in files.items():
        said = _said(raw)
        claim = said["claims"][0]
        if claim["seed"] != seed or not 0 <= seed < seeds:
            raise RuntimeError(f"the file of seed {seed} is about seed {claim['seed']}")
        settings.add(json.dumps([said["data"], said["network"], claim["eta"], said["head"]]))
    if len(settings) > 1:
        raise RuntimeError("the files speak of different data, networks, heads or steps")


def _said(raw: bytes) -> dict[str, Any]:
    """The object `certificate` of a file, and the bytes of its head."""
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    begin, end = header["v"]["data_offsets"]
    head = raw[8 + length + begin : 8 + length + end].hex()
    return json.loads(header["__metadata__"]["certificate"]) | {"head": head}
