(** * The median of k reports

    Of k independent reports of one true value the q-th smallest is published: the median has q = (k+1)/2 rounded down, the
    lower of the two in the middle where k is even. All k reports together keep alpha^k. The median keeps
    alpha^(k/2 + 1), k/2 rounded down, wherever a larger true value makes every report at most [y] less likely. Such an order
    is that of geometric noise. *)

From Coq Require Import ZArith List Lia Bool Arith.
From Discreet Require Import Privacy Families.
Import ListNotations.
Local Open Scope Z_scope.

(** ** All sequences of k reports *)

Fixpoint tuples (m k : nat) : list (list nat) :=
  match k with O => [[]] | S k => flat_map (fun j => map (cons j) (tuples m k)) (seq 0 m) end.

(** The weight of a sequence: the reports are independent. *)
Definition tuple_weight (r : row) (s : list nat) : Z := fold_right (fun j x => nth j r 0 * x) 1 s.

Definition count (E : event) (s : list nat) : nat := length (filter E s).

(** [y] is the q-th smallest: fewer than q reports are below it, and q or more are not above it. *)
Definition is_ranked (q y : nat) (s : list nat) : bool :=
  Nat.ltb (count (fun j => Nat.ltb j y) s) q && Nat.leb q (count (fun j => Nat.leb j y) s).

(** The weight of [y] as the q-th smallest, over T^k: that of all sequences whose q-th smallest it is. *)
Definition ranked_weight (k q : nat) (r : row) (y : nat) : Z :=
  sum (map (fun s => if is_ranked q y s then tuple_weight r s else 0) (tuples (length r) k)).

Definition ranked (k q : nat) (r : row) : row := map (ranked_weight k q r) (seq 0 (length r)).

Definition median (k : nat) (r : row) : row := ranked k (Nat.div2 (k + 1)) r.

(** ** The binomial law, in weights: x of a report that counts, z of one that does not *)

Fixpoint most (k q : nat) (x z : Z) : Z :=
  match k with O => if Nat.eqb q 0 then 1 else 0 | S k => x * most k (pred q) x z + z * most k q x z end.

Fixpoint exactly (k j : nat) (x z : Z) : Z :=
  match k with
  | O => if Nat.eqb j 0 then 1 else 0
  | S k => match j with O => 0 | S j => x * exactly k j x z end + z * exactly k j x z
  end.

