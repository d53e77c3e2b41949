"""docs/architecture.md shows the tree that is there."""

from scripts.floor_plan import PAGE, ROOT, layers, page

SOURCE = ROOT / "src" / "globalmin"


def test_the_page_shows_the_tree_that_is_there():
    assert page() == PAGE.read_text(encoding="utf-8"), "run scripts/floor_plan.py"


def test_every_room_has_a_layer():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    placed = {name for layer in layers() for name in layer}
    assert rooms - placed == set()
    assert {name for name in placed if not (SOURCE / name).exists()} <= {
        path.stem for path in SOURCE.glob("*.py")
    }


def test_no_contract_has_an_exception():
    assert "ignore_imports" not in (ROOT / ".importlinter").read_text(encoding="utf-8")


def test_every_test_folder_is_a_room_or_a_kind_of_test():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    kinds = {"acceptance", "checker", "corpus", "docs", "house", "mutation", "oracles", "pages"}
    kinds |= {"proofs"}  # of the theorems in Coq, which are no room of the package
    tests = ROOT / "tests"
    folders = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")}
    assert folders - rooms - kinds == set()
