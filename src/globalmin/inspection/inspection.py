"""`inspect`: what every theorem says of one data set, width and activation."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Scheme
from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.facts.finding import TheoremReport, ask, facts, finite, headlines, subject_of
from globalmin.facts.instance import Instance, Measurements, Start
from globalmin.inspection.measurements import measure, measure_start, require_room
from globalmin.inspection.prediction import Prediction, predict
from globalmin.kernels.facts_smooth import explicit_width
from globalmin.kernels.limit_gram import limit_gram
from globalmin.shallow.initialization import draw
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, residual

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data import Dataset


FORMAT = "globalmin-inspection/1"
ACTIVATION, SCHEME = "softplus", "os"  # of the network that is drawn where none is named


@dataclass(frozen=True)
class Quantity:
    """One measured number: its symbol, its meaning in words, and its value (an estimate in floats
    unless the words say exact).
    """

    symbol: str
    meaning: str
    value: float | None


@dataclass(frozen=True, eq=False)
class Inspection:
    """What the theorems say of an instance; print it, or ask for `to_json()`.

    Attributes
    ----------
    n_samples, n_features, width, activation, head, seed : the instance; `width` is the one asked
        about, `head` the law of the drawn start, or "given".
    quantities : the numbers the theorems speak of.
    theorems : one report per theorem.
    recommended_width : what training tries first, the smallest even k with k rank(X) >= 1.2 n.
    explicit_width : the a-priori width of OS-C6, infinite where it does not apply.
    step_size : a step that never exceeds 1/||J||^2 near the start.
    prediction : the linearized run from the drawn start with that step.
    spectrum : eigenvalues of the limiting Gram matrix, increasing; None for large n.
    warnings : facts about the data that make theorems fail or zero loss impossible.
    instance : what the facts were asked about.
    """

    n_samples: int
    n_features: int
    width: int
    activation: str
    head: str
    seed: int
    quantities: tuple[Quantity, ...]
    theorems: tuple[TheoremReport, ...]
    recommended_width: int
    explicit_width: float
    step_size: float
    prediction: Prediction = field(repr=False)
    spectrum: Array | None = field(repr=False)
    warnings: tuple[str, ...] = ()
    instance: Instance | None = field(default=None, repr=False)

    def theorem(self, item: str) -> TheoremReport:
        """The report of one theorem, such as "OS-C6", or of a lemma without a row in the table."""
        for report in self.theorems:
            if report.item == item:
                return report
        if self.instance is not None and item in facts() and subject_of(item) is Instance:
            return ask(item, self.instance)
        raise DataError(
            f"theorem {item!r} is not in the table; it has "
            f"{', '.join(r.item for r in self.theorems)}"
        )

    def quantity(self, symbol: str) -> float | None:
        """The value of one quantity by its symbol, such as "λ(X)"."""
        for q in self.quantities:
            if q.symbol == symbol:
                return q.value
        raise DataError(
            f"quantity {symbol!r} is not in the table; it has "
            f"{', '.join(q.symbol for q in self.quantities)}"
        )

    def required_widths(self) -> dict[str, float]:
        """Least width by theorem, for the theorems about this kind of network that ask for one;
        infinite: never.
        """
        return {r.item: r.width for r in self.theorems if r.width is not None and r.is_in_scope}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinite or missing numbers become None."""
        return {
            "format": FORMAT,
            "instance": {
                name: getattr(self, name)
                for name in ("n_samples", "n_features", "width", "activation", "head", "seed")
            },
            "recommended_width": self.recommended_width,
            "explicit_width": finite(self.explicit_width),
            "step_size": finite(self.step_size),
            "predicted_rate": finite(self.prediction.rate),
            "warnings": list(self.warnings),
            "quantities": [{**asdict(q), "value": finite(q.value)} for q in self.quantities],
            "theorems": [report.to_dict() for report in self.theorems],
            "prediction": {
                "steps": self.prediction.steps.tolist(),
                "residual_norms": [finite(x) for x in self.prediction.residual_norms.tolist()],
            },
        }

    def to_json(self) -> str:
        """The same as text, sorted keys, ended by a line feed."""
        return (
            json.dumps(
                self.to_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False
            )
            + "\n"
        )

    def __str__(self) -> str:
        from globalmin.inspection.text import as_text

        return as_text(self)


