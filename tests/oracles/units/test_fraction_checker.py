"""The slow checker on examples that are known by hand: golden values of the theory, exact
distances, the meaning of the oracle's answers."""

from fractions import Fraction

import numpy as np
import pytest
from tests.corpus.corpus_accepted import network, one_neuron, seeded
from tests.corpus.drafts import Draft, claim, data_file, seal, unseal
from tests.corpus.honest_instances import (
    RELU,
    SMOOTH_NETWORKS,
    descent_draft,
    floor_draft,
    interpolation_draft,
    relu_draft,
)
from tests.corpus.small_producer import Model, Slack, interpolation
from tests.oracles.fraction_checker import check_bytes, oracle_reason, oracle_truth
from tests.oracles.fraction_network import Network, quartic_exceeds, row_sum_bound, svec_matrix
from tests.oracles.strict_container import read

BITS = 160


def golden(w: Fraction, y: Fraction, R: Fraction, kind: str = "interpolation") -> Draft:
    """One neuron, z^2: K = 4 w^2, quartic form 4; claimed with a whisker of 1e-12."""
    model = one_neuron(float(y), float(w))
    whisker = Fraction(1, 10**12)
    fields = {
        "trained": "W",
        "a2": 4 * w * w - whisker,
        "rho": w,
        "quartic": {"kappa": 4 + whisker, "method": "rows"},
        "loss_upper": Fraction(9),
    }
    tensors = {"C_a": np.array([[1e6]]), "C_kappa": np.array([[1e6]])}
    if kind == "interpolation":
        tensors["z"] = np.array([float((w * w - y) / (4 * w * w))])
        return model.draft([claim(kind, fields | {"R": R}, tensors)])
    b2 = 4 * w * w + whisker
    fields |= {
        "b2": b2,
        "norm": "rows",
        "eta": 1 / (b2 * 16),
        "rate": Fraction(999, 1000),
        "path": R,
    }
    return model.draft([claim(kind, fields, tensors)])


@pytest.mark.parametrize("kind", ["interpolation", "descent"])
def test_radius_and_path_are_the_exact_distance_of_the_golden_example(kind: str):
    distance = Fraction(1, 10)  # w - sqrt y with w = 1, y = 0.81 as the double it is
    room = Fraction(1, 10**8)
    y = Fraction(0.81)
    assert check_bytes(seal(golden(Fraction(1), y, distance + room, kind))).verdict == "ACCEPTED"
    assert check_bytes(seal(golden(Fraction(1), y, distance - room, kind))).verdict == "REJECTED"
    assert oracle_truth(seal(golden(Fraction(1), y, distance + room, kind))) is True
    assert oracle_truth(seal(golden(Fraction(1), y, distance - room, kind))) is False


@pytest.mark.parametrize("y", [Fraction(0), Fraction(-1, 2), Fraction(-3)])
def test_a_label_that_cannot_be_reached_is_never_accepted(y: Fraction):
    draft = golden(Fraction(1), y, Fraction(1))
    assert check_bytes(seal(draft)).verdict == "REJECTED"
    assert oracle_truth(seal(draft)) is False


def test_the_loss_is_enclosed_and_tight():
    draft = interpolation_draft(seeded("loss"), SMOOTH_NETWORKS["softplus"])
    net = Network(read(seal(draft)), BITS)
    model = Model(draft.network, draft.X, draft.y, draft.W, draft.v)
    assert float(net.loss.upper) == pytest.approx(
        0.5 * float(np.sum(model.residual() ** 2)), rel=1e-9
    )
    assert net.loss.upper - net.loss.lower < net.loss.upper / 2**100


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("word", list(SMOOTH_NETWORKS))
def test_the_gram_matrix_is_that_of_the_float_jacobian(word: str, trained: str):
    draft = interpolation_draft(seeded("gram" + word), SMOOTH_NETWORKS[word])
    J = Model(draft.network, draft.X, draft.y, draft.W, draft.v).jacobian(trained)
    K = [[float(x.lower) for x in row] for row in Network(read(seal(draft)), BITS).gram(trained)]
    np.testing.assert_allclose(K, J @ J.T, rtol=1e-10, atol=1e-12)


