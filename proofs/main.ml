(* Reads mechanism files into the document of the proved checker, and says what it answers.
   Trusted, not proved: this reader puts the integers and texts of a file where they belong and refuses what has no such place: another
   format or version, a rho of a kind that is covered, a recipe's distance outside 0 to 1. It decides which names of losses, priors and limits mean something
   (those in canonical form), and which parts of the recipe are compared with the certificate. Everything else is decided in Coq.

     discreet-checker FILE ...     a line for each file; the exit code is that of the worst; - is standard input
     discreet-checker --lines      a document in each line of standard input, an answer in each line of the output
     discreet-checker --json       the same lines, but whether each can be read at all: 0 or 2
     discreet-checker --alias      a number of cells and weights in each line; for each cell what is its own, and whose the rest is

   0: all that is claimed holds. 1: something does not. 2: cannot be read. 3: a kind that no theorem here covers. *)

module Whole = Z (* zarith's, before the checker's own hides it *)

open Checker

exception Refused of string
exception Uncovered of string

let refuse words = raise (Refused words)
let z = Whole.of_string

let is_integer s =
  let n = String.length s in
  let from = if n > 0 && s.[0] = '-' then 1 else 0 in
  n > from && n - from <= Json.most_digits
  && (let good = ref true in
      for i = from to n - 1 do (match s.[i] with '0' .. '9' -> () | _ -> good := false) done;
      !good)

let integer = function
  | Json.Integer s -> z s
  | Json.String s when is_integer s -> z s
  | _ -> refuse "a number is not an integer"

let fraction_of_text s =
  let part t = if is_integer t then z t else refuse "a number is not a fraction" in
  match String.index_opt s '/' with
  | None -> { num = part s; den = Whole.one }
  | Some i ->
      let den = part (String.sub s (i + 1) (String.length s - i - 1)) in
      if Whole.sign den <= 0 then refuse "a denominator is not positive";
      { num = part (String.sub s 0 i); den }

let fraction = function
  | Json.String s -> fraction_of_text s
  | _ -> refuse "a fraction is not a text"

(* The parts with these names; there is no other. *)
let fields where names maybe = function
  | Json.Object parts ->
      List.iter
        (fun (key, _) ->
          if not (List.mem key names || List.mem key maybe) then refuse (where ^ " has a part that is not known"))
        parts;
      List.map
        (fun name ->
          match List.assoc_opt name parts with
          | Some value -> value
          | None -> refuse (Printf.sprintf "%s has no %s" where name))
        names
  | _ -> refuse (where ^ " is not an object")

let field where name = function
  | Json.Object parts when List.mem_assoc name parts -> List.assoc name parts
  | _ -> refuse (Printf.sprintf "%s has no %s" where name)

let words = function
  | Json.String s ->
      String.iter (fun c -> if Char.code c > 126 then raise (Uncovered "letters among numbers")) s;
      let blank = function ' ' | '\t' | '\n' | '\r' | '\011' | '\012' | '\028' .. '\031' -> true | _ -> false in
      let found = ref [] and from = ref (-1) in
      String.iteri
        (fun i c ->
          if blank c then begin
            if !from >= 0 then found := String.sub s !from (i - !from) :: !found;
            from := -1
          end
          else if !from < 0 then from := i)
        s;
      if !from >= 0 then found := String.sub s !from (String.length s - !from) :: !found;
      List.rev !found
  | _ -> refuse "integers do not stand in a text"

let integers text = List.map (fun s -> if is_integer s then z s else refuse "a number is not an integer") (words text)

let lines = function
  | Json.List l -> List.map integers l
  | _ -> refuse "lines of integers are not a list"

let unless_null read = function Json.Null -> None | value -> Some (read value)

