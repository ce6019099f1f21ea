(** * Privacy from integers

    A mechanism is a table of integer weights: one row for each true value, one
    column for each report, and every row sums to the same total [T > 0]. The
    probability of report [j] under true value [i] is the weight [w i j] over [T].
    What is checked is a comparison of integers, entry by entry. What is proved is
    that it bounds the probability of every event, and what follows from that.

    Levels are written as two integers [0 < a <= b]: alpha = a/b = e^-epsilon. *)

From Coq Require Import ZArith QArith Qpower List Lia.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Rows, events, probabilities *)

Notation row := (list Z).

(** An event says of each report, by its place in the row, whether it belongs. *)
Definition event := nat -> bool.

Fixpoint mass (E : event) (r : row) : Z :=
  match r with
  | [] => 0
  | w :: rest => (if E 0%nat then w else 0) + mass (fun j => E (S j)) rest
  end.

Definition sum (r : row) : Z := fold_right Z.add 0 r.

(** A row of a mechanism: [m] weights, none negative, that sum to [T]. *)
Definition law (T : Z) (m : nat) (r : row) : Prop :=
  length r = m /\ Forall (Z.le 0) r /\ sum r = T.

Definition table (T : Z) (m : nat) (rows : list row) : Prop :=
  0 < T /\ Forall (law T m) rows.

(** The probability of an event, a rational number. *)
Definition Pr (T : Z) (r : row) (E : event) : Q := mass E r # Z.to_pos T.

(** The level a/b as a rational number. *)
Definition ratio (a b : Z) : Q := a # Z.to_pos b.

