(** spec/claims/dual-gap.md: how H_g(u) <= b is proved. Lemma C and a cone of R2, R3 with tangents, R4. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section LemmaC.
Variable R : rcfType.
Variables (d : nat) (M : 'M[R]_d) (p q : 'cV[R]_d).
Hypothesis symmetric : M^T = M.
Let A := form M p.
Let B := dot p (M *m q).
Let C := form M q.

Lemma form_ray s t : form M (s *: p + t *: q) = s ^+ 2 * A + 2%:R * s * t * B + t ^+ 2 * C.
Proof.
have sB : dot q (M *m p) = B by rewrite dotC adjoint symmetric.
rewrite /form mulmxDr -!scalemxAr !dotDl !dotDr !dotZl !dotZr sB -/A -/B -/C -/(form M p) -/(form M q) -/A -/C.
by ring.
Qed.

Theorem Lemma_C : 0 <= A -> 0 <= C -> 0 <= B \/ B ^+ 2 <= A * C ->
  forall s t, 0 <= s -> 0 <= t -> 0 <= form M (s *: p + t *: q).
Proof.
move=> A0 C0 cond s t s0 t0; rewrite form_ray.
have [B0|B0] := leP 0 B; first by nonneg.
have BB : B ^+ 2 <= A * C by case: cond => // /(lt_le_trans B0); rewrite ltxx.
have Ap : 0 < A.
  rewrite lt_def A0 andbT; apply: contraTneq BB => ->; rewrite mul0r -ltNge.
  by rewrite lt_def sqr_ge0 andbT sqrf_eq0 lt_eqF.
rewrite -(pmulr_rge0 _ Ap).
have -> : A * (s ^+ 2 * A + 2%:R * s * t * B + t ^+ 2 * C) = (s * A + t * B) ^+ 2 + t ^+ 2 * (A * C - B ^+ 2) by ring.
by nonneg.
Qed.
End LemmaC.

(** One cone of R2, c outputs (one output: c = 1): there the sum over the active rows is S w, and M = b^2 I - S^T S. *)
Theorem R2_cone (R : rcfType) (d c : nat) (S : 'M[R]_(c, d)) (p q : 'cV[R]_d) (b s t : R) :
  0 <= b -> 0 <= s -> 0 <= t ->
  let M := (b ^+ 2)%:M - S^T *m S in
  0 <= form M p -> 0 <= form M q -> 0 <= dot p (M *m q) \/ dot p (M *m q) ^+ 2 <= form M p * form M q ->
  len (S *m (s *: p + t *: q)) <= b * len (s *: p + t *: q).
Proof.
move=> b0 s0 t0 M hp hq hB.
have sym : M^T = M by rewrite /M linearB /= tr_scalar_mx trmx_mul trmxK.
have := Lemma_C sym hp hq hB s0 t0; rewrite {1}/M formD formN form_scalar form_gram subr_ge0 => h.
by rewrite len_le ?mulr_ge0 ?len_ge0 // exprMn len_sqr.
Qed.

Section Rows.
Variable R : rcfType.
Variables (n d : nat) (x : 'I_n -> 'cV[R]_d) (u : 'I_n -> R) (b : R).
Definition g w := \sum_i u i * relu (dot (x i) w).

Lemma relu_ge (al t : R) : 0 <= al -> al <= 1 -> al * t <= relu t.
Proof.
move=> a0 a1; rewrite /relu le_maxr; have [t0|t0] := leP 0 t; apply/orP; [right | left].
  by rewrite -[X in _ <= X]mul1r ler_wpmul2r.
by apply: mulr_ge0_le0 => //; apply: ltW.
Qed.
Lemma relu_ge0 (t : R) : 0 <= relu t. Proof. by rewrite /relu le_maxr lexx. Qed.
Lemma relu_ge_id (t : R) : t <= relu t. Proof. by rewrite /relu le_maxr lexx orbT. Qed.
Lemma relu_le (t c : R) : 0 <= c -> t <= c -> relu t <= c. Proof. by move=> c0 tc; rewrite /relu le_maxl c0. Qed.

(** R3 with tangents: F- lies above t . w for every choice of slopes in [0, 1]; F+ is convex. *)
Variables (m : nat) (p : 'I_m -> 'cV[R]_d) (al : 'I_n -> R) (q : 'cV[R]_d).
Definition Fplus w := \sum_i Num.max 0 (u i) * relu (dot (x i) w).
Definition tangent := \sum_i (Num.max 0 (- u i) * al i) *: x i.

Theorem R3 (lam : 'I_m -> R) : (forall i, 0 <= al i <= 1) -> (forall k, 0 <= lam k) ->
  (forall k, Fplus (p k) - dot tangent (p k) <= dot q (p k)) -> len q <= b ->
  g (\sum_k lam k *: p k) <= b * len (\sum_k lam k *: p k).
Proof.
move=> alP lam0 qk qb; set w := \sum_k _.
have max0 (t : R) : 0 <= Num.max 0 t by rewrite le_maxr lexx.
have split i : u i = Num.max 0 (u i) - Num.max 0 (- u i).
  have [u0|u0] := leP 0 (u i); first by rewrite (@max_l _ _ 0) ?subr0 // oppr_le0.
  by rewrite sub0r max_r ?opprK // oppr_ge0 ltW.
have minus : dot tangent w <= \sum_i Num.max 0 (- u i) * relu (dot (x i) w).
  rewrite /tangent dot_suml; apply: ler_sum => i _; rewrite dotZl -mulrA; apply: (ler_wpmul2l (max0 _)).
  by case/andP: (alP i) => a0 a1; apply: relu_ge.
have gw : g w <= Fplus w - dot tangent w.
  apply: le_trans (_ : Fplus w - \sum_i Num.max 0 (- u i) * relu (dot (x i) w) <= _).
    by rewrite -sumrB; apply: ler_sum => i _; rewrite {1}(split i) mulrBl.
  by rewrite ler_add2l ler_opp2.
have Fw : Fplus w <= \sum_k lam k * Fplus (p k).
  rewrite /Fplus; under [X in _ <= X]eq_bigr do rewrite mulr_sumr.
  rewrite exchange_big /=; apply: ler_sum => i _.
  under [X in _ <= X]eq_bigr do rewrite mulrCA; rewrite -mulr_sumr; apply: (ler_wpmul2l (max0 _)).
  apply: relu_le; first by apply: sumr_ge0 => k _; rewrite mulr_ge0 ?relu_ge0.
  by rewrite /w dot_sumr; apply: ler_sum => k _; rewrite dotZr ler_wpmul2l ?relu_ge_id.
apply: le_trans gw _; apply: le_trans (_ : dot q w <= _); last first.
  by apply: le_trans (dot_le _ _) _; rewrite ler_wpmul2r ?len_ge0.
apply: le_trans (_ : \sum_k lam k * (Fplus (p k) - dot tangent (p k)) <= _).
  have -> : dot tangent w = \sum_k lam k * dot tangent (p k).
    by rewrite /w dot_sumr; apply: eq_bigr => k _; rewrite dotZr.
  by under [X in _ <= X]eq_bigr do rewrite mulrBr; rewrite sumrB ler_add2r.
by rewrite /w dot_sumr; apply: ler_sum => k _; rewrite dotZr ler_wpmul2l.
Qed.

(** the two cones in which p = s p_a + t p_b replaces p_b, or p_a, cover the cone of p_a and p_b *)
Theorem R3_cover (pa pb : 'cV[R]_d) (s t la lb : R) : 0 < s -> 0 < t -> 0 <= la -> 0 <= lb ->
  (exists c e, [/\ 0 <= c, 0 <= e & la *: pa + lb *: pb = c *: pa + e *: (s *: pa + t *: pb)]) \/
  (exists c e, [/\ 0 <= c, 0 <= e & la *: pa + lb *: pb = c *: pb + e *: (s *: pa + t *: pb)]).
Proof.
move=> s0 t0 a0 b0; have [h|h] := leP (s * lb) (t * la); [left | right].
  exists (la - s * (lb / t)), (lb / t); split; rewrite ?divr_ge0 ?(ltW t0) //.
    by rewrite subr_ge0 mulrA ler_pdivr_mulr // [la * t]mulrC.
  by rewrite scalerDr !scalerA addrA -scalerDl divfK ?gt_eqF // [lb / t * s]mulrC subrK.
exists (lb - t * (la / s)), (la / s); split; rewrite ?divr_ge0 ?(ltW s0) //.
  by rewrite subr_ge0 mulrA ler_pdivr_mulr // [lb * s]mulrC ltW.
rewrite scalerDr !scalerA divfK ?gt_eqF // addrCA -scalerDl [la / s * t]mulrC subrK //.
Qed.
End Rows.

(** above relu: a parabola that touches it twice *)
Lemma relu_above (R : rcfType) (rho sig t : R) : 0 < rho -> 1 <= 4%:R * sig * rho ->
  relu t <= t / 2%:R + rho * t ^+ 2 / 2%:R + sig / 2%:R.
Proof.
move=> r0 rs; have key : 0 <= rho * t ^+ 2 - `|t| + sig.
  have t2 : t ^+ 2 = `|t| ^+ 2 by rewrite real_normK ?num_real.
  have r4 : 0 < 4%:R * rho by rewrite mulr_gt0 ?ltr0n.
  rewrite -(pmulr_rge0 _ r4) t2.
  have -> : 4%:R * rho * (rho * `|t| ^+ 2 - `|t| + sig) = (2%:R * rho * `|t| - 1) ^+ 2 + (4%:R * sig * rho - 1) by ring.
  by nonneg.
have rt : relu t = (t + `|t|) / 2%:R.
  rewrite /relu; have [t0|t0] := leP 0 t; first by rewrite (ger0_norm t0); field.
  by rewrite (ltr0_norm t0) addrN mul0r.
by rewrite rt; by_quotient ((rho * t ^+ 2 - `|t| + sig) / 2%:R).
Qed.

Section R4.
Variable R : rcfType.
Variables (n d : nat) (x : 'I_n -> 'cV[R]_d) (u rho sig al be : 'I_n -> R) (b gamma : R).
Hypothesis plus : forall i, 0 < u i -> 0 < rho i /\ 1 <= 4%:R * sig i * rho i.
Hypothesis minus : forall i, u i < 0 ->
  [/\ 0 <= al i, al i <= 1, 0 <= be i, be i * len (x i) <= al i & be i * len (x i) <= 1 - al i].
Definition slope i := if 0 < u i then u i / 2%:R else u i * al i.
Definition bend i := if 0 < u i then u i * rho i / 2%:R else u i * be i.
Definition Q := \sum_i bend i *: (x i *m (x i)^T).
Definition cc := \sum_i slope i *: x i.
Definition kk := \sum_i (if 0 < u i then u i * sig i / 2%:R else 0).
Definition matrix : 'M[R]_(d + 1) :=
  block_mx (gamma%:M - Q) (- 2%:R^-1 *: cc) (- 2%:R^-1 *: cc^T) (b - kk - gamma)%:M.

Lemma row_bound i (w : 'cV[R]_d) t : sq w = 1 -> t = dot (x i) w ->
  u i * relu t <= slope i * t + bend i * t ^+ 2 + (if 0 < u i then u i * sig i / 2%:R else 0).
Proof.
move=> w1 te; rewrite /slope /bend; have [u0|u0|u0] := ltgtP 0 (u i).
- have [r0 rs] := plus u0; have h := relu_above t r0 rs; have u1 := ltW u0; set a := relu t in h *.
  by by_quotient (u i * (t / 2%:R + rho i * t ^+ 2 / 2%:R + sig i / 2%:R - a)).
- have [a0 a1 b0 ba b1] := minus u0; rewrite addr0.
  have tx : `|t| <= len (x i) by have := dot_le_len (x i) w; rewrite -te {2}/len w1 sqrtr1 mulr1.
  have bt : be i * `|t| <= be i * len (x i) by rewrite ler_wpmul2l.
  have u1 : 0 <= - u i by rewrite oppr_ge0 ltW.
  rewrite /relu; have [t0|t0] := leP 0 t.
    rewrite (ger0_norm t0) in bt; have c1 := le_trans bt b1.
    by by_sum (- u i * t * (1 - al i - be i * t)).
  rewrite (ltr0_norm t0) in bt; have c1 := le_trans bt ba.
  have t1 : 0 <= - t by rewrite oppr_ge0 ltW.
  by by_sum (- u i * - t * (al i - be i * - t)).
by rewrite -u0 !mul0r !addr0.
Qed.

Lemma dot_col_mx m1 m2 (p q : 'cV[R]_m1) (p' q' : 'cV[R]_m2) :
  dot (col_mx p p') (col_mx q q') = dot p q + dot p' q'.
Proof.
rewrite /dot big_split_ord /=; congr (_ + _); apply: eq_bigr => i _.
  by rewrite !col_mxEu.
by rewrite !col_mxEd.
Qed.

Theorem R4 : posdef matrix -> forall w, g x u w <= b * len w.
Proof.
move=> pd w; have [->|w0] := eqVneq w 0.
  by rewrite len0 mulr0 /g big1 // => i _; rewrite dot0r relu0 mulr0.
have lw : 0 < len w by rewrite lt_def len_ge0 len_eq0 w0.
pose z := (len w)^-1 *: w.
have z1 : sq z = 1 by rewrite /z sqZ -len_sqr -exprMn mulVf ?gt_eqF // expr1n.
have wz : w = len w *: z by rewrite /z scalerA mulfV ?gt_eqF // scale1r.
have gz : g x u w = len w * g x u z.
  rewrite {1}wz /g mulr_sumr; apply: eq_bigr => i _.
  by rewrite dotZr relu_homogeneous ?len_ge0 // mulrCA.
rewrite gz [X in _ <= X]mulrC ler_pmul2l //.
have c0 : col_mx z (1%:M : 'cV[R]_1) != 0.
  by rewrite -sq_gt0 /sq dot_col_mx -/(sq z) z1 ltr_paddr ?sq_ge0 ?ltr01.
have := pd _ c0; rewrite /matrix /form mul_block_col dot_col_mx !mulmx1 dotDr dotDr.
rewrite -/(form _ z) formD formN form_scalar z1 mulr1.
have one (s : 'cV[R]_1) : dot 1%:M s = s 0 0 by rewrite /dot big_ord1 mxE mul1r.
rewrite !one dotZr -scalemxAl dot_mx !mxE /= !mulr1n (dotC z) => pos.
have bound : g x u z <= dot cc z + form Q z + kk.
  rewrite /g /cc /Q /kk dot_suml form_sum -!big_split; apply: ler_sum => i _ /=.
  by rewrite dotZl formZ form_outer; exact: row_bound z1 (erefl _).
apply: le_trans bound _; set c := dot cc z in pos *; set f := form Q z in pos *.
have e : b - (c + f + kk) = gamma - f + - 2%:R^-1 * c + (- 2%:R^-1 * c + (b - kk - gamma)) by field.
by rewrite -subr_ge0 e ltW.
Qed.
End R4.
