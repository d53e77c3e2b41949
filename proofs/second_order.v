(** spec/claims/strict-saddle.md and spec/claims/second-order-stationary.md: what a direction of negative curvature, or its
    absence, says about the loss around the stored weights. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section SecondOrder.
Variable R : rcfType.
Variables (p : nat) (L : 'cV[R]_p -> R) (grad : 'cV[R]_p -> 'cV[R]_p) (H : 'cV[R]_p -> 'M[R]_p).
Variables (theta0 : 'cV[R]_p) (Rad Lam : R).
Definition near t := len (t - theta0) <= Rad.
(** the Hessian is Lipschitz on the ball, and what integration along a segment of the ball gives *)
Hypothesis lipschitz : forall t u, near t -> `|form (H t) u - form (H theta0) u| <= Lam * len (t - theta0) * sq u.
Hypothesis taylor : forall t t', near t -> near t' ->
  `|L t' - L t - dot (grad t) (t' - t) - form (H t) (t' - t) / 2%:R| <= Lam / 6%:R * len (t' - t) ^+ 3.
Definition local_minimum t := exists2 e, 0 < e & forall t', len (t' - t) < e -> L t <= L t'.

Lemma taylor_above t t' : near t -> near t' ->
  L t' <= L t + dot (grad t) (t' - t) + form (H t) (t' - t) / 2%:R + Lam / 6%:R * len (t' - t) ^+ 3.
