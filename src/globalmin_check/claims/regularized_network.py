"""Form of a network with weight decay and a convex loss (sections 3 and 4 of the format page): the
class, the objective and the stored numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import cast

from globalmin_check import limits
from globalmin_check.canonical import Fields
from globalmin_check.claims.convex_losses import Loss, read_loss, require_labels
from globalmin_check.claims.regularized_groups import (
    Group,
    all_columns,
    read_groups,
    read_monotone,
    read_shapes,
)
from globalmin_check.container import Tensor, Tensors, digest_of
from globalmin_check.problem import Problem, Sizes, digits
from globalmin_check.verdict import Malformed

PARTS = ("none", "free", "penalized")


@dataclass(frozen=True)
class Form:
    """The class of networks and its penalty; `listed` holds the groups of a class without a
    name.
    """

    d: int
    neurons: str
    class_name: str
    listed: tuple[Group, ...]
    hidden_bias: str
    tau: Fraction
    intercept: str
    k0: Fraction
    linear: str
    k1: Fraction
    heads: str
    monotone: tuple[int, ...]
    b: Fraction
    v_max: Fraction
    loss: Loss
    outputs: int = 1
    shapes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of columns of the largest group."""
        sizes = {"columns": 1, "pairs": 2, "all": self.d}
        return sizes.get(self.class_name) or max(map(len, self.listed))

    @property
    def count(self) -> int:
        """The number of maximal groups."""
        pairs = self.d * (self.d - 1) // 2
        return {"columns": self.d, "pairs": pairs, "all": 1}.get(self.class_name) or len(
            self.listed
        )

    def maximal(self) -> Iterator[Group]:
        """The maximal groups in the order of the class; the others are inside one of them."""
        if self.class_name == "all":
            return iter([tuple(range(self.d))])
        if self.class_name == "listed":
            return iter(self.listed)
        return combinations(range(self.d), 1 if self.class_name == "columns" else 2)

    def holds(self, support: Group) -> bool:
        """Whether a neuron with non-zero weights on these columns belongs to a group."""
        if self.class_name != "listed":
            return len(support) <= self.width
        return any(set(support) <= set(group) for group in self.listed)

    @property
    def needs_sum(self) -> bool:
        """Whether R1 asks for sum u = 0: free hidden biases contain a free intercept."""
        return "free" in (self.intercept, self.hidden_bias)

    @property
    def penalizes_bias(self) -> bool:
        """Whether the rows have the entry tau."""
        return self.hidden_bias == "penalized"


@dataclass(frozen=True)
class RegularizedSizes(Sizes):
    """The sizes with the class, which decides what form a claim may have."""

    form: Form = field(kw_only=True)


@dataclass(frozen=True)
class Regularized(Problem):
    """The stored numbers of a regularized network; absent parts are None."""

    form: Form = field(kw_only=True)
    om: Tensor | None = field(kw_only=True)
    biases: Tensor | None = field(kw_only=True)
    intercept: Tensor | None = field(kw_only=True)
    linear: Tensor | None = field(kw_only=True)


def form_of(sizes: Sizes) -> Form:
    """The class of a regularized file."""
    return cast(RegularizedSizes, sizes).form


def read_regularized(network: Fields, fields: Fields, tensors: Tensors) -> Problem:
    """The stored numbers, the class and the objective."""
    data = Fields(fields.take("data"), "data")
    n, d, weighted = data.integer("n", 1), data.integer("d", 1), data.boolean("weighted")
    data.end()
    X = tensors.take("X", "F64", n, d)
    form = _read_form(network, d, read_loss(Fields(fields.take("loss"), "loss")))
    each = () if form.outputs == 1 else (form.outputs,)
    y = tensors.take("y", "F64", n, *(() if form.loss.name == "softmax" else each))
    W = tensors.take("W", "F64", None, d)
    k = W.shape[0]
    v = tensors.take("v", "F64", k, *each)
    biases = None if form.hidden_bias == "none" else tensors.take("bias", "F64", k)
    intercept = None if form.intercept == "none" else tensors.take("intercept", "F64", form.outputs)
    linear = None if form.linear == "none" else tensors.take("linear", "F64", d)
    om = tensors.take("om", "F64", n) if weighted else None
    require_labels(form.loss, y, form.outputs)
    if om is not None and min(om.values) < 0:
        raise Malformed("a sample weight is negative")
    stored = (W, v, *(part for part in (biases, intercept, linear) if part is not None))
    several = "" if form.outputs == 1 else f" outputs {form.outputs}"
    about = digits(
        digest_of(f"globalmin-network/1 regularized {form.neurons} {k} {d}{several}", *stored),
        digest_of(
            f"globalmin-data/1 {n} {d}{several}{' weighted' * weighted}",
            X,
            y,
            *([om] if om else []),
        ),
    )
    return Regularized(
        form.neurons,
        Fraction(1),
        False,
        RegularizedSizes(n, d, k, form=form),
        X,
        y,
        W,
        v,
        about,
        form=form,
        om=om,
        biases=biases,
        intercept=intercept,
        linear=linear,
    )


def _read_form(network: Fields, d: int, loss: Loss) -> Form:
    neurons = network.choice("neurons", ("relu", "quadratic"))
    relu = neurons == "relu"
    class_name, listed = read_groups(network, d) if relu else all_columns(network)
    hidden_bias = network.choice("hidden_bias", PARTS if relu else ("none", "penalized"))
    intercept = network.choice("intercept", PARTS if relu else ("none", "free"))
    linear = network.choice("linear", PARTS if relu else ("none",))
    form = Form(
        d=d,
        neurons=neurons,
        class_name=class_name,
        listed=listed,
        hidden_bias=hidden_bias,
        tau=_positive(network, "tau", hidden_bias == "penalized"),
        intercept=intercept,
        k0=_positive(network, "k0", intercept == "penalized"),
        linear=linear,
        k1=_positive(network, "k1", linear == "penalized"),
        heads=network.choice("heads", ("any", "nonnegative")),
        monotone=read_monotone(network, d) if relu and network.has("monotone") else (),
        b=_positive(network, "b", True),
        v_max=_positive(network, "v_max", not relu),
        loss=loss,
        outputs=network.integer("outputs", 2) if network.has("outputs") else 1,
        shapes=read_shapes(network, d) if relu and network.has("shapes") else (),
    )
    if form.monotone and form.width > 1:
        raise Malformed("network.monotone is given for groups of several columns")
    _require_shared(form)
    _require_shaped(form)
    network.end()
    return form


def _require_shaped(form: Form) -> None:
    """The classes whose curves may have shapes."""
    fits = form.heads == "any" and form.linear == "none" and form.hidden_bias != "none"
    if form.shapes and (not fits or form.width > 1 or form.monotone or form.outputs > 1):
        raise Malformed("network.shapes does not fit the class of networks")


def _require_shared(form: Form) -> None:
    """The classes and losses of several outputs; a softmax is never of one."""
    fits = form.neurons == "relu" and form.heads == "any" and form.linear == "none"
    if form.outputs > 1:
        known = form.loss.name in ("softmax", "squared") and form.outputs <= limits.OUTPUTS
        if not (fits and known and form.width == 1) or form.monotone:
            raise Malformed("network.outputs does not fit the class of networks or the loss")
    elif form.loss.name == "softmax":
        raise Malformed("network.outputs is missing: the softmax loss is of several outputs")


def _positive(network: Fields, name: str, present: bool) -> Fraction:
    """A number of the objective that must be positive; 1 where the class has none."""
    value = network.rational(name) if present else Fraction(1)
    if value <= 0:
        raise Malformed(f"network.{name} is not positive")
    return value
