(** spec/claims/head-gap.md: the head alone, for stored hidden weights. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives optimality_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section HeadGap.
Variable R : rcfType.
Variables (n k : nat) (Q : 'M[R]_(n, k)) (y : 'cV[R]_n) (v : 'cV[R]_k) (mu : R).
Hypothesis mu_gt0 : 0 < mu.
Definition L (h : 'cV[R]_k) := sq (Q *m h - y) / 2%:R.
Definition r := Q *m v - y.

Theorem C_columns (z h : 'cV[R]_k) : possemi (Q^T *m Q - mu%:M) -> L v - L h <= E_of Q mu r z ^+ 2 / 2%:R.
Proof. exact: range_gap. Qed.

Theorem R_rows : possemi (Q *m Q^T - mu%:M) ->
  exists h, L h = 0 /\ len (h - v) <= len r / Num.sqrt mu.
Proof.
move=> low; pose K := Q *m Q^T.
have s0 : 0 < Num.sqrt mu by rewrite sqrtr_gt0.
have sK : K^T = K by rewrite /K trmx_mul trmxK.
have lowK : possemi (K - (Num.sqrt mu ^+ 2)%:M) by rewrite sqr_sqrtr ?ltW.
have ku := K_unit s0 sK lowK.
exists (v - Q^T *m (invmx K *m r)); split.
  by rewrite /L mulmxBr mulmxA mulKVmx // -addrA [- r - y]addrC addrA -/r subrr /sq dot0l mul0r.
rewrite addrAC subrr add0r lenN len_le ?divr_ge0 ?len_ge0 ?(ltW s0) // expr_div_n len_sqr.
have -> : sq (Q^T *m (invmx K *m r)) = form (invmx K) r.
  by rewrite -form_gram trmxK -/K -(form_inv s0 sK lowK) mulKVmx.
exact: inv_high s0 sK lowK _.
Qed.
End HeadGap.
