(** * Kept or drawn

    The true value is kept with a probability, else another channel draws the report. In integers: the other channel has the
    weights [drawn i j] over [T], and value [i] is kept with probability [kept i / c], which may differ between values (a step
    of a cascade keeps the ends more often). The mixture has the weights [mixture_weight] over [c T].

    Its level between two values is read off one report, the one that may be kept, wherever the other channel's ratio is
    smallest there too. Noise that falls by a factor with every step is such a channel. *)

From Coq Require Import ZArith List Lia.
From Discreet Require Import Privacy Families.
Import ListNotations.
Local Open Scope Z_scope.

Section Mixture.
Variables (T c : Z) (m : nat) (kept : nat -> Z) (drawn : nat -> nat -> Z).

Definition mixture_weight (i j : nat) : Z := (if Nat.eqb i j then kept i * T else 0) + (c - kept i) * drawn i j.

Definition mixture : list row := written mixture_weight m m.

Hypothesis T0 : 0 < T.
Hypothesis kept_share : forall i, (i < m)%nat -> 0 <= kept i < c.
Hypothesis drawn_nonneg : forall i j, (i < m)%nat -> (j < m)%nat -> 0 <= drawn i j.

Lemma series_one f i x k : series (fun j => (if Nat.eqb i j then x else 0) + f j) k = (if Nat.ltb i k then x else 0) + series f k.
Proof.
  induction k as [|k IH]; [reflexivity|]. cbn [series]; rewrite IH.
  destruct (Nat.eqb_spec i k), (Nat.ltb_spec i k), (Nat.ltb_spec i (S k)); lia.
Qed.

Lemma series_times x f k : series (fun j => x * f j) k = x * series f k.
Proof. induction k as [|k IH]; cbn [series]; [ring|rewrite IH; ring]. Qed.

(** Theorem 2.11: the mixture is a table with the total c T. *)
Theorem mixture_table : (1 <= m)%nat -> (forall i, (i < m)%nat -> series (drawn i) m = T) -> table (c * T) m mixture.
Proof.
  intros Hm Hs; apply written_table.
  - specialize (kept_share 0%nat ltac:(lia)); nia.
  - intros i j Hi Hj; unfold mixture_weight.
    specialize (kept_share i Hi); specialize (drawn_nonneg i j Hi Hj); destruct (Nat.eqb i j); nia.
  - intros i Hi; unfold mixture_weight.
    rewrite (series_one (fun j => (c - kept i) * drawn i j)), series_times, (Hs i Hi).
    destruct (Nat.ltb_spec i m); [ring|lia].
Qed.

(** Theorem 2.12: take two true values [i] and [k], and let the ratio of the other channel between them be smallest at the report [i]:
    [drawn k i / drawn i i <= drawn k j / drawn i j] for every [j], multiplied out. If the mixture keeps a/b at the report [i], it keeps a/b
    at every report. *)
Theorem mixture_at_kept a b i k :
  0 <= a -> 0 <= b -> (i < m)%nat -> (k < m)%nat -> i <> k -> 0 < drawn i i ->
  (forall j, (j < m)%nat -> drawn k i * drawn i j <= drawn k j * drawn i i) ->
  a * mixture_weight i i <= b * mixture_weight k i ->
  forall j, (j < m)%nat -> a * mixture_weight i j <= b * mixture_weight k j.
Proof.
  intros Ha Hb Hi Hk ne pos least H j Hj.
  destruct (Nat.eq_dec i j) as [<-|nj]; [exact H|].
  unfold mixture_weight in *; rewrite Nat.eqb_refl in H.
  destruct (Nat.eqb_spec k i) as [e|_]; [congruence|]; destruct (Nat.eqb_spec i j) as [e|_]; [congruence|].
  assert (Ki := kept_share i Hi); assert (Kk := kept_share k Hk); specialize (least j Hj).
  assert (Dij := drawn_nonneg i j Hi Hj); assert (Dkj := drawn_nonneg k j Hk Hj).
  assert (main : a * ((c - kept i) * drawn i j) <= b * ((c - kept k) * drawn k j)).
  { assert (H' : a * (c - kept i) * drawn i i <= b * (c - kept k) * drawn k i).
    { assert (0 <= a * (kept i * T)) by (apply Z.mul_nonneg_nonneg; [lia|apply Z.mul_nonneg_nonneg; lia]). lia. }
    apply (Zmult_le_reg_r _ _ (drawn i i)); [lia|].
    assert (S1 : a * (c - kept i) * drawn i i * drawn i j <= b * (c - kept k) * drawn k i * drawn i j)
      by (apply Z.mul_le_mono_nonneg_r; assumption).
    assert (S2 : b * (c - kept k) * (drawn k i * drawn i j) <= b * (c - kept k) * (drawn k j * drawn i i))
      by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; lia|assumption]).
    lia. }
  assert (0 <= (if Nat.eqb k j then kept k * T else 0)) by (destruct (Nat.eqb k j); [apply Z.mul_nonneg_nonneg; lia|lia]).
  assert (0 <= b * (if Nat.eqb k j then kept k * T else 0)) by (apply Z.mul_nonneg_nonneg; assumption).
  lia.
