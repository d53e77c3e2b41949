(** One sign of u on one half plane of a column, as a program on exact rationals, and what it proves. *)
From Coq Require Import QArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap rationals dual_gap_columns.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Close Scope Q_scope.
Local Open Scope ring_scope.

Inductive bias_kind := NoBias | FreeBias | PenalizedBias of Q.
Definition stepq t (s zu : Q * Q) := (qadd s.1 (qmul zu.2 zu.1), qadd s.2 (qmul zu.2 t)).
Definition innerq (p q : Q * Q) := qadd (qmul p.1 q.1) (qmul p.2 q.2).
Definition rayq t (o : option Q) := if o is Some z then (t, qopp z) else (q0, q1).
Definition belowq b s p := qle (innerq s p) q0 || qle (qsq (innerq s p)) (qmul (qsq b) (innerq p p)).
Definition outsideq s p q := qle (qmul (innerq p p) (innerq s q)) (qmul (innerq p q) (innerq s p)).
Definition one_sidedq t b s z o := let p := rayq t (Some z) in let q := rayq t o in
  [|| (if o is Some z' then qeq z' z else false), qle (innerq s s) (qsq b) |
      [&& belowq b s p, belowq b s q & outsideq s p q || outsideq s q p]].
Definition at_kinkq b (s : Q * Q) z o := qle (qsub s.1 (qmul s.2 z)) b &&
  (if o is Some z' then qle (qsub s.1 (qmul s.2 z')) b else qle s.2 q0).
Definition descending (l : seq (Q * Q)) := sort (fun a c => qle c.1 a.1) l.
Definition half_holds h b rows := match h with
  | PenalizedBias t => scan (stepq t) (one_sidedq t b) (q0, q0) (descending rows)
  | FreeBias => scan (stepq q1) (at_kinkq b) (q0, q0) (descending rows)
  | NoBias => qle (qsum (fun zu => qmul zu.2 (qmax q0 zu.1)) rows) b
  end.

Section Meaning.
Variable R : rcfType.
Local Notation r := (toR R).
Definition pair_of (zu : Q * Q) := (r zu.1, r zu.2).
Definition bias_unit h := if h is PenalizedBias t then r t else 1.
Definition weight_size h (w0 w1 : R) := if h is PenalizedBias _ then Num.sqrt (w0 ^+ 2 + w1 ^+ 2) else w0.

Lemma descending_sorted rows : sorted >=%R (map fst (map pair_of (descending rows))).
Proof.
rewrite -map_comp sorted_map (eq_sorted (e' := fun a c : Q * Q => qle c.1 a.1)); last first.
  by move=> a c; rewrite (qleE R).
by apply: sort_sorted => a c; rewrite !(qleE R) le_total.
Qed.
Lemma column_sum_descending t rows w0 w1 :
  column_sum t (map pair_of (descending rows)) w0 w1 = column_sum t (map pair_of rows) w0 w1.
Proof. by rewrite /column_sum !big_map; apply: perm_big; rewrite perm_sort. Qed.
Lemma step_of t s zu : pair_of (stepq t s zu) = step (r t) (pair_of s) (r zu.1, r zu.2).
Proof. by rewrite /pair_of /stepq /step /= !toRE. Qed.
Lemma inner_of p q : r (innerq p q) = inner (pair_of p) (pair_of q).
Proof. by rewrite /innerq /inner !toRE. Qed.
Lemma ray_of t o : pair_of (rayq t o) = ray (r t) (omap r o).
Proof. by case: o => [z|]; rewrite /pair_of /= !toRE. Qed.
Lemma below_of b s p : belowq b s p = below (r b) (pair_of s) (pair_of p).
Proof. by rewrite /belowq /below !(qleE R) [r (qmul _ _)]toRM !toRsq !inner_of toR0. Qed.
Lemma outside_of s p q : outsideq s p q = outside (pair_of s) (pair_of p) (pair_of q).
Proof. by rewrite /outsideq /outside (qleE R) ![r (qmul _ _)]toRM !inner_of. Qed.
Lemma one_sided_of t b s z o : one_sidedq t b s z o = one_sided (r t) (r b) (pair_of s) (r z) (omap r o).
Proof.
rewrite /one_sidedq /one_sided !below_of !outside_of !ray_of (qleE R) toRsq inner_of.
by case: o => //= z'; rewrite (qeqE R).
Qed.
Lemma at_kink_of b s z o : at_kinkq b s z o = at_kink (r b) (pair_of s) (r z) (omap r o).
Proof. by rewrite /at_kinkq /at_kink; case: o => [z'|]; rewrite /= !(qleE R) !toRE. Qed.

Lemma half_sound h b rows w0 w1 : 0 < r b -> (if h is PenalizedBias t then 0 < r t else true) ->
  half_holds h b rows -> 0 <= w0 -> (h = NoBias -> w1 = 0) ->
  column_sum (bias_unit h) (map pair_of rows) w0 w1 <= r b * weight_size h w0 w1.
Proof.
move=> b0; have bp : 0 <= r b := ltW b0.
rewrite -column_sum_descending; case: h => [_|_|t t0] /=.
- rewrite (qleE R) !toRE => h w00 ->//; rewrite column_sum_descending; apply: R2_none => //.
  by rewrite big_map; apply: le_trans h; rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => zu _; rewrite !toRE.
- rewrite (scan_map (f := r) (h := pair_of) (stepG := step 1) (testG := at_kink (r b))).
  + by rewrite /pair_of /= !toRE -/pair_of => sc w00 _; apply: R2_free => //; apply: descending_sorted.
  + by move=> s zu; rewrite step_of toR1.
  + by move=> s z o; rewrite at_kink_of.
- rewrite (scan_map (f := r) (h := pair_of) (stepG := step (r t)) (testG := one_sided (r t) (r b))).
  + by rewrite /pair_of /= !toRE -/pair_of => sc w00 _; apply: R2 => //; apply: descending_sorted.
  + by move=> s zu; rewrite step_of.
  + by move=> s z o; rewrite one_sided_of.
Qed.
End Meaning.
