(** * Weak duality

    Multipliers bound the risk of every mechanism from below, over any ordered field: rational,
    algebraic or real probabilities alike. [R] is any [realFieldType]; integers of a certificate are
    embedded in it by [zr]. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum ring.
From Discreet Require Import Privacy Check Tables Payments.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Field.
Variable R : realFieldType.

(** ** Integers in a field *)

Definition zr (z : Z) : R := (Z.to_nat z)%:R - (Z.to_nat (- z))%:R.

Lemma nat_difference (a b c d : nat) :
  Nat.add a d = Nat.add c b -> a%:R - b%:R = c%:R - d%:R :> R.
Proof.
move=> h; apply/eqP; rewrite subr_eq addrAC eq_sym subr_eq -!natrD; apply/eqP; congr (_%:R).
by rewrite -!plusE; lia.
Qed.

Lemma zr_nat n : zr (Z.of_nat n) = n%:R.
Proof.
rewrite /zr Nat2Z.id; have -> : Z.to_nat (- Z.of_nat n) = 0%N by lia.
by rewrite subr0.
Qed.

Lemma zr0 : zr 0 = 0. Proof. exact: (zr_nat 0). Qed.
Lemma zr1 : zr 1 = 1. Proof. exact: (zr_nat 1). Qed.

Lemma zrN z : zr (- z) = - zr z.
Proof. by rewrite /zr Z.opp_involutive opprB. Qed.

Lemma zrD x y : zr (x + y) = zr x + zr y.
Proof.
rewrite /zr.
have -> : (Z.to_nat x)%:R - (Z.to_nat (- x))%:R + ((Z.to_nat y)%:R - (Z.to_nat (- y))%:R)
  = (Nat.add (Z.to_nat x) (Z.to_nat y))%:R - (Nat.add (Z.to_nat (- x)) (Z.to_nat (- y)))%:R :> R.
  by rewrite plusE !natrD; ring.
by apply: nat_difference; lia.
Qed.

Lemma zrB x y : zr (x - y) = zr x - zr y.
Proof. by rewrite -Z.add_opp_r zrD zrN. Qed.

Lemma zrM x y : zr (x * y) = zr x * zr y.
Proof.
have nn a b : zr (Z.of_nat a * Z.of_nat b) = zr (Z.of_nat a) * zr (Z.of_nat b).
  by rewrite -Nat2Z.inj_mul !zr_nat multE natrM.
have pn a y' : zr (Z.of_nat a * y') = zr (Z.of_nat a) * zr y'.
  case: (Z_le_gt_dec 0 y') => h; first by rewrite -(Z2Nat.id y') // nn.
  have -> : y' = (- Z.of_nat (Z.to_nat (- y')))%Z by lia.
  by rewrite Z.mul_opp_r !zrN nn mulrN.
case: (Z_le_gt_dec 0 x) => h; first by rewrite -(Z2Nat.id x) // pn.
have -> : x = (- Z.of_nat (Z.to_nat (- x)))%Z by lia.
by rewrite Z.mul_opp_l !zrN pn mulNr.
Qed.

Lemma zr_ge0 z : (0 <= z)%Z -> 0 <= zr z.
Proof. by move=> h; rewrite -(Z2Nat.id z) // zr_nat ler0n. Qed.

Lemma zr_le x y : (x <= y)%Z -> zr x <= zr y.
Proof. by move=> h; rewrite -subr_ge0 -zrB; apply: zr_ge0; lia. Qed.

Lemma zr_gt0 z : (0 < z)%Z -> 0 < zr z.
Proof.
move=> h; have -> : z = Z.of_nat (Z.to_nat z) by lia.
by rewrite zr_nat ltr0n; apply/ssrnat.ltP; lia.
Qed.

Lemma zr_eq0 z : (0 < z)%Z -> zr z != 0.
Proof. by move/zr_gt0/lt0r_neq0. Qed.

(** ** Sums along lists *)

Fixpoint dotR (v : list Z) (f : nat -> R) : R :=
  if v is x :: v' then zr x * f 0%N + dotR v' (fun i => f i.+1) else 0.

