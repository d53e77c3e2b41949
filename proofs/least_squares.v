(** spec/claims/below-barrier.md: the least-squares matrix A, and a witness in its place. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives limits frobenius.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** Lemmas on the Frobenius inner product *)
Section Products.
Variable R : rcfType.
Lemma eq_below (a b : R) : a = b -> a <= b. Proof. by move=> ->. Qed.
Lemma ip_tr m n (A B : 'M[R]_(m, n)) : ip A^T B^T = ip A B.
Proof. by rewrite !ipE exchange_big; apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite !mxE. Qed.
Lemma fro_tr m n (A : 'M[R]_(m, n)) : fro A^T = fro A.
Proof. by rewrite /fro /len -[sq (vec A^T)]/(ip _ _) ip_tr. Qed.
Lemma ip_trace n (A B : 'M[R]_n) : A^T = A -> ip A B = \tr (A *m B).
Proof.
move=> sA; rewrite ipE /mxtrace exchange_big; apply: eq_bigr => i _; rewrite mxE.
by apply: eq_bigr => j _; rewrite -{1}sA mxE.
Qed.
Lemma ip_columns m n (A : 'M[R]_(m, n)) : ip A A = \sum_j sq (col j A).
Proof. by rewrite ipE exchange_big; apply: eq_bigr => j _; apply: eq_bigr => i _; rewrite !mxE. Qed.
Lemma ip_outer n (x : 'cV[R]_n) M : ip (x *m x^T) M = form M x.
Proof. by rewrite ip_trace ?outer_sym // -mulmxA mxtrace_mulC -mulmxA dot_mx mxtrace_scalar mulr1n. Qed.
Lemma ip_suml n (I : finType) (F : I -> 'M[R]_n) M : ip (\sum_i F i) M = \sum_i ip (F i) M.
Proof. by rewrite /ip -dot_suml; congr dot; rewrite /vec !linear_sum. Qed.
Lemma ip_le m n (A B : 'M[R]_(m, n)) : ip A B <= fro A * fro B. Proof. exact: dot_le. Qed.
Lemma form_le n (M : 'M[R]_n) w : `|form M w| <= fro M * sq w.
Proof.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 ?mulr_ge0 ?fro_ge0 ?sq_ge0 // real_normK ?num_real // exprMn fro_sqr ipE.
by apply: le_trans (form_frobenius _ _) _; apply: eq_below; congr (_ * _); apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite expr2.
Qed.
Lemma sq_mulmx_fro m n (A : 'M[R]_(m, n)) w : len (A *m w) <= fro A * len w.
Proof.
rewrite len_le ?mulr_ge0 ?fro_ge0 ?len_ge0 // exprMn fro_sqr ipE len_sqr.
by apply: le_trans (sq_mulmx _ _) _; apply: eq_below; congr (_ * _); apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite expr2.
Qed.
End Products.

(** ** Networks, symmetric matrices and least squares *)
Section LeastSquares.
Variable R : rcfType.
Variables (n d N : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R).
(** svec is any map of symmetric matrices to vectors with svec(A) . svec(B) = tr(A B). *)
Variable svec : 'M[R]_d -> 'cV[R]_N.
Hypothesis isometry : forall A B, A^T = A -> B^T = B -> dot (svec A) (svec B) = \tr (A *m B).
Local Notation S := (S x svec).
Definition F : 'M[R]_N := S^T *m S.
Definition matrix_loss (M : 'M[R]_d) := (\sum_i (form M (x i) - y i) ^+ 2) / 2%:R.

Lemma S_svec (M : 'M[R]_d) i : M^T = M -> (S *m svec M) i 0 = form M (x i).
Proof.
move=> sM; rewrite row_dot; have -> : (row i S)^T = svec (x i *m (x i)^T) by apply/colP => j; rewrite !mxE.
by rewrite isometry ?outer_sym // -mulmxA mxtrace_mulC -mulmxA dot_mx mxtrace_scalar mulr1n.
Qed.
Lemma F_form (M : 'M[R]_d) : M^T = M -> form F (svec M) = \sum_i form M (x i) ^+ 2.
Proof.
by move=> sM; rewrite form_gram; apply: eq_bigr => i _; rewrite S_svec // expr2.
Qed.
Lemma svec_sqr (M : 'M[R]_d) : M^T = M -> sq (svec M) = fro M ^+ 2.
Proof. by move=> sM; rewrite fro_sqr ip_trace // -isometry. Qed.

Variables (phi Phi : R).
Hypothesis phi_gt0 : 0 < phi.
Hypotheses (low : possemi (F - phi%:M)) (high : possemi (Phi%:M - F)).
Lemma F_low (M : 'M[R]_d) : M^T = M -> phi * fro M ^+ 2 <= \sum_i form M (x i) ^+ 2.
Proof. by move=> sM; have := low (svec M); rewrite formD formN form_scalar subr_ge0 F_form // svec_sqr. Qed.
Lemma F_high (M : 'M[R]_d) : M^T = M -> \sum_i form M (x i) ^+ 2 <= Phi * fro M ^+ 2.
Proof. by move=> sM; have := high (svec M); rewrite formD formN form_scalar subr_ge0 F_form // svec_sqr. Qed.

Theorem least_squares : (forall t, exists M, M^T = M /\ svec M = t) ->
  exists A, A^T = A /\ F *m svec A = S^T *m (\col_i y i).
Proof.
move=> onto; have [A [sA eA]] := onto (invmx F *m (S^T *m (\col_i y i))); exists A; split=> //.
have FT : F^T = F by rewrite /F trmx_mul trmxK.
have p0 : 0 < Num.sqrt phi by rewrite sqrtr_gt0.
by rewrite eA mulKVmx // (K_unit p0 FT) // sqr_sqrtr ?ltW.
Qed.

(** A is the least-squares matrix: svec(A) = F^-1 S^T y *)
Variable A : 'M[R]_d.
Hypotheses (A_sym : A^T = A) (A_normal : F *m svec A = S^T *m (\col_i y i)).
Lemma normal (M : 'M[R]_d) : M^T = M -> \sum_i (form A (x i) - y i) * form M (x i) = 0.
Proof.
move=> sM; have : dot (S^T *m (S *m svec A - \col_i y i)) (svec M) = 0.
  by rewrite mulmxBr mulmxA -/F A_normal subrr dot0l.
by rewrite adjoint trmxK => e; rewrite -[RHS]e; apply: eq_bigr => i _; rewrite mxE S_svec // 2!mxE S_svec.
Qed.
Lemma excess_matrix (M : 'M[R]_d) : M^T = M ->
  matrix_loss M - matrix_loss A = (\sum_i form (M - A) (x i) ^+ 2) / 2%:R.
Proof.
move=> sM; have sD : (M - A)^T = M - A by rewrite linearB /= sM A_sym.
have z := normal sD; rewrite -mulrBl; congr (_ / _).
transitivity (\sum_i (form M (x i) - y i) ^+ 2 - \sum_i (form A (x i) - y i) ^+ 2 -
  2%:R * \sum_i (form A (x i) - y i) * form (M - A) (x i)); first by rewrite z mulr0 subr0.
rewrite mulr_sumr -!sumrB.
by apply: eq_bigr => i _; rewrite formD formN; set p := form M _; set q := form A _; ring.
Qed.
Lemma least (M : 'M[R]_d) : M^T = M -> matrix_loss A <= matrix_loss M.
Proof.
move=> sM; rewrite -subr_ge0 excess_matrix // divr_ge0 ?ler0n //.
by apply: sumr_ge0 => i _; apply: sqr_ge0.
Qed.

(** The least-squares matrix is not needed exactly. *)
Section Witness.
Variable A_hat : 'M[R]_d.
Hypothesis A_hat_sym : A_hat^T = A_hat.
Definition q i := form A_hat (x i) - y i.
Definition G := fro (\sum_i q i *: (x i *m (x i)^T)).
Let D := A_hat - A.
Let sD : D^T = D. Proof. by rewrite linearB /= A_sym A_hat_sym. Qed.
Let vD : 'cV[R]_n := \col_i form D (x i).
Let sq_vD : sq vD = \sum_i form D (x i) ^+ 2. Proof. by apply: eq_bigr => i _; rewrite mxE expr2. Qed.
Lemma witness_form : sq vD <= G * fro D.
Proof.
apply: le_trans (ip_le _ _); rewrite ip_suml sq_vD.
have -> : \sum_i ip (q i *: (x i *m (x i)^T)) D = \sum_i q i * form D (x i).
  by apply: eq_bigr => i _; rewrite /ip vecZ dotZl -/(ip _ _) ip_outer.
have z := normal sD; rewrite -[X in _ <= X]subr0 -[X in _ - X]z -sumrB; apply: ler_sum => i _; rewrite /q; apply: eq_below.
have -> : form D (x i) = form A_hat (x i) - form A (x i) by rewrite /D formD formN.
by set a := form A _; set b := form A_hat _; ring.
Qed.
Lemma witness_near : fro (A - A_hat) <= G / phi.
Proof.
have -> : fro (A - A_hat) = fro D by rewrite /fro -lenN; congr len; rewrite -scaleN1r -vecZ scaleN1r opprB.
have [->|D0] := eqVneq (fro D) 0; first by rewrite divr_ge0 ?fro_ge0 ?(ltW phi_gt0).
have Dp : 0 < fro D by rewrite lt_def D0 fro_ge0.
rewrite ler_pdivl_mulr // -(ler_pmul2r Dp) mulrAC mulrC -expr2.
by apply: le_trans witness_form; rewrite sq_vD; apply: F_low.
Qed.
Lemma witness_len : len vD <= G / Num.sqrt phi.
Proof.
have p0 : 0 < Num.sqrt phi by rewrite sqrtr_gt0.
have G0 : 0 <= G by apply: fro_ge0.
have [->|D0] := eqVneq (len vD) 0; first by rewrite divr_ge0 // ltW.
have Dp : 0 < len vD by rewrite lt_def D0 len_ge0.
rewrite ler_pdivl_mulr // -(ler_pmul2r Dp).
have h : Num.sqrt phi * fro D <= len vD.
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?fro_ge0 ?len_ge0 ?(ltW p0) // exprMn sqr_sqrtr ?(ltW phi_gt0) // [len vD ^+ 2]len_sqr sq_vD.
  exact: F_low.
have := witness_form; rewrite -(len_sqr vD); set t := len vD in h *; set g := fro D in h *; set p := Num.sqrt phi in p0 h *.
by have pp := ltW p0 => a; by_sum (p * (G * g - t ^+ 2) + G * (t - p * g)).
Qed.

Theorem witness (a_lo a_hi : R) :
  [/\ fro (A - A_hat) <= G / phi,
      forall M, M^T = M -> Num.sqrt (2%:R * (matrix_loss M - matrix_loss A)) <=
        Num.sqrt (\sum_i ((form M (x i) - y i) - q i) ^+ 2) + G / Num.sqrt phi,
      possemi (A_hat - (a_lo + G / phi)%:M) -> possemi (A - a_lo%:M)
    & possemi ((a_hi - G / phi)%:M - A_hat) -> possemi (a_hi%:M - A)].
Proof.
have near w : `|form A w - form A_hat w| <= G / phi * sq w.
  rewrite -formN -formD; apply: le_trans (form_le _ _) _.
  by rewrite ler_wpmul2r ?sq_ge0 // witness_near.
split=> [|M sM|lo w|hi w]; first exact: witness_near.
- rewrite excess_matrix // mulrC divfK ?pnatr_eq0 //; apply: le_trans (ler_add (lexx _) witness_len).
  pose u : 'cV[R]_n := \col_i (form M (x i) - y i - q i).
  have -> : \sum_i ((form M (x i) - y i) - q i) ^+ 2 = sq u by apply: eq_bigr => i _; rewrite mxE expr2.
  apply: le_trans (lenD u vD); rewrite /len ler_wsqrtr //; apply: ler_sum => i _; rewrite !mxE -expr2 /q !formD !formN.
  by set a := form A _; set b := form A_hat _; set m := form M _; have -> : m - y i - (b - y i) + (b - a) = m - a by ring.
- have := lo w; have := near w; rewrite !formD !formN !form_scalar ler_norml => /andP[h _].
  set a := form A w in h *; set b := form A_hat w in h *; set s := sq w in h *; set g := G / phi in h * => h'.
  by by_sum ((b - (a_lo + g) * s) + (a - b - - (g * s))).
have := hi w; have := near w; rewrite !formD !formN !form_scalar ler_norml => /andP[_ h].
set a := form A w in h *; set b := form A_hat w in h *; set s := sq w in h *; set g := G / phi in h * => h'.
by by_sum (((a_hi - g) * s - b) + (g * s - (a - b))).
Qed.
End Witness.
End LeastSquares.