let channel part =
  match field "the channel" "kind" part with
  | Json.String "table" -> (
      match fields "the channel" [ "kind"; "total"; "rows" ] [] part with
      | [ _; total; rows ] -> Table (integer total, lines rows)
      | _ -> assert false)
  | Json.String "geometric" -> (
      match fields "the channel" [ "kind"; "n"; "a" ] [] part with
      | [ _; n; a ] -> Geometric (integer n, fraction a)
      | _ -> assert false)
  | Json.String "mixture" -> (
      (match part with
       | Json.Object parts when (match List.assoc_opt "other" parts with None | Some Json.Null -> false | _ -> true) ->
           raise (Uncovered "a value that is kept or drawn by another channel")
       | _ -> ());
      match fields "the channel" [ "kind"; "size"; "keep" ] [] part with
      | [ _; size; keep ] -> Response (integer size, fraction keep)
      | _ -> assert false)
  | Json.String ("then" | "additive" | "clamped" | "map" | "window" | "projective" as kind) -> raise (Uncovered ("a channel of kind " ^ kind))
  | _ -> refuse "the channel is of an unknown kind"

(* Texts for people: printable, and beyond ASCII nothing is decided about them. *)
let plain_text = function
  | Json.String s ->
      String.iter
        (fun c ->
          if Char.code c > 127 then raise (Uncovered "letters beyond ASCII");
          if Char.code c < 32 || Char.code c = 127 then refuse "a text is not plain")
        s;
      s
  | _ -> refuse "a text is something else"

(* A text as the checker takes it: its bytes. *)
let text_of s = List.init (String.length s) (fun i -> Whole.of_int (Char.code s.[i]))

(* Of names, letters up to U+023F are taken, ASCII and Latin with their accents; of others it is not known which look alike. *)
let name_text = function
  | Json.String s ->
      String.iter (fun c -> if Char.code c > 0xC8 || c = '\xC2' then raise (Uncovered "letters that are not Latin")) s;
      text_of s
  | _ -> refuse "a name is no text"

(* The values of a grid, or names, of which one may be for all other answers. *)
let answers part =
  match part with
  | Json.Object parts when List.mem_assoc "names" parts -> (
      match fields "a list of names" [ "names"; "other" ] [] part with
      | [ Json.List names; other ] -> Texts (List.map name_text names, unless_null name_text other)
      | _ -> refuse "the names are no list")
  | _ -> (
      match fields "a grid" [ "low"; "high"; "step" ] [] part with
      | [ low; high; step ] ->
          Numbers { low = unless_null fraction low; high = unless_null fraction high; step = fraction step }
      | _ -> assert false)

let neighbours part =
  let pairs text distances =
    let rec two = function
      | i :: k :: rest -> (i, k) :: two rest
      | [] -> []
      | [ _ ] -> refuse "the neighbours are no pairs" in
    let ends = two (integers text) in
    let apart = match distances with None -> List.map (fun _ -> { num = Whole.one; den = Whole.one }) ends | Some d -> d in
    if List.length ends <> List.length apart then refuse "the distances are not one for each pair";
    Pairs (List.map2 (fun pair d -> (pair, d)) ends apart) in
  match field "the neighbours" "kind" part with
  | Json.String "steps" -> Steps (integer (List.nth (fields "the neighbours" [ "kind"; "steps" ] [] part) 1))
  | Json.String "any" -> ignore (fields "the neighbours" [ "kind" ] [] part); Any
  | Json.String "pairs" -> pairs (List.nth (fields "the neighbours" [ "kind"; "pairs" ] [] part) 1) None
  | Json.String "distances" -> (
      match fields "the neighbours" [ "kind"; "pairs"; "distances" ] [] part with
      | [ _; text; distances ] -> pairs text (Some (List.map fraction_of_text (words distances)))
      | _ -> assert false)
  | _ -> refuse "the neighbours are of an unknown kind"

let epsilon part =
  match fields "epsilon" [ "factor"; "base" ] [] part with
  | [ factor; base ] -> (fraction factor, unless_null fraction base)
  | _ -> assert false

let tight part =
  match fields "the tight level" [ "alpha"; "power"; "exact" ] [] part with
  | [ alpha; power; Json.Bool exact ] ->
      { tight_alpha = fraction alpha; tight_power = integer power; tight_exact = exact }
  | _ -> refuse "whether the tight level is exact is not said by true or false"

let letter = function
  | Json.String "RH" -> RH
  | Json.String "RM" -> RM
  | Json.String "CH" -> CH
  | Json.String "CM" -> CM
  | Json.String "F" -> F
  | Json.String "WH" -> WH
  | Json.String "S" -> SY
  | _ -> refuse "a property is none of the seven"

