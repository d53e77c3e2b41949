(** spec/claims/descent.md: gradient descent from the stored weights converges to zero loss. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors primitives limits interpolation.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** 0 <= A <= c gives A^2 <= c A *)
Lemma square_below (R : realFieldType) n (A : 'M[R]_n) c v : A^T = A -> possemi A -> possemi (c%:M - A) -> 0 <= c ->
  sq (A *m v) <= c * form A v.
Proof.
move=> sA pA hA c0; have e t : form A (v - t *: (A *m v)) = form A v - 2%:R * t * sq (A *m v) + t ^+ 2 * form A (A *m v).
  have -> : form A v = dot v (A *m v) by [].
  rewrite /form mulmxBr -scalemxAr dotBl !dotBr !dotZl !dotZr -/(sq (A *m v)).
  have -> : dot v (A *m (A *m v)) = sq (A *m v) by rewrite /sq adjoint sA.
  set q := sq _; set x := dot v _; set y := dot _ _; by ring.
have up : form A (A *m v) <= c * sq (A *m v) by have := hA (A *m v); rewrite formD formN form_scalar subr_ge0.
have [c1|c1] := eqVneq c 0.
  have fv : form A v <= 0 by have := hA v; rewrite c1 formD formN form_scalar mul0r sub0r oppr_ge0.
  have := pA (v - 1 *: (A *m v)); rewrite e c1 mul0r in up *; rewrite mul0r => h.
  have s0 := sq_ge0 (A *m v); set q := sq _ in h up s0 *; set f := form A v in h fv *; set g := form _ _ in h up *.
  by by_sum (((f - 2%:R * 1 * q + 1 ^+ 2 * g) + (0 - f) + (0 - g)) + q).
have cp : 0 < c by rewrite lt_def c1.
have := pA (v - c^-1 *: (A *m v)); rewrite e => h; set q := sq _ in h up *; set f := form A v in h *; set g := form _ _ in h up *.
have ci : 0 <= c^-1 by rewrite invr_ge0.
by by_quotient (c * (f - 2%:R * c^-1 * q + c^-1 ^+ 2 * g) + c^-1 * (c * q - g)).
Qed.

(** What a sequence of finite path converges to is a zero, if the residual is at most C times the path that is left. *)
Section LimitIsZero.
Variable R : rcfType.
Variables (n p : nat) (r : 'cV[R]_p -> 'cV[R]_n) (J : 'cV[R]_p -> 'M[R]_(n, p)) (good_at : 'cV[R]_p -> Prop) (Lip : R).
Hypothesis Lip_ge0 : 0 <= Lip.
Hypothesis taylor : forall t t', good_at t -> good_at t' -> len (r t' - r t - J t *m (t' - t)) <= Lip / 2%:R * sq (t' - t).
Lemma limit_is_zero t (P C : R) : good_at t -> 0 <= P -> 0 <= C -> (forall e, 0 < e -> exists q d,
  [/\ 0 <= d, d < e, good_at q, len (t - q) <= P * d & len (r q) <= C * d]) -> r t = 0.
Proof.
move=> bt P0 C0 h; apply/eqP; rewrite -len_eq0 eq_le len_ge0 andbT.
pose F := Num.sqrt (frobenius2 (J t)); have F0 : 0 <= F by apply: sqrtr_ge0.
have c0 : 0 <= C + F * P + Lip / 2%:R * P ^+ 2 by nonneg.
apply: (le_of_small c0) => e e0; have m0 : 0 < Num.min e 1 by rewrite lt_minr e0 ltr01.
have [q [d [d0 dm bq near rq]]] := h _ m0; move: dm; rewrite lt_minr => /andP[de d1].
exists d; split=> //; rewrite add0r; have dd : d ^+ 2 <= d by rewrite -[X in _ <= X]mulr1 expr2 ler_wpmul2l // ltW.
have tl := taylor bt bq; have near' : len (q - t) <= P * d by rewrite -lenN opprB.
have r2 : len (J t *m (q - t)) <= F * (P * d).
  apply: le_trans (_ : F * len (q - t) <= _); last by rewrite ler_wpmul2l.
  rewrite len_le ?mulr_ge0 ?len_ge0 // exprMn len_sqr sqr_sqrtr; first exact: sq_mulmx.
  by apply: sumr_ge0 => i _; apply: sumr_ge0 => i' _; apply: sqr_ge0.
have n2 : sq (q - t) <= P ^+ 2 * d.
  rewrite -len_sqr; apply: le_trans (_ : (P * d) ^+ 2 <= _); first by rewrite ler_pexpn2r ?nnegrE ?len_ge0 ?mulr_ge0.
  by rewrite exprMn ler_wpmul2l ?sqr_ge0.
have n3 : Lip / 2%:R * sq (q - t) <= Lip / 2%:R * (P ^+ 2 * d) by rewrite ler_wpmul2l //; nonneg.
set z := r q in rq tl *; set w := J t *m _ in r2 tl *.
have tri : len (r t) <= len z + len w + len (z - r t - w).
  have {1}-> : r t = (z - w) - (z - r t - w) by rewrite opprB addrA subrK opprB addrC subrK.
  by apply: le_trans (lenB _ _) _; rewrite ler_add2r lenB.
set lz := len z in rq tri *; set lw := len w in r2 tri *; set lt := len (_ - _ - _) in tl tri *.
set c3 := Lip / 2%:R * sq _ in tl n3 *.
by by_sum ((lz + lw + lt - len (r t)) + (C * d - lz) + (F * (P * d) - lw) + (c3 - lt) + (Lip / 2%:R * (P ^+ 2 * d) - c3)).
Qed.
End LimitIsZero.

Section Descent.
Variable R : rcfType.
Variables (n p : nat) (r : 'cV[R]_p -> 'cV[R]_n) (J : 'cV[R]_p -> 'M[R]_(n, p)) (theta : 'cV[R]_p).
Variables (a b g rho Lip eta S : R).
Local Notation ball := (ball theta rho).
Hypotheses (a_gt0 : 0 < a) (b_ge0 : 0 <= b) (Lip_ge0 : 0 <= Lip) (eta_gt0 : 0 < eta).
Hypothesis low : possemi (Gram J theta - (a ^+ 2)%:M).
Hypothesis high : possemi ((b ^+ 2)%:M - Gram J theta).
Hypothesis residual : len (r theta) <= g.
Hypothesis lipschitz : forall t u, ball t -> len ((J t)^T *m u - (J theta)^T *m u) <= Lip * len (t - theta) * len u.
Hypothesis taylor : forall t t', ball t -> ball t' -> len (r t' - r t - J t *m (t' - t)) <= Lip / 2%:R * sq (t' - t).

Definition gradient t := (J t)^T *m r t.
Definition next t := t - eta *: gradient t.
Definition run j := iter j next theta.

Lemma high_at t s u : ball t -> len (t - theta) <= s -> len ((J t)^T *m u) <= (b + Lip * s) * len u.
Proof.
move=> bt ts; have l0 : len ((J theta)^T *m u) <= b * len u.
  rewrite len_le ?mulr_ge0 ?len_ge0 // exprMn len_sqr -form_Gram.
  by have := high u; rewrite formD formN form_scalar subr_ge0.
have l1 := lipschitz u bt; have l2 : Lip * len (t - theta) * len u <= Lip * s * len u by rewrite ler_wpmul2r ?len_ge0 // ler_wpmul2l.
have l3 : len ((J t)^T *m u) <= len ((J t)^T *m u - (J theta)^T *m u) + len ((J theta)^T *m u) by apply: le_trans (lenD _ _); rewrite subrK.
set x := len _ in l3 *; set y := len _ in l1 l3 *; set z := len _ in l0 l3 *; set w := Lip * len _ * _ in l1 l2 *.
by by_sum ((y + z - x) + (b * len u - z) + (w - y) + (Lip * s * len u - w)).
Qed.

(** the step lemma: eta |J_t|^2 <= 1, sig = sigma_min(J_t), delta = eta |J_t^T r_t| *)
Lemma step_lemma t sig : 0 <= sig -> possemi (Gram J t - (sig ^+ 2)%:M) -> possemi (1%:M - eta *: Gram J t) ->
  len (r t - eta *: (J t *m gradient t)) <= len (r t) - sig * (eta * len (gradient t)).
Proof.
move=> s0 lo up; have [z|rn] := eqVneq (r t) 0.
  by rewrite /gradient z !mulmx0 scaler0 subr0 !len0 !mulr0 subrr.
have rp : 0 < sq (r t) by rewrite sq_gt0.
pose A := 1%:M - eta *: Gram J t; pose c := 1 - eta * sig ^+ 2.
have sA : A^T = A by rewrite /A linearB /= trmx1 linearZ /= Gram_sym.
have lr : sig ^+ 2 * sq (r t) <= form (Gram J t) (r t) by have := lo (r t); rewrite formD formN form_scalar subr_ge0.
have ur : eta * form (Gram J t) (r t) <= sq (r t) by have := up (r t); rewrite formD formN formZ form1 subr_ge0.
have c0 : 0 <= c.
  rewrite subr_ge0 -(ler_pmul2r rp) mul1r; apply: le_trans ur; by rewrite -mulrA ler_wpmul2l // ltW.
have hA : possemi (c%:M - A).
  move=> u; have := lo u; rewrite !formD !formN !formD !formN !formZ form1 !form_scalar => h.
  set f := form _ u in h *; set q := sq u in h *; rewrite /c.
  by have := mulr_ge0 (ltW eta_gt0) h; rewrite mulrBr => h2; by_sum (eta * f - eta * (sig ^+ 2 * q)).
have := square_below (r t) sA up hA c0; have -> : A *m r t = r t - eta *: (J t *m gradient t).
  by rewrite mulmxBl mul1mx -scalemxAl /gradient mulmxA.
rewrite {1}/A formD formN formZ form1 form_Gram -/(gradient t) -!len_sqr => h.
have ur' := ur; rewrite form_Gram -/(gradient t) -!len_sqr in ur'; have P0 := len_ge0 (gradient t); have R0 := len_ge0 (r t).
set P := len (gradient t) in h ur' P0 *; set Rr := len (r t) in h ur' R0 *.
have pos : 0 <= Rr - sig * (eta * P).
  rewrite subr_ge0 -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?(ltW eta_gt0) //.
  have m1 : eta * sig ^+ 2 <= 1 by rewrite -subr_ge0.
  have -> : (sig * (eta * P)) ^+ 2 = (eta * sig ^+ 2) * (eta * P ^+ 2) by ring.
  by apply: le_trans ur'; rewrite -[X in _ <= X]mul1r ler_wpmul2r // mulr_ge0 ?sqr_ge0 ?(ltW eta_gt0).
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?len_ge0 //; apply: le_trans h _; rewrite /c.
by by_sum (eta * (P - sig * Rr) ^+ 2).
Qed.

(** S: g <= M(S) = a S - Lip S^2/2, and alpha = a - Lip S > 0 *)
Hypotheses (root : g <= a * S - Lip / 2%:R * S ^+ 2) (alpha_gt0 : 0 < a - Lip * S) (S_rho : S <= rho) (S_ge0 : 0 <= S).
Hypothesis small_step : eta * (b + Lip * S) ^+ 2 <= 1.
Definition M s := a * s - Lip / 2%:R * s ^+ 2.
Definition inv t s := [/\ 0 <= s, s <= S, len (t - theta) <= s & len (r t) <= g - M s].

Lemma inv_ball t s : inv t s -> ball t.
Proof. by case=> _ sS ts _; apply: le_trans ts (le_trans sS S_rho). Qed.
Lemma sigma_gt0 s : 0 <= s -> s <= S -> a - Lip * S <= a - Lip * s.
Proof. by move=> s0 sS; rewrite ler_add2l ler_opp2 ler_wpmul2l. Qed.

Lemma one_step t s (delta := eta * len (gradient t)) : inv t s ->
  [/\ inv (next t) (s + delta), delta <= S - s, len (next t - t) = delta,
      eta * (a - Lip * S) * len (r t) <= delta & len (r (next t)) <= (1 - eta * (a - Lip * S) ^+ 2) * len (r t)].
Proof.
move=> I; have bt := inv_ball I; case: (I) => s0 sS ts rt.
have d0 : 0 <= delta by rewrite mulr_ge0 ?len_ge0 ?(ltW eta_gt0).
have A0 : 0 <= a - Lip * s := le_trans (ltW alpha_gt0) (sigma_gt0 s0 sS).
have lo := low_at a_gt0 Lip_ge0 low lipschitz bt ts A0.
have B0 : 0 <= b + Lip * S by nonneg.
have hi u : len ((J t)^T *m u) <= (b + Lip * S) * len u.
  apply: le_trans (high_at u bt ts) _; by rewrite ler_wpmul2r ?len_ge0 // ler_add2l ler_wpmul2l.
have up : possemi (1%:M - eta *: Gram J t).
  move=> u; rewrite formD formN formZ form1 form_Gram subr_ge0 -!len_sqr.
  apply: le_trans (_ : eta * ((b + Lip * S) * len u) ^+ 2 <= _).
    by rewrite ler_pmul2l // ler_pexpn2r ?nnegrE ?len_ge0 ?mulr_ge0 ?len_ge0.
  by rewrite exprMn mulrA -[X in _ <= X]mul1r ler_wpmul2r ?sqr_ge0.
have len_next : len (next t - t) = delta.
  by rewrite /next addrAC subrr add0r lenN lenZ (gtr0_norm eta_gt0).
have long : eta * (a - Lip * s) * len (r t) <= delta.
  rewrite -mulrA ler_pmul2l // -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?len_ge0 // exprMn !len_sqr -form_Gram.
  by have := lo (r t); rewrite formD formN form_scalar subr_ge0.
have dS : delta <= S - s.
  have [z|rn] := eqVneq (r t) 0; first by rewrite /delta /gradient z mulmx0 len0 mulr0 subr_ge0.
  have ab : a <= b + Lip * S.
    apply: le_trans (_ : b <= _); last by rewrite ler_addl mulr_ge0.
    have rp : 0 < sq (r t) by rewrite sq_gt0.
    rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?(ltW a_gt0) // -(ler_pmul2r rp).
    have h1 := low (r t); have h2 := high (r t); rewrite !formD !formN !form_scalar in h1 h2.
    by rewrite -subr_ge0; have -> : b ^+ 2 * sq (r t) - a ^+ 2 * sq (r t) = (form (Gram J theta) (r t) - a ^+ 2 * sq (r t)) +
      (b ^+ 2 * sq (r t) - form (Gram J theta) (r t)); [ring | rewrite addr_ge0].
  have Bp : 0 < b + Lip * S := lt_le_trans a_gt0 ab.
  have h1 : (b + Lip * S) * delta <= len (r t).
    apply: le_trans (_ : eta * (b + Lip * S) ^+ 2 * len (r t) <= _); last first.
      by rewrite -[X in _ <= X]mul1r ler_wpmul2r ?len_ge0.
    rewrite /delta; have := hi (r t); rewrite -/(gradient t) => h; set G := len (gradient t) in h *; set Q := len (r t) in h *.
    have e0 := ltW eta_gt0; by by_sum (eta * (b + Lip * S) * ((b + Lip * S) * Q - G)).
  have h2 : len (r t) <= a * (S - s).
    apply: le_trans rt _; rewrite /M; have sS' : 0 <= S - s by rewrite subr_ge0.
    by_quotient ((a * S - Lip / 2%:R * S ^+ 2 - g) + Lip / 2%:R * (S - s) * (S + s)).
  rewrite -(ler_pmul2l Bp); apply: le_trans h1 _; apply: le_trans h2 _.
  by rewrite ler_wpmul2r // subr_ge0.
have bn : ball (next t).
  rewrite /ball; apply: le_trans (len_triangle _ t _) _; rewrite len_next; apply: le_trans S_rho.
  by apply: le_trans (ler_add dS ts) _; rewrite subrK.
have star : len (r (next t)) <= len (r t) - (a - Lip * s) * delta + Lip / 2%:R * delta ^+ 2.
  have tl := taylor bt bn; rewrite -len_sqr len_next in tl.
  have e : J t *m (next t - t) = - (eta *: (J t *m gradient t)).
    by rewrite /next addrAC subrr add0r mulmxN -scalemxAr.
  rewrite e in tl; have st := step_lemma A0 lo up; rewrite -/delta in st.
  apply: le_trans (_ : len (r (next t) - r t - - (eta *: (J t *m gradient t))) + len (r t - eta *: (J t *m gradient t)) <= _).
    apply: le_trans (lenD _ _); rewrite opprK le_eqVlt; apply/orP; left; apply/eqP; congr len.
    by rewrite addrACA addrN addr0 subrK.
  set x := len _ in tl *; set y := len _ in st *; set z := len (r t) in st *.
  by by_sum ((Lip / 2%:R * delta ^+ 2 - x) + (z - (a - Lip * s) * delta - y)).
have nearS : a - Lip * S <= a - Lip * s - Lip / 2%:R * delta.
  have sS' : 0 <= S - s by rewrite subr_ge0.
  by by_quotient (Lip / 2%:R * (S - s - delta) + Lip / 2%:R * (S - s)).
split=> //.
- split; first by rewrite addr_ge0.
  + by rewrite addrC -ler_subr_addr.
  + by apply: le_trans (len_triangle _ t _) _; rewrite len_next addrC ler_add2r.
  + apply: le_trans star _; set x := len (r t) in rt *; rewrite /M in rt *; by_quotient (g - (a * s - Lip / 2%:R * s ^+ 2) - x).
- by apply: le_trans long; rewrite ler_wpmul2r ?len_ge0 // ler_pmul2l // sigma_gt0.
- have h : eta * (a - Lip * S) * len (r t) <= delta.
    by apply: le_trans long; rewrite ler_wpmul2r ?len_ge0 // ler_pmul2l // sigma_gt0.
  apply: le_trans star _; set x := len (r t) in h *; set al := a - Lip * S in nearS h *.
  have al0 : 0 <= al := ltW alpha_gt0; set B := a - Lip * s in nearS *.
  by by_quotient (delta * (B - Lip / 2%:R * delta - al) + al * (delta - eta * al * x)).
Qed.

(** the run, with its path so far *)
Fixpoint path_so_far j := if j is i.+1 then path_so_far i + eta * len (gradient (run i)) else 0.
Lemma run_inv j : inv (run j) (path_so_far j).
Proof.
elim: j => [|j IH]; last by have [] := one_step IH.
by split; rewrite ?subrr ?len0 // /M mulr0 expr0n mulr0 !subr0.
Qed.
Lemma run_step j : len (run j.+1 - run j) = path_so_far j.+1 - path_so_far j.
Proof. by have [_ _ e _ _] := one_step (run_inv j); rewrite /= moved -e. Qed.
Lemma path_sum j : path_so_far j = \sum_(i < j) len (run i.+1 - run i).
Proof. by elim: j => [|j IH]; rewrite ?big_ord0 // big_ord_recr /= -IH run_step /= moved. Qed.

Lemma descent_from_root : complete R ->
  [/\ forall j, \sum_(i < j) len (run i.+1 - run i) <= S,
      forall j, len (r (run j.+1)) <= (1 - eta * (a - Lip * S) ^+ 2) * len (r (run j))
    & exists limit, [/\ r limit = 0, len (limit - theta) <= S
      & forall e, 0 < e -> exists N, forall j, (N <= j)%N -> len (limit - run j) < e]].
Proof.
move=> comp; have sS j : path_so_far j <= S by case: (run_inv j).
split=> [j|j|]; [by rewrite -path_sum | by have [] := one_step (run_inv j) |].
have path j : len (run j.+1 - run j) <= path_so_far j.+1 - path_so_far j by rewrite run_step.
have [t [l [sl small near]]] := finite_path_converges comp path sS.
have tS : len (t - theta) <= S.
  apply: (le_of_small (sqrtr_ge0 p%:R)) => d0 e0; have [j [lj je]] := small _ e0.
  exists (l - path_so_far j); split=> //; apply: le_trans (len_triangle _ (run j) _) _; rewrite addrC ler_add //.
  by case: (run_inv j) => _ _ h _; apply: le_trans h (sS j).
exists t; split=> // [|e e0].
- have c0 : 0 < eta * (a - Lip * S) by rewrite mulr_gt0.
  apply: (limit_is_zero (good_at := ball) Lip_ge0 taylor (P := Num.sqrt p%:R) (C := (eta * (a - Lip * S))^-1)) => //.
  + exact: le_trans tS S_rho.
  + exact: sqrtr_ge0.
  + by rewrite invr_ge0 ltW.
  move=> e e0; have [j [lj je]] := small _ e0; exists (run j), (l - path_so_far j); split=> //.
    exact: inv_ball (run_inv j).
  rewrite mulrC ler_pdivl_mulr // mulrC; have [_ _ _ h _] := one_step (run_inv j).
  apply: le_trans h _; have := sl j.+1; rewrite /= => h2; by rewrite ler_subr_addl.
have P1 : 0 < Num.sqrt p%:R + 1 :> R by rewrite ltr_paddl ?sqrtr_ge0 ?ltr01.
have e1 : 0 < e / (Num.sqrt p%:R + 1) by rewrite divr_gt0.
have [N [lN Ne]] := small _ e1; exists N => j Nj; apply: le_lt_trans (near j) _.
have mono : path_so_far N <= path_so_far j.
  by apply: nondecreasing Nj => i; rewrite -subr_ge0 -run_step len_ge0.
move: Ne; rewrite ltr_pdivl_mulr // => Ne; apply: le_lt_trans Ne.
have lj : 0 <= l - path_so_far j by rewrite subr_ge0.
have P0 := @sqrtr_ge0 R p%:R; set P := Num.sqrt _ in P0 *.
by by_sum (P * (path_so_far j - path_so_far N) + (l - path_so_far N)).
Qed.
End Descent.

(** The theorem of the page: S = 2g/(a + alpha), alpha = sqrt(a^2 - 2 Lip g). *)
Section DescentTheorem.
Variable R : rcfType.
Variables (n p : nat) (r : 'cV[R]_p -> 'cV[R]_n) (J : 'cV[R]_p -> 'M[R]_(n, p)) (theta : 'cV[R]_p).
Variables (a b g rho Lip eta : R).
Definition alpha := Num.sqrt (a ^+ 2 - 2%:R * Lip * g).
Definition S := 2%:R * g / (a + alpha).

Theorem descent : complete R -> 0 < a -> 0 <= b -> 0 <= Lip -> 0 < eta ->
  possemi (Gram J theta - (a ^+ 2)%:M) -> possemi ((b ^+ 2)%:M - Gram J theta) -> len (r theta) <= g ->
  (forall t u, ball theta rho t -> len ((J t)^T *m u - (J theta)^T *m u) <= Lip * len (t - theta) * len u) ->
  (forall t t', ball theta rho t -> ball theta rho t' ->
    len (r t' - r t - J t *m (t' - t)) <= Lip / 2%:R * sq (t' - t)) ->
  2%:R * Lip * g < a ^+ 2 -> S <= rho -> eta * (b + Lip * S) ^+ 2 <= 1 ->
  [/\ forall j, \sum_(i < j) len (run r J theta eta i.+1 - run r J theta eta i) <= S,
      forall j, len (r (run r J theta eta j.+1)) <= (1 - eta * (a ^+ 2 - 2%:R * Lip * g)) * len (r (run r J theta eta j))
    & exists limit, [/\ r limit = 0, len (limit - theta) <= S
      & forall e, 0 < e -> exists N, forall j, (N <= j)%N -> len (limit - run r J theta eta j) < e]].
Proof.
move=> comp a0 b0 L0 eta0 low high rg lip tay dis Sr small.
have g0 : 0 <= g := le_trans (len_ge0 _) rg.
have al2 : alpha ^+ 2 = a ^+ 2 - 2%:R * Lip * g by rewrite sqr_sqrtr // subr_ge0 ltW.
have al0 : 0 < alpha by rewrite sqrtr_gt0 subr_gt0.
have s0 : a + alpha != 0 by rewrite gt_eqF // addr_gt0.
have LS : a - Lip * S = alpha.
  have Sg : S * (a + alpha) = 2%:R * g by rewrite /S divfK.
  apply: (mulIf s0); rewrite mulrBl -mulrA Sg; have -> : alpha * (a + alpha) = alpha * a + alpha ^+ 2 by ring.
  by rewrite al2; ring.
have MS : a * S - Lip / 2%:R * S ^+ 2 = g.
  have -> : a * S - Lip / 2%:R * S ^+ 2 = S * (a + (a - Lip * S)) / 2%:R by field.
  by rewrite LS /S; field.
rewrite -al2 -LS; apply: (descent_from_root a0 b0 L0 eta0 low high rg lip tay) => //; rewrite ?MS ?LS //.
by rewrite /S divr_ge0 ?mulr_ge0 ?ler0n // ltW // addr_gt0.
Qed.
End DescentTheorem.
