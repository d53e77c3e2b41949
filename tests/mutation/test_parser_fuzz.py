"""Hypothesis-made inputs for the parser: whatever the bytes, one of the four verdicts, and never an
acceptance that the slow checker refuses."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tests.corpus.drafts import canonical, container, resealed
from tests.corpus.two_checkers import VERDICTS, Bench, contradict
from tests.mutation.sources import sealed

SEED = 20265
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
TEXTS = st.sampled_from(
    [
        "",
        "0",
        "-0",
        "1/2",
        "2/4",
        "1e9",
        "W",
        "vW",
        "rows",
        "svec",
        "claims.0.z",
        "\x00",
        "\u00e9",
        "\ud800",
        "9" * 2501,
    ]
)
NUMBERS = st.sampled_from(
    [
        0,
        1,
        -1,
        2,
        8,
        24,
        64,
        2**31,
        2**53 + 1,
        10**17,
        10**18,
        2**63,
        10**400,
        0.5,
        1e308,
        float("nan"),
        float("inf"),
    ]
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.text(max_size=4))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def parts(raw: bytes) -> tuple[dict[str, Any], bytes]:
    end = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:end]), raw[end:]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a JSON value."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


def edited(value: Any, place: tuple[Any, ...], action: str, new: Any) -> Any:
    """The value with one place replaced, removed, renamed or given a neighbor."""
    if not place:
        return new
    parent = value
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    if action == "replace":
        parent[key] = new
    elif action == "remove":
        del parent[key]
    elif isinstance(parent, dict):
        parent[str(new)] = parent[key] if action == "add" else parent.pop(key)
    else:
        parent.insert(key, new)
    return value


@st.composite
def structured(draw: st.DrawFn) -> bytes:
    """A real certificate with one or two edits of its header or of its inner object, sealed
    again.
    """
    _, raw, _ = draw(st.sampled_from(sealed()))
    header, body = parts(raw)
    inner = draw(st.booleans())
    target = json.loads(header["__metadata__"]["certificate"]) if inner else header
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(places(target)))
        target = edited(
            target,
            place,
            draw(st.sampled_from(["replace", "replace", "remove", "add", "rename"])),
            draw(VALUES),
        )
    if inner:
        header["__metadata__"]["certificate"] = canonical(target)
        target = header
    if draw(st.booleans()):
        body += draw(st.binary(max_size=16))
    return resealed(container(canonical(target), body))


@st.composite
def textual(draw: st.DrawFn) -> bytes:
    """A real certificate with a piece of its header text replaced, sealed again."""
    _, raw, _ = draw(st.sampled_from(sealed()))
    end = 8 + int.from_bytes(raw[:8], "little")
    text, begin = raw[8:end], draw(st.integers(0, end - 9))
    piece = draw(
        st.sampled_from(
            [
                b"",
                b" ",
                b",",
                b"{",
                b"]",
                b"[[[[",
                b'"',
                b"\\",
                b"0",
                b"-",
                b"1e5",
                b"null",
                b"NaN",
                b"\xff",
                b"\\u0000",
            ]
        )
    )
    text = text[:begin] + piece + text[begin + draw(st.integers(0, 4)) :]
    text += b" " * (-len(text) % 8)
    return resealed(len(text).to_bytes(8, "little") + text + raw[end:])


HEADERS = st.dictionaries(st.text(max_size=5) | st.just("__metadata__"), VALUES, max_size=4)
INPUTS = st.one_of(
    structured(),
    textual(),
    st.binary(max_size=200),
    st.builds(lambda h, b: container(canonical(h), b), HEADERS, st.binary(max_size=64)),
    st.builds(
        lambda n, b: n.to_bytes(8, "little") + b, st.integers(0, 2**64 - 1), st.binary(max_size=64)
    ),
)


def fuzz(count: int, start: int = SEED) -> Counter[str]:
    """Run the checkers on `count` inputs and return the verdicts."""
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))

        @settings(
            max_examples=count,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
            ],
        )
        @seed(start)
        @given(INPUTS)
        def every_input_gets_a_verdict(raw: bytes) -> None:
            fast, slow = bench.both(raw)
            verdicts[fast.verdict] += 1
            assert fast.verdict in VERDICTS, fast
            assert not contradict(fast, slow), (fast, slow)

        every_input_gets_a_verdict()
    return verdicts


def test_every_input_gets_one_of_the_four_verdicts():
    verdicts = fuzz(2000)
    print(f"parser fuzz: {sum(verdicts.values())} inputs, {dict(verdicts)}")


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_every_input_of_a_hundred_thousand_gets_one_of_the_four_verdicts(part: int):
    verdicts = fuzz(10_000, SEED + 1000 * (part + 1))
    print(f"parser fuzz: {sum(verdicts.values())} inputs, {dict(verdicts)}")