let letters = function Json.List l -> List.map letter l | _ -> refuse "the properties are no list"

(* A name such as lp(3): its kind and its numbers; "" for a name that says nothing about numbers. *)
let parsed name =
  let s = plain_text name in
  let n = String.length s in
  let letters = ref 0 in
  while !letters < n && s.[!letters] >= 'a' && s.[!letters] <= 'z' do incr letters done;
  let digit c = c >= '0' && c <= '9' in
  let stem = if !letters < n && digit s.[!letters] then !letters + 1 else !letters in
  let nothing = ("", []) in
  if !letters = 0 || n > 2 * Json.most_digits then nothing
  else if stem = n then (s, [])
  else if s.[stem] <> '(' || s.[n - 1] <> ')' then nothing
  else
    let inside = String.sub s (stem + 1) (n - stem - 2) in
    let pieces = List.map (fun p -> p) (String.split_on_char ',' inside) in
    let pieces =
      List.mapi
        (fun i p ->
          if i = 0 then Some p
          else if String.length p > 0 && p.[0] = ' ' then Some (String.sub p 1 (String.length p - 1))
          else None)
        pieces in
    let shaped = function
      | None -> false
      | Some p ->
          let from = if String.length p > 0 && p.[0] = '-' then 1 else 0 in
          String.length p > from
          && (let good = ref true in
              String.iteri (fun i c -> if i >= from && not (digit c || c = '/') then good := false) p;
              !good) in
    if not (List.for_all shaped pieces) then nothing
    else
      let numbers = List.map (function Some p -> (p, fraction_of_text p) | None -> assert false) pieces in
      let canonical (p, x) =
        let g = Whole.gcd x.num x.den in
        let top, bottom = (Whole.div x.num g, Whole.div x.den g) in
        p = if Whole.equal bottom Whole.one then Whole.to_string top
            else Whole.to_string top ^ "/" ^ Whole.to_string bottom in
      if List.for_all canonical numbers then (String.sub s 0 stem, List.map snd numbers) else nothing

let loss_name name =
  match parsed name with
  | "l0", [] -> Power Whole.zero
  | "l1", [] -> Power Whole.one
  | "l2", [] -> Power (Whole.of_int 2)
  | "lp", [ x ] -> Lp x
  | "tail", [ x ] -> Tail x
  | "threshold", [ x ] -> Threshold x
  | "asymmetric", [ x; y ] -> Asymmetric (x, y)
  | _ -> Loss_numbers

let prior_name name =
  match parsed name with
  | "uniform", [] -> Uniform
  | "binomial", [ x ] -> Binomial x
  | "maximum", [ x ] -> Maximum x
  | "minimum", [ x ] -> Minimum x
  | _ -> Prior_numbers

let limit_name name = match parsed name with "moment", [ k; about ] -> Moment (k, about) | _ -> Limit_numbers

let items = function Json.List l -> l | _ -> refuse "the parts of a set of priors are no list"

let set_of_priors part =
  match field "the set of priors" "kind" part with
  | Json.String "hull" -> (
      match fields "the set of priors" [ "kind"; "priors"; "mixture" ] [] part with
      | [ _; priors; mixture ] ->
          let member p =
            match fields "a prior" [ "name"; "weights" ] [] p with
            | [ name; weights ] -> (prior_name name, integers weights)
            | _ -> assert false in
          let members = List.map member (items priors) in
          (Hull (List.map snd members, integers mixture), List.map fst members)
      | _ -> assert false)
  | Json.String "limits" -> (
      match fields "the set of priors" [ "kind"; "limits"; "prices"; "worst" ] [] part with
      | [ _; limits; prices; worst ] ->
          let limit l =
            match fields "a limit" [ "name"; "coefficients"; "denominator"; "low"; "high" ] [] l with
            | [ name; numbers; per; low; high ] ->
                { coefficients = integers numbers; limit_per = integer per; low_end = unless_null fraction low;
                  high_end = unless_null fraction high; limit_called = limit_name name }
            | _ -> assert false in
          (Limits (List.map limit (items limits), List.map fraction_of_text (words prices), integers worst), [])
      | _ -> assert false)
  | _ -> refuse "the set of priors is of an unknown kind"

