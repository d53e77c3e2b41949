(** spec/claims/dual-gap.md: the dual bound of every network with weight decay. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** The class: intercept and linear part are absent, free or penalized *)

Section Parts.
Variable R : realFieldType.
Inductive part := Absent | Free | Penalized of R.
Definition in_range p := if p is Penalized k then 0 < k else true.
Definition cost p (square : R) := if p is Penalized k then k / 2%:R * square else 0.
Definition price p (square : R) := if p is Penalized k then square / (2%:R * k) else 0.

Lemma square_price (k c s : R) : 0 < k -> - (s ^+ 2 / (2%:R * k)) <= c * s + k / 2%:R * c ^+ 2.
Proof.
move=> k0; by_quotient ((k * c + s) ^+ 2 / (2%:R * k)).
Qed.

Variable d : nat.
Definition allowed p (t : 'cV[R]_d) := if p is Absent then t = 0 else True.
Definition balanced p (s : 'cV[R]_d) := if p is Free then s = 0 else True.
Lemma part_bound p (t s : 'cV[R]_d) : in_range p -> allowed p t -> balanced p s ->
  - price p (sq s) <= dot t s + cost p (sq t).
Proof.
case: p => [_ /= -> _|_ _ /= ->|k /= k0 _ _]; rewrite ?dot0l ?dot0r ?oppr0 ?addr0 //.
have -> : sq s / (2%:R * k) = \sum_i s i 0 ^+ 2 / (2%:R * k).
  by rewrite -mulr_suml; congr (_ / _); apply: eq_bigr => i _; rewrite expr2.
have -> : k / 2%:R * sq t = \sum_i k / 2%:R * t i 0 ^+ 2.
  by rewrite -mulr_sumr; congr (_ * _); apply: eq_bigr => i _; rewrite expr2.
rewrite -sumrN -big_split; apply: ler_sum => i _; exact: square_price.
Qed.
End Parts.

Definition relu (R : realDomainType) (t : R) := Num.max 0 t.

Lemma relu_homogeneous (R : realDomainType) (c t : R) : 0 <= c -> relu (c * t) = c * relu t.
Proof. by move=> c0; rewrite /relu maxr_pmulr // mulr0. Qed.
Lemma relu0 (R : realDomainType) : relu (0 : R) = 0.
Proof. exact: maxxx. Qed.

Section DualBound.
Variable R : rcfType.
Variables (n d p k : nat).
Variables (x : 'I_n -> 'cV[R]_d) (xh : 'I_n -> 'cV[R]_p). (* rows; rows that the neurons see (with tau) *)
Variables (intercept linear : part R) (hidden_free : bool).
Variable group : pred 'cV[R]_p.      (* weights whose non-zero entries lie in one group *)
Variable allowed_head : 'cV[R]_p -> R -> Prop.  (* sign of the head, of a monotone neuron (R7) *)
Variable loss : 'I_n -> R -> R.      (* om_i l_i *)
Variables (b : R) (u conj : 'I_n -> R).

Record network := Network {
  c0 : 'cV[R]_1; theta : 'cV[R]_d; v : 'I_k -> R; w : 'I_k -> 'cV[R]_p; beta : 'I_k -> R }.
Record in_class (N : network) : Prop := InClass {
  _ : allowed intercept (c0 N); _ : allowed linear (theta N);
  _ : forall l, group (w N l); _ : forall l, allowed_head (w N l) (v N l);
  _ : hidden_free \/ forall l, beta N l = 0 }.
Definition output N i :=
  c0 N 0 0 + dot (theta N) (x i) + \sum_l v N l * relu (dot (w N l) (xh i) + beta N l).
Definition objective N := \sum_i loss i (output N i)
  + b / 2%:R * (\sum_l (sq (w N l) + v N l ^+ 2)) + cost intercept (sq (c0 N)) + cost linear (sq (theta N)).
Definition D := - (\sum_i conj i) - price intercept ((\sum_i u i) ^+ 2) - price linear (sq (\sum_i u i *: x i)).

Definition feature w beta := \sum_i u i * relu (dot w (xh i) + beta).

Hypothesis b_gt0 : 0 < b.
Hypotheses (k0_gt0 : in_range intercept) (k1_gt0 : in_range linear).
Hypothesis domain : forall i t, u i * t - conj i <= loss i t.  (* conj i bounds (om_i l_i)* at u i *)
Hypothesis sum_u : intercept = Free _ -> \sum_i u i = 0.
Hypothesis sum_ux : linear = Free _ -> \sum_i u i *: x i = 0.
(** R7 (a): only the sign of the head that the class allows is tested; a free bias with w = 0 is the case of sum u = 0. *)
Hypothesis H_le_b : forall w beta v, group w -> hidden_free \/ beta = 0 -> allowed_head w v ->
  - (b * (`|v| * len w)) <= v * feature w beta.

Lemma young (s t : R) : s * t <= (s ^+ 2 + t ^+ 2) / 2%:R.
Proof.
by_quotient ((s - t) ^+ 2 / 2%:R).
Qed.

Lemma sum_output N : \sum_i u i * output N i =
  c0 N 0 0 * (\sum_i u i) + dot (theta N) (\sum_i u i *: x i) + \sum_l v N l * feature (w N l) (beta N l).
Proof.
rewrite dot_sumr mulr_sumr /feature.
have -> : \sum_l v N l * (\sum_i u i * relu (dot (w N l) (xh i) + beta N l)) =
    \sum_i \sum_l v N l * (u i * relu (dot (w N l) (xh i) + beta N l)).
  by rewrite exchange_big; apply: eq_bigr => l _; rewrite mulr_sumr.
rewrite -!big_split; apply: eq_bigr => i _ /=.
rewrite dotZr /output !mulrDr mulr_sumr [u i * c0 N 0 0]mulrC; congr (_ + _).
by apply: eq_bigr => l _; rewrite mulrCA.
Qed.

(** Networks whose neurons pay for themselves together (R7 (b) needs no more), or one by one. *)
Lemma dual_bound_of_neurons N : in_class N ->
  - (b / 2%:R * \sum_l (sq (w N l) + v N l ^+ 2)) <= \sum_l v N l * feature (w N l) (beta N l) -> D <= objective N.
Proof.
case=> c0P thP _ _ _ neurons; rewrite /objective /D.
have step1 : \sum_i u i * output N i - \sum_i conj i <= \sum_i loss i (output N i).
  by rewrite -sumrB; apply: ler_sum => i _; apply: domain.
have bc : balanced intercept (\col_(i < 1) \sum_i u i).
  by move: sum_u; case: (intercept) => //= H; apply/colP=> i; rewrite !mxE; exact: H.
have bt : balanced linear (\sum_i u i *: x i) by move: sum_ux; case: (linear) => //= H; exact: H.
have := part_bound k0_gt0 c0P bc; have := part_bound k1_gt0 thP bt.
have -> : dot (c0 N) (\col_(i < 1) \sum_i u i) = c0 N 0 0 * \sum_i u i by rewrite /dot big_ord1 mxE.
have -> : sq (\col_(i < 1) \sum_i u i) = (\sum_i u i) ^+ 2 by rewrite /sq /dot big_ord1 !mxE expr2.
move: step1; rewrite sum_output.
set A := c0 N 0 0 * _; set B := dot _ _; set C := \sum_l _; set G := \sum_i conj i.
set L := \sum_i loss i _; set c1 := cost _ _; set c2 := cost _ _; set p1 := price _ _; set p2 := price _ _.
rewrite -/C in neurons *; set Q := b / _ * _ in neurons *.
move=> h1 h2 h3; by_sum ((L - (A + B + C - G)) + (C - - Q) + (B + c1 - - p1) + (A + c2 - - p2)).
Qed.
Lemma neuron_cost N l : b * (`|v N l| * len (w N l)) <= b / 2%:R * (sq (w N l) + v N l ^+ 2).
Proof.
rewrite -mulrA ler_wpmul2l ?(ltW b_gt0) //.
by have := young `|v N l| (len (w N l)); rewrite len_sqr real_normK ?num_real // addrC [X in _ <= X]mulrC.
Qed.

Lemma dual_bound N : in_class N -> D <= objective N.
Proof.
move=> inN; apply: dual_bound_of_neurons (inN) _; case: inN => _ _ gP hP bP.
rewrite mulr_sumr -sumrN; apply: ler_sum => l _.
have bl : hidden_free \/ beta N l = 0 by case: bP => [->|->]; [left | right].
by apply: le_trans (H_le_b (gP l) bl (hP l)); rewrite ler_opp2 neuron_cost.
Qed.
End DualBound.


(** ** R1: H_g(u) is a maximum over |w| <= 1, and over all biases if they are free *)

Section R1.
Variable R : rcfType.
Variables (n d p k : nat) (x : 'I_n -> 'cV[R]_d) (xh : 'I_n -> 'cV[R]_p).
Variables (intercept linear : part R) (hidden_free : bool).
Variable group : pred 'cV[R]_p.
Variables (loss : 'I_n -> R -> R) (b : R) (u conj : 'I_n -> R).
Hypothesis group_cone : forall c w, 0 <= c -> group w -> group (c *: w).
Hypothesis b_gt0 : 0 < b.
Hypotheses (k0_gt0 : in_range intercept) (k1_gt0 : in_range linear).
Hypothesis domain : forall i t, u i * t - conj i <= loss i t.
Hypothesis sum_u : intercept = Free _ \/ hidden_free -> \sum_i u i = 0.
Hypothesis sum_ux : linear = Free _ -> \sum_i u i *: x i = 0.

(** The sign s = 1 tests u, s = -1 tests -u. *)
Definition H_le_on (good : pred 'cV[R]_p) (s : R) := forall w beta, group w -> good w -> sq w <= 1 ->
  hidden_free \/ beta = 0 -> s * feature xh u w beta <= b.

Lemma feature_scaled c w beta : 0 <= c -> feature xh u (c *: w) (c * beta) = c * feature xh u w beta.
Proof.
move=> c0; rewrite /feature mulr_sumr; apply: eq_bigr => i _.
by rewrite dotZl -mulrDr relu_homogeneous // mulrCA.
Qed.
Lemma feature_constant beta : feature xh u 0 beta = relu beta * \sum_i u i.
Proof. by rewrite /feature mulr_sumr; apply: eq_bigr => i _; rewrite dot0l add0r mulrC. Qed.

Lemma H_homogeneous (good : pred 'cV[R]_p) s w beta : (forall c w, 0 <= c -> good w -> good (c *: w)) ->
  H_le_on good s -> group w -> good w -> hidden_free \/ beta = 0 -> s * feature xh u w beta <= b * len w.
Proof.
move=> cone H gw ow fb; have [->|w0] := eqVneq w 0.
  rewrite len0 mulr0 feature_constant; case: fb => [hf|->]; last by rewrite relu0 mul0r mulr0.
  by rewrite sum_u ?mulr0 //; right.
have lw : 0 < len w by rewrite lt_def len_ge0 len_eq0 w0.
have li : 0 <= (len w)^-1 by rewrite invr_ge0 len_ge0.
have one : sq ((len w)^-1 *: w) <= 1.
  by rewrite sqZ -len_sqr -exprMn mulVf ?gt_eqF // expr1n.
have fb' : hidden_free \/ (len w)^-1 * beta = 0 by case: fb => [->|->]; [left | right; rewrite mulr0].
have := H _ _ (group_cone li gw) (cone _ _ li ow) one fb'.
by rewrite feature_scaled // mulrCA ler_pdivr_mull // [X in _ <= X]mulrC.
Qed.

Theorem R1 (N : network R d p k) :
  (forall s, `|s| = 1 -> H_le_on xpredT s) ->
  in_class intercept linear hidden_free group (fun _ _ => True) N ->
  D x intercept linear u conj <= objective x xh intercept linear loss b N.
Proof.
move=> H inN; apply: (@dual_bound _ _ _ _ _ _ _ _ _ hidden_free group (fun _ _ => True)) inN => //.
  by move=> f; apply: sum_u; left.
move=> w beta v gw fb _.
have hp := H_homogeneous (fun _ _ _ _ => isT) (H 1 (normr1 _)) gw isT fb.
have hm := H_homogeneous (fun _ _ _ _ => isT) (H (-1) (normrN1 _)) gw isT fb.
rewrite mul1r in hp; rewrite mulN1r in hm.
have : `|v * feature xh u w beta| <= `|v| * (b * len w).
  by rewrite normrM ler_wpmul2l ?normr_ge0 // ler_norml ler_oppl hm hp.
by rewrite mulrCA ler_norml => /andP[].
Qed.

(** R7 (a): heads v > 0 only for w in Wplus, v < 0 only for w in Wminus. *)
Theorem R7_a (Wplus Wminus : pred 'cV[R]_p) (N : network R d p k) :
  (forall c w, 0 <= c -> Wplus w -> Wplus (c *: w)) -> (forall c w, 0 <= c -> Wminus w -> Wminus (c *: w)) ->
  H_le_on Wplus (-1) -> H_le_on Wminus 1 ->
  in_class intercept linear hidden_free group (fun w v => (0 < v -> Wplus w) /\ (v < 0 -> Wminus w)) N ->
  D x intercept linear u conj <= objective x xh intercept linear loss b N.
Proof.
move=> cp cm Hp Hm; apply: dual_bound => //; first by move=> f; apply: sum_u; left.
move=> w beta v gw fb [vp vm]; have [v0|v0|->] := ltgtP v 0; last by rewrite normr0 !mul0r mulr0 oppr0.
  have := H_homogeneous cm Hm gw (vm v0) fb; rewrite mul1r => h.
  have v1 : 0 <= - v by rewrite oppr_ge0 ltW.
  by rewrite ltr0_norm //; by_sum (- v * (b * len w - feature xh u w beta)).
have := H_homogeneous cp Hp gw (vp v0) fb; rewrite mulN1r => h.
by rewrite gtr0_norm //; by_sum (v * (b * len w - - feature xh u w beta)).
Qed.
End R1.

(** ** Several outputs: the head of a neuron is a vector *)

Section SeveralOutputs.
Variable R : rcfType.
Variables (n p k c : nat) (xh : 'I_n -> 'cV[R]_p) (intercept : part R) (hidden_free : bool).
Variable group : pred 'cV[R]_p.
Variables (loss : 'I_n -> 'cV[R]_c -> R) (b : R) (U : 'I_n -> 'cV[R]_c) (conj : 'I_n -> R).
Variables (c0 : 'cV[R]_c) (v : 'I_k -> 'cV[R]_c) (w : 'I_k -> 'cV[R]_p) (beta : 'I_k -> R).

Definition outputs i := c0 + \sum_l relu (dot (w l) (xh i) + beta l) *: v l.
Definition vector_feature w beta := \sum_i relu (dot w (xh i) + beta) *: U i.
Definition P_several := \sum_i loss i (outputs i)
  + b / 2%:R * (\sum_l (sq (w l) + sq (v l))) + cost intercept (sq c0).
Definition D_several := - (\sum_i conj i) - price intercept (sq (\sum_i U i)).

Hypotheses (b_gt0 : 0 < b) (k0_gt0 : in_range intercept).
Hypothesis domain : forall i t, dot (U i) t - conj i <= loss i t.
Hypothesis sum_U : intercept = Free _ \/ hidden_free -> \sum_i U i = 0.
Hypothesis H_le_b : forall w beta, group w -> w != 0 -> hidden_free \/ beta = 0 -> len (vector_feature w beta) <= b * len w.
Hypotheses (c0_class : allowed intercept c0) (groups : forall l, group (w l)).
Hypothesis biases : hidden_free \/ forall l, beta l = 0.

Lemma several_neuron l : - (b / 2%:R * (sq (w l) + sq (v l))) <= dot (v l) (vector_feature (w l) (beta l)).
Proof.
have fb : hidden_free \/ beta l = 0 by case: biases => [->|->]; [left | right].
have small : len (vector_feature (w l) (beta l)) <= b * len (w l).
  have [w0|w0] := eqVneq (w l) 0; last exact: H_le_b.
  have -> : vector_feature (w l) (beta l) = relu (beta l) *: \sum_i U i.
    by rewrite /vector_feature w0 scaler_sumr; apply: eq_bigr => i _; rewrite dot0l add0r.
  case: fb => [hf|->]; first by rewrite sum_U ?scaler0 ?w0 ?len0 ?mulr0 //; right.
  by rewrite relu0 scale0r w0 !len0 mulr0.
have := dot_le_len (v l) (vector_feature (w l) (beta l)); rewrite ler_norml => /andP[low _].
apply: le_trans low; rewrite ler_opp2.
apply: le_trans (ler_wpmul2l (len_ge0 _) small) _.
have := young (len (v l)) (len (w l)); rewrite !len_sqr => y; rewrite -mulrA mulrCA ler_wpmul2l ?(ltW b_gt0) //.
by rewrite [X in _ <= X]mulrC [sq (w l) + _]addrC.
Qed.

Lemma several_sum : \sum_i dot (U i) (outputs i) =
  dot c0 (\sum_i U i) + \sum_l dot (v l) (vector_feature (w l) (beta l)).
Proof.
rewrite dot_sumr; under [X in _ = _ + X]eq_bigr do rewrite /vector_feature dot_sumr.
rewrite [X in _ = _ + X]exchange_big -big_split; apply: eq_bigr => i _ /=.
rewrite /outputs dotDr dot_sumr (dotC c0); congr (_ + _); apply: eq_bigr => l _.
by rewrite !dotZr (dotC (U i)).
Qed.

Theorem R1_several : D_several <= P_several.
Proof.
rewrite /D_several /P_several.
have h1 : \sum_i dot (U i) (outputs i) - \sum_i conj i <= \sum_i loss i (outputs i).
  by rewrite -sumrB; apply: ler_sum => i _; apply: domain.
have h2 : - (b / 2%:R * \sum_l (sq (w l) + sq (v l))) <= \sum_l dot (v l) (vector_feature (w l) (beta l)).
  by rewrite mulr_sumr -sumrN; apply: ler_sum => l _; apply: several_neuron.
have bc : balanced intercept (\sum_i U i).
  by move: sum_U; case: (intercept) => //= H; apply: H; left.
have h3 := part_bound k0_gt0 c0_class bc.
rewrite several_sum in h1.
set A := dot c0 _ in h1 h3 *; set C := \sum_l dot _ _ in h1 h2 *; set G := \sum_i conj i in h1 *.
set L := \sum_i loss i _ in h1 *; set Q := b / _ * _ in h2 *.
set c1 := cost _ _ in h3 *; set p1 := price _ _ in h3 *.
by by_sum ((L - (A + C - G)) + (C - - Q) + (A + c1 - - p1)).
Qed.
End SeveralOutputs.

(** ** R5: quadratic networks, |v_l| <= v_max, penalty on W only *)

Section R5.
Variable R : realFieldType.
Variables (n d k : nat) (x : 'I_n -> 'cV[R]_d) (loss : 'I_n -> R -> R) (u conj : 'I_n -> R).
Variables (b v_max : R) (intercept_free nonnegative : bool).
Variables (c0 : R) (v : 'I_k -> R) (w : 'I_k -> 'cV[R]_d).
Definition Z := \sum_i u i *: (x i *m (x i)^T).
Definition quadratic_output i := c0 + \sum_l v l * dot (w l) (x i) ^+ 2.
Definition a := b / (2%:R * v_max).
Hypotheses (b_gt0 : 0 < b) (v_max_gt0 : 0 < v_max).
Hypothesis domain : forall i t, u i * t - conj i <= loss i t.
Hypothesis sum_u : intercept_free -> \sum_i u i = 0.
Hypothesis c0_class : intercept_free \/ c0 = 0.
Hypothesis heads : forall l, `|v l| <= v_max.
Hypothesis signs : nonnegative -> forall l, 0 <= v l.
Hypothesis lower : possemi (a%:M + Z).
Hypothesis upper : nonnegative \/ possemi (a%:M - Z).

Lemma form_Z z : form Z z = \sum_i u i * dot z (x i) ^+ 2.
Proof. by rewrite /Z form_sum; apply: eq_bigr => i _; rewrite formZ form_outer dotC. Qed.

Lemma quadratic_neuron l : - (b / 2%:R * sq (w l)) <= v l * form Z (w l).
Proof.
have e : b / 2%:R = a * v_max by rewrite /a; field; rewrite gt_eqF.
have a0 : 0 <= a by rewrite /a; nonneg.
have lo : 0 <= a * sq (w l) + form Z (w l) by rewrite -form_scalar -formD.
have s0 := sq_ge0 (w l); rewrite e.
have hv := heads l.
have [v0|v0] := leP 0 (v l).
  rewrite (ger0_norm v0) in hv.
  by by_sum (v l * (a * sq (w l) + form Z (w l)) + a * sq (w l) * (v_max - v l)).
have up : 0 <= a * sq (w l) - form Z (w l).
  case: upper => [nn|]; last by rewrite -form_scalar -formN -formD.
  by have := signs nn l; rewrite leNgt v0.
have v1 : 0 <= - v l by rewrite oppr_ge0 ltW.
rewrite (ltr0_norm v0) in hv.
by by_sum (- v l * (a * sq (w l) - form Z (w l)) + a * sq (w l) * (v_max - - v l)).
Qed.

Theorem R5 : - (\sum_i conj i) <= \sum_i loss i (quadratic_output i) + b / 2%:R * \sum_l sq (w l).
Proof.
have h1 : \sum_i u i * quadratic_output i - \sum_i conj i <= \sum_i loss i (quadratic_output i).
  by rewrite -sumrB; apply: ler_sum => i _; apply: domain.
have h2 : - (b / 2%:R * \sum_l sq (w l)) <= \sum_l v l * form Z (w l).
  by rewrite mulr_sumr -sumrN; apply: ler_sum => l _; apply: quadratic_neuron.
have e : \sum_i u i * quadratic_output i = c0 * (\sum_i u i) + \sum_l v l * form Z (w l).
  under [X in _ = _ + X]eq_bigr do rewrite form_Z mulr_sumr.
  rewrite [X in _ = _ + X]exchange_big mulr_sumr -big_split; apply: eq_bigr => i _ /=.
  rewrite /quadratic_output mulrDr mulrC; congr (_ + _); rewrite mulr_sumr.
  by apply: eq_bigr => l _; rewrite mulrCA.
have e0 : c0 * (\sum_i u i) = 0 by case: c0_class => [/sum_u ->|->]; rewrite ?mulr0 ?mul0r.
rewrite e e0 add0r in h1.
set C := \sum_l v l * _ in h1 h2 *; set G := \sum_i conj i in h1 *.
set L := \sum_i loss i _ in h1 *; set Q := b / _ * _ in h2 *.
by by_sum ((L - (C - G)) + (C - - Q)).
Qed.
End R5.

(** ** Losses and their conjugates (those without a logarithm) *)

Section Losses.
Variable R : realFieldType.
Definition squared (y t : R) := (t - y) ^+ 2 / 2%:R.
Definition huber (h y t : R) :=
  if `|t - y| <= h then (t - y) ^+ 2 / 2%:R else h * `|t - y| - h ^+ 2 / 2%:R.
Definition quantile (a y t : R) := Num.max (a * (y - t)) ((a - 1) * (y - t)).
Definition hinge (y t : R) := Num.max 0 (1 - y * t).
Definition squared_hinge (y t : R) := Num.max 0 (1 - y * t) ^+ 2 / 2%:R.

(** (om l)*(om q) = om l*(q) *)
Lemma conjugate_weighted (l : R -> R) om q g : 0 <= om ->
  (forall t, q * t - g <= l t) -> forall t, om * q * t - om * g <= om * l t.
Proof. by move=> o0 h t; rewrite -mulrA -mulrBr ler_wpmul2l. Qed.

Lemma conjugate_squared (y u t : R) : u * t - (u * y + u ^+ 2 / 2%:R) <= squared y t.
Proof. by rewrite /squared; by_quotient ((t - y - u) ^+ 2 / 2%:R). Qed.

Lemma conjugate_huber (h y u t : R) : `|u| <= h -> u * t - (u * y + u ^+ 2 / 2%:R) <= huber h y t.
Proof.
move=> uh; rewrite /huber; case: ifP => [_|]; first exact: conjugate_squared.
move/negbT; rewrite -ltNge => hr; set r := t - y in hr *.
have h0 : 0 <= h := le_trans (normr_ge0 _) uh.
have b1 : u * r <= `|u| * `|r| by rewrite -normrM ler_norm.
have b2 : u ^+ 2 = `|u| ^+ 2 by rewrite real_normK ?num_real.
rewrite b2 -/r; have {1}-> : t = y + r by rewrite /r addrC subrK.
by by_quotient ((`|u| * `|r| - u * r) + (h - `|u|) * (`|r| - h) + (h - `|u|) ^+ 2 / 2%:R).
Qed.

Lemma conjugate_quantile (a y u t : R) : - a <= u -> u <= 1 - a -> u * t - u * y <= quantile a y t.
Proof.
move=> lo hi; rewrite /quantile le_maxr; have [s0|s0] := leP 0 (y - t); apply/orP; [left | right].
  by by_sum ((u - - a) * (y - t)).
have s1 : 0 <= t - y by rewrite subr_ge0 -subr_le0 ltW.
by by_sum ((1 - a - u) * (t - y)).
Qed.

Lemma conjugate_hinge (y u t : R) : y ^+ 2 = 1 -> 0 <= - y * u -> - y * u <= 1 ->
  u * t - - (- y * u) <= hinge y t.
Proof.
move=> y2 p0 p1; rewrite /hinge le_maxr; have e : u * t - - (- y * u) = - y * u * (1 - y * t).
  by rewrite -[X in X * t]mul1r -[X in X * u * t]y2; ring.
rewrite e; have [m0|m0] := leP 0 (1 - y * t); apply/orP; [right | left].
  by by_sum ((1 - - y * u) * (1 - y * t)).
by apply: mulr_ge0_le0 => //; apply: ltW.
Qed.

Lemma conjugate_squared_hinge (y u t : R) : y ^+ 2 = 1 -> 0 <= - y * u ->
  u * t - (- (- y * u) + (- y * u) ^+ 2 / 2%:R) <= squared_hinge y t.
Proof.
move=> y2 p0; rewrite /squared_hinge; set p := - y * u in p0 *; set m := 1 - y * t.
have -> : u * t - (- p + p ^+ 2 / 2%:R) = p * m - p ^+ 2 / 2%:R.
  by rewrite /m /p -[X in X * t]mul1r -[X in X * u * t]y2; ring.
have [m0|m0] := leP 0 m; first by by_quotient ((m - p) ^+ 2 / 2%:R).
rewrite expr0n mul0r; have m1 : 0 <= - m by rewrite oppr_ge0 ltW.
by by_quotient (p * - m + p ^+ 2 / 2%:R).
Qed.
End Losses.
