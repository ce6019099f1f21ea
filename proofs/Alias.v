(** * Alias tables

    A row of integer weights is spread over cells of equal size, each of which belongs to at most two outcomes (Vose's method, in
    integers: [alias_row] of src/discreet/randomness/alias.py, step by step). A word picks a cell by its remainder, and within the
    cell its own outcome if it is below a threshold, else the other. Proved: every outcome owns exactly as many words as its weight
    says, times one number for all; so what [Drawing] says of words that are drawn until one decides holds of the weights. *)

From Coq Require Import ZArith List Bool Permutation Lia.
From Discreet Require Import Privacy Families Drawing.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Vose's method *)

(** A cell, how much of it belongs to the outcome of its own number, and whose the rest is. *)
Record cell := Cell { place : nat; kept : Z; other : nat }.

Definition full (x : nat * Z) : cell := Cell (fst x) (snd x) (fst x).

(** Outcomes with less than a cell and with more than one are on two stacks; the last rich one fills the last poor one's cell. *)
Fixpoint vose (fuel : nat) (size : Z) (small large : list (nat * Z)) (done : list cell) : list cell :=
  match small, large, fuel with
  | (poor, x) :: small', (rich, y) :: large', S fuel' =>
      let rest := y - (size - x) in
      let done' := Cell poor x rich :: done in
      if rest <? size then vose fuel' size ((rich, rest) :: small') large' done'
      else if rest =? size then vose fuel' size small' large' (full (rich, rest) :: done')
      else vose fuel' size small' ((rich, rest) :: large') done'
  | _, _, _ => done ++ map full small ++ map full large
  end.

Definition padded (weights : list Z) (cells : nat) : list (nat * Z) :=
  combine (seq 0 cells) (weights ++ repeat 0 (cells - length weights)).

Definition alias_row (weights : list Z) (cells : nat) : list cell :=
  let size := sum weights / Z.of_nat cells in
  let all := padded weights cells in
  let small := rev (filter (fun x => snd x <? size) all) in
  let large := rev (filter (fun x => size <? snd x) all) in
  vose (length small + length large) size small large (map full (filter (fun x => snd x =? size) all)).

(** ** What each outcome gets *)

Definition total {A} (f : A -> Z) (l : list A) : Z := sum (map f l).

Definition if_same (y c : nat) (z : Z) : Z := if Nat.eqb c y then z else 0.

(** What a cell gives to outcome [y]. *)
Definition gives (size : Z) (y : nat) (c : cell) : Z :=
  if_same y (place c) (kept c) + if_same y (other c) (size - kept c).

Lemma total_cons {A} (f : A -> Z) x l : total f (x :: l) = f x + total f l.
Proof. reflexivity. Qed.

Lemma total_app {A} (f : A -> Z) l l' : total f (l ++ l') = total f l + total f l'.
Proof. induction l as [|x l IH]; [reflexivity|]. simpl app; rewrite !total_cons, IH; ring. Qed.

Lemma total_map {A B} (f : B -> Z) (g : A -> B) l : total f (map g l) = total (fun x => f (g x)) l.
Proof. unfold total; rewrite map_map; reflexivity. Qed.

Lemma total_ext {A} (f g : A -> Z) l : (forall x, In x l -> f x = g x) -> total f l = total g l.
Proof. intros H; unfold total; rewrite (map_ext_in f g l H); reflexivity. Qed.

Lemma total_permutation {A} (f : A -> Z) l l' : Permutation l l' -> total f l = total f l'.
Proof. intros H; induction H; rewrite ?total_cons; lia. Qed.

Lemma total_filter {A} (f : A -> Z) p l :
  total f (filter p l) + total f (filter (fun x => negb (p x)) l) = total f l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. simpl filter; rewrite total_cons; destruct (p x); simpl; rewrite total_cons; lia.
Qed.

Definition weight_of (y : nat) (x : nat * Z) : Z := if_same y (fst x) (snd x).

(** How the stacks stand: what the small ones lack is what the large ones have too much. *)
Definition poised (size : Z) (small large : list (nat * Z)) : Prop :=
  Forall (fun x => 0 <= snd x < size) small /\ Forall (fun x => size < snd x) large /\
  total (fun x => size - snd x) small = total (fun x => snd x - size) large.

