(** * Properties of accepted documents

    The properties that an accepted document lists are those that its mechanism has: of tables by
    comparing entries, of the families by the theorems here, for every n. *)

From Coq Require Import ZArith List Bool Lia.
From Discreet Require Import Privacy Families Check Tables Sound.
Import ListNotations.
Local Open Scope Z_scope.

Lemma weight_written w rows columns i j : (i < rows)%nat -> (j < columns)%nat ->
  weight (written w rows columns) i j = w i j.
Proof.
  intros Hi Hj; unfold weight, written.
  assert (E : forall A (f : nat -> A) n k e, (k < n)%nat -> nth k (map f (seq 0 n)) e = f k).
  { intros A f n k e Hk; apply nth_error_nth; rewrite nth_error_map, (nth_error_nth' _ 0%nat), seq_nth
      by (rewrite ?seq_length; exact Hk). reflexivity. }
  rewrite E by exact Hi; apply E; exact Hj.
Qed.

Lemma has_same T m w w' l : (forall i j, (i < m)%nat -> (j < m)%nat -> w i j = w' i j) -> has T m w l -> has T m w' l.
Proof.
  intros E H; destruct l; simpl in *.
  - intros i j Hi Hj; rewrite <- !E by assumption; auto.
  - intros i j Hi Hj; specialize (H i j Hi Hj); rewrite !E in H by lia; exact H.
  - intros i j Hi Hj; rewrite <- !E by assumption; auto.
  - intros i j Hi Hj; specialize (H i j Hi Hj); rewrite !E in H by lia; exact H.
  - intros i j Hi Hj; rewrite <- !E by assumption; auto.
  - intros i Hi; rewrite <- E by assumption; auto.
  - intros i j Hi Hj; rewrite <- !E by lia; auto.
Qed.

(** Randomised response has all seven. *)
Theorem response_has p c m l : 0 <= p < c -> (1 <= m)%nat -> has (c * Z.of_nat m) m (response_weight p c m) l.
Proof.
  intros Hpc Hm; assert (0 <= p * Z.of_nat m) by (apply Z.mul_nonneg_nonneg; lia).
  destruct l; simpl; unfold response_weight.
  - intros i j _ _; rewrite Nat.eqb_refl; destruct (Nat.eqb_spec j i); lia.
  - intros i j _ _; destruct (Nat.ltb_spec j i), (Nat.eqb_spec j i), (Nat.eqb_spec (S j) i); lia.
  - intros i j _ _; rewrite Nat.eqb_refl; destruct (Nat.eqb_spec i j); lia.
  - intros i j _ _; destruct (Nat.ltb_spec j i), (Nat.eqb_spec i j), (Nat.eqb_spec i (S j)); lia.
  - intros i j _ _; rewrite !Nat.eqb_refl; reflexivity.
  - intros i _; rewrite Nat.eqb_refl. apply Z.mul_le_mono_nonneg_r; [lia|]. nia.
  - intros i j Hi Hj; destruct (Nat.eqb_spec i j), (Nat.eqb_spec (m - 1 - i) (m - 1 - j)); lia.
Qed.

Lemma power_falls p q n d : 0 < p < q -> (d < n)%nat -> power p q n (S d) <= power p q n d.
Proof.
  intros Hpq Hd; assert (E := power_step p q n d Hd); assert (A := power_pos p q n d ltac:(lia) ltac:(lia)).
  assert (B := power_pos p q n (S d) ltac:(lia) ltac:(lia)). nia.
Qed.

Lemma power_falls_far p q n d e : 0 < p < q -> (d + e <= n)%nat -> power p q n (d + e) <= power p q n d.
Proof.
  intros Hpq; induction e as [|e IH]; intros H; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r; generalize (power_falls p q n (d + e) Hpq ltac:(lia)), (IH ltac:(lia)); lia.
Qed.

(** Geometric noise: which of the seven it has depends on n and alpha alone. *)
Theorem geometric_has_spec p q n l : 0 < p < q -> (1 <= n)%nat -> geometric_has (Z.of_nat n) p q l = true ->
  has (geometric_total p q n) (S n) (geometric_weight p q n) l.
