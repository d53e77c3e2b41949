(** spec/claims/dual-gap.md, R7 (b): the dual bound of networks whose curves rise, fall or bend one way only on the whole line. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap dual_gap_columns curve_shapes.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** The test of one column *)

Section Column.
Variables (R : rcfType) (n : nat) (tau b : R) (hidden_free : bool).
Variables (z : 'I_n -> R) (zs : seq R).   (* the column; its distinct values z_1 < ... < z_m *)
Definition bias_unit := if hidden_free then 1 else tau.
Definition weight_size (w0 w1 : R) := if hidden_free then `|w0| else Num.sqrt (w0 ^+ 2 + w1 ^+ 2).
Definition total (u : 'I_n -> R) t := \sum_(i | z i == t) u i.
Definition sums u := [seq (t, total u t) | t <- zs].   (* (z_j, U_j) *)
(** (z_j, U_j + rho_j - rho_{j-1}), rho_j the sum of the numbers of the rows with the value z_j *)
Fixpoint raised_from before u rho l :=
  if l is t :: l' then (t, total u t + total rho t - before) :: raised_from (total rho t) u rho l' else [::].
Definition raised u rho := raised_from 0 u rho zs.
Definition Y15 (rho : 'I_n -> R) := (forall i, 0 <= rho i) /\ (forall i, (forall i', z i' <= z i) -> rho i = 0).
Definition two_sided l := forall w0 w1, `|column_sum bias_unit l w0 w1| <= b * weight_size w0 w1.
Definition S0 u := \sum_(zu <- sums u) zu.2 * zu.1.
Definition S1 u := \sum_(zu <- sums u) zu.2 * tau.
Record bent u : Prop := Bent {
  bent_i : forall w0 w1, - column_sum bias_unit (sums u) w0 w1 <= b * weight_size w0 w1;
  bent_ii : if hidden_free then `|S0 u| <= 2%:R * b else S0 u ^+ 2 + S1 u ^+ 2 <= (2%:R * b) ^+ 2;
  bent_iii : hidden_free \/ `|tau * \sum_i u i| <= b }.
Definition column_test s (u : 'I_n -> R) := match s with
  | Unshaped => two_sided (sums u)
  | Increasing => exists2 rho, Y15 rho & two_sided (raised u rho)
  | Decreasing => exists2 rho, Y15 rho & two_sided (raised (fun i => - u i) rho)
  | Convex => bent u
  | Concave => bent (fun i => - u i)
  end.

Hypotheses (b_gt0 : 0 < b) (tau_gt0 : hidden_free \/ 0 < tau).
Hypotheses (increase : sorted <%R zs) (values : forall i, z i \in zs).

Lemma bias_unit_gt0 : 0 < bias_unit.
Proof. by rewrite /bias_unit; case: tau_gt0 => [->|]; [exact: ltr01 | case: ifP => // _ _; exact: ltr01]. Qed.
Lemma weight_size_ge0 w0 w1 : 0 <= weight_size w0 w1.
Proof. by rewrite /weight_size; case: ifP => _; rewrite ?normr_ge0 ?sqrtr_ge0. Qed.
Lemma weight_sizeZ c w0 w1 : 0 <= c -> weight_size (c * w0) (c * w1) = c * weight_size w0 w1.
Proof.
move=> c0; rewrite /weight_size; case: ifP => _; first by rewrite normrM ger0_norm.
by rewrite !exprMn -mulrDr sqrtrM ?sqr_ge0 // sqrtr_sqr ger0_norm.
Qed.
Lemma column_sumZ l c w0 w1 : 0 <= c -> column_sum bias_unit l (c * w0) (c * w1) = c * column_sum bias_unit l w0 w1.
Proof.
move=> c0; rewrite /column_sum mulr_sumr; apply: eq_bigr => zu _.
by rewrite [zu.1 * _]mulrCA [bias_unit * _]mulrCA -mulrDr relu_homogeneous // mulrCA.
Qed.
Lemma total_sum u (g : R -> R) : \sum_(t <- zs) total u t * g t = \sum_i u i * g (z i).
Proof.
have un := lt_sorted_uniq increase; rewrite /total; under eq_bigr do rewrite mulr_suml big_mkcond.
rewrite exchange_big; apply: eq_bigr => i _ /=; rewrite (bigD1_seq (z i)) //= eqxx big1 ?addr0 // => t ti.
by rewrite eq_sym (negbTE ti).
Qed.
Lemma column_rows u w0 w1 : column_sum bias_unit (sums u) w0 w1 = \sum_i u i * relu (z i * w0 + bias_unit * w1).
Proof. by rewrite /column_sum big_map /= (total_sum u (fun t => relu (t * w0 + bias_unit * w1))). Qed.
Lemma column_rowsN u w0 w1 :
  column_sum bias_unit (sums (fun i => - u i)) w0 w1 = - column_sum bias_unit (sums u) w0 w1.
Proof. by rewrite !column_rows -sumrN; apply: eq_bigr => i _; rewrite mulNr. Qed.

(** *** The multipliers of an increasing function lower the sum *)
Lemma last_is_top (t : R) l s : path <%R t l -> s \in t :: l -> s <= last t l.
Proof.
elim: l t s => [|t' l IH] t s /=; first by move=> _; rewrite inE => /eqP ->.
case/andP=> tt' p; rewrite inE => /orP[/eqP ->|]; last exact: IH.
by apply: le_trans (ltW tt') (IH t' t' p _); rewrite inE eqxx.
Qed.
Lemma raised_from_le u rho (F : R -> R) before t l : (forall i, 0 <= rho i) -> increasing F -> path <%R t l ->
  total rho (last t l) = 0 ->
  \sum_(zu <- raised_from before u rho (t :: l)) zu.2 * F zu.1 + before * F t <= \sum_(s <- t :: l) total u s * F s.
Proof.
move=> rho0 up; elim: l t before => [|t' l IH] t before.
  by move=> _ top; rewrite !big_cons !big_nil /= top le_eqVlt; apply/orP; left; apply/eqP; ring.
case/andP=> tt' p top; have := IH t' (total rho t) p top.
have -> : raised_from before u rho [:: t, t' & l] =
  (t, total u t + total rho t - before) :: raised_from (total rho t) u rho (t' :: l) by [].
rewrite (big_cons _ _ (t, _)) (big_cons _ _ t); move: (raised_from _ _ _ _) => lower.
set A := \sum_(_ <- lower) _; set B := \sum_(_ <- _ :: _) _ => h /=.
have r0 : 0 <= total rho t by apply: sumr_ge0.
have step := up t t' (ltW tt').
by by_sum ((B - (A + total rho t * F t')) + total rho t * (F t' - F t)).
Qed.
Lemma raised_le u rho F : Y15 rho -> increasing F ->
  \sum_(zu <- raised u rho) zu.2 * F zu.1 <= \sum_i u i * F (z i).
Proof.
case=> rho0 top up; rewrite -total_sum /raised; case: zs increase values => [|t l] inc val; first by rewrite !big_nil.
have := @raised_from_le u rho F 0 t l rho0 up inc; rewrite mul0r addr0; apply.
by apply: big1 => i /eqP e; apply: top => i'; rewrite e last_is_top.
Qed.

(** *** The neurons of the column: heads v_l, weights a_l on the column, e_l on the bias *)
Variables (k : nat) (here : pred 'I_k) (v a e : 'I_k -> R).
Definition curve_here := curve v a (fun l => bias_unit * e l).
Hypothesis in_column : forall l, a l != 0 -> here l.
Definition cost_here := \sum_(l | here l) b * (`|v l| * weight_size (a l) (e l)).

Lemma neurons_sum l : \sum_(m | here m) v m * column_sum bias_unit l (a m) (e m) =
  \sum_(zu <- l) zu.2 * \sum_(m | here m) v m * relu (a m * zu.1 + bias_unit * e m).
Proof.
under eq_bigr do rewrite /column_sum mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => zu _.
by rewrite mulr_sumr; apply: eq_bigr => m _; rewrite mulrCA [a m * _]mulrC.
Qed.
Lemma two_sided_pays l : two_sided l -> 0 <= \sum_(m | here m) v m * column_sum bias_unit l (a m) (e m) + cost_here.
Proof.
move=> small; rewrite -big_split; apply: sumr_ge0 => m _ /=; set c := column_sum _ _ _ _.
have : `|v m * c| <= b * (`|v m| * weight_size (a m) (e m)) by rewrite normrM mulrCA ler_wpmul2l ?normr_ge0 ?small.
by rewrite ler_norml => /andP[low _]; rewrite -[X in _ + X]opprK subr_ge0.
Qed.

(** The constants of the column drop out of the differences of its curve. *)
Lemma increasing_pays u rho : Y15 rho -> two_sided (raised u rho) -> increasing curve_here ->
  0 <= \sum_(m | here m) v m * column_sum bias_unit (sums u) (a m) (e m) + cost_here.
Proof.
move=> rho0 small up; apply: le_trans (two_sided_pays small) _; rewrite ler_add2r !neurons_sum.
pose F t := \sum_(m | here m) v m * relu (a m * t + bias_unit * e m).
have {}up : increasing F.
  have F_e t : F t = curve_here t + \sum_(m | here m && (a m == 0)) v m * relu (bias_unit * e m).
    rewrite /F (bigID (fun m => a m != 0)) /=; congr (_ + _).
      by apply: eq_bigl => m; case: eqP => //= /eqP am; rewrite ?andbT ?andbF ?in_column.
    by apply: eq_big => m; rewrite ?negbK // => /andP[_ /eqP ->]; rewrite mul0r add0r.
  by move=> s t st; rewrite !F_e ler_add2r up.
have -> : \sum_(zu <- sums u) zu.2 * F zu.1 = \sum_i u i * F (z i) by rewrite big_map /= (total_sum u F).
exact: raised_le.
Qed.

(** At one kink: M+ and M- with M+ + M- >= 0 *)
Lemma kink_pays (Mp Mm Gp Gm c : R) : 0 <= c -> 0 <= Mp + Mm -> - Gp <= c -> - Gm <= c -> `|Gp - Gm| <= 2%:R * c ->
  0 <= Mp * Gp + Mm * Gm + c * (`|Mp| + `|Mm|).
Proof.
move=> c0 jump hp hm; rewrite ler_norml => /andP[h1 h2].
have [m0|m0] := leP 0 Mm; have [p0|p0] := leP 0 Mp.
- by rewrite !ger0_norm //; by_sum (Mp * (c - - Gp) + Mm * (c - - Gm)).
- by rewrite (ger0_norm m0) (ltr0_norm p0); by_sum ((Mp + Mm) * (c - - Gm) + (0 - Mp) * (2%:R * c - (Gp - Gm))).
- by rewrite (ltr0_norm m0) (ger0_norm p0); by_sum ((Mp + Mm) * (c - - Gp) + (0 - Mm) * (Gp - Gm - - (2%:R * c))).
by move: jump; rewrite leNgt -[X in _ < X]addr0 ltr_add.
Qed.

Variable u : 'I_n -> R.
Hypothesis sum_u : hidden_free -> \sum_i u i = 0.
Hypothesis bends : bent u.
Local Notation G := (column_sum bias_unit (sums u)).

Lemma constant_pays (c y : R) : 0 <= c * G 0 y + b * (`|c| * weight_size 0 y).
Proof.
have -> : G 0 y = relu (bias_unit * y) * \sum_i u i.
  by rewrite column_rows mulr_sumr; apply: eq_bigr => i _; rewrite mulr0 add0r mulrC.
case: (bent_iii bends) => [free|small].
  by rewrite sum_u // !mulr0 add0r mulr_ge0 ?(ltW b_gt0) // mulr_ge0 ?normr_ge0 ?weight_size_ge0.
case: (boolP hidden_free) => [free|paid].
  by rewrite sum_u // !mulr0 add0r mulr_ge0 ?(ltW b_gt0) // mulr_ge0 ?normr_ge0 ?weight_size_ge0.
rewrite /bias_unit /weight_size (negbTE paid) expr0n add0r sqrtr_sqr.
have t0 : 0 < tau by case: tau_gt0 => // f; rewrite f in paid.
have r1 : `|relu y| <= `|y| by rewrite ger0_norm ?relu_ge0 // /relu le_maxl normr_ge0 ler_norm.
have : `|c * (relu (tau * y) * \sum_i u i)| <= b * (`|c| * `|y|).
  rewrite relu_homogeneous ?(ltW t0) // normrM mulrCA ler_wpmul2l ?normr_ge0 // mulrAC normrM.
  by apply: ler_pmul; rewrite ?normr_ge0.
by rewrite ler_norml => /andP[low _]; rewrite -[X in _ + X]opprK subr_ge0.
Qed.

(** The unit direction of a kink t, both ways *)
Definition Gplus t := G 1 (- t / bias_unit).
Definition Gminus t := G (-1) (t / bias_unit).
Definition bend t := weight_size 1 (- t / bias_unit).
Lemma at_kink_G l t : a l != 0 -> kink a (fun l => bias_unit * e l) l = t ->
  G (a l) (e l) = `|a l| * (if 0 < a l then Gplus t else Gminus t) /\ weight_size (a l) (e l) = `|a l| * bend t.
Proof.
move=> a0 kt; have u0 := bias_unit_gt0.
have et : e l = a l * (- t / bias_unit) by rewrite -kt /kink; field; rewrite a0 gt_eqF.
have [p0|p0] := ltP 0 (a l).
  by rewrite (gtr0_norm p0) -(column_sumZ _ _ _ (ltW p0)) -(weight_sizeZ _ _ (ltW p0)) mulr1 -et.
have p1 : 0 <= - a l by rewrite oppr_ge0.
have ea : a l = - a l * -1 by rewrite mulrNN mulr1.
have et' : e l = - a l * (t / bias_unit) by rewrite et; ring.
have -> : bend t = weight_size (-1) (t / bias_unit) by rewrite /bend /weight_size normrN sqrrN mulNr sqrrN.
by rewrite (ler0_norm p0) -(column_sumZ _ _ _ p1) -(weight_sizeZ _ _ p1) -ea -et'.
Qed.
Lemma difference t : `|Gplus t - Gminus t| <= 2%:R * (b * bend t).
Proof.
have u0 := bias_unit_gt0; have b0 := ltW b_gt0.
have e1 : Gplus t - Gminus t = S0 u - t / bias_unit * \sum_i u i * bias_unit.
  rewrite /Gplus /Gminus !column_rows /S0 big_map /= (total_sum u id) mulr_sumr -!sumrB.
  apply: eq_bigr => i _; have -> : z i * -1 + bias_unit * (t / bias_unit) = - (z i * 1 + bias_unit * (- t / bias_unit)) by ring.
  by rewrite relu_opp; set r := relu _; field; rewrite gt_eqF.
rewrite e1; move: (bent_ii bends) sum_u; rewrite /bend /bias_unit /weight_size /S1; case: ifP => [free|paid].
  by move=> small /(_ isT) s0; rewrite -mulr_suml s0 mul0r mulr0 subr0 normr1 mulr1.
rewrite big_map /= (total_sum u (fun=> tau)) => small _; set s0 := S0 u in small *; set s1 := \sum_i _ in small *.
set q := t / tau; have -> : - t / tau = - q by rewrite mulNr.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 ?mulr_ge0 ?sqrtr_ge0 ?ler0n //.
rewrite real_normK ?num_real // mulrA exprMn sqr_sqrtr ?addr_ge0 ?sqr_ge0 //.
apply: le_trans (_ : (s0 ^+ 2 + s1 ^+ 2) * (1 ^+ 2 + (- q) ^+ 2) <= _); first by by_sum ((s1 + q * s0) ^+ 2).
by rewrite ler_wpmul2r ?addr_ge0 ?sqr_ge0.
Qed.

Lemma convex_pays : convex curve_here -> 0 <= \sum_(m | here m) v m * G (a m) (e m) + cost_here.
Proof.
move=> /Y16_convex jumps; rewrite -big_split /= (bigID (fun m => a m != 0)) /= addr_ge0 //; last first.
  by apply: sumr_ge0 => m /andP[_]; rewrite negbK => /eqP ->; exact: constant_pays.
rewrite (eq_bigl (fun m => a m != 0)); last by move=> m; case: eqP => //= /eqP am; rewrite ?andbT ?andbF ?in_column.
apply: (grouped (c := fun l => bias_unit * e l)) => l al; set t := kink _ _ l.
have b0 := ltW b_gt0; have c0 : 0 <= b * bend t by rewrite mulr_ge0 ?weight_size_ge0.
pose at_t m := (a m != 0) && (kink a (fun l => bias_unit * e l) m == t).
pose M p := \sum_(m | at_t m && ((0 < a m) == p)) v m * `|a m|.
pose K p := if p then Gplus t else Gminus t.
have halves (F : 'I_k -> R) : \sum_(m | at_t m) F m =
    \sum_(m | at_t m && ((0 < a m) == true)) F m + \sum_(m | at_t m && ((0 < a m) == false)) F m.
  by rewrite (bigID (fun m => 0 < a m)); congr (_ + _); apply: eq_bigl => m; rewrite ?eqb_id ?eqbF_neg.
have half p : M p * K p + b * bend t * `|M p| <=
    \sum_(m | at_t m && ((0 < a m) == p)) (v m * G (a m) (e m) + b * (`|v m| * weight_size (a m) (e m))).
  apply: le_trans (_ : M p * K p + b * bend t * (\sum_(m | at_t m && ((0 < a m) == p)) `|v m * `|a m| |) <= _).
    by rewrite ler_add2l ler_wpmul2l // ler_norm_sum.
  rewrite /M mulr_suml mulr_sumr -big_split; apply: ler_sum => m /andP[/andP[am /eqP mt] /eqP sm] /=.
  have [-> ->] := at_kink_G am mt; rewrite sm -/(K p) normrM normr_id le_eqVlt; apply/orP; left; apply/eqP.
  move: (K p) (bend t) `|v m| `|a m| => A B C E; ring.
have hp : - Gplus t <= b * bend t by exact: bent_i bends _ _.
have hm : - Gminus t <= b * bend t.
  have -> : bend t = weight_size (-1) (t / bias_unit) by rewrite /bend /weight_size normrN sqrrN mulNr sqrrN.
  exact: bent_i bends _ _.
have jump0 : 0 <= M true + M false by rewrite /M -halves; exact: jumps.
apply: le_trans (kink_pays c0 jump0 hp hm (difference t)) _.
rewrite [X in _ <= X]halves; apply: le_trans (ler_add (half true) (half false)).
by rewrite /K /= mulrDr addrACA.
Qed.
End Column.

(** *** A column of any shape pays for its neurons *)
Section AnyShape.
Variables (R : rcfType) (n k : nat) (tau b : R) (hidden_free : bool) (z : 'I_n -> R) (zs : seq R).
Variables (here : pred 'I_k) (v a e : 'I_k -> R) (u : 'I_n -> R).
Hypotheses (b_gt0 : 0 < b) (tau_gt0 : hidden_free \/ 0 < tau).
Hypotheses (increase : sorted <%R zs) (values : forall i, z i \in zs).
Hypothesis in_column : forall l, a l != 0 -> here l.
Hypothesis sum_u : hidden_free -> \sum_i u i = 0.
Local Notation unit_ := (bias_unit tau hidden_free).

Lemma column_pays s : column_test tau b hidden_free z zs s u -> has_shape s (curve v a (fun l => unit_ * e l)) ->
  0 <= \sum_(m | here m) v m * column_sum unit_ (sums z zs u) (a m) (e m) + cost_here b hidden_free here v a e.
Proof.
have sum_u' : hidden_free -> \sum_i - u i = 0 by move=> f; rewrite sumrN sum_u ?oppr0.
have flip : \sum_(m | here m) v m * column_sum unit_ (sums z zs u) (a m) (e m) + cost_here b hidden_free here v a e =
    \sum_(m | here m) - v m * column_sum unit_ (sums z zs (fun i => - u i)) (a m) (e m)
      + cost_here b hidden_free here (fun m => - v m) a e.
  congr (_ + _); first by apply: eq_bigr => m _; rewrite column_rowsN // mulrNN.
  by apply: eq_bigr => m _; rewrite normrN.
case: s => /=.
- by move=> small _; apply: two_sided_pays.
- by case=> rho r0 small up; apply: increasing_pays r0 small up.
- case=> rho r0 small down; rewrite flip; apply: increasing_pays r0 small _ => // s t st.
  by rewrite /curve_here !curveN down.
- by move=> small up; apply: convex_pays.
- move=> small down; rewrite flip; apply: convex_pays => // r s t rs st.
  by rewrite /curve_here !curveN down.
Qed.
End AnyShape.

(** *** The test H <= b by R2 and R2-free, for one sign of u, on both half planes; l as z_1 < ... < z_m *)
Section Tests.
Variables (R : rcfType) (tau b : R) (hidden_free : bool).
Hypotheses (b_gt0 : 0 < b) (tau_gt0 : hidden_free \/ 0 < tau).
Definition half_test l := if hidden_free then scan (step 1) (at_kink b) (0, 0) l
  else scan (step tau) (one_sided tau b) (0, 0) l.
Definition mirrored (l : seq (R * R)) := [seq (- zu.1, zu.2) | zu <- l].
Lemma half_test_sound l w0 w1 : sorted >=%R (map fst l) -> half_test l -> 0 <= w0 ->
  column_sum (bias_unit tau hidden_free) l w0 w1 <= b * weight_size hidden_free w0 w1.
Proof.
rewrite /half_test /bias_unit /weight_size; case: ifP tau_gt0 => [_ _|_ [//|t0]] dec test w00.
  by rewrite ger0_norm //; apply: (R2_free (ltW b_gt0)).
exact: (R2 t0 (ltW b_gt0)).
Qed.
Theorem Y7_one_sign l w0 w1 : sorted <=%R (map fst l) -> half_test (rev l) -> half_test (mirrored l) ->
  column_sum (bias_unit tau hidden_free) l w0 w1 <= b * weight_size hidden_free w0 w1.
Proof.
move=> inc right left; have [w00|w00] := leP 0 w0.
  have -> : column_sum (bias_unit tau hidden_free) l w0 w1 = column_sum (bias_unit tau hidden_free) (rev l) w0 w1.
    by rewrite /column_sum; apply: perm_big; rewrite perm_sym perm_rev.
  by apply: half_test_sound => //; rewrite map_rev rev_sorted.
have -> : weight_size hidden_free w0 w1 = weight_size hidden_free (- w0) w1 by rewrite /weight_size normrN sqrrN.
rewrite column_sum_mirror; apply: half_test_sound => //; last by rewrite oppr_ge0 ltW.
rewrite -map_comp; move: inc; rewrite !sorted_map; apply: sub_sorted => p q /=.
by rewrite ler_opp2.
Qed.
End Tests.

(** ** R7 (b): networks in which every neuron sees one column *)
Section R7b.
Variables (R : rcfType) (n d k : nat) (x : 'I_n -> 'cV[R]_d) (tau : R).
Variables (intercept linear : part R) (hidden_free : bool) (shapes : 'I_d -> shape) (zs : 'I_d -> seq R).
Variables (loss : 'I_n -> R -> R) (b : R) (u conj : 'I_n -> R).
Definition xh i : 'cV[R]_(d + 1) := col_mx (x i) tau%:M.
Definition weight_at (j : 'I_d) (w : 'cV[R]_(d + 1)) := w (lshift 1 j) 0.
Definition bias_weight (w : 'cV[R]_(d + 1)) := w (rshift d 0) 0.
Definition sees_only j w := [forall i, (i == j) || (weight_at i w == 0)].
Definition group : pred 'cV[R]_(d + 1) := fun w => [exists j, sees_only j w] && (~~ hidden_free || (bias_weight w == 0)).
Definition curve_of (N : network R d (d + 1) k) j :=
  curve (v N) (fun l => weight_at j (w N l)) (fun l => tau * bias_weight (w N l) + beta N l).
Definition shaped_class N := in_class intercept linear hidden_free group (fun _ _ => True) N /\
  forall j, has_shape (shapes j) (curve_of N j).

Hypotheses (b_gt0 : 0 < b) (tau_gt0 : hidden_free \/ 0 < tau).
Hypotheses (k0_gt0 : in_range intercept) (k1_gt0 : in_range linear).
Hypothesis domain : forall i t, u i * t - conj i <= loss i t.
Hypothesis sum_u : intercept = Free _ \/ hidden_free -> \sum_i u i = 0.
Hypothesis sum_ux : linear = Free _ -> \sum_i u i *: x i = 0.
Hypotheses (increase : forall j, sorted <%R (zs j)) (values : forall j i, x i j 0 \in zs j).
Hypothesis columns_hold : forall j, column_test tau b hidden_free (fun i => x i j 0) (zs j) (shapes j) u.

Lemma dot_seen j w i : sees_only j w -> dot w (xh i) = weight_at j w * x i j 0 + tau * bias_weight w.
Proof.
move=> /forallP only; rewrite /dot big_split_ord big_ord1 /xh col_mxEd !mxE eqxx mulr1n [tau * _]mulrC; congr (_ + _).
rewrite (bigD1 j) //= col_mxEu big1 ?addr0 // => i' ij.
by have := only i'; rewrite (negbTE ij) /weight_at => /eqP ->; rewrite mul0r.
Qed.
Lemma len_seen j w : sees_only j w -> len w = Num.sqrt (weight_at j w ^+ 2 + bias_weight w ^+ 2).
Proof.
move=> /forallP only; rewrite /len /sq /dot big_split_ord big_ord1 -!expr2; congr (Num.sqrt (_ + _)).
rewrite (bigD1 j) //= big1 ?addr0 // => i' ij.
by have := only i'; rewrite (negbTE ij) /weight_at => /eqP ->; rewrite mul0r.
Qed.

Theorem R7_b N : shaped_class N -> D x intercept linear u conj <= objective x xh intercept linear loss b N.
Proof.
case=> inN shaped; apply: (dual_bound_of_neurons k0_gt0 k1_gt0 domain (fun f => sum_u (or_introl f)) sum_ux (inN)).
case: inN => _ _ gP _ bP.
have [col own] : exists col : 'I_k -> 'I_d, forall l, sees_only (col l) (w N l).
  apply: (@fin_all_exists _ (fun _ => 'I_d) (fun l j => sees_only j (w N l))) => l.
  by case/andP: (gP l) => /existsP.
pose e l := if hidden_free then beta N l else bias_weight (w N l).
have bias l : tau * bias_weight (w N l) + beta N l = bias_unit tau hidden_free * e l.
  rewrite /e /bias_unit; case: (boolP hidden_free) bP => [free _|paid [//|->]]; last by rewrite addr0.
  by case/andP: (gP l) => _; rewrite free => /eqP ->; rewrite mulr0 add0r mul1r.
have size_of l : weight_size hidden_free (weight_at (col l) (w N l)) (e l) = len (w N l).
  rewrite (len_seen (own l)) /weight_size /e; case: (boolP hidden_free) => // free.
  by case/andP: (gP l) => _; rewrite free => /eqP ->; rewrite expr0n addr0 sqrtr_sqr.
have pays j : 0 <= \sum_(l | col l == j) (v N l * feature xh u (w N l) (beta N l) + b * (`|v N l| * len (w N l))).
  have sum_u' : hidden_free -> \sum_i u i = 0 by move=> f; apply: sum_u; right.
  have inj l : weight_at j (w N l) != 0 -> col l == j.
    by apply: contraR => lj; have /forallP/(_ j) := own l; rewrite eq_sym (negbTE lj).
  have shp : has_shape (shapes j) (curve (v N) (fun l => weight_at j (w N l)) (fun l => bias_unit tau hidden_free * e l)).
    apply: has_shape_ext (shaped j) => t; apply: eq_bigr => l _.
    by rewrite bias.
  have := column_pays b_gt0 tau_gt0 (increase j) (values j) inj sum_u' (columns_hold j) shp.
  rewrite -big_split; congr (0 <= _); apply: eq_bigr => l /eqP lj /=; rewrite -lj; congr (_ * _ + _ * (_ * _)).
    rewrite column_rows ?lj //; apply: eq_bigr => i _; rewrite (dot_seen _ (own l)) -addrA bias lj.
    by rewrite [x i j 0 * _]mulrC.
  exact: size_of.
rewrite -subr_ge0 opprK; apply: le_trans (_ : 0 <= \sum_l (v N l * feature xh u (w N l) (beta N l) + b * (`|v N l| * len (w N l)))) _.
  by rewrite (partition_big col xpredT) //=; apply: sumr_ge0.
by rewrite big_split ler_add2l mulr_sumr; apply: ler_sum => l _; apply: neuron_cost.
Qed.
End R7b.