let certificate part =
  let names =
    [ "loss"; "prior"; "risk"; "among"; "require"; "alpha"; "bits"; "objective"; "bound"; "multipliers" ] in
  match fields "the certificate" names [ "family" ] part with
  | [ loss; prior; risk; among; require; alpha; bits; objective; bound; multipliers ] ->
      let loss_called, per, losses =
        match fields "the loss" [ "name"; "denominator"; "rows" ] [] loss with
        | [ name; per; rows ] -> (loss_name name, integer per, lines rows)
        | _ -> assert false in
      let prior_called, law =
        match fields "the prior" [ "name"; "weights" ] [] prior with
        | [ name; weights ] -> (prior_name name, integers weights)
        | _ -> assert false in
      let kind, members_called =
        match (risk, among) with
        | Json.String "family", Json.Null ->
            let set, called = set_of_priors (field "the certificate" "family" part) in
            (Largest set, called)
        | Json.String "average", Json.Null -> (Average, [])
        | Json.String "worst", text -> (Worst (integers text), [])
        | _ -> refuse "the risk of the certificate is of an unknown kind" in
      (match part with
       | Json.Object parts when List.mem_assoc "family" parts && risk <> Json.String "family" ->
           refuse "a set of priors goes with the risk of one"
       | _ -> ());
      let given =
        match multipliers with
        | Json.Object parts ->
            let others = List.filter (fun (key, _) -> key <> "rows" && key <> "level") parts in
            { of_rows = lines (field "the multipliers" "rows" multipliers);
              level_lines = Option.map lines (List.assoc_opt "level" parts);
              of_letters = List.map (fun (key, l) -> (letter (Json.String key), lines l)) others }
        | _ -> refuse "the multipliers are no object" in
      { per; losses; prior = law; kind; loss_called; prior_called; members_called; require = letters require; own_alpha = fraction alpha; bits = integer bits;
        objective = fraction objective; bound = fraction bound; given }
  | _ -> assert false

(* How it was made: plain texts, a distance between 0 and 1, and what it was made from. The parameters of the outermost. *)
let rec recipe depth part =
  if depth > 64 then refuse "the recipe nests too deeply";
  match fields "the recipe" [ "family"; "parameters"; "citation"; "distance"; "of" ] [] part with
  | [ family; Json.Object parameters; citation; distance; inner ] ->
      ignore (plain_text family);
      ignore (plain_text citation);
      List.iter (fun (key, value) -> ignore (plain_text (Json.String key)); ignore (plain_text value)) parameters;
      (match distance with
       | Json.Float text when (let x = float_of_string text in x >= 0. && x <= 1.) -> ()
       | _ -> refuse "the recipe's distance is not between 0 and 1");
      if inner <> Json.Null then ignore (recipe (depth + 1) inner);
      parameters
  | _ -> refuse "the recipe's parameters are not named texts"

(* The recipe names the problem for people. What it says, and what the certificate says; the checker compares them. *)
let said_twice parameters proof =
  let part = field "the certificate" in
  let text = function Json.String s -> s | _ -> refuse "a name is no text" in
  let name holder = text (field "a part of the certificate" "name" (part holder proof)) in
  let own holder = text (field "a part" "name" holder) in
  let ending key limit = match field "a limit" key limit with Json.Null -> "" | value -> text value in
  let priors =
    match proof with
    | Json.Object parts when List.mem_assoc "family" parts -> (
        let set = List.assoc "family" parts in
        match field "the set" "kind" set with
        | Json.String "hull" ->
            [ ("priors", "any mixture of " ^ String.concat ", " (List.map own (items (field "the set" "priors" set)))) ]
        | _ ->
            let limit l = Printf.sprintf "%s in %s..%s" (own l) (ending "low" l) (ending "high" l) in
            [ ("priors", "any with " ^ String.concat " and " (List.map limit (items (field "the set" "limits" set)))) ])
    | _ -> [ ("prior", name "prior") ] in
  let required = List.sort compare (List.map text (match part "require" proof with Json.List l -> l | _ -> [])) in
  let require = if required = [] then "none" else String.concat " " required in
  List.filter_map
    (fun (key, value) -> Option.map (fun told -> (text_of (text told), text_of value)) (List.assoc_opt key parameters))
    (priors
    @ [ ("loss", name "loss"); ("risk", text (part "risk" proof)); ("alpha", text (part "alpha" proof)); ("require", require) ])

