"""Beyond the papers: the plane of OS, figure 2, with the share of runs that end in an ACCEPTED
certificate of zero loss.

The same data and starts are trained by gradient descent, with the step and the limit of the paper,
and by Levenberg-Marquardt. A run counts when the independent checker accepts the file that says:
weights of zero training loss exist near these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.reproductions.os import MAX_ITER, STEPS, TOL, realizations, succeeds
from globalmin.reproductions.registry import Reproduction, Row, reproduction
from globalmin.reproductions.running import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

FLAGS = ("gd_fitted", "gd_proved", "lm_fitted", "lm_proved")
# gradient descent asks for a proof at the tolerance of the paper and at 9 smaller ones, each a
# quarter of the last
STAGES = 10
FITTED = 1e-10  # a relative residual that Levenberg-Marquardt reaches only at a zero of the loss

CHOICES = (
    "Softplus networks, hidden layer trained; the claim is `interpolation` (OS-C2). Data, starts, "
    "step 0.15 and limit of 15,000 steps are those of OS, figure 2; a fit by gradient descent is "
    "its success: a relative loss ||r||^2/||y||^2 < 2.5e-3 within the limit.",
    "Gradient descent goes on below ||r||/||y|| = 2.5e-3, within the same limit, until a proof can "
    "be expected: a success by the loss alone is too far from a zero to be proved. So the distance "
    "between its fitted and its proved runs is mostly the limit of steps; that between kd = n and "
    "its fitted runs (1.05 to 1.1 n) is not. Levenberg-Marquardt starts from the same weights and "
    "has 300 steps.",
    "Cells with kd < n are not run and count as zero: the Jacobian has fewer columns than rows, so "
    "that no certificate of this kind exists there.",
    "The widths of the theorems are those of one draw of the data for each d, with the constants "
    "that the proofs deliver.",
)


class Plane(NamedTuple):
    """One n: values of k and of d, and realizations per cell."""

    n: int
    axis: tuple[int, ...]
    trials: int


THUMBNAIL = (Plane(100, (5, 10, 15, 20, 25), 2),)
PAPER = (
    Plane(100, tuple(range(1, 26)), 4),
    Plane(200, tuple(range(1, 26, 2)), 4),
    Plane(400, (10, 13, 16, 19, 22, 25, 30, 35), 2),
)
DIMENSIONS = {"thumbnail": (10, 20), "paper": (10, 15, 20, 25)}


@reproduction(
    "GM-PHASE",
    title="Share of runs with an accepted certificate of zero loss, by width and dimension",
)
def certified_phase(setting: Setting) -> Reproduction:
    """How close to kd = n can one prove it, and how much of the border is only the limit of
    steps.
    """
    planes = setting.pick(thumbnail=THUMBNAIL, paper=PAPER)
    cells = [(p.n, k, d, p.trials) for p in planes for k in p.axis for d in p.axis if k * d >= p.n]
    order = sorted(range(len(cells)), key=lambda i: (-cells[i][0], cells[i][1] * cells[i][2]))
    points = [
        {"n": n, "k": k, "d": d, "trials": t, "seed": setting.seed}
        for n, k, d, t in (cells[i] for i in order)
    ]
    found = dict(zip(order, setting.trials(certified_cell, points), strict=True))
    shares = {
        cells[i][:3]: {name: found[i][name] / cells[i][3] for name in (*FLAGS, "only_limit")}
        for i in range(len(cells))
    }
    widths = setting.trials(
        required_widths,
        [{"n": 100, "d": d, "seed": setting.seed} for d in DIMENSIONS[setting.scale]],
    )
    return Reproduction(
        item="GM-PHASE",
        scale=setting.scale,
        table=(*_rows(planes, shares), *_width_rows(DIMENSIONS[setting.scale], widths)),
        data={
            **{
                name: [cell[i] for cell in cells]
                for i, name in enumerate(("n", "k", "d", "trials"))
            },
            **{
                name: [found[i][name] for i in range(len(cells))] for name in (*FLAGS, "only_limit")
            },
        },
        figures={
            **{f"n{p.n}": lambda p=p: draw_plane(p, shares) for p in planes},
            "widths": lambda: draw_widths(
                planes[0], shares, dict(zip(DIMENSIONS[setting.scale], widths, strict=True))
            ),
        },
        choices=CHOICES,
    )


def certified_cell(*, n: int, k: int, d: int, trials: int, seed: int) -> dict[str, Any]:
    """Counts over the realizations of one cell: fitted and proved by each method, and fitted by
    Levenberg-Marquardt only.
    """
    from globalmin.activations import get_activation
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

    counts: dict[str, Any] = {name: 0 for name in (*FLAGS, "only_limit")}
    for X, y, W, v in zip(*realizations(n, k, d, trials, seed), strict=True):
        data = Dataset(X, y, bias=False, scaling="none")
        network = ShallowNetwork(W, v, get_activation("softplus"))
        flags = {**by_gradient_descent(network, data), **by_levenberg_marquardt(network, data)}
        for name, value in flags.items():
            counts[name] += int(value)
        counts["only_limit"] += int(flags["lm_fitted"] and not flags["gd_fitted"])
    return counts


def by_gradient_descent(network: ShallowNetwork, data: Dataset) -> dict[str, bool]:
    """Whether gradient descent fits as in the paper, and whether an accepted certificate follows
    within the same limit.
    """
    from globalmin.fused.train import train_many
    from globalmin.shallow.provability import estimate_provability

    left, fitted = MAX_ITER, False
    for stage in range(STAGES):
        runs = train_many(
            data.X,
            data.y,
            network.W[None],
            network.v,
            step_size=STEPS["softplus"],
            max_iter=left,
            tol=TOL * 0.25**stage,
        )
        fitted = fitted or bool(succeeds(runs.relative_residual)[0])
        if not runs.reached[0]:
            break
        left -= int(runs.iterations[0])
        network = network.with_weights(W=runs.W[0])
        if estimate_provability(network, data.X, data.y) < 1.0 and is_accepted(network, data):
            return {"gd_fitted": True, "gd_proved": True}
    return {"gd_fitted": fitted, "gd_proved": False}


def by_levenberg_marquardt(network: ShallowNetwork, data: Dataset) -> dict[str, bool]:
    """Whether Levenberg-Marquardt reaches zero loss from this start, and whether the checker
    accepts it.
    """
    from globalmin.shallow.train import train

    run = train(network, data, "levenberg_marquardt")
    fitted = run.relative_residual <= FITTED
    return {"lm_fitted": fitted, "lm_proved": fitted and is_accepted(run.network, data)}


def is_accepted(network: ShallowNetwork, data: Dataset) -> bool:
    """Whether a certificate of interpolation can be written and the independent checker accepts the
    file.
    """
    from globalmin.proving.producer import prove
    from globalmin.shallow.claims.interpolation import CLAIM

    return prove(network, data, claims=[CLAIM.kind]).is_accepted


def required_widths(*, n: int, d: int, seed: int) -> dict[str, Any]:
    """Widths by the theorems on one draw of the data."""
    from globalmin.data.generators import sphere_with_random_labels
    from globalmin.inspection import inspect

    found = inspect(
        sphere_with_random_labels(n, d, seed=seed),
        width=d,
        activation="softplus",
        scheme="os",
        seed=seed,
    )
    return {
        item: float(width)
        for item, width in found.required_widths().items()
        if math.isfinite(width)
    }


def _rows(
    planes: tuple[Plane, ...], shares: Mapping[tuple[int, int, int], Mapping[str, float]]
) -> list[Row]:
    rows = []
    if (100, 25, 5) in shares:
        cell, words = shares[100, 25, 5], "(k, d) = (25, 5), n = 100: fitted by"
        rows = [
            Row(
                f"{words} gradient descent",
                None,
                cell["gd_fitted"],
                note="not judged: at 1.25 n, in the transition",
            ),
            Row(
                f"{words} Levenberg-Marquardt",
                None,
                cell["lm_fitted"],
                tolerance=0.3,
                reference=1,
                source="4 starts of our spec page",
                error="one of four starts",
                catches=("the share of gradient descent by its stop", 0),
            ),
        ]
    for plane in planes:
        n, here = plane.n, {cell: value for cell, value in shares.items() if cell[0] == plane.n}
        for method, name in (("gd", "gradient descent"), ("lm", "Levenberg-Marquardt")):
            border = _border(here, f"{method}_proved", plane)
            rows.append(
                Row(
                    f"n = {n}: kd/n where half is proved, {name}",
                    None,
                    border,
                    note="no paper has this",
                )
            )
            proved = [
                k * d / n for (_, k, d), value in here.items() if value[f"{method}_proved"] > 0
            ]
            rows.append(
                Row(
                    f"n = {n}: least kd/n proved, {name}",
                    None,
                    min(proved, default=math.inf),
                    note="no paper has this",
                )
            )
        failed = sum(1.0 - value["gd_fitted"] for value in here.values())
        share = sum(value["only_limit"] for value in here.values()) / failed if failed else 0.0
        note = "kd >= n; the rest is not fitted by either from this start"
        rows.append(
            Row(
                f"n = {n}: share of gradient descent's failures that Levenberg-Marquardt fits",
                None,
                share,
                note=note,
            )
        )
    return rows


def _border(
    here: Mapping[tuple[int, int, int], Mapping[str, float]], flag: str, plane: Plane
) -> float:
    from globalmin.reproductions.crossing import logistic_crossing

    x = [math.log(k * d / plane.n) for _, k, d in here]
    return math.exp(
        logistic_crossing(
            x, [round(value[flag] * plane.trials) for value in here.values()], plane.trials
        ).center
    )


def _width_rows(dimensions: tuple[int, ...], widths: list[dict[str, Any]]) -> list[Row]:
    known = {("OS-C6", 20): 1.9e7, ("OS-T6.2", 20): 2e11}
    rows = []
    for d, found in zip(dimensions, widths, strict=True):
        for item, published in (
            (item, value) for (item, at), value in known.items() if at == d and item in found
        ):
            rows.append(
                Row(
                    f"width by {item}, n = 100, d = {d}",
                    None,
                    found[item],
                    note="another draw of the data",
                    reference=published,
                    source="our spec page, another draw of the data",
                )
            )
    return rows


def draw_plane(plane: Plane, shares: Mapping[tuple[int, int, int], Mapping[str, float]]) -> Figure:
    """Fitted by gradient descent, proved by gradient descent, proved by Levenberg-Marquardt."""
    import numpy as np

    from globalmin.report.reproduction_figures import Plane as Shown
    from globalmin.report.reproduction_figures import phase_diagram

    titles = {
        "gd_fitted": "gradient descent, fitted",
        "gd_proved": "gradient descent, proved",
        "lm_proved": "Levenberg-Marquardt, proved",
    }
    axis = np.array(plane.axis, dtype=np.float64)
    panels = [
        Shown(
            title,
            axis,
            axis,
            np.array(
                [
                    [shares.get((plane.n, k, d), {}).get(flag, 0.0) for d in plane.axis]
                    for k in plane.axis
                ]
            ),
        )
        for flag, title in titles.items()
    ]
    return phase_diagram(panels, n=plane.n, bar=f"share of runs, n = {plane.n}")


def draw_widths(
    plane: Plane,
    shares: Mapping[tuple[int, int, int], Mapping[str, float]],
    widths: Mapping[int, Mapping[str, float]],
) -> Figure:
    """Widths by dimension: kd = n, the least width with half of the runs proved, and the widths of
    the theorems.
    """
    import numpy as np

    from globalmin.report.reproduction_figures import widths_by_dimension

    axis = np.array(plane.axis, dtype=np.float64)
    curves = {"kd = n": (axis, plane.n / axis)}
    for method, name in (("lm", "Levenberg-Marquardt"), ("gd", "gradient descent")):
        least = [
            min(
                (
                    k
                    for k in plane.axis
                    if shares.get((plane.n, k, d), {}).get(f"{method}_proved", 0.0) >= 0.5
                ),
                default=math.nan,
            )
            for d in plane.axis
        ]
        curves[f"half proved, {name}"] = (axis, np.array(least, dtype=np.float64))
    dimensions = np.array(sorted(widths), dtype=np.float64)
    for item in ("OS-C6", "OS-T6.2", "OS-T2.1"):
        values = np.array([widths[d].get(item, math.nan) for d in sorted(widths)], dtype=np.float64)
        if np.isfinite(values).any():
            curves[f"needed by {item}"] = (dimensions, values)
    return widths_by_dimension(curves, n=plane.n)
