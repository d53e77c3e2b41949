"""The theorems of proofs/: Coq accepts them without axioms, and none with a wrong constant."""

from __future__ import annotations

import re

import pytest
from scripts.proofs import CLOSED, SOURCES, coqc, theorems

pytestmark = pytest.mark.xdist_group("proofs")  # one worker compiles, once
FILES = sorted(SOURCES.glob("*.v"))
PAGE = SOURCES.parent / "docs/proofs.md"
# (file, what a statement says, what must not be provable in its place)
WRONG = [
    ("dual_gap", "square / (2%:R * k) else 0", "square / (3%:R * k) else 0"),
    ("dual_gap", "Definition a := b / (2%:R * v_max).", "Definition a := b / v_max."),
    ("dual_gap", "0 <= - y * u -> - y * u <= 1 ->", "0 <= - y * u -> - y * u <= 2%:R ->"),
    ("dual_gap", "- a <= u -> u <= 1 - a ->", "- a <= u -> u <= 1 ->"),
    ("optimality_gap", "Definition c := decay / (2%:R * v_max).", "Definition c := decay / v_max."),
    ("optimality_gap", "- (\\sum_i u i ^+ 2) / 2%:R.", "- (\\sum_i u i ^+ 2) / 3%:R."),
    ("loss_floor", "0 else c ^+ 2 / gg p)) / 2%:R.", "0 else c ^+ 2 / gg p))."),
    ("primitives", "*m C^T - 1%:M) < 1 -> posdef A.", "*m C^T - 1%:M) < 2%:R -> posdef A."),
    ("primitives", "len (r - K *m z) / a.", "len (r - K *m z) / (2%:R * a)."),
    ("interpolation", "2%:R * Lip * e <= a -> R_star", "Lip * e <= a -> R_star"),
    ("interpolation", "Definition R_star := 2%:R * e", "Definition R_star := e"),
    ("relu_interpolation", "rhat / mu.\nProof.\nsplit", "rhat / mu / 2%:R.\nProof.\nsplit"),
    ("factorization_gap", "Definition c := Num.max 0 (tau - a).", "Definition c : R := 0."),
    ("head_gap", "len r / Num.sqrt mu.", "len r / (2%:R * Num.sqrt mu)."),
    ("dual_gap_constraints", "1 <= 4%:R * sig i * rho i.", "1 <= 8%:R * sig i * rho i."),
    ("dual_gap_constraints", "B ^+ 2 <= A * C ->", "B ^+ 2 <= 2%:R * A * C ->"),
    ("rationals", "Definition qlt x y := ~~ qle y x.", "Definition qlt x y := qle x y."),
    ("rationals", "Definition qabs x := qmax x (qopp x).", "Definition qabs x := qmax x q0."),
    ("dual_gap_columns", "<= b ^+ 2 * inner p p).", "<= 2%:R * b ^+ 2 * inner p p)."),
    ("dual_gap_columns", "else s.2 <= 0).", "else s.2 <= 1)."),
    ("dual_gap_columns", "relu (zu.1 * w0 + tau * w1).", "relu (zu.1 * w0 + w1)."),
    ("dual_gap_program", "(qmul (qhalf (decay f)) (qsum", "(qmul (decay f) (qsum"),
    ("dual_gap_program", "qle q0 m ==> half_ok j true false", "qlt q0 m ==> half_ok j true false"),
    ("dual_gap_program", "q0 then qeq (dual s) q0", "q0 then true"),
    ("dual_gap_program", "|| is_free (hidden f) ==> qeq", "==> qeq"),
    ("dual_gap_program", "qdiv c (qmul q2 k)", "qdiv c k"),
    ("dual_gap_program", "size (weights n) == d)", "size (weights n) <= d)"),
    ("dual_gap_program", "(~~ nonnegative f && falling n)", "falling n"),
    ("descent", "eta * (b + Lip * S) ^+ 2 <= 1 ->", "eta * (b + Lip * S) ^+ 2 <= 3%:R ->"),
    ("descent", "Definition S := 2%:R * g / (a + alpha).", "Definition S := g / (a + alpha)."),
    ("dual_gap_half_planes", "else qle s.2 q0).", "else true)."),
    ("dual_gap_half_planes", "(qsq (innerq s p)) (qmul (qsq b)", "(qsq (innerq s p)) (qmul b"),
    ("second_order", "- gamma * t ^+ 2 / 3%:R.", "- gamma * t ^+ 2 / 2%:R."),
    ("second_order", "Hypothesis small_ball : Lam * Rad <= gamma.",
     "Hypothesis small_ball : Lam * Rad <= 2%:R * gamma."),
    ("second_order", "eps < mu * D - Lam * D ^+ 2 / 2%:R ->", "eps < mu * D ->"),
    ("dual_gap_slabs", "be i * (len (y i) + f) <= 1 - al i", "be i * len (y i) <= 1 - al i"),
    ("dual_gap_slabs", "- gamma + delta * e * f)%:M.", "- gamma)%:M."),
    ("unused_terms", "mass q <= gap / (b - h q).", "mass q <= gap / b."),
    ("unused_terms", "(b - h q) * mass q <= P - Du.", "b * mass q <= P - Du."),
    ("matrix_norms", "(E *m u) <= eps * len u.", "(E *m u) <= eps / 2%:R * len u."),
    ("matrix_norms", "e j <= eps * e i) ->", "e j <= 2%:R * eps * e i) ->"),
    ("matrix_norms", "`|D i j| <= E i j) ->", "D i j <= E i j) ->"),
    ("matrix_norms", "\\sum_j `|A i j| <= c) ->", "\\sum_j `|A i j| <= 2%:R * c) ->"),
    ("relu_descent", "small_step : eta * (lam + Lam) <= 2%:R.",
     "small_step : eta * (lam + Lam) <= 3%:R."),
    ("relu_descent", "(r (W 0)) <= (lam - eps) * tau.", "(r (W 0)) <= lam * tau."),
    ("relu_descent", "(K i j / 2%:R * \\sum_l", "(K i j * \\sum_l"),
    ("relu_descent", "(`|K i j| / 2%:R * \\sum_l", "(`|K i j| / 3%:R * \\sum_l"),
    ("relu_descent", "- s l i <= z (W 0) l i -> PA l i.\nHyp", "0 < z (W 0) l i -> PA l i.\nHyp"),
    ("relu_descent", "S l i -> s l i < z (W 0) l i.", "S l i -> 0 < z (W 0) l i."),
    ("relu_descent", "Num.sqrt (Lam + eps) * tau,", "Num.sqrt Lam * tau,"),
    ("relu_descent", "loss (W j) <= (1 - eta * (lam - eps)) ^+",
     "loss (W j) <= (1 - eta * lam) ^+"),
    ("relu_descent", "0 < t -> c = 1 & t < 0 -> c = 0]", "0 < t -> c = 1 & t < 0 -> c <= 1]"),
    ("below_barrier", "+ 2%:R * Num.sqrt (2%:R * Phi * E0)).", "+ Num.sqrt (2%:R * Phi * E0))."),
    ("below_barrier", "v_max * (4%:R * Phi * (a_hi", "v_max * (2%:R * Phi * (a_hi"),
    ("below_barrier", "Num.sqrt (2%:R * E0 / phi).", "Num.sqrt (E0 / phi)."),
    ("below_barrier", "(1 - 4%:R * eta * phi * v_min * s2) * excess (run j),",
     "(1 - 8%:R * eta * phi * v_min * s2) * excess (run j),"),
    ("below_barrier", "phi * a_lo ^+ 2 / 2%:R <= excess V].", "phi * a_lo ^+ 2 <= excess V]."),
    ("below_barrier", "Hypothesis start : excess W0 <= E0.",
     "Hypothesis start : excess W0 <= 2%:R * E0."),
    ("quadratic_network", "(f W i - y i) * (2%:R * v l *", "(f W i - y i) * (v l *"),
    ("least_squares", "(A_hat - (a_lo + G / phi)%:M)", "(A_hat - a_lo%:M)"),
    ("least_squares", "q i) ^+ 2) + G / Num.sqrt phi,", "q i) ^+ 2),"),
    ("curve_shapes", "Hypothesis first_ge0 : 0 <= first_slope.", "Hypothesis first_ge0 : True."),
    ("curve_shapes", "(kink l <= t)) v l * `|w l|.", "(kink l < t)) v l * `|w l|."),
    ("curve_shapes", "(kink l == t)) v l * `|w l|.", "(kink l == t)) v l * w l."),
    ("curve_shapes", "v l * Num.min (w l) 0.", "v l * Num.max (w l) 0."),
    ("curve_shapes", "Definition kink l := - c l / w l.", "Definition kink l := c l / w l."),
    ("curve_shapes", "| Decreasing => rises (fun l => - v l) w c", "| Decreasing => rises v w c"),
    ("dual_gap_shapes", "then `|S0 u| <= 2%:R * b else", "then `|S0 u| <= 3%:R * b else"),
    ("dual_gap_shapes", "total u t + total rho t - before)", "total u t + total rho t)"),
    ("dual_gap_shapes", "(raised (fun i => - u i) rho)", "(raised u rho)"),
    ("dual_gap_shapes", "| Concave => bent (fun i => - u i)", "| Concave => bent u"),
    ("dual_gap_shapes", "Free _ \\/ hidden_free -> \\sum_i u i = 0.", "Free _ -> \\sum_i u i = 0."),
    ("dual_gap_shapes", "S1 u ^+ 2 <= (2%:R * b) ^+ 2;", "S1 u ^+ 2 <= (3%:R * b) ^+ 2;"),
    ("dual_gap_shapes", "\\sum_i u i| <= b }.", "\\sum_i u i| <= 2%:R * b }."),
    ("dual_gap_shapes", "(forall i, 0 <= rho i) /\\ (forall",
     "(forall i, - 1 <= rho i) /\\ (forall"),
    ("dual_gap_shapes", "(forall i', z i' <= z i) -> rho i = 0).",
     "(forall i', z i' < z i) -> rho i = 0)."),
    ("dual_gap_shapes", "(~~ hidden_free || (bias_weight w == 0)).", "(~~ hidden_free || true)."),
    ("dual_gap_shapes", "bent_i : forall w0 w1, -", "bent_i : forall w0 w1,"),
    ("dual_gap_shapes", "half_test (rev l) -> half_test (mirrored l) ->",
     "half_test (rev l) -> half_test (rev l) ->"),
    ("stream_gap", "Definition c := decay / (2%:R * v_max).", "Definition c := decay / v_max."),
    ("stream_gap", "posdef ((c - t * total zeta)%:M + t *: \\sum_s M s).",
     "posdef (c%:M + t *: \\sum_s M s)."),
    ("stream_gap", "posdef ((c - t * total zeta)%:M - t *: \\sum_s M s).",
     "posdef (c%:M - t *: \\sum_s M s)."),
    ("stream_gap", "(t_ge0 : 0 <= t).", "(t_ge0 : - 1 <= t)."),
    ("stream_gap", "minus : heads <> Nonnegative ->", "minus : heads = Nonpositive ->"),
    ("stream_gap", "(Z_of s - M s) <= zeta s].", "(Z_of s - M s) <= 2%:R * zeta s]."),
    ("stream_gap", "(1 + t ^+ 2) * (total a + total alpha)", "(total a + total alpha)"),
    ("stream_gap", "+ t * (total b + total beta) +", "+ t * total b +"),
    ("additive_bins", "Definition e := Rplus * E + sigma' + E * rho'.",
     "Definition e := Rplus * E + sigma'."),
    ("additive_bins", "- width k / 8%:R * Sh k.", "- width k / 4%:R * Sh k."),
    ("additive_bins", "- \\sum_l (Th l + z (l : 'I_m) * Sh l) +", "- \\sum_l Th l +"),
    ("additive_bins", "N l * (Qh l + kappa' l) <= g l ^+ 2.", "N l * Qh l <= g l ^+ 2."),
    ("additive_bins", "- (c - a) / 8%:R| <= (c - a) / 8%:R.",
     "- (c - a) / 8%:R| <= (c - a) / 9%:R."),
    ("additive_bins", "(1 + Num.min (z 0) 0 ^+ 2)", "(1 + Num.max (z 0) 0 ^+ 2)"),
    ("additive_bins", "`|T_of s l - T_ s l| <= count s l * sigma s",
     "`|T_of s l - T_ s l| <= 2%:R * count s l * sigma s"),
    ("additive_stream_gap", "+ t * Rplus * Yplus / n%:R + penalty.", "+ penalty."),
    ("additive_stream_gap", "Definition bound := (1 + t ^+ 2) *", "Definition bound := (1 + t) *"),
    ("additive_stream_gap", "Definition Rplus := `|total R_| + rho' shard rho.",
     "Definition Rplus := `|total R_|."),
    ("additive_stream_gap", "(b_gt0 : 0 < b) (t_ge0 : 0 <= t).",
     "(b_gt0 : 0 < b) (t_ge0 : - 1 <= t)."),
    ("additive_stream_gap", "in_class (Free R) (Absent R) false (group false)",
     "in_class (Free R) (Free R) false (group false)"),
    ("additive_stream_gap", "(1 + at_ ^+ 2)).\nTheorem", "(2%:R + at_ ^+ 2)).\nTheorem"),
    ("additive_stream_gap", "s0 ^+ 2 + s1 ^+ 2 <= b ^+ 2) ->", "s0 ^+ 2 <= b ^+ 2) ->"),
]  # fmt: skip


