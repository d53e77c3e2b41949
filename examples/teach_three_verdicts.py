# A marimo notebook for a class: a minimum, a saddle and a trap, and how one knows.
#   marimo run examples/teach_three_verdicts.py     as an app in the browser
#   python examples/teach_three_verdicts.py         once, from top to bottom

import marimo

app = marimo.App(width="medium", app_title="Three verdicts")


@app.cell
def _():
    import marimo as mo
    import numpy as np

    import globalmin as gm

    return gm, mo, np


@app.cell
def _(mo):
    mo.md(
        """
        # Where did the training stop?

        A small gradient says nothing about *where* one is. Ask for a proof instead: zero loss next
        to the weights, a direction that curves down, or a lower loss elsewhere.
        """
    )
    return


@app.cell
def _(mo):
    seed = mo.ui.number(0, 99, value=0, label="Seed of the points")
    width = mo.ui.slider(6, 30, step=2, value=12, label="Neurons", show_value=True)
    mo.hstack([seed, width])
    return seed, width


@app.cell
def _(seed, width):
    choices = {"seed": seed.value, "width": width.value}
    return (choices,)


@app.cell
def _(choices, gm, np):
    data = gm.generators.sphere_with_random_labels(10, 4, seed=choices["seed"])
    start = gm.ShallowNetwork.initialize(
        data, width=choices["width"], activation="tanh", seed=choices["seed"]
    )
    trained = gm.train(start, data).network
    # all neurons alike: descent never tells them apart
    zero = gm.ShallowNetwork(np.zeros_like(start.W), np.zeros_like(start.v), "tanh")
    networks = {"trained": trained, "a few steps from the start": start, "all zero": zero}
    return data, networks


@app.cell
def _(data, gm, networks):
    found = {name: gm.examine(network, data) for name, network in networks.items()}
    verdicts = {name: str(one.verdict) for name, one in found.items()}
    return found, verdicts


@app.cell
def _(found, mo):
    mo.accordion(
        {f"{name}: {one.verdict}": mo.md(f"```\n{one}\n```") for name, one in found.items()}
    )
    return


if __name__ == "__main__":
    app.run()
