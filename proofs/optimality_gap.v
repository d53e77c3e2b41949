(** spec/claims/optimality-gap.md: theorems P, D and S of quadratic networks. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Dual.
Variable R : realFieldType.
Variables (n d : nat) (x : 'I_n -> 'cV[R]_d) (y u : 'I_n -> R).
Definition quadratic k (v : 'I_k -> R) (w : 'I_k -> 'cV[R]_d) i := \sum_l v l * dot (w l) (x i) ^+ 2.
Definition loss (f : 'I_n -> R) := (\sum_i (f i - y i) ^+ 2) / 2%:R.
Definition Z := \sum_i u i *: (x i *m (x i)^T).
Definition D := - (\sum_i u i * y i) - (\sum_i u i ^+ 2) / 2%:R.

Lemma form_Z z : form Z z = \sum_i u i * dot z (x i) ^+ 2.
Proof. by rewrite /Z form_sum; apply: eq_bigr => i _; rewrite formZ form_outer dotC. Qed.

Lemma weak_duality k v (w : 'I_k -> 'cV[R]_d) : \sum_l v l * form Z (w l) + D <= loss (quadratic v w).
Proof.
have -> : \sum_l v l * form Z (w l) = \sum_i u i * quadratic v w i.
  under eq_bigr do rewrite form_Z mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => i _; rewrite /quadratic mulr_sumr.
  by apply: eq_bigr => l _; rewrite mulrCA.
rewrite /D /loss !mulr_suml addrA -!sumrB; apply: ler_sum => i _; set f := quadratic v w i.
by by_quotient ((f - y i - u i) ^+ 2 / 2%:R).
Qed.

Theorem P_nonnegative k v (w : 'I_k -> 'cV[R]_d) :
  possemi Z -> (forall l, 0 <= v l) -> D <= loss (quadratic v w).
Proof.
move=> pZ v0; apply: le_trans (weak_duality v w); rewrite -subr_ge0 addrK.
by apply: sumr_ge0 => l _; rewrite mulr_ge0.
Qed.
Theorem P_nonpositive k v (w : 'I_k -> 'cV[R]_d) :
  possemi (- Z) -> (forall l, v l <= 0) -> D <= loss (quadratic v w).
Proof.
move=> pZ v0; apply: le_trans (weak_duality v w); rewrite -subr_ge0 addrK.
apply: sumr_ge0 => l _; rewrite mulr_le0 // -oppr_ge0 -formN; exact: pZ.
Qed.

(** Rank-deficient X: it suffices to test Z on rows that span all rows. *)
Definition X_of s (I : 'I_s -> 'I_n) : 'M[R]_(s, d) := \matrix_(j, c) x (I j) c 0.
Theorem P_rank (s : nat) (I : 'I_s -> 'I_n) (B : 'M[R]_(n, s)) :
  (forall i, x i = \sum_j B i j *: x (I j)) -> posdef (X_of I *m Z *m (X_of I)^T) -> possemi Z.
Proof.
move=> span; set X := X_of I => pM z.
have xB i : x i = X^T *m (row i B)^T.
  by rewrite span; apply/colP => j; rewrite summxE mxE; apply: eq_bigr => a _; rewrite !mxE mulrC.
have formM b : form (X *m Z *m X^T) b = form Z (X^T *m b) by rewrite /form adjoint trmxK !mulmxA.
have gram_free : row_free (X *m X^T).
  apply: inj_row_free => b bG; apply/eqP; apply: contraT => b0.
  have : b^T != 0 by rewrite -(inj_eq (@trmx_inj _ _ _)) trmxK trmx0.
  move/pM; rewrite formM; suff -> : X^T *m b^T = 0 by rewrite /form mulmx0 dot0r ltxx.
  apply/eqP; rewrite -sq_eq0 -form_gram trmxK /form -[X *m X^T]trmxK trmx_mul trmxK -trmx_mul bG.
  by rewrite trmx0 dot0r.
have gu : X *m X^T \in unitmx by rewrite -row_free_unit.
pose b := invmx (X *m X^T) *m (X *m z).
suff -> : form Z z = form Z (X^T *m b) by rewrite -formM (posdef_semi pM).
have e (p : 'cV[R]_d) c : dot p (X^T *m c) = dot (X *m p) c by rewrite adjoint.
rewrite !form_Z; apply: eq_bigr => i _; congr (_ * _ ^+ 2); rewrite xB !e mulmxA /b.
by rewrite (mulmxA (X *m X^T)) mulmxV // mul1mx.
Qed.

(** Theorem D: weight decay w on the hidden weights, |v_l| <= v_max, c = w/(2 v_max). *)
Section Decay.
Variables (decay v_max : R).
Hypotheses (decay_gt0 : 0 < decay) (v_max_gt0 : 0 < v_max).
Definition c := decay / (2%:R * v_max).

Theorem D_bound k v (w : 'I_k -> 'cV[R]_d) : (forall l, `|v l| <= v_max) ->
  (forall l, 0 < v l -> possemi (Z + c%:M)) -> (forall l, v l < 0 -> possemi (c%:M - Z)) ->
  D <= loss (quadratic v w) + decay / 2%:R * \sum_l sq (w l).
Proof.
move=> hv low high; rewrite -ler_subl_addr; apply: le_trans (weak_duality v w).
rewrite addrC ler_add2r mulr_sumr -sumrN; apply: ler_sum => l _.
have e : decay / 2%:R = c * v_max by rewrite /c; field; rewrite gt_eqF.
have c0 : 0 <= c by rewrite /c; nonneg.
have s0 := sq_ge0 (w l); have := hv l; rewrite e; have [v0|v0|v0] := ltgtP (v l) 0 => hvl.
- have up : 0 <= c * sq (w l) - form Z (w l) by rewrite -form_scalar -formN -formD; apply: high v0 _.
  have v1 : 0 <= - v l by rewrite oppr_ge0 ltW.
  rewrite (ltr0_norm v0) in hvl.
  by by_sum (- v l * (c * sq (w l) - form Z (w l)) + c * sq (w l) * (v_max - - v l)).
- have lo : 0 <= form Z (w l) + c * sq (w l) by rewrite -form_scalar -formD; apply: low v0 _.
  rewrite (gtr0_norm v0) in hvl.
  by by_sum (v l * (form Z (w l) + c * sq (w l)) + c * sq (w l) * (v_max - v l)).
- by rewrite v0 mul0r oppr_le0; nonneg.
Qed.
End Decay.
End Dual.

Section Span.
Variable R : rcfType.
Variables (n d N : nat) (x : 'I_n -> 'cV[R]_d) (y : 'cV[R]_n).
(** svec is any map of symmetric matrices to vectors with svec(A) . svec(B) = tr(A B). *)
Variable svec : 'M[R]_d -> 'cV[R]_N.
Hypothesis isometry : forall A B, A^T = A -> B^T = B -> dot (svec A) (svec B) = \tr (A *m B).
Definition A : 'M[R]_(n, N) := \matrix_(i, j) svec (x i *m (x i)^T) j 0.
Definition outputs k (v : 'I_k -> R) (w : 'I_k -> 'cV[R]_d) : 'cV[R]_n := \col_i quadratic x v w i.

Lemma outputs_span k v (w : 'I_k -> 'cV[R]_d) :
  outputs v w = A *m svec (\sum_l v l *: (w l *m (w l)^T)).
Proof.
apply/colP => i; rewrite mxE row_dot; have -> : (row i A)^T = svec (x i *m (x i)^T).
  by apply/colP => j; rewrite !mxE.
have sym : (\sum_l v l *: (w l *m (w l)^T))^T = \sum_l v l *: (w l *m (w l)^T).
  by rewrite raddf_sum; apply: eq_bigr => l _; rewrite /= linearZ /= outer_sym.
rewrite isometry ?outer_sym // mulmx_sumr raddf_sum; apply: eq_bigr => l _ /=.
by rewrite -scalemxAr mxtraceZ trace_outers (dotC (x i)).
Qed.

Lemma shift_gap m (B : 'M[R]_(n, m)) (a : R) (r : 'cV[R]_n) (t : 'cV[R]_m) :
  0 < a -> possemi (B^T *m B - (a ^+ 2)%:M) ->
  sq r - sq (r + B *m t) <= form (invmx (B^T *m B)) (B^T *m r).
Proof.
move=> a0 low; have sK : (B^T *m B)^T = B^T *m B by rewrite trmx_mul trmxK.
have ku := K_unit a0 sK low; have := inv_ge0 a0 sK low (B^T *m r + B^T *m B *m t).
rewrite (inv_add sK) (mulKmx ku) (form_inv a0 sK low) form_gram adjoint trmxK.
rewrite sqD; set f := form _ _; set g := dot r _; set h := sq (B *m t) => pos.
by by_sum (f + 2%:R * g + h).
Qed.

(** Two vectors of the range of A: the excess of the first is at most |Pi r|^2/2. *)
Definition E_of m (B : 'M[R]_(n, m)) (mu : R) (r : 'cV[R]_n) z :=
  len (B *m z) + len (B^T *m r - B^T *m B *m z) / Num.sqrt mu.
Lemma range_gap m (B : 'M[R]_(n, m)) (mu : R) (p q : 'cV[R]_m) z : 0 < mu ->
  possemi (B^T *m B - mu%:M) ->
  sq (B *m p - y) / 2%:R - sq (B *m q - y) / 2%:R <= E_of B mu (B *m p - y) z ^+ 2 / 2%:R.
Proof.
move=> mu0 low; set r := B *m p - y; set E := E_of _ _ _ _; rewrite -mulrBl ler_pmul2r ?invr_gt0 ?ltr0n //.
pose K := B^T *m B; pose h := B^T *m r.
have s0 : 0 < Num.sqrt mu by rewrite sqrtr_gt0.
have sK : K^T = K by rewrite /K trmx_mul trmxK.
have lowK : possemi (K - (Num.sqrt mu ^+ 2)%:M) by rewrite sqr_sqrtr ?ltW.
have hE : weighted K h <= E.
  by have := P2 s0 sK lowK h z; rewrite form_gram.
have E0 : 0 <= E by apply: le_trans hE; apply: sqrtr_ge0.
have hE2 : form (invmx K) h <= E ^+ 2.
  by rewrite -[X in X <= _](sqr_sqrtr (inv_ge0 s0 sK lowK h)) ler_pexpn2r ?nnegrE ?sqrtr_ge0.
apply: le_trans hE2.
have -> : B *m q - y = r + B *m (q - p) by rewrite /r mulmxBr [RHS]addrC addrA subrK.
exact: (shift_gap _ _ s0 lowK).
Qed.

Theorem S k v (w : 'I_k -> 'cV[R]_d) k' v' (w' : 'I_k' -> 'cV[R]_d) (mu : R) (z : 'cV[R]_N) :
  0 < mu -> possemi (A^T *m A - mu%:M) ->
  sq (outputs v w - y) / 2%:R - sq (outputs v' w' - y) / 2%:R <= E_of A mu (outputs v w - y) z ^+ 2 / 2%:R.
Proof. by move=> mu0 low; rewrite !outputs_span; apply: range_gap. Qed.
End Span.