def test_no_file_admits_anything():
    words = re.compile(
        r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort|give_up|bypass_check|"
        r"Unset\s+(Guard|Universe|Positivity)\s+Checking)\b"
    )
    assert FILES
    assert not [path.name for path in FILES if words.search(path.read_text(encoding="utf-8"))]


def test_every_theorem_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    for path in FILES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        row = next(line for line in page.splitlines() if line.startswith(f"| `{path.name}` |"))
        assert f"| {lines} | none |" in row
        assert [name for name in theorems(path) if f"`{name}`" not in row] == []


def test_every_theorem_is_proved_without_an_axiom(proofs):
    said = {f"{proof.name}.{name}": text for proof in proofs for name, text in proof.axioms.items()}
    assert len(said) == sum(len(theorems(path)) for path in FILES)
    assert {name: text for name, text in said.items() if text != CLOSED} == {}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[0]}: {case[2][:30]}")
@pytest.mark.usefixtures("proofs")
def test_a_wrong_constant_does_not_compile(case, compiled, tmp_path):
    name, right, wrong = case
    text = (SOURCES / f"{name}.v").read_text(encoding="utf-8")
    assert text.count(right) >= 1
    for path in compiled.glob("*.vo"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / f"wrong_{name}.v").write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(RuntimeError, match="does not compile"):
        coqc(tmp_path, f"wrong_{name}")