(* The document, and why its certificate is left out, if it is. *)
let document whole =
  let names =
    [ "inputs"; "outputs"; "neighbours"; "level"; "channel"; "claims"; "recipe"; "format"; "version"; "digest" ] in
  match fields "the file" names [ "certificate" ] whole with
  | [ inputs; outputs; near; level; part; claims; made; form; version; _ ] ->
      let the_channel = channel part in (* first: of a kind that is not covered nothing else is decided *)
      let parameters = recipe 0 made in
      if form <> Json.String "discreet-mechanism" then refuse "it is not a mechanism file";
      if version <> Json.Integer "1" then refuse "its version is not 1";
      let alpha, eps =
        match fields "the level" [ "alpha"; "epsilon" ] [] level with
        | [ alpha; eps ] -> (fraction alpha, unless_null epsilon eps)
        | _ -> assert false in
      let told, listed =
        (match claims with
         | Json.Object parts when not (List.mem (List.assoc_opt "rho" parts) [ None; Some Json.Null ]) ->
             refuse "a rho is claimed of Gaussian noise, and of nothing else"
         | _ -> ());
        match fields "the claims" [ "tight"; "properties" ] [ "rho" ] claims with
        | [ told; listed ] -> (unless_null tight told, unless_null letters listed)
        | _ -> assert false in
      let proof, said_twice, left_out =
        match whole with
        | Json.Object parts -> (
            match List.assoc_opt "certificate" parts with
            | None | Some Json.Null -> (None, [], None)
            | Some c -> (
                try let read = certificate c in (Some read, said_twice parameters c, None)
                with Uncovered what -> (None, [], Some what)))
        | _ -> assert false in
      ( { the_channel; inputs = answers inputs; outputs = answers outputs; the_neighbours = neighbours near; alpha;
          epsilon = eps; tight = told; listed; proof; said_twice },
        left_out )
  | _ -> assert false

let words_of_fault = function
  | Bad_number -> "a number is not a fraction"
  | Bad_table -> "the table is not one of at least two rows of equal length"
  | Bad_total -> "the total is not between 1 and 2^63"
  | Bad_sum -> "a row has a negative weight or does not sum to the total"
  | Bad_cells -> "the total is not a multiple of the cells that drawing needs"
  | Bad_channel -> "the channel's parameters are out of range"
  | Bad_grid | Grids_do_not_fit -> "the grids do not fit the channel"
  | Bad_neighbours -> "the neighbours are none"
  | Bad_alpha -> "alpha is not between 0 and 1"
  | Bad_epsilon -> "epsilon is not positive"
  | Alpha_above_epsilon -> "alpha is weaker than the epsilon in the file"
  | Level_fails -> "the level does not hold for all neighbours"
  | Tight_differs -> "the tight level is not that of the weights"
  | Properties_differ -> "the properties are not those of the weights"
  | Bad_certificate -> "the certificate does not fit the mechanism"
  | Lying_name -> "a loss, a prior or a limit of the certificate is not what it is called"
  | Recipe_differs -> "the recipe names another problem than the certificate"
  | Properties_missing -> "the mechanism lacks a property that its certificate requires"
  | Risk_differs -> "the risk in the certificate is not that of the weights"
  | Other_level -> "the certificate is about another level"
  | Bad_multipliers -> "the multipliers of the certificate are not of its constraints"
  | Bound_differs -> "the bound in the certificate is not the one that its multipliers prove"

(* Names that say nothing about numbers, which the checker therefore does not compare with them: such a name fits whatever
   stands beside it, so that it fits two things of which a telling name fits at most one. *)
