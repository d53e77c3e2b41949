(** spec/claims/additive-stream-gap.md: theorem B, and the test of (1) in rationals. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import additive_bins vectors dual_gap dual_gap_columns curve_shapes dual_gap_shapes.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section TheoremB.
Variables (R : rcfType) (n d k S : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (shard : 'I_n -> 'I_S).
Variables (m : 'I_d -> nat) (z : 'I_d -> nat -> R) (bin : forall j, 'I_n -> 'I_(m j)).   (* edges and bins of every column *)
Variables (b t : R) (N0 : network R d (d + 1) k).   (* the stored network; the last weight is the bias, tau = 1 *)
(** the file: sums of every shard, in every bin of every column and over all rows; four radii per shard *)
Variables (S_ T_ Q_ : forall j, 'I_S -> 'I_(m j) -> R) (A_ B_ R_ Y_ rho sigma kappa eta : 'I_S -> R).
Variable g : forall j, 'I_(m j) -> R.

Definition P k' (N : network R d (d + 1) k') :=
  objective x (xh x 1) (Free R) (Absent R) (fun i => squared (y i)) b N.
Definition additive k' (N : network R d (d + 1) k') :=
  in_class (Free R) (Absent R) false (group false) (fun _ _ => True) N.
Definition r i := output x (xh x 1) N0 i - y i.
Definition over s (F : 'I_n -> R) := \sum_(i | shard i == s) F i.
Definition agrees s := [/\ forall j l, bin_agrees (fun i => x i j 0) r (z j) (@bin j) shard (@S_ j) (@T_ j) (@Q_ j) rho sigma kappa s l,
  `|over s (fun i => r i ^+ 2) - A_ s| <= rows_of R shard s * kappa s, `|over s (fun i => r i * y i) - B_ s| <= rows_of R shard s * eta s,
  `|over s r - R_ s| <= rows_of R shard s * rho s & `|over s y - Y_ s| <= rows_of R shard s * eta s].
Definition total (F : 'I_S -> R) := \sum_s F s.
Definition alpha := total (fun s => rows_of R shard s * kappa s).
Definition beta' := total (fun s => rows_of R shard s * eta s).
Definition Rplus := `|total R_| + rho' shard rho.
Definition Yplus := `|total Y_| + beta'.
Definition penalty := b / 2%:R * \sum_l (sq (w N0 l) + v N0 l ^+ 2).
Definition bound := (1 + t ^+ 2) * (total A_ + alpha) / 2%:R + t * (total B_ + beta') + t * Rplus * Yplus / n%:R + penalty.

Hypotheses (b_gt0 : 0 < b) (t_ge0 : 0 <= t).
Hypothesis edges : forall j l, (l < m j)%N -> z j l < z j l.+1.
Hypothesis bins_hold : forall j, in_their_bins (fun i => x i j 0) (z j) (@bin j).
Hypothesis shards_agree : forall s, agrees s.
Hypothesis roots : forall j, large (@bin j) shard (@Q_ j) kappa (@g j).
Hypothesis first : forall j, inequality_1 (z j) shard (@S_ j) (@T_ j) rho sigma t b Rplus (@g j).
Hypothesis second : forall j, inequality_2 (m := m j) (z j) shard (@S_ j) (@T_ j) rho sigma t b Rplus.

Lemma total_near (F : 'I_n -> R) (F_ rad : 'I_S -> R) :
  (forall s, `|over s F - F_ s| <= rows_of R shard s * rad s) ->
  `|\sum_i F i - total F_| <= total (fun s => rows_of R shard s * rad s).
Proof.
move=> near; have -> : \sum_i F i = \sum_s over s F by rewrite (partition_big shard xpredT).
by rewrite -sumrB; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum.
Qed.
Lemma at_most (a c e : R) : `|a - c| <= e -> a <= c + e.
Proof. by rewrite ler_norml => /andP[_]; rewrite ler_subl_addl. Qed.
Lemma norm_at_most (a c e : R) : `|a - c| <= e -> `|a| <= `|c| + e.
Proof. by move=> h; rewrite -[a](subrK c) addrC; apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l. Qed.
Lemma A_high : \sum_i r i ^+ 2 <= total A_ + alpha.
Proof. by apply/at_most/total_near => s; case: (shards_agree s). Qed.
Lemma B_high : \sum_i r i * y i <= total B_ + beta'.
Proof. by apply/at_most/total_near => s; case: (shards_agree s). Qed.
Lemma R_high : `|\sum_i r i| <= Rplus.
Proof. by apply/norm_at_most/total_near => s; case: (shards_agree s). Qed.
Lemma Y_high : `|\sum_i y i| <= Yplus.
Proof. by apply/norm_at_most/total_near => s; case: (shards_agree s). Qed.

Definition conj i := u r t i * y i + u r t i ^+ 2 / 2%:R.
Lemma floor_below k' (N : network R d (d + 1) k') : additive N -> - (\sum_i conj i) <= P N.
Proof.
move=> inN; have dom i s : u r t i * s - conj i <= squared (y i) s by apply: conjugate_squared.
have cone (c : R) (w : 'cV[R]_(d + 1)) : 0 <= c -> group false w -> group false (c *: w).
  move=> c0 /andP[/existsP[j /forallP only] _]; rewrite /group /= andbT; apply/existsP; exists j; apply/forallP => i.
  by case/orP: (only i) => [->//|/eqP e]; rewrite /weight_at mxE -/(weight_at i w) e mulr0 eqxx orbT.
have small s : `|s| = 1 -> H_le_on (xh x 1) false (group false) b (u r t) xpredT s.
  move=> s1 w' bet /andP[/existsP[j own] _] _ w1 [//|->].
  apply: le_trans (ler_norm _) _; rewrite normrM s1 mul1r; apply: (@le_trans _ _ (b * len w')); last first.
    by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?(ltW b_gt0) // len_le ?ler01 // expr1n.
  have agree s' l : bin_agrees (fun i => x i j 0) r (z j) (@bin j) shard (@S_ j) (@T_ j) (@Q_ j) rho sigma kappa s' l.
    by case: (shards_agree s').
  have := column_dominated t_ge0 (ltW b_gt0) (@edges j) (@bins_hold j) agree R_high (@roots j) (@first j) (@second j)
    (weight_at j w') (bias_weight w').
  rewrite -(len_seen own); congr (`|_| <= _); apply: eq_bigr => i _.
  by rewrite (dot_seen _ _ _ own) addr0 mul1r [x i j 0 * _]mulrC.
have := R1 (u := u r t) (conj := conj) cone b_gt0 (isT : in_range (Free R)) (isT : in_range (Absent R)) dom _ _ small inN.
by rewrite /dual_gap.D /= !subr0; apply=> // _; apply: sum_u.
Qed.

Lemma dual_value : \sum_i conj i <= t ^+ 2 * (total A_ + alpha) / 2%:R + t * (total B_ + beta') + t * Rplus * Yplus / n%:R.
Proof.
pose M := (\sum_i r i) / n%:R.
have zero : \sum_i (r i - M) = 0 by have := sum_u r 1; rewrite /u; under eq_bigr do rewrite mul1r.
have e1 : \sum_i u r t i * y i = t * (\sum_i r i * y i - M * \sum_i y i).
  by rewrite [X in _ - X]mulr_sumr -sumrB mulr_sumr; apply: eq_bigr => i _; rewrite /u -/M; ring.
have e2 : \sum_i u r t i ^+ 2 = t ^+ 2 * (\sum_i r i ^+ 2 - M * \sum_i r i).
  have -> : \sum_i r i ^+ 2 - M * (\sum_i r i) = \sum_i (r i - M) ^+ 2 + M * \sum_i (r i - M).
    by rewrite !mulr_sumr -sumrB -big_split; apply: eq_bigr => i _ /=; ring.
  by rewrite zero mulr0 addr0 mulr_sumr; apply: eq_bigr => i _; rewrite /u -/M exprMn.
have pos : 0 <= M * \sum_i r i by rewrite /M mulrAC -expr2 divr_ge0 ?sqr_ge0 ?ler0n.
have cross : - (M * \sum_i y i) <= Rplus * Yplus / n%:R.
  apply: le_trans (ler_norm _) _; rewrite normrN /M !normrM normfV (ger0_norm (ler0n _ n)) mulrAC.
  by rewrite ler_wpmul2r ?invr_ge0 ?ler0n // ler_pmul ?normr_ge0 ?R_high ?Y_high.
rewrite /conj big_split /= -mulr_suml e1 e2.
have hA := A_high; have hB := B_high; move: (\sum_i r i ^+ 2) (\sum_i r i * y i) (M * \sum_i r i) (M * \sum_i y i) hA hB pos cross.
have -> : t * Rplus * Yplus / n%:R = t * (Rplus * Yplus / n%:R) by rewrite !mulrA.
move: (Rplus * Yplus / n%:R) (total A_ + alpha) (total B_ + beta') => q A B a c p s hA hB pos cross.
by by_quotient (t ^+ 2 * (A - a) / 2%:R + t ^+ 2 * p / 2%:R + t * (B - c) + t * (q - - s)).
Qed.

Theorem B : [/\ \sum_i squared (y i) (output x (xh x 1) N0 i) <= (total A_ + alpha) / 2%:R,
    forall k' (N : network R d (d + 1) k'), additive N -> - (\sum_i conj i) <= P N
  & forall k' (N : network R d (d + 1) k'), additive N -> P N0 - P N <= bound].
Proof.
have hA : \sum_i squared (y i) (output x (xh x 1) N0 i) <= (total A_ + alpha) / 2%:R.
  by rewrite /squared -mulr_suml ler_pmul2r ?invr_gt0 ?ltr0n //; exact: A_high.
split=> // [k' N|k' N inN]; first exact: floor_below.
have h1 := floor_below inN; have h2 := dual_value; have e : P N0 = \sum_i squared (y i) (output x (xh x 1) N0 i) + penalty.
  by rewrite /P /objective /cost !addr0.
rewrite e /bound; move: (\sum_i squared _ _) (\sum_i conj i) (P N) penalty (total A_ + alpha) hA h1 h2 => L c p pen A.
move: (t * (total B_ + beta')) (t * Rplus * Yplus / n%:R) => X Y hA h1 h2.
by by_quotient ((A / 2%:R - L) + (p - - c) + (t ^+ 2 * A / 2%:R + X + Y - c)).
Qed.
End TheoremB.

(** ** The test of (1) in rationals, for one sign of the linear function s0 + s1 p on a bin [a, c] *)
Section Test.
Variables (R : rcfType) (b : R).
Hypothesis b_ge0 : 0 <= b.
Definition end_ok (value at_ : R) := (value <= 0) || (value ^+ 2 <= b ^+ 2 * (1 + at_ ^+ 2)).
Theorem K7 s0 s1 a c : a < c -> end_ok (s0 + s1 * a) a -> end_ok (s0 + s1 * c) c ->
  (0 < s0 -> a * s0 <= s1 -> s1 <= c * s0 -> s0 ^+ 2 + s1 ^+ 2 <= b ^+ 2) ->
  forall p, a <= p -> p <= c -> s0 + s1 * p <= b * Num.sqrt (1 + p ^+ 2).
Proof.
move=> ac ha hc cone p ap pc; have h0 : 0 < c - a by rewrite subr_gt0.
pose s := (s0, s1); pose A := (1 : R, a); pose C := (1 : R, c).
have value q : inner s (1, q) = s0 + s1 * q by rewrite /inner /= mulr1.
have size q : inner (1, q) (1, q) = 1 + q ^+ 2 by rewrite /inner /= mulr1.
have plane_e : b * Num.sqrt (1 + p ^+ 2) = plane b 1 p by rewrite /plane expr1n.
have [small|large] := leP (inner s s) (b ^+ 2).
  rewrite plane_e -value; have := @le_plane _ b b_ge0 (inner s (1, p)) (1, p); apply.
  by apply: le_trans (inner_cs _ _) _; rewrite ler_wpmul2r ?inner_ge0.
have bA : below b s A by move: ha; rewrite /below /A value size.
have bC : below b s C by move: hc; rewrite /below /C value size.
have A0 : 0 < inner A A by rewrite /A size ltr_paddr ?sqr_ge0 ?ltr01.
have C0 : 0 < inner C C by rewrite /C size ltr_paddr ?sqr_ge0 ?ltr01.
have al0 : 0 <= (c - p) / (c - a) by rewrite divr_ge0 ?(ltW h0) // subr_ge0.
have be0 : 0 <= (p - a) / (c - a) by rewrite divr_ge0 ?(ltW h0) // subr_ge0.
have one : (c - p) / (c - a) * 1 + (p - a) / (c - a) * 1 = 1 by field; rewrite gt_eqF.
have at_p : (c - p) / (c - a) * a + (p - a) / (c - a) * c = p by field; rewrite gt_eqF.
rewrite plane_e -value; have [left|right] := leP s1 (a * s0).
  have out : outside s A C by rewrite /outside /inner /=; by_sum ((c - a) * (a * s0 - s1)).
  by have := outside_good b_ge0 A0 C0 bA bC out al0 be0; rewrite /= one at_p.
have [s0n|s0p] := leP s0 0.
  have out : outside s C A.
    rewrite /outside /inner /=; have h1 : 0 <= - s0 by rewrite oppr_ge0.
    by by_sum ((c - a) * ((s1 - a * s0) + (c - a) * - s0)).
  by have := outside_good b_ge0 C0 A0 bC bA out be0 al0; rewrite /= addrC one addrC at_p.
have [inn|out'] := leP s1 (c * s0).
  by move: large; rewrite ltNge /inner /= -!expr2 cone // ltW.
have out : outside s C A by rewrite /outside /inner /=; by_sum ((c - a) * (s1 - c * s0)).
by have := outside_good b_ge0 C0 A0 bC bA out be0 al0; rewrite /= addrC one addrC at_p.
Qed.
(** and nothing weaker is enough *)
Theorem K7_needed s0 s1 a c : a < c -> (forall p, a <= p -> p <= c -> s0 + s1 * p <= b * Num.sqrt (1 + p ^+ 2)) ->
  [/\ end_ok (s0 + s1 * a) a, end_ok (s0 + s1 * c) c
    & 0 < s0 -> a * s0 <= s1 -> s1 <= c * s0 -> s0 ^+ 2 + s1 ^+ 2 <= b ^+ 2].
Proof.
move=> ac holds.
have squares p : a <= p -> p <= c -> end_ok (s0 + s1 * p) p.
  move=> ap pc; have h := holds p ap pc; rewrite /end_ok; have [//|v0] := leP (s0 + s1 * p) 0.
  have q0 : 0 <= 1 + p ^+ 2 by rewrite addr_ge0 ?sqr_ge0 ?ler01.
  have -> : b ^+ 2 * (1 + p ^+ 2) = (b * Num.sqrt (1 + p ^+ 2)) ^+ 2 by rewrite exprMn sqr_sqrtr.
  by rewrite ler_pexpn2r ?nnegrE ?(ltW v0) ?mulr_ge0 ?sqrtr_ge0.
split; [exact: squares (lexx a) (ltW ac) | exact: squares (ltW ac) (lexx c) | move=> p0 low high].
have inv : 0 < s0^-1 by rewrite invr_gt0.
have := squares (s1 / s0); rewrite ler_pdivl_mulr // ler_pdivr_mulr // /end_ok => /(_ low high).
pose q := s0 ^+ 2 + s1 ^+ 2; have q0 : 0 < q by rewrite ltr_paddr ?sqr_ge0 ?exprn_gt0.
have -> : s0 + s1 * (s1 / s0) = q / s0 by rewrite /q; field; rewrite gt_eqF.
have -> : 1 + (s1 / s0) ^+ 2 = q / s0 ^+ 2 by rewrite /q; field; rewrite gt_eqF.
rewrite leNgt divr_gt0 //= expr_div_n mulrA ler_pmul2r ?invr_gt0 ?exprn_gt0 //.
by rewrite expr2 ler_pmul2r.
Qed.
End Test.
