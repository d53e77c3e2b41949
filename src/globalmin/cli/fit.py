"""`globalmin fit`: train, certify, check, and write model, certificate and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin._options import Method, Scaling, Trained, Until

TARGET = typer.Option(
    "--target", "-t", metavar="COL", help="Column to predict; repeat it for several networks."
)
ACTIVATION = typer.Option(
    metavar="A", help="softplus, relu, tanh, sigmoid, erf, quadratic, softplus(4), ..."
)
WIDTH = typer.Option(
    metavar="K", help="Number of neurons, or auto: the fewest that should do, then more."
)
TEST_SIZE = typer.Option(
    metavar="F",
    min=0.0,
    max=0.95,
    help="Fraction of rows held out, rounded up; contradicting rows always train.",
)
DECAY = typer.Option(
    metavar="W", min=0.0, help="Penalty (W/2)|weights|², quadratic activation only; zero is none."
)
UNTIL = typer.Option(
    help="What ends the training; proved, with gradient_descent: a proof about its own start.",
    show_default="descent for gradient_descent, else tolerance",
)
DEPTH = typer.Option(
    metavar="H", min=1, help="Hidden layers of a deep network, all trained; without: one, shallow."
)
ARCHITECTURE = typer.Option(
    metavar="A", help="fully_connected, resnet or convolutional_resnet, for deep networks."
)
IMAGE = typer.Option(
    metavar="HxW", help="The columns are pixels of images: convolutional and patch networks."
)
REGULARIZED = "Additive networks with weight decay: curves to read, any convex loss"
MODEL = typer.Option(
    metavar="M",
    help="additive: one curve per column, decay by cross-validation or --weight-decay.",
    rich_help_panel=REGULARIZED,
)
LOSS = typer.Option(
    metavar="L",
    help="squared, huber, quantile, poisson; softmax, logistic, hinge, squared_hinge classify.",
    rich_help_panel=REGULARIZED,
)
INTERACTIONS = typer.Option(
    metavar="I", help="none, or pairs of columns.", rich_help_panel=REGULARIZED
)
TASK = typer.Option(
    metavar="T",
    help="auto, regression or classification; auto: classes for text and for two values.",
    rich_help_panel=REGULARIZED,
)
PATCHES = "Patch networks, for rows that are signals or flattened images"
PATCH_SIZE = typer.Option(
    metavar="P", help="Fit a patch network: size of a patch, 5 or 3x3.", rich_help_panel=PATCHES
)
STRIDE = typer.Option(metavar="S", help="Steps between patches.", rich_help_panel=PATCHES)
FILTERS = typer.Option(metavar="M", min=1, help="Shared filters.", rich_help_panel=PATCHES)
HEAD = typer.Option(metavar="H", help="trained, average or signed.", rich_help_panel=PATCHES)
PADDING = typer.Option(metavar="Z", help="Zeros around, or same.", rich_help_panel=PATCHES)
NORMALIZE = typer.Option(metavar="N", help="none, unit or contrast.", rich_help_panel=PATCHES)
OUT = typer.Option(
    metavar="DIR", help="Output folder.", show_default="DATA without suffix, plus -fit"
)


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Table: .csv, .npz or .parquet.", exists=True, dir_okay=False
        ),
    ],
    *,
    target: Annotated[list[str], TARGET],
    activation: Annotated[str, ACTIVATION] = "softplus",
    width: Annotated[str, WIDTH] = "auto",
    method: Annotated[Method, typer.Option(help="How to train.")] = "auto",
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        Scaling, typer.Option(help="Treatment of the columns, undone at prediction.")
    ] = "standardize",
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Seed of the split and of the first weights.")
    ] = 0,
    test_size: Annotated[float, TEST_SIZE] = 0.2,
    trained: Annotated[
        Trained, typer.Option(help="Train the first layer (W), both (vW) or the head (v).")
    ] = "W",
    max_iter: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most steps of one start.")
    ] = None,
    until: Annotated[Until | None, UNTIL] = None,
    weight_decay: Annotated[float, DECAY] = 0.0,
    depth: Annotated[int | None, DEPTH] = None,
    architecture: Annotated[str | None, ARCHITECTURE] = None,
    image: Annotated[str | None, IMAGE] = None,
    model: Annotated[str | None, MODEL] = None,
    loss: Annotated[str | None, LOSS] = None,
    interactions: Annotated[str, INTERACTIONS] = "none",
    task: Annotated[str, TASK] = "auto",
    patch_size: Annotated[str | None, PATCH_SIZE] = None,
    stride: Annotated[str, STRIDE] = "1",
    filters: Annotated[int, FILTERS] = 1,
    head: Annotated[str, HEAD] = "trained",
    padding: Annotated[str, PADDING] = "0",
    normalize: Annotated[str, NORMALIZE] = "none",
    out: Annotated[Path | None, OUT] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """Train a network, prove that it is at the global minimum, check the proof.

    Writes model.safetensors, certificate.gmc, report.html and fit.json into the output folder;
    several targets are several networks with one certificate each. Exits with 0 only if the checker
    accepts every file and it proves the global minimum (with --trained v: the minimum over heads).
    With --depth, --architecture or --image the networks are deep, smooth, and all layers train;
    with --patch-size they are patch networks; with --model additive, networks with weight decay
    whose curves are drawn, and whose distance to the global minimum is proved.
    """
    from globalmin.cli.options import (
        FitOptions,
        check_activation,
        check_choice,
        check_decay,
        check_deep,
        check_output,
        check_targets,
        check_until,
        check_width,
    )

    pixels = image if patch_size is None else None
    layers, form, pixels = check_deep(depth, architecture, pixels, method, trained)
    options = FitOptions(
        data=data,
        targets=check_targets(target),
        activation=check_activation(activation),
        width=check_width(width),
        method=method,
        bias=bias,
        scaling=scaling,
        seed=seed,
        test_size=test_size,
        trained=trained,
        max_iter=max_iter,
        weight_decay=0.0
        if model is not None
        else check_decay(weight_decay, activation, method, trained),
        out=check_output(out or Path(f"{data.stem}-fit")),
        quiet=quiet or json,
        depth=layers,
        architecture=form,
        image=pixels,
        until=check_until(until, method, trained, is_shallow=form is None and patch_size is None),
    )
    if model is not None:
        from globalmin.cli.additive import AdditiveOptions, fit_additive

        check_choice("--model", model, ("additive",))
        return fit_additive(
            options, AdditiveOptions(loss, interactions, weight_decay, task), as_json=json
        )
    if patch_size is not None:
        from globalmin.cli.patches import PatchOptions, fit_patches

        asked = PatchOptions(patch_size, stride, filters, head, image, padding, normalize)
        return fit_patches(options, asked, as_json=json)
    from globalmin.cli.fitting import fit_and_write
    from globalmin.cli.summary import print_outcome

    outcome = fit_and_write(options)
    print_outcome(outcome, as_json=json)
    return outcome.exit_code
