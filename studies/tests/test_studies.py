"""Studies: every one runs quickly, finds what is known, judges as it should, and draws what it says; the report holds it all."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import discreet as dt
from discreet.errors import DiscreetError, TableInputError
from discreet.present import plot
from discreet.present.plot import looks
from studies import pictures
from studies.cormode import adult, optima
from studies.fernandes import cells
from studies.frame import Claim, Findings, Found, Paper, Study, otherwise, tally, verdict
from studies.report import report
from studies.shelf import all_studies, study

pytestmark = pytest.mark.outside("studies")

YES, PART, NO, OPEN = "holds", "holds in part", "does not hold", "not covered"

# The verdicts, claim by claim. Those on what a paper says agree with the errata and with trials made apart from this code; those
# beyond the papers are as these studies first found them, so they guard against change and prove nothing
VERDICTS = {
    "properties": [YES, YES, YES, PART, YES, PART, YES],
    "fair-matrix": [YES, YES, YES, YES],
    "implications": [YES, YES, YES, YES],
    "heat-maps": [YES, PART, YES],
    "scores": [NO, PART, YES],
    "score-curves": [PART, YES, YES],
    "subsets": [YES, YES, YES],
    "adult": [YES, YES],
    "optima": [PART, YES, YES, NO, YES, OPEN, OPEN],
    "response-laws": [YES, YES, NO, PART, YES],
    "recovered-laws": [YES, YES, YES, YES],
    "recovery-error": [YES, PART, PART, PART],
    "theorems": [YES, PART, YES, YES],
    "error-causes": [PART, PART, PART],
    "convergence": [PART, YES, PART],
    "equal-privacy": [PART, YES],
    "shapes": [YES, PART],
    "laplace-example": [YES, YES, YES, YES, YES, YES, YES],
    "truncation": [YES, YES, YES, YES, YES, YES, YES, YES, YES],
    "utility": [YES, YES, YES, NO, YES, YES],
    "lower-utility": [YES, PART, YES, YES, YES],
    "universal-optimality": [YES, YES, YES, YES, YES],
    "three-graphs": [YES, YES, YES, PART, PART],
    "noise-laws": [NO, NO, YES, YES, YES, NO, YES],
    "tradeoff-curves": [YES, YES, PART, PART, YES, YES],
    "side-information": [YES, PART, PART, YES, YES, YES, YES, PART],
    "remaps": [PART, PART, PART],
    "uneven-sensitivity": [YES, PART, PART, YES, OPEN, OPEN],
    "colluding-users": [YES, YES, YES, YES, YES, YES, YES, YES],
    "collusion-strategies": [YES, NO, NO, PART, YES],
    "cascaded-users": [YES, YES, PART],
}


@functools.cache
def found(name: str) -> Findings:
    return study(name, quick=True)


@pytest.mark.parametrize("name", all_studies())
def test_a_study_finds_what_is_expected_and_judges_as_it_should(name):
    findings, expected = found(name), all_studies()[name].expected
    assert findings.unexpected == ()
    looked_at = set(expected) & set(findings.values)
    assert len(looked_at) >= len(expected) / 2, "most of what is expected is also looked at quickly"
    assert set(expected) <= set(findings.values) | {key for key in expected if re.search(r"10000$|50000$", key)}
    assert [claim.verdict for claim in findings.claims] == VERDICTS[name]
    assert json.loads(json.dumps(findings.to_dict(), allow_nan=False)) == findings.to_dict()


@pytest.mark.parametrize("name", all_studies())
def test_every_picture_is_drawn_and_has_a_title(name):
    for picture in found(name).pictures:
        drawn = plot.svg(picture.draw())
        ElementTree.fromstring(drawn)
        assert not re.search(r">[^<]*(NaN|undefined|null)[^<]*<", drawn)
        assert len(re.sub(r"<[^>]+>", " ", drawn).split()) > 20


@pytest.mark.parametrize("name", all_studies())
def test_every_claim_quotes_the_paper_and_says_what_would_have_refuted_it(name):
    for claim in found(name).claims:
        assert bool(claim.refuted_if) == (claim.verdict != OPEN), claim.says
        assert claim.quote or claim.ours, claim.says
        assert claim.ours or not claim.where.startswith("beyond"), claim.where


def test_the_papers_claims_are_counted_apart_from_ours():
    claims = [Claim("here", "x", "y", word, "q", "r", ours) for word, ours in ((YES, False), (NO, False), (PART, True))]
    assert tally(claims) == "paper: 1 holds, 1 does not hold; our own claims: 1 holds in part"
    assert (tally(claims[:1]), tally(claims[2:])) == ("1 holds", "our own claims: 1 holds in part")
    assert tally([*claims[:1], Claim("here", "x", "y", OPEN, "q")]) == "1 holds, 1 not covered"


def test_what_would_have_changed_a_verdict_depends_on_the_verdict():
    said = [otherwise(Claim("here", "x", "y", word, "q", "so (then: holds)")) for word in (YES, PART, NO)]
    assert said == ["refuted if so (then: holds)", *(2 * ["another verdict if so (then: holds)"])]
    assert otherwise(Claim("here", "x", "y", NO, "q", "so")) == "would hold if so"
    assert otherwise(Claim("here", "x", "y", NO, "q")) == ""


def test_the_studies_need_no_test_tools():
    """Whoever installs the package alone can run them."""
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['hypothesis'] = None; from studies.shelf import all_studies; "
        "assert 'scores' in all_studies(); import studies.tests.test_command"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("import of pytest halted; None in sys.modules\n")  # of the tests, and not before


def test_every_study_is_known_and_none_is_forgotten():
    assert set(VERDICTS) == set(all_studies())
    with pytest.raises(DiscreetError, match=r"choose from .*properties"):
        study("cake")


def test_an_unexpected_value_is_told():
    """The control of the first test: a value that is off by more than its tolerance is named, one within it is not."""
    work = functools.partial(Found, values={"a": 1.0, "b": 2.0})
    off = Study("x", "X", Paper("P"), "here", lambda setting: work([]), {"a": (1.1, 0.05), "b": (2.0, 0)})
    assert off.run().unexpected == ("a is 1, expected 1.1 +- 0.05",)
    wide = replace(off, expected={"a": (1.1, 0.2)}, sharper=0.25)
    assert (len(wide.run(quick=True).unexpected), len(wide.run().unexpected)) == (0, 1)
    assert [verdict(held) for held in ([True, True], [True, False], [False])] == [YES, PART, NO]


class Page(HTMLParser):
    """Names of parts, links within the page, and everything that would be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id":
                self.names.append(value)
            elif key == "href" and value.startswith("#"):
                self.links.add(value[1:])
            elif key in ("src", "href", "xlink:href") or (key == "style" and "url(" in value):
                self.fetched.append(value)


