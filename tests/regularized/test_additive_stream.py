"""Additive networks on rows without end: the network against the one trained in memory, the proof
with and without the rows, shards, workers, and what is refused.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import globalmin as gm
from globalmin.data.row_scaling import RowScaling
from globalmin.errors import DataError
from globalmin.regularized.bin_heights import heights
from globalmin.regularized.hinge_training import lasso
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.shard_bins import BLOCK, BinPlan, ShardBins, added, bins_of
from globalmin.regularized.stream_network import AdditiveStreamNetwork
from globalmin.regularized.train import train_regularized


def table(n: int = 4000, seed: int = 0) -> np.ndarray:
    """Two continuous columns, one of few values, one constant; the label last."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n)) * [[3.0], [40.0]] + [[1.0], [-100.0]]
    few = rng.integers(0, 4, n).astype(float)
    y = np.abs(a) + np.sin(b / 20.0) + (few == 2) + 0.5 * rng.standard_normal(n)
    return np.column_stack([a, b, few, np.full(n, 7.0), y])


@pytest.fixture(scope="module")
def fit() -> gm.AdditiveStreamedFit:
    rows = table()
    return gm.fit_additive_stream((rows[:, :-1], rows[:, -1]), weight_decay=20.0, shard_rows=1500)


def test_the_gap_is_proved_and_small(fit: gm.AdditiveStreamedFit, tmp_path: Path) -> None:
    assert (fit.verdict, fit.n_rows, len(fit.shards)) == ("ACCEPTED", 4000, 3)
    assert fit.relative_gap <= 1e-5
    np.save(tmp_path / "rows.npy", table())
    found = fit.check([tmp_path / "rows.npy"])
    assert found.statement.startswith("All rows were read, and have the digests and the sums")
    other = table(seed=1)
    np.save(tmp_path / "rows.npy", other)
    assert fit.check([tmp_path / "rows.npy"]).verdict.value == "REJECTED"


def test_the_network_is_the_one_of_memory(fit: gm.AdditiveStreamedFit) -> None:
    """Another road: column generation on the scaled rows, with its own oracle."""
    scaled = fit.network.scaling.apply(table())
    problem = gm.RegularizedProblem(scaled[:, :-1], scaled[:, -1], gm.Penalty(20.0))
    run = train_regularized(problem, gap=1e-6)
    objective, inner = run.training.objective, fit.network.network
    left = inner.predict(scaled[:, :-1]) - scaled[:, -1]
    stored = 0.5 * float(left @ left) + problem.penalty.of(inner)
    assert fit.proof.loss_upper == pytest.approx(stored, rel=1e-9)
    assert objective * (1 - 2e-6) <= stored <= objective * (1 + 1e-5)
    mine_at = fit.network.network.predict(scaled[:, :-1])
    assert np.abs(mine_at - run.network.predict(scaled[:, :-1])).max() < 0.05


def test_predictions_are_in_units_of_the_label(fit: gm.AdditiveStreamedFit) -> None:
    rows = table()
    left = rows[:, -1] - fit.predict(rows[:, :-1])
    assert fit.r2 == pytest.approx(1 - np.mean(left**2) / rows[:, -1].var())
    assert abs(left.mean()) < 1e-9


