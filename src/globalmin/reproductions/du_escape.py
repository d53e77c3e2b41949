"""DU, figures 7.3 and 7.4: gradient descent against perturbed gradient descent on the octopus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.earlier import Earlier
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

LS = (1.0, 1.5, 2.0, 3.0)
SHOWN = 1_000  # steps in the figures
STEP = 0.25  # times 1/L, section 7.5
CUBE = 1.0  # half-width of the law of the starts, theorem 7.3
NOISE = 1.0  # times e/100, the radius of section 7.5
TEXT = "section 7.5, text on figures 7.3 and 7.4"
# our earlier run, seeds from 500,000: (quantity, d, L)
EARLIER = {
    ("slow", 5, 1.0): Earlier(2.713, 0.107, 200, ("starts in a tenth of the cube", 2.99)),
    ("slow", 5, 1.5): Earlier(3.198, 0.117, 200, ("starts in a tenth of the cube", 3.49)),
    ("slow", 5, 2.0): Earlier(3.59, 0.124, 200, ("starts in a tenth of the cube", 3.88)),
    ("slow", 5, 3.0): Earlier(4.208, 0.134, 200, ("starts in a tenth of the cube", 4.51)),
    ("slow", 10, 1.0): Earlier(4.88, 0.106, 200, ("starts in a tenth of the cube", 5.16)),
    ("slow", 10, 1.5): Earlier(5.862, 0.117, 200, ("starts in a tenth of the cube", 6.15)),
    ("slow", 10, 2.0): Earlier(6.658, 0.124, 200, ("starts in a tenth of the cube", 6.95)),
    ("slow", 10, 3.0): Earlier(7.908, 0.134, 200, ("starts in a tenth of the cube", 8.21)),
    ("fast", 5, 1.0): Earlier(99.76, 7.31, 200, ("noise of a hundredth", 135.12)),
    ("fast", 5, 1.5): Earlier(131.8, 8.51, 200, ("noise of a hundredth", 181.62)),
    ("fast", 5, 2.0): Earlier(162.5, 8.17, 200, ("noise of a hundredth", 230.12)),
    ("fast", 5, 3.0): Earlier(219.2, 9.28, 200, ("noise of a hundredth", 328.5)),
    ("fast", 10, 1.0): Earlier(233.1, 9, 200, ("noise of a hundredth", 320.88)),
    ("fast", 10, 1.5): Earlier(301.3, 10.8, 200, ("noise of a hundredth", 433.62)),
    ("fast", 10, 2.0): Earlier(366.5, 11.1, 200, ("noise of a hundredth", 542.88)),
    ("fast", 10, 3.0): Earlier(492.5, 15.1, 200, ("noise of a hundredth", 749.62)),
    ("pace", 5, 1.0): Earlier(1.006, 0.107, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 5, 1.5): Earlier(1.002, 0.1, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 5, 2.0): Earlier(1.009, 0.102, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 5, 3.0): Earlier(1.016, 0.107, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 10, 1.0): Earlier(1.003, 0.108, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 10, 1.5): Earlier(1.004, 0.0994, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 10, 2.0): Earlier(1.003, 0.112, 200, ("plateaus that grow by a half", 1.5)),
    ("pace", 10, 3.0): Earlier(1.01, 0.12, 200, ("plateaus that grow by a half", 1.5)),
}
NAMES = {
    "slow": "mean log10 steps of gradient descent past all saddles",
    "fast": "mean steps of perturbed descent past all saddles",
    "pace": "last plateau of perturbed descent over the third",
}
CHOICES = (
    "Printed: step 1/(4L), t_thres = 1, g_thres = γe/100, r = e/100, d; γ = 1 and τ = e in section "
    "7.7.1; the cube [−1, 1]^d in theorem 7.3. Not printed: the law on the cube (ours uniform) and "
    "the number of runs; the values of L are lost in our copy, ours are 1, 1.5, 2, 3.",
    "Gradient descent is followed in logarithms: in float64 a waiting coordinate underflows to "
    "zero and the run is stuck for ever, so that a plot of 'never converges' at d = 10 may be that "
    "artefact.",
)


def _start(d: int, seed: int) -> np.ndarray:
    return CUBE * np.random.default_rng(seed).uniform(-1.0, 1.0, d)


def escape_trial(*, d: int, L: float, seed: int) -> dict[str, Any]:
    """Steps past each saddle of the octopus, gradient descent and Algorithm 2, from one random
    start.
    """
    from globalmin.octopus.escape import octopus_escape_times

    start, step = _start(d, seed), STEP / L
    slow = octopus_escape_times(d, L, 1.0, step, "gradient_descent", start=start, seed=seed)
    fast = octopus_escape_times(
        d,
        L,
        1.0,
        step,
        "perturbed_gradient_descent",
        start=start,
        seed=seed,
        radius=NOISE * np.e / 100,
    )
    return {"plain": slow.astype(np.float64), "noisy": fast.astype(np.float64)}


def values_trial(*, d: int, L: float, steps: int, seed: int) -> dict[str, Any]:
    """The function by step along both descents from the same start."""
    from globalmin.octopus.descent import descent_values, perturbed_descent
    from globalmin.octopus.function import Octopus

    octopus, x = Octopus(d, L, 1.0), _start(d, seed)
    noisy = perturbed_descent(octopus, x, STEP / L, np.random.default_rng(seed), n_values=steps)
    return {
        "plain": descent_values(octopus, x, STEP / L, range(steps + 1)),
        "noisy": noisy.values[: steps + 1],
    }


def _escape(setting: Setting, d: int, item: str) -> Reproduction:
    from globalmin.octopus.figures import objective_by_step
    from globalmin.octopus.function import Octopus

    draws = setting.pick(thumbnail=16, paper=200)
    seeds = [1_000 * setting.seed + draw for draw in range(draws)]
    times = setting.trials(
        escape_trial, [{"d": d, "L": L, "seed": seed} for L in LS for seed in seeds]
    )
    curves = setting.trials(
        values_trial, [{"d": d, "L": L, "steps": SHOWN, "seed": seeds[0]} for L in LS]
    )
    plain, noisy = (
        np.array([one[name] for one in times]).reshape(len(LS), draws, d)
        for name in ("plain", "noisy")
    )
    t = np.arange(SHOWN + 1, dtype=np.float64)
    shown = {
        f"L = {L:g}": {
            "gradient descent": (t, np.asarray(one["plain"])),
            "perturbed": (t, np.asarray(one["noisy"])),
        }
        for L, one in zip(LS, curves, strict=True)
    }
    least = {f"L = {L:g}": Octopus(d, L, 1.0).least for L in LS}
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=(*_law_rows(d, plain, noisy), *_earlier_rows(d, plain, noisy)),
        data={
            "L": np.repeat(LS, len(t)),
            "step": np.tile(t, len(LS)),
            **{name: np.concatenate([one[name] for one in curves]) for name in ("plain", "noisy")},
        },
        figures={"": lambda: objective_by_step(shown, least=least)},
        choices=(*CHOICES, f"{draws} starts for each L; the first is drawn."),
    )


def _law_rows(d: int, plain: np.ndarray, noisy: np.ndarray) -> list[Row]:
    """What holds for every start: the factor from saddle to saddle, the bound, who is faster."""
    from globalmin.octopus.escape import escape_ratio

    rows = []
    for L, times in zip(LS, plain, strict=True):
        kappa, waits = escape_ratio(L, 1.0, 0.25 / L), 6.0 + 4.0 * L
        rows.append(
            Row(
                f"last plateau's end over that before, median, L = {L:g}",
                f"grows by a factor, (L + γ)/γ = {L + 1:g}",
                float(np.median(times[:, -1] / times[:, -2])),
                waits / float(np.median(times[:, -2])),
                where=TEXT,
                reference=kappa,
                source="κ = 1 + ln(1/(1 − 2ηL))/ln(1 + 2ηγ), at least the printed factor",
                error=f"{waits:g} steps of start and buffer, over the time before; in the median "
                f"{4.3 + 2.6 * (L - 1.0):.0f} in 200 earlier draws",
                catches=("the printed factor, a bound", L + 1.0),
            )
        )
    rows += [
        Row(
            f"fastest run of gradient descent, L = {L:g}",
            (L + 1.0) ** (d - 1),
            float(times[:, -1].min()),
            0.0,
            ">=",
            where="lemma 7.3: no start passes the last saddle within ((L + γ)/γ)^(d − 1) steps",
            error="none: a bound",
        )
        for L, times in zip(LS, plain, strict=True)
    ]
    rows.append(
        Row(
            "runs in which gradient descent was faster",
            0,
            int((plain[:, :, -1] < noisy[:, :, -1]).sum()),
            0.0,
            where=f"{TEXT}: in all experiments, PGD converges faster",
            error="none: a count",
            catches=("one run", 1.0),
        )
    )
    return rows


def escape_numbers(plain: np.ndarray, noisy: np.ndarray) -> dict[str, np.ndarray]:
    """Of every run (L x draws): logarithm of the last time of descent, last time with noise, and
    the last plateau with noise over the third.
    """
    plateaus = np.diff(noisy, axis=2)
    return {
        "slow": np.log10(plain[:, :, -1]),
        "fast": noisy[:, :, -1],
        "pace": plateaus[:, :, -1] / plateaus[:, :, 1],
    }


def _earlier_rows(d: int, plain: np.ndarray, noisy: np.ndarray) -> list[Row]:
    numbers = escape_numbers(plain, noisy)
    words: dict[str, dict[str, str]] = {
        "pace": {"published": "approximately constant", "where": TEXT},
    }
    return [
        EARLIER[name, d, L].row(f"{title}, L = {L:g}", numbers[name][i], **words.get(name, {}))
        for name, title in NAMES.items()
        for i, L in enumerate(LS)
        if (name, d, L) in EARLIER
    ]


@states("DU-F7.3")
@reproduction(
    "DU-F7.3",
    title="Figure 7.3: gradient descent and perturbed gradient descent on the octopus, d = 5",
)
def fig73(setting: Setting) -> Reproduction:
    """Plateaus that grow by a fixed factor against plateaus of constant length."""
    return _escape(setting, 5, "DU-F7.3")


@states("DU-F7.4")
@reproduction("DU-F7.4", title="Figure 7.4: the same in d = 10 dimensions")
def fig74(setting: Setting) -> Reproduction:
    """As figure 7.3; gradient descent needs up to 1e8 steps."""
    return _escape(setting, 10, "DU-F7.4")
