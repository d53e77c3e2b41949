(* Reads the numbers of one certificate from the standard input, as scripts/extracted_checker.py
   writes them, and prints what the extracted checker says. Not verified: it only builds the record
   `file` of dual_gap_program.v. *)
module Rational = Q (* zarith's; the extracted modules have names of their own *)
module Integer = Z
open Dual_gap_checker

let token () = Scanf.scanf " %s" (fun word -> word)
let whole () = int_of_string (token ())

(* p or p/q with q > 0: the denominator of a rational of Coq is a positive number *)
let rational () =
  let number = Rational.of_string (token ()) in
  if Integer.sign (Rational.den number) <= 0 then failwith "a number that is not rational";
  { qnum = Rational.num number; qden = Rational.den number }

(* one after the other; List.init promises no order *)
let rec several count read =
  if count = 0 then [] else let first = read () in first :: several (count - 1) read

let yes () = whole () = 1

let column () = let listed = yes () in (listed, rational ())

let part () = match token () with
  | "none" -> NoPart | "free" -> FreePart | "penalized" -> PenalizedPart (rational ())
  | word -> failwith word

let hidden_bias () = match token () with
  | "none" -> NoBias | "free" -> FreeBias | "penalized" -> PenalizedBias (rational ())
  | word -> failwith word

let loss () = match token () with
  | "squared" -> Squared | "huber" -> Huber (rational ()) | "quantile" -> Quantile (rational ())
  | "hinge" -> Hinge | "squared_hinge" -> SquaredHinge
  | word -> failwith word

let sample d () =
  let xs = several d rational in
  let label = rational () in
  let weight = rational () in
  { xs; label; weight; dual = rational () }

let neuron d () =
  let weights = several d rational in
  let bias = rational () in
  { weights; bias; head = rational () }

let certificate () =
  let d = whole () in
  let cols = several d column in
  let hidden = hidden_bias () in
  let constant = part () in
  let slope = part () in
  let nonnegative = yes () in
  let decay = rational () in
  let kind = loss () in
  let n = whole () in
  let samples = several n (sample d) in
  let k = whole () in
  let neurons = several k (neuron d) in
  let c0_stored = rational () in
  let theta_stored = several d rational in
  let p_up = rational () in
  let p_low = rational () in
  { cols; hidden; constant; slope; nonnegative; decay; kind; samples; neurons; c0_stored;
    theta_stored; p_up; p_low; gap = rational () }

let () =
  let file = certificate () in
  if token () <> "" then failwith "numbers after the end";
  print_endline (if check file then "ACCEPTED" else "REJECTED")
