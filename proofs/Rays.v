(** * Certificates by rays

    The probabilities of one report lie in a cone: between values up to [D] steps apart none is below alpha times the
    other. A sum of prices times them is never negative if it is so on all rays of the cone, where each of two such values
    is equal to the other, alpha times it, or 1/alpha times it: every element of the cone is a mean of rays. And
    [cheapest_ray] finds a number that no ray's cost is below, though every product is rounded down. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum ring.
From Discreet Require Import Privacy Check Tables Payments Duality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Field.
Variable R : realFieldType.
Notation zr := (zr R).

(** ** The recursion is below the cost of every ray *)

Section Cheapest.
Variables (p q : Z) (D : nat).
Hypotheses (p0 : (0 < p)%Z) (pq : (p < q)%Z) (D1 : le 1 D).
Let a : R := zr p / zr q.

Lemma a_pos : 0 < a.
Proof. by rewrite divr_gt0 // zr_gt0 //; lia. Qed.

Lemma a_less : a < 1.
Proof.
have q0 : 0 < zr q by apply: zr_gt0; lia.
by rewrite ltr_pdivr_mulr // mul1r -subr_gt0 -zrB zr_gt0 //; lia.
Qed.

(** A ray from the present value on: positive, and in steps of one factor alpha within [D] values. *)
Definition ray (n : nat) (r : nat -> R) : Prop :=
  (forall i, le i n -> 0 < r i) /\
  forall i k, le i k -> le k n -> le k (Nat.add i D) -> r k = r i \/ r k = a * r i \/ r i = a * r k.

Definition ray_cost (C : Z) (l : list Z) (r : nat -> R) : R := zr C * r 0%N + dotR l (fun k => r k.+1).

Lemma ray_cost_step C c l r :
  ray_cost C (c :: l) r = zr C * (r 0%N - r 1%N) + ray_cost (C + c) l (fun k => r k.+1).
Proof. by rewrite /ray_cost /= zrD; ring. Qed.

Lemma ray_next n r : ray n.+1 r -> ray n (fun k => r k.+1).
Proof.
move=> [h1 h2]; split=> [i hi|i k hik hk hD]; first by apply: h1; lia.
by apply: h2; lia.
Qed.

Lemma floor_le x y z : (0 < z)%Z -> zr (x * y / z) <= zr x * (zr y / zr z).
Proof.
move=> hz; rewrite mulrA ler_pdivl_mulr ?zr_gt0 // -!zrM; apply: zr_le.
rewrite Z.mul_comm; apply: Z.mul_div_le; exact: hz.
Qed.

Lemma least_first d l : (least d l <= d)%Z.
Proof. by elim: l => [|x l IH] /=; lia. Qed.

Lemma ray_frees total C l : exists f rest, frees (ray_costs p q D total C l) = f :: rest.
Proof. by case: l => [|c l]; [exists C, nil | eexists; eexists; reflexivity]. Qed.

Lemma up_sound C c l r below : 0 < r 0%N -> r 1%N = a * r 0%N ->
  zr below * r 1%N <= ray_cost (C + c) l (fun k => r k.+1) ->
  zr (C + (below - C) * p / q) * r 0%N <= ray_cost C (c :: l) r.
Proof.
move=> r0 e b; rewrite ray_cost_step; apply: le_trans (ler_add (lexx _) b); rewrite e zrD mulrDl.
have -> : zr C * (r 0%N - a * r 0%N) + zr below * (a * r 0%N) = zr C * r 0%N + zr (below - C) * a * r 0%N.
  by rewrite zrB; ring.
by rewrite ler_add2l ler_pmul2r //; apply: floor_le; lia.
Qed.

Lemma down_sound C c l r above : 0 < r 0%N -> r 0%N = a * r 1%N ->
  zr above * r 1%N <= ray_cost (C + c) l (fun k => r k.+1) ->
  zr (C + (above - C) * q / p) * r 0%N <= ray_cost C (c :: l) r.
Proof.
move=> r0 e b; rewrite ray_cost_step; apply: le_trans (ler_add (lexx _) b); rewrite zrD mulrDl.
have -> : zr C * (r 0%N - r 1%N) + zr above * r 1%N = zr C * r 0%N + zr (above - C) * r 1%N by rewrite zrB; ring.
rewrite ler_add2l; have h := @floor_le (above - C) q p p0.
apply: (le_trans (ler_wpmul2r (ltW r0) h)); rewrite e /a.
have u := zr_eq0 R p0; have v : zr q != 0 by apply: zr_eq0; lia.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; field; rewrite u v.
Qed.

(** After a step up (down) the next values are not lower (not higher) than where it led. *)
Lemma after_up n r k : ray n r -> r 1%N = a * r 0%N -> le k.+1 n -> le k.+1 D -> r 1%N <= r k.+1.
Proof.
move=> [pos steps] e hn hD; have a0 := a_pos; have a1 := a_less.
have r0 := pos 0%N ltac:(lia); have rk := pos k.+1 hn.
have := steps 0%N k.+1 ltac:(lia) hn hD; rewrite e; case=> [-> |[-> //|e']].
- by rewrite -[X in _ <= X]mul1r ler_pmul2r // ltW.
- by rewrite e' mulrA -[X in _ <= X]mul1r ler_pmul2r // -[X in _ <= X]mul1r ltW // ltr_pmul // ltW.
Qed.

Lemma after_down n r k : ray n r -> r 0%N = a * r 1%N -> le k.+1 n -> le k.+1 D -> r k.+1 <= r 1%N.
Proof.
move=> [pos steps] e hn hD; have a0 := a_pos; have a1 := a_less.
have r0 := pos 0%N ltac:(lia); rewrite -(ler_pmul2l a0) -e.
have := steps 0%N k.+1 ltac:(lia) hn hD; case=> [-> |[-> |<- //]].
- by rewrite -[X in _ <= X]mul1r ler_pmul2r // ltW.
- by rewrite mulrA -[X in _ <= X]mul1r ler_pmul2r // -[X in _ <= X]mul1r ltW // ltr_pmul // ltW.
Qed.

(** [free] is below every ray; where the next [w] values are not lower (not higher) than this one, so is the least of the
    next [w] steps down (up) and of what is free after them. *)
Lemma ray_costs_sound l C total r : total = (C + sum l)%Z -> ray (length l) r ->
  let s := ray_costs p q D total C l in
  zr (List.hd total (frees s)) * r 0%N <= ray_cost C l r /\
  (forall w, (forall k, le k w -> le k (length l) -> r 0%N <= r k) ->
    zr (least (List.nth w (frees s) total) (List.firstn w (downs s))) * r 0%N <= ray_cost C l r) /\
  (forall w, (forall k, le k w -> le k (length l) -> r k <= r 0%N) ->
    zr (least (List.nth w (frees s) total) (List.firstn w (ups s))) * r 0%N <= ray_cost C l r).
Proof.
elim: l C r => [|c l IH] C r ht hr.
  have {}ht : total = C by rewrite ht /=; lia.
  rewrite /= /ray_cost /= addr0 ht; split=> //; split=> w _; rewrite List.firstn_nil /=;
    by case: w => [|[|w]] /=.
have ht' : total = (C + c + sum l)%Z by rewrite ht /=; lia.
have [free [lower upper]] := IH (C + c)%Z (fun k => r k.+1) ht' (ray_next hr).
have r0 : 0 < r 0%N by case: hr => h _; apply: h; apply: Nat.le_0_l.
have r1 : 0 < r 1%N by case: hr => h _; apply: h; apply: le_n_S; apply: Nat.le_0_l.
have next : r 1%N = r 0%N \/ r 1%N = a * r 0%N \/ r 0%N = a * r 1%N.
  by case: hr => _ h; apply: h; [apply: Nat.le_0_l | apply: le_n_S; apply: Nat.le_0_l | ].
have shorter k : le k (Nat.sub D 1) -> le k.+1 D by clear -D1; lia.
have low : r 1%N = a * r 0%N -> zr (turned_round D total (frees (ray_costs p q D total (C + c) l)) (downs (ray_costs p q D total (C + c) l))) * r 1%N
    <= ray_cost (C + c) l (fun k => r k.+1).
  move=> e; apply: lower => k hk hl; apply: (after_up hr e); [exact: le_n_S | exact: shorter].
have high : r 0%N = a * r 1%N -> zr (turned_round D total (frees (ray_costs p q D total (C + c) l)) (ups (ray_costs p q D total (C + c) l))) * r 1%N
    <= ray_cost (C + c) l (fun k => r k.+1).
  move=> e; apply: upper => k hk hl; apply: (after_down hr e); [exact: le_n_S | exact: shorter].
have hup e := up_sound r0 e (low e); have hdown e := down_sound r0 e (high e).
have hsame : r 1%N = r 0%N -> ray_cost C (c :: l) r = ray_cost (C + c) l (fun k => r k.+1).
  by move=> e; rewrite ray_cost_step e subrr mulr0 add0r.
rewrite [ray_costs p q D total C (c :: l)]/=; move: hup hdown; clear low high.
move: (C + _ * p / q)%Z (C + _ * q / p)%Z => up down hup hdown.
move: (ray_costs p q D total (C + c) l) free lower upper => s free lower upper.
have smaller y z : (y <= z)%Z -> zr z * r 0%N <= ray_cost C (c :: l) r -> zr y * r 0%N <= ray_cost C (c :: l) r.
  by move=> h; apply: le_trans; rewrite ler_pmul2r //; apply: zr_le.
have first : zr (Z.min (List.hd total (frees s)) (Z.min up down)) * r 0%N <= ray_cost C (c :: l) r.
  case: next => [e|[e|e]].
  - by apply: (smaller _ _ (Z.le_min_l _ _)); rewrite hsame // -e.
  - by apply: (smaller _ _ (Z.le_trans _ _ _ (Z.le_min_r _ _) (Z.le_min_l _ _))); apply: hup.
  - by apply: (smaller _ _ (Z.le_trans _ _ _ (Z.le_min_r _ _) (Z.le_min_r _ _))); apply: hdown.
have a1 := a_less.
have absurd y z : 0 < z -> y = a * z -> z <= y -> False.
  by move=> z0 ->; rewrite -[X in X <= _]mul1r ler_pmul2r // => h; have := le_lt_trans h a1; rewrite ltxx.
split; first by [].
split=> [[|w]|[|w]] hw //=.
- case: next => [e|[e|e]].
  + apply: (smaller _ _ (Z.le_min_r _ _)); rewrite hsame // -e; apply: lower => k hk hl; rewrite e.
    by apply: hw; apply: le_n_S.
  + by case: (absurd _ _ r0 e (hw 1%N (le_n_S _ _ (Nat.le_0_l _)) (le_n_S _ _ (Nat.le_0_l _)))).
  + by apply: (smaller _ _ (Z.le_min_l _ _)); apply: hdown.
- case: next => [e|[e|e]].
  + apply: (smaller _ _ (Z.le_min_r _ _)); rewrite hsame // -e; apply: upper => k hk hl; rewrite e.
    by apply: hw; apply: le_n_S.
  + by apply: (smaller _ _ (Z.le_min_l _ _)); apply: hup.
  + by case: (absurd _ _ r1 e (hw 1%N (le_n_S _ _ (Nat.le_0_l _)) (le_n_S _ _ (Nat.le_0_l _)))).
Qed.

(** ** Every element of the cone is a mean of rays *)

(** A sum of [g] times heights, cut into layers: each layer is the sum of those that reach it. *)
Lemma layers n (g u : 'I_n -> R) (K H : R) : 0 <= K -> 0 <= H ->
  (forall i, 0 <= u i <= H) ->
  (forall k, 0 < u k -> - K <= \sum_i (if u k <= u i then g i else 0)) ->
  - (K * H) <= \sum_i g i * u i.
Proof.
move=> K0; have [N] := ubnP #|[pred i | 0 < u i]|; elim: N u H => // N IH u H; rewrite ltnS => card H0 hu hk.
have none : (forall i, 0 < u i = false) -> - (K * H) <= \sum_i g i * u i.
  move=> h; rewrite big1; first by rewrite oppr_le0 mulr_ge0.
  move=> i _; case/andP: (hu i) => ui _; move: ui; rewrite le_eqVlt h orbF => /eqP <-; exact: mulr0.
case: (pickP [pred i | 0 < u i]) => [k0 /= hk0|/none //].
case: (@arg_minP _ _ _ k0 [pred i | 0 < u i] u hk0) => k /= ukpos kmin; set m := u k.
pose v i := if 0 < u i then u i - m else 0.
have split_sum : \sum_i g i * u i = m * (\sum_i (if m <= u i then g i else 0)) + \sum_i g i * v i.
  rewrite mulr_sumr -big_split; apply: eq_bigr => i _; rewrite /v /=.
  case: (ltP 0 (u i)) => [pos|npos].
    by rewrite kmin //; ring.
  have -> : (m <= u i) = false by apply/negbTE; rewrite -ltNge; apply: le_lt_trans npos ukpos.
  have -> : u i = 0 by apply/eqP; rewrite eq_le npos; case/andP: (hu i).
  by ring.
have mH : m <= H by case/andP: (hu k).
rewrite split_sum; have -> : - (K * H) = m * (- K) + - (K * (H - m)) by ring.
apply: ler_add; first by rewrite ler_pmul2l //; apply: hk.
have vE i : (0 < v i) = (m < u i).
  rewrite /v; case: (ltP 0 (u i)) => [pos|npos]; first by rewrite subr_gt0.
  by rewrite ltxx; apply/esym/negbTE; rewrite -leNgt; apply: (le_trans npos); apply: ltW.
apply: IH; rewrite ?subr_ge0 //.
- apply: leq_trans card; apply: proper_card; apply/properP; split.
    apply/subsetP => i; rewrite !inE vE; exact: lt_trans.
  by exists k; rewrite !inE ?vE ?ltxx.
- move=> i; rewrite /v; case: ifP => pos; last by rewrite lexx subr_ge0.
  by rewrite subr_ge0 kmin // ler_add2r; case/andP: (hu i).
- move=> i; rewrite vE => mi; have pos : 0 < u i by apply: lt_trans mi.
  apply: (le_trans (hk i pos)); rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => j _.
  rewrite /v pos; case: (ltP 0 (u j)) => [posj|nposj]; first by rewrite ler_add2r.
  have -> : (u i <= u j) = false by apply/negbTE; rewrite -ltNge; apply: le_lt_trans nposj pos.
  by have -> : (u i - m <= 0) = false by apply/negbTE; rewrite -ltNge subr_gt0.
Qed.

(** The same with heights between [alpha] and 1: not negative if no two-valued mean is. *)
Lemma mean_of_rays n (g t : 'I_n -> R) :
  (forall i, a < t i <= 1) ->
  (forall k, 0 <= \sum_i g i * (if t k <= t i then 1 else a)) -> 0 <= \sum_i g i * t i.
Proof.
case: n g t => [|n] g t ht hk; first by rewrite big_ord0.
have a0 := a_pos; have a1 := a_less.
case: (@arg_minP _ _ _ (@ord0 n) xpredT t isT) => k _ kmin.
set A := \sum_i g i.
have A0 : 0 <= A.
  apply: (le_trans (hk k)); rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _.
  by rewrite kmin // mulr1.
have one_a : 0 < 1 - a by rewrite subr_gt0.
pose K := a * A / (1 - a).
have K0 : 0 <= K by apply: divr_ge0; [apply: mulr_ge0 => //; apply: ltW | apply: ltW].
have top i : t i <= 1 by case/andP: (ht i).
have L := @layers n.+1 g (fun i => t i - t k) K (1 - t k) K0.
have {L} : - (K * (1 - t k)) <= \sum_i g i * (t i - t k).
  apply: L; first by rewrite subr_ge0.
    by move=> i; rewrite subr_ge0 kmin // ler_add2r top.
  move=> i _; have := hk i.
  set T := \sum_(j < n.+1) (if t i - t k <= t j - t k then g j else 0).
  have -> : \sum_(j < n.+1) g j * (if t i <= t j then 1 else a) = (1 - a) * T + a * A.
    rewrite /T /A !mulr_sumr -big_split; apply: eq_bigr => j _ /=.
    by rewrite ler_add2r; case: ifP => _; ring.
  move=> h; rewrite -(ler_pmul2l one_a) -subr_ge0; apply: (le_trans h); rewrite le_eqVlt; apply/orP; left; apply/eqP.
  by rewrite /K; field; rewrite lt0r_neq0.
have -> : \sum_i g i * (t i - t k) = \sum_i g i * t i - t k * A.
  by rewrite /A mulr_sumr -sumrB; apply: eq_bigr => i _; ring.
rewrite ler_subr_addl; apply: le_trans.
have -> : t k * A + - (K * (1 - t k)) = A / (1 - a) * (t k - a).
  by rewrite /K; field; rewrite lt0r_neq0.
apply: mulr_ge0; first by rewrite divr_ge0 // ltW.
by rewrite subr_ge0 ltW //; case/andP: (ht k).
Qed.

Section Column.
Variables (n : nat) (x : nat -> R).
Hypothesis positive : forall i, le i n -> 0 < x i.
Hypothesis cone : forall i k, le i n -> le k n -> le i (Nat.add k D) -> le k (Nat.add i D) -> a * x i <= x k.

(** A power of alpha, also a negative one, times the first entry. *)
Definition grid (y : R) : Prop := exists u v, y * a ^+ u = x 0%N * a ^+ v.

Lemma grid_times y : grid y -> grid (a * y).
Proof. by move=> [u [v e]]; exists u, v.+1; rewrite -mulrA e exprS; ring. Qed.

Lemma grid_over y : grid y -> grid (y / a).
Proof.
move=> [u [v e]]; exists u.+1, v; rewrite -e exprS.
by field; rewrite lt0r_neq0 // a_pos.
Qed.

(** Two of them are equal or a factor alpha apart. *)
Lemma grid_gap y z : grid y -> grid z -> y < z -> y <= a * z.
Proof.
move=> [u [v e]] [u' [v' e']] yz; have a0 := a_pos; have a1 := a_less; have x0 := positive (Nat.le_0_l n).
have P : 0 < a ^+ (u + u') by apply: exprn_gt0.
have Ey : y * a ^+ (u + u') = x 0%N * a ^+ (v + u') by rewrite !exprD mulrA e; ring.
have Ez : z * a ^+ (u + u') = x 0%N * a ^+ (v' + u) by rewrite addnC !exprD mulrA e'; ring.
move: yz; rewrite -(ltr_pmul2r P) Ey Ez ltr_pmul2l // => lt.
rewrite -(ler_pmul2r P) Ey -mulrA Ez mulrCA ler_pmul2l // -exprS.
apply: ler_wiexpn2l; rewrite ?ltW // ltnNge; apply/negP => le; move: lt; apply/negP; rewrite -leNgt.
by apply: ler_wiexpn2l; rewrite ?ltW.
Qed.

(** Each entry is such a power times a number above alpha and at most 1. *)
Fixpoint parts (i : nat) : R * R :=
  if i is i'.+1 then
    let s := (parts i').1 in
    let y := x i / s in
    if y <= a then (a * s, y / a) else if 1 < y then (s / a, y * a) else (s, y)
  else (x 0%N, 1).

Lemma parts_spec i : le i n -> grid (parts i).1 /\ 0 < (parts i).1 /\ x i = (parts i).1 * (parts i).2 /\ a < (parts i).2 <= 1.
Proof.
have a0 := a_pos; have a1 := a_less; have na : a != 0 by rewrite lt0r_neq0.
elim: i => [|i IH] hi.
  split; first by exists 0%N, 0%N; rewrite expr0.
  by split; [apply: positive; lia | rewrite /= mulr1 a1 lexx].
have [g [s0 [e /andP [t0 t1]]]] := IH ltac:(lia); have xi := positive hi; have xi' := @positive i ltac:(lia).
rewrite /=; move: (parts i) g s0 e t0 t1 => [s t] /= g s0 e t0 t1; set y := x i.+1 / s.
have ns : s != 0 by rewrite lt0r_neq0.
have ey : x i.+1 = s * y by rewrite /y; field.
have [c1 c2] : a * x i <= x i.+1 /\ a * x i.+1 <= x i.
  by split; apply: cone; clear -hi D1; lia.
have low : a * t <= y by rewrite -(ler_pmul2l s0) -ey mulrCA -e.
have high : a * y <= t by rewrite -(ler_pmul2l s0) mulrCA -ey -e.
case: (leP y a) => [ya|ay]; first split; first exact: grid_times.
  split=> /=; first exact: mulr_gt0.
  split; first by rewrite ey; field.
  rewrite ltr_pdivl_mulr // ler_pdivr_mulr // mul1r ya andbT.
  by apply: lt_le_trans low; rewrite ltr_pmul2l.
case: (ltP 1 y) => [y1|y1]; first split; first exact: grid_over.
  split=> /=; first exact: divr_gt0.
  split; first by rewrite ey; field.
  by rewrite [y * a]mulrC (le_trans high) // andbT -[X in X < _ ](mulr1 a) ltr_pmul2l.
by split=> //; split=> //; split=> //=; rewrite ay.
Qed.

(** Rounded down to the powers of alpha times [tau]: a ray. *)
Definition rounded (tau : R) (i : nat) : R := (parts i).1 * (if tau <= (parts i).2 then 1 else a).

Lemma rounded_spec tau i : a < tau <= 1 -> le i n ->
  grid (rounded tau i) /\ 0 < rounded tau i /\ tau * rounded tau i <= x i /\ a * x i < tau * rounded tau i.
Proof.
have a0 := a_pos; have a1 := a_less.
case/andP=> ta t1 hi; have [g [s0 [-> /andP [u0 u1]]]] := parts_spec hi; rewrite /rounded.
move: (parts i) g s0 u0 u1 => [s t] /= g s0 u0 u1; case: (leP tau t) => h.
  split; first by rewrite mulr1.
  split; first by rewrite mulr1.
  split; first by rewrite mulr1 mulrC ler_pmul2l.
  rewrite mulr1 mulrCA mulrC ltr_pmul2r //; apply: le_lt_trans ta.
  by rewrite -[X in _ <= X]mulr1 ler_pmul2l.
split; first by rewrite mulrC; apply: grid_times.
split; first exact: mulr_gt0.
split; last first.
  have -> : a * (s * t) = a * s * t by ring.
  have -> : tau * (s * a) = a * s * tau by ring.
  by rewrite ltr_pmul2l // mulr_gt0.
rewrite mulrCA ler_pmul2l // ltW //; apply: le_lt_trans u0.
by rewrite -[X in _ <= X]mul1r ler_pmul2r.
Qed.

Lemma rounded_ray tau : a < tau <= 1 -> ray n (rounded tau).
Proof.
move=> ht; have a0 := a_pos; have a1 := a_less; have t0 : 0 < tau by case/andP: ht => h _; apply: lt_trans h.
split=> [i hi|i k hik hk hD]; first by case: (rounded_spec ht hi) => _ [].
have hi : le i n by lia.
have close j l : le j n -> le l n -> le j (Nat.add l D) -> le l (Nat.add j D) -> a * rounded tau j <= rounded tau l.
  move=> hj hl h1 h2; rewrite leNgt; apply/negP => lt.
  have [gj [_ [lj _]]] := rounded_spec ht hj; have [gl [_ [_ ul]]] := rounded_spec ht hl.
  have := grid_gap gl (grid_times gj) lt => le2.
  have : a * x l < a * (a * x j).
    apply: (lt_le_trans ul); apply: (@le_trans _ _ (tau * (a * (a * rounded tau j)))); first by rewrite ler_pmul2l.
    have -> : tau * (a * (a * rounded tau j)) = a * (a * (tau * rounded tau j)) by ring.
    by rewrite !ler_pmul2l.
  by rewrite ltr_pmul2l // ltNge; apply/negP; rewrite negbK; apply: cone.
have [gi _] := rounded_spec ht hi; have [gk _] := rounded_spec ht hk.
have c1 := close i k hi hk ltac:(lia) ltac:(lia); have c2 := close k i hk hi ltac:(lia) ltac:(lia).
case: (ltgtP (rounded tau k) (rounded tau i)) => [lt|lt|->]; last by left.
- by right; left; apply/eqP; rewrite eq_le c1 (grid_gap gk gi lt).
- by right; right; apply/eqP; rewrite eq_le c2 (grid_gap gi gk lt).
Qed.
End Column.

Lemma dotR_big v (f : nat -> R) : dotR v f = \sum_(i < length v) zr (List.nth i v 0%Z) * f i.
Proof. by elim: v f => [|y v IH] f /=; rewrite ?big_ord0 // big_ord_recl IH. Qed.

(** Theorem 3.4: if the cheapest ray costs nothing negative, then no element of the cone does. *)
Theorem cheapest_ray_sound prices (x : nat -> R) :
  (0 <= cheapest_ray p q D prices)%Z ->
  (forall i, lt i (length prices) -> 0 <= x i) ->
  (forall i k, lt i (length prices) -> lt k (length prices) -> within D i k -> a * x i <= x k) ->
  0 <= dotR prices x.
Proof.
case: prices => [|c l] //= hc hx cone; set n := length l.
have a0 := a_pos.
have [x0|x0] := leP (x 0%N) 0.
  have z i : le i n -> x i = 0.
    elim: i => [|i IH] hi; first by apply/eqP; rewrite eq_le x0 hx //; lia.
    have := cone i.+1 i ltac:(lia) ltac:(lia) ltac:(rewrite /within; lia); rewrite IH; last by lia.
    by rewrite pmulr_rle0 // => h; apply/eqP; rewrite eq_le h hx //; lia.
  rewrite z ?mulr0 ?add0r; last by lia.
  rewrite (@dotR_ext R l _ (fun=> 0)) ?dotR_const ?mulr0 // => i hi.
  by apply: z; rewrite /n; lia.
have pos i : le i n -> 0 < x i.
  elim: i => [|i IH] // hi; apply: lt_le_trans (cone i i.+1 _ _ _); try (rewrite /within; lia).
  by apply: mulr_gt0 => //; apply: IH; lia.
have cone' i k : le i n -> le k n -> le i (Nat.add k D) -> le k (Nat.add i D) -> a * x i <= x k.
  by move=> h1 h2 h3 h4; apply: cone; rewrite /within; lia.
pose t (i : 'I_n.+1) := (parts x i).2.
have ht (i : 'I_n.+1) : le i n by have/ssrnat.ltP := ltn_ord i; lia.
have spec (i : 'I_n.+1) := parts_spec pos cone' (ht i).
have tb i : a < t i <= 1 by case: (spec i) => _ [_ []].
have := @mean_of_rays n.+1 (fun i => zr (List.nth i (c :: l) 0%Z) * (parts x i).1) t tb.
have -> : \sum_(i < n.+1) zr (List.nth i (c :: l) 0%Z) * (parts x i).1 * t i = zr c * x 0%N + dotR l (fun i => x i.+1).
  rewrite -[RHS]/(dotR (c :: l) x) dotR_big; apply: eq_bigr => i _; case: (spec i) => _ [_ [-> _]].
  by rewrite mulrA.
apply=> k; have rr := rounded_ray pos cone' (tb k).
have -> : \sum_(i < n.+1) zr (List.nth i (c :: l) 0%Z) * (parts x i).1 * (if t k <= t i then 1 else a) =
  ray_cost c l (rounded x (t k)).
  rewrite -[RHS]/(dotR (c :: l) _) dotR_big; apply: eq_bigr => i _.
  by rewrite /rounded mulrA.
have [h _] := ray_costs_sound (erefl (c + sum l)%Z) rr; apply: le_trans h; apply: mulr_ge0.
  by apply: zr_ge0.
by apply: ltW; case: rr => h _; apply: h; lia.
Qed.
End Cheapest.
End Field.
