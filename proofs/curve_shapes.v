(** Curves f(t) = sum_l v_l relu(w_l t + c_l): what their slopes and kinks say of their shape
    (spec/claims/dual-gap.md, check Y16, and the jump of the slope in R7 (b)). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Shapes.
Variable R : realFieldType.
Definition increasing (f : R -> R) := forall s t, s <= t -> f s <= f t.
Definition convex (f : R -> R) := forall r s t, r <= s -> s <= t ->
  (t - r) * f s <= (t - s) * f r + (s - r) * f t.

Variables (k : nat) (v w c : 'I_k -> R).
(** Neurons with w_l = 0 are constants and belong to no curve. *)
Definition curve t := \sum_(l | w l != 0) v l * relu (w l * t + c l).
Definition kink l := - c l / w l.
Definition jump t := \sum_(l | (w l != 0) && (kink l == t)) v l * `|w l|.
Definition first_slope := \sum_(l | w l != 0) v l * Num.min (w l) 0.
Definition slope_after t := first_slope + \sum_(l | (w l != 0) && (kink l <= t)) v l * `|w l|.

Lemma relu_ge0 (t : R) : 0 <= relu t. Proof. by rewrite /relu le_maxr lexx. Qed.
Lemma relu_pos (t : R) : 0 <= t -> relu t = t. Proof. exact: max_r. Qed.
Lemma relu_neg (t : R) : t <= 0 -> relu t = 0. Proof. exact: max_l. Qed.
Lemma relu_opp (t : R) : relu (- t) = relu t - t.
Proof.
have [t0|t0] := leP 0 t; first by rewrite (relu_pos t0) relu_neg ?oppr_le0 // subrr.
by rewrite (relu_neg (ltW t0)) relu_pos ?oppr_ge0 ?(ltW t0) // sub0r.
Qed.
Lemma from_kink l t : w l != 0 -> w l * t + c l = w l * (t - kink l).
Proof. by move=> w0; rewrite /kink; field. Qed.
Lemma relu_kink l t : w l != 0 ->
  relu (w l * t + c l) = Num.min (w l) 0 * (t - kink l) + `|w l| * relu (t - kink l).
Proof.
move=> w0; rewrite from_kink //; set s := t - _; have [wn|wp] := ltP (w l) 0.
  rewrite ltr0_norm // -[w l]opprK mulNr -mulrN relu_homogeneous ?oppr_ge0 ?(ltW wn) // relu_opp; ring.
by rewrite ger0_norm // relu_homogeneous // mul0r add0r.
Qed.
Lemma curve_kinks t : curve t =
  \sum_(l | w l != 0) v l * (Num.min (w l) 0 * (t - kink l) + `|w l| * relu (t - kink l)).
Proof. by apply: eq_bigr => l w0; rewrite relu_kink. Qed.

(** ** Increasing curves *)

Lemma linear_between s t : s <= t -> (forall l, w l != 0 -> ~~ (s < kink l < t)) ->
  curve t - curve s = slope_after s * (t - s).
Proof.
move=> st none; rewrite !curve_kinks -sumrB /slope_after /first_slope big_mkcondr -big_split mulr_suml.
apply: eq_bigr => l w0 /=; have := none l w0; have [ks|sk] /= := leP (kink l) s.
  move=> _; rewrite !relu_pos ?subr_ge0 ?(le_trans ks st) //; ring.
by rewrite -leNgt => tk; rewrite !relu_neg ?subr_le0 ?(ltW sk) //; ring.
Qed.

Hypothesis first_ge0 : 0 <= first_slope.
Hypothesis next_ge0 : forall l, w l != 0 -> 0 <= slope_after (kink l).
Lemma slope_ge0 t : 0 <= slope_after t.
Proof.
have [l0 hl0|none] := pickP (fun l => (w l != 0) && (kink l <= t)); last first.
  by rewrite /slope_after big_pred0 ?addr0.
case: (@arg_maxP _ _ _ l0 (fun l => (w l != 0) && (kink l <= t)) kink hl0) => m /andP[wm mt] top.
suff -> : slope_after t = slope_after (kink m) by apply: next_ge0.
congr (_ + _); apply: eq_bigl => l; case: (boolP (w l != 0)) => //= wl.
by apply/idP/idP => [lt|lm]; [apply: top; rewrite wl | apply: le_trans mt].
Qed.

Theorem Y16_increasing : increasing curve.
Proof.
suff steps m : forall s t, (#|[pred l | (w l != 0%R) && (s < kink l < t)%R]| <= m)%N -> s <= t -> curve s <= curve t.
  by move=> s t; apply: steps (leqnn _).
elim: m => [|m IH] s t.
  rewrite leqn0 => /eqP/card0_eq none st; rewrite -subr_ge0 linear_between ?mulr_ge0 ?slope_ge0 ?subr_ge0 //.
  by move=> l w0; have := none l; rewrite !inE w0 /= => ->.
have [l /andP[w0 /andP[sl lt]] small st|none _ st] := pickP (fun l => (w l != 0) && (s < kink l < t)); last first.
  rewrite -subr_ge0 linear_between ?mulr_ge0 ?slope_ge0 ?subr_ge0 //.
  by move=> l w0; have := none l; rewrite w0 /= => ->.
have fewer (p : pred 'I_k) : {subset p <= [pred l | (w l != 0) && (s < kink l < t)]} -> ~~ p l -> (#|p| <= m)%N.
  move=> sub pl; rewrite -ltnS; apply: leq_trans small; apply: proper_card; apply/properP; split; first exact/subsetP.
  by exists l; rewrite ?inE ?w0 ?sl ?lt.
apply: (@le_trans _ _ (curve (kink l))).
  apply: (IH _ _ _ (ltW sl)); apply: fewer => [r|]; last by rewrite /= ltxx !andbF.
  by rewrite !inE => /and3P[-> -> rl]; rewrite (lt_trans rl lt).
apply: (IH _ _ _ (ltW lt)); apply: fewer => [r|]; last by rewrite /= ltxx andbF.
by rewrite !inE => /and3P[-> lr ->]; rewrite (lt_trans sl lr).
Qed.
End Shapes.

(** ** Convex curves: the slope jumps up at every kink, and this is all *)

Section Convex.
Variables (R : realFieldType) (k : nat) (v w c : 'I_k -> R).
Local Notation curve := (curve v w c).
Local Notation kink := (kink w c).
Local Notation jump := (jump v w c).

(** A sum over neurons is a sum over kinks. *)
Lemma grouped (F : 'I_k -> R) :
  (forall l, w l != 0 -> 0 <= \sum_(m | (w m != 0) && (kink m == kink l)) F m) -> 0 <= \sum_(l | w l != 0) F l.
Proof.
move=> pays; pose first l := odflt l [pick m | (w m != 0) && (kink m == kink l)].
have same l : w l != 0 -> kink (first l) = kink l.
  by rewrite /first; case: pickP => [m /andP[_ /eqP]|/(_ l)] //=; rewrite eqxx andbT => ->.
have one l m : w l != 0 -> kink l = kink m -> first l = first m.
  move=> wl e; rewrite /first; have -> : [pick m' | (w m' != 0) && (kink m' == kink l)] =
    [pick m' | (w m' != 0) && (kink m' == kink m)] by apply: eq_pick => m'; rewrite e.
  by case: pickP => // /(_ l); rewrite wl e eqxx.
rewrite (partition_big first xpredT) //=; apply: sumr_ge0 => j _.
have [l /andP[wl /eqP fl]|none] := pickP (fun l => (w l != 0) && (first l == j)); last by rewrite big_pred0.
rewrite (eq_bigl (fun m => (w m != 0) && (kink m == kink l))) ?pays // => m; case: (boolP (w m != 0)) => //= wm.
by apply/eqP/eqP => [fm|e]; [rewrite -(same m wm) fm -fl same | rewrite -fl; apply: one].
Qed.

Lemma room t : exists2 e, 0 < e & forall l, w l != 0 -> kink l != t -> e <= `|kink l - t|.
Proof.
have [l0 hl0|none] := pickP (fun l => (w l != 0) && (kink l != t)); last first.
  by exists 1 => [|l wl lt]; [exact: ltr01 | have := none l; rewrite wl lt].
case: (@arg_minP _ _ _ l0 (fun l => (w l != 0) && (kink l != t)) (fun l => `|kink l - t|) hl0) => m /andP[wm mt] least.
exists `|kink m - t|; first by rewrite normr_gt0 subr_eq0.
by move=> l wl lt; apply: least; rewrite wl lt.
Qed.

Lemma second_difference t e : 0 < e -> (forall l, w l != 0 -> kink l != t -> e <= `|kink l - t|) ->
  curve (t - e) + curve (t + e) - 2%:R * curve t = e * jump t.
Proof.
move=> e0 apart; rewrite !curve_kinks /jump big_mkcondr !mulr_sumr -big_split -sumrB; apply: eq_bigr => l wl /=.
have [<-|lt] := eqVneq (kink l) t.
  rewrite subrr relu0 (relu_neg (_ : kink l - e - kink l <= 0)) ?(relu_pos (_ : 0 <= kink l + e - kink l)); first ring.
    by rewrite addrAC subrr add0r ltW.
  by rewrite addrAC subrr add0r oppr_le0 ltW.
have := apart l wl lt; have [kt|tk] := ltP (kink l) t.
  rewrite ltr0_norm ?subr_lt0 // opprB => far; rewrite !relu_pos; first ring.
  - by rewrite subr_ge0 ltW.
  - by by_sum ((t - kink l - e) + 2%:R * e).
  - by by_sum (t - kink l - e).
rewrite ger0_norm ?subr_ge0 // => far; rewrite !relu_neg; first ring.
- by rewrite subr_le0.
- by by_sum (kink l - t - e).
- by by_sum ((kink l - t - e) + 2%:R * e).
Qed.

Lemma convex_relu (q r s t : R) : r <= s -> s <= t ->
  (t - r) * relu (s - q) <= (t - s) * relu (r - q) + (s - r) * relu (t - q).
Proof.
move=> rs st; have [sq|sq] := leP (s - q) 0.
  by rewrite (relu_neg sq) mulr0 addr_ge0 ?mulr_ge0 ?relu_ge0 ?subr_ge0.
have up (p : R) : p <= relu p by rewrite /relu le_maxr lexx orbT.
rewrite (relu_pos (ltW sq)); have h1 := up (r - q); have h2 := up (t - q).
by by_sum ((t - s) * (relu (r - q) - (r - q)) + (s - r) * (relu (t - q) - (t - q))).
Qed.

Theorem Y16_convex : convex curve <-> forall l, w l != 0 -> 0 <= jump (kink l).
Proof.
split=> [cv l wl | up r s t rs st].
  have [e e0 apart] := room (kink l).
  have d := second_difference e0 apart; set f := curve in cv d *; set q := kink l in d *.
  have h : (q + e - (q - e)) * f q <= (q + e - q) * f (q - e) + (q - (q - e)) * f (q + e).
    by apply: cv; rewrite ?ler_subl_addr ?ler_addl ltW.
  rewrite -(pmulr_rge0 _ e0) -d -(pmulr_rge0 _ e0); move: h; rewrite -subr_ge0.
  by congr (0 <= _); ring.
rewrite -subr_ge0 !curve_kinks !mulr_sumr -big_split -sumrB /=.
apply: grouped => l wl; rewrite (eq_bigr (fun m => v m * `|w m| *
    ((t - s) * relu (r - kink l) + (s - r) * relu (t - kink l) - (t - r) * relu (s - kink l)))); last first.
  by move=> m /andP[_ /eqP ->]; move: (relu (r - _)) (relu (s - _)) (relu (t - _)) => A B C; ring.
rewrite -mulr_suml mulr_ge0 ?subr_ge0 ?convex_relu //; exact: up.
Qed.
End Convex.

(** ** Shapes by name, and the check Y16 of the stored network *)

Inductive shape := Unshaped | Increasing | Decreasing | Convex | Concave.
Definition has_shape (R : realFieldType) s (f : R -> R) := match s with
  | Unshaped => True
  | Increasing => increasing f
  | Decreasing => increasing (fun t => - f t)
  | Convex => convex f
  | Concave => convex (fun t => - f t)
  end.
Lemma has_shape_ext (R : realFieldType) s (f g : R -> R) : f =1 g -> has_shape s f -> has_shape s g.
Proof.
by move=> e; case: s => //= h; [move=> s t | move=> s t | move=> r s t | move=> r s t]; rewrite -!e; apply: h.
Qed.

Section Check.
Variables (R : realFieldType) (k : nat).
Definition rises (v w c : 'I_k -> R) := 0 <= first_slope v w /\ forall l, w l != 0 -> 0 <= slope_after v w c (kink w c l).
Definition bends_up (v w c : 'I_k -> R) := forall l, w l != 0 -> 0 <= jump v w c (kink w c l).
Definition Y16_holds s (v w c : 'I_k -> R) := match s with
  | Unshaped => True
  | Increasing => rises v w c
  | Decreasing => rises (fun l => - v l) w c
  | Convex => bends_up v w c
  | Concave => bends_up (fun l => - v l) w c
  end.
Lemma curveN (v w c : 'I_k -> R) t : curve (fun l => - v l) w c t = - curve v w c t.
Proof. by rewrite /curve -sumrN; apply: eq_bigr => l _; rewrite mulNr. Qed.
Theorem Y16 s v w c : Y16_holds s v w c -> has_shape s (curve v w c).
Proof.
have flip := has_shape_ext (curveN v w c).
case: s => [//|[f n]|[f n]|up|up]; [exact: Y16_increasing | | exact/Y16_convex | ].
  by apply: (flip Increasing); apply: Y16_increasing.
by apply: (flip Convex); apply/Y16_convex.
Qed.
End Check.
