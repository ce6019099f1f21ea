(** * Mechanisms with other reports

    A certificate is about mechanisms whose reports are the values themselves. A mechanism may have more reports, or reports of
    any other kind: infinitely many, numbers with digits after the point, texts. Whoever uses it reads each as one of the values,
    and that is a mechanism of the certificate's kind: reading costs no privacy. So it is no better either. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Discreet Require Import Privacy Check Tables Payments Sound Duality Sets Certificates.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Events.
Variables (R : realFieldType) (report : Type).

(** The events that have a probability: with two that exclude each other their union, and the impossible one. *)
Variable measurable : (report -> bool) -> Prop.
Hypothesis impossible : measurable (fun=> false).
Hypothesis either : forall E F, (forall x, ~~ (E x && F x)) -> measurable E -> measurable F -> measurable (fun x => E x || F x).
Hypothesis same : forall E F, (forall x, E x = F x) -> measurable E -> measurable F.

(** [mu i E] is the probability under true value [i] that the report lies in [E]: finitely additive is enough. *)
Definition random_report (m : nat) (mu : nat -> (report -> bool) -> R) : Prop :=
  forall i, lt i m ->
  (forall E, measurable E -> 0 <= mu i E) /\ mu i (fun=> true) = 1 /\
  (forall E F, (forall x, E x = F x) -> mu i E = mu i F) /\
  (forall E F, measurable E -> measurable F -> (forall x, ~~ (E x && F x)) -> mu i (fun x => E x || F x) = mu i E + mu i F).

(** The level, of every event. *)
Definition keeps_events (p q : Z) (near : neighbours) (m : nat) (mu : nat -> (report -> bool) -> R) : Prop :=
  forall i k E, lt i m -> lt k m -> measurable E -> neighbouring near i k -> zr R p * mu i E <= zr R q * mu k E.

(** Every report is read as one of the [m] values, and it has a probability how often as which. *)
Definition reading (m : nat) (f : report -> nat) : Prop := forall x, lt (f x) m.
Definition read_events (f : report -> nat) : Prop := forall j, measurable (fun x => f x == j).
Definition read (f : report -> nat) (mu : nat -> (report -> bool) -> R) (i j : nat) : R := mu i (fun x => f x == j).

(** Theorem 3.13: what is read is a mechanism, and keeps the level. *)
Theorem read_mechanism m mu f : random_report m mu -> reading m f -> read_events f -> mechanism m (read f mu).
Proof.
move=> h hf hm i hi; have [ge [one [ext add]]] := h i hi; split=> [j _|]; first exact: ge.
have below k : measurable (fun x => (f x < k)%N).
  elim: k => [|k IH]; first by apply: same impossible => x.
  have disjoint x : ~~ ((f x < k)%N && (f x == k)) by case: (ltngtP (f x) k).
  by apply: same (either disjoint IH (hm k)) => x; rewrite [RHS]ltnS [RHS]leq_eqVlt orbC.
have main k : \sum_(j < k) read f mu i j = mu i (fun x => (f x < k)%N).
  elim: k => [|k IH].
    rewrite big_ord0; have := add (fun=> false) (fun=> false) impossible impossible (fun=> isT) => /= e.
    by apply/esym/eqP; rewrite -(addrK (mu i (fun=> false)) (mu i _)) -e subrr.
  rewrite big_ord_recr /= IH /read -add //; first by apply: ext => x; rewrite [RHS]ltnS [RHS]leq_eqVlt orbC.
  by move=> x; case: (ltngtP (f x) k).
by rewrite main -one; apply: ext => x; apply/ssrnat.ltP.
Qed.

Theorem read_keeps p q near m mu f : read_events f -> keeps_events p q near m mu -> keeps_level p q near m (read f mu).
Proof. by move=> hm h i k j hi hk _ near_ik; apply: h. Qed.

(** Theorem 3.14: so however its reports are read, a mechanism of the level, and of the properties required, has no risk below the
    bound of an accepted certificate. *)
Theorem more_reports d c mu f : check d = Holds -> Check.proof d = Some c -> let m := length (losses c) in
  random_report m mu -> keeps_events (num (own_alpha c)) (den (own_alpha c)) (the_neighbours d) m mu ->
  reading m f -> read_events f -> (forall l, List.In l (require c) -> has_property m (read f mu) l) ->
  forall r, risk_at_most c m (read f mu) r -> value R (bound c) <= r.
Proof.
move=> hc hp m hmu hk hf hm hprop r.
exact: (accepted_certificate hc hp (read_mechanism hmu hf hm) (read_keeps hm hk) hprop).
Qed.
End Events.

Section Finite.
Variable R : realFieldType.

(** [k] reports, of which report [y] is read as [j] with probability [T y j]: a random remap. *)
Definition remapped (k : nat) (P T : nat -> nat -> R) (i j : nat) : R := \sum_(y < k) P i y * T y j.

Definition kernel (rows columns : nat) (P : nat -> nat -> R) : Prop :=
  forall i, lt i rows -> (forall j, lt j columns -> 0 <= P i j) /\ \sum_(j < columns) P i j = 1.

(** Theorem 3.15: a random remap of any number of reports is a mechanism, and keeps the level. *)
Theorem remapped_mechanism m k P T : kernel m k P -> kernel k m T -> mechanism m (remapped k P T).
Proof.
move=> hP hT i hi; have [ge one] := hP i hi; split=> [j hj|].
  apply: sumr_ge0 => y _; have hy := ord_lt y; apply: mulr_ge0; first exact: ge.
  by case: (hT y hy) => h _; apply: h.
rewrite exchange_big -[RHS]one; apply: eq_bigr => y _; rewrite -mulr_sumr.
by case: (hT y (ord_lt y)) => _ ->; rewrite mulr1.
Qed.

Theorem remapped_keeps p q near m k P T : kernel k m T ->
  (forall i l y, lt i m -> lt l m -> lt y k -> neighbouring near i l -> zr R p * P i y <= zr R q * P l y) ->
  keeps_level p q near m (remapped k P T).
Proof.
move=> hT h i l j hi hl hj near_il; rewrite /remapped !mulr_sumr; apply: ler_sum => y _; have hy := ord_lt y.
rewrite !mulrA; apply: ler_wpmul2r; last exact: h.
by case: (hT y hy) => ge _; apply: ge.
Qed.

(** Theorem 3.16: more reports with losses of their own, none of which is below that of the value it is read as for any true value:
    the mean loss of each true value is not below that of the remap. *)
Theorem remap_risk c m k P (f : nat -> nat) (loss : nat -> nat -> R) :
  kernel m k P -> (forall y, lt y k -> lt (f y) m) ->
  (forall i y, lt i m -> lt y k -> zr R (List.nth (f y) (List.nth i (losses c) nil) 0%Z) / zr R (per c) <= loss i y) ->
  forall i, lt i m -> risk_at c m (remapped k P (fun y j => if f y == j then 1 else 0)) i <= \sum_(y < k) loss i y * P i y.
Proof.
move=> hP hf hl i hi; rewrite /risk_at /remapped.
have -> : \sum_(j < m) zr R (List.nth j (List.nth i (losses c) nil) 0%Z) / zr R (per c) *
    (\sum_(y < k) P i y * (if f y == j then 1 else 0)) =
  \sum_(y < k) zr R (List.nth (f y) (List.nth i (losses c) nil) 0%Z) / zr R (per c) * P i y.
  under eq_bigr => j _ do rewrite mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => y _; have hy := ord_lt y; have/ssrnat.ltP hfy := hf y hy.
  rewrite (bigD1 (Ordinal hfy)) //= eqxx mulr1 big1 ?addr0 // => j ne.
  case: eqP => [e|_]; last by rewrite !mulr0.
  by case/negP: ne; apply/eqP/val_inj.
apply: ler_sum => y _; have hy := ord_lt y; apply: ler_wpmul2r; last exact: hl.
by case: (hP i hi) => ge _; apply: ge.
Qed.
End Finite.
