"""Quadratic networks on rows without end: the same minimum as on the whole table, moments with
their proved rounding, files, pieces, Dask and a worker that is killed.
"""

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.oracles import fraction_stream_claims

import globalmin as gm
from globalmin.data.chunks import chunks_of
from globalmin.data.row_scaling import RowScaling
from globalmin.errors import CannotCertify, DataError
from globalmin.quadratic.claims.stream_gap import shard_sums
from globalmin.quadratic.shard_moments import BLOCK, RowPlan, shards_of
from globalmin.quadratic.solve import solve_quadratic
from globalmin.quadratic.stream import StreamedFit

NAMES = ["x0", "x1", "x2", "y"]


def table(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 30.0, 0.01] + [5.0, -2.0, 0.0]
    y = X[:, 0] * X[:, 1] + 100 * X[:, 2] + rng.standard_normal(n)
    return X, y


def fitted(n: int = 3000, **options: Any) -> StreamedFit:
    return gm.fit_stream(table(n), **({"weight_decay": 30.0, "shard_rows": 1000} | options))


@pytest.mark.parametrize("signs", ["mixed", "positive"])
def test_the_minimum_is_that_of_the_whole_table(signs: Any) -> None:
    """The solver of whole tables knows nothing of moments."""
    fit = fitted(signs=signs)
    X, y = table()
    rows = fit.plan.scaling.apply(np.column_stack([X, y]))
    whole = solve_quadratic(
        np.column_stack([rows[:, :-1], np.ones(len(rows))]), rows[:, -1], weight_decay=30.0,
        signs=signs,
    )  # fmt: skip
    assert fit.verdict == "ACCEPTED"
    assert fit.proof.loss_upper == pytest.approx(whole.objective, rel=1e-9)
    assert fit.proof.loss_lower <= whole.objective
    assert fit.relative_gap < 1e-7
    heads = fit.proof.claims[0].numbers.heads
    assert heads == ("any" if signs == "mixed" else "nonnegative")


def test_predictions_are_in_the_units_of_the_labels() -> None:
    fit = fitted()
    X, y = table()
    left = y - fit.predict(X)
    assert fit.r2 == pytest.approx(1 - left.var() / y.var(), abs=1e-4)
    assert fit.r2 > 0.99
    import pandas as pd

    frame = pd.DataFrame(X[:, ::-1], columns=NAMES[:3][::-1])
    assert np.array_equal(fit.predict(frame), fit.predict(X))
    with pytest.raises(DataError, match="X has 2 columns, the network was fitted on 3"):
        fit.predict(X[:, :2])