Qed.

(** Theorem 2.13: so a mixture that keeps a/b at the reports that may be kept, for neighbours both ways, is private. *)
Theorem mixture_private a b (N : relation) :
  0 <= a <= b -> (forall i, (i < m)%nat -> 0 < drawn i i) ->
  (forall i k j, N i k -> (i < m)%nat -> (k < m)%nat -> (j < m)%nat -> drawn k i * drawn i j <= drawn k j * drawn i i) ->
  (forall i k, N i k -> i <> k -> (i < m)%nat -> (k < m)%nat -> a * mixture_weight i i <= b * mixture_weight k i) ->
  private a b N mixture.
Proof.
  intros Hab pos least H; apply written_private; intros i k j HN Hi Hk Hj.
  destruct (Nat.eq_dec i k) as [<-|ne].
  - assert (0 <= mixture_weight i j).
    { unfold mixture_weight; specialize (kept_share i Hi); specialize (drawn_nonneg i j Hi Hj); destruct (Nat.eqb i j); nia. }
    nia.
  - apply mixture_at_kept; auto; lia.
Qed.
End Mixture.

(** Theorem 2.14: kept, or else geometric noise of level p/q on 0..n: its level is the one at the reports that may be kept, for
    neighbours of every kind and for any chances of being kept. *)
Theorem geometric_mixture_private p q n c kept a b (N : relation) :
  0 < p < q -> 0 <= a <= b -> (forall i, (i <= n)%nat -> 0 <= kept i < c) ->
  let weight := mixture_weight (geometric_total p q n) c kept (geometric_weight p q n) in
  (forall i k, N i k -> i <> k -> (i <= n)%nat -> (k <= n)%nat -> a * weight i i <= b * weight k i) ->
  private a b N (mixture (geometric_total p q n) c (S n) kept (geometric_weight p q n)).
Proof.
  intros Hpq Hab Hkept weight H.
  assert (qn : 0 < q ^ Z.of_nat n) by (apply Z.pow_pos_nonneg; lia).
  assert (pos : forall i j, 0 < geometric_weight p q n i j).
  { intros i j; unfold geometric_weight; assert (0 < power p q n (apart i j)) by (apply power_pos; lia).
    destruct (Nat.eqb j 0 || Nat.eqb j n)%bool; nia. }
  apply mixture_private; [unfold geometric_total; nia|intros; apply Hkept; lia|intros; apply Z.lt_le_incl, pos|assumption|intros; apply pos| |].
  - intros i k j _ Hi Hk Hj; unfold geometric_weight.
    set (w := if (Nat.eqb j 0 || Nat.eqb j n)%bool then q else q - p).
    set (v := if (Nat.eqb i 0 || Nat.eqb i n)%bool then q else q - p).
    assert (0 <= w) by (unfold w; destruct (Nat.eqb j 0 || Nat.eqb j n)%bool; lia).
    assert (0 <= v) by (unfold v; destruct (Nat.eqb i 0 || Nat.eqb i n)%bool; lia).
    assert (E := power_close p q n (apart k i) (apart i j) (apart k j) ltac:(lia)
      ltac:(unfold apart; lia) ltac:(unfold apart; lia) ltac:(unfold apart; lia)).
    replace (apart i i) with 0%nat by (unfold apart; lia); rewrite power_0.
    assert (S : power p q n (apart k i) * power p q n (apart i j) <= power p q n (apart k j) * q ^ Z.of_nat n).
    { unfold power at 1.
      assert (D : q ^ Z.of_nat n = q ^ Z.of_nat (apart k i) * q ^ Z.of_nat (n - apart k i))
        by (rewrite <- Z.pow_add_r by lia; f_equal; unfold apart; lia).
      assert (0 <= q ^ Z.of_nat (n - apart k i)) by (apply Z.pow_nonneg; lia).
      rewrite D. apply (Z.mul_le_mono_nonneg_r _ _ (q ^ Z.of_nat (n - apart k i))) in E; [|assumption]. lia. }
    assert (0 <= v * w) by (apply Z.mul_nonneg_nonneg; assumption).
    apply (Z.mul_le_mono_nonneg_l _ _ (v * w)) in S; [|assumption]. lia.
  - intros i k HN ne Hi Hk; apply H; auto; lia.
Qed.