Proof.
  intros Hpq Hn H.
  assert (pos : forall d, 0 < power p q n d) by (intros d; apply power_pos; lia).
  set (c := fun j => if (Nat.eqb j 0 || Nat.eqb j n)%bool then q else q - p).
  assert (Hc : forall j, q - p <= c j <= q) by (intros j; unfold c; destruct (_ || _); lia).
  assert (W : forall i j, geometric_weight p q n i j = c j * power p q n (apart i j)) by reflexivity.
  assert (inner : forall j, (0 < j < n)%nat -> c j = q - p).
  { intros j Hj; unfold c; destruct (Nat.eqb_spec j 0), (Nat.eqb_spec j n); simpl; lia. }
  assert (ends : c 0%nat = q /\ c n = q).
  { unfold c; rewrite (Nat.eqb_refl n), orb_true_r; split; reflexivity. }
  assert (far : forall i j, (i <= n)%nat -> (j <= n)%nat -> power p q n (apart i j) <= power p q n 0).
  { intros i j Hi Hj; apply (power_falls_far p q n 0 (apart i j) Hpq); unfold apart; lia. }
  assert (self : forall i, apart i i = 0%nat) by (intros; unfold apart; lia).
  assert (small : (n = 1%nat) \/ 2 * p <= q -> forall i j, (i <= n)%nat -> (j <= n)%nat -> (i <> j)%nat ->
     forall e, e = (apart i j - 1)%nat -> forall k, (k <= n)%nat -> apart i k = e -> c j * power p q n (apart i j) <= c k * power p q n e).
  { intros Hs i j Hi Hj ne e He k Hk Hke.
    assert (A : apart i j = S e) by (unfold apart in *; lia).
    assert (E := power_step p q n e ltac:(unfold apart in *; lia)); rewrite A.
    assert (B := pos e); assert (F := power_falls p q n e Hpq ltac:(unfold apart in *; lia)).
    destruct Hs as [Hs|Hs].
    - assert (c k = q) by (destruct (Nat.eq_dec k 0); [subst k|replace k with n by lia]; tauto).
      assert (c j <= q) by (apply Hc). assert (0 <= c j) by (generalize (Hc j); lia). nia.
    - assert (c j * power p q n (S e) <= q * power p q n (S e)) by (apply Z.mul_le_mono_nonneg_r; [generalize (pos (S e)); lia|apply Hc]).
      assert (q - p <= c k) by apply Hc. nia. }
  destruct l; cbn [has geometric_has] in *.
  - intros i j Hi Hj; rewrite !W, self; apply Z.mul_le_mono_nonneg_l; [generalize (Hc i); lia|apply far; lia].
  - intros i j Hi Hj; rewrite !W; destruct (Nat.ltb_spec j i);
      (apply Z.mul_le_mono_nonneg_l; [generalize (Hc i); lia|]).
    + replace (apart j i) with (S (apart (S j) i)) by (unfold apart; lia). apply power_falls; [lia|unfold apart; lia].
    + replace (apart (S j) i) with (S (apart j i)) by (unfold apart; lia). apply power_falls; [lia|unfold apart; lia].
  - intros i j Hi Hj; rewrite !W, self.
    destruct (Nat.eq_dec i j) as [->|ne]; [rewrite self; lia|].
    assert (Hs : n = 1%nat \/ 2 * p <= q).
    { apply orb_prop in H; destruct H as [H|H]; [left; apply Z.eqb_eq in H; lia|right; apply Z.leb_le in H; exact H]. }
    assert (e1 : c j * power p q n (apart i j) <= c j * power p q n 1).
    { apply Z.mul_le_mono_nonneg_l; [generalize (Hc j); lia|].
      replace (apart i j) with (1 + (apart i j - 1))%nat by (unfold apart; lia).
      apply power_falls_far; [lia|unfold apart; lia]. }
    assert (E := power_step p q n 0 ltac:(lia)). assert (B := pos 0%nat). assert (B1 := pos 1%nat).
    assert (F := power_falls p q n 0 Hpq ltac:(lia)).
    destruct Hs as [Hs|Hs].
    + assert (c i = q) by (destruct (Nat.eq_dec i 0); [subst i|replace i with n by lia]; tauto).
      assert (c j <= q) by apply Hc; assert (0 <= c j) by (generalize (Hc j); lia). nia.
    + assert (c j * power p q n 1 <= q * power p q n 1) by (apply Z.mul_le_mono_nonneg_r; [lia|apply Hc]).
      assert (q - p <= c i) by apply Hc. nia.
  - intros i j Hi Hj; rewrite !W.
    assert (Hs : n = 1%nat \/ 2 * p <= q).
    { apply orb_prop in H; destruct H as [H|H]; [left; apply Z.eqb_eq in H; lia|right; apply Z.leb_le in H; exact H]. }
    destruct (Nat.ltb_spec j i).
    + assert (G := small Hs i j ltac:(lia) ltac:(lia) ltac:(lia) _ eq_refl (S j) ltac:(lia) ltac:(unfold apart; lia)).
      replace (apart i j - 1)%nat with (apart i (S j)) in G by (unfold apart; lia). exact G.
    + assert (G := small Hs i (S j) ltac:(lia) ltac:(lia) ltac:(lia) _ eq_refl j ltac:(lia) ltac:(unfold apart; lia)).
      replace (apart i (S j) - 1)%nat with (apart i j) in G by (unfold apart; lia). exact G.
  - apply Z.eqb_eq in H; assert (n = 1%nat) by lia.
    intros i j Hi Hj; rewrite !W, !self.
    assert (one : forall i, (i < S n)%nat -> c i = q)
      by (intros k Hk; destruct (Nat.eq_dec k 0); [subst k|replace k with n by lia]; tauto).
    rewrite !one by assumption; reflexivity.
  - intros i Hi; rewrite W, self. unfold geometric_total; rewrite power_0.
    assert (0 < q ^ Z.of_nat n) by (apply Z.pow_pos_nonneg; lia).
    set (X := q ^ Z.of_nat n) in *; set (N := Z.of_nat (S n)).
    assert (HN : N = Z.of_nat n + 1) by (unfold N; lia).
    assert (G : q + p <= c i * N).
    { apply orb_prop in H. destruct (Nat.eq_dec i 0) as [->|i0]; [rewrite (proj1 ends), HN; nia|].
      destruct (Nat.eq_dec i n) as [->|ni]; [rewrite (proj2 ends), HN; nia|].
      rewrite inner, HN by lia. destruct H as [H|H]; [apply Z.eqb_eq in H; lia|apply Z.leb_le in H; nia]. }
    replace (c i * X * N) with ((c i * N) * X) by ring. apply Z.mul_le_mono_nonneg_r; lia.
  - intros i j Hi Hj; rewrite !W.
    replace (apart (S n - 1 - i) (S n - 1 - j)) with (apart i j) by (unfold apart; lia).
    f_equal; unfold c.
    destruct (Nat.eqb_spec j 0), (Nat.eqb_spec j n), (Nat.eqb_spec (S n - 1 - j) 0), (Nat.eqb_spec (S n - 1 - j) n); simpl; lia.
