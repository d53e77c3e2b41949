(** spec/claims/primitives.md: P1 (positive definite), P2 (solve), P3 (quartic form). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section P1.
Variable R : realFieldType.
Definition frobenius2 m n (A : 'M[R]_(m, n)) := \sum_i \sum_j A i j ^+ 2.

Lemma row_dot m n (A : 'M[R]_(m, n)) u i : (A *m u) i 0 = dot (row i A)^T u.
Proof. by rewrite mxE; apply: eq_bigr => j _; rewrite !mxE. Qed.
Lemma sq_mulmx m n (A : 'M[R]_(m, n)) u : sq (A *m u) <= frobenius2 A * sq u.
Proof.
rewrite /sq {1}/dot mulr_suml; apply: ler_sum => i _; rewrite -expr2 row_dot.
apply: le_trans (cauchy_schwarz _ _) _; rewrite ler_wpmul2r ?sq_ge0 //.
by apply: ler_sum => j _; rewrite !mxE -expr2.
Qed.
Lemma form_frobenius n (E : 'M[R]_n) u : form E u ^+ 2 <= frobenius2 E * sq u ^+ 2.
Proof.
apply: le_trans (cauchy_schwarz _ _) _; rewrite expr2 mulrA [X in _ <= X]mulrC.
by rewrite ler_wpmul2l ?sq_ge0 // sq_mulmx.
Qed.

Lemma near_identity n (T : 'M[R]_n) : frobenius2 (T - 1%:M) < 1 -> posdef T.
Proof.
move=> small u u0; have s0 : 0 < sq u by rewrite sq_gt0.
have e : form (T - 1%:M) u = form T u - sq u by rewrite formD formN form1.
have : form (T - 1%:M) u ^+ 2 < sq u ^+ 2.
  apply: le_lt_trans (form_frobenius _ _) _.
  by rewrite -[X in _ < X]mul1r ltr_pmul2r // exprn_gt0.
rewrite e -(real_normK (num_real _)) ltr_pexpn2r ?nnegrE ?normr_ge0 ?(ltW s0) //.
by rewrite ltr_norml => /andP[lo _]; rewrite -(ltr_add2r (- sq u)) sub0r.
Qed.

Theorem P1 n (A C : 'M[R]_n) : frobenius2 (C *m A *m C^T - 1%:M) < 1 -> posdef A.
Proof.
move/near_identity => pT.
have free : row_free C.
  apply: inj_row_free => y yC; apply/eqP; apply: contraT => y0.
  have : y^T != 0 by rewrite -(inj_eq (@trmx_inj _ _ _)) trmxK trmx0.
  by move/pT; rewrite /form -mulmxA -trmx_mul yC trmx0 mulmx0 dot0r ltxx.
have Cu : C \in unitmx by rewrite -row_free_unit.
have Ctu : C^T \in unitmx by rewrite unitmx_tr.
move=> z z0; pose x := invmx C^T *m z.
have zx : z = C^T *m x by rewrite /x mulKVmx.
have x0 : x != 0 by apply: contraNneq z0 => xe; rewrite zx xe mulmx0.
by have := pT x x0; rewrite zx /form adjoint trmxK !mulmxA.
Qed.
End P1.

Section P2.
Variable R : rcfType.
Variables (n : nat) (K : 'M[R]_n) (a : R).
Hypotheses (a_gt0 : 0 < a) (symmetric : K^T = K) (low : possemi (K - (a ^+ 2)%:M)).

Lemma K_low u : a ^+ 2 * sq u <= form K u.
Proof. by have := low u; rewrite formD formN form_scalar subr_ge0. Qed.
Lemma K_pos : posdef K.
Proof. by move=> u u0; apply: lt_le_trans (K_low u); rewrite mulr_gt0 ?exprn_gt0 ?sq_gt0. Qed.
Lemma K_unit : K \in unitmx.
Proof.
rewrite -row_free_unit; apply: inj_row_free => y yK; apply/eqP; apply: contraT => y0.
have : y^T != 0 by rewrite -(inj_eq (@trmx_inj _ _ _)) trmxK trmx0.
by move/K_pos; rewrite /form -[K]trmxK -trmx_mul symmetric yK trmx0 dot0r ltxx.
Qed.
Lemma Kinv_dot r p : dot r (invmx K *m (K *m p)) = dot r p.
Proof. by rewrite mulKmx ?K_unit. Qed.
Lemma Kinv_sym u v : dot u (invmx K *m v) = dot (invmx K *m u) v.
Proof. by rewrite adjoint trmx_inv symmetric. Qed.
Lemma form_inv p : form (invmx K) (K *m p) = form K p.
Proof. by rewrite /form Kinv_dot dotC. Qed.
Lemma inv_ge0 q : 0 <= form (invmx K) q.
Proof. by rewrite -[q](mulKVmx K_unit) form_inv (posdef_semi K_pos). Qed.
Lemma inv_cs u v : dot u (invmx K *m v) ^+ 2 <= form (invmx K) u * form (invmx K) v.
Proof.
have [->|v0] := eqVneq v 0; first by rewrite mulmx0 dot0r expr0n /= mulr_ge0 ?inv_ge0.
set f := form (invmx K) v; set g := dot u _.
have fp : 0 < f.
  rewrite /f -[v](mulKVmx K_unit) form_inv; apply: K_pos.
  by apply: contraNneq v0 => e; rewrite -[v](mulKVmx K_unit) e mulmx0.
have := inv_ge0 (f *: u - g *: v).
rewrite /form !mulmxBr -!scalemxAr !dotBl !dotBr !dotZl !dotZr -/g -/(form _ u) -/(form _ v) -/f.
have -> : dot v (invmx K *m u) = g by rewrite Kinv_sym dotC.
set fu := form _ u.
have -> : f * (f * fu) - f * (g * g) - (g * (f * g) - g * (g * f)) = f * (fu * f - g ^+ 2) by ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.
Lemma inv_add (u v : 'cV[R]_n) : form (invmx K) (u + v) = form (invmx K) u + 2%:R * dot u (invmx K *m v) + form (invmx K) v.
Proof.
have x : dot v (invmx K *m u) = dot u (invmx K *m v) by rewrite Kinv_sym dotC.
rewrite /form mulmxDr !dotDl !dotDr x.
by set A := dot u (_ *m u); set B := dot u (_ *m v); set C := dot v (_ *m v); ring.
Qed.
Lemma inv_high q : form (invmx K) q <= sq q / a ^+ 2.
Proof.
have a2 : 0 < a ^+ 2 by rewrite exprn_gt0.
have [p ->] : exists p, q = K *m p by exists (invmx K *m q); rewrite mulKVmx ?K_unit.
rewrite form_inv ler_pdivl_mulr //.
have [->|f0] := eqVneq (form K p) 0; first by rewrite mul0r sq_ge0.
have fp : 0 < form K p by rewrite lt_def f0 (posdef_semi K_pos).
have cs : form K p ^+ 2 <= sq p * sq (K *m p) by apply: cauchy_schwarz.
rewrite -(ler_pmul2l fp).
have lo := K_low p; have s0 := sq_ge0 (K *m p).
apply: le_trans (_ : a ^+ 2 * (sq p * sq (K *m p)) <= _); last first.
  by rewrite mulrA ler_wpmul2r.
by rewrite mulrA -expr2 mulrC ler_wpmul2l // ltW.
Qed.

Definition weighted r := Num.sqrt (form (invmx K) r).   (* sqrt(r^T K^{-1} r) *)

Theorem P2 r z : weighted r <= Num.sqrt (form K z) + len (r - K *m z) / a.
Proof.
set s := Num.sqrt (form K z); set q := r - K *m z; have s0 : 0 <= s by apply: sqrtr_ge0.
have l0 : 0 <= len q / a by rewrite divr_ge0 ?len_ge0 ?ltW.
rewrite /weighted -(@ler_pexpn2r _ 2) ?nnegrE ?sqrtr_ge0 ?addr_ge0 // sqr_sqrtr ?inv_ge0 //.
have -> : r = K *m z + q by rewrite /q addrC subrK.
have e1 : form (invmx K) (K *m z) = s ^+ 2 by rewrite form_inv sqr_sqrtr // (posdef_semi K_pos).
have e2 : form (invmx K) q <= (len q / a) ^+ 2 by rewrite expr_div_n len_sqr inv_high.
have cs := inv_cs (K *m z) q.
have cross : dot (K *m z) (invmx K *m q) <= s * (len q / a).
  apply: le_trans (ler_norm _) _; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 ?(mulr_ge0 s0 l0) //.
  rewrite real_normK ?num_real // exprMn; apply: le_trans cs _; rewrite e1.
  by rewrite ler_wpmul2l ?sqr_ge0.
rewrite inv_add.
rewrite e1; set c := dot _ _ in cross *; set f := form _ q in e2 *; set t := len q / a in cross e2 *.
by by_sum (2%:R * (s * t - c) + (t ^+ 2 - f)).
Qed.

Theorem P2_lower r z : z != 0 -> `|dot r z| / Num.sqrt (form K z) <= weighted r.
Proof.
move=> z0; have fp := K_pos z0; have sp : 0 < Num.sqrt (form K z) by rewrite sqrtr_gt0.
rewrite ler_pdivr_mulr // -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 ?mulr_ge0 ?sqrtr_ge0 //.
rewrite real_normK ?num_real // exprMn !sqr_sqrtr ?inv_ge0 ?(ltW fp) //.
by have := inv_cs r (K *m z); rewrite Kinv_dot form_inv.
Qed.
End P2.

Section P3.
Variable R : realFieldType.
Variables (n d : nat) (x : 'I_n -> 'cV[R]_d) (q : 'I_n -> R) (kappa : R).
Hypothesis q_ge0 : forall i, 0 <= q i.
Definition quartic a := \sum_i q i * dot (x i) a ^+ 4.

Theorem P3_rows a : posdef (kappa%:M - \sum_i (q i * sq (x i)) *: (x i *m (x i)^T)) ->
  sq a = 1 -> quartic a < kappa.
Proof.
move=> pd a1; have a0 : a != 0 by rewrite -sq_gt0 a1 ltr01.
have := pd a a0; rewrite formD formN form_scalar a1 mulr1 subr_gt0; apply: le_lt_trans.
rewrite form_sum; apply: ler_sum => i _; rewrite formZ form_outer -mulrA ler_wpmul2l //.
have := cauchy_schwarz (x i) a; rewrite a1 mulr1 => cs.
by rewrite (exprM _ 2 2) [X in X <= _]expr2 ler_wpmul2r ?sqr_ge0.
Qed.

(** svec is any map of symmetric matrices to vectors with svec(A) . svec(B) = tr(A B). *)
Variables (N : nat) (svec : 'M[R]_d -> 'cV[R]_N).
Hypothesis isometry : forall A B, A^T = A -> B^T = B -> dot (svec A) (svec B) = \tr (A *m B).
Definition S : 'M[R]_(n, N) := \matrix_(i, j) svec (x i *m (x i)^T) j 0.
Definition ones := svec 1%:M.

Lemma svec_outer (v z : 'cV[R]_d) : dot (svec (v *m v^T)) (svec (z *m z^T)) = dot v z ^+ 2.
Proof. by rewrite isometry ?outer_sym // trace_outers. Qed.

Theorem P3_svec a (t : R) :
  posdef (kappa%:M - S^T *m diag_mx (\row_i q i) *m S + t *: (ones *m ones^T - 1%:M)) ->
  sq a = 1 -> quartic a < kappa.
Proof.
move=> pd a1; pose s := svec (a *m a^T).
have s1 : sq s = 1 by rewrite /s /sq svec_outer -/(sq a) a1 expr1n.
have us : dot ones s = 1.
  by rewrite /ones /s isometry ?outer_sym ?trmx1 // mul1mx mxtrace_mulC dot_mx mxtrace_scalar -/(sq a) a1.
have s0 : s != 0 by rewrite -sq_gt0 s1 ltr01.
have := pd s s0; rewrite !formD formZ !formD !formN form_outer form1 form_scalar us s1 expr1n subrr mulr0 addr0 mulr1.
rewrite subr_gt0; apply: le_lt_trans.
rewrite /form -!mulmxA -adjoint /quartic /dot; apply: ler_sum => i _.
have -> : (S *m s) i 0 = dot (x i) a ^+ 2.
  rewrite row_dot; have -> : (row i S)^T = svec (x i *m (x i)^T).
    by apply/colP => j; rewrite !mxE.
  by rewrite /s svec_outer.
rewrite mul_diag_mx !mxE.
have -> : \sum_j S i j * s j 0 = dot (x i) a ^+ 2.
  by rewrite -svec_outer -/s; apply: eq_bigr => j _; rewrite mxE.
by rewrite -/(dot (x i) a) [X in _ <= X]mulrCA -exprD.
Qed.
End P3.