def test_the_sums_are_within_their_radii_and_do_not_depend_on_the_pieces() -> None:
    """Exact sums of a shard by fractions, one row at a time."""
    rows = table(300)
    fit = gm.fit_additive_stream((rows[:, :-1], rows[:, -1]), weight_decay=3.0, bins=16, rounds=2)
    shard, network = fit.shards[0], fit.network
    for cut in (1, 7, 299):
        pieces = np.split(rows, [cut])
        again = bins_of(pieces, fit.plan)[0]
        assert np.array_equal(again.sums, shard.sums)
        assert (again.sha256, again.totals.tolist()) == (shard.sha256, shard.totals.tolist())
    scale = [list(map(Fraction, part)) for part in (network.scaling.shift, network.scaling.scale)]
    inner, totals = network.network, [Fraction(0)] * 4
    exact = [
        [(Fraction(a) - m) * s for a, m, s in zip(row, *scale, strict=True)]
        for row in rows.tolist()
    ]
    r = []
    for row in exact:
        f = Fraction(inner.intercept)
        for w, bias, v in zip(inner.W.tolist(), inner.bias, inner.v, strict=True):
            z = sum((Fraction(p) * x for p, x in zip(w, row, strict=False)), Fraction(bias))
            f += Fraction(v) * max(z, Fraction(0))
        r.append(f - row[-1])
        new = r[-1] ** 2, r[-1] * row[-1], r[-1], row[-1]
        totals = [old + more for old, more in zip(totals, new, strict=True)]
    rho, sigma, kappa, eta = map(Fraction, shard.radii)
    for exactly, stored, radius in zip(totals, shard.totals, (kappa, eta, rho, eta), strict=True):
        assert abs(exactly - Fraction(stored)) <= len(rows) * radius
        assert radius < 1e-9
    start = 0
    for j, edges in enumerate(fit.plan.edges):
        for k in range(len(edges) - 1):
            is_last = k == len(edges) - 2
            own = [
                i for i, a in enumerate(rows[:, j])
                if edges[k] <= a < edges[k + 1] or (is_last and a == edges[-1])
            ]  # fmt: skip
            left = (Fraction(edges[k]) - scale[0][j]) * scale[1][j]
            known = (
                sum((r[i] for i in own), Fraction(0)),
                sum((r[i] * (exact[i][j] - left) for i in own), Fraction(0)),
                sum((r[i] ** 2 for i in own), Fraction(0)),
            )
            assert len(own) == shard.counts[start + k]
            for exactly, stored, radius in zip(
                known, shard.sums[:, start + k], (rho, sigma, kappa), strict=True
            ):
                assert abs(exactly - Fraction(stored)) <= len(own) * radius
        start += len(edges) - 1


def one_bin(network: RegularizedNetwork, row: tuple[float, float], rows: int) -> ShardBins:
    """The sums of equal rows in the bin from -1 to 1."""
    stream = AdditiveStreamNetwork(network, ("x", "y"), RowScaling.none(2))
    plan = BinPlan(stream, (np.array([-1.0, 1.0]),), rows)
    return bins_of([np.tile(row, (rows, 1))], plan)[0]


def test_radii_hold_where_roundings_of_equal_rows_all_go_one_way() -> None:
    """8192 times 0.7, one after the other: a sixth of what the radii allow."""
    nothing = RegularizedNetwork(np.zeros((0, 1)), [], [], 0.0)
    shard, r = one_bin(nothing, (1.0, 0.7), BLOCK), -Fraction(0.7)
    for exactly, stored, radius in zip(
        (r, 2 * r, r * r), shard.sums[:, 0].tolist(), shard.radii[:3].tolist(), strict=True
    ):
        off = abs(BLOCK * exactly - Fraction(stored))
        assert 0.1 * BLOCK * Fraction(radius) <= off <= BLOCK * Fraction(radius)


def test_radii_hold_for_a_residual_that_is_all_rounding() -> None:
    """A thousand equal neurons and their own output as the label."""
    w, bias, v, x = (Fraction(part) for part in (0.1, 0.3, 0.1, 0.7))
    many = np.ones(1000)
    network = RegularizedNetwork(0.1 * many[:, None], 0.3 * many, 0.1 * many, 0.0)
    output = 1000 * v * (w * x + bias)
    shard = one_bin(network, (0.7, float(output)), 1)
    off = abs(output - Fraction(float(output)) - Fraction(float(shard.sums[0, 0])))
    assert off <= Fraction(float(shard.radii[0]))
    assert shard.radii[0] <= 1e-11  # 1016 roundings of 2^-53 of twice an output of 37: 8.5e-12


def test_heights_cover_every_neuron_of_the_rows(fit: gm.AdditiveStreamedFit) -> None:
    """Brute force over kinks on a grid and at the rows, for the residual of the network."""
    scaled = fit.network.scaling.apply(table())
    r = fit.network.network.predict(scaled[:, :-1]) - scaled[:, -1]
    u = r - r.mean()
    for x, height in zip(scaled[:, :-1].T, heights(fit.plan, fit.shards), strict=True):
        kinks = np.concatenate([np.linspace(x.min() - 2, x.max() + 2, 501), x[:500]])
        apart = x[:, None] - kinks
        found = max(
            float((np.abs(u @ np.maximum(s * apart, 0.0)) / np.hypot(1.0, kinks)).max())
            for s in (1.0, -1.0)
        )
        assert found <= height * (1 + 1e-9)
        assert height <= found * (1 + 1e-3) + 1e-2


