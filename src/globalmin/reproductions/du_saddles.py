"""DU, figures 7.1, 7.2 and 7.5: two warm-ups, the tube and the octopus with paths of gradient
descent, and their domains.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.references import states
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.octopus.function import Octopus
    from globalmin.reproductions.running import Setting

L, GAMMA, TAU = math.e, 1.0, math.e  # section 7.7.1
STEP = 1.0 / (4.0 * L)  # that of figures 7.3 and 7.4
CORNERS = np.array(  # in units of tau: the first seven are in the domain of the octopus
    [(0, 0), (1, 1), (2, 0), (4, 0), (4, 4), (6, 6), (3, 2.5), (0.5, 3), (1.5, 1.5)]
)
FIXED = "Printed: L = e, γ = 1, τ = e (section 7.7.1), saddles blue, minimum red, path pink."


@states("DU-F7.1")
@reproduction(
    "DU-F7.1", title="Figure 7.1: a thin band around a saddle, and a far start that leads into it"
)
def fig71(setting: Setting) -> Reproduction:
    """Level lines of both warm-ups with paths of gradient descent at step 1/4, and how long they
    stay.
    """
    from globalmin.octopus import warmups as warm
    from globalmin.octopus.figures import warmups

    band = warm.descent_path(warm.saddle_gradient, [0.9, 1e-6], warm.STEP, 35)
    distances = (10, 20, 40)
    far = warm.descent_path(warm.far_gradient, [-10.0, 0.5], warm.STEP, warm.far_escape_steps(10))
    law = 1.0 + math.log(2.0) / math.log(1.5)
    rows = (
        Row(
            "steps from |x₂| = 10⁻⁶ to 1",
            None,
            int(np.argmax(np.abs(band[:, 1]) >= 1.0)),
            0.0,
            reference=math.ceil(6.0 * math.log(10.0) / math.log(1.5)),
            source="⌈ln(1/|x₂|)/ln 1.5⌉, from x₂ ← 1.5 x₂ below (7.2)",
            error="none: an integer",
            catches=("half the step", math.ceil(6.0 * math.log(10.0) / math.log(1.25))),
        ),
        *(
            Row(
                f"steps to leave from distance {R}",
                "t ≈ R to the saddle, then as from 2⁻ᴿ",
                warm.far_escape_steps(R),
                2.0,
                where="section 7.3, second example",
                reference=law * R,
                source="R(1 + ln 2/ln 1.5)",
                error="whole steps, and the piece that joins slope and saddle: two steps",
                catches=("no wait at the saddle", float(R)),
            )
            for R in distances
        ),
    )
    return Reproduction(
        item="DU-F7.1",
        scale=setting.scale,
        table=rows,
        data=_path_columns({"thin band": band, "far start": far}),
        figures={"": lambda: warmups(band, far)},
        choices=(
            "Printed: both functions but for the piece between slope and saddle, of which only the "
            "existence is said; ours is twice continuously differentiable. Not printed: the "
            "starts of the paths.",
        ),
    )


def _path_columns(paths: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    lengths = [len(path) for path in paths.values()]
    points = np.concatenate(list(paths.values()))
    return {
        "path": np.repeat(list(paths), lengths),
        "step": np.concatenate([np.arange(n) for n in lengths]),
        "x1": points[:, 0],
        "x2": points[:, 1],
    }


STARTS = ((0.5, 0.5), (-0.5, 0.5), (-0.7, -0.3), (0.2, -0.6))
# steps past the three saddles of the tube from (1/2, 1/2, 1/2), golden values of our spec page
PASSED = (13, 77, 399)


@states("DU-F7.2")
@reproduction(
    "DU-F7.2",
    title="Figure 7.2: tube and octopus with paths of gradient descent, the tube in three "
    "dimensions",
)
def fig72(setting: Setting) -> Reproduction:
    """From the first saddle to the second and on to a minimum, in two and in three dimensions."""
    from globalmin.octopus.figures import tube_and_octopus
    from globalmin.octopus.function import Octopus
    from globalmin.octopus.warmups import descent_path
    from globalmin.report.thesis_figures import tube_in_space

    tube, octopus = Octopus(2, L, GAMMA, TAU, mirrored=False), Octopus(2, L, GAMMA, TAU)
    space = Octopus(3, L, GAMMA, TAU, mirrored=False)
    paths = [descent_path(octopus.gradient, start, STEP, 300) for start in STARTS]
    long = descent_path(space.gradient, [0.5, 0.5, 0.5], STEP, 500)
    saddles = np.array([space.saddle(passed) for passed in range(3)])
    names = [f"({a:g}, {b:g})".replace("-", "−") for a, b in STARTS]
    flat = np.concatenate([np.column_stack([path, np.full(len(path), np.nan)]) for path in paths])
    points = np.concatenate([flat, long])
    lengths = [len(path) for path in (*paths, long)]
    return Reproduction(
        item="DU-F7.2",
        scale=setting.scale,
        table=(*_shape_rows(octopus, paths), *_space_rows(space, long)),
        data={
            "start": np.repeat([*names, "(0.5, 0.5, 0.5)"], lengths),
            "step": np.concatenate([np.arange(n) for n in lengths]),
            **{f"x{i + 1}": points[:, i] for i in range(3)},
        },
        figures={
            "": lambda: tube_and_octopus(tube, octopus, paths[0], paths),
            "b": lambda: tube_in_space(tube_boxes(TAU), saddles, space.saddle(3), long),
        },
        choices=(
            FIXED + " Not printed: starts and step; the step is that of figures 7.3 and 7.4. Our "
            "paths in the plane are orange.",
        ),
    )


def tube_boxes(tau: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The four boxes of the tube in three dimensions, (7.5): low and high corners."""
    boxes = []
    for i in range(4):
        low = np.where(np.arange(3) < i, 2.0, 0.0)
        high = np.where(np.arange(3) < i, 6.0, np.where(np.arange(3) == i, 2.0, 1.0))
        boxes.append((low * tau, high * tau))
    return boxes


