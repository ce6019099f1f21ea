"""Pages: totals first, heads that are heads, a scale that most rows can be read on, dates and keys for people."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.present.words import moment
from discreet.tables.publish.page import Scale, release_page, rows_table
from tests.cells import for_each

KEYS = ["a" * 120, "ירושלים", "東京", "<b>x</b>", None]


class Reader(HTMLParser):
    """The tags that are open, tables as lists of (tag, scope, text), and everything that was never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[dict[str, list]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in ("meta", "br"):
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": [], "head": [], "body": []})
        elif tag == "tr" and "tbody" in self.open:
            self.tables[-1]["body"].append([])
        elif tag in ("th", "td"):
            cell = [tag, dict(attrs).get("scope"), "", dict(attrs).get("data-name")]
            (self.tables[-1]["head"] if "thead" in self.open else self.tables[-1]["body"][-1]).append(cell)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "caption" in self.open:
            self.tables[-1]["caption"].append(data)
        elif {"th", "td"} & set(self.open):
            cells = self.tables[-1]["head"] if "thead" in self.open else self.tables[-1]["body"][-1]
            cells[-1][2] += data


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    rng = np.random.default_rng(5)
    people = pandas.DataFrame(
        {
            "town": rng.choice(np.array(KEYS, dtype=object), 400),
            "age": rng.choice(["old", "young"], 400),
            "ill": rng.random(400) < 0.2,
        }
    )
    with dt.Ledger(tmp_path_factory.mktemp("pages") / "budget.db") as book:
        book.create("town", "9", relation="change-one", public=["town", "age"])
        yield (
            book["town"]
            .release(
                people,
                count={"ill": "ill", "well": "not ill"},
                by=["town", "age"],
                epsilon=1,
                domain={"town": KEYS, "age": ["old", "young"]},
            )
            .with_totals("town", "age")
        )


def test_a_table_has_a_caption_and_heads_of_columns_and_rows(made):
    read = Reader(made.to_html())
    assert read.open == []
    # two margins and the rows, each of two counts: for readers, then for statisticians; between them how wrong they can be
    assert len(read.tables) == 13
    for table in read.tables:
        assert "".join(table["caption"]).strip()
        assert all((tag, scope) == ("th", "col") for tag, scope, *_ in table["head"])
        names = [cell[2] for cell in table["head"]]
        keys = 2 if names[0] == "statistic" else sum(name in ("town", "age") for name in names)
        for row in table["body"]:
            assert [cell[3] for cell in row] == names  # on a narrow screen each cell has its column's name beside it
            assert [(tag, scope) for tag, scope, *_ in row] == [("th", "row")] * keys + [("td", None)] * (
                len(names) - keys
            )


def test_totals_come_first_and_every_row_is_there(made):
    text = made.to_html()
    assert (
        text.index("Totals by town")
        < text.index("Totals by age")
        < text.index("Each group")
        < text.index("How to read this")
    )
    tables = Reader(text).tables
    rows = [row for table in tables[4:6] for row in table["body"]]
    assert [int(row[3][2]) for row in rows] == made.columns["published"] == made.columns["fitted"]
    assert [row[0][2] for row in rows] == [key or "(missing)" for key in made.columns["town"]]
    assert [int(row[2][2]) for table in tables[:2] for row in table["body"]] == [
        row["total"] for row in made.margins["town"]
    ]


def test_readers_get_one_number_and_statisticians_the_others_in_a_folded_table(made):
    text = made.to_html()
    before, folded = text.split("<details>")
    assert folded.endswith("</details>\n</body></html>\n")
    assert all(word not in before for word in ("fitted</th>", "standard error</th>", "report</th>", "mechanism</th>"))
    for table, statistic in zip(Reader(text).tables[11:], ("ill", "well"), strict=True):
        heads = [cell[2] for cell in table["head"]]
        assert heads == ["town", "age", "report", "fitted", "standard error", "mechanism", "epsilon"]
        rows = [row for row in made if row["count"] == statistic]
        assert [int(cells[2][2]) for cells in table["body"]] == [row["report"] for row in rows]


def test_dates_are_for_people(made):
    assert moment(made.record["released"]) in made.to_html()
    assert made.record["released"] not in made.to_html()
    assert moment("2027-03-01T00:30:00+02:00") == "28 February 2027, 22:30 UTC"
    assert moment("then") == "then"


def counts(*reports: float) -> list[dict[str, float]]:
    return [{"k": k, "report": x, "low": x - 3, "high": x + 3} for k, x in enumerate(reports)]


def test_one_huge_cell_does_not_flatten_the_others():
    text = rows_table(counts(5, 6, 7, 10**6, 8, 5), ["k"], "report")
    widths = [float(x) for x in re.findall(r"class='span' style='left:[\d.]+%;width:([\d.]+)%", text)]
    assert sorted(widths)[1] > 50  # but for the huge one
    assert text.count("class='cut right'") == 1
    assert "goes on beyond it" in text
    assert "cut" not in rows_table(counts(5, 6, 7, 100, 8, 5), ["k"], "report")


@for_each("seed", range(20))
def test_no_other_scale_shows_more_rows(seed):
    """Against every scale that ends at a row's reach, on reaches of many sizes, both signs."""
    rng = np.random.default_rng(seed)
    centres = rng.choice([-1, 1], 40) * np.exp(rng.normal(3, 3, 40))
    spans = [(c - 1, c + 1, c) for c in centres.tolist()]
    reaches = sorted(max(abs(low), abs(high)) for low, high, _ in spans)
    scale = Scale.of(spans)
    ends = max(abs(scale.low), abs(scale.high))

    def shown(end: float) -> int:
        return sum(end / 20 <= reach <= end for reach in reaches)

    assert shown(ends) == max(map(shown, reaches))
    assert scale.cut == (ends < reaches[-1])
    for low, high, report in spans:  # every picture stays on its scale, and is marked where it does not show all
        bar = scale.bar((low, high, report))
        left, width = map(float, re.search(r"left:([\d.]+)%;width:([\d.]+)%", bar[bar.index("'span'") :]).groups())
        assert 0 <= left <= left + width <= 100.11
        assert ("cut left" in bar) == (low < scale.low)
        assert ("cut right" in bar) == (high > scale.high)


def test_open_ends_negative_numbers_and_nothing_at_all_are_drawn():
    rows = [
        {"k": 1, "report": -20.5, "low": -40.25, "high": 1500.125},
        {"k": 2, "report": 3, "low": None, "high": None},
        {"k": 3, "report": 4, "low": 1, "high": None},
        {"k": 4, "report": None, "low": None, "high": None},
    ]
    text = rows_table(rows, ["k"], "report")
    assert "-40.25 to 1,500.13" in text  # outwards
    assert "1 to any" in text
    assert "not determined" in text
    assert text.count("class='bar'") == 2
    assert text.count("class='zero'") == 2
    assert "<table" in rows_table([], ["k"], "report")
    assert Scale.of([(0.0, 0.0, 0.0)]) == Scale(0.0, 1.0)
    assert Scale.of([(0.0, math.inf, 3.0)]).cut


def test_shares_are_percents_rounded_outwards():
    text = rows_table([{"k": 1, "report": 1 / 3, "low": 0.32999, "high": 0.34001}], ["k"], "report", kind="share")
    assert "33.33 %" in text
    assert "32.99 % to 34.01 %" in text  # 32.999 and 34.001, outwards


def test_a_long_table_says_how_many_rows_the_csv_has():
    assert "The first 400 of 1,250 rows" in rows_table(counts(*range(500)), ["k"], "report", 750)


def test_words_of_the_publisher_are_on_the_page_and_escaped(made):
    evil = "<script>alert(1)</script> & \"co\" 'x'"
    plain = made.to_html()
    words = {
        "title": evil,
        "source": f"s{evil}",
        "notes": [f"n{evil}", "m"],
        "labels": {"town": f"t{evil}", "ill": f"i{evil}"},
    }
    text = made.presented(**words).to_html()
    read = Reader(text)
    assert "<script" not in text
    assert read.open == []
    safe = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;co&quot; &#x27;x&#x27;"
    assert f"<h1>{safe}</h1>" in text
    assert f"<title>{safe}</title>" in text
    assert f"Source: s{safe}" in text
    assert f"<p>n{safe}</p>\n<p>m</p>" in text
    assert f"Totals by t{safe}" in text
    assert {table["head"][0][2] for table in read.tables} == {f"t{evil}", "age", "statistic"}
    assert sum("".join(table["caption"]).startswith(f"i{evil} by") for table in read.tables) == 6
    assert made.to_html() == plain  # the release itself stays as it was
    assert "town: ill, well" in plain
    assert f"town: i{safe}, well" in text  # what it is of is said below the title


def test_a_page_with_a_decimal_comma_groups_thousands_by_points(tmp_path):
    """Whoever reads 3,986 as a little less than 4 reads the page rightly: no number has a comma for thousands."""
    people = pandas.DataFrame({"town": ["a"] * 20_000 + ["b"] * 9_000, "pay": [1200.5] * 29_000})
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", 9, relation="add-remove")
        about = {
            "by": "town",
            "domain": {"town": ["a", "b"]},
            "mean": "pay:0..2000",
            "count": "*",
        }
        made = book["town"].release(people, epsilon="1/100", **about).with_totals("total")
    plain, comma = (release_page(made.presented(decimal=mark)) for mark in (".", ","))

    def numbers(page):
        """Those with a mark in them, in the order of the page."""
        text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
        return re.findall(r"\d+(?:[.,]\d+)+", text)

    assert len(numbers(plain)) > 20
    assert any("," in number for number in numbers(plain))
    assert numbers(comma) == [number.translate(str.maketrans(",.", ".,")) for number in numbers(plain)]


def test_a_decimal_comma_changes_our_numbers_and_no_name(tmp_path):
    """A condition is quoted as it was asked, a label as it was given: the page's mark puts no other number into it."""
    people = pandas.DataFrame({"bmi": [2.5, 3.0] * 2000, "v1.5": ["a", "b"] * 2000, "sex": ["f", "m"] * 2000})
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", 9, relation="add-remove")
        domain = {"v1.5": ["a", "b"], "sex": ["f", "m"]}
        asked = {"count": ["bmi >= 2.5", "bmi < 3.25"], "by": ["v1.5", "sex"], "domain": domain}
        made = book["town"].release(people, epsilon="1/3000", **asked).with_totals("v1.5")
    labels = {"bmi < 3.25": "below 3.25 in 1,000 people"}
    sentences = []
    for mark in (".", ","):
        page = release_page(made.presented(decimal=mark, labels=labels))
        errors = re.search(r"How wrong.*?</table>", page, re.DOTALL)[0]
        for name in ("bmi &gt;= 2.5", "below 3.25 in 1,000 people", "v1.5"):
            assert errors.count(name) >= 2, name
            errors = errors.replace(name, "")
        sentences.append(errors)
    assert re.search(r"\d,\d{3}", sentences[0])
    swapped = re.compile(r"(?<=\d)[.,](?=\d)").sub(lambda mark: {",": ".", ".": ","}[mark[0]], sentences[0])
    assert sentences[1] == swapped != sentences[0]