def test_moments_are_within_their_radius_and_the_radius_is_not_idle() -> None:
    """Against exact fractions; rounding is 1e3 times smaller than its bound at the most."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((40, 3)) * 1e3 + 7.0
    plan = RowPlan(("a", "b", "y"), RowScaling.of(rows), True, 100)
    (shard,) = shards_of([rows], plan)
    m, s = (list(map(Fraction, part.tolist())) for part in (plan.scaling.shift, plan.scaling.scale))
    exact = [[Fraction(0)] * len(shard.gram) for _ in shard.gram]
    for row in rows.tolist():
        a, b, y = ((Fraction(x) - p) * q for x, p, q in zip(row, m, s, strict=True))
        lifted = [a * a, a * b, a, b * b, b, Fraction(1), y]
        for j, left in enumerate(lifted):
            for k, right in enumerate(lifted):
                exact[j][k] += left * right
    shares = []
    for j in range(len(exact)):
        for k in range(len(exact)):
            error = abs(exact[j][k] - Fraction(float(shard.gram[j, k])))
            shares.append(float(error) / float(shard.radius[j] * shard.radius[k]))
    assert 1e-3 < max(shares) <= 1.0


def test_the_sums_of_the_claim_are_within_their_radii() -> None:
    """H8 by the slow checker, in fractions, at a network that is not the minimum."""
    X, y = table(60)
    fit = gm.fit_stream((X, y), weight_decay=3.0, shard_rows=25)
    network = gm.StreamNetwork(
        fit.network.W * 1.5 + 0.1, fit.network.v, NAMES, fit.plan.scaling, bias=True
    )
    sums = shard_sums(network, fit.shards)
    file = fraction_stream_claims.StreamFile(
        True, 4, [], list(map(Fraction, fit.plan.scaling.shift)),
        list(map(Fraction, fit.plan.scaling.scale)),
        [list(map(Fraction, row)) for row in network.W.tolist()],
        list(map(Fraction, network.v)), [],
    )  # fmt: skip
    rows = np.column_stack([X, y])
    for number, part in enumerate(np.split(rows, [25, 50])):
        A, B, Z = fraction_stream_claims._sums(file, part.tolist())
        alpha, beta, zeta = sums.radii[number]
        assert abs(A - Fraction(float(sums.squares[number]))) <= alpha < 1e-9 * A
        assert abs(B - Fraction(float(sums.products[number]))) <= beta
        exact = [Z[pair] for pair in sorted(Z)]
        off = [
            (1 + (a < b)) * (z - Fraction(float(stored))) ** 2
            for (a, b), z, stored in zip(sorted(Z), exact, sums.moments[number], strict=True)
        ]
        assert sum(off) <= Fraction(float(zeta)) ** 2


def test_the_radii_of_the_sums_contain_those_of_the_moments() -> None:
    """If every entry of the moments were off by its radius, with the signs of the network's matrix,
    the sums would be off by these numbers; actual rounding is far below, and would not show it.
    """
    fit = fitted(60, shard_rows=25)
    network = fit.network
    M = np.einsum("k,ka,kb->ab", network.v, network.W, network.W)
    first, second = np.triu_indices(4)
    twice = np.where(first == second, 1.0, 2.0)
    a = np.abs(np.append(M[first, second] * twice, -1.0))
    for shard, radii in zip(fit.shards, shard_sums(network, fit.shards).radii, strict=True):
        rounded = len(a) * 2.0**-53 * (np.abs(shard.gram) @ a)  # of the products themselves
        off = shard.radius * float(shard.radius @ a) + rounded
        wanted = float(a @ off), float(off[-1]), float(np.sqrt(twice @ off[:-1] ** 2))
        for radius, least in zip(radii, wanted, strict=True):
            assert least <= radius <= 10 * least


def test_moments_do_not_depend_on_how_the_rows_arrive() -> None:
    X, y = table(2 * BLOCK + 77)
    rows = np.column_stack([X, y])
    plan = RowPlan(tuple(NAMES), RowScaling.of(rows), True, BLOCK + 50)
    whole = shards_of([rows], plan)
    pieces = shards_of(np.split(rows, [1, 5, 700, BLOCK + 51, 2 * BLOCK]), plan)
    assert [shard.rows for shard in whole] == [BLOCK + 50, BLOCK + 27]
    for one, other in zip(whole, pieces, strict=True):
        assert one.sha256 == other.sha256
        assert np.array_equal(one.gram, other.gram)


def saved(folder: Path, kind: str) -> Any:
    """The table as a source of each kind."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = table()
    frame = pd.DataFrame(np.column_stack([X, y]), columns=NAMES)
    if kind == "npy":
        np.save(folder / "rows.npy", np.column_stack([X, y]))
        return folder / "rows.npy"
    if kind == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv"
    if kind == "folder":
        for i, start in enumerate(range(0, 3000, 1000)):
            pq.write_table(pa.table(frame[start : start + 1000]), folder / f"{i}.parquet")
        return folder
    if kind == "parquet":
        pq.write_table(pa.table(frame), folder / "rows.parquet", row_group_size=500)
        return folder / "rows.parquet"
    if kind == "memory map":
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")
    pieces: dict[str, Callable[[], Any]] = {
        "frame": lambda: frame,
        "iterator of frames": lambda: (frame[i : i + 1000] for i in range(0, 3000, 1000)),
        "iterator of pairs": lambda: (
            (X[i : i + 1000], y[i : i + 1000]) for i in range(0, 3000, 1000)
        ),
        "iterator of tables": lambda: iter(pa.table(frame).to_batches(max_chunksize=1000)),
    }
    return pieces[kind]()


