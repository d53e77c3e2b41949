"""Integer vectors side by side in long integers, one per coordinate, so that one operation on long
integers treats all rows: which rows have v . p >= 0, and the sum of those.

Slot i of `width` bits holds an entry plus 2^(width - 1), so that the first bit of a slot is set
exactly if the entry is at least 0. A sum of slots is a residue modulo 2^width - 1.
"""

from __future__ import annotations

from itertools import compress

from flint import fmpz

from globalmin_check.verdict import Undecided

Vector = list[int]
SHORT = 8  # slots that are added by one division


class PackedRows:
    """Vectors v_i, to be multiplied by vectors p of entries below 2^room."""

    def __init__(self, vectors: list[Vector], dimension: int, room: int) -> None:
        self.vectors, self.room, count = vectors, room, len(vectors)
        largest = max((sum(map(abs, v)) for v in vectors), default=0).bit_length()
        # |v . p| < 2^(largest + room) and |sum of entries| < 2^(largest + bits of count)
        self.width = 8 * ((largest + max(room, count.bit_length()) + 9) // 8)
        self._bias = 1 << self.width - 1
        self._signs = fmpz(self._packed([0] * count))
        self._lifted = [fmpz(self._packed([v[j] for v in vectors])) for j in range(dimension)]
        self._entries = [lifted - self._signs for lifted in self._lifted]
        self._residue = fmpz((1 << self.width) - 1)
        self._folds: list[tuple[int, fmpz]] = []
        while count > SHORT:
            count = (count + 1) // 2
            self._folds.append((count * self.width, fmpz((1 << count * self.width) - 1)))

    def _packed(self, entries: Vector) -> int:
        size = self.width // 8
        parts = [(entry + self._bias).to_bytes(size, "little") for entry in entries]
        return int.from_bytes(b"".join(parts), "little")

    def _products(self, p: Vector) -> fmpz:
        """The slots v_i . p, lifted."""
        if max(map(abs, p)).bit_length() > self.room:
            raise Undecided(f"a ray has more than the {self.room} bits that were planned")
        total = self._signs
        for entry, column in zip(p, self._entries, strict=True):
            total = total + entry * column
        return total

    def active_sum(self, p: Vector) -> Vector:
        """The sum of the v_i with v_i . p >= 0."""
        return self._sum(self._products(p) & self._signs) if self.vectors else [0] * len(p)

    def _sum(self, chosen: fmpz) -> Vector:
        """The sum of the rows whose first bits are given."""
        whole = (chosen << 1) - (chosen >> self.width - 1)  # all bits of these slots
        zeros = self._signs - chosen  # the other slots hold 0
        return [self._total((lifted & whole) + zeros) for lifted in self._lifted]

    def _total(self, slots: fmpz) -> int:
        """The sum of the entries; 2^bits is 1 modulo the residue if `width` divides the bits."""
        for bits, low in self._folds:
            slots = (slots & low) + (slots >> bits)
        modulus = int(self._residue)
        found = (int(slots % self._residue) - len(self.vectors) * self._bias) % modulus
        return found - modulus if found > modulus // 2 else found

    def decided(self, rays: list[Vector]) -> tuple[Vector, list[Vector]]:
        """The sum of the rows with v . p >= 0 on all rays, and the rows that are positive on one
        ray and negative on another.
        """
        if not self.vectors:
            return [0] * len(rays[0]), []
        active, positive = self._signs, fmpz(0)
        ones = self._signs >> self.width - 1
        for p in rays:
            products = self._products(p)
            active = active & products
            positive = positive | (products - ones & self._signs)
        return self._sum(active), self._chosen(positive & (self._signs - active))

    def _chosen(self, bits: fmpz) -> list[Vector]:
        """The rows whose first bits are given."""
        count = len(self.vectors)
        text = format(int(bits), f"0{count * self.width}b")[:: self.width]
        return list(compress(self.vectors, map(int, reversed(text))))
