(** spec/claims/relu-descent.md: gradient descent on a ReLU network converges to zero loss, whatever the derivative at 0. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap primitives limits frobenius matrix_norms.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** The network, its slopes and a step *)
Section Network.
Variable R : rcfType.
Variables (n d k : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (v : 'I_k -> R).
Implicit Types W : 'M[R]_(k, d).

Definition z W l i := \sum_a W l a * x i a 0.
Definition f W i := \sum_l v l * relu (z W l i).
Definition r W : 'cV[R]_n := \col_i (f W i - y i).
Definition loss W := sq (r W) / 2%:R.
Definition K i j := dot (x i) (x j).
(** the derivative of relu at t; at 0 any number in [0, 1] *)
Definition derivative (t c : R) := [/\ 0 <= c, c <= 1, 0 < t -> c = 1 & t < 0 -> c = 0].
(** J_c^T r: the gradient of the loss, with the derivatives c *)
Definition gradient W (c : 'I_k -> 'I_n -> R) : 'M[R]_(k, d) :=
  \matrix_(l, a) \sum_i (f W i - y i) * (v l * c l i) * x i a 0.

Lemma relu_moves (t t' : R) : t <= t' -> 0 <= relu t' - relu t /\ relu t' - relu t <= t' - t.
Proof.
move=> tt; rewrite /relu; have [a|a] := leP 0 t; have [b|b] := leP 0 t'; rewrite ?subr0 ?sub0r ?subr_ge0 ?oppr0 //.
- by have := le_lt_trans (le_trans a tt) b; rewrite ltxx.
- by split=> //; rewrite ler_addl oppr_ge0 ltW.
Qed.
Definition slope (t t' : R) : R := if t' == t then (if 0 < t then 1 else 0) else (relu t' - relu t) / (t' - t).
Lemma slopeP (t t' : R) : [/\ 0 <= slope t t' <= 1, relu t' - relu t = slope t t' * (t' - t),
  0 < t -> 0 < t' -> slope t t' = 1 & t < 0 -> t' < 0 -> slope t t' = 0].
Proof.
rewrite /slope; have [->|ne] := eqVneq t' t.
  by rewrite !subrr mulr0; split=> // [|-> //|/lt_gtF -> //]; case: ifP; rewrite ?lexx ?ler01.
have ne' : t' - t != 0 by rewrite subr_eq0.
split; last 2 first.
- by move=> t0 t'0; rewrite /relu !max_r ?(ltW t0) ?(ltW t'0) // divff.
- by move=> t0 t'0; rewrite /relu !max_l ?(ltW t0) ?(ltW t'0) // subrr mul0r.
- case: (ltgtP t t') => [h|h|h]; last by rewrite h eqxx in ne.
    have [a b] := relu_moves (ltW h); have p : 0 < t' - t by rewrite subr_gt0.
    by rewrite divr_ge0 ?(ltW p) // ler_pdivr_mulr // mul1r.
  have [a b] := relu_moves (ltW h); have p : 0 < t - t' by rewrite subr_gt0.
  rewrite -[(_ - _) / _]mulrNN -invrN !opprB.
  by rewrite divr_ge0 ?(ltW p) // ler_pdivr_mulr // mul1r.
- by rewrite divfK.
Qed.

Lemma K_sum i j : K i j = \sum_a x i a 0 * x j a 0. Proof. by []. Qed.
Lemma zB W W' l i : z (W - W') l i = z W l i - z W' l i.
Proof. by rewrite /z -sumrB; apply: eq_bigr => a _; rewrite !mxE mulrBl. Qed.
Lemma zZ t W l i : z (t *: W) l i = t * z W l i.
Proof. by rewrite /z mulr_sumr; apply: eq_bigr => a _; rewrite mxE mulrA. Qed.
Lemma z_gradient W c l i : z (gradient W c) l i = v l * \sum_m K i m * c l m * r W m 0.
Proof.
rewrite /z; under eq_bigr do rewrite mxE mulr_suml; rewrite exchange_big mulr_sumr /=; apply: eq_bigr => m _.
rewrite K_sum !mulr_suml mulr_sumr; apply: eq_bigr => a _; rewrite mxE; set e := f W m - y m; ring.
Qed.

(** K_ij sum_l v_l^2 c_li c'_lj: J_c J_c'^T *)
Definition Gram_of (c c' : 'I_k -> 'I_n -> R) : 'M[R]_n := \matrix_(i, j) (K i j * \sum_l v l ^+ 2 * (c l i * c' l j)).

Lemma gradient_sqr W c : ip (gradient W c) (gradient W c) = form (Gram_of c c) (r W).
Proof.
rewrite ipE; have -> : form (Gram_of c c) (r W) = \sum_l v l * \sum_i c l i * r W i 0 * z (gradient W c) l i.
  rewrite /form /dot; under [RHS]eq_bigr do rewrite mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => i _.
  under [RHS]eq_bigr do rewrite z_gradient; rewrite [(_ *m _) i 0]mxE mulr_sumr.
  under [RHS]eq_bigr do rewrite !mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => m _.
  rewrite [Gram_of _ _ _ _]mxE mulr_sumr mulr_suml mulr_sumr; apply: eq_bigr => l _.
  by set e := r W i 0; set g := r W m 0; ring.
apply: eq_bigr => l _; rewrite mulr_sumr /z; under [RHS]eq_bigr do rewrite !mulr_sumr; rewrite exchange_big /=.
apply: eq_bigr => a _; rewrite {1}mxE mulr_suml; apply: eq_bigr => i _; rewrite [r W i 0]mxE.
by set g := gradient W c l a; set e := f W i - y i; ring.
Qed.

Variable eta : R.
Lemma residual_step W c (W' := W - eta *: gradient W c) (th := fun l i => slope (z W l i) (z W' l i)) :
  r W' = r W - eta *: (Gram_of th c *m r W).
Proof.
apply/colP => i; rewrite [LHS]mxE [RHS]mxE {1}[r W i 0]mxE; apply/eqP; rewrite -subr_eq0 -subr_eq0.
have -> : (- (eta *: (Gram_of th c *m r W))) i 0 = f W' i - f W i; last by apply/eqP; ring.
rewrite /f -sumrB 3!mxE mulr_sumr -sumrN.
have step l : z W' l i - z W l i = - (eta * (v l * \sum_m K i m * c l m * r W m 0)).
  by rewrite -zB /W' addrAC subrr add0r -z_gradient -scaleNr zZ mulNr.
under [RHS]eq_bigr => l _.
  have [_ e _ _] := slopeP (z W l i) (z W' l i).
  rewrite -mulrBr e -/(th l i) step !mulr_sumr -sumrN !mulr_sumr; over.
rewrite exchange_big /=; apply: eq_bigr => m _; rewrite mxE mulr_sumr mulr_suml mulr_sumr -sumrN.
by apply: eq_bigr => l _; set e := r W m 0; ring.
Qed.
End Network.

(** ** The run *)
Section Run.
Variable R : rcfType.
Variables (n d k : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (v : 'I_k -> R).
Variables (W : nat -> 'M[R]_(k, d)) (c : nat -> 'I_k -> 'I_n -> R) (eta tau lam Lam eps : R).
Variables PA1 PA S : 'I_k -> 'I_n -> bool.
Local Notation z := (z x). Local Notation r := (r x y v). Local Notation K := (K x). Local Notation loss := (loss x y v).
Local Notation Gram_of := (Gram_of x v).

Definition reach l i := `|v l| * Num.sqrt (\sum_j if PA1 l j then K i j ^+ 2 else 0).
Definition s l i := reach l i * tau.
Definition in_PA l i : R := if PA l i then 1 else 0.
Definition in_S l i : R := if S l i then 1 else 0.
Definition H_mid : 'M[R]_n := \matrix_(i, j)
  (K i j / 2%:R * \sum_l v l ^+ 2 * (in_PA l i * in_PA l j + in_S l i * in_S l j)).
Definition E : 'M[R]_n := \matrix_(i, j)
  (`|K i j| / 2%:R * \sum_l v l ^+ 2 * (in_PA l i * in_PA l j - in_S l i * in_S l j)).

Hypothesis derivatives : forall j l i, derivative (z (W j) l i) (c j l i).
Hypothesis steps : forall j, W j.+1 = W j - eta *: gradient x y v (W j) (c j).
(** of PA1 only this is used; that it holds all pairs with z_li >= -u_l |K_i| tau makes such a PA exist ([PA1_holds]) *)
Hypothesis PA_PA1 : forall l i, PA l i -> PA1 l i.
Hypothesis PA_holds : forall l i, - s l i <= z (W 0) l i -> PA l i.
Hypothesis S_holds : forall l i, S l i -> s l i < z (W 0) l i.
Hypotheses (eta_gt0 : 0 < eta) (eps_ge0 : 0 <= eps) (eps_lam : eps < lam).
Hypotheses (low : possemi (H_mid - lam%:M)) (high : possemi (Lam%:M - H_mid)).
Hypothesis spread : forall u, len (E *m u) <= eps * len u.
Hypothesis residual : len (r (W 0)) <= (lam - eps) * tau.
Hypothesis small_step : eta * (lam + Lam) <= 2%:R.

Let gap_gt0 : 0 < lam - eps. Proof. by rewrite subr_gt0. Qed.
Let tau_ge0 : 0 <= tau. Proof. by rewrite -(pmulr_rge0 _ gap_gt0); apply: le_trans residual; apply: len_ge0. Qed.
Lemma reach_ge0 l i : 0 <= reach l i. Proof. by nonneg. Qed.
Lemma K_sym i j : K i j = K j i. Proof. exact: dotC. Qed.
Lemma H_mid_sym : H_mid^T = H_mid.
Proof.
apply/matrixP => i j; rewrite !mxE K_sym; congr (_ * _); apply: eq_bigr => l _.
by rewrite [in_PA l j * _]mulrC [in_S l j * _]mulrC.
Qed.

(** which PA1 to take: then the pairs with z_li >= -s_li are in PA1 *)
Lemma PA1_holds : (forall l i, - (`|v l| * Num.sqrt (\sum_j K i j ^+ 2) * tau) <= z (W 0) l i -> PA1 l i) ->
  forall l i, - s l i <= z (W 0) l i -> PA1 l i.
Proof.
move=> all l i h; apply: all; apply: le_trans h; rewrite ler_opp2 ler_wpmul2r // ler_wpmul2l ?normr_ge0 //.
by apply: ler_wsqrtr; apply: ler_sum => j _; case: ifP => // _; apply: sqr_ge0.
Qed.

(** slopes that are 0 outside PA and 1 in S *)
Definition within (a : 'I_k -> 'I_n -> R) := forall l i, in_S l i <= a l i <= in_PA l i.
Lemma bracket a b u : within a -> within b -> len ((Gram_of a b - H_mid) *m u) <= eps * len u.
Proof.
move=> wa wb; apply: (dominated_norm u spread) => i j; rewrite !mxE.
set P := \sum_l _; set Q := \sum_l _; set T := \sum_l _.
have -> : K i j * P - K i j / 2%:R * Q = K i j / 2%:R * (2%:R * P - Q) by field.
rewrite normrM normf_div [`|2%:R|]ger0_norm ?ler0n // ler_wpmul2l ?divr_ge0 ?normr_ge0 ?ler0n //.
rewrite ler_norml -subr_ge0 -[X in _ && X]subr_ge0.
have -> : 2%:R * P - Q - - T = 2%:R * \sum_l v l ^+ 2 * (a l i * b l j - in_S l i * in_S l j).
  rewrite /P /Q /T !mulr_sumr -!sumrN -!big_split; apply: eq_bigr => l _ /=.
  by set aa := a l i; set bb := b l j; set p := in_PA l i; set p' := in_PA l j; set q := in_S l i; set q' := in_S l j; ring.
have -> : T - (2%:R * P - Q) = 2%:R * \sum_l v l ^+ 2 * (in_PA l i * in_PA l j - a l i * b l j).
  rewrite /P /Q /T !mulr_sumr -!sumrN -!big_split -sumrN -big_split; apply: eq_bigr => l _ /=.
  by set aa := a l i; set bb := b l j; set p := in_PA l i; set p' := in_PA l j; set q := in_S l i; set q' := in_S l j; ring.
have S0 l h : 0 <= in_S l h by rewrite /in_S; case: ifP; rewrite ?ler01.
rewrite !mulr_ge0 ?ler0n //; apply: sumr_ge0 => l _; rewrite mulr_ge0 ?sqr_ge0 // subr_ge0.
  have /andP[_ p] := wa l i; have /andP[q1 q] := wb l j; have /andP[a1 _] := wa l i.
  by apply: ler_pmul; rewrite // ?(le_trans (S0 _ _) a1) // (le_trans (S0 _ _) q1).
have /andP[p _] := wa l i; have /andP[q _] := wb l j.
by apply: ler_pmul.
Qed.

(** nothing has moved further than its margin *)
Definition near V := forall l i, `|z V l i - z (W 0) l i| <= s l i.
Lemma near_S V l i : near V -> S l i -> 0 < z V l i.
Proof.
move=> h /S_holds; have := h l i; rewrite ler_norml => /andP[a _] b.
rewrite -(ltr_add2r (- z (W 0) l i)) sub0r; apply: lt_le_trans a; by rewrite ltr_opp2.
Qed.
Lemma near_out V l i : near V -> ~~ PA l i -> z V l i < 0.
Proof.
move=> h nP; have := h l i; rewrite ler_norml => /andP[_ a].
have b : z (W 0) l i < - s l i by rewrite ltNge; apply: contra nP; apply: PA_holds.
by rewrite ler_subl_addl in a; apply: le_lt_trans a _; rewrite -ltr_subr_addr sub0r.
Qed.
Lemma near_derivative j : near (W j) -> within (c j).
Proof.
move=> h l i; have [c0 c1 pos neg] := derivatives j l i; rewrite /in_S /in_PA; apply/andP; split.
  by case: ifP => // Sl; rewrite pos // (near_S h).
by case: ifP => // /negbT nP; rewrite neg // (near_out h).
Qed.
Lemma near_slope V V' : near V -> near V' -> within (fun l i => slope (z V l i) (z V' l i)).
Proof.
move=> h h' l i; have [/andP[c0 c1] _ pos neg] := slopeP (z V l i) (z V' l i); rewrite /in_S /in_PA; apply/andP; split.
  by case: ifP => // Sl; rewrite pos // ?(near_S h) // (near_S h').
by case: ifP => // /negbT nP; rewrite neg // ?(near_out h) // (near_out h').
Qed.

Lemma middle_step u : len (u - eta *: (H_mid *m u)) <= (1 - eta * lam) * len u.
Proof.
have -> : u - eta *: (H_mid *m u) = (1%:M - eta *: H_mid) *m u by rewrite mulmxBl mul1mx -scalemxAl.
apply: symmetric_norm => [|w|w]; first by rewrite linearB /= trmx1 linearZ /= H_mid_sym.
  have := low w; rewrite !formD !formN !formD !formN formZ form1 !form_scalar; set g := form _ w; set q := sq w => h.
  by have e := ltW eta_gt0; by_sum (eta * (g - lam * q)).
have := high w; rewrite !formD !formN formZ form1 !form_scalar; set g := form _ w; have q0 := sq_ge0 w; set q := sq w in q0 * => h.
by have e := ltW eta_gt0; by_sum (eta * (Lam * q - g) + (2%:R - eta * (lam + Lam)) * q).
Qed.
Lemma rate_step j : near (W j) -> near (W j.+1) -> len (r (W j.+1)) <= (1 - eta * (lam - eps)) * len (r (W j)).
Proof.
move=> h h'; rewrite steps residual_step -steps; set th := fun _ _ => _; set u := r (W j).
have := bracket u (near_slope h h') (near_derivative h); rewrite -/th mulmxBl => b.
have m := middle_step u; set G := Gram_of th (c j) *m u in b *; set H := H_mid *m u in b m.
have -> : u - eta *: G = (u - eta *: H) - eta *: (G - H).
  by rewrite scalerBr opprB addrA subrK.
apply: le_trans (lenB _ _) _; rewrite lenZ (gtr0_norm eta_gt0).
have e := ltW eta_gt0; set p := len (u - _) in m *; set q := len (G - H) in b *; set t := len u in m b *.
by by_sum (((1 - eta * lam) * t - p) + eta * (eps * t - q)).
Qed.

Lemma gradient_len j : near (W j) -> fro (gradient x y v (W j) (c j)) <= Num.sqrt (Lam + eps) * len (r (W j)).
Proof.
move=> h; rewrite [X in _ <= X]mulrC /len -sqrtrM ?sq_ge0 // ler_wsqrtr // -[sq (vec _)]/(ip _ _) gradient_sqr.
set u := r (W j); have b := bracket u (near_derivative h) (near_derivative h).
have := le_trans (dot_le u _) (ler_wpmul2l (len_ge0 u) b); rewrite -/(form _ u) formD formN mulrCA -expr2 len_sqr => a.
have := high u; rewrite formD formN form_scalar => a'; set g := form _ u in a *; set m := form _ u in a a' *; set q := sq u in a a' *.
by by_sum ((eps * q - (g - m)) + (Lam * q - m)).
Qed.
Lemma pair_step j l i : near (W j) ->
  `|z (W j.+1) l i - z (W j) l i| <= reach l i * (eta * len (r (W j))).
Proof.
move=> h; have -> : z (W j.+1) l i - z (W j) l i = - (eta * z (gradient x y v (W j) (c j)) l i).
  by rewrite -zB steps addrAC subrr add0r -scaleNr zZ mulNr.
rewrite normrN normrM (gtr0_norm eta_gt0) mulrCA ler_pmul2l // z_gradient normrM /reach -mulrA ler_wpmul2l ?normr_ge0 //.
pose p : 'cV[R]_n := \col_m (if PA1 l m then K i m * c j l m else 0).
have -> : \sum_m K i m * c j l m * r (W j) m 0 = dot p (r (W j)).
  apply: eq_bigr => m _; rewrite [p m 0]mxE; case: ifP => // /negbT nP1.
  have [_ _ _ neg] := derivatives j l m; rewrite neg ?mulr0 //.
  by apply: (near_out h); apply: contra nP1; apply: PA_PA1.
apply: le_trans (dot_le_len _ _) _; rewrite ler_wpmul2r ?len_ge0 // ler_wsqrtr //; apply: ler_sum => m _.
rewrite !mxE; case: ifP => [P1|_]; last by rewrite mulr0.
have [c0 c1 _ _] := derivatives j l m; rewrite -expr2 exprMn -[X in _ <= X]mulr1 ler_wpmul2l ?sqr_ge0 //.
by rewrite -(expr1n _ 2) ler_pexpn2r ?nnegrE ?ler01.
Qed.

Definition sigma j := \sum_(i < j) eta * len (r (W i)).
Lemma sigmaS j : sigma j.+1 = sigma j + eta * len (r (W j)). Proof. exact: big_ord_recr. Qed.
Lemma sigma_ge0 j : 0 <= sigma j.
Proof. by apply: sumr_ge0 => i _; rewrite mulr_ge0 ?len_ge0 // ltW. Qed.
(** eta (lam - eps) <= 1, unless there is no sample *)
Lemma short_step j : eta * (lam - eps) * len (r (W j)) <= len (r (W j)).
Proof.
set u := r (W j); have [->|u0] := eqVneq u 0; first by rewrite len0 mulr0.
have q0 : 0 < sq u by rewrite sq_gt0.
have lL : lam <= Lam.
  rewrite -(ler_pmul2r q0); have := low u; have := high u; rewrite !formD !formN !form_scalar.
  by set g := form _ u; set q := sq u => a b; by_sum ((Lam * q - g) + (g - lam * q)).
rewrite -[X in _ <= X]mul1r ler_wpmul2r ?len_ge0 // -(@ler_pmul2l _ 2%:R) ?ltr0n // mulr1; apply: le_trans small_step.
by have e := ltW eta_gt0; by_sum (eta * (Lam - lam) + 2%:R * eta * eps).
Qed.

Definition invariant j := [/\ near (W j), len (r (W j)) <= len (r (W 0)) - (lam - eps) * sigma j
  & forall l i, `|z (W j) l i - z (W 0) l i| <= reach l i * sigma j].
Lemma sigma_next j : invariant j -> sigma j.+1 <= tau.
Proof.
case=> _ h _; rewrite -(ler_pmul2l gap_gt0); apply: le_trans residual; have := short_step j; rewrite sigmaS.
set p := len (r (W j)) in h *; set p0 := len _ in h *; set m := sigma j in h * => b.
by by_sum ((p0 - (lam - eps) * m - p) + (p - eta * (lam - eps) * p)).
Qed.
Lemma run_invariant j : invariant j.
Proof.
elim: j => [|j I].
  split=> [l i||l i]; rewrite ?subrr ?normr0 /sigma ?big_ord0 ?mulr0 ?subr0 //.
  by rewrite mulr_ge0 ?reach_ge0.
have st := sigma_next I; case: I => nj rj zj.
have moves l i : `|z (W j.+1) l i - z (W 0) l i| <= reach l i * sigma j.+1.
  rewrite sigmaS mulrDr [X in _ <= X]addrC; apply: le_trans (ler_add (pair_step l i nj) (zj l i)).
  by apply: le_trans (ler_norm_add _ _); rewrite addrA subrK.
have nj1 : near (W j.+1) by move=> l i; apply: le_trans (moves l i) _; rewrite ler_wpmul2l ?reach_ge0.
split=> //; apply: le_trans (rate_step nj nj1) _; rewrite sigmaS.
set p := len (r (W j)) in rj *; set p0 := len _ in rj *; set m := sigma j in rj *.
by by_sum (p0 - (lam - eps) * m - p).
Qed.
Lemma run_near j : near (W j). Proof. by case: (run_invariant j). Qed.
Lemma step_path j : fro (W j.+1 - W j) <= Num.sqrt (Lam + eps) * (eta * len (r (W j))).
Proof.
have -> : W j.+1 - W j = - eta *: gradient x y v (W j) (c j) by rewrite steps addrAC subrr add0r scaleNr.
by rewrite froZ normrN (gtr0_norm eta_gt0) mulrCA ler_pmul2l // gradient_len //; apply: run_near.
Qed.

(** the residual moves by at most a multiple of the way *)
Lemma residual_continuous V V' :
  len (r V) <= len (r V') + (\sum_i \sum_l `|v l| * (\sum_a `|x i a 0|)) * fro (V - V').
Proof.
have -> : r V = r V' + (r V - r V') by rewrite addrC subrK.
apply: le_trans (lenD _ _) _; rewrite ler_add2l.
apply: le_trans (len_l1 _) _; rewrite mulr_suml; apply: ler_sum => i _; rewrite !mxE.
have -> : f x v V i - y i - (f x v V' i - y i) = f x v V i - f x v V' i by ring.
rewrite /f -sumrB mulr_suml; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => l _.
have [/andP[c0 c1] e _ _] := slopeP (z V' l i) (z V l i).
rewrite -mulrBr e -zB normrM -mulrA ler_wpmul2l ?normr_ge0 // normrM (ger0_norm c0).
apply: le_trans (_ : `|z (V - V') l i| <= _); first by rewrite -[X in _ <= X]mul1r ler_wpmul2r ?normr_ge0.
apply: le_trans (ler_norm_sum _ _ _) _; rewrite mulr_suml; apply: ler_sum => a _.
by rewrite normrM mulrC ler_wpmul2l ?normr_ge0 // entry_le_fro.
Qed.

Theorem relu_descent : complete R ->
  [/\ forall j, len (r (W j.+1)) <= (1 - eta * (lam - eps)) * len (r (W j)),
      forall j, loss (W j) <= (1 - eta * (lam - eps)) ^+ (2 * j) * loss (W 0),
      forall j, \sum_(i < j) fro (W i.+1 - W i) <= Num.sqrt (Lam + eps) * tau,
      forall j l i, `|z (W j) l i - z (W 0) l i| <= s l i
    & exists limit, loss limit = 0 /\ forall e, 0 < e -> exists N, forall j, (N <= j)%N -> fro (limit - W j) < e].
Proof.
move=> comp; have rate j := rate_step (run_near j) (run_near j.+1).
have st j : sigma j <= tau.
  apply: le_trans (sigma_next (run_invariant j)); rewrite sigmaS ler_addl mulr_ge0 ?len_ge0 //; exact: ltW.
have root0 := @sqrtr_ge0 R (Lam + eps); split=> // [j|j||].
- rewrite /loss mulrA ler_wpmul2r ?invr_ge0 ?ler0n // -!len_sqr; elim: j => [|j IH]; first by rewrite muln0 mul1r.
  apply: le_trans (_ : ((1 - eta * (lam - eps)) * len (r (W j))) ^+ 2 <= _).
    by rewrite ler_pexpn2r ?nnegrE ?len_ge0 // (le_trans (len_ge0 _) (rate j)).
  by rewrite mulnS exprD exprMn -mulrA ler_wpmul2l ?sqr_ge0.
- apply: le_trans (_ : Num.sqrt (Lam + eps) * sigma j <= _); last by rewrite ler_wpmul2l.
  by rewrite /sigma mulr_sumr; apply: ler_sum => i _; apply: step_path.
- exact: run_near.
pose q := Num.sqrt (Lam + eps) + 1; have q0 : 0 <= q by rewrite addr_ge0 ?ler01.
have path j : fro (W j.+1 - W j) <= q * sigma j.+1 - q * sigma j.
  have sj : 0 <= eta * len (r (W j)) by rewrite mulr_ge0 ?len_ge0 // ltW.
  apply: le_trans (step_path j) _; rewrite sigmaS /q; set t := eta * _ in sj *; set m := sigma j.
  by by_sum t.
have bounded j : q * sigma j <= q * tau by rewrite ler_wpmul2l.
have [V [l [below small near' tends]]] := run_converges comp path bounded; exists V; split=> //.
suff r0 : len (r V) = 0 by rewrite /loss -len_sqr r0 expr0n mul0r.
apply/eqP; rewrite eq_le len_ge0 andbT; have := residual_continuous V; set C := \sum_i _ => cont.
have C0 : 0 <= C.
  apply: sumr_ge0 => i _; apply: sumr_ge0 => h _; rewrite mulr_ge0 ?normr_ge0 //; apply: sumr_ge0 => a _; exact: normr_ge0.
pose D := eta^-1 + C * Num.sqrt (k * d)%:R; have D0 : 0 <= D by rewrite addr_ge0 ?mulr_ge0 ?sqrtr_ge0 // invr_ge0 ltW.
apply: (le_of_small D0) => e e0; have [j [lj je]] := small e e0; exists (l - q * sigma j); split=> //; rewrite add0r /D mulrDl.
apply: le_trans (cont (W j)) _; apply: ler_add; last by rewrite -mulrA ler_wpmul2l.
rewrite mulrC ler_pdivl_mulr // mulrC; have := below j.+1; rewrite sigmaS /q.
have sj : 0 <= eta * len (r (W j)) by rewrite mulr_ge0 ?len_ge0 // ltW.
set t := eta * _ in sj *; set m := sigma j; set p := Num.sqrt _ in root0 * => b.
by by_sum ((l - (p + 1) * (m + t)) + p * t).
Qed.
End Run.