Qed.

(** ** The explicit fair mechanism *)

Lemma fair_class_self n i : fair_class n i i = 0%nat.
Proof.
  unfold fair_class; replace (apart i i) with 0%nat by (unfold apart; lia).
  destruct (Nat.ltb_spec 0 (Nat.min i (n - i))); [reflexivity|]. replace (Nat.min i (n - i)) with 0%nat by lia; reflexivity.
Qed.

(** Reports farther from the truth, and truths farther from the report, have no smaller class. *)
Lemma fair_class_reports n i j k : (i <= n)%nat -> (apart i j <= apart i k)%nat -> (fair_class n i j <= fair_class n i k)%nat.
Proof.
  unfold fair_class; intros Hi H.
  generalize (div2_spec (apart i j + Nat.min i (n - i) + 1)), (div2_spec (apart i k + Nat.min i (n - i) + 1)).
  destruct (Nat.ltb_spec (apart i j) (Nat.min i (n - i))), (Nat.ltb_spec (apart i k) (Nat.min i (n - i))); lia.
Qed.

Lemma fair_class_truths n i k j : (i <= n)%nat -> (k <= n)%nat -> (j <= n)%nat ->
  (k = S i /\ j <= i \/ i = S k /\ i <= j)%nat -> (fair_class n i j <= fair_class n k j)%nat.
Proof.
  unfold fair_class, apart; intros Hi Hk Hj W.
  generalize (div2_spec (i - j + (j - i) + Nat.min i (n - i) + 1)), (div2_spec (k - j + (j - k) + Nat.min k (n - k) + 1)).
  destruct (Nat.ltb_spec (i - j + (j - i)) (Nat.min i (n - i))),
           (Nat.ltb_spec (k - j + (j - k)) (Nat.min k (n - k))); lia.
Qed.

(** Theorem 2.7: the explicit fair mechanism has all seven properties, for every n and all weights that never rise with the class. *)
Theorem fair_has g n l : (forall e, 0 < g (S e) <= g e) ->
  has (fair_total g n) (S n) (fun i j => g (fair_class n i j)) l.
