"""102 and more inputs that are wrong: each ends with the right exit code and a message that names
what is wrong and what to do, and leaves nothing behind.
"""

import pytest
from tests.cli.folders import everything_below
from tests.cli.malformed_inputs import CHECKS, COMMANDS, OPTIONS, TABLES, write_files

from globalmin_check.command.cli import main as check_main

ALL = [*TABLES, *OPTIONS, *COMMANDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong")
    write_files(path)
    return path


@pytest.mark.parametrize("wrong", ALL, ids=[wrong.name for wrong in ALL])
def test_a_wrong_input_is_told_with_its_remedy_and_leaves_nothing(run, folder, wrong, monkeypatch):
    monkeypatch.chdir(folder)
    before = everything_below(folder)
    ended = run(*(part.replace("{}", str(folder)) for part in wrong.arguments))
    assert ended.code == wrong.code, (ended.out, ended.err)
    assert all(word in ended.err for word in wrong.words), ended.err
    assert "Traceback" not in ended.err
    assert "internal error" not in ended.err
    assert everything_below(folder) == before


@pytest.mark.parametrize("wrong", CHECKS, ids=[wrong.name for wrong in CHECKS])
def test_the_checker_says_what_a_file_is_not(folder, wrong, capsys):
    code = check_main([part.replace("{}", str(folder)) for part in wrong.arguments])
    said = capsys.readouterr()
    assert code == wrong.code
    assert all(word in said.out + said.err for word in wrong.words), said


def test_there_are_more_than_a_hundred():
    names = [wrong.name for wrong in [*ALL, *CHECKS]]
    assert len(names) == len(set(names)) >= 102
