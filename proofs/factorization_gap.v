(** spec/claims/factorization-gap.md: theorem EY, no matrix of rank at most r is closer, but for the gap. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Trace.
Variable R : realFieldType.
Lemma frobenius_trace m n (A : 'M[R]_(m, n)) : frobenius2 A = \tr (A^T *m A).
Proof.
rewrite /frobenius2 exchange_big; apply: eq_bigr => j _; rewrite mxE.
by apply: eq_bigr => i _; rewrite mxE expr2.
Qed.
Lemma frobeniusN m n (A : 'M[R]_(m, n)) : frobenius2 (- A) = frobenius2 A.
Proof. by apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite mxE sqrrN. Qed.
Lemma frobenius_ge0 m n (A : 'M[R]_(m, n)) : 0 <= frobenius2 A.
Proof. by apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; apply: sqr_ge0. Qed.
Lemma traceB n (A B : 'M[R]_n) : \tr (A - B) = \tr A - \tr B.
Proof. by rewrite linearB. Qed.
Lemma trace_ge0 n (P : 'M[R]_n) : possemi P -> 0 <= \tr P.
Proof.
move=> pP; apply: sumr_ge0 => i _; have := pP (delta_mx i 0).
rewrite /form /dot (bigD1 i) //= big1 => [|j /negbTE ji]; last by rewrite mxE ji mul0r.
rewrite mxE !eqxx mul1r addr0 mxE (bigD1 i) //= big1 => [|j /negbTE ji]; last by rewrite [delta_mx _ _ _ _]mxE ji mulr0.
by rewrite [delta_mx _ _ _ _]mxE !eqxx mulr1 addr0.
Qed.
Lemma projected_ge0 n (P E : 'M[R]_n) : E^T = E -> E *m E = E -> possemi P -> 0 <= \tr (P *m E).
Proof.
move=> Et EE pP; rewrite -EE mulmxA mxtrace_mulC mulmxA; apply: trace_ge0 => u.
by have := pP (E *m u); rewrite /form adjoint Et !mulmxA.
Qed.

Lemma off_span m n (Y : 'M[R]_(m, n)) (E : 'M[R]_n) : E^T = E -> E *m E = E ->
  frobenius2 (Y *m (1%:M - E)) = frobenius2 Y - \tr (Y^T *m Y *m E).
Proof.
move=> Et EE; pose F : 'M[R]_n := 1%:M - E.
have Ft : F^T = F by rewrite /F linearB /= trmx1 Et.
have FF : F *m F = F by rewrite /F mulmxBr mulmx1 mulmxBl mul1mx EE subrr subr0.
rewrite -/F !frobenius_trace trmx_mul Ft.
have -> : \tr (F *m Y^T *m (Y *m F)) = \tr (F *m (Y^T *m Y)) by rewrite mulmxA mxtrace_mulC !mulmxA FF.
by rewrite /F mulmxBl mul1mx linearB /= [\tr (E *m _)]mxtrace_mulC.
Qed.
Lemma on_span m n (Y : 'M[R]_(m, n)) (E : 'M[R]_n) : E^T = E -> E *m E = E ->
  frobenius2 (Y *m E) = \tr (Y^T *m Y *m E).
Proof.
by move=> Et EE; rewrite frobenius_trace trmx_mul Et mulmxA mxtrace_mulC !mulmxA EE -mulmxA mxtrace_mulC.
Qed.

(** The orthogonal projector on the rows of B, if they are independent. *)
Definition projector r n (B : 'M[R]_(r, n)) := B^T *m (invmx (B *m B^T) *m B).
Variables (r n : nat) (B : 'M[R]_(r, n)).
Hypothesis free : row_free B.
Lemma gram_unit : B *m B^T \in unitmx.
Proof.
rewrite -row_free_unit; apply: inj_row_free => y yG.
have e : sq (B^T *m y^T) = 0.
  by rewrite -form_gram trmxK /form -[B *m B^T]trmxK trmx_mul trmxK -trmx_mul yG trmx0 dot0r.
have : y *m B = 0.
  by apply: (can_inj (@trmxK _ _ _)); rewrite trmx_mul trmx0; apply/eqP; rewrite -sq_eq0 e.
by move/(congr1 (mulmx^~ (pinvmx B))); rewrite mul0mx -mulmxA mulmxVp // mulmx1.
Qed.
Lemma projector_sym : (projector B)^T = projector B.
Proof. by rewrite /projector !trmx_mul trmx_inv trmx_mul !trmxK -mulmxA. Qed.
Lemma projector_fixes : B *m projector B = B.
Proof. by rewrite /projector !mulmxA mulmxV ?gram_unit // mul1mx. Qed.
Lemma projector_idem : projector B *m projector B = projector B.
Proof. by rewrite {1}/projector -!mulmxA projector_fixes. Qed.
Lemma projector_trace : \tr (projector B) = r%:R.
Proof. by rewrite /projector mxtrace_mulC -mulmxA mulVmx ?gram_unit // mxtrace1. Qed.
End Trace.

Section EY.
Variable R : realFieldType.
Variables (m n r : nat) (M : 'M[R]_(m, n)) (S : 'M[R]_(n, r)) (a b tau : R).
Hypothesis independent : row_free S^T.
Hypothesis above : forall z, a * sq (S *m z) <= sq (M *m (S *m z)).                 (* (i) *)
Hypothesis below : forall x, S^T *m x = 0 -> sq (M *m x) <= b * sq x.               (* (ii) *)
Hypotheses (tau_b : b < tau) (tau_ge0 : 0 <= tau).                                  (* (iii) *)
Definition Q := projector S^T.
Let A := M^T *m M.
Definition cross := (1%:M - Q) *m A *m Q.
Definition c := Num.max 0 (tau - a).
Definition delta := frobenius2 cross / (tau - b) + r%:R * c.

Let Qt : Q^T = Q. Proof. exact: projector_sym. Qed.
Let QQ : Q *m Q = Q. Proof. exact: projector_idem. Qed.
Let gap_gt0 : 0 < tau - b. Proof. by rewrite subr_gt0. Qed.
Let At : A^T = A. Proof. by rewrite /A trmx_mul trmxK. Qed.
Definition D := Q *m (A - tau%:M) *m Q + (tau - b)^-1 *: (cross^T *m cross).

Lemma span_Q (x : 'cV[R]_n) : exists z, Q *m x = S *m z.
Proof. by eexists; rewrite /Q /projector trmxK -mulmxA; reflexivity. Qed.
Lemma ortho_Q (x : 'cV[R]_n) : S^T *m (x - Q *m x) = 0.
Proof. by rewrite mulmxBr mulmxA projector_fixes // subrr. Qed.
Lemma form_D (x : 'cV[R]_n) : form D x = form (A - tau%:M) (Q *m x) + sq ((1%:M - Q) *m (A *m (Q *m x))) / (tau - b).
Proof.
have -> : form (A - tau%:M) (Q *m x) = dot x (Q *m ((A - tau%:M) *m (Q *m x))) by rewrite /form adjoint Qt.
by rewrite /D formD formZ form_gram [_^-1 * _]mulrC /cross /form !mulmxA.
Qed.

Lemma dominated : possemi (D - (A - tau%:M)).
Proof.
move=> x; rewrite formD formN form_D; set p := Q *m x; set w := (1%:M - Q) *m _.
have [q qe] : exists q, q = x - p by exists (x - p).
have xe : x = p + q by rewrite qe addrC subrK.
have Sq : sq (M *m q) <= b * sq q by apply: below; rewrite qe; apply: ortho_Q.
have Qq : Q *m q = 0 by rewrite qe mulmxBr /p mulmxA QQ subrr.
have wq : dot (A *m p) q = dot w q.
  by rewrite /w mulmxBl mul1mx dotBl [dot (Q *m _) q]adjoint Qt Qq dot0r subr0.
have pq : dot p q = 0 by rewrite /p adjoint Qt Qq dot0r.
have e : form (A - tau%:M) x = form (A - tau%:M) p + 2%:R * dot w q + (sq (M *m q) - tau * sq q).
  rewrite !formD !formN !form_scalar xe sqD pq -form_gram -/A -wq.
  have -> : form A (p + q) = form A p + 2%:R * dot (A *m p) q + form A q.
    have s : dot p (A *m q) = dot (A *m p) q by rewrite adjoint At.
    rewrite /form mulmxDr !dotDl !dotDr s (dotC q); set u1 := dot p _; set u2 := dot q _; set u3 := dot _ q; ring.
  set u1 := form A p; set u2 := form A q; set u3 := sq p; set u4 := sq q; set u5 := dot _ q; ring.
rewrite e; have := sq_ge0 (w - (tau - b) *: q); rewrite sqB sqZ dotZr.
move: Sq gap_gt0; set W := sq w; set wqd := dot w q; set F := form _ p; set G := sq (M *m q); set H := sq q => Sq g0 pos.
by by_quotient ((W - 2%:R * ((tau - b) * wqd) + (tau - b) ^+ 2 * H) / (tau - b) + (b * H - G)).
Qed.

Lemma lifted : possemi (D + c *: Q).
Proof.
move=> x; rewrite formD formZ form_D.
have fQ : form Q x = sq (Q *m x) by rewrite -form_gram Qt QQ.
have [z pz] := span_Q x; have := above z; rewrite -pz fQ formD formN form_scalar form_gram => lo.
have c1 : tau - a <= c by rewrite /c le_maxr lexx orbT.
have s0 := sq_ge0 (Q *m x); have s1 := sq_ge0 ((1%:M - Q) *m (A *m (Q *m x))).
set w := sq ((1%:M - Q) *m _) in s1 *; set p := sq (Q *m x) in s0 lo *; set t := sq (M *m _) in lo *.
have w0 : 0 <= w / (tau - b) by nonneg.
have -> : t - tau * p + w / (tau - b) + c * p = (t - a * p) + (c - (tau - a)) * p + w / (tau - b) by ring.
by rewrite addr_ge0 // addr_ge0 ?mulr_ge0 ?subr_ge0.
Qed.

Lemma trace_D : \tr D = \tr (A *m Q) - tau * r%:R + frobenius2 cross / (tau - b).
Proof.
rewrite /D mxtraceD mxtraceZ -frobenius_trace [_^-1 * _]mulrC; congr (_ + _).
rewrite mxtrace_mulC mulmxA QQ mxtrace_mulC mulmxBl linearB /=; congr (_ - _).
by rewrite mul_scalar_mx mxtraceZ projector_trace.
Qed.

Theorem EY (X : 'M[R]_(m, n)) : (\rank X <= r)%N ->
  frobenius2 (M *m (1%:M - Q)) - delta <= frobenius2 (X - M).
Proof.
move=> rk; pose P := projector (row_base X).
have free := row_base_free X.
have Pt : P^T = P := projector_sym _.
have PP : P *m P = P := projector_idem free.
have XP : X *m P = X.
  have /submxP[Y XY] : (X <= row_base X)%MS by rewrite eq_row_base.
  by rewrite {1}XY -mulmxA projector_fixes // -XY.
have h1 : frobenius2 (M *m (1%:M - P)) <= frobenius2 (X - M).
  have -> : frobenius2 (M *m (1%:M - P)) = frobenius2 ((X - M) *m (1%:M - P)).
    have z : X *m (1%:M - P) = 0 by rewrite mulmxBr mulmx1 XP subrr.
    by rewrite mulmxBl z sub0r frobeniusN.
  rewrite off_span // ler_subl_addr ler_addl; apply: projected_ge0 => // u.
  by rewrite form_gram sq_ge0.
apply: le_trans h1; rewrite !off_span // -/A.
have g1 := projected_ge0 Pt PP dominated.
have g2 : 0 <= \tr ((D + c *: Q) *m (1%:M - P)).
  apply: projected_ge0 lifted; first by rewrite linearB /= trmx1 Pt.
  by rewrite mulmxBr mulmx1 mulmxBl mul1mx PP subrr subr0.
have g3 : 0 <= \tr (Q *m P) by apply: projected_ge0 => // u; rewrite -{1}QQ -{1}Qt form_gram sq_ge0.
have c0 : 0 <= c by rewrite /c le_maxr lexx.
have tP : \tr P = (\rank X)%:R by rewrite projector_trace.
have tQ : \tr Q = r%:R by rewrite projector_trace.
have e1 : \tr ((D - (A - tau%:M)) *m P) = \tr (D *m P) - (\tr (A *m P) - tau * (\rank X)%:R).
  by rewrite mulmxBl (mulmxBl A) mul_scalar_mx !traceB mxtraceZ tP.
have e2 : \tr ((D + c *: Q) *m (1%:M - P)) =
    \tr (A *m Q) - tau * r%:R + frobenius2 cross / (tau - b) + c * r%:R - (\tr (D *m P) + c * \tr (Q *m P)).
  rewrite mulmxBr mulmx1 traceB (mxtraceD D) trace_D mxtraceZ tQ mulmxDl (mxtraceD (D *m P)).
  by rewrite -scalemxAl mxtraceZ.
move: g1 g2; rewrite e1 e2 /delta.
have rr : (\rank X)%:R <= r%:R :> R by rewrite ler_nat.
set k := (\rank X)%:R in rr *; set F := _ / (tau - b); set t1 := \tr (A *m Q); set t2 := \tr (A *m P).
set t3 := \tr (D *m P); set t4 := \tr (Q *m P) in g3 *; set N := frobenius2 M => g1 g2.
by by_sum ((t3 - (t2 - tau * k)) + (t1 - tau * r%:R + F + c * r%:R - (t3 + c * t4)) + c * t4 + tau * (r%:R - k)).
Qed.

(** Hence the gap of the factors P S^T. *)
Theorem EY_gap (P : 'M[R]_(m, r)) (X : 'M[R]_(m, n)) : (\rank X <= r)%N ->
  frobenius2 (P *m S^T - M) / 2%:R - frobenius2 (X - M) / 2%:R
    <= (frobenius2 ((P *m S^T - M) *m Q) + delta) / 2%:R.
Proof.
move=> rk; have := EY rk; set Y := P *m S^T - M.
have e : frobenius2 Y = frobenius2 (Y *m Q) + frobenius2 (M *m (1%:M - Q)).
  have -> : frobenius2 (M *m (1%:M - Q)) = frobenius2 (Y *m (1%:M - Q)).
    rewrite /Y mulmxBl -(mulmxA P) [S^T *m (1%:M - Q)]mulmxBr mulmx1 projector_fixes // subrr mulmx0 sub0r frobeniusN //.
  by rewrite off_span // on_span // addrC subrK.
rewrite e -mulrBl ler_pmul2r ?invr_gt0 ?ltr0n // => h.
set f1 := frobenius2 (Y *m Q); set f2 := frobenius2 (M *m _) in h *; set f3 := frobenius2 (X - M) in h *.
by by_sum (f3 - (f2 - delta)).
Qed.
End EY.
