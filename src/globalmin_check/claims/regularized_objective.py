"""The objective of a stored regularized network in exact rationals: its outputs and its penalty
(`spec/claims/dual-gap.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul

from globalmin_check.checks import ExactChecks
from globalmin_check.claims.regularized_network import Regularized
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.container import Tensor


def _squares(*tensors: Tensor | None) -> Fraction:
    """The sum of the squares of all entries."""
    parts = [scaled(tensor.values) for tensor in tensors if tensor is not None]
    return sum((Fraction(sum(map(mul, p.values, p.values)), p.unit**2) for p in parts), Fraction(0))


def penalty(problem: Regularized) -> Fraction:
    """(b/2)(|W|^2 + |v|^2) with penalized biases in W, without v for quadratic neurons, and the
    penalized parts.
    """
    form = problem.form
    biases = problem.biases if form.penalizes_bias else None
    head = problem.v if form.neurons == "relu" else None
    value = form.b / 2 * _squares(problem.W, biases, head)
    if form.intercept == "penalized":
        value += form.k0 / 2 * _squares(problem.intercept)
    if form.linear == "penalized":
        value += form.k1 / 2 * _squares(problem.linear)
    return value


def outputs(problem: Regularized, columns: list[Scaled], checks: ExactChecks) -> Scaled:
    """The exact outputs f_i of the stored network."""
    n, form = problem.sizes.n, problem.form
    neurons = [_neuron(problem, index, columns) for index in range(problem.sizes.k)]
    linear = () if problem.linear is None else tuple(enumerate(problem.linear.values))
    slopes = [_coefficient(weight, columns[j], j) for j, weight in linear if weight]
    start = 0.0 if problem.intercept is None else problem.intercept.values[0]
    c0 = scaled([start])
    unit = lcm(c0.unit, *(s[1] for s in slopes), *(neuron.unit for neuron in neurons))
    places = [column.places for column in columns]
    sizes = [n if own is None else len(own) for own in places]
    terms = sum(3 * n + sum(sizes[j] for _, j in neuron.terms) for neuron in neurons)
    checks.charge(terms + n * len(slopes))
    checks.charge_memory(n * (2 + unit.bit_length() // 256))
    f = [c0.values[0] * (unit // c0.unit)] * n
    for weight, own, j in slopes:
        factor = weight * (unit // own)
        f = [value + factor * x for value, x in zip(f, columns[j].values, strict=True)]
    for neuron in neurons:
        factor = neuron.v * (unit // neuron.unit)
        z = [neuron.bias] * n
        for weight, j in neuron.terms:
            z = _added(z, weight, columns[j].values, places[j])
        if form.neurons == "relu":
            f = [value + factor * t if t > 0 else value for value, t in zip(f, z, strict=True)]
        else:
            f = [value + factor * t * t for value, t in zip(f, z, strict=True)]
    return Scaled(f, unit)


def _added(z: list[int], weight: int, x: list[int], places: list[int] | None) -> list[int]:
    """The numbers z + weight x, computed only where x is not zero if its places are given."""
    if places is None:
        return [t + weight * value for t, value in zip(z, x, strict=True)]
    for i in places:
        z[i] += weight * x[i]
    return z


@dataclass(frozen=True)
class _Neuron:
    """v relu(sum weight x + bias) or its square in integers over `unit`."""

    v: int
    bias: int
    terms: list[tuple[int, int]]
    unit: int


def _coefficient(weight: float, column: Scaled, j: int) -> tuple[int, int, int]:
    """A weight with its denominator times that of the column."""
    p, q = weight.as_integer_ratio()
    return p, q * column.unit, j


def _neuron(problem: Regularized, index: int, columns: list[Scaled]) -> _Neuron:
    bias, terms, unit = hidden_form(problem, index, columns)
    p, q = problem.v.values[index].as_integer_ratio()
    return _Neuron(p, bias, terms, q * (unit if problem.form.neurons == "relu" else unit**2))


def hidden_form(
    problem: Regularized, index: int, columns: list[Scaled]
) -> tuple[int, list[tuple[int, int]], int]:
    """What a neuron sees: bias and (weight, column) in integers over the last number."""
    row = problem.W.row(index)
    terms = [_coefficient(weight, columns[j], j) for j, weight in enumerate(row) if weight]
    bias = Fraction(0 if problem.biases is None else problem.biases.values[index])
    bias *= problem.form.tau
    unit = lcm(bias.denominator, *(own for _, own, _ in terms))
    return (
        bias.numerator * (unit // bias.denominator),
        [(weight * (unit // own), j) for weight, own, j in terms],
        unit,
    )
