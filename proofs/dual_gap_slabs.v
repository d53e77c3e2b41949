(** spec/claims/dual-gap.md, R4-free: free hidden biases, any number of columns, one sign of u. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap dual_gap_constraints.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** One slab [e, f] of the bias; a row with u > 0 is undecided (None), active or not. *)
Section Slab.
Variable R : rcfType.
Variables (n d : nat) (y : 'I_n -> 'cV[R]_d) (u rho sig al be : 'I_n -> R) (decided : 'I_n -> option bool).
Variables (b gamma delta e f : R).
Hypothesis plus : forall i, 0 < u i -> match decided i with
  | None => (0 < rho i) && (1 <= 4%:R * sig i * rho i)
  | Some true => len (y i) <= e
  | Some false => len (y i) <= - f end.
Hypothesis minus : forall i, u i < 0 ->
  [/\ 0 <= be i, be i * (len (y i) + f) <= 1 - al i & be i * (len (y i) - e) <= al i].
Hypothesis delta_ge0 : 0 <= delta.
Definition z i : 'cV[R]_(d + 1) := col_mx (y i) 1%:M.
Definition tilt i := if 0 < u i then match decided i with None => u i / 2%:R | Some true => u i | Some false => 0 end
  else u i * al i.
Definition curve i := if 0 < u i then if decided i is None then u i * rho i / 2%:R else 0 else u i * be i.
Definition rest i := if 0 < u i then if decided i is None then u i * sig i / 2%:R else 0 else 0.
Definition slab_Q := \sum_i curve i *: (z i *m (z i)^T).
Definition slab_c := \sum_i tilt i *: z i.
Definition slab_k := \sum_i rest i.
Definition unit_bias : 'cV[R]_(d + 1) := col_mx 0 1%:M.
Definition slab_c_delta := slab_c + (delta * (e + f)) *: unit_bias.
Definition slab_matrix : 'M[R]_(d + 1 + 1) :=
  block_mx (block_mx gamma%:M 0 0 delta%:M - slab_Q) (- 2%:R^-1 *: slab_c_delta)
    (- 2%:R^-1 *: slab_c_delta^T) (b - slab_k - gamma + delta * e * f)%:M.

