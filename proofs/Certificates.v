(** * What an accepted certificate means

    The check of [Check.certificate_ok], which is the one of verify.py, is a proof by weak duality: no mechanism over
    any ordered field that keeps the level, and has the properties required, has a smaller risk than the bound. *)

From Coq Require Import ZArith QArith List Bool Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum ring.
From Discreet Require Import Privacy Check Tables Payments Sound Properties Duality Rays Sets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Field.
Variable R : realFieldType.
Notation zr := (zr R).

(** A fraction of the file. *)
Definition value (x : fraction) : R := zr (num x) / zr (den x).

(** The mean loss under true value [i], and over the prior of the certificate. *)
Definition risk_at (c : certificate) (m : nat) (P : nat -> nat -> R) (i : nat) : R :=
  \sum_(j < m) zr (List.nth j (List.nth i (losses c) nil) 0%Z) / zr (per c) * P i j.

Definition mean_risk (c : certificate) (m : nat) (P : nat -> nat -> R) (p : nat -> R) : R :=
  \sum_(i < m) p i * risk_at c m P i.

Definition average_risk (c : certificate) (m : nat) (P : nat -> nat -> R) : R := mean_risk c m P (chance R (prior c)).

(** ** Sums of costs *)

Definition plain (c : certificate) : list (list Z) :=
  List.map (fun x => scaled (fst x) (snd x)) (List.combine (prior c) (losses c)).

Lemma plain_risk ws ls m (P : nat -> nat -> R) : lines_of m ls -> length ws = length ls ->
  pairR (List.map (fun x => scaled (fst x) (snd x)) (List.combine ws ls)) P =
  \sum_(i < length ws) zr (List.nth i ws 0%Z) * \sum_(j < m) zr (List.nth j (List.nth i ls nil) 0%Z) * P i j.
Proof.
move=> hl; elim: hl ws P => [|l {}ls h _ IH] [|w ws] P //= hw; first by rewrite big_ord0.
rewrite big_ord_recl /= dotR_scaled dotR_big h IH; last by lia.
by [].
Qed.

Lemma dotR_rev v (f : nat -> R) : dotR (List.rev v) f = dotR v (fun i => f (Nat.sub (Nat.sub (length v) 1) i)).
Proof.
elim: v f => [|x v IH] f //=; rewrite dotR_app IH /= List.rev_length Nat.add_0_r addr0 addrC !Nat.sub_0_r.
by congr (_ + _); apply: dotR_ext => i hi; congr f; lia.
Qed.

Lemma pairR_app M N (P : nat -> nat -> R) : pairR (List.app M N) P = pairR M P + pairR N (fun i => P (Nat.add (length M) i)).
Proof. by elim: M P => [|l M IH] P /=; [rewrite add0r | rewrite IH addrA]. Qed.

Lemma pairR_ext m M (P Q : nat -> nat -> R) : lines_of m M ->
  (forall i j, lt i (length M) -> lt j m -> P i j = Q i j) -> pairR M P = pairR M Q.
Proof.
move=> hM; elim: hM P Q => [|l {}M hl _ IH] P Q h //=; congr (_ + _).
  by apply: dotR_ext => j hj; apply: h => /=; lia.
by apply: IH => i j hi hj; apply: h => //=; lia.
Qed.

Lemma pairR_same M (P Q : nat -> nat -> R) : (forall i j, P i j = Q i j) -> pairR M P = pairR M Q.
Proof.
elim: M P Q => [|l M IH] P Q h //=; congr (_ + _); first by apply: dotR_ext.
by apply: IH => i j; apply: h.
Qed.

Lemma pairR_rev M (P : nat -> nat -> R) : pairR (List.rev M) P = pairR M (fun i => P (Nat.sub (Nat.sub (length M) 1) i)).
Proof.
elim: M P => [|l M IH] P //=; rewrite pairR_app IH /= List.rev_length Nat.add_0_r addr0 addrC !Nat.sub_0_r.
by congr (_ + _); apply: pairR_same => i j; congr P; lia.
Qed.

Lemma pairR_rev_lines m M (P : nat -> nat -> R) : lines_of m M ->
  pairR (List.map (@List.rev Z) M) P = pairR M (fun i j => P i (Nat.sub (Nat.sub m 1) j)).
Proof. by move=> h; elim: h P => [|l {}M hl _ IH] P //=; rewrite IH dotR_rev hl. Qed.

Lemma pairR_add m M N (P : nat -> nat -> R) : lines_of m M -> lines_of m N -> length M = length N ->
  pairR (List.map (fun x => add_rows (fst x) (snd x)) (List.combine M N)) P = pairR M P + pairR N P.
Proof.
move=> hM; elim: hM N P => [|l {}M hl _ IH] [|k N] P // hN hMN; first by rewrite /= addr0.
case/List.Forall_cons_iff: hN => hk hN; rewrite /= dotR_add; last by rewrite hl hk.
rewrite IH //; last by simpl in hMN; lia.
ring.
Qed.

Lemma plain_shape c m : lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  lines_of m (plain c) /\ length (plain c) = m.
Proof.
move=> hl hs hp; split; last by rewrite /plain List.map_length List.combine_length; lia.
apply/List.Forall_forall => l /List.in_map_iff [[w k] [<- hin]] /=; rewrite scaled_length.
by move/List.Forall_forall: hl; apply; apply: (List.in_combine_r _ _ _ _ hin).
Qed.

(** With symmetry required a mechanism costs the same under the mirror image. *)
Lemma costs_sound c m (P : nat -> nat -> R) : lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  (mem SY (require c) = true -> has_property m P SY) ->
  lines_of m (costs c) /\ length (costs c) = m /\
  pairR (costs c) P * zr (sum (prior c) * per c) = pairR (plain c) P * zr (unit_of c).
