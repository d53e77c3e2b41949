(** spec/claims/unused-terms.md: how much weight a near-optimal network can put on a group of columns (R6). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section R6.
Variable R : rcfType.
Variables (n d p k G : nat) (x : 'I_n -> 'cV[R]_d) (xh : 'I_n -> 'cV[R]_p) (intercept linear : part R).
Variables (loss : 'I_n -> R -> R) (b : R) (u conj : 'I_n -> R).
Variables (N : network R d p k) (g : 'I_k -> 'I_G) (h : 'I_G -> R).
Hypotheses (b_gt0 : 0 < b) (k0_gt0 : in_range intercept) (k1_gt0 : in_range linear).
Hypothesis domain : forall i t, u i * t - conj i <= loss i t.
Hypothesis sum_u : intercept = Free _ -> \sum_i u i = 0.
Hypothesis sum_ux : linear = Free _ -> \sum_i u i *: x i = 0.
Hypotheses (c0_class : allowed intercept (c0 N)) (theta_class : allowed linear (theta N)).
(** H_g(u) <= h_g for the neurons of group g *)
Hypothesis H_le_h : forall l, `|feature xh u (w N l) (beta N l)| <= h (g l) * len (w N l).
Definition mass q := \sum_(l | g l == q) `|v N l| * len (w N l).
Local Notation f := (output x xh N).
Local Notation P := (objective x xh intercept linear loss b N).
Local Notation Du := (D x intercept linear u conj).
Definition bracket i := loss i (f i) + conj i - u i * f i.

Lemma bracket_ge0 i : 0 <= bracket i.
Proof. by rewrite /bracket; have := domain i (f i); set l := loss i _; set t := u i * _ => h1; by_sum (l - (t - conj i)). Qed.
Lemma mass_ge0 q : 0 <= mass q.
Proof. by apply: sumr_ge0 => l _; rewrite mulr_ge0 ?normr_ge0 ?len_ge0. Qed.
Lemma parts_pay : 0 <= c0 N 0 0 * (\sum_i u i) + cost intercept (sq (c0 N)) + price intercept ((\sum_i u i) ^+ 2)
  + (dot (theta N) (\sum_i u i *: x i) + cost linear (sq (theta N)) + price linear (sq (\sum_i u i *: x i))).
Proof.
have bc : balanced intercept (\col_(i < 1) \sum_i u i).
  by move: sum_u; case: (intercept) => //= H; apply/colP=> i; rewrite !mxE; exact: H.
have bt : balanced linear (\sum_i u i *: x i) by move: sum_ux; case: (linear) => //= H; exact: H.
have := part_bound k0_gt0 c0_class bc; have := part_bound k1_gt0 theta_class bt.
have -> : dot (c0 N) (\col_(i < 1) \sum_i u i) = c0 N 0 0 * \sum_i u i by rewrite /dot big_ord1 mxE.
have -> : sq (\col_(i < 1) \sum_i u i) = (\sum_i u i) ^+ 2 by rewrite /sq /dot big_ord1 !mxE expr2.
set A := c0 N 0 0 * _; set B := dot _ _; set c1 := cost _ _; set c2 := cost _ _; set p1 := price _ _; set p2 := price _ _.
move=> h1 h2; rewrite -subr_ge0 opprK addrC in h1; rewrite -subr_ge0 opprK addrC in h2.
by rewrite addr_ge0 // addrC.
Qed.

Theorem R6 : \sum_i bracket i + \sum_q (b - h q) * mass q <= P - Du.
Proof.
have neurons : \sum_q (b - h q) * mass q <= b / 2%:R * (\sum_l (sq (w N l) + v N l ^+ 2))
    + \sum_l v N l * feature xh u (w N l) (beta N l).
  have -> : \sum_q (b - h q) * mass q = \sum_l (b - h (g l)) * (`|v N l| * len (w N l)).
    rewrite (partition_big g xpredT) //=; apply: eq_bigr => q _; rewrite /mass mulr_sumr.
    by apply: eq_bigr => l /eqP ->.
  rewrite mulr_sumr -big_split; apply: ler_sum => l _ /=.
  have y := young `|v N l| (len (w N l)); rewrite len_sqr real_normK ?num_real // in y.
  have lo : - (h (g l) * (`|v N l| * len (w N l))) <= v N l * feature xh u (w N l) (beta N l).
    have : `|v N l * feature xh u (w N l) (beta N l)| <= h (g l) * (`|v N l| * len (w N l)).
      by rewrite normrM mulrCA ler_wpmul2l ?normr_ge0.
    by rewrite ler_norml => /andP[].
  have y2 := ler_wpmul2l (ltW b_gt0) y.
  set F := v N l * _ in lo *; set m := `|v N l| * _ in y y2 lo *; set s := sq _ in y y2 *; set t := v N l ^+ 2 in y y2 *.
  by by_quotient ((b * ((t + s) / 2%:R) - b * m) + (F - - (h (g l) * m))).
have pay := parts_pay; have e : \sum_i bracket i = \sum_i loss i (f i) + \sum_i conj i - \sum_i u i * f i.
  by rewrite /bracket -big_split -sumrB; apply: eq_bigr => i _.
rewrite e sum_output /objective /D -/f; move: neurons pay.
set A := c0 N 0 0 * _; set B := dot _ _; set C := \sum_l v N l * _; set K := \sum_i conj i; set M := \sum_q _.
set L := \sum_i loss i _; set c1 := cost _ _; set c2 := cost _ _; set p1 := price _ _; set p2 := price _ _; set Q := b / _ * _.
by move=> ne pay; by_sum ((Q + C - M) + (A + c1 + p1 + (B + c2 + p2))).
Qed.

(** (b): the mass of a group of a network that is within gap of the dual value *)
Theorem R6_mass q gap : (forall q', h q' <= b) -> h q < b -> P - Du <= gap -> mass q <= gap / (b - h q).
Proof.
move=> hb hq near; rewrite ler_pdivl_mulr ?subr_gt0 // mulrC; apply: le_trans near; apply: le_trans R6.
have b0 : 0 <= \sum_i bracket i by apply: sumr_ge0 => i _; exact: bracket_ge0.
rewrite (bigD1 q) //= addrCA ler_addl addr_ge0 //; apply: sumr_ge0 => q' _.
by rewrite mulr_ge0 ?subr_ge0 ?mass_ge0.
Qed.

(** (a): squared loss with weights om > 0: the fitted values lie in one ball *)
Theorem R6_ball (om y : 'I_n -> R) gap : (forall q, h q <= b) -> (forall i, 0 < om i) ->
  (forall i t, loss i t = om i * squared (y i) t) ->
  (forall i, conj i = om i * (u i / om i * y i + (u i / om i) ^+ 2 / 2%:R)) ->
  P - Du <= gap -> \sum_i om i * (f i - y i - u i / om i) ^+ 2 / 2%:R <= gap.
Proof.
move=> hb om0 sl sc near; apply: le_trans near; apply: le_trans R6.
have m0 : 0 <= \sum_q (b - h q) * mass q by apply: sumr_ge0 => q _; rewrite mulr_ge0 ?subr_ge0 ?mass_ge0.
rewrite -[X in X <= _]addr0 ler_add // le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _.
rewrite /bracket sl sc /squared; set t := f i; have o1 := om0 i; set om' := om i in o1 *.
by field; rewrite gt_eqF.
Qed.
End R6.
