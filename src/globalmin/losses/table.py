"""Losses by name."""

from __future__ import annotations

import math

from globalmin._options import one_of
from globalmin.errors import DataError
from globalmin.losses.loss import MOST_CLASSES, Loss
from globalmin.losses.margin import Hinge, Logistic, SquaredHinge
from globalmin.losses.regression import Huber, Poisson, Quantile, Squared
from globalmin.losses.several import Softmax

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (Squared, Huber, Quantile, Poisson, Logistic, Hinge, SquaredHinge, Softmax)
}
"""Every loss that networks with weight decay can be trained and certified with."""
_LARGEST = {"huber": math.inf, "quantile": 1.0}  # parameters lie between 0 and this


def get_loss(loss: str | Loss, parameter: float | None = None) -> Loss:
    """The loss of that name; a `Loss` is returned as it is.

    Parameters
    ----------
    loss : str | Loss
        "squared", "huber", "quantile" or "poisson" for regression, "logistic", "hinge" or
        "squared_hinge" for two classes with the labels -1 and 1, "softmax" for any number of
        classes with the labels 0, 1, 2, ...
    parameter : float | None
        The threshold of "huber" (default 1) or the level of "quantile" (default 1/2, the median);
        of "softmax" the number of classes, if that is not the largest label plus one.

    Examples
    --------
    >>> import numpy as np
    >>> loss = get_loss("huber", 2.0)
    >>> loss.value(np.array([1.0, 5.0]), np.zeros(2)).tolist()
    [0.5, 8.0]
    >>> loss.conjugate(np.array([1.0, 3.0]), np.zeros(2)).tolist()
    [0.5, inf]
    """
    if isinstance(loss, Loss):
        return loss
    kind = LOSSES[one_of("loss", loss, LOSSES)]
    if parameter is None:
        return kind()
    if kind is Softmax:
        return _softmax(parameter)
    top = _LARGEST.get(kind.name)
    if top is None:
        raise DataError(f"parameter={parameter!r}: the loss {loss!r} has none; leave it out")
    if not 0 < parameter < top:
        interval = "a finite positive number" if math.isinf(top) else "a number between 0 and 1"
        raise DataError(f"parameter={parameter!r} of the loss {loss!r} must be {interval}")
    return kind(float(parameter))


def _softmax(parameter: float) -> Softmax:
    if parameter != int(parameter) or not 2 <= parameter <= MOST_CLASSES:
        raise DataError(
            f"parameter={parameter!r} of the loss 'softmax' must be a number of classes, at least 2"
        )
    return Softmax(outputs=int(parameter))