Fixpoint pairR (M : list (list Z)) (P : nat -> nat -> R) : R :=
  if M is l :: M' then dotR l (P 0%N) + pairR M' (fun i => P i.+1) else 0.

Fixpoint sumR (n : nat) (f : nat -> R) : R :=
  if n is n'.+1 then f 0%N + sumR n' (fun i => f i.+1) else 0.

Definition paidR (l : list payment) (P : nat -> nat -> R) : R :=
  foldr (fun x s => dotR x.2 (P x.1) + s) 0 l.

Lemma sumR_big n f : sumR n f = \sum_(i < n) f i.
Proof. by elim: n f => [|n IH] f /=; rewrite ?big_ord0 // big_ord_recl IH. Qed.

Lemma dotR_ext v f g : (forall i, lt i (length v) -> f i = g i) -> dotR v f = dotR v g.
Proof.
elim: v f g => [|x v IH] f g h //=; rewrite h /=; last by lia.
by congr (_ + _); apply: IH => i hi; apply: h => /=; lia.
Qed.

Lemma dotR_ge0 v f : List.Forall (Z.le 0) v -> (forall i, lt i (length v) -> 0 <= f i) -> 0 <= dotR v f.
Proof.
elim: v f => [|x v IH] f //= hv hf; inversion hv; subst.
by rewrite addr_ge0 ?mulr_ge0 ?zr_ge0 ?hf //; [lia | apply: IH => // i hi; apply: hf; lia].
Qed.

Lemma dotR_lin v f g a b : dotR v (fun i => a * f i + b * g i) = a * dotR v f + b * dotR v g.
Proof. by elim: v f g => [|x v IH] f g /=; [ring | rewrite IH; ring]. Qed.

Lemma dotR_scaled c v f : dotR (scaled c v) f = zr c * dotR v f.
Proof. by elim: v f => [|x v IH] f /=; [ring | rewrite IH zrM; ring]. Qed.

Lemma dotR_repeat x n f : dotR (List.repeat x n) f = zr x * sumR n f.
Proof. by elim: n f => [|n IH] f /=; [ring | rewrite IH; ring]. Qed.

Lemma dotR_const v c : dotR v (fun=> c) = zr (sum v) * c.
Proof. by elim: v => [|x v IH] /=; [rewrite zr0; ring | rewrite IH zrD; ring]. Qed.

Lemma dotR_add u v f : length u = length v -> dotR (add_rows u v) f = dotR u f + dotR v f.
Proof.
elim: u v f => [|x u IH] [|y v] f //= h; first by ring.
by rewrite IH ?zrD; [ring | lia].
Qed.

Lemma dotR_app u v f : dotR (List.app u v) f = dotR u f + dotR v (fun i => f (Nat.add (length u) i)).
Proof. by elim: u f => [|x u IH] f /=; [rewrite add0r | rewrite IH addrA]. Qed.

(** ** Payments *)

