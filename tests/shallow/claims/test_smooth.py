"""Claims interpolation (OS-C2) and descent (OS-C1, OS-C5): accepted by the checker, sharp on the
golden example, or refused.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.shallow.claims.trained_networks import (
    SMOOTH,
    dense_jacobian,
    gauss_newton,
    interpolating,
    start,
)

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError, MemoryRefused
from globalmin.linalg.positive_definite import upper_witness
from globalmin.proving import certificate as resources
from globalmin.proving.producer import certify, check
from globalmin.shallow.claims import descent, interpolation, linearized_point
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import (
    ShallowNetwork,
    jacobian_gram,
    jacobian_transpose_times,
    residual,
)
from globalmin.shallow.provability import estimate_provability, linearize


def verdict(certificate, tmp_path):
    result = check(certificate.save(tmp_path / "fit.gmc"))
    return result.verdict.name, result.reason


def golden(w, y):
    """One neuron, one sample, phi = z^2, x = 1, v = 1."""
    return ShallowNetwork([[w]], [1.0], "quadratic"), Dataset.from_preprocessed([[1.0]], [y])


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", SMOOTH)
def test_trained_networks_get_both_claims_and_the_checker_accepts_them(
    activation, trained, tmp_path
):
    network, data = interpolating(activation, trained=trained)
    certificate = certify(network, data, trained=trained)
    assert [claim.kind for claim in certificate.claims] == ["descent", "interpolation"]
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ["softplus", "tanh", "quadratic"])
def test_claims_at_the_border_of_the_hypothesis_are_accepted_too(activation, trained, tmp_path):
    """Labels moved until 2 Lip g / a^2 is about 0.9: here a wrong margin or constant would show."""
    network, data = start(activation, distance=1e-6)
    ratio = estimate_provability(network, data.X, data.y, trained, claim="descent")
    target = network.predict(data.X)
    for share in (0.9, 0.8, 0.7, 0.6):
        moved = Dataset.from_preprocessed(data.X, target + share / ratio * (data.y - target))
        try:
            certificate = certify(network, moved, ["descent", "interpolation"], trained)
        except CannotCertify:
            continue
        assert verdict(certificate, tmp_path)[0] == "ACCEPTED"
        assert certificate.summary()["h"] > 0.15
        return
    pytest.fail("no claim close to the border")


@pytest.mark.parametrize(("w", "y"), [(1.5, 1.0), (2.0, 0.5), (1.0, 0.9)])
def test_golden_example_attains_radius_and_path(w, y, tmp_path):
    certificate = certify(*golden(w, y))
    exact = w - math.sqrt(y)
    summary = certificate.summary()
    assert exact <= summary["R"] <= exact * (1 + 1e-3)
    assert exact <= summary["path"] <= exact * (1 + 1e-3)
    assert 0 < summary["R_lo"] <= exact
    assert summary["Lip"] == pytest.approx(2.0, rel=1e-6)
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("y", [0.0, -1.0], ids=["tie", "no zero exists"])
@pytest.mark.parametrize("kind", ["interpolation", "descent"])
def test_golden_example_at_and_beyond_the_tie_is_refused(y, kind):
    with pytest.raises(CannotCertify, match=r"must be < 1|>= 1 on the ball"):
        certify(*golden(1.0, y), [kind])


def test_exactly_fitted_data_are_certified_with_radius_zero_or_next_to_it(tmp_path):
    certificate = certify(*golden(1.5, 2.25))
    assert certificate.summary()["R"] < 1e-40
    assert "R_lo" not in certificate.claims[1].fields
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_claimed_numbers_bound_what_a_dense_singular_value_decomposition_measures(trained):
    network, data = start("tanh", distance=1e-4)
    summary = certify(network, data, ["interpolation"], trained).summary()
    J, r = dense_jacobian(network, data.X, trained=trained), residual(network, data.X, data.y)
    singular = np.linalg.svd(J, compute_uv=False)
    e = np.linalg.norm(np.linalg.pinv(J) @ r)
    assert singular[-1] * 0.9999 <= summary["a"] < singular[-1]
    assert e < summary["e"] <= e * (1 + 1e-6)
    assert summary["R_lo"] < e < summary["R"] <= summary["rho"]
    assert 0.5 * r @ r < summary["loss_upper"] <= 0.5 * r @ r * (1 + 1e-6)
    moved = gauss_newton(network, data.X, data.y, trained=trained)
    distance = math.hypot(
        float(np.linalg.norm(moved.W - network.W)), float(np.linalg.norm(moved.v - network.v))
    )
    assert summary["R_lo"] <= distance <= summary["R"]


def test_descent_claim_is_kept_by_gradient_descent():
    network, data = start("softplus", distance=3e-4)
    summary = certify(network, data, ["descent"]).summary()
    norm, path = float(np.linalg.norm(residual(network, data.X, data.y))), 0.0
    for _ in range(400):
        step = summary["eta"] * jacobian_transpose_times(
            network, data.X, residual(network, data.X, data.y)
        )
        network = network.with_weights(network.W - step)
        following = float(np.linalg.norm(residual(network, data.X, data.y)))
        path += float(np.linalg.norm(step))
        assert following <= summary["rate"] * norm * (1 + 1e-9)
        norm = following
    assert path <= summary["path"]


def test_plain_gradient_descent_becomes_certifiable_late_in_the_run(tmp_path):
    """(n, d, k) = (100, 20, 40), softplus, unit sphere, random labels: the descent claim holds
    late, with its own step.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))
    data = Dataset.from_preprocessed(
        X / np.linalg.norm(X, axis=1)[:, None], rng.standard_normal(100)
    )
    head = np.where(np.arange(40) % 2, 1.0, -1.0) * np.linalg.norm(data.y) / math.sqrt(40 * 100)
    network = ShallowNetwork(rng.standard_normal((40, 20)), head, "softplus")
    eta = 1.0 / float(np.linalg.eigvalsh(jacobian_gram(network, data.X))[-1])
    for iteration in range(4000):
        if (
            iteration % 100 == 0
            and estimate_provability(network, data.X, data.y, claim="descent") < 0.9
        ):
            break
        network = network.with_weights(
            network.W
            - eta * jacobian_transpose_times(network, data.X, residual(network, data.X, data.y))
        )
    relative = np.linalg.norm(residual(network, data.X, data.y)) / np.linalg.norm(data.y)
    assert 1e-4 < relative < 5e-2
    certificate = certify(network, data)
    assert [claim.kind for claim in certificate.claims] == ["descent", "interpolation"]
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"
    with_step = certify(network, data, ["descent"], step_size=0.5 * certificate.summary()["eta"])
    assert with_step.summary()["eta"] == 0.5 * certificate.summary()["eta"]
    assert verdict(with_step, tmp_path)[0] == "ACCEPTED"