Lemma slab_row i (w : 'cV[R]_d) beta t : sq w = 1 -> e <= beta -> beta <= f -> t = dot w (y i) + beta ->
  u i * relu t <= tilt i * t + curve i * t ^+ 2 + rest i.
Proof.
move=> w1 eb bf te; have wy : `|dot w (y i)| <= len (y i).
  by have := dot_le_len w (y i); rewrite {1}/len w1 sqrtr1 mul1r.
have [lo hi] : - len (y i) <= dot w (y i) /\ dot w (y i) <= len (y i) by move: wy; rewrite ler_norml => /andP[].
rewrite /tilt /curve /rest; have [u0|u0|u0] := ltgtP 0 (u i).
- have := plus u0; case: (decided i) => [[] ly|/andP[r0 rs]].
  + have t0 : 0 <= t by rewrite te; by_sum ((dot w (y i) - - len (y i)) + (e - len (y i)) + (beta - e)).
    by rewrite /relu max_r // mul0r !addr0.
  + have t0 : t <= 0 by rewrite te; by_sum ((len (y i) - dot w (y i)) + (- f - len (y i)) + (f - beta)).
    by rewrite /relu max_l // mulr0 !mul0r !addr0.
  + have h := relu_above t r0 rs; have u1 := ltW u0; set a := relu t in h *.
    by by_quotient (u i * (t / 2%:R + rho i * t ^+ 2 / 2%:R + sig i / 2%:R - a)).
- have [b0 h1 h2] := minus u0; have u1 : 0 <= - u i by rewrite oppr_ge0 ltW.
  rewrite addr0 /relu; have [t0|t0] := leP 0 t.
    have bt : be i * t <= 1 - al i.
      by apply: le_trans h1; rewrite ler_wpmul2l // te ler_add.
    by by_sum (- u i * t * (1 - al i - be i * t)).
  have t1 : 0 <= - t by rewrite oppr_ge0 ltW.
  have bt : be i * - t <= al i.
    apply: le_trans h2; rewrite ler_wpmul2l // te opprD ler_add ?ler_opp2 //; by rewrite ler_oppl.
  by by_sum (- u i * - t * (al i - be i * - t)).
by rewrite -u0 !mul0r !addr0.
Qed.

Lemma slab_bound (w : 'cV[R]_d) beta : posdef slab_matrix -> sq w = 1 -> e <= beta -> beta <= f ->
  \sum_i u i * relu (dot w (y i) + beta) <= b.
Proof.
move=> pd w1 eb bf; pose om : 'cV[R]_(d + 1) := col_mx w beta%:M.
have one (s : 'cV[R]_1) : dot 1%:M s = s 0 0 by rewrite /dot big_ord1 mxE mul1r.
have zt i : dot (z i) om = dot w (y i) + beta by rewrite /z dot_col_mx one mxE mulr1n dotC.
have c0 : col_mx om (1%:M : 'cV[R]_1) != 0.
  by rewrite -sq_gt0 /sq dot_col_mx one mxE mulr1n ltr_paddl ?sq_ge0 ?ltr01.
have := pd _ c0; rewrite /slab_matrix /form mul_block_col dot_col_mx !mulmx1 dotDr dotDr.
rewrite -/(form _ om) formD formN !one dotZr -scalemxAl dot_mx !mxE /= !mulr1n (dotC om).
have -> : form (block_mx gamma%:M 0 0 delta%:M) om = gamma + delta * beta ^+ 2.
  rewrite /form /om mul_block_col !mul0mx addr0 add0r dot_col_mx !mul_scalar_mx !dotZr -/(sq w) w1 mulr1; congr (_ + _ * _).
  by rewrite /dot big_ord1 !mxE mulr1n expr2.
have -> : dot slab_c_delta om = dot slab_c om + delta * (e + f) * beta.
  by rewrite /slab_c_delta dotDl dotZl /unit_bias dot_col_mx dot0l add0r one mxE mulr1n.
have bound : \sum_i u i * relu (dot w (y i) + beta) <= dot slab_c om + form slab_Q om + slab_k.
  rewrite /slab_c /slab_Q /slab_k dot_suml form_sum -!big_split; apply: ler_sum => i _ /=.
  by rewrite dotZl formZ form_outer zt; exact: slab_row w1 eb bf (erefl _).
set c := dot slab_c om in bound *; set q := form slab_Q om in bound *; set s := \sum_i _ in bound *; set k := slab_k in bound * => pos.
have inside : 0 <= (beta - e) * (f - beta) by rewrite mulr_ge0 ?subr_ge0.
have pos' := ltW pos; rewrite -subr_ge0.
have -> : b - s = (gamma + delta * beta ^+ 2 - q + - 2%:R^-1 * (c + delta * (e + f) * beta) +
  (- 2%:R^-1 * (c + delta * (e + f) * beta) + (b - k - gamma + delta * e * f))) + delta * ((beta - e) * (f - beta)) +
  (c + q + k - s) by field.
by rewrite addr_ge0 ?subr_ge0 // addr_ge0 // mulr_ge0.
Qed.
End Slab.

Section R4Free.
Variable R : rcfType.
Variables (n d J : nat) (x : 'I_n -> 'cV[R]_d) (m : 'cV[R]_d) (u : 'I_n -> R) (b : R) (ends : nat -> R).
Definition y i := x i - m.
Hypotheses (sum_u : \sum_i u i = 0) (J_gt0 : (0 < J)%N) (b_ge0 : 0 <= b).
Hypotheses (first : forall k, ends 0%N <= - len (y k)) (last : forall k, len (y k) <= ends J).

Lemma in_a_slab beta : ends 0%N <= beta -> beta <= ends J -> exists j, [/\ (j < J)%N, ends j <= beta & beta <= ends j.+1].
Proof.
move=> lo hi; have : exists i : nat, (i < J)%N && (beta <= ends i.+1).
  by exists J.-1; rewrite prednK // leqnn hi.
case/ex_minnP => i /andP[iJ bi] least; exists i; split=> //.
case: i iJ bi least => [//|i] iJ bi least; rewrite leNgt; apply/negP => lt.
by have := least i; rewrite (ltnW iJ) (ltW lt) => /(_ isT); rewrite ltnn.
Qed.

(** every slab with numbers of its own *)
Variables (rho sig al be : nat -> 'I_n -> R) (decided : nat -> 'I_n -> option bool) (gamma delta : nat -> R).
Hypothesis plus : forall j i, (j < J)%N -> 0 < u i -> match decided j i with
  | None => (0 < rho j i) && (1 <= 4%:R * sig j i * rho j i)
  | Some true => len (y i) <= ends j
  | Some false => len (y i) <= - ends j.+1 end.
Hypothesis minus : forall j i, (j < J)%N -> u i < 0 ->
  [/\ 0 <= be j i, be j i * (len (y i) + ends j.+1) <= 1 - al j i & be j i * (len (y i) - ends j) <= al j i].
Hypothesis delta_ge0 : forall j, 0 <= delta j.
Hypothesis definite : forall j, (j < J)%N ->
  posdef (slab_matrix y u (rho j) (sig j) (al j) (be j) (decided j) b (gamma j) (delta j) (ends j) (ends j.+1)).

Lemma unit_bound (w : 'cV[R]_d) beta : sq w = 1 -> \sum_i u i * relu (dot w (y i) + beta) <= b.
Proof.
move=> w1; have inside t : ends 0%N <= t -> t <= ends J -> \sum_i u i * relu (dot w (y i) + t) <= b.
  move=> lo hi; have [j [jJ ej fj]] := in_a_slab lo hi.
  exact: (slab_bound (fun i => @plus j i jJ) (fun i => @minus j i jJ) (delta_ge0 j) (definite jJ) w1 ej fj).
have near k : - len (y k) <= dot w (y k) /\ dot w (y k) <= len (y k).
  have := dot_le_len w (y k); rewrite {1}/len w1 sqrtr1 mul1r ler_norml => /andP[]; by split.
have [lo|lo] := leP (ends 0%N) beta; last first.
  rewrite big1 // => i _; rewrite /relu max_l ?mulr0 //; have [_ h] := near i; have := first i => h1.
  by by_sum ((len (y i) - dot w (y i)) + (- len (y i) - ends 0%N) + (ends 0%N - beta)).
have [hi|hi] := leP beta (ends J); first exact: inside.
have active t : ends J <= t -> \sum_i u i * relu (dot w (y i) + t) = \sum_i u i * dot w (y i).
  move=> tJ; have -> : \sum_i u i * dot w (y i) = \sum_i (u i * dot w (y i) + u i * t).
    by rewrite big_split /= -mulr_suml sum_u mul0r addr0.
  apply: eq_bigr => i _; rewrite -mulrDr /relu max_r //; have [h _] := near i; have := last i => h1.
  by by_sum ((dot w (y i) - - len (y i)) + (ends J - len (y i)) + (t - ends J)).
have [k _|none] := pickP (fun _ : 'I_n => true); last by rewrite big1 // => i; have := none i.
have e0J : ends 0%N <= ends J.
  by apply: le_trans (first k) _; apply: le_trans (last k); rewrite ler_oppl -subr_ge0 opprK addr_ge0 ?len_ge0.
by rewrite (active _ (ltW hi)) -(active _ (lexx _)); apply: inside.
Qed.

Theorem R4_free (w : 'cV[R]_d) beta : \sum_i u i * relu (dot w (x i) + beta) <= b * len w.
Proof.
have [->|w0] := eqVneq w 0.
  have -> : \sum_i u i * relu (dot 0 (x i) + beta) = relu beta * \sum_i u i.
    by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite dot0l add0r mulrC.
  by rewrite sum_u len0 !mulr0.
have lw : 0 < len w by rewrite lt_def len_ge0 len_eq0 w0.
pose v := (len w)^-1 *: w.
have v1 : sq v = 1 by rewrite /v sqZ -len_sqr -exprMn mulVf ?gt_eqF // expr1n.
have wv : w = len w *: v by rewrite /v scalerA mulfV ?gt_eqF // scale1r.
have := unit_bound ((beta + dot w m) / len w) v1; rewrite -(ler_pmul2l lw) [X in _ <= X]mulrC; apply: le_trans.
rewrite mulr_sumr le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _.
rewrite mulrCA -(relu_homogeneous _ (len_ge0 w)); congr (_ * relu _).
rewrite mulrDr -dotZl -wv [len w * _]mulrC divfK ?gt_eqF // /y dotBr; ring.
Qed.
End R4Free.
