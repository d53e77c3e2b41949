"""The class and the objective of a regularized file in words, for statements: nothing that the
proof depends on is left out.
"""

from __future__ import annotations

from fractions import Fraction

from globalmin_check.balls import shown
from globalmin_check.claims.regularized_network import Form, Regularized

SHORT = 12  # characters of a rational that is printed as it is
CURVES = {
    "increasing": "nondecreasing",
    "decreasing": "nonincreasing",
    "convex": "convex",
    "concave": "concave",
}
SEEN = {"columns": "one column", "pairs": "at most two columns", "all": "any of the columns"}


def class_in_words(problem: Regularized) -> str:
    """Neurons, groups, biases, intercept, linear part, penalty, loss, weights and samples."""
    form = problem.form
    rows = f"{problem.sizes.n} samples and {form.d} columns"
    weights = "" if problem.om is None else ", weighted by the stored sample weights"
    shared = f"{form.outputs} outputs that share the neurons" if form.outputs > 1 else ""
    parts = (_neurons(form), shared, _biases(form), *_parts(form), _signs(form), _penalty(form))
    words = "; ".join(part for part in parts if part)
    return f"{words}; the sum of the {_loss(form)} over {rows}{weights}"


def _neurons(form: Form) -> str:
    kind = "ReLU" if form.neurons == "relu" else "quadratic"
    if form.class_name != "listed":
        return f"{kind} neurons, each seeing {SEEN[form.class_name]}"
    groups = ", ".join(str(list(group)) for group in form.listed)
    return f"{kind} neurons, each seeing columns of one of the groups {groups}"


def _biases(form: Form) -> str:
    if form.hidden_bias == "penalized":
        return f"hidden biases penalized (feature tau = {number_in_words(form.tau)})"
    return "hidden biases not penalized" if form.hidden_bias == "free" else "no hidden biases"


def _parts(form: Form) -> tuple[str, str]:
    free = {"none": "no {}", "free": "{} free"}
    intercept = free.get(form.intercept, "{} penalized by (k0/2) times its square, k0 = ")
    linear = free.get(form.linear, "{} penalized by (k1/2) times its square, k1 = ")
    k0 = number_in_words(form.k0) if form.intercept == "penalized" else ""
    k1 = number_in_words(form.k1) if form.linear == "penalized" else ""
    return intercept.format("intercept") + k0, linear.format("linear part") + k1


def _signs(form: Form) -> str:
    words = ["output weights not negative"] if form.heads == "nonnegative" else []
    for sign, name in ((1, "nondecreasing"), (-1, "nonincreasing")):
        columns = [str(j) for j, found in enumerate(form.monotone) if found == sign]
        if columns:
            words.append(f"every neuron is {name} in the columns {', '.join(columns)}")
    for shape, name in CURVES.items():
        columns = [str(j) for j, found in enumerate(form.shapes) if found == shape]
        if columns:
            words.append(
                f"the curve (sum of the neurons) of each of the columns {', '.join(columns)} is "
                f"{name} on the whole line"
            )
    return "; ".join(words)


def _penalty(form: Form) -> str:
    b = number_in_words(form.b)
    if form.neurons == "relu":
        return f"weight decay (b/2) times the squares of hidden and output weights, b = {b}"
    size = "between 0 and" if form.heads == "nonnegative" else "of size at most"
    return (
        f"weight decay (b/2) times the squares of the hidden weights, b = {b}, output weights "
        f"{size} {number_in_words(form.v_max)}"
    )


def _loss(form: Form) -> str:
    loss = form.loss
    parameter = f" with parameter {number_in_words(loss.parameter)}" if loss.parameter else ""
    several = " of all outputs" if form.outputs > 1 else ""
    return f"{loss.name.replace('_', ' ')} loss{parameter}{several}"


def number_in_words(value: Fraction) -> str:
    """The rational, with a decimal before it if it is long."""
    text = str(value)
    return text if len(text) <= SHORT else f"{shown(value)} (exactly {text})"
