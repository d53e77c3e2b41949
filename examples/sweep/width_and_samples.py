"""Recipe of a small phase diagram: from which width on are n random labels in d dimensions
fitted?
"""

import globalmin as gm


def train(width: int, n: int, d: int, seed: int, max_iter: int = 200) -> dict:
    """One trial: the final loss, whether it counts as zero, and the curve."""
    data = gm.generators.sphere_with_random_labels(n, d, seed=seed)
    network = gm.ShallowNetwork.initialize(data, width=width, activation="softplus", seed=seed)
    run = gm.train(network, data, method="levenberg_marquardt", max_iter=max_iter)
    return {
        "loss": float(run.losses[-1]),
        "fitted": bool(run.losses[-1] < 1e-10),
        "iterations": run.n_iter,
        "curve": run.losses,
    }
