"""Public code lists as domains: keys, containers and labels from one file, whatever program wrote it."""

from __future__ import annotations

import hashlib
import json
import random

import pytest

import discreet as dt
from discreet.errors import TableInputError
from discreet.exact.code_lists import read_code_list
from discreet.questions.domain import Domain, read_groups

LIST = """code;label;parent
08;Baden-Württemberg;
09;"Bayern; Freistaat";
08111;Stuttgart, Stadtkreis;08
08115;Böblingen;08
09162;München;09
08111000;Stuttgart;08111
08115003;Böblingen, Stadt;08115
08115045;Sindelfingen;08115
09162000;München;09162
"""
KEYS = ["08111000", "08115003", "08115045", "09162000"]
UP, TOP = "parent of Gemeinde", "parent of parent of Gemeinde"


def spelled(text, mark=";", order=(0, 1, 2), upper=False, end="\n"):
    """The same list as another program writes it."""
    import csv
    import io

    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, lineterminator=end)
    for k, row in enumerate(csv.reader(io.StringIO(text), delimiter=";")):
        row = [row[p] for p in order]
        writer.writerow([name.upper() for name in row] if upper and k == 0 else row)
    return out.getvalue()


def test_keys_containers_and_labels_come_from_one_file_however_it_is_written(tmp_path):
    path = tmp_path / "g.csv"
    for encoding in ("utf-8", "utf-8-sig", "latin-1", "cp1252"):
        for mark in ";,\t|":
            text = spelled(
                LIST, mark, (2, 0, 1) if mark == "|" else (0, 1, 2), mark == ",", "\r\n" if mark == ";" else "\n"
            )
            path.write_bytes(text.encode(encoding))
            listed = read_code_list(path, "Gemeinde")
            assert listed.keys == KEYS
            assert listed.containing == {
                UP: {"of": "Gemeinde", "map": {"08111": KEYS[:1], "08115": KEYS[1:3], "09162": KEYS[3:]}},
                TOP: {"of": UP, "map": {"08": ["08111", "08115"], "09": ["09162"]}},
            }
            assert listed.labels[TOP] == {"08": "Baden-Württemberg", "09": "Bayern; Freistaat"}
            assert listed.labels["Gemeinde"]["08115003"] == "Böblingen, Stadt"
            assert listed.source == f"g.csv (SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()})"


def test_a_domain_names_the_list_as_its_public_source(tmp_path, monkeypatch):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "g.csv").write_text(LIST, encoding="utf-8")
    written = {"Gemeinde": "file:g.csv", "sex": ["f", "m"]}
    (tmp_path / "lists" / "d.json").write_text(json.dumps(written))
    domain = Domain.of(read_groups(tmp_path / "lists" / "d.json"), ["sex", "Gemeinde"])  # beside the domain's own file
    assert [key for key in domain.keys if key[0] == "f"] == [("f", code) for code in KEYS]
    assert dict(dict(domain.hierarchies[1].containers)) == dict(zip(KEYS, ["08", "08", "08", "09"], strict=True))
    assert domain.source.startswith("g.csv (SHA-256 ")
    monkeypatch.chdir(tmp_path / "lists")
    assert Domain.of(written, ["sex", "Gemeinde"]) == domain
    assert Domain.of(read_groups("Gemeinde=file:g.csv")).keys == tuple((code,) for code in KEYS)
    marked = {"format": "discreet-domain", "version": 1, "source": "Destatis", "columns": {"Gemeinde": "file:g.csv"}}
    assert Domain.of(marked).source.startswith("Destatis; g.csv (SHA-256 ")
    with pytest.raises(TableInputError, match="learned from the data"):
        Domain.of({**marked, "learned": "from the data"})
    with pytest.raises(TableInputError, match="declared twice"):
        Domain.of({"Gemeinde": "file:g.csv", UP: {"of": "Gemeinde", "map": {}}})
    question = dt.Question(by=["Gemeinde"], domain={"Gemeinde": "file:g.csv"})
    assert dt.Question.from_dict(json.loads(json.dumps(question.to_dict()))) == question


def test_levels_may_have_names_of_their_own(tmp_path):
    path = tmp_path / "g.csv"
    named = {2: "Land", 5: "Kreis", 8: "Gemeinde"}
    lines = LIST.splitlines()
    path.write_text("\n".join([lines[0] + ";level", *(f"{x};{named[len(x.split(';')[0])]}" for x in lines[1:])]))
    assert list(read_code_list(path, "AGS").containing) == ["Kreis", "Land"]
    with pytest.raises(TableInputError, match="the level 'Land' is also that of finer codes"):
        read_code_list(path, "Land")
    path.write_text(path.read_text().replace("08115;Böblingen;08;Kreis", "08115;Böblingen;08;Landkreis"))
    with pytest.raises(
        TableInputError, match=r"line 5 of .* the level is 'Landkreis', and line 4 of the same height has 'Kreis'"
    ):
        read_code_list(path, "AGS")


