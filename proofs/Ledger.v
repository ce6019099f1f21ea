(** * Spending

    Questions are asked one after the other, each chosen after seeing the reports before it. A strategy is a tree: at each
    node a mechanism with its charge, and for each report what is asked next. The ledger refuses what exceeds the budget. Over any
    ordered field: e^-epsilon is any function [f] that turns sums into products, is positive, and does not rise. *)

From Coq Require Import ZArith List Lia.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Ledger.
Variables (R : realFieldType) (data : Type) (neighbour : data -> data -> Prop).

(** e^-epsilon. *)
Variable f : R -> R.
Hypothesis f0 : f 0 = 1.
Hypothesis f_add : forall x y, f (x + y) = f x * f y.
Hypothesis f_pos : forall x, 0 < f x.
Hypothesis f_falls : forall x y, x <= y -> f y <= f x.

(** The law of a report, an element of any finite or infinite set of reports, under each data set. *)
Inductive strategy : Type :=
| Stop
| Ask (charge : R) (law : data -> nat -> R) (next : nat -> strategy).

(** Every mechanism keeps the level of its charge. *)
Fixpoint honest (s : strategy) : Prop :=
  if s is Ask e law next then
    0 <= e /\ (forall x r, 0 <= law x r) /\ (forall x y r, neighbour x y -> f e * law x r <= law y r) /\
    forall r, honest (next r)
  else True.

(** Along every path the charges sum to at most [b]. *)
Fixpoint within_budget (b : R) (s : strategy) : Prop :=
  if s is Ask e _ next then e <= b /\ forall r, within_budget (b - e) (next r) else 0 <= b.

(** The probability of a transcript: the reports of a path to its end. *)
Fixpoint transcript (s : strategy) (x : data) (reports : seq nat) : R :=
  match s, reports with
  | Stop, [::] => 1
  | Ask _ law next, r :: rest => law x r * transcript (next r) x rest
  | _, _ => 0
  end.

Lemma transcript_ge0 s x t : honest s -> 0 <= transcript s x t.
Proof.
elim: s t => [|e law next IH] [|r t] //=; first by rewrite ler01.
move=> [_ [h [_ hn]]]; by apply: mulr_ge0 => //; apply: IH.
Qed.

(** Theorem 5.6: every transcript of every strategy within the budget is as private as the budget. *)
Theorem ledger_private b s : honest s -> within_budget b s ->
  forall x y t, neighbour x y -> f b * transcript s x t <= transcript s y t.
Proof.
elim: s b => [|e law next IH] b /=.
  by move=> _ hb x y [|r t] _ /=; rewrite ?mulr0 // mulr1 -f0; apply: f_falls.
move=> [e0 [hge [hlevel hn]]] [heb hb] x y [|r t] hxy /=; first by rewrite mulr0.
have -> : f b = f e * f (b - e) by rewrite -f_add addrC subrK.
rewrite mulrACA; apply: ler_pmul.
- by apply: mulr_ge0; [apply: ltW | apply: hge].
- by apply: mulr_ge0; [apply: ltW | apply: transcript_ge0].
- exact: hlevel.
- exact: IH.
Qed.

(** Theorem 5.7: and so is every event, a set of transcripts. *)
Theorem ledger_event b s : honest s -> within_budget b s ->
  forall x y (E : seq (seq nat)), neighbour x y ->
  f b * (\sum_(t <- E) transcript s x t) <= \sum_(t <- E) transcript s y t.
Proof.
move=> hs hb x y E hxy; rewrite mulr_sumr; apply: ler_sum => t _; exact: ledger_private.
Qed.

(** What the ledger does: a charge beyond what is left is refused, by what was charged before and by nothing in the
    data. Nothing is drawn then and nothing is charged; whoever asked goes on as after report 0, say with a cheaper question. *)
Fixpoint guarded (left_over : R) (s : strategy) : strategy :=
  if s is Ask e law next then
    if (0 <= e) && (e <= left_over) then Ask e law (fun r => guarded (left_over - e) (next r)) else guarded left_over (next 0%N)
  else Stop.

(** Theorem 5.8: so whatever is asked, in whatever order, all reports together keep the budget. *)
Theorem ledger_guards b s : 0 <= b -> honest s -> honest (guarded b s) /\ within_budget b (guarded b s).
Proof.
elim: s b => [|e law next IH] b hb //= [e0 [hge [hlevel hn]]].
case: ifP => [/andP [_ heb]|_]; last exact: IH.
split=> /=.
  by split=> //; split=> //; split=> // r; case: (IH r (b - e)); rewrite ?subr_ge0.
by split=> // r; case: (IH r (b - e)); rewrite ?subr_ge0.
Qed.
End Ledger.
