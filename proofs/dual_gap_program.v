(** A checker of dual-gap, constraint "columns", one output, as a program on exact rationals, and its soundness: what it
    accepts is true in every ordered field with square roots. dual_gap_extraction.v makes an OCaml program of it. *)
From Coq Require Import QArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From globalmin Require Import vectors dual_gap rationals dual_gap_columns dual_gap_half_planes.
Import GRing.Theory Num.Theory Order.TTheory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Close Scope Q_scope.
Local Open Scope ring_scope.

(** ** What a file says *)

Inductive loss_kind := Squared | Huber of Q | Quantile of Q | Hinge | SquaredHinge.
Inductive part_kind := NoPart | FreePart | PenalizedPart of Q.
Record sample := Sample { xs : seq Q; label : Q; weight : Q; dual : Q }.
Record neuron := Neuron { weights : seq Q; bias : Q; head : Q }.
Record file := File {
  cols : seq (bool * Q);  (* per column: in the class; the sign of `monotone` *)
  hidden : bias_kind; constant : part_kind; slope : part_kind;
  nonnegative : bool; decay : Q; kind : loss_kind;
  samples : seq sample; neurons : seq neuron; c0_stored : Q; theta_stored : seq Q;
  p_up : Q; p_low : Q; gap : Q }.

(** ** The program *)

Definition dotq (a c : seq Q) := qsum (fun p => qmul p.1 p.2) (zip a c).
Definition coord (l : seq Q) j := nth q0 l j.
Definition positive_part p := if p is PenalizedPart k then qlt q0 k else true.
Definition costq p c := if p is PenalizedPart k then qmul (qhalf k) c else q0.
Definition priceq p c := if p is PenalizedPart k then qdiv c (qmul q2 k) else q0.
Definition is_free h := if h is FreeBias then true else false.
Definition is_free_part p := if p is FreePart then true else false.
Definition is_no_part p := if p is NoPart then true else false.
Definition is_penalized h := if h is PenalizedBias _ then true else false.

Definition lossq k y t := match k with
  | Squared => qhalf (qsq (qsub t y))
  | Huber h => let r := qabs (qsub t y) in if qle r h then qhalf (qsq (qsub t y)) else qsub (qmul h r) (qhalf (qsq h))
  | Quantile a => qmax (qmul a (qsub y t)) (qmul (qsub a q1) (qsub y t))
  | Hinge => qmax q0 (qsub q1 (qmul y t))
  | SquaredHinge => qhalf (qsq (qmax q0 (qsub q1 (qmul y t))))
  end.
Definition conjq k y u := let p := qmul (qopp y) u in match k with
  | Squared | Huber _ => qadd (qmul u y) (qhalf (qsq u))
  | Quantile _ => qmul u y
  | Hinge => qopp p
  | SquaredHinge => qadd (qopp p) (qhalf (qsq p))
  end.
Definition in_domain k y u := let p := qmul (qopp y) u in match k with
  | Squared => true
  | Huber h => qle (qabs u) h
  | Quantile a => qle (qopp a) u && qle u (qsub q1 a)
  | Hinge => [&& qeq (qsq y) q1, qle q0 p & qle p q1]
  | SquaredHinge => qeq (qsq y) q1 && qle q0 p
  end.

Section Program.
Variable f : file.
Definition d := size (cols f).
Definition tau := if hidden f is PenalizedBias t then t else q0.
Definition listed j := (nth (false, q0) (cols f) j).1.
Definition monotone j := (nth (false, q0) (cols f) j).2.
Definition penalized_bias n := if is_penalized (hidden f) then bias n else q0.
Definition free_bias n := if is_free (hidden f) then bias n else q0.
Definition seen s := rcons (xs s) tau.
Definition hidden_weights n := rcons (weights n) (penalized_bias n).

Definition well_formed := [&& all (fun s => size (xs s) == d) (samples f),
  all (fun n => size (weights n) == d) (neurons f) & size (theta_stored f) == d].
Definition positive := [&& qlt q0 (decay f), positive_part (constant f), positive_part (slope f) &
  (if hidden f is PenalizedBias t then qlt q0 t else true)].

(** Y1 *)
Definition in_one_column n := has (fun j => listed j &&
  all (fun i => (i == j) || qeq (coord (weights n) i) q0) (iota 0 d)) (iota 0 d).
