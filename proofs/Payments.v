(** * Shapes of multipliers

    Lemmas about the functions of [Check] that turn multipliers into payments: each goes to
    a row that exists and has an amount for each of its entries. *)

From Coq Require Import ZArith List Bool Lia.
From Discreet Require Import Privacy Families Check Tables.
Import ListNotations.
Local Open Scope Z_scope.

Definition fits (m : nat) (l : list payment) : Prop :=
  Forall (fun x => (fst x < m)%nat /\ length (snd x) = m) l.

Definition lines_of (m : nat) (lines : list (list Z)) : Prop := Forall (fun l => length l = m) lines.

Lemma shape_spec r m lines : shape r m lines = true -> length lines = r /\ lines_of m lines.
Proof.
  unfold shape, same_length; intros H; apply andb_prop in H; destruct H as [H G]; apply Nat.eqb_eq in H.
  split; [exact H|]. apply Forall_forall; rewrite forallb_forall in G; intros l Hl; apply Nat.eqb_eq, G, Hl.
Qed.

Lemma nonneg_spec lines : nonneg lines = true -> Forall (Forall (Z.le 0)) lines.
Proof.
  unfold nonneg; rewrite forallb_forall; intros H; apply Forall_forall; intros l Hl; specialize (H l Hl).
  rewrite forallb_forall in H; apply Forall_forall; intros x Hx; apply Z.leb_le, H, Hx.
Qed.

Lemma scaled_length c l : length (scaled c l) = length l.
Proof. apply map_length. Qed.

Lemma turned_length l : forall i, length (turned i l) = length l.
Proof. induction l as [|u l IH]; intros [|i]; simpl; auto. Qed.

Lemma turned_back_length l : forall i, length (turned_back i l) = length l.
Proof. induction l as [|u l IH]; intros [|i]; simpl; auto. Qed.

Lemma at_place_length m i u : length (at_place m i u) = m.
Proof. unfold at_place; rewrite map_length, seq_length; reflexivity. Qed.

