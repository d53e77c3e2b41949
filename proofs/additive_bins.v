(** spec/claims/additive-stream-gap.md, one column: what sums over bins, each with a radius, say of sum_i u_i relu(x_i - p). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap curve_shapes.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** The chord over a bin is above the hinge by at most a quarter of the width. *)
Lemma chord (R : realFieldType) (a c x p : R) : a < c -> a <= x -> x <= c -> a <= p -> p <= c ->
  `|(x - a) * (c - p) / (c - a) - relu (x - p) - (c - a) / 8%:R| <= (c - a) / 8%:R.
Proof.
move=> ac ax xc ap pc; have h0 : 0 < c - a by rewrite subr_gt0.
have ne : c - a != 0 by rewrite gt_eqF.
suff [lo hi] : 0 <= (x - a) * (c - p) / (c - a) - relu (x - p) /\
    (x - a) * (c - p) / (c - a) - relu (x - p) <= (c - a) / 4%:R.
  move: (_ - relu _) lo hi => q lo hi; rewrite ler_norml; apply/andP; split.
    by by_sum q.
  by by_quotient ((c - a) / 4%:R - q).
have [xp|px] := leP (x - p) 0.
  rewrite relu_neg // subr0; split; first by rewrite divr_ge0 ?mulr_ge0 ?subr_ge0 ?(ltW ac).
  rewrite ler_pdivr_mulr //; have px' : x <= p by rewrite -subr_le0.
  by by_quotient (((x - a - (c - p)) ^+ 2 + (p - x) * ((c - a) + (x - a + (c - p)))) / 4%:R).
have px' : p <= x by rewrite ltW // -subr_gt0.
have -> : (x - a) * (c - p) / (c - a) - relu (x - p) = (p - a) * (c - x) / (c - a).
  by rewrite relu_pos ?(ltW px) //; field.
split; first by rewrite divr_ge0 ?mulr_ge0 ?subr_ge0 ?(ltW ac).
rewrite ler_pdivr_mulr //.
by by_quotient (((p - a - (c - x)) ^+ 2 + (x - p) * ((c - a) + (p - a + (c - x)))) / 4%:R).
Qed.

Section Column.
Variables (R : rcfType) (n m S : nat) (x r : 'I_n -> R) (z : nat -> R) (bin : 'I_n -> 'I_m) (shard : 'I_n -> 'I_S).
Variables (S_ T_ Q_ : 'I_S -> 'I_m -> R) (rho sigma kappa : 'I_S -> R).  (* the file: sums of every shard and bin; radii *)
Variables (t b Rplus : R) (g : 'I_m -> R).

(** Sums over the rows of a shard that lie in bin l = 0..m-1, between the edges z_l and z_{l+1} *)
Definition inside s l i := (shard i == s) && (bin i == l).
Definition count s l : R := \sum_(i | inside s l i) 1.
Definition S_of s l := \sum_(i | inside s l i) r i.
Definition T_of s l := \sum_(i | inside s l i) r i * (x i - z l).
Definition Q_of s l := \sum_(i | inside s l i) r i ^+ 2.
Definition bin_agrees s l := [/\ `|S_of s l - S_ s l| <= count s l * rho s, `|T_of s l - T_ s l| <= count s l * sigma s
  & `|Q_of s l - Q_ s l| <= count s l * kappa s].
Definition rows_of s : R := \sum_(i | shard i == s) 1.
Definition rho' := \sum_s rows_of s * rho s.
Definition sigma' := \sum_s rows_of s * sigma s.
Definition kappa' l := \sum_s count s l * kappa s.
Definition N l := \sum_s count s l.
Definition Sh l := \sum_s S_ s l.
Definition Th l := \sum_s T_ s l.
Definition Qh l := \sum_s Q_ s l.

