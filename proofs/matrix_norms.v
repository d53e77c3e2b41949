(** Norms of symmetric matrices and of matrices with entries >= 0: checks V9 and V10 of spec/claims/relu-descent.md. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives descent.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** Norms of symmetric matrices and of matrices with nonnegative entries *)
Section Norms.
Variables (R : rcfType) (n : nat).

Lemma symmetric_norm (A : 'M[R]_n) (c : R) u : A^T = A -> possemi (c%:M - A) -> possemi (c%:M + A) ->
  len (A *m u) <= c * len u.
Proof.
move=> sA up lo; have [->|u0] := eqVneq u 0; first by rewrite mulmx0 !len0 mulr0.
have c0 : 0 <= c.
  have up' := up u; have lo' := lo u; rewrite !formD !formN !form_scalar in up' lo'.
  have s0 : 0 < sq u by rewrite sq_gt0.
  rewrite -(pmulr_lge0 _ s0); set f := form A u in up' lo'.
  have h : 0 <= (c * sq u - f) + (c * sq u + f) by apply: addr_ge0.
  have e : (c * sq u - f) + (c * sq u + f) = (c * sq u) *+ 2 by rewrite mulr2n; ring.
  by rewrite e pmulrn_lge0 in h.
rewrite len_le ?mulr_ge0 ?len_ge0 // exprMn len_sqr.
have sP : (c%:M + A)^T = c%:M + A by rewrite linearD /= tr_scalar_mx sA.
have hP : possemi ((2%:R * c)%:M - (c%:M + A)).
  move=> w; have := up w; rewrite !formD !formN !formD !form_scalar => h; set f := form A w in h *.
  by by_sum (c * sq w - f).
have := square_below u sP lo hP (mulr_ge0 (ler0n _ 2) c0).
rewrite mulmxDl mul_scalar_mx sqD formD form_scalar sqZ dotZl -/(form A u).
set s := sq (A *m u); set q := sq u; set f := form A u => h.
by by_sum (2%:R * c * (c * q + f) - (c ^+ 2 * q + 2%:R * (c * f) + s)).
Qed.

(** entries of D at most those of E in size: |D| <= |E| *)
Lemma dominated_norm (D E : 'M[R]_n) (eps : R) u : (forall w, len (E *m w) <= eps * len w) ->
  (forall i j, `|D i j| <= E i j) -> len (D *m u) <= eps * len u.
Proof.
move=> nE DE; pose w : 'cV[R]_n := \col_i `|u i 0|.
have lw : len w = len u.
  by congr Num.sqrt; apply: eq_bigr => i _; rewrite !mxE -normrM -expr2 ger0_norm ?sqr_ge0 // expr2.
rewrite -lw; apply: le_trans (nE w); rewrite len_le ?len_ge0 // len_sqr.
apply: ler_sum => i _; rewrite -!expr2 -(real_normK (num_real ((D *m u) i 0))).
have h : `|(D *m u) i 0| <= (E *m w) i 0.
  rewrite !mxE; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => j _.
  by rewrite normrM mxE ler_wpmul2r.
by rewrite ler_pexpn2r ?nnegrE ?normr_ge0 // (le_trans _ h).
Qed.

(** The norm of a symmetric matrix with entries >= 0 is at most eps if E e <= eps e for one vector e > 0. *)
Theorem norm_of_E (E : 'M[R]_n) (eps : R) (e : 'I_n -> R) : 0 <= eps -> E^T = E -> (forall i j, 0 <= E i j) ->
  (forall i, 0 < e i) -> (forall i, \sum_j E i j * e j <= eps * e i) -> forall u, len (E *m u) <= eps * len u.
Proof.
move=> eps0 sE E0 e0 Ee u; pose w := E *m u.
have sym i j : E i j = E j i by rewrite -{1}sE mxE.
have one (a : 'cV[R]_n) : \sum_i \sum_j E i j * (e j / e i * a i 0 ^+ 2) <= eps * sq a.
  rewrite /sq /dot mulr_sumr; apply: ler_sum => i _; rewrite -expr2.
  have -> : \sum_j E i j * (e j / e i * a i 0 ^+ 2) = (\sum_j E i j * e j) * (a i 0 ^+ 2 / e i).
    by rewrite mulr_suml; apply: eq_bigr => j _; field; rewrite gt_eqF.
  apply: le_trans (ler_wpmul2r _ (Ee i)) _; first by rewrite divr_ge0 ?sqr_ge0 ?ltW.
  by have p1 := e0 i; move: (a i 0) => t; by_quotient (0 : R).
have schur (a b : 'cV[R]_n) : 2%:R * dot a (E *m b) <= eps * sq a + eps * sq b.
  apply: le_trans (ler_add (one a) (one b)); rewrite [X in _ <= _ + X]exchange_big -big_split /dot mulr_sumr /=.
  apply: ler_sum => i _; rewrite -big_split mxE !mulr_sumr; apply: ler_sum => j _ /=; rewrite (sym j i).
  have q0 : 0 <= E i j * (e i * e j)^-1 by rewrite mulr_ge0 // invr_ge0 mulr_ge0 ?ltW.
  have p1 := e0 i; have p2 := e0 j.
  have -> : E i j * (e j / e i * a i 0 ^+ 2) + E i j * (e i / e j * b j 0 ^+ 2) =
    2%:R * (a i 0 * (E i j * b j 0)) + E i j * (e i * e j)^-1 * (e j * a i 0 - e i * b j 0) ^+ 2.
    by field; rewrite !gt_eqF.
  by rewrite ler_addl mulr_ge0 ?sqr_ge0.
have lw0 := len_ge0 w; have lu0 := len_ge0 u.
have [->|wn] := eqVneq (len w) 0; first by rewrite mulr_ge0.
have wp : 0 < len w by rewrite lt_def wn.
have [un|un] := eqVneq (len u) 0.
  move/eqP: un; rewrite len_eq0 => /eqP ue; move: wn; by rewrite /w ue mulmx0 len0 eqxx.
have up : 0 < len u by rewrite lt_def un.
(* schur for a = |u| w, b = |w| u: 2 |u| |w| |w|^2 <= 2 eps |u|^2 |w|^2 *)
have := schur (len u *: w) (len w *: u); rewrite -scalemxAr dotZl dotZr !sqZ -/w -/(sq w) -!len_sqr.
set a := len w in wp *; set b := len u in up * => h; rewrite -subr_ge0 -(pmulr_rge0 _ (mulr_gt0 (mulr_gt0 up wp) wp)).
rewrite -(pmulr_rge0 _ (ltr0n R 2)).
by have -> : 2%:R * (b * a * a * (eps * b - a)) = eps * (b ^+ 2 * a ^+ 2) + eps * (a ^+ 2 * b ^+ 2) - 2%:R * (b * (a * a ^+ 2));
  [ring | rewrite subr_ge0].
Qed.

(** V10 "rows": the largest row sum of the absolute entries of a symmetric matrix bounds it. *)
Theorem row_sums (A : 'M[R]_n) (c : R) : A^T = A -> (forall i, \sum_j `|A i j| <= c) -> possemi (c%:M - A).
Proof.
move=> sA rows u; rewrite formD formN form_scalar subr_ge0; have [c0|c0] := leP 0 c; last first.
  suff -> : u = 0 by rewrite /form mulmx0 /sq !dot0r mulr0.
  apply/colP => i; have := le_lt_trans (rows i) c0.
  by rewrite ltNge sumr_ge0 // => j _; apply: normr_ge0.
pose E := \matrix_(i, j) `|A i j|.
have nE w : len (E *m w) <= c * len w.
  apply: (norm_of_E (e := fun _ => 1) c0) => [|i j|i|i]; rewrite ?mxE ?normr_ge0 ?ltr01 //.
    by apply/matrixP => i j; rewrite !mxE -{1}sA mxE.
  by rewrite mulr1; apply: le_trans (rows i); apply: ler_sum => j _; rewrite mxE mulr1.
have nA : len (A *m u) <= c * len u by apply: (dominated_norm u nE) => i j; rewrite mxE.
apply: le_trans (dot_le _ _) _; apply: le_trans (ler_wpmul2l (len_ge0 u) nA) _.
by rewrite mulrCA -expr2 len_sqr.
Qed.
End Norms.
