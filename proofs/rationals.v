(** Exact rationals as a program computes with them (numerator, positive denominator, always reduced), and what they are
    in any ordered field: every operation and every comparison of the program is the one of the field. *)
From Coq Require Import QArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From mathcomp.zify Require Import ssrZ.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Close Scope Q_scope.
Local Open Scope ring_scope.

Definition reduced x := let g := Z.gcd (Qnum x) (Zpos (Qden x)) in
  Qmake (Z.div (Qnum x) g) (Z.to_pos (Z.div (Zpos (Qden x)) g)).
Definition qadd x y := reduced (Qplus x y).
Definition qmul x y := reduced (Qmult x y).
Definition qopp x := Qopp x.
Definition qsub x y := qadd x (qopp y).
Definition qdiv x y := qmul x (Qinv y).
Definition qle x y := Qle_bool x y.
Definition qeq x y := Qeq_bool x y.
Definition qlt x y := ~~ qle y x.
Definition q0 := Qmake Z0 xH.
Definition q1 := Qmake (Zpos xH) xH.
Definition q2 := Qmake (Zpos (xO xH)) xH.
Definition qsq x := qmul x x.
Definition qhalf x := qdiv x q2.
Definition qmax x y := if qle x y then y else x.
Definition qabs x := qmax x (qopp x).
Definition qsum (T : Type) (f : T -> Q) (l : seq T) : Q := foldl (fun s t => qadd s (f t)) q0 l.

Definition q_code (x : Q) := (Qnum x, Zpos (Qden x)).
Lemma q_codeK : cancel q_code (fun c => Qmake c.1 (Z.to_pos c.2)). Proof. by case. Qed.
Definition Q_eqMixin := CanEqMixin q_codeK.
Canonical Q_eqType := EqType Q Q_eqMixin.

Section Embedding.
Variable R : realFieldType.
Definition zr (z : Z) : R := (int_of_Z z)%:~R.
Definition toR (x : Q) : R := zr (Qnum x) / zr (Zpos (Qden x)).

Lemma zrD (x y : Z) : zr (Z.add x y) = zr x + zr y.
Proof. by rewrite /zr -intrD -raddfD. Qed.
Lemma zrM (x y : Z) : zr (Z.mul x y) = zr x * zr y.
Proof. by rewrite /zr -intrM -rmorphM. Qed.
Lemma zrN (x : Z) : zr (Z.opp x) = - zr x.
Proof. by rewrite /zr -mulrNz -raddfN. Qed.
Lemma zr_pos p : 0 < zr (Zpos p).
Proof. by rewrite /zr -[0]/(0%:~R) ltr_int; have := Pos2Nat.is_pos p; rewrite /=; case: (Pos.to_nat p) => // /ssrnat.ltP. Qed.
Lemma zr_neq0 p : zr (Zpos p) != 0. Proof. by rewrite gt_eqF ?zr_pos. Qed.
Lemma zr_ge0 (z : Z) : Z.leb Z0 z = (0 <= zr z).
Proof.
case: z => [|p|p]; [by rewrite lexx | by rewrite ltW ?zr_pos |].
by rewrite -[Zneg p]/(Z.opp (Zpos p)) zrN oppr_ge0 leNgt zr_pos.
Qed.
Lemma zr_le (x y : Z) : Z.leb x y = (zr x <= zr y).
Proof.
rewrite -subr_ge0 -zrN -zrD -zr_ge0; apply/Z.leb_spec0/Z.leb_spec0; first exact: Zle_minus_le_0.
exact: Zle_0_minus_le.
Qed.

(** cross-multiplied comparison *)
Lemma toR_leE x y : (toR x <= toR y) = (zr (Qnum x) * zr (Zpos (Qden y)) <= zr (Qnum y) * zr (Zpos (Qden x))).
Proof. by rewrite /toR ler_pdivr_mulr ?zr_pos // mulrAC ler_pdivl_mulr ?zr_pos. Qed.
Lemma qleE x y : qle x y = (toR x <= toR y).
Proof. by rewrite /qle /Qle_bool zr_le !zrM -toR_leE. Qed.
Lemma qltE x y : qlt x y = (toR x < toR y). Proof. by rewrite /qlt qleE ltNge. Qed.
Lemma toR_eq x y : Qeq x y -> toR x = toR y.
Proof. by rewrite /Qeq => e; apply/eqP; rewrite eq_le !toR_leE -!zrM e lexx. Qed.
Lemma qeqE x y : qeq x y = (toR x == toR y).
Proof.
rewrite eq_le -!qleE /qeq /qle; apply/idP/andP => [/Qeq_bool_iff e | [/Qle_bool_iff a /Qle_bool_iff b]].
  by split; apply/Qle_bool_iff; rewrite e; apply: Qle_refl.