Proof.
move=> hl hs hp hsy; have [ps pl] := plain_shape hl hs hp.
rewrite /costs -/(plain c) /unit_of; case: (mem SY (require c)) hsy => [h|_]; last first.
  by split=> //; split=> //; rewrite Z.mul_1_r.
have rs : lines_of m (List.rev (List.map (@List.rev Z) (plain c))).
  apply: List.Forall_rev; apply/List.Forall_forall => l /List.in_map_iff [k [<- hk]]; rewrite List.rev_length.
  by move/List.Forall_forall: ps; apply.
have rl : length (List.rev (List.map (@List.rev Z) (plain c))) = m by rewrite List.rev_length List.map_length.
split.
  apply/List.Forall_forall => l /List.in_map_iff [[u v] [<- hin]] /=.
  have hu : length u = m by move/List.Forall_forall: ps; apply; apply: (List.in_combine_l _ _ _ _ hin).
  have hv : length v = m by move/List.Forall_forall: rs; apply; apply: (List.in_combine_r _ _ _ _ hin).
  by elim: u v m hu hv {hin hl hs hp ps pl h rs rl} => [|x u IH] [|y v] [|n] //= hu hv; rewrite (IH v n) //; lia.
split; first by rewrite List.map_length List.combine_length; lia.
rewrite (@pairR_add m) //; last by rewrite pl rl.
have mirror : pairR (List.rev (List.map (@List.rev Z) (plain c))) P = pairR (plain c) P.
  rewrite pairR_rev List.map_length pl (@pairR_rev_lines m) //; symmetry.
  by apply: (@pairR_ext m) => // i j hi hj; apply: h => //; lia.
have two : zr 2 = 1 + 1 by rewrite -zr1 -zrD.
by rewrite mirror !zrM two; ring.
Qed.

(** ** What required properties imply *)

Lemma mem_in l ls : mem l ls = true -> List.In l ls.
Proof.
have same a b : same_letter a b = true -> a = b by case: a; case: b.
by rewrite /mem List.existsb_exists => -[x [hx /same ->]].
Qed.

Lemma climb (f : nat -> R) n : (forall j, lt j n -> f j <= f j.+1) -> forall j, le j n -> f j <= f n.
Proof.
elim: n => [|n IH] h j hj; first by have -> : j = 0%N by lia.
case: (Nat.eq_dec j n.+1) => [->|ne] //.
apply: (le_trans (IH _ j _)); last by apply: h; lia.
  by move=> i hi; apply: h; lia.
by lia.
Qed.

Lemma monotone_honest (f : nat -> R) m i : lt i m ->
  (forall j, lt j.+1 m -> if Nat.ltb j i then f j <= f j.+1 else f j.+1 <= f j) -> forall j, lt j m -> f j <= f i.
Proof.
move=> hi h j hj; case: (Nat.le_gt_cases j i) => c.
  by apply: climb => // k hk; have := h k ltac:(lia); case: (Nat.ltb_spec k i) => //; lia.
have -> : j = Nat.add i (Nat.sub j i) by lia.
have : lt (Nat.add i (Nat.sub j i)) m by lia.
elim: (Nat.sub j i) => [|d IH] hd; first by rewrite Nat.add_0_r.
rewrite Nat.add_succ_r in hd *; apply: (le_trans _ (IH _)); last by lia.
by have := h (Nat.add i d) hd; case: (Nat.ltb_spec (Nat.add i d) i) => //; lia.
Qed.

Lemma allowed_sound m (P : nat -> nat -> R) ls l : (forall x, List.In x ls -> has_property m P x) ->
  allowed ls l = true -> has_property m P l.
Proof.
move=> h.
have rh : mem RH ls || mem RM ls -> has_property m P RH.
  case/orP=> /mem_in /h // rm i j hi hj; have hm := rm i.
  by apply: (@monotone_honest (fun k => P k i) m i hi _ j hj) => k hk; apply: hm.
have ch : mem CH ls || mem CM ls -> has_property m P CH.
  case/orP=> /mem_in /h // cm i j hi hj; have hm := cm i.
  by apply: (@monotone_honest (P i) m i hi _ j hj) => k hk; apply: hm.
