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


GIVEN = {
    "houses.csv": _houses,
    "diabetes.csv": _diabetes,
    "saddle.safetensors": _saddle,
    "fit.gmc": _certificate,
    "apart.gmc": partial(_certificate, store_data=False),
    "plan.toml": _plan,
}
