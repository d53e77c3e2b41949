(** spec/claims/stream-gap.md: a gap follows from sums over the rows of shards, each with a radius (theorem H). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors limits frobenius primitives least_squares optimality_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Sums.
Variable R : rcfType.
Lemma fro_sum m n (I : finType) (F : I -> 'M[R]_(m, n)) : fro (\sum_s F s) <= \sum_s fro (F s).
Proof.
elim/big_rec2: _ => [|s b A _ h]; first by rewrite /fro /vec linear0 linear0 len0.
by rewrite /fro vecD; apply: le_trans (lenD _ _) _; rewrite ler_add2l.
Qed.
(** Sums over the rows of shards are sums over all rows, and so are their radii. *)
Lemma all_shards (V : zmodType) n S (shard : 'I_n -> 'I_S) (F : 'I_n -> V) :
  \sum_s \sum_(i | shard i == s) F i = \sum_i F i.
Proof. by rewrite [RHS](partition_big shard xpredT). Qed.
Lemma near_sum S (X X' rad : 'I_S -> R) : (forall s, `|X s - X' s| <= rad s) ->
  `|\sum_s X s - \sum_s X' s| <= \sum_s rad s.
Proof. by move=> near; rewrite -sumrB; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum. Qed.
End Sums.

Inductive head_signs := Nonnegative | Nonpositive | AnySign.

Section TheoremH.
Variable R : rcfType.
Variables (n d k S : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (shard : 'I_n -> 'I_S).
Variables (heads : head_signs) (decay v_max t : R).
Variables (v : 'I_k -> R) (w : 'I_k -> 'cV[R]_d).      (* the stored network *)
Variables (a b alpha beta zeta : 'I_S -> R) (M : 'I_S -> 'M[R]_d).   (* the file: sums and radii of each shard *)

Definition r i := quadratic x v w i - y i.
Definition A_of s := \sum_(i | shard i == s) r i ^+ 2.
Definition B_of s := \sum_(i | shard i == s) r i * y i.
Definition Z_of s := \sum_(i | shard i == s) r i *: (x i *m (x i)^T).
Definition agrees s := [/\ `|A_of s - a s| <= alpha s, `|B_of s - b s| <= beta s & fro (Z_of s - M s) <= zeta s].
Definition total (F : 'I_S -> R) := \sum_s F s.
Definition c := decay / (2%:R * v_max).
Definition sign_ok (h : R) := match heads with Nonnegative => 0 <= h | Nonpositive => h <= 0 | AnySign => true end.
Definition objective m (v' : 'I_m -> R) w' := loss y (quadratic x v' w') + decay / 2%:R * \sum_l sq (w' l).
Definition in_class m (v' : 'I_m -> R) := forall l, `|v' l| <= v_max /\ sign_ok (v' l).
Definition floor := - (t * total B_of) - t ^+ 2 * total A_of / 2%:R.

Hypotheses (decay_gt0 : 0 < decay) (v_max_gt0 : 0 < v_max) (t_ge0 : 0 <= t).
Hypothesis shards_agree : forall s, agrees s.
Hypothesis plus : heads <> Nonpositive -> posdef ((c - t * total zeta)%:M + t *: \sum_s M s).
Hypothesis minus : heads <> Nonnegative -> posdef ((c - t * total zeta)%:M - t *: \sum_s M s).

Lemma squares_of : `|total A_of - total a| <= total alpha.
Proof. by apply: near_sum => s; case: (shards_agree s). Qed.
Lemma products_of : `|total B_of - total b| <= total beta.
Proof. by apply: near_sum => s; case: (shards_agree s). Qed.
Lemma moments_of z : `|form (\sum_s Z_of s) z - form (\sum_s M s) z| <= total zeta * sq z.
Proof.
rewrite -formN -formD -sumrB; apply: le_trans (form_le _ _) _; rewrite ler_wpmul2r ?sq_ge0 //.
by apply: le_trans (fro_sum _) _; apply: ler_sum => s _; case: (shards_agree s).
Qed.
Lemma Z_scaled z : form (Z x (fun i => t * r i)) z = t * form (\sum_s Z_of s) z.
Proof. by rewrite /Z_of all_shards form_Z form_sum mulr_sumr; apply: eq_bigr => i _; rewrite formZ form_outer (dotC z) [RHS]mulrA. Qed.

Lemma floor_below m (v' : 'I_m -> R) w' : in_class v' -> floor <= objective v' w'.
Proof.
move=> inc; have -> : floor = D y (fun i => t * r i).
  rewrite /floor /D /total !all_shards !mulr_sumr; congr (- _ - _ / _); apply: eq_bigr => i _; by rewrite ?exprMn ?mulrA.
have near z := moments_of z; rewrite /objective; apply: (@D_bound _ _ _ x y (fun i => t * r i) _ _ decay_gt0 v_max_gt0 m v' w') => [l|l vl|l vl].
- by case: (inc l).
- have pl : posdef ((c - t * total zeta)%:M + t *: \sum_s M s).
    by apply: plus => e; case: (inc l) => _; rewrite /sign_ok e leNgt vl.
  move=> z; rewrite formD Z_scaled form_scalar -[optimality_gap.c _ _]/c; have := posdef_semi pl z.
  rewrite formD form_scalar formZ; have := near z; rewrite ler_norml => /andP[].
  move: (form (\sum_s Z_of s) z) (form (\sum_s M s) z) (sq z) (total zeta) => F G q e h _ h2.
  by by_sum (t * (F - G - - (e * q)) + ((c - t * e) * q + t * G)).
have mi : posdef ((c - t * total zeta)%:M - t *: \sum_s M s).
  by apply: minus => e; case: (inc l) => _; rewrite /sign_ok e leNgt vl.
move=> z; rewrite formD formN Z_scaled form_scalar -[optimality_gap.c _ _]/c; have := posdef_semi mi z.
rewrite formD formN form_scalar formZ; have := near z; rewrite ler_norml => /andP[_].
move: (form (\sum_s Z_of s) z) (form (\sum_s M s) z) (sq z) (total zeta) => F G q e h h2.
by by_sum (t * (e * q - (F - G)) + ((c - t * e) * q - t * G)).
Qed.

Theorem H : [/\ loss y (quadratic x v w) <= (total a + total alpha) / 2%:R,
    forall m (v' : 'I_m -> R) w', in_class v' -> floor <= objective v' w'
  & forall m (v' : 'I_m -> R) w', in_class v' -> objective v w - objective v' w' <=
      (1 + t ^+ 2) * (total a + total alpha) / 2%:R + t * (total b + total beta) + decay / 2%:R * \sum_l sq (w l)].
Proof.
have hA : total A_of <= total a + total alpha by have := squares_of; rewrite ler_norml => /andP[_]; rewrite ler_subl_addl.
have hB : total B_of <= total b + total beta by have := products_of; rewrite ler_norml => /andP[_]; rewrite ler_subl_addl.
have L : loss y (quadratic x v w) = total A_of / 2%:R by rewrite /loss /total all_shards.
split=> [||m v' w' inc]; [by rewrite L ler_pmul2r ?invr_gt0 ?ltr0n | exact: floor_below | ].
have := floor_below w' inc; rewrite /objective L /floor.
set F := loss y _ + _; set s := decay / _ * _; move: (total A_of) (total B_of) hA hB => A B hA hB h.
by by_quotient ((F - (- (t * B) - t ^+ 2 * A / 2%:R)) + (total a + total alpha - A) / 2%:R + t ^+ 2 * (total a + total alpha - A) / 2%:R + t * (total b + total beta - B)).
Qed.
End TheoremH.
