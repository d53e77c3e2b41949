(** spec/claims/below-barrier.md: a quadratic network, its gradient, and its loss along a direction. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives limits frobenius least_squares.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** ** The network and a step *)
Section Network.
Variable R : rcfType.
Variables (n d k : nat) (x : 'I_n -> 'cV[R]_d) (y : 'I_n -> R) (v : 'I_k -> R).
Implicit Types W V U : 'M[R]_(k, d).

Definition f W i := \sum_l v l * (W *m x i) l 0 ^+ 2.
Definition loss W := (\sum_i (f W i - y i) ^+ 2) / 2%:R.
Definition gradient W : 'M[R]_(k, d) :=
  \matrix_(l, a) \sum_i (f W i - y i) * (2%:R * v l * (W *m x i) l 0) * x i a 0.
(** B = sum_l v_l w_l w_l^T *)
Definition B W : 'M[R]_d := \sum_l v l *: ((row l W)^T *m row l W).

(** sum_l v_l p_l q_l *)
Definition weighted (p q : 'cV[R]_k) := \sum_l v l * (p l 0 * q l 0).
Lemma weightedC p q : weighted p q = weighted q p.
Proof. by apply: eq_bigr => l _; rewrite [p l 0 * _]mulrC. Qed.
Lemma weighted_shift p q t : 2%:R * weighted p q - t * weighted q q = 2%:R * weighted (p - (t / 2%:R) *: q) q.
Proof.
rewrite /weighted !mulr_sumr -sumrN -big_split; apply: eq_bigr => l _ /=; rewrite !mxE.
by move: (p l 0) (q l 0) => a b; field.
Qed.
Lemma B_sym W : (B W)^T = B W.
Proof. by rewrite linear_sum; apply: eq_bigr => l _; rewrite linearZ /= trmx_mul trmxK. Qed.
Lemma form_B W w : form (B W) w = weighted (W *m w) (W *m w).
Proof.
rewrite /B form_sum; apply: eq_bigr => l _; rewrite formZ -{2}[row l W]trmxK form_outer row_dot expr2.
by congr (_ * (_ * _)); rewrite /dot; apply: eq_bigr => a _; rewrite !mxE.
Qed.
Lemma f_form W i : f W i = form (B W) (x i).
Proof. by rewrite form_B; apply: eq_bigr => l _; rewrite expr2. Qed.
Lemma loss_matrix W : loss W = matrix_loss x y (B W).
Proof. by congr (_ / _); apply: eq_bigr => i _; rewrite f_form. Qed.

Definition Z W := \sum_i (f W i - y i) *: (x i *m (x i)^T).
Lemma Z_sym W : (Z W)^T = Z W.
Proof. by rewrite linear_sum; apply: eq_bigr => i _; rewrite linearZ /= outer_sym. Qed.
Lemma ip_Z W M : ip (Z W) M = \sum_i (f W i - y i) * form M (x i).
Proof. by rewrite ip_suml; apply: eq_bigr => i _; rewrite /ip vecZ dotZl -/(ip _ _) ip_outer. Qed.
(** the gradient is 2 diag(v) W Z *)
Lemma gradientE W l a : gradient W l a = 2%:R * v l * (W *m Z W) l a.
Proof.
rewrite mxE /Z mulmx_sumr summxE mulr_sumr; apply: eq_bigr => i _.
rewrite -scalemxAr mulmxA [in RHS]mxE [(_ *m (x i)^T) l a]mxE big_ord1 [(x i)^T 0 a]mxE.
by set e := f W i - y i; set p := (W *m x i) l 0; ring.
Qed.
Lemma ip_gradient W V : ip (gradient W) V = \sum_i (f W i - y i) * (2%:R * weighted (W *m x i) (V *m x i)).
Proof.
rewrite ipE; under [RHS]eq_bigr do rewrite /weighted mulr_sumr mulr_sumr; rewrite [RHS]exchange_big; apply: eq_bigr => l _ /=.
under eq_bigr do rewrite mxE mulr_suml; rewrite exchange_big; apply: eq_bigr => i _ /=.
rewrite [(V *m x i) l 0]mxE !mulr_sumr; apply: eq_bigr => a _.
by move: (f W i - y i) ((W *m x i) l 0) (V l a) (x i a 0) => e p g h; ring.
Qed.
Lemma f_move W V t i : f (W - t *: V) i =
  f W i - t * (2%:R * weighted (W *m x i) (V *m x i)) + t ^+ 2 * weighted (V *m x i) (V *m x i).
Proof.
rewrite /f /weighted !mulr_sumr -sumrN -!big_split; apply: eq_bigr => l _ /=.
have -> : ((W - t *: V) *m x i) l 0 = (W *m x i) l 0 - t * (V *m x i) l 0 by rewrite mulmxBl -scalemxAl !mxE.
by move: ((W *m x i) l 0) ((V *m x i) l 0) => p q; ring.
Qed.

Variables (v_min v_max : R).
Hypotheses (v_min_gt0 : 0 < v_min) (v_min_max : v_min <= v_max) (heads : forall l, v_min <= v l <= v_max).
Let v_pos l : 0 < v l. Proof. by case/andP: (heads l) => h _; apply: lt_le_trans h. Qed.
Let v_ge0 l : 0 <= v l. Proof. exact: ltW. Qed.
Let v_max_gt0 : 0 < v_max. Proof. exact: lt_le_trans v_min_max. Qed.
Lemma weighted_ge0 p : 0 <= weighted p p.
Proof. by apply: sumr_ge0 => l _; rewrite -expr2 mulr_ge0 ?sqr_ge0. Qed.
Lemma weighted_twice p q t :
  weighted (p - t *: q) (p - t *: q) <= 2%:R * weighted p p + 2%:R * t ^+ 2 * weighted q q.
Proof.
rewrite /weighted !mulr_sumr -big_split; apply: ler_sum => l _ /=; rewrite !mxE.
by have vz := v_ge0 l; move: (p l 0) (q l 0) => a b; by_sum (v l * (a + t * b) ^+ 2).
Qed.
(** a weighted inner product is an inner product *)
Let root (p : 'cV[R]_k) : 'cV[R]_k := \col_l (Num.sqrt (v l) * p l 0).
Lemma weighted_dot p q : weighted p q = dot (root p) (root q).
Proof. by apply: eq_bigr => l _; rewrite !mxE mulrACA -expr2 sqr_sqrtr. Qed.
Lemma weighted_cs p q : weighted p q ^+ 2 <= weighted p p * weighted q q.
Proof. by rewrite !weighted_dot cauchy_schwarz. Qed.
Lemma weighted_le p : weighted p p <= v_max * sq p.
Proof.
rewrite mulr_sumr; apply: ler_sum => l _; rewrite -expr2 ler_wpmul2r ?sqr_ge0 //; by case/andP: (heads l).
Qed.

(** |T|^2 of T = U^T diag(v) V + V^T diag(v) U is at most 4 beta v_max |V|^2, where sum_l v_l u_l u_l^T <= beta *)
Definition cross U V : 'M[R]_d := \sum_l v l *: ((row l U)^T *m row l V).
Lemma cross_sqr U V beta : possemi (beta%:M - B U) -> fro (cross U V) ^+ 2 <= beta * v_max * fro V ^+ 2.
Proof.
move=> hU; rewrite !fro_sqr !ip_columns mulr_sumr; apply: ler_sum => a _.
have adj h : dot h (col a (cross U V)) = weighted (U *m h) (col a V).
  rewrite /dot /weighted; under eq_bigr do rewrite [col _ _ _ _]mxE summxE mulr_sumr; rewrite exchange_big; apply: eq_bigr => l _ /=.
  rewrite mxE mulr_suml mulr_sumr; apply: eq_bigr => b _; rewrite !mxE big_ord1 !mxE.
  by move: (h b 0) (U l b) (V l a) => s u w; ring.
set h := col a (cross U V); have hh : sq h = weighted (U *m h) (col a V) by rewrite -adj.
have cs := weighted_cs (U *m h) (col a V); rewrite -hh in cs.
have up := hU h; rewrite formD formN form_scalar subr_ge0 form_B in up.
have [->|h0] := eqVneq (sq h) 0.
  have [b0|b0] := leP 0 beta; first by rewrite !mulr_ge0 ?sq_ge0 // ltW.
  have z (w : 'cV[R]_d) : sq w = 0.
    apply/eqP; rewrite eq_le sq_ge0 andbT -(ler_nmul2l b0) mulr0.
    by have := hU w; rewrite formD formN form_scalar subr_ge0; apply: le_trans; rewrite form_B weighted_ge0.
  have := z (delta_mx a 0); rewrite /sq /dot (bigD1 a) //= !mxE !eqxx mulr1 => /eqP.
  rewrite paddr_eq0 ?ler01 ?oner_eq0 //; apply: sumr_ge0 => b _; by rewrite -expr2 sqr_ge0.
have hp : 0 < sq h by rewrite lt_def h0 sq_ge0.
rewrite -(ler_pmul2l hp); have wl := weighted_le (col a V).
apply: le_trans (_ : beta * sq h * weighted (col a V) (col a V) <= _).
  by rewrite -expr2; apply: le_trans cs _; rewrite ler_wpmul2r ?weighted_ge0.
have b0 : 0 <= beta * sq h := le_trans (weighted_ge0 _) up.
set s := sq h in b0 *; set g := weighted _ _ in wl *; set t := sq _ in wl *.
by by_sum (beta * s * (v_max * t - g)).
Qed.
Lemma form_cross U V w : form (cross U V + (cross U V)^T) w = 2%:R * weighted (U *m w) (V *m w).
Proof.
have e : form (cross U V) w = weighted (U *m w) (V *m w).
  rewrite /cross form_sum; apply: eq_bigr => l _; rewrite formZ /form -mulmxA; congr (_ * _).
  have -> : row l V *m w = ((V *m w) l 0)%:M by apply/matrixP => i j; rewrite !ord1 -row_mul !mxE mulr1n.
  rewrite mul_mx_scalar dotZr mulrC; congr (_ * _).
  by rewrite dotC mxE; apply: eq_bigr => a _; rewrite !mxE.
have t : form (cross U V)^T w = form (cross U V) w by rewrite /form dotC adjoint trmxK.
by rewrite formD t e; ring.
Qed.
End Network.
