"""A network that starts on a saddle: plain descent stays, noise and curvature leave, and both ends
are proved.
"""

import numpy as np

import globalmin as gm
from globalmin.optimize.trust_region import minimize

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
data = gm.Dataset(
    X, np.square(X @ rng.standard_normal((5, 3))).sum(axis=1), bias=False, scaling="none"
)
start = gm.ShallowNetwork(np.zeros((6, 5)), np.ones(6), "quadratic")

gm.certify(start, data, claims=["strict-saddle"]).save("saddle.gmc")
result = gm.check("saddle.gmc")
numbers = result.claims[0].numbers
print(
    f"start: {result.verdict.value}, curvature {-numbers['gamma']:.0f}, no local minimum within "
    f"{numbers['radius']:.3f}"
)

for method, options in (
    ("gradient_descent", {"step_size": 1e-5, "max_iter": 200}),
    ("perturbed_gradient_descent", {"step_size": 1e-5, "max_iter": 5_000}),
    ("trust_region", {}),
    ("trust_region", {"solver": "cubic"}),
):
    run = gm.train(start, data, method=method, **options)
    name = options.get("solver", method)
    print(f"{name}: loss {run.loss:.3g} after {run.n_iter} iterations")

gm.certify(run.network, data, claims=["second-order-stationary", "optimality-gap"]).save(
    "minimum.gmc"
)
result = gm.check("minimum.gmc")
print(f"end: {result.verdict.value}")
print(result.statement)


def bowl(x: np.ndarray) -> float:
    """A function of your own: two wells and a saddle between them."""
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2


for method in ("trust-exact", "cubic"):
    found = minimize(bowl, [0.0, 0.0], method=method)
    print(f"{method}: {found.status} at {np.round(found.point, 6)} after {found.n_iter} iterations")