Proof.
move=> bt bt'; have := taylor bt bt'; rewrite ler_norml => /andP[_ h]; set x := Lam / _ * _ in h *.
set y := dot _ _ in h *; set z := form _ _ / _ in h *; by by_sum (x - (L t' - L t - y - z)).
Qed.
Lemma form_scale (A : 'M[R]_p) c u : form A (c *: u) = c ^+ 2 * form A u.
Proof. by rewrite /form -scalemxAr dotZl dotZr mulrA. Qed.

(** one of the two signs goes down *)
Lemma descending_sign (g u : 'cV[R]_p) : exists2 s : R, `|s| = 1 & dot g (s *: u) <= 0.
Proof.
have [h|h] := leP (dot g u) 0; [exists 1 | exists (- 1)]; rewrite ?normr1 ?normrN1 // dotZr ?mul1r // mulN1r oppr_le0.
exact: ltW.
Qed.

Section Saddle.
Variables (U : 'cV[R]_p) (gamma : R).
Hypotheses (U_unit : sq U = 1) (gamma_gt0 : 0 < gamma) (Lam_ge0 : 0 <= Lam) (Rad_gt0 : 0 < Rad).
Hypothesis curved : form (H theta0) U <= - gamma.
Hypothesis small_ball : Lam * Rad <= gamma.

Lemma len_U : len U = 1. Proof. by rewrite /len U_unit sqrtr1. Qed.
Lemma curvature_at t : len (t - theta0) < Rad -> form (H t) U <= - gamma + Lam * len (t - theta0).
Proof.
move=> bt; have := lipschitz U (ltW bt); rewrite U_unit mulr1 ler_norml => /andP[_ h].
have cv := curved; set f := form (H t) U in h *; set f0 := form _ U in h cv *; set l := Lam * _ in h *.
by by_sum ((l - (f - f0)) + (- gamma - f0)).
Qed.

(** (i), (ii): no point of the open ball is a local minimum *)
Theorem no_local_minimum t : len (t - theta0) < Rad -> ~ local_minimum t.
Proof.
move=> bt [e e0 low]; pose d := Rad - len (t - theta0); have d0 : 0 < d by rewrite subr_gt0.
have Lk : Lam * len (t - theta0) <= gamma - Lam * d by rewrite /d mulrBr opprB addrCA ler_addl subr_ge0.
have [s s1 down] := descending_sign (grad t) U.
pose c := Num.min (d / 2%:R) (e / 2%:R); have c0 : 0 < c by rewrite lt_minr !divr_gt0 ?ltr0n.
have cd : c <= d / 2%:R by rewrite le_minl lexx. have ce : c <= e / 2%:R by rewrite le_minl lexx orbT.
pose t' := t + c *: (s *: U); have tt : t' - t = c *: (s *: U) by rewrite /t' addrAC subrr add0r.
have lc : len (t' - t) = c by rewrite tt !lenZ s1 len_U !mulr1 gtr0_norm.
have bt' : near t'.
  rewrite /near; apply: le_trans (len_triangle _ t _) _; rewrite lc.
  by rewrite -ler_subr_addr -/d; apply: le_trans cd _; by_quotient (d / 2%:R).
have ct : len (t' - t) < e by rewrite lc; apply: le_lt_trans ce _; rewrite ltr_pdivr_mulr ?ltr0n // ltr_pmulr ?ltr1n.
have := low t' ct; have := taylor_above (ltW bt) bt'; rewrite lc tt dotZr form_scale form_scale.
have s2 : s ^+ 2 = 1 by rewrite -real_normK ?num_real // s1 expr1n.
rewrite s2 mul1r; have cur := curvature_at bt; set G := dot _ _ in down *; set f := form _ U in cur *.
set k := Lam * len _ in Lk cur * => up lo.
have [L0|L0] := eqVneq Lam 0.
  have f0 : f < 0 by apply: le_lt_trans cur _; rewrite /k L0 mul0r addr0 oppr_lt0.
  have : c * G + c ^+ 2 * f / 2%:R < 0.
    rewrite -oppr_gt0 opprD ltr_paddl // ?oppr_ge0 ?pmulr_rle0 //.
    by rewrite -mulNr divr_gt0 ?ltr0n // oppr_gt0 pmulr_rlt0 ?exprn_gt0.
  have := le_trans lo up; rewrite L0 mul0r mul0r addr0 -addrA ler_addl => a b; by rewrite leNgt b in a.
have Lp : 0 < Lam by rewrite lt_def L0.
have fd : f <= - (Lam * d).
  by by_sum ((- gamma + k - f) + (gamma - Lam * d - k)).
suff : c * G + c ^+ 2 * f / 2%:R + Lam / 6%:R * c ^+ 3 < 0.
  have := le_trans lo up; rewrite -!addrA ler_addl !addrA => a b; by rewrite leNgt b in a.
have neg : 0 < c ^+ 2 * (Lam * d) * (5%:R / 12%:R) by rewrite !mulr_gt0 ?invr_gt0 ?exprn_gt0 ?ltr0n.
apply: le_lt_trans (_ : - (c ^+ 2 * (Lam * d) * (5%:R / 12%:R)) < 0); last by rewrite oppr_lt0.
have gg : 0 <= - (c * G) by rewrite oppr_ge0 pmulr_rle0.
by by_quotient (- (c * G) + c ^+ 2 * (- (Lam * d) - f) / 2%:R + Lam / 6%:R * c ^+ 2 * (d / 2%:R - c)).
Qed.

(** (iii): how far the loss falls *)
Theorem drop s t : `|s| = 1 -> dot (grad theta0) (s *: U) <= 0 -> 0 < t -> t <= Rad ->
  L (theta0 + t *: (s *: U)) <= L theta0 - gamma * t ^+ 2 / 3%:R.
Proof.
move=> s1 down t0 tR; have tt : theta0 + t *: (s *: U) - theta0 = t *: (s *: U) by rewrite addrAC subrr add0r.
have lc : len (t *: (s *: U)) = t by rewrite !lenZ s1 len_U !mulr1 gtr0_norm.
have b0 : near theta0 by rewrite /near subrr len0 ltW.
have bt : near (theta0 + t *: (s *: U)) by rewrite /near tt lc.
have := taylor_above b0 bt; rewrite tt lc dotZr !form_scale.
have s2 : s ^+ 2 = 1 by rewrite -real_normK ?num_real // s1 expr1n.
rewrite s2 mul1r; have cv := curved; set G := dot _ _ in down *; set f := form _ U in cv *; set L' := L (_ + _) => up.
have Lt : 0 <= gamma - Lam * t by rewrite subr_ge0; apply: le_trans small_ball; rewrite ler_wpmul2l.
have gg : 0 <= - (t * G) by rewrite oppr_ge0 pmulr_rle0.
set X := L theta0 + _ + _ + _ in up.
apply: le_trans up _; rewrite /X.
by by_quotient (- (t * G) + t ^+ 2 * (- gamma - f) / 2%:R + t ^+ 2 * (gamma - Lam * t) / 6%:R).
Qed.
End Saddle.

(** second-order-stationary, on a ball, (c): H >= mu, rho = Lam *)
Section Minimum.
Variables (mu eps D : R).
Hypotheses (mu_gt0 : 0 < mu) (Lam_ge0 : 0 <= Lam) (ball_small : Lam * Rad < mu).
Hypothesis low : possemi (H theta0 - mu%:M).
Hypothesis gradient : len (grad theta0) <= eps.
(** integration along segments: what strong convexity at distance <= s <= Rad of theta0 means *)
Hypothesis taylor_first : forall t t', near t -> near t' ->
  L t + dot (grad t) (t' - t) + (mu - Lam * Rad) / 2%:R * sq (t' - t) <= L t'.
Hypothesis outward : forall t, near t ->
  dot (grad theta0) (t - theta0) + (mu - Lam / 2%:R * len (t - theta0)) * sq (t - theta0) <= dot (grad t) (t - theta0).

Lemma curvature_in_the_ball t u : near t -> (mu - Lam * len (t - theta0)) * sq u <= form (H t) u.
Proof.
move=> bt; have := lipschitz u bt; rewrite ler_norml => /andP[h _].
have := low u; rewrite formD formN form_scalar => l0.
set f := form (H t) u in h *; set f0 := form _ u in h l0 *; set k := Lam * _ * _ in h *.
have -> : (mu - Lam * len (t - theta0)) * sq u = mu * sq u - k by rewrite mulrBl.
by by_sum ((f0 - mu * sq u) + (f - f0 - - k)).
Qed.
Theorem at_most_one_critical_point t t' : near t -> near t' -> grad t = 0 -> grad t' = 0 -> t = t'.
Proof.
move=> bt bt' g g'; have := taylor_first bt bt'; have := taylor_first bt' bt; rewrite g g' !dot0l !addr0.
have -> : sq (t - t') = sq (t' - t) by rewrite -sqN opprB.
have m0 : 0 < (mu - Lam * Rad) / 2%:R by rewrite divr_gt0 ?subr_gt0 ?ltr0n.
move=> h1 h2; apply/eqP; rewrite -subr_eq0 -oppr_eq0 opprB -sq_eq0 eq_le sq_ge0 andbT -(pmulr_rle0 _ m0).
set c := _ / _ * _ in h1 h2 *; by by_quotient ((L t - (L t' + c)) / 2%:R + (L t' - (L t + c)) / 2%:R).
Qed.
Theorem critical_point_is_near_and_low t : 0 < D -> D <= Rad -> eps < mu * D - Lam * D ^+ 2 / 2%:R -> near t -> grad t = 0 ->
  [/\ len (t - theta0) <= D, L theta0 - L t <= eps * D & forall t', near t' -> L t <= L t'].
Proof.
move=> D0 DR steep bt g; have l0 := len_ge0 (t - theta0); set l := len (t - theta0) in l0 *.
have lD : l <= D.
  rewrite leNgt; apply/negP => Dl; have lR : l <= Rad := bt.
  have := outward bt; rewrite g dot0l -len_sqr -/l => h.
  have cs : - (eps * l) <= dot (grad theta0) (t - theta0).
    rewrite ler_oppl -dotNl; apply: le_trans (dot_le _ _) _; rewrite lenN; by rewrite ler_wpmul2r.
  have lp : 0 < l := lt_trans D0 Dl.
  suff : 0 < l * (mu * l - Lam * l ^+ 2 / 2%:R - eps).
    set x := dot _ _ in h cs *; rewrite ltNge => /negP; apply.
    by by_quotient ((x - - (eps * l)) + (0 - (x + (mu - Lam / 2%:R * l) * l ^+ 2))).
  rewrite pmulr_rgt0 // subr_gt0; apply: lt_le_trans steep _.
  have a1 : 0 <= l - D by rewrite subr_ge0 ltW.
  have a2 : 0 <= (mu - Lam * Rad) by rewrite subr_ge0 ltW.
  by by_quotient ((l - D) * ((mu - Lam * Rad) + Lam / 2%:R * (Rad - l) + Lam / 2%:R * (Rad - D))).
have b0 : near theta0 by rewrite /near subrr len0; apply: le_trans DR; apply: ltW.
have m0 : 0 <= (mu - Lam * Rad) / 2%:R by rewrite divr_ge0 ?subr_ge0 ?ler0n ?(ltW ball_small).
split=> // [|t' bt'].
  have := taylor_first b0 bt; have s0 := sq_ge0 (t - theta0); set q := sq _ in s0 * => h.
  have cs : - (eps * l) <= dot (grad theta0) (t - theta0).
    rewrite ler_oppl -dotNl; apply: le_trans (dot_le _ _) _; rewrite lenN; by rewrite ler_wpmul2r.
  have e0 : 0 <= eps := le_trans (len_ge0 _) gradient.
  set x := dot _ _ in h cs *; set c := _ / 2%:R in m0 h.
  by by_sum ((L t - (L theta0 + x + c * q)) + (x - - (eps * l)) + c * q + eps * (D - l)).
have := taylor_first bt bt'; rewrite g dot0l addr0; apply: le_trans; rewrite ler_addl mulr_ge0 ?sq_ge0 //.
Qed.
End Minimum.
End SecondOrder.

(** blocks: H = J^T J + B with B >= -delta block by block *)
Theorem blocks (R : realFieldType) (n p : nat) (J : 'M[R]_(n, p)) (B : 'M[R]_p) (delta : R) :
  possemi (delta%:M + B) -> possemi (J^T *m J + B + delta%:M).
Proof.
move=> h u; have := h u; rewrite !formD form_gram => b; have j := sq_ge0 (J *m u).
by set q := sq _ in j *; set f := form B u in b *; set e := form _ u in b *; rewrite -addrA addr_ge0 // addrC.
Qed.