case: l => //=.
- case/orP => [/rh //|/andP [/mem_in /h f /ch c]] i j hi hj.
  by rewrite (f i j hi hj); apply: c.
- by move/mem_in/h.
- case/orP => [/ch //|/andP [/mem_in /h f /rh r]] i j hi hj.
  by rewrite (f i j hi hj); apply: r.
- by move/mem_in/h.
- by move/mem_in/h.
- by move/mem_in/h.
Qed.

(** ** The bound *)

Lemma honest_sum_cons x (c : list (letter * list (list Z))) :
  let f := fun x => match x with (WH, lines) => lines | _ => nil end in
  sum (List.concat (List.flat_map f (x :: c))) = (sum (List.concat (f x)) + sum (List.concat (List.flat_map f c)))%Z.
Proof.
move=> f /=; rewrite List.concat_app.
have : forall u v, sum (List.app u v) = (sum u + sum v)%Z by elim=> [|a u IH] v //=; rewrite IH; lia.
by move=> ->.
Qed.

Lemma paid_letters m (P : nat -> nat -> R) q ls letters : mechanism m P -> (0 <= q)%Z -> lt 0 m ->
  (forall x, List.In x ls -> has_property m P x) ->
  List.forallb (fun x => allowed ls (fst x) && letter_shape m x) letters = true ->
  zr q * (zr (sum (List.concat (List.flat_map (fun x => match x with (WH, lines) => lines | _ => nil end) letters))) / m%:R)
  <= paidR (List.flat_map (of_letter m q) letters) P.
Proof.
move=> hP hq hm h; elim: letters => [|[l lines] letters IH]; first by rewrite /= zr0 mul0r mulr0.
rewrite [List.forallb _ _]/= => /andP [/andP [hl hs] /IH {}IH]; simpl in hl.
rewrite honest_sum_cons zrD [(zr _ + zr _) / _]mulrDl mulrDr [X in paidR X _]/= paidR_app; apply: ler_add => //.
have := allowed_sound h hl; move: hs {hl}; rewrite /letter_shape /of_letter.
have m0 : (0 < m)%N by apply/ssrnat.ltP.
case: l => //=; rewrite ?zr0 ?mul0r ?mulr0.
- by case/andP=> /shape_spec [a b] /nonneg_spec n p; apply: (@paid_RH R m) => //; lia.
- by case/andP=> /shape_spec [a b] /nonneg_spec n p; apply: (@paid_RM R m) => //; lia.
- by case/andP=> /shape_spec [a b] /nonneg_spec n p; apply: (@paid_CH R m) => //; lia.
- by case/andP=> /shape_spec [a b] /nonneg_spec n p; apply: (@paid_CM R m) => //; lia.
- by move/one_line => [_ a] p; rewrite paid_F.
- case/andP=> /one_line [e a] /nonneg_spec n p; apply: paid_WH => //.
  by move: n; rewrite {1}e => /List.Forall_cons_iff [].
Qed.

(** The last step, numbers alone. *)
Lemma arithmetic (rows hs U q S ch n d : Z) (m : nat) (A paid : R) :
  (0 < q)%Z -> (0 < U)%Z -> (0 < S)%Z -> (0 < d)%Z -> (0 < m)%N ->
  (d * ((rows * Z.of_nat m + hs) * (U * q) + ch * Z.of_nat m) = n * (S * U * q * Z.of_nat m))%Z ->
  zr q * (zr rows + zr hs / m%:R) <= paid -> zr ch <= zr (q * S) * A - zr U * paid ->
  zr n * zr U <= A * zr d.
Proof.
move=> hq hU hS hd m0 eq hpaid charged.
have {}eq := congr1 zr eq; rewrite !(zrM, zrD) zr_nat in eq.
have q0 := zr_gt0 R hq; have U0 := zr_gt0 R hU; have S0 := zr_gt0 R hS; have d0 := zr_gt0 R hd.
have n0 : (0 : R) < m%:R by rewrite ltr0n.
have M0 : (m%:R : R) != 0 by apply: lt0r_neq0.
rewrite zrM in charged.
move: (zr rows) (zr hs) (zr U) (zr q) (zr S) (zr ch) (zr n) (zr d) eq hpaid charged q0 U0 S0 d0 => r h u w t c x y.
move=> eq hpaid charged q0 U0 S0 d0.
have b : c + u * (w * (r + h / m%:R)) <= w * t * A.
  rewrite -ler_subr_addr; apply: (le_trans charged); rewrite ler_add2l ler_opp2.
  by rewrite ler_pmul2l.
have step : (r * m%:R + h) * (u * w) + c * m%:R <= w * t * A * m%:R.
  have -> : (r * m%:R + h) * (u * w) + c * m%:R = (c + u * (w * (r + h / m%:R))) * m%:R by field.
  by rewrite ler_pmul2r.
have pos : 0 < t * w * m%:R by rewrite !mulr_gt0.
rewrite -(ler_pmul2r pos).
have -> : x * u * (t * w * m%:R) = x * (t * u * w * m%:R) by ring.
rewrite -eq.
have -> : A * y * (t * w * m%:R) = y * (w * t * A * m%:R) by ring.
by rewrite ler_pmul2l.
Qed.

Lemma average_cost c m (P : nat -> nat -> R) : lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  (0 < per c)%Z -> (0 < sum (prior c))%Z ->
  average_risk c m P = pairR (plain c) P / zr (sum (prior c) * per c).
Proof.
move=> hl hs hp hper hsum.
rewrite /plain (@plain_risk _ _ m) //; last by lia.
have s0 := zr_eq0 R hsum; have per0 := zr_eq0 R hper.
rewrite hp /average_risk /mean_risk mulr_suml; apply: eq_bigr => i _; rewrite /chance.
have -> : risk_at c m P i = (\sum_(j < m) zr (List.nth j (List.nth i (losses c) nil) 0%Z) * P i j) / zr (per c).
  by rewrite /risk_at mulr_suml; apply: eq_bigr => j _; rewrite mulrAC.
rewrite zrM; move: (\sum_(j < m) _) => x; by field; rewrite s0 per0.
Qed.

Lemma payments_fit c m edges near : lt 0 m -> near_edges near m edges -> multipliers_ok c m edges = true ->
  fits m (payments c m edges).
Proof.
move=> hm he; rewrite /multipliers_ok => /andP [/andP [/andP [h1 h2] _] h4].
have [_ r2] := one_line _ _ h1; have [_ l2] := shape_spec _ _ _ h2.
apply: fits_app; first by apply: fits_row_sums.
apply: fits_app; first by apply: fits_edges => //; apply: List.Forall_impl he => e [a [b _]].
apply/List.Forall_forall => x /List.in_flat_map [y [hy hx]].
move/List.forallb_forall: h4 => /(_ y hy) /andP [_ sh].
have f := fits_letter m (den (own_alpha c)) y ltac:(lia) sh.
by move/List.Forall_forall: f; apply.
Qed.

Lemma payments_paid c m edges near (P : nat -> nat -> R) : lt 0 m -> near_edges near m edges ->
  (0 < den (own_alpha c))%Z -> multipliers_ok c m edges = true -> mechanism m P ->
  keeps_level (num (own_alpha c)) (den (own_alpha c)) near m P ->
  (forall l, List.In l (require c) -> has_property m P l) ->
  zr (den (own_alpha c)) * (zr (sum (List.concat (of_rows (given c)))) + zr (honest_sum c) / m%:R)
  <= paidR (payments c m edges) P.
Proof.
move=> hm he hq; rewrite /multipliers_ok => /andP [/andP [/andP [h1 h2] h3] h4] hP hlevel hprop.
have [_ r2] := one_line _ _ h1; have [_ l2] := shape_spec _ _ _ h2; have n3 := nonneg_spec _ h3.
rewrite mulrDr /payments !paidR_app paid_rows // ler_add2l -[X in X <= _]add0r; apply: ler_add.
  by apply: paid_edges hlevel he l2 n3.
by apply: paid_letters h4 => //; lia.
Qed.

(** The last steps, of both kinds of bound: from the costs to the average risk. *)
Lemma cost_risk c m (P : nat -> nat -> R) : lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  (0 < per c)%Z -> (0 < sum (prior c))%Z -> (mem SY (require c) = true -> has_property m P SY) ->
  (0 < unit_of c)%Z /\ lines_of m (costs c) /\ length (costs c) = m /\ average_risk c m P = pairR (costs c) P / zr (unit_of c).
Proof.
move=> hl hs hp hper hsum hsy; have [cs [cl ce]] := costs_sound hl hs hp hsy.
have hU : (0 < unit_of c)%Z.
  by rewrite /unit_of; case: (mem _ _); apply: Z.mul_pos_pos => //; apply: Z.mul_pos_pos.
split=> //; split=> //; split=> //; rewrite (average_cost P hl hs hp hper hsum).
have W0 : 0 < zr (sum (prior c) * per c) by apply: zr_gt0; apply: Z.mul_pos_pos.
have U0 := zr_gt0 R hU.
by apply/eqP; rewrite eqr_div ?lt0r_neq0 // ce.
Qed.

(** Theorem 3.1: multipliers that pass the check bound the average risk of every mechanism. *)
Theorem bound_sound c near m edges (P : nat -> nat -> R) :
  lt 0 m -> lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  (0 < per c)%Z -> (0 < sum (prior c))%Z -> (0 < den (bound c))%Z -> (0 <= bits c)%Z ->
  (0 < den (own_alpha c))%Z ->
  near_edges near m edges -> multipliers_ok c m edges = true -> bound_ok c m edges = true ->
  mechanism m P -> keeps_level (num (own_alpha c)) (den (own_alpha c)) near m P ->
  (forall l, List.In l (require c) -> has_property m P l) ->
  value (bound c) <= average_risk c m P.
Proof.
move=> hm hl hs hp hper hsum hden hbits hq he hmul hb hP hlevel hprop.
have m0 : (0 < m)%N by apply/ssrnat.ltP.
have fit := payments_fit hm he hmul.
have paid := payments_paid hm he hq hmul hP hlevel hprop.
have [hU [cs [cl ->]]] := cost_risk hl hs hp hper hsum (fun h => hprop _ (mem_in h)).
have z1 : lines_of m (List.repeat (List.repeat 0%Z m) m).
  apply/List.Forall_forall => x hx; have -> := List.repeat_spec _ _ _ hx; exact: List.repeat_length.
have z2 : length (List.repeat (List.repeat 0%Z m) m) = m by exact: List.repeat_length.
have [pe [ps pl]] := pairR_pay_all fit P z1 z2.
have le01 i j : lt i (length (costs c)) -> lt j m -> 0 <= P i j <= 1.
  by rewrite cl => hi hj; rewrite (mechanism_le1 hP) // andbT; apply: (proj1 (hP i hi)).
have hS : (0 < 2 ^ bits c)%Z by apply: Z.pow_pos_nonneg.
have charged := charges_le (den (own_alpha c) * 2 ^ bits c) (unit_of c) cs ps (etrans cl (esym pl)) le01.
rewrite pe pairR_zero add0r in charged.
rewrite /bound_ok in hb; move/Z.eqb_eq: hb => eq.
have main := arithmetic hq hU hS hden m0 eq paid charged.
have U0 := zr_gt0 R hU; have d0 := zr_gt0 R hden.
by rewrite /value ler_pdivr_mulr // mulrAC ler_pdivl_mulr.
Qed.

Lemma pairR_big m M (P : nat -> nat -> R) : lines_of m M ->
  pairR M P = \sum_(i < length M) \sum_(j < m) zr (weight M i j) * P i j.
Proof.
move=> h; elim: h P => [|l {}M hl _ IH] P /=; first by rewrite big_ord0.
by rewrite big_ord_recl IH dotR_big hl.
Qed.

(** Theorem 3.2: multipliers of the rows alone, where no ray of any report costs anything negative. *)
Theorem ray_bound_sound c near m D (P : nat -> nat -> R) :
  lt 0 m -> lines_of m (losses c) -> length (losses c) = m -> length (prior c) = m ->
  (0 < per c)%Z -> (0 < sum (prior c))%Z -> (0 < den (bound c))%Z -> (0 <= bits c)%Z ->
  (0 < num (own_alpha c) < den (own_alpha c))%Z -> le 1 D ->
  (forall i k, lt i m -> lt k m -> within D i k -> neighbouring near i k) ->
  rays_ok c m D = true -> ray_bound_ok c = true ->
  mechanism m P -> keeps_level (num (own_alpha c)) (den (own_alpha c)) near m P ->
  (forall l, List.In l (require c) -> has_property m P l) ->
  value (bound c) <= average_risk c m P.
Proof.
move=> hm hl hs hp hper hsum hden hbits [hp0 hpq] hD hnear hrays hb hP hlevel hprop.
have [hU [cs [cl ->]]] := cost_risk hl hs hp hper hsum (fun h => hprop _ (mem_in h)).
have hS : (0 < 2 ^ bits c)%Z by apply: Z.pow_pos_nonneg.
have U0 := zr_gt0 R hU; have S0 := zr_gt0 R hS; have d0 := zr_gt0 R hden.
have q0 : 0 < zr (den (own_alpha c)) by apply: zr_gt0; lia.
case/andP: hrays => /andP [/one_line [_ ly] _] hcol.
set y := List.concat (of_rows (given c)) in ly hcol.
have -> : value (bound c) = zr (sum y) / zr (2 ^ bits c).
  move/Z.eqb_eq: hb => /(congr1 zr); rewrite !zrM => e.
  by apply/eqP; rewrite /value eqr_div ?lt0r_neq0 // -e mulrC.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr // (pairR_big P cs) cl.
pose C i j := zr (weight (costs c) i j).
have column j : lt j m -> 0 <= \sum_(i < m) (C i j * zr (2 ^ bits c) / zr (unit_of c) - zr (List.nth i y 0%Z)) * P i j.
  move=> hj; have [tl tn] := transpose_nth m _ cs j hj; rewrite cl in tl tn.
  have inT := List.nth_In (transpose m (costs c)) nil (eq_ind_r (fun x => lt j x) hj (transpose_length m _ cs)).
  move/List.forallb_forall: hcol => /(_ _ inT) /Z.leb_le ray.
  have pl : length (prices_of (2 ^ bits c) (unit_of c) (List.nth j (transpose m (costs c)) nil) y) = m.
    by rewrite /prices_of List.map_length List.combine_length tl ly Nat.min_id.
  have := @cheapest_ray_sound R _ _ D hp0 hpq hD _ (fun i => P i j) ray; rewrite pl => main.
  have {}main : 0 <= dotR (prices_of (2 ^ bits c) (unit_of c) (List.nth j (transpose m (costs c)) nil) y) (fun i => P i j).
    apply: main => [i hi|i k hi hk w]; first by case: (hP i hi) => h _; apply: h.
    by rewrite mulrAC ler_pdivr_mulr // [X in _ <= X]mulrC; apply: hlevel => //; apply: hnear.
  apply: (le_trans main); rewrite dotR_big pl; apply: ler_sum => i _; have hi := ord_lt i.
  apply: ler_wpmul2r; first by case: (hP i hi) => h _; apply: h.
  rewrite /prices_of (nth_map _ (0%Z, 0%Z)) ?List.combine_length ?tl ?ly ?Nat.min_id // List.combine_nth ?tl ?ly //=.
  by rewrite zrB ler_add2r tn // -mulrA; apply: floor_le.
have : 0 <= \sum_(j < m) \sum_(i < m) (C i j * zr (2 ^ bits c) / zr (unit_of c) - zr (List.nth i y 0%Z)) * P i j.
  by apply: sumr_ge0 => j _; apply: column; exact: ord_lt.
have -> : \sum_(j < m) \sum_(i < m) (C i j * zr (2 ^ bits c) / zr (unit_of c) - zr (List.nth i y 0%Z)) * P i j =
  (\sum_(i < m) \sum_(j < m) C i j * P i j) * (zr (2 ^ bits c) / zr (unit_of c)) - zr (sum y).
  have -> : zr (sum y) = \sum_(i < m) \sum_(j < m) zr (List.nth i y 0%Z) * P i j.
    rewrite -sum_nth ly; apply: eq_bigr => i _.
    by case: (hP i (ord_lt i)) => _ one; rewrite -mulr_sumr one mulr1.
  rewrite exchange_big mulr_suml -sumrB; apply: eq_bigr => i _; rewrite mulr_suml -sumrB; apply: eq_bigr => j _.
  by ring.
rewrite subr_ge0 mulrA ler_pdivl_mulr //; exact.
Qed.

(** Theorem 3.3: the same of the worst case: no number below the bound is above the risks of all true values that the
    worst case is taken among. *)
Theorem worst_sound c m (P : nat -> nat -> R) places r :
  length (prior c) = m -> (0 < sum (prior c))%Z -> List.Forall (Z.le 0) (prior c) ->
  prior_inside c places m = true ->
  (forall j, List.In j places -> lt (Z.to_nat j) m -> risk_at c m P (Z.to_nat j) <= r) ->
  average_risk c m P <= r.
Proof.
move=> hp hsum hn hin hr.
have s0 := zr_gt0 R hsum.
have total : \sum_(i < m) zr (List.nth i (prior c) 0%Z) / zr (sum (prior c)) = 1.
  rewrite -mulr_suml -hp.
  have -> : \sum_(i < length (prior c)) zr (List.nth i (prior c) 0%Z) = zr (sum (prior c)).
    elim: (prior c) => [|x l IH] /=; first by rewrite big_ord0 zr0.
    by rewrite big_ord_recl /= IH zrD.
  by rewrite mulfV // lt0r_neq0.
rewrite -[r]mul1r -total mulr_suml /average_risk /mean_risk; apply: ler_sum => i _; rewrite /chance.
have hi : lt i m by apply/ssrnat.ltP.
move/List.forallb_forall: hin => /(_ (nat_of_ord i)); rewrite List.in_seq => /(_ ltac:(lia)) /orP [/Z.eqb_eq ->|].
  by rewrite zr0 !mul0r.
case/List.existsb_exists => j [hj /Z.eqb_eq e].
apply: ler_wpmul2l.
  apply: divr_ge0; last by apply: ltW.
  apply: zr_ge0.
  by move/List.Forall_forall: hn; apply; apply: List.nth_In; lia.
have := hr j hj; rewrite -e Nat2Z.id; exact.
Qed.

(** ** The risk that a certificate is about *)

(** The risk of a mechanism is at most [r]: its mean under the prior, the risk of every true value that the worst case is taken
    among, or its mean under every prior of the set. *)
Definition risk_at_most (c : certificate) (m : nat) (P : nat -> nat -> R) (r : R) : Prop :=
  match kind c with
  | Average => average_risk c m P <= r
  | Worst places => forall j, List.In j places -> risk_at c m P (Z.to_nat j) <= r
  | Largest s => forall p, in_set s m p -> mean_risk c m P p <= r
  end.

(** The risk of a mechanism is [r]: at most that, and attained, by a true value of the worst case or under a prior of the set. *)
Definition risk_is (c : certificate) (m : nat) (P : nat -> nat -> R) (r : R) : Prop :=
  risk_at_most c m P r /\
  match kind c with
  | Average => average_risk c m P = r
  | Worst places => exists j, List.In j places /\ risk_at c m P (Z.to_nat j) = r
  | Largest s => exists p, in_set s m p /\ mean_risk c m P p = r
  end.

(** Theorem 3.8: so a mechanism has one risk. *)
Theorem risk_unique c m (P : nat -> nat -> R) r r' : risk_is c m P r -> risk_is c m P r' -> r = r'.
Proof.
rewrite /risk_is /risk_at_most; case: (kind c) => [|places|s].
- by move=> [_ <-] [_ <-].
- by move=> [h [j [hj e]]] [h' [k [hk e']]]; apply/eqP; rewrite eq_le -{1}e h' //= -e' h.
- by move=> [h [p [hp e]]] [h' [q [hq e']]]; apply/eqP; rewrite eq_le -{1}e h' //= -e' h.
Qed.

