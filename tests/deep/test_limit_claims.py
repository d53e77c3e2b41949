"""Claims about the limits of deep networks: what is proved is the kernel of the network itself,
nearly all of it, and nothing else is accepted.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.checker import gram_cases
from tests.oracles import gmc_builder as gmc

import globalmin as gm
from globalmin.deep.network import DeepNetwork
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

CASES = [
    ((4,), "fully_connected", 1, "tanh", "last"),
    ((4,), "fully_connected", 3, "softplus", "last"),
    ((4,), "fully_connected", 2, "erf", "all"),
    ((4,), "resnet", 3, "sigmoid", "last"),
    ((4,), "resnet", 3, "softplus", "all"),
    ((1, 4), "convolutional_resnet", 2, "softplus", "last"),
    ((1, 4), "convolutional_resnet", 2, "erf", "all"),
]


def rows(n=4, seed=3):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X / np.linalg.norm(X, axis=1)[:, None]


@pytest.mark.parametrize(("shape", "architecture", "depth", "activation", "blocks"), CASES)
def test_nearly_the_whole_eigenvalue_is_proved(shape, architecture, depth, activation, blocks):
    """DU-P3.1, DU-P3.2 for DU-D3.1, DU-D3.2, DU-D3.3 and the kernel of all layers: accepted, below
    the eigenvalue of `limit_gram` and within one part in a hundred of it."""
    network = DeepNetwork.initialize(shape, 6, depth, architecture, activation, c_res=0.8)
    certificate = gm.certify_deep_gram(network, rows(), blocks=blocks)
    result = check_bytes(certificate.to_bytes())
    assert result.verdict is Verdict.ACCEPTED, result.reason
    kernel = network.limit_gram(rows())
    least = np.linalg.eigvalsh(kernel.total if blocks == "all" else kernel.last)[0]
    assert 0.99 * least <= certificate.summary()["lambda"] <= least
    assert result.claims[0].numbers["lambda"] <= least


@pytest.mark.parametrize("blocks", ["last", "all"])
@pytest.mark.parametrize("windows", [None, np.array([[0, 1], [1, -1]])])
def test_three_roads_to_one_matrix(blocks, windows):
    """DU-D3.4: pairwise quadrature with dense window operators, the library's recursion, and the
    checker's balls, which accept 0.999 of the eigenvalue and reject 1.001 of it."""
    X = rows(2)
    layers = [(1.3, False), (0.2, True), (0.4, True)] if windows is not None else [(1.3, False)] * 2
    K = gram_cases.deep_matrix("softplus", X, layers, blocks, windows)
    least = float(np.linalg.eigvalsh(K)[0])
    for share, verdict in ((0.999, Verdict.ACCEPTED), (1.001, Verdict.REJECTED)):
        claim = gram_cases.deep_claim(
            "softplus", X, layers, blocks, windows=windows, slack=0.999, terms=48, lam=share * least
        )
        result = check_bytes(gram_cases.build("softplus", X, [claim]))
        assert result.verdict is verdict, result.reason
    if windows is None:
        scales = tuple(np.sqrt(square / 5) for square, _ in layers)
        weights = (np.zeros((5, 4)), np.zeros((5, 5)))
        network = DeepNetwork(weights, np.zeros(5), scales, gm.get_activation("softplus"))
        kernel = network.limit_gram(X)
        found = kernel.total if blocks == "all" else kernel.last
        np.testing.assert_allclose(found, K, rtol=1e-11)


def test_too_few_terms_are_never_accepted_for_more():
    """The remainder counts: with one coefficient the entries are known to no digit, and the claim
    that is true stays open or is refused, never more than true is accepted."""
    X = rows(2)
    layers = [(1.3, False), (0.9, False)]
    least = float(np.linalg.eigvalsh(gram_cases.deep_matrix("tanh", X, layers, "last"))[0])
    for terms in (1, 2, 5, 20):
        claim = gram_cases.deep_claim("tanh", X, layers, slack=0.99, terms=terms, lam=1.02 * least)
        verdict = check_bytes(gram_cases.build("tanh", X, [claim])).verdict
        assert verdict is not Verdict.ACCEPTED
    claim = gram_cases.deep_claim("tanh", X, layers, slack=0.9999, terms=1)
    assert check_bytes(gram_cases.build("tanh", X, [claim])).verdict is not Verdict.ACCEPTED


