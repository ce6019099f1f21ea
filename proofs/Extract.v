(** The checker as an OCaml program: [check] and what it uses, whether a level is 0, and the making of alias tables, which tests compare with the
    library's. Integers become those of zarith. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Discreet Require Import Check Alias.

Extraction Language OCaml.
Extraction "checker.ml" check promises_nothing alias_row.
