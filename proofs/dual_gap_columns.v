(** spec/claims/dual-gap.md, one column: the cones of R2 cover the plane, R2-free, the one-sided test of R7. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(** Sorted values with their u, largest first: after each value one test of the sum so far, between the kink of this
    value and the next (None: the direction of the bias alone). Kinks that coincide have no cone between them. *)
Fixpoint scan (F S : Type) (step : S -> F * F -> S) (test : S -> F -> option F -> bool) (s : S) (l : seq (F * F)) :=
  if l is zu :: l' then
    let s' := step s zu in
    test s' zu.1 (if l' is zu' :: _ then Some zu'.1 else None) && scan step test s' l'
  else true.
Lemma scan_map (F G S T : Type) (f : F -> G) (h : S -> T) stepF testF stepG testG s l :
  (forall s zu, h (stepF s zu) = stepG (h s) (f zu.1, f zu.2)) ->
  (forall s z o, testF s z o = testG (h s) (f z) (omap f o)) ->
  scan stepF testF s l = scan stepG testG (h s) [seq (f zu.1, f zu.2) | zu <- l].
Proof. by move=> hs ht; elim: l s => //= zu l IH s; rewrite IH -hs ht; case: l {IH}. Qed.

Section Cover.
Variables (R : rcfType) (tau : R).
Hypothesis tau_gt0 : 0 < tau.
Definition step (s : R * R) (zu : R * R) := (s.1 + zu.2 * zu.1, s.2 + zu.2 * tau).
Definition at_ (s : R * R) w0 w1 := s.1 * w0 + s.2 * w1.
Definition column_sum (l : seq (R * R)) w0 w1 := \sum_(zu <- l) zu.2 * relu (zu.1 * w0 + tau * w1).
(** the ray of a kink, (tau, -z), and the last one *)
Definition ray (o : option R) := if o is Some z then (tau, - z) else (0, 1).

Variables (bound : R -> R -> R) (test : R * R -> R -> option R -> bool).
Definition good (s p q : R * R) := forall al be, 0 <= al -> 0 <= be ->
  at_ s (al * p.1 + be * q.1) (al * p.2 + be * q.2) <= bound (al * p.1 + be * q.1) (al * p.2 + be * q.2).
Hypothesis bound_ge0 : forall w0 w1, 0 <= w0 -> 0 <= bound w0 w1.
Hypothesis test_good : forall s z o, test s z o -> o != Some z -> good s (ray (Some z)) (ray o).

Lemma inactive (a w0 w1 : R) l : path >=%R a (map fst l) -> 0 <= w0 -> a * w0 + tau * w1 <= 0 -> column_sum l w0 w1 = 0.
Proof.
move=> sl w00 a0; rewrite /column_sum big1_seq // => zu /andP[_ zul].
have : zu.1 <= a.
  have := order_path_min (rev_trans le_trans) sl => /allP; apply; exact: map_f.
move=> za; rewrite (_ : relu _ = 0) ?mulr0 //; apply: max_l.
by apply: le_trans a0; rewrite ler_add2r ler_wpmul2r.
Qed.

Lemma scan_from s a u l w0 w1 : path >=%R a (map fst l) -> scan step test s ((a, u) :: l) ->
  0 <= w0 -> 0 <= a * w0 + tau * w1 -> at_ s w0 w1 + column_sum ((a, u) :: l) w0 w1 <= bound w0 w1.
Proof.
elim: l s a u => [|[a' u'] l IH] s a u sl /= /andP[t sc] w00 act;
  rewrite /column_sum big_cons /= -/(column_sum _ w0 w1) /relu (max_r act) -/(relu _) addrA.
- have -> : column_sum [::] w0 w1 = 0 by rewrite /column_sum big_nil.
  rewrite addr0; have := test_good t isT (_ : 0 <= w0 / tau) (_ : 0 <= (a * w0 + tau * w1) / tau).
  rewrite /= !divr_ge0 ?(ltW tau_gt0) // => /(_ isT isT).
  have -> : w0 / tau * tau + (a * w0 + tau * w1) / tau * 0 = w0 by field; rewrite gt_eqF.
  have -> : w0 / tau * - a + (a * w0 + tau * w1) / tau * 1 = w1 by field; rewrite gt_eqF.
  by apply: le_trans; rewrite /at_ /step /= le_eqVlt; apply/orP; left; apply/eqP; ring.
