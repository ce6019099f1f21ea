(** * Families

    Three families given by formulas rather than by tables: geometric noise on
    0..n whose ends take what lies beyond them, randomised response, and the explicit
    fair mechanism. Each is a table in the sense of [Privacy] for every n, and
    keeps the level that it claims. *)

From Coq Require Import ZArith List Lia.
From Discreet Require Import Privacy.
Import ListNotations.
Local Open Scope Z_scope.

(** The table with weight [w i j] for report [j] under true value [i]. *)
Definition written (w : nat -> nat -> Z) (rows columns : nat) : list row :=
  map (fun i => map (w i) (seq 0 columns)) (seq 0 rows).

(** ** Sums *)

Fixpoint series (f : nat -> Z) (k : nat) : Z :=
  match k with O => 0 | S k => series f k + f k end.

Lemma series_sum f k : sum (map f (seq 0 k)) = series f k.
Proof.
  unfold sum; induction k as [|k IH]; [reflexivity|].
  rewrite seq_S, map_app, fold_right_app; simpl; rewrite Z.add_0_r, <- IH.
  generalize (f k) (map f (seq 0 k)); intros x l; clear; induction l; simpl; lia.
Qed.

Lemma series_ext f g k : (forall t, (t < k)%nat -> f t = g t) -> series f k = series g k.
Proof. induction k; simpl; intros H; [reflexivity|rewrite IHk, H by auto; reflexivity]. Qed.

Lemma series_split f a b : series f (a + b) = series f a + series (fun t => f (a + t)%nat) b.
Proof.
  induction b as [|b IH]; simpl; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r; simpl; rewrite IH; lia.
Qed.

Lemma series_first f k : series f (S k) = f 0%nat + series (fun t => f (S t)) k.
Proof. induction k as [|k IH]; [simpl; lia|]. simpl in *; rewrite IH; lia. Qed.

Lemma series_reverse f k : series f k = series (fun t => f (k - 1 - t)%nat) k.
Proof.
  induction k as [|k IH]; [reflexivity|].
  rewrite (series_first (fun t => f (S k - 1 - t)%nat) k); simpl series at 1; rewrite IH, Z.add_comm; f_equal.
  - f_equal; lia.
  - apply series_ext; intros t _; f_equal; lia.
Qed.

Lemma written_nth w rows columns i r :
  nth_error (written w rows columns) i = Some r -> (i < rows)%nat /\ r = map (w i) (seq 0 columns).
