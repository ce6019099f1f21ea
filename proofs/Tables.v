(** * What the checker finds in a table

    Lemmas about the functions of [Check]: columns, sliding minima, the smallest ratio,
    and the seven properties. *)

From Coq Require Import ZArith List Bool Lia.
From Discreet Require Import Privacy Families Check.
Import ListNotations.
Local Open Scope Z_scope.

(** Weight of report [j] under true value [i]. *)
Definition weight (rows : list row) (i j : nat) : Z := nth j (nth i rows []) 0.

Lemma keeps_nth a b r s :
  length r = length s -> (forall j, (j < length r)%nat -> a * nth j r 0 <= b * nth j s 0) -> keeps a b r s.
Proof.
  revert s; induction r as [|w r IH]; intros [|v s] Hl H; simpl in *; try discriminate; constructor.
  - exact (H 0%nat ltac:(lia)).
  - apply IH; [lia|]. intros j Hj; exact (H (S j) ltac:(lia)).
Qed.

(** ** A checked table is a table *)

Lemma need_holds b w : need b w = Holds -> b = true.
Proof. destruct b; [reflexivity|discriminate]. Qed.

Ltac steps H :=
  repeat match type of H with
  | match need ?b ?w with _ => _ end = Holds =>
      let E := fresh "E" in destruct (need b w) eqn:E; [apply need_holds in E|discriminate H|discriminate H]
  | need _ _ = Holds => apply need_holds in H
  end.

Lemma table_ok_sound T rows : table_ok T rows = Holds ->
  table T (width rows) rows /\ (2 <= length rows)%nat /\ (1 <= width rows)%nat.
Proof.
  unfold table_ok; intros H; steps H.
  rewrite !andb_true_iff in *.
  destruct E as [[A B] _]; apply Nat.leb_le in A, B; split; [|split; assumption].
  assert (HT : 0 < T) by (apply Z.ltb_lt; tauto).
  split; [exact HT|].
  apply Forall_forall; intros r Hr.
  assert (L : forallb (same_length (width rows)) rows = true) by assumption.
  assert (G : forallb (row_ok T) rows = true) by assumption.
  rewrite forallb_forall in L, G; specialize (L r Hr); specialize (G r Hr).
  apply Nat.eqb_eq in L; unfold row_ok in G; apply andb_prop in G; destruct G as [P Q].
  split; [exact L|split; [|apply Z.eqb_eq; exact Q]].
  rewrite Forall_forall; rewrite forallb_forall in P; intros x Hx; apply Z.leb_le, P, Hx.
Qed.

(** ** Columns *)

Definition regular (m : nat) (rows : list row) : Prop := Forall (fun r => length r = m) rows.

Lemma transpose_length m rows : regular m rows -> length (transpose m rows) = m.
Proof.
  intros H; induction H as [|r rows Hr _ IH]; simpl; [apply repeat_length|].
  rewrite map_length, combine_length, IH, Hr; lia.
Qed.

Lemma transpose_nth m rows : regular m rows -> forall j, (j < m)%nat ->
  length (nth j (transpose m rows) []) = length rows /\
  forall i, (i < length rows)%nat -> nth i (nth j (transpose m rows) []) 0 = weight rows i j.