Lemma most_step k : forall q x z, most k q x z = exactly k q x z + most k (S q) x z.
Proof.
  induction k as [|k IH]; intros q x z; [destruct q; reflexivity|].
  destruct q as [|q]; cbn [most exactly pred].
  - assert (E := IH 0%nat x z); replace (exactly k 0 x z) with (most k 0 x z - most k 1 x z) by lia; ring.
  - assert (E := IH q x z); assert (E' := IH (S q) x z).
    replace (exactly k q x z) with (most k q x z - most k (S q) x z) by lia.
    replace (exactly k (S q) x z) with (most k (S q) x z - most k (S (S q)) x z) by lia. ring.
Qed.

(** What one report at [y] changes, with L below it, w at it and U above it. *)
Fixpoint gap (k q : nat) (L w U : Z) : Z :=
  match k, q with
  | S k, S q => L * gap k q L w U + (w + U) * gap k (S q) L w U + w * exactly k q (L + w) U
  | _, _ => 0
  end.

Lemma gap_most k : forall q L w U, gap k q L w U = most k q (L + w) U - most k q L (w + U).
Proof.
  induction k as [|k IH]; intros q L w U; [destruct q; reflexivity|].
  destruct q as [|q].
  - assert (E := IH 0%nat L w U). replace (gap k 0 L w U) with 0 in E by (destruct k; reflexivity).
    cbn [gap most pred]. replace (most k 0 (L + w) U) with (most k 0 L (w + U)) by lia. ring.
  - cbn [gap most pred]; rewrite !IH. assert (E := most_step k q (L + w) U).
    replace (exactly k q (L + w) U) with (most k q (L + w) U - most k (S q) (L + w) U) by lia. ring.
Qed.

Lemma exactly_zero k : forall j x z, (k < j)%nat -> exactly k j x z = 0.
Proof.
  induction k as [|k IH]; intros [|j] x z H; try lia; cbn [exactly]; [reflexivity|].
  rewrite !IH by lia; ring.
Qed.

Lemma gap_zero k : forall q L w U, (k < q)%nat -> gap k q L w U = 0.
Proof.
  induction k as [|k IH]; intros [|q] L w U H; try lia; cbn [gap]; [reflexivity|].
  rewrite !IH, exactly_zero by lia; ring.
Qed.

Lemma exactly_nonneg k : forall j x z, 0 <= x -> 0 <= z -> 0 <= exactly k j x z.
Proof.
  induction k as [|k IH]; intros j x z Hx Hz; cbn [exactly]; [destruct (Nat.eqb j 0); lia|].
  assert (0 <= z * exactly k j x z) by (apply Z.mul_nonneg_nonneg; auto).
  destruct j as [|j]; [lia|]. assert (0 <= x * exactly k j x z) by (apply Z.mul_nonneg_nonneg; auto). lia.
Qed.

Lemma gap_nonneg k : forall q L w U, 0 <= L -> 0 <= w -> 0 <= U -> 0 <= gap k q L w U.
Proof.
  induction k as [|k IH]; intros [|q] L w U HL Hw HU; cbn [gap]; try lia.
  repeat apply Z.add_nonneg_nonneg; apply Z.mul_nonneg_nonneg; auto; try lia. apply exactly_nonneg; lia.
Qed.

(** Products of what is compared. *)
Lemma times a b p x y X Y : 0 <= a -> 0 <= x -> 0 <= X -> a * x <= b * y -> a ^ Z.of_nat p * X <= b ^ Z.of_nat p * Y ->
  a ^ Z.of_nat (S p) * (x * X) <= b ^ Z.of_nat (S p) * (y * Y).
Proof.
  intros Ha Hx HX H G; rewrite !pow_S.
  assert (0 <= a ^ Z.of_nat p) by (apply Z.pow_nonneg; assumption).
  replace (a * a ^ Z.of_nat p * (x * X)) with ((a * x) * (a ^ Z.of_nat p * X)) by ring.
  replace (b * b ^ Z.of_nat p * (y * Y)) with ((b * y) * (b ^ Z.of_nat p * Y)) by ring.
  apply Z.mul_le_mono_nonneg; auto; apply Z.mul_nonneg_nonneg; assumption.
Qed.

Lemma times_same A B x y X Y : 0 <= A -> 0 <= x -> 0 <= X -> x <= y -> A * X <= B * Y -> A * (x * X) <= B * (y * Y).
Proof.
  intros HA Hx HX H G; rewrite !(Z.mul_shuffle3 _ x), !(Z.mul_shuffle3 _ y).
  apply Z.mul_le_mono_nonneg; auto; apply Z.mul_nonneg_nonneg; assumption.
Qed.

Section Compared.
Variables a b : Z.
Hypotheses (a0 : 0 <= a) (ab : a <= b).

Let pa p : 0 <= a ^ Z.of_nat p. Proof. apply Z.pow_nonneg; exact a0. Qed.

Lemma pow_ab p : a ^ Z.of_nat p <= b ^ Z.of_nat p.
Proof. apply Z.pow_le_mono_l; lia. Qed.

(** Reports that count are paid for, the others not. *)
Lemma exactly_counted k x z x' z' : 0 <= x -> 0 <= z -> a * x <= b * x' -> z <= z' ->
  forall j p, (j <= p)%nat -> a ^ Z.of_nat p * exactly k j x z <= b ^ Z.of_nat p * exactly k j x' z'.
Proof.
  intros Hx Hz H G; induction k as [|k IH]; intros j p Hp; cbn [exactly].
  - assert (Q := pow_ab p); destruct (Nat.eqb j 0); lia.
  - rewrite !Z.mul_add_distr_l; apply Z.add_le_mono.
    + destruct j as [|j]; [lia|]. destruct p as [|p]; [lia|]. apply times; auto; [apply exactly_nonneg; assumption|apply IH; lia].
    + apply times_same; auto; apply exactly_nonneg; assumption.
Qed.

(** Reports that do not count are paid for, the others not. *)
Lemma exactly_others k x z x' z' : 0 <= x -> 0 <= z -> x <= x' -> a * z <= b * z' ->
  forall j p, (k <= j + p)%nat -> a ^ Z.of_nat p * exactly k j x z <= b ^ Z.of_nat p * exactly k j x' z'.
Proof.
  intros Hx Hz G H; induction k as [|k IH]; intros j p Hp.
  - assert (Q := pow_ab p); cbn [exactly]; destruct (Nat.eqb j 0); lia.
  - destruct (Nat.ltb_spec (S k) j) as [big|small]; [rewrite !exactly_zero by exact big; lia|].
    cbn [exactly]; rewrite !Z.mul_add_distr_l; apply Z.add_le_mono.
    + destruct j as [|j]; [lia|]. apply times_same; auto; [apply exactly_nonneg; assumption|apply IH; lia].
    + destruct p as [|p]; [rewrite !exactly_zero by lia; lia|].
      apply times; auto; [apply exactly_nonneg; assumption|apply IH; lia].
Qed.

Lemma gap_counted k L w U L' w' U' : 0 <= L -> 0 <= w -> 0 <= U ->
  a * L <= b * L' -> a * w <= b * w' -> U <= U' -> w + U <= w' + U' ->
  forall q p, (q <= p)%nat -> a ^ Z.of_nat p * gap k q L w U <= b ^ Z.of_nat p * gap k q L' w' U'.
Proof.
  intros HL Hw HU H1 H2 H3 H4; induction k as [|k IH]; intros [|q] p Hp; cbn [gap]; try lia.
  destruct p as [|p]; [lia|]. rewrite !Z.mul_add_distr_l; repeat apply Z.add_le_mono.
  - apply times; auto; [apply gap_nonneg; assumption|apply IH; lia].
  - apply times_same; auto; try lia. apply gap_nonneg; assumption.
  - apply times; auto; [apply exactly_nonneg; lia|apply exactly_counted; lia].
Qed.

Lemma gap_others k L w U L' w' U' : 0 <= L -> 0 <= w -> 0 <= U ->
  L <= L' -> L + w <= L' + w' -> a * w <= b * w' -> a * U <= b * U' ->
  forall q p, (k + 1 <= q + p)%nat -> a ^ Z.of_nat p * gap k q L w U <= b ^ Z.of_nat p * gap k q L' w' U'.
Proof.
  intros HL Hw HU H1 H2 H3 H4; induction k as [|k IH]; intros [|q] p Hp; cbn [gap]; try lia.
  destruct p as [|p]; [rewrite !gap_zero, !exactly_zero by lia; lia|].
  rewrite !Z.mul_add_distr_l; repeat apply Z.add_le_mono.
  - apply times_same; auto; [apply gap_nonneg; assumption|apply IH; lia].
  - apply times; auto; try lia; [apply gap_nonneg; assumption|apply IH; lia].
  - apply times; auto; [apply exactly_nonneg; lia|apply exactly_others; lia].
Qed.
End Compared.

(** ** Sequences are counted by the binomial law *)

Lemma sum_app l l' : sum (l ++ l') = sum l + sum l'.
Proof. unfold sum; induction l as [|x l IH]; simpl in *; lia. Qed.