Proof.
  intros H.
  assert (Hi : (i < rows)%nat).
  { assert (L : (i < length (written w rows columns))%nat)
      by (apply nth_error_Some; rewrite H; discriminate).
    unfold written in L; rewrite map_length, seq_length in L; exact L. }
  unfold written in H.
  split; [exact Hi|].
  rewrite nth_error_map, (nth_error_nth' _ 0%nat), seq_nth in H by (rewrite ?seq_length; exact Hi).
  simpl in H; congruence.
Qed.

Lemma written_table w rows columns T :
  0 < T -> (forall i j, (i < rows)%nat -> (j < columns)%nat -> 0 <= w i j) ->
  (forall i, (i < rows)%nat -> series (w i) columns = T) -> table T columns (written w rows columns).
Proof.
  intros HT Hw Hs; split; [exact HT|].
  apply Forall_forall; intros r Hr; apply In_nth_error in Hr; destruct Hr as [i Hi].
  apply written_nth in Hi; destruct Hi as [Hi ->]; repeat split.
  - rewrite map_length, seq_length; reflexivity.
  - apply Forall_forall; intros x Hx; apply in_map_iff in Hx; destruct Hx as (j & <- & Hj).
    apply in_seq in Hj; apply Hw; lia.
  - rewrite series_sum; auto.
Qed.

Lemma keeps_map a b (f g : nat -> Z) l : (forall j, In j l -> a * f j <= b * g j) -> keeps a b (map f l) (map g l).
Proof.
  intros H; induction l as [|j l IH]; constructor; [apply H; left; reflexivity|].
  apply IH; intros; apply H; right; assumption.
Qed.

Lemma written_private a b (N : relation) w rows columns :
  (forall i k j, N i k -> (i < rows)%nat -> (k < rows)%nat -> (j < columns)%nat -> a * w i j <= b * w k j) ->
  private a b N (written w rows columns).
Proof.
  intros H i k r s HN Hr Hs; apply written_nth in Hr, Hs.
  destruct Hr as [Hi ->], Hs as [Hk ->]; apply keeps_map; intros j Hj; apply in_seq in Hj; apply H; auto; lia.
Qed.

(** ** Geometric noise on 0..n

    alpha = p/q. Report [j] of true value [i] has probability w_j alpha^|i-j| with
    w = 1/(1+alpha) at the ends and (1-alpha)/(1+alpha) between. In integers over
    (q+p) q^n: *)

Definition apart (i j : nat) : nat := (i - j) + (j - i).

Definition power (p q : Z) (n d : nat) : Z := p ^ Z.of_nat d * q ^ Z.of_nat (n - d).

Definition geometric_weight (p q : Z) (n i j : nat) : Z :=
  (if (Nat.eqb j 0 || Nat.eqb j n)%bool then q else q - p) * power p q n (apart i j).

Definition geometric (p q : Z) (n : nat) : list row := written (geometric_weight p q n) (S n) (S n).

Definition geometric_total (p q : Z) (n : nat) : Z := (q + p) * q ^ Z.of_nat n.

Lemma pow_S x d : x ^ Z.of_nat (S d) = x * x ^ Z.of_nat d.
Proof. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia; reflexivity. Qed.

Lemma power_step p q n d : (d < n)%nat -> q * power p q n (S d) = p * power p q n d.
Proof.
  intros H; unfold power; replace (n - d)%nat with (S (n - S d)) by lia. rewrite !pow_S; ring.
Qed.

Lemma power_0 p q n : power p q n 0 = q ^ Z.of_nat n.
Proof. unfold power; rewrite Nat.sub_0_r; change (p ^ Z.of_nat 0) with 1; ring. Qed.

Lemma power_pos p q n d : 0 < p -> 0 < q -> 0 < power p q n d.
Proof. intros; unfold power; apply Z.mul_pos_pos; apply Z.pow_pos_nonneg; lia. Qed.

Lemma geometric_partial p q n i k : (i <= n)%nat -> (k < n)%nat ->
  series (geometric_weight p q n i) (S k) =
  if Nat.leb k i then q * power p q n (i - k)
  else geometric_total p q n - q * power p q n (S k - i).
Proof.
  intros Hi; unfold geometric_weight, geometric_total; rewrite <- (power_0 p).
  induction k as [|k IH]; intros Hk.
  - cbn [series Nat.leb Nat.eqb orb]; replace (apart i 0) with i by (unfold apart; lia); rewrite Nat.sub_0_r; ring.
  - cbn [series] in *; rewrite IH by lia; clear IH.
    destruct (Nat.eqb_spec (S k) 0); [lia|]; destruct (Nat.eqb_spec (S k) n); [lia|]; simpl orb; cbv iota.
    destruct (Nat.leb_spec k i) as [a|a], (Nat.leb_spec (S k) i) as [b|b]; try lia.
    + replace (apart i (S k)) with (i - S k)%nat by (unfold apart; lia).
      assert (E := power_step p q n (i - S k) ltac:(lia)).
      replace (S (i - S k)) with (i - k)%nat in E by lia. rewrite E; ring.
    + assert (k = i) by lia; subst k.
      replace (apart i (S i)) with 1%nat by (unfold apart; lia).
      replace (S (S i) - i)%nat with 2%nat by lia; rewrite Nat.sub_diag.
      assert (E := power_step p q n 0 ltac:(lia)); assert (E1 := power_step p q n 1 ltac:(lia)).
      rewrite E1; rewrite Z.mul_add_distr_r. rewrite <- E. ring.
    + replace (apart i (S k)) with (S k - i)%nat by (unfold apart; lia).
      assert (E := power_step p q n (S k - i) ltac:(lia)).
      replace (S (S k - i)) with (S (S k) - i)%nat in E by lia. rewrite E; ring.
Qed.

(** Theorem 2.1: geometric noise is a table, for every n >= 1 and 0 < p < q. *)
Theorem geometric_table p q n : 0 < p < q -> (1 <= n)%nat ->
  table (geometric_total p q n) (S n) (geometric p q n).
Proof.
  intros Hpq Hn.
  assert (0 < q ^ Z.of_nat n) by (apply Z.pow_pos_nonneg; lia).
  apply written_table.
  - unfold geometric_total; nia.
  - intros i j _ _; unfold geometric_weight.
    assert (0 < power p q n (apart i j)) by (apply power_pos; lia).
    destruct (Nat.eqb j 0 || Nat.eqb j n)%bool; nia.
  - intros i Hi; destruct n as [|n]; [lia|]; clear Hn.
    change (series (geometric_weight p q (S n) i) (S n) + geometric_weight p q (S n) i (S n)
            = geometric_total p q (S n)).
    rewrite geometric_partial by lia.
    unfold geometric_weight; rewrite (Nat.eqb_refl (S n)), Bool.orb_true_r.
    destruct (Nat.leb_spec n i) as [a|a].
    + destruct (Nat.eq_dec i n) as [->|ne].
      * replace (apart n (S n)) with 1%nat by (unfold apart; lia); rewrite Nat.sub_diag.
        assert (E := power_step p q (S n) 0 ltac:(lia)). rewrite E, power_0.
        unfold geometric_total; ring.
      * assert (i = S n) by lia; subst i.
        replace (apart (S n) (S n)) with 0%nat by (unfold apart; lia).
        replace (S n - n)%nat with 1%nat by lia.
        assert (E := power_step p q (S n) 0 ltac:(lia)). rewrite E, power_0.
        unfold geometric_total; ring.
    + replace (apart i (S n)) with (S n - i)%nat by (unfold apart; lia). ring.
Qed.

Lemma power_close p q n d e e' : 0 < p <= q -> (e <= n)%nat -> (e' <= e + d)%nat -> (e' <= n)%nat ->
  p ^ Z.of_nat d * power p q n e <= q ^ Z.of_nat d * power p q n e'.
Proof.
  intros Hpq He Hd He'; unfold power.
  assert (E1 : p ^ Z.of_nat d * p ^ Z.of_nat e = p ^ Z.of_nat e' * p ^ Z.of_nat (d + e - e'))
    by (rewrite <- !Z.pow_add_r by lia; f_equal; lia).
  assert (E2 : q ^ Z.of_nat (d + e - e') * q ^ Z.of_nat (n - e) = q ^ Z.of_nat d * q ^ Z.of_nat (n - e'))
    by (rewrite <- !Z.pow_add_r by lia; f_equal; lia).
  assert (0 <= p ^ Z.of_nat e') by (apply Z.pow_nonneg; lia).
  assert (0 <= q ^ Z.of_nat (n - e)) by (apply Z.pow_nonneg; lia).
  assert (p ^ Z.of_nat (d + e - e') <= q ^ Z.of_nat (d + e - e')) by (apply Z.pow_le_mono_l; lia).
  rewrite Z.mul_assoc, E1.
  replace (q ^ Z.of_nat d * (p ^ Z.of_nat e' * q ^ Z.of_nat (n - e')))
    with (p ^ Z.of_nat e' * (q ^ Z.of_nat d * q ^ Z.of_nat (n - e'))) by ring.
  rewrite <- E2, <- Z.mul_assoc; apply Z.mul_le_mono_nonneg_l; [assumption|].
  apply Z.mul_le_mono_nonneg_r; assumption.
