"""The files a page takes for granted, made before it runs."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

import globalmin as gm

ROOT = Path(__file__).resolve().parents[2]


def _houses(path: Path) -> None:
    rng = np.random.default_rng(0)
    rooms, area, year = rng.integers(1, 9, 60), rng.normal(90, 30, 60), rng.integers(1900, 2020, 60)
    price = 3 * area + 20 * rooms + 0.5 * (year - 1900) + rng.normal(0, 20, 60)
    table = np.column_stack([rooms, area, year, price])
    np.savetxt(path, table, fmt="%.6g", delimiter=",", header="rooms,area,year,price", comments="")


def _diabetes(path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts/diabetes_csv.py", path], check=True)


def _saddle(path: Path) -> None:
    data = gm.Dataset.load(path.with_name("diabetes.csv"), target="progression")
    network = gm.ShallowNetwork(np.zeros((22, 11)), np.repeat([1.0, -1.0], 11), "quadratic")
    gm.save_network(path, network, data.preprocessing)


def _certificate(path: Path, *, store_data: bool = True) -> None:
    data = gm.generators.sphere_with_random_labels(20, 6, seed=0)
    network = gm.ShallowNetwork.initialize(data, width=8, activation="softplus", seed=0)
    proved = gm.certify(gm.train(network, data).network, data, store_data=store_data)
    proved.save(path)
    if not store_data:
        proved.save_data(path.with_name("data.safetensors"))


def _plan(path: Path) -> None:
    for source, target in (
        ("phase.toml", path),
        ("width_and_samples.py", path.parent / "width_and_samples.py"),
    ):
        text = (ROOT / "examples/sweep" / source).read_text(encoding="utf-8")
        target.write_text(text, encoding="utf-8")


def _theirs(path: Path) -> None:
    """A network for the houses that reaches every price, as ONNX; relu weights as plain arrays."""
    houses = path.with_name("houses.csv")
    if not houses.exists():
        _houses(houses)
    data = gm.Dataset.load(houses, target="price")
    if path.suffix == ".npz":
        rng = np.random.default_rng(0)
        np.savez(path, W=rng.standard_normal((4, 3)), b=np.zeros(4), v=np.ones(4), c0=0.0)
        return
    network = gm.ShallowNetwork.initialize(data, width=60, activation="tanh", seed=0)
    run = gm.train(network, data)
    gm.interop.to_onnx(run.network, path, preprocessing=data.preprocessing)


def _explorer(path: Path) -> None:
    """What the page saves: weights with their scaling, and the rows."""
    table = path.with_name("explorer.csv")
    _houses(table)
    lines = table.read_text(encoding="utf-8").splitlines()[:25]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = gm.Dataset.load(table, target="price")
    network = gm.ShallowNetwork.initialize(data, width=30, activation="softplus", seed=0)
    gm.save_network(path, gm.train(network, data).network, data.preprocessing)


def _points(path: Path) -> None:
    """Few enough that the replay of a run takes a second."""
    data = gm.generators.sphere_with_random_labels(6, 8, seed=0)
    table = np.column_stack([data.X, data.y])
    names = ",".join([*(f"x{j}" for j in range(8)), "y"])
    np.savetxt(path, table, fmt="%.17g", delimiter=",", header=names, comments="")


GIVEN = {
    "houses.csv": _houses,
    "diabetes.csv": _diabetes,
    "saddle.safetensors": _saddle,
    "fit.gmc": _certificate,
    "apart.gmc": partial(_certificate, store_data=False),
    "plan.toml": _plan,
    "theirs.onnx": _theirs,
    "theirs.npz": _theirs,
    "explorer.safetensors": _explorer,
    "points.csv": _points,
}
