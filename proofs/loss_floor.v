(** spec/claims/loss-floor.md: no network of the class has a smaller loss. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section LossFloor.
Variable R : realFieldType.
Variables (n m : nat) (y g : 'I_n -> R) (G : 'I_m -> {set 'I_n}).
Hypothesis disjoint : forall p q, p != q -> [disjoint G p & G q].

Definition gy p := \sum_(i in G p) g i * y i.
Definition gg p := \sum_(i in G p) g i ^+ 2.
Definition yy p := \sum_(i in G p) y i ^+ 2.
Definition floor p (c : R) := (yy p - (if gg p == 0 then 0 else c ^+ 2 / gg p)) / 2%:R.

Lemma gg_ge0 p : 0 <= gg p. Proof. by apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.
Lemma gg_zero p i : gg p = 0 -> i \in G p -> g i = 0.
Proof.
move/(psumr_eq0P (fun j _ => sqr_ge0 (g j))) => z iG.
by apply/eqP; rewrite -sqrf_eq0; apply/eqP/z.
Qed.

Lemma group_loss p t : \sum_(i in G p) (g i * t - y i) ^+ 2 = gg p * t ^+ 2 - 2%:R * gy p * t + yy p.
Proof.
rewrite /gg /gy /yy mulr_sumr !mulr_suml -sumrB -big_split.
by apply: eq_bigr => i _ /=; ring.
Qed.

(** the minimum over t, and over t >= 0 where c = max(0, g . y) *)
Lemma group_floor p t c : gy p * t <= c * t -> \sum_(i in G p) (g i * t - y i) ^+ 2 / 2%:R >= floor p c.
Proof.
move=> h; rewrite -mulr_suml ler_pmul2r ?invr_gt0 ?ltr0n // group_loss.
have [z|z] := eqVneq (gg p) 0.
  have -> : gy p = 0 by apply: big1 => i iG; rewrite (gg_zero z iG) mul0r.
  by rewrite z mul0r mulr0 mul0r !subr0 add0r.
have gp : 0 < gg p by rewrite lt_def z gg_ge0.
by by_quotient ((gg p * t - c) ^+ 2 / gg p + 2%:R * (c * t - gy p * t)).
Qed.

Lemma groups_below (F : 'I_n -> R) : (forall i, 0 <= F i) ->
  \sum_p \sum_(i in G p) F i <= \sum_i F i.
Proof.
move=> F0; rewrite (exchange_big_dep predT) //=; apply: ler_sum => i _.
have [/existsP[p ip]|none] := boolP [exists p, i \in G p]; last first.
  rewrite big_pred0 // => p; apply: negbTE; apply: contra none => ip; apply/existsP; by exists p.
rewrite (big_pred1 p) // => q; apply/idP/eqP => [iq|->] //.
apply/eqP; apply: contraT => qp; have /pred0P/(_ i) := disjoint qp.
by rewrite /= iq ip.
Qed.

Variables (f : 'I_n -> R) (t : 'I_m -> R).
Hypothesis structure : forall p i, i \in G p -> f i = g i * t p.
Definition loss := \sum_i (f i - y i) ^+ 2 / 2%:R.

Lemma floor_of (c : 'I_m -> R) : (forall p, gy p * t p <= c p * t p) -> \sum_p floor p (c p) <= loss.
Proof.
move=> h; apply: le_trans (_ : \sum_p \sum_(i in G p) (f i - y i) ^+ 2 / 2%:R <= _); last first.
  by apply: groups_below => i; rewrite divr_ge0 ?sqr_ge0 ?ler0n.
apply: ler_sum => p _; apply: le_trans (group_floor (h p)) _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i iG; rewrite (structure iG).
Qed.

Theorem group_floors : \sum_p floor p (gy p) <= loss.
Proof. by apply: floor_of. Qed.

Theorem group_floors_nonnegative : (forall p, 0 <= t p) -> \sum_p floor p (Num.max 0 (gy p)) <= loss.
Proof. by move=> t0; apply: floor_of => p; rewrite ler_wpmul2r // le_maxr lexx orbT. Qed.
End LossFloor.

(** Kinds of groups: what one network says on proportional rows. *)
Section Kinds.
Variable R : realFieldType.
Variables (d k : nat) (phi : R -> R) (v : 'I_k -> R) (w : 'I_k -> 'cV[R]_d).
Definition net x := \sum_l v l * phi (dot (w l) x).

Lemma kind_zero : phi 0 = 0 -> net 0 = 0.
Proof. by move=> p0; apply: big1 => l _; rewrite dot0r p0 mulr0. Qed.
Lemma kind_scaled (c s : R) x : (forall z, phi (c * z) = s * phi z) -> net (c *: x) = s * net x.
Proof. by move=> h; rewrite /net mulr_sumr; apply: eq_bigr => l _; rewrite dotZr h mulrCA. Qed.
Theorem kind_ray_relu c x : 0 < c -> phi =1 (fun z => Num.max 0 z) -> net (c *: x) = c * net x.
Proof. by move=> c0 e; apply: kind_scaled => z; rewrite !e maxr_pmulr ?(ltW c0) // mulr0. Qed.
Theorem kind_ray_leaky c s x : 0 < c -> phi =1 (fun z => if 0 <= z then z else s * z) ->
  net (c *: x) = c * net x.
Proof. by move=> c0 e; apply: kind_scaled => z; rewrite !e pmulr_rge0 //; case: ifP => _ //; rewrite mulrCA. Qed.
Theorem kind_ray_linear c x : phi =1 id -> net (c *: x) = c * net x.
Proof. by move=> e; apply: kind_scaled => z; rewrite !e. Qed.
Theorem kind_line_quadratic c x : phi =1 (fun z => z ^+ 2) -> net (c *: x) = c ^+ 2 * net x.
Proof. by move=> e; apply: kind_scaled => z; rewrite !e exprMn. Qed.
Theorem kind_line_abs c x : phi =1 Num.norm -> net (c *: x) = `|c| * net x.
Proof. by move=> e; apply: kind_scaled => z; rewrite !e normrM. Qed.
Theorem kind_odd x : (forall z, phi (- z) = - phi z) -> net (- x) = - net x.
Proof.
move=> h; rewrite -scaleN1r -[RHS]mulN1r; apply: kind_scaled => z.
by rewrite !mulN1r h.
Qed.
Theorem kind_nonnegative x : (forall l, 0 <= v l) -> (forall z, 0 <= phi z) -> 0 <= net x.
Proof. by move=> v0 p0; apply: sumr_ge0 => l _; rewrite mulr_ge0. Qed.
End Kinds.