def test_towns_of_one_name_are_told_apart_by_what_they_lie_in(tmp_path):
    (tmp_path / "g.csv").write_text(
        "code;label;parent\n1;North;\n2;South;\n11;Neustadt;1\n21;Neustadt;2\n12;;1\n13;;1\n"
    )
    assert read_code_list(tmp_path / "g.csv", "x").labels["x"] == {"11": "Neustadt", "21": "Neustadt"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("\0c\0o", "no text"),
        ("PK\x03\x04\0", "is an Excel file"),
        ("Schlüssel;Name\n1;a\n", "a first line with the names code"),
        ("code;code\n1;2\n", "a first line with the names code"),
        ("code;label\n", "has no codes"),
        ("code;label\n1;a\n2\n", "In line 3 .* there are 1 fields"),
        ("code;label\n1;a\n\n;b\n", "In line 4 .* there is no code"),
        ("code;label\n1;a\n2;b\n1;c\n", "In line 4 .* the code '1' stands again, which line 2 has already"),
        ("code;parent\n1;\n2;1\n3;7\n", "In line 4 .* the parent '7' is no code of the list"),
        ("code;parent\n1;2\n2;1\n3;1\n", "In line 2 .* contains itself by way of its parents"),
        ("code;parent\n1;1\n", "In line 2 .* contains itself"),
        ("code;parent\n1;\n2;1\n3;\n", "In line 4 .* the code '3' has no parent above it, and '2' .line 3. has 1"),
        ("code;parent\n1;\n2;1\n3;2\n4;1\n", "In line 5 .* the code '4' has 1 parent above it, and '3' .line 4. has 2"),
        (
            "code;label;parent\n1;a;\n2;a;\n",
            "In line 3 .* the code '2' has the label of '1' .line 2., 'a'; say in the labels",
        ),
        ('code;label\n1;"a\n2;b\n', "a quotation mark"),
        ('code;label\n1;a"b"\n2;"b" c\n', "In line 3 .* a quotation mark"),
    ],
)
def test_a_list_with_a_mistake_is_refused_by_its_line(tmp_path, text, told):
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(TableInputError, match=told):
        Domain.of({"x": f"file:{tmp_path / 'g.csv'}"})
    (tmp_path / "keys.json").write_text('{"x": "file:g.csv"}')
    with pytest.raises(TableInputError, match=told):  # the list's own message, not that of the JSON around it
        Domain.read(tmp_path / "keys.json")


def test_random_trees_come_back_as_they_were_grown(tmp_path):
    """Against containers that are followed by hand, in any order of lines."""
    draw = random.Random(20)
    for height in (0, 1, 2, 4):
        levels = [["r0", "r1"]]
        parent = dict.fromkeys(levels[0], "")
        for k in range(height):
            levels.append([f"{k}.{j}" for j in range(len(levels[-1]) + draw.randrange(9))])
            own = [
                *levels[-2],
                *draw.choices(levels[-2], k=len(levels[-1]) - len(levels[-2])),
            ]  # nobody is without a child
            parent |= dict(zip(levels[-1], own, strict=True))
        lines = list(parent.items())
        draw.shuffle(lines)
        (tmp_path / "g.csv").write_text("parent,code\n" + "".join(f"{up},{code}\n" for code, up in lines))
        domain = Domain.of({"x": f"file:{tmp_path / 'g.csv'}"})
        assert sorted(key for (key,) in domain.keys) == sorted(levels[-1])
        assert len(domain.hierarchies) == height
        for k, hierarchy in enumerate(domain.hierarchies, 1):
            for code, container in hierarchy.containers:
                for _ in range(k):
                    code = parent[code]
                assert code == container


def test_a_list_of_a_hundred_thousand_codes_takes_no_time(tmp_path):
    codes = [f"{k:06d}" for k in range(100_000)]
    upper = [f"{k:03d}" for k in range(1000)]
    text = "code;label;parent\n" + "".join(f"{up};n{up};\n" for up in upper)
    (tmp_path / "g.csv").write_text(text + "".join(f"{code};m{code};{code[3:]}\n" for code in codes))
    domain = Domain.of({"x": f"file:{tmp_path / 'g.csv'}"})
    assert (len(domain), len(domain.labels[0][1]), len(set(dict(domain.hierarchies[0].containers).values()))) == (
        100_000,
        100_000,
        1000,
    )


def test_codes_match_texts_and_whole_numbers_by_the_type_of_the_column(tmp_path):
    pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    from discreet.engines.duckdb import count_each

    (tmp_path / "plain.csv").write_text("code,label\n1,a\n20,b\n")
    (tmp_path / "zeros.csv").write_text("code,label\n01,a\n20,b\n")
    plain, zeros = (Domain.of({"x": f"file:{tmp_path / name}.csv"}) for name in ("plain", "zeros"))
    texts, numbers = pa.table({"x": ["1", "20", "01", "20.0"]}), pa.table({"x": [1, 20, 20, 3]})

    def counted(table, domain):
        return count_each(table, predicates=[None], by=["x"], domain=domain).counts[0].sizes.tolist()

    assert counted(texts, plain) == counted(texts, zeros) == [1, 1]
    assert counted(numbers, plain) == counted(pa.table({"x": [1.0, 20.0, 20.0, 1.5]}), plain) == [1, 2]
    with pytest.raises(TableInputError, match="has type BIGINT, but its declared keys are of type str"):
        counted(numbers, zeros)


def test_a_release_has_totals_by_the_lists_parents_and_its_page_the_labels(tmp_path, in_memory):
    pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "g.csv"
    path.write_text(LIST.replace("Sindelfingen", "<Sindelfingen>"), encoding="latin-1")
    people = pa.table({"Gemeinde": KEYS * 10})
    with dt.Ledger(in_memory / "b.db") as book:
        book.create("town", 9, relation="add-remove")
        made = (
            book["town"]
            .release(people, by="Gemeinde", domain={"Gemeinde": f"file:{path}"}, epsilon=1)
            .with_totals(UP, TOP)
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert made.record["question"]["domain"]["source"] == f"g.csv (SHA-256 {digest})"
    assert [row[TOP] for row in made.margins[TOP]] == ["08", "09"]
    made.save(tmp_path / "out.csv")
    page = next(tmp_path.glob("out*.html")).read_text(encoding="utf-8")
    for words in ("08115045 &lt;Sindelfingen&gt;", "09 Bayern; Freistaat", "08111 Stuttgart, Stadtkreis"):
        assert f"<bdi>{words}</bdi>" in page
    assert dt.check_release(tmp_path / "out.json").holds
