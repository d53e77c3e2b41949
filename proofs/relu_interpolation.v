(** spec/claims/relu-interpolation.md: zero-loss weights of a ReLU network nearby. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section ReluCell.
Variable R : rcfType.
Variables (n d k : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (v : 'I_k -> R) (T : {set 'I_k}).
Variable what : 'I_k -> 'cV[R]_d.
Definition relu (t : R) := Num.max 0 t.
Definition f (w : 'I_k -> 'cV[R]_d) i := \sum_l v l * relu (dot (w l) (x i)).
Definition zhat l i := dot (what l) (x i).
Definition act l i : R := if 0 < zhat l i then 1 else 0.
Definition rhat : 'cV[R]_n := \col_i (f what i - y i).
Definition K i j := dot (x i) (x j).
Definition G : 'M[R]_n := \matrix_(i, j) (K i j * \sum_(l in T) v l ^+ 2 * act l i * act l j).

Variable mu : R.
Hypotheses (mu_gt0 : 0 < mu) (low : possemi (G - mu%:M)).
(** (RI) or (margin) *)
Hypothesis margins : forall l i, l \in T ->
  sq (x i) * sq rhat <= zhat l i ^+ 2 * mu \/
  v l ^+ 2 * (\sum_j K i j ^+ 2 * act l j) * sq rhat <= zhat l i ^+ 2 * mu ^+ 2.

Let s := Num.sqrt mu.
Let s_gt0 : 0 < s. Proof. by rewrite sqrtr_gt0. Qed.
Let lows : possemi (G - (s ^+ 2)%:M). Proof. by rewrite sqr_sqrtr ?ltW. Qed.
Let Gsym : G^T = G.
Proof.
apply/matrixP => i j; rewrite !mxE /K dotC; congr (_ * _).
by apply: eq_bigr => l _; rewrite mulrAC.
Qed.

Definition alpha : 'cV[R]_n := locked (invmx G *m rhat).
Definition delta l : 'cV[R]_d := if l \in T then - v l *: \sum_j (act l j * alpha j 0) *: x j else 0.
Definition wstar l := what l + delta l.

Lemma G_alpha : G *m alpha = rhat.
Proof. by rewrite /alpha -lock mulKVmx ?(K_unit s_gt0 Gsym lows). Qed.

Lemma move l i : l \in T -> dot (delta l) (x i) = - v l * \sum_j act l j * alpha j 0 * K i j.
Proof.
move=> lT; rewrite /delta lT dotZl dot_suml; congr (_ * _).
by apply: eq_bigr => j _; rewrite dotZl /K (dotC (x j)).
Qed.

(** |delta|^2 = alpha^T G alpha = rhat^T G^{-1} rhat <= |rhat|^2/mu *)
Lemma delta_form : \sum_l sq (delta l) = form G alpha.
Proof.
have part l : l \in T -> sq (delta l) =
    \sum_i \sum_j alpha i 0 * (v l ^+ 2 * act l i * act l j * K i j * alpha j 0).
  move=> lT; rewrite /sq {2}/delta lT dotZr dot_sumr mulr_sumr; apply: eq_bigr => i _.
  rewrite dotZr move // mulrCA !mulr_sumr; apply: eq_bigr => j _; ring.
rewrite (bigID (mem T)) /= [X in _ + X]big1 ?addr0; last first.
  by move=> l /negbTE lT; rewrite /delta lT /sq dot0l.
rewrite (eq_bigr _ part) exchange_big; apply: eq_bigr => i _; rewrite exchange_big /=.
have -> : (G *m alpha) i 0 = \sum_j G i j * alpha j 0 by rewrite mxE.
rewrite mulr_sumr; apply: eq_bigr => j _; rewrite mxE; move: (K i j) => kij.
by rewrite mulr_sumr mulr_suml mulr_sumr; apply: eq_bigr => l _; ring.
Qed.
Lemma delta_small : \sum_l sq (delta l) <= sq rhat / mu.
Proof.
rewrite delta_form -(form_inv s_gt0 Gsym lows) G_alpha.
by have := inv_high s_gt0 Gsym lows rhat; rewrite sqr_sqrtr // ltW.
Qed.
Lemma alpha_small : sq alpha <= sq rhat / mu ^+ 2.
Proof.
have a1 := K_low lows alpha; have a2 := inv_high s_gt0 Gsym lows rhat.
move: a1 a2; rewrite -{1}G_alpha (form_inv s_gt0 Gsym lows) sqr_sqrtr ?(ltW mu_gt0) // => a1 a2.
have := le_trans a1 a2; rewrite -ler_pdivl_mull // => a3; apply: le_trans a3 _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; field; rewrite gt_eqF.
Qed.

Lemma stays l i : l \in T -> `|dot (delta l) (x i)| <= `|zhat l i|.
Proof.
move=> lT; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?normr_ge0 // !real_normK ?num_real //.
case: (margins i lT) => [ri|margin].
  apply: le_trans (cauchy_schwarz _ _) _; rewrite -(ler_pmul2r mu_gt0); apply: le_trans ri.
  have one : sq (delta l) <= sq rhat / mu.
    apply: le_trans delta_small; rewrite (bigD1 l) //= ler_addl.
    by apply: sumr_ge0 => j _; apply: sq_ge0.
  rewrite ler_pdivl_mulr // in one.
  by rewrite mulrAC mulrC ler_wpmul2l ?sq_ge0.
pose p : 'cV[R]_n := \col_j (act l j * K i j).
have e : dot (delta l) (x i) = - v l * dot p alpha.
  by rewrite move //; congr (_ * _); apply: eq_bigr => j _; rewrite mxE mulrAC.
have sp : sq p = \sum_j K i j ^+ 2 * act l j.
  by apply: eq_bigr => j _; rewrite mxE /act; case: ifP => _; ring.
have m2 : 0 < mu ^+ 2 by rewrite exprn_gt0.
rewrite -(ler_pmul2r m2); apply: le_trans margin; rewrite e exprMn sqrrN -sp -2!(mulrA (v l ^+ 2)).
rewrite ler_wpmul2l ?sqr_ge0 //; have := alpha_small; rewrite ler_pdivl_mulr // => am.
apply: le_trans (ler_wpmul2r (ltW m2) (cauchy_schwarz p alpha)) _.
by rewrite -mulrA ler_wpmul2l ?sq_ge0.
Qed.

Lemma cell l i : relu (dot (wstar l) (x i)) = relu (zhat l i) + act l i * dot (delta l) (x i).
Proof.
rewrite /wstar dotDl -/(zhat l i) /act; have [lT|lT] := boolP (l \in T); last first.
  by rewrite /delta (negbTE lT) dot0l addr0 mulr0 addr0.
have := stays i lT; rewrite ler_norml /relu; set z := zhat l i; set m := dot _ _.
case: ltP => [z0|z0] /andP[lo hi]; rewrite ?mul1r ?mul0r ?addr0.
  rewrite (gtr0_norm z0) in lo; rewrite ?(max_r (ltW z0)) max_r //.
  by rewrite addrC -subr_ge0 subr0 -ler_subl_addr sub0r.
rewrite (ler0_norm z0) in hi; rewrite ?(max_l z0) max_l //.
by rewrite -subr_ge0 sub0r opprD subr_ge0.
Qed.

Theorem relu_cell : (forall i, f wstar i = y i) /\ (forall l, l \notin T -> wstar l = what l) /\
  \sum_l sq (wstar l - what l) <= sq rhat / mu.
Proof.
split; last split.
- move=> i; rewrite /f; under eq_bigr do rewrite cell mulrDr; rewrite big_split /=.
  rewrite -/(f what i).
  have -> : \sum_l v l * (act l i * dot (delta l) (x i)) = - (G *m alpha) i 0.
    rewrite (bigID (mem T)) /= [X in _ + X]big1 ?addr0; last first.
      by move=> l /negbTE lT; rewrite /delta lT dot0l !mulr0.
    have -> : (G *m alpha) i 0 = \sum_j G i j * alpha j 0 by rewrite mxE.
    rewrite -sumrN.
    rewrite (eq_bigr (fun l => \sum_j - (v l ^+ 2 * act l i * act l j * (K i j * alpha j 0)))); last first.
      by move=> l lT; rewrite move // !mulr_sumr; apply: eq_bigr => j _; ring.
    rewrite exchange_big /=; apply: eq_bigr => j _; rewrite mxE; move: (K i j) => kij.
    by rewrite mulr_sumr mulr_suml -sumrN; apply: eq_bigr => l _; ring.
  by rewrite G_alpha mxE opprB addrC subrK.
- by move=> l /negbTE lT; rewrite /wstar /delta lT addr0.
by under eq_bigr do rewrite /wstar addrC addKr; apply: delta_small.
Qed.
End ReluCell.