def test_the_report_has_every_claim_and_fetches_nothing(monkeypatch):
    some = [found(name) for name in ("fair-matrix", "heat-maps", "subsets")]
    text = report(some)
    page = Page(text)
    assert page.fetched == []
    assert len(page.names) == len(set(page.names)), "pictures share no names"
    assert page.links <= set(page.names)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.names)
    for claim in (claim for each in some for claim in each.claims):
        assert escape(claim.says) in text
        assert escape(claim.found) in text
    assert text.count("<svg") == 3
    assert "min-width:" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL), "pictures shrink to any width"
    for each, section in zip(some, text.split("<h2 id=")[1:], strict=True):
        assert all(escape(words) in section for claim in each.claims for words in (claim.says, claim.found))
        assert "<a href='#top'>" in section
    assert "10 claims of the papers in 3 studies: 9 hold, 1 holds in part. 0 claims of ours" in text
    assert "Not as expected" not in text
    assert "Not as expected" in report([replace(some[0], unexpected=("a is 1, expected 2",))])
    monkeypatch.setattr(looks, "find_spec", lambda name: None)
    assert report(some).count("<svg") == 0


def test_findings_are_alike_other_results():
    """What tests/present/test_results.py asks of every result of the library."""
    findings = found("fair-matrix")
    assert repr(findings).startswith("<Findings fair-matrix: ")
    assert repr(findings).isprintable()
    assert len(repr(findings)) < 200
    assert 0 < len(str(findings)) < 5000
    page = findings._repr_html_()
    assert "<svg" in page
    for words in (findings.title, *(claim.found for claim in findings.claims), *findings.tables[0].columns):
        assert words in str(findings)
        assert escape(words) in page
    told = findings.to_dict()
    assert (told["study"], told["quick"], told["unexpected"]) == (findings.name, True, [])
    assert [row["verdict"] for row in findings.rows()] == [claim["verdict"] for claim in told["claims"]]
    for field in fields(findings):
        with pytest.raises(FrozenInstanceError):
            setattr(findings, field.name, None)


def test_the_colours_of_heat_maps_side_by_side_are_those_of_their_blocks():
    m = dt.geometric(120, epsilon="1/10").matrix
    spec = pictures.heat_maps({"one": m, "two": m}, range(121), "both").to_dict()
    tops = {float(top) for top in re.findall(r"'domain': \[0, ([0-9.e-]+)\]", str(spec))}
    drawn = max(row["share"] for rows in spec["datasets"].values() for row in rows)
    assert list(tops) == [pytest.approx(drawn)]


