(** The checker as an OCaml program: [check] and what it uses. Integers become those of zarith. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Discreet Require Import Check.

Extraction Language OCaml.
Extraction "checker.ml" check.
