"""The command `globalmin-check FILE [--data DATA] [--json] [--explain]`."""

from __future__ import annotations

import argparse
import sys

from globalmin_check.verdict import Result

EPILOG = """exit codes: 0 ACCEPTED, 1 REJECTED, 2 usage error, 3 MALFORMED, 4 UNDECIDED, 5 internal error, 130 interrupted.
A file is ACCEPTED only if every statement printed is true over the real numbers for the numbers stored in the file."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        from globalmin_check import check_file

        result = check_file(options.file, options.data)
        _print(result, options.json, options.explain)
    except OSError as error:
        print(f"globalmin-check: cannot read the file: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("globalmin-check: interrupted, no verdict", file=sys.stderr)
        return 130
    except Exception as error:  # a defect of the checker is never a verdict
        print(f"globalmin-check: internal error, no verdict: {type(error).__name__}: {error}", file=sys.stderr)
        return 5
    return result.verdict.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="globalmin-check",
        description="Check a globalmin certificate file: recompute every inequality of its proof in ball arithmetic.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the certificate (*.gmc)")
    parser.add_argument("--data", metavar="DATA", help="the file with X and y, if the certificate does not store them")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the result as one JSON object")
    form.add_argument("--explain", action="store_true", help="print the theorem with its numbers in plain words")
    return parser


def _print(result: Result, as_json: bool, explain: bool) -> None:
    if as_json:
        print(result.to_json())
        return
    print(f"{result.verdict.value}: {result.reason}")
    if explain:
        from globalmin_check.explain import explained

        print(explained(result))
        return
    for index, claim in enumerate(result.claims):
        print(f"claim {index} ({claim.kind}): {claim.verdict.value}. {claim.statement or claim.reason}")
    for note in result.notes:
        print(f"note: {note}")
