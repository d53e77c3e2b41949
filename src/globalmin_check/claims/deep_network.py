"""Form of a deep network in a certificate (sections 3 and 4 of the format page): layers, scales,
patches, weights.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.canonical import Fields
from globalmin_check.container import Tensor, Tensors
from globalmin_check.verdict import Malformed


@dataclass(frozen=True)
class Layers:
    """x_h = scale_h phi(W_h patches(x_{h-1})), plus x_{h-1} if residual; `patches` holds pixel
    numbers, -1 for the padding.
    """

    scales: tuple[Fraction, ...]
    residual: tuple[bool, ...]
    pixels: int
    patches: tuple[tuple[int, ...], ...]
    weights: tuple[Tensor, ...]

    @property
    def head(self) -> int:
        """Length of the head: channels of the last layer times pixels."""
        return self.weights[-1].shape[0] * self.pixels

    @property
    def description(self) -> str:
        """Scales, kinds, shapes and windows of the layers, for the digest of the network."""
        layers = zip(self.scales, self.residual, self.weights, strict=True)
        parts = [
            f"{scale}{'+' if residual else ''} {W.shape[0]} {W.shape[1]}"
            for scale, residual, W in layers
        ]
        return f"{'; '.join(parts)}; {self.pixels} {self.patches}"

    @property
    def overlap(self) -> int:
        """The largest number of places that one pixel has in all windows: the squared norm of the
        patch map.
        """
        return max(
            Counter(pixel for window in self.patches for pixel in window if pixel >= 0).values(),
            default=1,
        )

    def prefers_pairs(self, h: int) -> bool:
        """Whether the Gram matrix of layer h costs less by pairs of pixels than by its
        Jacobian.
        """
        m, columns = self.weights[h].shape
        return self.pixels**2 * (m + columns) <= m * columns


def read_layers(fields: Fields) -> tuple[list[tuple[Fraction, bool]], int]:
    """Scale and kind of each layer, and the number of pixels (0: a network without pixels)."""
    layers = [
        _layer(Fields(value, f"network.layers.{h}"))
        for h, value in enumerate(fields.array("layers"))
    ]
    if not layers:
        raise Malformed("network.layers is empty")
    return layers, fields.integer("pixels", 1) if fields.has("pixels") else 0


def _layer(fields: Fields) -> tuple[Fraction, bool]:
    scale, residual = fields.rational("scale"), fields.boolean("residual")
    fields.end()
    if scale <= 0:
        raise Malformed(f"{fields.where}.scale is not positive")
    return scale, residual


def take_weights(form: tuple[list[tuple[Fraction, bool]], int], tensors: Tensors, d: int) -> Layers:
    """The tensors `W_1`, `W_2`, ... and `patches`, with every shape checked."""
    layers, pixels = form
    windows = _windows(tensors.take("patches", "I64", pixels, None), pixels) if pixels else ((0,),)
    if d % max(pixels, 1):
        raise Malformed("d is not a multiple of network.pixels")
    channels, weights = d // max(pixels, 1), []
    for h, (_, residual) in enumerate(layers, start=1):
        weights.append(
            tensors.take(
                f"W_{h}", "F64", channels if residual else None, len(windows[0]) * channels
            )
        )
        channels = weights[-1].shape[0]
    scales, kinds = zip(*layers, strict=True)
    return Layers(scales, kinds, max(pixels, 1), windows, tuple(weights))


def _windows(patches: Tensor, pixels: int) -> tuple[tuple[int, ...], ...]:
    if not all(-1 <= value < pixels for value in patches.values):
        raise Malformed(f"patches has an entry outside -1..{pixels - 1}")
    return tuple(map(tuple, patches.rows()))