Lemma fits_app m l l' : fits m l -> fits m l' -> fits m (l ++ l').
Proof. intros; apply Forall_app; split; assumption. Qed.

Lemma fits_row_sums m q y : length y = m -> fits m (of_row_sums m q y).
Proof.
  intros H; apply Forall_forall; intros [k v] Hk; unfold of_row_sums in Hk.
  assert (A := in_combine_l _ _ _ _ Hk); assert (B := in_combine_r _ _ _ _ Hk); apply in_seq in A; apply in_map_iff in B.
  destruct B as (u & <- & _); simpl; rewrite repeat_length; lia.
Qed.

Lemma fits_edges m p q edges : Forall (fun e => (fst e < m)%nat /\ (snd e < m)%nat) edges ->
  forall lines, lines_of m lines -> fits m (of_edges p q edges lines).
Proof.
  intros H; induction H as [|[j k] edges [Hj Hk] _ IH]; intros lines L; [constructor|].
  destruct L as [|u lines Hu L]; [constructor|]; destruct L as [|v lines Hv L]; [constructor|].
  simpl in *; repeat constructor; simpl; rewrite ?scaled_length; auto. apply IH; exact L.
Qed.

Lemma fits_RM m q lines : lines_of m lines -> forall x, (x + length lines < m)%nat -> fits m (of_RM q x lines).
Proof.
  intros H; induction H as [|u lines Hu _ IH]; intros x Hx; [constructor|].
  cbn [of_RM length] in *; repeat constructor; cbn [fst snd]; rewrite ?scaled_length, ?turned_back_length; try lia.
  apply IH; lia.
Qed.

Lemma fits_CM m q lines : lines_of (m - 1) lines -> (1 <= m)%nat ->
  forall x, (x + length lines <= m)%nat -> fits m (of_CM q x lines).
Proof.
  intros H Hm; induction H as [|u lines Hu _ IH]; intros x Hx; [constructor|].
  cbn [of_CM length] in *; repeat constructor; cbn [fst snd]; rewrite ?scaled_length, ?app_length; simpl; rewrite ?turned_length; try lia.
  apply IH; lia.
Qed.

Lemma fits_diagonal m q u : forall i, (i + length u <= m)%nat -> fits m (on_diagonal m q i u).
Proof.
  induction u as [|x u IH]; intros i Hi; [constructor|].
  cbn [on_diagonal length] in *; constructor; cbn [fst snd]; [rewrite at_place_length; lia|apply IH; lia].
Qed.

Lemma fits_RH m q lines : lines_of m lines -> forall x, (x + length lines <= m)%nat -> fits m (of_RH m q x lines).
Proof.
  intros H; induction H as [|u lines Hu _ IH]; intros x Hx; [constructor|].
  cbn [of_RH length] in *; constructor; cbn [fst snd]; [rewrite scaled_length; lia|].
  apply fits_app; [apply fits_diagonal; lia|apply IH; lia].
Qed.

Lemma fits_CH m q lines : lines_of m lines -> forall x, (x + length lines <= m)%nat -> fits m (of_CH m q x lines).
Proof.
  intros H; induction H as [|u lines Hu _ IH]; intros x Hx; [constructor|].
  cbn [of_CH length] in *; repeat constructor; cbn [fst snd]; rewrite ?scaled_length, ?at_place_length; try lia.
  apply IH; lia.
Qed.

Lemma one_line m lines : shape 1 m lines = true -> lines = [concat lines] /\ length (concat lines) = m.
Proof.
  intros H; apply shape_spec in H; destruct H as [L H].
  destruct lines as [|l [|? ?]]; try discriminate. inversion H; subst; simpl; rewrite app_nil_r; auto.
Qed.

Lemma fits_letter m q x : (1 <= m)%nat -> letter_shape m x = true -> fits m (of_letter m q x).
Proof.
  assert (left : forall u v, u && v = true -> u = true) by (intros u v H; apply andb_prop in H; tauto).
  intros Hm; destruct x as [l lines]; unfold letter_shape, of_letter; destruct l; intros H.
  - apply left, shape_spec in H; apply fits_RH; [apply H|lia].
  - apply left, shape_spec in H; apply fits_RM; [apply H|lia].
  - apply left, shape_spec in H; apply fits_CH; [apply H|lia].
  - apply left, shape_spec in H; apply fits_CM; [apply H|lia|lia].
  - apply one_line in H; apply fits_app; apply fits_diagonal; lia.
  - apply left, one_line in H; apply fits_diagonal; lia.
  - discriminate.
Qed.

(** Between which true values a document's level holds, by places. *)
Definition neighbouring (near : neighbours) (i k : nat) : Prop :=
  match near with
  | Steps d => within (Z.to_nat d) i k
  | Any => True
  | Pairs pairs => exists x, In (Z.of_nat i, Z.of_nat k, x) pairs \/ In (Z.of_nat k, Z.of_nat i, x) pairs
  end.

Definition near_edges (near : neighbours) (m : nat) (edges : list (nat * nat)) : Prop :=
  Forall (fun e => (fst e < m)%nat /\ (snd e < m)%nat /\
    neighbouring near (fst e) (snd e) /\ neighbouring near (snd e) (fst e)) edges.

(** Every edge of a certificate joins two neighbours. *)
Lemma edges_sound near m edges : (forall pairs, near = Pairs pairs -> pairs_ok (Z.of_nat m) pairs = true) ->
  (forall d, near = Steps d -> 1 <= d) ->
  edges_of m near = Some edges -> near_edges near m edges.
Proof.
  intros Hp Hs H; apply Forall_forall; intros [j k] He; simpl.
  assert (steps : forall d, In (j, k) (flat_map (fun j => map (fun k => (j, k)) (seq (S j) (Nat.min (j + d) (m - 1) - j))) (seq 0 m)) ->
    (j < m)%nat /\ (k < m)%nat /\ (j < k <= j + d)%nat).
  { intros d D; apply in_flat_map in D; destruct D as (j' & Hj & D); apply in_map_iff in D.
    destruct D as (k' & E & Hk); inversion E; subst; apply in_seq in Hj, Hk; lia. }
  destruct near as [d| |pairs]; unfold edges_of in H.
  - inversion H; subst; apply steps in He; specialize (Hs d eq_refl); unfold neighbouring, within; lia.
  - inversion H; subst; apply steps in He; unfold neighbouring; tauto.
  - destruct (forallb _ pairs); [|discriminate]; inversion H; subst; clear H.
    apply in_map_iff in He; destruct He as ([[i' k'] x] & E & Hin); inversion E; subst.
    specialize (Hp pairs eq_refl); unfold pairs_ok in Hp; rewrite !andb_true_iff in Hp; destruct Hp as [[_ Hp] _].
    rewrite forallb_forall in Hp; specialize (Hp _ Hin); simpl in Hp; rewrite !andb_true_iff, !Z.ltb_lt, !Z.leb_le in Hp.
    repeat split; try lia; exists x; rewrite !Z2Nat.id by lia; tauto.
Qed.
