(** * The checker

    What is decided about a mechanism file, as functions on integers. [Sound] proves
    what an answer [Holds] means. This file contains functions alone and is what is
    extracted to OCaml; nothing here is part of a statement unless [Sound] uses it.

    It decides about tables of integers, geometric noise on 0..n and randomised response;
    of anything else the answer is [Open], which is neither yes nor no. *)

From Coq Require Import ZArith QArith Qabs List Bool Orders Sorting.Mergesort Lia.
From Discreet Require Import Privacy Families.
Import ListNotations.
Local Open Scope Z_scope.

(** ** What a file says *)

Record fraction := Frac { num : Z; den : Z }.

Inductive channel :=
| Table (total : Z) (rows : list row)
| Geometric (n : Z) (a : fraction)
| Response (size : Z) (keep : fraction).

Inductive neighbours :=
| Steps (d : Z)
| Any
| Pairs (pairs : list (Z * Z * fraction)).

(** The seven properties; [F] is fairness and [SY] symmetry. *)
Inductive letter := RH | RM | CH | CM | F | WH | SY.

Record grid := Grid { low : option fraction; high : option fraction; step : fraction }.

(** A text, as its bytes. *)
Definition text := list Z.

(** True values or reports: numbers of a grid, or names, of which one may be for all other answers. *)
Inductive answers :=
| Numbers (values : grid)
| Texts (names : list text) (other : option text).

(** What a loss, a prior or a limit is called; [..._numbers] is a name that says nothing. [Power 0] is l0, and so on;
    [Moment k x] is the mean of (value - x)^k. *)
Inductive loss_name :=
  Loss_numbers | Power (k : Z) | Lp (k : fraction) | Tail (x : fraction) | Threshold (x : fraction) | Asymmetric (over under : fraction).
Inductive prior_name := Prior_numbers | Uniform | Binomial (chance : fraction) | Maximum (k : fraction) | Minimum (k : fraction).
Inductive limit_name := Limit_numbers | Moment (k about : fraction).

(** A limit of priors: low <= a . p <= high, where a is the coefficients over [limit_per]. *)
Record limit := Limit {
  coefficients : list Z; limit_per : Z; low_end : option fraction; high_end : option fraction; limit_called : limit_name }.

(** A set of priors: every mixture of some, and how the prior of the bound is mixed from them; or all within limits, and a
    price for each end of a limit, and a prior under which the risk is the one that is claimed. *)
Inductive prior_set :=
| Hull (members : list (list Z)) (mixture : list Z)
| Limits (limits : list limit) (prices : list fraction) (worst : list Z).

Inductive risk_kind := Average | Worst (places : list Z) | Largest (among : prior_set).

(** Multipliers: one line of integers after the other, for each kind of constraint. Those of the level may be left out. *)
Record multipliers := Multipliers {
  of_rows : list (list Z);
  level_lines : option (list (list Z));
  of_letters : list (letter * list (list Z)) }.

Definition of_level (g : multipliers) : list (list Z) := match level_lines g with Some l => l | None => [] end.

Record certificate := Certificate {
  per : Z; losses : list (list Z);  (* loss = integer / per *)
  prior : list Z;
  kind : risk_kind;
  loss_called : loss_name; prior_called : prior_name; members_called : list prior_name;  (* those of a hull *)
  require : list letter;
  own_alpha : fraction;
  bits : Z;
  objective : fraction;
  bound : fraction;
  given : multipliers }.

Record tight_level := Tight { tight_alpha : fraction; tight_power : Z; tight_exact : bool }.

