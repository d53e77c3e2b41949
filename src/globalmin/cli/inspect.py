"""`globalmin inspect`: what the theorems say of a table, before training or at a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin._options import SCALINGS, SCHEMES, Scaling, Scheme
from globalmin.cli.arguments import CATEGORY, DROP, JSON, TARGET, USE, model_of
from globalmin.cli.brought import OUTPUT, is_foreign
from globalmin.cli.options import ALL_COLUMNS, Columns, check_columns

if TYPE_CHECKING:
    from globalmin.data import Dataset

WIDTH = typer.Option(
    metavar="K", help="Number of neurons asked about, or auto: the recommended width."
)
ACTIVATION = typer.Option(
    metavar="A",
    help="softplus (default), relu, tanh, sigmoid, erf, softplus(4), ...; with a network its own, "
    "and needed for files that hold tensors only.",
)
SCHEME = typer.Option(  # --head: its former name
    "--scheme",
    "--head",
    metavar="os|sjl|positive|du|identity",
    help="Start that is measured (default os).",
)
PATHS = typer.Argument(
    metavar="[MODEL] DATA",
    help="Table: .csv, .npz or .parquet; before it, if you like, a network to measure.",
    exists=True,
)
NETWORK = typer.Option(
    metavar="FILE",
    help="MODEL: measure the network of this file (model.safetensors of `fit`, .onnx, .keras, .pt) "
    "instead of a random start; its own scaling is used.",
    exists=True,
    callback=model_of,
)
TEST_SIZE = typer.Option(
    metavar="F",
    help="With --network: share of rows that `fit` held out (same --seed).",
    min=0.0,
    max=0.95,
)
DELTA = typer.Option(metavar="D", help="Deviation of the first misfit (OS-T6.2, OS-T6.3, OS-C6).")
THETA = typer.Option(metavar="T", help="Share of λ(X) that a random start may lose (OS-C6).")
FAILURE = typer.Option(
    metavar="P", help="Failure probability allowed where a theorem lets it be chosen."
)
DEPTH = typer.Option(metavar="H", help="Layers of the deep networks in the table.", min=1)
PAGE = typer.Option(metavar="FILE", help="Also write a page with pictures.")
STREAMED = typer.Option(
    "--lambda-min",
    help="Only the least eigenvalue of the limiting Gram matrix (relu by default), which is never "
    "held: for tables of many thousand rows. Ctrl-C shows what was found so far.",
)


def inspect(
    paths: Annotated[list[Path], PATHS],
    *,
    target: Annotated[str, TARGET],
    network: Annotated[Path | None, NETWORK] = None,
    activation: Annotated[str | None, ACTIVATION] = None,
    width: Annotated[str, WIDTH] = "auto",
    scheme: Annotated[str | None, SCHEME] = None,
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        str, typer.Option(metavar="S", help="standardize, rows (norm 1) or none.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that start.")] = 0,
    test_size: Annotated[float, TEST_SIZE] = 0.0,
    delta: Annotated[float, DELTA] = 1.0,
    theta: Annotated[float, THETA] = 0.5,
    failure: Annotated[float, FAILURE] = 0.1,
    depth: Annotated[int, DEPTH] = 3,
    use: Annotated[list[str] | None, USE] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    category: Annotated[list[str] | None, CATEGORY] = None,
    output: Annotated[int | None, OUTPUT] = None,
    page: Annotated[Path | None, PAGE] = None,
    lambda_min: Annotated[bool, STREAMED] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Check every theorem's hypotheses on the rows of DATA: widths, steps and rates, with numbers.

    Nothing is trained and nothing is proved; the numbers are floating-point estimates (but for the
    lower bound of --lambda-min). Exits with 0 whatever the theorems say.
    """
    data, network = check_paths(paths, network)
    columns = check_columns(use, drop, category, None)
    if lambda_min:
        if network is not None or page is not None:
            raise typer.BadParameter("--lambda-min is about rows alone: no network, no --page")
        form = (target, activation or "relu", scaling)
        return _streamed(data, *form, columns, bias=bias, as_json=json)
    if network is not None and is_foreign(network):
        said, activation = activation, None
    else:
        said = None
    neurons, law, scale = check_start(activation, width, scheme, scaling)
    check_shares(delta=delta, theta=theta, failure=failure)
    if page is not None and (page.is_dir() or not page.absolute().parent.is_dir()):
        raise typer.BadParameter(
            f"--page {page} is a folder or lies in none; give a file name in a folder that exists"
        )
    from globalmin.inspection import inspect as look

    table, given = load_both(
        data, target, network, bias=bias, scaling=scale, test_size=test_size, seed=seed,
        activation=said, output=output, columns=columns,
    )  # fmt: skip
    from globalmin.cli.terminal import print_found
    from globalmin.deep.network import DeepNetwork

    if isinstance(given, DeepNetwork):
        if page is not None or neurons is not None or activation is not None or law is not None:
            raise typer.BadParameter(
                f"{network} holds a deep network: --page, --width, --activation and --scheme are "
                "for shallow ones; leave them out"
            )
        from globalmin.inspection.deep import inspect_deep

        deep = inspect_deep(given, table)
        print_found("inspect", deep, as_json=json)
        return 0
    found = look(
        table, neurons, activation,
        network=given, scheme=law, seed=seed,
        delta=delta, theta=theta, failure=failure, depth=depth,
    )  # fmt: skip
    if page is not None:
        from globalmin.report.inspection_page import save_page

        save_page(found, page)
    print_found("inspect", found, as_json=json)
    return 0


