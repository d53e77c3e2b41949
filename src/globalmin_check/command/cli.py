"""The command `globalmin-check FILE [--data DATA] [--rows FILE...] [--shard I] [--time-limit S]
[--memory-limit GIB] [--route ROUTE] [--json] [--explain]`.
"""

from __future__ import annotations

import argparse
import math
import sys

from globalmin_check import limits
from globalmin_check.verdict import Result, Verdict

EPILOG = """exit codes: 0 ACCEPTED, 1 REJECTED, 2 usage error, 3 MALFORMED, 4 UNDECIDED,
5 internal error, 130 interrupted. A file is ACCEPTED only if every statement printed is true
over the real numbers for the numbers stored in the file."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments)
    guarded = (options.time_limit or options.memory_limit) and not options.in_child
    try:
        return _guarded(arguments, options) if guarded else _checked(options)
    except OSError as error:
        print(f"globalmin-check: cannot read the file: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("globalmin-check: interrupted, no verdict", file=sys.stderr)
        return 130
    except Exception as error:  # a defect of the checker is never a verdict
        print(
            f"globalmin-check: internal error, no verdict: {type(error).__name__}: {error}",
            file=sys.stderr,
        )
        return 5


def _guarded(arguments: list[str], options: argparse.Namespace) -> int:
    from globalmin_check.command.guard import run_guarded

    outcome = run_guarded(arguments, options.time_limit, options.memory_limit)
    if outcome.limit:
        print(_text(Result(Verdict.UNDECIDED, outcome.limit), options.json, explain=False))
    sys.stdout.write(outcome.out)
    sys.stderr.write(outcome.error)
    return outcome.code


def _checked(options: argparse.Namespace) -> int:
    from globalmin_check import check_file, engine
    from globalmin_check.command.guard import limit_this_process

    if options.in_child and engine:  # the arithmetic library is loaded before the memory is limited
        limit_this_process(options.time_limit, options.memory_limit)
    try:
        result = check_file(
            options.file,
            options.data,
            route=options.route,
            rows=options.rows,
            shard=options.shard,
        )
    except MemoryError:
        result = Result(
            Verdict.UNDECIDED, f"the memory limit of {options.memory_limit:g} GiB was reached"
        )
    print(_text(result, options.json, options.explain))
    return result.verdict.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="globalmin-check",
        description="Check a globalmin certificate file: recompute every inequality of its proof "
        "in ball arithmetic.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the certificate (*.gmc)")
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="the file with X and y, if the certificate does not store them",
    )
    parser.add_argument(
        "--rows",
        metavar="FILE",
        nargs="+",
        default=[],
        help="the rows of a stream (.csv, .parquet, .npy), read and compared; without them the "
        "verdict is about the stored sums",
    )
    text = "the shard with which --rows begin (default 0)"
    parser.add_argument("--shard", metavar="I", type=int, default=0, help=text)
    time, memory = limits.SECONDS, limits.GIBIBYTES
    text = f"UNDECIDED after this many seconds (default {time}, 0: no limit)"
    parser.add_argument("--time-limit", metavar="S", type=_amount, default=time, help=text)
    text = f"UNDECIDED beyond this much memory (default {memory}, 0: no limit; enforced on Linux)"
    parser.add_argument("--memory-limit", metavar="GIB", type=_amount, default=memory, help=text)
    text = (
        "balls (exact), floats with proved bounds (fast, needs numpy), or the fast one where the "
        "exact one takes long (auto, the default)"
    )
    parser.add_argument("--route", choices=("auto", "fast", "exact"), default="auto", help=text)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the result as one JSON object")
    form.add_argument(
        "--explain", action="store_true", help="print the theorem with its numbers in plain words"
    )
    parser.add_argument("--in-child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 0")
    return value


def _text(result: Result, as_json: bool, explain: bool) -> str:
    if as_json:
        return result.to_json()
    lines = [f"{result.verdict.value}: {result.reason}"]
    if result.route:
        lines.append(f"route: {result.route}")
    if explain:
        from globalmin_check.command.explain import explained

        return "\n".join([*lines, explained(result)])
    for index, claim in enumerate(result.claims):
        lines.append(
            f"claim {index} ({claim.kind}): {claim.verdict.value}. "
            f"{claim.statement or claim.reason}"
        )
        if claim.vacuous:
            lines.append(f"note on claim {index}: it says next to nothing: {claim.vacuous}")
    return "\n".join([*lines, *(f"note: {note}" for note in result.notes)])