Qed.

(** Theorem 2.2: between values up to [d] steps apart it keeps alpha^d. *)
Theorem geometric_private p q n d : 0 < p < q ->
  private (p ^ Z.of_nat d) (q ^ Z.of_nat d) (within d) (geometric p q n).
Proof.
  intros Hpq; apply written_private; intros i k j W Hi Hk Hj; unfold geometric_weight, within in *.
  assert (P : p ^ Z.of_nat d * power p q n (apart i j) <= q ^ Z.of_nat d * power p q n (apart k j))
    by (apply power_close; unfold apart; lia).
  set (c := if (Nat.eqb j 0 || Nat.eqb j n)%bool then q else q - p).
  assert (0 <= c) by (unfold c; destruct (Nat.eqb j 0 || Nat.eqb j n)%bool; lia).
  rewrite !(Z.mul_shuffle3 _ c); apply Z.mul_le_mono_nonneg_l; assumption.
Qed.

(** Theorem 2.3: and no level above alpha, where n >= 1: the first report attains it. *)
Theorem geometric_tight p q n a b : 0 < p < q -> (1 <= n)%nat -> 0 < b ->
  private a b (within 1) (geometric p q n) -> a * q <= p * b.
Proof.
  intros Hpq Hn Hb H.
  assert (Hz : forall i, (i < S n)%nat ->
    nth_error (geometric p q n) i = Some (map (geometric_weight p q n i) (seq 0 (S n)))).
  { intros i Hi; unfold geometric, written.
    rewrite nth_error_map, (nth_error_nth' _ 0%nat), seq_nth by (rewrite ?seq_length; exact Hi). reflexivity. }
  specialize (H 0%nat 1%nat _ _ ltac:(unfold within; lia) (Hz 0%nat ltac:(lia)) (Hz 1%nat ltac:(lia))).
  inversion H as [|? ? ? ? G _]; subst; clear H Hz.
  unfold geometric_weight in G; simpl in G; unfold apart in G; simpl in G.
  assert (E := power_step p q n 0 ltac:(lia)).
  assert (0 < power p q n 0) by (apply power_pos; lia). nia.
Qed.

(** ** Randomised response

    The value is kept with probability p/c, else one of [m] values is drawn uniformly.
    Over the total c m the truth has the weight c - p + p m, any other value c - p. *)

Definition response_weight (p c : Z) (m i j : nat) : Z :=
  if Nat.eqb i j then c - p + p * Z.of_nat m else c - p.

Definition response (p c : Z) (m : nat) : list row := written (response_weight p c m) m m.

Lemma series_response p c m i k :
  series (response_weight p c m i) k = Z.of_nat k * (c - p) + (if Nat.ltb i k then p * Z.of_nat m else 0).
Proof.
  induction k as [|k IH]; [simpl; lia|].
  change (series (response_weight p c m i) k + response_weight p c m i k
    = Z.of_nat (S k) * (c - p) + (if Nat.ltb i (S k) then p * Z.of_nat m else 0)).
  rewrite IH; unfold response_weight.
  destruct (Nat.eqb_spec i k), (Nat.ltb_spec i k), (Nat.ltb_spec i (S k)); lia.
Qed.

(** Theorem 2.4: it is a table, and keeps (c - p)/(c - p + p m) between any two values. *)
Theorem response_table p c m : 0 <= p < c -> (1 <= m)%nat -> table (c * Z.of_nat m) m (response p c m).
Proof.
  intros Hpc Hm; apply written_table.
  - nia.
  - intros i j _ _; unfold response_weight; destruct (Nat.eqb i j); nia.
  - intros i Hi; rewrite series_response; destruct (Nat.ltb_spec i m); lia.
Qed.

Theorem response_private p c m : 0 <= p < c ->
  private (c - p) (c - p + p * Z.of_nat m) any_two (response p c m).
Proof.
  intros Hpc; apply written_private; intros i k j _ Hi Hk Hj; unfold response_weight.
  assert (P : c - p <= c - p + p * Z.of_nat m) by (generalize (Z.mul_nonneg_nonneg p (Z.of_nat m)); lia).
  revert P; generalize (c - p + p * Z.of_nat m); intros t P.
  destruct (Nat.eqb i j), (Nat.eqb k j); nia.
Qed.

(** ** The explicit fair mechanism

    Report [j] of [i] on 0..n has the weight of a class (Cormode, Kulkarni and
    Srivastava 2018). With d = |i - j| and m = min(i, n - i) that is class d where
    d < m, else (d + m)/2, rounded up. Class e has a weight g(e), which falls by at
    most the factor p/q from one class to the next: powers of p/q, or these rounded up. *)

Definition fair_class (n i j : nat) : nat :=
  let d := apart i j in
  let m := Nat.min i (n - i) in
  if Nat.ltb d m then d else Nat.div2 (d + m + 1).

Definition fair (g : nat -> Z) (n : nat) : list row :=
  written (fun i j => g (fair_class n i j)) (S n) (S n).

(** What all rows sum to: the sum of the first. *)
Definition fair_total (g : nat -> Z) (n : nat) : Z := series (fun j => g (Nat.div2 (j + 1))) (S n).

Lemma div2_double k : Nat.div2 (k + k) = k /\ Nat.div2 (S (k + k)) = k.
Proof.
  replace (k + k)%nat with (2 * k)%nat by lia.
  split; [apply Nat.div2_double|apply Nat.div2_succ_double].
Qed.

Lemma div2_spec k : (2 * Nat.div2 k <= k <= 2 * Nat.div2 k + 1)%nat.
Proof. rewrite Nat.div2_div; generalize (Nat.div_mod k 2) (Nat.mod_upper_bound k 2); lia. Qed.

Lemma pairs_of_classes g i :
  series (fun t => g (Nat.div2 (S t + 1))) (i + i) = 2 * series (fun d => g (S d)) i.
Proof.
  induction i as [|i IH]; [reflexivity|].
  replace (S i + S i)%nat with (S (S (i + i))) by lia; cbn [series]; rewrite IH.
  replace (Nat.div2 (S (i + i) + 1)) with (S i) by (generalize (div2_spec (S (i + i) + 1)); lia).
  replace (Nat.div2 (S (S (i + i)) + 1)) with (S i) by (generalize (div2_spec (S (S (i + i)) + 1)); lia).
  lia.
Qed.

Lemma fair_row_left g n i : (i + i <= n)%nat ->
  series (fun j => g (fair_class n i j)) (S n) = fair_total g n.
Proof.
  intros Hi; unfold fair_total; rewrite (series_first (fun j => g (Nat.div2 (j + 1))) n).
  assert (R : series (fun t => g (Nat.div2 (S t + 1))) n = 2 * series (fun d => g (S d)) i
            + series (fun t => g (Nat.div2 (S (i + i + t) + 1))) (n - (i + i))).
  { rewrite <- pairs_of_classes, <- (series_split (fun t => g (Nat.div2 (S t + 1))) (i + i)); f_equal; lia. }
  rewrite R; clear R.
  replace (S n) with (i + (1 + (i + (n - (i + i)))))%nat by lia.
  rewrite series_split, series_split, (series_split _ i).
  assert (Hm : Nat.min i (n - i) = i) by lia.
  assert (A : series (fun j => g (fair_class n i j)) i = series (fun d => g (S d)) i).
  { rewrite series_reverse; apply series_ext; intros t Ht; f_equal; unfold fair_class; rewrite Hm.
    replace (apart i (i - 1 - t)) with (S t) by (unfold apart; lia).
    destruct (Nat.ltb_spec (S t) i); [reflexivity|].
    generalize (div2_spec (S t + i + 1)); lia. }
  assert (B : series (fun t => g (fair_class n i (i + t))) 1 = g (Nat.div2 (0 + 1))).
  { simpl; f_equal; unfold fair_class; rewrite Hm, Nat.add_0_r.
    replace (apart i i) with 0%nat by (unfold apart; lia).
    destruct (Nat.ltb_spec 0 i); [reflexivity|]. replace i with 0%nat by lia; reflexivity. }
  assert (C : series (fun t => g (fair_class n i (i + (1 + t)))) i = series (fun d => g (S d)) i).
  { apply series_ext; intros t Ht; f_equal; unfold fair_class; rewrite Hm.
    replace (apart i (i + (1 + t))) with (S t) by (unfold apart; lia).
    destruct (Nat.ltb_spec (S t) i); [reflexivity|].
    generalize (div2_spec (S t + i + 1)); lia. }
  assert (D : series (fun t => g (fair_class n i (i + (1 + (i + t))))) (n - (i + i))
            = series (fun t => g (Nat.div2 (S (i + i + t) + 1))) (n - (i + i))).
  { apply series_ext; intros t Ht; f_equal; unfold fair_class; rewrite Hm.
    replace (apart i (i + (1 + (i + t)))) with (S (i + t)) by (unfold apart; lia).
    destruct (Nat.ltb_spec (S (i + t)) i); [lia|]. f_equal; lia. }
  rewrite A, B, C, D; lia.
Qed.

Lemma fair_row g n i : (i <= n)%nat -> series (fun j => g (fair_class n i j)) (S n) = fair_total g n.
Proof.
  intros Hi; destruct (Nat.le_gt_cases (i + i) n) as [c|c]; [apply fair_row_left; exact c|].
  rewrite <- (fair_row_left g n (n - i)) by lia.
  rewrite series_reverse; apply series_ext; intros t Ht; f_equal; unfold fair_class.
  replace (apart i (S n - 1 - t)) with (apart (n - i) t) by (unfold apart; lia).
  replace (Nat.min (n - i) (n - (n - i))) with (Nat.min i (n - i)) by lia. reflexivity.
Qed.

(** Theorem 2.5: it is a table, whatever the weights of the classes are. *)
Theorem fair_table g n : (forall e, 0 < g e) -> table (fair_total g n) (S n) (fair g n).
Proof.
  intros Hg; apply written_table.
  - unfold fair_total; generalize n; intros k; induction k as [|k IH]; simpl in *;
      [generalize (Hg 0%nat); lia|generalize (Hg (Nat.div2 (S k + 1))); simpl; lia].
  - intros i j _ _; generalize (Hg (fair_class n i j)); lia.
  - intros i Hi; apply fair_row; lia.
Qed.

(** A step of the truth moves a report by at most one class. *)
Lemma fair_class_close n i k j : (i <= n)%nat -> (k <= n)%nat -> (j <= n)%nat -> within 1 i k ->
  (fair_class n k j <= fair_class n i j + 1)%nat.
Proof.
  unfold within, fair_class, apart; intros Hi Hk Hj W.
  generalize (div2_spec (i - j + (j - i) + Nat.min i (n - i) + 1)),
             (div2_spec (k - j + (j - k) + Nat.min k (n - k) + 1)).
  destruct (Nat.ltb_spec (i - j + (j - i)) (Nat.min i (n - i))),
           (Nat.ltb_spec (k - j + (j - k)) (Nat.min k (n - k))); lia.
Qed.

(** Theorem 2.6: it keeps alpha = p/q, for every n. *)
Theorem fair_private p q g n : 0 < p <= q ->
  (forall e, 0 <= g (S e) <= g e) -> (forall e, p * g e <= q * g (S e)) ->
  private p q (within 1) (fair g n).
Proof.
  intros Hpq Hg Hstep; apply written_private; intros i k j W Hi Hk Hj.
  assert (C := fair_class_close n i k j ltac:(lia) ltac:(lia) ltac:(lia) W).
  generalize dependent (fair_class n k j); generalize (fair_class n i j); intros e e' C.
  assert (falls : forall d e, g (e + d)%nat <= g e).
  { induction d as [|d IH]; intros x; [rewrite Nat.add_0_r; lia|].
    rewrite Nat.add_succ_r; generalize (Hg (x + d)%nat) (IH x); lia. }
  destruct (Nat.eq_dec e' (S e)) as [->|ne]; [apply Hstep|].
  assert (0 <= g e) by (destruct e; [generalize (Hg 0%nat)|generalize (Hg e)]; lia).
  assert (g e <= g e') by (replace e with (e' + (e - e'))%nat by lia; apply falls). nia.
Qed.

(** With exact weights: class [e] of classes up to [last] has p^e q^(last - e). *)
Corollary fair_exact p q n : 0 < p <= q ->
  private p q (within 1) (fair (fun e => power p q (Nat.max e (Nat.div2 (n + 1))) e) n).
Proof.
  intros Hpq; set (last := Nat.div2 (n + 1)).
  assert (same : forall i j, (i <= n)%nat -> (j <= n)%nat -> (fair_class n i j <= last)%nat).
  { intros i j Hi Hj; unfold fair_class, last, apart.
    generalize (div2_spec (n + 1)), (div2_spec (i - j + (j - i) + Nat.min i (n - i) + 1)).
    destruct (Nat.ltb_spec (i - j + (j - i)) (Nat.min i (n - i))); lia. }
  apply written_private; intros i k j W Hi Hk Hj.
  assert (C := fair_class_close n i k j ltac:(lia) ltac:(lia) ltac:(lia) W).
  rewrite !Nat.max_r by (apply same; lia).
  assert (P := power_close p q last 1 (fair_class n i j) (fair_class n k j) Hpq
    (same i j ltac:(lia) ltac:(lia)) C (same k j ltac:(lia) ltac:(lia))).
  rewrite !pow_S in P; simpl Z.of_nat in P; rewrite !Z.pow_0_r, !Z.mul_1_r in P; exact P.
Qed.

(** The weights of no class beyond the last matter: these are the same table as that of [fair_exact_has]. *)
Theorem fair_exact_same p q n :
  let last := Nat.div2 (n + 1) in
  fair (fun e => power p q (Nat.max e last) e) n = fair (fun e => power p q last (Nat.min e last)) n.
Proof.
  intros last; unfold fair, written; apply map_ext_in; intros i Hi; apply map_ext_in; intros j Hj.
  apply in_seq in Hi, Hj.
  assert (fair_class n i j <= last)%nat.
  { unfold fair_class, last, apart.
    generalize (div2_spec (n + 1)), (div2_spec (i - j + (j - i) + Nat.min i (n - i) + 1)).
    destruct (Nat.ltb_spec (i - j + (j - i)) (Nat.min i (n - i))); lia. }
  rewrite Nat.max_r, Nat.min_l by lia; reflexivity.
Qed.

(** ** The square wave

    Reports 0..n+2w stand for -w..n+w. Those at most [w] from the truth have the weight q, all others p
    (Li, Wang, Lopuhaa-Zwakenberg, Skoric and Li 2020, on a grid). *)

Definition wave_weight (p q : Z) (w i j : nat) : Z := if (Nat.leb i j && Nat.leb j (i + 2 * w))%bool then q else p.

Definition wave (p q : Z) (n w : nat) : list row := written (wave_weight p q w) (S n) (S (n + 2 * w)).

Definition wave_total (p q : Z) (n w : nat) : Z := q * Z.of_nat (2 * w + 1) + p * Z.of_nat n.

Lemma series_const c k : series (fun _ => c) k = c * Z.of_nat k.
Proof. induction k as [|k IH]; [simpl; lia|]. change (series (fun _ => c) k + c = c * Z.of_nat (S k)). rewrite IH; lia. Qed.

(** Theorem 2.8: it is a table, for every n and every width. *)
Theorem wave_table p q n w : 0 < p <= q -> table (wave_total p q n w) (S (n + 2 * w)) (wave p q n w).
Proof.
  intros Hpq; apply written_table.
  - unfold wave_total; nia.
  - intros i j _ _; unfold wave_weight; destruct (_ && _)%bool; lia.
  - intros i Hi. replace (S (n + 2 * w)) with (i + ((2 * w + 1) + (n - i)))%nat by lia.
    rewrite series_split, series_split.
    rewrite (series_ext (wave_weight p q w i) (fun _ => p) i).
    2: { intros t Ht; unfold wave_weight; destruct (Nat.leb_spec i t); [lia|reflexivity]. }
    rewrite (series_ext (fun t => wave_weight p q w i (i + t)) (fun _ => q) (2 * w + 1)).
    2: { intros t Ht; unfold wave_weight; destruct (Nat.leb_spec i (i + t)), (Nat.leb_spec (i + t) (i + 2 * w)); simpl; lia || reflexivity. }
    rewrite (series_ext (fun t => wave_weight p q w i (i + (2 * w + 1 + t))) (fun _ => p) (n - i)).
    2: { intros t Ht; unfold wave_weight; destruct (Nat.leb_spec (i + (2 * w + 1 + t)) (i + 2 * w)); [lia|].
         destruct (Nat.leb i _); reflexivity. }
    rewrite !series_const; unfold wave_total. rewrite Nat2Z.inj_sub by lia. ring.
Qed.

(** Theorem 2.9: it keeps p/q between any two values. *)
Theorem wave_private p q n w : 0 < p <= q -> private p q any_two (wave p q n w).
Proof.
  intros Hpq; apply written_private; intros i k j _ _ _ _; unfold wave_weight.
  destruct (_ && _)%bool, (_ && _)%bool; nia.
Qed.

(** Theorem 2.10: and no level above it, where there are two values: the first report lies in the window of the first alone. *)
Theorem wave_tight p q n w a b : 0 < p <= q -> (1 <= n)%nat -> private a b (within 1) (wave p q n w) -> a * q <= b * p.
Proof.
  intros Hpq Hn H.
  assert (Hz : forall i, (i < S n)%nat ->
    nth_error (wave p q n w) i = Some (map (wave_weight p q w i) (seq 0 (S (n + 2 * w))))).
  { intros i Hi; unfold wave, written.
    rewrite nth_error_map, (nth_error_nth' _ 0%nat), seq_nth by (rewrite ?seq_length; exact Hi). reflexivity. }
  specialize (H 0%nat 1%nat _ _ ltac:(unfold within; lia) (Hz 0%nat ltac:(lia)) (Hz 1%nat ltac:(lia))).
  inversion H as [|? ? ? ? G _]; subst. exact G.
Qed.
