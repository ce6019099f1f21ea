(** * Examples in numbers

    That the statements are about something: a file that is accepted with its certificate, what follows from it, and the same
    file with one weight changed, which is not. *)

From Coq Require Import ZArith QArith List.
Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Discreet Require Import Privacy Check Tables Payments Sound Duality Sets Certificates.
Import ListNotations.
Local Open Scope Z_scope.

(** Two values, alpha = 1/3: the truth with probability 3/4. For the loss l0 and the uniform prior its risk is 1/4, and
    the multipliers (1, 1) of the rows and 3 of two of the level's inequalities, over 2^3, prove that none is better. *)
Definition two : answers := Numbers (Grid (Some (Frac 0 1)) (Some (Frac 1 1)) (Frac 1 1)).

Definition best : certificate :=
  Certificate 1 [[0; 1]; [1; 0]] [1; 1] Average (Power 0) Uniform [] [WH] (Frac 1 3) 3 (Frac 1 4) (Frac 1 4)
    (Multipliers [[1; 1]] (Some [[0; 3]; [3; 0]]) []).

Definition file (rows : list row) (c : certificate) : document :=
  Document (Table 4 rows) two two (Steps 1) (Frac 1 3) (Some (Frac 11 10, None)) (Some (Tight (Frac 1 3) 1 true))
    (Some all_letters) (Some c) [].

Definition honest_rows : list row := [[3; 1]; [1; 3]].

Example file_accepted : check (file honest_rows best) = Holds.
Proof. vm_compute; reflexivity. Qed.

Example file_refused : check (file [[3; 1]; [0; 4]] best) = Fails Level_fails.
Proof. vm_compute; reflexivity. Qed.

Example bound_too_high :
  check (file honest_rows (Certificate 1 [[0; 1]; [1; 0]] [1; 1] Average (Power 0) Uniform [] [WH] (Frac 1 3) 3 (Frac 1 4)
    (Frac 1 3) (Multipliers [[1; 1]] (Some [[0; 3]; [3; 0]]) []))) = Fails Bound_differs.
Proof. vm_compute; reflexivity. Qed.

Example name_that_lies :
  check (file [[3; 1]; [1; 3]] (Certificate 2 [[0; 1]; [1; 0]] [1; 1] Average (Power 1) Uniform [] [WH] (Frac 1 3) 3 (Frac 1 8)
    (Frac 1 8) (Multipliers [[1; 1]] (Some [[0; 3]; [3; 0]]) []))) = Fails Lying_name.
Proof. vm_compute; reflexivity. Qed.

(** The same by rays: the multipliers of the rows alone. *)
Example file_by_rays :
  check (file honest_rows (Certificate 1 [[0; 1]; [1; 0]] [1; 1] Average (Power 0) Uniform [] [WH] (Frac 1 3) 3 (Frac 1 4)
    (Frac 1 4) (Multipliers [[1; 1]] None []))) = Holds.
Proof. vm_compute; reflexivity. Qed.

(** All priors with a mean of at most 1/2: the risk is 1/4 under each. That it is at most 5/4 is true, and is refused: a price of
    2 for the limit proves 5/4, but no prior of the set has it. *)
Definition of_set (price risk : fraction) (worst : list Z) : certificate :=
  Certificate 1 [[0; 1]; [1; 0]] [1; 1]
    (Largest (Limits [Limit [0; 1] 1 None (Some (Frac 1 2)) (Moment (Frac 1 1) (Frac 0 1))] [price] worst))
    (Power 0) Uniform [] [WH] (Frac 1 3) 3 risk (Frac 1 4) (Multipliers [[1; 1]] (Some [[0; 3]; [3; 0]]) []).

Example set_accepted : check (file honest_rows (of_set (Frac 0 1) (Frac 1 4) [3; 1])) = Holds.
Proof. vm_compute; reflexivity. Qed.

Example risk_too_large : check (file honest_rows (of_set (Frac 2 1) (Frac 5 4) [3; 1])) = Fails Risk_differs.
Proof. vm_compute; reflexivity. Qed.

Example prior_that_lies :
  check (file honest_rows (Certificate 1 [[0; 1]; [1; 0]] [1; 1] (Worst [0; 1]) (Power 0) (Binomial (Frac 1 3)) [] [WH] (Frac 1 3) 3
    (Frac 1 4) (Frac 1 4) (Multipliers [[1; 1]] (Some [[0; 3]; [3; 0]]) []))) = Fails Lying_name.
Proof. vm_compute; reflexivity. Qed.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** What the theorems say of it: no mechanism on two values with this level that is weakly honest errs less than once in four. *)
Example none_is_better (R : realFieldType) (P : nat -> nat -> R) :
  mechanism 2 P -> keeps_level 1 3 (Steps 1) 2 P -> has_property 2 P WH ->
  zr R 1 / zr R 4 <= average_risk best 2 P.
Proof.
move=> hP hl hw; apply: (@accepted_certificate _ best file_accepted (erefl _) R P hP hl).
  by move=> l [<-|[]].
exact: lexx.
Qed.

(** And one that does is there: the file's own. *)
Example one_is_there (R : realFieldType) :
  let P := @own R (file honest_rows best) in
  mechanism 2 P /\ keeps_level 1 3 (Steps 1) 2 P /\ has_property 2 P WH /\ average_risk best 2 P = zr R 1 / zr R 4.
Proof.
have [h1 [h2 h3]] := @accepted_mechanism _ best file_accepted (erefl _) R.
split=> //; split=> //; split; first by apply: h3; left.
exact: proj2 (@accepted_risk _ best file_accepted (erefl _) R).
Qed.
