"""The claim patch-interpolation from the trainer: what is proved of shared filters, what is refused
and why, and every number by another road.
"""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.oracles import fraction_patch_claims as slow
from tests.oracles import gmc_builder as gmc

import globalmin as gm
from globalmin.errors import CannotCertify
from globalmin.patches.claims.cell import measured
from globalmin.patches.claims.dense import dense_rows, table
from globalmin.patches.claims.interpolation import build
from globalmin.patches.claims.precise import labels_are_exact, precise_patch_residual
from globalmin_check.engine import check_bytes

DIGITS = load_digits()
KIND = ["patch-interpolation"]


def rows(X, y):
    return gm.Dataset(np.reshape(X, (len(X), -1)), y, bias=False, scaling="none")


def near(layout, n=4, filters=3, off=1e-3, seed=0):
    """A network whose labels are those of filters nearby, and its data."""
    rng = np.random.default_rng(seed)
    network = gm.PatchNetwork(
        rng.standard_normal((filters, layout.entries)),
        rng.standard_normal((filters, layout.n_patches)),
        layout,
    )
    X = rng.standard_normal((n, layout.n_features))
    moved = network.filters + off * rng.standard_normal(network.filters.shape)
    return network, rows(X, gm.PatchNetwork(moved, network.head, layout).predict(X))


