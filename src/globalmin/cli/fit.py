"""`globalmin fit`: choose a model, train, prove, check, and write model, certificate and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from globalmin._options import Method, Scaling, Trained, Until
from globalmin.cli.arguments import CATEGORY, DATA, DROP, JSON, QUIET, TABLE, USE

if TYPE_CHECKING:
    from globalmin.cli.options import FitOptions

SHALLOW = "Interpolating networks: any of these asks for one, as --interpolate does"

TARGET = typer.Option(
    "--target",
    "-t",
    metavar="COL",
    help="Column to predict; repeat it for several networks.",
)
ACTIVATION = typer.Option(
    metavar="A",
    help="Interpolating: softplus, relu, tanh, sigmoid, erf, quadratic, softplus(4), ...",
    rich_help_panel=SHALLOW,
)
WIDTH = typer.Option(
    metavar="K",
    help="Interpolating: number of neurons, or auto: the fewest that should do, then more.",
    rich_help_panel=SHALLOW,
)
INTERPOLATE = typer.Option(
    "--interpolate",
    help="Fit every label: a network without weight decay, with zero training loss.",
)
TEST_SIZE = typer.Option(
    metavar="F",
    min=0.0,
    max=0.95,
    help="Fraction of rows held out, rounded up; contradicting rows always train.",
)
DECAY = typer.Option(
    metavar="B", help="cv, or a number for one --model or for --activation quadratic."
)
UNTIL = typer.Option(
    rich_help_panel=SHALLOW,
    help="Interpolating: what ends the training; proved, with gradient_descent: a proof "
    "about its own start.",
    show_default="descent for gradient_descent, else tolerance",
)
DEEP = "Deep networks: any of these asks for one"
DEPTH = typer.Option(
    metavar="H", min=1, help="Deep network: hidden layers, all trained.", rich_help_panel=DEEP
)
ARCHITECTURE = typer.Option(
    metavar="A",
    help="Deep network: fully_connected, resnet or convolutional_resnet.",
    rich_help_panel=DEEP,
)
IMAGE = typer.Option(
    metavar="HxW",
    help="The columns are pixels of images: convolutional and patch networks.",
    rich_help_panel=DEEP,
)
REGULARIZED = "Models with weight decay: chosen by cross-validation, any convex loss"
MODEL = typer.Option(
    metavar="M",
    help="auto (the best of additive, quadratic, relu), one of these, shallow or deep.",
    rich_help_panel=REGULARIZED,
)
GAP = typer.Option(
    metavar="G",
    min=0.0,
    max=1.0,
    help="The relative gap to prove.",
    show_default="1e-6, for relu 0.01",
    rich_help_panel=REGULARIZED,
)
LOSS = typer.Option(
    metavar="L",
    help="squared, huber, quantile, poisson; logistic, softmax, hinge, squared_hinge classify.",
    rich_help_panel=REGULARIZED,
)
INTERACTIONS = typer.Option(
    metavar="I",
    help="Of additive networks: none, auto (the pairs that are lacked most), or all pairs.",
    rich_help_panel=REGULARIZED,
)
BINS = typer.Option(
    metavar="N",
    min=2,
    help="Of additive networks: round every column to N values; the proof is about these.",
    rich_help_panel=REGULARIZED,
)
SHAPE = typer.Option(
    metavar="COL:S",
    help="Of additive networks: the curve of a column is increasing, decreasing, convex or concave "
    "on the whole line; repeat.",
    rich_help_panel=REGULARIZED,
)
TASK = typer.Option(
    metavar="T",
    help="auto, regression or classification; auto: classes for text and for two whole numbers.",
    rich_help_panel=REGULARIZED,
)
SAMPLE_WEIGHT = typer.Option(
    "--sample-weight", metavar="COL", help="Column of sample weights.", rich_help_panel=TABLE
)
STREAM = typer.Option(
    "--stream",
    help="Read the table in blocks and never hold it: a quadratic network, or --model additive, "
    "with --weight-decay B.",
    rich_help_panel=REGULARIZED,
)
FORCE = typer.Option("--force", help="Replace an earlier fit in the output folder.")
PATCHES = "Patch networks, for rows that are signals or flattened images"
PATCH_SIZE = typer.Option(
    metavar="P", help="Fit a patch network: size of a patch, 5 or 3x3.", rich_help_panel=PATCHES
)
STRIDE = typer.Option(metavar="S", help="Steps between patches.", rich_help_panel=PATCHES)
FILTERS = typer.Option(metavar="M", min=1, help="Shared filters.", rich_help_panel=PATCHES)
HEAD = typer.Option(metavar="H", help="trained, average or signed.", rich_help_panel=PATCHES)
PADDING = typer.Option(metavar="Z", help="Zeros around, or same.", rich_help_panel=PATCHES)
NORMALIZE = typer.Option(metavar="N", help="none, unit or contrast.", rich_help_panel=PATCHES)
BIAS = typer.Option(
    "--bias/--no-bias", help="Interpolating: append a constant column 1.", rich_help_panel=SHALLOW
)
TRAINED = typer.Option(
    help="Interpolating: train the first layer (W), both (vW) or the head (v).",
    rich_help_panel=SHALLOW,
)
MAX_ITER = typer.Option(
    metavar="N", min=1, help="Interpolating: most steps of one start.", rich_help_panel=SHALLOW
)
OUT = typer.Option(
    metavar="DIR", help="Output folder.", show_default="DATA without suffix, plus -fit"
)


def fit(
    ctx: typer.Context,
    data: Annotated[Path, DATA],
    *,
    target: Annotated[list[str], TARGET],
    interpolate: Annotated[bool, INTERPOLATE] = False,
    activation: Annotated[str, ACTIVATION] = "softplus",
    width: Annotated[str, WIDTH] = "auto",
    method: Annotated[
        Method, typer.Option(help="Interpolating: how to train.", rich_help_panel=SHALLOW)
    ] = "auto",
    bias: Annotated[bool, BIAS] = True,
    scaling: Annotated[
        Scaling, typer.Option(help="Treatment of the columns, undone at prediction.")
    ] = "standardize",
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Seed of the split and of the first weights.")
    ] = 0,
    test_size: Annotated[float, TEST_SIZE] = 0.2,
    trained: Annotated[Trained, TRAINED] = "W",
    max_iter: Annotated[int | None, MAX_ITER] = None,
    until: Annotated[Until | None, UNTIL] = None,
    weight_decay: Annotated[str, DECAY] = "cv",
    depth: Annotated[int | None, DEPTH] = None,
    architecture: Annotated[str | None, ARCHITECTURE] = None,
    image: Annotated[str | None, IMAGE] = None,
    model: Annotated[str, MODEL] = "auto",
    loss: Annotated[str | None, LOSS] = None,
    interactions: Annotated[str, INTERACTIONS] = "none",
    bins: Annotated[int | None, BINS] = None,
    shape: Annotated[list[str] | None, SHAPE] = None,
    task: Annotated[str, TASK] = "auto",
    gap: Annotated[float | None, GAP] = None,
    stream: Annotated[bool, STREAM] = False,
    use: Annotated[list[str] | None, USE] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    category: Annotated[list[str] | None, CATEGORY] = None,
    sample_weight: Annotated[str | None, SAMPLE_WEIGHT] = None,
    patch_size: Annotated[str | None, PATCH_SIZE] = None,
    stride: Annotated[str, STRIDE] = "1",
    filters: Annotated[int, FILTERS] = 1,
    head: Annotated[str, HEAD] = "trained",
    padding: Annotated[str, PADDING] = "0",
    normalize: Annotated[str, NORMALIZE] = "none",
    out: Annotated[Path | None, OUT] = None,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Choose a network with weight decay, prove its distance to the global minimum, check it.

    Without options, additive and quadratic (and for small tables ReLU) networks are compared by
    cross-validation; the best is trained and its gap to the global minimum proved. Interpolation is
    a choice: --interpolate, or any option that only interpolating, deep or patch networks have
    (a line on stderr says so). --depth, --architecture or --image: deep networks; --patch-size:
    patch networks.

    Writes model.safetensors, certificate.gmc, report.html and fit.json into the output folder.
    Exits with 0 only if the checker accepts every file and it proves the gap asked for, or the
    global minimum (with --trained v: the minimum over heads).
    """
    from globalmin.cli import options as asked_for
    from globalmin.cli.roads import decay_number

    folder = asked_for.check_output(out or Path(f"{data.stem}-fit"), force=force)
    if stream:
        _refuse_beside_stream(ctx)
        how = (model, decay_number(weight_decay), bias, folder, quiet or json)
        return _streamed(data, asked_for.check_targets(target), use, how, as_json=json)
    is_regularized = _road(ctx, model, interpolate=interpolate, scaling=scaling)
    depth = 3 if model == "deep" and depth is None else depth
    layers, form, pixels = asked_for.check_deep(
        depth, architecture, image if patch_size is None else None, method, trained
    )
    options = asked_for.FitOptions(
        data=data,
        targets=asked_for.check_targets(target),
        activation=asked_for.check_activation(activation),
        width=asked_for.check_width(width),
        method=method,
        bias=bias,
        scaling=scaling,
        seed=seed,
        test_size=test_size,
        trained=trained,
        max_iter=max_iter,
        weight_decay=0.0
        if is_regularized
        else asked_for.check_decay(decay_number(weight_decay), activation, method, trained),
        out=folder,
        quiet=quiet or json,
        depth=layers,
        architecture=form,
        image=pixels,
        until=asked_for.check_until(
            until, method, trained, is_shallow=form is None and patch_size is None
        ),
        columns=asked_for.check_columns(use, drop, category, sample_weight),
        force=force,
    )
    if is_regularized:
        from globalmin.cli.regularized import Asked, fit_regularized

        asked = Asked(model, loss, interactions, weight_decay, task, gap, bins, tuple(shape or ()))
        return fit_regularized(options, asked, as_json=json)
    if patch_size is not None:
        from globalmin.cli.patches import PatchOptions, fit_patches

        asked = PatchOptions(patch_size, stride, filters, head, image, padding, normalize)
        return fit_patches(options, asked, as_json=json)
    return _interpolated(options, as_json=json)