(** [r] and [s] have the same length, and [a w <= b w'] entry by entry. [Forall2]
    asks for equal lengths: a short row is not compared with the start of a long one. *)
Definition keeps (a b : Z) (r s : row) : Prop :=
  Forall2 (fun w w' => a * w <= b * w') r s.

(** Between which true values a level is claimed: any relation of places in the table. *)
Definition relation := nat -> nat -> Prop.

Definition within (d : nat) : relation := fun i k => (i <= k + d /\ k <= i + d)%nat.
Definition among (pairs : list (nat * nat)) : relation :=
  fun i k => In (i, k) pairs \/ In (k, i) pairs.
Definition any_two : relation := fun _ _ => True.

(** What a check of the integers establishes. *)
Definition private (a b : Z) (N : relation) (rows : list row) : Prop :=
  forall i k r s,
    N i k -> nth_error rows i = Some r -> nth_error rows k = Some s -> keeps a b r s.

(** What differential privacy says: alpha Pr[E | i] <= Pr[E | k] for every event. *)
Definition differentially_private (T a b : Z) (N : relation) (rows : list row) : Prop :=
  forall i k r s E,
    N i k -> nth_error rows i = Some r -> nth_error rows k = Some s ->
    (ratio a b * Pr T r E <= Pr T s E)%Q.

(** ** Entries bound events *)

(** Theorem 1.1: comparisons of entries bound every event. *)
Theorem event_from_entries a b r s :
  keeps a b r s -> forall E, a * mass E r <= b * mass E s.
Proof.
  intros H; induction H as [|w w' r s Hw _ IH]; intros E; simpl; [lia|].
  specialize (IH (fun j => E (S j))); destruct (E 0%nat); lia.
Qed.

Lemma Qle_of_Z a b T m m' :
  0 < b -> 0 < T -> a * m <= b * m' -> (ratio a b * (m # Z.to_pos T) <= m' # Z.to_pos T)%Q.
Proof.
  intros Hb HT H; unfold ratio, Qle, Qmult; simpl.
  rewrite Pos2Z.inj_mul, !Z2Pos.id by assumption; nia.
Qed.

(** Theorem 1.2: the same as probabilities. With [within 1], [within d], [among pairs]
    and [any_two] for [N] it is the promise of neighbours one step apart, up to [d]
    steps apart, given as pairs, and any two. *)
Theorem privacy_from_integers T m a b N rows :
  0 <= a <= b -> 0 < b -> table T m rows -> private a b N rows ->
  differentially_private T a b N rows.
Proof.
  intros Hab Hb [HT _] H i k r s E HN Hi Hk.
  apply Qle_of_Z; [exact Hb|exact HT|]. apply event_from_entries; eauto.
Qed.

(** Conversely, the events of one report each give the entries back: nothing
    is lost by looking at entries alone. *)
Lemma mass_one r : forall j, mass (Nat.eqb j) r = nth j r 0.
Proof.
  assert (none : forall r, mass (fun _ => false) r = 0)
    by (clear; induction r; simpl; auto).
  induction r as [|w r IH]; intros [|j]; simpl; try reflexivity.
  - rewrite none; lia.
  - apply IH.
Qed.

Theorem entries_from_events a b r s :
  length r = length s -> (forall E, a * mass E r <= b * mass E s) -> keeps a b r s.
Proof.
  intros Hl H.
  assert (forall j, a * nth j r 0 <= b * nth j s 0) as G
    by (intros j; specialize (H (Nat.eqb j)); rewrite !mass_one in H; exact H).
  clear H; revert s Hl G; induction r as [|w r IH]; intros [|v s]; simpl; try discriminate.
  - constructor.
  - intros Hl G; constructor; [exact (G 0%nat)|].
    apply IH; [lia|]. intros j; exact (G (S j)).
Qed.

(** Probabilities are what they are called: none negative, all together 1. *)
Lemma mass_nonneg E r : Forall (Z.le 0) r -> 0 <= mass E r.
Proof.
  intros H; revert E; induction H as [|w r Hw _ IH]; intros E; simpl; [lia|].
  specialize (IH (fun j => E (S j))); destruct (E 0%nat); lia.
Qed.

Lemma mass_all r : mass (fun _ => true) r = sum r.
Proof. induction r as [|w r IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.

Theorem probabilities T m r :
  0 < T -> law T m r -> (Pr T r (fun _ => true) == 1)%Q /\ forall E, (0 <= Pr T r E)%Q.
Proof.
  intros HT (_ & Hp & Hs); split.
  - unfold Pr, Qeq; simpl. rewrite mass_all, Hs, Z2Pos.id by exact HT; lia.
  - intros E; unfold Pr, Qle; simpl. generalize (mass_nonneg E r Hp); nia.
Qed.

(** ** Neighbours at a distance

    Neighbours may have distances: between values [d = p/q] apart the level is
    alpha^d. With [A = a^p] and [B = b^p] it is compared as [A w^q <= B w'^q], without roots. *)

Definition keeps_root (A B : Z) (q : nat) (r s : row) : Prop :=
  Forall2 (fun w w' => A * w ^ Z.of_nat q <= B * w' ^ Z.of_nat q) r s.

(** The larger of two ratios is not exceeded by the ratio of the sums. *)
Lemma root_sum A B q x x' y y' :
  0 < A -> 0 <= B -> (0 < q)%nat -> 0 <= x -> 0 <= x' -> 0 <= y -> 0 <= y' ->
  A * x ^ Z.of_nat q <= B * x' ^ Z.of_nat q ->
  A * y ^ Z.of_nat q <= B * y' ^ Z.of_nat q ->
  A * (x + y) ^ Z.of_nat q <= B * (x' + y') ^ Z.of_nat q.
Proof.
  intros HA HB Hq; set (n := Z.of_nat q); assert (Hn : 0 < n) by lia.
  assert (main : forall x x' y y', 0 <= x -> 0 <= x' -> 0 <= y -> 0 <= y' ->
    x' * y <= y' * x -> A * x ^ n <= B * x' ^ n -> A * y ^ n <= B * y' ^ n ->
    A * (x + y) ^ n <= B * (x' + y') ^ n).
  { clear x x' y y'; intros x x' y y' Hx Hx' Hy Hy' order H1 H2.
    destruct (Z.eq_dec x' 0) as [->|ne].
    - rewrite Z.pow_0_l, Z.mul_0_r in H1 by exact Hn.
      assert (Hp : 0 <= x ^ n) by (apply Z.pow_nonneg; exact Hx).
      assert (Hz : x ^ n = 0) by nia.
      apply Z.pow_eq_0 in Hz; [|lia]. subst x; exact H2.
    - assert (pos : 0 < x' ^ n) by (apply Z.pow_pos_nonneg; lia).
      apply (Zmult_le_reg_r _ _ (x' ^ n)); [lia|].
      assert (step : ((x + y) * x') ^ n <= (x * (x' + y')) ^ n)
        by (apply Z.pow_le_mono_l; nia).
      rewrite !Z.pow_mul_l in step.
      assert (0 <= (x' + y') ^ n) by (apply Z.pow_nonneg; lia). nia. }
  intros Hx Hx' Hy Hy' H1 H2.
  destruct (Z.le_gt_cases (x' * y) (y' * x)) as [o|o].
  - apply main; assumption.
  - rewrite (Z.add_comm x y), (Z.add_comm x' y'); apply main; lia || assumption.
Qed.

(** Theorem 1.3: the same comparison of roots holds of every event. *)
Theorem distance_event A B q r s :
  0 <= A -> 0 <= B -> (0 < q)%nat -> Forall (Z.le 0) r -> Forall (Z.le 0) s ->
  keeps_root A B q r s ->
  forall E, A * mass E r ^ Z.of_nat q <= B * mass E s ^ Z.of_nat q.
Proof.
  intros HA HB Hq Hr Hs H.
  destruct (Z.eq_dec A 0) as [->|ne].
  { intros E. assert (0 <= mass E s ^ Z.of_nat q) by (apply Z.pow_nonneg, mass_nonneg; exact Hs). nia. }
  revert Hr Hs; induction H as [|w w' r s Hw _ IH]; intros Hr Hs E; simpl.
  - rewrite Z.pow_0_l by lia; lia.
  - inversion Hr as [|? ? W R]; inversion Hs as [|? ? W' S]; subst.
    destruct (E 0%nat); simpl; [|apply IH; assumption].
    apply root_sum; try apply mass_nonneg; try lia; try assumption. apply IH; assumption.
Qed.

(** Theorem 1.4: as probabilities, alpha^p Pr^q <= Pr'^q for every event. *)
Theorem distance_probability T a b p q r s :
  0 <= a -> 0 < b -> 0 < T -> (0 < q)%nat -> Forall (Z.le 0) r -> Forall (Z.le 0) s ->
  keeps_root (a ^ Z.of_nat p) (b ^ Z.of_nat p) q r s ->
  forall E, (ratio a b ^ Z.of_nat p * Pr T r E ^ Z.of_nat q <= Pr T s E ^ Z.of_nat q)%Q.
Proof.
  intros Ha Hb HT Hq Hr Hs H E.
  assert (Qp : forall x (y : positive) n, ((x # y) ^ Z.of_nat n == inject_Z (x ^ Z.of_nat n) / inject_Z (Zpos y ^ Z.of_nat n))%Q).
  { intros x y n. rewrite (Qmake_Qdiv x y); unfold Qdiv; rewrite Qmult_power, Qinv_power, !Zpower_Qpower by lia; reflexivity. }
  unfold Pr, ratio; rewrite !Qp, !Z2Pos.id by assumption.
  assert (P0 : 0 <= a ^ Z.of_nat p) by (apply Z.pow_nonneg; lia).
  assert (P1 : 0 < b ^ Z.of_nat p) by (apply Z.pow_pos_nonneg; lia).
  assert (P2 : 0 < T ^ Z.of_nat q) by (apply Z.pow_pos_nonneg; lia).
  pose proof (distance_event _ _ q r s P0 (Z.lt_le_incl _ _ P1) Hq Hr Hs H E) as D.
  set (m := mass E r ^ Z.of_nat q) in *; set (m' := mass E s ^ Z.of_nat q) in *.
  set (A := a ^ Z.of_nat p) in *; set (B := b ^ Z.of_nat p) in *; set (U := T ^ Z.of_nat q) in *.
  apply (Qmult_le_r _ _ (inject_Z (B * U))).
  - assert (0 < B * U) by (apply Z.mul_pos_pos; assumption). unfold Qlt, inject_Z; simpl; lia.
  - rewrite inject_Z_mult.
    assert (~ inject_Z B == 0)%Q by (unfold Qeq, inject_Z; simpl; lia).
    assert (~ inject_Z U == 0)%Q by (unfold Qeq, inject_Z; simpl; lia).
    setoid_replace (inject_Z A / inject_Z B * (inject_Z m / inject_Z U) * (inject_Z B * inject_Z U))%Q
      with (inject_Z (A * m)) by (rewrite inject_Z_mult; field; auto).
    setoid_replace (inject_Z m' / inject_Z U * (inject_Z B * inject_Z U))%Q
      with (inject_Z (B * m')) by (rewrite inject_Z_mult; field; auto).
    rewrite <- Zle_Qle; exact D.
Qed.

(** ** Groups *)

Lemma keeps_trans a b a' b' r s t :
  0 <= a' -> 0 <= b -> keeps a b r s -> keeps a' b' s t -> keeps (a * a') (b * b') r t.
Proof.
  intros Ha Hb H; revert t; induction H as [|w w' r s Hw _ IH]; intros t G;
    inversion G; subst; constructor; [nia|apply IH; assumption].
Qed.

Lemma keeps_refl a b r : 0 <= a <= b -> Forall (Z.le 0) r -> keeps a b r r.
Proof. intros Hab H; induction H; constructor; [nia|assumption]. Qed.

(** [i] and [k] are joined by at most [d] steps of [N] that stay within the table. *)
Inductive joined (N : relation) (size : nat) : nat -> nat -> nat -> Prop :=
| joined_here i : (i < size)%nat -> joined N size 0 i i
| joined_step d i j k :
    N i j -> (i < size)%nat -> joined N size d j k -> joined N size (S d) i k
| joined_less d i k : joined N size d i k -> joined N size (S d) i k.

Lemma joined_inside N size d i k : joined N size d i k -> (i < size)%nat.
Proof. intros J; induction J; assumption. Qed.

(** Theorem 1.5: a group of [d] people, or [d] steps, is protected at alpha^d. *)
Theorem groups T m a b N rows d :
  0 < a <= b -> table T m rows -> private a b N rows ->
  private (a ^ Z.of_nat d) (b ^ Z.of_nat d) (joined N (length rows) d) rows.
Proof.
  intros Hab [_ HT] H i k r s J; revert r s.
  assert (nonneg : forall j t, nth_error rows j = Some t -> Forall (Z.le 0) t).
  { intros j t E; apply nth_error_In in E; rewrite Forall_forall in HT; apply (HT t E). }
  induction J as [i Hi|d i j k HN Hi J IH|d i k J IH]; intros r s Er Es.
  - rewrite Er in Es; inversion Es; subst; apply keeps_refl; [simpl; lia|eauto].
  - destruct (nth_error rows j) as [t|] eqn:Et.
    + rewrite Nat2Z.inj_succ, !Z.pow_succ_r by lia.
      apply keeps_trans with t; [apply Z.pow_nonneg; lia|lia|eauto|eauto].
    + exfalso. assert (j < length rows)%nat by (apply joined_inside in J; exact J).
      apply nth_error_None in Et; lia.
  - specialize (IH r s Er Es).
    rewrite Nat2Z.inj_succ, !Z.pow_succ_r by lia.
    apply keeps_trans with r; [apply Z.pow_nonneg; lia|lia| |exact IH].
    apply keeps_refl; [lia|eauto].
Qed.

(** Neighbours one step apart: values up to [d] steps apart have alpha^d. *)
Corollary groups_of_steps T m a b rows d :
  0 < a <= b -> table T m rows -> private a b (within 1) rows ->
  private (a ^ Z.of_nat d) (b ^ Z.of_nat d) (within d) rows.
Proof.
  intros Hab HT H i k r s W Er Es.
  apply (groups T m a b (within 1) rows d Hab HT H i k r s); [|assumption..].
  assert (Hi : (i < length rows)%nat) by (apply nth_error_Some; congruence).
  assert (Hk : (k < length rows)%nat) by (apply nth_error_Some; congruence).
  clear - W Hi Hk; unfold within in W; revert i k W Hi Hk.
  induction d as [|d IH]; intros i k W Hi Hk.
  - replace k with i by lia; constructor; assumption.
  - destruct (Nat.lt_trichotomy i k) as [o|[->|o]].
    + apply joined_step with (S i); [unfold within; lia|lia|apply IH; lia].
    + apply joined_less, IH; lia.
    + apply joined_step with (i - 1)%nat; [unfold within; lia|lia|apply IH; lia].
Qed.

(** ** What is done afterwards *)

(** Report [l] after a remap [f] has the weights of all reports that lead to it. *)
Definition remap (f : nat -> nat) (m : nat) (r : row) : row :=
  map (fun l => mass (fun j => Nat.eqb (f j) l) r) (seq 0 m).

Lemma mass_add E F r :
  (forall j, (j < length r)%nat -> E j = true -> F j = true -> False) ->
  mass (fun j => E j || F j)%bool r = mass E r + mass F r.
Proof.
  revert E F; induction r as [|w r IH]; intros E F H; simpl; [lia|].
  rewrite IH by (intros j Hj; apply (H (S j)); simpl; lia).
  generalize (H 0%nat ltac:(simpl; lia)); destruct (E 0%nat), (F 0%nat); simpl; intros G; lia || (exfalso; auto).
Qed.

Lemma mass_ext E F r : (forall j, (j < length r)%nat -> E j = F j) -> mass E r = mass F r.
Proof.
  revert E F; induction r as [|w r IH]; intros E F H; simpl; [reflexivity|].
  rewrite (H 0%nat) by (simpl; lia); f_equal; apply IH; intros j Hj; apply H; simpl; lia.
Qed.

Lemma mass_seq f r m : forall start E,
  mass E (map (fun l => mass (fun j => Nat.eqb (f j) l) r) (seq start m))
  = mass (fun j => (Nat.leb start (f j) && Nat.ltb (f j) (start + m) && E (f j - start)%nat)%bool) r.
Proof.
  induction m as [|m IH]; intros start E; simpl.
  - assert (none : forall r, mass (fun _ => false) r = 0) by (clear; induction r; simpl; auto).
    rewrite <- (none r); apply mass_ext; intros j _.
    destruct (Nat.leb_spec start (f j)), (Nat.ltb_spec (f j) (start + 0)); simpl; lia || reflexivity.
  - rewrite IH.
    transitivity (mass (fun j => (Nat.eqb (f j) start && E 0%nat)%bool) r +
      mass (fun j => (Nat.leb (S start) (f j) && Nat.ltb (f j) (S start + m) && E (S (f j - S start)))%bool) r).
    + f_equal. destruct (E 0%nat).
      * apply mass_ext; intros; rewrite Bool.andb_true_r; reflexivity.
      * assert (none : forall r, mass (fun _ => false) r = 0) by (clear; induction r; simpl; auto).
        rewrite <- (none r); apply mass_ext; intros; rewrite Bool.andb_false_r; reflexivity.
    + rewrite <- mass_add.
      * apply mass_ext; intros j _.
        destruct (Nat.leb_spec start (f j)) as [L|L], (Nat.ltb_spec (f j) (start + S m)) as [U|U];
        destruct (Nat.leb_spec (S start) (f j)) as [L'|L'], (Nat.ltb_spec (f j) (S start + m)) as [U'|U'];
        destruct (Nat.eqb_spec (f j) start) as [e|e]; simpl; try lia;
        try (rewrite e, Nat.sub_diag; destruct (E 0%nat); reflexivity);
        try (replace (f j - start)%nat with (S (f j - S start)) by lia; reflexivity); reflexivity.
      * intros j _ H1 H2. apply andb_prop in H1; destruct H1 as [H1 _]; apply Nat.eqb_eq in H1.
        apply andb_prop in H2; destruct H2 as [H2 _]; apply andb_prop in H2; destruct H2 as [H2 _].
        apply Nat.leb_le in H2; lia.
Qed.

(** The remapped row says of [E] what the row said of the reports that lead there. *)
Theorem remap_event f m r E :
  (forall j, (j < length r)%nat -> (f j < m)%nat) -> mass E (remap f m r) = mass (fun j => E (f j)) r.
Proof.
  intros H; unfold remap; rewrite mass_seq; apply mass_ext; intros j Hj; specialize (H j Hj).
  rewrite Nat.sub_0_r; destruct (Nat.ltb_spec (f j) (0 + m)); simpl; [reflexivity|lia].
Qed.

(** Theorem 1.6: no remap of the reports costs anything. *)
Theorem remap_keeps a b f m r s : keeps a b r s -> keeps a b (remap f m r) (remap f m s).
Proof.
  intros H; unfold remap; induction (seq 0 m) as [|l ls IH]; simpl; constructor; [|exact IH].
  apply event_from_entries; exact H.
Qed.

(** Random answers to reports: row [j] of [M] has the weights of what follows report [j]. *)
Fixpoint add_rows (r s : row) : row :=
  match r, s with
  | x :: r', y :: s' => (x + y) :: add_rows r' s'
  | _, _ => []
  end.

Fixpoint through (m : nat) (r : row) (M : list row) : row :=
  match r, M with
  | w :: r', v :: M' => add_rows (map (Z.mul w) v) (through m r' M')
  | _, _ => repeat 0 m
  end.

(** Theorem 1.7: no random post-processing costs anything. *)
Theorem through_keeps a b m r s M :
  Forall (Forall (Z.le 0)) M -> keeps a b r s -> keeps a b (through m r M) (through m s M).
Proof.
  intros HM H; revert M HM; induction H as [|w w' r s Hw _ IH]; intros M HM.
  - simpl. induction m; simpl; constructor; [lia|assumption].
  - destruct M as [|v M]; simpl.
    + clear; induction m; simpl; constructor; [lia|assumption].
    + inversion HM as [|? ? Hv HM']; subst; specialize (IH M HM').
      revert IH; generalize (through m r M) (through m s M); intros t t' IH.
      clear HM HM'; revert t t' IH; induction Hv as [|x v Hx _ IHv]; intros t t' IH; simpl; [constructor|].
      destruct IH as [|y y' t t' Hy IH]; simpl; constructor; [nia|apply IHv; exact IH].
Qed.

(** Theorem 1.7a: what follows a law by laws of one total is a law. *)
Theorem through_law T U m r M : length M = length r -> Forall (law U m) M -> law T (length r) r ->
  law (U * T) m (through m r M).
Proof.
  intros HL HM (_ & Hr & Hs).
  assert (main : law (U * sum r) m (through m r M)).
  { clear T Hs. revert M HL HM; induction Hr as [|w r Hw _ IH]; intros [|v M] HL HM; try discriminate; simpl.
    - unfold law; rewrite repeat_length; split; [reflexivity|]. split.
      + apply Forall_forall; intros x Hx; apply repeat_spec in Hx; lia.
      + replace (sum (repeat 0 m)) with 0; [lia|]. clear; induction m; simpl; lia.
    - inversion HM as [|? ? Hv HM']; subst. injection HL as HL. destruct (IH M HL HM') as (L2 & N2 & S2).
      destruct Hv as (L1 & N1 & S1). revert L2 N2 S2; generalize (through m r M); intros t L2 N2 S2.
      assert (A : forall v t, length v = length t -> Forall (Z.le 0) v -> Forall (Z.le 0) t ->
        length (add_rows (map (Z.mul w) v) t) = length v /\ Forall (Z.le 0) (add_rows (map (Z.mul w) v) t) /\
        sum (add_rows (map (Z.mul w) v) t) = w * sum v + sum t).
      { clear -Hw. induction v as [|x v IHv]; intros [|y t] L V W; try discriminate; simpl.
        - repeat split; [constructor|lia].
        - inversion V; inversion W; subst. destruct (IHv t ltac:(simpl in L; lia) ltac:(assumption) ltac:(assumption)) as (a & b & c).
          repeat split; [lia|constructor; [nia|exact b]|lia]. }
      destruct (A v t ltac:(lia) N1 N2) as (a & b & c). unfold law; repeat split; [lia|exact b|rewrite c, S1, S2; lia]. }
  rewrite Hs in main; exact main.
Qed.

(** ** Sequences and parts *)

(** Two reports one after the other: the second row may depend on the first report,
    and all second rows have one total. The joint weights are the products. *)
Fixpoint followed (r : row) (second : list row) : row :=
  match r, second with
  | w :: r', v :: second' => map (Z.mul w) v ++ followed r' second'
  | _, _ => []
  end.

Lemma products a b a' b' w w' x x' :
  0 <= a -> 0 <= b' -> 0 <= w -> 0 <= x' ->
  a * w <= b * w' -> a' * x <= b' * x' -> a * a' * (w * x) <= b * b' * (w' * x').
Proof.
  intros Ha Hb Hw Hx H G.
  apply Z.le_trans with ((a * w) * (b' * x')).
  - replace (a * a' * (w * x)) with ((a * w) * (a' * x)) by ring. apply Z.mul_le_mono_nonneg_l; nia.
  - replace (b * b' * (w' * x')) with ((b * w') * (b' * x')) by ring. apply Z.mul_le_mono_nonneg_r; nia.
Qed.

(** Theorem 1.8: levels multiply, also where the second question follows from the first report. *)
Theorem sequences a b a' b' r s V W :
  0 <= a -> 0 <= b' -> Forall (Z.le 0) r -> Forall (Forall (Z.le 0)) W ->
  keeps a b r s -> Forall2 (keeps a' b') V W -> keeps (a * a') (b * b') (followed r V) (followed s W).
Proof.
  intros Ha' Hb Hr HW H; revert V W Hr HW.
  induction H as [|w w' r s Hw _ IH]; intros V W Hr HW G; simpl.
  - constructor.
  - inversion Hr as [|? ? w_nonneg Hr']; subst.
    destruct G as [|v v' V W Hv G]; [constructor|].
    inversion HW as [|? ? Hv' HW']; subst.
    apply Forall2_app; [|apply IH; assumption].
    clear - Hw Hv Hv' Ha' Hb w_nonneg.
    induction Hv as [|x x' v v' Hx _ IH]; simpl; constructor.
    + inversion Hv'; subst; apply products; assumption.
    + apply IH; inversion Hv'; assumption.
Qed.

(** The joint weights are a law again: one common denominator. *)
Theorem followed_total T U m r V :
  Forall (law U m) V -> length r = length V -> sum r = T -> sum (followed r V) = T * U.
Proof.
  assert (sum_app : forall l l', sum (l ++ l') = sum l + sum l')
    by (clear; unfold sum; induction l; intros; simpl; rewrite ?IHl; lia).
  assert (sum_mul : forall w l, sum (map (Z.mul w) l) = w * sum l)
    by (clear; unfold sum; induction l; simpl; rewrite ?IHl; lia).
  intros H; revert r T; induction H as [|v V (_ & _ & Hs) _ IH]; intros [|w r] T Hl HT; simpl in *;
    try discriminate; unfold sum in *; simpl in *; [subst; reflexivity|].
  fold sum in *; change (fold_right Z.add 0) with sum in *.
  rewrite sum_app, sum_mul, Hs, (IH r (sum r)) by (lia || reflexivity). rewrite <- HT; ring.
Qed.

(** Parts: several counts, each with a row of its own, reported independently. *)
Fixpoint joint (rows : list row) : row :=
  match rows with
  | [] => [1]
  | r :: rest => flat_map (fun w => map (Z.mul w) (joint rest)) r
  end.

Lemma joint_nonneg rows : Forall (Forall (Z.le 0)) rows -> Forall (Z.le 0) (joint rows).
Proof.
  intros H; induction H as [|r rows Hr _ IH]; simpl; [repeat constructor; lia|].
  rewrite Forall_forall in *; intros x Hx; apply in_flat_map in Hx; destruct Hx as (w & Hw & Hx).
  apply in_map_iff in Hx; destruct Hx as (v & <- & Hv). specialize (Hr w Hw); specialize (IH v Hv); nia.
Qed.

Lemma keeps_products a b a' b' r s t u :
  0 <= a -> 0 <= b' -> Forall (Z.le 0) r -> Forall (Z.le 0) u ->
  keeps a b r s -> keeps a' b' t u ->
  keeps (a * a') (b * b') (flat_map (fun w => map (Z.mul w) t) r) (flat_map (fun w => map (Z.mul w) u) s).
Proof.
  intros Ha' Hb Hr Hu H G; revert Hr; induction H as [|w w' r s Hw _ IH]; intros Hr; simpl; [constructor|].
  inversion Hr as [|? ? w_nonneg Hr']; subst; apply Forall2_app; [|apply IH; assumption].
  clear - Hw G Hu Ha' Hb w_nonneg; induction G as [|x x' t u Hx _ IH]; simpl; constructor.
  - inversion Hu; subst; apply products; assumption.
  - apply IH; inversion Hu; assumption.
Qed.

Lemma keeps_weaker a b c r s : 0 <= c -> keeps a b r s -> keeps (a * c) (b * c) r s.
Proof. intros Hc H; induction H; constructor; [nia|assumption]. Qed.

(** Theorem 1.9: where one person changes one part alone, all reports together keep
    the level of that part. *)
Theorem parallel_parts a b before after r s :
  0 <= a <= b -> Forall (Forall (Z.le 0)) before -> Forall (Forall (Z.le 0)) after ->
  Forall (Z.le 0) r -> keeps a b r s ->
  keeps a b (joint (before ++ r :: after)) (joint (before ++ s :: after)).
Proof.
  intros Hab Hbefore Hafter Hr H.
  assert (Ja : Forall (Z.le 0) (joint after)) by (apply joint_nonneg; exact Hafter).
  assert (base : keeps a b (joint (r :: after)) (joint (s :: after))).
  { simpl. replace a with (a * 1) by lia; replace b with (b * 1) by lia.
    apply keeps_products; try lia; try assumption. apply keeps_refl; [lia|assumption]. }
  induction Hbefore as [|t before Ht Hbefore IH]; simpl; [exact base|].
  assert (J : Forall (Z.le 0) (joint (before ++ r :: after))).
  { apply joint_nonneg, Forall_app; split; [assumption|constructor; assumption]. }
  revert IH J; generalize (joint (before ++ r :: after)) (joint (before ++ s :: after)).
  intros x y IH J; clear - Ht IH Hab.
  induction Ht as [|w t Hw _ IHt]; simpl; [constructor|].
  apply Forall2_app; [|exact IHt].
  clear IHt; induction IH as [|u v x y Huv _ IH]; simpl; [constructor|constructor; [nia|exact IH]].
Qed.

(** Where a person may change several parts, their levels multiply. *)
Theorem several_parts levels : forall rows rows',
  Forall (fun l => 0 <= fst l /\ 0 <= snd l) levels ->
  Forall (Forall (Z.le 0)) rows -> Forall (Forall (Z.le 0)) rows' ->
  Forall2 (fun l rs => keeps (fst l) (snd l) (fst rs) (snd rs)) levels (combine rows rows') ->
  length rows = length rows' ->
  keeps (fold_right (fun l => Z.mul (fst l)) 1 levels) (fold_right (fun l => Z.mul (snd l)) 1 levels)
        (joint rows) (joint rows').
Proof.
  induction levels as [|[a b] levels IH]; intros rows rows' Hl Hr Hr' H Hlen.
  - inversion H as [Hn|]. destruct rows, rows'; simpl in *; try discriminate. repeat constructor; lia.
  - destruct rows as [|r rows], rows' as [|s rows']; simpl in *; try discriminate; inversion H; subst.
    inversion Hl as [|? ? [Ha Hb] Hl']; inversion Hr; inversion Hr'; subst; simpl in *.
    apply keeps_products; try lia; try assumption.
    + clear - Hl'. induction Hl' as [|[x y] l [? ?] ? ?]; simpl in *; nia.
    + apply joint_nonneg; assumption.
    + apply IH; try assumption; lia.
Qed.

(** ** (epsilon, delta) *)

(** What exceeds the level, entry by entry, summed up. *)
Fixpoint excess (a b : Z) (r s : row) : Z :=
  match r, s with
  | w :: r', w' :: s' => Z.max 0 (a * w - b * w') + excess a b r' s'
  | _, _ => 0
  end.

Lemma excess_event a b r s :
  length r = length s -> forall E, a * mass E r <= b * mass E s + excess a b r s.
Proof.
  revert s; induction r as [|w r IH]; intros [|w' s] Hl E; simpl in *; try discriminate; [lia|].
  specialize (IH s ltac:(lia) (fun j => E (S j))); destruct (E 0%nat); lia.
Qed.

(** Theorem 1.10: if the excess is at most [a delta T], then
    Pr[E | x] <= (b/a) Pr[E | x'] + delta for every event. For every [c >= b/a], as
    e^epsilon is when a/b >= e^-epsilon, that is (epsilon, delta). *)
Theorem epsilon_delta T a b (delta c : Q) r s :
  0 < a -> 0 < b -> 0 < T -> length r = length s -> Forall (Z.le 0) s ->
  (inject_Z (excess a b r s) <= inject_Z a * delta * inject_Z T)%Q ->
  (ratio b a <= c)%Q ->
  forall E, (Pr T r E <= c * Pr T s E + delta)%Q.
Proof.
  intros Ha Hb HT Hl Hs He Hc E.
  pose proof (excess_event a b r s Hl E) as H.
  assert (Pos : (0 <= Pr T s E)%Q).
  { unfold Pr, Qle; simpl; generalize (mass_nonneg E s Hs); nia. }
  apply Qle_trans with (ratio b a * Pr T s E + delta)%Q;
    [|apply Qplus_le_compat; [apply Qmult_le_compat_r; assumption|apply Qle_refl]].
  assert (HaT : (0 < inject_Z a * inject_Z T)%Q) by (unfold Qlt; simpl; nia).
  apply (Qmult_le_r _ _ _ HaT).
  unfold Pr, ratio; rewrite !(Qmake_Qdiv _ (Z.to_pos _)), !Z2Pos.id by assumption.
  assert (~ inject_Z a == 0)%Q by (unfold Qeq; simpl; lia).
  assert (~ inject_Z T == 0)%Q by (unfold Qeq; simpl; lia).
  setoid_replace (inject_Z (mass E r) / inject_Z T * (inject_Z a * inject_Z T))%Q
    with (inject_Z (a * mass E r)) by (rewrite inject_Z_mult; field; auto).
  setoid_replace ((inject_Z b / inject_Z a * (inject_Z (mass E s) / inject_Z T) + delta) * (inject_Z a * inject_Z T))%Q
    with (inject_Z (b * mass E s) + inject_Z a * delta * inject_Z T)%Q by (rewrite inject_Z_mult; field; auto).
  apply Qle_trans with (inject_Z (b * mass E s) + inject_Z (excess a b r s))%Q.
  - rewrite <- inject_Z_plus, <- Zle_Qle; exact H.
  - apply Qplus_le_compat; [apply Qle_refl|exact He].
Qed.

(** Without excess it is the level of Theorem 1.1. *)
Theorem no_excess a b r s : length r = length s -> excess a b r s = 0 <-> keeps a b r s.
Proof.
  intros Hl; split.
  - revert s Hl; induction r as [|w r IH]; intros [|w' s] Hl H; simpl in *; try discriminate; constructor.
    + assert (0 <= excess a b r s) by (clear; revert s; induction r; intros [|? ?]; simpl; try lia; specialize (IHr l); lia). lia.
    + apply IH; [lia|].
      assert (0 <= excess a b r s) by (clear; revert s; induction r; intros [|? ?]; simpl; try lia; specialize (IHr l); lia). lia.
  - intros H; induction H; simpl in *; [reflexivity|]. rewrite IHForall2 by lia; lia.
Qed.
