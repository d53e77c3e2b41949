"""The typer application and the one place where exceptions become messages and exit codes."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Sequence

import typer

from globalmin.cli import (
    attest,
    certify,
    classify,
    completion,
    doctor,
    examine,
    explore,
    export,
    fit,
    gap,
    inspect,
    predict,
    recover,
    report,
    reproduce,
    selftest,
    starts,
    sweep,
    terminal,
    theorem,
)
from globalmin.cli.terminal import warnings_to_stderr

TRACEBACK = "GLOBALMIN_TRACEBACK"

app = typer.Typer(
    name="globalmin",
    help="Train shallow neural networks to the global minimum, and prove it.",
    epilog="Exit codes: 0 accepted, 1 not certified, 2 usage, 3 malformed input, 4 undecided or "
    "too big, 5 internal, 130 Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: half the start-up time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from globalmin import __version__

        sys.stdout.write(f"globalmin {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    pass


def _interruptible(command: Callable[..., int]) -> Callable[..., int]:
    """Typer turns Ctrl-C into a bare exit code; this keeps it an exception, so that it gets its
    message like every other.
    """

    @functools.wraps(command)
    def wrapped(*args: object, **options: object) -> int:
        try:
            return command(*args, **options)
        except KeyboardInterrupt as interrupt:
            raise terminal.InterruptError from interrupt

    return wrapped


for _command in (
    fit.fit,
    predict.predict,
    export.export,
    certify.certify,
    classify.classify,
    gap.gap,
    examine.examine,
    inspect.inspect,
    recover.recover,
    starts.starts,
    theorem.theorem,
    reproduce.reproduce,
    report.report,
    explore.explore,
    theorem.cite,
    attest.attest,
    completion.completion,
    doctor.doctor,
    selftest.selftest,
):
    app.command()(_interruptible(_command))
for _command in sweep.COMMANDS:
    sweep.app.command()(_interruptible(_command))
app.add_typer(sweep.app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the application; every outcome, errors included, ends as an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    completion.answer_shells()
    try:
        with warnings_to_stderr():
            return int(app(args=given, prog_name="globalmin", standalone_mode=False) or 0)
    except typer.Abort:
        return terminal.INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (the interpreter flushes stdout at exit, which would fail again)
        return terminal.ACCEPTED
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _complain(error, as_json="--json" in given)


def _complain(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong on stderr, and as one JSON object on stdout if that was asked for."""
    usage = hasattr(error, "exit_code") and hasattr(error, "format_message")
    code = terminal.USAGE if usage else terminal.code_of_error(error)
    message = _message(error, code)
    if as_json:
        sys.stdout.write(
            json.dumps(
                {"error": {"kind": type(error).__name__, "message": message}, "exit_code": code},
                indent=1,
            )
            + "\n"
        )
    if usage:
        error.show()  # pyright: ignore[reportAttributeAccessIssue]
    else:
        sys.stderr.write(f"globalmin: {message}\n")
    if code == terminal.INTERNAL and os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    return code


def _message(error: BaseException, code: int) -> str:
    if hasattr(error, "format_message"):
        return error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
    if code == terminal.INTERRUPTED:
        return str(error) or "interrupted; nothing was written"
    if code == terminal.INTERNAL:
        hint = "" if os.environ.get(TRACEBACK) else f" (set {TRACEBACK}=1 to see where)"
        return f"internal error, {type(error).__name__}: {error}{hint}"
    return str(error) or type(error).__name__