def test_sharper_quartic_bound_is_used_where_the_cheap_one_fails(tmp_path):
    network, data = start("quadratic", distance=1e-6)
    data = Dataset.from_preprocessed(data.X / np.linalg.norm(data.X, axis=1)[:, None], data.y)
    data = Dataset.from_preprocessed(data.X, network.predict(data.X) + 1e-6 * data.y)
    target = network.predict(data.X)
    cheap = linearize(jacobian_gram(network, data.X), residual(network, data.X, data.y))
    assert cheap is not None
    rows, svec = (
        estimate_lipschitz(network, data.X, 0.0, method=method) for method in ("rows", "svec")
    )
    assert svec < 0.8 * rows
    scale = (
        0.9 * cheap.a / (2 * svec * cheap.e)
    )  # 2 Lip e / a = 0.9 with the sharp constant, above 1 with the cheap one
    moved = Dataset.from_preprocessed(data.X, target + scale * (data.y - target))
    certificate = certify(network, moved, ["interpolation"])
    quartic = certificate.claims[0].fields["quartic"]
    assert quartic["method"] == "svec"
    assert Fraction(quartic["t"]) != 0
    assert certificate.claims[0].tensors["C_kappa"].shape == (21, 21)
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_nearly_singular_gram_matrices_are_certified_with_extended_precision(tmp_path):
    """Two almost equal rows: the condition number of J J^T passes 1e12, where doubles alone find no
    witness.
    """
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 5))
    X[1] = X[0] + 3e-7 * rng.standard_normal(5)
    network = ShallowNetwork(rng.standard_normal((6, 5)), rng.choice([-1.0, 1.0], 6), "tanh")
    data = Dataset.from_preprocessed(X, network.predict(X))
    K = jacobian_gram(network, data.X)
    assert np.linalg.cond(K) > 1e12
    certificate = certify(network, data, ["interpolation"])
    assert linearized_point.measure(network, data).lower.inverse_factor is not None
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("norm", ["rows", "factor"])
def test_both_bounds_of_the_jacobian_norm_are_accepted(norm, tmp_path, monkeypatch):
    monkeypatch.setattr(descent, "FACTOR_LIMIT", 0 if norm == "rows" else 1000)
    network, data = interpolating("softplus")
    certificate = certify(network, data, ["descent"])
    assert certificate.claims[0].fields["norm"] == norm
    assert ("C_b" in certificate.claims[0].tensors) == (norm == "factor")
    b2 = Fraction(certificate.claims[0].fields["b2"])
    K = jacobian_gram(network, data.X)
    assert b2 > np.linalg.eigvalsh(K)[-1]
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_a_given_step_uses_the_sharper_norm_only_when_it_must(tmp_path, monkeypatch):
    monkeypatch.setattr(descent, "FACTOR_LIMIT", 0)
    network, data = interpolating("softplus")
    by_rows = certify(network, data, ["descent"]).summary()["eta"]
    small = certify(network, data, ["descent"], step_size=0.9 * by_rows).claims[0]
    large = certify(network, data, ["descent"], step_size=1.05 * by_rows)
    assert small.fields["norm"] == "rows"
    assert large.claims[0].fields["norm"] == "factor"
    assert verdict(large, tmp_path)[0] == "ACCEPTED"


