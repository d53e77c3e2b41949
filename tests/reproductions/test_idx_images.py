"""MNIST's own file format, packed or not; anything else is refused with its reason."""

import gzip
import struct

import numpy as np
import pytest
from sklearn.datasets import load_digits

import globalmin as gm
from globalmin.cli import main, terminal
from globalmin.errors import DataError
from globalmin.reproductions import du_digits, entries, entry
from globalmin.reproductions.running import Setting

RNG = np.random.default_rng(0)


def idx(images, *, magic=b"\x00\x00\x08\x03", sizes=None):
    return magic + struct.pack(">III", *(sizes or images.shape)) + images.tobytes()


@pytest.fixture
def images():
    """Twelve images of 9 x 8 pixels."""
    return RNG.integers(0, 256, (12, 9, 8), dtype=np.uint8)


@pytest.mark.parametrize("packed", [False, True])
def test_images_are_read_as_written(tmp_path, images, packed):
    path = tmp_path / ("images.gz" if packed else "images")
    path.write_bytes(gzip.compress(idx(images)) if packed else idx(images))
    found = du_digits.read_idx_images(path)
    assert found.shape == (12, 9, 8)
    np.testing.assert_array_equal(found * 255.0, images)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: b"", "begins with nothing"),
        (lambda raw: raw[:10], "not with 00000803"),
        (lambda raw: b"\x00\x00\x08\x01" + raw[4:], "begins with 00000801"),
        (lambda raw: b"\x00\x00\x0d\x03" + raw[4:], "begins with 00000d03"),
        (lambda raw: raw[:-1], "announces 864 pixels and holds 863"),
        (lambda raw: raw + b"\x00", "holds more"),
        (lambda raw: raw[:4] + struct.pack(">III", 0, 9, 8) + raw[16:], "announces 0 images"),
        (lambda raw: raw[:4] + struct.pack(">III", 216, 4, 1) + raw[16:], "216 images of 4 x 1"),
        (lambda raw: raw[:4] + b"\xff" * 12 + raw[16:], "at most"),
        (lambda raw: gzip.compress(raw)[:-20], "cannot be read"),
    ],
)
def test_anything_else_is_refused(tmp_path, images, change, words):
    path = tmp_path / "images"
    path.write_bytes(change(idx(images)))
    with pytest.raises(DataError, match=words):
        du_digits.read_idx_images(path)


@pytest.fixture(scope="module")
def mnist_like():
    """A few digits of scikit-learn in MNIST's shape: 28 x 28 pixels of 0 to 255."""
    small = load_digits().images[:60]
    rows = np.minimum(np.arange(28) * 8 // 28, 7)
    return np.round(small[:, rows][:, :, rows] * (255.0 / 16.0)).astype(np.uint8)


def test_the_command_takes_a_file_of_mnist_s_shape(tmp_path, capsys, mnist_like):
    """DU-F6.4 from the command line: 28 x 28 pixels, packed or not, whatever the name says."""
    raw = idx(mnist_like)
    for name, content in (
        ("train-images-idx3-ubyte", raw),
        ("images", gzip.compress(raw)),
        ("train-images-idx3-ubyte.gz", gzip.compress(raw)),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        np.testing.assert_array_equal(du_digits.read_idx_images(path) * 255.0, mnist_like)
        assert du_digits.patches_of(str(path), 7).shape == (7, 144, 25)  # 12 x 12 at stride 2
    code = main(["reproduce", "DU-F6.4", "--data", str(path), "--out", str(tmp_path / "out")])
    assert code == 0, capsys.readouterr()
    assert (tmp_path / "out" / "DU-F6.4.svg").exists()
    shown = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Images from the file given" in shown


def test_the_command_refuses_labels_and_files_cut_short(tmp_path, capsys, mnist_like):
    """Both magic numbers: 00000801 is the file of labels; half a download is seen by its length."""
    labels = b"\x00\x00\x08\x01" + struct.pack(">I", 60) + bytes(load_digits().target[:60].tolist())
    whole = idx(mnist_like)
    for name, raw, words in (
        ("train-labels-idx1-ubyte", labels, "a file of labels"),
        ("train-labels-idx1-ubyte.gz", gzip.compress(labels), "a file of labels"),
        ("half", whole[: len(whole) // 2], "it is cut"),
        ("half.gz", gzip.compress(whole)[:-1000], "cannot be read"),
        ("page.html", b"<!DOCTYPE html><html></html>", "begins with 3c21444f"),
    ):
        path = tmp_path / name
        path.write_bytes(raw)
        code = main(["reproduce", "DU-F6.4", "--data", str(path), "--out", str(tmp_path / "out")])
        said = " ".join(capsys.readouterr().err.split())
        assert code == terminal.MALFORMED_INPUT, said
        assert words in said
        assert name in said


def test_a_missing_file_and_an_item_without_images_are_refused(tmp_path):
    with pytest.raises(DataError, match="is no file"):
        gm.reproduce("DU-F6.4", data=tmp_path / "none")
    with pytest.raises(DataError, match=r"takes no data file, only DU-F6\.3cd, DU-F6\.4 do"):
        gm.reproduce("DU-F7.1", data=tmp_path / "none")
    assert [one.item for one in entries().values() if one.takes_data] == ["DU-F6.3cd", "DU-F6.4"]


def test_figure_64_learns_from_a_file_and_judges_nothing_it_has_no_reference_for(
    tmp_path, monkeypatch
):
    """DU-F6.4, DU-F6.3cd: the images of the file, at stride 2, are what the filters see."""
    monkeypatch.setattr(du_digits, "EPOCHS", 6)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(idx(RNG.integers(0, 256, (64, 9, 9), dtype=np.uint8))))
    assert du_digits.patches_of(str(path), 50).shape == (50, 9, 25)
    setting = Setting(data=path)
    found = entry("DU-F6.4").run(setting)
    assert {row.verdict for row in found.table} == {"not judged"}
    assert any("Images from the file given" in choice for choice in found.choices)
    losses = entry("DU-F6.3cd").run(setting)
    assert losses.data["relative_loss"][6] < losses.data["relative_loss"][0]
