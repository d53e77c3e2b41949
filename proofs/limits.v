(** Completeness, the one property of the real numbers beyond an ordered field with square roots, as a hypothesis;
    sequences of finite path converge. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Limits.
Variable R : rcfType.
Definition tends (s : nat -> R) l := forall e, 0 < e -> exists N, forall j, (N <= j)%N -> `|s j - l| < e.
(** every bounded nondecreasing sequence has a limit *)
Definition complete := forall s : nat -> R, (forall j, s j <= s j.+1) -> forall b, (forall j, s j <= b) ->
  exists l, tends s l.

Lemma nondecreasing (s : nat -> R) : (forall j, s j <= s j.+1) -> forall i j, (i <= j)%N -> s i <= s j.
Proof.
move=> h i j /subnK <-; elim: (j - i)%N => [|m IH]; first by rewrite add0n.
by rewrite addSn; apply: le_trans (h _).
Qed.
Lemma limit_le (s : nat -> R) l b m : tends s l -> (forall j, (m <= j)%N -> s j <= b) -> l <= b.
Proof.
move=> sl sb; rewrite leNgt; apply/negP => bl.
have e0 : 0 < l - b by rewrite subr_gt0.
have [N hN] := sl _ e0; have := hN (maxn N m) (leq_maxl _ _); have := sb (maxn N m) (leq_maxr _ _).
rewrite distrC => sb' /(le_lt_trans (ler_norm _)); rewrite ltr_add2l ltr_opp2.
by rewrite ltNge sb'.
Qed.
Lemma tendsB (s t : nat -> R) l m : tends s l -> tends t m -> tends (fun j => s j - t j) (l - m).
Proof.
move=> sl tm e e0; have e2 : 0 < e / 2%:R by rewrite divr_gt0 ?ltr0n.
have [N hN] := sl _ e2; have [M hM] := tm _ e2.
exists (maxn N M) => j; rewrite geq_max => /andP[Nj Mj].
have -> : s j - t j - (l - m) = (s j - l) - (t j - m) by ring.
apply: le_lt_trans (ler_norm_sub _ _) _.
have -> : e = e / 2%:R + e / 2%:R by field.
by apply: ltr_add; [apply: hN | apply: hM].
Qed.
Lemma tends_small (s : nat -> R) l : (forall j, s j <= s j.+1) -> tends s l ->
  forall e, 0 < e -> exists j, 0 <= l - s j /\ l - s j < e.
Proof.
move=> mono sl e e0; have [N hN] := sl e e0; exists N.
have below : s N <= l.
  rewrite leNgt; apply/negP => lt; have d0 : 0 < s N - l by rewrite subr_gt0.
  have [M hM] := sl _ d0; have := hM (maxn N M) (leq_maxr _ _).
  have up := nondecreasing mono (leq_maxl N M).
  move=> /(le_lt_trans (ler_norm _)); rewrite ltr_add2r ltNge up //.
rewrite subr_ge0; split=> //; apply: le_lt_trans (hN N (leqnn _)).
by rewrite distrC ler_norm.
Qed.
Lemma le_of_small (a b c : R) : 0 <= c -> (forall e, 0 < e -> exists d, [/\ 0 <= d, d < e & a <= b + c * d]) -> a <= b.
Proof.
move=> c0 h; rewrite leNgt; apply/negP => ba.
have c1 : 0 < c + 1 by rewrite ltr_paddl ?ltr01.
have e0 : 0 < (a - b) / (c + 1) by rewrite divr_gt0 ?subr_gt0.
have [d [d0 de ad]] := h _ e0; move: de; rewrite ltr_pdivl_mulr // mulrDr mulr1 ltNge => /negP; apply.
have := ad; rewrite -ler_subl_addl mulrC => h1; apply: le_trans h1 _; by rewrite ler_addl.
Qed.

Variable n : nat.
Variables (q : nat -> 'cV[R]_n) (s : nat -> R) (b : R).
Hypothesis is_complete : complete.
Hypothesis path : forall j, len (q j.+1 - q j) <= s j.+1 - s j.
Hypothesis bounded : forall j, s j <= b.

Lemma path_mono j : s j <= s j.+1.
Proof. by rewrite -subr_ge0; apply: le_trans (path j); apply: len_ge0. Qed.
Lemma path_between j k : (j <= k)%N -> len (q k - q j) <= s k - s j.
Proof.
move=> /subnK <-; elim: (k - j)%N => [|m IH]; first by rewrite add0n !subrr len0.
rewrite addSn; apply: le_trans (len_triangle _ (q (m + j)%N) _) _.
have -> : s (m + j).+1 - s j = (s (m + j).+1 - s (m + j)%N) + (s (m + j)%N - s j) by ring.
by apply: ler_add.
Qed.
Lemma coordinate (u : 'cV[R]_n) i : `|u i 0| <= len u.
Proof.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 ?len_ge0 // real_normK ?num_real // len_sqr.
rewrite /sq /dot (bigD1 i) //= -expr2 ler_addl; apply: sumr_ge0 => k _.
by rewrite -expr2 sqr_ge0.
Qed.
Lemma coordinate_converges i : exists l, tends (fun j => q j i 0) l.
Proof.
have [l sl] := is_complete path_mono bounded.
have step j : `|q j.+1 i 0 - q j i 0| <= s j.+1 - s j.
  by apply: le_trans (path j); have := coordinate (q j.+1 - q j) i; rewrite !mxE.
have mono j : q j i 0 + s j <= q j.+1 i 0 + s j.+1.
  have := step j; rewrite ler_norml => /andP[h _]; by by_sum (q j.+1 i 0 - q j i 0 - - (s j.+1 - s j)).
have up j : q j i 0 + s j <= q 0%N i 0 + b - s 0%N + b.
  have : `|q j i 0 - q 0%N i 0| <= s j - s 0%N.
    by apply: le_trans (path_between (leq0n j)); have := coordinate (q j - q 0%N) i; rewrite !mxE.
  rewrite ler_norml => /andP[_ h]; have hb := bounded j.
  by by_sum ((s j - s 0%N - (q j i 0 - q 0%N i 0)) + (b - s j) + (b - s j)).
have [m qm] := is_complete mono up; exists (m - l).
move=> e e0; have [N hN] := tendsB qm sl e0; exists N => j Nj.
by have := hN j Nj; rewrite addrK.
Qed.

Theorem finite_path_converges : exists qs l,
  [/\ forall j, s j <= l, forall e, 0 < e -> exists j, 0 <= l - s j /\ l - s j < e
    & forall j, len (qs - q j) <= Num.sqrt n%:R * (l - s j)].
Proof.
have [l sl] := is_complete path_mono bounded.
have [qf qfP] := fin_all_exists coordinate_converges.
have above j : s j <= l.
  rewrite leNgt; apply/negP => lt; have d0 : 0 < s j - l by rewrite subr_gt0.
  have [M hM] := sl _ d0; have := hM (maxn j M) (leq_maxr _ _).
  move=> /(le_lt_trans (ler_norm _)); rewrite ltr_add2r ltNge.
  by rewrite (nondecreasing path_mono (leq_maxl j M)).
exists (\col_i qf i), l; split=> // [e e0|j]; first exact: tends_small path_mono sl _ e0.
have lj : 0 <= l - s j by rewrite subr_ge0.
rewrite len_le ?mulr_ge0 ?sqrtr_ge0 // exprMn sqr_sqrtr ?ler0n //.
have -> : n%:R * (l - s j) ^+ 2 = \sum_(i < n) (l - s j) ^+ 2 by rewrite sumr_const card_ord mulr_natl.
apply: ler_sum => i _; rewrite !mxE -expr2 -(real_normK (num_real (_ - q j i 0))).
rewrite ler_pexpn2r ?nnegrE ?normr_ge0 // ler_norml.
have near k : (j <= k)%N -> `|q k i 0 - q j i 0| <= l - s j.
  move=> jk; apply: le_trans (_ : s k - s j <= _); last by rewrite ler_add2r.
  by apply: le_trans (path_between jk); have := coordinate (q k - q j) i; rewrite !mxE.
apply/andP; split.
  have up : q j i 0 - (l - s j) <= qf i.
    rewrite -ler_opp2; apply: (@limit_le (fun k => - q k i 0) _ _ j).
      move=> e e0; have [N hN] := qfP i e e0; exists N => k Nk.
      by rewrite -opprD normrN; apply: hN.
    by move=> k /near; rewrite ler_norml => /andP[h _]; by_sum (q k i 0 - q j i 0 - - (l - s j)).
  by by_sum (qf i - (q j i 0 - (l - s j))).
rewrite ler_subl_addr; apply: (@limit_le _ _ _ j (qfP i)) => k /near.
by rewrite ler_norml ler_subl_addr => /andP[_ h].
Qed.
End Limits.
