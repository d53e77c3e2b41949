"""Networks with fewer trained weights than samples: counting decides at once that zero loss cannot
be proved, and what can is.
"""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import CannotCertify
from globalmin.proving.producer import certify, check
from globalmin.recovery.claims import unique_minimum
from globalmin.shallow.claims import linearized_point, relu_descent, relu_interpolation
from globalmin.shallow.network import ShallowNetwork

EXPENSIVE = (
    "precise_residual",
    "jacobian_gram",
    "precise_jacobian_gram",
    "lower_witness",
    "gram_rounding",
)


def planted(n, k=2, d=4, activation="tanh", *, noise=0.1, seed=0):
    """A teacher of k neurons with heads of both signs, and its noisy labels."""
    rng = np.random.default_rng(seed)
    network = ShallowNetwork(rng.standard_normal((k, d)), np.resize([1.0, -1.0], k), activation)
    X = rng.standard_normal((n, d))
    return network, Dataset(
        X, network.predict(X) + noise * rng.standard_normal(n), bias=False, scaling="none"
    )


@pytest.fixture
def counted(monkeypatch):
    """How often the expensive parts of the linearized point are called."""
    calls = []
    for name in EXPENSIVE:
        real = getattr(linearized_point, name)
        monkeypatch.setattr(
            linearized_point,
            name,
            lambda *a, real=real, name=name, **k: calls.append(name) or real(*a, **k),
        )
    return calls


@pytest.mark.parametrize(
    ("trained", "n", "count", "width"),
    [("W", 1500, "kd = 8", 375), ("vW", 1500, "kd + k = 10", 300), ("W", 9, "kd = 8", 3)],
)
def test_rank_decides_before_anything_is_computed(counted, trained, n, count, width):
    """rank(J J^T) <= kd (kd + k with the head) < n: once minutes of high precision, and a matrix of
    n^2 balls.
    """
    network, data = planted(n)
    for kinds in (["descent"], ["interpolation"], ["descent", "interpolation"]):
        with pytest.raises(CannotCertify) as refusal:
            certify(network, data, kinds, trained)
        assert counted == []
        for kind in kinds:
            assert (
                f"since {count} < n = {n}: widen to at least k = {width} (with nonzero heads), or "
                "claim" in refusal.value.reasons[kind]
            )
            assert (
                "unique-minimum, second-order-stationary, or loss-floor"
                in refusal.value.reasons[kind]
            )
    assert str(refusal.value).count("J J^T is singular") == 1


def test_as_many_weights_as_samples_are_not_refused_by_counting(counted):
    for n, trained in ((8, "W"), (10, "vW")):
        counted.clear()
        with pytest.raises(CannotCertify) as refusal:
            certify(*planted(n), ["interpolation"], trained)
        assert "whatever the weights" not in str(refusal.value)
        assert "lower_witness" in counted


def test_neurons_with_head_zero_do_not_count(counted):
    network, data = planted(9, k=3)
    silent = network.with_weights(v=np.array([1.0, 0.0, -1.0]))
    with pytest.raises(
        CannotCertify,
        match="1 of 3 head weights are zero, which leaves 8 weights < n = 9: widen to at least",
    ):
        certify(silent, data, ["interpolation"])
    assert counted == []
    with pytest.raises(CannotCertify, match=r"must be < 1|not provably"):
        certify(
            silent, data, ["interpolation"], "vW"
        )  # 8 weights of W and 3 of v are enough for 9 samples
    assert counted


def test_a_strict_minimum_is_among_the_defaults_where_counting_forbids_zero_loss(tmp_path, counted):
    network, data = planted(400)
    settled = unique_minimum.polish_minimum(network, data)
    certificate = certify(settled, data)
    assert [claim.kind for claim in certificate.claims] == ["unique-minimum"]
    assert check(certificate.save(tmp_path / "minimum.gmc")).verdict.name == "ACCEPTED"
    assert counted == []
    with pytest.raises(CannotCertify) as refusal:
        certify(network, data)
    assert set(refusal.value.reasons) == {"descent", "interpolation", "unique-minimum"}
    assert "polish the weights" in refusal.value.reasons["unique-minimum"]


def test_defaults_try_the_unique_minimum_only_where_it_is_cheap_and_about_the_trained_weights(
    monkeypatch,
):
    tried = []
    monkeypatch.setattr(
        unique_minimum, "build", lambda network, data, form=None: tried.append(form) or _refuse()
    )
    for trained, k, n in (("W", 2, 30), ("vW", 2, 30), ("W", 101, 405), ("W", 8, 30)):
        with pytest.raises(CannotCertify):
            certify(*planted(n, k=k), trained=trained)
    assert tried == ["plain"]
    with pytest.raises(CannotCertify):
        certify(*planted(30), ["unique-minimum"])
    assert tried == ["plain", None]


def _refuse():
    raise CannotCertify("not today")


def test_quadratic_networks_get_their_gap_and_the_advice_names_it(tmp_path, counted):
    network, data = planted(60, activation="quadratic")
    certificate = certify(network, data)
    assert [claim.kind for claim in certificate.claims] == ["optimality-gap", "identifies"]
    assert counted == []
    with pytest.raises(CannotCertify, match=r"\(optimality-gap, unique-minimum"):
        certify(network, data, ["interpolation"])


def test_relu_networks_are_refused_by_counting_too(monkeypatch):
    network, data = planted(40, activation="relu")
    for module in (relu_interpolation, relu_descent):
        monkeypatch.setattr(
            module, "precise_residual", lambda *a: pytest.fail("computed before counting")
        )
    for kind in ("relu-interpolation", "relu-descent"):
        with pytest.raises(
            CannotCertify, match=r"singular \(kd = 8 < n = 40, .*widen to at least k = 10"
        ):
            certify(network, data, [kind])