Lemma lack_pos size l : Forall (fun x : nat * Z => 0 <= snd x < size) l -> 0 <= total (fun x => size - snd x) l.
Proof. intros H; induction H as [|x l Hx _ IH]; [reflexivity|]. rewrite total_cons; lia. Qed.

Lemma excess_pos size l : Forall (fun x : nat * Z => size < snd x) l -> 0 <= total (fun x => snd x - size) l.
Proof. intros H; induction H as [|x l Hx _ IH]; [reflexivity|]. rewrite total_cons; lia. Qed.

Ltac counted := apply (Permutation_count_occ Nat.eq_dec); intros ?; simpl; rewrite ?count_occ_app; simpl; rewrite ?count_occ_app; simpl;
  repeat match goal with |- context [Nat.eq_dec ?u ?v] => destruct (Nat.eq_dec u v) end; lia.

(** The loop never stands still, gives away nothing and takes nothing, and every cell stays one cell. *)
Lemma vose_sound size : forall fuel small large done,
  poised size small large -> (length small + length large <= fuel)%nat ->
  Forall (fun c => 0 <= kept c <= size) done ->
  let result := vose fuel size small large done in
  Forall (fun c => 0 <= kept c <= size) result /\
  (forall y, total (gives size y) result = total (gives size y) done + total (weight_of y) small + total (weight_of y) large) /\
  Permutation (map place result) (map place done ++ map fst small ++ map fst large).
