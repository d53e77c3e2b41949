"""What users get wrong: the 62 inputs of a hostile reading, and more. Each is a command line, the
exit code it must end with, and words that its message must have: what is wrong, and a remedy.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROWS = [(1.5, 2.0, 3.1), (0.2, 1.0, 2.2), (2.5, -1.0, 0.3), (0.9, 0.4, 1.1), (-1.0, 0.3, 0.5),
        (0.1, -0.2, 4.0), (1.1, 1.2, 1.3), (3.0, 0.5, 2.6)]  # fmt: skip
HEADER = "a,b,y"


class Wrong(NamedTuple):
    """A name, the arguments (`{}` is the folder), the exit code and words of the message."""

    name: str
    arguments: tuple[str, ...]
    code: int
    words: tuple[str, ...]


def table(header: str = HEADER, change: Callable[[list[list[str]]], Any] | None = None) -> str:
    """The text of a small table with one thing changed."""
    rows = [[repr(x) for x in row] for row in ROWS]
    if change is not None:
        change(rows)
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


def put(i: int, j: int, cell: str) -> Callable[[list[list[str]]], None]:
    """Put a cell into a row and a column."""

    def change(rows: list[list[str]]) -> None:
        rows[i][j] = cell

    return change


def put_all(j: int, cell: str) -> Callable[[list[list[str]]], None]:
    """Put a cell into every row."""

    def change(rows: list[list[str]]) -> None:
        for row in rows:
            row[j] = cell

    return change


def write_files(folder: Path) -> None:
    """All files that the commands name."""
    texts = {
        "ok.csv": table(),
        "empty.csv": "",
        "blank.csv": "\n\n\n",
        "header.csv": HEADER + "\n",
        "bare.csv": table().partition("\n")[2],
        "nan.csv": table(change=put(2, 1, "nan")),
        "inf.csv": table(change=put(2, 1, "inf")),
        "huge.csv": table(change=put(2, 1, "1e999")),
        "label.csv": table(change=put(3, 2, "")),
        "dup.csv": table("a,a,y"),
        "unnamed.csv": table("a,,y"),
        "ragged.csv": table(change=lambda rows: rows[2].pop()),
        "long.csv": table(change=lambda rows: rows[2].append("7")),
        "comma.csv": table().replace(",", ";").replace(".", ","),
        "1e308.csv": table(change=put(2, 1, "1e308")),
        "bigint.csv": table(change=put(2, 1, "123456789012345678901234567890")),
        "underscore.csv": table(change=put(2, 1, "1_000")),
        "slip.csv": "\n".join([HEADER, *(f"{i},{i % 5},{i % 3}.5" for i in range(30)), "x,1,2\n"]),
        "quote.csv": table(change=put(2, 1, '"open')),
        "onlyy.csv": "y\n1\n2\n3\n",
        "constant.csv": table(change=put_all(2, "3.5")),
        "oneclass.csv": table(change=put_all(2, "yes")),
        "names.csv": "who,y\n" + "\n".join(f"person {i},{i}" for i in range(20)) + "\n",
        "days.csv": "when,y\n"
        + "\n".join(f"0{1 + i}/0{2 + i % 7}/2024,{i}" for i in range(8))
        + "\n",
        "nul.csv": "a,b,y\n1,2\0,3\n",
        "negative_weight.csv": table("a,w,y", change=put(2, 1, "-1")),
        "twelve.csv": table(change=put(3, 2, "twelve")),
        "counts.csv": table(change=put(3, 2, "-2")),
        "words.csv": table(change=put_all(2, "yes")),
        "void.csv": "a,y\n" + "\n".join(f",{i}" for i in range(12)) + "\n",
        "1e200.csv": table(change=put(2, 1, "1e200")),
        "net.pkl": "no pickle",
        "plan.toml": 'recipe = "x:y"\nfoo = 1\n[grid]\nn = [1]\n',
        "module.toml": 'recipe = "no_such_module:y"\n[grid]\nn = [1]\n',
        "bad.toml": "recipe = ",
        "note.txt": "not a certificate",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "utf16.csv").write_bytes(table().encode("utf-16"))
    (folder / "latin.csv").write_bytes(b"gr\xf6\xdfe,b,y\n1,2,3\n")
    (folder / "book.xlsx").write_bytes(b"PK\x03\x04")
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 no archive")
    (folder / "broken.parquet").write_bytes(b"PAR1 no table")
    (folder / "broken.onnx").write_bytes(b"\xff\xff no graph")
    (folder / "broken.pt").write_bytes(b"no zip archive")
    (folder / "broken.keras").write_bytes(b"no zip archive")
    (folder / "broken.safetensors").write_bytes(struct.pack("<Q", 10**12) + b"{}")
    np.savez(folder / "other.npz", A=[[1.0]], b=[1.0])
    np.savez(folder / "weights.npz", W=[[0.5, 0.1, 0.2]], b=[0.0], v=[1.0], c0=0.0)
    (folder / "full").mkdir()
    (folder / "fitted").mkdir()
    (folder / "fitted" / "fit.json").write_text("{}", encoding="utf-8")


def fit(name: str, *options: str) -> tuple[str, ...]:
    """`globalmin fit` of a file with the target y."""
    return ("fit", f"{{}}/{name}", "--target", "y", "--out", "{}/out", *options)


SHALLOW = ("--interpolate",)
TABLES = [
    Wrong("no such file", fit("nope.csv"), 2, ("nope.csv", "does not exist")),
    Wrong("a folder as data", fit("full"), 2, ("full", "directory")),
    Wrong("an empty file", fit("empty.csv"), 3, ("the file is empty", "give a header row")),
    Wrong("blank lines", fit("blank.csv"), 3, ("the file is empty", "give a header row")),
    Wrong("a header only", fit("header.csv"), 3, ("no data row", "add at least one row")),
    Wrong("no header, wrong target", fit("bare.csv"), 3, ("no target column 'y'", "'column 1'")),
    Wrong("an infinite cell", fit("inf.csv"), 3, ("'b', line 4", "infinite", "correct")),
    Wrong("beyond doubles", fit("huge.csv"), 3, ("'b', line 4", "infinite", "correct")),
    Wrong("a missing label", fit("label.csv"), 3, ("'y', line 5", "missing", "fill it in")),
    Wrong("a column twice", fit("dup.csv"), 3, ("'a' twice", "its own name")),
    Wrong("a column without name", fit("unnamed.csv"), 3, ("column 2 has no name", "name it")),
    Wrong("a short row", fit("ragged.csv"), 3, ("line 4 has 2 cells", "complete the row")),
    Wrong("a long row", fit("long.csv"), 3, ("line 4 has 4 cells", "complete the row")),
    Wrong("decimal commas", fit("comma.csv"), 3, ("not a number", "decimal comma as a point")),
    Wrong("1e308", fit("1e308.csv"), 3, ("1e+308", "divide X by a power of ten")),
    Wrong("30 digits", fit("bigint.csv"), 3, ("beyond 2^53", "subtract an offset")),
    Wrong("a slip of text", fit("slip.csv"), 3, ("'x' is not a number", "line 32", "--drop 'a'")),
    Wrong("an open quotation mark", fit("quote.csv"), 3, ("check the quotation marks",)),
    Wrong("only the target", fit("onlyy.csv"), 3, ("no column is left for the inputs",)),
    Wrong("only names", fit("names.csv"), 3, ("no column is left", "left out, no value of it")),
    Wrong("day or month", fit("days.csv"), 3, ("cannot be told apart", "2024-12-31")),
    Wrong("one class", fit("oneclass.csv"), 3, ("one class only", "yes")),
    Wrong("UTF-16", fit("utf16.csv"), 3, ("UTF-16", "save it as UTF-8")),
    Wrong("Latin-1", fit("latin.csv"), 3, ("is not UTF-8", "save the file as UTF-8")),
    Wrong("NUL bytes", fit("nul.csv"), 3, ("NUL bytes", "save it as UTF-8")),
    Wrong("a spreadsheet", fit("book.xlsx"), 3, ("'.xlsx'", "give a .csv, .npz or .parquet")),
    Wrong("a broken archive", fit("broken.npz"), 3, ("npz", "numpy.savez")),
    Wrong("other arrays", fit("other.npz"), 3, ("there is no array", "'A', 'b'")),
    Wrong("a broken parquet", fit("broken.parquet"), 3, ("parquet", "write it again")),
    Wrong("a wrong target", ("fit", "{}/ok.csv", "-t", "Y", "--out", "{}/out"), 3,
          ("no target column 'Y'", "did you mean 'y'", "'a', 'b', 'y'")),
    Wrong("no target", ("fit", "{}/ok.csv", "--out", "{}/out"), 2, ("--target",)),
    Wrong("a target twice", fit("ok.csv", "-t", "y", *SHALLOW), 2, ("names a column twice",)),
    Wrong("two targets in one option", ("fit", "{}/ok.csv", "-t", "b,y", "--out", "{}/out"), 3,
          ("no target column 'b,y'", "one by one: --target b --target y")),
    Wrong("a target of two used", fit("ok.csv", "-t", "b", "--use", "a,b"), 3, ("choose one",)),
    Wrong("weights for interpolation", fit("ok.csv", "--interpolate", "--sample-weight", "a"), 2,
          ("--sample-weight", "leave one of them out")),
    Wrong("columns of patches", fit("ok.csv", "--patch-size", "1", "--drop", "a"), 2,
          ("--drop", "places of a signal", "leave them out")),
    Wrong("a text target that slips", fit("twelve.csv"), 3, ("line 5", "'twelve' is not a number")),
    Wrong("negative counts", fit("counts.csv", "--loss", "poisson"), 3, ("poisson", "at least 0")),
    Wrong("a wrong column to drop", fit("ok.csv", "--drop", "c"), 3, ("no --drop column 'c'",)),
    Wrong("a wrong column to use", fit("ok.csv", "--use", "aa"), 3, ("did you mean 'a'",)),
    Wrong("the target dropped", fit("ok.csv", "--drop", "y"), 3, ("choose one",)),
    Wrong("everything dropped", fit("ok.csv", "--drop", "a,b"), 3, ("no column is left",)),
    Wrong("negative weights", fit("negative_weight.csv", "--sample-weight", "w"), 3,
          ("'w', line 4", "give numbers of at least 0")),
    Wrong("classes with text for numbers", fit("twelve.csv", "--loss", "squared"), 3,
          ("'twelve' is not a number",)),
    Wrong("interpolation without a label", fit("label.csv", *SHALLOW), 3,
          ("'y', line 5", "missing", "remove the row or fill it in")),
    Wrong("interpolation with 1_000", fit("underscore.csv", *SHALLOW), 3,
          ("'1_000' is not a number", "correct it", "--category 'b'")),
]  # fmt: skip
OPTIONS = [
    Wrong("a negative width", fit("ok.csv", "--width", "-3"), 2, ("--width -3", "positive whole")),
    Wrong("width 0", fit("ok.csv", "--width", "0"), 2, ("--width 0", "positive whole")),
    Wrong("width 1.5", fit("ok.csv", "--width", "1.5"), 2, ("--width 1.5", "positive whole")),
    Wrong("a negative seed", fit("ok.csv", "--seed", "-1"), 2, ("--seed",)),
    Wrong("test size 1.2", fit("ok.csv", "--test-size", "1.2"), 2, ("--test-size",)),
    Wrong("negative decay", fit("ok.csv", "--model", "additive", "--weight-decay", "-1"), 2,
          ("--weight-decay", "cv")),
    Wrong("decay of text", fit("ok.csv", "--model", "additive", "--weight-decay", "much"), 2,
          ("--weight-decay", "cv")),
    Wrong("decay for any model", fit("ok.csv", "--weight-decay", "1"), 2, ("--model additive",)),
    Wrong("decay with relu", fit("ok.csv", "--activation", "relu", "--weight-decay", "1"), 2,
          ("--weight-decay 1", "--activation quadratic")),
    Wrong("an unknown method", fit("ok.csv", "--method", "adam"), 2, ("adam", "lbfgs")),
    Wrong("an unknown activation", fit("ok.csv", "--activation", "blub"), 2, ("blub", "known")),
    Wrong("a wrong steepness", fit("ok.csv", "--activation", "softplus(-1)"), 2, ("steepness",)),
    Wrong("an unknown model", fit("ok.csv", "--model", "forest"), 2, ("forest", "additive")),
    Wrong("an unknown loss", fit("ok.csv", "--loss", "cubic"), 2, ("cubic", "squared")),
    Wrong("an unknown task", fit("ok.csv", "--task", "ranking"), 2, ("ranking", "regression")),
    Wrong("a loss of another task", fit("ok.csv", "--task", "regression", "--loss", "hinge"), 2,
          ("hinge", "squared")),
    Wrong("a gap of 2", fit("ok.csv", "--gap", "2"), 2, ("--gap",)),
    Wrong("interpolating additive", fit("ok.csv", "--interpolate", "--model", "additive"), 2,
          ("leave one of them out",)),
    Wrong("a loss for interpolation", fit("ok.csv", "--interpolate", "--loss", "huber"), 2,
          ("--loss", "leave one of them out")),
    Wrong("a width of an additive one", fit("ok.csv", "--model", "additive", "--width", "3"), 2,
          ("--width", "--interpolate")),
    Wrong("pairs of a quadratic one", fit("ok.csv", "--model", "quadratic", "--interactions",
          "pairs"), 2, ("--model additive",)),
    Wrong("unknown interactions", fit("ok.csv", "--interactions", "all"), 2, ("all", "pairs")),
    Wrong("until without descent", fit("ok.csv", "--until", "proved"), 2, ("gradient_descent",)),
    Wrong("a misspelled option", fit("ok.csv", "--modell", "additive"), 2, ("--model",)),
    Wrong("an image that is none", fit("ok.csv", "--image", "8by8"), 2, ("8by8", "8x8")),
    Wrong("depth 0", fit("ok.csv", "--depth", "0"), 2, ("--depth",)),
    Wrong("the folder is a file", ("fit", "{}/ok.csv", "-t", "y", "--out", "{}/ok.csv"), 2,
          ("is a file", "give a folder")),
    Wrong("a folder below a file", ("fit", "{}/ok.csv", "-t", "y", "--out", "{}/ok.csv/out"), 2,
          ("--out", "give another folder")),
    Wrong("an earlier fit", ("fit", "{}/ok.csv", "-t", "y", "--out", "{}/fitted"), 2,
          ("holds an earlier fit", "--force")),
]  # fmt: skip
COMMANDS = [
    Wrong("an unknown command", ("predicct", "a", "b"), 2, ("predicct", "predict")),
    Wrong("standard input as data", ("fit", "-", "-t", "y"), 2, ("'-'",)),
    Wrong("certify a table", ("certify", "{}/ok.csv", "{}/ok.csv", "-t", "y"), 2,
          ("ok.csv", "safetensors")),
    Wrong("a broken model", ("certify", "{}/broken.safetensors", "{}/ok.csv", "-t", "y"), 3,
          ("not a readable safetensors", "save_network")),
    Wrong("a broken onnx file", ("certify", "{}/broken.onnx", "{}/ok.csv", "-t", "y"), 3,
          ("onnx",)),
    Wrong("a broken torch file", ("certify", "{}/broken.pt", "{}/ok.csv", "-t", "y"), 3, (".pt",)),
    Wrong("a broken keras file", ("certify", "{}/broken.keras", "{}/ok.csv", "-t", "y"), 3,
          ("keras",)),
    Wrong("predict with a table", ("predict", "{}/ok.csv", "{}/ok.csv"), 3, ("safetensors",)),
    Wrong("predict with an empty folder", ("predict", "{}/full", "{}/ok.csv"), 3,
          ("no such file", "output folder of a fit")),
    Wrong("export an empty folder", ("export", "{}/full", "--out", "{}/x.onnx"), 3,
          ("no such file", "output folder of a fit")),
    Wrong("export a broken model", ("export", "{}/broken.safetensors", "--out", "{}/x.onnx"), 3,
          ("not a readable safetensors",)),
    Wrong("export to another suffix", ("export", "{}/full", "--out", "{}/x.txt"), 2,
          ("x.txt", "x.onnx")),
    Wrong("export to nowhere", ("export", "{}/full", "--out", "{}/no/x.onnx"), 2,
          ("--out", "give a file name")),
    Wrong("examine a csv table", ("examine", "{}/ok.csv", "{}/ok.csv", "-t", "y"), 2,
          ("not a file of a network", ".onnx")),
    Wrong("examine a broken onnx file", ("examine", "{}/broken.onnx", "{}/ok.csv", "-t", "y"), 3,
          ("ONNX", "export the network again")),
    Wrong("examine a broken torch file", ("examine", "{}/broken.pt", "{}/ok.csv", "-t", "y"), 3,
          ("without executing code", "state_dict")),
    Wrong("examine a broken keras file", ("examine", "{}/broken.keras", "{}/ok.csv", "-t", "y"), 3,
          ("model.save",)),
    Wrong("the gap of a broken file", ("gap", "{}/broken.onnx", "{}/ok.csv", "-t", "y",
          "--weight-decay", "1"), 3, ("export the network again",)),
    Wrong("a stream without decay", fit("ok.csv", "--stream"), 2, ("--weight-decay", "thousandth")),
    Wrong("a stream without rows", fit("empty.csv", "--stream", "--weight-decay", "1"), 3,
          ("the file is empty", "give a header row")),
    Wrong("a stream of two targets", fit("ok.csv", "-t", "a", "--stream", "--weight-decay", "1"), 2,
          ("--target once",)),
    Wrong("a stream of other columns", fit("ok.csv", "--stream", "--weight-decay", "1", "--use",
          "c"), 3, ("no feature column 'c'", "'a', 'b', 'y'")),
    Wrong("a stream that drops", fit("ok.csv", "--stream", "--weight-decay", "1", "--drop", "a"), 2,
          ("--drop does not go with --stream", "leave it out")),
    Wrong("explore without a target", ("explore", "{}/ok.csv", "--out", "{}/p.html"), 2,
          ("belong together", "give both")),
    Wrong("explore a wrong target", ("explore", "{}/ok.csv", "-t", "z", "--out", "{}/p.html"), 3,
          ("no target column 'z'",)),
    Wrong("explore onto a folder", ("explore", "{}/ok.csv", "-t", "y", "--out", "{}/full"), 2,
          ("--out", "give a file name")),
    Wrong("completion of no shell", ("completion",), 2, ("bash|zsh|fish",)),
    Wrong("completion of another shell", ("completion", "tcsh"), 2, ("'tcsh'", "'bash', 'zsh'")),
    Wrong("starts of no width", ("starts", "{}/ok.csv", "-t", "y", "--width", "0"), 2,
          ("--width 0", "positive")),
    Wrong("starts of a word", ("starts", "{}/ok.csv", "-t", "y", "--width", "x"), 2,
          ("--width x", "10,20,40")),
    Wrong("starts without seeds", ("starts", "{}/ok.csv", "-t", "y", "--seeds", "0"), 2,
          ("--seeds",)),
    Wrong("a category that is dropped", fit("ok.csv", "--category", "b", "--drop", "b"), 3,
          ("'b' is named by --category", "choose one")),
    Wrong("predict into a folder", ("predict", "{}/full", "{}/ok.csv", "--out", "{}/full"), 2,
          ("--out", "give a file name")),
    Wrong("attest a text", ("attest", "{}/note.txt"), 1, ("MALFORMED",)),
    Wrong("report on a wrong folder", ("report", "{}/full"), 3, ("no fit.json", "globalmin fit")),
    Wrong("an unknown reproduction", ("reproduce", "OS-E.fig9"), 2, ("did you mean", "OS-E.fig2")),
    Wrong("no plan", ("sweep", "run", "{}/nope.toml", "--out", "{}/s"), 2, ("does not exist",)),
    Wrong("an unknown key", ("sweep", "run", "{}/plan.toml", "--out", "{}/s"), 3, ("'foo'",)),
    Wrong("no such module", ("sweep", "run", "{}/module.toml", "--out", "{}/s"), 3,
          ("no_such_module",)),
    Wrong("not TOML", ("sweep", "run", "{}/bad.toml", "--out", "{}/s"), 3, ("not TOML",)),
    Wrong("no sweep there", ("sweep", "status", "{}/full"), 3, ("no sweep here", "sweep run")),
    Wrong("an unknown item", ("cite", "FOO-1"), 2, ("did you mean",)),
    Wrong("an unknown theorem", ("theorem", "OS-T99"), 2, ("did you mean",)),
    Wrong("an activation to inspect", ("inspect", "{}/ok.csv", "-t", "y", "--activation", "blub"),
          2, ("blub",)),
    Wrong("weights of other columns", ("gap", "{}/weights.npz", "{}/ok.csv", "-t", "y",
          "--weight-decay", "1"), 3, ("reads 3 features", "give the columns")),
    Wrong("a gap without decay", ("gap", "{}/weights.npz", "{}/ok.csv", "-t", "y"), 2,
          ("--weight-decay",)),
    Wrong("a table to recover from", ("recover", "{}/nan.csv", "-t", "y", "--width", "1"), 3,
          ("'b', line 4", "missing")),
    Wrong("no neurons to recover", ("recover", "{}/ok.csv", "-t", "y", "--neurons", "0"), 2,
          ("--neurons",)),
    Wrong("no seeds", ("starts", "{}/ok.csv", "-t", "y", "--width", "4", "--seeds", "0"), 2,
          ("--seeds",)),
    Wrong("a width of starts", ("starts", "{}/ok.csv", "-t", "y", "--width", "-4"), 2,
          ("--width",)),
    Wrong("explore a broken table", ("explore", "{}/ragged.csv", "-t", "y", "--out", "{}/p.html"),
          3, ("line 4",)),
    Wrong("examine a pickle", ("examine", "{}/net.pkl", "{}/ok.csv", "-t", "y"), 2,
          ("pickles are not read", "gm.examine", "to_onnx")),
    Wrong("predict with another framework's file", ("predict", "{}/broken.onnx", "{}/ok.csv"), 2,
          ("another framework", "globalmin fit")),
    Wrong("export another framework's file", ("export", "{}/broken.pt", "--out", "{}/x.onnx"), 2,
          ("another framework", "from_file")),
    Wrong("report on a folder of several fits", ("report", "{}"), 3, ("no fit.json",)),
    Wrong("explore text labels", ("explore", "{}/words.csv", "-t", "y", "--out", "{}/p.html"), 3,
          ("holds text", "globalmin fit --task classification")),
    Wrong("inspect a column that is not there", ("inspect", "{}/ok.csv", "-t", "y", "--drop", "c"),
          3, ("no --drop column 'c'",)),
    Wrong("starts without inputs", ("starts", "{}/ok.csv", "-t", "y", "--width", "4", "--drop",
          "a,b"), 3, ("no column is left",)),
    Wrong("recover from text", ("recover", "{}/words.csv", "-t", "a", "--neurons", "1"), 3,
          ("'y' is a category", "Gaussian inputs", "--drop 'y'")),
    Wrong("a column of gaps alone", fit("void.csv"), 3,
          ("no column is left", "a: left out, no value of it")),
    Wrong("1e200", fit("1e200.csv"), 3, ("1e+200", "divide the columns by a suitable power")),
    Wrong("examine a table", ("examine", "{}/ok.csv", "{}/ok.csv", "-t", "y"), 2, ("ok.csv",)),
]  # fmt: skip
CHECKS = [
    Wrong("check a table", ("{}/ok.csv",), 3, ("MALFORMED",)),
    Wrong("check a short text", ("{}/note.txt",), 3, ("MALFORMED",)),
    Wrong("check nothing", ("{}/nope.gmc",), 2, ("cannot read the file", "nope.gmc")),
    Wrong("check a folder", ("{}/full",), 2, ("cannot read the file",)),
]
