"""Small random certificates of every kind for the differential campaign: honest ones with slack of
any size, also negative.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.corpus_accepted import network
from tests.corpus.drafts import Draft
from tests.corpus.honest_instances import (
    SMOOTH_NETWORKS,
    descent_draft,
    floor_draft,
    interpolation_draft,
    relu_draft,
)
from tests.corpus.honest_quadratic import HEADS, SMOOTH, SOURCES
from tests.corpus.small_producer import NotProvableError, Slack

Rng = np.random.Generator
FLOOR_ACTIVATIONS = [
    ("softplus", None),
    ("sigmoid", "2"),
    ("tanh", None),
    ("erf", None),
    ("quadratic", None),
    ("linear", None),
    ("abs", None),
]
FLOOR_ACTIVATIONS += [("relu", None), ("leaky_relu", "1/4"), ("leaky_relu", "0")]


def random_slack(rng: Rng) -> Slack:
    """Every margin log-uniform between 1e-9 and 0.3; with probability 0.15 one of them negative, so
    that the claim is slightly false."""
    values = 10 ** rng.uniform(-9, -0.5, size=6)
    if rng.random() < 0.15:
        values[int(rng.integers(6))] *= -1
    return Slack(*(float(x) for x in values))


def random_smooth(rng: Rng) -> Draft:
    """An interpolation or descent certificate."""
    word = str(rng.choice(list(SMOOTH_NETWORKS)))
    n, d = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    k = int(rng.integers(max(1, -(-n // d)), 5))
    trained, method = str(rng.choice(["W", "vW"])), str(rng.choice(["rows", "svec"]))
    noise = float(10 ** rng.uniform(-8, -1.5))
    bias = bool(rng.random() < 0.2) and d > 1
    if rng.random() < 0.5:
        return interpolation_draft(
            rng, SMOOTH_NETWORKS[word], (n, d, k), trained=trained, method=method, noise=noise,
            bias=bias,
            lower=bool(rng.random() < 0.5), slack=random_slack(rng),
        )  # fmt: skip
    norm = str(rng.choice(["rows", "factor"]))
    return descent_draft(
        rng,
        SMOOTH_NETWORKS[word],
        (n, d, k),
        trained=trained,
        method=method,
        norm=norm,
        noise=noise / 10,
        bias=bias,
        slack=random_slack(rng),
    )


def random_relu(rng: Rng) -> Draft:
    """A relu-interpolation certificate."""
    n, d = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    sizes = (n, d, int(rng.integers(3, 7)))
    noise = float(10 ** rng.uniform(-6, 0.5))
    return relu_draft(
        rng,
        sizes,
        noise=noise,
        few=bool(rng.random() < 0.3),
        dropped=bool(rng.random() < 0.3),
        slack=random_slack(rng),
    )


def random_floor(rng: Rng) -> Draft:
    """A loss-floor certificate on integer data with random groups; floors are random small
    rationals, true or not.
    """
    name, parameter = FLOOR_ACTIVATIONS[int(rng.integers(len(FLOOR_ACTIVATIONS)))]
    d, n = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    base = rng.integers(-2, 3, size=d).astype(float)
    rows = [list(base * float(rng.choice([1, 1, 2, -1, -2, 0.5, 0]))) for _ in range(n)]
    labels = [float(x) for x in rng.integers(-2, 3, size=n)]
    order = [int(i) for i in rng.permutation(n)]
    cut = int(rng.integers(1, n + 1))
    parts = [order[:cut], order[cut:]] if rng.random() < 0.5 and cut < n else [order[:cut]]
    groups = [(int(rng.integers(6)), part) for part in parts]
    floor = Fraction(int(rng.integers(0, 9)), int(rng.choice([1, 2, 4, 5, 10, 34])))
    heads = str(rng.choice(["any", "nonnegative"]))
    return floor_draft(network(name, parameter), rows, labels, groups, floor, heads=heads)


def random_quadratic(rng: Rng) -> Draft:
    """A claim about a quadratic network or a second-order point: any method, room log-uniform, with
    probability 0.15 negative.
    """
    name = str(rng.choice(list(SOURCES)))
    slack = float(10 ** rng.uniform(-9, -0.5)) * (-1 if rng.random() < 0.15 else 1)
    options: dict[str, Any] = {"slack": slack}
    if name in ("gap_positive", "gap_rank", "gap_decay"):
        options |= {
            "trained": bool(rng.random() < 0.1),
            "heads": str(rng.choice(HEADS[: 3 if name == "gap_decay" else 2])),
        }
    elif name == "identifies":
        options |= {"n": int(rng.integers(2, 6)), "stable": bool(rng.random() < 0.7)}
    elif name == "ambiguous":
        options["d"] = int(rng.integers(2, 4))
    elif name == "barrier":
        options["norm"] = str(rng.choice(["rows", "factor"]))
    elif name in ("saddle", "second_order"):
        options |= _random_second_order(rng, name)
    return SOURCES[name](int(rng.integers(2**31)), **options)


def _random_second_order(rng: Rng, name: str) -> dict[str, Any]:
    activation, trained = str(rng.choice(SMOOTH)), str(rng.choice(["W", "vW"]))
    options: dict[str, Any] = {"activation": activation, "trained": trained}
    if activation in ("softplus", "sigmoid"):
        options["slope"] = float(rng.choice([1.0, 0.75, 2.0]))
    if name == "saddle" and trained == "W":
        options["radius"] = str(rng.choice(["", "rows", "svec"]))
    if name == "second_order":
        options["method"] = str(rng.choice(["dense", "blocks"])) if trained == "W" else "dense"
    return options


Kinds = tuple[Callable[[Rng], Draft], ...]
FIRST_KINDS: Kinds = (random_smooth, random_smooth, random_relu, random_floor)
ALL_KINDS: Kinds = (*FIRST_KINDS, *[random_quadratic] * 6)


def random_certificate(rng: Rng, kinds: Kinds = ALL_KINDS) -> Draft:
    """Any kind."""
    while True:
        try:
            return kinds[int(rng.integers(len(kinds)))](rng)
        except (NotProvableError, np.linalg.LinAlgError):
            continue
