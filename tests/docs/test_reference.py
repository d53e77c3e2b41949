"""Every public name is in the reference, in one more page, and has a description that renders."""

import inspect
import re
from pathlib import Path

import pytest

import globalmin as gm

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
ROOMS = {"gm": gm, "gm.theory": gm.theory, "gm.landscape": gm.landscape, "gm.interop": gm.interop}
NAMES = [f"{room}.{name}" for room, module in ROOMS.items() for name in module.__all__]
PAGES = "\n".join(
    page.read_text(encoding="utf-8")
    for page in [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    if page.name not in {"reference.md", "theorems.md", "architecture.md", "glossary.md"}
)


def _object(name: str) -> object:
    room, _, last = name.rpartition(".")
    return getattr(ROOMS[room], last)


def test_the_reference_lists_the_public_names_and_no_others():
    listed = re.findall(r"^(?:::: globalmin|`gm)\.([\w.]+)", REFERENCE, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    rooms = {"gm.theory", "gm.landscape", "gm.interop"}
    assert {f"gm.{name}" for name in listed} | rooms == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_in_a_page_besides_the_reference(name: str):
    assert re.search(rf"\b{name.rpartition('.')[2]}\b", PAGES)


def _sections(text: str) -> dict[str, list[str]]:
    """Title -> lines, of the underlined sections of a docstring."""
    parts = re.split(r"^(\w+(?: \w+)?)\n-{3,}\n", text, flags=re.MULTILINE)
    return {
        title: body.rstrip().split("\n")
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


@pytest.mark.parametrize("name", [name for name in NAMES if callable(_object(name))])
def test_the_docstring_follows_the_template(name: str):
    """Types on the first line, the description indented below: what the site's parser reads."""
    found = _object(name)
    text = inspect.getdoc(found)
    assert text
    assert len(text.split("\n")[0]) > 15
    sections = _sections(text)
    known = set(inspect.signature(found).parameters) if "Parameters" in sections else set()
    for title in ("Parameters", "Attributes"):
        lines = [line for line in sections.get(title, []) if line.strip()]
        heads = [i for i, line in enumerate(lines) if not line.startswith(" ")]
        for i in heads:
            head = re.fullmatch(r"((?:\w+, )*\w+) : (\S.*[^.])", lines[i])
            assert head, f"{title}: {lines[i]!r} is not `name : type`"
            assert i + 1 < len(lines), f"{lines[i]!r} has no description"
            assert lines[i + 1].startswith("    "), f"{lines[i]!r} has no description"
            assert title == "Attributes" or set(head[1].split(", ")) <= known
    if "Returns" in sections:
        assert sections["Returns"][1].startswith("    ")