Record document := Document {
  the_channel : channel;
  inputs : answers; outputs : answers;
  the_neighbours : neighbours;
  alpha : fraction;
  epsilon : option (fraction * option fraction);  (* factor, or factor times ln(base) *)
  tight : option tight_level;
  listed : option (list letter);
  proof : option certificate;
  said_twice : list (text * text) }.  (* what the recipe says of the certificate's problem, and what the certificate says *)

(** ** Answers *)

Inductive fault :=
| Bad_number | Bad_table | Bad_total | Bad_sum | Bad_cells | Bad_channel | Bad_grid | Grids_do_not_fit
| Bad_neighbours | Bad_alpha | Bad_epsilon | Alpha_above_epsilon | Level_fails | Tight_differs | Properties_differ
| Bad_certificate | Lying_name | Recipe_differs | Properties_missing | Risk_differs | Other_level | Bad_multipliers | Bound_differs.

Inductive gap := Too_long | Undecided_epsilon.

Inductive verdict := Holds | Fails (why : fault) | Open (what : gap).

Definition need (b : bool) (why : fault) : verdict := if b then Holds else Fails why.

Notation "v ;; w" := (match v with Holds => w | other => other end) (at level 60, right associativity).

(** ** Numbers *)

Definition fraction_ok (x : fraction) : bool := 0 <? den x.
Definition equal (x y : fraction) : bool := num x * den y =? num y * den x.

(** x^n by squaring. *)
Fixpoint squared (x : Z) (n : positive) : Z :=
  match n with
  | xH => x
  | xO n' => let y := squared x n' in y * y
  | xI n' => let y := squared x n' in x * (y * y)
  end.

Definition to_the (x n : Z) : Z :=
  match n with Z0 => 1 | Zpos n' => squared x n' | Zneg _ => 0 end.

Infix "**" := to_the (at level 30, right associativity).

Definition longest : Z := 2 ^ 21.  (* bits of a power that is written out *)

(** ** Bounds of e^x

    In units of 1/[one], which is a power of 2, rounded downwards and upwards: Taylor's series of y = x/2^h, which is below
    2^-8, then h squarings. *)

(** The terms after the k-th are added, while the upper one is more than a unit. *)
Fixpoint exp_terms (fuel : nat) (one y_low y_high k low high t_low t_high : Z) : Z * Z :=
  match fuel with
  | O => (low, high + t_high)
  | S fuel =>
      if t_high <=? 1 then (low, high + 2)
      else
        let t_low' := t_low * y_low / one / (k + 1) in
        let t_high' := - (- (t_high * y_high) / one / (k + 1)) in
        exp_terms fuel one y_low y_high (k + 1) (low + t_low') (high + t_high') t_low' t_high'
  end.

Fixpoint squarings (h : nat) (one low high : Z) : Z * Z :=
  match h with
  | O => (low, high)
  | S h => squarings h one (low * low / one) (- (- (high * high) / one))
  end.

Definition halvings (f g : Z) : nat := Z.to_nat (Z.log2 (f / g + 1) + 9).

Definition exp_bounds (f g B : Z) : Z * Z :=
  let h := halvings f g in
  let y := g * 2 ** Z.of_nat h in
  let one := 2 ** B in
  let '(low, high) := exp_terms (Z.to_nat B) one (f * one / y) (- (- (f * one) / y)) 0 one one one one in
  squarings h one low high.

(** Is a/b >= e^-(f/g)? With B bits, then twice as many, as often as [fuel] says. *)
Fixpoint exp_compare (fuel : nat) (a b f g B : Z) : verdict :=
  let '(low, high) := exp_bounds f g B in
  let one := 2 ** B in
  if b * one <=? a * low then Holds
  else if a * high <? b * one then Fails Alpha_above_epsilon
  else match fuel with
  | O => Open Undecided_epsilon
  | S fuel => exp_compare fuel a b f g (2 * B)
  end.

(** How many bits a number has. *)
Definition length_of (x : Z) : Z := if x =? 0 then 0 else Z.log2 (Z.abs x) + 1.

Definition epsilon_ok (a b : Z) (e : option (fraction * option fraction)) : verdict :=
  match e with
  | None => Holds
  | Some (factor, None) =>
      need (fraction_ok factor && (0 <? num factor)) Bad_epsilon ;;
      need (0 <? a) Alpha_above_epsilon ;;
      (* e^(size) > 2^size > b *)
      if den factor * length_of b <=? num factor then Holds
      else exp_compare 6 a b (num factor) (den factor) (192 + length_of b)
  | Some (factor, Some base) =>
      need (fraction_ok factor && (0 <? num factor) && fraction_ok base && (den base <? num base)) Bad_epsilon ;;
      need (0 <? a) Alpha_above_epsilon ;;
      if (den factor * (Z.log2 b + 1) + num factor * (Z.log2 (num base) + 1) <=? longest)
      then need (b ** den factor * den base ** num factor <=? a ** den factor * num base ** num factor) Alpha_above_epsilon
      else Open Too_long
  end.

Definition alpha_ok (x : fraction) : bool := fraction_ok x && (0 <=? num x) && (num x <=? den x).

(** ** Tables *)

Definition same_length (m : nat) (r : row) : bool := Nat.eqb (length r) m.

Definition row_ok (T : Z) (r : row) : bool := forallb (Z.leb 0) r && (sum r =? T).

Definition width (rows : list row) : nat := match rows with [] => O | r :: _ => length r end.

Definition largest_total : Z := 2 ^ 63.
Definition most_entries : Z := 2 ^ 20.

Definition table_ok (T : Z) (rows : list row) : verdict :=
  let m := width rows in
  need (Nat.leb 2 (length rows) && Nat.leb 1 m && (Z.of_nat (length rows) * Z.of_nat m <=? most_entries)) Bad_table ;;
  need (forallb (same_length m) rows) Bad_table ;;
  need ((0 <? T) && (T <=? largest_total)) Bad_total ;;
  need (forallb (row_ok T) rows) Bad_sum ;;
  need (T mod 2 ^ Z.log2_up (Z.of_nat m) =? 0) Bad_cells.

(** Columns of a table of rows of [m] weights. *)
Fixpoint transpose (m : nat) (rows : list row) : list (list Z) :=
  match rows with
  | [] => repeat [] m
  | r :: rest => map (fun x => fst x :: snd x) (combine r (transpose m rest))
  end.

(** ** The smallest ratio between values at most so many steps apart *)

Fixpoint least_of_both (u v : list Z) : list Z :=
  match u, v with
  | x :: u', y :: v' => Z.min x y :: least_of_both u' v'
  | _, [] => u
  | [], _ => []
  end.

(** At each place the least of the [k] numbers from there on. *)
Fixpoint window (k : positive) (l : list Z) : list Z :=
  match k with
  | xH => l
  | xO k' => let w := window k' l in least_of_both w (skipn (Pos.to_nat k') w)
  | xI k' =>
      let w := window k' l in
      least_of_both (least_of_both w (skipn (Pos.to_nat k') w)) (skipn (Pos.to_nat (xO k')) l)
  end.

(** The smallest low/value so far is [fst / snd]. *)
Definition smaller (best : Z * Z) (pair : Z * Z) : Z * Z :=
  let (low, value) := pair in
  if snd best * low <? value * fst best then (low, value) else best.

Definition ratio_of_column (d : Z) (best : Z * Z) (column : list Z) : Z * Z :=
  let k := Z.to_pos (d + 1) in
  let back := rev column in
  let one := fold_left smaller (combine (window k column) column) best in
  fold_left smaller (combine (window k back) back) one.

Definition ratio_of_table (d : Z) (columns : list (list Z)) : Z * Z :=
  fold_left (ratio_of_column d) columns (1, 1).

(** ** Pairs *)

Fixpoint row_keeps (A B : Z) (q : Z) (r s : row) : bool :=
  match r, s with
  | [], [] => true
  | w :: r', w' :: s' => (A * w ** q <=? B * w' ** q) && row_keeps A B q r' s'
  | _, _ => false
  end.

Definition pair_keeps (a b : Z) (rows : list row) (x : Z * Z * fraction) : bool :=
  let '(i, k, d) := x in
  let A := a ** num d in
  let B := b ** num d in
  let r := nth (Z.to_nat i) rows [] in
  let s := nth (Z.to_nat k) rows [] in
  row_keeps A B (den d) r s && row_keeps A B (den d) s r.

Definition pair_short (T b : Z) (x : Z * Z * fraction) : bool :=
  let '(_, _, d) := x in den d * (Z.log2 T + 1) + num d * (Z.log2 b + 1) <=? longest.

Fixpoint in_order (previous : Z * Z) (pairs : list (Z * Z * fraction)) : bool :=
  match pairs with
  | [] => true
  | (i, k, _) :: rest =>
      ((fst previous <? i) || ((fst previous =? i) && (snd previous <? k))) && in_order (i, k) rest
  end.

Definition pairs_ok (size : Z) (pairs : list (Z * Z * fraction)) : bool :=
  negb (match pairs with [] => true | _ => false end) &&
  forallb (fun x => let '(i, k, d) := x in
    (0 <=? i) && (i <? k) && (k <? size) && fraction_ok d && (0 <=? num d)) pairs &&
  in_order (-1, -1) pairs.

(** ** Properties of a square table *)

Fixpoint honest (i : nat) (lines : list (list Z)) : bool :=
  match lines with
  | [] => true
  | l :: rest => let top := nth i l 0 in forallb (fun x => x <=? top) l && honest (S i) rest
  end.

(** Rising up to place [i], falling after it. *)
Fixpoint falls_away (i : nat) (l : list Z) : bool :=
  match l with
  | x :: (y :: _) as rest =>
      match i with
      | O => (y <=? x) && falls_away O rest
      | S i' => (x <=? y) && falls_away i' rest
      end
  | _ => true
  end.

Fixpoint monotone (i : nat) (lines : list (list Z)) : bool :=
  match lines with
  | [] => true
  | l :: rest => falls_away i l && monotone (S i) rest
  end.

Fixpoint diagonal (i : nat) (lines : list (list Z)) : list Z :=
  match lines with
  | [] => []
  | l :: rest => nth i l 0 :: diagonal (S i) rest
  end.

Fixpoint same_line (u v : list Z) : bool :=
  match u, v with
  | [], [] => true
  | x :: u', y :: v' => (x =? y) && same_line u' v'
  | _, _ => false
  end.

Definition mirrored (rows : list row) : bool :=
  forallb (fun x => same_line (fst x) (snd x)) (combine rows (rev (map (@rev Z) rows))).

Definition table_has (T : Z) (rows : list row) (columns : list (list Z)) (l : letter) : bool :=
  match l with
  | RH => honest 0 columns
  | RM => monotone 0 columns
  | CH => honest 0 rows
  | CM => monotone 0 rows
  | F => forallb (Z.eqb (nth 0 (nth 0 rows []) 0)) (diagonal 0 rows)
  | WH => forallb (fun x => T <=? x * Z.of_nat (length rows)) (diagonal 0 rows)
  | SY => mirrored rows
  end.

Definition geometric_has (n p q : Z) (l : letter) : bool :=
  match l with
  | RH | RM | SY => true
  | CH | CM => (n =? 1) || (2 * p <=? q)
  | F => n =? 1
  | WH => (n =? 1) || (2 * p <=? n * (q - p))
  end.

Definition has_letter (c : channel) (columns : list (list Z)) (l : letter) : bool :=
  match c with
  | Table T rows => table_has T rows columns l
  | Geometric n a => geometric_has n (num a) (den a) l
  | Response _ _ => true
  end.

(** ** The channel, its neighbours and its level *)

Definition channel_ok (c : channel) : verdict :=
  match c with
  | Table T rows => table_ok T rows
  | Geometric n a => need ((1 <=? n) && fraction_ok a && (0 <? num a) && (num a <? den a)) Bad_channel
  | Response m keep => need ((2 <=? m) && fraction_ok keep && (0 <=? num keep) && (num keep <? den keep)) Bad_channel
  end.

(** True values and reports. *)
Definition size (c : channel) : Z :=
  match c with Table _ rows => Z.of_nat (length rows) | Geometric n _ => n + 1 | Response m _ => m end.

Definition reports (c : channel) : Z :=
  match c with Table _ rows => Z.of_nat (width rows) | _ => size c end.

Definition columns_of (c : channel) : list (list Z) :=
  match c with Table _ rows => transpose (width rows) rows | _ => [] end.

(** The tight level between values at most [d] steps apart: a fraction, and its power. *)
Definition tight_of (c : channel) (columns : list (list Z)) (d : Z) : fraction * Z :=
  match c with
  | Table _ _ => let (low, value) := ratio_of_table d columns in (Frac low value, 1)
  | Geometric n a => (a, Z.min d n)
  | Response m keep => let o := den keep - num keep in (Frac o (o + num keep * m), 1)
  end.

(** Is (x)^k at least a/b? *)
Definition power_keeps (a b : Z) (x : fraction) (k : Z) : verdict :=
  if a =? 0 then Holds
  else if k * (Z.log2 (den x) + 1) + Z.log2 b + 1 <=? longest
  then need (a * den x ** k <=? b * num x ** k) Level_fails
  else Open Too_long.

Definition geometric_pair (a b p q : Z) (x : Z * Z * fraction) : verdict :=
  let '(i, k, d) := x in
  let e := Z.abs (i - k) * den d in
  if num d =? 0 then Fails Level_fails
  else if a =? 0 then Holds
  else if e * (Z.log2 q + 1) + num d * (Z.log2 b + 1) <=? longest
  then need (a ** num d * q ** e <=? b ** num d * p ** e) Level_fails
  else Open Too_long.

Definition response_pair (a b o t : Z) (x : Z * Z * fraction) : verdict :=
  let '(_, _, d) := x in
  if den d * (Z.log2 t + 1) + num d * (Z.log2 b + 1) <=? longest
  then need (a ** num d * t ** den d <=? b ** num d * o ** den d) Level_fails
  else Open Too_long.

Fixpoint every {A} (check : A -> verdict) (l : list A) : verdict :=
  match l with
  | [] => Holds
  | x :: rest => check x ;; every check rest
  end.

(** The bits of all powers that pairs need. *)
Definition most_bits : Z := 2 ^ 31.

Definition pairs_short (c : channel) (b : Z) (pairs : list (Z * Z * fraction)) : bool :=
  let bits := fun x : Z * Z * fraction =>
    let '(i, k, d) := x in
    num d * length_of b +
    match c with
    | Table T rows => den d * length_of T
    | Geometric _ y => Z.abs (i - k) * den d * length_of (den y)
    | Response m keep => den d * (length_of (den keep) + length_of m)
    end in
  let each := match c with Table _ rows => Z.of_nat (width rows) | _ => 1 end in
  each * sum (map bits pairs) <=? most_bits.

Definition pairs_keep (c : channel) (a b : Z) (pairs : list (Z * Z * fraction)) : verdict :=
  match c with
  | Table T rows =>
      every (fun x => if pair_short T b x then need (pair_keeps a b rows x) Level_fails else Open Too_long) pairs
  | Geometric _ x => every (geometric_pair a b (num x) (den x)) pairs
  | Response m keep =>
      let o := den keep - num keep in every (response_pair a b o (o + num keep * m)) pairs
  end.

Definition claims_tight (told : option tight_level) (found : fraction * Z) : bool :=
  match told with
  | None => false
  | Some (Tight x power exact) => fraction_ok x && equal x (fst found) && (power =? snd found) && exact
  end.

Definition level_ok (d : document) (columns : list (list Z)) : verdict :=
  let c := the_channel d in
  let a := num (alpha d) in
  let b := den (alpha d) in
  let by_steps := fun k =>
    let found := tight_of c columns k in
    power_keeps a b (fst found) (snd found) ;; need (claims_tight (tight d) found) Tight_differs in
  match the_neighbours d with
  | Steps k => need (1 <=? k) Bad_neighbours ;; by_steps (Z.min k (size c - 1))
  | Any => by_steps (size c - 1)
  | Pairs pairs =>
      need (pairs_ok (size c) pairs) Bad_neighbours ;;
      (if pairs_short c b pairs then pairs_keep c a b pairs else Open Too_long) ;; need (match tight d with None => true | _ => false end) Tight_differs
  end.

(** ** Grids *)

(** A closed grid has so many values; an open one none that counts. *)
Definition grid_ok (g : grid) (values : Z) : bool :=
  fraction_ok (step g) && (0 <? num (step g)) &&
  match low g, high g with
  | Some x, Some y =>
      fraction_ok x && fraction_ok y &&
      (* (y - x) / step = values - 1 *)
      ((num y * den x - num x * den y) * den (step g) =? (values - 1) * num (step g) * (den x * den y)) && (2 <=? values)
  | _, _ => false
  end.

Definition same_text (u v : text) : bool := same_line u v.

(** The order of texts, byte by byte. *)
Fixpoint text_leb (u v : text) : bool :=
  match u, v with
  | [], _ => true
  | _, [] => false
  | x :: u', y :: v' => if x <? y then true else if y <? x then false else text_leb u' v'
  end.

Module TextOrder <: TotalLeBool.
  Definition t := text.
  Definition leb := text_leb.
  Lemma leb_total x y : leb x y = true \/ leb y x = true.
  Proof.
    revert y; induction x as [|a x IH]; intros [|b y]; simpl; auto.
    destruct (Z.ltb_spec a b), (Z.ltb_spec b a); auto; lia.
  Qed.
End TextOrder.

Module TextSort := Sort TextOrder.

Fixpoint rising (l : list text) : bool :=
  match l with
  | u :: (v :: _) as rest => negb (text_leb v u) && rising rest
  | _ => true
  end.

(** Names that differ in the number of blanks alone are the same to a reader. *)
Fixpoint squeezed (u : text) : text :=
  match u with
  | 32 :: (32 :: _) as rest => squeezed rest
  | x :: rest => x :: squeezed rest
  | [] => []
  end.

Definition longest_name : nat := 1000.

(** The letters of a text: bytes but for those that go on with a letter, in UTF-8. *)
Definition letters_of (u : text) : list Z := filter (fun x => (x <? 128) || (192 <=? x)) u.

(** A name has no control characters, and no blank stands at its ends. Which letters beyond ASCII there are, the reader says. *)
Definition name_ok (u : text) : bool :=
  negb (hd 32 u =? 32) && negb (last u 32 =? 32) && Nat.leb (length (letters_of u)) longest_name &&
  forallb (fun x => (32 <=? x) && negb (x =? 127)) u.

Definition names_ok (names : list text) (other : option text) : bool :=
  Nat.leb 2 (length names) && forallb name_ok names && rising (TextSort.sort (map squeezed names)) &&
  match other with None => true | Some u => existsb (same_text u) names end.

Definition answers_ok (x : answers) (values : Z) : bool :=
  match x with
  | Numbers g => grid_ok g values
  | Texts names other => (Z.of_nat (length names) =? values) && (values <=? most_entries) && names_ok names other
  end.

(** The same values, or the same names with the same one for other answers. *)
Definition same_answers (x y : answers) : bool :=
  let same_end := fun u v => match u, v with Some u, Some v => equal u v | _, _ => false end in
  match x, y with
  | Numbers g, Numbers h => same_end (low g) (low h) && same_end (high g) (high h) && equal (step g) (step h)
  | Texts names other, Texts names' other' =>
      Nat.eqb (length names) (length names') && forallb (fun u => same_text (fst u) (snd u)) (combine names names') &&
      match other, other' with None, None => true | Some u, Some v => same_text u v | _, _ => false end
  | _, _ => false
  end.

Definition same_grids (d : document) : bool := same_answers (inputs d) (outputs d).

(** Names have no order. *)
Definition of_names (d : document) : bool := match inputs d with Texts _ _ => true | _ => false end.

(** ** Properties *)

Definition same_letter (l l' : letter) : bool :=
  match l, l' with
  | RH, RH | RM, RM | CH, CH | CM, CM | F, F | WH, WH | SY, SY => true
  | _, _ => false
  end.

Definition all_letters : list letter := [RH; RM; CH; CM; F; WH; SY].

Definition count (l : letter) (ls : list letter) : nat := length (filter (same_letter l) ls).

(** Three properties speak of an order, and are not listed of names. *)
Definition speaks (d : document) (l : letter) : bool :=
  match l with RM | CM | SY => negb (of_names d) | _ => true end.

(** Any two names are neighbours. *)
Definition names_near (d : document) : bool :=
  negb (of_names d) || match the_neighbours d with Any => true | _ => false end.

Definition listed_ok (d : document) (columns : list (list Z)) : bool :=
  match listed d with
  | None => true
  | Some ls =>
      same_grids d && (size (the_channel d) =? reports (the_channel d)) &&
      forallb (fun l => Nat.eqb (count l ls) (if has_letter (the_channel d) columns l && speaks d l then 1 else 0)) all_letters
  end.

(** ** Certificates

    Multipliers pay for entries: a list of payments, each to a row of the table. *)

Definition payment := (nat * list Z)%type.

Definition scaled (c : Z) (l : list Z) : list Z := map (Z.mul c) l.

Fixpoint pay (M : list (list Z)) (k : nat) (v : list Z) : list (list Z) :=
  match M, k with
  | [], _ => []
  | l :: rest, O => add_rows l v :: rest
  | l :: rest, S k' => l :: pay rest k' v
  end.

Definition pay_all (M : list (list Z)) (l : list payment) : list (list Z) :=
  fold_left (fun M x => pay M (fst x) (snd x)) l M.

(** Row sums: every entry of row [j] gets the multiplier of the row. *)
Definition of_row_sums (m : nat) (q : Z) (y : list Z) : list payment :=
  combine (seq 0 m) (map (fun u => repeat (q * u) m) y).

(** The level, for each edge (j, k) both ways: P[j, .] >= (p/q) P[k, .]. *)
Fixpoint of_edges (p q : Z) (edges : list (nat * nat)) (lines : list (list Z)) : list payment :=
  match edges, lines with
  | (j, k) :: edges', u :: v :: lines' =>
      (j, scaled q u) :: (k, scaled (- p) u) :: (k, scaled q v) :: (j, scaled (- p) v) :: of_edges p q edges' lines'
  | _, _ => []
  end.

(** The sign is - before place [i] and + from there on. *)
Fixpoint turned (i : nat) (l : list Z) : list Z :=
  match l, i with
  | [], _ => []
  | u :: rest, O => u :: turned O rest
  | u :: rest, S i' => - u :: turned i' rest
  end.

Fixpoint turned_back (i : nat) (l : list Z) : list Z :=
  match l, i with
  | [], _ => []
  | u :: rest, O => - u :: turned_back O rest
  | u :: rest, S i' => u :: turned_back i' rest
  end.

(** Of the entries (x, y) and (x + 1, y), the one nearer to (y, y) exceeds the other: + for (x, y) where y <= x. *)
Fixpoint of_RM (q : Z) (x : nat) (lines : list (list Z)) : list payment :=
  match lines with
  | [] => []
  | u :: rest =>
      (x, scaled q (turned_back (S x) u)) :: (S x, scaled (- q) (turned_back (S x) u)) :: of_RM q (S x) rest
  end.

(** Of the entries (x, y) and (x, y + 1), the one nearer to (x, x): + for (x, y) where x <= y. *)
Fixpoint of_CM (q : Z) (x : nat) (lines : list (list Z)) : list payment :=
  match lines with
  | [] => []
  | u :: rest =>
      let t := turned x u in
      (x, scaled q (t ++ [0])) :: (x, scaled (- q) (0 :: t)) :: of_CM q (S x) rest
  end.

(** [u] at place [i] of [m], else nothing. *)
Definition at_place (m i : nat) (u : Z) : list Z := map (fun j => if Nat.eqb i j then u else 0) (seq 0 m).

Fixpoint on_diagonal (m : nat) (q : Z) (i : nat) (u : list Z) : list payment :=
  match u with
  | [] => []
  | x :: rest => (i, at_place m i (q * x)) :: on_diagonal m q (S i) rest
  end.

Fixpoint of_RH (m : nat) (q : Z) (x : nat) (lines : list (list Z)) : list payment :=
  match lines with
  | [] => []
  | u :: rest => (x, scaled (- q) u) :: on_diagonal m q 0 u ++ of_RH m q (S x) rest
  end.

Fixpoint of_CH (m : nat) (q : Z) (x : nat) (lines : list (list Z)) : list payment :=
  match lines with
  | [] => []
  | u :: rest => (x, scaled (- q) u) :: (x, at_place m x (q * sum u)) :: of_CH m q (S x) rest
  end.

Definition of_F (m : nat) (q : Z) (u : list Z) : list payment :=
  on_diagonal m q 0 u ++ on_diagonal m (- q) 1 u.

Definition of_letter (m : nat) (q : Z) (x : letter * list (list Z)) : list payment :=
  match x with
  | (RM, lines) => of_RM q 0 lines
  | (CM, lines) => of_CM q 0 lines
  | (RH, lines) => of_RH m q 0 lines
  | (CH, lines) => of_CH m q 0 lines
  | (WH, lines) => on_diagonal m q 0 (concat lines)
  | (F, lines) => of_F m q (concat lines)
  | (SY, _) => []
  end.

Definition shape (rows columns : nat) (lines : list (list Z)) : bool :=
  Nat.eqb (length lines) rows && forallb (same_length columns) lines.

Definition nonneg (lines : list (list Z)) : bool := forallb (forallb (Z.leb 0)) lines.

Definition letter_shape (m : nat) (x : letter * list (list Z)) : bool :=
  match x with
  | (RM, lines) => shape (m - 1) m lines && nonneg lines
  | (CM, lines) => shape m (m - 1) lines && nonneg lines
  | (RH, lines) | (CH, lines) => shape m m lines && nonneg lines
  | (WH, lines) => shape 1 m lines && nonneg lines
  | (F, lines) => shape 1 (m - 1) lines
  | (SY, _) => false
  end.

Definition mem (l : letter) (ls : list letter) : bool := existsb (same_letter l) ls.

(** What required properties imply: RM implies RH, CM implies CH, and with fairness either is both. *)
Definition allowed (require : list letter) (l : letter) : bool :=
  let report := mem RH require || mem RM require in
  let truth := mem CH require || mem CM require in
  match l with
  | RH => report || (mem F require && truth)
  | CH => truth || (mem F require && report)
  | SY => false
  | other => mem other require
  end.

(** Cost of each entry, prior times loss; with symmetry required, the sum with its mirror image. *)
Definition costs (c : certificate) : list (list Z) :=
  let plain := map (fun x => scaled (fst x) (snd x)) (combine (prior c) (losses c)) in
  if mem SY (require c) then map (fun x => add_rows (fst x) (snd x)) (combine plain (rev (map (@rev Z) plain))) else plain.

Definition unit_of (c : certificate) : Z :=
  sum (prior c) * per c * (if mem SY (require c) then 2 else 1).

(** The sum of the reduced costs that are negative. *)
Fixpoint charge_line (f unit : Z) (cost paid : list Z) : Z :=
  match cost, paid with
  | c :: cost', x :: paid' => Z.min 0 (c * f - unit * x) + charge_line f unit cost' paid'
  | _, _ => 0
  end.

Fixpoint charges (f unit : Z) (cost paid : list (list Z)) : Z :=
  match cost, paid with
  | c :: cost', x :: paid' => charge_line f unit c x + charges f unit cost' paid'
  | _, _ => 0
  end.

Definition edges_of (m : nat) (near : neighbours) : option (list (nat * nat)) :=
  let by_steps := fun d => flat_map (fun j => map (fun k => (j, k)) (seq (S j) (Nat.min (j + d) (m - 1) - j))) (seq 0 m) in
  match near with
  | Steps d => Some (by_steps (Z.to_nat (Z.min d (Z.of_nat m))))
  | Any => Some (by_steps (m - 1)%nat)
  | Pairs pairs =>
      if forallb (fun x => let '(_, _, d) := x in num d =? den d) pairs
      then Some (map (fun x => let '(i, k, _) := x in (Z.to_nat i, Z.to_nat k)) pairs)
      else None
  end.

Definition payments (c : certificate) (m : nat) (edges : list (nat * nat)) : list payment :=
  let p := num (own_alpha c) in
  let q := den (own_alpha c) in
  of_row_sums m q (concat (of_rows (given c))) ++ of_edges p q edges (of_level (given c)) ++
  flat_map (of_letter m q) (of_letters (given c)).

Definition honest_sum (c : certificate) : Z :=
  sum (concat (flat_map (fun x => match x with (WH, lines) => lines | _ => [] end) (of_letters (given c)))).

Definition multipliers_ok (c : certificate) (m : nat) (edges : list (nat * nat)) : bool :=
  shape 1 m (of_rows (given c)) &&
  shape (2 * length edges) m (of_level (given c)) && nonneg (of_level (given c)) &&
  forallb (fun x => allowed (require c) (fst x) && letter_shape m x) (of_letters (given c)).

(** bound = (sum of rows + sum of WH / m) / scale + charged / (unit q scale), without fractions. *)
Definition bound_ok (c : certificate) (m : nat) (edges : list (nat * nat)) : bool :=
  let q := den (own_alpha c) in
  let scale := 2 ^ bits c in
  let unit := unit_of c in
  let paid := pay_all (repeat (repeat 0 m) m) (payments c m edges) in
  let charged := charges (q * scale) unit (costs c) paid in
  let size := Z.of_nat m in
  den (bound c) * ((sum (concat (of_rows (given c))) * size + honest_sum c) * (unit * q) + charged * size)
  =? num (bound c) * (scale * unit * q * size).

(** ** Certificates by rays

    Where neighbours are all values up to [D] steps apart, no multipliers of the level are told: at the prices of each report no
    ray of the privacy cone may cost less than nothing. The cheapest ray is found from the last value backwards; [C] is
    the sum of the prices up to the present value, and all costs are told at its height, with [C] added. Products are
    rounded down. *)

Record rays := Rays { frees : list Z; ups : list Z; downs : list Z }.

Definition least (first : Z) (l : list Z) : Z := fold_right Z.min first l.

(** This height was reached just now: one goes back to it at once, but on in the same direction only [D] values later. *)
Definition turned_round (D : nat) (total : Z) (free steps : list Z) : Z :=
  least (nth (D - 1) free total) (firstn (D - 1) steps).

Fixpoint ray_costs (p q : Z) (D : nat) (total C : Z) (prices : list Z) : rays :=
  match prices with
  | [] => Rays [C] [] []
  | c :: rest =>
      let s := ray_costs p q D total (C + c) rest in
      let up := C + (turned_round D total (frees s) (downs s) - C) * p / q in
      let down := C + (turned_round D total (frees s) (ups s) - C) * q / p in
      Rays (Z.min (hd total (frees s)) (Z.min up down) :: frees s) (up :: ups s) (down :: downs s)
  end.

Definition cheapest_ray (p q : Z) (D : nat) (prices : list Z) : Z :=
  match prices with
  | [] => 0
  | c :: rest => let total := sum prices in hd total (frees (ray_costs p q D total c rest))
  end.

(** What the rows leave of a report's costs, rounded down. *)
Definition prices_of (scale unit : Z) (column y : list Z) : list Z :=
  map (fun x => fst x * scale / unit - snd x) (combine column y).

Definition reach_of (m : nat) (near : neighbours) : option nat :=
  match near with
  | Steps d => Some (Z.to_nat (Z.min d (Z.of_nat m)))
  | Any => Some (m - 1)%nat
  | Pairs _ => None
  end.

Definition rays_ok (c : certificate) (m : nat) (D : nat) : bool :=
  let y := concat (of_rows (given c)) in
  shape 1 m (of_rows (given c)) && match of_letters (given c) with [] => true | _ => false end &&
  forallb (fun column =>
    0 <=? cheapest_ray (num (own_alpha c)) (den (own_alpha c)) D (prices_of (2 ^ bits c) (unit_of c) column y))
    (transpose m (costs c)).

Definition ray_bound_ok (c : certificate) : bool :=
  den (bound c) * sum (concat (of_rows (given c))) =? num (bound c) * 2 ^ bits c.

(** ** The risk of the mechanism itself *)

(** The risk of each true value, over [per] and the total. *)
Fixpoint dot (u v : list Z) : Z :=
  match u, v with
  | x :: u', y :: v' => x * y + dot u' v'
  | _, _ => 0
  end.

Fixpoint risks (losses rows : list (list Z)) : list Z :=
  match losses, rows with
  | l :: losses', r :: rows' => dot l r :: risks losses' rows'
  | _, _ => []
  end.

Definition place_ok (m : nat) (j : Z) : bool := (0 <=? j) && (j <? Z.of_nat m).

(** The prior of a worst case gives nothing to other values. *)
Definition prior_inside (c : certificate) (places : list Z) (m : nat) : bool :=
  forallb (fun j => (nth j (prior c) 0 =? 0) || existsb (Z.eqb (Z.of_nat j)) places) (seq 0 m).

Definition largest (l : list Z) : Z := match l with [] => 0 | x :: rest => fold_left Z.max rest x end.

(** *** Sets of priors *)

Definition rational (x : fraction) : Q := num x # Z.to_pos (den x).

Fixpoint dotQ (u v : list Q) : Q :=
  match u, v with
  | x :: u', y :: v' => x * y + dotQ u' v'
  | _, _ => 0
  end%Q.

(** [x] is one of the numbers, and none is larger. *)
Definition is_largest (x : Q) (l : list Q) : bool := existsb (Qeq_bool x) l && forallb (fun y => Qle_bool y x) l.

Definition normal (p : list Z) : list Q := map (fun x => x # Z.to_pos (sum p)) p.

(** The sum of the members' probabilities times their shares, for one value. *)
Definition mixed (members : list (list Z)) (shares : list Z) (j : nat) : Q :=
  dotQ (map inject_Z shares) (map (fun p => nth j (normal p) 0%Q) members).

(** c . p <= 0, one for each end. *)
Definition ends_of (l : limit) : list (list Q) :=
  let a := map (fun x => x # Z.to_pos (limit_per l)) (coefficients l) in
  match low_end l with None => [] | Some e => [map (fun x => rational e - x)%Q a] end ++
  match high_end l with None => [] | Some e => [map (fun x => x - rational e)%Q a] end.

Definition end_ok (e : option fraction) : bool := match e with None => true | Some x => fraction_ok x end.

Definition limit_ok (m : nat) (l : limit) : bool :=
  same_length m (coefficients l) && (0 <? limit_per l) && end_ok (low_end l) && end_ok (high_end l).

Definition law_ok (m : nat) (p : list Z) : bool := same_length m p && forallb (Z.leb 0) p && (0 <? sum p).

(** The loss of a true value less what the ends are paid for it. *)
Definition left_of (ends : list (list Q)) (prices : list Q) (x : Q) (j : nat) : Q :=
  (x - dotQ prices (map (fun c => nth j c 0) ends))%Q.

Definition most_parts : nat := 1024.

Definition set_ok (m : nat) (law : list Z) (s : prior_set) (risks : list Q) (told : Q) : verdict :=
  match s with
  | Hull members shares =>
      need (Nat.leb 1 (length members) && Nat.leb (length members) most_parts && forallb (law_ok m) members
            && law_ok (length members) shares) Bad_certificate ;;
      need (forallb (fun j => Qeq_bool (mixed members shares j * inject_Z (sum law)) (inject_Z (nth j law 0 * sum shares))) (seq 0 m))
           Bad_certificate ;;
      need (is_largest told (map (fun p => dotQ (normal p) risks) members)) Risk_differs
  | Limits limits prices worst =>
      let ends := flat_map ends_of limits in
      let paid := map rational prices in
      need (Nat.leb 1 (length limits) && Nat.leb (length limits) most_parts && forallb (limit_ok m) limits) Bad_certificate ;;
      need (law_ok m worst && forallb (fun p => forallb (fun c => Qle_bool (dotQ c (map inject_Z p)) 0) ends) [law; worst])
           Bad_certificate ;;
      need (Nat.eqb (length prices) (length ends) && forallb (fun x => fraction_ok x && (0 <=? num x)) prices) Bad_certificate ;;
      need (is_largest told (map (fun x => left_of ends paid (fst x) (snd x)) (combine risks (seq 0 m)))) Risk_differs ;;
      need (Qeq_bool (dotQ (normal worst) risks) told) Risk_differs
  end.

Definition risk_ok (c : certificate) (T : Z) (rows : list row) : verdict :=
  let found := risks (losses c) rows in
  let m := length rows in
  match kind c with
  | Average =>
      need (num (objective c) * (sum (prior c) * per c * T) =? den (objective c) * dot (prior c) found) Risk_differs
  | Worst places =>
      need (negb (match places with [] => true | _ => false end) && forallb (place_ok m) places) Bad_certificate ;;
      need (prior_inside c places m) Bad_certificate ;;
      need (num (objective c) * (per c * T) =? den (objective c) * largest (map (fun j => nth (Z.to_nat j) found 0) places)) Risk_differs
  | Largest s => set_ok m (prior c) s (map (fun x => x # Z.to_pos (per c * T)) found) (rational (objective c))
  end.

(** ** Names: numbers that are called by a name must be those of the name *)

Definition grid_value (x : answers) (i : nat) : Q :=
  match x with
  | Numbers g => match low g with Some y => rational y | None => 0 end + inject_Z (Z.of_nat i) * rational (step g)
  | Texts _ _ => inject_Z (Z.of_nat i)
  end%Q.

Definition written_bits : Z := 2 ^ 13.

Definition short (x : fraction) : bool := (length_of (num x) <=? written_bits) && (length_of (den x) <=? written_bits).

(** A whole power between 1 and 64. *)
Definition power_of (x : fraction) : option Z :=
  if (den x =? 1) && (1 <=? num x) && (num x <=? 64) then Some (num x) else None.

(** What the name says that report [y] costs when [x] is true; [None] where it says nothing: a fractional power is irrational,
    and what stands in the file is a float near it. *)
Definition loss_meant (name : loss_name) (x y : Q) : option Q :=
  let apart := Qabs (y - x) in
  let power := fun k => Some (if Qeq_bool x y then 0%Q else Qpower apart k) in
  match name with
  | Loss_numbers => None
  | Power k => power k
  | Lp x => match power_of x with Some k => power k | None => None end
  | Tail t => if short t then Some (if Qle_bool apart (rational t) then 0 else 1) else None
  | Threshold t => if short t then Some (if Bool.eqb (Qle_bool (rational t) x) (Qle_bool (rational t) y) then 0 else 1) else None
  | Asymmetric over under =>
      if short over && short under
      then Some (if Qeq_bool x y then 0 else (if Qle_bool x y then rational over else rational under) * apart) else None
  end%Q.

Definition loss_fits (d : document) (c : certificate) (m : nat) : bool :=
  forallb (fun i => forallb (fun j =>
    match loss_meant (loss_called c) (grid_value (inputs d) i) (grid_value (outputs d) j) with
    | None => true
    | Some v => Qeq_bool (nth j (nth i (losses c) []) 0 # Z.to_pos (per c)) v
    end) (seq 0 m)) (seq 0 m).

(** The terms of (u + v)^n, from u^n to v^n, times the binomial coefficients. *)
Fixpoint binomial (u v : Z) (n : nat) : list Z :=
  match n with
  | O => [1]
  | S n' => let l := binomial u v n' in add_rows (scaled u l ++ [0]) (0 :: scaled v l)
  end.

(** Of [k] values between the ends the largest is at most half a step above value i: (2 i + 1)^k over (2 n)^k. *)
Definition maximum (k : Z) (n : nat) : list Z :=
  let steps := map (fun i => (2 * Z.of_nat i + 1) ** k) (seq 0 n) ++ [(2 * Z.of_nat n) ** k] in
  map (fun x => fst x - snd x) (combine steps (0 :: steps)).

(** Weights are those of a distribution up to 1e-9. *)
Definition near_law (law exact : list Z) : bool :=
  let whole := sum exact in
  let total := sum law in
  sum (map (fun x => Z.abs (fst x * whole - total * snd x)) (combine law exact)) * 10 ^ 9 <=? 2 * total * whole.

(** A law that is called by a name is the one of that name; names that say nothing, or whose numbers are too long to be
    written out, fit all. *)
Definition prior_fits (name : prior_name) (law : list Z) : bool :=
  let n := (length law - 1)%nat in
  let whole := fun x =>
    (den x =? 1) && (1 <=? num x) && (num x * length_of (2 * Z.of_nat n) <=? written_bits) in
  match name with
  | Prior_numbers => true
  | Uniform => forallb (Z.eqb (nth 0 law 0)) law
  | Binomial x =>
      negb (Z.of_nat n * length_of (den x) <=? written_bits) ||
      ((0 <? num x) && (num x <? den x) && near_law law (binomial (den x - num x) (num x) n))
  | Maximum x => negb (whole x) || near_law law (maximum (num x) n)
  | Minimum x => negb (whole x) || near_law law (rev (maximum (num x) n))
  end.

Definition limit_fits (g : answers) (l : limit) : bool :=
  match limit_called l with
  | Limit_numbers => true
  | Moment k about =>
      match power_of k with
      | None => true
      | Some k => forallb (fun x =>
          Qeq_bool (fst x # Z.to_pos (limit_per l)) (Qpower (grid_value g (snd x) - rational about) k))
          (combine (coefficients l) (seq 0 (length (coefficients l))))
      end
  end.

(** The loss, the prior of the bound, whatever the risk is, and the parts of a set of priors. *)
Definition called_rightly (d : document) (c : certificate) (m : nat) : bool :=
  loss_fits d c m && prior_fits (prior_called c) (prior c) &&
  match kind c with
  | Average | Worst _ => true
  | Largest (Hull members _) =>
      Nat.eqb (length (members_called c)) (length members) &&
      forallb (fun x => prior_fits (fst x) (snd x)) (combine (members_called c) members)
  | Largest (Limits limits _ _) => forallb (limit_fits (inputs d)) limits
  end.

(** ** How much there is to do: files that would take long are not decided *)

Definition fraction_length (x : fraction) : Z := length_of (num x) + length_of (den x).
Definition end_length (x : option fraction) : Z := match x with None => 0 | Some x => fraction_length x end.
Definition longest_of (l : list Z) : Z := fold_left (fun n x => Z.max n (length_of x)) l 0.

Definition answers_length (x : answers) : Z :=
  match x with Numbers g => end_length (low g) + end_length (high g) + fraction_length (step g) | Texts _ _ => 0 end.

Definition names_short (d : document) (c : certificate) (m : nat) : bool :=
  let grids := answers_length (inputs d) + answers_length (outputs d) in
  let power := match loss_called c with Lp x => Z.min 64 (num x) | _ => 2 end in
  Z.of_nat m * Z.of_nat m * power * grids <=? most_bits.

Definition set_short (d : document) (c : certificate) (m : nat) (T : Z) : bool :=
  let one := fun p => longest_of p + length_of (sum p) in
  let m' := Z.of_nat m in
  let risk := m' * m' * (length_of (per c * T) + one (concat (losses c))) in
  match kind c with
  | Largest (Hull members shares) =>
      let all := sum (map one members) + one shares + one (prior c) in
      (Z.of_nat (length members) * m' * all <=? 4 * most_bits) && (risk * (all + m') <=? 4 * most_bits)
  | Largest (Limits limits prices worst) =>
      let line := fun l => 64 * (longest_of (coefficients l) + length_of (limit_per l) + end_length (low_end l) + end_length (high_end l)) in
      let all := sum (map line limits) + sum (map fraction_length prices) + one worst + one (prior c) in
      let names := 64 * (answers_length (inputs d) + sum (map (fun l => match limit_called l with Moment _ x => fraction_length x | _ => 0 end) limits)) in
      (m' * Z.of_nat (length limits) * (all + names) <=? 4 * most_bits) && (risk * (one worst + m') <=? 4 * most_bits)
  | _ => true
  end.

Definition longest_bits : Z := 2 ^ 13.

(** Families that are small enough are written out. *)
Definition weights_of (c : channel) : option (Z * list row) :=
  match c with
  | Table T rows => Some (T, rows)
  | Geometric n a =>
      if (n <=? 256) && (n * Z.log2 (den a) <=? longest_bits)
      then let k := Z.to_nat n in Some (geometric_total (num a) (den a) k, geometric (num a) (den a) k) else None
  | Response m keep =>
      if m <=? 256
      then let k := Z.to_nat m in Some (den keep * m, response (num keep) (den keep) k) else None
  end.

(** Multipliers of the rows alone are a proof by rays, where neighbours are all values up to some steps apart. *)
Definition by_rays (near : neighbours) (g : multipliers) : bool :=
  match near, level_lines g, of_letters g with
  | Pairs _, _, _ => false
  | _, None, [] => true
  | _, _, _ => false
  end.

Definition certificate_ok (d : document) (columns : list (list Z)) (c : certificate) : verdict :=
  match weights_of (the_channel d) with
  | None => Open Too_long
  | Some (T, rows) =>
      let m := length rows in
      need (size (the_channel d) =? reports (the_channel d)) Bad_certificate ;;
      need ((0 <? per c) && shape m m (losses c) && nonneg (losses c) && law_ok m (prior c)) Bad_certificate ;;
      need (negb (of_names d) && match outputs d with Texts _ _ => false | _ => true end) Bad_certificate ;;
      need (match require c with [] => true | _ => same_grids d end
            && forallb (has_letter (the_channel d) columns) (require c)) Properties_missing ;;
      need (fraction_ok (objective c) && fraction_ok (bound c)) Bad_number ;;
      (if set_short d c m T then risk_ok c T rows else Open Too_long) ;;
      (if names_short d c m then need (called_rightly d c m) Lying_name else Open Too_long) ;;
      need (fraction_ok (own_alpha c) && (0 <? num (own_alpha c)) && (num (own_alpha c) <? den (own_alpha c))) Bad_certificate ;;
      need (equal (own_alpha c) (alpha d)) Other_level ;;
      need ((0 <=? bits c) && (bits c <=? longest_bits)) Bad_certificate ;;
      if by_rays (the_neighbours d) (given c) then
        match reach_of m (the_neighbours d) with
        | None => Fails Bad_certificate
        | Some D =>
            need (rays_ok c m D) Bad_multipliers ;;
            need (ray_bound_ok c) Bound_differs
        end
      else
        match edges_of m (the_neighbours d) with
        | None => Fails Bad_certificate
        | Some edges =>
            need (multipliers_ok c m edges) Bad_multipliers ;;
            need (bound_ok c m edges) Bound_differs
        end
  end.

(** ** The whole document *)

Definition check (d : document) : verdict :=
  let c := the_channel d in
  channel_ok c ;;
  need (answers_ok (inputs d) (size c) && answers_ok (outputs d) (reports c) && names_near d) Grids_do_not_fit ;;
  need (alpha_ok (alpha d)) Bad_alpha ;;
  epsilon_ok (num (alpha d)) (den (alpha d)) (epsilon d) ;;
  let columns := columns_of c in
  level_ok d columns ;;
  need (listed_ok d columns) Properties_differ ;;
  need (forallb (fun x => same_text (fst x) (snd x)) (said_twice d)) Recipe_differs ;;
  match proof d with
  | None => Holds
  | Some x => certificate_ok d columns x
  end.

(** A level of 0 promises nothing, though what the file says be true. *)
Definition promises_nothing (d : document) : bool := num (alpha d) =? 0.