Definition rising n := all (fun j => qle q0 (qmul (monotone j) (coord (weights n) j))) (iota 0 d).
Definition falling n := all (fun j => qle (qmul (monotone j) (coord (weights n) j)) q0) (iota 0 d).
Definition neuron_ok n := [&& in_one_column n, qle (head n) q0 || rising n &
  qle q0 (head n) || (~~ nonnegative f && falling n)].
Definition stored_in_class := [&& is_no_part (constant f) ==> qeq (c0_stored f) q0,
  is_no_part (slope f) ==> all (fun t => qeq t q0) (theta_stored f) & all neuron_ok (neurons f)].

(** Y4, Y5, Y6 *)
Definition sample_ok s := if qeq (weight s) q0 then qeq (dual s) q0
  else qlt q0 (weight s) && in_domain (kind f) (label s) (qdiv (dual s) (weight s)).
Definition sum_dual := qsum dual (samples f).
Definition moment j := qsum (fun s => qmul (dual s) (coord (xs s) j)) (samples f).
Definition equations := (is_free_part (constant f) || is_free (hidden f) ==> qeq sum_dual q0) &&
  (is_free_part (slope f) ==> all (fun j => qeq (moment j) q0) (iota 0 d)).

(** Y7 *)
Definition half_rows j (right plus : bool) := [seq (let z := coord (xs s) j in if right then z else qopp z,
  if plus then dual s else qopp (dual s)) | s <- samples f].
Definition half_ok j right plus := half_holds (hidden f) (decay f) (half_rows j right plus).
Definition column_ok j := let m := monotone j in listed j ==>
  [&& qle q0 m ==> half_ok j true false, qle m q0 ==> half_ok j false false,
      nonnegative f || (qle m q0 ==> half_ok j true true) & nonnegative f || (qle q0 m ==> half_ok j false true)].

(** Y12, Y13, Y2 *)
Definition outputq s := qadd (qadd (c0_stored f) (dotq (theta_stored f) (xs s)))
  (qsum (fun n => qmul (head n) (qmax q0 (qadd (dotq (hidden_weights n) (seen s)) (free_bias n)))) (neurons f)).
Definition objectiveq := qadd (qadd (qadd (qsum (fun s => qmul (weight s) (lossq (kind f) (label s) (outputq s))) (samples f))
  (qmul (qhalf (decay f)) (qsum (fun n => qadd (dotq (hidden_weights n) (hidden_weights n)) (qsq (head n))) (neurons f))))
  (costq (constant f) (qsq (c0_stored f)))) (costq (slope f) (dotq (theta_stored f) (theta_stored f))).
Definition conj_of s := if qeq (weight s) q0 then q0
  else qmul (weight s) (conjq (kind f) (label s) (qdiv (dual s) (weight s))).
Definition boundq := qsub (qsub (qopp (qsum conj_of (samples f))) (priceq (constant f) (qsq sum_dual)))
  (priceq (slope f) (qsum (fun j => qsq (moment j)) (iota 0 d))).

Definition check := [&& well_formed, positive, stored_in_class, all sample_ok (samples f), equations,
  all column_ok (iota 0 d), qle objectiveq (p_up f), qle (p_low f) boundq & qle (qsub (p_up f) (p_low f)) (gap f)].
End Program.

