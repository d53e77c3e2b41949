(** Column vectors over a real field: inner product, squared length, length, positive definite forms. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** [0 <= e] for sums and products of what is known not to be negative; [a <= b] by writing [b - a] as such a sum. *)
Ltac nonneg := repeat first
  [ by [] | by rewrite subr_ge0 | by apply: ltW | by rewrite subr_ge0; apply: ltW | exact: sqr_ge0 | exact: normr_ge0
  | exact: sqrtr_ge0 | exact: ler0n | apply: addr_ge0 | apply: mulr_ge0 | rewrite invr_ge0 ].
Tactic Notation "by_sum" uconstr(e) := rewrite -subr_ge0;
  match goal with |- is_true (0 <= ?t) => let h := fresh in have h : t = e; [ring | rewrite h {h}; nonneg] end.
Tactic Notation "by_quotient" uconstr(e) := rewrite -subr_ge0;
  match goal with |- is_true (0 <= ?t) =>
    let h := fresh in have h : t = e; [field; rewrite ?gt_eqF //= ?pnatr_eq0 // | rewrite h {h}; nonneg] end.

Section Inner.
Variable R : realFieldType.

Definition dot n (u v : 'cV[R]_n) : R := \sum_i u i 0 * v i 0.
Definition sq n (u : 'cV[R]_n) : R := dot u u.

Lemma dotC n (u v : 'cV[R]_n) : dot u v = dot v u.
Proof. by apply: eq_bigr => i _; rewrite mulrC. Qed.
Lemma dotDl n (u v w : 'cV[R]_n) : dot (u + v) w = dot u w + dot v w.
Proof. by rewrite -big_split; apply: eq_bigr => i _; rewrite mxE mulrDl. Qed.
Lemma dotDr n (u v w : 'cV[R]_n) : dot w (u + v) = dot w u + dot w v.
Proof. by rewrite dotC dotDl !(dotC w). Qed.
Lemma dotZl n c (u v : 'cV[R]_n) : dot (c *: u) v = c * dot u v.
Proof. by rewrite /dot mulr_sumr; apply: eq_bigr => i _; rewrite mxE mulrA. Qed.
Lemma dotZr n c (u v : 'cV[R]_n) : dot u (c *: v) = c * dot u v.
Proof. by rewrite dotC dotZl dotC. Qed.
Lemma dotNl n (u v : 'cV[R]_n) : dot (- u) v = - dot u v.
Proof. by rewrite -scaleN1r dotZl mulN1r. Qed.
Lemma dotNr n (u v : 'cV[R]_n) : dot u (- v) = - dot u v.
Proof. by rewrite dotC dotNl dotC. Qed.
Lemma dotBl n (u v w : 'cV[R]_n) : dot (u - v) w = dot u w - dot v w.
Proof. by rewrite dotDl dotNl. Qed.
Lemma dotBr n (u v w : 'cV[R]_n) : dot w (u - v) = dot w u - dot w v.
Proof. by rewrite dotDr dotNr. Qed.
Lemma dot0l n (u : 'cV[R]_n) : dot 0 u = 0.
Proof. by rewrite -[0](scale0r (0 : 'cV_n)) dotZl mul0r. Qed.
Lemma dot0r n (u : 'cV[R]_n) : dot u 0 = 0.
Proof. by rewrite dotC dot0l. Qed.
Lemma dot_sumr n (I : finType) (w : 'cV[R]_n) (F : I -> 'cV[R]_n) :
  dot w (\sum_i F i) = \sum_i dot w (F i).
Proof. by elim/big_rec2: _ => [|i y1 y2 _ <-]; rewrite ?dot0r ?dotDr. Qed.
Lemma dot_suml n (I : finType) (w : 'cV[R]_n) (F : I -> 'cV[R]_n) :
  dot (\sum_i F i) w = \sum_i dot (F i) w.
Proof. by rewrite dotC dot_sumr; apply: eq_bigr => i _; rewrite dotC. Qed.

Lemma adjoint m n (A : 'M[R]_(m, n)) u v : dot (A *m u) v = dot u (A^T *m v).
Proof.
rewrite /dot; under eq_bigr do rewrite mxE mulr_suml; rewrite exchange_big /=.
apply: eq_bigr => j _; rewrite mxE mulr_sumr; apply: eq_bigr => i _.
by rewrite mxE mulrCA mulrA.
Qed.

Lemma sq_ge0 n (u : 'cV[R]_n) : 0 <= sq u.
Proof. by apply: sumr_ge0 => i _; rewrite -expr2 sqr_ge0. Qed.
Lemma sq_eq0 n (u : 'cV[R]_n) : (sq u == 0) = (u == 0).
Proof.
apply/eqP/eqP => [s0 | ->]; last exact: dot0l.
apply/colP => i; rewrite mxE; apply/eqP; rewrite -sqrf_eq0 expr2; apply/eqP.
move: s0 => /(psumr_eq0P _); apply=> // j _; by rewrite -expr2 sqr_ge0.
Qed.
Lemma sq_gt0 n (u : 'cV[R]_n) : (0 < sq u) = (u != 0).
Proof. by rewrite lt_def sq_ge0 andbT sq_eq0. Qed.
Lemma sqD n (u v : 'cV[R]_n) : sq (u + v) = sq u + 2%:R * dot u v + sq v.
Proof. rewrite /sq !dotDl !dotDr (dotC v u); ring. Qed.
Lemma sqB n (u v : 'cV[R]_n) : sq (u - v) = sq u - 2%:R * dot u v + sq v.
Proof. rewrite /sq !dotBl !dotBr (dotC v u); ring. Qed.
Lemma sqZ n c (u : 'cV[R]_n) : sq (c *: u) = c ^+ 2 * sq u.
Proof. by rewrite /sq dotZl dotZr mulrA. Qed.
Lemma sqN n (u : 'cV[R]_n) : sq (- u) = sq u.
Proof. by rewrite /sq dotNl dotNr opprK. Qed.

Lemma cauchy_schwarz n (u v : 'cV[R]_n) : dot u v ^+ 2 <= sq u * sq v.
Proof.
have [->|v0] := eqVneq v 0; first by rewrite dot0r expr0n /= mulr_ge0 ?sq_ge0.
have vp : 0 < sq v by rewrite sq_gt0.
have := sq_ge0 (sq v *: u - dot u v *: v).
rewrite sqB !sqZ dotZl dotZr.
have -> : sq v ^+ 2 * sq u - 2%:R * (sq v * (dot u v * dot u v)) + dot u v ^+ 2 * sq v
  = sq v * (sq u * sq v - dot u v ^+ 2) by ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

(** A > 0 and A >= 0 as quadratic forms; the identity is written 1%:M. *)
Definition form n (A : 'M[R]_n) (u : 'cV[R]_n) : R := dot u (A *m u).
Definition posdef n (A : 'M[R]_n) := forall u, u != 0 -> 0 < form A u.
Definition possemi n (A : 'M[R]_n) := forall u, 0 <= form A u.

Lemma posdef_semi n (A : 'M[R]_n) : posdef A -> possemi A.
Proof.
move=> pA u; have [->|u0] := eqVneq u 0; last exact/ltW/pA.
by rewrite /form mulmx0 dot0r.
Qed.
Lemma formD n (A B : 'M[R]_n) u : form (A + B) u = form A u + form B u.
Proof. by rewrite /form mulmxDl dotDr. Qed.
Lemma formN n (A : 'M[R]_n) u : form (- A) u = - form A u.
Proof. by rewrite /form mulNmx dotNr. Qed.
Lemma formZ n c (A : 'M[R]_n) u : form (c *: A) u = c * form A u.
Proof. by rewrite /form -scalemxAl dotZr. Qed.
Lemma form1 n (u : 'cV[R]_n) : form 1%:M u = sq u.
Proof. by rewrite /form mul1mx. Qed.
Lemma form_scalar n c (u : 'cV[R]_n) : form c%:M u = c * sq u.
Proof. by rewrite -scalemx1 formZ form1. Qed.
Lemma form_gram m n (A : 'M[R]_(m, n)) u : form (A^T *m A) u = sq (A *m u).
Proof. by rewrite /form -mulmxA -adjoint. Qed.
Lemma form_sum n (I : finType) (F : I -> 'M[R]_n) u : form (\sum_i F i) u = \sum_i form (F i) u.
Proof. by rewrite /form mulmx_suml dot_sumr. Qed.
Lemma dot_mx n (u v : 'cV[R]_n) : u^T *m v = (dot u v)%:M.
Proof. by apply/matrixP => i j; rewrite !mxE !ord1 mulr1n; apply: eq_bigr => k _; rewrite mxE. Qed.
Lemma outer_sym n (v : 'cV[R]_n) : (v *m v^T)^T = v *m v^T.
Proof. by rewrite trmx_mul trmxK. Qed.
Lemma trace_outers n (u v : 'cV[R]_n) : \tr (u *m u^T *m (v *m v^T)) = dot u v ^+ 2.
Proof.
rewrite mulmxA -(mulmxA u) dot_mx mul_mx_scalar -scalemxAl mxtraceZ mxtrace_mulC dot_mx.
by rewrite mxtrace_scalar mulr1n dotC expr2.
Qed.
Lemma form_outer n (x : 'cV[R]_n) u : form (x *m x^T) u = dot x u ^+ 2.
Proof.
by rewrite /form -mulmxA dot_mx mul_mx_scalar dotZr dotC.
Qed.
End Inner.

Section Length.
Variable R : rcfType.
Definition len n (u : 'cV[R]_n) : R := Num.sqrt (sq u).

Lemma len_ge0 n (u : 'cV[R]_n) : 0 <= len u. Proof. exact: sqrtr_ge0. Qed.
Lemma len_sqr n (u : 'cV[R]_n) : len u ^+ 2 = sq u. Proof. exact/sqr_sqrtr/sq_ge0. Qed.
Lemma len0 n : len (0 : 'cV[R]_n) = 0. Proof. by rewrite /len /sq dot0l sqrtr0. Qed.
Lemma len_eq0 n (u : 'cV[R]_n) : (len u == 0) = (u == 0).
Proof. by rewrite -sqrf_eq0 len_sqr sq_eq0. Qed.
Lemma lenZ n c (u : 'cV[R]_n) : len (c *: u) = `|c| * len u.
Proof. by rewrite /len sqZ sqrtrM ?sqr_ge0 // sqrtr_sqr. Qed.
Lemma lenN n (u : 'cV[R]_n) : len (- u) = len u.
Proof. by rewrite /len sqN. Qed.
Lemma len_le n (u : 'cV[R]_n) c : 0 <= c -> (len u <= c) = (sq u <= c ^+ 2).
Proof. by move=> c0; rewrite -len_sqr ler_pexpn2r // nnegrE ?len_ge0. Qed.
Lemma dot_le_len n (u v : 'cV[R]_n) : `|dot u v| <= len u * len v.
Proof.
rewrite -(@ler_pexpn2r _ 2) // ?nnegrE ?normr_ge0 ?mulr_ge0 ?len_ge0 //.
by rewrite exprMn !len_sqr real_normK ?num_real // cauchy_schwarz.
Qed.
Lemma dot_le n (u v : 'cV[R]_n) : dot u v <= len u * len v.
Proof. exact: le_trans (ler_norm _) (dot_le_len _ _). Qed.
Lemma lenD n (u v : 'cV[R]_n) : len (u + v) <= len u + len v.
Proof.
rewrite len_le ?addr_ge0 ?len_ge0 // sqD sqrrD !len_sqr ler_add2r ler_add2l.
by rewrite -[X in _ <= X]mulr_natl ler_pmul2l ?ltr0n // dot_le.
Qed.
Lemma lenB n (u v : 'cV[R]_n) : len (u - v) <= len u + len v.
Proof. by rewrite -[len v]lenN lenD. Qed.
Lemma len_triangle n (u v w : 'cV[R]_n) : len (u - w) <= len (u - v) + len (v - w).
Proof. by apply: le_trans (lenD _ _); rewrite addrA subrK. Qed.
End Length.
