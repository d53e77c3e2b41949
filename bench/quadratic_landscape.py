"""The landscape of quadratic networks, as the theorems say: 1,000 descents, every saddle on the
way, the census, identification.

Run `python -m bench.quadratic_landscape` for everything (a few CPU minutes), `--starts 100` for
less, `--picture out.svg` for a picture. Every minimum, saddle and identification counted here has a
certificate that the independent checker accepted.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  (the number of threads is read at import)

from globalmin.data import Dataset  # noqa: E402
from globalmin.errors import CannotCertify  # noqa: E402
from globalmin.landscape.classify import classify_point  # noqa: E402
from globalmin.proving.producer import certify, check  # noqa: E402
from globalmin.quadratic.census import StationaryPoint, stationary_census, stationary_weights  # noqa: E402
from globalmin.quadratic.identifiability import exact_span_rank, recover_gram  # noqa: E402
from globalmin.quadratic.many_starts import Descents, QuadraticLoss, descend, random_starts  # noqa: E402
from globalmin.quadratic.risk import quadratic_outputs  # noqa: E402
from globalmin.quadratic.runs import (  # noqa: E402
    RISK_FACTOR,
    conditioned_teacher,
    population_samples,
)
from globalmin.shallow.network import ShallowNetwork  # noqa: E402
from globalmin.shallow.stationary import PointKind, nearest_stationary  # noqa: E402

D = 8
SAMPLES = (20, 24, 60, 120)  # two below, two above d(d+1)/2 = 36
ACCEPTED = "ACCEPTED"


@dataclass(frozen=True)
class Problem:
    """n samples of d features, arbitrary labels, and the mixed head with d weights of each sign."""

    n: int
    d: int = D

    @property
    def data(self) -> Dataset:
        """Samples and labels."""
        rng = np.random.default_rng((self.n, self.d))
        return Dataset.from_preprocessed(
            rng.standard_normal((self.n, self.d)), 3.0 * rng.standard_normal(self.n)
        )

    @property
    def head(self) -> np.ndarray:
        """As many weights 1 as weights -1, d of each."""
        return np.repeat([1.0, -1.0], self.d)

    @property
    def claim(self) -> str:
        """What proves the minimum: the gap where the squares span, zero loss nearby where the
        samples are fewer.
        """
        return "optimality-gap" if self.n >= self.d * (self.d + 1) // 2 else "interpolation"


@dataclass
class Outcome:
    """What became of the starts of one problem; `worst` is the largest proved excess loss, relative
    to the loss of W = 0.
    """

    problem: Problem
    runs: Descents
    seconds: float
    proved: int = 0
    worst: float = 0.0
    saddles: Counter[str] = field(default_factory=Counter)


def verdict(
    network: ShallowNetwork, data: Dataset, claim: str
) -> tuple[str, dict[str, str | float]]:
    """The checker's verdict on one claim about the network, and its numbers; the reason if there is
    no certificate.
    """
    try:
        certificate = certify(network, data, claims=[claim])
    except CannotCertify as refusal:
        return str(refusal), {}
    with TemporaryDirectory() as folder:
        result = check(certificate.save(Path(folder) / "claim.gmc"))
    return result.verdict.name, dict(result.claims[0].numbers or {})


def network_of(W: np.ndarray, v: np.ndarray) -> ShallowNetwork:
    return ShallowNetwork(W, v, "quadratic")  # pyright: ignore[reportArgumentType]


def descend_all(problem: Problem, count: int, *, every: int | None = None) -> Outcome:
    """Plain gradient descent from `count` random starts."""
    data = problem.data
    loss = QuadraticLoss.of_data(data.X, data.y, problem.head)
    starts = random_starts(count, problem.head.size, problem.d, seed=problem.n)
    began = time.process_time()
    runs = descend(loss, starts, every=every)
    return Outcome(problem, runs, time.process_time() - began)


def prove_ends(outcome: Outcome, most: int | None = None) -> Outcome:
    """Prove every end (or the first `most`): its excess loss over all quadratic networks, or zero
    loss next to it.
    """
    data, zero = outcome.problem.data, 0.5 * float(outcome.problem.data.y @ outcome.problem.data.y)
    for W in outcome.runs.W[:most]:
        found, numbers = verdict(network_of(W, outcome.problem.head), data, outcome.problem.claim)
        outcome.proved += found == ACCEPTED
        excess = numbers.get("gap", numbers.get("loss", np.inf))
        outcome.worst = max(outcome.worst, float(excess) / zero)
    return outcome


def prove_saddles(outcome: Outcome, most: int | None = None) -> Outcome:
    """Classify what was met: the iterate at each plateau, which is near a saddle and not at it, so
    that the claim of negative curvature is what counts there, and the stationary point it leads to
    if that is a saddle.
    """
    data, v = outcome.problem.data, outcome.problem.head
    for plateau in outcome.runs.plateaus[:most]:
        here = network_of(plateau.W, v)
        outcome.saddles[_judged(here, data, "plateau", tol=1.0)] += 1
        outcome.saddles[
            _judged(nearest_stationary(here, data.X, data.y, max_iter=40), data, "nearby")
        ] += 1
    return outcome


def _judged(network: ShallowNetwork, data: Dataset, place: str, *, tol: float = 1e-6) -> str:
    found = classify_point(network, data, tol=tol)
    names = {PointKind.STRICT_SADDLE: "saddle", PointKind.NOT_DECIDED: "curves downwards"}
    if found.kind not in names:
        return f"{place}: {found.kind}"
    return f"{place}: {names[found.kind]}, {verdict(network, data, 'strict-saddle')[0]}"


def planted_saddles(problem: Problem, *, seed: int = 0) -> list[ShallowNetwork]:
    """W = 0, and minima over fewer neurons (one to three, of either sign) with zero neurons added:
    stationary, not global.

    Candidates that did not settle at a stationary point are left out.
    """
    data, v, d = problem.data, problem.head, problem.d
    found = [network_of(np.zeros((v.size, d)), v)]
    for chosen in ([0], [d], [0, d], [0, 1], [d, d + 1], [0, 1, d]):
        loss = QuadraticLoss.of_data(data.X, data.y, v[chosen])
        runs = descend(
            loss,
            random_starts(2, len(chosen), d, scales=(0.3, 0.3), seed=seed),
            target=0.0,
            max_iter=1_000,
        )
        for W in runs.W:
            small = nearest_stationary(network_of(W, v[chosen]), data.X, data.y)
            padded = np.zeros((v.size, d))
            padded[chosen] = small.W
            found.append(network_of(padded, v))
    return [network for network in found if classify_point(network, data).relative_gradient <= 1e-9]


def census_saddles(
    d: int, *, seed: int = 0, width: int | None = None
) -> list[tuple[StationaryPoint, str, dict[str, str | float]]]:
    """Every stationary point of the population risk of a teacher but the minimum, each with the
    checker's verdict.

    The samples carry the population risk exactly (`population_samples`), so the certificates are
    about that risk.
    """
    m = d + 1 if width is None else width
    Wstar = conditioned_teacher(d, m, seed=seed)
    X = population_samples(d)
    data = Dataset.from_preprocessed(X, quadratic_outputs(Wstar, X))
    rows = []
    for point in stationary_census(Wstar):
        if not point.is_global:
            network = network_of(stationary_weights(point, m), np.ones(m))
            kind = classify_point(network, data).kind
            found, numbers = verdict(network, data, "strict-saddle")
            rows.append((point, found if kind is PointKind.STRICT_SADDLE else str(kind), numbers))
    return rows


@dataclass(frozen=True)
class Identification:
    """Planted networks at the critical number of samples: how many of the draws are determined
    (exactly), the certificates, and the largest relative error of the recovered matrix.
    """

    d: int
    draws: int
    identified: int
    identifies: str
    ambiguous: str
    error: float
    seconds: float


def identification(d: int, draws: int, *, seed: int = 0) -> Identification:
    """Draw planted networks at n = d(d+1)/2: the exact rank of every draw, certificates for the
    first, and one sample less.
    """
    N, began = d * (d + 1) // 2, time.process_time()
    identified, error, verdicts = 0, 0.0, ("", "")
    for draw in range(draws):
        rng = np.random.default_rng((seed, d, draw))
        X, W = rng.standard_normal((N, d)), rng.standard_normal((d, d))
        network = network_of(W, np.ones(d))
        y = network.predict(X)
        identified += exact_span_rank(X) == (N, N)
        A = W.T @ W
        error = max(error, float(np.linalg.norm(recover_gram(X, y) - A) / np.linalg.norm(A)))
        if draw == 0:
            few = Dataset.from_preprocessed(X[:-1], y[:-1]) if N > 1 else None
            verdicts = (
                verdict(network, Dataset.from_preprocessed(X, y), "identifies")[0],
                verdict(network, few, "ambiguous")[0] if few is not None else "no sample left",
            )
    return Identification(d, draws, identified, *verdicts, error, time.process_time() - began)


def draw_picture(outcome: Outcome, path: Path) -> None:
    """Excess loss of some runs against the iteration, the plateaus marked."""
    from matplotlib.figure import Figure

    data = outcome.problem.data
    loss = QuadraticLoss.of_data(data.X, data.y, outcome.problem.head)
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    history = np.maximum(outcome.runs.history - loss.least, 1e-13 * loss.c) / loss.c
    axes.loglog(np.arange(1, len(history) + 1), history[:, :40], color="0.6", linewidth=0.6)
    met = [plateau for plateau in outcome.runs.plateaus if plateau.start < 40]
    axes.loglog(
        [max(plateau.iteration, 1) for plateau in met],
        [max(plateau.loss - loss.least, 1e-13 * loss.c) / loss.c for plateau in met],
        "o",
        color="tab:red",
        markersize=3,
        label="plateaus, every one with an accepted direction downwards",
    )
    axes.set(xlabel="iteration", ylabel="relative excess over the proved minimum")
    axes.set_title(
        f"d = {outcome.problem.d}, k = {2 * outcome.problem.d}, n = {outcome.problem.n}, arbitrary "
        "labels: 40 starts"
    )
    axes.legend(loc="lower left", frameon=False)
    figure.savefig(path)


def report_descents(count: int, picture: Path | None) -> None:
    for n in SAMPLES:
        outcome = prove_saddles(prove_ends(descend_all(Problem(n), count // len(SAMPLES))))
        runs = outcome.runs
        print(
            f"n={n}: {runs.reached.sum()}/{runs.reached.size} runs reach the minimum, "
            f"{outcome.proved} proved ({outcome.problem.claim}), largest proved excess "
            f"{outcome.worst:.1e}; iterations {int(np.median(runs.iterations))} (median) to "
            f"{runs.iterations.max()}, {outcome.seconds:.1f} CPU s; met: {dict(outcome.saddles)}",
            flush=True,
        )
        planted = Counter(
            _judged(network, outcome.problem.data, "planted")
            for network in planted_saddles(outcome.problem)
        )
        print(f"       {dict(planted)}", flush=True)
    if picture is not None:
        draw_picture(descend_all(Problem(60), 40, every=1), picture)
        print(f"picture: {picture}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=1_000)
    parser.add_argument(
        "--census", type=int, default=8, help="features of the teacher whose census is classified"
    )
    parser.add_argument("--dimensions", type=int, nargs="*", default=[2, 3, 5, 8, 12, 20, 30])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args()
    report_descents(chosen.starts, chosen.picture)
    rows = census_saddles(chosen.census)
    ratios = [
        float(numbers["gamma"]) / (-RISK_FACTOR * point.least_curvature)
        for point, _, numbers in rows
    ]
    print(
        f"census d={chosen.census}: {len(rows)} saddles, "
        f"{sum(found == ACCEPTED for _, found, _ in rows)} accepted; certified "
        f"curvature over the formula {min(ratios):.12f} to {max(ratios):.12f}"
    )
    for d in chosen.dimensions:
        found = identification(d, chosen.draws if d <= 12 else max(chosen.draws // 10, 1))
        print(
            f"d={d}, n={d * (d + 1) // 2}: {found.identified}/{found.draws} identified exactly, "
            f"certificate {found.identifies}; one sample less: ambiguous {found.ambiguous}; "
            f"recovered to {found.error:.0e}; {found.seconds:.1f} CPU s",
            flush=True,
        )


if __name__ == "__main__":
    main()