def test_the_quartic_matrix_reproduces_the_form_on_rank_one_directions():
    """s^T (kappa I - S^T q S + t(uu^T - I)) s = kappa - sum q (x.a)^4 for s = svec(aa^T), |a| = 1,
    whatever t.
    """
    draft = interpolation_draft(seeded("quartic"), SMOOTH_NETWORKS["tanh"], (3, 3, 3))
    net = Network(read(seal(draft)), BITS)
    q = net.quartic_weights("W", Fraction(1, 8))
    A = np.array(
        [
            [float(x.lower) for x in row]
            for row in svec_matrix(net.certificate.X, q, Fraction(5), Fraction(3, 7))
        ]
    )
    a = np.array([2.0, -1.0, 2.0]) / 3
    s = np.array([a[i] * a[j] * (1 if i == j else 2**0.5) for i in range(3) for j in range(i, 3)])
    form = sum(float(w.lower) * (x @ a) ** 4 for w, x in zip(q, draft.X, strict=True))
    assert s @ A @ s == pytest.approx(5 - form, rel=1e-12)


def test_a_direction_above_kappa_is_found_exactly_when_there_is_one():
    X = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(2)]]
    draft = interpolation_draft(seeded("quartic"), SMOOTH_NETWORKS["tanh"])
    one = Network(read(seal(draft)), BITS).loss.__class__.of(1, BITS)
    assert quartic_exceeds(X, [one, one], Fraction(16) - Fraction(1, 10**6))
    assert not quartic_exceeds(X, [one, one], Fraction(16))


def test_the_row_sum_bounds_the_largest_eigenvalue():
    draft = descent_draft(seeded("norm"), SMOOTH_NETWORKS["tanh"])
    K = Network(read(seal(draft)), BITS).gram("W")
    largest = float(np.linalg.eigvalsh(np.array([[float(x.lower) for x in row] for row in K]))[-1])
    assert largest <= float(row_sum_bound(K).upper)


@pytest.mark.parametrize("factor", [1 - 1e-7, 1 + 1e-7])
def test_the_oracle_ignores_the_witness_and_the_checker_does_not(factor: float):
    draft = interpolation_draft(
        seeded("oracle"), SMOOTH_NETWORKS["softplus"], slack=Slack(radius=1e-9)
    )
    draft.claims[0].tensors["C_a"] *= 0
    assert check_bytes(seal(draft)).verdict == "REJECTED"
    draft.claims[0].fields["R"] *= Fraction(factor)
    assert oracle_truth(seal(draft)) is (factor > 1)
    assert ("R" in oracle_reason(seal(draft))) is (factor < 1)


def test_malformed_bytes_claim_nothing_and_other_data_are_refused():
    draft = interpolation_draft(seeded("outside"), SMOOTH_NETWORKS["softplus"], stored=False)
    raw, data = seal(draft), data_file(draft)
    assert check_bytes(raw, data).verdict == "ACCEPTED"
    assert check_bytes(raw).verdict == "UNDECIDED"
    assert oracle_truth(raw) is None
    assert oracle_truth(b"") is None
    draft.y[0] += 1
    assert check_bytes(raw, data_file(draft)).verdict == "REJECTED"
    assert oracle_truth(raw, data_file(draft)) is False


def test_relu_claims_hold_up_to_the_exact_boundary_of_mu():
    """G = diag(1, 4) by construction: mu below 1 is proved, mu = 1 is true but has no strict
    witness, above it is false.
    """
    W = np.array([[1.0, -1.0], [-1.0, 2.0]])
    model = Model(RELU, np.eye(2), np.array([1.0, 4.0]), W, np.array([1.0, 2.0]))
    none = np.zeros((0, 2), dtype=np.int64)

    def verdict(mu: Fraction) -> tuple[str, bool | None]:
        C = np.diag([1 / max(1 - float(mu), 1e-20) ** 0.5, 1 / (4 - float(mu)) ** 0.5])
        tensors = {"W_hat": W, "T": np.array([0, 1]), "C": C, "dropped": none}
        fields = {"mu": mu, "R": Fraction(0), "loss_upper": Fraction(0)}
        raw = seal(model.draft([claim("relu-interpolation", fields, tensors)]))
        return check_bytes(raw).verdict, oracle_truth(raw)

    assert verdict(Fraction(1, 2)) == ("ACCEPTED", True)
    assert verdict(Fraction(1)) == ("REJECTED", True)
    assert verdict(Fraction(1) + Fraction(1, 10**20)) == ("REJECTED", False)


