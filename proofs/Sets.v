(** * Sets of priors

    A certificate may be about every prior of a set: the mixtures of some, or all that keep to limits. Three things are checked:
    that the prior of its bound is in the set, that under no prior of the set the losses of the mechanism have a
    larger mean than the risk that is claimed, and that under one they have that mean. All are proved here to follow from
    [Check.set_ok], over any ordered field. *)

From Coq Require Import ZArith QArith List Bool Lia.
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

(** ** Rationals in a field *)

Definition qr (x : Q) : R := zr (Qnum x) / zr (Z.pos (Qden x)).

Lemma den_pos (x : positive) : 0 < zr (Z.pos x).
Proof. by apply: zr_gt0. Qed.

Lemma den_nz (x : positive) : zr (Z.pos x) != 0.
Proof. by rewrite lt0r_neq0 ?den_pos. Qed.

Lemma qr_make x d : (0 < d)%Z -> qr (x # Z.to_pos d) = zr x / zr d.
Proof. by move=> h; rewrite /qr /= Z2Pos.id. Qed.

Lemma qr_Z x : qr (inject_Z x) = zr x.
Proof. by rewrite /qr /= zr1 divr1. Qed.

Lemma qrD x y : qr (x + y)%Q = qr x + qr y.
Proof.
case: x y => [a b] [c d]; rewrite /qr /= Pos2Z.inj_mul zrD !zrM.
by field; rewrite !den_nz.
Qed.

Lemma qrM x y : qr (x * y)%Q = qr x * qr y.
Proof.
case: x y => [a b] [c d]; rewrite /qr /= Pos2Z.inj_mul !zrM.
by field; rewrite !den_nz.
Qed.

Lemma qrB x y : qr (x - y)%Q = qr x - qr y.
Proof. by rewrite /Qminus qrD; congr (_ + _); rewrite /qr /= zrN mulNr. Qed.

Lemma qr_le x y : Qle_bool x y = true -> qr x <= qr y.
Proof.
move/Qle_bool_iff; case: x y => [a b] [c d]; rewrite /Qle /qr /= => h.
by rewrite ler_pdivr_mulr ?den_pos // mulrAC ler_pdivl_mulr ?den_pos // -!zrM zr_le.
Qed.

Lemma qr_eq x y : Qeq_bool x y = true -> qr x = qr y.
Proof.
move/Qeq_bool_iff; case: x y => [a b] [c d]; rewrite /Qeq /qr /= => h.
by apply/eqP; rewrite eqr_div ?den_nz // -!zrM h.
Qed.

Lemma qr_dot u v : length u = length v ->
  qr (dotQ u v) = \sum_(k < length u) qr (List.nth k u 0%Q) * qr (List.nth k v 0%Q).
Proof.
elim: u v => [|x u IH] [|y v] //= h; first by rewrite big_ord0 /qr /= zr0 mul0r.
by rewrite big_ord_recl qrD qrM /= IH //; lia.
Qed.

Lemma nth_map A B (f : A -> B) l k d e : lt k (length l) -> List.nth k (List.map f l) e = f (List.nth k l d).
Proof. by move=> h; rewrite (List.nth_indep _ e (f d)) ?List.map_length // List.map_nth. Qed.

Lemma ord_lt n (i : 'I_n) : lt i n.
Proof. exact/ssrnat.ltP. Qed.

(** ** The sets *)

(** The probabilities that integer weights stand for. *)
Definition chance (p : list Z) (j : nat) : R := zr (List.nth j p 0%Z) / zr (sum p).

Definition limit_value (l : limit) (m : nat) (p : nat -> R) : R :=
  \sum_(j < m) zr (List.nth j (coefficients l) 0%Z) / zr (limit_per l) * p j.

Definition below_end (x : R) (e : option fraction) : Prop := if e is Some y then x <= zr (num y) / zr (den y) else True.
Definition above_end (x : R) (e : option fraction) : Prop := if e is Some y then zr (num y) / zr (den y) <= x else True.

(** A prior of a set on [m] values: a mixture of the members, or one that keeps to every limit. *)
Definition in_set (s : prior_set) (m : nat) (p : nat -> R) : Prop :=
  match s with
  | Hull members _ => exists w : nat -> R,
      (forall k, lt k (length members) -> 0 <= w k) /\ \sum_(k < length members) w k = 1 /\
      forall j, lt j m -> p j = \sum_(k < length members) w k * chance (List.nth k members nil) j
  | Limits limits _ _ =>
      (forall j, lt j m -> 0 <= p j) /\ \sum_(j < m) p j = 1 /\
      forall l, List.In l limits -> above_end (limit_value l m p) (low_end l) /\ below_end (limit_value l m p) (high_end l)
  end.

Lemma law_okP m p : law_ok m p = true -> length p = m /\ List.Forall (Z.le 0) p /\ (0 < sum p)%Z.
Proof.
rewrite /law_ok => /andP [/andP [/Nat.eqb_eq h1 h2] /Z.ltb_lt h3]; split=> //; split=> //.
by apply/List.Forall_forall => x hx; move/List.forallb_forall: h2 => /(_ x hx) /Z.leb_le.
Qed.

Lemma normal_nth p j : (0 < sum p)%Z -> qr (List.nth j (normal p) 0%Q) = chance p j.
Proof.
move=> h; rewrite /normal /chance; case: (Nat.lt_ge_cases j (length p)) => c.
  by rewrite (nth_map _ 0%Z) // qr_make.
rewrite List.nth_overflow ?List.map_length // List.nth_overflow //.
by rewrite /qr /= zr0 !mul0r.
Qed.

Lemma sum_nth p : \sum_(i < length p) zr (List.nth i p 0%Z) = zr (sum p).
Proof. by elim: p => [|x l IH] /=; [rewrite big_ord0 zr0 | rewrite big_ord_recl /= IH zrD]. Qed.

Lemma chance_law m p : law_ok m p = true -> (forall j, lt j m -> 0 <= chance p j) /\ \sum_(j < m) chance p j = 1.
Proof.
move=> /law_okP [hl [hn hs]]; have s0 := zr_gt0 R hs; split.
  move=> j hj; apply: divr_ge0; last exact: ltW.
  by apply: zr_ge0; move/List.Forall_forall: hn; apply; apply: List.nth_In; lia.
by rewrite -mulr_suml -hl sum_nth mulfV // lt0r_neq0.
Qed.

Lemma rational_value e : fraction_ok e = true -> qr (rational e) = zr (num e) / zr (den e).
Proof. by move/Z.ltb_lt => h; rewrite /rational qr_make. Qed.

Lemma end_value m l (p : nat -> R) : length (coefficients l) = m -> (0 < limit_per l)%Z -> \sum_(j < m) p j = 1 ->
  forall (f : Q -> Q) (e s : R), (forall x, qr (f x) = s * (qr x - e)) ->
  \sum_(j < m) qr (List.nth j (List.map f (List.map (fun x => x # Z.to_pos (limit_per l)) (coefficients l))) 0%Q) * p j =
  s * (limit_value l m p - e).
Proof.
move=> hl hper one f e s hf; rewrite -[e]mulr1 -one mulr_sumr /limit_value -sumrB mulr_sumr.
apply: eq_bigr => j _; have hj := ord_lt j.
rewrite (nth_map _ 0%Q) ?List.map_length ?hl // (nth_map _ 0%Z) ?hl // hf qr_make //; ring.
Qed.

(** Every end of every limit is a row [c] with c . p <= 0. *)
Lemma ends_sound m l (p : nat -> R) c : limit_ok m l = true -> List.In c (ends_of l) -> \sum_(j < m) p j = 1 ->
  above_end (limit_value l m p) (low_end l) /\ below_end (limit_value l m p) (high_end l) ->
  \sum_(j < m) qr (List.nth j c 0%Q) * p j <= 0.
Proof.
rewrite /limit_ok => /andP [/andP [/andP [/Nat.eqb_eq hl /Z.ltb_lt hper] hlow] hhigh] hc one [low high].
have value := end_value hl hper one.
case/List.in_app_iff: hc.
- case: (low_end l) hlow low => [e|] //= he h [<-|//]; rewrite (value _ (zr (num e) / zr (den e)) (-1)).
    by rewrite mulN1r oppr_le0 subr_ge0.
  by move=> x; rewrite qrB rational_value //; ring.
- case: (high_end l) hhigh high => [e|] //= he h [<-|//]; rewrite (value _ (zr (num e) / zr (den e)) 1).
    by rewrite mul1r subr_le0.
  by move=> x; rewrite qrB rational_value //; ring.
Qed.

(** And only what the rows say is asked. *)
Lemma ends_complete m l (p : nat -> R) : limit_ok m l = true -> \sum_(j < m) p j = 1 ->
  (forall c, List.In c (ends_of l) -> \sum_(j < m) qr (List.nth j c 0%Q) * p j <= 0) ->
  above_end (limit_value l m p) (low_end l) /\ below_end (limit_value l m p) (high_end l).
Proof.
rewrite /limit_ok => /andP [/andP [/andP [/Nat.eqb_eq hl /Z.ltb_lt hper] hlow] hhigh] one hc.
have value := end_value hl hper one.
move: hc; rewrite /ends_of => hc; split.
- case: (low_end l) hlow hc => [e|] //= he hc.
  have := hc _ (or_introl (erefl _)); rewrite (value _ (zr (num e) / zr (den e)) (-1)).
    by rewrite mulN1r oppr_le0 subr_ge0.
  by move=> x; rewrite qrB rational_value //; ring.
- case: (high_end l) hhigh hc => [e|] //= he hc.
  have := hc _ (List.in_or_app _ _ _ (or_intror (List.in_eq _ _))).
  rewrite (value _ (zr (num e) / zr (den e)) 1); first by rewrite mul1r subr_le0.
  by move=> x; rewrite qrB rational_value //; ring.
Qed.

Lemma ends_length m l c : limit_ok m l = true -> List.In c (ends_of l) -> length c = m.
Proof.
rewrite /limit_ok => /andP [/andP [/andP [/Nat.eqb_eq hl _] _] _] /List.in_app_iff.
by case; [case: (low_end l) => [e|] | case: (high_end l) => [e|]] => //= -[<-|//]; rewrite !List.map_length.
Qed.

(** Weights that keep to the ends of all limits are a prior of the set. *)
Lemma within_limits m limits prices worst law : law_ok m law = true -> List.forallb (limit_ok m) limits = true ->
  List.forallb (fun c => Qle_bool (dotQ c (List.map inject_Z law)) 0) (List.flat_map ends_of limits) = true ->
  in_set (Limits limits prices worst) m (chance law).
Proof.
move=> hlaw hlim hends; have [hl [_ hs]] := law_okP hlaw; have [ge0 one] := chance_law hlaw; have s0 := zr_gt0 R hs.
split=> //; split=> // l inl.
have ok : limit_ok m l = true by move/List.forallb_forall: hlim; apply.
apply: (ends_complete ok one) => c inc.
have := proj1 (List.forallb_forall _ _) hends c (proj2 (List.in_flat_map _ _ _) (ex_intro _ l (conj inl inc))).
move/qr_le; rewrite qr_dot ?List.map_length ?(ends_length ok inc) // => h.
have -> : \sum_(j < m) qr (List.nth j c 0%Q) * chance law j =
  (\sum_(k < m) qr (List.nth k c 0%Q) * qr (List.nth k (List.map inject_Z law) 0%Q)) / zr (sum law).
  rewrite mulr_suml; apply: eq_bigr => k _; rewrite (nth_map _ 0%Z) ?hl ?qr_Z; last exact: ord_lt.
  by rewrite /chance mulrA.
rewrite pmulr_lle0 ?invr_gt0 //; apply: (le_trans h).
by rewrite /qr /= zr0 mul0r.
Qed.

(** Theorem 3.5: the prior of the bound is in the set. *)
Theorem set_member m law s risks told : law_ok m law = true -> set_ok m law s risks told = Holds ->
  in_set s m (chance law).
Proof.
move=> hlaw; have [hl [_ hs]] := law_okP hlaw; have [ge0 one] := chance_law hlaw; have s0 := zr_gt0 R hs.
case: s => [members shares|limits prices worst]; rewrite /set_ok /need.
  case: ifP => //= /andP [/andP [_ hm] hsh]; case: ifP => //= hmix _.
  have [shl [_ shs]] := law_okP hsh; have [w0 w1] := chance_law hsh.
  exists (chance shares); split=> //; split=> // j hj.
  move/List.forallb_forall: hmix => /(_ j); rewrite List.in_seq => /(_ ltac:(lia)) /qr_eq.
  rewrite qrM !qr_Z zrM /mixed qr_dot ?List.map_length // shl => e.
  have t0 := zr_gt0 R shs.
  have -> : \sum_(k < length members) chance shares k * chance (List.nth k members nil) j =
    (\sum_(k < length members) qr (List.nth k (List.map inject_Z shares) 0%Q) *
      qr (List.nth k (List.map (fun p => List.nth j (normal p) 0%Q) members) 0%Q)) / zr (sum shares).
    rewrite mulr_suml; apply: eq_bigr => k _; have hk := ord_lt k.
    rewrite (nth_map _ 0%Z) ?shl // qr_Z (nth_map _ nil) // normal_nth; first by rewrite {1}/chance; ring.
    move/List.forallb_forall: hm => /(_ (List.nth k members nil) (List.nth_In _ _ hk)) /law_okP [_ [_]]; exact.
  by apply/eqP; rewrite /chance eqr_div ?lt0r_neq0 // -e mulrC.
case: ifP => //= /andP [_ hlim]; case: ifP => //= /andP [_ /andP [hends _]] _; exact: within_limits.
Qed.

(** Theorem 3.6: under no prior of the set do these losses have a larger mean than what is claimed. *)
Theorem set_largest m law s risks told : length risks = m -> set_ok m law s risks told = Holds ->
  forall p : nat -> R, in_set s m p -> \sum_(j < m) p j * qr (List.nth j risks 0%Q) <= qr told.
Proof.
move=> hr; case: s => [members shares|limits prices worst]; rewrite /set_ok /need.
  case: ifP => //= /andP [/andP [_ hm] hsh]; case: ifP => //= hmix; case: ifP => //= hmax _ p [w [w0 [w1 hp]]].
  have -> : \sum_(j < m) p j * qr (List.nth j risks 0%Q) =
    \sum_(k < length members) w k * \sum_(j < m) chance (List.nth k members nil) j * qr (List.nth j risks 0%Q).
    transitivity (\sum_(j < m) \sum_(k < length members)
      w k * chance (List.nth k members nil) j * qr (List.nth j risks 0%Q)).
      by apply: eq_bigr => j _; rewrite (hp j (ord_lt j)) mulr_suml.
    by rewrite exchange_big; apply: eq_bigr => k _; rewrite mulr_sumr; apply: eq_bigr => j _; rewrite mulrA.
  rewrite -[qr told]mul1r -w1 mulr_suml; apply: ler_sum => k _; have hk := ord_lt k.
  apply: ler_wpmul2l; first exact: w0.
  have inm := List.nth_In members nil hk.
  have [lk [_ sk]] := law_okP (proj1 (List.forallb_forall _ _) hm _ inm).
  case/andP: hmax => _ /List.forallb_forall /(_ _ (List.in_map (fun p => dotQ (normal p) risks) _ _ inm)) /qr_le.
  apply: le_trans; rewrite qr_dot /normal ?List.map_length ?lk ?hr // -/(normal _).
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => j _; rewrite -/(normal (List.nth k members nil)) normal_nth.
case: ifP => //= /andP [_ hlim]; case: ifP => //= _; case: ifP => //= /andP [/Nat.eqb_eq hlen hpr].
case: ifP => //= hmax; case: ifP => //= _ _ p [p0 [p1 hp]].
set ends := List.flat_map ends_of limits in hlen hmax *; set paid := List.map rational prices in hmax *.
have lp : length paid = length ends by rewrite List.map_length.
have cost j : lt j m -> qr (List.nth j risks 0%Q) <=
  qr told + \sum_(k < length ends) qr (List.nth k paid 0%Q) * qr (List.nth j (List.nth k ends nil) 0%Q).
  move=> hj; case/andP: hmax => _ /List.forallb_forall.
  move/(_ (left_of ends paid (List.nth j risks 0%Q) j)) => h.
  have {h} := h (proj2 (List.in_map_iff _ _ _) (ex_intro _ (List.nth j risks 0%Q, j) (conj (erefl _) _))).
  have inc : List.In (List.nth j risks 0%Q, j) (List.combine risks (List.seq 0 m)).
    have -> : (List.nth j risks 0%Q, j) = List.nth j (List.combine risks (List.seq 0 m)) (0%Q, 0%N).
      by rewrite List.combine_nth ?List.seq_length // List.seq_nth.
    by apply: List.nth_In; rewrite List.combine_length List.seq_length hr Nat.min_id.
  move=> /(_ inc) /qr_le; rewrite /left_of qrB qr_dot lp; last by rewrite List.map_length.
  rewrite ler_subl_addr => h; apply: (le_trans h); rewrite le_eqVlt; apply/orP; left; apply/eqP.
  congr (_ + _); apply: eq_bigr => k _; rewrite (nth_map _ nil) //; exact: ord_lt.
apply: (@le_trans _ _ (\sum_(j < m) p j * (qr told +
  \sum_(k < length ends) qr (List.nth k paid 0%Q) * qr (List.nth j (List.nth k ends nil) 0%Q)))).
  by apply: ler_sum => j _; apply: ler_wpmul2l; [apply: p0; exact: ord_lt | apply: cost; exact: ord_lt].
under eq_bigr => j _ do rewrite mulrDr.
rewrite big_split /= -mulr_suml p1 mul1r -[X in _ <= X]addr0 ler_add2l.
under eq_bigr => j _ do rewrite mulr_sumr.
rewrite exchange_big -oppr_ge0 -sumrN; apply: sumr_ge0 => k _ /=; have hk := ord_lt k; rewrite oppr_ge0.
have -> : \sum_(j < m) p j * (qr (List.nth k paid 0%Q) * qr (List.nth j (List.nth k ends nil) 0%Q)) =
  qr (List.nth k paid 0%Q) * \sum_(j < m) qr (List.nth j (List.nth k ends nil) 0%Q) * p j.
  by rewrite mulr_sumr; apply: eq_bigr => j _; ring.
apply: mulr_ge0_le0.
  rewrite /paid (nth_map _ (Frac 0 1)); last by rewrite hlen.
  have := proj1 (List.forallb_forall _ _) hpr _ (List.nth_In prices (Frac 0 1) (eq_ind_r (fun x => lt k x) hk hlen)).
  case/andP=> /Z.ltb_lt d0 /Z.leb_le n0; rewrite /rational qr_make //.
  by apply: divr_ge0; [apply: zr_ge0 | apply: ltW; apply: zr_gt0].
have := List.nth_In ends nil hk; rewrite /ends => /List.in_flat_map [l [inl inc]].
by apply: (ends_sound (proj1 (List.forallb_forall _ _) hlim l inl) inc p1); apply: hp.
Qed.

(** Theorem 3.7: and under one they have that mean. *)
Theorem set_attained m law s risks told : length risks = m -> set_ok m law s risks told = Holds ->
  exists p : nat -> R, in_set s m p /\ \sum_(j < m) p j * qr (List.nth j risks 0%Q) = qr told.
Proof.
move=> hr.
have mean q : law_ok m q = true -> Qeq_bool (dotQ (normal q) risks) told = true ->
    \sum_(j < m) chance q j * qr (List.nth j risks 0%Q) = qr told.
  move=> /law_okP [lq [_ sq]] /qr_eq <-; rewrite qr_dot /normal ?List.map_length ?lq ?hr // -/(normal q).
  by apply: eq_bigr => j _; rewrite -/(normal q) normal_nth.
case: s => [members shares|limits prices worst]; rewrite /set_ok /need.
  case: ifP => //= /andP [/andP [_ hm] _]; case: ifP => //= _; case: ifP => //= /andP [hmax _] _.
  case/List.existsb_exists: hmax => x [/List.in_map_iff [q [<- inq]] e].
  have lawq := proj1 (List.forallb_forall _ _) hm _ inq.
  exists (chance q); split; last first.
    by apply: mean => //; apply/Qeq_bool_iff; symmetry; apply/Qeq_bool_iff.
  have [k [hk <-]] := List.In_nth _ _ nil inq; have {}hk : (k < length members)%N by apply/ssrnat.ltP.
  exists (fun i => if i == k then 1 else 0); split; first by move=> i _; case: ifP => _; rewrite ?ler01.
  split; first by rewrite (bigD1 (Ordinal hk)) //= eqxx big1 ?addr0 // => i /negPf; rewrite -val_eqE /= => ->.
  move=> j _; rewrite (bigD1 (Ordinal hk)) //= eqxx mul1r big1 ?addr0 // => i /negPf.
  by rewrite -val_eqE /= => ->; rewrite mul0r.
case: ifP => //= /andP [_ hlim]; case: ifP => //= /andP [hw /andP [_ /andP [hends _]]]; case: ifP => //= _.
case: ifP => //= _; case: ifP => //= e _; exists (chance worst); split; last exact: mean.
exact: within_limits.
Qed.
End Field.