let only_called whole d =
  let quoted what holder =
    let name = match field "a part" "name" holder with Json.String s -> s | _ -> "" in
    Printf.sprintf "; %s given by its numbers, and called '%s'" what (String.sub name 0 (min 58 (String.length name))) in
  let ends law = List.mapi (fun i _ -> if i = 0 then Whole.one else Whole.zero) law in
  let prior holder (called, law) =
    if prior_fits called (ends law) && prior_fits called (List.rev (ends law)) then quoted "prior" holder else "" in
  let limit holder l =
    let fits x = limit_fits d.inputs { l with coefficients = [ x ] } in
    if fits Whole.zero && fits Whole.one then quoted "limit" holder else "" in
  match d.proof with
  | None -> ""
  | Some c ->
      let part = field "the file" "certificate" whole in
      let here = field "the certificate" in
      let value = grid_value d.inputs O in
      let loss = if loss_meant c.loss_called value value = None then quoted "loss" (here "loss" part) else "" in
      let priors =
        match c.kind with
        | Average -> [ prior (here "prior" part) (c.prior_called, c.prior) ]
        | Worst _ -> []
        | Largest (Hull (members, _)) ->
            List.map2 prior
              (items (field "the set" "priors" (here "family" part)))
              (List.combine c.members_called members)
        | Largest (Limits (limits, _, _)) -> List.map2 limit (items (field "the set" "limits" (here "family" part))) limits in
      String.concat "" (loss :: priors)

let answer text =
  try
    let whole = Json.parse text in
    let d, left_out = document whole in
    match (check d, left_out) with
    | Fails why, _ -> (1, "does not hold: " ^ words_of_fault why)
    | Open Too_long, _ -> (3, "not covered: numbers too long to be written out")
    | Open Undecided_epsilon, _ -> (3, "not covered: alpha is too close to epsilon")
    | Holds, Some what -> (3, "not covered: " ^ what)
    | Holds, None when promises_nothing d -> (0, "holds, but promises no privacy: alpha is 0" ^ only_called whole d)
    | Holds, None -> (0, "holds" ^ only_called whole d)
  with
  | Json.Unreadable why -> (2, "cannot be read: " ^ why)
  | Refused why -> (1, "does not hold: " ^ why)
  | Uncovered what -> (3, "not covered: " ^ what)
  | Stack_overflow | Out_of_memory -> (3, "not covered: too large")

let rec nat_of i = if i = 0 then O else S (nat_of (i - 1))
let rec int_of = function O -> 0 | S n -> 1 + int_of n

let alias line =
  match integers (Json.String line) with
  | [] -> ""
  | cells :: weights ->
      let made = List.map (fun c -> (int_of c.place, c)) (alias_row weights (nat_of (Whole.to_int cells))) in
      let shown (_, c) = Printf.sprintf "%s %d" (Whole.to_string c.kept) (int_of c.other) in
      String.concat " " (List.map shown (List.sort (fun (i, _) (k, _) -> compare i k) made))

let read name =
  if name = "-" then begin
    set_binary_mode_in stdin true;
    let whole = Buffer.create 65536 in
    (try while true do Buffer.add_channel whole stdin 1 done with End_of_file -> ());
    Buffer.contents whole
  end
  else
  let channel = open_in_bin name in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))

let () =
  match List.tl (Array.to_list Sys.argv) with
  | [] -> prerr_endline "usage: discreet-checker FILE ... | --lines"; exit 2
  | [ ("--lines" | "--json" | "--alias") as what ] -> (
      set_binary_mode_in stdin true;
      try
        while true do
          let line = input_line stdin in
          if what = "--alias" then print_endline (alias line)
          else if what = "--json" then
            print_endline (match Json.parse line with _ -> "0" | exception Json.Unreadable why -> "2 " ^ why)
          else
            let code, said = answer line in
            Printf.printf "%d %s\n" code said
        done
      with End_of_file -> ())
  | files ->
      let worst = ref 0 in
      List.iter
        (fun name ->
          let code, said = try answer (read name) with Sys_error why -> (2, "cannot be read: " ^ why) in
          Printf.printf "%s: %s\n" name said;
          (* what does not hold is worse than what cannot be told *)
          let rank = function 0 -> 0 | 3 -> 1 | 2 -> 2 | _ -> 3 in
          if rank code > rank !worst then worst := code)
        files;
      exit !worst
