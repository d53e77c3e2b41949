"""Stored networks made of arrays, for tests that need no file."""

from array import array
from fractions import Fraction

import numpy as np

from globalmin_check.container import Tensor
from globalmin_check.problem import Problem, Sizes


def tensor(values: np.ndarray) -> Tensor:
    stored = array("d", values.ravel().tolist())
    return Tensor("F64", values.shape, stored, memoryview(stored).cast("B"))


def problem(name: str, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray) -> Problem:
    sizes = Sizes(len(X), X.shape[1], len(v))
    return Problem(name, Fraction(1), False, sizes, tensor(X), tensor(y), tensor(W), tensor(v))