def test_the_remainder_is_needed_and_nearly_attained():
    """One coefficient of softplus' = sigmoid, two unit rows with cosine rho = .7: what is left out
    is nearly all of order one, so the bound |rho| sqrt(tau tau) is nearly attained. A claim a fifth
    or a thousandth of it above the truth is not accepted, one below what the bound leaves is (with
    the factor 2.5 for P1, whose triangular factor takes the ball twice)."""
    rho = 0.7
    X = np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    K = gram_cases.deep_matrix("softplus", X, [(1.0, False)], "last")
    tau = K[0, 0] - 0.25  # c_0 = E sigmoid = 1/2
    assert 0.9 < (K[0, 1] - rho * 0.25) / (rho**2 * tau) <= 1
    partial = np.array([[K[0, 0], rho * 0.25], [rho * 0.25, K[0, 0]]])
    truth, left_out = K[0, 0] - K[0, 1], K[0, 1] - rho * 0.25
    for lam, accepted in (
        (truth + 0.2 * left_out, False),
        (truth + 0.001 * left_out, False),
        (K[0, 0] - rho * 0.25 - 2.5 * rho**2 * tau, True),
    ):
        fields, tensors = gram_cases.deep_claim(
            "softplus", X, [(1.0, False)], terms=1, lam=float(lam)
        )
        tensors["C"] = np.linalg.inv(np.linalg.cholesky(partial - lam * np.eye(2)))
        verdict = check_bytes(gram_cases.build("softplus", X, [(fields, tensors)])).verdict
        assert (verdict is Verdict.ACCEPTED) is accepted


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": "last"},
        {"layers": [{"residual": False, "scale2": "1"}]},
        {"layers": [{"residual": False, "scale2": "1"}, {"residual": False, "scale2": "1/4"}]},
        {"layers": [{"residual": False, "scale2": "1/2"}, {"residual": True, "scale2": "1/4"}]},
        {"lam": Fraction(1)},
    ],
    ids=str,
)
def test_a_claim_about_another_network_is_refused(change):
    """Depth, kind of a layer, scale, blocks and bound changed in an honest file, one at a time; all
    make the claimed number too large for the matrix then meant."""
    X, layers = rows(2), [(1.0, False), (0.25, True)]
    honest = gram_cases.deep_claim("softplus", X, layers, "all", slack=0.99)
    assert check_bytes(gram_cases.build("softplus", X, [honest])).verdict is Verdict.ACCEPTED
    forged = gmc.written(honest[0] | change), honest[1]
    other = change.get("layers", [{"residual": s, "scale2": str(q)} for q, s in layers])
    meant = [(float(Fraction(entry["scale2"])), entry["residual"]) for entry in other]
    K = gram_cases.deep_matrix("softplus", X, meant, change.get("blocks", "all"))
    claimed = float(Fraction(forged[0]["lam"]))
    assert claimed > np.linalg.eigvalsh(K)[0]
    assert check_bytes(gram_cases.build("softplus", X, [forged])).verdict is Verdict.REJECTED


def test_refusals_name_the_cause():
    network = DeepNetwork.initialize((4,), 6, 2, activation="tanh")
    twice = np.vstack([rows(3), rows(3)[:1]])
    with pytest.raises(gm.errors.CannotCertify, match="not provably positive definite"):
        gm.certify_deep_gram(network, twice)
    with pytest.raises(gm.errors.CannotCertify, match="not for relu"):
        gm.certify_deep_gram(DeepNetwork.initialize((4,), 6, 2, activation="relu"), rows())
    with pytest.raises(gm.errors.DataError, match="expects 4 features"):
        gm.certify_deep_gram(network, rows()[:, :3])
    with pytest.raises(gm.errors.DataError, match="blocks"):
        gm.certify_deep_gram(network, rows(), blocks="first")
