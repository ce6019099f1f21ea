(** * Reports for several audiences

    A cascade draws the report of the least private audience from the truth, and every other one from the report before it
    alone. Over any ordered field, for every n and every 0 < a < b < 1: the step [step a b] is a channel, and it leads from
    geometric noise of level a to that of level b. So every audience sees geometric noise of its own level, and what a coalition sees
    together is the report of its least private member, followed by a channel that does not know the truth. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum ring.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Cascade.
Variables (R : realFieldType) (n : nat).

(** Places are 0..n, with n >= 1. *)
Hypothesis n1 : (0 < n)%N.

Definition at_end (j : nat) : bool := (j == 0%N) || (j == n).
Definition apart (i j : nat) : nat := ((i - j) + (j - i))%N.

(** Geometric noise of level [a], cut off at the ends. *)
Definition share (a : R) (j : nat) : R := if at_end j then 1 / (1 + a) else (1 - a) / (1 + a).
Definition noise (a : R) (i j : nat) : R := share a j * a ^+ apart i j.

(** A step from level [a] to level [b] keeps the report with this probability, and else adds fresh noise of level [b]. *)
Definition keep (a b : R) (j : nat) : R := if at_end j then a / b * ((1 - b) / (1 - a)) else a / b * ((1 - b) / (1 - a)) ^+ 2.
Definition step (a b : R) (j l : nat) : R := (if j == l then keep a b j else 0) + (1 - keep a b j) * noise b j l.

Section Level.
Variable a : R.
Hypotheses (a0 : 0 < a) (a1 : a < 1).

Lemma a_ne : 1 - a != 0. Proof. by rewrite lt0r_neq0 // subr_gt0. Qed.
Lemma a_ne' : 1 + a != 0. Proof. by rewrite lt0r_neq0 // addr_gt0 ?ltr01. Qed.

(** The inverse of the noise, applied to a function of the places. *)
Definition inverse (f : nat -> R) (j : nat) : R :=
  if j == 0%N then (f 0%N - a * f 1%N) / (1 - a)
  else if j == n then (f n - a * f n.-1) / (1 - a)
  else ((1 + a ^+ 2) * f j - a * f j.-1 - a * f j.+1) / (1 - a) ^+ 2.

(** What stands before place [i] and at it, and what stands after it. *)
Lemma left_part f i : (i < n)%N ->
  \sum_(0 <= j < i.+1) a ^+ (i - j) * (share a j * inverse f j) * (1 - a ^+ 2) = f i - a * f i.+1.
Proof.
have x := a_ne; have y := a_ne'.
elim: i => [|i IH] hi.
  rewrite big_nat1 /share /inverse /at_end /= subn0; field; by rewrite x y.
rewrite big_nat_recr //= subnn expr0 mul1r.
have -> : \sum_(0 <= j < i.+1) a ^+ (i.+1 - j) * (share a j * inverse f j) * (1 - a ^+ 2) = a * (f i - a * f i.+1).
  rewrite -IH; last exact: ltnW.
  by rewrite big_distrr /= !big_nat; apply: eq_bigr => j hj; rewrite subSn // exprS -!mulrA.
rewrite /share /inverse /at_end /= (ltn_eqF hi); field; by rewrite x y.
Qed.

Lemma right_part f k : (k < n)%N ->
  \sum_(n - k <= j < n.+1) a ^+ (j - (n - k)) * (share a j * inverse f j) * (1 - a ^+ 2) = f (n - k)%N - a * f (n - k).-1.
Proof.
have x := a_ne; have y := a_ne'.
have n0 : (n == 0%N) = false by apply: gtn_eqF.
elim: k => [|k IH] hk.
  rewrite subn0 big_nat1 subnn expr0 mul1r /share /inverse /at_end n0 eqxx orbT; field; by rewrite x y.
have e : (n - k)%N = (n - k.+1).+1 by rewrite -subSn ?subSS // ltnW.
have lt : (n - k.+1 < n.+1)%N by apply: leq_ltn_trans (leq_subr _ _) (ltnSn n).
have m0 : (n - k.+1 == 0)%N = false by apply: gtn_eqF; rewrite subn_gt0.
have mn : (n - k.+1 == n)%N = false by apply: ltn_eqF; rewrite ltn_subrL /=.
rewrite (big_ltn lt) subnn expr0 mul1r -e.
have -> : \sum_(n - k <= j < n.+1) a ^+ (j - (n - k.+1)) * (share a j * inverse f j) * (1 - a ^+ 2) = a * (f (n - k)%N - a * f (n - k).-1).
  rewrite -IH; last exact: ltnW.
  rewrite big_distrr /= !big_nat; apply: eq_bigr => j /andP [hj _].
  by rewrite e in hj *; rewrite (_ : j - (n - k.+1) = (j - (n - k.+1).+1).+1)%N; [rewrite exprS -!mulrA | rewrite -subSn ?subSS].
rewrite /share /inverse /at_end m0 mn /= e /=; field; by rewrite x y.
Qed.

(** Noise undoes its inverse. *)
Lemma noise_inverse f i : (i <= n)%N -> \sum_(0 <= j < n.+1) noise a i j * inverse f j = f i.
Proof.
move=> hi; have z : 1 - a ^+ 2 != 0 by rewrite -[1](expr1n _ 2) subr_sqr mulf_neq0 ?a_ne ?a_ne'.
apply: (mulIf z); rewrite big_distrl /=.
case: (ltngtP i n) hi => // [lt _|-> _]; last first.
  rewrite big_nat_recr //=.
  have -> : \sum_(0 <= j < n) noise a n j * inverse f j * (1 - a ^+ 2) = a * (f n.-1 - a * f n).
    have := @left_part f n.-1; rewrite prednK // => <- //.
    rewrite big_distrr /= !big_nat; apply: eq_bigr => j /andP [_ hj].
    have hj' : (j <= n.-1)%N by rewrite -ltnS prednK.
    rewrite /noise /apart (eqP (ltnW hj : (j - n == 0)%N)) addn0.
    rewrite (_ : n - j = (n.-1 - j).+1)%N ?exprS; last by rewrite -subSn // prednK.
    by ring.
  have x := a_ne; have y := a_ne'; rewrite /noise /apart subnn /share /inverse /at_end eqxx orbT (gtn_eqF n1) /=; field; by rewrite x y.
have cut : (i.+1 <= n.+1)%N by exact: ltnW.
rewrite (big_cat_nat _ _ _ _ cut) //=.
have -> : \sum_(0 <= j < i.+1) noise a i j * inverse f j * (1 - a ^+ 2) = f i - a * f i.+1.
  rewrite -left_part // !big_nat; apply: eq_bigr => j /andP [_ hj]; rewrite ltnS in hj.
  rewrite /noise /apart (eqP (hj : (j - i == 0)%N)) addn0; ring.
have -> : \sum_(i.+1 <= j < n.+1) noise a i j * inverse f j * (1 - a ^+ 2) = a * (f i.+1 - a * f i).
  have e : (n - (n - i.+1))%N = i.+1 by rewrite subKn.
  have := @right_part f (n - i.+1); rewrite e => <-; last by rewrite ltn_subrL /=.
  rewrite big_distrr /= !big_nat; apply: eq_bigr => j /andP [hj _].
  rewrite /noise /apart (eqP (ltnW hj : (i - j == 0)%N)) add0n.
  rewrite (_ : j - i = (j - i.+1).+1)%N ?exprS; last by rewrite -subSn ?subSS.
  by ring.
by ring.
Qed.

(** Theorem 5.1: noise is a channel. *)
Theorem noise_channel i : (i <= n)%N -> (forall j, 0 <= noise a i j) /\ \sum_(0 <= j < n.+1) noise a i j = 1.
Proof.
move=> hi; split=> [j|].
  apply: mulr_ge0; last by rewrite exprn_ge0 // ltW.
  have d : 0 <= 1 + a by rewrite addr_ge0 ?ler01 // ltW.
  by rewrite /share; case: ifP => _; apply: divr_ge0 => //; rewrite ?ler01 // subr_ge0 ltW.
rewrite -[RHS](@noise_inverse (fun=> 1) i) //; apply: eq_bigr => j _.
have x := a_ne; have -> : inverse (fun=> 1) j = 1; last by rewrite mulr1.
by rewrite /inverse; case: ifP => _; [|case: ifP => _]; field.
Qed.
End Level.

Lemma apart_left l d : apart (l + d) l = d.
Proof. by rewrite /apart addKn subnDA subnn sub0n addn0. Qed.

Lemma apart_right i d : apart i (i + d) = d.
Proof. by rewrite /apart addKn subnDA subnn sub0n. Qed.

Lemma apart_self i : apart i i = 0%N.
Proof. by rewrite /apart subnn. Qed.

Section Step.
Variables a b : R.
Hypotheses (a0 : 0 < a) (a1 : a < 1) (b0 : 0 < b) (b1 : b < 1).

(** The step is what the inverse of noise [a] makes of noise [b]. *)
Lemma step_inverse j l : (j <= n)%N -> (l <= n)%N -> inverse a (fun i => noise b i l) j = step a b j l.
Proof.
move=> hj hl; have x := a_ne a1; have y := a_ne' b0; have z : b != 0 by rewrite lt0r_neq0.
have n0 : (n == 0)%N = false by apply: gtn_eqF.
rewrite /inverse /step /keep /noise; case: (ltngtP j l) => [lt|lt|<-].
- (* the report lies above *)
  have [d e] : exists d, l = (j + d.+1)%N by exists (l - j).-1; rewrite prednK ?subn_gt0 // subnKC // ltnW.
  have jn : (j == n) = false by apply: ltn_eqF; apply: leq_trans hl.
  rewrite /at_end jn orbF; case: eqP => [j0|/eqP j0].
    have -> : apart 0 l = d.+1 by rewrite e j0 add0n -{2}(add0n d.+1) apart_right.
    have -> : apart 1 l = d by rewrite e j0 add0n -add1n apart_right.
    have -> : apart j l = d.+1 by rewrite e apart_right.
    rewrite !exprS; field; by rewrite x z.
  have -> : apart j l = d.+1 by rewrite e apart_right.
  have -> : apart j.+1 l = d by rewrite e addnS -addSn apart_right.
  have -> : apart j.-1 l = d.+2.
    by rewrite e -{2}(prednK (_ : (0 < j)%N)) ?lt0n // addSn -addnS apart_right.
  rewrite !exprS; field; by rewrite x z.
- (* the report lies below *)
  have [d e] : exists d, j = (l + d.+1)%N by exists (j - l).-1; rewrite prednK ?subn_gt0 // subnKC // ltnW.
  have j0 : (j == 0)%N = false by rewrite e addnS.
  have E1 : apart j l = d.+1 by rewrite e apart_left.
  have E2 : apart j.-1 l = d by rewrite e addnS /= apart_left.
  have E3 : apart j.+1 l = d.+2 by rewrite e -addnS apart_left.
  rewrite /at_end j0 /=; case: eqP => jn.
    have -> : apart n l = d.+1 by rewrite -jn.
    have -> : apart n.-1 l = d by rewrite -jn.
    rewrite E1 !exprS; field; by rewrite x z.
  rewrite E1 E2 E3 !exprS; field; by rewrite x z.
- rewrite ?eqxx apart_self expr0 /share /at_end; case: eqP => [j0|/eqP j0] /=.
    have -> : apart 0 j = 0%N by rewrite j0.
    have -> : apart 1 j = 1%N by rewrite j0.
    rewrite expr0 expr1; field; by rewrite x y z.
  have E : apart j.-1 j = 1%N by rewrite -{2}(prednK (_ : (0 < j)%N)) ?lt0n // -addn1 apart_right.
  have F : apart j.+1 j = 1%N by rewrite -addn1 apart_left.
  case: eqP => jn.
    have -> : apart n j = 0%N by rewrite -jn apart_self.
    have -> : apart n.-1 j = 1%N by rewrite -jn.
    rewrite expr0 expr1; field; by rewrite x y z.
  rewrite E F expr1; field; by rewrite x y z.
Qed.

(** Theorem 5.2: the step leads from noise of level [a] to noise of level [b]: G_a T = G_b. *)
Theorem step_leads i l : (i <= n)%N -> (l <= n)%N -> \sum_(0 <= j < n.+1) noise a i j * step a b j l = noise b i l.
Proof.
move=> hi hl; rewrite -[RHS](noise_inverse a0 a1 (fun k => noise b k l) hi) !big_nat.
by apply: eq_bigr => j /andP [_ hj]; rewrite step_inverse.
Qed.

Lemma keep_bounds j : a <= b -> 0 <= keep a b j <= 1.
Proof.
move=> ab; have u : 0 < 1 - a by rewrite subr_gt0. have v : 0 <= 1 - b by rewrite subr_ge0 ltW.
have p : 0 <= a / b <= 1 by apply/andP; split; [apply: divr_ge0; exact: ltW | rewrite ler_pdivr_mulr // mul1r].
have q : 0 <= (1 - b) / (1 - a) <= 1.
  by apply/andP; split; [apply: divr_ge0 => //; exact: ltW | rewrite ler_pdivr_mulr // mul1r ler_add2l ler_opp2].
have times (s t : R) : 0 <= s <= 1 -> 0 <= t <= 1 -> 0 <= s * t <= 1.
  by move=> /andP [s0 s1] /andP [t0 t1]; rewrite mulr_ge0 //= mulr_ile1.
by rewrite /keep; case: ifP => _; rewrite ?expr2; [exact: (times _ _ p q) | exact: (times _ _ p (times _ _ q q))].
Qed.

(** Theorem 5.3: and it is a channel, where the second level is at least as private: T >= 0. *)
Theorem step_channel j : a <= b -> (j <= n)%N ->
  (forall l, 0 <= step a b j l) /\ \sum_(0 <= l < n.+1) step a b j l = 1.
Proof.
move=> ab hj; have /andP [k0 k1] := keep_bounds j ab; have [g0 g1] := noise_channel b0 b1 hj.
split=> [l|].
  by apply: addr_ge0; [case: ifP | apply: mulr_ge0; rewrite ?subr_ge0].
rewrite /step big_split /= -big_distrr /= g1 mulr1.
rewrite big_mkord (bigD1 (Ordinal (hj : (j < n.+1)%N))) //= eqxx big1 ?addr0; first by rewrite addrC subrK.
move=> l ne; case: eqP => // e; case/negP: ne; apply/eqP/val_inj; exact: esym.
Qed.
End Step.

(** ** Coalitions *)

(** Levels from the least private on, and of each whether its audience is in the coalition. Given that the report of level [a]
    is [r]: the probability of what the coalition sees of the levels after it. The truth does not occur in it. *)
Fixpoint told (a : R) (r : nat) (levels : seq (R * bool)) (seen : seq nat) : R :=
  match levels, seen with
  | [::], [::] => 1
  | [::], _ => 0
  | (b, true) :: rest, s :: seen' => step a b r s * told b s rest seen'
  | (b, true) :: rest, [::] => 0
  | (b, false) :: rest, _ => \sum_(0 <= s < n.+1) step a b r s * told b s rest seen
  end.

(** The probability of what the coalition sees, under the true value [x]. *)
Definition coalition (x : nat) (levels : seq (R * bool)) (seen : seq nat) : R :=
  match levels, seen with
  | (a, true) :: rest, r :: seen' => noise a x r * told a r rest seen'
  | (a, true) :: rest, [::] => 0
  | (a, false) :: rest, _ => \sum_(0 <= r < n.+1) noise a x r * told a r rest seen
  | [::], _ => if seen is [::] then 1 else 0
  end.

Definition is_level (a : R) : Prop := 0 < a /\ a < 1.

Lemma hidden_levels x a (hidden : seq R) b rest r seen : (x <= n)%N -> (r <= n)%N ->
  is_level a -> (forall c, c \in hidden -> is_level c) -> is_level b ->
  \sum_(0 <= s < n.+1) noise a x s * told a s ([seq (c, false) | c <- hidden] ++ (b, true) :: rest) (r :: seen) =
  noise b x r * told b r rest seen.
Proof.
move=> hx hr; elim: hidden a => [|c hidden IH] a [a0 a1] hh [b0 b1] /=.
  under eq_bigr => s _ do rewrite mulrA.
  by rewrite -big_distrl /= step_leads.
have [c0 c1] : is_level c by apply: hh; rewrite inE eqxx.
rewrite -(IH c) //; last by move=> d hd; apply: hh; rewrite inE hd orbT.
under eq_bigr => s _ do rewrite big_distrr /=.
rewrite exchange_big /= !big_nat; apply: eq_bigr => t /andP [_ ht].
under eq_bigr => s _ do rewrite mulrA.
by rewrite -big_distrl /= step_leads.
Qed.

(** Theorem 5.4: what a coalition sees is the report of its least private member, geometric noise of its level, followed by
    something that does not depend on the truth: G_a(x, r) K(r, ...). *)
Theorem coalition_law x (hidden : seq R) a rest r seen : (x <= n)%N -> (r <= n)%N ->
  (forall c, c \in hidden -> is_level c) -> is_level a ->
  coalition x ([seq (c, false) | c <- hidden] ++ (a, true) :: rest) (r :: seen) = noise a x r * told a r rest seen.
Proof.
case: hidden => [|c hidden] //= hx hr hh ha.
apply: hidden_levels => //; last by move=> d hd; apply: hh; rewrite inE hd orbT.
by apply: hh; rewrite inE eqxx.
Qed.

(** Levels that rise from [a] on. *)
Fixpoint rising (a : R) (levels : seq (R * bool)) : Prop :=
  if levels is (b, _) :: rest then a <= b /\ b < 1 /\ rising b rest else True.

Lemma told_ge0 a r levels seen : 0 < a -> a < 1 -> rising a levels -> (r <= n)%N -> all (leq^~ n) seen -> 0 <= told a r levels seen.
Proof.
elim: levels a r seen => [|[b shown] levels IH] a r seen a0 a1 /=; first by move=> _ _ _; case: seen => *; rewrite ?ler01.
move=> [ab [b1 h]] hr hs; have b0 : 0 < b by apply: lt_le_trans ab.
have [ge _] := step_channel a0 a1 b0 b1 ab hr.
case: shown.
  by case: seen hs => [|s seen] //= /andP [hs hss]; apply: mulr_ge0 => //; apply: IH.
have : 0 <= \sum_(0 <= s < n.+1) step a b r s * told b s levels seen.
  by rewrite big_nat; apply: sumr_ge0 => s /andP [_ hs']; apply: mulr_ge0 => //; apply: IH.
by case: seen {hs}.
Qed.

(** What follows is a channel: none of its probabilities is negative (above), to sum over what one audience sees is to leave it
    out, and with all left out 1 remains. *)
Theorem told_hides a r b rest seen :
  \sum_(0 <= s < n.+1) told a r ((b, true) :: rest) (s :: seen) = told a r ((b, false) :: rest) seen.
Proof. by case: seen. Qed.

Theorem told_total a r (levels : seq R) : 0 < a -> a < 1 -> (r <= n)%N -> rising a [seq (c, false) | c <- levels] ->
  told a r [seq (c, false) | c <- levels] [::] = 1.
Proof.
elim: levels a r => [|b levels IH] a r a0 a1 hr //= [ab [b1 h]]; have b0 : 0 < b by apply: lt_le_trans ab.
have [_ one] := step_channel a0 a1 b0 b1 ab hr; rewrite -[RHS]one !big_nat.
by apply: eq_bigr => s /andP [_ hs]; rewrite IH // mulr1.
Qed.

Lemma noise_private a x y r : 0 < a -> a < 1 -> (apart x y <= 1)%N -> a * noise a x r <= noise a y r.
Proof.
move=> a0 a1 near; rewrite /noise mulrCA.
have s0 : 0 <= share a r.
  have d : 0 <= 1 + a by rewrite addr_ge0 ?ler01 // ltW.
  by rewrite /share; case: ifP => _; apply: divr_ge0 => //; rewrite ?ler01 // subr_ge0 ltW.
rewrite ler_wpmul2l // -exprS; apply: ler_wiexpn2l; rewrite ?ltW //.
apply/ssrnat.leP; move/ssrnat.leP: near; rewrite /apart -!plusE -!minusE; lia.
Qed.

(** Theorem 5.5: so all that a coalition sees together is as private as the report of its least private member alone. *)
Theorem coalition_private x y (hidden : seq R) a rest r seen :
  (x <= n)%N -> (y <= n)%N -> (apart x y <= 1)%N -> all (leq^~ n) (r :: seen) ->
  (forall c, c \in hidden -> is_level c) -> is_level a -> rising a rest ->
  let levels := [seq (c, false) | c <- hidden] ++ (a, true) :: rest in
  a * coalition x levels (r :: seen) <= coalition y levels (r :: seen).
Proof.
move=> hx hy near /= /andP [hr hs] hh ha hrise; have [a0 a1] := ha.
rewrite !coalition_law // mulrA; apply: ler_wpmul2r; first exact: told_ge0.
exact: noise_private.
Qed.
(** ** Which mechanisms are remaps of geometric noise *)

(** A column, the probabilities of one report over the true values, that curves no more than geometric noise allows. *)
Definition curved (a : R) (x : nat -> R) : Prop :=
  a * x 1%N <= x 0%N /\ a * x n.-1 <= x n /\
  forall j, (0 < j < n)%N -> a * (x j.-1 + x j.+1) <= (1 + a ^+ 2) * x j.

(** Away from the report a step costs a factor. *)
Lemma noise_after a i j : (j <= i)%N -> noise a i.+1 j = a * noise a i j.
Proof.
move=> h; have [d ->] : exists d, i = (j + d)%N by exists (i - j)%N; rewrite subnKC.
by rewrite -addnS /noise !apart_left exprS; ring.
Qed.

Lemma noise_before a i j : (i < j)%N -> noise a i j = a * noise a i.+1 j.
Proof.
move=> h; have [d ->] : exists d, j = (i.+1 + d)%N by exists (j - i.+1)%N; rewrite subnKC.
rewrite /noise apart_right addSnnS apart_right exprS; ring.
Qed.

Lemma noise_curved a j : 0 < a -> a < 1 -> (j <= n)%N -> curved a (fun i => noise a i j).
Proof.
move=> a0 a1 hj.
have pos i : (i <= n)%N -> 0 <= noise a i j by move=> hi; have [] := noise_channel a0 a1 hi.
have sq : a * a <= 1 by rewrite -[X in _ <= X]mulr1; apply: ler_pmul; rewrite ltW.
have twice x : 0 <= x -> a * (a * x) <= x by move=> hx; rewrite mulrA -[X in _ <= X]mul1r ler_wpmul2r.
split; [|split].
- case: (posnP j) => [e|h]; last by rewrite -(noise_before a h).
  by rewrite e noise_after //; apply: twice; rewrite -e; apply: pos.
- have e : n = n.-1.+1 by rewrite prednK.
  case: (ltngtP j n) hj => // [h _|ej _]; last first.
    have p := pos n (leqnn n); have b := @noise_before a n.-1 j; rewrite -e ej in b; rewrite ej in p *.
    by rewrite b ?ltn_predL //; apply: twice.
  by rewrite [X in _ <= noise a X j]e noise_after // -ltnS -e.
- move=> i /andP [i0 hi]; have e : i = i.-1.+1 by rewrite prednK.
  rewrite mulrDr mulrDl mul1r expr2 -mulrA.
  case: (ltngtP i j) => [h|h|ei].
  + rewrite (@noise_before a i.-1 j) -?e; last by apply: ltnW.
    by rewrite -(noise_before a h) addrC lexx.
  + rewrite noise_after; last exact: ltnW.
    have -> : noise a i j = a * noise a i.-1 j by rewrite {1}e noise_after // -ltnS -e.
    by rewrite lexx.
  + have p := pos i (ltnW hi); rewrite -ei in p *.
    have b := @noise_before a i.-1 i; rewrite -e in b.
    by rewrite noise_after // b ?ltn_predL // ler_add2r; apply: twice.
Qed.

(** Theorem 5.15 (Gupte and Sundararajan): a mechanism [M] with [m] reports is geometric noise of level [a] followed by a random remap
    [T], if and only if each of its columns has a (x_(j-1) + x_(j+1)) <= (1 + a^2) x_j, with a x_1 <= x_0 and a x_(n-1) <= x_n at the ends. *)
Theorem remap_of_noise a (M : nat -> nat -> R) m : 0 < a -> a < 1 -> (forall i, (i <= n)%N -> \sum_(0 <= l < m) M i l = 1) ->
  (forall l, (l < m)%N -> curved a (fun i => M i l)) <->
  exists T : nat -> nat -> R,
    (forall j l, (j <= n)%N -> (l < m)%N -> 0 <= T j l) /\
    (forall j, (j <= n)%N -> \sum_(0 <= l < m) T j l = 1) /\
    (forall i l, (i <= n)%N -> (l < m)%N -> \sum_(0 <= j < n.+1) noise a i j * T j l = M i l).
Proof.
move=> a0 a1 one; have d0 : 0 < 1 - a by rewrite subr_gt0.
have x := a_ne a1; have n0 : (n == 0)%N = false by apply: gtn_eqF.
split=> [h|[T [T0 [_ GT]]] l hl].
- exists (fun j l => inverse a (fun i => M i l) j); split; [|split].
  + move=> j l hj hl; have [h0 [h1 h2]] := h l hl; rewrite /inverse.
    case: (posnP j) => [_|j0]; first by apply: divr_ge0; [rewrite subr_ge0|exact: ltW].
    case: (ltngtP j n) hj => // [jn _|_ _]; last by apply: divr_ge0; [rewrite subr_ge0|exact: ltW].
    apply: divr_ge0; last by rewrite exprn_ge0 // ltW.
    by rewrite -addrA -opprD -mulrDr subr_ge0 h2 // j0.
  + move=> j hj; rewrite /inverse; case: (posnP j) => [_|j0].
      by rewrite -big_distrl /= sumrB -big_distrr /= !one // mulr1 divff.
    case: (ltngtP j n) hj => // [jn _|_ _]; last by rewrite -big_distrl /= sumrB -big_distrr /= !one ?leq_pred // mulr1 divff.
    rewrite -big_distrl /= !sumrB -!big_distrr /= !one ?(ltnW jn) ?(leq_trans (leq_pred _) (ltnW jn)) //.
    by field.
  + by move=> i l hi hl; apply: (noise_inverse a0 a1 (fun i => M i l) hi).
- have sums i : (i <= n)%N -> M i l = \sum_(0 <= j < n.+1) noise a i j * T j l by move=> hi; rewrite GT.
  split; [|split].
  + rewrite !sums // big_distrr /= !big_nat; apply: ler_sum => j /andP [_ hj].
    by rewrite mulrA ler_wpmul2r ?T0 //; have [] := noise_curved a0 a1 hj.
  + rewrite !sums ?leq_pred // big_distrr /= !big_nat; apply: ler_sum => j /andP [_ hj].
    by rewrite mulrA ler_wpmul2r ?T0 //; have [_ []] := noise_curved a0 a1 hj.
  + move=> i hi; have [i0 hin] := andP hi.
    rewrite !sums ?(ltnW hin) ?(leq_trans (leq_pred _) (ltnW hin)) //.
    rewrite -big_split /= !big_distrr /= !big_nat; apply: ler_sum => j /andP [_ hj].
    have [_ [_ c]] := noise_curved a0 a1 hj; have := ler_wpmul2r (T0 j l hj hl) (c i hi).
    by move=> q; apply: le_trans (le_trans _ q) _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.
End Cascade.
