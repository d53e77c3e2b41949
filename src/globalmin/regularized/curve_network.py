"""Shapes of a network's curves in exact rationals, and the last digit that gives a trained network
its shapes exactly.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.regularized.curves import SIDE
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RISING, RegularizedProblem


def curve_lack(network: RegularizedNetwork, problem: RegularizedProblem, column: int) -> Fraction:
    """How far the curve of a column is from its shape: by how much its slope (or, for a bend, the
    change of its slope) has the wrong sign somewhere on the line, 0 if nowhere; exact.
    """
    shape = "none" if problem.shapes is None else problem.shapes[column]
    if shape == "none":
        return Fraction(0)
    penalty, side = problem.penalty, int(SIDE[shape])
    tau = penalty.tau if penalty.hidden_bias == "penalized" else 1.0
    slope, bends = Fraction(0), dict[Fraction, Fraction]()
    for w, beta, v in zip(network.W[:, column], network.bias, network.v, strict=True):
        if w:
            # the bias as a file has it: divided by tau, a double
            kink = -Fraction(tau) * Fraction(float(beta / tau)) / Fraction(float(w))
            bend = side * Fraction(float(v)) * Fraction(float(w))
            slope += bend if w < 0 else 0
            bends[kink] = bends.get(kink, Fraction(0)) + (bend if w > 0 else -bend)
    steps = [bends[kink] for kink in sorted(bends)]
    values = accumulate(steps, initial=slope) if shape in RISING else steps
    return max(-min(values, default=Fraction(0)), Fraction(0))


def with_shapes(network: RegularizedNetwork, problem: RegularizedProblem) -> RegularizedNetwork:
    """The network with its shapes exactly. A curve that should rise and is flat somewhere may fall
    there by rounding: a line of that slope is added to it, as two neurons.
    """
    for column, shape in enumerate(problem.shapes or ()):
        lack = curve_lack(network, problem, column)
        if lack == 0:
            continue
        if shape not in RISING:
            raise CannotCertify(
                f"the curve of column {column} is not {shape}: the slope changes by "
                f"{float(lack):.3g} the wrong way; train on the problem with its shapes"
            )
        # a power of two, so that both products are exact
        size = math.ldexp(1.0, math.frexp(math.sqrt(float(lack)))[1] + 1)
        W = np.zeros((2, network.n_features))
        W[:, column] = size, -size
        v = SIDE[shape] * np.array([size, -size])
        network = replace(
            network,
            W=np.vstack([network.W, W]),
            bias=np.r_[network.bias, 0.0, 0.0],
            v=np.r_[network.v, v],
        )
    return network
