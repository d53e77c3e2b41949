"""The work of `globalmin classify`: the kind in floats, the claim that fits it, and what is
printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.cli import terminal
from globalmin.cli.summary import Attempt, attempt, check_rows, proof_json, verdict_rows
from globalmin.cli.terminal import Row, print_json, print_rows, say
from globalmin.deep.network import DeepNetwork
from globalmin.drawing import style
from globalmin.landscape.classify import classify_point
from globalmin.proving.claim import Proves
from globalmin.report.figures import bracket, escape_curve
from globalmin.report.measures import estimate_quadratic
from globalmin.report.words import nearest_text
from globalmin.shallow.claims import second_order, strict_saddle
from globalmin.shallow.network import ShallowNetwork, residual
from globalmin.shallow.stationary import Escape, PointClass, PointKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.data import Dataset


POINTS = 161
DOTS_PER_INCH = 150


def write_picture(path: Path, network: Any, data: Dataset, found: Classified) -> None:
    """Draw and write; kinds of points that have no picture are named on stderr."""
    with style():
        figure = _figure(network, data, found)
        if figure is None:
            say(
                f"globalmin: a point of the kind '{found.point.kind}' has no picture here; "
                f"{path.name} is not written"
            )
            return
        figure.savefig(
            path,
            dpi=DOTS_PER_INCH,
            facecolor="white",
            metadata={"Date": None} if path.suffix == ".svg" else None,
        )


def _figure(network: Any, data: Dataset, found: Classified) -> Figure | None:
    proof = None if found.attempt is None else found.attempt.proof
    if found.point.escape is not None:
        claim = None if proof is None else proof.that(Proves.POINT)
        gamma = None if claim is None else claim.numbers.gamma
        curvature = found.point.escape.curvature if gamma is None else -gamma
        steps, losses = losses_along(network, data, found.point.escape)
        return escape_curve(steps, losses, curvature=curvature, proved=gamma is not None)
    claim = None if proof is None else proof.that(Proves.GAP)
    gap, floor = (claim.numbers.gap, claim.numbers.floor) if claim is not None else (None, None)
    if gap is not None and floor is not None and isinstance(network, ShallowNetwork):
        facts = estimate_quadratic(network, data.X, data.y)
        return bracket(
            gap,
            [
                ("all weights zero", facts["zero"] - floor),
                ("least-squares line", facts["linear"] - floor),
            ],
        )
    return None


def losses_along(network: ShallowNetwork, data: Dataset, escape: Escape) -> tuple[Array, Array]:
    """Steps and losses along the unit direction, as far as the loss stays near or below its value
    at the point.
    """
    start = _loss(network, data, escape, 0.0)
    reach = 1e-3
    while reach < 1e3 and min(_loss(network, data, escape, t) for t in (reach, -reach)) <= start:
        reach *= 1.25
    steps = np.linspace(-reach, reach, POINTS)
    return steps, np.array([_loss(network, data, escape, float(t)) for t in steps])


def _loss(network: ShallowNetwork, data: Dataset, escape: Escape, step: float) -> float:
    v = network.v if escape.u is None else network.v + step * escape.u
    r = residual(ShallowNetwork(network.W + step * escape.U, v, network.activation), data.X, data.y)
    return 0.5 * float(r @ r)


# true of a minimum and of a saddle: how small gradient and curvature are
STATIONARY = (second_order.CLAIM.kind,)
CLAIMS: dict[PointKind, tuple[str, ...] | None] = {
    PointKind.GLOBAL_MINIMUM: None,  # the strongest that hold
    PointKind.STRICT_SADDLE: (strict_saddle.CLAIM.kind,),
    PointKind.SPURIOUS_MINIMUM: STATIONARY,
    PointKind.SECOND_ORDER: STATIONARY,
    PointKind.NOT_DECIDED: STATIONARY,
}
STYLES = {PointKind.GLOBAL_MINIMUM: "bold green", PointKind.STRICT_SADDLE: "bold yellow"}
DECAY_HINT = (
    "weights trained with weight decay are no stationary point of the loss alone; see globalmin "
    "certify --weight-decay"
)


@dataclass(frozen=True)
class Classified:
    """The kind of a point with its numbers in floats, and the attempt to prove it; None where no
    claim exists for the kind.
    """

    point: PointClass
    attempt: Attempt | None
    is_quadratic: bool
    wanted_file: bool

    @property
    def exit_code(self) -> int:
        """That of the proof; a point that is not stationary has none, which is an error only if a
        file was asked for.
        """
        if self.attempt is None:
            return terminal.NOT_CERTIFIED if self.wanted_file else terminal.ACCEPTED
        if self.attempt.proof.is_accepted:
            return terminal.ACCEPTED
        return self.attempt.exit_code


def classify_and_prove(
    network: ShallowNetwork | DeepNetwork,
    data: Dataset,
    *,
    trained: Trained,
    out: Path | None = None,
    quiet: bool = True,
) -> Classified:
    """Classify in floats, then let the checker read a certificate of the claim that fits; it is
    kept if `out` is given.
    """
    point = classify_point(network, data, trained=trained)
    quadratic = isinstance(network, ShallowNetwork) and network.activation.name == "quadratic"
    is_deep = isinstance(network, DeepNetwork)  # its saddles have no claim
    if point.kind not in CLAIMS or (is_deep and point.kind is not PointKind.GLOBAL_MINIMUM):
        return Classified(
            point, None, quadratic, out is not None or point.kind is PointKind.NOT_DECIDED
        )
    made = attempt(network, data, path=out, trained=trained, claims=CLAIMS[point.kind], quiet=quiet)
    return Classified(point, made, quadratic, out is not None)


def print_point(
    found: Classified, *, out: Path | None, picture: Path | None, as_json: bool
) -> None:
    """Print on stdout, as a table or as one JSON object."""
    kept = out if out is not None and found.attempt is not None and found.attempt.has_file else None
    if as_json:
        print_json(_json(found, kept, picture))
        return
    rows: list[Row] = [
        ("point", str(found.point.kind), STYLES.get(found.point.kind, "bold")),
        *_number_rows(found.point),
    ]
    if found.attempt is not None:
        rows += verdict_rows(found.attempt.proof)
    elif found.is_quadratic:
        rows.append(("hint", DECAY_HINT, ""))
    pictures: list[Row] = [] if picture is None else [("picture", str(picture), "copy")]
    print_rows([*rows, *check_rows(kept), *pictures])


def _number_rows(point: PointClass) -> list[Row]:
    gradient = (
        f"{nearest_text(point.gradient_norm)}, relative to ‖J‖‖r‖ "
        f"{nearest_text(point.relative_gradient)}"
    )
    rows: list[Row] = [
        ("why", point.reason, ""),
        ("loss", nearest_text(point.loss, 6), ""),
        ("gradient", gradient, ""),
    ]
    if point.gap is not None:
        rows.append(
            (
                "gap",
                f"{nearest_text(point.gap)} to the least loss of the class (floating point)",
                "",
            )
        )
    if point.promise:
        rows.append(("promise", point.promise, ""))
    if point.least_eigenvalue is not None:
        counted = (
            f"{point.negative_eigenvalues} negative"
            if point.negative_eigenvalues
            else "none negative"
        )
        rows.append(
            ("Hessian", f"least eigenvalue {nearest_text(point.least_eigenvalue)}, {counted}", "")
        )
    if point.escape is not None:
        curvature = nearest_text(point.escape.curvature)
        rows.append(
            ("escape", f"curvature {curvature} along the direction by {point.escape.method}", "")
        )
    return rows


def _json(found: Classified, certificate: Path | None, picture: Path | None) -> dict[str, Any]:
    point = found.point
    escape = point.escape
    names = (
        "loss",
        "gradient_norm",
        "relative_gradient",
        "gap",
        "negative_eigenvalues",
        "least_eigenvalue",
        "loss_at_most",
    )
    direction = None
    if escape is not None:
        u = None if escape.u is None else escape.u.tolist()
        direction = {
            "U": escape.U.tolist(),
            "u": u,
            "curvature": escape.curvature,
            "method": escape.method,
        }
    return {
        "command": "classify",
        "exit_code": found.exit_code,
        "kind": str(point.kind),
        "reason": point.reason,
        **{name: _finite(getattr(point, name)) for name in names},
        "escape": direction,
        "certificate": None if certificate is None else str(certificate),
        "picture": None if picture is None else str(picture),
        "proof": None if found.attempt is None else proof_json(found.attempt.proof),
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