@pytest.mark.parametrize("normalize", ["none", "unit", "contrast"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_file_holds_the_network_as_it_is(normalize, bias, tmp_path):
    """Patches cut by the file's table are those of the layout, and the promised filters fit
    exactly, in rationals.
    """
    layout = gm.patch_layout((5, 4), 3, 1, padding=1, bias=bias, normalize=normalize)
    network, data = near(layout, off=1e-5)
    proof = gm.prove(network, data, claims=KIND, path=tmp_path / "patches.gmc")
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.reaches_minimum
    raw = (tmp_path / "patches.gmc").read_bytes()
    file = slow.read_patches(raw)
    Z = layout.patches(data.X)
    assert [[[float(x) for x in z] for z in sample] for sample in file.patches] == Z.tolist()
    assert [list(map(float, row)) for row in file.filters] == network.filters.tolist()
    found = slow.nearest_zero(file, file.claims[0])
    assert not any(file.residual(found))
    distance2 = slow.distance2(found, file.filters)
    R = file.claims[0].fields["R"]
    assert R**2 / 100 < distance2 <= R**2  # |rhat|/sqrt(mu) is not far above the shortest way
    assert slow.check_bytes(raw)[0] == "ACCEPTED"


@pytest.mark.parametrize(
    ("n", "filters", "head"), [(30, 8, "signed"), (40, 4, "trained"), (100, 16, "signed")]
)
def test_fixed_output_weights_on_digits(n, filters, head):
    """DU-M6 with several filters: zero loss of shared filters; the last run ends on creases, and a
    witness is found beside them.
    """
    X, y = DIGITS.images[:n] / 16.0, DIGITS.target[:n].astype(float)
    padding = "same" if head == "trained" else 0
    layout = gm.patch_layout((8, 8), 3, 2, bias=True, padding=padding)
    run = gm.train_patches(X, y, layout, filters=filters, head=head, max_iter=400)
    assert run.status == "converged"
    proof = gm.prove(run.network, rows(X, y), claims=KIND)
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.claims[0].numbers.R < 1e-5
    assert proof.claims[0].numbers.others["solved"] == n
    assert "output weights" in proof.statement


def teacher(scale):
    X = DIGITS.images[:200] * scale
    w = np.random.default_rng(0).integers(-4, 5, (1, 16)) / 8.0
    network = gm.PatchNetwork(w, np.full((1, 4), 0.25), gm.patch_layout((8, 8), 4, 4))
    return network, X, network.predict(X)


def test_more_samples_than_weights_with_labels_that_are_exact():
    """200 digits, 16 weights: integer pixels, a teacher of few binary digits, so the labels have no
    rounding; some products are exactly zero there, and the rounded filters are the witness.
    """
    truth, X, y = teacher(1.0)
    run = gm.train_patches(X, y, truth.layout, head="average", seed=0)
    assert run.status == "converged"
    assert not np.array_equal(run.network.filters, truth.filters)
    proof = gm.prove(run.network, rows(X, y), claims=KIND)
    assert proof.verdict == "ACCEPTED", proof.why
    numbers = proof.claims[0].numbers
    assert numbers.others["solved"] == 16
    distance = np.linalg.norm(run.network.filters - truth.filters)
    assert distance <= numbers.R <= distance * (1 + 1e-6)


def test_more_samples_than_weights_with_rounded_labels_are_refused_with_the_reason():
    """The same teacher on pixels times 1.1/16: the labels are rounded, no filter fits exactly."""
    truth, X, y = teacher(1.1 / 16)
    proof = gm.prove(truth, rows(X, y), claims=KIND)
    assert proof.verdict == "NOT PROVED"
    assert "16 independent slopes at n = 200" in proof.why
    assert "without any rounding" in proof.why


def test_a_filter_that_cannot_fit_is_refused():
    X, y = DIGITS.images[:60] / 16.0, DIGITS.target[:60].astype(float)
    layout = gm.patch_layout((8, 8), 3, 2)
    run = gm.train_patches(X, y, layout, restarts=0)
    proof = gm.prove(run.network, rows(X, y), claims=KIND)
    assert proof.verdict == "NOT PROVED"
    assert "least loss there is above zero" in proof.why
    dead = gm.PatchNetwork(np.full((1, 9), -1.0), np.ones((1, 9)), layout)
    assert "no filter is active" in gm.prove(dead, rows(X, y), claims=KIND).why


def test_samples_shown_twice_follow_from_one():
    network, data = near(gm.patch_layout((6,), 3), n=3)
    twice = rows(np.concatenate([data.X, data.X]), np.concatenate([data.y, data.y]))
    proof = gm.prove(network, twice, claims=KIND)
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.claims[0].numbers.others["solved"] == 3
    other = rows(twice.X, twice.y + 1e-9 * (np.arange(6) == 5))
    assert gm.prove(network, other, claims=KIND).verdict == "NOT PROVED"


def test_the_precise_residual_is_exact_and_knows_its_error():
    network, data = near(gm.patch_layout((5,), 2, padding=1, bias=True), seed=3)
    patches = network.layout.patches(data.X)
    found = precise_patch_residual(network, patches, data.y)
    for r, radius, y, sample in zip(found.r, found.radius, data.y, patches, strict=True):
        exact = -Fraction(y) + sum(
            Fraction(a) * max(sum(Fraction(s) * Fraction(t) for s, t in zip(w, z, strict=True)), 0)
            for w, head in zip(network.filters.tolist(), network.head.tolist(), strict=True)
            for a, z in zip(head, sample.tolist(), strict=True)
        )
        assert abs(Fraction(r) - exact) <= Fraction(radius) + abs(exact) * Fraction(1, 2**52)


def test_exact_labels_are_told_from_rounded_ones_by_rationals():
    """The integer rank is that of the slopes and labels as rationals, with filters that stay."""
    rng = np.random.default_rng(1)
    layout = gm.patch_layout((4,), 2)
    for number in range(40):
        m = int(rng.integers(1, 4))
        network = gm.PatchNetwork(
            rng.integers(-3, 4, (m, 2)) / 4.0, rng.integers(-2, 3, (m, 3)) / 8.0, layout
        )
        X = rng.integers(-3, 4, (5, 4)).astype(float)
        moving = np.sort(rng.choice(m, int(rng.integers(1, m + 1)), replace=False))
        y = network.predict(X) + (rng.random() < 0.5) * rng.integers(0, 2, 5) * 2.0**-40
        patches = layout.patches(X)
        on = (patches @ network.filters.T > 0).transpose(0, 2, 1)
        J = np.matmul(on * network.head, patches)[:, moving].reshape(5, -1)
        fixed = np.setdiff1d(np.arange(m), moving)
        rest = y - np.einsum(
            "nkm,mk->n",
            np.maximum(patches @ network.filters[fixed].T, 0.0),
            network.head[fixed],
        )
        exact = slow.rank([[Fraction(x) for x in row] for row in np.column_stack([J, rest])])
        for rank in range(6):
            found = labels_are_exact(network, patches, y, moving, rank)
            assert found == (exact <= rank), number


def test_the_ratio_is_the_largest_move_over_its_margin():
    """By loops; RI or the second condition, whichever is smaller."""
    network, data = near(gm.patch_layout((6,), 3), seed=5, off=1e-4)
    patches = network.layout.patches(data.X)
    point = measured(network, patches, data.y)
    assert point.moving.size == 3
    G = point.J @ point.J.T
    assert point.mu == pytest.approx(np.linalg.eigvalsh(G)[0])
    rho, worst = np.linalg.norm(network.predict(data.X) - data.y), 0.0
    for j, w in enumerate(network.filters):
        M = sum(np.outer(b, b) for b in point.slopes[:, j])
        for z in patches.reshape(-1, 3):
            first = np.linalg.norm(z) * rho / np.sqrt(point.mu)
            second = np.sqrt(z @ M @ z) * rho / point.mu
            worst = max(worst, min(first, second) / abs(w @ z))
    assert point.ratio == pytest.approx(worst, rel=1e-6)


def test_a_small_product_that_the_filter_does_not_move_counts_by_the_second_condition():
    """The patch (-1/64, 1) is nearly orthogonal to the only slope (1, 0): ratio 1/16, not 4."""
    layout = gm.patch_layout((4,), 2, 2)
    network = gm.PatchNetwork([[1.0, 0.0]], [[1.0, 1.0]], layout)
    X, y = np.array([[1.0, 0.0, -(2.0**-6), 1.0]]), np.array([1.0 + 2.0**-4])
    assert measured(network, layout.patches(X), y).ratio == pytest.approx(1 / 16)
    assert gm.prove(network, rows(X, y), claims=KIND).verdict == "ACCEPTED"


def test_a_filter_whose_margin_is_too_small_stays_where_it_is():
    """The first filter is put beside a patch, so that the move would be three times its product."""
    network, data = near(gm.patch_layout((6,), 3), seed=6)
    patches, z = network.layout.patches(data.X), network.layout.patches(data.X)[2, 1]
    filters = np.array(network.filters)
    filters[0] += (1e-4 - filters[0] @ z) / (z @ z) * z
    beside = gm.PatchNetwork(filters, network.head, network.layout)
    outputs = beside.predict(data.X)
    unit = measured(beside, patches, outputs + 1e-9)
    all_move = np.linalg.eigvalsh(unit.slopes.reshape(4, -1) @ unit.slopes.reshape(4, -1).T)[0]
    reach = np.linalg.norm(unit.slopes[:, 0] @ z) / all_move
    move = min(np.linalg.norm(z) / np.sqrt(all_move), reach)
    point = measured(beside, patches, outputs + 3e-4 / move / 2.0)  # four labels: twice the norm
    assert point.moving.tolist() == [1, 2]
    assert point.ratio < 1


def test_products_whose_output_weight_is_zero_do_not_count():
    """They are exactly zero here."""
    network = gm.PatchNetwork([[1.0, 2.0]], [[1.0, 0.0, 1.0]], gm.patch_layout((4,), 2))
    X = np.array([[3.0, 2.0, -1.0, 4.0], [5.0, -2.0, 1.0, 7.0]])
    y = network.predict(X) + [2.0**-8, -(2.0**-9)]  # noqa: RUF005 (a sum of arrays)
    assert measured(network, network.layout.patches(X), y).ratio < 1
    assert gm.prove(network, rows(X, y), claims=KIND).verdict == "ACCEPTED"


def test_what_is_built_is_accepted_and_what_cannot_be_is_not_built():
    """Positive output weights, one label on its way below zero, where no filter fits it."""
    network, data = near(gm.patch_layout((6,), 3), seed=2)
    network = gm.PatchNetwork(network.filters, np.abs(network.head), network.layout)
    outputs, built = network.predict(data.X), []
    for share in np.linspace(-0.5, 1.0, 16):
        y = outputs * np.where(np.arange(4) == 1, share, 1.0)
        try:
            claim = build(network, dense_rows(network, rows(data.X, y)).X, y)
        except CannotCertify:
            continue
        built.append(share)
        assert claim.summary["ratio"] < 1
        assert gm.prove(network, rows(data.X, y), claims=KIND).verdict == "ACCEPTED"
    assert 1.0 in built
    assert min(built) > 0


def test_the_table_of_a_file_points_to_the_rows_of_the_file():
    layout = gm.patch_layout((4,), 3, padding=1, bias=True)
    network = gm.PatchNetwork(np.ones((1, 4)), np.ones((1, layout.n_patches)), layout)
    assert table(network).tolist() == [[-1, 0, 1, 4], [0, 1, 2, 4], [1, 2, 3, 4], [2, 3, -1, 4]]


def test_changed_numbers_are_refused(tmp_path):
    network, data = near(gm.patch_layout((6,), 3), off=1e-5)
    gm.prove(network, data, claims=KIND, path=tmp_path / "patches.gmc")
    top, tensors = gmc.unpack((tmp_path / "patches.gmc").read_bytes())
    assert check_bytes(gmc.pack(top, tensors)).verdict == "ACCEPTED"
    for name, change in (
        ("W", lambda W: W + 1e-3),
        ("v", lambda v: v + 1e-3),
        ("y", lambda y: y + 1e-3),
        ("patches", lambda t: t[::-1]),
    ):
        other = tensors | {name: np.array(change(tensors[name]))}
        assert check_bytes(gmc.pack(gmc.refresh_digest(top, other), other)).verdict != "ACCEPTED"


def test_the_default_proof_takes_filters_first_and_says_when_only_output_weights_do():
    """trained='W': filters where they can; with one filter and many output weights the head."""
    X, y = DIGITS.images[:12] / 16.0, DIGITS.target[:12].astype(float)
    layout = gm.patch_layout((8, 8), 3, 1, bias=True)
    run = gm.train_patches(X, y, layout, filters=1, head="trained")
    assert run.status == "converged"
    proof = gm.prove(run.network, rows(X, y))
    assert [claim.kind for claim in proof.claims] == ["head-gap"]
    assert proof.reaches_minimum
    many = gm.train_patches(X, y, layout, filters=4, head="trained")
    proof = gm.prove(many.network, rows(X, y))
    assert [claim.kind for claim in proof.claims] == KIND