Lemma sum_flat A B (f : A -> Z) (g : B -> list A) l :
  sum (map f (flat_map g l)) = sum (map (fun j => sum (map f (g j))) l).
Proof. induction l as [|j l IH]; [reflexivity|]. simpl flat_map; rewrite map_app, sum_app, IH; reflexivity. Qed.

Lemma sum_times A x (f : A -> Z) l : sum (map (fun s => x * f s) l) = x * sum (map f l).
Proof. unfold sum; induction l as [|s l IH]; simpl in *; lia. Qed.

Lemma sum_split r : forall (E : event) x z,
  sum (map (fun j => nth j r 0 * (if E j then x else z)) (seq 0 (length r))) = mass E r * x + (sum r - mass E r) * z.
Proof.
  induction r as [|w r IH]; intros E x z; [simpl; lia|].
  cbn [length seq map]; rewrite <- seq_shift, map_map; specialize (IH (fun j => E (S j)) x z).
  unfold sum in *; cbn [fold_right nth mass] in *; rewrite IH; destruct (E 0%nat); ring.
Qed.

Lemma tuples_most r (E : event) k : forall q,
  sum (map (fun s => if Nat.leb q (count E s) then tuple_weight r s else 0) (tuples (length r) k))
  = most k q (mass E r) (sum r - mass E r).
