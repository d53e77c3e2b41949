"""`--explain`: the theorem of each claim with its numbers in plain words."""

from __future__ import annotations

import textwrap

from globalmin_check.claims import KINDS
from globalmin_check.verdict import ClaimResult, Result, Verdict

MEANINGS = {
    "interpolation": (
        "Theorem (Newton-Kantorovich). Let r be the residual and J its Jacobian at the stored weights, K = J J^T >= a^2 "
        "I, e >= sqrt(r^T K^-1 r), and let J be Lipschitz with the constant Lip on the ball of radius rho around the "
        "stored weights. If 2 Lip e < a and 2e/(1 + sqrt(1 - 2 Lip e/a)) <= R <= rho, then weights with zero loss exist "
        "within the distance R."
    ),
    "descent": (
        "Theorem (descent path). Let K = J J^T >= a^2 I, |J| <= b and |r| <= g at the stored weights, and let J be "
        "Lipschitz with the constant Lip on the ball of radius rho around them. If 2 Lip g < a^2, alpha = sqrt(a^2 - 2 "
        "Lip g), S = 2g/(a + alpha) <= rho and 0 < eta <= 1/(b + Lip S)^2, then gradient descent with the step eta on L ="
        " (1/2) sum r_i^2 travels at most S, multiplies the norm of the residual by at most 1 - eta alpha^2 in every "
        "step, and converges to weights with zero loss."
    ),
    "relu-interpolation": (
        "Theorem (ReLU cell). Let What be any weights (a witness), T a set of neurons, zhat_li = what_l . x_i, D_li = 1 "
        "where zhat_li > 0 and 0 elsewhere, rhat the residual of What, K_ij = x_i . x_j and G_ij = K_ij sum over l in T "
        "of v_l^2 D_li D_lj. If G >= mu I with mu > 0, and every neuron l of T and sample i satisfy zhat_li^2 mu >= "
        "|x_i|^2 |rhat|^2 or zhat_li^2 mu^2 >= v_l^2 (sum_j K_ij^2 D_lj) |rhat|^2, then weights with zero loss lie within"
        " |rhat|/sqrt(mu) of What, hence within R of W."
    ),
    "loss-floor": (
        "Theorem (group floor). Let groups of samples be disjoint, and let every network of the class give f(x_i) = g_i t"
        " on a group, with known g_i and one unknown number t. Then its loss is at least the sum over the groups of "
        "(1/2)(|y|^2 - (g . y)^2/|g|^2), or (1/2)|y|^2 where g = 0; where t >= 0 for the whole class, g . y is replaced "
        "by max(0, g . y)."
    ),
}


def explained(result: Result) -> str:
    """The text printed after the verdict: theorem, every hypothesis with its measured value, conclusion, what is not proved."""
    lines: list[str] = []
    for index, claim in enumerate(result.claims):
        meaning = MEANINGS.get(claim.kind) or KINDS[claim.kind].MEANING
        lines += ["", f"Claim {index}: {claim.kind}, {claim.verdict.value}", *_wrapped(meaning), *_checks(claim)]
        lines += _conclusion(claim)
    lines += ["", "Not proved, or not said:", *(line for note in result.notes for line in _wrapped(f"- {note}"))]
    return "\n".join(lines)


def _checks(claim: ClaimResult) -> list[str]:
    lines = ["  Hypotheses, as measured from the stored numbers:"]
    for check in claim.checks:
        found = f"{check.left} against {check.right}" if check.right else check.left
        lines.append(f"    [{check.number}] {check.inequality}: {found}: {check.outcome}")
    return lines


def _conclusion(claim: ClaimResult) -> list[str]:
    if claim.verdict is Verdict.ACCEPTED:
        return _wrapped(f"Conclusion, over the real numbers: {claim.statement}")
    return _wrapped(f"No conclusion: {claim.reason}. The verdict speaks of the proof in the file, not of the truth of the claim.")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="  ")
