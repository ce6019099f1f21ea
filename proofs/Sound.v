(** * What an answer of the checker means

    [check] (in [Check]) decides about a document. Here: if it answers [Holds], then
    the channel is a mechanism, the promise of its level holds for every event, and alpha is at least
    e^-epsilon. Its properties are in [Properties], and what an accepted certificate means in [Certificates]. *)

From Coq Require Import ZArith QArith Qpower List Bool Lia Lqa Permutation.
From Discreet Require Import Privacy Families Check Tables Payments.
Import ListNotations.
Local Open Scope Z_scope.

Lemma to_the_spec x n : x ** n = x ^ n.
Proof.
  destruct n as [|n|n]; [reflexivity| |reflexivity]. simpl to_the.
  induction n as [n IH|n IH|]; simpl squared; rewrite ?IH.
  - rewrite Pos2Z.inj_xI, Z.pow_add_r, Z.mul_comm, Z.pow_twice_r, Z.pow_1_r by lia; reflexivity.
  - rewrite Pos2Z.inj_xO, Z.pow_twice_r; reflexivity.
  - rewrite Z.pow_1_r; reflexivity.
Qed.

(** ** What a document is about *)

(** The table that a channel stands for. Those of families may be too large to write out:
    this is a statement, not a computation. *)
Definition rows_of (c : channel) : list row :=
  match c with
  | Table _ rows => rows
  | Geometric n a => geometric (num a) (den a) (Z.to_nat n)
  | Response m keep => response (num keep) (den keep) (Z.to_nat m)
  end.

Definition total_of (c : channel) : Z :=
  match c with
  | Table T _ => T
  | Geometric n a => geometric_total (num a) (den a) (Z.to_nat n)
  | Response m keep => den keep * m
  end.

(** The promise of a document: for every event, between all its neighbours. *)
Definition promise (d : document) : Prop :=
  let rows := rows_of (the_channel d) in
  let T := total_of (the_channel d) in
  let a := num (alpha d) in
  let b := den (alpha d) in
  match the_neighbours d with
  | Steps k => differentially_private T a b (within (Z.to_nat k)) rows
  | Any => differentially_private T a b any_two rows
  | Pairs pairs =>
      forall i k x r s E, In (i, k, x) pairs ->
        nth_error rows (Z.to_nat i) = Some r -> nth_error rows (Z.to_nat k) = Some s ->
        (ratio a b ^ num x * Pr T r E ^ den x <= Pr T s E ^ den x)%Q /\
        (ratio a b ^ num x * Pr T s E ^ den x <= Pr T r E ^ den x)%Q
  end.

(** 1 + x + ... + x^k/k!, which rises to e^x for x >= 0. *)
Fixpoint factorial (k : nat) : Z := match k with O => 1 | S k' => Z.of_nat k * factorial k' end.

Fixpoint exp_sum (x : Q) (k : nat) : Q :=
  match k with
  | O => 1
  | S k' => exp_sum x k' + x ^ Z.of_nat k / inject_Z (factorial k)
  end%Q.

(** alpha >= e^-epsilon. Without real numbers: e^epsilon is the n-th power of e^(epsilon/n), which is above every partial sum of
    its series, and alpha times such a power of a partial sum is at least 1. For epsilon = (f/g) ln(base), alpha^g base^f >= 1. *)
Definition grants (x : fraction) (e : option (fraction * option fraction)) : Prop :=
  match e with
  | None => True
  | Some (factor, None) =>
      exists n k, (0 < n)%nat /\
        (1 <= ratio (num x) (den x) * exp_sum (ratio (num factor) (den factor * Z.of_nat n)) k ^ Z.of_nat n)%Q
  | Some (factor, Some base) =>
      den x ^ den factor * den base ^ num factor <= num x ^ den factor * num base ^ num factor
  end.

(** ** The channel *)

Lemma channel_ok_table c : channel_ok c = Holds ->
  table (total_of c) (Z.to_nat (reports c)) (rows_of c) /\ Z.of_nat (length (rows_of c)) = size c /\ 2 <= size c.
Proof.
  destruct c as [T rows|n a|m keep]; simpl; intros H.
  - apply table_ok_sound in H; destruct H as (H & L & W).
    unfold reports, size; simpl; rewrite Nat2Z.id; split; [exact H|lia].
  - apply need_holds in H; unfold fraction_ok in H; rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in H.
    assert (E : Z.to_nat (n + 1) = S (Z.to_nat n)) by lia.
    unfold reports; simpl; rewrite E; split; [apply geometric_table; lia|].
    unfold geometric, written; rewrite map_length, seq_length; lia.
  - apply need_holds in H; unfold fraction_ok in H; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in H.
    unfold reports; simpl; split.
    + pattern m at 1; rewrite <- (Z2Nat.id m) by lia. apply response_table; lia.
    + unfold response, written; rewrite map_length, seq_length; lia.
Qed.

(** ** Levels between values some steps apart *)

Lemma within_clipped a b k rows :
  private a b (within (Z.to_nat (Z.min k (Z.of_nat (length rows) - 1)))) rows -> 0 <= k ->
  private a b (within (Z.to_nat k)) rows.
Proof.
  intros H Hk i j r s W Er Es; apply (H i j r s); [|assumption..].
  assert (i < length rows)%nat by (apply nth_error_Some; congruence).
  assert (j < length rows)%nat by (apply nth_error_Some; congruence).
  unfold within in *; lia.
Qed.

Lemma within_any a b rows :
  private a b (within (Z.to_nat (Z.of_nat (length rows) - 1))) rows -> private a b any_two rows.
Proof.
  intros H i j r s _ Er Es; apply (H i j r s); [|assumption..].
  assert (i < length rows)%nat by (apply nth_error_Some; congruence).
  assert (j < length rows)%nat by (apply nth_error_Some; congruence).
  unfold within; lia.
Qed.

Lemma columns_nonneg T m rows : Forall (law T m) rows -> Forall (Forall (Z.le 0)) (transpose m rows).
Proof.
  intros H.
  assert (HR : regular m rows) by (eapply Forall_impl; [|exact H]; intros r (L & _); exact L).
  apply Forall_forall; intros c Hc; destruct (In_nth _ _ [] Hc) as (j & Hj & <-).
  rewrite (transpose_length m rows HR) in Hj; destruct (transpose_nth m rows HR j Hj) as [L N].
  apply Forall_forall; intros x Hx; destruct (In_nth _ _ 0 Hx) as (i & Hi & <-).
  rewrite L in Hi; rewrite N by exact Hi; unfold weight.
  assert (law T m (nth i rows [])) as (Lr & P & _) by (rewrite Forall_forall in H; apply H, nth_In, Hi).
  rewrite Forall_forall in P; apply P, nth_In; lia.
Qed.

Lemma table_private T m rows d a b low value :
  table T m rows -> 0 <= d -> 0 <= a -> 0 < b -> ratio_of_table d (transpose m rows) = (low, value) ->
  a * value <= b * low -> private a b (within (Z.to_nat d)) rows.