@renamed(head="scheme")
def inspect(
    data: Dataset,
    width: int | None = None,
    activation: str | Activation | None = None,
    *,
    network: ShallowNetwork | None = None,
    scheme: Scheme | None = None,
    seed: int = 0,
    delta: float = 1.0,
    theta: float = 0.5,
    failure: float = 0.1,
    depth: int = 3,
    image_shape: tuple[int, ...] | None = None,
) -> Inspection:
    """What the theorems of the five works say of these data, with numbers: hypotheses, widths,
    steps, rates.

    Parameters
    ----------
    data : Dataset
        One target; for several use `data.for_target(j)`.
    width : int | None
        Number of neurons asked about; by default the recommended one.
    activation : str | Activation | None
        Name or Activation; by default softplus, or that of `network`.
    network : ShallowNetwork | None
        A network of yours, trained or not: its weights are measured in place of a drawn start, so
        that OS-C1 to OS-C4 speak of exactly these weights. Width and activation are its own.
    scheme : str | None
        Law of the start that is measured: "os" (the default), "sjl", "positive" (heads 1, as
        SJL-T2.2 wants them), "du", or "identity" (GKZ-T2.5, not random). Every theorem about
        random starts is judged with its own initialization.
    seed : int
        Of that start.
    delta, theta : float
        The deviations allowed in OS-T6.2, OS-T6.3 and OS-C6.
    failure : float
        The failure probability allowed where a theorem lets it be chosen (DU, OS-T3.2).
    depth : int
        Of the deep networks in the table.
    image_shape : tuple[int, ...] | None
        Of one row, (height, width) or (height, width, channels), for DU-T3.3; by default each row
        is read as a signal of one channel.

    Raises
    ------
    DataError
        For an unusable argument.
    MemoryRefused
        Before anything large is allocated, if the n x n matrices do not fit.
    """
    it = pose(
        data,
        width,
        activation,
        network=network,
        scheme=scheme,
        seed=seed,
        delta=delta,
        theta=theta,
        failure=failure,
        depth=depth,
        image_shape=image_shape,
    )
    m, start = it.m, it.start
    K, r = jacobian_gram(start.network, m.X), residual(start.network, m.X, m.y)
    return Inspection(
        m.n, m.d, it.width, m.activation.spelling,
        "given" if start.is_given else scheme or SCHEME, seed,
        quantities=_quantities(m, start),
        theorems=headlines(it),
        recommended_width=m.recommended_width,
        explicit_width=explicit_width(m, delta=delta, theta=theta),
        step_size=it.step_size,
        prediction=predict(K, r, it.step_size),
        spectrum=m.slope.spectrum,
        warnings=_warnings(m),
        instance=it,
    )  # fmt: skip


