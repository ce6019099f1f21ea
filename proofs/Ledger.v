(** * Spending

    Questions are asked one after the other, each chosen after seeing all that was told before. A strategy is a tree: at each
    node a mechanism with its charge, and what is asked next after each report and after a refusal. The ledger refuses what
    exceeds the budget, and the refusal is part of the transcript.

    Charges are elements of any additive group with a set of elements that are "at least nothing"; a function [f] gives the
    level of a charge. It turns sums into products, is positive, and is at most 1 where a charge is at least nothing.
    Real charges of epsilon with f(x) = e^-x would be such a group; no such instance is made here. Charges that count how often a level such as 9/10 is spent are integers,
    and all levels rational: the instance at the end. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Ledger.
Variables (R : realFieldType) (data : Type) (neighbour : data -> data -> Prop).

(** Charges, and the level of each. *)
Variables (G : zmodType) (nonneg : pred G) (f : G -> R).
Hypothesis f_add : forall x y, f (x + y) = f x * f y.
Hypothesis f_pos : forall x, 0 < f x.
Hypothesis f_le1 : forall x, nonneg x -> f x <= 1.

(** A question: its charge, the law of its report under each data set, and what is asked after [Some] report, or after [None],
    a refusal. *)
Inductive strategy : Type :=
| Stop
| Ask (charge : G) (law : data -> nat -> R) (next : option nat -> strategy).

(** The ledger admits a charge that is at least nothing and leaves at least nothing. No data set is looked at. *)
Definition admits (left_over charge : G) : bool := nonneg charge && nonneg (left_over - charge).

(** Every question that is admitted keeps the level of its charge; of questions that are refused nothing is asked. *)
Fixpoint honest (left_over : G) (s : strategy) : Prop :=
  if s is Ask e law next then
    if admits left_over e then
      (forall x r, 0 <= law x r) /\ (forall x y r, neighbour x y -> f e * law x r <= law y r) /\
      forall r, honest (left_over - e) (next (Some r))
    else honest left_over (next None)
  else True.

(** The probability of a transcript, reports and refusals of a path to its end, when [left_over] is the budget. *)
Fixpoint transcript (left_over : G) (s : strategy) (x : data) (told : seq (option nat)) : R :=
  match s, told with
  | Stop, [::] => 1
  | Ask e law next, Some r :: rest =>
      if admits left_over e then law x r * transcript (left_over - e) (next (Some r)) x rest else 0
  | Ask e law next, None :: rest =>
      if admits left_over e then 0 else transcript left_over (next None) x rest
  | _, _ => 0
  end.

(** The sum of the charges along a transcript. *)
Fixpoint spent (left_over : G) (s : strategy) (told : seq (option nat)) : G :=
  match s, told with
  | Ask e _ next, t :: rest =>
      if admits left_over e then e + spent (left_over - e) (next t) rest else spent left_over (next t) rest
  | _, _ => 0
  end.

Lemma transcript_ge0 b s x t : honest b s -> 0 <= transcript b s x t.
Proof.
elim: s b t => [|e law next IH] b [|r t] //=; first by rewrite ler01.
case: r => [r|]; case: ifP => // _.
  by move=> [h [_ hn]]; apply: mulr_ge0 => //; apply: IH.
exact: IH.
Qed.

Lemma f0 : f 0 = 1.
Proof.
have e : f 0 * f 0 = f 0 * 1 by rewrite -f_add addr0 mulr1.
exact: (mulfI (lt0r_neq0 (f_pos 0)) e).
Qed.

(** Theorem 5.6: whatever is asked, in whatever order: every transcript is as private as the budget. *)
Theorem ledger_private b s : nonneg b -> honest b s ->
  forall x y t, neighbour x y -> f b * transcript b s x t <= transcript b s y t.
Proof.
elim: s b => [|e law next IH] b hb /=.
  by move=> _ x y [|r t] _ /=; rewrite ?mulr0 // mulr1; apply: f_le1.
move=> hs x y [|[r|] t] hxy /=; first by rewrite mulr0.
- move: hs; case: ifP => [/andP [_ hbe]|_] hs; last by rewrite mulr0.
  case: hs => hge [hlevel hn].
  have -> : f b = f e * f (b - e) by rewrite -f_add addrC subrK.
  rewrite mulrACA; apply: ler_pmul.
  + by apply: mulr_ge0; [apply: ltW | apply: hge].
  + by apply: mulr_ge0; [apply: ltW | apply: transcript_ge0].
  + exact: hlevel.
  + exact: IH.
- by move: hs; case: ifP => _ hs; [rewrite mulr0 | apply: IH].
Qed.

(** Theorem 5.7: and so is every event, a finite list of transcripts. *)
Theorem ledger_event b s : nonneg b -> honest b s ->
  forall x y (E : seq (seq (option nat))), neighbour x y ->
  f b * (\sum_(t <- E) transcript b s x t) <= \sum_(t <- E) transcript b s y t.
Proof.
move=> hb hs x y E hxy; rewrite mulr_sumr; apply: ler_sum => t _; exact: ledger_private.
Qed.

(** Theorem 5.8: the charges of every transcript leave at least nothing of the budget, honest or not. *)
Theorem ledger_guards b s t : nonneg b -> nonneg (b - spent b s t).
Proof.
elim: s b t => [|e law next IH] b [|r t] hb //=; rewrite ?subr0 //.
by case: ifP => [/andP [_ hbe]|_]; [rewrite opprD addrA; apply: IH | apply: IH].
Qed.

(** Theorem 5.9: a refusal tells nothing: where the ledger refuses it does so under every data set, draws nothing and
    charges nothing. *)
Theorem ledger_refuses b e law next : admits b e = false ->
  forall x t, transcript b (Ask e law next) x (None :: t) = transcript b (next None) x t /\
    (forall r, transcript b (Ask e law next) x (Some r :: t) = 0) /\
    spent b (Ask e law next) (None :: t) = spent b (next None) t.
Proof. by move=> h x t /=; rewrite h. Qed.
End Ledger.

(** ** An instance in rational numbers

    A charge is a number of steps, each of level 9/10. Data are one bit, any two are neighbours, and the budget is two steps.
    Three times the bit is asked for, told truly with probability 10/19 (so the level is 9/10); the third is refused. *)
Definition steps_level (k : int) : rat := (9%:Q / 10%:Q) ^ k.

Lemma level_add x y : steps_level (x + y) = steps_level x * steps_level y.
Proof. by rewrite /steps_level expfzDr. Qed.

Lemma level_pos x : 0 < steps_level x.
Proof. by rewrite /steps_level exprz_gt0. Qed.

Lemma level_le1 (x : int) : 0 <= x -> steps_level x <= 1.
Proof. by case: x => // n _; rewrite /steps_level -exprnP; apply: exprn_ile1. Qed.

Definition bit_law (x : bool) (r : nat) : rat := if r == x then 10%:Q / 19%:Q else if (r < 2)%N then 9%:Q / 19%:Q else 0.

Definition three_times : strategy [realFieldType of rat] bool [zmodType of int] :=
  Ask 1 bit_law (fun _ => Ask 1 bit_law (fun _ => Ask 1 bit_law (fun _ => Stop _ _ _))).

(** It meets what the theorems ask for, so they say something of it, *)
Example bit_private x y t :
  steps_level 2 * transcript (fun k : int => 0 <= k) 2 three_times x t <= transcript (fun k : int => 0 <= k) 2 three_times y t.
Proof.
have keeps u v r : steps_level 1 * bit_law u r <= bit_law v r.
  by rewrite /steps_level /bit_law expr1z; case: u v r => [] [] [|[|r]].
have ge0 u r : 0 <= bit_law u r by rewrite /bit_law; case: u r => [] [|[|r]].
apply: (@ledger_private [realFieldType of rat] bool (fun _ _ => True) _ _ _ level_add level_pos level_le1) => //=.
Qed.

(** and the bound is attained: with these reports and the refusal the two data sets differ by 81/100. *)
Example bit_attained :
  let P := transcript (fun k : int => 0 <= k) 2 three_times in
  P true [:: Some 1%N; Some 1%N; None] = 100%:Q / 361%:Q /\ P false [:: Some 1%N; Some 1%N; None] = 81%:Q / 361%:Q.
Proof. by []. Qed.