# The numbers behind the studies, in other ways


def test_the_least_value_that_an_optimum_reports():
    """The closed form against the posterior of report 0, weighed value by value; and at a tie the two best are named."""
    for n in (1, 2, 4, 7, 12, 30):
        for alpha in ("1/5", "1/2", "31/50", "3/4", "9/10", "99/100"):
            a = Fraction(alpha)
            for loss, power in (("l1", 1), ("l2", 2)):
                risk = [sum(a**i * abs(i - j) ** power for i in range(n + 1)) for j in range(n + 1)]
                best = [j for j in range(n + 1) if risk[j] == min(risk)]
                assert optima.least_reported(n, a, loss) in best
                assert optima.is_tie(n, a, loss) == (len(best) > 1), (n, alpha, loss)


def test_the_window_has_two_levels():
    assert [cells.width(float(np.exp(e))) for e in (0.5, 1, 2, 4)] == [36, 26, 13, 3]
    m = cells.mechanism("window", "ln(2)")
    w = cells.width(2.0)
    near = np.abs(np.arange(-w, 101 + w)[None, :] - np.arange(101)[:, None]) <= w
    assert m.matrix[near] == pytest.approx(2 / (101 + 2 * w + 2 * w + 1), rel=1e-6)
    assert m.matrix[~near] == pytest.approx(1 / (101 + 2 * w + 2 * w + 1), rel=1e-6)
    assert dt.check_privacy(m, neighbours="any", epsilon="ln(2)").holds
    assert not dt.check_privacy(m, neighbours="any", epsilon="0.6").holds


def test_the_interval_of_a_ratio_covers_it():
    """Of 2000 intervals from ten draws each, between 92 and 97 % hold the ratio 1/2; a ratio of 3/5 is held far less often."""
    rng = np.random.default_rng(8)
    ends = [cells.ratio_interval(rng.normal(3, 0.5, 10).tolist(), rng.normal(6, 2, 10).tolist()) for _ in range(2000)]
    assert 0.92 < np.mean([low < 0.5 < high for low, high in ends]) < 0.97
    assert np.mean([low < 0.6 < high for low, high in ends]) < 0.8


def test_group_counts_are_derived_from_a_copy(tmp_path):
    """Against counting in plain Python, on made-up rows; the rows of the test part are left out."""
    import pyarrow
    from pyarrow import csv, parquet

    rng = np.random.default_rng(1)
    size = adult.TRAINING + 50
    age, sex = rng.integers(17, 90, size), rng.choice(["Male", "Female"], size)
    income = rng.choice(["<=50K", ">50K"], size)
    table = pyarrow.table({"age": age, "sex": sex, "income": income})
    parquet.write_table(table, tmp_path / "a.parquet")
    csv.write_csv(table, tmp_path / "a.csv")
    groups = adult.derive(str(tmp_path / "a.parquet"))
    bits = {"age < 30": age < 30, "female": sex == "Female", "> 50K": income == ">50K"}
    for name, bit in bits.items():
        kept = bit[: adult.TRAINING].tolist()
        for n in adult.SIZES:
            counts = [0] * (n + 1)
            for k in range(0, len(kept) - n + 1, n):
                counts[sum(kept[k : k + n])] += 1
            assert groups[name][n] == counts
    assert adult.derive(str(tmp_path / "a.csv")) == groups
    told = json.loads(adult.document(groups))
    assert "CC BY 4.0" in told["source"]
    assert {name: {int(n): c for n, c in sizes.items()} for name, sizes in told["groups"].items()} == groups
    assert found("adult").values != study("adult", quick=True, adult=tmp_path / "a.parquet").values
    (tmp_path / "short.csv").write_text("age,sex,income\n30,Male,>50K\n")
    for bad in ("no.parquet", "short.csv"):
        with pytest.raises(TableInputError, match=r"give|use"):
            adult.derive(str(tmp_path / bad))


def test_the_group_counts_that_come_along_are_those_of_the_data():
    """Against the published totals of the training rows; groups of n leave out fewer than n people."""
    for name, sizes in adult.carried().items():
        assert tuple(sizes) == adult.SIZES
        for n, counts in sizes.items():
            assert sum(counts) == adult.TRAINING // n
            assert 0 <= adult.TOTALS[name] - sum(k * c for k, c in enumerate(counts)) < n


def test_names_and_verdicts_read_like_words():
    found = study("fair_matrix", quick=True)
    assert "(4 hold)" in found.view().title or "(4 hold)" in repr(found)
    with pytest.raises(DiscreetError, match="leave it out"):
        study("scores", quick=True, adult="none.csv")
