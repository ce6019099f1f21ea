(* A small, strict reader of JSON. Trusted, not proved. Numbers stay texts: no float is ever made.
   What two readers may read in two ways is refused: a key that stands twice, anything after the end. *)

type t =
  | Null
  | Bool of bool
  | Integer of string
  | Float of string
  | String of string
  | List of t list
  | Object of (string * t) list

exception Unreadable of string

let most_digits = 4200
let deepest = 900

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
    if whole < !at then Float text
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
  let found = value 0 in
  if !at < n then fail "something after the end";
  found