Lemma pay_shape m M k v : length v = m -> lines_of m M -> lines_of m (pay M k v) /\ length (pay M k v) = length M.
Proof.
move=> hv; elim: M k => [|l M IH] k hM; first by case: k.
inversion hM as [|? ? hl hM']; subst; case: k => [|k] /=.
  split=> //; constructor=> //.
  by elim: l v hl {hM IH hM'} => [|x l IH] [|y v] //= h; rewrite IH //; lia.
by case: (IH k hM') => a b; split; [constructor | rewrite b].
Qed.

Lemma pairR_pay m M k v P : lines_of m M -> lt k (length M) -> length v = m ->
  pairR (pay M k v) P = pairR M P + dotR v (P k).
Proof.
elim: M k P => [|l M IH] k P hM /=; first by lia.
inversion hM as [|? ? hl hM']; subst; case: k => [|k] hk hv /=.
  by rewrite dotR_add //; ring.
by rewrite IH //; [ring | lia].
Qed.

Lemma pairR_pay_all m l : fits m l -> forall M P, lines_of m M -> length M = m ->
  pairR (pay_all M l) P = pairR M P + paidR l P /\ lines_of m (pay_all M l) /\ length (pay_all M l) = m.
Proof.
move=> hl; elim: hl => [|[k v] {}l [/= hk hv] _ IH] M P hM hm /=; first by rewrite addr0.
have [a b] := pay_shape k hv hM.
rewrite /pay_all /=; case: (IH (pay M k v) P a); first by rewrite b.
rewrite /pay_all => -> [c d]; split=> //.
by rewrite (@pairR_pay m) //; [ring | lia].
Qed.

Lemma paidR_app l l' P : paidR (List.app l l') P = paidR l P + paidR l' P.
Proof. by elim: l => [|x l IH] /=; [ring | rewrite IH; ring]. Qed.

Lemma pairR_zero r m P : pairR (List.repeat (List.repeat 0%Z m) r) P = 0.
Proof. by elim: r P => [|r IH] P //=; rewrite IH dotR_repeat zr0; ring. Qed.

(** ** What a mechanism satisfies

    [P i j] is the probability of report [j] under true value [i]; there are [m] of both. *)

Definition mechanism (m : nat) (P : nat -> nat -> R) : Prop :=
  forall i, lt i m -> (forall j, lt j m -> 0 <= P i j) /\ \sum_(j < m) P i j = 1.

Definition keeps_level (p q : Z) (near : neighbours) (m : nat) (P : nat -> nat -> R) : Prop :=
  forall i k j, lt i m -> lt k m -> lt j m -> neighbouring near i k -> zr p * P i j <= zr q * P k j.

(** The seven properties, as [Tables.has] says them of integers. *)
Definition has_property (m : nat) (P : nat -> nat -> R) (l : letter) : Prop :=
  match l with
  | RH => forall i j, lt i m -> lt j m -> P j i <= P i i
  | RM => forall i j, lt i m -> lt j.+1 m -> if Nat.ltb j i then P j i <= P j.+1 i else P j.+1 i <= P j i
  | CH => forall i j, lt i m -> lt j m -> P i j <= P i i
  | CM => forall i j, lt i m -> lt j.+1 m -> if Nat.ltb j i then P i j <= P i j.+1 else P i j.+1 <= P i j
  | F => forall i j, lt i m -> lt j m -> P i i = P j j
  | WH => forall i, lt i m -> 1 <= P i i * m%:R
  | SY => forall i j, lt i m -> lt j m -> P i j = P (Nat.sub (Nat.sub m 1) i) (Nat.sub (Nat.sub m 1) j)
  end.

Lemma mechanism_le1 m P i j : mechanism m P -> lt i m -> lt j m -> P i j <= 1.
Proof.
move=> h hi hj; case: (h i hi) => nn <-; have/ssrnat.ltP hj' := hj.
rewrite (bigD1 (Ordinal hj')) //= ler_addl; apply: sumr_ge0 => k _; apply: nn; exact/ssrnat.ltP.
Qed.

(** ** What each kind of multiplier pays *)

Section Mechanism.
Variables (m : nat) (P : nat -> nat -> R).
Hypothesis hP : mechanism m P.

Lemma paid_rows q y : length y = m -> paidR (of_row_sums m q y) P = zr q * zr (sum y).
Proof.
rewrite /of_row_sums => hy.
have main k : le (Nat.add k (length y)) m ->
  paidR (List.combine (List.seq k (length y)) (List.map (fun u => List.repeat (q * u)%Z m) y)) P = zr q * zr (sum y).
  elim: y k {hy} => [|u y IH] k hk /=; first by rewrite zr0; ring.
  rewrite IH; last by simpl in hk; lia.
  rewrite dotR_repeat sumR_big zrM zrD; have [_ ->] := hP (i := k) ltac:(simpl in hk; lia); ring.
by have := main 0%N; rewrite hy; apply; lia.
Qed.

Lemma paid_edges p q near edges lines : keeps_level p q near m P -> near_edges near m edges ->
  lines_of m lines -> List.Forall (List.Forall (Z.le 0)) lines -> 0 <= paidR (of_edges p q edges lines) P.
Proof.
move=> hl he; elim: he lines => [|[j k] {}edges [/= hj [hk [njk nkj]]] _ IH] [|u [|v lines]] hs hn //=.
case/List.Forall_cons_iff: hs => hu /List.Forall_cons_iff [hv hs''].
case/List.Forall_cons_iff: hn => nu /List.Forall_cons_iff [nv hn''].
have e w a b : length w = m -> List.Forall (Z.le 0) w -> lt a m -> lt b m -> neighbouring near b a ->
  0 <= dotR (scaled q w) (P a) + dotR (scaled (- p) w) (P b).
  move=> hw nw ha hb nab; rewrite !dotR_scaled -dotR_lin; apply: dotR_ge0 => // i hi.
  by rewrite zrN mulNr subr_ge0; apply: hl => //; lia.
have := e u j k hu nu hj hk nkj; have := e v k j hv nv hk hj njk; have := IH lines hs'' hn''.
by move=> a b c; rewrite addrA; apply: addr_ge0 => //; rewrite addrA; apply: addr_ge0.
Qed.

Lemma dotR_turned v i f : dotR (turned i v) f = dotR v (fun j => if Nat.ltb j i then - f j else f j).
Proof.
elim: v i f => [|x v IH] [|i] f //=; rewrite IH ?zrN; first by [].
by rewrite mulNr mulrN.
Qed.

Lemma dotR_turned_back v i f : dotR (turned_back i v) f = dotR v (fun j => if Nat.ltb j i then f j else - f j).
Proof.
elim: v i f => [|x v IH] [|i] f //=; rewrite IH ?zrN; last by [].
by rewrite mulNr mulrN.
Qed.

Lemma paid_RM q lines x : (0 <= q)%Z -> has_property m P RM -> lines_of m lines ->
  List.Forall (List.Forall (Z.le 0)) lines -> lt (Nat.add x (length lines)) m -> 0 <= paidR (of_RM q x lines) P.
Proof.
move=> hq h; elim: lines x => [|u lines IH] x hs hn hx //=.
case/List.Forall_cons_iff: hs => hu hs'; case/List.Forall_cons_iff: hn => nu hn'; simpl in hx.
rewrite !dotR_scaled addrA -dotR_lin addr_ge0 //; last by apply: IH => //; lia.
rewrite (dotR_turned_back u x.+1); apply: dotR_ge0 => // y hy.
have := h y x ltac:(lia) ltac:(lia); rewrite zrN mulNr -mulrBr.
have q0 := zr_ge0 hq.
case: (Nat.ltb_spec x y) => c; case: (Nat.ltb_spec y x.+1) => d; try lia; move=> le.
- by rewrite oppr_ge0 mulr_ge0_le0 // subr_le0.
- by rewrite mulr_ge0 // subr_ge0.
Qed.

Lemma paid_CM_line q x u lines : paidR (of_CM q x (u :: lines)) P =
  dotR (turned x u) (fun i => zr q * P x i + zr (- q) * P x i.+1) + paidR (of_CM q x.+1 lines) P.
Proof.
have e k v l : paidR ((k, v) :: l) P = dotR v (P k) + paidR l P by [].
have -> : of_CM q x (u :: lines) = (x, scaled q (List.app (turned x u) (0%Z :: nil))) ::
  (x, scaled (- q) (0%Z :: turned x u)) :: of_CM q x.+1 lines by [].
by rewrite !e !dotR_scaled dotR_app dotR_lin /= !zr0; ring.
Qed.

Lemma paid_CM q lines x : (0 <= q)%Z -> has_property m P CM -> lines_of (Nat.sub m 1) lines ->
  List.Forall (List.Forall (Z.le 0)) lines -> le (Nat.add x (length lines)) m -> 0 <= paidR (of_CM q x lines) P.
Proof.
move=> hq h; elim: lines x => [|u lines IH] x hs hn hx //.
case/List.Forall_cons_iff: hs => hu hs'; case/List.Forall_cons_iff: hn => nu hn'; simpl in hx.
rewrite paid_CM_line addr_ge0 //; last by apply: IH => //; lia.
rewrite dotR_turned; apply: dotR_ge0 => // y hy.
have := h x y ltac:(lia) ltac:(lia); rewrite zrN mulNr -mulrBr; have q0 := zr_ge0 hq.
case: (Nat.ltb_spec y x) => c le.
- by rewrite oppr_ge0 mulr_ge0_le0 // subr_le0.
- by rewrite mulr_ge0 // subr_ge0.
Qed.

Lemma dotR_at_place i u f : lt i m -> dotR (at_place m i u) f = zr u * f i.
Proof.
rewrite /at_place.
have main s n g : dotR (List.map (fun j => if Nat.eqb i j then u else 0%Z) (List.seq s n)) g =
  if andb (Nat.leb s i) (Nat.ltb i (Nat.add s n)) then zr u * g (Nat.sub i s) else 0.
  elim: n s g => [|n IH] s g /=.
    by case: (Nat.leb_spec s i) => //=; case: (Nat.ltb_spec i (Nat.add s 0)) => //; lia.
  rewrite IH; case: (Nat.eqb_spec i s) => [->|ne].
    rewrite Nat.leb_refl Nat.sub_diag; case: (Nat.leb_spec s.+1 s) => /=; first by lia.
    by case: (Nat.ltb_spec s (Nat.add s n.+1)) => /=; [move=> _ _; ring | lia].
  rewrite zr0 mul0r add0r.
  case: (Nat.leb_spec s.+1 i); case: (Nat.leb_spec s i) => //=; try lia.
  move=> a b; have -> : Nat.ltb i (Nat.add s n.+1) = Nat.ltb i (Nat.add s.+1 n) by congr Nat.ltb; lia.
  by case: (Nat.ltb _ _) => //; congr (_ * g _); lia.
by move=> hi; rewrite main /= Nat.sub_0_r; case: (Nat.ltb_spec i m) => //; lia.
Qed.

Lemma paid_diagonal q u i : le (Nat.add i (length u)) m ->
  paidR (on_diagonal m q i u) P = zr q * dotR u (fun y => P (Nat.add i y) (Nat.add i y)).
Proof.
elim: u i => [|x u IH] i hi /=; first by ring.
simpl in hi; rewrite dotR_at_place; last by lia.
rewrite IH; last by lia.
rewrite zrM Nat.add_0_r mulrDr mulrA; congr (_ + _ * _).
by apply: dotR_ext => y hy; rewrite !Nat.add_succ_r.
Qed.

Lemma paid_RH q lines x : (0 <= q)%Z -> has_property m P RH -> lines_of m lines ->
  List.Forall (List.Forall (Z.le 0)) lines -> le (Nat.add x (length lines)) m -> 0 <= paidR (of_RH m q x lines) P.
Proof.
move=> hq h; elim: lines x => [|u lines IH] x hs hn hx //=.
case/List.Forall_cons_iff: hs => hu hs'; case/List.Forall_cons_iff: hn => nu hn'; simpl in hx.
rewrite paidR_app paid_diagonal; last by lia.
rewrite addrA addr_ge0 //; last by apply: IH => //; lia.
rewrite dotR_scaled addrC -dotR_lin; apply: dotR_ge0 => // y hy /=.
rewrite zrN mulNr -mulrBr mulr_ge0 ?zr_ge0 // subr_ge0; apply: h; lia.
Qed.

Lemma paid_CH q lines x : (0 <= q)%Z -> has_property m P CH -> lines_of m lines ->
  List.Forall (List.Forall (Z.le 0)) lines -> le (Nat.add x (length lines)) m -> 0 <= paidR (of_CH m q x lines) P.
Proof.
move=> hq h; elim: lines x => [|u lines IH] x hs hn hx //=.
case/List.Forall_cons_iff: hs => hu hs'; case/List.Forall_cons_iff: hn => nu hn'; simpl in hx.
rewrite dotR_at_place; last by lia.
rewrite addrA addr_ge0 //; last by apply: IH => //; lia.
rewrite dotR_scaled zrM -mulrA -dotR_const addrC -dotR_lin; apply: dotR_ge0 => // y hy /=.
rewrite zrN mulNr -mulrBr mulr_ge0 ?zr_ge0 // subr_ge0; apply: h; lia.
Qed.

Lemma paid_WH q u : (0 <= q)%Z -> (0 < m)%N -> has_property m P WH -> length u = m -> List.Forall (Z.le 0) u ->
  zr q * (zr (sum u) / m%:R) <= paidR (on_diagonal m q 0 u) P.
Proof.
move=> hq hm h hu nu; rewrite paid_diagonal; last by lia.
rewrite ler_wpmul2l ?zr_ge0 // -dotR_const -subr_ge0.
have -> : dotR u (fun y => P (Nat.add 0 y) (Nat.add 0 y)) - dotR u (fun=> m%:R^-1) =
  dotR u (fun y => 1 * P (Nat.add 0 y) (Nat.add 0 y) + -1 * m%:R^-1) by rewrite dotR_lin; ring.
apply: dotR_ge0 => // y hy; rewrite mul1r mulN1r subr_ge0 -[X in X <= _]mul1r ler_pdivr_mulr ?ltr0n //.
by apply: h => /=; lia.
Qed.

Lemma paid_F q u : has_property m P F -> length u = Nat.sub m 1 -> paidR (of_F m q u) P = 0.
Proof.
move=> h hu; case: (Nat.eq_dec m 0) => hm0.
  by move: hu; rewrite hm0 /of_F /=; case: u.
rewrite /of_F paidR_app !paid_diagonal; try lia.
rewrite zrN (@dotR_ext u (fun y => P (Nat.add 1 y) (Nat.add 1 y)) (fun y => P (Nat.add 0 y) (Nat.add 0 y))).
  by ring.
by move=> i hi; apply: h => /=; lia.
Qed.

(** ** What is left of the costs *)

Lemma min_charge z (g : R) : 0 <= g <= 1 -> zr (Z.min 0 z) <= zr z * g.
Proof.
case/andP=> g0 g1; case: (Z.min_spec 0 z) => [[a ->]|[a ->]].
  by rewrite zr0 mulr_ge0 // zr_ge0 //; lia.
have : zr z <= 0 by rewrite -zr0; apply: zr_le.
by move=> b; rewrite -[X in X <= _]mulr1 ler_wnmul2l.
Qed.

Lemma charge_line_le f u cost paid (g : nat -> R) : length cost = length paid ->
  (forall i, lt i (length cost) -> 0 <= g i <= 1) ->
  zr (charge_line f u cost paid) <= zr f * dotR cost g - zr u * dotR paid g.
Proof.
elim: cost paid g => [|c cost IH] [|x paid] g //= h hg; first by rewrite zr0; rewrite !mulr0 subr0.
have a := @IH paid (fun i => g i.+1) ltac:(lia) (fun i hi => hg i.+1 ltac:(lia)).
have b := @min_charge (c * f - u * x) (g 0%N) (hg 0%N ltac:(lia)).
rewrite zrD; apply: (le_trans (ler_add b a)); rewrite zrB !zrM le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

Lemma charges_le f u cost paid : lines_of m cost -> lines_of m paid -> length cost = length paid ->
  forall Q : nat -> nat -> R, (forall i j, lt i (length cost) -> lt j m -> 0 <= Q i j <= 1) ->
  zr (charges f u cost paid) <= zr f * pairR cost Q - zr u * pairR paid Q.
Proof.
move=> hc; elim: hc paid => [|c {}cost h _ IH] [|x paid] hp //= hl Q hQ; first by rewrite zr0 !mulr0 subr0.
case/List.Forall_cons_iff: hp => hx hp'.
have a := IH paid hp' ltac:(lia) (fun i => Q i.+1) (fun i j hi hj => hQ i.+1 j ltac:(lia) hj).
have b := @charge_line_le f u c x (Q 0%N) ltac:(lia) (fun j hj => hQ 0%N j ltac:(lia) ltac:(lia)).
rewrite zrD; apply: (le_trans (ler_add b a)); rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

End Mechanism.
End Field.
