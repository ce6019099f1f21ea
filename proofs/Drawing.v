(** * Drawing again until a word decides

    A draw reads words, all equally likely, until one decides. Of all strings of [L] words, an outcome has as many as its
    share of the words that decide, exactly, and the undecided strings are the fraction r^L, r being that of the words that
    decide nothing. [decide] may be any function of a word: an alias table, or another. *)

From Coq Require Import ZArith List Lia.
Import ListNotations.
Local Open Scope Z_scope.

Section Drawing.
Variables (word : Type) (words : list word) (decide : word -> option nat).

Definition number {A} (p : A -> bool) (l : list A) : Z := Z.of_nat (length (filter p l)).

(** All strings of [L] words, and the outcome of a string: that of its first word that decides. *)
Fixpoint strings (L : nat) : list (list word) :=
  match L with O => [[]] | S L' => flat_map (fun w => map (cons w) (strings L')) words end.

Fixpoint outcome (s : list word) : option nat :=
  match s with
  | [] => None
  | w :: rest => match decide w with Some y => Some y | None => outcome rest end
  end.

Definition is (o o' : option nat) : bool :=
  match o, o' with Some x, Some y => Nat.eqb x y | None, None => true | _, _ => false end.

(** How many words, and how many strings, have an outcome; [None]: none. *)
Definition share (o : option nat) : Z := number (fun w => is o (decide w)) words.
Definition strings_of (o : option nat) (L : nat) : Z := number (fun s => is o (outcome s)) (strings L).

Lemma number_app {A} (p : A -> bool) l l' : number p (l ++ l') = number p l + number p l'.
Proof. unfold number; rewrite filter_app, app_length; lia. Qed.

Lemma number_cons {A} (p : A -> bool) x l : number p (x :: l) = (if p x then 1 else 0) + number p l.
Proof. unfold number; simpl; destruct (p x); simpl length; lia. Qed.

Lemma number_map {A B} (f : A -> B) p l : number p (map f l) = number (fun x => p (f x)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. simpl map; rewrite !number_cons, IH; reflexivity. Qed.

Lemma number_const {A} (b : bool) (l : list A) : number (fun _ => b) l = if b then Z.of_nat (length l) else 0.
Proof.
  induction l as [|x l IH]; [destruct b; reflexivity|]. rewrite number_cons, IH; destruct b; simpl length; lia.
Qed.

Lemma strings_length L : Z.of_nat (length (strings L)) = Z.of_nat (length words) ^ Z.of_nat L.
Proof.
  induction L as [|L IH]; [reflexivity|].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r, <- IH by lia; simpl.
  clear IH; generalize (strings L); intros l; induction words as [|w ws IHw]; [reflexivity|].
  simpl flat_map; rewrite app_length, map_length; simpl length; rewrite Nat2Z.inj_add, IHw, Nat2Z.inj_succ; unfold Z.succ; ring.
Qed.

(** A string begins with a word that decides, or with one that leaves it to the rest. *)
Lemma strings_step o L :
  strings_of o (S L) = share (match o with Some y => Some y | None => None end) *
    (match o with Some _ => Z.of_nat (length words) ^ Z.of_nat L | None => 0 end) + share None * strings_of o L.
Proof.
  unfold strings_of, share; rewrite <- strings_length; simpl strings.
  generalize (strings L); intros l.
  induction words as [|w ws IH]; [unfold number; simpl; lia|].
  simpl flat_map; rewrite number_app, IH, number_map, !number_cons; clear IH.
  destruct (decide w) as [y|] eqn:E.
  - assert (X : number (fun s => is o (outcome (w :: s))) l = if is o (Some y) then Z.of_nat (length l) else 0).
    { rewrite <- number_const; unfold number; do 2 f_equal; apply filter_ext; intros s; simpl; rewrite E; reflexivity. }
    rewrite X; destruct o as [x|]; cbn [is]; [destruct (Nat.eqb x y); ring|ring].
  - assert (X : number (fun s => is o (outcome (w :: s))) l = number (fun s => is o (outcome s)) l).
    { unfold number; do 2 f_equal; apply filter_ext; intros s; simpl; rewrite E; reflexivity. }
    rewrite X; destruct o as [x|]; cbn [is]; ring.
Qed.

(** Theorem 4.1: outcomes are in the proportion of their words, whatever the length. *)
Theorem drawing_proportional y y' L :
  strings_of (Some y) L * share (Some y') = strings_of (Some y') L * share (Some y).
Proof.
  induction L as [|L IH]; [reflexivity|].
  rewrite !strings_step; rewrite !Z.mul_add_distr_r, <- !Z.mul_assoc, IH; ring.
Qed.

(** So with shares that are one multiple of the weights, outcomes are in the proportion of the weights. *)
Corollary drawing_exact weight k y y' L : 0 < k -> (forall z, share (Some z) = k * weight z) ->
  strings_of (Some y) L * weight y' = strings_of (Some y') L * weight y.
Proof.
  intros Hk H; assert (E := drawing_proportional y y' L); rewrite !H in E. nia.
Qed.

(** Theorem 4.2: undecided are the strings of undecided words alone. *)
Theorem drawing_undecided L : strings_of None L = share None ^ Z.of_nat L.
Proof.
  induction L as [|L IH]; [reflexivity|].
  rewrite strings_step, IH, Nat2Z.inj_succ, Z.pow_succ_r by lia; ring.
Qed.
End Drawing.