def test_the_refined_margin_accepts_what_the_plain_one_does_not():
    """One active sample far out and one inactive orthogonal one near the kink: no shift of the
    second is possible.
    """
    X, W = np.array([[8.0, 0.0], [0.0, 1.0]]), np.array([[1.0, -0.01], [-0.01, 1.0]])
    model = Model(RELU, X, np.array([8.5, 1.0]), W, np.ones(2))
    tensors = {
        "W_hat": W,
        "T": np.array([0, 1]),
        "C": np.diag([63.5**-0.5, 0.5**-0.5]),
        "dropped": np.zeros((0, 2), dtype=np.int64),
    }
    fields = {"mu": Fraction(1, 2), "R": Fraction(1), "loss_upper": Fraction(1)}
    plain = 0.01**2 * 0.5 >= 1.0 * 0.25
    assert not plain
    assert (
        check_bytes(seal(model.draft([claim("relu-interpolation", fields, tensors)]))).verdict
        == "ACCEPTED"
    )


def test_dropped_samples_are_true_by_homogeneity():
    draft = relu_draft(seeded("dropped"), dropped=True)
    assert check_bytes(seal(draft)).verdict == "ACCEPTED"
    draft.claims[0].tensors["dropped"][1, 1] = 1
    assert check_bytes(seal(draft)).verdict == "REJECTED"


@pytest.mark.parametrize(
    ("name", "rows", "labels", "kind", "floor"),
    [
        ("sigmoid", [[0.0], [-0.0]], [0.0, 1.0], 0, Fraction(1, 4)),
        ("relu", [[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], 2, Fraction(1, 10)),
        ("quadratic", [[1.0, 2.0], [-2.0, -4.0]], [1.0, 1.0], 3, (2 - Fraction(25, 17)) / 2),
        ("abs", [[1.0, 2.0], [-2.0, -4.0]], [1.0, 1.0], 3, Fraction(1, 10)),
        ("tanh", [[1.0, 2.0], [-1.0, -2.0]], [1.0, 1.0], 4, Fraction(1)),
    ],
)
def test_floors_are_exact(
    name: str, rows: list[list[float]], labels: list[float], kind: int, floor: Fraction
):
    for extra, verdict in ((Fraction(0), "ACCEPTED"), (Fraction(1, 10**30), "REJECTED")):
        draft = floor_draft(network(name), rows, labels, [(kind, [0, 1])], floor + extra)
        draft.claims[0].fields["gap"] = Fraction(1000)
        assert check_bytes(seal(draft)).verdict == verdict
        assert oracle_truth(seal(draft)) is (verdict == "ACCEPTED")


def test_drafts_survive_sealing_and_opening():
    draft = relu_draft(seeded("round trip"), dropped=True)
    raw = seal(draft)
    assert seal(unseal(raw)) == raw
    outside = interpolation_draft(seeded("round trip"), SMOOTH_NETWORKS["erf"], stored=False)
    raw = seal(outside)
    assert seal(unseal(raw, data_file(outside))) == raw


def test_a_claim_is_checked_for_the_stored_numbers_not_for_the_producers_floats():
    model = one_neuron(0.81)
    draft = model.draft([interpolation(model)])
    draft.W = np.nextafter(draft.W, 2)
    assert check_bytes(seal(draft)).verdict == "ACCEPTED"
    draft.W = draft.W + 0.5
    assert check_bytes(seal(draft)).verdict == "REJECTED"