KINDS = ["npy", "csv", "folder", "parquet", "memory map", "frame", "iterator of frames",
         "iterator of pairs", "iterator of tables"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_file(kind: str, tmp_path: Path) -> None:
    """The same rows in the same shards: the same bytes, wherever they come from."""
    named = {"target": "y"} if kind not in ("npy", "memory map", "iterator of pairs") else {}
    fit = gm.fit_stream(saved(tmp_path, kind), weight_decay=30.0, shard_rows=1000, **named)
    assert fit.certificate == fitted().certificate
    if kind in ("npy", "csv", "parquet"):
        found = fit.check([saved(tmp_path, kind)])
        assert found.verdict == "ACCEPTED", found.reason
        assert found.statement.startswith("All rows were read")


def test_a_shard_is_added_without_the_earlier_rows() -> None:
    X, y = table()
    first = gm.fit_stream((X[:2000], y[:2000]), weight_decay=30.0, shard_rows=1000)
    both = first.append((X[2000:], y[2000:]))
    assert (both.verdict, both.n_rows, len(both.shards)) == ("ACCEPTED", 3000, 3)
    whole = gm.fit_stream((X, y), weight_decay=30.0, shard_rows=1000, scaling=first.plan.scaling)
    assert both.certificate == whole.certificate
    with pytest.raises(DataError, match="is there already; add each shard once"):
        both.append((X[:1000], y[:1000]))
    elsewhere = gm.stream_moments((X[2000:], y[2000:]), first.plan)
    assert first.merge(elsewhere).certificate == both.certificate


def test_dask_collections_give_the_same_file() -> None:
    dataframe = pytest.importorskip("dask.dataframe")
    import dask.array
    import pandas as pd

    X, y = table()
    frame = pd.DataFrame(np.column_stack([X, y]), columns=NAMES)
    parts = dataframe.from_pandas(frame, chunksize=1000, sort=False)
    same = gm.fit_stream(parts, target="y", weight_decay=30.0, shard_rows=1000)
    assert same.certificate == fitted().certificate
    pair = (dask.array.from_array(X, chunks=(1000, 2)), dask.array.from_array(y, chunks=1000))
    again = gm.fit_stream(pair, weight_decay=30.0, shard_rows=1000)
    assert again.certificate == same.certificate
    with pytest.raises(DataError, match="rechunk y like the rows of X"):
        gm.fit_stream((pair[0], pair[1].rechunk(500)), weight_decay=30.0)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


class DiesOnce:
    """A part that kills its worker the first time it is read."""

    def __init__(self, part: Any, mark: Path) -> None:
        self.part, self.mark = part, mark

    def blocks(self, columns: tuple[str, ...]) -> Iterator[np.ndarray]:
        if not self.mark.exists():
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), 9)
        return self.part.blocks(columns)


def test_three_workers_one_of_which_is_killed_give_the_same_file(
    client: Any, tmp_path: Path
) -> None:
    from globalmin.quadratic import stream

    source, mark = saved(tmp_path, "parquet"), tmp_path / "killed"
    chunks = chunks_of(source, target="y", part_rows=1000)
    parts = list(chunks.parts)
    parts[1] = DiesOnce(parts[1], mark)
    plan = fitted().plan
    found = stream._moments(
        type(chunks)(chunks.columns, parts), RowPlan(tuple(NAMES), plan.scaling, True, 1000), client
    )
    assert int(mark.read_text()) != os.getpid()
    fit = gm.fit_stream(source, target="y", weight_decay=30.0, shard_rows=1000, client=client)
    assert fit.certificate == fitted().certificate
    for one, other in zip(found, fit.shards, strict=True):
        assert one.sha256 == other.sha256
        assert np.array_equal(one.gram, other.gram)