def test_the_lasso_meets_its_conditions() -> None:
    """At the minimum the slope is b times the sign, and at most b elsewhere."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
        b = float(rng.uniform(0.01, 3.0))
        c = lasso(A.T @ A, A.T @ y, b)
        slope = A.T @ (y - A @ c)
        assert np.abs(slope).max() <= b * (1 + 1e-8)
        used = c != 0
        assert np.allclose(slope[used], b * np.sign(c[used]), rtol=1e-8)
    assert not lasso(np.eye(2), np.array([0.5, -0.5]), 1.0).any()


def test_more_rows_are_added_without_reading_the_old_ones(fit: gm.AdditiveStreamedFit) -> None:
    more = table(500, seed=3)
    inside = np.all(
        [(more[:, j] >= e[0]) & (more[:, j] <= e[-1]) for j, e in enumerate(fit.plan.edges)], axis=0
    )
    more = more[inside]
    later = fit.append((more[:, :-1], more[:, -1]))
    assert (later.verdict, later.n_rows) == ("ACCEPTED", 4000 + len(more))
    assert later.gap > fit.gap
    assert np.array_equal(later.network.network.W, fit.network.network.W)
    with pytest.raises(DataError, match="is there already"):
        later.append((more[:, :-1], more[:, -1]))
    more[0, 0] = 1e4
    with pytest.raises(DataError, match="outside of"):
        fit.append((more[:, :-1], more[:, -1]))
    with pytest.raises(DataError, match="give the same"):
        fit.append((more[:, :2], more[:, -1]))


def test_files_and_workers_give_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    rows = table(900)
    np.save(tmp_path / "rows.npy", rows)
    options: dict[str, Any] = {"weight_decay": 9.0, "shard_rows": 300, "rounds": 2, "bins": 32}
    here = gm.fit_additive_stream(tmp_path / "rows.npy", **options)
    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        there = gm.fit_additive_stream(tmp_path / "rows.npy", client=client, **options)
    assert here.certificate == there.certificate


def test_a_decay_that_is_too_large_leaves_a_constant() -> None:
    rows = table(200)
    fit = gm.fit_additive_stream((rows[:, :-1], rows[:, -1]), weight_decay=1e6)
    assert (fit.verdict, fit.network.width, fit.relative_gap < 1e-9) == ("ACCEPTED", 1, True)
    assert np.allclose(fit.predict(rows[:, :-1]), rows[:, -1].mean())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight_decay": 0.0}, "weight_decay=0.0 must be"),
        ({"weight_decay": 1.0, "gap": 2.0}, "gap=2.0 must lie"),
        ({"weight_decay": 1.0, "bins": 1}, "bins=1 must be an integer of at least 2"),
        ({"weight_decay": 1.0, "kinks": 1.5}, "kinks=1.5 must be"),
        ({"weight_decay": 1.0, "rounds": 0}, "rounds=0 must be"),
        ({"weight_decay": 1.0, "shard_rows": True}, "shard_rows=True must be"),
        ({"weight_decay": 1.0, "scaling": "white"}, "scaling='white'"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], words: str) -> None:
    rows = table(50)
    with pytest.raises(DataError, match=words):
        gm.fit_additive_stream((rows[:, :-1], rows[:, -1]), **options)


def test_an_iterator_is_refused_and_a_scaling_is_kept() -> None:
    rows = table(60)
    with pytest.raises(DataError, match="an iterator, which can be read once"):
        gm.fit_additive_stream(iter([(rows[:, :-1], rows[:, -1])]), weight_decay=1.0)
    own = RowScaling.none(5)
    fit = gm.fit_additive_stream(
        (rows[:, :-1] / 50, rows[:, -1]), weight_decay=1.0, scaling=own, rounds=1
    )
    assert fit.network.scaling is own
    assert isinstance(fit.plan, BinPlan)
    assert added(fit.shards).rows == 60