STREAMED = {"data", "target", "stream", "use", "weight_decay", "bias", "out", "force", "model"}
STREAMED |= {"json", "quiet"}


def _refuse_beside_stream(ctx: typer.Context) -> None:
    """An option that a stream does not have would change nothing, silently."""
    typed = [name for name in ctx.params if _is_typed(ctx, name) and name not in STREAMED]
    if typed:
        option = f"--{typed[0].replace('_', '-')}"
        taken = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(STREAMED - {"data"}))
        raise typer.BadParameter(
            f"{option} does not go with --stream, which takes {taken}; leave it out, or fit the "
            "table in memory without --stream"
        )


def _streamed(
    data: Path,
    targets: tuple[str, ...],
    use: list[str] | None,
    how: tuple[str, float, bool, Path, bool],
    *,
    as_json: bool,
) -> int:
    from globalmin.cli.options import column_list
    from globalmin.cli.streaming import StreamOptions, fit_streamed

    columns = column_list(use) or None
    return fit_streamed(StreamOptions(data, targets, columns, *how), as_json=as_json)


def _interpolated(options: FitOptions, *, as_json: bool) -> int:
    from globalmin.cli.fitting import fit_and_write
    from globalmin.cli.summary import print_outcome

    outcome = fit_and_write(options)
    print_outcome(outcome, as_json=as_json)
    return outcome.exit_code


def _road(ctx: typer.Context, model: str, *, interpolate: bool, scaling: str) -> bool:
    """Whether the model has weight decay; if an option implied that it has none, that is said."""
    from globalmin.cli.options import check_choice
    from globalmin.cli.roads import MODELS, road_of
    from globalmin.cli.terminal import say

    check_choice("--model", model, MODELS)
    typed = {name for name in ctx.params if _is_typed(ctx, name)}
    road = road_of(model, typed, interpolate=interpolate, scaling=scaling)
    if road.note:
        say(f"globalmin: note: {road.note}")
    return road.is_regularized


def _is_typed(ctx: typer.Context, name: str) -> bool:
    """Whether the value of a parameter is not the default one."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
