"""The memory guard refuses before anything is allocated."""

import pytest

from globalmin.data import gram_bytes, require_memory, validation
from globalmin.errors import GlobalMinError, MemoryRefused


def test_a_million_samples_are_refused_with_the_figure():
    with pytest.raises(
        MemoryRefused,
        match=r"the Gram matrix needs 7450\.6 GiB of memory, and 8\.0 GiB may be used; take fewer "
        r"samples",
    ):
        require_memory(gram_bytes(10**6), "the Gram matrix", limit=8 * 2**30)


def test_the_refusal_belongs_to_both_families():
    for family in (MemoryError, GlobalMinError):
        with pytest.raises(family):
            require_memory(2, "two bytes", limit=1)


def test_what_fits_exactly_is_allowed():
    require_memory(100, "this", limit=100)
    require_memory(0, "nothing", limit=0)


def test_copies_and_rectangles_are_counted():
    assert gram_bytes(10) == 800
    assert gram_bytes(10, copies=3) == 2400
    assert validation.matrix_bytes(3, 5, copies=2) == 240


def test_without_a_limit_the_available_memory_counts(monkeypatch):
    monkeypatch.setattr(validation, "available_bytes", lambda: 1000)
    require_memory(1000, "this")
    with pytest.raises(MemoryRefused, match="that needs"):
        require_memory(1001, "that")


def test_available_memory_is_a_plausible_number():
    assert 2**20 < validation.available_bytes() < 2**50


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueError, match="limit=-1"):
        require_memory(1, "this", limit=-1)


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(validation, "_CGROUP", tmp_path)
    unlimited = validation.available_bytes()
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    assert validation.available_bytes() == 3000
    (tmp_path / "memory.current").write_text("9000\n")
    assert validation.available_bytes() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert validation.available_bytes() == pytest.approx(unlimited, rel=0.9)


@pytest.mark.parametrize("content", [None, b"MemFree: 1 kB\n", b"\xff\xfe"])
def test_without_the_kernel_file_the_system_call_answers(content, monkeypatch, tmp_path):
    if content is not None:
        (tmp_path / "meminfo").write_bytes(content)
    monkeypatch.setattr(validation, "_MEMINFO", tmp_path / "meminfo")
    assert validation.available_bytes() > 2**20