(** ** What the program's numbers mean in the field *)

Section Soundness.
Variables (R : rcfType) (f : file).
Local Notation r := (toR R).
Definition vec p (l : seq Q) : 'cV[R]_p := \col_j r (coord l j).
Definition s_nil := Sample [::] q0 q0 q0.
Definition n_nil := Neuron [::] q0 q0.
Definition n := size (samples f).
Definition k := size (neurons f).
Definition smp (i : 'I_n) := nth s_nil (samples f) i.
Definition nrn (l : 'I_k) := nth n_nil (neurons f) l.
Definition x i := vec (d f) (xs (smp i)).
Definition xh i := vec (d f).+1 (seen f (smp i)).
Definition part_of p : part R := match p with
  NoPart => Absent R | FreePart => Free R | PenalizedPart c => Penalized (r c) end.
Definition lossR (y t : R) := match kind f with
  | Squared => squared y t | Huber h => huber (r h) y t | Quantile a => quantile (r a) y t
  | Hinge => hinge y t | SquaredHinge => squared_hinge y t end.
Definition loss i t := r (weight (smp i)) * lossR (r (label (smp i))) t.

(** The class of networks: one column per neuron; sign of the head; monotone columns. *)
Definition at_column (j : 'I_(d f)) : 'I_(d f).+1 := widen_ord (leqnSn _) j.
Definition group : pred 'cV[R]_(d f).+1 := fun w =>
  [exists j : 'I_(d f), listed f j && [forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)]] &&
  (is_penalized (hidden f) || (w ord_max 0 == 0)).
Definition Wplus : pred 'cV[R]_(d f).+1 := fun w => [forall j : 'I_(d f), 0 <= r (monotone f j) * w (at_column j) 0].
Definition Wminus : pred 'cV[R]_(d f).+1 := fun w => ~~ nonnegative f &&
  [forall j : 'I_(d f), r (monotone f j) * w (at_column j) 0 <= 0].
Definition class m (N : network R (d f) (d f).+1 m) :=
  in_class (part_of (constant f)) (part_of (slope f)) (is_free (hidden f)) group
    (fun w v => (0 < v -> Wplus w) /\ (v < 0 -> Wminus w)) N.
Definition P m (N : network R (d f) (d f).+1 m) :=
  objective x xh (part_of (constant f)) (part_of (slope f)) loss (r (decay f)) N.
Definition stored : network R (d f) (d f).+1 k := Network (\col_(i < 1) r (c0_stored f)) (vec _ (theta_stored f))
  (fun l => r (head (nrn l))) (fun l => vec _ (hidden_weights f (nrn l))) (fun l => r (free_bias f (nrn l))).

Lemma sum_samples (F : sample -> R) : \sum_(i < n) F (smp i) = \sum_(s <- samples f) F s.
Proof. by rewrite (big_nth s_nil) big_mkord. Qed.
Lemma sum_neurons (F : neuron -> R) : \sum_(l < k) F (nrn l) = \sum_(m <- neurons f) F m.
Proof. by rewrite (big_nth n_nil) big_mkord. Qed.
Lemma dotE p a c : size a = p -> size c = p -> dot (vec p a) (vec p c) = r (dotq a c).
Proof.
move=> sa sc; rewrite /dotq toRsum (big_nth (q0, q0)) size1_zip ?sa ?sc // big_mkord; apply: eq_bigr => i _.
by rewrite !mxE nth_zip ?sa ?sc //= toRM.
Qed.
Lemma sum_iota p (F : nat -> R) : \sum_(j <- iota 0 p) F j = \sum_(j < p) F j.
Proof. by rewrite -[p in iota _ p]subn0 -/(index_iota 0 p) big_mkord. Qed.
Lemma all_iota (a : nat -> bool) p : all a (iota 0 p) -> forall j : 'I_p, a j.
Proof. by move=> /allP h j; apply: h; rewrite mem_iota add0n ltn_ord. Qed.

(** the sum of a neuron of column j *)
Definition u i := r (dual (smp i)).
Hypothesis formed : well_formed f.
Lemma size_xs i : size (xs (smp i)) = d f.
Proof. by case/and3P: formed => /all_nthP h _ _; apply/eqP/h. Qed.
Lemma size_weights l : size (weights (nrn l)) = d f.
Proof. by case/and3P: formed => _ /all_nthP h _; apply/eqP/h. Qed.
Lemma size_theta : size (theta_stored f) = d f. Proof. by case/and3P: formed => _ _ /eqP. Qed.
Lemma sum_in_column (j : 'I_(d f)) (w z : 'cV[R]_(d f).+1) :
  (forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)) ->
  dot w z = w (at_column j) 0 * z (at_column j) 0 + w ord_max 0 * z ord_max 0.
Proof.
move=> wj; rewrite /dot big_ord_recr /=; congr (_ + _); rewrite (bigD1 j) //= big1 ?addr0 // => i ij.
by have := wj i; rewrite (negbTE ij) => /eqP ->; rewrite mul0r.
Qed.
Lemma feature_column (j : 'I_(d f)) (w : 'cV[R]_(d f).+1) beta : (forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)) ->
  is_penalized (hidden f) || (w ord_max 0 == 0) -> is_free (hidden f) \/ beta = 0 ->
  feature xh u w beta = column_sum (bias_unit R (hidden f)) (map (pair_of R) (half_rows f j true true)) (w (at_column j) 0)
    (if is_penalized (hidden f) then w ord_max 0 else beta).
Proof.
move=> wj last fb; rewrite /column_sum /half_rows !big_map /= -sum_samples; apply: eq_bigr => i _.
congr (_ * relu _); rewrite (sum_in_column _ wj) !mxE /= /coord !nth_rcons size_xs ltn_ord ltnn eqxx mulrC -addrA; congr (_ + _).
rewrite /tau; move: last fb; case: (hidden f) => [||t] /= last fb.
- by rewrite toR0 mulr0 add0r mul1r.
- by rewrite toR0 mulr0 add0r mul1r.
by case: fb => // ->; rewrite addr0 mulrC.
Qed.
Lemma len_column (j : 'I_(d f)) (w : 'cV[R]_(d f).+1) : (forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)) ->
  len w = Num.sqrt (w (at_column j) 0 ^+ 2 + w ord_max 0 ^+ 2).
Proof. by move=> wj; rewrite /len /sq (sum_in_column _ wj) !expr2. Qed.
Lemma half_rows_of j right plus : map (pair_of R) (half_rows f j right plus) =
  [seq ((-1) ^+ (~~ right) * zu.1, (-1) ^+ (~~ plus) * zu.2) | zu <- map (pair_of R) (half_rows f j true true)].
Proof.
rewrite -!map_comp; apply: eq_map => s; rewrite /pair_of /=.
by case: right; case: plus; rewrite /= ?toRN ?expr0 ?expr1 ?mul1r ?mulN1r.
Qed.
Lemma half_feature (j : 'I_(d f)) right plus (w : 'cV[R]_(d f).+1) beta : positive f -> half_ok f j right plus ->
  (forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)) ->
  is_penalized (hidden f) || (w ord_max 0 == 0) -> is_free (hidden f) \/ beta = 0 ->
  0 <= (-1) ^+ (~~ right) * w (at_column j) 0 -> (-1) ^+ (~~ plus) * feature xh u w beta <= r (decay f) * len w.
Proof.
move=> pos ok wj last fb side; rewrite (feature_column wj last fb); set w1 := if _ then _ else _.
have none : hidden f = NoBias -> w1 = 0 by move=> e; case: fb; rewrite /w1 e //= => ->.
have b0 : 0 < r (decay f) by case/and4P: pos => b0 _ _ _; rewrite -toR0 -qltE.
have t0 : is_true (if hidden f is PenalizedBias t then 0 < r t else true).
  by case/and4P: pos => _ _ _; case: (hidden f) => // t; rewrite (qltE R) toR0.
have := half_sound b0 t0 ok side none; rewrite half_rows_of.
have -> : forall t l a c e s, column_sum t [seq ((-1) ^+ s * zu.1, (-1) ^+ e * zu.2) | zu <- l] ((-1) ^+ s * a) c
    = (-1) ^+ e * @column_sum R t l a c.
  move=> t l a c e s; rewrite /column_sum big_map mulr_sumr; apply: eq_bigr => zu _ /=.
  by rewrite mulrACA -expr2 sqrr_sign mul1r mulrA.
move=> h; apply: le_trans h _; rewrite (len_column wj) ler_wpmul2l ?(ltW b0) //.
rewrite /weight_size /w1; case: (hidden f) last => [||t] /= last; last by rewrite exprMn sqrr_sign mul1r.
  by move/eqP: last => ->; rewrite expr0n addr0 sqrtr_sqr -[X in X <= _](ger0_norm side) normrM normr_sign mul1r.
by move/eqP: last => ->; rewrite expr0n addr0 sqrtr_sqr -[X in X <= _](ger0_norm side) normrM normr_sign mul1r.
Qed.

Hypotheses (pos : positive f) (cols_ok : all (column_ok f) (iota 0 (d f))).
Lemma decay_gt0 : 0 < r (decay f). Proof. by case/and4P: pos => b0 _ _ _; rewrite -toR0 -qltE. Qed.
Lemma half_needed (j : 'I_(d f)) (plus : bool) (w : 'cV[R]_(d f).+1) (beta : R) : (plus -> ~~ nonnegative f) ->
  (if plus then r (monotone f j) * w (at_column j) 0 <= 0 else 0 <= r (monotone f j) * w (at_column j) 0) ->
  listed f j -> (forall i : 'I_(d f), (i == j) || (w (at_column i) 0 == 0)) ->
  is_penalized (hidden f) || (w ord_max 0 == 0) -> is_free (hidden f) \/ beta = 0 ->
  (-1) ^+ (~~ plus) * feature xh u w beta <= r (decay f) * len w.
Proof.
move=> nn side lj wj last fb; have := all_iota cols_ok j; rewrite /column_ok lj /= !(qleE R) toR0.
set m := r (monotone f j) in side *; set t := w (at_column j) 0 in side *.
case/and4P=> pr pl mr ml; pose use right ok := half_feature (right := right) (plus := plus) pos ok wj last fb.
case: plus nn side @use => [/(_ isT) nn|_] side use; rewrite ?(negbTE nn) /= in mr ml.
- have [t0|t0] := leP 0 t; [have [m0|m0] := leP m 0 | have [m0|m0] := leP 0 m].
  + by apply: (use true); rewrite ?(implyP mr) //= expr0 mul1r.
  + have t1 : t = 0 by apply/eqP; rewrite eq_le t0 andbT -(pmulr_rle0 _ m0).
    by apply: (use false); rewrite ?(implyP ml) ?(ltW m0) //= expr1 mulN1r oppr_ge0 -/t t1.
  + by apply: (use false); rewrite ?(implyP ml) //= expr1 mulN1r oppr_ge0 ltW.
  + by move: side; rewrite leNgt nmulr_rgt0 // t0.
have [t0|t0] := leP 0 t; [have [m0|m0] := leP 0 m | have [m0|m0] := leP m 0].
- by apply: (use true); rewrite ?(implyP pr) //= expr0 mul1r.
- have t1 : t = 0 by apply/eqP; rewrite eq_le t0 andbT -(nmulr_rge0 _ m0).
  by apply: (use false); rewrite ?(implyP pl) ?(ltW m0) //= expr1 mulN1r oppr_ge0 -/t t1.
- by apply: (use false); rewrite ?(implyP pl) //= expr1 mulN1r oppr_ge0 ltW.
- by move: side; rewrite leNgt pmulr_rlt0 // t0.
Qed.
Lemma at_most_decay (w : 'cV[R]_(d f).+1) (a : R) : a <= r (decay f) * len w -> sq w <= 1 -> a <= r (decay f).
Proof.
move=> h w1; apply: le_trans h _; rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?(ltW decay_gt0) //.
by rewrite len_le ?ler01 // expr1n.
Qed.
Lemma H_plus : H_le_on xh (is_free (hidden f)) group (r (decay f)) u Wplus (-1).
Proof.
move=> w beta /andP[/existsP[j /andP[lj /forallP wj]] last] /forallP/(_ j) side w1 fb.
by apply: at_most_decay w1; have := half_needed (plus := false) (fun h => ltac:(by [])) side lj wj last fb; rewrite expr1.
Qed.
Lemma H_minus : H_le_on xh (is_free (hidden f)) group (r (decay f)) u Wminus 1.
Proof.
move=> w beta /andP[/existsP[j /andP[lj /forallP wj]] last] /andP[nn /forallP/(_ j) side] w1 fb.
by apply: at_most_decay w1; have := half_needed (plus := true) (fun _ => nn) side lj wj last fb; rewrite expr0.
Qed.

Hypothesis duals_ok : all (sample_ok f) (samples f).
Lemma lossE y t : r (lossq (kind f) y t) = lossR (r y) (r t).
Proof.
rewrite /lossR /lossq; case: (kind f) => [|h|a||]; rewrite ?toRE //.
- by rewrite /huber (qleE R) toRabs toRB; case: ifP => _; rewrite !toRE.
Qed.
Lemma domain i t : u i * t - r (conj_of f (smp i)) <= loss i t.
Proof.
have := all_nthP s_nil duals_ok i (ltn_ord i); rewrite -/(smp i) /sample_ok /conj_of /loss /u !(qeqE R).
case: ifP => [/eqP -> /eqP -> | w0 /andP[wp dom]]; first by rewrite !toR0 !mul0r subr0.
have wp' : 0 < r (weight (smp i)) by rewrite -toR0 -qltE.
rewrite toRM; set om := r (weight _) in wp' *; set y := label _ in dom *; set q := qdiv _ _ in dom *.
have -> : r (dual (smp i)) = om * r q by rewrite /q toRdiv mulrC divfK ?gt_eqF.
apply: conjugate_weighted (ltW wp') _ t => {}t; move: dom; rewrite /lossR /conjq /in_domain.
case: (kind f) => [|h|a||]; rewrite ?(qleE R) ?(qeqE R) !toRE.
- by move=> _; apply: conjugate_squared.
- exact: conjugate_huber.
- by case/andP; apply: conjugate_quantile.
- by case/and3P => /eqP y1 p0 p1; apply: conjugate_hinge.
- by case/andP => /eqP y1 p0; apply: conjugate_squared_hinge.
Qed.

Lemma sum_u : \sum_i u i = r (sum_dual f). Proof. by rewrite /sum_dual toRsum -sum_samples. Qed.
Lemma sum_ux (j : 'I_(d f)) : (\sum_i u i *: x i) j 0 = r (moment f j).
Proof.
rewrite summxE /moment toRsum -sum_samples; apply: eq_bigr => i _.
by rewrite !mxE toRM.
Qed.
Lemma range_of p : positive_part p -> in_range (part_of p).
Proof. by case: p => //= c; rewrite (qltE R) toR0. Qed.
Lemma cost_of p a : cost (part_of p) (r a) = r (costq p a).
Proof. by case: p => [||c] /=; rewrite ?toRE. Qed.
Lemma price_of p a : price (part_of p) (r a) = r (priceq p a).
Proof. by case: p => [||c] /=; rewrite ?toRE. Qed.

Lemma objective_stored : P stored = r (objectiveq f).
Proof.
rewrite /P /objective /objectiveq ![r (qadd _ _)]toRD -!cost_of; congr (_ + _ + cost _ _ + cost _ _).
- rewrite toRsum -sum_samples; apply: eq_bigr => i _; rewrite /loss toRM lossE; congr (_ * lossR _ _).
  rewrite /output /outputq ![r (qadd _ _)]toRD toRsum -sum_neurons /= mxE dotE ?size_theta ?size_xs //; congr (_ + _).
  apply: eq_bigr => l _; rewrite toRM toRmax toR0 toRD dotE ?size_rcons ?size_weights ?size_xs //.
- rewrite toRM toRhalf toRsum -sum_neurons; congr (_ * _); apply: eq_bigr => l _.
  by rewrite /= toRD toRsq /sq dotE ?size_rcons ?size_weights.
- by rewrite /= /sq /dot big_ord1 !mxE toRM.
- by rewrite /= /sq dotE ?size_theta.
Qed.
Lemma bound_of : D x (part_of (constant f)) (part_of (slope f)) u (fun i => r (conj_of f (smp i))) = r (boundq f).
Proof.
rewrite /D /boundq ![r (qsub _ _)]toRB -!price_of toRN toRsum -(sum_samples (fun s => r (conj_of f s))) sum_u toRsq.
congr (_ - _ - price _ _); rewrite toRsum sum_iota; apply: eq_bigr => j _.
by rewrite toRsq -sum_ux expr2.
Qed.

Lemma stored_class : stored_in_class f -> class stored.
Proof.
case/and3P=> c0P thP nP.
have ok l : neuron_ok f (nrn l) by apply: all_nthP nP _ (ltn_ord l).
have entry l (j : 'I_(d f)) : w stored l (at_column j) 0 = r (coord (weights (nrn l)) j).
  by rewrite mxE /coord /hidden_weights nth_rcons size_weights /= ltn_ord.
split.
- by case: (constant f) c0P => //=; rewrite (qeqE R) toR0 => /eqP e; apply/colP => i; rewrite !mxE.
- case: (slope f) thP => //= h; apply/colP => i; rewrite !mxE.
  have /allP := h => /(_ (coord (theta_stored f) i)); rewrite (qeqE R) toR0 => z.
  by apply/eqP/z/mem_nth; rewrite size_theta.
- move=> l; case/and3P: (ok l) => /hasP[j]; rewrite mem_iota add0n => /andP[_ jd] /andP[lj /allP other] _ _.
  apply/andP; split.
    apply/existsP; exists (Ordinal jd); rewrite lj; apply/forallP => i; rewrite entry.
    by have := other i; rewrite mem_iota add0n ltn_ord (qeqE R) toR0 => /(_ isT).
  rewrite mxE /coord /hidden_weights nth_rcons size_weights ltnn eqxx /penalized_bias.
  by case: is_penalized => //=; rewrite toR0.
- move=> l; case/and3P: (ok l) => _; rewrite !(qleE R) toR0 => up down; split => /= v0.
    move: up; rewrite leNgt v0 /= => up; apply/forallP => j; rewrite entry -toRM -toR0 -qleE.
    exact: all_iota up j.
  move: down; rewrite leNgt v0 /= => /andP[nn down]; apply/andP; split=> //; apply/forallP => j.
  by rewrite entry -toRM -toR0 -qleE; apply: all_iota down j.
- by case e : (is_free (hidden f)); [left | right => l; rewrite /= /free_bias e toR0].
Qed.
End Soundness.

(** ** The program is sound: the stored network is in the class, its objective is at most p_up, every network of the
    class, of any width m, has at least p_low, and the difference of the two is at most gap. *)
Theorem checker_sound (R : rcfType) (f : file) : check f ->
  [/\ class (stored R f), P (stored R f) <= toR R (p_up f),
      forall m (N : network R (d f) (d f).+1 m), class N -> toR R (p_low f) <= P N
    & forall m (N : network R (d f) (d f).+1 m), class N -> P (stored R f) - P N <= toR R (gap f)].
Proof.
case/and5P=> formed pos st dok /and5P[eqs cok up low g].
have up' : P (stored R f) <= toR R (p_up f) by rewrite objective_stored // -qleE.
have below m (N : network R (d f) (d f).+1 m) : class N -> toR R (p_low f) <= P N.
  move=> inN; have low' : toR R (p_low f) <= toR R (boundq f) by rewrite -qleE.
  apply: le_trans low' _; rewrite -bound_of.
  case/and4P: (pos) => _ pc ps _; case/andP: eqs => e1 e2.
  apply: (R7_a (hidden_free := is_free (hidden f)) (group := group (R := R) (f := f)) _ (decay_gt0 R pos) _ _ (domain (R := R) dok) _ _
    (Wplus := Wplus (R := R) (f := f)) (Wminus := Wminus (R := R) (f := f)) _ _ _ _ inN).
  - move=> c w c0 /andP[/existsP[j /andP[lj /forallP wj]] last]; apply/andP; split.
      apply/existsP; exists j; rewrite lj; apply/forallP => i; rewrite mxE.
      by case/orP: (wj i) => [->//|/eqP ->]; rewrite mulr0 eqxx orbT.
    by case/orP: last => [->//|/eqP e]; rewrite mxE e mulr0 eqxx orbT.
  - exact: range_of.
  - exact: range_of.
  - move=> free; rewrite sum_u; apply/eqP; rewrite -(toR0 R) -qeqE; apply: (implyP e1).
    by case: free => [|->]; rewrite ?orbT //; case: (constant f).
  - move=> free; apply/colP => j; rewrite sum_ux // mxE; apply/eqP; rewrite -(toR0 R) -qeqE.
    have h : all (fun i => qeq (moment f i) q0) (iota 0 (d f)) by apply: (implyP e2); case: (slope f) free.
    exact: (all_iota h j).
  - move=> c w c0 /forallP h; apply/forallP => j; rewrite mxE mulrCA mulr_ge0 //; exact: h.
  - move=> c w c0 /andP[nn /forallP h]; apply/andP; split=> //; apply/forallP => j.
    by rewrite mxE mulrCA mulr_ge0_le0 //; exact: h.
  - exact: H_plus.
  - exact: H_minus.
split=> // [|m N inN]; first exact: stored_class.
have := below m N inN; have : toR R (p_up f) - toR R (p_low f) <= toR R (gap f) by rewrite -toRB -qleE.
move=> h1 h2; by_sum ((toR R (gap f) - (toR R (p_up f) - toR R (p_low f))) + (toR R (p_up f) - P (stored R f)) + (P N - toR R (p_low f))).
Qed.