Proof.
  induction k as [|k IH]; intros q; [destruct q; reflexivity|].
  cbn [tuples most]; rewrite sum_flat, <- !IH, <- (sum_split r E); f_equal; apply map_ext; intros j.
  rewrite map_map.
  transitivity (sum (map (fun s => nth j r 0 * (if Nat.leb (if E j then pred q else q) (count E s) then tuple_weight r s else 0)) (tuples (length r) k))).
  - f_equal; apply map_ext; intros s; unfold count; cbn [filter tuple_weight fold_right].
    destruct (E j); cbn [length]; [|destruct (Nat.leb _ _); unfold tuple_weight; ring].
    destruct (Nat.leb_spec q (S (length (filter E s)))), (Nat.leb_spec (pred q) (length (filter E s))); try lia; unfold tuple_weight; ring.
  - rewrite sum_times; destruct (E j); reflexivity.
Qed.

Lemma count_le (E F : event) s : (forall j, E j = true -> F j = true) -> (count E s <= count F s)%nat.
Proof.
  intros H; unfold count; induction s as [|j s IH]; [apply le_n|]; cbn [filter].
  destruct (E j) eqn:e; [rewrite (H j e); simpl; lia|destruct (F j); simpl; lia].
Qed.

Definition below (r : row) (y : nat) : Z := mass (fun j => Nat.ltb j y) r.

Lemma below_step r y : below r (S y) = below r y + nth y r 0.
Proof.
  unfold below; rewrite <- mass_one, <- mass_add.
  - apply mass_ext; intros j _.
    destruct (Nat.ltb_spec j (S y)), (Nat.ltb_spec j y), (Nat.eqb_spec y j); try lia; reflexivity.
  - intros j _ H1 H2; apply Nat.ltb_lt in H1; apply Nat.eqb_eq in H2; lia.
Qed.

Lemma ranked_most k q r y :
  ranked_weight k q r y = most k q (below r (S y)) (sum r - below r (S y)) - most k q (below r y) (sum r - below r y).
Proof.
  unfold ranked_weight, below; rewrite <- !tuples_most.
  induction (tuples (length r) k) as [|s l IH]; [reflexivity|].
  unfold sum in *; cbn [map fold_right] in *; rewrite IH; clear IH; unfold is_ranked.
  replace (count (fun j => Nat.ltb j (S y)) s) with (count (fun j => Nat.leb j y) s) by reflexivity.
  assert (C : (count (fun j => Nat.ltb j y) s <= count (fun j => Nat.leb j y) s)%nat)
    by (apply count_le; intros j H; apply Nat.ltb_lt in H; apply Nat.leb_le; lia).
  destruct (Nat.ltb_spec (count (fun j => Nat.ltb j y) s) q), (Nat.leb_spec q (count (fun j => Nat.leb j y) s)),
    (Nat.leb_spec q (count (fun j => Nat.ltb j y) s)); cbn [andb]; lia.
Qed.

Lemma ranked_gap k q r y :
  ranked_weight k q r y = gap k q (below r y) (nth y r 0) (sum r - below r (S y)).
Proof. rewrite ranked_most, gap_most, below_step. do 2 f_equal; lia. Qed.

(** ** What the q-th smallest keeps *)

