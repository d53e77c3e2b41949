"""Form of a deep network's limit in a claim gram-positive (section 5.12 of the format page):
layers, windows, blocks, number of coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import shown
from globalmin_check.canonical import Fields
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed

TERMS = 4096  # most Hermite coefficients


@dataclass(frozen=True)
class LimitLayers:
    """The layers of the recursion: (scale^2, residual) of each, the windows, whether the matrix of
    all blocks is meant or that of the last, and the number of coefficients.
    """

    squares: tuple[Fraction, ...]
    residual: tuple[bool, ...]
    pixels: int
    windows: tuple[tuple[int, ...], ...]
    all_blocks: bool
    terms: int

    def words(self) -> str:
        """The layers in a sentence."""
        layers = ", ".join(
            f"{'residual ' if skip else ''}{shown(square)}"
            for square, skip in zip(self.squares, self.residual, strict=True)
        )
        what = "all layers and the head" if self.all_blocks else "the last hidden weight matrix"
        size = f"{self.pixels} pixel(s), windows of {len(self.windows[0])}"
        return (
            f"Blocks: {what}. Layers, scale^2 of each as stored, about: {layers}; {size} as stored."
        )


def read_limit(fields: Fields, tensors: Tensors, sizes: Sizes) -> LimitLayers:
    """Take the fields and tensors of kernel "layers"; form only."""
    layers = []
    for h, value in enumerate(fields.array("layers")):
        layer = Fields(value, f"{fields.where}.layers.{h}")
        layers.append((layer.rational("scale2"), layer.boolean("residual")))
        layer.end()
    if not layers or layers[0][1]:
        raise Malformed(f"{fields.where}.layers is empty or begins with a residual layer")
    pixels, windows = 1, ((0,),)
    if fields.has("pixels"):
        pixels = fields.integer("pixels", 1)
        patches = tensors.take("patches", "I64", pixels, None)
        if not all(-1 <= value < pixels for value in patches.values):
            raise Malformed(f"{fields.where}: patches has an entry outside -1..{pixels - 1}")
        windows = tuple(map(tuple, patches.rows()))
    if sizes.d % pixels:
        raise Malformed(f"{fields.where}: d is not a multiple of pixels")
    terms = fields.integer("terms", 1)
    if terms > TERMS:
        raise Malformed(f"{fields.where}.terms is more than {TERMS}")
    squares, residual = zip(*layers, strict=True)
    every = fields.choice("blocks", ("last", "all")) == "all"
    return LimitLayers(squares, residual, pixels, windows, every, terms)


def limit_work(layers: LimitLayers, sizes: Sizes, nodes: int, per_value: int) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    N, R, points = sizes.n * layers.pixels, layers.terms, 2 * nodes + 1
    values = N * (2 * (points + 10) + R) * per_value
    series = points * (40 * R + N * R) + 3 * N * N * (R + 2)
    windows = 3 * N * N * len(layers.windows[0])
    H = len(layers.squares)
    work = H * (values + series + windows) + N * N * sizes.d
    return work, (2 * H + 6) * N * N + points * (5 * N + R + 4) + 2 * N * R


def zero_window(problem: Problem, layers: LimitLayers) -> str:
    """The first window of a sample that holds only zeros, in words; empty if there is none."""
    p = layers.pixels
    for i in range(problem.sizes.n):
        row = problem.X.row(i)
        for pixel, window in enumerate(layers.windows):
            if not any(any(row[place::p]) for place in window if place >= 0):
                return f"the window of pixel {pixel} of sample {i} is zero"
    return ""