Definition E := z m - z 0.
Definition e := Rplus * E + sigma' + E * rho'.
Definition width (l : 'I_m) := z l.+1 - z l.
Definition Vh := \sum_l (Th l + (z (l : 'I_m) - z 0) * Sh l).
Definition C (k : 'I_m) := \sum_(l : 'I_m | (k < l)%N) (Th l + z l * Sh l) + Th k * z k.+1 / width k - width k / 8%:R * Sh k.
Definition D (k : 'I_m) := \sum_(l : 'I_m | (k < l)%N) Sh l + Th k / width k.
Definition lin k p := C k - D k * p.
Definition lin' k p := lin k p - \sum_l (Th l + z (l : 'I_m) * Sh l) + p * \sum_l Sh l.

Hypotheses (t_ge0 : 0 <= t) (b_ge0 : 0 <= b).
Hypothesis edges : forall l, (l < m)%N -> z l < z l.+1.
Definition in_their_bins := forall i, z (bin i) <= x i /\ x i <= z (bin i).+1.
Definition large := forall l, 0 <= g l /\ N l * (Qh l + kappa' l) <= g l ^+ 2.
Definition inequality_1 := forall (k : 'I_m) p, z k <= p -> p <= z k.+1 ->
  t * (`|lin k p| + width k / 8%:R * g k + e) <= b * Num.sqrt (1 + p ^+ 2) /\
  t * (`|lin' k p| + width k / 8%:R * g k + e) <= b * Num.sqrt (1 + p ^+ 2).
Definition inequality_2 := t * (`|Vh| + e) <= b * Num.sqrt (1 + Num.min (z 0) 0 ^+ 2) /\
  t * (`|Vh| + e) <= b * Num.sqrt (1 + Num.max (z m) 0 ^+ 2).
Hypotheses (in_bin : in_their_bins) (agree : forall s l, bin_agrees s l) (mean : `|\sum_i r i| <= Rplus).
Hypotheses (g_large : large) (dominated : inequality_1) (outside : inequality_2).

Lemma by_bins (F : 'I_n -> R) l : \sum_s \sum_(i | inside s l i) F i = \sum_(i | bin i == l) F i.
Proof. by rewrite [RHS](partition_big shard xpredT) //=; apply: eq_bigr => s _; apply: eq_bigl => i; rewrite /inside andbC. Qed.
Lemma by_rows s (c : R) : \sum_l count s l * c = rows_of s * c.
Proof.
rewrite -mulr_suml; congr (_ * _); rewrite /rows_of (partition_big bin xpredT) //=.
Qed.
Lemma edges_mono k l : (k <= l)%N -> (l <= m)%N -> z k <= z l.
Proof.
move=> kl; elim: l kl => [|l IH]; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP ->//|kl] lm; apply: le_trans (ltW (edges lm)); exact: IH (ltnW lm).
Qed.
Lemma width_gt0 l : 0 < width l. Proof. by rewrite subr_gt0 edges. Qed.
Lemma width_le l : width l <= E.
Proof.
have h1 := edges_mono (leq0n l) (ltnW (ltn_ord l)); have h2 := edges_mono (ltn_ord l) (leqnn m).
by rewrite /width /E; by_sum ((z m - z l.+1) + (z l - z 0)).
Qed.
Lemma E_ge0 : 0 <= E. Proof. by rewrite subr_ge0 edges_mono. Qed.
Lemma x_range i : z 0 <= x i /\ x i <= z m.
Proof.
have [h1 h2] := in_bin i; split; first exact: le_trans (edges_mono (leq0n _) (ltnW (ltn_ord _))) h1.
exact: le_trans h2 (edges_mono (ltn_ord _) (leqnn m)).
Qed.

(** Stored sums in the place of exact ones, with coefficients at most 1 and E in size *)
Lemma stored (al be : 'I_m -> R) : (forall l, `|al l| <= 1) -> (forall l, `|be l| <= E) ->
  `|\sum_l (al l * (\sum_s T_of s l) + be l * (\sum_s S_of s l)) - \sum_l (al l * Th l + be l * Sh l)| <= sigma' + E * rho'.
Proof.
move=> al1 beE; rewrite -sumrB.
have -> : sigma' + E * rho' = \sum_l (\sum_s count s l * sigma s + E * \sum_s count s l * rho s).
  rewrite big_split /= -mulr_sumr exchange_big [X in _ = _ + E * X]exchange_big /=.
  by congr (_ + E * _); apply: eq_bigr => s _; rewrite by_rows.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => l _.
have hT : `|\sum_s T_of s l - Th l| <= \sum_s count s l * sigma s.
  by rewrite -sumrB; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => s _; case: (agree s l).
have hS : `|\sum_s S_of s l - Sh l| <= \sum_s count s l * rho s.
  by rewrite -sumrB; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => s _; case: (agree s l).
have -> : al l * (\sum_s T_of s l) + be l * (\sum_s S_of s l) - (al l * Th l + be l * Sh l) =
  al l * (\sum_s T_of s l - Th l) + be l * (\sum_s S_of s l - Sh l) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM; apply: ler_add.
  by rewrite -[X in _ <= X]mul1r; apply: ler_pmul; rewrite ?normr_ge0.
by apply: ler_pmul; rewrite ?normr_ge0.
Qed.

(** sum |r_i| over a bin, by Cauchy and Schwarz *)
Lemma residuals k : \sum_(i | bin i == k) `|r i| <= g k.
Proof.
have s0 : 0 <= \sum_(i | bin i == k) `|r i| by apply: sumr_ge0 => i _; rewrite normr_ge0.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?(proj1 (g_large k)) //; case: (g_large k) => _; apply: le_trans.
pose one : 'cV[R]_n := \col_i (if bin i == k then 1 else 0).
pose size : 'cV[R]_n := \col_i (if bin i == k then `|r i| else 0).
have e1 : dot one size = \sum_(i | bin i == k) `|r i|.
  by rewrite [RHS]big_mkcond; apply: eq_bigr => i _; rewrite !mxE; case: eqP; rewrite ?mul1r ?mul0r.
have e2 : sq one = N k.
  rewrite /N /count by_bins [RHS]big_mkcond; apply: eq_bigr => i _; rewrite !mxE.
  by case: eqP; rewrite ?mul1r ?mul0r.
have e3 : sq size = \sum_s Q_of s k.
  rewrite /Q_of by_bins [RHS]big_mkcond; apply: eq_bigr => i _; rewrite !mxE -expr2.
  by case: eqP; rewrite ?expr0n ?real_normK ?num_real.
rewrite -e1; apply: le_trans (cauchy_schwarz one size) _; rewrite e2 e3 ler_wpmul2l //.
  by rewrite -e2 sq_ge0.
rewrite -ler_subl_addl -sumrB; apply: ler_sum => s _; case: (agree s k) => _ _.
by rewrite ler_norml => /andP[].
Qed.

(** A function of the rows that is linear on every bin but k, where it differs from a linear one by at most an eighth of the width *)
Lemma by_sums (al be : 'I_m -> R) k (G : 'I_n -> R) : (forall l, `|al l| <= 1) -> (forall l, `|be l| <= E) ->
  (forall i, bin i != k -> G i = al (bin i) * (x i - z (bin i)) + be (bin i)) ->
  (forall i, bin i = k -> `|al k * (x i - z k) + be k - G i| <= width k / 8%:R) ->
  `|\sum_i r i * G i| <= `|\sum_l (al l * Th l + be l * Sh l)| + width k / 8%:R * g k + (sigma' + E * rho').
Proof.
move=> al1 beE other own; have near := stored al1 beE; set L := \sum_l (_ * Th l + _) in near *.
set X := \sum_l _ in near; have X_e : X = \sum_i r i * (al (bin i) * (x i - z (bin i)) + be (bin i)).
  rewrite (partition_big bin xpredT) //=; apply: eq_bigr => l _.
  rewrite /T_of /S_of !by_bins !mulr_sumr -big_split; apply: eq_bigr => i /eqP -> /=; ring.
have rest : `|X - \sum_i r i * G i| <= width k / 8%:R * g k.
  rewrite X_e -sumrB (bigID (fun i => bin i == k)) /= [X in _ + X]big1 ?addr0; last first.
    by move=> i ik; rewrite -mulrBr other // subrr mulr0.
  apply: le_trans (ler_norm_sum _ _ _) _.
  have h0 : 0 <= width k / 8%:R by rewrite divr_ge0 ?ler0n ?(ltW (width_gt0 k)).
  apply: le_trans (ler_wpmul2l h0 (residuals k)); rewrite mulr_sumr; apply: ler_sum => i /eqP ik.
  by rewrite -mulrBr normrM mulrC ler_wpmul2r ?normr_ge0 // ik own.
have -> : \sum_i r i * G i = L + (X - L) - (X - \sum_i r i * G i) by ring.
apply: le_trans (ler_norm_sub _ _) _; rewrite addrAC; apply: ler_add => //.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
Qed.

(** the slopes and constants of the two hinges *)
Definition al k p (l : 'I_m) := if l == k then (z k.+1 - p) / width k else if (k < l)%N then 1 else 0.
Definition be (k : 'I_m) p (l : 'I_m) := if l == k then - (width k / 8%:R) else if (k < l)%N then z l - p else 0.
Section Inside.
Variables (k : 'I_m) (p : R).
Hypotheses (low : z k <= p) (high : p <= z k.+1).
Lemma ratio : 0 <= (z k.+1 - p) / width k <= 1.
Proof.
have w0 := width_gt0 k; apply/andP; split; first by rewrite divr_ge0 ?(ltW w0) // subr_ge0.
by rewrite ler_pdivr_mulr // mul1r /width; by_sum (p - z k).
Qed.
Lemma al_le l : `|al k p l| <= 1.
Proof.
have /andP[h0 h1] := ratio; rewrite /al; case: ifP => _; first by rewrite ger0_norm.
by case: ifP => _; rewrite ?normr1 ?normr0 ?ler01.
Qed.
Lemma al'_le l : `|al k p l - 1| <= 1.
Proof.
have /andP[h0 h1] := ratio; rewrite /al; case: ifP => _.
  by rewrite ler0_norm ?subr_le0 // opprB ler_subl_addl ler_addr.
by case: ifP => _; rewrite ?subrr ?normr0 ?ler01 // sub0r normrN normr1.
Qed.
Lemma above (l : 'I_m) : (k < l)%N -> 0 <= z l - p /\ z l - p <= E.
Proof.
move=> kl; have h1 : z k.+1 <= z l by apply: edges_mono kl _; exact: ltnW (ltn_ord _).
have h2 : z l <= z m by exact: edges_mono (ltnW (ltn_ord l)) (leqnn m).
have h3 : z 0 <= z k by apply: edges_mono (leq0n k) _; exact: ltnW (ltn_ord _).
by split; [by_sum ((z l - z k.+1) + (z k.+1 - p)) | rewrite /E; by_sum ((z m - z l) + (p - z k) + (z k - z 0))].
Qed.
Lemma be_le l : `|be k p l| <= E.
Proof.
rewrite /be; case: ifP => _.
  rewrite normrN ger0_norm ?divr_ge0 ?ler0n ?(ltW (width_gt0 k)) //; have h := width_le k.
  by have h0 := ltW (width_gt0 k); by_quotient ((E - width k) + 7%:R * width k / 8%:R).
case: ifP => kl; last by rewrite normr0 E_ge0.
by have [h0 h1] := above kl; rewrite ger0_norm.
Qed.
Lemma be'_le l : `|be k p l - (z l - p)| <= E.
Proof.
have hw := width_le k; have w0 := ltW (width_gt0 k); have E0 := E_ge0.
rewrite /be; case: eqP => [->|lk].
  rewrite ler_norml; apply/andP; split.
    by by_quotient ((p - z k) + (E - width k) + 7%:R * width k / 8%:R).
  by rewrite /width in hw w0 *; by_quotient ((E - (z k.+1 - z k)) + (z k.+1 - p) + (z k.+1 - z k) / 8%:R).
case: ifP => [_|/negbT]; first by rewrite subrr normr0.
rewrite -leqNgt leq_eqVlt => /orP[/eqP/val_inj //|kl].
have h1 : z l <= z k by apply: edges_mono (ltnW kl) _; exact: ltnW (ltn_ord _).
have h2 : z 0 <= z l by apply: edges_mono (leq0n l) _; exact: ltnW (ltn_ord _).
have h3 : z k.+1 <= z m by exact: edges_mono (ltn_ord k) (leqnn m).
rewrite sub0r opprB ger0_norm; first by rewrite /E; by_sum ((z m - z k.+1) + (z k.+1 - p) + (z l - z 0)).
by by_sum ((z k - z l) + (p - z k)).
Qed.
Lemma lin_sums : \sum_l (al k p l * Th l + be k p l * Sh l) = lin k p.
Proof.
have w0 : width k != 0 by rewrite gt_eqF ?width_gt0.
rewrite (bigD1 k) //= {1}/al {1}/be eqxx (eq_bigr (fun l : 'I_m => if (k < l)%N then (Th l + z l * Sh l) - p * Sh l else 0)); last first.
  move=> l lk; rewrite /al /be (negbTE lk); case: ifP => _; ring.
rewrite -big_mkcondr (eq_bigl (fun l : 'I_m => (k < l)%N)); last first.
  by move=> l; case: (eqVneq l k) => [->|]; rewrite ?ltnn ?andbT.
rewrite sumrB -mulr_sumr /lin /C /D; set A := \sum_(_ | _) _; set B := \sum_(_ | _) _; by field.
Qed.
Lemma hinge_rows i : bin i != k -> relu (x i - p) = al k p (bin i) * (x i - z (bin i)) + be k p (bin i).
Proof.
move=> ik; rewrite /al /be (negbTE ik); have [h1 h2] := in_bin i; case: ifP => [kl|/negbT].
  rewrite relu_pos; first by ring.
  have h3 : z k.+1 <= z (bin i) by apply: edges_mono kl _; exact: ltnW (ltn_ord _).
  by by_sum ((x i - z (bin i)) + (z (bin i) - z k.+1) + (z k.+1 - p)).
rewrite -leqNgt leq_eqVlt => /orP[/eqP/val_inj e1|kl]; first by rewrite e1 eqxx in ik.
have h3 : z (bin i).+1 <= z k by apply: edges_mono kl _; exact: ltnW (ltn_ord _).
rewrite relu_neg ?mul0r ?addr0 // subr_le0; by_sum ((z (bin i).+1 - x i) + (z k - z (bin i).+1) + (p - z k)).
Qed.
Lemma hinge_own i : bin i = k -> `|al k p k * (x i - z k) + be k p k - relu (x i - p)| <= width k / 8%:R.
Proof.
move=> ik; have [h1 h2] := in_bin i; rewrite ik in h1 h2; rewrite /al /be eqxx.
have := chord (edges (ltn_ord k)) h1 h2 low high; rewrite -/(width k); have w0 := width_gt0 k.
by congr (`|_| <= _); move: (relu _) => q; field; rewrite gt_eqF.
Qed.
Lemma right_hinge : `|\sum_i r i * relu (x i - p)| <= `|lin k p| + width k / 8%:R * g k + (sigma' + E * rho').
Proof. rewrite -lin_sums; apply: by_sums al_le be_le hinge_rows hinge_own. Qed.
Lemma left_hinge : `|\sum_i r i * relu (p - x i)| <= `|lin' k p| + width k / 8%:R * g k + (sigma' + E * rho').
Proof.
have -> : lin' k p = \sum_l ((al k p l - 1) * Th l + (be k p l - (z (l : 'I_m) - p)) * Sh l).
  rewrite /lin' -lin_sums mulr_sumr -sumrB -big_split; apply: eq_bigr => l _ /=; ring.
have flip i : relu (p - x i) = relu (x i - p) - (x i - p) by rewrite -relu_opp opprB.
apply: (by_sums (al := fun l => al k p l - 1) (be := fun l => be k p l - (z (l : 'I_m) - p)) al'_le be'_le) => i ik.
  by rewrite flip hinge_rows //; ring.
by rewrite flip; have := hinge_own ik; congr (`|_| <= _); ring.
Qed.
End Inside.

(** ** The vector u of the proof, and the theorem of one column *)
Definition u i := t * (r i - (\sum_i r i) / n%:R).
Lemma sum_u : \sum_i u i = 0.
Proof.
have [n0|n0] := posnP n.
  by rewrite big1 // => i _; have := leq_ltn_trans (leq0n i) (ltn_ord i); rewrite n0.
rewrite -mulr_sumr sumrB sumr_const card_ord -[X in _ - X]mulr_natr divfK ?subrr ?mulr0 //.
by rewrite pnatr_eq0 -lt0n.
Qed.
Lemma with_mean (G : 'I_n -> R) X : (forall i, 0 <= G i /\ G i <= E) -> `|\sum_i r i * G i| <= X ->
  `|\sum_i u i * G i| <= t * (X + Rplus * E).
Proof.
move=> inE small; have -> : \sum_i u i * G i = t * (\sum_i r i * G i - (\sum_i r i) / n%:R * \sum_i G i).
  by rewrite [X in _ - X]mulr_sumr -sumrB mulr_sumr; apply: eq_bigr => i _; rewrite /u -mulrA mulrBl.
rewrite normrM ger0_norm // ler_wpmul2l //; apply: le_trans (ler_norm_sub _ _) _; apply: ler_add => //.
have R0 : 0 <= Rplus := le_trans (normr_ge0 _) mean.
have [n0|n0] := posnP n.
  have -> : (n%:R : R)^-1 = 0 by rewrite n0 invr0.
  by rewrite mulr0 mul0r normr0 mulr_ge0 ?E_ge0.
have nR : 0 < n%:R :> R by rewrite ltr0n.
have s0 : 0 <= \sum_i G i by apply: sumr_ge0 => i _; case: (inE i).
have s1 : \sum_i G i <= n%:R * E.
  have -> : n%:R * E = \sum_(i < n) E by rewrite sumr_const card_ord mulr_natl.
  by apply: ler_sum => i _; case: (inE i).
rewrite normrM (ger0_norm s0) normrM normfV (ger0_norm (ltW nR)) -mulrA; apply: ler_pmul => //.
  by rewrite mulr_ge0 ?invr_ge0 ?(ltW nR).
by rewrite mulrC ler_pdivr_mulr // mulrC.
Qed.
Lemma V_small : `|\sum_i u i * (x i - z 0)| <= t * (`|Vh| + e).
Proof.
have -> : t * (`|Vh| + e) = t * (`|Vh| + (sigma' + E * rho') + Rplus * E) by rewrite /e; ring.
apply: with_mean => [i|].
  by have [h1 h2] := x_range i; rewrite subr_ge0 /E; split=> //; rewrite ler_add2r.
have al1 (l : 'I_m) : `|1 : R| <= 1 by rewrite normr1.
have beE (l : 'I_m) : `|z l - z 0| <= E.
  have h1 := edges_mono (leq0n l) (ltnW (ltn_ord l)); have h2 := edges_mono (ltnW (ltn_ord l)) (leqnn m).
  by rewrite ger0_norm ?subr_ge0 // /E ler_add2r.
have := stored al1 beE; have -> : \sum_l (1 * (\sum_s T_of s l) + (z (l : 'I_m) - z 0) * (\sum_s S_of s l)) = \sum_i r i * (x i - z 0).
  rewrite [RHS](partition_big bin xpredT) //=; apply: eq_bigr => l _.
  rewrite /T_of /S_of !by_bins mul1r mulr_sumr -big_split; apply: eq_bigr => i _ /=; ring.
have -> : \sum_l (1 * Th l + (z (l : 'I_m) - z 0) * Sh l) = Vh by apply: eq_bigr => l _; rewrite mul1r.
move=> near; have -> : \sum_i r i * (x i - z 0) = Vh + (\sum_i r i * (x i - z 0) - Vh) by rewrite addrC subrK.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
Qed.

Lemma in_some_bin p : z 0 <= p -> p <= z m -> (0 < m)%N -> exists k : 'I_m, z k <= p /\ p <= z k.+1.
Proof.
move=> p0; suff h l : (l <= m)%N -> p <= z l -> (0 < l)%N -> exists k : 'I_m, z k <= p /\ p <= z k.+1 by apply: h.
elim: l => // l IH lm pl _; have [zl|zl] := leP (z l) p; first by exists (Ordinal lm).
case: l IH lm pl zl => [|l] IH lm pl zl; first by have := lt_le_trans zl p0; rewrite ltxx.
by apply: IH (ltnW lm) (ltW zl) isT.
Qed.
Lemma further p q : q ^+ 2 <= p ^+ 2 -> b * Num.sqrt (1 + q ^+ 2) <= b * Num.sqrt (1 + p ^+ 2).
Proof. by move=> h; rewrite ler_wpmul2l // ler_wsqrtr // ler_add2l. Qed.
Lemma hinges p : `|\sum_i u i * relu (x i - p)| <= b * Num.sqrt (1 + p ^+ 2) /\
  `|\sum_i u i * relu (p - x i)| <= b * Num.sqrt (1 + p ^+ 2).
Proof.
have shift q : \sum_i u i * (x i - q) = \sum_i u i * (x i - z 0).
  have e1 : \sum_i u i * (x i - q) = \sum_i u i * (x i - z 0) + (z 0 - q) * \sum_i u i.
    by rewrite mulr_sumr -big_split; apply: eq_bigr => i _ /=; ring.
  by rewrite e1 sum_u mulr0 addr0.
have B0 : 0 <= b * Num.sqrt (1 + p ^+ 2) by rewrite mulr_ge0 ?sqrtr_ge0.
have [out1 out2] := outside.
have [p0|p0] := leP p (z 0).
  have all_right i : p <= x i by have [h1 _] := x_range i; apply: le_trans p0 h1.
  split; last by rewrite big1 ?normr0 // => i _; rewrite relu_neg ?mulr0 // subr_le0.
  rewrite (eq_bigr (fun i => u i * (x i - p))); last by move=> i _; rewrite relu_pos // subr_ge0.
  rewrite shift; apply: le_trans V_small _; apply: le_trans out1 _; apply: further.
  have [z0|z0] := leP (z 0) 0; last by rewrite expr0n sqr_ge0.
  have h1 : 0 <= - z 0 by rewrite oppr_ge0.
  by rewrite -sqrrN -[X in _ <= X]sqrrN ler_pexpn2r ?nnegrE ?ler_opp2 // oppr_ge0 (le_trans p0).
have [pm|pm] := leP (z m) p.
  have all_left i : x i <= p by have [_ h1] := x_range i; apply: le_trans h1 pm.
  split; first by rewrite big1 ?normr0 // => i _; rewrite relu_neg ?mulr0 // subr_le0.
  rewrite (eq_bigr (fun i => - (u i * (x i - p)))); last by move=> i _; rewrite relu_pos ?subr_ge0 // -mulrN opprB.
  rewrite sumrN normrN shift; apply: le_trans V_small _; apply: le_trans out2 _; apply: further.
  have [z0|z0] := leP 0 (z m); last by rewrite expr0n sqr_ge0.
  by rewrite ler_pexpn2r ?nnegrE // (le_trans z0).
have m0 : (0 < m)%N by case: (posnP m) => // me; move: (lt_trans p0 pm); rewrite me ltxx.
have [k [low high]] := in_some_bin (ltW p0) (ltW pm) m0; have [d1 d2] := dominated low high.
have eE X : t * (X + (width k / 8%:R * g k) + (sigma' + E * rho') + Rplus * E) = t * (X + width k / 8%:R * g k + e).
  by rewrite /e; ring.
split.
  apply: le_trans d1; rewrite -eE; apply: with_mean (right_hinge low high) => i; have [h1 h2] := x_range i.
  by rewrite relu_ge0 /relu le_maxl E_ge0 /E; split=> //; rewrite ler_add // ler_opp2 ltW.
apply: le_trans d2; rewrite -eE; apply: with_mean (left_hinge low high) => i; have [h1 h2] := x_range i.
by rewrite relu_ge0 /relu le_maxl E_ge0 /E; split=> //; rewrite ler_add ?(ltW pm) // ler_opp2.
Qed.

(** every neuron of the column is dominated by its weights *)
Theorem column_dominated w0 w1 : `|\sum_i u i * relu (x i * w0 + w1)| <= b * Num.sqrt (w0 ^+ 2 + w1 ^+ 2).
Proof.
have [->|w0n] := eqVneq w0 0.
  under eq_bigr do rewrite mulr0 add0r; rewrite -mulr_suml sum_u mul0r normr0.
  by rewrite mulr_ge0 ?sqrtr_ge0.
pose p := - w1 / w0; have [h1 h2] := hinges p.
have size_e : b * Num.sqrt (w0 ^+ 2 + w1 ^+ 2) = `|w0| * (b * Num.sqrt (1 + p ^+ 2)).
  rewrite mulrCA; congr (_ * _); rewrite -sqrtr_sqr -sqrtrM ?sqr_ge0 //; congr Num.sqrt.
  by rewrite /p; field.
have at_e i : x i * w0 + w1 = w0 * (x i - p) by rewrite /p; field.
rewrite size_e; have [wp|wn] := ltP 0 w0.
  have -> : \sum_i u i * relu (x i * w0 + w1) = w0 * \sum_i u i * relu (x i - p).
    by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite at_e relu_homogeneous ?(ltW wp) // mulrCA.
  by rewrite normrM ler_wpmul2l ?normr_ge0.
have wm : 0 <= - w0 by rewrite oppr_ge0.
have -> : \sum_i u i * relu (x i * w0 + w1) = - w0 * \sum_i u i * relu (p - x i).
  rewrite mulr_sumr; apply: eq_bigr => i _; have -> : x i * w0 + w1 = - w0 * (p - x i) by rewrite at_e; ring.
  by rewrite relu_homogeneous // mulrCA.
by rewrite normrM normrN ler_wpmul2l ?normr_ge0.
Qed.
End Column.