Lemma nth_nonneg r y : Forall (Z.le 0) r -> 0 <= nth y r 0.
Proof. intros H; rewrite <- mass_one; apply mass_nonneg; exact H. Qed.

Lemma above r y : Forall (Z.le 0) r -> sum r - below r y = mass (fun j => negb (Nat.ltb j y)) r.
Proof.
  intros _; unfold below; rewrite <- mass_all, (mass_ext _ (fun j => Nat.ltb j y || negb (Nat.ltb j y))%bool), mass_add; [lia| |].
  - intros j _ H1 H2; rewrite H1 in H2; discriminate.
  - intros j _; destruct (Nat.ltb j y); reflexivity.
Qed.

(** Theorem 5.10: let two true values keep a/b both ways, and let the second make every report below some [y] at most as likely as the
    first does. Then the q-th smallest of k independent reports keeps (a/b)^q from the first to the second, and (a/b)^(k+1-q) back; both keep
    every p that is at least as large. *)
Theorem ranked_keeps T m a b k q p p' r s :
  0 <= a <= b -> law T m r -> law T m s -> keeps a b r s -> keeps a b s r -> (forall y, below s y <= below r y) ->
  (q <= p)%nat -> (k + 1 <= q + p')%nat ->
  keeps (a ^ Z.of_nat p) (b ^ Z.of_nat p) (ranked k q r) (ranked k q s) /\
  keeps (a ^ Z.of_nat p') (b ^ Z.of_nat p') (ranked k q s) (ranked k q r).
Proof.
  intros [a0 ab] (lr & nr & tr) (ls & ns & ts) K K' O Hp Hp'.
  assert (N : forall y, a * nth y r 0 <= b * nth y s 0) by (intros y; rewrite <- !mass_one; apply event_from_entries; exact K).
  assert (N' : forall y, a * nth y s 0 <= b * nth y r 0) by (intros y; rewrite <- !mass_one; apply event_from_entries; exact K').
  assert (B : forall y, a * below r y <= b * below s y) by (intros y; apply event_from_entries; exact K).
  assert (A : forall y, a * (sum s - below s y) <= b * (sum r - below r y))
    by (intros y; rewrite !above by assumption; apply event_from_entries; exact K').
  assert (P : forall u y, Forall (Z.le 0) u -> 0 <= below u y) by (intros u y H; apply mass_nonneg; exact H).
  assert (Q : forall u y, Forall (Z.le 0) u -> 0 <= sum u - below u y)
    by (intros u y H; rewrite above by exact H; apply mass_nonneg; exact H).
  unfold ranked; rewrite lr, ls; split; apply keeps_map; intros y _; rewrite !ranked_gap;
    assert (Er := below_step r y); assert (Es := below_step s y);
    assert (O1 := O y); assert (O2 := O (S y)).
  - apply gap_counted; auto; try (apply nth_nonneg; assumption); lia.
  - apply gap_others; auto; try (apply nth_nonneg; assumption); lia.
Qed.

(** Every report below some [y] gets no likelier as the true value grows. *)
Definition ordered (rows : list row) : Prop :=
  forall i r s, nth_error rows i = Some r -> nth_error rows (S i) = Some s -> forall y, below s y <= below r y.

(** Theorem 5.11: of an ordered table that keeps a/b between neighbours, the median of k reports keeps (a/b)^(k/2 + 1), k/2 rounded down. *)
Theorem median_private T m a b k rows :
  0 <= a <= b -> table T m rows -> private a b (within 1) rows -> ordered rows ->
  private (a ^ Z.of_nat (Nat.div2 k + 1)) (b ^ Z.of_nat (Nat.div2 k + 1)) (within 1) (map (median k) rows).
Proof.
  intros Hab [_ HT] H O i l r' s' W Hr Hs; rewrite nth_error_map in Hr, Hs.
  destruct (nth_error rows i) as [r|] eqn:Er; [|discriminate]; destruct (nth_error rows l) as [s|] eqn:Es; [|discriminate].
  injection Hr as <-; injection Hs as <-.
  assert (law_of : forall j t, nth_error rows j = Some t -> law T m t)
    by (intros j t E; apply nth_error_In in E; rewrite Forall_forall in HT; apply HT, E).
  assert (half : (Nat.div2 (k + 1) <= Nat.div2 k + 1 /\ k + 1 <= Nat.div2 (k + 1) + (Nat.div2 k + 1))%nat).
  { rewrite !Nat.div2_div. assert (D := Nat.div_mod_eq k 2). assert (D' := Nat.div_mod_eq (k + 1) 2).
    assert (M := Nat.mod_upper_bound k 2 ltac:(lia)). assert (M' := Nat.mod_upper_bound (k + 1) 2 ltac:(lia)). lia. }
  assert (K : keeps a b r s) by (apply (H i l); assumption).
  assert (K' : keeps a b s r) by (apply (H l i); [unfold within in *; lia|assumption..]).
  destruct half as [h1 h2]; unfold within in W.
  destruct (Nat.lt_trichotomy i l) as [o|[<-|o]].
  - replace l with (S i) in * by lia.
    exact (proj1 (ranked_keeps T m a b k _ _ _ r s Hab (law_of _ _ Er) (law_of _ _ Es) K K' (O i r s Er Es) h1 h2)).
  - rewrite Er in Es; injection Es as <-.
    exact (proj1 (ranked_keeps T m a b k _ _ _ r r Hab (law_of _ _ Er) (law_of _ _ Er) K K (fun y => Z.le_refl _) h1 h2)).
  - replace i with (S l) in * by lia.
    exact (proj2 (ranked_keeps T m a b k _ _ _ s r Hab (law_of _ _ Es) (law_of _ _ Er) K' K (O l s r Es Er) h1 h2)).
Qed.

(** ** The median is a law, and geometric noise is ordered *)

Lemma most_all k : forall q x, (q <= k)%nat -> most k q x 0 = x ^ Z.of_nat k.
Proof.
  induction k as [|k IH]; intros q x H; [replace q with 0%nat by lia; reflexivity|].
  cbn [most]; rewrite pow_S, IH by lia; ring.
Qed.

Lemma most_none k : forall q z, (0 < q)%nat -> most k q 0 z = 0.
Proof.
  induction k as [|k IH]; intros q z H; [destruct q; [lia|reflexivity]|].
  cbn [most]; rewrite (IH q z H); ring.
Qed.

Lemma telescope (f : nat -> Z) k : series (fun y => f (S y) - f y) k = f k - f 0%nat.
Proof. induction k as [|k IH]; cbn [series]; [ring|rewrite IH; ring]. Qed.

(** Theorem 5.12: the medians of a table's rows are a table again, over the k-th power of its total. *)
Theorem median_table T m k rows : (1 <= k)%nat -> table T m rows -> table (T ^ Z.of_nat k) m (map (median k) rows).
Proof.
  intros Hk [HT H]; split; [apply Z.pow_pos_nonneg; lia|].
  rewrite Forall_forall in *; intros u Hu; apply in_map_iff in Hu; destruct Hu as (r & <- & Hr).
  destruct (H r Hr) as (l & n & t); unfold median, ranked; repeat split.
  - rewrite map_length, seq_length; exact l.
  - apply Forall_forall; intros x Hx; apply in_map_iff in Hx; destruct Hx as (y & <- & _); rewrite ranked_gap.
    apply gap_nonneg; [apply mass_nonneg; exact n|apply nth_nonneg; exact n|rewrite above by exact n; apply mass_nonneg; exact n].
  - rewrite series_sum.
    assert (half : (0 < Nat.div2 (k + 1) <= k)%nat).
    { rewrite Nat.div2_div. assert (D := Nat.div_mod_eq (k + 1) 2).
      assert (M := Nat.mod_upper_bound (k + 1) 2 ltac:(lia)). lia. }
    rewrite (series_ext _ (fun y => most k (Nat.div2 (k + 1)) (below r (S y)) (sum r - below r (S y))
      - most k (Nat.div2 (k + 1)) (below r y) (sum r - below r y))) by (intros; apply ranked_most).
    rewrite (telescope (fun y => most k (Nat.div2 (k + 1)) (below r y) (sum r - below r y))).
    assert (all : below r (length r) = sum r).
    { unfold below; rewrite <- mass_all; apply mass_ext; intros j Hj; apply Nat.ltb_lt; exact Hj. }
    assert (none : below r 0 = 0) by (unfold below; clear; induction r as [|w r IH]; [reflexivity|exact IH]).
    rewrite all, none, Z.sub_diag, most_all, most_none, t by lia. ring.
Qed.

Lemma below_series w k y : below (map w (seq 0 k)) y = series w (Nat.min y k).
Proof.
  unfold below; revert w y; induction k as [|k IH]; intros w y; [rewrite Nat.min_0_r; reflexivity|].
  cbn [seq map mass]; rewrite <- seq_shift, map_map.
  destruct y as [|y]; [rewrite Nat.min_0_l|rewrite <- Nat.succ_min_distr, series_first].
  - cbn [series Nat.ltb Nat.leb]. generalize (map (fun x => w (S x)) (seq 0 k)); intros l; clear; induction l as [|x l IH]; [reflexivity|exact IH].
  - rewrite <- (IH (fun x => w (S x)) y); reflexivity.
Qed.

(** Theorem 5.13: geometric noise on 0..n is ordered. *)
Theorem geometric_ordered p q n : 0 < p < q -> (1 <= n)%nat -> ordered (geometric p q n).
Proof.
  intros Hpq Hn i r s Hr Hs y; destruct (geometric_table p q n Hpq Hn) as [_ HT]; rewrite Forall_forall in HT.
  assert (Tr := HT r (nth_error_In _ _ Hr)); assert (Ts := HT s (nth_error_In _ _ Hs)); clear HT.
  apply written_nth in Hr, Hs; destruct Hr as [Hi ->], Hs as [Hi' ->].
  destruct Tr as (_ & _ & tr), Ts as (_ & _ & ts); rewrite series_sum in tr, ts.
  rewrite !below_series; destruct (Nat.le_gt_cases (S n) y) as [big|small].
  { rewrite Nat.min_r by exact big; rewrite tr, ts; lia. }
  rewrite Nat.min_l by lia; destruct y as [|y]; [reflexivity|]. rewrite !geometric_partial by lia.
  assert (down : forall d, (d < n)%nat -> power p q n (S d) <= power p q n d).
  { intros d Hd; assert (E := power_step p q n d Hd); assert (0 < power p q n d) by (apply power_pos; lia); nia. }
  destruct (Nat.leb_spec y (S i)) as [u|u], (Nat.leb_spec y i) as [v|v]; try lia.
  - replace (S i - y)%nat with (S (i - y)) by lia. assert (D := down (i - y)%nat ltac:(lia)); nia.
  - replace y with (S i) by lia; rewrite Nat.sub_diag; replace (S (S i) - i)%nat with 2%nat by lia.
    assert (D := down 0%nat ltac:(lia)); assert (E := power_step p q n 1 ltac:(lia)).
    unfold geometric_total; rewrite <- (power_0 p); rewrite E; nia.
  - assert (D := down (S y - S i)%nat ltac:(lia)). replace (S (S y - S i)) with (S y - i)%nat in D by lia. nia.
Qed.

(** Theorem 5.14: so the median of k reports with geometric noise of level p/q keeps (p/q)^(k/2 + 1), for every k and n. *)
Theorem geometric_median p q n k : 0 < p < q -> (1 <= n)%nat ->
  private (p ^ Z.of_nat (Nat.div2 k + 1)) (q ^ Z.of_nat (Nat.div2 k + 1)) (within 1) (map (median k) (geometric p q n)).
Proof.
  intros Hpq Hn; apply (median_private _ _ p q k _ ltac:(lia) (geometric_table p q n Hpq Hn)); [|apply geometric_ordered; assumption].
  assert (G := geometric_private p q n 1 Hpq); change (Z.of_nat 1) with 1 in G; rewrite !Z.pow_1_r in G; exact G.
Qed.