- case/andP: sl => aa0 sl; have aa' : a' <= a := aa0; rewrite (_ : at_ s w0 w1 + _ = at_ (step s (a, u)) w0 w1); last by rewrite /at_ /step /=; ring.
  have [act'|act'] := leP 0 (a' * w0 + tau * w1); first exact: IH.
  have -> : column_sum ((a', u') :: l) w0 w1 = 0.
    by apply: (@inactive a') => //=; rewrite ?lexx ?(ltW act').
  rewrite addr0; have ne : a' < a.
    rewrite lt_neqAle aa' andbT; apply: contraTneq act' => ->; by rewrite -leNgt.
  have d0 : 0 < (a - a') * tau by rewrite mulr_gt0 ?subr_gt0.
  have s1 : Some a' != Some a by rewrite (inj_eq Some_inj) lt_eqF.
  have := test_good t s1 (_ : 0 <= - (a' * w0 + tau * w1) / ((a - a') * tau)) (_ : 0 <= (a * w0 + tau * w1) / ((a - a') * tau)).
  rewrite /= !divr_ge0 ?(ltW d0) ?oppr_ge0 ?(ltW act') // => /(_ isT isT).
  set al := _ / _; set be := _ / _.
  have -> : al * tau + be * tau = w0 by rewrite /al /be; field; rewrite !gt_eqF // subr_gt0.
  have -> // : al * - a + be * - a' = w1 by rewrite /al /be; field; rewrite !gt_eqF // subr_gt0.
Qed.

(** the tests cover the half plane w_0 >= 0; the other half is the same for the values -z *)
Theorem R2_cover l w0 w1 : sorted >=%R (map fst l) -> scan step test (0, 0) l -> 0 <= w0 -> column_sum l w0 w1 <= bound w0 w1.
Proof.
case: l => [|[a u] l] sl sc w00; first by rewrite /column_sum big_nil bound_ge0.
have [act|act] := leP 0 (a * w0 + tau * w1).
  by have := scan_from sl sc w00 act; rewrite /at_ /= !mul0r !add0r.
by rewrite (@inactive a) ?bound_ge0 ?(ltW act) //=; rewrite lexx.
Qed.

Lemma column_sum_mirror l w0 w1 : column_sum l w0 w1 = column_sum [seq (- zu.1, zu.2) | zu <- l] (- w0) w1.
Proof. by rewrite /column_sum big_map; apply: eq_bigr => zu _ /=; rewrite mulrNN. Qed.
Lemma column_sum_sign l w0 w1 : - column_sum l w0 w1 = column_sum [seq (zu.1, - zu.2) | zu <- l] w0 w1.
Proof. by rewrite /column_sum big_map -sumrN; apply: eq_bigr => zu _ /=; rewrite mulNr. Qed.
End Cover.

(** R2 and R7: s . w <= b |w| on the cone of p and q if |s| <= b, or if it holds on p and q and s is not inside. *)
Section OneSided.
Variables (R : rcfType) (tau b : R).
Hypotheses (tau_gt0 : 0 < tau) (b_ge0 : 0 <= b).
Definition plane w0 w1 : R := b * Num.sqrt (w0 ^+ 2 + w1 ^+ 2).
Definition inner (p q : R * R) := p.1 * q.1 + p.2 * q.2.
Definition below (s p : R * R) := (inner s p <= 0) || (inner s p ^+ 2 <= b ^+ 2 * inner p p).
Definition outside (s p q : R * R) := inner p p * inner s q <= inner p q * inner s p.
Definition one_sided s z o := let p := ray tau (Some z) in let q := ray tau o in
  [|| o == Some z, inner s s <= b ^+ 2 | [&& below s p, below s q & outside s p q || outside s q p]].

Lemma inner_cs p q : inner p q ^+ 2 <= inner p p * inner q q.
Proof. by rewrite /inner; by_sum ((p.1 * q.2 - p.2 * q.1) ^+ 2). Qed.
Lemma plane_ge0 w0 w1 : 0 <= plane w0 w1. Proof. by rewrite mulr_ge0 ?sqrtr_ge0. Qed.
Lemma inner_ge0 p : 0 <= inner p p. Proof. by rewrite addr_ge0 // -expr2 sqr_ge0. Qed.
Lemma le_plane t w : t ^+ 2 <= b ^+ 2 * inner w w -> t <= plane w.1 w.2.
Proof.
move=> h; have [t0|t0] := leP t 0; first exact: le_trans t0 (plane_ge0 _ _).
rewrite -(@ler_pexpn2r _ 2) // ?nnegrE ?plane_ge0 ?(ltW t0) //.
by rewrite /plane exprMn sqr_sqrtr ?addr_ge0 ?sqr_ge0 // !expr2.
Qed.
(** s . w <= (s . p)/|p|^2 (p . w) with s . p >= 0 *)
Lemma le_projected s p w : 0 < inner p p -> 0 <= inner s p -> below s p ->
  inner p p * inner s w <= inner s p * inner p w -> inner s w <= plane w.1 w.2.
Proof.
move=> p0 sp bl h; have [pw|pw] := leP (inner p w) 0.
  apply: le_trans (plane_ge0 _ _); rewrite -(pmulr_rle0 _ p0); apply: le_trans h _.
  exact: mulr_ge0_le0.
have sp2 : inner s p ^+ 2 <= b ^+ 2 * inner p p.
  case/orP: bl => // sp'; have -> : inner s p = 0 by apply: le_anti; rewrite sp sp'.
  by rewrite expr0n /= mulr_ge0 ?sqr_ge0 ?(ltW p0).
have [sw|sw] := leP (inner s w) 0; first exact: le_trans sw (plane_ge0 _ _).
apply: le_plane; rewrite -(ler_pmul2l (exprn_gt0 2 p0)) -exprMn.
apply: le_trans (_ : (inner s p * inner p w) ^+ 2 <= _).
  by rewrite ler_pexpn2r // nnegrE ?mulr_ge0 // ltW.
rewrite exprMn; apply: le_trans (_ : b ^+ 2 * inner p p * (inner p p * inner w w) <= _); last first.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
by apply: ler_pmul; rewrite ?sqr_ge0 ?inner_cs.
Qed.
Lemma outside_good s p q al be : 0 < inner p p -> 0 < inner q q -> below s p -> below s q -> outside s p q ->
  0 <= al -> 0 <= be -> inner s (al * p.1 + be * q.1, al * p.2 + be * q.2) <= plane (al * p.1 + be * q.1) (al * p.2 + be * q.2).
Proof.
move=> p0 q0 bp bq out a0 be0; set w := (_, _); rewrite -[X in plane X]/(w.1) -[X in plane _ X]/(w.2).
have e t : inner t w = al * inner t p + be * inner t q by rewrite /inner /=; ring.
have [sp|sp] := leP 0 (inner s p).
  apply: (le_projected p0 sp bp); rewrite !e; move: out; rewrite /outside => out.
  by by_sum (be * (inner p q * inner s p - inner p p * inner s q)).
have [sq'|sq'] := leP (inner s q) 0.
  by apply: le_trans (plane_ge0 _ _); rewrite e -oppr_ge0 opprD addr_ge0 // oppr_ge0 mulr_ge0_le0 // ltW.
have sym : inner q p = inner p q by rewrite /inner; ring.
apply: (le_projected q0 (ltW sq') bq); rewrite !e sym.
suff h : inner q q * inner s p <= inner p q * inner s q.
  by by_sum (al * (inner p q * inner s q - inner q q * inner s p)).
have pq0 : inner p q < 0.
  rewrite ltNge; apply/negP => pq; have : 0 < inner p p * inner s q by rewrite mulr_gt0.
  by rewrite ltNge; move/negP; apply; apply: le_trans out _; apply: mulr_ge0_le0 => //; apply: ltW.
rewrite -(ler_pmul2l p0); have cs := inner_cs p q; have out' := out; rewrite /outside in out'.
have n1 : 0 <= - inner p q by rewrite oppr_ge0 ltW.
have n2 : 0 <= - inner s p by rewrite oppr_ge0 ltW.
by by_sum (- inner p q * (inner p q * inner s p - inner p p * inner s q) + - inner s p * (inner p p * inner q q - inner p q ^+ 2)).
Qed.

Lemma ray_gt0 o : 0 < inner (ray tau o) (ray tau o).
Proof.
case: o => [z|]; rewrite /inner /= ?mulr0 ?mulr1 ?add0r ?ltr01 //.
by rewrite mulrNN -!expr2 ltr_paddr ?sqr_ge0 // exprn_gt0.
Qed.
Lemma one_sided_good s z o : one_sided s z o -> o != Some z -> good plane s (ray tau (Some z)) (ray tau o).
Proof.
rewrite /one_sided => /or3P[-> //|small|/and3P[bp bq out]] _ al be a0 be0.
  set w0 := _ + _; set w1 := _ + _; have := @le_plane (inner s (w0, w1)) (w0, w1); apply.
  by apply: le_trans (inner_cs _ _) _; rewrite ler_wpmul2r ?inner_ge0.
case/orP: out => out; first exact: (outside_good (ray_gt0 _) (ray_gt0 _) bp bq out a0 be0).
have := outside_good (ray_gt0 _) (ray_gt0 _) bq bp out be0 a0.
by rewrite /= ![be * _ + _]addrC.
Qed.

(** R2 for one sign of u (R7) on one half plane *)
Theorem R2 l w0 w1 : sorted >=%R (map fst l) -> scan (step tau) one_sided (0, 0) l -> 0 <= w0 ->
  column_sum tau l w0 w1 <= b * Num.sqrt (w0 ^+ 2 + w1 ^+ 2).
Proof. by apply: (R2_cover tau_gt0 (fun _ _ _ => plane_ge0 _ _) one_sided_good). Qed.
End OneSided.

(** R2-free: |w| = |w_0|, linear on the half plane; only the values at the kinks are tested, and sum u = 0 (or <= 0). *)
Section FreeBias.
Variables (R : rcfType) (b : R).
Hypothesis b_ge0 : 0 <= b.
Definition at_kink (s : R * R) z o := (s.1 - s.2 * z <= b) &&
  (if o is Some z' then s.1 - s.2 * z' <= b else s.2 <= 0).
Theorem R2_free l w0 w1 : sorted >=%R (map fst l) -> scan (step 1) at_kink (0, 0) l -> 0 <= w0 ->
  column_sum 1 l w0 w1 <= b * w0.
Proof.
apply: (R2_cover ltr01 (bound := fun w0 _ => b * w0)) => [v0 v1 v00|s z o]; first by rewrite mulr_ge0.
move=> /andP[h1 h2] _ al be a0 be0; rewrite /at_ /=.
case: o h2 => [z'|] /= h2; first by by_sum (al * (b - (s.1 - s.2 * z)) + be * (b - (s.1 - s.2 * z'))).
by by_sum (al * (b - (s.1 - s.2 * z)) + be * (0 - s.2)).
Qed.

(** no bias: the rows z > 0 are active for w_0 > 0 *)
Theorem R2_none l w0 : \sum_(zu <- l) zu.2 * relu zu.1 <= b -> 0 <= w0 -> column_sum 1 l w0 0 <= b * w0.
Proof.
move=> h w00; rewrite mulrC; apply: le_trans (ler_wpmul2l w00 h); rewrite mulr_sumr le_eqVlt; apply/orP; left.
by apply/eqP; apply: eq_bigr => zu _; rewrite mulr0 addr0 [zu.1 * _]mulrC relu_homogeneous // mulrCA.
Qed.
End FreeBias.
