"""Form of a patch network in a certificate (sections 3 and 4 of the format page), and its
activation cell at the present precision.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat, fmpz_mat

from globalmin_check.balls import column, sum_of_squares, total
from globalmin_check.claims.relu_signs import Pattern
from globalmin_check.container import Tensor, Tensors
from globalmin_check.primitives import Rows
from globalmin_check.problem import Problem
from globalmin_check.verdict import Malformed

Table = tuple[tuple[int, ...], ...]
Grid = list[list]  # one row of p entries per place


def take_table(tensors: Tensors, d: int) -> Table:
    """The tensor `patches`: for every place and entry of a patch the feature, -1 for zero."""
    table = tensors.take("patches", "I64", None, None)
    if table.shape[0] == 0:
        raise Malformed("patches has no row")
    if not all(-1 <= value < d for value in table.values):
        raise Malformed(f"patches has an entry outside -1..{d - 1}")
    return tuple(map(tuple, table.rows()))


def cut(sample: Sequence, table: Table) -> Grid:
    """The patches of one sample, whose entries may be doubles or integers."""
    padded = [*sample, 0]  # the place -1 is the last one
    return [[padded[place] for place in patch] for patch in table]


def all_patches(problem: Problem) -> list[list[float]]:
    """The patches of all samples, one after the other."""
    X, table = problem.X, problem.sizes.table
    return [patch for i in range(X.shape[0]) for patch in cut(X.row(i), table)]


def head_rows(problem: Problem) -> list[list[float]]:
    """Output weights, one row per filter and one column per place."""
    count, values = len(problem.sizes.table), problem.v.values.tolist()
    return [values[start : start + count] for start in range(0, len(values), count)]


def patch_residual(problem: Problem, products: Rows) -> list[arb]:
    """The residual f - y from the products of patches and filters."""
    count, heads = len(problem.sizes.table), head_rows(problem)
    zero = arb(0)
    outputs = [
        total(
            products[i * count + place][j].max(zero) * heads[j][place]
            for j in range(len(heads))
            for place in range(count)
        )
        for i in range(problem.sizes.n)
    ]
    return list(map(arb.__sub__, outputs, map(arb, problem.y.values)))


class PatchCell:
    """The activation cell of What: products with the patches, residual over S, and the rows of J
    in S, filter by filter.
    """

    def __init__(
        self,
        W_hat: Tensor,
        moving: Sequence[int],
        solved: Sequence[int],
        active: Pattern,
        problem: Problem,
    ) -> None:
        self.rows = all_patches(problem)
        self.products: Rows = (arb_mat(self.rows) * arb_mat(W_hat.rows()).transpose()).tolist()
        self.heads = head_rows(problem)
        r = patch_residual(problem, self.products)
        self.residual_square = sum_of_squares([r[i] for i in solved])
        count = len(problem.sizes.table)
        self.blocks: dict[int, Rows] = {
            j: [
                _weighted(self.heads[j], active, j, self.rows, range(i * count, (i + 1) * count))
                for i in solved
            ]
            for j in moving
        }

    def jacobian(self) -> Rows:
        """The rows of J in S."""
        parts = zip(*self.blocks.values(), strict=True)
        return [[entry for part in row for entry in part] for row in parts]

    def reach(self, j: int) -> arb_mat:
        """M_j."""
        block = arb_mat(self.blocks[j])
        return block.transpose() * block


def _weighted(
    head: list[float], active: Pattern, j: int, rows: list[list[float]], places: range
) -> list[arb]:
    """b_ji, the sum of the active patches of one sample times their output weights."""
    masked = [weight if active[row][j] else 0.0 for weight, row in zip(head, places, strict=True)]
    return (arb_mat([rows[row] for row in places]).transpose() * column(masked)).entries()


def integer_system(
    problem: Problem, W_hat: Tensor, moving: Sequence[int], active: Pattern
) -> fmpz_mat:
    """[J, y - g] with every row times a number and every column times a number, so that all
    entries are integers: the rank is the same.
    """
    table, (m, p) = problem.sizes.table, W_hat.shape
    heads, by_head = _integers(problem.v.values)
    filters, by_filter = _integers(W_hat.values)
    rest = [j for j in range(m) if j not in set(moving)]
    unit = by_head * by_filter if rest else 1
    system = []
    for i in range(problem.sizes.n):
        numbers, _ = _integers([*problem.X.row(i), problem.y.values[i]])
        patches, label = cut(numbers[:-1], table), numbers[-1]
        blocks = {j: _integer_block(heads, active, (i, j), patches) for j in range(m)}
        other = sum(filters[j * p + e] * blocks[j][e] for j in rest for e in range(p))
        row = [entry for j in moving for entry in blocks[j]]
        system.append([*row, label * unit - other])
    return fmpz_mat(system)


def _integers(values: Sequence[float]) -> tuple[list[int], int]:
    """The values times the least power of two that makes them integers, and that power."""
    ratios = [x.as_integer_ratio() for x in values]
    common = max(q for _, q in ratios)
    return [p * (common // q) for p, q in ratios], common


def _integer_block(
    heads: list[int], active: Pattern, at: tuple[int, int], patches: list[list[int]]
) -> list[int]:
    i, j = at
    count = len(patches)
    weights = [
        heads[j * count + place] if active[i * count + place][j] else 0 for place in range(count)
    ]
    columns = zip(*patches, strict=True)
    return [sum(map(int.__mul__, weights, entries)) for entries in columns]
