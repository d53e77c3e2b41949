"""`globalmin explore`: the page is written, usage errors name the remedy. What the page does is
tested in tests/pages.
"""

import json


def test_the_page_is_written_with_and_without_a_table(run, table, tmp_path):
    out = tmp_path / "page.html"
    ended = run("explore", "--out", out)
    assert ended.code == 0, ended
    assert str(out) in ended.out
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "price" not in page.split('id="numbers">')[1]
    ended = run("explore", table(9), "-t", "price", "--out", out, "--json")
    assert ended.code == 0, ended
    told = {"command": "explore", "exit_code": 0, "page": str(out), "recipe": []}
    assert ended.json == told  # numbers are taken as they are
    numbers = out.read_text(encoding="utf-8").split('id="numbers">')[1].split("</script>")[0]
    first = json.loads(numbers)["tables"][0]
    assert (first["title"], first["target"]) == ("table.csv", "price")
    assert first["features"] == ["a", "b", "c", "d"]
    assert len(first["raw"]) == 9


def test_what_does_not_fit_is_refused_before_anything_is_written(run, table, tmp_path):
    for arguments, said in (
        ((table(5), "--out", tmp_path / "p.html"), "belong together"),
        (("-t", "price", "--out", tmp_path / "p.html"), "belong together"),
        (("--out", tmp_path), "is a folder"),
        (("--out", tmp_path / "no" / "p.html"), "does not exist"),
        ((tmp_path / "nope.csv", "-t", "y"), "does not exist"),
    ):
        ended = run("explore", *arguments)
        assert ended.code == 2, ended
        assert said in ended.err
    ended = run("explore", table(5), "-t", "prise", "--out", tmp_path / "p.html")
    assert ended.code == 3, ended
    assert "prise" in ended.err
    assert not (tmp_path / "p.html").exists()
