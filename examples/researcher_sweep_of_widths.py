# A marimo notebook for research: how wide must it be? What the theorems ask for, what inspection
# recommends, and from which width trainings are proved to reach zero loss.
#   marimo edit examples/researcher_sweep_of_widths.py     as a notebook
#   python examples/researcher_sweep_of_widths.py          once, from top to bottom

import marimo

app = marimo.App(width="medium", app_title="How wide?")


@app.cell
def _():
    import marimo as mo
    import matplotlib.pyplot as plt

    import globalmin as gm

    return gm, mo, plt


@app.cell
def _(mo):
    n = mo.ui.slider(4, 40, value=12, label="Points", show_value=True)
    d = mo.ui.slider(2, 10, value=4, label="Dimensions", show_value=True)
    trials = mo.ui.slider(1, 10, value=3, label="Starts per width", show_value=True)
    mo.hstack([n, d, trials])
    return d, n, trials


@app.cell
def _(d, n, trials):
    choices = {"n": n.value, "d": d.value, "trials": trials.value, "widths": (1, 2, 3, 4, 6, 8)}
    return (choices,)


@app.cell
def _(choices, gm):
    data = gm.generators.sphere_with_random_labels(choices["n"], choices["d"], seed=0)
    found = gm.inspect(data, activation="softplus")
    asked = {item: width for item, width in found.required_widths().items() if width < 1e300}
    recommended = found.recommended_width
    return asked, data, recommended


@app.cell
def _(choices, data, gm):
    def proved(width: int, seed: int) -> bool:
        """Whether a training of this width is proved to end next to zero loss."""
        start = gm.ShallowNetwork.initialize(data, width=width, activation="softplus", seed=seed)
        proof = gm.prove(gm.train(start, data).network, data)
        return proof.is_accepted and proof.reaches_minimum and proof.loss_lower == 0

    shares = {
        width: sum(proved(width, seed) for seed in range(choices["trials"])) / choices["trials"]
        for width in choices["widths"]
    }
    return (shares,)


@app.cell
def _(asked, mo, plt, recommended, shares):
    figure, axes = plt.subplots(figsize=(6, 3))
    axes.plot(list(shares), list(shares.values()), "o-")
    axes.axvline(recommended, linestyle="--", color="gray")
    axes.set(xlabel="neurons", ylabel="share of starts proved to reach zero loss")
    least = min(asked.values(), default=float("inf"))
    mo.vstack(
        [
            figure,
            mo.md(
                f"`inspect` recommends {recommended} neurons (dashed). The least width that a "
                f"theorem asks for is {least:.3g}."
            ),
        ]
    )
    return (figure,)


if __name__ == "__main__":
    app.run()
