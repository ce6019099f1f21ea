"""Predicates: what is allowed means what it says, all else is refused by name, and no value makes one fail."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from decimal import Decimal

import pytest

from discreet.errors import MissingExtraError, PredicateError
from discreet.questions import predicate
from discreet.questions.conditions import typed_sql
from discreet.questions.predicate import UNTYPED, check_types, parse

duckdb = pytest.importorskip("duckdb")

COLUMNS = ["age", "Sex", "city name", "flag", "born"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("AGE>=40", '("age" >= 40)'),
        ("40 <= age", '("age" >= 40)'),
        ("age != - 1", '("age" <> -1)'),
        ("age = 1_000 or age = 1e3 or age = 1000.0", '(("age" = 1000) OR ("age" = 1000) OR ("age" = 1000))'),
        ("age < .50", '("age" < 0.5)'),
        ("sex = 'it''s' AND NOT flag", "((\"Sex\" = 'it''s') AND (NOT \"flag\"))"),
        ("((age) in (1, null, 2))", '("age" IN (1, NULL, 2))'),
        ("age not in (1)", '(NOT ("age" IN (1)))'),
        ("age between 1 and 2", '("age" BETWEEN 1 AND 2)'),
        (
            "\"city name\" like 'a%' or \"city name\" not like '_'",
            "((\"city name\" LIKE 'a%') OR (\"city name\" NOT LIKE '_'))",
        ),
        ("born is null or sex is not null", '(("born" IS NULL) OR ("Sex" IS NOT NULL))'),
        ("sex = '-- ; /* $1 */'", "(\"Sex\" = '-- ; /* $1 */')"),
        ("flag = true", '("flag" = TRUE)'),
    ],
)
def test_what_is_allowed_has_one_canonical_text(text, canonical):
    predicate = parse(text, COLUMNS)
    assert predicate.canonical == predicate.sql == canonical
    assert parse(canonical, COLUMNS).canonical == canonical  # and it is a fixed point


def test_the_columns_are_the_tables_spelling():
    assert parse("SEX = 'f' and Age > 1", COLUMNS).columns == {"Sex", "age"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("age in (select age from t)", "subquery"),
        ("exists (select 1)", "subquery"),
        ("age = (select 1)", "subquery"),
        ("row_number() over () = 1", "window"),
        ("count(*) > 1", "function count"),
        ("sum(age) > 1", "function sum"),
        ("abs(age) = 1", "function abs"),
        ("age + 1 = 2", "operator +"),
        ("-age = 1", "operator -"),
        ("age::text = '1'", "cast"),
        ("cast(age as int) = 1", "cast"),
        ("born = DATE '2020-01-01'", "cast"),
        ("flag is true", "IS TRUE"),
        ("age = 1; DROP TABLE t", "second statement"),
        ("age = 1;", "second statement"),
        ("age = ?", "parameter"),
        ("age = $1", "parameter"),
        ("age = $name", "parameter"),
        ("* = 1", "star"),
        ("columns(*) = 1", "star"),
        ("case when flag then true end", "CASE"),
        ("age = (x -> x)", "lambda"),
        ("sex collate nocase = 'f'", "COLLATE"),
        ("t.age = 1", "qualified"),
        ("age = 1 -- or flag", "comment"),
        ("age = /* no */ 1", "comment"),
        ("sex ilike 'f'", "operator ~~*"),
        ("sex ~ 'f'", "function regexp"),
        ("sex like 'f' escape '!'", "function like_escape"),
        ("sex glob 'f*'", "operator"),
        ("age is distinct from 1", "DISTINCT"),
        ("age = [1]", "function"),
        ("(age, flag) = (1, true)", "function row"),
        ("age = #1", "number"),
        ("1 = 1", "constants"),
        ("age in (flag)", "IN"),
        ("1 in (1, 2)", "IN"),
        ("(age = 1) = true", "condition inside"),
        ("sex like flag", "LIKE"),
        ("age = 1 group by age", "more than one|cannot be read"),
        ("age = 1 limit 1", "more than one|cannot be read"),
        ("age = 1 union select 2", "more than one|cannot be read"),
        ("age = 1 window w as ()", "cannot be read"),
        ("age = 1) or (age = 2", "cannot be read"),
        ("age = ", "cannot be read"),
        ("1 < age < 3", "cannot be read"),
        ("age = 1e999", "cannot be represented"),
        ("'text'", "condition should be"),
        ("age = interval 1 day", "function"),
    ],
)
def test_everything_else_is_refused_by_name(text, name):
    with pytest.raises(PredicateError, match=name) as caught:
        parse(text, COLUMNS)
    assert "LINE" not in str(caught.value)
    assert "rror:" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "  ", "true", "NULL", "true or false", "x" * 10_001, "age = '\0'", 5])
def test_what_is_no_condition_on_a_row_is_refused(text):
    with pytest.raises(PredicateError):
        parse(text, COLUMNS)


@pytest.mark.parametrize("depth", [150, 5000])
def test_nesting_has_an_end(depth):
    with pytest.raises(PredicateError):
        parse("not " * min(depth, 2400) + "flag", COLUMNS)
    with pytest.raises(PredicateError):
        parse("(" * depth + "age = 1" + ")" * (depth - 1), COLUMNS)


def test_an_unknown_column_is_named_with_a_guess():
    with pytest.raises(PredicateError, match=r"no column 'aeg'. Did you mean 'age'\? The columns are: .*born"):
        parse("aeg = 1", COLUMNS)
    for hidden in ("rowid = 1", "current_date = '2020-01-01'"):
        with pytest.raises(PredicateError, match="no column"):
            parse(hidden, COLUMNS)


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"\.\[tables\]\""):
        parse("age = 1", COLUMNS)


GOOD = [
    ("a = 1.5", "INTEGER"),
    ("a in ('x', null)", "VARCHAR"),
    ("a = 'x'", "UUID"),
    ("a", "BOOLEAN"),
    ("a = true", "BOOLEAN"),
    ("a > '2020-01-31'", "DATE"),
    ("a > '2020-01-31 10:00'", "TIMESTAMP"),
    ("a > '2020-01-31T10:00:00+02:00'", "TIMESTAMP WITH TIME ZONE"),
    ("a like 'x'", UNTYPED),
    ("a > 1", UNTYPED),
    ("a is null", "BLOB"),
    ("a = null", "INTEGER"),
]
BAD = [
    ("a = 1", "VARCHAR"),
    ("a = 'x'", "INTEGER"),
    ("a = true", "INTEGER"),
    ("a", "INTEGER"),
    ("a = 1", "BOOLEAN"),
    ("a > '2020-13-31'", "DATE"),
    ("a > '2020-01-31 10:00'", "DATE"),
    ("a > 20200131", "DATE"),
    ("a > 'noon'", "TIMESTAMP"),
    ("a > '2020-01-31T10:00:00+02:00'", "TIMESTAMP"),
    ("a like '1%'", "INTEGER"),
    ("a in (1, 'x')", UNTYPED),
    ("a = 'x'", "BLOB"),
    ("a = 1", "INTEGER[]"),
    ("a = 9007199254740993", UNTYPED),
    ("a between 1 and 'x'", "INTEGER"),
]


@pytest.mark.parametrize(("text", "type_name"), GOOD)
def test_a_constant_that_fits_its_column_is_accepted_and_runs(text, type_name):
    predicate = parse(text, ["a"])
    check_types(predicate, {"a": type_name})
    real = "VARCHAR" if type_name == UNTYPED else type_name
    with duckdb.connect() as connection:
        connection.execute(
            f"SELECT {typed_sql(predicate, {'a': type_name})} FROM (SELECT NULL::{real} AS a)"
        ).fetchall()


@pytest.mark.parametrize(("text", "type_name"), BAD)
def test_a_constant_that_does_not_fit_is_refused(text, type_name):
    with pytest.raises(PredicateError, match=r"Column 'a' has (type|no declared type)"):
        check_types(parse(text, ["a"]), {"a": type_name})


def test_columns_are_compared_within_a_family_only():
    both = parse("a < b", ["a", "b"])
    check_types(both, {"a": "INTEGER", "b": "DOUBLE"})
    for kinds in (("INTEGER", "VARCHAR"), ("DATE", "TIMESTAMP"), (UNTYPED, UNTYPED)):
        with pytest.raises(PredicateError, match="cannot be compared with column 'b'"):
            check_types(both, dict(zip("ab", kinds, strict=True)))


NUMERIC = {
    "TINYINT": ["-128", "127"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": [str(-(2**63)), str(2**63 - 1)],
    "UBIGINT": ["0", str(2**64 - 1)],
    "DECIMAL(38,0)": ["-" + "9" * 38, "9" * 38],
    "DECIMAL(38,37)": ["-9.5", "9.5"],
    "DECIMAL(18,3)": ["-9.5", "9" * 15],
    "DECIMAL(4,1)": ["-999.9", "999.9"],
    "FLOAT": ["-3e38", "3e38"],
    "DOUBLE": ["-1e308", "1e308"],
}
CONSTANTS = [
    "0",
    "-1",
    "1.5",
    "127",
    "0.123456789012345678",
    "1e-300",
    "1e300",
    "123456789012345678901234567890",
    "99999999999999999999999999999999999999",
    "0.1234567890123456789012345",
]


@pytest.mark.parametrize("type_name", NUMERIC)
def test_no_number_makes_a_comparison_fail_and_the_extremes_are_right(type_name):
    with duckdb.connect() as connection:
        values = ", ".join(f"(CAST('{v}' AS {type_name}))" for v in [*NUMERIC[type_name], "1"])
        for constant in CONSTANTS:
            sql = typed_sql(parse(f"a > {constant}", ["a"]), {"a": type_name})
            rows = connection.execute(f"SELECT a::VARCHAR, {sql} FROM (VALUES {values}) AS t(a)").fetchall()
            for value, answer in rows:
                assert answer == (float(value) > float(constant)), (constant, value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a >= 2", [False, True, True, None, None, None]),
        ("a = '2'", [False, True, False, False, False, None]),
        ("a is null", [False, False, False, False, False, True]),
    ],
)
def test_an_untyped_column_is_read_as_what_it_is_compared_with(text, expected):
    sql = typed_sql(parse(text, ["a"]), {"a": UNTYPED})
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {sql} FROM (VALUES ('1'), ('2'), (' 3.5'), ('true'), ('nan'), (NULL)) t(a)")
        answers = [row[0] for row in rows.fetchall()]
    assert answers == expected
    assert not any(isinstance(a, float) and math.isnan(a) for a in answers)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x > 20.000", "'20.000' in the predicate may mean 20 or 20000: write 20 or 20000"),
        ("x IN (3, 1.125)", "'1.125' in the predicate may mean 1.1250 or 1125: write 1.1250 or 1125"),
        ("x > -1.234", "may mean -1.2340 or -1234"),
        ("x > 0,5", "The number '0,5' has a comma: write 0.5"),
        ("x BETWEEN 0 AND 12.345,67", "The number '12.345,67' has separators of thousands: write 12345.67"),
        ("x > 20 000", "The number '20 000' has separators of thousands: write 20000"),
        ("y = '0,5' AND x > 1,5", "The number '1,5' has a comma: write 1.5"),
    ],
)
def test_a_number_that_means_another_one_to_people_is_refused_with_both(text, told):
    with pytest.raises(PredicateError, match=re.escape(told)):
        parse(text, ["x", "y"])


@pytest.mark.parametrize(
    "number", ["20", "20.5", "20.00", "1.1250", "0.125", "1234.567", "1.234e5", "20_000", "100.0001"]
)
def test_a_number_with_one_meaning_is_read_and_its_canonical_text_is_read_again(number):
    canonical = parse(f"x > {number}", ["x"]).canonical
    assert parse(canonical, ["x"]).canonical == canonical
    assert Decimal(canonical.removeprefix('("x" > ').removesuffix(")")) == Decimal(number)


def test_one_parser_serves_all_and_one_that_broke_is_replaced(monkeypatch):
    predicate._syntax.cache_clear()
    assert parse("age > 41", ["age"]).sql == parse("age > 41", ["age"]).sql
    kept = predicate._parser._kept
    parse("age > 42", ["age"])
    assert predicate._parser._kept is kept
    kept.close()  # as after an error that it does not survive
    with pytest.raises(PredicateError):
        parse("age > 43", ["age"])
    assert parse("age > 43", ["age"]).sql == '("age" > 43)'


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_no_parser_is_alive_in_a_fork(tmp_path):
    """While other threads parse, too; the child opens its own and closes it."""
    code = """
import os, threading
from discreet.questions import predicate
predicate.parse("a > 0", ["a"])  # no fork amid an import
threads = [threading.Thread(target=lambda k=k: predicate.parse(f"a > {k}", ["a"])) for k in range(60)]
for thread in threads:
    thread.start()
for turn in range(4):
    child = os.fork()
    if not child:
        assert predicate._parser._kept is None
        predicate.parse(f"a > {1000 + turn}", ["a"])
        predicate._parser._kept.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for thread in threads:
    thread.join()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=120, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_what_is_no_text_of_unicode_is_refused_as_such():
    with pytest.raises(PredicateError, match="must be a text"):
        parse("x = '\ud800'", ["x"])