@pytest.mark.parametrize("step", [0.0, -0.1, 100.0, math.nan])
def test_a_step_the_theorem_does_not_cover_is_refused_with_the_largest_allowed(step):
    network, data = interpolating("softplus")
    with pytest.raises(CannotCertify, match=r"step_size=.* must be > 0 and at most"):
        certify(network, data, ["descent"], step_size=step)


def test_rate_keeps_digits_that_a_double_would_lose():
    """The claimed factor is 1 - eta alpha^2 as an exact fraction, also where a double would round
    it to 1.
    """
    network, data = interpolating("tanh")
    claim = descent.build(network, data)
    rate, eta = Fraction(claim.fields["rate"]), Fraction(claim.fields["eta"])
    assert 0 <= rate < 1
    alpha2 = (1 - rate) / eta
    assert alpha2 <= Fraction(claim.fields["a2"])
    assert alpha2 >= Fraction(claim.fields["a2"]) * (1 - Fraction(1, 10**6))


def test_untrained_networks_are_refused_with_the_measured_ratio():
    network, data = start("softplus", distance=3.0)
    with pytest.raises(CannotCertify) as caught:
        certify(network, data)
    assert set(caught.value.reasons) == {"descent", "interpolation"}
    assert "must be < 1" in caught.value.reasons["descent"]
    assert "relative residual" in caught.value.reasons["interpolation"]
    assert "kd = 48 >= n = 20" in caught.value.reasons["interpolation"]


def test_too_few_parameters_are_named_with_the_width_that_would_do():
    network, data = start("softplus", k=3)
    with pytest.raises(CannotCertify, match=r"kd = 18 < n = 20: widen to at least k = 4"):
        certify(network, data)
    with pytest.raises(CannotCertify, match=r"kd \+ k = 14 < n = 20: widen to at least k = 3"):
        certify(*start("softplus", k=2), trained="vW")


