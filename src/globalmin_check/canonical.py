"""Strict reading of canonical JSON and of rationals (section 2 of the format page)."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import gcd
from typing import TypeVar

from globalmin_check import limits
from globalmin_check.verdict import Malformed

T = TypeVar("T")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)  # possessive: no memory for ways back
_BRACKET = re.compile(rb"[\[\]{}]")
_RATIONAL = re.compile(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")


def parse(raw: bytes, where: str) -> object:
    """The value of a canonical JSON text; anything that does not re-serialize to the same bytes is
    malformed.
    """
    _check_depth(raw, where)
    try:
        text = raw.decode("ascii")
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_refuse,
            parse_constant=_refuse,
            parse_int=_integer,
        )
    except (ValueError, Malformed) as error:
        raise Malformed(f"{where} is not canonical JSON: {error}") from None
    if json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True) != text:
        raise Malformed(
            f"{where} is not in canonical form (sorted keys, no white space, ASCII escapes)"
        )
    return value


def _check_depth(raw: bytes, where: str) -> None:
    # json.loads recurses, so the depth is measured before it sees the text.
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        if depth > limits.DEPTH:
            raise Malformed(f"{where} is nested deeper than {limits.DEPTH}")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Malformed("an object has a key twice")
    return result


def _refuse(text: str) -> object:
    raise Malformed(f"the number {text[:40]} is not an integer")


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > limits.INTEGER_DIGITS:
        raise Malformed(f"an integer has more than {limits.INTEGER_DIGITS} digits")
    return int(text)


def rational(text: object, where: str) -> Fraction:
    """The exact rational of its canonical string "p" or "p/q"."""
    if not isinstance(text, str) or len(text) > limits.RATIONAL_CHARACTERS:
        raise Malformed(
            f"{where} is not a rational of at most {limits.RATIONAL_CHARACTERS} characters"
        )
    match = _RATIONAL.fullmatch(text)
    if match is None:
        raise Malformed(f"{where} is not a rational in canonical form")
    p, q = int(match[1]), int(match[2] or 1)
    if match[2] is not None and (q == 1 or gcd(p, q) != 1):
        raise Malformed(f"{where} is not in lowest terms")
    return Fraction(p, q)


class Fields:
    """An object whose fields are taken out one by one with their types; `end` refuses what is left
    over.
    """

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise Malformed(f"{where} is not an object")
        self._rest: dict[str, object] = dict(value)
        self.where = where

    def has(self, key: str) -> bool:
        """Whether an optional field is present and not yet taken."""
        return key in self._rest

    def take(self, key: str) -> object:
        """The value of a required field."""
        if key not in self._rest:
            raise Malformed(f"{self.where} lacks the field {key}")
        return self._rest.pop(key)

    def _typed(self, key: str, kind: type[T], word: str) -> T:
        value = self.take(key)
        if not isinstance(value, kind) or type(value) is not kind:  # `true` is not an integer
            raise Malformed(f"{self.where}.{key} is not {word}")
        return value

    def string(self, key: str) -> str:
        """A string field."""
        return self._typed(key, str, "a string")

    def boolean(self, key: str) -> bool:
        """A field that is `true` or `false`."""
        return self._typed(key, bool, "true or false")

    def array(self, key: str) -> list[object]:
        """An array field."""
        return self._typed(key, list, "an array")

    def integer(self, key: str, least: int) -> int:
        """An integer field with a lower limit."""
        value = self._typed(key, int, "an integer")
        if value < least:
            raise Malformed(f"{self.where}.{key} is less than {least}")
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """A string field with a fixed set of values."""
        value = self.string(key)
        if value not in allowed:
            raise Malformed(
                f"{self.where}.{key} is {value[:40]!a}, not one of {', '.join(allowed)}"
            )
        return value

    def rational(self, key: str) -> Fraction:
        """A rational field."""
        return rational(self.take(key), f"{self.where}.{key}")

    def end(self) -> None:
        """Refuse every field that was not taken."""
        if self._rest:
            raise Malformed(f"{self.where} has the unknown field {min(self._rest)[:40]!a}")
