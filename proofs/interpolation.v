(** spec/claims/interpolation.md: a zero of the residual near the stored weights (Newton-Kantorovich, J J^T form). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives limits.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Lemma moved (V : zmodType) (t s : V) : t + s - t = s.
Proof. by rewrite addrAC subrr add0r. Qed.

Section NewtonKantorovich.
Variable R : rcfType.
Variables (n p : nat) (r : 'cV[R]_p -> 'cV[R]_n) (J : 'cV[R]_p -> 'M[R]_(n, p)) (theta : 'cV[R]_p).
Variables (a rho Lip e : R).
Definition ball t := len (t - theta) <= rho.
Definition Gram t := J t *m (J t)^T.
Hypotheses (a_gt0 : 0 < a) (Lip_ge0 : 0 <= Lip).
Hypothesis low : possemi (Gram theta - (a ^+ 2)%:M).
(** J is Lipschitz on the ball, and the derivative of r: what integration along a segment of the ball gives *)
Hypothesis lipschitz : forall t u, ball t -> len ((J t)^T *m u - (J theta)^T *m u) <= Lip * len (t - theta) * len u.
Hypothesis taylor : forall t t', ball t -> ball t' -> len (r t' - r t - J t *m (t' - t)) <= Lip / 2%:R * sq (t' - t).

Lemma Gram_sym t : (Gram t)^T = Gram t.
Proof. by rewrite /Gram trmx_mul trmxK. Qed.
Lemma form_Gram t u : form (Gram t) u = sq ((J t)^T *m u).
Proof. by rewrite -form_gram trmxK. Qed.

(** sigma_min(J_t) >= a - Lip s *)
Lemma low_at t s : ball t -> len (t - theta) <= s -> 0 <= a - Lip * s ->
  possemi (Gram t - ((a - Lip * s) ^+ 2)%:M).
Proof.
move=> bt ts A0 u; rewrite formD formN form_scalar form_Gram subr_ge0 -!len_sqr -exprMn.
rewrite ler_pexpn2r ?nnegrE ?mulr_ge0 ?len_ge0 //.
have l0 : a * len u <= len ((J theta)^T *m u).
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?len_ge0 ?(ltW a_gt0) // exprMn !len_sqr -form_Gram.
  by have := low u; rewrite formD formN form_scalar subr_ge0.
have l1 := lipschitz u bt.
have l2 : len ((J theta)^T *m u) <= len ((J t)^T *m u) + len ((J t)^T *m u - (J theta)^T *m u).
  rewrite -[X in X <= _](congr1 (@len _ _) (subKr ((J t)^T *m u) ((J theta)^T *m u))).
  exact: lenB.
have l3 : Lip * len (t - theta) * len u <= Lip * s * len u by rewrite ler_wpmul2r ?len_ge0 // ler_wpmul2l.
set U := len u in l0 l1 l2 l3 *; set x1 := len _ in l0 l2 *; set x2 := len _ in l2 *; set x3 := len _ in l1 l2 *.
set x4 := _ * len (t - theta) * U in l1 l3 *.
by by_sum ((x2 + x3 - x1) + (x1 - a * U) + (x4 - x3) + (Lip * s * U - x4)).
Qed.

Definition step t := - ((J t)^T *m (invmx (Gram t) *m r t)).
Lemma step_solves t A : 0 < A -> possemi (Gram t - (A ^+ 2)%:M) -> J t *m step t = - r t.
Proof.
by move=> A0 lo; rewrite /step mulmxN mulmxA mulmxA -/(Gram t) -mulmxA mulKVmx ?(K_unit A0 (Gram_sym t) lo).
Qed.
Lemma step_len t A : 0 < A -> possemi (Gram t - (A ^+ 2)%:M) -> len (step t) = weighted (Gram t) (r t).
Proof.
move=> A0 lo; rewrite /step lenN /weighted /len -form_Gram; congr (Num.sqrt _).
by rewrite -(form_inv A0 (Gram_sym t) lo) mulKVmx ?(K_unit A0 (Gram_sym t) lo).
Qed.
Lemma step_short t A : 0 < A -> possemi (Gram t - (A ^+ 2)%:M) -> A * len (step t) <= len (r t).
Proof.
move=> A0 lo; rewrite (step_len A0 lo) -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?sqrtr_ge0 ?(ltW A0) //.
rewrite exprMn sqr_sqrtr ?(inv_ge0 A0 (Gram_sym t) lo) // len_sqr mulrC -ler_pdivl_mulr ?exprn_gt0 //.
exact: inv_high A0 (Gram_sym t) lo _.
Qed.

Variable Rs : R.
Hypotheses (e_bound : weighted (Gram theta) (r theta) <= e).
(** Rs is the smaller root of Lip s^2/2 - a s + a e *)
Hypotheses (root : a * e <= a * Rs - Lip / 2%:R * Rs ^+ 2) (Rs_small : Lip * Rs <= a) (Rs_rho : Rs <= rho).

Fixpoint newton j : 'cV[R]_p * R := if j is i.+1 then
  let (t, s) := newton i in (t + step t, s + len (step t)) else (theta, 0).
Definition good (t : 'cV[R]_p) s := [/\ 0 <= s, len (t - theta) <= s, 0 < a - Lip * s &
  (a - Lip * s) * len (step t) <= (a - Lip * s) * (Rs - s) - Lip / 2%:R * (Rs - s) ^+ 2].

Lemma good_short t s : good t s -> len (step t) <= Rs - s.
Proof.
case=> s0 _ A0 h; rewrite -(ler_pmul2l A0); apply: le_trans h _.
by rewrite ler_subl_addr ler_addl; nonneg.
Qed.
Lemma good_start : good theta 0.
Proof.
split; rewrite ?subrr ?len0 ?mulr0 ?subr0 //; apply: le_trans root.
by rewrite ler_wpmul2l ?(ltW a_gt0) // (step_len a_gt0 low).
Qed.
Lemma good_ball t s : good t s -> ball t.
Proof.
move=> g; have h := good_short g; case: g => s0 ts _ _; rewrite /ball.
apply: le_trans ts _; apply: le_trans Rs_rho; rewrite -subr_ge0; apply: le_trans h; exact: len_ge0.
Qed.
Lemma good_next t s : good t s -> good (t + step t) (s + len (step t)).
Proof.
move=> g; have short := good_short g; have bt := good_ball g; case: (g) => s0 ts A0 h.
have d0 := len_ge0 (step t); set d := len (step t) in short h d0 *; set A := a - Lip * s in A0 h *.
have s1 : 0 <= s + d by rewrite addr_ge0.
have ts' : len (t + step t - theta) <= s + d.
  by rewrite addrAC; apply: le_trans (lenD _ _) _; rewrite ler_add2r.
have bt' : ball (t + step t).
  by rewrite /ball; apply: le_trans ts' _; apply: le_trans Rs_rho; rewrite addrC -ler_subr_addr.
have LA : Lip * (Rs - s) <= A by rewrite /A mulrBr ler_add2r.
have A1 : 0 < a - Lip * (s + d).
  have -> : a - Lip * (s + d) = A - Lip * d by rewrite /A; ring.
  rewrite subr_gt0; have [|Ld] := leP (Lip * d) 0; first by move=> neg; apply: le_lt_trans neg A0.
  have L0 : 0 < Lip by rewrite lt_def Lip_ge0 andbT; apply: contraTneq Ld => ->; rewrite mul0r ltxx.
  have dp : 0 < d by rewrite pmulr_rgt0 in Ld.
  apply: lt_le_trans LA; rewrite ltr_pmul2l // -(ltr_pmul2l A0); apply: le_lt_trans h _.
  rewrite ltr_subl_addr ltr_addl; have xp : 0 < Rs - s := lt_le_trans dp short.
  by rewrite mulr_gt0 ?exprn_gt0 ?divr_gt0 ?ltr0n.
split=> //; have lo := low_at bt' ts' (ltW A1).
apply: le_trans (step_short A1 lo) _.
have tl := taylor bt bt'; rewrite moved in tl.
have lA : possemi (Gram t - (A ^+ 2)%:M) := low_at bt ts (ltW A0).
rewrite (step_solves A0 lA) opprK subrK -len_sqr -/d in tl.
apply: le_trans tl _; have -> : a - Lip * (s + d) = A - Lip * d by rewrite /A; ring.
by by_quotient ((A * (Rs - s) - Lip / 2%:R * (Rs - s) ^+ 2) - A * d).
Qed.
Lemma newton_good j : good (newton j).1 (newton j).2.
Proof. by elim: j => [|j]; [exact: good_start | rewrite /=; case: (newton j) => t s; apply: good_next]. Qed.
Lemma newton_residual j : len (r (newton j.+1).1) <= Lip / 2%:R * len (step (newton j).1) ^+ 2.
Proof.
have g := newton_good j; have g' := newton_good j.+1; move: g g' => /=.
case: (newton j) => t s /= g g'; have tl := taylor (good_ball g) (good_ball g').
case: (g) => _ ts A0 _; have lA := low_at (good_ball g) ts (ltW A0).
by rewrite moved (step_solves A0 lA) opprK subrK -len_sqr in tl.
Qed.

Theorem newton_kantorovich : complete R -> exists t, r t = 0 /\ len (t - theta) <= Rs.
Proof.
move=> comp; pose q j := (newton j).1; pose s j := (newton j).2.
have path j : len (q j.+1 - q j) <= s j.+1 - s j.
  by rewrite /q /s /=; case: (newton j) => t u /=; rewrite !moved.
have sR j : s j <= Rs.
  by rewrite -subr_ge0; apply: le_trans (good_short (newton_good j)); apply: len_ge0.
have [t [l [sl small near]]] := finite_path_converges comp path sR.
have tR : len (t - theta) <= Rs.
  apply: (le_of_small (sqrtr_ge0 p%:R)) => d0 e0; have [j [lj je]] := small _ e0.
  exists (l - s j); split=> //; apply: le_trans (len_triangle _ (q j) _) _; rewrite addrC ler_add //.
  by case: (newton_good j) => _ h _ _; apply: le_trans h (sR j).
exists t; split=> //; apply/eqP; rewrite -len_eq0 eq_le len_ge0 andbT.
have bt : ball t by apply: le_trans tR Rs_rho.
pose F := Num.sqrt (frobenius2 (J t)); pose P := Num.sqrt (p%:R : R).
have F0 : 0 <= F by apply: sqrtr_ge0.
have P0 : 0 <= P by apply: sqrtr_ge0.
have c0 : 0 <= Lip / 2%:R + F * P + Lip / 2%:R * P ^+ 2 by nonneg.
apply: (le_of_small c0) => d0 e0.
have m0 : 0 < Num.min d0 1 by rewrite lt_minr e0 ltr01.
have [j [lj je]] := small _ m0; exists (l - s j); move: je; rewrite lt_minr => /andP[je j1].
split=> //; rewrite add0r; set dj := l - s j in lj je j1 *.
have sj : s j <= s j.+1 by rewrite -subr_ge0; apply: le_trans (path j); apply: len_ge0.
have dd : dj ^+ 2 <= dj by rewrite -[X in _ <= X]mulr1 expr2 ler_wpmul2l // ltW.
have n1 : len (t - q j.+1) <= P * dj.
  by apply: le_trans (near _) _; rewrite ler_wpmul2l // ler_add2l ler_opp2.
have r1 : len (r (q j.+1)) <= Lip / 2%:R * dj.
  apply: le_trans (newton_residual j) _; rewrite ler_wpmul2l //; first by nonneg.
  apply: le_trans dd; rewrite ler_pexpn2r ?nnegrE ?len_ge0 //.
  have := path j; rewrite /q /= ; case E : (newton j) => [t' u] /=; rewrite !moved => h.
  apply: le_trans h _; rewrite /dj -/(s j) /s E /= -/(s j).
  have := sl j.+1; rewrite /s /= E /= => h2; by rewrite ler_add2r.
have tl := taylor bt (good_ball (newton_good j.+1)); rewrite -/(q j.+1) in tl.
have r2 : len (J t *m (q j.+1 - t)) <= F * (P * dj).
  apply: le_trans (_ : F * len (q j.+1 - t) <= _); last by rewrite ler_wpmul2l // -lenN opprB.
  rewrite len_le ?mulr_ge0 ?len_ge0 // exprMn len_sqr sqr_sqrtr; first exact: sq_mulmx.
  by apply: sumr_ge0 => i _; apply: sumr_ge0 => i' _; apply: sqr_ge0.
have n2 : sq (q j.+1 - t) <= P ^+ 2 * dj.
  rewrite -len_sqr -lenN opprB; apply: le_trans (_ : (P * dj) ^+ 2 <= _).
    by rewrite ler_pexpn2r ?nnegrE ?len_ge0 ?mulr_ge0.
  by rewrite exprMn ler_wpmul2l ?sqr_ge0.
have n3 : Lip / 2%:R * sq (q j.+1 - t) <= Lip / 2%:R * (P ^+ 2 * dj) by rewrite ler_wpmul2l //; nonneg.
set z := r (q j.+1) in r1 tl *; set w := J t *m _ in r2 tl *.
have tri : len (r t) <= len z + len w + len (z - r t - w).
  have {1}-> : r t = (z - w) - (z - r t - w) by rewrite opprB addrA subrK opprB addrC subrK.
  by apply: le_trans (lenB _ _) _; rewrite ler_add2r lenB.
set lz := len z in r1 tri *; set lw := len w in r2 tri *; set lt := len (_ - _ - _) in tl tri *.
set c3 := Lip / 2%:R * sq _ in tl n3 *.
by by_sum ((lz + lw + lt - len (r t)) + (Lip / 2%:R * dj - lz) + (F * (P * dj) - lw) + (c3 - lt)
  + (Lip / 2%:R * (P ^+ 2 * dj) - c3)).
Qed.
End NewtonKantorovich.

Section Interpolation.
Variable R : rcfType.
Variables (n p : nat) (r : 'cV[R]_p -> 'cV[R]_n) (J : 'cV[R]_p -> 'M[R]_(n, p)) (theta : 'cV[R]_p).
Variables (a rho Lip e : R).
Hypotheses (a_gt0 : 0 < a) (Lip_ge0 : 0 <= Lip).
Hypothesis low : possemi (Gram J theta - (a ^+ 2)%:M).
Hypothesis lipschitz : forall t u, ball theta rho t ->
  len ((J t)^T *m u - (J theta)^T *m u) <= Lip * len (t - theta) * len u.
Hypothesis taylor : forall t t', ball theta rho t -> ball theta rho t' ->
  len (r t' - r t - J t *m (t' - t)) <= Lip / 2%:R * sq (t' - t).

Definition R_star := 2%:R * e / (1 + Num.sqrt (1 - 2%:R * Lip * e / a)).

Theorem interpolation : complete R -> weighted (Gram J theta) (r theta) <= e ->
  2%:R * Lip * e <= a -> R_star <= rho -> exists t, r t = 0 /\ len (t - theta) <= R_star.
Proof.
move=> comp eb dis Rr; set q := Num.sqrt (1 - 2%:R * Lip * e / a).
have q0 : 0 <= q by apply: sqrtr_ge0.
have q1 : 0 < 1 + q by rewrite ltr_paddr ?ltr01.
have q2 : Lip * e = a / 2%:R * (1 - q ^+ 2).
  rewrite sqr_sqrtr ?subr_ge0 ?ler_pdivr_mulr ?mul1r //.
  by field; rewrite gt_eqF.
have e1 : R_star = 2%:R * e / (1 + q) by [].
have e2 : Lip * R_star = a * (1 - q).
  have -> : Lip * R_star = 2%:R * (Lip * e) / (1 + q) by rewrite e1; ring.
  by rewrite q2; field; rewrite gt_eqF.
apply: (newton_kantorovich a_gt0 Lip_ge0 low lipschitz taylor eb) => //.
  have -> : Lip / 2%:R * R_star ^+ 2 = Lip * R_star * R_star / 2%:R by ring.
  rewrite e2 e1 le_eqVlt; apply/orP; left; apply/eqP.
  by field; rewrite gt_eqF.
rewrite e2; have a0 := ltW a_gt0; by by_sum (a * q).
Qed.

Theorem interpolation_lower e_lo t : e_lo <= weighted (Gram J theta) (r theta) ->
  ball theta rho t -> r t = 0 -> 0 <= rho ->
  e_lo <= len (t - theta) + Lip * len (t - theta) ^+ 2 / (2%:R * a).
Proof.
move=> le bt rt rho0; have K := Gram_sym J theta; set D := t - theta.
have b0 : ball theta rho theta by rewrite /ball subrr len0.
have tl := taylor b0 bt; rewrite rt sub0r -/D -opprD lenN -len_sqr in tl.
apply: le_trans le _; pose z := - (invmx (Gram J theta) *m (J theta *m D)).
apply: le_trans (P2 a_gt0 K low (r theta) z) _; apply: ler_add; last first.
  have -> : r theta - Gram J theta *m z = r theta + J theta *m D.
    by rewrite /z mulmxN opprK mulKVmx ?(K_unit a_gt0 K low).
  rewrite ler_pdivr_mulr //; apply: le_trans tl _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
  by field; rewrite gt_eqF.
set g := (J theta)^T *m z.
have fg : form (Gram J theta) z = sq g by rewrite form_Gram.
have fd : sq g = - dot D g.
  rewrite -fg /form {2}/z mulmxN mulKVmx ?(K_unit a_gt0 K low) // dotNr /g; congr (- _).
  by rewrite dotC adjoint.
rewrite fg -/(len g); have [->|g0] := eqVneq (len g) 0; first exact: len_ge0.
have gp : 0 < len g by rewrite lt_def g0 len_ge0.
rewrite -(ler_pmul2r gp) -expr2 len_sqr fd -dotNl.
by apply: le_trans (dot_le _ _) _; rewrite lenN.
Qed.
End Interpolation.
