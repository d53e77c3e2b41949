"""The certificate object: every field, name, domain and tensor is accounted for; the data are the
ones that were digested.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import (
    build,
    descent_claim,
    floor_claim,
    interpolation_claim,
    trained_network,
)
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict, limits
from globalmin_check.engine import check_bytes

NET = trained_network(4, 2, 4)
HONEST = build(NET, [interpolation_claim(NET)])


def mutated(change: Callable[[dict, dict], Any], blob: bytes = HONEST) -> Result:
    certificate, tensors = gmc.unpack(blob)
    change(certificate, tensors)
    return check_bytes(gmc.pack(certificate, tensors))


def put(*path: Any) -> Callable[[dict, dict], None]:
    """Set the value at a path of the certificate object."""

    def change(certificate: dict, _: dict) -> None:
        target = certificate
        for key in path[:-2]:
            target = target[key]
        target[path[-2]] = path[-1]

    return change


def drop(*path: Any) -> Callable[[dict, dict], None]:
    def change(certificate: dict, _: dict) -> None:
        target = certificate
        for key in path[:-1]:
            target = target[key]
        del target[path[-1]]

    return change


MALFORMED = {
    "extra field": put("extra", 1),
    "producer missing": drop("producer"),
    "producer too long": put("producer", "x" * (limits.PRODUCER_CHARACTERS + 1)),
    "producer no text": put("producer", 1),
    "loss of another kind": put("loss", "mean-of-squares"),
    "network missing": drop("network"),
    "network extra": put("network", "width", 4),
    "network deep": put("network", "kind", "deep"),
    "activation unknown": put("network", "activation", "swish"),
    "activation in capitals": put("network", "activation", "Softplus"),
    "parameter one": put("network", "parameter", "1"),
    "parameter zero": put("network", "parameter", "0"),
    "parameter negative": put("network", "parameter", "-2"),
    "parameter integer": put("network", "parameter", 2),
    "data extra": put("data", "name", "x"),
    "data n boolean": put("data", "n", True),
    "data n zero": put("data", "n", 0),
    "data n wrong": put("data", "n", 5),
    "data d wrong": put("data", "d", 3),
    "data bias integer": put("data", "bias", 0),
    "digest short": put("data", "sha256", "ab"),
    "digest in capitals": put("data", "sha256", "A" * 64),
    "digest no text": put("data", "sha256", 1),
    "stored false but tensors present": put("data", "stored", False),
    "claims empty": put("claims", []),
    "claims object": put("claims", {}),
    "claim no object": put("claims", [1]),
    "kind unknown": put("claims", 0, "kind", "no-such-claim"),
    "kind missing": drop("claims", 0, "kind"),
    "version zero": put("claims", 0, "version", 0),
    "version two": put("claims", 0, "version", 2),
    "version text": put("claims", 0, "version", "1"),
    "theorem of another claim": put("claims", 0, "theorem", "descent-path/1"),
    "theorem missing": drop("claims", 0, "theorem"),
    "field unknown": put("claims", 0, "note", "x"),
    "beta2 without the head": put("claims", 0, "beta2", "1"),
    "loss_upper missing": drop("claims", 0, "loss_upper"),
    "loss_upper integer": put("claims", 0, "loss_upper", 1),
    "R not in lowest terms": put("claims", 0, "R", "2/4"),
    "trained v": put("claims", 0, "trained", "v"),
    "trained list": put("claims", 0, "trained", ["W"]),
    "quartic missing": drop("claims", 0, "quartic"),
    "quartic method": put("claims", 0, "quartic", {"kappa": "1", "method": "columns"}),
    "quartic rows with t": put("claims", 0, "quartic", {"kappa": "1", "method": "rows", "t": "0"}),
    "quartic svec without t": put("claims", 0, "quartic", {"kappa": "1", "method": "svec"}),
    "quartic svec with rows witness": put(
        "claims", 0, "quartic", {"kappa": "1", "method": "svec", "t": "0"}
    ),
    "descent kind with interpolation fields": put(
        "claims", 0, {**gmc.unpack(HONEST)[0]["claims"][0], "kind": "descent"}
    ),
}


@pytest.mark.parametrize("name", list(MALFORMED))
def test_faults_of_the_object_are_malformed(name: str) -> None:
    result = mutated(MALFORMED[name])
    assert result.verdict is Verdict.MALFORMED, result.reason


def set_tensor(name: str, value: Any) -> Callable[[dict, dict], None]:
    return lambda _, tensors: tensors.__setitem__(name, value)


TENSORS = {
    "W with other columns": set_tensor("W", np.ones((4, 3))),
    "W a vector": set_tensor("W", np.ones(4)),
    "W of integers": set_tensor("W", np.ones((4, 2), np.int64)),
    "v too short": set_tensor("v", np.ones(3)),
    "v a matrix": set_tensor("v", np.ones((4, 1))),
    "y too long": set_tensor("y", np.ones(5)),
    "X transposed": set_tensor("X", np.ones((2, 4))),
    "C_a rectangular": set_tensor("claims.0.C_a", np.ones((4, 3))),
    "C_a of the wrong size": set_tensor("claims.0.C_a", np.eye(3)),
    "C_kappa of the wrong size": set_tensor("claims.0.C_kappa", np.eye(3)),
    "z a matrix": set_tensor("claims.0.z", np.ones((4, 1))),
    "one too many": set_tensor("claims.0.C_beta", np.eye(2)),
    "of another claim": set_tensor("claims.1.C_a", np.eye(4)),
    "unknown name": set_tensor("é", np.eye(4)),
    "missing X": lambda _, tensors: tensors.pop("X"),
    "missing v": lambda _, tensors: tensors.pop("v"),
    "missing z": lambda _, tensors: tensors.pop("claims.0.z"),
    "NaN in C_a": set_tensor("claims.0.C_a", np.full((4, 4), np.nan)),
    "infinity in z": set_tensor("claims.0.z", np.full(4, np.inf)),
}


@pytest.mark.parametrize("name", list(TENSORS))
def test_faults_of_the_tensors_are_malformed(name: str) -> None:
    result = mutated(TENSORS[name])
    assert result.verdict is Verdict.MALFORMED, result.reason


def test_the_producer_is_free_text_up_to_its_limit() -> None:
    assert mutated(put("producer", "x" * limits.PRODUCER_CHARACTERS)).verdict is Verdict.ACCEPTED
    assert mutated(put("producer", "é\ud800\x00\n")).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("activation", "parameter", "verdict"),
    [
        ("leaky_relu", "0", Verdict.REJECTED),
        ("leaky_relu", "99/100", Verdict.REJECTED),
        ("leaky_relu", "1", Verdict.MALFORMED),
        ("leaky_relu", "-1/2", Verdict.MALFORMED),
        ("leaky_relu", None, Verdict.MALFORMED),
        ("relu", "1/2", Verdict.MALFORMED),
        ("tanh", "2", Verdict.MALFORMED),
        ("quadratic", "2", Verdict.MALFORMED),
        ("sigmoid", "3/2", Verdict.REJECTED),
    ],
)
def test_parameters_belong_to_their_activations(
    activation: str, parameter: str | None, verdict: Verdict
) -> None:
    network = {"activation": activation, "kind": "shallow"} | (
        {} if parameter is None else {"parameter": parameter}
    )
    assert mutated(put("network", network)).verdict is verdict


def test_the_number_of_claims_is_limited_exactly() -> None:
    X, y = np.ones((2, 1)), np.zeros(2)

    def blob(count: int) -> bytes:
        claim = floor_claim([(0, [0, 1])], floor=Fraction(0), loss_upper=Fraction(10))
        return gmc.build(X, y, np.ones((1, 1)), np.ones(1), [claim] * count, activation="relu")

    assert check_bytes(blob(limits.CLAIMS)).verdict is Verdict.ACCEPTED
    assert check_bytes(blob(limits.CLAIMS + 1)).verdict is Verdict.MALFORMED


def test_data_with_another_digest_are_rejected() -> None:
    for name, change in (("X", 1e-300), ("y", 1.0)):
        certificate, tensors = gmc.unpack(HONEST)
        tensors[name] = tensors[name] + change
        tensors[name].flat[0] += 2**-40
        result = check_bytes(gmc.pack(certificate, tensors))
        assert result.verdict is Verdict.REJECTED
        assert "digest" in result.reason
    assert mutated(put("data", "sha256", "0" * 64)).verdict is Verdict.REJECTED


def test_swapped_data_with_a_fresh_digest_are_rejected_by_the_mathematics() -> None:
    certificate, tensors = gmc.unpack(HONEST)
    tensors["y"] = tensors["y"][::-1].copy()
    result = check_bytes(gmc.pack(gmc.refresh_digest(certificate, tensors), tensors))
    assert result.verdict is Verdict.REJECTED
    assert "check I" in result.reason


def test_minus_zero_is_another_byte_pattern_but_the_same_number() -> None:
    X, y = np.array([[0.0], [0.0]]), np.array([0.0, 1.0])
    claim = floor_claim([(0, [0, 1])], floor=Fraction(1, 4), loss_upper=Fraction(1, 2))
    certificate, tensors = gmc.unpack(
        gmc.build(X, y, np.ones((1, 1)), np.ones(1), [claim], activation="relu")
    )
    tensors["X"][0, 0] = -0.0
    assert "digest" in check_bytes(gmc.pack(certificate, tensors)).reason
    assert (
        check_bytes(gmc.pack(gmc.refresh_digest(certificate, tensors), tensors)).verdict
        is Verdict.ACCEPTED
    )


def test_the_bias_column_is_verified() -> None:
    X = np.array([[2.0, 1.0], [3.0, 1.0]])
    claim = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(100))

    def result(rows: np.ndarray, bias: bool) -> Result:
        return check_bytes(
            gmc.build(
                rows,
                np.zeros(2),
                np.ones((1, 2)),
                np.ones(1),
                [claim],
                activation="relu",
                bias=bias,
            )
        )

    accepted = result(X, True)
    assert accepted.verdict is Verdict.ACCEPTED
    assert any("appended feature" in note for note in accepted.notes)
    assert not any("appended feature" in note for note in result(X, False).notes)
    wrong = result(X + np.array([[0.0, 0.0], [0.0, 1e-15]]), True)
    assert wrong.verdict is Verdict.REJECTED
    assert "bias" in wrong.reason


def test_data_may_be_given_in_a_second_file() -> None:
    blob = build(NET, [interpolation_claim(NET)], stored=False)
    data = gmc.build_data(NET.X, NET.y)
    assert check_bytes(blob, data).verdict is Verdict.ACCEPTED
    missing = check_bytes(blob)
    assert missing.verdict is Verdict.UNDECIDED
    assert "--data" in missing.reason
    assert check_bytes(blob, gmc.build_data(NET.X, NET.y + 1)).verdict is Verdict.REJECTED
    assert check_bytes(blob, gmc.build_data(NET.X[:3], NET.y[:3])).verdict is Verdict.REJECTED


def test_data_given_although_stored_must_be_the_same() -> None:
    assert check_bytes(HONEST, gmc.build_data(NET.X, NET.y)).verdict is Verdict.ACCEPTED
    assert check_bytes(HONEST, gmc.build_data(NET.X, NET.y + 1)).verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    "data",
    [
        b"",
        gmc.container({"X": NET.X}, None),
        gmc.container({"X": NET.X, "y": NET.y, "z": NET.y}, None),
        gmc.container({"X": NET.X, "y": NET.y[:2]}, None),
        gmc.container({"X": NET.y, "y": NET.y}, None),
        gmc.container({"X": NET.X, "y": NET.y}, {"certificate": "", "format": "", "seal": ""}),
        gmc.build_data(NET.X, NET.y) + b"\0" * 8,
        HONEST,
    ],
)
def test_a_bad_data_file_is_malformed(data: bytes) -> None:
    blob = build(NET, [interpolation_claim(NET)], stored=False)
    result = check_bytes(blob, data)
    assert result.verdict is Verdict.MALFORMED
    assert "data file" in result.reason


def test_a_fault_of_form_in_one_claim_outweighs_a_false_claim() -> None:
    fields, tensors = interpolation_claim(NET)
    good, bad = (fields, tensors), (fields | {"R": "0"}, tensors)
    assert check_bytes(build(NET, [good, bad])).verdict is Verdict.REJECTED
    assert (
        check_bytes(build(NET, [bad, (fields | {"version": 2}, tensors)])).verdict
        is Verdict.MALFORMED
    )


def test_descent_needs_its_own_words() -> None:
    fields, tensors = descent_claim(NET)
    assert check_bytes(build(NET, [(fields, tensors)])).verdict is Verdict.ACCEPTED
    assert (
        check_bytes(build(NET, [(fields | {"norm": "columns"}, tensors)])).verdict
        is Verdict.MALFORMED
    )
    assert (
        check_bytes(build(NET, [(fields | {"norm": "factor"}, tensors)])).verdict
        is Verdict.MALFORMED
    )
    assert check_bytes(build(NET, [(fields | {"R": "1"}, tensors)])).verdict is Verdict.MALFORMED
    assert (
        check_bytes(build(NET, [(fields, tensors | {"z": np.zeros(4)})])).verdict
        is Verdict.MALFORMED
    )
