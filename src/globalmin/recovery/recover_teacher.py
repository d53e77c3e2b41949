"""Recover a teacher network and prove where its minimum is: training, certificate and checker
behind one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin._options import Labels
from globalmin.errors import CannotCertify, MemoryRefused
from globalmin.proving.producer import prove
from globalmin.recovery import recover as recovery
from globalmin.recovery.claims.unique_minimum import CLAIM, PARAMETERS, polish_minimum
from globalmin.references import states

if TYPE_CHECKING:
    import os

    from globalmin.activations import Activation
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

# beyond this the check takes minutes and gigabytes; certify a part of the samples instead
SAMPLES = 200_000


@dataclass(frozen=True)
class Ball:
    """What the checker accepted about the critical point that descent reached.

    Attributes
    ----------
    radius : proved, exactly one critical point of the squared loss lies within it, a strict
        minimum; None if nothing is proved.
    distance : proved, that critical point is at most this far from the stored weights.
    step_size, rate : gradient descent on the loss 1/(2n) sum of squares, the one of
        `Recovery.descent`, with this step converges to it from every start in the ball, and every
        step multiplies the distance by at most `rate`. (On the loss (1/2) sum of squares of
        `gm.train` the same step is step_size / n.)
    certificate : the bytes of the accepted file. reason : why there is none.
    """

    radius: float | None = None
    distance: float | None = None
    step_size: float | None = None
    rate: float | None = None
    certificate: bytes | None = field(default=None, repr=False)
    reason: str = ""


@dataclass(frozen=True)
class ProvedRecovery(recovery.Recovery):
    """Weights recovered from samples, and the proved ball around the critical point they sit at
    (see `Ball`).
    """

    ball: Ball = field(default_factory=Ball)

    @property
    def radius(self) -> float | None:
        """The certified radius: exactly one critical point lies within it of the weights; None if
        nothing is proved.
        """
        return self.ball.radius

    @property
    def certificate(self) -> bytes | None:
        """The bytes of the accepted certificate file."""
        return self.ball.certificate

    def save_certificate(self, path: str | os.PathLike[str]) -> Path:
        """Write the certificate file, for `globalmin-check`."""
        if self.certificate is None:
            raise CannotCertify(f"there is no certificate to save: {self.ball.reason}")
        target = Path(path)
        target.write_bytes(self.certificate)
        return target


@states("FCL-ALG2", "FCL-CERT")
def recover_teacher(
    data: Dataset,
    neurons: int = 3,
    activation: str | Activation = "sigmoid",
    *,
    labels: Labels = "regression",
    seed: int = 0,
    certify: bool = True,
    **options: Any,
) -> ProvedRecovery:
    """Recover a teacher network from samples with Gaussian inputs, and prove that the minimum found
    is the only one near.

    Parameters
    ----------
    data : Dataset
        See `globalmin.recovery.recover.recover_teacher`, which finds the weights; further `options`
        (variant, estimator, max_iter, tol) go there.
    neurons, seed : int
        See `globalmin.recovery.recover.recover_teacher`, which finds the weights; further `options`
        (variant, estimator, max_iter, tol) go there.
    activation : str | Activation
        See `globalmin.recovery.recover.recover_teacher`, which finds the weights; further `options`
        (variant, estimator, max_iter, tol) go there.
    labels : str
        See `globalmin.recovery.recover.recover_teacher`, which finds the weights; further `options`
        (variant, estimator, max_iter, tol) go there.
    certify : bool
        Prove a ball around the critical point and let the checker accept it; False skips the cost,
        which grows with n times the square of the number of weights (20,000 samples and 30 weights:
        some 15 seconds, most of it the checker).

    Returns
    -------
    ProvedRecovery
        A ProvedRecovery: `weights`, `radius` (None with `ball.reason` if nothing could be proved),
        `certificate`, `warnings`. With estimator="likelihood" the ball is around the critical point
        of the squared loss, not around the weights.

    Examples
    --------
    >>> import numpy as np
    >>> import globalmin as gm
    >>> rng = np.random.default_rng(0)
    >>> W = 1.5 * np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    >>> X = rng.standard_normal((2000, 6))
    >>> y = gm.get_activation("sigmoid")(X @ W.T).mean(axis=1)
    >>> found = gm.recover_teacher(gm.Dataset(X, y, bias=False, scaling="none"), neurons=2)
    >>> found.error_against(W) < 1e-6, found.radius > 0.02
    (True, True)
    """
    found = recovery.recover_teacher(data, neurons, activation, labels=labels, seed=seed, **options)
    parts = {name: getattr(found, name) for name in recovery.Recovery.__dataclass_fields__}
    if not certify:
        return ProvedRecovery(**parts, ball=Ball(reason="certify=False"))
    center, ball = _prove(replace(found, weights=found.descent.weights).network, data)
    if options.get("estimator", "squares") == "squares":
        parts["weights"] = center.W
        parts["bars"] = replace(found.bars, weights=center.W)
    return ProvedRecovery(**parts, ball=ball)


def _prove(network: ShallowNetwork, data: Dataset) -> tuple[ShallowNetwork, Ball]:
    """The network moved to the nearest critical point up to rounding, and the ball the checker
    accepts around it.
    """
    if network.W.size > PARAMETERS or data.n_samples > SAMPLES:
        sizes = f"{network.W.size} weights and {data.n_samples} samples"
        return network, Ball(reason=f"{sizes}: at most {PARAMETERS} and {SAMPLES} are certified")
    try:
        center = polish_minimum(network, data)
    except (CannotCertify, MemoryRefused) as refusal:
        return network, Ball(reason=str(refusal))
    proof = prove(center, data, claims=[CLAIM.kind])
    if not proof.is_accepted:
        return network, Ball(reason=proof.why)
    found = proof.claims[0].numbers
    step = None if found.eta is None else float(Fraction(found.eta) * data.n_samples)
    return center, Ball(found.r, found.r_minus, step, found.rate, proof.certificate)
