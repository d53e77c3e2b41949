"""Canonical JSON and rationals: what is not byte for byte canonical is malformed."""

from fractions import Fraction

import pytest

from globalmin_check import limits
from globalmin_check.canonical import Fields, parse, rational
from globalmin_check.verdict import Malformed


def test_canonical_text_is_parsed() -> None:
    assert parse(b'{"a":[1,-2,true],"b":"x\\u00e9"}', "text") == {"a": [1, -2, True], "b": "xé"}


@pytest.mark.parametrize(
    "text",
    [
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b' {"a":1}',
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":-0}',
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":"\xc3\xa9"}',
        b'{"a":"\\u00E9"}',
        b'{"a":"\\/"}',
        b'{"a":"\\u0041"}',
        b'{"a":1',
        b'{"a":1}}',
        b'{"a":"x',
        b"{'a':1}",
        b"",
        b"\x00",
        b"\xff\xfe",
        b'{"a":1,}',
        b"[1,]",
    ],
)
def test_what_is_not_canonical_is_malformed(text: bytes) -> None:
    with pytest.raises(Malformed):
        parse(text, "text")


def test_depth_is_limited_exactly() -> None:
    assert parse(b"[" * limits.DEPTH + b"]" * limits.DEPTH, "text") is not None
    with pytest.raises(Malformed, match="nested deeper"):
        parse(b"[" * (limits.DEPTH + 1) + b"]" * (limits.DEPTH + 1), "text")


DEEP = [
    b"[" * 10**6,
    b'{"a":' * 10**5,
    b'"' + b"[" * 10**5,
    b'["a\\""' + b",[" * 10**5,
    b'"\\' + b"[" * 10**5,
]


@pytest.mark.parametrize("text", DEEP)
def test_deep_nesting_never_reaches_the_recursive_parser(text: bytes) -> None:
    with pytest.raises(Malformed):
        parse(text, "text")


def test_brackets_inside_strings_do_not_count() -> None:
    assert parse(b'["' + b"[" * 100 + b'\\"{{"]', "text") == ["[" * 100 + '"{{']


def test_integers_are_limited_to_18_digits() -> None:
    assert parse(b"[" + b"9" * 18 + b",-" + b"9" * 18 + b"]", "text") == [10**18 - 1, 1 - 10**18]
    for text in (b"[1" + b"0" * 18 + b"]", b"[-1" + b"0" * 18 + b"]", b"[" + b"9" * 10**5 + b"]"):
        with pytest.raises(Malformed):
            parse(text, "text")


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-7", -7), ("3/2", Fraction(3, 2)), ("-1/10", Fraction(-1, 10))]
)
def test_rationals_are_read_exactly(text: str, value: Fraction) -> None:
    assert rational(text, "x") == value


SPELLINGS = [
    "-0",
    "00",
    "01",
    "+1",
    "1/1",
    "2/4",
    "0/5",
    "1/0",
    "1/-2",
    "-1/-2",
    "1.5",
    "1e3",
    "0x1",
    "1_000",
    "٣",
    "1/2/3",
    "1/02",
    "inf",
    "nan",
    "-",
    "/",
    "1/",
    "/2",
]


@pytest.mark.parametrize("text", [*SPELLINGS, "", " 1", "1 ", 1, True, None, ["1"], {"p": "1"}])
def test_other_spellings_of_rationals_are_malformed(text: object) -> None:
    with pytest.raises(Malformed):
        rational(text, "x")


def test_rationals_are_limited_to_2500_characters() -> None:
    assert rational("1" * limits.RATIONAL_CHARACTERS, "x") == int("1" * limits.RATIONAL_CHARACTERS)
    with pytest.raises(Malformed):
        rational("1" * (limits.RATIONAL_CHARACTERS + 1), "x")


def test_every_double_fits_a_rational() -> None:
    for value in (5e-324, -5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1, -0.0):
        assert rational(str(Fraction(value)), "x") == Fraction(value)


def test_fields_check_types_and_leave_nothing_over() -> None:
    fields = Fields({"a": "x", "b": True, "c": 3, "d": [], "e": "1/2"}, "it")
    assert (fields.string("a"), fields.boolean("b"), fields.integer("c", 3), fields.array("d")) == (
        "x",
        True,
        3,
        [],
    )
    assert fields.has("e")
    assert fields.rational("e") == Fraction(1, 2)
    fields.end()
    assert not fields.has("e")
    for value in ([], "x", 1, None):
        with pytest.raises(Malformed, match="not an object"):
            Fields(value, "it")


def test_fields_refuse_wrong_types_and_ranges() -> None:
    value = {"a": 1, "b": True, "c": None, "s": "other"}
    for take in (
        lambda f: f.string("a"),
        lambda f: f.boolean("a"),
        lambda f: f.integer("b", 0),
        lambda f: f.integer("a", 2),
        lambda f: f.array("a"),
        lambda f: f.string("c"),
        lambda f: f.take("missing"),
        lambda f: f.choice("s", ("one", "two")),
        lambda f: f.rational("a"),
        lambda f: f.end(),
    ):
        with pytest.raises(Malformed):
            take(Fields(value, "it"))