def pose(
    data: Dataset,
    width: int | None = None,
    activation: str | Activation | None = None,
    *,
    network: ShallowNetwork | None = None,
    scheme: Scheme | None = None,
    seed: int = 0,
    delta: float = 1.0,
    theta: float = 0.5,
    failure: float = 0.1,
    depth: int = 3,
    image_shape: tuple[int, ...] | None = None,
) -> Instance:
    """The instance that facts are asked about: the data measured, and a network drawn or given;
    arguments as in `inspect`.
    """
    k = _checked_width(width, data)
    if network is not None:
        _check_given(network, data, width=k, activation=activation, scheme=scheme)
        k, activation = network.width, network.activation
    phi = get_activation(ACTIVATION if activation is None else activation)
    _check_numbers(delta=delta, theta=theta, failure=failure, depth=depth)
    require_room(data.n_samples, data.n_features, k or data.n_samples // data.n_features + 2)
    m = measure(data, phi)
    k = m.recommended_width if k is None else k
    require_room(m.n, m.d, k)
    drawn = network or draw(data, k, phi, scheme=scheme or SCHEME, seed=seed)
    start = measure_start(drawn, m, limit=limit_gram(m.X, phi), is_given=network is not None)
    shape = _checked_shape(image_shape, m.d)
    return Instance(m, start, _step_size(m, start), delta, theta, failure, depth, shape)


def _checked_shape(image_shape: tuple[int, ...] | None, d: int) -> tuple[int, ...]:
    shape = () if image_shape is None else tuple(int(size) for size in image_shape)
    if shape and (len(shape) not in (2, 3) or min(shape) < 1 or math.prod(shape) != d):
        raise DataError(
            f"image_shape={image_shape!r}: give (height, width) or (height, width, channels) "
            f"with the product {d}, the number of features (bias column included: load images "
            "with bias=False)"
        )
    return shape


def _check_given(
    network: ShallowNetwork,
    data: Dataset,
    *,
    width: int | None,
    activation: str | Activation | None,
    scheme: str | None,
) -> None:
    """Refuse what contradicts the network that is given, and what cannot be measured."""
    if not isinstance(network, ShallowNetwork):
        raise DataError(
            f"network={type(network).__name__}: inspect measures a ShallowNetwork, such as "
            "run.network of gm.train"
        )
    if network.n_features != data.n_features:
        raise DataError(
            f"the network has {network.n_features} inputs, the data {data.n_features} features "
            "(bias included); prepare the data as for training"
        )
    if width is not None and width != network.width:
        raise DataError(
            f"width={width}, but the network has {network.width} neurons; leave width out"
        )
    if activation is not None and get_activation(activation) != network.activation:
        raise DataError(
            f"activation={activation}, but the network has {network.activation}; leave it out"
        )
    if scheme is not None:
        raise DataError(
            f"scheme={scheme!r} is the law of a start to be drawn; leave it out with network="
        )
    if not network.v.any():
        raise DataError(
            "the head of the network is zero, so no weight of the first layer matters and no "
            "theorem speaks of it; give a head with a nonzero entry"
        )


def _checked_width(width: int | None, data: Dataset) -> int | None:
    if data.n_targets != 1:
        raise DataError(
            f"the data have {data.n_targets} targets; inspect one with data.for_target(j)"
        )
    if width is None:
        return None
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or width < 1:
        raise DataError(
            f"width={width!r} must be a whole number of at least 1: a network without neurons fits "
            "nothing"
        )
    return int(width)


def _check_numbers(*, delta: float, theta: float, failure: float, depth: int) -> None:
    if not (delta > 0.0 and 0.0 < theta < 1.0 and 0.0 < failure < 1.0 and depth >= 1):
        raise DataError(
            f"delta={delta!r}, theta={theta!r}, failure={failure!r}, depth={depth!r}: give delta > "
            "0, theta and failure between 0 and 1, depth at least 1"
        )


def _step_size(m: Measurements, start: Start) -> float:
    if start.descent is not None:
        return start.descent.eta_max
    if start.kink is not None:
        return start.kink.guarantee.step_size
    size = float(start.network.v @ start.network.v)
    if math.isfinite(m.B) and size > 0.0 and m.X_norm > 0.0:
        return 1.0 / (m.B**2 * size * m.X_norm**2)
    return 1.0 / (2.0 * start.gram.high) if start.gram.high > 0.0 else 1.0


def _quantities(m: Measurements, start: Start) -> tuple[Quantity, ...]:
    v2 = float(start.network.v @ start.network.v)
    here = "the given network" if start.is_given else "the drawn start"
    rows = [
        ("‖X‖", "largest singular value of the inputs", m.X_norm),
        ("‖y‖", "norm of the labels", m.y_norm),
        ("rank X", "numerical rank of the inputs", float(m.rank)),
        (
            "free outputs",
            "outputs that can be chosen independently (exact ties removed)",
            float(m.free_outputs),
        ),
        ("min ‖x‖", "smallest norm of a row", m.row_norms[0]),
        ("max ‖x‖", "largest norm of a row", m.row_norms[1]),
        ("δ", "separation of the rows scaled to norm 1", m.separation),
        ("λ(X)", "λ_min of the limiting Gram matrix E[φ'φ'ᵀ]∘XXᵀ (H∞ for ReLU)", m.lam),
        ("λ_max", "its largest eigenvalue", m.slope.high),
        ("λ̃(X)", "λ_min of the feature Gram matrix E[φφᵀ]", m.feature.low),
        ("σ_min(X*X)", "smallest singular value of the Khatri-Rao square", m.sigma),
        (
            "κ₄",
            "bound of sup Σ(xᵢ·a)⁴ over ‖a‖ = 1; J has the Lipschitz constant M ‖v‖_∞ √κ₄ (OS-K4)",
            m.kappa4,
        ),
        ("μ_φ", "E[g φ'(g)]", m.mu),
        ("B", "sup |φ'|", m.B),
        ("M", "sup |φ''|", m.M),
        ("Var φ", "mean variance of φ(‖x‖g)", m.variance),
        ("kd/n", "trained weights per sample at this width", start.network.W.size / m.n),
        ("‖r₀‖", f"misfit of {here}", start.residual_norm),
        (
            "a²/‖v‖²",
            f"λ_min(JJᵀ)/‖v‖² at {here}; for random weights its limit is λ(X)",
            start.gram.low / v2 if v2 > 0 else None,
        ),
        ("deviation", f"‖JJᵀ/‖v‖² − Σ‖ at {here}", start.deviation),
    ]
    return tuple(Quantity(*row) for row in rows)


def _warnings(m: Measurements) -> tuple[str, ...]:
    found = [m.facts.message(m.activation)]
    if m.d == 1:
        found.append(
            "d = 1: all rows lie on one line through the origin, so they are parallel; append a "
            "bias column (bias=True)"
        )
    if not m.facts.zero_rows and not m.facts.lines:
        found.append(m.facts.near_message())
    return tuple(text for text in found if text)
