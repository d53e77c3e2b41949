"""The registry that ties code to catalogue items stays true, and what is still missing is
printed.
"""

import importlib
import pkgutil
import re

import pytest
from scripts import theorem_table

import globalmin
from globalmin import references


def _import_everything() -> None:
    for module in pkgutil.walk_packages(globalmin.__path__, "globalmin."):
        importlib.import_module(module.name)


def test_every_stated_item_is_in_the_catalogue():
    _import_everything()
    unknown = set(references.stated()) - set(references.catalogue())
    assert not unknown, f"code states items that no work has: {sorted(unknown)}"


def test_the_registry_and_the_source_scan_agree():
    _import_everything()
    assert set(references.stated()) == set(theorem_table.stating_functions())


def test_catalogue_ids_are_unique_and_carry_their_work():
    items = references.catalogue()
    assert len(items) == len(set(items)) > 300
    assert all(
        item.startswith(work.key + "-")
        for work in references.works().values()
        for item in work.items
    )


def test_every_item_with_code_has_a_test():
    functions, tests = theorem_table.stating_functions(), theorem_table.showing_tests()
    untested = sorted(item for item in functions if not tests.get(item))
    assert not untested, f"items with code but no test that names them: {untested}"


def test_every_link_into_the_gallery_meets_a_heading():
    """The site is built in strict mode: a link to a heading that is not there stops it."""
    text = theorem_table.PAGE.read_text(encoding="utf-8")
    gallery = theorem_table.GALLERY.read_text(encoding="utf-8")
    headings = re.findall(r"^### (\S+)$", gallery, flags=re.M)
    anchors = {heading.lower().replace(".", "") for heading in headings}
    linked = re.findall(r"\(gallery\.md#([^)]*)\)", text)
    assert len(linked) > 30
    assert sorted(set(linked) - anchors) == []


def test_the_committed_page_is_what_the_sources_say(capsys: pytest.CaptureFixture[str]):
    assert theorem_table.PAGE.read_text(encoding="utf-8") == theorem_table.page(), (
        "run scripts/theorem_table.py"
    )
    stating = theorem_table.stating_functions()
    missing = [item for item in references.catalogue() if item not in stating]
    with capsys.disabled():
        print(
            f"\n{len(missing)} of {len(references.catalogue())} catalogue items still without code"
        )