def _streamed(
    data: Path,
    target: str,
    activation: str,
    scaling: str,
    columns: Columns,
    *,
    bias: bool,
    as_json: bool,
) -> int:
    from globalmin.cli.tables import read_told
    from globalmin.cli.terminal import print_found, told
    from globalmin.kernels.streamed_gram import streamed_lambda_min

    _, _, scale = check_start(activation, "auto", None, scaling)
    table, _ = read_told(data, target, columns, bias=bias, scaling=scale)
    with told(quiet=as_json) as watch:
        found = streamed_lambda_min(table.X, activation, watch=watch)
    print_found("inspect", found, as_json=as_json)
    return 0


def check_paths(paths: list[Path], network: Path | None) -> tuple[Path, Path | None]:
    """The table, and the network before it or after --network."""
    if len(paths) > 2 or (len(paths) == 2 and network is not None):
        given = ", ".join(map(str, paths))
        raise typer.BadParameter(f"{given}: give one table, and one network at most, before it")
    if paths[-1].is_dir():
        raise typer.BadParameter(f"{paths[-1]} is a folder; the last name is that of the table")
    return paths[-1], model_of(paths[0]) if len(paths) == 2 else network


def check_start(
    activation: str | None, width: str, scheme: str | None, scaling: str
) -> tuple[int | None, Scheme | None, Scaling]:
    """Width (None: auto), law of the start and scaling; unusable ones are refused by name."""
    from globalmin.cli.options import check_activation, check_choice, check_width

    if activation is not None:
        check_activation(activation)
    law = None if scheme is None else check_choice("--scheme", scheme, SCHEMES)
    scale = check_choice("--scaling", scaling, SCALINGS)
    neurons = check_width(width)
    return None if isinstance(neurons, str) else neurons, law, scale


def check_shares(*, delta: float, theta: float, failure: float) -> None:
    """Refuse deviations and probabilities outside of their ranges by name."""
    if not delta > 0.0:
        raise typer.BadParameter(f"--delta {delta:g} must be positive")
    for option, value in (("--theta", theta), ("--failure", failure)):
        if not 0.0 < value < 1.0:
            raise typer.BadParameter(f"{option} {value:g} must lie strictly between 0 and 1")


def load_both(
    data: Path,
    target: str | None,
    network: Path | None,
    *,
    bias: bool,
    scaling: Scaling,
    test_size: float,
    seed: int,
    activation: str | None = None,
    output: int | None = None,
    columns: Columns = ALL_COLUMNS,
) -> tuple[Dataset, Any]:
    """The table, and the network of the file with the table scaled as the file says."""
    from globalmin.cli.certify import load_stored, refuse_decay
    from globalmin.cli.options import check_model
    from globalmin.cli.tables import read_told
    from globalmin.shallow.storage import load_networks

    form: dict[str, Any] = {"bias": bias, "scaling": scaling}
    if network is None:
        return read_told(data, str(target), columns, **form)[0], None
    if is_foreign(network):
        said = {"activation": activation, "output": output, "columns": columns}
        given, table = load_stored(network, data, str(target), test_size, seed, **said)
        return table, given
    stored = load_networks(check_model(network))
    if stored.preprocessing is None and len(stored.networks) == 1:
        return read_told(data, str(target), columns, **form)[0], stored.networks[0]
    given, table = load_stored(network, data, str(target), test_size, seed, columns=columns)
    refuse_decay(given, network)
    return table, given
