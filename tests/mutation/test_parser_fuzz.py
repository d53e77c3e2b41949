"""Hypothesis-made inputs for the parser: whatever the bytes, one of the four verdicts, and never an
acceptance that the slow checker refuses."""

import json
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tests.corpus.drafts import canonical, container, resealed
from tests.corpus.two_checkers import VERDICTS, Bench, contradict
from tests.corpus.whole_files import opened
from tests.figures import Record
from tests.mutation.guided_fuzz import Explorer, where_it_ends
from tests.mutation.header_edits import edited, parts, places
from tests.mutation.sources import ACCEPTED, sealed

from globalmin_check.canonical import Fields

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


def test_every_input_gets_one_of_the_four_verdicts(record_property: Record):
    verdicts = fuzz(2000)
    record_property("hypothesis inputs", verdicts.total())
    print(f"parser fuzz: {sum(verdicts.values())} inputs, {dict(verdicts)}")


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_every_input_of_a_hundred_thousand_gets_one_of_the_four_verdicts(
    part: int, record_property: Record
):
    verdicts = fuzz(10_000, SEED + 1000 * (part + 1))
    record_property("hypothesis inputs", verdicts.total())
    print(f"parser fuzz: {sum(verdicts.values())} inputs, {dict(verdicts)}")


@pytest.mark.parametrize("kind", [[], {}, None, 3, ["dual-gap"]])
def test_a_kind_that_is_no_word_is_malformed_for_both_checkers(kind: Any, tmp_path: Path):
    """The slow checker looked a list up in a table (found by part 1 of the hundred thousand)."""
    bench = Bench(tmp_path)
    families = {path.name.split("_")[0]: path for path in sorted(ACCEPTED.glob("*.gmc"))}
    assert len(families) > 20
    for path in families.values():
        file = opened(path.read_bytes())
        file.top["claims"][0]["kind"] = kind
        fast, slow = bench.both(file.sealed())
        assert fast.verdict == slow.verdict == "MALFORMED", path.name


def explore(count: int, start: int, record: Record) -> Explorer:
    """A guided search; what it found is told, and no input may take a second."""
    explorer = Explorer(start)
    explorer.run(count)
    record("guided inputs", count)
    record("largest number of places reached", len(explorer.seen))
    record("largest seconds of an input", round(explorer.slowest, 3))
    print(f"guided fuzz: {count} inputs, the parser stopped at {len(explorer.seen)} places")
    return explorer


def test_no_guided_input_raises_anything_but_a_verdict(record_property: Record):
    explorer = explore(4000, SEED, record_property)
    honest = len({where_it_ends(raw) for _, raw, _ in sealed()})
    assert len(explorer.seen) > 10 * honest  # the search goes where the honest files do not


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(20))
def test_no_guided_input_of_a_million_raises_anything_but_a_verdict(
    part: int, record_property: Record
):
    explore(50_000, SEED + 1 + part, record_property)


def test_a_parser_that_raises_something_else_is_found(monkeypatch: pytest.MonkeyPatch):
    """The search can fail: a comparison without a type before it, deep in the parser."""
    monkeypatch.setattr(Fields, "integer", lambda self, key, least: max(self.take(key), least))
    with pytest.raises(TypeError):
        Explorer(SEED).run(20_000)


GROWN = ("long string", "many tensors", "long tensor", "brackets", "long numbers", "backslashes")


def grown(raw: bytes, size: int, kind: str) -> bytes:
    """A file of about so many bytes that a parser might stumble over."""
    header, body = parts(raw)
    inside = {
        "long string": " " * size,
        "brackets": "[" * size,
        "long numbers": canonical({"n": 10 ** min(size, 4000)}) * 8,
        "backslashes": "\\" * (size // 4),  # each is four bytes of the header
    }
    if kind == "many tensors":
        header |= {f"t{i}": {"dtype": "F64"} for i in range(size // 24)}
    elif kind == "long tensor":
        body += bytes(size)
        end = len(body)
        header["z"] = {"data_offsets": [end - size, end], "dtype": "F64", "shape": [size // 8]}
    else:
        header["__metadata__"]["certificate"] += inside[kind]
    return resealed(container(canonical(header), body))


@pytest.mark.parametrize("kind", GROWN)
def test_the_parser_needs_little_memory(kind: str, record_property: Record):
    """R5: at most four times the file and 64 MB more, for files up to 1 MB. A long string once
    took 140 times the file: the pattern that skips strings kept a way back for every character.
    """
    largest = slowest = 0.0
    for _, raw, _ in sealed()[::200]:
        file = grown(raw, 900_000, kind)
        assert len(file) < 1_100_000
        started = time.thread_time()
        where_it_ends(file)
        slowest = max(slowest, time.thread_time() - started)
        tracemalloc.start()
        where_it_ends(file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * len(file) + 64 * 2**20
        largest = max(largest, peak / len(file))
    record_property("largest peak, in file sizes", round(largest, 1))
    record_property("largest seconds of an input", round(slowest, 3))  # judged by the campaign
    print(f"peak memory at most {largest:.1f} times the file")
