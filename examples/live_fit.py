# A marimo notebook: fit, prove and look, live, with the Python engine.
#   marimo run examples/live_fit.py     as an app in the browser
#   marimo edit examples/live_fit.py    as a notebook
#   python examples/live_fit.py         once, from top to bottom

import marimo

app = marimo.App(width="medium", app_title="globalmin, live")


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from sklearn.datasets import load_diabetes

    import globalmin as gm

    return gm, load_diabetes, mo, np


@app.cell
def _(mo):
    mo.md(
        """
        # Train to the global minimum, and prove it

        Change anything below: the network is trained again, the certificate is written by
        globalmin and read by `globalmin-check`, which shares no code with it.
        """
    )
    return


@app.cell
def _(mo):
    table = mo.ui.dropdown(["wave", "diabetes", "random labels"], value="wave", label="Data")
    upload = mo.ui.file(filetypes=[".csv"], label="or a csv file; the last column is predicted")
    width = mo.ui.slider(2, 80, step=2, value=20, label="Neurons", show_value=True)
    activation = mo.ui.dropdown(
        ["softplus", "tanh", "sigmoid", "relu"], value="softplus", label="Activation"
    )
    method = mo.ui.dropdown(
        ["auto", "levenberg_marquardt", "gradient_descent"], value="auto", label="Method"
    )
    seed = mo.ui.number(0, 99, value=0, label="Seed")
    mo.vstack([mo.hstack([table, upload]), mo.hstack([width, activation, method, seed])])
    return activation, method, seed, table, upload, width


@app.cell
def _(activation, method, seed, table, upload, width):
    choices = {
        "table": table.value,
        "csv": upload.contents(0) if upload.value else None,
        "width": width.value,
        "activation": activation.value,
        "method": method.value,
        "seed": seed.value,
    }
    return (choices,)


@app.cell
def _(choices, gm, load_diabetes, np):
    def chosen_data():
        if choices["csv"] is not None:
            lines = choices["csv"].decode("utf-8").strip().splitlines()
            raw = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
            return gm.Dataset(raw[:, :-1], raw[:, -1])
        if choices["table"] == "diabetes":
            found = load_diabetes(scaled=False)
            return gm.Dataset(found.data[:120], found.target[:120])
        if choices["table"] == "random labels":
            return gm.generators.sphere_with_random_labels(100, 10, seed=0)
        x = np.linspace(-3.0, 3.0, 12)
        return gm.Dataset(x[:, None], np.sin(2.0 * x) + 0.3 * x)

    data = chosen_data()
    return (data,)


@app.cell
def _(choices, data, gm):
    start = gm.ShallowNetwork.initialize(
        data, choices["width"], choices["activation"], seed=choices["seed"]
    )
    limit = {"max_iter": 20_000} if choices["method"] == "gradient_descent" else {}
    run = gm.train(start, data, choices["method"], **limit)
    return run, start


@app.cell
def _(data, gm, run):
    proof = gm.prove(run.network, data)
    point = gm.classify_point(run.network, data)
    return point, proof


@app.cell
def _(mo, point, proof, run):
    _kind = {"ACCEPTED": "success"}.get(str(proof.verdict), "warn")
    _said = "\n\n".join(claim.statement for claim in proof.claims) or proof.reason
    mo.callout(mo.md(f"**{proof.verdict}**, {point.kind}. {run.message}.\n\n{_said}"), kind=_kind)
    return


@app.cell
def _(data, np, run, start):
    from matplotlib.figure import Figure

    from globalmin.shallow.network import jacobian_gram

    def pictures():
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        loss, spectrum = figure.subplots(1, 2)
        loss.semilogy(run.trajectory.iteration, np.maximum(run.losses, 1e-300))
        loss.set(xlabel="step", ylabel="training loss", title="Loss")
        for network, name in ((start, "start"), (run.network, "end")):
            values = np.linalg.eigvalsh(jacobian_gram(network, data.X))[::-1]
            places = np.arange(1, len(values) + 1)
            spectrum.semilogy(places, np.maximum(values, 1e-18), ".-", label=name)
        spectrum.set(xlabel="index, largest first", ylabel="eigenvalue of K", title="Gram spectrum")
        spectrum.legend()
        return figure

    figure = pictures()
    figure  # noqa: B018 (what the cell shows)
    return (figure,)


@app.cell
def _(mo, proof):
    if proof.certificate is not None:
        _shown = mo.download(proof.certificate, filename="live.gmc", label="The certificate file")
    else:
        _shown = mo.md("There is no certificate to save: nothing was proved.")
    _shown  # noqa: B018 (what the cell shows)
    return


if __name__ == "__main__":
    app.run()
