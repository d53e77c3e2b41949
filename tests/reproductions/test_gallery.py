"""The gallery page of the docs: every record becomes a section with picture, command, data file and
table.
"""

import json

from scripts import gallery

RECORD = {
    "item": "DU-F5.2",
    "title": "Figure 5.2: phases",
    "command": "globalmin reproduce DU-F5.2",
    "columns": ["quantity", "published", "reference", "ours", "tolerance", "verdict", "note"],
    "table": [["|a − a*|", "1", "", "1", "0", "agrees", "a_1 < 2"]],
    "headline": "1 agrees; 1 against the paper",
    "scale": "thumbnail",
    "choices": ["Step 0.1, a* random."],
    "agrees": True,
    "files": {
        "data": ["DU-F5.2.data.csv"],
        "table": ["DU-F5.2.table.txt", "DU-F5.2.table.csv"],
        "figures": ["DU-F5.2.svg"],
        "pictures": ["DU-F5.2.png"],
    },
}


def test_a_section_has_picture_command_table_choice_and_files():
    text = gallery.section(RECORD)
    assert "![Figure 5.2: phases](gallery/DU-F5.2.svg)" in text
    assert "`globalmin reproduce DU-F5.2`" in text
    assert "| \\|a − a\\*\\| | 1 |  | 1 | 0 | agrees | a\\_1 \\< 2 |" in text
    assert "- Step 0.1, a\\* random." in text
    assert "[DU-F5.2.data.csv](gallery/DU-F5.2.data.csv)" in text
    assert ".txt" not in text


def test_the_page_has_one_chapter_a_work_and_one_beyond_the_papers():
    page = gallery.page([RECORD, {**RECORD, "item": "DU-F7.1"}, {**RECORD, "item": "GM-phase"}])
    assert page.count("## DU: ") == 1
    assert (
        page.index("### DU-F7.1") < page.index("## Beyond the papers") < page.index("### GM-phase")
    )


def test_files_that_the_page_links_are_copied_and_no_others(tmp_path, monkeypatch):
    made, folder = tmp_path / "made", tmp_path / "docs"
    made.mkdir()
    folder.mkdir()
    (folder / "old.svg").write_text("old", encoding="utf-8")
    for file in (name for names in RECORD["files"].values() for name in names):
        (made / file).write_text(file, encoding="utf-8")
    monkeypatch.setattr(gallery, "MADE", made)
    monkeypatch.setattr(gallery, "FOLDER", folder)
    gallery.copy_files([RECORD])
    assert {path.name for path in folder.iterdir()} == {
        "DU-F5.2.data.csv",
        "DU-F5.2.table.csv",
        "DU-F5.2.svg",
    }


def test_what_was_made_at_paper_scale_stands_below_the_thumbnail_and_is_kept(tmp_path, monkeypatch):
    made, kept = tmp_path / "made", tmp_path / "docs" / "paper"
    made.mkdir()
    command = "globalmin reproduce DU-F5.2 --scale paper"
    large = {**RECORD, "scale": "paper", "command": command, "headline": "1 differs"}
    for file in (name for names in RECORD["files"].values() for name in names):
        (made / file).write_text(file, encoding="utf-8")
    (made / "DU-F5.2.record.json").write_text(json.dumps(large), encoding="utf-8")
    monkeypatch.setattr(gallery, "MADE", made)
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "docs")
    monkeypatch.setattr(gallery, "PAPER", kept)
    gallery.take_over(made)
    gallery.copy_files([RECORD])
    assert (kept / "DU-F5.2.svg").exists()
    assert gallery.records(kept) == [large]
    page = gallery.page([RECORD], gallery.records(kept))
    assert page.index("Rows: 1 agrees") < page.index("At paper scale") < page.index("1 differs")
    assert "(gallery/paper/DU-F5.2.svg)" in page
