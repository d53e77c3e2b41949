(** The checker of dual_gap_program.v as OCaml; integers are those of zarith. *)
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt.
From globalmin Require Import dual_gap_program.
Extract Constant BinInt.Z.gcd => "Big_int_Z.gcd_big_int".
Extraction "dual_gap_checker.ml" check.