def _shape_rows(octopus: Octopus, paths: list[np.ndarray]) -> list[Row]:
    drop = (37.0 * L + 13.0 * GAMMA) * TAU**2 / 6.0
    curvature = np.linalg.eigvalsh(octopus.hessian(octopus.saddle(1)))
    misses = [float(np.linalg.norm(np.abs(path[-1]) - 4.0 * TAU)) for path in paths]
    return [
        Row(
            "value at a minimum",
            "−2ν, ν = −g₁(2τ) + 4Lτ²",
            float(octopus.value(octopus.saddle(2))),
            1e-10,
            where="(7.4) and section 7.7.1",
            reference=-2.0 * drop,
            source="ν = (37L + 13γ)τ²/6 by integrating the printed spline",
            error="rounding",
        ),
        Row(
            "least curvature at the second saddle",
            -2.0 * GAMMA,
            float(curvature[0]),
            1e-12,
            where="(7.4): −γx₂², so −2γ",
            error="rounding",
        ),
        Row(
            "largest curvature there",
            2.0 * L,
            float(curvature[-1]),
            1e-12,
            where="(7.4): L(x₁ − 4τ)², so 2L",
            error="rounding",
        ),
        Row(
            "largest distance of a path's end to a minimum, d = 2",
            0.0,
            max(misses),
            1e-6,
            where="the optimum is at (4τ, 4τ), below (7.4)",
            error="what 300 steps leave",
            catches=("a path that stays at the second saddle", 4.0 * TAU),
        ),
    ]


def _space_rows(space: Octopus, path: np.ndarray) -> list[Row]:
    passed = [int(np.argmax(path[:, k] >= 2.0 * TAU)) for k in range(3)]
    rows = [
        Row(
            f"steps past saddle {k + 1}, d = 3",
            None,
            passed[k],
            0.0,
            reference=PASSED[k],
            source="our spec page, another program",
            error="none: an integer",
            catches=("half the step", 2.0 * PASSED[k]),
        )
        for k in range(3)
    ]
    rows.append(
        Row(
            "points of the path outside of the tube, d = 3",
            0,
            int((~space.in_domain(path)).sum()),
            0.0,
            where="proof of lemma 7.2: descent stays in D₀",
            error="none: a count",
            catches=("one point", 1.0),
        )
    )
    return rows


@states("DU-F7.5")
@reproduction(
    "DU-F7.5", title="Figure 7.5: the domains of the tube and of the octopus in two dimensions"
)
def fig75(setting: Setting) -> Reproduction:
    """Where which formula holds; the octopus is the tube mirrored in every axis."""
    from globalmin.octopus.figures import domains
    from globalmin.octopus.function import Octopus

    octopus = Octopus(2, L, GAMMA, TAU)
    cube = np.random.default_rng(setting.seed).uniform(-1.0, 1.0, (1_000, 2))
    outside = int((~octopus.in_domain(cube)).sum())
    inside = octopus.in_domain(CORNERS * TAU * (1.0 - 1e-12))
    return Reproduction(
        item="DU-F7.5",
        scale=setting.scale,
        table=_domain_rows(octopus.critical_counts(), outside, inside),
        data={"x1": CORNERS[:, 0] * TAU, "x2": CORNERS[:, 1] * TAU, "inside": inside},
        figures={"": lambda: domains(TAU)},
        choices=(
            FIXED,
            "The union in (7.12) is printed up to d; d + 1 is meant, as in (7.5) (erratum E26, "
            "misprint).",
        ),
    )


def _domain_rows(counts: tuple[int, int], outside: int, inside: np.ndarray) -> tuple[Row, ...]:
    saddles, minima = counts
    return (
        Row(
            "minima of the octopus, d = 2",
            4,
            minima,
            0.0,
            where="section 7.7.1, step 2: 2^d copies of the tube, each with its minimum",
            error="none: a count",
        ),
        Row(
            "saddles of the octopus, d = 2",
            None,
            saddles,
            0.0,
            reference=3,
            source="2^d − 1: mirror images of the tube's d saddles that differ",
            error="none: a count",
        ),
        Row(
            "starts in [−1, 1]² outside the domain",
            0,
            outside,
            0.0,
            where="section 7.7.1, step 2: the cube is a subset of the octopus",
            error="none: a count of 1,000",
            catches=("the tube alone", 750.0),
        ),
        Row(
            "of nine points in units of τ, in the domain",
            None,
            int(inside.sum()),
            0.0,
            note="(0.5, 3) and (1.5, 1.5) are not",
            reference=7,
            source="counted by hand in (7.12)",
            error="none: a count",
            catches=("a union that ends at d", 6.0),
        ),
    )
