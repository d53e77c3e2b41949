# A marimo notebook for practice: a table with text, dates and gaps, the model with its proved gap,
# predictions of new rows, and the same in onnxruntime.
#   marimo run examples/practitioner_table.py     as an app in the browser
#   python examples/practitioner_table.py         once, from top to bottom

import marimo

app = marimo.App(width="medium", app_title="A table with a guarantee")


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo
    import numpy as np

    import globalmin as gm

    return Path, gm, mo, np, tempfile


@app.cell
def _(mo):
    decay = mo.ui.slider(0.5, 20.0, step=0.5, value=2.0, label="Weight decay", show_value=True)
    rows = mo.ui.slider(40, 200, step=20, value=80, label="Rows", show_value=True)
    mo.hstack([decay, rows])
    return decay, rows


@app.cell
def _(decay, rows):
    choices = {"weight_decay": decay.value, "rows": rows.value}
    return (choices,)


@app.cell
def _(choices, np):
    rng = np.random.default_rng(0)
    count = choices["rows"]
    flats = {
        "rooms": [None if i % 13 == 0 else int(r) for i, r in enumerate(rng.integers(1, 7, count))],
        "city": [["Oslo", "Rome", "Bern", None][i % 4] for i in range(count)],
        "sold": [f"20{20 + i % 5}-{1 + i % 12:02d}-15" for i in range(count)],
    }
    price = np.array([90 + 30 * (r or 3) for r in flats["rooms"]]) + 8 * rng.standard_normal(count)
    return flats, price


@app.cell
def _(choices, flats, gm, price):
    recipe = gm.learn_recipe(flats)
    model = gm.AdditiveNetworkRegressor(weight_decay=choices["weight_decay"])
    model.fit(recipe.transform(flats), price)
    statement = model.gap_statement()
    return model, recipe, statement


@app.cell
def _(mo, recipe, statement):
    mo.md("\n".join(["**" + statement + "**", "", *(f"- {line}" for line in recipe.sentences())]))
    return


@app.cell
def _(Path, gm, model, recipe, tempfile):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        stored = gm.load_networks(path)
        told = stored.metadata | {"recipe": recipe.to_json(), "target": "price"}
        gm.save_networks(path, stored.networks, stored.preprocessing, told)
        saved = gm.load(path)
    tomorrow = {"rooms": [3, None], "city": ["Rome", "Oslo"], "sold": ["2025-02-01", "2024-07-30"]}
    predicted = saved.predict(tomorrow)
    graph = gm.interop.to_onnx(saved).SerializeToString()
    feeds = gm.interop.onnx_inputs(saved, tomorrow)
    return feeds, graph, predicted


@app.cell
def _(graph, mo, predicted):
    mo.vstack([mo.md(f"Tomorrow: {predicted.round(1)}"), mo.download(graph, "price.onnx")])
    return


if __name__ == "__main__":
    app.run()
