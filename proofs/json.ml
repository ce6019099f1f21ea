(* A small, strict reader of JSON. Trusted, not proved. Numbers stay texts: a float is made of them to see that there is one.
   It reads what verify.py reads: UTF-8 alone, no key that stands twice, no NaN, nothing after the end. Half a letter
   (a surrogate without its other half) is refused here, and by verify.py where it stands. *)

type t =
  | Null
  | Bool of bool
  | Integer of string
  | Float of string
  | String of string
  | List of t list
  | Object of (string * t) list

exception Unreadable of string

let most_bytes = 256 * 1024 * 1024
let most_digits = 4200
let deepest = 900

(* Is it UTF-8: no byte out of place, no letter in more bytes than it needs, no half letters, nothing beyond U+10FFFF? *)
let is_utf8 s =
  let n = String.length s in
  let byte i = Char.code (String.unsafe_get s i) in
  let rec go i =
    if i >= n then true
    else
      let first = byte i in
      let follows low high k =
        (* the second byte between low and high, and k bytes of 80..BF after it *)
        i + 1 + k < n
        && byte (i + 1) >= low && byte (i + 1) <= high
        && (k < 1 || byte (i + 2) land 0xC0 = 0x80)
        && (k < 2 || byte (i + 3) land 0xC0 = 0x80)
        && go (i + 2 + k) in
      if first < 0x80 then go (i + 1)
      else if first < 0xC2 then false
      else if first < 0xE0 then follows 0x80 0xBF 0
      else if first = 0xE0 then follows 0xA0 0xBF 1
      else if first = 0xED then follows 0x80 0x9F 1
      else if first < 0xF0 then follows 0x80 0xBF 1
      else if first = 0xF0 then follows 0x90 0xBF 2
      else if first < 0xF4 then follows 0x80 0xBF 2
      else if first = 0xF4 then follows 0x80 0x8F 2
      else false in
  go 0

let utf8 buffer code = Buffer.add_utf_8_uchar buffer (Uchar.of_int code)

let parse (s : string) : t =
  let n = String.length s in
  let at = ref 0 in
  let fail words = raise (Unreadable (Printf.sprintf "%s at byte %d" words !at)) in
  let peek () = if !at < n then s.[!at] else '\000' in
  let skip () =
    while !at < n && (match s.[!at] with ' ' | '\t' | '\n' | '\r' -> true | _ -> false) do incr at done in
  let expect word =
    let k = String.length word in
    if !at + k <= n && String.sub s !at k = word then at := !at + k else fail ("no " ^ word) in
  let hex4 () =
    if !at + 4 > n then fail "a cut escape";
    let text = String.sub s !at 4 in
    String.iter (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> () | _ -> fail "a wrong escape") text;
    at := !at + 4;
    int_of_string ("0x" ^ text) in
  let text () =
    expect "\"";
    let b = Buffer.create 64 in
    let rec go () =
      if !at >= n then fail "a text without an end";
      match s.[!at] with
      | '"' -> incr at
      | '\\' ->
          incr at;
          let c = peek () in
          incr at;
          (match c with
           | '"' | '\\' | '/' -> Buffer.add_char b c
           | 'b' -> Buffer.add_char b '\b'
           | 'f' -> Buffer.add_char b '\012'
           | 'n' -> Buffer.add_char b '\n'
           | 'r' -> Buffer.add_char b '\r'
           | 't' -> Buffer.add_char b '\t'
           | 'u' ->
               let high = hex4 () in
               if high >= 0xD800 && high < 0xDC00 then begin
                 expect "\\u";
                 let low = hex4 () in
                 if low < 0xDC00 || low > 0xDFFF then fail "half a letter";
                 utf8 b (0x10000 + ((high - 0xD800) lsl 10) + (low - 0xDC00))
               end
               else if high >= 0xDC00 && high <= 0xDFFF then fail "half a letter"
               else utf8 b high
           | _ -> fail "a wrong escape");
          go ()
      | c when Char.code c < 32 -> fail "a control character in a text"
      | c -> Buffer.add_char b c; incr at; go () in
    go ();
    Buffer.contents b in
  let number () =
    let start = !at in
    let digits () =
      let from = !at in
      while (match peek () with '0' .. '9' -> true | _ -> false) do incr at done;
      if !at = from then fail "no number" in
    if peek () = '-' then incr at;
    if peek () = '0' then incr at else digits ();
    let whole = !at in
    if peek () = '.' then (incr at; digits ());
    (match peek () with
     | 'e' | 'E' ->
         incr at;
         (match peek () with '+' | '-' -> incr at | _ -> ());
         digits ()
     | _ -> ());
    let text = String.sub s start (!at - start) in
    if whole < !at then (if Float.abs (float_of_string text) < infinity then Float text else fail "a number beyond all floats")
    else if String.length text > most_digits then fail "a number of too many digits"
    else Integer text in
  let rec value depth =
    if depth > deepest then fail "nested too deeply";
    skip ();
    let found =
      match peek () with
      | '{' ->
          incr at; skip ();
          if peek () = '}' then (incr at; Object [])
          else begin
            let seen = Hashtbl.create 16 in
            let rec members found =
              skip ();
              let key = text () in
              if Hashtbl.mem seen key then fail "a key that stands twice";
              Hashtbl.add seen key ();
              skip (); expect ":";
              let found = (key, value (depth + 1)) :: found in
              if peek () = ',' then (incr at; members found) else (expect "}"; List.rev found) in
            Object (members [])
          end
      | '[' ->
          incr at; skip ();
          if peek () = ']' then (incr at; List [])
          else begin
            let rec items found =
              let found = value (depth + 1) :: found in
              if peek () = ',' then (incr at; items found) else (expect "]"; List.rev found) in
            List (items [])
          end
      | '"' -> String (text ())
      | 't' -> expect "true"; Bool true
      | 'f' -> expect "false"; Bool false
      | 'n' -> expect "null"; Null
      | _ -> number () in
    skip ();
    found in
  if n > most_bytes then fail "too large";
  if not (is_utf8 s) then fail "bytes that are not UTF-8";
  let found = value 0 in
  if !at < n then fail "something after the end";
  found
