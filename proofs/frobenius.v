(** Matrices as vectors: the inner product and the Frobenius norm, and the convergence of runs of finite path. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors limits.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Frobenius.
Variable R : rcfType.
Definition vec m n (A : 'M[R]_(m, n)) : 'cV[R]_(m * n) := (mxvec A)^T.
Definition ip m n (A B : 'M[R]_(m, n)) := dot (vec A) (vec B).
Definition fro m n (A : 'M[R]_(m, n)) := len (vec A).

Lemma vecB m n (A B : 'M[R]_(m, n)) : vec (A - B) = vec A - vec B.
Proof. by rewrite /vec !linearB. Qed.
Lemma vecD m n (A B : 'M[R]_(m, n)) : vec (A + B) = vec A + vec B.
Proof. by rewrite /vec !linearD. Qed.
Lemma vecZ m n c (A : 'M[R]_(m, n)) : vec (c *: A) = c *: vec A.
Proof. by rewrite /vec !linearZ. Qed.
Lemma ipE m n (A B : 'M[R]_(m, n)) : ip A B = \sum_i \sum_j A i j * B i j.
Proof.
rewrite /ip /dot (reindex _ (curry_mxvec_bij _ _)) pair_big /=.
by apply: eq_bigr => -[i j] _; rewrite !mxE !mxvecE.
Qed.
Lemma fro_sqr m n (A : 'M[R]_(m, n)) : fro A ^+ 2 = ip A A. Proof. exact: len_sqr. Qed.
Lemma fro_ge0 m n (A : 'M[R]_(m, n)) : 0 <= fro A. Proof. exact: len_ge0. Qed.
Lemma froZ m n c (A : 'M[R]_(m, n)) : fro (c *: A) = `|c| * fro A.
Proof. by rewrite /fro vecZ lenZ. Qed.
Lemma entry_le_fro m n (A : 'M[R]_(m, n)) i j : `|A i j| <= fro A.
Proof. by have := coordinate (vec A) (mxvec_index i j); rewrite !mxE mxvecE. Qed.

Lemma len_l1 n (u : 'cV[R]_n) : len u <= \sum_i `|u i 0|.
Proof.
have s0 : 0 <= \sum_i `|u i 0| by apply: sumr_ge0 => i _; apply: normr_ge0.
rewrite len_le // expr2 mulr_suml; apply: ler_sum => i _; rewrite -expr2 -(real_normK (num_real (u i 0))) expr2.
by rewrite ler_wpmul2l ?normr_ge0 // (bigD1 i) //= ler_addl; apply: sumr_ge0 => h _; apply: normr_ge0.
Qed.

(** a run of finite path has a limit *)
Lemma run_converges m n (W : nat -> 'M[R]_(m, n)) (s : nat -> R) (b : R) : complete R ->
  (forall j, fro (W j.+1 - W j) <= s j.+1 - s j) -> (forall j, s j <= b) ->
  exists limit l, [/\ forall j, s j <= l, forall e, 0 < e -> exists j, 0 <= l - s j /\ l - s j < e,
    forall j, fro (limit - W j) <= Num.sqrt (m * n)%:R * (l - s j)
  & forall e, 0 < e -> exists N, forall j, (N <= j)%N -> fro (limit - W j) < e].
Proof.
move=> comp path bounded; have path' j : len (vec (W j.+1) - vec (W j)) <= s j.+1 - s j by rewrite -vecB; apply: path.
have [t [l [sl small near]]] := finite_path_converges comp path' bounded.
have back : vec (vec_mx t^T) = t by rewrite /vec vec_mxK trmxK.
have near' j : fro (vec_mx t^T - W j) <= Num.sqrt (m * n)%:R * (l - s j) by rewrite /fro vecB back.
exists (vec_mx t^T), l; split=> // e e0; have P0 := @sqrtr_ge0 R (m * n)%:R; set P := Num.sqrt _ in P0 near' *.
have P1 : 0 < P + 1 by rewrite ltr_paddl ?ltr01.
have [N [lN Ne]] := small _ (divr_gt0 e0 P1); exists N => j Nj; apply: le_lt_trans (near' j) _.
have mono : s N <= s j by apply: nondecreasing Nj => i; rewrite -subr_ge0; apply: le_trans (path i); apply: fro_ge0.
move: Ne; rewrite ltr_pdivl_mulr // => Ne; apply: le_lt_trans Ne.
by have lj := sl j; by_sum (P * (s j - s N) + (l - s N)).
Qed.
End Frobenius.