Proof.
  intros Hg.
  assert (falls : forall e e', (e <= e')%nat -> g e' <= g e).
  { intros e e' H; induction H as [|e' H IH]; [lia|]. generalize (Hg e'); lia. }
  destruct l; simpl.
  - intros i j _ _; rewrite fair_class_self; apply falls; lia.
  - intros i j Hi Hj; destruct (Nat.ltb_spec j i); apply falls, fair_class_truths; lia.
  - intros i j _ _; rewrite fair_class_self; apply falls; lia.
  - intros i j Hi Hj; destruct (Nat.ltb_spec j i); apply falls, fair_class_reports; unfold apart; lia.
  - intros i j _ _; rewrite !fair_class_self; reflexivity.
  - intros i _; rewrite fair_class_self. unfold fair_total.
    assert (bound : forall k, series (fun j => g (Nat.div2 (j + 1))) k <= g 0%nat * Z.of_nat k).
    { induction k as [|k IH]; [simpl; lia|].
      change (series (fun j => g (Nat.div2 (j + 1))) k + g (Nat.div2 (k + 1)) <= g 0%nat * Z.of_nat (S k)).
      generalize (falls 0%nat (Nat.div2 (k + 1)) ltac:(lia)); lia. }
    apply bound.
  - intros i j Hi Hj; f_equal; unfold fair_class.
    replace (apart (n - 0 - i) (n - 0 - j)) with (apart i j) by (unfold apart; lia).
    replace (Nat.min (n - 0 - i) (n - (n - 0 - i))) with (Nat.min i (n - i)) by lia. reflexivity.
Qed.

(** With the exact weights p^e q^(last - e), of which no class beyond the last is used. *)
Corollary fair_exact_has p q n l : 0 < p < q ->
  let last := Nat.div2 (n + 1) in
  let g := fun e => power p q last (Nat.min e last) in
  has (fair_total g n) (S n) (fun i j => g (fair_class n i j)) l.
Proof.
  intros Hpq last g; apply fair_has; intros e; unfold g; split; [apply power_pos; lia|].
  destruct (Nat.lt_ge_cases e last).
  - rewrite !Nat.min_l by lia; apply power_falls; lia.
  - rewrite !Nat.min_r by lia; lia.
Qed.

Lemma in_count l ls : In l ls <-> (0 < count l ls)%nat.
Proof.
  unfold count; assert (same : forall x, same_letter l x = true <-> l = x) by (intros x; destruct l, x; simpl; split; congruence).
  induction ls as [|x ls IH]; simpl; [lia|].
  destruct (same_letter l x) eqn:E; simpl; rewrite IH.
  - apply same in E; split; [lia|intros; left; congruence].
  - split; [intros [->|H]|]; [|exact H|tauto]. rewrite (proj2 (same l) eq_refl) in E; discriminate.
Qed.

(** What the checker finds of a channel holds. *)
Lemma has_letter_sound c l : channel_ok c = Holds -> size c = reports c -> has_letter c (columns_of c) l = true ->
  has (total_of c) (Z.to_nat (size c)) (weight (rows_of c)) l.
Proof.
  intros Hc Hsq E; destruct (channel_ok_table _ Hc) as ([HT HR] & HL & H2).
  destruct c as [T rows|n a|m keep]; simpl in *.
  - apply table_ok_sound in Hc; destruct Hc as ([_ HR'] & _ & W).
    unfold reports, size in *; simpl in Hsq; rewrite Nat2Z.id.
    assert (L : length rows = width rows) by lia. rewrite L.
    apply table_has_spec; [|exact L|exact W|exact E].
    eapply Forall_impl; [|exact HR']; intros r (Lr & _); exact Lr.
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in Hc.
    replace (Z.to_nat (n + 1)) with (S (Z.to_nat n)) by lia.
    apply has_same with (geometric_weight (num a) (den a) (Z.to_nat n)).
    + intros i j Hi Hj; symmetry; apply weight_written; assumption.
    + apply geometric_has_spec; [lia|lia|]. rewrite Z2Nat.id by lia; exact E.
  - apply need_holds in Hc; unfold fraction_ok in Hc; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in Hc.
    apply has_same with (response_weight (num keep) (den keep) (Z.to_nat m)).
    + intros i j Hi Hj; symmetry; apply weight_written; assumption.
    + assert (R := response_has (num keep) (den keep) (Z.to_nat m) l ltac:(lia) ltac:(lia)).
      rewrite Z2Nat.id in R by lia; exact R.
Qed.

(** Theorem 6.3: every property that an accepted document lists holds of its mechanism. *)
Theorem accepted_properties d ls l : check d = Holds -> listed d = Some ls -> In l ls ->
  let c := the_channel d in has (total_of c) (Z.to_nat (size c)) (weight (rows_of c)) l.
Proof.
  intros H Hls Hin; cbv zeta; destruct (check_parts d H) as (Hc & _ & _ & _ & Hl & _).
  unfold listed_ok in Hl; rewrite Hls, !andb_true_iff in Hl; destruct Hl as [[_ Hsq] Hall].
  rewrite forallb_forall in Hall; specialize (Hall l ltac:(destruct l; simpl; tauto)).
  apply Nat.eqb_eq in Hall; apply in_count in Hin.
  destruct (has_letter (the_channel d) (columns_of (the_channel d)) l) eqn:E; [|simpl in Hall; lia].
  apply has_letter_sound; [exact Hc|apply Z.eqb_eq; exact Hsq|exact E].
Qed.