Proof.
  induction fuel as [|fuel IH]; intros small large done (Hs & Hl & Heq) Hf Hd.
  - destruct small; [|simpl in Hf; lia]. destruct large; [|simpl in Hf; lia].
    cbv zeta; simpl; rewrite !app_nil_r; unfold total; simpl; repeat split; auto; intros; lia.
  - destruct small as [|[poor x] small].
    + assert (E : large = []).
      { destruct large as [|r large]; [reflexivity|exfalso]. inversion Hl as [|? ? Hr Hl']; subst.
        unfold total in Heq at 1; simpl in Heq; rewrite total_cons in Heq. generalize (excess_pos size large Hl'); lia. }
      subst; cbv zeta; simpl; rewrite !app_nil_r; unfold total; simpl; repeat split; auto; intros; lia.
    + inversion Hs as [|? ? Hx Hs']; subst; simpl in Hx. rewrite total_cons in Heq; simpl in Heq.
      destruct large as [|[rich y] large].
      { exfalso; generalize (lack_pos size small Hs'); unfold total at 2 in Heq; simpl in Heq; lia. }
      inversion Hl as [|? ? Hy Hl']; subst; simpl in Hy. rewrite total_cons in Heq; simpl in Heq.
      cbv zeta; cbn [vose]; set (rest := y - (size - x)). simpl in Hf.
      destruct (Z.ltb_spec rest size); [|destruct (Z.eqb_spec rest size)].
      * destruct (IH ((rich, rest) :: small) large (Cell poor x rich :: done)) as (A & B & C).
        { split; [constructor; [simpl; unfold rest in *; lia|assumption]|]. split; [assumption|].
          rewrite total_cons; simpl; unfold rest; lia. }
        { simpl; lia. }
        { constructor; [simpl; lia|assumption]. }
        split; [exact A|]. split.
        -- intros z; rewrite B, !total_cons; unfold gives, weight_of, if_same, rest; simpl.
           destruct (Nat.eqb poor z), (Nat.eqb rich z); lia.
        -- rewrite C; counted.
      * destruct (IH small large (full (rich, rest) :: Cell poor x rich :: done)) as (A & B & C).
        { split; [assumption|]. split; [assumption|]. unfold rest in *; lia. }
        { simpl; lia. }
        { constructor; [simpl; lia|constructor; [simpl; lia|assumption]]. }
        split; [exact A|]. split.
        -- intros z; rewrite B, !total_cons; unfold gives, weight_of, if_same, full; simpl.
           destruct (Nat.eqb poor z), (Nat.eqb rich z); unfold rest in *; lia.
        -- rewrite C; counted.
      * destruct (IH small ((rich, rest) :: large) (Cell poor x rich :: done)) as (A & B & C).
        { split; [assumption|]. split; [constructor; [simpl; lia|assumption]|].
          rewrite total_cons; simpl; unfold rest; lia. }
        { simpl; lia. }
        { constructor; [simpl; lia|assumption]. }
        split; [exact A|]. split.
        -- intros z; rewrite B, !total_cons; unfold gives, weight_of, if_same, rest; simpl.
           destruct (Nat.eqb poor z), (Nat.eqb rich z); lia.
        -- rewrite C; counted.
Qed.

(** ** Words *)

(** The cell of a number. *)
Definition cell_at (table : list cell) (c : nat) : cell :=
  match find (fun x => Nat.eqb (place x) c) table with Some x => x | None => Cell c 0 c end.

(** What a word decides: below the limit [multiple * T] its remainder is a cell; there a word below the threshold takes the own
    outcome, else the other. A full cell has the threshold 0, and its own outcome is the other too. *)
Definition decides (table : list cell) (cells : nat) (multiple limit : Z) (w : nat) : option nat :=
  if Z.of_nat w <? limit then
    let c := cell_at table (w mod cells) in
    let threshold := if Nat.eqb (place c) (other c) then 0 else kept c * (multiple * Z.of_nat cells) in
    Some (if Z.of_nat w <? threshold then place c else other c)
  else None.

Definition indicator (b : bool) : Z := if b then 1 else 0.

Lemma number_series p n : number p (seq 0 n) = series (fun w => indicator (p w)) n.
Proof.
  induction n as [|n IH]; [reflexivity|].
  rewrite seq_S, number_app, IH, number_cons; unfold number at 1; simpl; unfold indicator; destruct (p n); lia.
Qed.

Lemma series_blocks f K n : series f (K * n) = series (fun k => series (fun c => f (k * n + c)%nat) n) K.
Proof.
  induction K as [|K IH]; [reflexivity|]. replace (S K * n)%nat with (K * n + n)%nat by lia.
  rewrite series_split, IH; reflexivity.
Qed.

Lemma series_add f g n : series (fun k => f k + g k) n = series f n + series g n.
Proof. induction n as [|n IH]; simpl; [reflexivity|rewrite IH; ring]. Qed.

Lemma series_zero n : series (fun _ => 0) n = 0.
Proof. induction n as [|n IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.

Lemma series_exchange f n K : series (fun k => series (f k) n) K = series (fun c => series (fun k => f k c) K) n.
Proof.
  induction K as [|K IH]; simpl; [rewrite series_zero; reflexivity|]. rewrite IH, <- series_add; reflexivity.
Qed.

Lemma series_total f n : series f n = total f (seq 0 n).
Proof. unfold total; rewrite series_sum; reflexivity. Qed.

Lemma series_step t a b : forall K, 0 <= t <= Z.of_nat K ->
  series (fun k => if Z.of_nat k <? t then a else b) K = t * a + (Z.of_nat K - t) * b.
Proof.
  assert (all : forall K, Z.of_nat K <= t -> series (fun k => if Z.of_nat k <? t then a else b) K = Z.of_nat K * a).
  { induction K as [|K IH]; intros H; [reflexivity|]. change (series (fun k => if Z.of_nat k <? t then a else b) (S K))
      with (series (fun k => if Z.of_nat k <? t then a else b) K + (if Z.of_nat K <? t then a else b)).
    rewrite IH by lia. destruct (Z.ltb_spec (Z.of_nat K) t); lia. }
  induction K as [|K IH]; intros H; [assert (E : t = 0) by (simpl in H; lia); rewrite E; reflexivity|].
  destruct (Z.eq_dec t (Z.of_nat (S K))) as [->|ne]; [rewrite all by lia; lia|].
  change (series (fun k => if Z.of_nat k <? t then a else b) (S K))
      with (series (fun k => if Z.of_nat k <? t then a else b) K + (if Z.of_nat K <? t then a else b)).
  rewrite IH by lia. destruct (Z.ltb_spec (Z.of_nat K) t); lia.
Qed.

Lemma cell_at_spec table c : NoDup (map place table) -> In c table -> cell_at table (place c) = c.
Proof.
  unfold cell_at; induction table as [|x table IH]; intros N H; [contradiction|]; simpl in *.
  inversion N as [|? ? no N']; subst. destruct (Nat.eqb_spec (place x) (place c)) as [e|ne].
  - destruct H as [H|H]; [exact H|]. exfalso; apply no; rewrite e; apply in_map; exact H.
  - destruct H as [H|H]; [congruence|]. apply IH; assumption.
Qed.

(** Theorem 4.3: of the words of a table of cells an outcome owns as many as the cells give to it, times one number for all. *)
Theorem words_of_cells table cells size multiple words y :
  (0 < cells)%nat -> 0 <= multiple -> Permutation (map place table) (seq 0 cells) ->
  Forall (fun c => 0 <= kept c <= size) table -> multiple * (size * Z.of_nat cells) <= Z.of_nat words ->
  share nat (seq 0 words) (decides table cells multiple (multiple * (size * Z.of_nat cells))) (Some y)
  = multiple * total (gives size y) table.
Proof.
  intros Hc Hm Hp Hk Hw.
  destruct table as [|first rest] eqn:Et; [apply Permutation_sym, Permutation_nil_cons in Hp || (simpl in Hp; apply Permutation_length in Hp; rewrite seq_length in Hp; simpl in Hp; lia)|].
  rewrite <- Et in *; clear Et.
  assert (S0 : 0 <= size) by (destruct table; [apply Permutation_length in Hp; rewrite seq_length in Hp; simpl in Hp; lia|inversion Hk; subst; lia]).
  assert (ND : NoDup (map place table)) by (apply (Permutation_NoDup (Permutation_sym Hp)), seq_NoDup).
  set (limit := multiple * (size * Z.of_nat cells)) in *.
  set (K := Z.to_nat (multiple * size)).
  assert (HK : Z.of_nat K = multiple * size) by (unfold K; rewrite Z2Nat.id; nia).
  assert (HL : limit = Z.of_nat (K * cells)) by (unfold limit; rewrite Nat2Z.inj_mul, HK; ring).
  unfold share; rewrite number_series.
  replace words with (K * cells + (words - K * cells))%nat by lia.
  rewrite series_split, (series_ext (fun t => _) (fun _ => 0) (words - K * cells)), series_zero, Z.add_0_r.
  2: { intros t _; unfold decides; destruct (Z.ltb_spec (Z.of_nat (K * cells + t)) limit); [lia|reflexivity]. }
  rewrite series_blocks, series_exchange, series_total.
  rewrite <- (total_permutation _ _ _ Hp), total_map.
  rewrite (total_ext _ (fun c => multiple * gives size y c)).
  - clear; induction table as [|c table IH]; [unfold total; simpl; lia|]. rewrite !total_cons, IH; ring.
  - intros c Hin; rewrite Forall_forall in Hk; specialize (Hk c Hin).
    assert (Hpc : (place c < cells)%nat).
    { assert (I : In (place c) (seq 0 cells)) by (apply (Permutation_in _ Hp), in_map, Hin). apply in_seq in I; lia. }
    rewrite (series_ext _ (fun k => if Z.of_nat k <? kept c * multiple
        then indicator (Nat.eqb y (place c)) else indicator (Nat.eqb y (other c)))).
    + rewrite series_step by nia. rewrite HK; unfold gives, if_same, indicator.
      rewrite (Nat.eqb_sym (place c)), (Nat.eqb_sym (other c)).
      destruct (Nat.eqb y (place c)), (Nat.eqb y (other c)); ring.
    + intros k Hk'; unfold decides.
      assert (B : Z.of_nat (k * cells + place c) < limit) by (rewrite HL; apply inj_lt; nia).
      destruct (Z.ltb_spec (Z.of_nat (k * cells + place c)) limit); [|lia].
      replace ((k * cells + place c) mod cells)%nat with (place c)
        by (rewrite Nat.add_comm, Nat.mod_add by lia; symmetry; apply Nat.mod_small; exact Hpc).
      rewrite (cell_at_spec table c ND Hin); simpl is.
      destruct (Nat.eqb_spec (place c) (other c)) as [e|ne].
      * rewrite <- e. destruct (_ <? 0), (_ <? kept c * multiple); reflexivity.
      * assert (X : (Z.of_nat (k * cells + place c) <? kept c * (multiple * Z.of_nat cells)) = (Z.of_nat k <? kept c * multiple)).
        { rewrite Nat2Z.inj_add, Nat2Z.inj_mul.
          destruct (Z.ltb_spec (Z.of_nat k) (kept c * multiple)) as [l|l]; [apply Z.ltb_lt|apply Z.ltb_ge]; nia. }
        rewrite X; destruct (Z.of_nat k <? kept c * multiple); reflexivity.
Qed.

(** ** The table of a row of weights *)

Lemma padded_spec weights cells : (length weights <= cells)%nat ->
  map fst (padded weights cells) = seq 0 cells /\ map snd (padded weights cells) = weights ++ repeat 0 (cells - length weights).
Proof.
  intros H; unfold padded.
  assert (L : length (seq 0 cells) = length (weights ++ repeat 0 (cells - length weights)))
    by (rewrite seq_length, app_length, repeat_length; lia).
  revert L; generalize (seq 0 cells) (weights ++ repeat 0 (cells - length weights)).
  induction l as [|x l IH]; intros [|y r] L; simpl in *; try discriminate; [auto|].
  destruct (IH r ltac:(lia)) as [A B]; rewrite A, B; auto.
Qed.

Lemma padded_weight weights cells y : (length weights <= cells)%nat ->
  total (weight_of y) (padded weights cells) = nth y weights 0.
Proof.
  intros H; unfold padded.
  assert (main : forall start l, total (weight_of y) (combine (seq start (length l)) l) = if Nat.leb start y then nth (y - start) l 0 else 0).
  { intros start l; revert start; induction l as [|x l IH]; intros start; cbn [length seq combine].
    - unfold total; simpl. destruct (Nat.leb start y), (y - start)%nat; reflexivity.
    - rewrite total_cons, IH; unfold weight_of, if_same; cbn [fst snd].
      destruct (Nat.eqb_spec start y) as [->|ne].
      + rewrite Nat.leb_refl, Nat.sub_diag. destruct (Nat.leb_spec (S y) y); [lia|]. cbn [nth]; lia.
      + destruct (Nat.leb_spec start y), (Nat.leb_spec (S start) y); try lia.
        replace (y - start)%nat with (S (y - S start)) by lia. cbn [nth]; lia. }
  specialize (main 0%nat (weights ++ repeat 0 (cells - length weights))).
  replace (length (weights ++ repeat 0 (cells - length weights))) with cells in main by (rewrite app_length, repeat_length; lia).
  rewrite main; simpl; rewrite Nat.sub_0_r.
  destruct (Nat.lt_ge_cases y (length weights)) as [l|l]; [apply app_nth1; exact l|].
  rewrite app_nth2 by exact l; rewrite (nth_overflow weights) by exact l; apply nth_repeat.
Qed.

Lemma total_rev {A} (f : A -> Z) l : total f (rev l) = total f l.
Proof. apply total_permutation, Permutation_sym, Permutation_rev. Qed.

(** Splitting by less, equal and more loses nothing. *)
Lemma three_ways {A} (f : A -> Z) (size : Z) (w : A -> Z) l :
  total f (filter (fun x => w x =? size) l) + total f (filter (fun x => w x <? size) l) + total f (filter (fun x => size <? w x) l)
  = total f l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. simpl filter; rewrite (total_cons f x l).
  destruct (Z.eqb_spec (w x) size), (Z.ltb_spec (w x) size), (Z.ltb_spec size (w x)); rewrite ?total_cons; lia.
Qed.

Lemma three_places size (l : list (nat * Z)) :
  Permutation (map fst (filter (fun x => snd x =? size) l) ++ map fst (rev (filter (fun x => snd x <? size) l)) ++
               map fst (rev (filter (fun x => size <? snd x) l))) (map fst l).
Proof.
  rewrite !map_rev, <- !Permutation_rev.
  induction l as [|[c w] l IH]; [reflexivity|]. simpl.
  destruct (Z.eqb_spec w size), (Z.ltb_spec w size), (Z.ltb_spec size w); simpl; try lia; rewrite <- IH.
  - reflexivity.
  - rewrite <- Permutation_middle; reflexivity.
  - counted.
Qed.

(** Theorem 4.4: the table that is made has every cell once, no cell is over full, and gives each outcome its weight. *)
Theorem alias_row_sound weights cells : Forall (Z.le 0) weights -> (0 < cells)%nat -> (length weights <= cells)%nat ->
  sum weights mod Z.of_nat cells = 0 -> 0 < sum weights ->
  let size := sum weights / Z.of_nat cells in
  let table := alias_row weights cells in
  Permutation (map place table) (seq 0 cells) /\ Forall (fun c => 0 <= kept c <= size) table /\
  forall y, total (gives size y) table = nth y weights 0.
Proof.
  intros Hw Hc Hl Hmod Hpos; cbv zeta; unfold alias_row; set (size := sum weights / Z.of_nat cells).
  assert (Hsize : sum weights = size * Z.of_nat cells) by (unfold size; generalize (Z.div_mod (sum weights) (Z.of_nat cells)); lia).
  assert (S0 : 0 <= size) by nia.
  destruct (padded_spec weights cells Hl) as [P1 P2].
  assert (nn : Forall (fun x => 0 <= snd x) (padded weights cells)).
  { apply Forall_forall; intros x Hx; apply (in_map snd) in Hx; rewrite P2 in Hx; apply in_app_iff in Hx; destruct Hx as [Hx|Hx].
    - rewrite Forall_forall in Hw; apply Hw; exact Hx.
    - apply repeat_spec in Hx; lia. }
  assert (sums : total (fun x => snd x - size) (padded weights cells) = 0).
  { assert (E : total (fun x : nat * Z => snd x - size) (padded weights cells) = sum (map snd (padded weights cells)) - size * Z.of_nat (length (padded weights cells))).
    { clear; induction (padded weights cells) as [|x l IH]; [unfold total; simpl; lia|].
      rewrite total_cons, IH; simpl map; simpl sum; simpl length; lia. }
    rewrite E, P2; clear E.
    assert (Z0 : forall l n, sum (l ++ repeat 0 n) = sum l).
    { intros l n; induction l as [|x l IH]; simpl; [induction n; simpl; lia|]. rewrite IH; reflexivity. }
    rewrite Z0. assert (L : length (padded weights cells) = cells) by (rewrite <- (map_length fst), P1, seq_length; reflexivity).
    rewrite L; lia. }
  set (small := filter (fun x => snd x <? size) (padded weights cells)).
  set (large := filter (fun x => size <? snd x) (padded weights cells)).
  set (even := filter (fun x => snd x =? size) (padded weights cells)).
  assert (poise : poised size (rev small) (rev large)).
  { split; [|split].
    - apply Forall_rev, Forall_forall; intros x Hx; unfold small in Hx; apply filter_In in Hx; destruct Hx as [Hx H].
      rewrite Forall_forall in nn; specialize (nn x Hx); apply Z.ltb_lt in H; lia.
    - apply Forall_rev, Forall_forall; intros x Hx; unfold large in Hx; apply filter_In in Hx; apply Z.ltb_lt; tauto.
    - rewrite !total_rev. generalize (three_ways (fun x : nat * Z => snd x - size) size snd (padded weights cells)).
      fold small large even. rewrite sums.
      assert (E0 : total (fun x : nat * Z => snd x - size) even = 0).
      { unfold even; clear; induction (padded weights cells) as [|x l IH]; [reflexivity|]. simpl.
        destruct (Z.eqb_spec (snd x) size); [rewrite total_cons, IH; lia|exact IH]. }
      assert (E1 : forall l : list (nat * Z), total (fun x => size - snd x) l = - total (fun x => snd x - size) l).
      { induction l as [|x l IH]; [reflexivity|]. rewrite !total_cons, IH; ring. }
      rewrite E0, E1; lia. }
  assert (filled : Forall (fun c => 0 <= kept c <= size) (map full even)).
  { apply Forall_forall; intros c Hx; apply in_map_iff in Hx; destruct Hx as (x & <- & Hx); unfold even in Hx.
    apply filter_In in Hx; destruct Hx as [_ H]; apply Z.eqb_eq in H; unfold full; simpl; lia. }
  destruct (vose_sound size _ _ _ _ poise (Nat.le_refl _) filled) as (A & B & C).
  split; [|split].
  - rewrite C, map_map; simpl. rewrite <- P1. apply three_places.
  - exact A.
  - intros y; rewrite B, !total_rev, total_map.
    rewrite (total_ext (fun x => gives size y (full x)) (weight_of y)).
    + rewrite <- (padded_weight weights cells y Hl). apply three_ways.
    + intros x Hx; unfold even in Hx; apply filter_In in Hx; destruct Hx as [_ H]; apply Z.eqb_eq in H.
      unfold gives, full, weight_of, if_same; simpl; destruct (Nat.eqb (fst x) y); lia.
Qed.

(** ** Drawing from a row of weights *)

Section Row.
Variables (weights : list Z) (cells words : nat).
Hypothesis nonneg : Forall (Z.le 0) weights.
Hypothesis some_cells : (0 < cells)%nat.
Hypothesis fits : (length weights <= cells)%nat.
Hypothesis whole : sum weights mod Z.of_nat cells = 0.
Hypothesis positive : 0 < sum weights.
Hypothesis enough : sum weights <= Z.of_nat words.

(** How many words each unit of weight owns, and what a word decides. *)
Definition multiple : Z := Z.of_nat words / sum weights.
Definition drawn : nat -> option nat := decides (alias_row weights cells) cells multiple (multiple * sum weights).

Lemma multiple_pos : 1 <= multiple.
Proof. unfold multiple; apply Z.div_le_lower_bound; lia. Qed.

Lemma multiple_fits : multiple * sum weights <= Z.of_nat words.
Proof. unfold multiple; rewrite Z.mul_comm; apply Z.mul_div_le; exact positive. Qed.

Lemma row_size : sum weights = sum weights / Z.of_nat cells * Z.of_nat cells.
Proof. generalize (Z.div_mod (sum weights) (Z.of_nat cells)); lia. Qed.

(** Theorem 4.5: every outcome owns its weight times [multiple] of the words. *)
Theorem alias_share y : share nat (seq 0 words) drawn (Some y) = multiple * nth y weights 0.
Proof.
  destruct (alias_row_sound weights cells nonneg some_cells fits whole positive) as (A & B & C).
  unfold drawn. rewrite row_size at 1. rewrite (words_of_cells _ _ _ _ _ y some_cells); [rewrite C; reflexivity| | | |].
  - generalize multiple_pos; lia.
  - exact A.
  - exact B.
  - rewrite <- row_size; apply multiple_fits.
Qed.

(** Theorem 4.6: the words that decide nothing are those that are left, less than half of all. *)
Theorem alias_undecided :
  share nat (seq 0 words) drawn None = Z.of_nat words - multiple * sum weights /\
  2 * share nat (seq 0 words) drawn None < Z.of_nat words.
Proof.
  assert (E : share nat (seq 0 words) drawn None = Z.of_nat words - multiple * sum weights).
  { unfold share; rewrite number_series.
    rewrite (series_ext _ (fun w => if Z.of_nat w <? multiple * sum weights then 0 else 1)).
    - rewrite series_step; [lia|]. generalize multiple_pos, multiple_fits; nia.
    - intros w _; unfold drawn, decides; destruct (_ <? _); reflexivity. }
  split; [exact E|]. rewrite E.
  assert (M := Z.mod_pos_bound (Z.of_nat words) (sum weights) positive).
  assert (D := Z.div_mod (Z.of_nat words) (sum weights) ltac:(lia)); fold multiple in D.
  generalize multiple_pos; nia.
Qed.

(** Theorem 4.7: among all strings of [L] words the outcomes are in the proportion of their weights, exactly; the undecided are
    the fraction r^L, r being that of the undecided words, which is below 1/2. *)
Theorem alias_exact y y' L :
  strings_of nat (seq 0 words) drawn (Some y) L * nth y' weights 0 = strings_of nat (seq 0 words) drawn (Some y') L * nth y weights 0.
Proof. apply (drawing_exact _ _ _ (fun z => nth z weights 0) multiple); [generalize multiple_pos; lia|apply alias_share]. Qed.

Theorem alias_strings_undecided L :
  strings_of nat (seq 0 words) drawn None L = (Z.of_nat words - multiple * sum weights) ^ Z.of_nat L.
Proof. rewrite drawing_undecided; f_equal; apply alias_undecided. Qed.
End Row.

(** An example in numbers: weights 3, 1, 0, 4 over 4 cells, and all 16 words of four bits. *)
Example alias_example : map (drawn [3; 1; 0; 4] 4 16) (seq 0 16)
  = [Some 0; Some 1; Some 3; Some 3; Some 0; Some 1; Some 3; Some 3; Some 0; Some 0; Some 3; Some 3; Some 0; Some 0; Some 3; Some 3]%nat.
Proof. reflexivity. Qed.