by apply/Qeq_bool_iff; apply: Qle_antisym.
Qed.
Lemma toR_red x : toR (reduced x) = toR x.
Proof.
apply: toR_eq; case: x => p q; rewrite /Qeq /reduced /=; set g := Z.gcd _ _.
have [a ea] : Z.divide g p := Z.gcd_divide_l _ _; have [c ec] : Z.divide g (Zpos q) := Z.gcd_divide_r _ _.
have g0 : Z.le Z0 g := Z.gcd_nonneg _ _.
have g1 : g <> Z0 by move=> e; rewrite e Z.mul_0_r in ec.
have gp : Z.lt Z0 g by apply/Z.le_neq; split=> // e; apply: g1.
have c0 : Z.lt Z0 c by apply/(Z.mul_pos_cancel_r _ _ gp); rewrite -ec.
have -> : Z.div p g = a by rewrite ea Z.div_mul.
have -> : Z.div (Zpos q) g = c by rewrite ec Z.div_mul.
by rewrite Z2Pos.id // ec [in RHS]ea -!Z.mul_assoc (Z.mul_comm g c).
Qed.
Lemma toRD x y : toR (qadd x y) = toR x + toR y.
Proof. by rewrite /qadd toR_red /toR /Qplus /= Pos2Z.inj_mul zrD !zrM; field; rewrite !zr_neq0. Qed.
Lemma toRM x y : toR (qmul x y) = toR x * toR y.
Proof. by rewrite /qmul toR_red /toR /Qmult /= Pos2Z.inj_mul !zrM; field; rewrite !zr_neq0. Qed.
Lemma toRN x : toR (qopp x) = - toR x.
Proof. by rewrite /toR /qopp /= zrN mulNr. Qed.
Lemma toRB x y : toR (qsub x y) = toR x - toR y. Proof. by rewrite /qsub toRD toRN. Qed.
Lemma toRV x : toR (Qinv x) = (toR x)^-1.
Proof.
case: x => [[|p|p] q]; rewrite /toR /Qinv /=; first by rewrite !mul0r invr0.
  by rewrite invf_div.
by rewrite -[Zneg q]/(Z.opp (Zpos q)) -[Zneg p]/(Z.opp (Zpos p)) !zrN invf_div invrN mulrN mulNr.
Qed.
Lemma toRdiv x y : toR (qdiv x y) = toR x / toR y. Proof. by rewrite /qdiv toRM toRV. Qed.
Lemma toR0 : toR q0 = 0. Proof. by rewrite /toR /= mul0r. Qed.
Lemma toR1 : toR q1 = 1. Proof. by rewrite /toR divff // zr_neq0. Qed.
Lemma toR2 : toR q2 = 2%:R. Proof. by rewrite /toR /zr divr1. Qed.
Lemma toRsq x : toR (qsq x) = toR x ^+ 2. Proof. by rewrite toRM expr2. Qed.
Lemma toRhalf x : toR (qhalf x) = toR x / 2%:R. Proof. by rewrite toRdiv toR2. Qed.
Lemma toRmax x y : toR (qmax x y) = Num.max (toR x) (toR y).
Proof. by rewrite /qmax qleE; case: leP. Qed.
Lemma toRabs x : toR (qabs x) = `|toR x|.
Proof.
rewrite /qabs toRmax toRN; case: (ger0P (toR x)) => h; [apply: max_l | apply: max_r].
  by rewrite (le_trans _ h) // oppr_le0.
by rewrite (le_trans (ltW h)) // oppr_ge0 ltW.
Qed.
Lemma toRsum T (f : T -> Q) l : toR (qsum f l) = \sum_(t <- l) toR (f t).
Proof.
have h s : toR (foldl (fun s t => qadd s (f t)) s l) = toR s + \sum_(t <- l) toR (f t).
  by elim: l s => [|t l IH] s /=; rewrite ?big_nil ?addr0 // IH toRD big_cons addrA.
by rewrite /qsum h toR0 add0r.
Qed.
Definition toRE := (toRD, toRM, toRN, toRB, toRdiv, toR0, toR1, toR2, toRsq, toRhalf, toRmax, toRabs, toRsum).
Definition qE := (qleE, qltE, qeqE, toRE).
End Embedding.