def test_equal_rows_with_equal_labels_are_left_out_and_the_certificate_says_so():
    network, data = interpolating("softplus")
    X, y = np.vstack([data.X, data.X[3]]), np.append(data.y, data.y[3])
    for claims in (None, ["interpolation"]):
        certificate = certify(network, Dataset.from_preprocessed(X, y), claims)
        np.testing.assert_array_equal(certificate.data.X, data.X)
        assert "1 of 21 rows repeat another row" in certificate.notes[0]
        assert "at most 2 times as large" in certificate.notes[0]
    alone = certify(network, data)
    assert certify(network, Dataset.from_preprocessed(X, y)).to_bytes() == alone.to_bytes()
    assert alone.notes == ()
    with pytest.raises(CannotCertify, match="rows 3 and 20 of the data are equal"):
        linearized_point.measure(network, Dataset.from_preprocessed(X, y))


def test_a_zero_head_makes_the_jacobian_singular_and_is_named():
    network, data = start("softplus")
    with pytest.raises(
        CannotCertify, match="8 of 8 head weights are zero, which leaves 0 weights < n = 20"
    ):
        certify(network.with_weights(v=np.zeros(8)), data, ["interpolation"])


@pytest.mark.parametrize("activation", ["swish", "gelu", "polynomial(0,1,0,1)"])
def test_activations_outside_the_format_are_refused_by_name(activation):
    network, data = start("softplus")
    with pytest.raises(CannotCertify, match="not in the certificate format") as caught:
        certify(ShallowNetwork(network.W, network.v, activation), data)
    assert activation.split("(")[0] in caught.value.reasons["activation"]


@pytest.mark.parametrize("activation", ["linear", "abs", "leaky_relu(0.1)"])
def test_activations_without_a_theorem_for_zero_loss_are_refused_by_name(activation):
    network, data = start("softplus")
    other = ShallowNetwork(network.W, network.v, activation)
    with pytest.raises(CannotCertify, match="no claim of the certificate format proves zero loss"):
        certify(other, data)
    with pytest.raises(CannotCertify, match="interpolation and descent are proved for"):
        interpolation.build(other, data)


@pytest.mark.parametrize("claims", [["interpolate"], [], ["descent", "loss"]])
def test_unknown_kinds_of_claims_are_refused(claims):
    network, data = start("softplus")
    with pytest.raises(DataError, match="claims="):
        certify(network, data, claims)


def test_a_single_kind_may_be_given_as_a_word_and_repetitions_count_once():
    network, data = interpolating()
    assert [claim.kind for claim in certify(network, data, "descent").claims] == ["descent"]
    assert [claim.kind for claim in certify(network, data, ["interpolation"] * 2).claims] == [
        "interpolation"
    ]


def test_asked_claims_must_all_hold():
    network, data = interpolating()
    with pytest.raises(CannotCertify) as caught:
        certify(network, data, ["interpolation", "relu-interpolation"])
    assert set(caught.value.reasons) == {"relu-interpolation"}


def test_wrong_parameters_are_refused_where_they_enter():
    network, data = start("softplus")
    with pytest.raises(DataError, match="trained='v'"):
        certify(network, data, ["interpolation"], trained="v")
    with pytest.raises(DataError, match="expects 6 features but the data have 5"):
        certify(network, Dataset.from_preprocessed(data.X[:, :5], data.y))


def test_large_problems_are_refused_before_anything_is_allocated(monkeypatch):
    network, data = start("softplus")
    monkeypatch.setattr(resources, "MEMORY_LIMIT", 10_000)
    with pytest.raises(MemoryRefused, match=r"n = 20 samples.*GiB"):
        certify(network, data)
    monkeypatch.undo()
    monkeypatch.setattr(resources, "CHECKER_WORK", 15_000)
    with pytest.raises(CannotCertify, match="work budget ends at n = 19"):
        certify(network, data)
    monkeypatch.undo()
    with pytest.raises(MemoryRefused, match=r"n = 100000 samples"):
        resources.refuse_if_too_large(100_000, network)
    with pytest.raises(CannotCertify, match="work budget"):
        resources.refuse_if_too_large(4_000, network)
    resources.refuse_if_too_large(2_000, network)


