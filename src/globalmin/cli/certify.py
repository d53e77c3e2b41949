"""`globalmin certify`: prove something about a network that is already there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin._options import TRAINABLE
from globalmin.cli.arguments import DATA, JSON, PREDICTED, QUIET, READ_DROP, READ_USE
from globalmin.cli.brought import MODEL, NEURONS, OUTPUT, is_foreign, pose_foreign
from globalmin.cli.options import ALL_COLUMNS, Columns, check_columns, refuse_columns

if TYPE_CHECKING:
    from globalmin.data import Dataset


NAMED = "do not go with a model of globalmin, which names the columns that it reads; leave them out"


def certify(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, PREDICTED],
    trained: Annotated[
        str, typer.Option(metavar="W|vW|v", help="Layers that the proof may move.")
    ] = "W",
    weight_decay: Annotated[
        float,
        typer.Option(
            metavar="W", min=0.0, help="The weight decay of fit, quadratic networks only."
        ),
    ] = 0.0,
    test_size: Annotated[
        float,
        typer.Option(
            metavar="F",
            min=0.0,
            max=0.95,
            help="Leave out the rows that fit held out with this fraction.",
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that split.")] = 0,
    use: Annotated[list[str] | None, READ_USE] = None,
    drop: Annotated[list[str] | None, READ_DROP] = None,
    activation: Annotated[str | None, NEURONS] = None,
    output: Annotated[int | None, OUTPUT] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Certificate file.", show_default="MODEL with suffix .gmc"
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Prove something about the network in MODEL on the rows of DATA.

    Writes one certificate file and checks it. The rows must be those the network was trained on; a
    table of which `fit` held rows out needs the same --test-size and --seed.
    """
    from globalmin.cli.options import check_choice, check_file, check_model
    from globalmin.cli.terminal import print_json, print_rows

    path = check_file("--out", out or model.with_suffix(".gmc"))
    layers = check_choice("--trained", trained, TRAINABLE)
    from globalmin.patches.storage import is_patch_network

    check_model(model)
    columns = check_columns(use, drop, None, None)
    if is_patch_network(model):
        refuse_columns(columns, NAMED)
        network, part = load_patches(model, data, target, test_size, seed)
    else:
        brought = {"activation": activation, "output": output, "columns": columns}
        network, part = load_stored(model, data, target, test_size, seed, **brought)
        refuse_decay(network, model)
    from globalmin.cli.summary import attempt, check_rows, proof_json, verdict_rows

    made = attempt(
        network, part, path=path, trained=layers, weight_decay=weight_decay, quiet=quiet or json
    )
    if json:
        written = str(path) if made.has_file else None
        print_json(
            {
                "command": "certify",
                "exit_code": made.exit_code,
                "certificate": written,
                **proof_json(made.proof),
            }
        )
    else:
        print_rows([*verdict_rows(made.proof), *check_rows(path if made.has_file else None)])
    return made.exit_code


def refuse_decay(network: Any, model: Path, more: str = "") -> None:
    """A network with weight decay has its own certificate, and its own command."""
    from globalmin.errors import DataError
    from globalmin.regularized.network import RegularizedNetwork

    if isinstance(network, RegularizedNetwork):
        raise DataError(
            f"{model}: a network with weight decay; `globalmin fit` wrote its certificate beside "
            f"it, and `globalmin gap` proves one of relu neurons anew{more}"
        )


def load_patches(
    model: Path, data: Path, target: str, test_size: float, seed: int
) -> tuple[Any, Dataset]:
    """The patch network in MODEL and its training rows, cut from the table as `fit` cuts them."""
    from globalmin.data import Dataset
    from globalmin.data.preprocessing import split_rows
    from globalmin.patches.storage import load_patch_network

    table = Dataset.load(data, target=[target], bias=False, scaling="none")
    train, _ = split_rows(table, test_size, seed)
    part = Dataset(table.X[train], table.y[train], bias=False, scaling="none")
    return load_patch_network(model).network, part


def load_stored(
    model: Path,
    data: Path,
    target: str,
    test_size: float,
    seed: int,
    *,
    activation: str | None = None,
    output: int | None = None,
    columns: Columns = ALL_COLUMNS,
) -> tuple[Any, Dataset]:
    """The network for `target`, shallow or deep, and its training rows in stored form;
    `activation`, `output` and `columns` are for files of other frameworks.
    """
    if is_foreign(model):
        said: dict[str, Any] = {"activation": activation, "output": output, "columns": columns}
        return pose_foreign(model, data, target, test_size=test_size, seed=seed, **said)
    refuse_columns(columns, NAMED)
    from globalmin.data import Dataset
    from globalmin.data.loading import load_table
    from globalmin.data.preprocessing import split_rows
    from globalmin.errors import DataError
    from globalmin.shallow.storage import load_networks

    stored = load_networks(model)
    names = [p.target_name for p in stored.preprocessing or ()]
    if not names or (len(names) > 1 and target not in names):
        raise DataError(
            f"{model}: no network for the target {target!r}; it holds "
            f"{', '.join(map(repr, names)) or 'no preprocessing'}"
        )
    j = names.index(target) if target in names else 0
    scaling = (stored.preprocessing or ())[j]
    if "recipe" in stored.metadata:
        from globalmin.cli.tables import read_again
        from globalmin.data.recipe import Recipe

        form: dict[str, Any] = {"bias": scaling.bias, "scaling": scaling.scaling}
        recipe = Recipe.from_json(stored.metadata["recipe"])
        found = read_again(data, target, recipe, test_size=test_size, seed=seed, **form)
        train = found.rows[0]
        return stored.networks[j], Dataset.from_raw(found.X[train], found.y[train], scaling)
    table = load_table(data, target=target, features=scaling.feature_names)
    whole = Dataset.from_raw(table.X, table.y, scaling)
    train, _ = split_rows(whole, test_size, seed)
    return stored.networks[j], Dataset.from_raw(table.X[train], table.y[train], scaling)
