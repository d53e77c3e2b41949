"""An in-toto statement about a certificate: which files it binds together, by their digests, and
what the independent checker said.

Nothing enters the statement that was not looked at: the certificate is checked, a model must hold
the very weights that the certificate speaks of, and of a table it is counted how many of the
certified rows it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.errors import CannotCertify, DataError
from globalmin.files import data_digest

if TYPE_CHECKING:
    from globalmin._types import Array, NDArray
    from globalmin.data.preprocessing import Preprocessing
    from globalmin.data.raw_table import RawTable

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:globalmin:attestation:1"
_SCALES = ("x_shift", "x_scale")


def attest(
    certificate: str | Path,
    *,
    model: str | Path | None = None,
    data: str | Path | None = None,
    target: str | None = None,
) -> dict[str, Any]:
    """The in-toto statement about an accepted certificate, ready to be signed by your tool of
    choice.

    Parameters
    ----------
    certificate : str | Path
        A .gmc file; it is checked here, and CannotCertify says why if it is not accepted.
    model : str | Path | None
        A network file of ours; DataError if its weights are not those of the certificate.
    data : str | Path | None
        The table; with `model` its rows are scaled as the model scales them and compared with
        those of the certificate.
    target : str | None
        The label column of the table; by default the one that the model names.

    Returns
    -------
    dict[str, Any]
        `subject` lists the files with their SHA-256, `predicate` has verdict, claims and numbers
        of the checker, and the digests of the stored network and rows.
    """
    from globalmin_check import __version__ as checker_version
    from globalmin_check import check_file

    path = Path(certificate)
    result = check_file(path)
    if result.verdict.value != "ACCEPTED":
        raise CannotCertify(
            f"{path} is {result.verdict.value}: {result.reason}; only an accepted certificate is "
            "attested",
            reasons={},
        )
    tensors = _tensors(path)
    predicate: dict[str, Any] = {
        "verdict": result.verdict.value,
        "checker": {"name": "globalmin-check", "version": checker_version},
        "claims": [
            {"kind": claim.kind, "statement": claim.statement, "numbers": claim.numbers}
            for claim in result.claims
        ],
        "notes": list(result.notes),
    }
    if {"X", "y"} <= set(tensors):
        predicate["data_sha256"] = data_digest(tensors["X"], tensors["y"])
    subjects = [path]
    if model is not None:
        tau = _tau(path)
        predicate["model"] = _bound_model(Path(model), tensors, tau)
        subjects.append(Path(model))
    if data is not None:
        number = predicate.get("model", {}).get("network", 0)
        predicate["data"] = _bound_rows(Path(data), target, model, tensors, number)
        subjects.append(Path(data))
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": file.name, "digest": {"sha256": _sha256(file)}} for file in subjects],
        "predicateType": PREDICATE_TYPE,
        "predicate": json.loads(json.dumps(predicate, default=str)),
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stream:
            return {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise DataError(
            f"{path}: not a readable safetensors file ({error}); give a network file of globalmin"
        ) from error


def _tau(path: Path) -> Fraction:
    """The constant that hidden biases multiply in the certificate; models hold the product."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as stream:
        header = json.loads((stream.metadata() or {}).get("certificate", "{}"))
    return Fraction(header.get("network", {}).get("tau", 1))


def _is_bound(
    role: str, part: NDArray[Any], certified: dict[str, NDArray[Any]], tau: Fraction
) -> bool:
    """Whether a tensor is that of the certificate, bit for bit; a bias times tau, exactly."""
    there = certified.get(role)
    if there is None or there.shape != part.shape:
        return False
    if role != "bias" or tau == 1:
        return there.tobytes() == part.tobytes()
    pairs = zip(there.ravel().tolist(), part.ravel().tolist(), strict=True)
    return all(Fraction(stored) * tau == Fraction(used) for stored, used in pairs)


def _bound_model(path: Path, certified: dict[str, NDArray[Any]], tau: Fraction) -> dict[str, Any]:
    """Which network of the file is the one of the certificate; every tensor bit for bit."""
    networks: dict[str, dict[str, NDArray[Any]]] = {}
    for name, tensor in _tensors(path).items():
        number, _, role = name.partition(".")
        if role and role not in _SCALES:
            networks.setdefault(number, {})[role] = tensor
    for number, parts in networks.items():
        if all(_is_bound(role, part, certified, tau) for role, part in parts.items()):
            return {"network": int(number), "tensors": sorted(parts)}
    raise DataError(
        f"{path}: its weights are not those that the certificate speaks of; give the model that "
        "was certified"
    )


def _bound_rows(
    path: Path,
    target: str | None,
    model: str | Path | None,
    certified: dict[str, NDArray[Any]],
    number: int,
) -> dict[str, Any]:
    """How many certified rows the table holds, label included; None where there is no way to
    compare.
    """
    if model is None or not {"X", "y"} <= set(certified):
        return {"rows_compared": None}
    from globalmin.shallow.storage import load_networks

    stored = load_networks(model)
    if not stored.preprocessing:
        return {"rows_compared": None}
    scaling = stored.preprocessing[number]
    label = target or scaling.target_name or stored.metadata.get("target")
    if label is None:
        raise DataError(f"{path}: no target column is named; pass target=")
    X, y = _numbers(path, label, stored.metadata, scaling.feature_names, number)
    here = set(_row_bytes(scaling, X, y))
    rows = _stacked(certified["X"], certified["y"])
    found = sum(row.tobytes() in here for row in rows)
    if found < len(rows):
        raise DataError(
            f"{path}: holds {found} of the {len(rows)} certified rows; give the table that the "
            "model was trained on"
        )
    return {"rows_compared": len(rows), "target": label}


def _numbers(
    path: Path,
    label: str,
    told: Mapping[str, str],
    features: Sequence[str] | None,
    number: int,
) -> tuple[Array, Array]:
    """Inputs and labels of a table as the model reads them: by its recipe, its classes as signs."""
    import numpy as np

    from globalmin.data.columns import numbers_of
    from globalmin.data.raw_table import read_raw_table
    from globalmin.data.recipe import Recipe

    classes = json.loads(told.get("classes", "[]"))
    if "recipe" not in told and not classes:
        from globalmin.data.loading import load_table

        table = load_table(path, target=label, features=features)
        return table.X, table.y[:, 0]
    raw = read_raw_table(path, target=[label])
    raw.require([label], "target")
    if "recipe" in told:
        X = Recipe.from_json(told["recipe"]).transform(raw)
    else:
        names = features or raw.without([label]).names
        X = np.column_stack([numbers_of(raw, name) for name in names])
    return X, _labels(raw, label, classes, told.get("loss", ""), number)


def _labels(raw: RawTable, label: str, classes: Sequence[Any], loss: str, number: int) -> Array:
    """Numbers; of classes their place for softmax, else 1 for that of the network and -1."""
    import numpy as np

    from globalmin.data.columns import numbers_of, texts_of

    if not classes:
        return numbers_of(raw, label)
    is_text = isinstance(classes[0], str)
    cells = texts_of(raw, label) if is_text else numbers_of(raw, label).tolist()
    codes = np.array([classes.index(cell) if cell in classes else -1 for cell in cells])
    if loss == "softmax":
        return codes.astype(np.float64)
    return np.where(codes == (1 if len(classes) == 2 else number), 1.0, -1.0)


def _row_bytes(scaling: Preprocessing, X: Array, y: Array) -> list[bytes]:
    rows = _stacked(scaling.transform(X), scaling.transform_y(y))
    return [row.tobytes() for row in rows]


def _stacked(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return np.ascontiguousarray(np.column_stack([X, y]), dtype=np.float64)