Proof.
  intros [HT H] Hd Ha Hb E G.
  assert (HR : regular m rows) by (eapply Forall_impl; [|exact H]; intros r (L & _); exact L).
  destruct (ratio_of_table_sound d _ Hd (columns_nonneg T m rows H)) as ([P1 P2] & B & _).
  rewrite E in P1, P2, B; simpl in P1, P2.
  intros i k r s W Er Es.
  assert (Hi : (i < length rows)%nat) by (apply nth_error_Some; congruence).
  assert (Hk : (k < length rows)%nat) by (apply nth_error_Some; congruence).
  apply (nth_error_nth _ _ []) in Er, Es.
  assert (law T m r) as (Lr & Pr' & _) by (rewrite Forall_forall in H; apply H; rewrite <- Er; apply nth_In, Hi).
  assert (law T m s) as (Ls & _) by (rewrite Forall_forall in H; apply H; rewrite <- Es; apply nth_In, Hk).
  apply keeps_nth; [congruence|]. intros j Hj; rewrite Lr in Hj.
  destruct (transpose_nth m rows HR j Hj) as [L N].
  rewrite Forall_forall in B; specialize (B (nth j (transpose m rows) [])
    ltac:(apply nth_In; rewrite transpose_length; assumption) i k W ltac:(lia) ltac:(lia)).
  rewrite !N in B by assumption; unfold weight in B; rewrite Er, Es in B; simpl in B.
  assert (0 <= nth j r 0) by (rewrite Forall_forall in Pr'; apply Pr', nth_In; lia).
  apply (Zmult_le_reg_r _ _ value); [lia|]. nia.
Qed.

Lemma power_keeps_sound a b x k : 0 <= a -> 0 < b -> 0 <= num x -> power_keeps a b x k = Holds ->
  a * den x ^ k <= b * num x ^ k.
Proof.
  intros Ha Hb Hx; unfold power_keeps; destruct (Z.eqb_spec a 0) as [->|ne].
  - intros _. assert (0 <= num x ^ k) by (apply Z.pow_nonneg; exact Hx). nia.
  - destruct (_ <=? longest); [|discriminate]. intros H; apply need_holds in H; rewrite !to_the_spec in H; apply Z.leb_le; exact H.
Qed.

Lemma private_weaker a b c d N rows : 0 <= a -> 0 < b -> 0 < d -> Forall (Forall (Z.le 0)) rows ->
  a * d <= b * c -> private c d N rows -> private a b N rows.
Proof.
  intros Ha Hb Hd nn G H i k r s HN Er Es; specialize (H i k r s HN Er Es).
  assert (P : Forall (Z.le 0) r) by (rewrite Forall_forall in nn; apply nn; eapply nth_error_In; exact Er).
  clear - Ha Hb Hd G H P; induction H as [|w w' r s Hw _ IH]; constructor.
  - inversion P; subst; apply (Zmult_le_reg_r _ _ d); [lia|]. nia.
  - apply IH; inversion P; assumption.
Qed.

Lemma steps_sound c a b k found : channel_ok c = Holds -> 0 <= a <= b -> 0 < b -> 0 <= k <= size c - 1 ->
  found = tight_of c (columns_of c) k -> power_keeps a b (fst found) (snd found) = Holds ->
  private a b (within (Z.to_nat k)) (rows_of c).
Proof.
  intros Hc Hab Hb Hk -> H; destruct (channel_ok_table c Hc) as ([HT HR] & HL & H2).
  assert (nn : Forall (Forall (Z.le 0)) (rows_of c))
    by (eapply Forall_impl; [|exact HR]; intros r (_ & P & _); exact P).
  destruct c as [T rows|n x|m keep]; simpl in *.
  - apply table_ok_sound in Hc; destruct Hc as (Ht & _ & _).
    destruct (ratio_of_table k (transpose (width rows) rows)) as [low value] eqn:E; simpl in H.
    assert (P : 0 <= low).
    { destruct (ratio_of_table_sound k _ ltac:(lia) (columns_nonneg T _ rows (proj2 Ht))) as ([P _] & _).
      rewrite E in P; exact P. }
    apply power_keeps_sound in H; [|lia|lia|exact P]. cbn [fst snd num den] in H; rewrite !Z.pow_1_r in H.
    apply (table_private T (width rows) rows k a b low value); auto; lia.
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in Hc.
    apply power_keeps_sound in H; [|lia|lia|lia]. rewrite Z.min_l in H by lia.
    assert (0 < den x ^ k) by (apply Z.pow_pos_nonneg; lia).
    apply (private_weaker a b (num x ^ k) (den x ^ k)); auto; try lia.
    pattern k at 1 2; rewrite <- (Z2Nat.id k) by lia. apply geometric_private; lia.
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in Hc.
    apply power_keeps_sound in H; [|lia|lia|simpl; lia]. cbn [fst snd num den] in H; rewrite !Z.pow_1_r in H.
    assert (0 <= num keep * m) by (apply Z.mul_nonneg_nonneg; lia).
    apply (private_weaker a b (den keep - num keep) (den keep - num keep + num keep * m)); auto; try lia.
    intros i j r s W Er Es. assert (R := response_private (num keep) (den keep) (Z.to_nat m) ltac:(lia) i j r s I Er Es).
    rewrite Z2Nat.id in R by lia; exact R.
Qed.

(** ** Pairs at distances *)

Lemma row_keeps_sound A B q r : forall s, row_keeps A B (Z.of_nat q) r s = true -> keeps_root A B q r s.
Proof.
  induction r as [|w r IH]; intros [|v s] H; simpl in *; try discriminate; constructor.
  - apply andb_prop in H; rewrite !to_the_spec in H; apply Z.leb_le; tauto.
  - apply IH; apply andb_prop in H; tauto.
Qed.

Lemma every_holds {A} (f : A -> verdict) l : every f l = Holds -> forall x, In x l -> f x = Holds.
Proof.
  induction l as [|y l IH]; simpl; intros H x Hx; [contradiction|].
  destruct (f y) eqn:E; try discriminate. destruct Hx as [->|Hx]; auto.
Qed.

(** From the level of a pair to roots of it. *)
Lemma root_of_keeps A B c d q r s : 0 <= A -> 0 < B -> 0 <= c -> 0 < d -> (0 < q)%nat ->
  Forall (Z.le 0) r -> keeps c d r s -> A * d ^ Z.of_nat q <= B * c ^ Z.of_nat q -> keeps_root A B q r s.
Proof.
  intros HA HB Hc Hd Hq P H G; induction H as [|w w' r s Hw _ IH]; constructor.
  - inversion P as [|? ? W _]; subst; set (n := Z.of_nat q) in *.
    assert (D : 0 < d ^ n) by (apply Z.pow_pos_nonneg; lia).
    assert (S1 : (c * w) ^ n <= (d * w') ^ n) by (apply Z.pow_le_mono_l; nia).
    rewrite !Z.pow_mul_l in S1. assert (0 <= w ^ n) by (apply Z.pow_nonneg; lia).
    apply (Zmult_le_reg_r _ _ (d ^ n)); [lia|].
    apply Z.le_trans with (B * c ^ n * w ^ n); [nia|]. nia.
  - apply IH; inversion P; assumption.
Qed.

Lemma pairs_sound c a b pairs : channel_ok c = Holds -> 0 <= a <= b -> 0 < b ->
  pairs_ok (size c) pairs = true -> pairs_keep c a b pairs = Holds ->
  forall i k x r s, In (i, k, x) pairs ->
    nth_error (rows_of c) (Z.to_nat i) = Some r -> nth_error (rows_of c) (Z.to_nat k) = Some s ->
    0 <= num x /\ 0 < den x /\
    keeps_root (a ^ num x) (b ^ num x) (Z.to_nat (den x)) r s /\ keeps_root (a ^ num x) (b ^ num x) (Z.to_nat (den x)) s r.
Proof.
  intros Hc Hab Hb Hok H i k x r s Hin Er Es.
  destruct (channel_ok_table c Hc) as ([HT HR] & HL & H2).
  assert (nn : forall j t, nth_error (rows_of c) j = Some t -> Forall (Z.le 0) t).
  { intros j t E; apply nth_error_In in E; rewrite Forall_forall in HR; apply (HR t E). }
  unfold pairs_ok in Hok; rewrite !andb_true_iff in Hok; destruct Hok as [[_ Hok] _].
  rewrite forallb_forall in Hok; specialize (Hok _ Hin); simpl in Hok.
  unfold fraction_ok in Hok; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in Hok.
  destruct Hok as [[[[Hi Hik] Hk] Hd] Hn]; split; [lia|split; [lia|]].
  assert (PA : 0 <= a ^ num x) by (apply Z.pow_nonneg; lia).
  assert (PB : 0 < b ^ num x) by (apply Z.pow_pos_nonneg; lia).
  assert (Q0 : (0 < Z.to_nat (den x))%nat) by lia.
  destruct c as [T rows|n y|m keep]; simpl in *.
  - assert (G := every_holds _ _ H _ Hin); unfold pair_keeps in G; simpl in G.
    destruct (_ <=? longest); [|discriminate]. apply need_holds in G; rewrite !to_the_spec in G.
    apply andb_prop in G.
    rewrite (nth_error_nth _ _ [] Er), (nth_error_nth _ _ [] Es) in G.
    rewrite <- (Z2Nat.id (den x)) in G by lia.
    split; apply row_keeps_sound; tauto.
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in Hc.
    assert (G := every_holds _ _ H _ Hin); simpl in G.
    destruct (Z.eqb_spec (num x) 0); [discriminate|].
    set (e := Z.to_nat (Z.abs (i - k))).
    assert (R := geometric_private (num y) (den y) (Z.to_nat n) e ltac:(lia)).
    assert (Pp : 0 < num y ^ Z.of_nat e) by (apply Z.pow_pos_nonneg; lia).
    assert (Pq : 0 < den y ^ Z.of_nat e) by (apply Z.pow_pos_nonneg; lia).
    assert (K1 := R (Z.to_nat i) (Z.to_nat k) r s ltac:(unfold within, e; lia) Er Es).
    assert (K2 := R (Z.to_nat k) (Z.to_nat i) s r ltac:(unfold within, e; lia) Es Er).
    assert (G' : a ^ num x * (den y ^ Z.of_nat e) ^ Z.of_nat (Z.to_nat (den x))
              <= b ^ num x * (num y ^ Z.of_nat e) ^ Z.of_nat (Z.to_nat (den x))).
    { destruct (Z.eqb_spec a 0) as [->|na].
      - rewrite Z.pow_0_l by lia.
        assert (0 <= (num y ^ Z.of_nat e) ^ Z.of_nat (Z.to_nat (den x))) by (apply Z.pow_nonneg; lia). nia.
      - destruct (_ <=? longest); [|discriminate]. apply need_holds, Z.leb_le in G; rewrite !to_the_spec in G.
        unfold e; rewrite !Z2Nat.id by lia. rewrite <- !Z.pow_mul_r by lia. exact G. }
    split; [apply (root_of_keeps _ _ _ _ _ _ _ PA PB (Z.lt_le_incl _ _ Pp) Pq Q0 (nn _ _ Er) K1 G')
           |apply (root_of_keeps _ _ _ _ _ _ _ PA PB (Z.lt_le_incl _ _ Pp) Pq Q0 (nn _ _ Es) K2 G')].
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in Hc.
    assert (G := every_holds _ _ H _ Hin); simpl in G.
    destruct (_ <=? longest); [|discriminate]. apply need_holds, Z.leb_le in G; rewrite !to_the_spec in G.
    assert (R := response_private (num keep) (den keep) (Z.to_nat m) ltac:(lia)).
    rewrite Z2Nat.id in R by lia.
    assert (0 <= num keep * m) by (apply Z.mul_nonneg_nonneg; lia).
    assert (C1 : 0 <= den keep - num keep) by lia.
    assert (D1 : 0 < den keep - num keep + num keep * m) by lia.
    assert (K1 := R _ _ _ _ I Er Es); assert (K2 := R _ _ _ _ I Es Er).
    rewrite <- (Z2Nat.id (den x)) in G by lia.
    split; [apply (root_of_keeps _ _ _ _ _ _ _ PA PB C1 D1 Q0 (nn _ _ Er) K1 G)
           |apply (root_of_keeps _ _ _ _ _ _ _ PA PB C1 D1 Q0 (nn _ _ Es) K2 G)].
Qed.

(** ** The promise *)

Lemma check_parts d : check d = Holds ->
  channel_ok (the_channel d) = Holds /\ alpha_ok (alpha d) = true /\
  epsilon_ok (num (alpha d)) (den (alpha d)) (epsilon d) = Holds /\
  level_ok d (columns_of (the_channel d)) = Holds /\ listed_ok d (columns_of (the_channel d)) = true /\
  match proof d with None => True | Some x => certificate_ok d (columns_of (the_channel d)) x = Holds end.
Proof.
  unfold check; intros H.
  destruct (channel_ok (the_channel d)); try discriminate.
  steps H. destruct (epsilon_ok _ _ _); try discriminate.
  destruct (level_ok _ _); try discriminate. steps H.
  repeat split; auto. destruct (proof d); auto.
Qed.

Lemma alpha_ok_sound x : alpha_ok x = true -> 0 <= num x <= den x /\ 0 < den x.
Proof. unfold alpha_ok, fraction_ok; rewrite !andb_true_iff, Z.ltb_lt, !Z.leb_le; lia. Qed.

(** Theorem 6.2: of an accepted document the channel is a mechanism, and its promise holds for every event. *)
Theorem accepted_is_private d : check d = Holds ->
  table (total_of (the_channel d)) (Z.to_nat (reports (the_channel d))) (rows_of (the_channel d)) /\ promise d.
Proof.
  intros H; destruct (check_parts d H) as (Hc & Ha & _ & Hl & _); apply alpha_ok_sound in Ha; destruct Ha as [Hab Hb].
  destruct (channel_ok_table _ Hc) as (HT & HL & H2); split; [exact HT|].
  unfold promise, level_ok in *; destruct (the_neighbours d) as [k| |pairs].
  - steps Hl. destruct (power_keeps _ _ _ _) eqn:P in Hl; try discriminate.
    apply Z.leb_le in E.
    apply privacy_from_integers with (Z.to_nat (reports (the_channel d))); auto.
    apply within_clipped; [|lia]. rewrite HL.
    eapply steps_sound; eauto; lia.
  - destruct (power_keeps _ _ _ _) eqn:P in Hl; try discriminate.
    apply privacy_from_integers with (Z.to_nat (reports (the_channel d))); auto.
    apply within_any; rewrite HL. eapply steps_sound; eauto; lia.
  - steps Hl. destruct (pairs_short _ _ _); [|discriminate]. destruct (pairs_keep _ _ _ _) eqn:P in Hl; try discriminate.
    intros i k x r s Ev Hin Er Es.
    destruct (pairs_sound _ _ _ _ Hc Hab Hb E P i k x r s Hin Er Es) as (Hn & Hd & K1 & K2).
    destruct HT as [HT HR].
    assert (nn : forall j t, nth_error (rows_of (the_channel d)) j = Some t -> Forall (Z.le 0) t).
    { intros j t Et; apply nth_error_In in Et; rewrite Forall_forall in HR; apply (HR t Et). }
    rewrite <- (Z2Nat.id (num x)), <- (Z2Nat.id (den x)) by lia.
    rewrite <- (Z2Nat.id (num x)) in K1, K2 by lia.
    split; apply distance_probability; eauto; lia.
Qed.

(** The promise, of single reports: for neighbours of every kind, where all distances are 1. *)
Lemma promise_entries d i k r s : check d = Holds -> neighbouring (the_neighbours d) i k ->
  (forall pairs x, the_neighbours d = Pairs pairs -> In x pairs -> num (snd x) = den (snd x)) ->
  nth_error (rows_of (the_channel d)) i = Some r -> nth_error (rows_of (the_channel d)) k = Some s ->
  keeps (num (alpha d)) (den (alpha d)) r s.
Proof.
  intros H N one Er Es; destruct (check_parts d H) as (Hc & Ha & _ & Hl & _); apply alpha_ok_sound in Ha; destruct Ha as [Hab Hb].
  destruct (channel_ok_table _ Hc) as ([HT HR] & HL & H2).
  assert (law_of : forall j t, nth_error (rows_of (the_channel d)) j = Some t -> law (total_of (the_channel d)) (Z.to_nat (reports (the_channel d))) t).
  { intros j t E; apply nth_error_In in E; rewrite Forall_forall in HR; apply (HR t E). }
  unfold level_ok, neighbouring in *; destruct (the_neighbours d) as [q| |pairs] eqn:En.
  - steps Hl. destruct (power_keeps _ _ _ _) eqn:P in Hl; try discriminate. apply Z.leb_le in E.
    assert (W : private (num (alpha d)) (den (alpha d)) (within (Z.to_nat q)) (rows_of (the_channel d))).
    { apply within_clipped; [|lia]. rewrite HL. eapply steps_sound; eauto; lia. }
    eapply W; eauto.
  - destruct (power_keeps _ _ _ _) eqn:P in Hl; try discriminate.
    assert (W : private (num (alpha d)) (den (alpha d)) any_two (rows_of (the_channel d))).
    { apply within_any; rewrite HL. eapply steps_sound; eauto; lia. }
    eapply W; eauto; exact I.
  - steps Hl. destruct (pairs_short _ _ _); [|discriminate]. destruct (pairs_keep _ _ _ _) eqn:P in Hl; try discriminate.
    assert (G : forall x, num x = den x -> 0 < den x -> forall t u, Forall (Z.le 0) t -> Forall (Z.le 0) u ->
      keeps_root (num (alpha d) ^ num x) (den (alpha d) ^ num x) (Z.to_nat (den x)) t u -> keeps (num (alpha d)) (den (alpha d)) t u).
    { intros x Ex Dx t u Ht Hu K; rewrite Ex in K; revert Ht Hu.
      induction K as [|w w' t u Hw _ IH]; intros Ht Hu; constructor; inversion Ht; inversion Hu; subst; [|apply IH; assumption].
      rewrite Z2Nat.id, <- !Z.pow_mul_l in Hw by lia.
      apply (Z.pow_le_mono_l_iff _ _ (den x)); [nia|nia|lia|exact Hw]. }
    destruct N as (x & N); set (I := Z.of_nat i) in *; set (K := Z.of_nat k) in *.
    assert (Ii : Z.to_nat I = i) by apply Nat2Z.id. assert (Kk : Z.to_nat K = k) by apply Nat2Z.id.
    destruct (law_of _ _ Er) as (_ & Pr' & _); destruct (law_of _ _ Es) as (_ & Ps & _).
    destruct N as [N|N]; specialize (one pairs _ eq_refl N); simpl in one.
    + rewrite <- Ii in Er; rewrite <- Kk in Es.
      destruct (pairs_sound _ _ _ _ Hc Hab Hb E P _ _ _ _ _ N Er Es) as (_ & Hd & K1 & _); eapply G; eauto.
    + rewrite <- Ii in Er; rewrite <- Kk in Es.
      destruct (pairs_sound _ _ _ _ Hc Hab Hb E P _ _ _ _ _ N Es Er) as (_ & Hd & _ & K2); eapply G; eauto.
Qed.

(** ** Alpha and epsilon *)

Lemma exp_sum_step x k : (exp_sum x (S k) == exp_sum x k + x ^ Z.of_nat (S k) / inject_Z (factorial (S k)))%Q.
Proof. reflexivity. Qed.

Lemma factorial_pos k : 0 < factorial k.
Proof. induction k as [|k IH]; [reflexivity|]. change (0 < Z.of_nat (S k) * factorial k); nia. Qed.

Lemma inject_nz z : 0 < z -> ~ (inject_Z z == 0)%Q.
Proof. intros H; unfold Qeq; simpl; lia. Qed.

Lemma inject_pos z : 0 < z -> (0 < inject_Z z)%Q.
Proof. intros H; unfold Qlt; simpl; lia. Qed.

Lemma inject_le x y : x <= y -> (inject_Z x <= inject_Z y)%Q.
Proof. intros H; rewrite <- Zle_Qle; exact H. Qed.

Lemma div_down x d : 0 < d -> (inject_Z (x / d) * inject_Z d <= inject_Z x)%Q.
Proof. intros H; rewrite <- inject_Z_mult; apply inject_le; rewrite Z.mul_comm; apply Z.mul_div_le; exact H. Qed.

Definition term (y : Q) (k : nat) : Q := (y ^ Z.of_nat k / inject_Z (factorial k))%Q.

Lemma term_ge0 y k : (0 <= y -> 0 <= term y k)%Q.
Proof.
  intros H; unfold term; apply Qle_shift_div_l; [apply inject_pos, factorial_pos|].
  rewrite Qmult_0_l; apply Qpower_pos; exact H.
Qed.

Lemma term_next y k : (term y (S k) * inject_Z (Z.of_nat (S k)) == term y k * y)%Q.
Proof.
  unfold term; change (factorial (S k)) with (Z.of_nat (S k) * factorial k).
  rewrite inject_Z_mult. replace (Z.of_nat (S k)) with (Z.of_nat k + 1) at 1 by lia.
  rewrite Qpower_plus' by lia. change (y ^ 1)%Q with y. field; split; apply inject_nz; [apply factorial_pos|lia].
Qed.

Lemma exp_sum_ge0 y k : (0 <= y -> 0 <= exp_sum y k)%Q.
Proof.
  intros H; induction k as [|k IH]; [discriminate|]. rewrite exp_sum_step.
  assert (T := term_ge0 y (S k) H); unfold term in T; lra.
Qed.

Lemma exp_terms_sound fuel one y_low y_high y : 0 < one -> (0 <= y)%Q -> 0 <= y_low -> (inject_Z y_low <= y * inject_Z one)%Q ->
  forall k low high t_low t_high, 0 <= low -> 0 <= t_low ->
  (inject_Z low <= exp_sum y k * inject_Z one)%Q -> (inject_Z t_low <= term y k * inject_Z one)%Q ->
  exists k', let found := fst (exp_terms fuel one y_low y_high (Z.of_nat k) low high t_low t_high) in
    0 <= found /\ (inject_Z found <= exp_sum y k' * inject_Z one)%Q.
Proof.
  intros H1 Hy Hl Hyl; induction fuel as [|fuel IH]; intros k low high t_low t_high P1 P2 E1 E2; cbn [exp_terms].
  - exists k; simpl; auto.
  - destruct (t_high <=? 1); [exists k; simpl; auto|].
    replace (Z.of_nat k + 1) with (Z.of_nat (S k)) by lia.
    set (t' := t_low * y_low / one / Z.of_nat (S k)).
    assert (Q0 : 0 <= t_low * y_low / one) by (apply Z.div_pos; [apply Z.mul_nonneg_nonneg|]; assumption).
    assert (P3 : 0 <= t') by (apply Z.div_pos; [exact Q0|lia]).
    assert (E3 : (inject_Z t' <= term y (S k) * inject_Z one)%Q).
    { assert (A := div_down (t_low * y_low / one) (Z.of_nat (S k)) ltac:(lia)); fold t' in A.
      assert (B := div_down (t_low * y_low) one H1). rewrite inject_Z_mult in B.
      assert (K := inject_pos (Z.of_nat (S k)) ltac:(lia)).
      assert (O := inject_pos one H1). assert (T0 := term_ge0 y k Hy).
      apply (Qmult_le_r _ _ _ K). apply (Qle_trans _ _ _ A).
      apply (Qmult_le_r _ _ _ O). apply (Qle_trans _ _ _ B).
      setoid_replace (term y (S k) * inject_Z one * inject_Z (Z.of_nat (S k)) * inject_Z one)%Q
        with ((term y (S k) * inject_Z (Z.of_nat (S k))) * inject_Z one * inject_Z one)%Q by ring.
      rewrite term_next.
      setoid_replace (term y k * y * inject_Z one * inject_Z one)%Q
        with ((term y k * inject_Z one) * (y * inject_Z one))%Q by ring.
      assert (0 <= inject_Z t_low)%Q by (change 0%Q with (inject_Z 0); apply inject_le; exact P2).
      assert (0 <= inject_Z y_low)%Q by (change 0%Q with (inject_Z 0); apply inject_le; exact Hl).
      apply Qmult_le_compat_nonneg; split; assumption. }
    apply IH; [lia|exact P3| |exact E3].
    rewrite inject_Z_plus, exp_sum_step. fold (term y (S k)). lra.
Qed.

Lemma squarings_sound h one : 0 < one -> forall low high s, 0 <= low -> (inject_Z low <= s * inject_Z one)%Q ->
  (inject_Z (fst (squarings h one low high)) <= s ^ Z.of_nat (2 ^ h) * inject_Z one)%Q.
Proof.
  intros H1; assert (O := inject_pos one H1); induction h as [|h IH]; intros low high s P E; cbn [squarings].
  - simpl; exact E.
  - assert (P0 : (0 <= inject_Z low)%Q) by (change 0%Q with (inject_Z 0); apply inject_le; exact P).
    assert (B := div_down (low * low) one H1); rewrite inject_Z_mult in B.
    assert (N : (inject_Z (low * low / one) <= s * s * inject_Z one)%Q).
    { apply (Qmult_le_r _ _ _ O). apply (Qle_trans _ _ _ B).
      setoid_replace (s * s * inject_Z one * inject_Z one)%Q with ((s * inject_Z one) * (s * inject_Z one))%Q by ring.
      apply Qmult_le_compat_nonneg; split; assumption. }
    assert (P' : 0 <= low * low / one) by (apply Z.div_pos; [apply Z.mul_nonneg_nonneg; assumption|exact H1]).
    specialize (IH _ (- (- (high * high) / one)) _ P' N). apply (Qle_trans _ _ _ IH).
    apply Qle_lteq; right; apply Qmult_comp; [|reflexivity].
    replace (2 ^ S h)%nat with (2 ^ h + 2 ^ h)%nat by (simpl; lia).
    rewrite Nat2Z.inj_add, Qpower_plus' by (assert (0 < 2 ^ h)%nat by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia); lia).
    apply Qmult_power.
Qed.

Lemma exp_compare_sound fuel a b f g : 0 < a -> 0 < b -> 0 < f -> 0 < g -> forall B, 0 <= B ->
  exp_compare fuel a b f g B = Holds ->
  exists n k, (0 < n)%nat /\ (1 <= ratio a b * exp_sum (ratio f (g * Z.of_nat n)) k ^ Z.of_nat n)%Q.
Proof.
  intros Ha Hb Hf Hg; induction fuel as [|fuel IH]; intros B HB H; cbn [exp_compare] in H;
    (destruct (exp_bounds f g B) as [low high] eqn:E; rewrite (to_the_spec 2 B) in H;
     destruct (Z.leb_spec (b * 2 ^ B) (a * low)) as [L|_];
     [|destruct (_ <? _); [discriminate|]; first [discriminate | apply (IH (2 * B)); [lia|exact H]]]);
    clear H; try clear IH.
  all: unfold exp_bounds in E; rewrite !to_the_spec in E; set (h := halvings f g) in *; set (one := 2 ^ B) in *;
    assert (H1 : 0 < one) by (apply Z.pow_pos_nonneg; lia); assert (O := inject_pos one H1);
    set (n := (2 ^ h)%nat); assert (Hn : (0 < n)%nat) by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia);
    replace (2 ^ Z.of_nat h) with (Z.of_nat n) in E by (unfold n; rewrite Nat2Z.inj_pow; reflexivity);
    set (d := g * Z.of_nat n) in *; assert (Hd : 0 < d) by (unfold d; nia); set (y := ratio f d);
    assert (Ry : (y * inject_Z d == inject_Z f)%Q)
      by (unfold y, ratio, Qeq; simpl; rewrite Pos.mul_1_r, Z2Pos.id by exact Hd; lia);
    assert (Hy : (0 <= y)%Q) by (unfold y, ratio, Qle; simpl; lia);
    assert (Yl : (inject_Z (f * one / d) <= y * inject_Z one)%Q)
      by (apply (Qmult_le_r _ _ _ (inject_pos d Hd)); apply (Qle_trans _ _ _ (div_down _ _ Hd));
          rewrite inject_Z_mult, <- Ry; apply Qle_lteq; right; ring);
    assert (Yp : 0 <= f * one / d) by (apply Z.div_pos; nia);
    destruct (exp_terms_sound (Z.to_nat B) one _ (- (- (f * one) / d)) y H1 Hy Yp Yl 0 one one one one ltac:(lia) ltac:(lia))
      as (k & P & K); [simpl; lra|unfold term; simpl; unfold Qdiv; setoid_replace (/ 1)%Q with 1%Q by reflexivity; lra|];
    simpl Z.of_nat in P, K;
    destruct (exp_terms (Z.to_nat B) one (f * one / d) (- (- (f * one) / d)) 0 one one one one) as [l0 h0]; simpl fst in P, K;
    assert (S := squarings_sound h one H1 l0 h0 _ P K); rewrite E in S; simpl fst in S; fold n in S;
    exists n, k; split; [exact Hn|]; fold d y;
    assert (Rb : (ratio a b * inject_Z b == inject_Z a)%Q)
      by (unfold ratio, Qeq; simpl; rewrite Pos.mul_1_r, Z2Pos.id by exact Hb; lia);
    assert (A0 := inject_pos a Ha); assert (B0 := inject_pos b Hb);
    apply inject_le in L; rewrite !inject_Z_mult in L;
    apply (Qmult_le_r _ _ _ B0); apply (Qmult_le_r _ _ _ O); rewrite Qmult_1_l; apply (Qle_trans _ _ _ L);
    setoid_replace (ratio a b * exp_sum y k ^ Z.of_nat n * inject_Z b * inject_Z one)%Q
      with ((ratio a b * inject_Z b) * (exp_sum y k ^ Z.of_nat n * inject_Z one))%Q by ring;
    rewrite Rb; rewrite !(Qmult_comm (inject_Z a)); apply Qmult_le_compat_r; [exact S|lra].
Qed.

(** Where epsilon is at least the number of bits of alpha's denominator: (1 + epsilon/n)^n >= 2^n >= 1/alpha. *)
Lemma large_epsilon_sound a b f g : 0 < a -> 0 < b -> 0 < g -> g * length_of b <= f ->
  exists n k, (0 < n)%nat /\ (1 <= ratio a b * exp_sum (ratio f (g * Z.of_nat n)) k ^ Z.of_nat n)%Q.
Proof.
  intros Ha Hb Hg H; unfold length_of in H; destruct (Z.eqb_spec b 0) as [|nz]; [lia|]. rewrite Z.abs_eq in H by lia.
  assert (L0 := Z.log2_nonneg b). set (n := Z.to_nat (Z.log2 b + 1)). exists n, 1%nat; split; [unfold n; lia|].
  assert (En : Z.of_nat n = Z.log2 b + 1) by (unfold n; lia). rewrite <- En in H.
  set (y := ratio f (g * Z.of_nat n)).
  assert (Y : (1 <= y)%Q) by (unfold y, ratio, Qle; simpl; rewrite Z2Pos.id by nia; lia).
  assert (Two : (inject_Z 2 <= exp_sum y 1)%Q).
  { simpl exp_sum. setoid_replace (1 + y ^ 1 / inject_Z 1)%Q with (1 + y)%Q; [change (inject_Z 2) with 2%Q; lra|].
    change (y ^ 1)%Q with y. field; discriminate. }
  assert (B : b <= 2 ^ Z.of_nat n) by (rewrite En; replace (Z.log2 b + 1) with (Z.succ (Z.log2 b)) by lia; apply Z.lt_le_incl, Z.log2_spec; exact Hb).
  assert (Pw : (inject_Z b <= exp_sum y 1 ^ Z.of_nat n)%Q).
  { apply Qle_trans with (inject_Z (2 ^ Z.of_nat n)); [apply inject_le; exact B|]. rewrite Zpower_Qpower by lia.
    revert Two; generalize (exp_sum y 1); generalize n; clear; intros n s Two; induction n as [|n IH]; [simpl; lra|].
    replace (Z.of_nat (S n)) with (Z.of_nat n + 1) by lia.
    rewrite !Qpower_plus' by lia. change (inject_Z 2 ^ 1)%Q with (inject_Z 2). change (s ^ 1)%Q with s.
    assert (0 <= inject_Z 2)%Q by discriminate. assert (0 <= inject_Z 2 ^ Z.of_nat n)%Q by (apply Qpower_pos; assumption).
    apply Qmult_le_compat_nonneg; split; assumption. }
  assert (Rb : (ratio a b * inject_Z b == inject_Z a)%Q)
    by (unfold ratio, Qeq; simpl; rewrite Pos.mul_1_r, Z2Pos.id by exact Hb; lia).
  assert (R0 : (0 <= ratio a b)%Q) by (unfold ratio, Qle; simpl; lia).
  apply Qle_trans with (ratio a b * inject_Z b)%Q.
  - rewrite Rb. change 1%Q with (inject_Z 1). apply inject_le; lia.
  - rewrite !(Qmult_comm (ratio a b)). apply Qmult_le_compat_r; assumption.
Qed.

(** Theorem 6.4: in an accepted document alpha is at least e^-epsilon: alpha times the n-th power of a partial sum of the series of
    e^(epsilon/n) is at least 1, or, where epsilon is f/g times a logarithm, alpha^g base^f is. *)
Theorem accepted_epsilon d : check d = Holds -> grants (alpha d) (epsilon d).
Proof.
  intros H; destruct (check_parts d H) as (_ & Ha & He & _); apply alpha_ok_sound in Ha; destruct Ha as [Hab Hb].
  unfold epsilon_ok, grants in *; destruct (epsilon d) as [[factor [base|]]|]; [| |exact I].
  - steps He. destruct (_ <=? longest); [|discriminate]. apply need_holds, Z.leb_le in He; rewrite !to_the_spec in He; exact He.
  - steps He. unfold fraction_ok in *; rewrite andb_true_iff, !Z.ltb_lt in *.
    destruct (Z.leb_spec (den factor * length_of (den (alpha d))) (num factor)) as [L|_].
    + apply large_epsilon_sound; tauto.
    + eapply exp_compare_sound; [tauto|exact Hb|tauto|tauto| |exact He].
      unfold length_of; destruct (_ =? 0); assert (N := Z.log2_nonneg (Z.abs (den (alpha d)))); lia.
Qed.

(** ** What was checked of a certificate; [Certificates] says what follows. *)

Lemma weights_rows c T rows : weights_of c = Some (T, rows) -> rows = rows_of c.
Proof.
  destruct c as [T' rows'|n a|m keep]; simpl; intros H.
  - congruence.
  - destruct (_ && _); congruence.
  - destruct (_ <=? _); congruence.
Qed.

Lemma weights_total c T rows : weights_of c = Some (T, rows) -> T = total_of c.
Proof.
  destruct c as [T' rows'|n a|m keep]; simpl; intros H.
  - congruence.
  - destruct (_ && _); congruence.
  - destruct (_ <=? _); congruence.
Qed.

Lemma reach_sound near m D : (2 <= m)%nat -> (forall d, near = Steps d -> 1 <= d) -> reach_of m near = Some D ->
  (1 <= D)%nat /\ forall i k, (i < m)%nat -> (k < m)%nat -> within D i k -> neighbouring near i k.
Proof.
  intros Hm Hs H; destruct near as [d| |pairs]; unfold reach_of in H; inversion H; subst; clear H.
  - specialize (Hs d eq_refl); split; [lia|]. intros i k Hi Hk W; unfold neighbouring, within in *; lia.
  - split; [lia|]. intros; exact I.
Qed.

(** Multipliers for every pair of neighbours, or rows alone and the rays. *)
Definition proved_by (d : document) (c : certificate) (m : nat) : Prop :=
  (forall pairs x, the_neighbours d = Pairs pairs -> In x pairs -> num (snd x) = den (snd x)) /\
  ((exists edges, near_edges (the_neighbours d) m edges /\ multipliers_ok c m edges = true /\ bound_ok c m edges = true) \/
  (exists D, (1 <= D)%nat /\ (forall i k, (i < m)%nat -> (k < m)%nat -> within D i k -> neighbouring (the_neighbours d) i k) /\
    rays_ok c m D = true /\ ray_bound_ok c = true)).

Lemma certificate_parts d c : check d = Holds -> proof d = Some c ->
  let m := length (losses c) in
  (2 <= m)%nat /\ length (rows_of (the_channel d)) = m /\ lines_of m (losses c) /\ law_ok m (prior c) = true /\
  0 < per c /\ 0 < den (bound c) /\ 0 < den (objective c) /\ 0 <= bits c /\ 0 < num (own_alpha c) < den (own_alpha c) /\
  num (own_alpha c) * den (alpha d) = num (alpha d) * den (own_alpha c) /\
  size (the_channel d) = reports (the_channel d) /\ called_rightly d c m = true /\
  forallb (has_letter (the_channel d) (columns_of (the_channel d))) (require c) = true /\
  risk_ok c (total_of (the_channel d)) (rows_of (the_channel d)) = Holds /\ proved_by d c m.
Proof.
  intros H Hp m; destruct (check_parts d H) as (Hc & _ & _ & Hl & _ & Hx); rewrite Hp in Hx.
  destruct (channel_ok_table _ Hc) as (_ & HL & H2).
  unfold certificate_ok in Hx; destruct (weights_of (the_channel d)) as [[T rows]|] eqn:Ew; [|discriminate].
  assert (ET := weights_total _ _ _ Ew); apply weights_rows in Ew; subst T rows; set (k := length (rows_of (the_channel d))) in *.
  steps Hx.
  destruct (set_short _ _ _ _); [|discriminate].
  destruct (risk_ok c (total_of (the_channel d)) (rows_of (the_channel d))) eqn:Er; try discriminate.
  destruct (names_short _ _ _); [|discriminate].
  steps Hx.
  rewrite !andb_true_iff in *; unfold fraction_ok, equal in *.
  repeat match goal with X : _ /\ _ |- _ => destruct X end.
  repeat match goal with
  | X : (_ <? _) = true |- _ => apply Z.ltb_lt in X
  | X : (_ <=? _) = true |- _ => apply Z.leb_le in X
  | X : (_ =? _) = true |- _ => apply Z.eqb_eq in X
  | X : shape _ _ _ = true |- _ => apply shape_spec in X; destruct X
  end.
  assert (Em : m = k) by assumption. rewrite Em.
  assert (Hs : forall s, the_neighbours d = Steps s -> 1 <= s).
  { intros s En; unfold level_ok in Hl; rewrite En in Hl; steps Hl. apply Z.leb_le; assumption. }
  assert (Hq : forall pairs, the_neighbours d = Pairs pairs -> pairs_ok (Z.of_nat k) pairs = true).
  { intros pairs En; unfold level_ok in Hl; rewrite En in Hl; steps Hl. rewrite HL; assumption. }
  split; [lia|]. split; [reflexivity|]. do 9 (split; [first [assumption|split; assumption]|]). split; [rewrite <- Em; assumption || (rewrite Em; assumption)|].
  split; [assumption|]. split; [first [exact Er|reflexivity]|].
  unfold proved_by; destruct (by_rays (the_neighbours d) (given c)).
  - destruct (reach_of k (the_neighbours d)) as [D|] eqn:ED; [|discriminate].
    split; [intros pairs x En; rewrite En in ED; discriminate|right].
    steps Hx. exists D. destruct (reach_sound (the_neighbours d) k D ltac:(lia) Hs ED) as [D1 W].
    split; [exact D1|]. split; [exact W|]. split; assumption.
  - destruct (edges_of k (the_neighbours d)) as [edges|] eqn:Ee; [|discriminate].
    split.
    { intros pairs [[i' k'] x] En Hin; rewrite En in Ee; unfold edges_of in Ee.
      destruct (forallb _ pairs) eqn:Ef; [|discriminate]. rewrite forallb_forall in Ef; apply Z.eqb_eq, (Ef _ Hin). }
    left; steps Hx. exists edges; split; [|split; assumption].
    apply edges_sound; assumption.
Qed.

(** Theorem 6.8: an accepted document is well formed: as many rows as values, at least two; alpha a fraction from 0 to 1, epsilon
    positive, and neighbours that are there. So no denominator in the other statements is read as another number, and no statement is
    about a table without rows. *)
Theorem accepted_formed d : check d = Holds ->
  Z.of_nat (length (rows_of (the_channel d))) = size (the_channel d) /\ 2 <= size (the_channel d) /\
  0 < den (alpha d) /\ 0 <= num (alpha d) <= den (alpha d) /\
  match epsilon d with
  | None => True
  | Some (f, b) => 0 < den f /\ 0 < num f /\ match b with None => True | Some b => 0 < den b < num b end
  end /\
  match the_neighbours d with
  | Steps k => 1 <= k
  | Any => True
  | Pairs pairs => pairs <> [] /\ forall i k x, In (i, k, x) pairs -> 0 <= i < k /\ k < size (the_channel d) /\ 0 < den x /\ 0 <= num x
  end.
Proof.
  intros H; destruct (check_parts d H) as (Hc & Ha & He & Hl & _); apply alpha_ok_sound in Ha.
  destruct (channel_ok_table _ Hc) as (_ & HL & H2).
  repeat (split; [tauto || exact HL|]). split.
  - destruct (epsilon d) as [[f b]|]; [|exact I]. unfold epsilon_ok, need, fraction_ok in He.
    destruct b as [b|].
    + destruct ((0 <? den f) && (0 <? num f) && (0 <? den b) && (den b <? num b)) eqn:E; [|discriminate].
      rewrite !andb_true_iff, !Z.ltb_lt in E; tauto.
    + destruct ((0 <? den f) && (0 <? num f)) eqn:E; [|discriminate].
      rewrite !andb_true_iff, !Z.ltb_lt in E; tauto.
  - unfold level_ok, need in Hl. destruct (the_neighbours d) as [k| |pairs]; [|exact I|].
    + destruct (1 <=? k) eqn:E; [apply Z.leb_le, E|discriminate].
    + destruct (pairs_ok (size (the_channel d)) pairs) eqn:E; [|discriminate].
      unfold pairs_ok, fraction_ok in E; rewrite !andb_true_iff in E; destruct E as [[E0 E] _]. split; [intros ->; discriminate|].
      intros i k x Hi; rewrite forallb_forall in E; specialize (E _ Hi); simpl in E.
      rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in E; tauto.
Qed.

(** Theorem 6.9: and so is its certificate: the problem has the size and the level of the document, and its prior is a law. *)
Theorem accepted_problem d c : check d = Holds -> proof d = Some c ->
  length (rows_of (the_channel d)) = length (losses c) /\ (2 <= length (losses c))%nat /\
  num (own_alpha c) * den (alpha d) = num (alpha d) * den (own_alpha c) /\ 0 < num (own_alpha c) < den (own_alpha c) /\
  0 < per c /\ 0 < den (bound c) /\ 0 < den (objective c) /\ law_ok (length (losses c)) (prior c) = true.
Proof. intros H Hp; destruct (certificate_parts d c H Hp) as (A & B & _ & D & E & F1 & G & _ & I1 & J & _); tauto. Qed.

(** Theorem 6.5: of an accepted document the loss is the one that it is called: l0, l1, l2, lp, a tail, a threshold or an
    asymmetric loss of the distance between the values of its grids. *)
Theorem accepted_loss d c : check d = Holds -> proof d = Some c ->
  forall i j v, (i < length (losses c))%nat -> (j < length (losses c))%nat ->
  loss_meant (loss_called c) (grid_value (inputs d) i) (grid_value (outputs d) j) = Some v ->
  (nth j (nth i (losses c) []) 0%Z # Z.to_pos (per c) == v)%Q.
Proof.
  intros H Hp i j v Hi Hj E.
  destruct (certificate_parts d c H Hp) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & N & _).
  unfold called_rightly in N; apply andb_prop in N; destruct N as [N _]; apply andb_prop in N; destruct N as [N _]; unfold loss_fits in N.
  rewrite forallb_forall in N; specialize (N i ltac:(apply in_seq; lia)); simpl in N.
  rewrite forallb_forall in N; specialize (N j ltac:(apply in_seq; lia)); simpl in N.
  rewrite E in N; apply Qeq_bool_iff; exact N.
Qed.

(** Theorem 6.6: and a prior that is called uniform gives all values the same weight, whatever the risk is. *)
Theorem accepted_uniform d c : check d = Holds -> proof d = Some c -> prior_called c = Uniform ->
  forall x y, In x (prior c) -> In y (prior c) -> x = y.
Proof.
  intros H Hp U x y Hx Hy.
  destruct (certificate_parts d c H Hp) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & N & _).
  unfold called_rightly in N; apply andb_prop in N; destruct N as [N _]; apply andb_prop in N; destruct N as [_ N].
  rewrite U in N; simpl in N.
  rewrite forallb_forall in N; assert (A := N x Hx); assert (B := N y Hy); apply Z.eqb_eq in A, B; congruence.
Qed.

(** ** What else is decided *)

(** Theorem 6.3: an accepted document promises nothing if and only if its level is 0; else the level is positive. *)
Theorem accepted_level d : check d = Holds ->
  if promises_nothing d then num (alpha d) = 0 else (0 < ratio (num (alpha d)) (den (alpha d)) <= 1)%Q.
Proof.
  intros H; destruct (check_parts d H) as (_ & Ha & _); apply alpha_ok_sound in Ha; destruct Ha as [Hab Hb].
  unfold promises_nothing; destruct (Z.eqb_spec (num (alpha d)) 0) as [->|]; [reflexivity|].
  unfold ratio, Qlt, Qle; simpl; rewrite Z2Pos.id by exact Hb; lia.
Qed.

Lemma text_leb_refl u : text_leb u u = true.
Proof. induction u as [|x u IH]; simpl; [reflexivity|]. destruct (Z.ltb_spec x x); [lia|exact IH]. Qed.

Lemma text_leb_trans u : forall v w, text_leb u v = true -> text_leb v w = true -> text_leb u w = true.
Proof.
  induction u as [|x u IH]; intros [|y v] [|z w]; simpl; try discriminate; auto.
  destruct (Z.ltb_spec x y), (Z.ltb_spec y x), (Z.ltb_spec y z), (Z.ltb_spec z y), (Z.ltb_spec x z), (Z.ltb_spec z x);
    try lia; try discriminate; eauto.
Qed.

Lemma rising_NoDup l : rising l = true -> NoDup l.
Proof.
  assert (above : forall l u, rising (u :: l) = true -> forall v, In v l -> text_leb v u = false).
  { clear l; intros l; induction l as [|w k IH]; intros u H v Hv; [contradiction|].
    assert (H' := H); simpl in H; apply andb_prop in H; destruct H as [H1 H2]; apply negb_true_iff in H1.
    destruct Hv as [->|Hv]; [exact H1|].
    destruct (text_leb v u) eqn:E; [|reflexivity].
    specialize (IH w H2 v Hv).
    destruct (TextOrder.leb_total u w) as [L|L]; [|unfold TextOrder.leb in L; congruence].
    rewrite (text_leb_trans _ _ _ E L) in IH; discriminate. }
  induction l as [|u l IH]; intros H; constructor.
  - intros Hu; assert (A := above l u H u Hu); rewrite text_leb_refl in A; discriminate.
  - apply IH; destruct l as [|v l]; [reflexivity|]. simpl in H; apply andb_prop in H; tauto.
Qed.

(** Theorem 6.7: the names of an accepted document differ from each other, also to who does not count blanks. *)
Theorem accepted_names d names other : check d = Holds -> inputs d = Texts names other -> NoDup (map squeezed names).
Proof.
  unfold check; intros H E. destruct (channel_ok (the_channel d)); try discriminate. steps H.
  rewrite !andb_true_iff in E0; destruct E0 as [[A _] _]; rewrite E in A; simpl in A; unfold names_ok in A.
  rewrite !andb_true_iff in A; destruct A as [_ [[_ R] _]].
  apply rising_NoDup in R. eapply Permutation_NoDup; [|exact R]. apply Permutation_sym, TextSort.Permuted_sort.
Qed.
