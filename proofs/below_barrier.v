(** spec/claims/below-barrier.md: gradient descent on a quadratic network reaches the global minimum. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives limits frobenius least_squares quadratic_network.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** The theorem *)
Section Descent.
Variable R : rcfType.
Variables (n d k N : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (v : 'I_k -> R).
Variable svec : 'M[R]_d -> 'cV[R]_N.
Hypothesis isometry : forall A B, A^T = A -> B^T = B -> dot (svec A) (svec B) = \tr (A *m B).
Local Notation F := (F x svec). Local Notation S := (S x svec).
Local Notation loss := (loss x y v). Local Notation gradient := (gradient x y v). Local Notation B := (B v).
Local Notation Z := (Z x y v). Local Notation f := (f x v). Local Notation weighted := (weighted v).
Variables (phi Phi a_lo a_hi E0 eta v_min v_max : R) (A : 'M[R]_d) (W0 : 'M[R]_(k, d)).
Definition excess W := loss W - matrix_loss x y A.
Definition tau := Num.sqrt (2%:R * E0 / phi).
Definition s2 := a_lo - tau.
Definition Lip := v_max * (4%:R * Phi * (a_hi + tau) + 2%:R * Num.sqrt (2%:R * Phi * E0)).

Hypothesis d_gt0 : (0 < d)%N.
Hypothesis phi_gt0 : 0 < phi.
Hypotheses (low : possemi (F - phi%:M)) (high : possemi (Phi%:M - F)).
Hypotheses (A_sym : A^T = A) (A_normal : F *m svec A = S^T *m (\col_i y i)).
Hypotheses (A_low : possemi (A - a_lo%:M)) (A_high : possemi (a_hi%:M - A)).
Hypothesis start : excess W0 <= E0.
Hypotheses (v_min_gt0 : 0 < v_min) (v_min_max : v_min <= v_max) (heads : forall l, v_min <= v l <= v_max).
Hypotheses (s2_gt0 : 0 < s2) (eta_gt0 : 0 < eta) (small_step : eta * Lip <= 1).
Let beta := a_hi + tau.
Let v_ge0 l : 0 <= v l. Proof. by case/andP: (heads l) => h _; apply: le_trans h; apply: ltW. Qed.
Let v_max_gt0 : 0 < v_max. Proof. exact: lt_le_trans v_min_max. Qed.

Definition errors W : 'cV[R]_n := \col_i form (B W - A) (x i).
Lemma BA_sym W : (B W - A)^T = B W - A. Proof. by rewrite linearB /= B_sym A_sym. Qed.
Lemma errors_excess W : sq (errors W) = 2%:R * excess W.
Proof.
rewrite /excess loss_matrix (excess_matrix isometry A_sym A_normal (B_sym v W)) mulrC divfK ?pnatr_eq0 //.
by apply: eq_bigr => i _; rewrite mxE expr2.
Qed.
Lemma excess_ge0 W : 0 <= excess W.
Proof. by rewrite -(pmulr_rge0 _ (ltr0n R 2)) -errors_excess sq_ge0. Qed.
Let E0_ge0 : 0 <= E0. Proof. exact: le_trans (excess_ge0 _) start. Qed.
Lemma B_near W : phi * fro (B W - A) ^+ 2 <= 2%:R * excess W.
Proof.
rewrite -errors_excess; apply: le_trans (F_low isometry low (BA_sym W)) _.
by apply: eq_below; apply: eq_bigr => i _; rewrite mxE expr2.
Qed.
Lemma B_tau W : excess W <= E0 -> fro (B W - A) <= tau.
Proof.
move=> h; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?fro_ge0 ?sqrtr_ge0 // [tau ^+ 2]sqr_sqrtr; last first.
  by rewrite divr_ge0 ?mulr_ge0 ?ler0n // ltW.
rewrite ler_pdivl_mulr // mulrC; apply: le_trans (B_near W) _; by rewrite ler_wpmul2l ?ler0n.
Qed.
Lemma B_low W : excess W <= E0 -> possemi (B W - s2%:M).
Proof.
move=> h w; have := le_trans (form_le (B W - A) w) (ler_wpmul2r (sq_ge0 w) (B_tau h)); have := A_low w.
rewrite ler_norml !formD !formN !form_scalar /s2; set q := sq w; set a := form A w; set b := form (B W) w.
by move=> h1 /andP[h2 _]; by_sum ((a - a_lo * q) + (b - a - - (tau * q))).
Qed.
Lemma B_high W : excess W <= E0 -> possemi (beta%:M - B W).
Proof.
move=> h w; have := le_trans (form_le (B W - A) w) (ler_wpmul2r (sq_ge0 w) (B_tau h)); have := A_high w.
rewrite ler_norml !formD !formN !form_scalar /beta; set q := sq w; set a := form A w; set b := form (B W) w.
by move=> h1 /andP[_ h2]; by_sum ((a_hi * q - a) + (tau * q - (b - a))).
Qed.
Let one_vec : 'cV[R]_d := \col_i 1.
Let one_gt0 : 0 < sq one_vec.
Proof.
rewrite sq_gt0; apply/eqP => /colP/(_ (Ordinal d_gt0)); rewrite !mxE => /eqP; by rewrite oner_eq0.
Qed.
Let beta_gt0 : 0 < beta.
Proof.
apply: lt_le_trans s2_gt0 _; rewrite -(ler_pmul2r one_gt0); have := B_low start one_vec; have := B_high start one_vec.
rewrite !formD !formN !form_scalar; set q := sq _; set b := form _ _ => h1 h2.
by by_sum ((beta * q - b) + (b - s2 * q)).
Qed.
Let Phi_gt0 : 0 < Phi.
Proof.
have s1 : (1%:M : 'M[R]_d)^T = 1%:M by rewrite trmx1.
have f1 : 0 < fro (1%:M : 'M[R]_d) ^+ 2.
  by rewrite fro_sqr ip_trace // mulmx1 mxtrace1 ltr0n.
rewrite -(pmulr_lgt0 _ f1); apply: lt_le_trans (F_high isometry high s1).
by apply: lt_le_trans (F_low isometry low s1); rewrite mulr_gt0.
Qed.
(** the matrix Z *)
Lemma ip_Z_errors W M : M^T = M -> ip (Z W) M = dot (errors W) (\col_i form M (x i)).
Proof.
move=> sM; rewrite ip_Z -[RHS]addr0 -[X in _ + X](normal isometry A_sym A_normal sM) -big_split.
by apply: eq_bigr => i _; rewrite !mxE f_form formD formN /=; set b := form _ _; set a := form A _; ring.
Qed.
Lemma Z_high W : fro (Z W) ^+ 2 <= 2%:R * Phi * excess W.
Proof.
have [->|z0] := eqVneq (fro (Z W)) 0.
  by rewrite expr0n mulr_ge0 ?excess_ge0 // mulr_ge0 ?ler0n // ltW.
have zp : 0 < fro (Z W) ^+ 2 by rewrite exprn_gt0 // lt_def z0 fro_ge0.
have := cauchy_schwarz (errors W) (\col_i form (Z W) (x i)); rewrite -ip_Z_errors ?Z_sym // -fro_sqr errors_excess.
have -> : sq (\col_i form (Z W) (x i)) = \sum_i form (Z W) (x i) ^+ 2 by apply: eq_bigr => i _; rewrite mxE expr2.
have e0 : 0 <= 2%:R * excess W by rewrite mulr_ge0 ?ler0n ?excess_ge0.
move/le_trans/(_ (ler_wpmul2l e0 (F_high isometry high (Z_sym x y v W)))) => h.
rewrite -(ler_pmul2r zp) -expr2; apply: le_trans h _.
by apply: eq_below; move: (excess W) (fro (Z W) ^+ 2) => p q; ring.
Qed.
Lemma Z_low W : 2%:R * phi * excess W <= fro (Z W) ^+ 2.
Proof.
have e : 2%:R * excess W = ip (Z W) (B W - A) by rewrite ip_Z_errors ?BA_sym // -errors_excess.
have := le_trans (eq_below e) (ip_le _ _); have := B_near W; have e0 := excess_ge0 W.
have z0 := fro_ge0 (Z W); have m0 := fro_ge0 (B W - A).
set p := excess W in e0 *; set m := fro (B W - A) in m0 *; set z := fro (Z W) in z0 * => h1 h2.
have [p0|p1] := eqVneq p 0; first by rewrite p0 mulr0 sqr_ge0.
have pp : 0 < 2%:R * p by rewrite mulr_gt0 ?ltr0n // lt_def p1.
rewrite -(ler_pmul2r pp); have h3 : (2%:R * p) ^+ 2 <= z ^+ 2 * m ^+ 2.
  by rewrite -exprMn ler_pexpn2r ?nnegrE ?mulr_ge0 ?ler0n // ltW.
have ph := ltW phi_gt0; have zz := sqr_ge0 z.
by by_sum (phi * (z ^+ 2 * m ^+ 2 - (2%:R * p) ^+ 2) + z ^+ 2 * (2%:R * p - phi * m ^+ 2)).
Qed.
Let z0 := Num.sqrt (2%:R * Phi * E0).
Lemma Z_small W : excess W <= E0 -> fro (Z W) <= z0.
Proof.
move=> h; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?fro_ge0 ?sqrtr_ge0 // [z0 ^+ 2]sqr_sqrtr; last first.
  by rewrite !mulr_ge0 ?ler0n // ltW.
by apply: le_trans (Z_high W) _; rewrite ler_wpmul2l // mulr_ge0 ?ler0n // ltW.
Qed.
(** how the excess moves along V *)
Lemma rows_sqr (V : 'M[R]_(k, d)) : \sum_l sq (row l V)^T = fro V ^+ 2.
Proof. by rewrite fro_sqr ipE; apply: eq_bigr => l _; apply: eq_bigr => a _; rewrite !mxE. Qed.
Lemma Z_bend W V : ip (Z W) (B V) <= v_max * fro (Z W) * fro V ^+ 2.
Proof.
rewrite /ip dotC -/(ip _ _) ip_suml -rows_sqr mulr_sumr; apply: ler_sum => l _.
rewrite /ip vecZ dotZl -/(ip _ _) -{2}[row l V]trmxK ip_outer.
have h := le_trans (ler_norm _) (form_le (Z W) (row l V)^T); have /andP[_ vl] := heads l.
apply: le_trans (ler_wpmul2l (v_ge0 l) h) _; rewrite mulrA ler_wpmul2r ?sq_ge0 // ler_wpmul2r ?fro_ge0 //.
Qed.
Lemma excess_move W V t b : possemi (b%:M - B (W - (t / 2%:R) *: V)) ->
  excess (W - t *: V) <= excess W - t * ip (gradient W) V +
    t ^+ 2 * (v_max * fro (Z W) * fro V ^+ 2) + 2%:R * t ^+ 2 * (Phi * (b * v_max * fro V ^+ 2)).
Proof.
set U := W - _ => hU; pose T M := (cross v M V + (cross v M V)^T : 'M[R]_d).
have sT M : (T M)^T = T M by rewrite /T linearD /= trmxK addrC.
have fT M i : form (T M) (x i) = 2%:R * weighted (M *m x i) (V *m x i) by exact: form_cross.
pose tv : 'cV[R]_n := \col_i form (T W) (x i); pose qv : 'cV[R]_n := \col_i form (B V) (x i).
have eW : errors (W - t *: V) = errors W - t *: (tv - t *: qv).
  have fA M i : form (M - A) (x i) = form M (x i) - form A (x i) by rewrite formD formN.
  apply/colP => i; rewrite !mxE !fA fT -(f_form x v (W - _)) f_move f_form !form_B.
  by move: (form A _) (weighted _ _) (weighted _ _) (weighted _ _) => a w1 w2 w3; ring.
have e1 : dot (errors W) tv = ip (gradient W) V.
  rewrite -(ip_Z_errors W (sT W)) ip_Z ip_gradient; apply: eq_bigr => i _; congr (_ * _); exact: fT.
have e2 : dot (errors W) qv <= v_max * fro (Z W) * fro V ^+ 2 by rewrite -ip_Z_errors ?B_sym // Z_bend.
have e3 : sq (tv - t *: qv) <= Phi * (4%:R * (b * v_max * fro V ^+ 2)).
  have -> : sq (tv - t *: qv) = \sum_i form (T U) (x i) ^+ 2.
    apply: eq_bigr => i _; rewrite -expr2 !mxE; congr (_ ^+ 2); rewrite !fT form_B /U mulmxBl -scalemxAl.
    exact: weighted_shift.
  apply: le_trans (F_high isometry high (sT U)) _; rewrite ler_wpmul2l ?(ltW Phi_gt0) //.
  have := cross_sqr v_min_gt0 v_min_max heads V hU; set m := b * _ * _ => h.
  apply: le_trans (_ : (2%:R * fro (cross v U V)) ^+ 2 <= _); last first.
    by rewrite exprMn -natrX ler_wpmul2l ?ler0n.
  rewrite ler_pexpn2r ?nnegrE ?mulr_ge0 ?fro_ge0 ?ler0n // /fro vecD; apply: le_trans (lenD _ _) _.
  by rewrite -/(fro _) -/(fro _^T) fro_tr mulr_natl mulr2n.
rewrite -(ler_pmul2l (ltr0n R 2)) -errors_excess eW sqB sqZ dotZr dotBr dotZr e1 errors_excess.
have t2 := sqr_ge0 t; set m := fro V ^+ 2 in e2 e3 *; set g := ip _ V; set p := excess W.
set c := dot _ qv in e2 *; set s := sq (_ - _) in e3 *; set h := fro (Z W) in e2 *.
by by_sum (2%:R * t ^+ 2 * (v_max * h * m - c) + t ^+ 2 * (Phi * (4%:R * (b * v_max * m)) - s)).
Qed.
(** the gradient is between multiples of Z *)
Let Q W := \sum_a form (B W) (col a (Z W)).
Lemma gradient_entry W l a : gradient W l a * gradient W l a = 4%:R * v l * (v l * ((W *m Z W) l a * (W *m Z W) l a)).
Proof. by rewrite gradientE; move: ((W *m Z W) l a) => p; ring. Qed.
Lemma Q_sum W : Q W = \sum_l \sum_a v l * ((W *m Z W) l a * (W *m Z W) l a).
Proof.
rewrite exchange_big; apply: eq_bigr => a _; rewrite form_B; apply: eq_bigr => l _.
by have -> : (W *m col a (Z W)) l 0 = (W *m Z W) l a by rewrite !mxE; apply: eq_bigr => b _; rewrite mxE.
Qed.
Lemma gradient_low W : excess W <= E0 -> 8%:R * v_min * s2 * phi * excess W <= fro (gradient W) ^+ 2.
Proof.
move=> h; have q1 : s2 * fro (Z W) ^+ 2 <= Q W.
  rewrite fro_sqr ip_columns mulr_sumr; apply: ler_sum => a _.
  by have := B_low h (col a (Z W)); rewrite formD formN form_scalar subr_ge0.
have q2 : 4%:R * v_min * Q W <= fro (gradient W) ^+ 2.
  rewrite fro_sqr ipE Q_sum mulr_sumr; apply: ler_sum => l _; rewrite mulr_sumr; apply: ler_sum => a _.
  rewrite gradient_entry ler_wpmul2r //; first by rewrite mulr_ge0 // -expr2 sqr_ge0.
  rewrite ler_wpmul2l ?ler0n //.
  by case/andP: (heads l).
have q3 := Z_low W; have p1 := ltW v_min_gt0; have p2 := ltW s2_gt0.
set g := fro _ ^+ 2 in q2 *; set zz := fro _ ^+ 2 in q1 q3; set q := Q W in q1 q2; set e := excess W in q3 *.
by by_sum ((g - 4%:R * v_min * q) + 4%:R * v_min * (q - s2 * zz) + 4%:R * v_min * s2 * (zz - 2%:R * phi * e)).
Qed.
Lemma gradient_high W : excess W <= E0 -> fro (gradient W) ^+ 2 <= 8%:R * v_max * beta * Phi * excess W.
Proof.
move=> h; have q1 : Q W <= beta * fro (Z W) ^+ 2.
  rewrite fro_sqr ip_columns mulr_sumr; apply: ler_sum => a _.
  by have := B_high h (col a (Z W)); rewrite formD formN form_scalar subr_ge0.
have q2 : fro (gradient W) ^+ 2 <= 4%:R * v_max * Q W.
  rewrite fro_sqr ipE Q_sum mulr_sumr; apply: ler_sum => l _; rewrite mulr_sumr; apply: ler_sum => a _.
  rewrite gradient_entry ler_wpmul2r //; first by rewrite mulr_ge0 // -expr2 sqr_ge0.
  rewrite ler_wpmul2l ?ler0n //.
  by case/andP: (heads l).
have q3 := Z_high W; have p1 := ltW v_max_gt0; have p2 := ltW beta_gt0.
set g := fro _ ^+ 2 in q2 *; set zz := fro _ ^+ 2 in q1 q3; set q := Q W in q1 q2; set e := excess W in q3 *.
by by_sum ((4%:R * v_max * q - g) + 4%:R * v_max * (beta * zz - q) + 4%:R * v_max * beta * (2%:R * Phi * e - zz)).
Qed.

(** eta Lip <= 1, for the Z of this step *)
Lemma step_room W : excess W <= E0 -> eta * (v_max * (4%:R * Phi * beta + 2%:R * fro (Z W))) <= 1.
Proof.
move=> h; apply: le_trans small_step; rewrite ler_pmul2l // /Lip ler_pmul2l // -/beta -/z0 ler_add2l.
by rewrite ler_wpmul2l ?ler0n // Z_small.
Qed.
(** a quarter of the step, coarsely *)
Lemma quarter W : excess W <= E0 -> possemi ((3%:R * beta)%:M - B (W - (eta / 4%:R) *: gradient W)).
Proof.
move=> h w; rewrite formD formN form_scalar subr_ge0 form_B mulmxBl -scalemxAl.
have := step_room h; have zp := fro_ge0 (Z W); set zt := fro (Z W) in zp * => room.
pose p := W *m w; pose g := gradient W *m w.
have up u : form (B W) u <= beta * sq u by have := B_high h u; rewrite formD formN form_scalar subr_ge0.
have small : eta * (v_max * zt) <= 2%:R^-1.
  have e0 := ltW eta_gt0; have m0 := ltW v_max_gt0; have f0 := ltW Phi_gt0; have b0 := ltW beta_gt0.
  by by_quotient (2%:R^-1 * (1 - eta * (v_max * (4%:R * Phi * beta + 2%:R * zt))) + 2%:R * eta * v_max * Phi * beta).
have gg : weighted g g <= 4%:R * v_max ^+ 2 * (beta * (zt ^+ 2 * sq w)).
  have gl l : g l 0 = 2%:R * v l * (W *m (Z W *m w)) l 0.
    rewrite /g [LHS]mxE mulmxA [in RHS]mxE mulr_sumr; apply: eq_bigr => a _; rewrite gradientE.
    by move: ((W *m Z W) l a) (w a 0) => s t; ring.
  apply: le_trans (_ : 4%:R * v_max ^+ 2 * form (B W) (Z W *m w) <= _).
    rewrite form_B mulr_sumr; apply: ler_sum => l _; rewrite !gl.
    set t := (W *m _) l 0; have t0 := sqr_ge0 t; have /andP[_ vl] := heads l; have vz := v_ge0 l.
    by by_sum (4%:R * v l * t ^+ 2 * ((v_max - v l) * (v_max + v l))).
  rewrite ler_wpmul2l ?mulr_ge0 ?ler0n ?(ltW v_max_gt0) //; apply: le_trans (up _) _; rewrite ler_wpmul2l ?(ltW beta_gt0) //.
  by rewrite -!len_sqr -exprMn ler_pexpn2r ?nnegrE ?mulr_ge0 ?len_ge0 // sq_mulmx_fro.
have pp : weighted p p <= beta * sq w by rewrite -form_B.
have two : weighted (p - (eta / 4%:R) *: g) (p - (eta / 4%:R) *: g) <=
    2%:R * weighted p p + 2%:R * (eta / 4%:R) ^+ 2 * weighted g g.
  exact: weighted_twice v_min_gt0 heads _ _ _.
apply: le_trans two _; have q0 := sq_ge0 w; have e0 := ltW eta_gt0; have m0 := ltW v_max_gt0; have b0 := ltW beta_gt0.
set a := weighted p p in pp *; set b := weighted g g in gg *; set q := sq w in pp gg q0 *.
pose m := eta * (v_max * zt); have mp : 0 <= m by rewrite !mulr_ge0.
have m1 : m <= 1 by rewrite /m; apply: (le_trans small); rewrite invf_le1 ?ler1n ?ltr0n.
have m2 : (eta * (v_max * zt)) ^+ 2 <= 1 by rewrite -(expr1n _ 2) ler_pexpn2r ?nnegrE ?ler01.
have e2 := sqr_ge0 eta; have bq : 0 <= beta * q by rewrite mulr_ge0.
by by_quotient (2%:R * (beta * q - a) + eta ^+ 2 / 8%:R * (4%:R * v_max ^+ 2 * (beta * (zt ^+ 2 * q)) - b) +
  beta * q / 2%:R * (1 - (eta * (v_max * zt)) ^+ 2) + beta * q / 2%:R).
Qed.

(** the whole step: the half one stays below E0, so the bound on B holds there *)
Lemma step W : excess W <= E0 -> excess (W - eta *: gradient W) <= excess W - eta / 2%:R * fro (gradient W) ^+ 2.
Proof.
move=> h; have room := step_room h; have zp := fro_ge0 (Z W); have g0 := sqr_ge0 (fro (gradient W)).
have e0 := ltW eta_gt0; have m0 := ltW v_max_gt0; have f0 := ltW Phi_gt0; have b0 := ltW beta_gt0.
have half : excess (W - (eta / 2%:R) *: gradient W) <= E0.
  apply: (le_trans _ h); have q : possemi ((3%:R * beta)%:M - B (W - (eta / 2%:R / 2%:R) *: gradient W)).
    have -> : eta / 2%:R / 2%:R = eta / 4%:R by field.
    exact: quarter.
  apply: le_trans (excess_move q) _; rewrite -fro_sqr.
  set zt := fro (Z W) in room zp *; set g := fro _ ^+ 2 in g0 *; set p := excess W.
  by by_quotient (eta * g / 8%:R * (1 - eta * (v_max * (4%:R * Phi * beta + 2%:R * zt))) * 3%:R + eta * g / 8%:R +
    eta ^+ 2 * v_max * zt * g / 2%:R).
apply: le_trans (excess_move (B_high half)) _; rewrite -fro_sqr.
set zt := fro (Z W) in room zp *; set g := fro _ ^+ 2 in g0 *; set p := excess W.
by by_quotient (eta * g / 2%:R * (1 - eta * (v_max * (4%:R * Phi * beta + 2%:R * zt)))).
Qed.
Definition rate := 1 - 4%:R * eta * phi * v_min * s2.
Lemma step_rate W : excess W <= E0 -> excess (W - eta *: gradient W) <= rate * excess W.
Proof.
move=> h; apply: le_trans (step h) _; have := gradient_low h; have e0 := ltW eta_gt0; rewrite /rate.
set g := fro _ ^+ 2; set p := excess W => a; by by_quotient (eta / 2%:R * (g - 8%:R * v_min * s2 * phi * p)).
Qed.

(** the run, its path and its limit *)
Definition next W := W - eta *: gradient W.
Definition run j := iter j next W0.
Lemma run_below j : excess (run j) <= E0.
Proof.
elim: j => [//|j IH]; apply: le_trans (step IH) _; apply: le_trans IH.
by rewrite ler_subl_addr ler_addl mulr_ge0 ?sqr_ge0 // divr_ge0 ?ler0n // ltW.
Qed.
Let e j := Num.sqrt (excess (run j)).
Let c := 4%:R * eta * phi * v_min * s2.
Let c_gt0 : 0 < c. Proof. by rewrite !mulr_gt0 ?ltr0n. Qed.
Lemma root_rate j : c / 2%:R * e j <= e j - e j.+1.
Proof.
have ej : 0 <= e j by apply: sqrtr_ge0.
have h : e j.+1 ^+ 2 <= (1 - c) * e j ^+ 2.
  by rewrite /e ![Num.sqrt _ ^+ 2]sqr_sqrtr ?excess_ge0 //; apply: step_rate; apply: run_below.
have [z|nz] := eqVneq (e j) 0.
  move: h; rewrite z expr0n mulr0 => h.
  have : e j.+1 ^+ 2 == 0 by rewrite eq_le h sqr_ge0.
  by rewrite sqrf_eq0 => /eqP ->; rewrite mulr0 subr0.
have ep : 0 < e j ^+ 2 by rewrite exprn_gt0 // lt_def nz.
have c1 : c <= 1.
  by rewrite -subr_ge0 -(pmulr_lge0 _ ep); apply: le_trans h; apply: sqr_ge0.
have c0 := ltW c_gt0; have half : 0 <= 1 - c / 2%:R by by_quotient ((1 - c) / 2%:R + 2%:R^-1).
suff : e j.+1 <= (1 - c / 2%:R) * e j by move=> g; by_sum ((1 - c / 2%:R) * e j - e j.+1).
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?sqrtr_ge0 ?(mulr_ge0 half) //; apply: le_trans h _.
by have s0 := sqr_ge0 (e j); have k0 := sqr_ge0 c; by_quotient (c ^+ 2 / 4%:R * e j ^+ 2).
Qed.
Let C1 := Num.sqrt (8%:R * v_max * beta * Phi).
Lemma step_len j : fro (run j.+1 - run j) <= eta * C1 * e j.
Proof.
have -> : run j.+1 - run j = - eta *: gradient (run j) by rewrite /= /next addrAC subrr add0r scaleNr.
rewrite froZ normrN (gtr0_norm eta_gt0) -mulrA ler_pmul2l //.
have p0 : 0 <= 8%:R * v_max * beta * Phi by rewrite !mulr_ge0 ?ler0n // ltW.
have r0 : 0 <= C1 * e j by rewrite mulr_ge0 ?sqrtr_ge0.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?fro_ge0 // exprMn [C1 ^+ 2]sqr_sqrtr // [e j ^+ 2]sqr_sqrtr ?excess_ge0 //.
exact: gradient_high (run_below j).
Qed.
(** errors move by at most a multiple of the way *)
Lemma errors_continuous V V' : fro (V - V') <= 1 -> len (errors V) <= len (errors V') +
  (\sum_i (2%:R * (\sum_l v l * `|(V *m x i) l 0|) * len (x i) + v_max * sq (x i))) * fro (V - V').
Proof.
move=> d1; have -> : errors V = errors V' + (errors V - errors V') by rewrite addrC subrK.
apply: le_trans (lenD _ _) _; rewrite ler_add2l; apply: le_trans (len_l1 _) _; rewrite mulr_suml; apply: ler_sum => i _.
set D := V - V' in d1 *; pose g := D *m x i; pose p := V *m x i.
have -> : (errors V - errors V') i 0 = 2%:R * weighted p g - weighted g g.
  have VD : V' = V - 1 *: D by rewrite scale1r /D opprB addrC subrK.
  have fV : f V' i = f V i - 1 * (2%:R * weighted p g) + 1 ^+ 2 * weighted g g by rewrite {1}VD f_move.
  rewrite !mxE !formD !formN -!f_form fV.
  by move: (f V i) (form A _) (weighted _ _) (weighted _ _) => a b w1 w2; ring.
have gx : len g <= fro D * len (x i) by apply: sq_mulmx_fro.
have D0 := fro_ge0 D; have X0 := len_ge0 (x i).
have w2 : weighted g g <= v_max * sq (x i) * fro D.
  apply: le_trans (weighted_le heads g) _; rewrite -mulrA ler_wpmul2l ?(ltW v_max_gt0) //.
  apply: le_trans (_ : (fro D * len (x i)) ^+ 2 <= _); first by rewrite -len_sqr ler_pexpn2r ?nnegrE ?len_ge0 ?mulr_ge0.
  rewrite exprMn [len (x i) ^+ 2]len_sqr mulrC ler_wpmul2l ?sq_ge0 // -[X in _ <= X]mulr1 expr2 ler_wpmul2l //.
have w1 : `|weighted p g| <= (\sum_l v l * `|p l 0|) * len (x i) * fro D.
  apply: le_trans (ler_norm_sum _ _ _) _; rewrite -mulrA mulr_suml; apply: ler_sum => l _.
  rewrite !normrM (ger0_norm (v_ge0 l)) mulrA ler_wpmul2l ?mulr_ge0 ?normr_ge0 //.
  by apply: le_trans (coordinate g l) _; rewrite mulrC.
apply: le_trans (ler_norm_sub _ _) _; rewrite normrM ger0_norm ?ler0n // (ger0_norm (weighted_ge0 v_min_gt0 heads g)).
set a := `|_| in w1 *; set b := weighted g g in w2 *; set P := \sum_l _ in w1 *; set X := len _ in w1 X0 *; set t := sq _ in w2 *.
by by_sum (2%:R * (P * X * fro D - a) + (v_max * t * fro D - b)).
Qed.
(** a matrix B that is not invertible lies above the barrier *)
Lemma barrier V : B V \notin unitmx -> phi * a_lo ^+ 2 / 2%:R <= excess V.
Proof.
rewrite -row_free_unit -kermx_eq0 => /rowV0Pn[u /sub_kermxP uB u0].
have w0 : 0 < sq u^T by rewrite sq_gt0 -(inj_eq (@trmx_inj _ _ _)) trmxK trmx0.
have Bw : B V *m u^T = 0 by rewrite -[B V]trmxK -trmx_mul B_sym uB trmx0.
have a0 : 0 <= a_lo.
  by apply: le_trans (sqrtr_ge0 (2%:R * E0 / phi)) _; rewrite -subr_ge0 ltW.
have al : a_lo <= fro (B V - A).
  rewrite -(ler_pmul2r w0); apply: le_trans (form_le _ _); rewrite formD formN {1}/form Bw dot0r sub0r normrN.
  apply: le_trans (ler_norm _); have := A_low u^T; by rewrite formD formN form_scalar subr_ge0.
rewrite ler_pdivr_mulr ?ltr0n // mulrC; apply: le_trans (_ : phi * fro (B V - A) ^+ 2 <= _).
  by rewrite mulrC ler_pmul2l // ler_pexpn2r ?nnegrE ?fro_ge0.
by rewrite mulrC [_ * 2%:R]mulrC -[X in X <= _]mulrC; apply: B_near.
Qed.

Theorem below_barrier : complete R ->
  [/\ forall j, excess (run j.+1) <= (1 - 4%:R * eta * phi * v_min * s2) * excess (run j),
      forall j, possemi (B (run j) - s2%:M),
      exists limit, [/\ forall M, M^T = M -> loss limit <= matrix_loss x y M,
        forall k' (v' : 'I_k' -> R) (V : 'M[R]_(k', d)), loss limit <= quadratic_network.loss x y v' V
        & forall e, 0 < e -> exists N, forall j, (N <= j)%N -> fro (limit - run j) < e]
    & forall V : 'M[R]_(k, d), B V \notin unitmx -> phi * a_lo ^+ 2 / 2%:R <= excess V].
Proof.
move=> comp; split=> [j|j||V]; [exact: step_rate (run_below j) | exact: B_low (run_below j) | | exact: barrier].
have C0 : 0 <= eta * C1 by rewrite mulr_ge0 ?sqrtr_ge0 // ltW.
pose q := (eta * C1 + 1) * 2%:R / c.
have q0 : 0 <= q by rewrite divr_ge0 ?(ltW c_gt0) // mulr_ge0 ?ler0n // addr_ge0 ?ler01.
have e0 j : 0 <= e j by apply: sqrtr_ge0.
have gain j : (eta * C1 + 1) * e j <= q * (e 0%N - e j.+1) - q * (e 0%N - e j).
  have h := root_rate j; rewrite -mulrBr; have cn : c != 0 by rewrite gt_eqF.
  have -> : (eta * C1 + 1) * e j = q * (c / 2%:R * e j) by rewrite /q; field.
  rewrite ler_wpmul2l //; apply: le_trans h _; apply: eq_below; ring.
have path j : fro (run j.+1 - run j) <= q * (e 0%N - e j.+1) - q * (e 0%N - e j).
  apply: le_trans (gain j); apply: le_trans (step_len j) _; by rewrite ler_wpmul2r // ler_addl ler01.
have bounded j : q * (e 0%N - e j) <= q * e 0%N by rewrite ler_wpmul2l // ler_subl_addr ler_addl.
have [V [l [below small near tends]]] := run_converges comp path bounded.
suff V0 : loss V = matrix_loss x y A.
  exists V; split=> // [M sM|k' v' V']; first by rewrite V0; exact: (least isometry A_sym A_normal).
  by rewrite V0 (loss_matrix x y v'); apply: (least isometry A_sym A_normal); apply: B_sym.
have sS j : (eta * C1 + 1) * e j <= l - q * (e 0%N - e j).
  by apply: le_trans (gain j) _; rewrite ler_add2r.
have P0 := @sqrtr_ge0 R (k * d)%:R; set P := Num.sqrt _ in P0 near.
suff r0 : len (errors V) = 0.
  have := errors_excess V; rewrite -len_sqr r0 expr0n /excess => /esym/eqP.
  by rewrite mulf_eq0 pnatr_eq0 /= subr_eq0 => /eqP.
apply/eqP; rewrite eq_le len_ge0 andbT; have cont := errors_continuous (V := V); move: cont; set K := \sum_i _ => cont.
have K0 : 0 <= K.
  apply: sumr_ge0 => i _; rewrite addr_ge0 ?mulr_ge0 ?ler0n ?sq_ge0 ?len_ge0 ?(ltW v_max_gt0) //.
  by apply: sumr_ge0 => l' _; rewrite mulr_ge0 ?normr_ge0.
have D0 : 0 <= 2%:R + K * P by rewrite addr_ge0 ?ler0n ?mulr_ge0.
have P1 : 0 < (P + 1)^-1 by rewrite invr_gt0 ltr_paddl ?ltr01.
apply: (le_of_small D0) => t t0; have m0 : 0 < Num.min t (P + 1)^-1 by rewrite lt_minr t0 P1.
have [j [lj]] := small _ m0; rewrite lt_minr => /andP[jt jP]; exists (l - q * (e 0%N - e j)); split=> //.
have sj := sS j; have nj := near j; set h := l - _ in lj jt jP sj nj *; rewrite add0r.
have Ph : P * h <= 1.
  have hp : h * (P + 1) <= 1 by rewrite -ler_pdivl_mulr ?div1r ?(ltW jP) // ltr_paddl ?ltr01.
  by apply: le_trans hp; by_sum h.
have c1 := cont (run j) (le_trans nj Ph); have ej := e0 j.
have rj : len (errors (run j)) <= 2%:R * e j.
  rewrite len_le ?mulr_ge0 ?ler0n // exprMn [e j ^+ 2]sqr_sqrtr ?excess_ge0 // errors_excess.
  by have x0 := excess_ge0 (run j); by_sum (2%:R * excess (run j)).
have eh : e j <= h by apply: le_trans sj; by_sum (eta * C1 * e j).
set a := len (errors V) in c1 *; set b := len _ in c1 rj; set z := fro _ in c1 nj; set g := e j in rj eh.
by by_sum ((b + K * z - a) + (2%:R * g - b) + 2%:R * (h - g) + K * (P * h - z)).
Qed.
End Descent.