def test_no_decay_is_too_large_and_a_class_has_both_signs() -> None:
    """Beyond the critical decay the zero network is the minimum, and that is proved."""
    fit = fitted(weight_decay=1e6)
    assert fit.verdict == "ACCEPTED"
    assert not fit.network.W.any()
    assert fit.gap <= 1e-9 * fit.proof.loss_upper
    assert fit.proof.claims[0].numbers.heads == "any"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight_decay": 0.0}, "weight_decay=0.0 must be a positive number"),
        ({"weight_decay": float("nan")}, "weight_decay=nan must be"),
        ({"shard_rows": 0}, "shard_rows=0 must be an integer"),
        ({"tol": 1.0}, "tol=1.0 must lie strictly"),
        ({"signs": "both"}, "signs='both'"),
        ({"scaling": "rows"}, "scaling='rows'"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        fitted(30, **options)


def test_bad_sources_are_refused_with_the_place(tmp_path: Path) -> None:
    import pandas as pd

    X, y = table(20)
    frame = pd.DataFrame(np.column_stack([X, y]), columns=NAMES)
    gaps = frame.copy()
    gaps.loc[3, "x1"] = np.nan
    (tmp_path / "bad.csv").write_text("a,y\n1,2\nx,3\n")
    (tmp_path / "bad.parquet").write_text("no table")
    np.save(tmp_path / "flat.npy", y)
    cases: list[tuple[Any, str | None, str]] = [
        (frame, None, "no target column is named"),
        (frame, "z", "there is no target column 'z'"),
        (gaps, "y", "column 'x1': a value is missing .NaN., row 4"),
        (frame.assign(t="text"), "y", "column 't' has type"),
        (frame.assign(big=2**60), "y", "integers beyond 2.53"),
        ((X, y[:5]), None, "X has 20 rows and y has 5"),
        ((X, X), None, "shapes .20, 3. and .20, 3."),
        (iter([]), None, "the iterator is empty"),
        (iter([3]), "y", "a piece of rows is a int"),
        (iter([frame, frame[["x0", "y"]]]), "y", "a piece has no column"),
        (frame[:0], "y", "the source has no rows"),
        (7, None, "source is a int"),
        (tmp_path / "bad.csv", "y", "column 'a', line 3"),
        (tmp_path / "bad.parquet", "y", "not a readable parquet file"),
        (tmp_path / "flat.npy", None, "the array has the shape .20,."),
        (tmp_path / "rows.xlsx", "y", "rows are read from .parquet, .csv and .npy"),
        (tmp_path / "none.csv", "y", "cannot be read"),
    ]
    for source, target, words in cases:
        with pytest.raises(DataError, match=words):
            gm.fit_stream(source, target=target, weight_decay=1.0)
    wide = (np.ones((5, 101)), np.ones(5))
    with pytest.raises(DataError, match="moments of more than 100"):
        gm.fit_stream(wide, weight_decay=1.0)
    far = X.copy()
    far[7, 0] = 1e30
    with pytest.raises(DataError, match="'x0' has a value more than"):
        gm.fit_stream(iter([(X, y), (far, y)]), weight_decay=1.0, shard_rows=20)


def test_prove_asks_for_the_moments_and_the_decay() -> None:
    fit = fitted(60, shard_rows=30)
    with pytest.raises(DataError, match="the moments of at least one shard"):
        gm.prove(fit.network, None, weight_decay=1.0)
    with pytest.raises(DataError, match="weight_decay=None"):
        gm.prove(fit.network, fit.shards)
    assert gm.prove(fit.network, fit.shards, weight_decay=30.0).certificate == fit.certificate


def test_a_fit_without_a_proof_says_so() -> None:
    """One huge row drowns the others: the radii are larger than c."""
    X, y = table(200)
    X[0] *= 1e6
    fit = gm.fit_stream((X, y), weight_decay=1e-12, scaling=RowScaling.none(4))
    if fit.certificate is None:
        with pytest.raises(CannotCertify, match="there is no certificate"):
            fit.save_certificate("unused.gmc")
    else:
        assert fit.relative_gap > 1e-12


def test_a_ray_data_set_is_read_batch_by_batch() -> None:
    """A stand-in with the three methods that are used; Ray itself takes long to start."""

    class Batches:
        def __init__(self, frame: Any) -> None:
            self.frame = frame

        def schema(self) -> Any:
            return SimpleNamespace(names=list(self.frame.columns))

        def take_batch(self) -> None:
            raise AssertionError("only batches are read")

        def iter_batches(self, *, batch_size: int, batch_format: str) -> Iterator[Any]:
            assert (batch_size >= 1, batch_format) == (True, "pandas")
            for start in range(0, len(self.frame), 70):
                yield self.frame.iloc[start : start + 70]

    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    frame = pd.DataFrame({"a": X[:, 0], "y": X[:, 0] * X[:, 1], "b": X[:, 1]})
    given = {"target": "y", "weight_decay": 1.0}
    found = gm.fit_stream(Batches(frame), **given)
    assert found.certificate == gm.fit_stream(frame, **given).certificate
    more = {"rounds": 1, "bins": 8} | given
    curves = gm.fit_additive_stream(Batches(frame), **more)
    assert curves.certificate == gm.fit_additive_stream(frame, **more).certificate