(** The probabilities of a document's own mechanism. *)
Definition own (d : document) (i j : nat) : R := zr (weight (rows_of (the_channel d)) i j) / zr (total_of (the_channel d)).

Lemma dot_big u v : length u = length v -> zr (dot u v) = \sum_(j < length u) zr (List.nth j u 0%Z) * zr (List.nth j v 0%Z).
Proof.
elim: u v => [|x u IH] [|y v] //= h; first by rewrite big_ord0 zr0.
by rewrite big_ord_recl zrD zrM /= IH //; lia.
Qed.

Lemma risks_nth ls rows i : length ls = length rows -> lt i (length ls) ->
  length (risks ls rows) = length ls /\ List.nth i (risks ls rows) 0%Z = dot (List.nth i ls nil) (List.nth i rows nil).
Proof.
elim: ls rows i => [|l ls IH] [|r rows] i //= h hi; first by lia.
have len : length (risks ls rows) = length ls.
  elim: ls rows {IH hi} h => [|a ls IH] [|b rows] //= h; rewrite IH //; lia.
split; first by rewrite len.
case: i hi => [|i] //= hi; by case: (IH rows i) => //; lia.
Qed.

Lemma largest_ge l x : List.In x l -> (x <= largest l)%Z.
Proof.
have fold_ge k y : (y <= List.fold_left Z.max k y)%Z.
  elim: k y => [|z k IH] y /=; first by lia.
  by apply: Z.le_trans (IH _); lia.
have fold_in k y z : List.In z k -> (z <= List.fold_left Z.max k y)%Z.
  elim: k y => [|w k IH] y //= [<-|h]; last exact: IH.
  by apply: Z.le_trans (fold_ge _ _); lia.
by case: l => [|y l] //= [<-|h]; [apply: fold_ge | apply: fold_in].
Qed.

Lemma largest_in l : l <> nil -> List.In (largest l) l.
Proof.
case: l => [|x l] // _ /=; elim: l x => [|y l IH] x /=; first by left.
have [|h] := IH (Z.max x y); last by right; right.
by case: (Z.max_spec x y) => -[_ ->] <-; [right; left | left].
Qed.
End Field.

(** Theorem 3.9: of an accepted document with a certificate, no mechanism over any ordered field that keeps the level and has
    the properties required has a risk below the bound. *)
Theorem accepted_certificate d c : check d = Holds -> Check.proof d = Some c ->
  forall (R : realFieldType) (P : nat -> nat -> R), let m := length (losses c) in
  mechanism m P ->
  keeps_level (num (own_alpha c)) (den (own_alpha c)) (the_neighbours d) m P ->
  (forall l, List.In l (require c) -> has_property m P l) ->
  forall r, risk_at_most c m P r -> value R (bound c) <= r.
Proof.
move=> hcheck hproof R P m hP hlevel hprop r.
have [hm [_ [hl [hlaw [hper [hden [_ [hbits [hq [_ [_ [_ [_ [hrisk [_ hby]]]]]]]]]]]]]]] := certificate_parts _ _ hcheck hproof.
have [hp [hn hsum]] := law_okP hlaw.
have average : value R (bound c) <= average_risk c m P.
  case: hby => [[edges [he [hmul hb]]]|[D [hD [hnear [hrays hb]]]]].
    by apply: bound_sound hl (erefl _) hp hper hsum hden hbits _ he hmul hb hP hlevel hprop; rewrite -/m; lia.
  by apply: ray_bound_sound hl (erefl _) hp hper hsum hden hbits hq hD hnear hrays hb hP hlevel hprop; rewrite -/m; lia.
move: hrisk; rewrite /risk_at_most /risk_ok; case: (kind c) => [_ h|places|s].
- exact: le_trans average h.
- rewrite /need; case: ifP => //= _; case: ifP => //= inside _ hr; apply: (le_trans average).
  have [_ [hrows _]] := certificate_parts _ _ hcheck hproof; rewrite hrows in inside.
  by apply: (worst_sound hp hsum hn inside) => j hj _; apply: hr.
- move=> hset hr; apply: (le_trans average); apply: hr.
  have [_ [hrows _]] := certificate_parts _ _ hcheck hproof; rewrite hrows in hset.
  exact: set_member hlaw hset.
Qed.

(** Theorem 3.10: the risk of the document's own mechanism is the one that the certificate claims. *)
Theorem accepted_risk d c : check d = Holds -> Check.proof d = Some c ->
  forall R : realFieldType, risk_is c (length (losses c)) (@own R d) (value R (objective c)).
Proof.
move=> hcheck hproof R; set m := length (losses c).
have [hm [hrows [hl [hlaw [hper [_ [hobj [_ [_ [_ [hsq [_ [_ [hrisk _]]]]]]]]]]]]]] := certificate_parts _ _ hcheck hproof.
have [[hT htable] _] := accepted_is_private _ hcheck; have [hp [_ hsum]] := law_okP hlaw.
rewrite -/m in hp; have [hc _] := check_parts _ hcheck; have [_ [hsize _]] := channel_ok_table _ hc.
set T := total_of (the_channel d) in hT hrisk *; set rows := rows_of (the_channel d) in hrows hrisk htable hsize *.
have hreports : Z.to_nat (reports (the_channel d)) = m by rewrite -hsq -hsize hrows Nat2Z.id.
have nz := zr_eq0 R hper; have tz := zr_eq0 R hT; have pt : (0 < per c * T)%Z by apply: Z.mul_pos_pos.
have risk i : lt i m -> risk_at c m (@own R d) i = zr R (List.nth i (risks (losses c) rows) 0%Z) / zr R (per c * T).
  move=> hi; have [_ ->] := risks_nth (esym hrows) hi.
  have ll : length (List.nth i (losses c) nil) = m by move/List.Forall_forall: hl; apply; apply: List.nth_In.
  have lr : length (List.nth i rows nil) = m.
    have : List.In (List.nth i rows nil) rows by apply: List.nth_In; rewrite hrows.
    by move/List.Forall_forall: htable => h /h [->].
  rewrite dot_big ?ll ?lr // mulr_suml; apply: eq_bigr => j _; rewrite /own /weight -/rows -/T zrM.
  by field; rewrite nz tz.
have obj_nz := zr_eq0 R hobj; have ptz := zr_eq0 R pt.
move: hrisk; rewrite /risk_is /risk_at_most /risk_ok; case: (kind c) => [|places|s].
- rewrite /need; case: ifP => //= /Z.eqb_eq /(congr1 (zr R)); rewrite [zr R (num _ * _)]zrM [zr R (den _ * _)]zrM => e _.
  have [lr _] := risks_nth (esym hrows) (i := 0) ltac:(rewrite -/m; lia).
  have -> : average_risk c m (@own R d) = zr R (dot (prior c) (risks (losses c) rows)) / zr R (sum (prior c) * per c * T).
    rewrite dot_big ?lr ?hp // mulr_suml; apply: eq_bigr => i _; rewrite risk; last exact: ord_lt.
    rewrite /chance !zrM; by rewrite !invfM mulrACA !mulrA.
  have -> : zr R (dot (prior c) (risks (losses c) rows)) / zr R (sum (prior c) * per c * T) = value R (objective c); last by split.
  apply/eqP; rewrite /value eqr_div //; first by rewrite mulrC -e; apply/eqP.
  by apply: zr_eq0; rewrite -Z.mul_assoc; apply: Z.mul_pos_pos.
- rewrite /need; case: ifP => //= /andP [hsome hplaces]; case: ifP => //= _; case: ifP => //= /Z.eqb_eq.
  move/(congr1 (zr R)); rewrite [zr R (num _ * _)]zrM [zr R (den _ * _)]zrM => e _.
  set at_place := fun j => List.nth (Z.to_nat j) (risks (losses c) rows) 0%Z in e.
  have claimed : value R (objective c) = zr R (largest (List.map at_place places)) / zr R (per c * T).
    by apply/eqP; rewrite /value eqr_div // e mulrC.
  have here j : List.In j places -> risk_at c m (@own R d) (Z.to_nat j) = zr R (at_place j) / zr R (per c * T).
    move=> hj; move/List.forallb_forall: hplaces => /(_ j hj) /andP [/Z.leb_le j0 /Z.ltb_lt j1]; rewrite hrows in j1.
    by rewrite risk //; rewrite -/m in j1 *; lia.
  rewrite claimed; split=> [j hj|].
    by rewrite here // ler_pmul2r ?invr_gt0 ?zr_gt0 //; apply: zr_le; apply: largest_ge; exact: (List.in_map at_place).
  have : List.map at_place places <> nil by case: (places) hsome.
  move/largest_in/List.in_map_iff => [j [<- hj]]; by exists j; rewrite here.
- move=> hset; rewrite hrows -/m in hset.
  have [lr _] := risks_nth (esym hrows) (i := 0) ltac:(rewrite -/m; lia).
  set found := List.map _ _ in hset; have lf : length found = m by rewrite /found List.map_length lr.
  have mean (p : nat -> R) : \sum_(j < m) p j * qr R (List.nth j found 0%Q) = mean_risk c m (@own R d) p.
    apply: eq_bigr => i _; rewrite risk; last exact: ord_lt.
    by rewrite /found (nth_map _ 0%Z) ?lr ?qr_make //; exact: ord_lt.
  have told : qr R (rational (objective c)) = value R (objective c) by rewrite rational_value //; apply/Z.ltb_lt.
  split=> [p hin|]; first by rewrite -told -mean; apply: set_largest hset p hin.
  by have [p [hin e]] := @set_attained R m (prior c) s found _ lf hset; exists p; rewrite -told -mean.
Qed.

(** Theorem 3.11: that mechanism keeps the level and has the properties, so the other theorems are about something. *)
Theorem accepted_mechanism d c : check d = Holds -> Check.proof d = Some c ->
  forall R : realFieldType, let m := length (losses c) in
  mechanism m (@own R d) /\
  keeps_level (num (own_alpha c)) (den (own_alpha c)) (the_neighbours d) m (@own R d) /\
  (forall l, List.In l (require c) -> has_property m (@own R d) l).
Proof.
move=> hcheck hproof R m.
have [hm [hrows [_ [_ [_ [_ [_ [_ [hq [heq [hsq [_ [hreq [_ [hone _]]]]]]]]]]]]]]] := certificate_parts _ _ hcheck hproof.
have [[hT htable] _] := accepted_is_private _ hcheck.
have [hc [ha _]] := check_parts _ hcheck; have [_ [hsize _]] := channel_ok_table _ hc; have [hab hb] := alpha_ok_sound _ ha.
have hreports : Z.to_nat (reports (the_channel d)) = m by rewrite -hsq -hsize hrows Nat2Z.id.
have T0 := zr_gt0 R hT.
have row i : lt i m -> exists r, List.nth_error (rows_of (the_channel d)) i = Some r /\
    law (total_of (the_channel d)) m r /\ forall j, @own R d i j = zr R (List.nth j r 0%Z) / zr R (total_of (the_channel d)).
  move=> hi; case e: (List.nth_error (rows_of (the_channel d)) i) => [r|]; last first.
    by move/List.nth_error_None: e; rewrite hrows -/m; lia.
  exists r; split=> //; split.
    by rewrite -hreports; move/List.Forall_forall: htable; apply; apply: List.nth_error_In e.
  by move=> j; rewrite /own /weight (List.nth_error_nth _ _ nil e).
have nn r j : law (total_of (the_channel d)) m r -> lt j m -> (0 <= List.nth j r 0)%Z.
  by move=> [lr [hn _]] hj; move/List.Forall_forall: hn; apply; apply: List.nth_In; lia.
split.
  move=> i hi; have [r [_ [lr e]]] := row i hi; split=> [j hj|].
    by rewrite e; apply: divr_ge0; [apply: zr_ge0; apply: (nn r) | apply: ltW].
  under eq_bigr => j _ do rewrite e.
  case: lr => lr [_ sr]; have := sum_nth R r; rewrite lr -mulr_suml => ->.
  by rewrite sr mulfV // lt0r_neq0.
split.
  move=> i k j hi hk hj near; have [r [er [lr e]]] := row i hi; have [s [es [ls f]]] := row k hk.
  have keep := promise_entries _ _ _ _ _ hcheck near hone er es.
  rewrite e f !mulrA ler_pmul2r ?invr_gt0 // -!zrM; apply: zr_le.
  have : (num (alpha d) * List.nth j r 0 <= den (alpha d) * List.nth j s 0)%Z.
    case: lr => lr _; have lt : lt j (length r) by lia.
    clear -keep lt; elim: keep j lt => [|w w' {}r {}s h _ IH] [|j] //= lt; try lia.
    by apply: IH; lia.
  have := nn r j lr hj; have := nn s j ls hj; move: (List.nth j r 0%Z) (List.nth j s 0%Z) => x y y0 x0 h.
  by apply: (Zmult_le_reg_r _ _ (den (alpha d))); nia.
move=> l /(proj1 (List.forallb_forall _ _) hreq) hl.
have := has_letter_sound _ _ hc hsq hl; rewrite -hsize hrows -/m Nat2Z.id.
have le i j k h : (weight (rows_of (the_channel d)) i j <= weight (rows_of (the_channel d)) k h)%Z -> @own R d i j <= @own R d k h.
  by move=> e; rewrite /own ler_pmul2r ?invr_gt0 //; apply: zr_le.
case: l {hl} => /=.
- by move=> h i j hi hj; apply: le; apply: h.
- by move=> h i j hi hj; have := h i j hi hj; case: ifP => _; apply: le.
- by move=> h i j hi hj; apply: le; apply: h.
- by move=> h i j hi hj; have := h i j hi hj; case: ifP => _; apply: le.
- by move=> h i j hi hj; rewrite /own (h i j).
- move=> h i hi; have := h i hi; rewrite /own mulrAC ler_pdivl_mulr // mul1r -zr_nat -zrM; exact: zr_le.
- by move=> h i j hi hj; rewrite /own (h i j).
Qed.

(** Theorem 3.12: so no mechanism of the level and the properties is better than the document's by more than the gap between
    the risk and the bound of its certificate. *)
Theorem accepted_gap d c : check d = Holds -> Check.proof d = Some c ->
  forall (R : realFieldType) (P : nat -> nat -> R), let m := length (losses c) in
  mechanism m P ->
  keeps_level (num (own_alpha c)) (den (own_alpha c)) (the_neighbours d) m P ->
  (forall l, List.In l (require c) -> has_property m P l) ->
  forall r, risk_at_most c m P r -> risk_at_most c m (@own R d) (r + (value R (objective c) - value R (bound c))).
Proof.
move=> hcheck hproof R P m hP hlevel hprop r hr.
have below := accepted_certificate hcheck hproof hP hlevel hprop hr.
have more : value R (objective c) <= r + (value R (objective c) - value R (bound c)).
  by rewrite addrCA ler_addl subr_ge0.
have [] := accepted_risk hcheck hproof R; rewrite /risk_at_most -/m => + _; case: (kind c) => [h|places h j hj|s h p hp].
- exact: le_trans h more.
- exact: le_trans (h j hj) more.
- exact: le_trans (h p hp) more.
Qed.