@pytest.mark.parametrize(
    ("activation", "W_size", "v_size"),
    [("softplus", 1.0, 1e200), ("quadratic", 1e200, 1.0), ("tanh", 1e300, 1e150)],
)
def test_overflowing_weights_are_refused_without_a_warning(activation, W_size, v_size):
    network, data = start(activation)
    huge = network.with_weights(network.W * W_size, network.v * v_size)
    with pytest.raises(CannotCertify, match=r"J J\^T is not provably positive definite"):
        certify(huge, data, ["interpolation"])


def test_one_sample_one_feature_one_neuron_is_a_legal_corner(tmp_path):
    network = ShallowNetwork([[0.3]], [2.0], "softplus")
    y = network.predict(np.array([[1.5]]))
    certificate = certify(network, Dataset.from_preprocessed([[1.5]], y))
    assert verdict(certificate, tmp_path)[0] == "ACCEPTED"


def test_data_kept_outside_the_file_are_checked_against_their_digest(tmp_path):
    network, data = interpolating()
    certificate = certify(network, data, store_data=False)
    path = certificate.save(tmp_path / "fit.gmc")
    assert (
        check(path, certificate.save_data(tmp_path / "data.safetensors")).verdict.name == "ACCEPTED"
    )
    other = certify(*interpolating(seed=5), store_data=False)
    assert check(path, other.save_data(tmp_path / "other.safetensors")).verdict.name != "ACCEPTED"


def test_bias_flag_is_written_only_for_a_last_column_of_ones(tmp_path):
    network, data = interpolating(bias=True)
    assert verdict(certify(network, data), tmp_path)[0] == "ACCEPTED"
    assert b'\\"bias\\":true' in certify(network, data).to_bytes()
    network, data = interpolating(bias=False)
    assert b'\\"bias\\":false' in certify(network, data).to_bytes()


def saturated(activation, steepness):
    """Six rows, and six neurons whose bends lie between them: phi'' vanishes up to rounding at
    every row.
    """
    X = np.stack([np.array([-3.0, -2.0, -1.0, 1.5, 2.5, 3.5]), np.ones(6)], axis=1)
    edges = np.array([-3.5, -2.5, -1.5, 0.25, 2.0, 3.0])
    W = steepness * np.stack([np.ones(6), -edges], axis=1)
    network = ShallowNetwork(W, np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]), activation)
    return network, Dataset(X, network.predict(X), bias=False, scaling="none")


@pytest.mark.parametrize("steepness", [40.0, 400.0, 1e4])
@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf"])
def test_saturated_neurons_are_accepted_although_rounding_exceeds_their_curvature(
    activation, steepness, tmp_path
):
    """Where phi'' = 1e-40 the Lipschitz constant in floats is all rounding; its witness must hold
    for the true, tiny one.
    """
    network, data = saturated(activation, steepness)
    for trained in ("W", "vW") if activation == "softplus" else ("vW",):
        for kind in ("interpolation", "descent"):
            found = verdict(certify(network, data, [kind], trained), tmp_path)
            assert found[0] == "ACCEPTED", (kind, trained, found)


def test_a_gap_for_what_is_uncertain_keeps_the_witness_true_of_smaller_matrices():
    """P1 in floats: C made for A proves bound I - B > 0 for every B between A - E and A, E >= 0 of
    the stated size.
    """
    rng = np.random.default_rng(1)
    for size in (1, 3, 8):
        root = rng.standard_normal((size, size))
        A, E = root @ root.T, np.outer(root[0], root[0]) * 0.9
        bound, C = upper_witness(A, uncertain=float(np.linalg.norm(E)))
        for share in (0.0, 0.5, 1.0):
            T = C @ (bound * np.eye(size) - A + share * E) @ C.T
            assert np.linalg.norm(T - np.eye(size)) <= 0.25 * share + 1e-6
        assert bound >= np.linalg.eigvalsh(A)[-1]