Proof.
  intros H; induction H as [|r rows Hr Hrows IH]; intros j Hj; simpl.
  - assert (E : nth j (repeat (@nil Z) m) [] = []) by (clear; revert j; induction m; intros [|j]; simpl; auto).
    rewrite E; split; [reflexivity|intros; lia].
  - assert (L := transpose_length m rows Hrows).
    specialize (IH j Hj); destruct IH as [IL IN].
    assert (E : nth j (map (fun x => fst x :: snd x) (combine r (transpose m rows))) []
                = nth j r 0 :: nth j (transpose m rows) []).
    { assert (Hr' : (j < length r)%nat) by lia; rewrite <- L in Hj; revert Hr' Hj; clear.
      revert j r; generalize (transpose m rows) as t.
      induction t as [|c t IH]; intros [|j] [|w r] Hr' Hj; simpl in *; try lia; [reflexivity|apply IH; lia]. }
    rewrite E; split; [simpl; lia|].
    intros [|i] Hi; simpl; [reflexivity|apply IN; lia].
Qed.

(** ** Sliding minima *)

Lemma nth_skipn k (l : list Z) : forall i, nth i (skipn k l) 0 = nth (k + i) l 0.
Proof. revert l; induction k as [|k IH]; intros [|x l] i; simpl; auto; destruct i; auto. Qed.

Lemma least_length u v : length (least_of_both u v) = length u.
Proof. revert v; induction u as [|x u IH]; intros [|y v]; simpl; auto. Qed.

Lemma least_nth u v : forall i, (i < length u)%nat ->
  nth i (least_of_both u v) 0 = if Nat.ltb i (length v) then Z.min (nth i u 0) (nth i v 0) else nth i u 0.
Proof.
  revert v; induction u as [|x u IH]; intros [|y v] [|i] H; simpl in *; try lia; try reflexivity.
  rewrite IH by lia; reflexivity.
Qed.

(** [W] has at each place the least of [k] numbers of [l] from there on, and one of them. *)
Definition covers (k : nat) (W l : list Z) : Prop :=
  length W = length l /\
  (forall i j, (i <= j < i + k)%nat -> (j < length l)%nat -> nth i W 0 <= nth j l 0) /\
  (forall i, (i < length l)%nat -> exists j, (i <= j < i + k)%nat /\ (j < length l)%nat /\ nth i W 0 = nth j l 0).

Lemma covers_join k k' W V l : covers k W l -> covers k' V l ->
  covers (k + k') (least_of_both W (skipn k V)) l.
Proof.
  intros (LW & CW & RW) (LV & CV & RV); split; [rewrite least_length; exact LW|split].
  - intros i j Hij Hj; rewrite least_nth, skipn_length, nth_skipn by lia.
    destruct (Nat.ltb_spec i (length V - k)) as [c|c].
    + destruct (Nat.lt_ge_cases j (i + k)) as [o|o].
      * specialize (CW i j ltac:(lia) Hj); lia.
      * specialize (CV (k + i)%nat j ltac:(lia) Hj); lia.
    + apply CW; lia.
  - intros i Hi; rewrite least_nth, skipn_length, nth_skipn by lia.
    destruct (RW i Hi) as (j & B & L & E).
    destruct (Nat.ltb_spec i (length V - k)) as [c|c]; [|exists j; repeat split; lia].
    destruct (RV (k + i)%nat ltac:(lia)) as (j' & B' & L' & E').
    destruct (Z.min_spec (nth i W 0) (nth (k + i) V 0)) as [[_ M]|[_ M]]; rewrite M;
      [exists j|exists j']; repeat split; lia.
Qed.

Lemma window_covers k l : covers (Pos.to_nat k) (window k l) l.
Proof.
  assert (one : covers 1 l l).
  { split; [reflexivity|split]; intros i.
    - intros j H _; replace j with i by lia; lia.
    - intros H; exists i; repeat split; lia. }
  induction k as [k IH|k IH|]; simpl window; [| |exact one].
  - replace (Pos.to_nat k~1) with (Pos.to_nat k~0 + 1)%nat by lia.
    apply covers_join; [|exact one].
    replace (Pos.to_nat k~0) with (Pos.to_nat k + Pos.to_nat k)%nat by lia. apply covers_join; exact IH.
  - replace (Pos.to_nat k~0) with (Pos.to_nat k + Pos.to_nat k)%nat by lia. apply covers_join; exact IH.
Qed.

(** ** The smallest ratio *)

Definition bounds (best pair : Z * Z) : Prop := fst best * snd pair <= snd best * fst pair.
Definition proper (best : Z * Z) : Prop := 0 <= fst best /\ 0 < snd best.
Definition weights (pair : Z * Z) : Prop := 0 <= fst pair /\ 0 <= snd pair.

Lemma smaller_step best pair : proper best -> weights pair ->
  proper (smaller best pair) /\ bounds (smaller best pair) pair /\
  forall other, weights other -> bounds best other -> bounds (smaller best pair) other.
Proof.
  destruct best as [l v], pair as [low value]; unfold proper, weights, bounds, smaller; simpl.
  intros [Hl Hv] [Hlow Hvalue]; destruct (Z.ltb_spec (v * low) (value * l)) as [c|c]; simpl.
  - assert (0 < value) by nia. split; [lia|split; [lia|]].
    intros [o w]; simpl; intros [Ho Hw] G. apply (Zmult_le_reg_r _ _ v); [lia|].
    assert (low * w * v <= value * l * w) by nia. nia.
  - split; [lia|split; [lia|]]. intros; assumption.
Qed.

Lemma smaller_fold pairs : forall best, proper best -> Forall weights pairs ->
  proper (fold_left smaller pairs best) /\ Forall (bounds (fold_left smaller pairs best)) pairs /\
  (forall other, weights other -> bounds best other -> bounds (fold_left smaller pairs best) other) /\
  (fold_left smaller pairs best = best \/ In (fold_left smaller pairs best) pairs).
Proof.
  induction pairs as [|x pairs IH]; intros best Hb H; simpl; [auto|].
  inversion H as [|? ? Hx H']; subst.
  destruct (smaller_step best x Hb Hx) as (P & B & K).
  destruct (IH _ P H') as (P' & B' & K' & A'); repeat split; try apply P'; auto.
  destruct A' as [A'|A']; [|auto]. rewrite A'; destruct best, x; unfold smaller.
  destruct (_ <? _); auto.
Qed.

(** All ratios in a column, of places at most [d] apart. *)
Definition column_bounds (d : nat) (best : Z * Z) (column : list Z) : Prop :=
  forall i j, within d i j -> (i < length column)%nat -> (j < length column)%nat ->
    fst best * nth i column 0 <= snd best * nth j column 0.

(** One of these ratios, as it stands. *)
Definition column_attains (d : nat) (best : Z * Z) (column : list Z) : Prop :=
  exists i j, within d i j /\ (i < length column)%nat /\ (j < length column)%nat /\
    best = (nth j column 0, nth i column 0).

Lemma combine_window k column i : (i < length column)%nat ->
  In (nth i (window k column) 0, nth i column 0) (combine (window k column) column).
Proof.
  intros H; destruct (window_covers k column) as (L & _).
  rewrite <- combine_nth by exact L. apply nth_In; rewrite combine_length; lia.
Qed.

Lemma window_nonneg k column : Forall (Z.le 0) column -> Forall weights (combine (window k column) column).
Proof.
  intros H; rewrite Forall_forall in *; intros [x y] Hx.
  destruct (window_covers k column) as (L & _ & R).
  destruct (In_nth _ _ (0, 0) Hx) as (i & Hi & E); rewrite combine_nth in E by exact L.
  rewrite combine_length in Hi; destruct (R i ltac:(lia)) as (j & _ & Hj & F).
  inversion E; subst; split; simpl; [rewrite F|]; apply H, nth_In; lia.
Qed.

Lemma ratio_of_column_sound d best column : 0 <= d -> proper best -> Forall (Z.le 0) column ->
  let found := ratio_of_column d best column in
  proper found /\ column_bounds (Z.to_nat d) found column /\
  (forall other, weights other -> bounds best other -> bounds found other) /\
  (found = best \/ column_attains (Z.to_nat d) found column).
Proof.
  intros Hd Hb H; unfold ratio_of_column; set (k := Z.to_pos (d + 1)).
  assert (Hk : Pos.to_nat k = S (Z.to_nat d)) by (unfold k; lia).
  assert (Hr : Forall (Z.le 0) (rev column)) by (apply Forall_rev; exact H).
  set (one := fold_left smaller (combine (window k column) column) best).
  destruct (smaller_fold _ best Hb (window_nonneg k column H)) as (P1 & B1 & K1 & A1); fold one in P1, B1, K1, A1.
  destruct (smaller_fold _ one P1 (window_nonneg k (rev column) Hr)) as (P2 & B2 & K2 & A2).
  set (found := fold_left smaller (combine (window k (rev column)) (rev column)) one) in *.
  destruct (window_covers k column) as (L & C & R), (window_covers k (rev column)) as (L' & C' & R').
  rewrite Hk in C, R, C', R'; rewrite rev_length in *.
  assert (nn : forall i, (i < length column)%nat -> 0 <= nth i column 0).
  { intros i Hi; rewrite Forall_forall in H; apply H, nth_In, Hi. }
  cbv zeta; split; [exact P2|split; [|split]].
  - intros i j W Hi Hj; unfold within in W; destruct P2 as [P2 P2'].
    destruct (Nat.le_gt_cases i j) as [o|o].
    + assert (G : bounds found (nth i (window k column) 0, nth i column 0)).
      { rewrite Forall_forall in B1; assert (I := combine_window k column i Hi).
        apply K2; [|apply B1; exact I].
        pose proof (window_nonneg k column H) as WN; rewrite Forall_forall in WN; apply WN, I. }
      unfold bounds in G; simpl in G; specialize (C i j ltac:(lia) Hj); nia.
    + set (i' := (length column - S i)%nat); set (j' := (length column - S j)%nat).
      assert (Ei : nth i' (rev column) 0 = nth i column 0) by (rewrite rev_nth by (unfold i'; lia); f_equal; unfold i'; lia).
      assert (Ej : nth j' (rev column) 0 = nth j column 0) by (rewrite rev_nth by (unfold j'; lia); f_equal; unfold j'; lia).
      assert (G : bounds found (nth i' (window k (rev column)) 0, nth i' (rev column) 0)).
      { rewrite Forall_forall in B2; apply B2, combine_window; rewrite rev_length; unfold i'; lia. }
      unfold bounds in G; simpl in G; specialize (C' i' j' ltac:(unfold i', j'; lia) ltac:(unfold j'; lia)).
      rewrite Ei in G; rewrite Ej in C'; nia.
  - intros other Ho HB; apply K2; [exact Ho|apply K1; assumption].
  - destruct A2 as [A2|A2].
    + rewrite A2; destruct A1 as [A1|A1]; [left; exact A1|right].
      destruct (In_nth _ _ (0, 0) A1) as (i & Hi & E); rewrite combine_nth in E by exact L.
      rewrite combine_length in Hi; destruct (R i ltac:(lia)) as (j & B & Hj & F).
      exists i, j; unfold within; rewrite <- E, F; repeat split; lia.
    + right. destruct (In_nth _ _ (0, 0) A2) as (i' & Hi & E); rewrite combine_nth in E by (rewrite rev_length; exact L').
      rewrite combine_length, rev_length in Hi; destruct (R' i' ltac:(lia)) as (j' & B & Hj & F).
      rewrite !rev_nth in * by lia.
      exists (length column - S i')%nat, (length column - S j')%nat; unfold within; rewrite <- E, F; repeat split; lia.
Qed.

Lemma ratio_of_table_sound d columns : 0 <= d -> Forall (Forall (Z.le 0)) columns ->
  let found := ratio_of_table d columns in
  proper found /\ Forall (column_bounds (Z.to_nat d) found) columns /\
  (found = (1, 1) \/ Exists (column_attains (Z.to_nat d) found) columns).
Proof.
  intros Hd H; unfold ratio_of_table.
  assert (main : forall best, proper best ->
    let found := fold_left (ratio_of_column d) columns best in
    proper found /\ Forall (column_bounds (Z.to_nat d) found) columns /\
    (forall other, weights other -> bounds best other -> bounds found other) /\
    (found = best \/ Exists (column_attains (Z.to_nat d) found) columns)).
  { induction H as [|c columns Hc H IH]; intros best Hb; simpl; [auto|].
    destruct (ratio_of_column_sound d best c Hd Hb Hc) as (P & B & K & A).
    destruct (IH _ P) as (P' & B' & K' & A'); split; [exact P'|split; [|split]].
    - constructor; [|exact B']. intros i j W Hi Hj.
      assert (nn : forall i, (i < length c)%nat -> 0 <= nth i c 0)
        by (intros t Ht; rewrite Forall_forall in Hc; apply Hc, nth_In, Ht).
      apply (K' (nth j c 0, nth i c 0)); [split; simpl; auto|]. unfold bounds; simpl; apply B; assumption.
    - intros other Ho HB; apply K'; [exact Ho|apply K; assumption].
    - destruct A' as [A'|A']; [|right; right; exact A'].
      rewrite A'; destruct A as [A|A]; [left; exact A|right; left; exact A]. }
  destruct (main (1, 1) ltac:(split; simpl; lia)) as (P & B & _ & A); auto.
Qed.

(** ** The seven properties *)

(** What each of the letters says, of [m] true values with weights [w] over [T]. *)
Definition has (T : Z) (m : nat) (w : nat -> nat -> Z) (l : letter) : Prop :=
  match l with
  | RH => forall i j, (i < m)%nat -> (j < m)%nat -> w j i <= w i i
  | RM => forall i j, (i < m)%nat -> (S j < m)%nat ->
      if Nat.ltb j i then w j i <= w (S j) i else w (S j) i <= w j i
  | CH => forall i j, (i < m)%nat -> (j < m)%nat -> w i j <= w i i
  | CM => forall i j, (i < m)%nat -> (S j < m)%nat ->
      if Nat.ltb j i then w i j <= w i (S j) else w i (S j) <= w i j
  | F => forall i j, (i < m)%nat -> (j < m)%nat -> w i i = w j j
  | WH => forall i, (i < m)%nat -> T <= w i i * Z.of_nat m
  | SY => forall i j, (i < m)%nat -> (j < m)%nat -> w i j = w (m - 1 - i)%nat (m - 1 - j)%nat
  end.

Lemma honest_spec lines : forall k,
  honest k lines = true <->
  forall i j, (i < length lines)%nat -> (j < length (nth i lines []))%nat ->
    nth j (nth i lines []) 0 <= nth (k + i) (nth i lines []) 0.
Proof.
  induction lines as [|l lines IH]; intros k; simpl; [split; intros; [lia|reflexivity]|].
  rewrite andb_true_iff, IH, forallb_forall; split.
  - intros [H G] [|i] j Hi Hj; simpl in *.
    + rewrite Nat.add_0_r; apply Z.leb_le, H, nth_In, Hj.
    + rewrite <- Nat.add_succ_comm; apply G; lia || exact Hj.
  - intros H; split.
    + intros x Hx; destruct (In_nth _ _ 0 Hx) as (j & Hj & <-).
      specialize (H 0%nat j ltac:(lia) Hj); rewrite Nat.add_0_r in H; apply Z.leb_le, H.
    + intros i j Hi Hj; rewrite Nat.add_succ_comm; apply (H (S i)); lia || exact Hj.
Qed.

Lemma falls_away_spec l : forall i, falls_away i l = true <->
  forall j, (S j < length l)%nat -> if Nat.ltb j i then nth j l 0 <= nth (S j) l 0 else nth (S j) l 0 <= nth j l 0.
Proof.
  induction l as [|x l IH]; intros i; [simpl; split; intros; [lia|reflexivity]|].
  destruct l as [|y l]; [simpl; split; intros; [lia|reflexivity]|].
  destruct i as [|i]; change (falls_away ?i (x :: y :: l)) with
    (match i with O => (y <=? x) && falls_away O (y :: l) | S i' => (x <=? y) && falls_away i' (y :: l) end);
    cbv iota; rewrite andb_true_iff, IH, Z.leb_le; split.
  - intros [H G] [|j] Hj; [exact H|]. specialize (G j ltac:(simpl in *; lia)); exact G.
  - intros H; split; [exact (H 0%nat ltac:(simpl; lia))|]. intros j Hj; exact (H (S j) ltac:(simpl in *; lia)).
  - intros [H G] [|j] Hj; [exact H|]. specialize (G j ltac:(simpl in *; lia)); exact G.
  - intros H; split; [exact (H 0%nat ltac:(simpl; lia))|]. intros j Hj; exact (H (S j) ltac:(simpl in *; lia)).
Qed.

Lemma monotone_spec lines : forall k, monotone k lines = true <->
  forall i j, (i < length lines)%nat -> (S j < length (nth i lines []))%nat ->
    if Nat.ltb j (k + i) then nth j (nth i lines []) 0 <= nth (S j) (nth i lines []) 0
    else nth (S j) (nth i lines []) 0 <= nth j (nth i lines []) 0.
Proof.
  induction lines as [|l lines IH]; intros k; simpl monotone; [simpl; split; intros; [lia|reflexivity]|].
  rewrite andb_true_iff, IH, falls_away_spec; split.
  - intros [H G] [|i] j Hi Hj.
    + rewrite Nat.add_0_r; apply H; exact Hj.
    + rewrite <- Nat.add_succ_comm; apply G; [simpl in Hi; lia|exact Hj].
  - intros H; split.
    + intros j Hj; specialize (H 0%nat j ltac:(simpl; lia) Hj); rewrite Nat.add_0_r in H; exact H.
    + intros i j Hi Hj; rewrite Nat.add_succ_comm; apply (H (S i)); [simpl; lia|exact Hj].
Qed.

Lemma diagonal_spec lines : forall k, length (diagonal k lines) = length lines /\
  forall i, (i < length lines)%nat -> nth i (diagonal k lines) 0 = nth (k + i) (nth i lines []) 0.
Proof.
  induction lines as [|l lines IH]; intros k; simpl; [split; [reflexivity|intros; lia]|].
  destruct (IH (S k)) as [L N]; split; [lia|].
  intros [|i] Hi; simpl; [rewrite Nat.add_0_r; reflexivity|].
  rewrite N by lia; f_equal; lia.
Qed.

Lemma forallb_nth {A} (f : A -> bool) (l : list A) (e : A) :
  forallb f l = true <-> forall i, (i < length l)%nat -> f (nth i l e) = true.
Proof.
  rewrite forallb_forall; split; intros H.
  - intros i Hi; apply H, nth_In, Hi.
  - intros x Hx; destruct (In_nth _ _ e Hx) as (i & Hi & <-); auto.
Qed.

Lemma same_line_eq u : forall v, same_line u v = true <-> u = v.
Proof.
  induction u as [|x u IH]; intros [|y v]; simpl; split; intros H; try discriminate; try reflexivity.
  - apply andb_prop in H; destruct H as [H G]; apply Z.eqb_eq in H; apply IH in G; congruence.
  - inversion H; subst; rewrite Z.eqb_refl; simpl; apply IH; reflexivity.
Qed.

Lemma mirrored_spec m rows : regular m rows -> length rows = m ->
  (mirrored rows = true <-> forall i j, (i < m)%nat -> (j < m)%nat -> weight rows i j = weight rows (m - 1 - i) (m - 1 - j)).
Proof.
  intros HR HL; unfold mirrored.
  assert (L : length rows = length (rev (map (@rev Z) rows))) by (rewrite rev_length, map_length; reflexivity).
  assert (rl : forall i, (i < m)%nat -> length (nth i rows []) = m).
  { intros i Hi; unfold regular in HR; rewrite Forall_forall in HR; apply HR, nth_In; lia. }
  assert (E : forall i, (i < m)%nat -> nth i (rev (map (@rev Z) rows)) [] = rev (nth (m - 1 - i) rows [])).
  { intros i Hi; rewrite rev_nth by (rewrite map_length; lia). rewrite map_length, HL.
    replace (m - S i)%nat with (m - 1 - i)%nat by lia. change (@nil Z) with (rev (@nil Z)) at 1; apply map_nth. }
  rewrite (forallb_nth _ _ ([], [])), combine_length, <- L, HL, Nat.min_id; split; intros H.
  - intros i j Hi Hj; specialize (H i Hi); rewrite combine_nth in H by exact L; simpl in H.
    apply same_line_eq in H; rewrite E in H by exact Hi; unfold weight; rewrite H, rev_nth by (rewrite rl; lia).
    rewrite rl by lia; f_equal; lia.
  - intros i Hi; rewrite combine_nth by exact L; simpl; apply same_line_eq; rewrite E by exact Hi.
    apply (nth_ext _ _ 0 0); [rewrite rev_length, !rl by lia; reflexivity|].
    intros j Hj; rewrite rl in Hj by exact Hi; rewrite rev_nth by (rewrite rl; lia). rewrite rl by lia.
    specialize (H i j Hi Hj); unfold weight in H; rewrite H; f_equal; lia.
Qed.

(** Theorem 6.1: of a square table the checker decides each of the seven properties. *)
Theorem table_has_spec T m rows l : regular m rows -> length rows = m -> (1 <= m)%nat ->
  (table_has T rows (transpose m rows) l = true <-> has T m (weight rows) l).
Proof.
  intros HR HL Hm.
  assert (rl : forall i, (i < m)%nat -> length (nth i rows []) = m).
  { intros i Hi; unfold regular in HR; rewrite Forall_forall in HR; apply HR, nth_In; lia. }
  assert (TL := transpose_length m rows HR); assert (TN := transpose_nth m rows HR).
  destruct l; unfold table_has, has.
  - rewrite honest_spec, TL; split; intros H i j Hi Hj.
    + destruct (TN i Hi) as [A B]; specialize (H i j Hi ltac:(lia)); simpl in H; rewrite !B in H by lia; exact H.
    + destruct (TN i Hi) as [A B]; simpl; rewrite !B by lia; apply H; lia.
  - rewrite monotone_spec, TL; split; intros H i j Hi Hj.
    + destruct (TN i Hi) as [A B]; specialize (H i j Hi ltac:(lia)); simpl in H; rewrite !B in H by lia; exact H.
    + destruct (TN i Hi) as [A B]; simpl; rewrite !B by lia; apply H; lia.
  - rewrite honest_spec, HL; split; intros H i j Hi Hj.
    + apply (H i j Hi); rewrite rl; lia.
    + rewrite rl in Hj by exact Hi; apply H; lia.
  - rewrite monotone_spec, HL; split; intros H i j Hi Hj.
    + apply (H i j Hi); rewrite rl; lia.
    + rewrite rl in Hj by exact Hi; apply H; lia.
  - destruct (diagonal_spec rows 0) as [DL DN].
    rewrite (forallb_nth _ _ 0), DL, HL; split; intros H.
    + assert (all : forall i, (i < m)%nat -> weight rows i i = nth 0 (nth 0 rows []) 0).
      { intros i Hi; specialize (H i Hi); rewrite DN in H by lia; apply Z.eqb_eq in H; symmetry; exact H. }
      intros i j Hi Hj; rewrite !all by assumption; reflexivity.
    + intros i Hi; rewrite DN by lia; apply Z.eqb_eq; exact (H 0%nat i ltac:(lia) Hi).
  - destruct (diagonal_spec rows 0) as [DL DN].
    rewrite (forallb_nth _ _ 0), DL, HL; split; intros H i Hi; specialize (H i Hi).
    + rewrite DN in H by lia; apply Z.leb_le in H; exact H.
    + rewrite DN by lia; apply Z.leb_le; exact H.
  - apply mirrored_spec; assumption.
Qed.
