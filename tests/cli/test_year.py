"""A year of a statistics office on the command line, in German data: no wrong charge, no wasted one, no private value in a file.

The residents are made here, and the truth is computed from them in Python, never from a file. Noise can miss it: so each release
is read again, which is free, at a confidence of 1 - 1e-9 for all its numbers at once, and then every interval must hold the truth.
These are ten readings, and five differences of two, so a right program fails here less than twice in 10^8 runs. Tables that count
something else (households for people, everybody for those who answered) are refuted by the same intervals.
"""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dt
from discreet import verify
from discreet.cli import terminal
from discreet.ledger import periods

from ..engines.test_excel import workbook
from .test_cli import Told, assert_one_good_error, run  # noqa: F401  # a fixture

pytest.importorskip("duckdb")
pytest.importorskip("python_calamine")

TOWNS = {
    "08115003": "Böblingen",
    "08115045": "Sindelfingen",
    "08115028": "Leonberg",
    "08416041": "Tübingen",
    "08416025": "Mössingen",
}
DISTRICTS = {"08115": "Böblingen (Kreis)", "08416": "Tübingen (Kreis)"}
NAMES = ["Haushalt", "Person", "Name", "Gemeinde", "Geschlecht", "Geburtsdatum", "Einkommen", "Erwerbstätig"]
MISSING = "k.A."
LARGEST = 6  # people of a household that count: --max-rows
SURE = ["--confidence", "0.999999999", "--simultaneous"]
Key = tuple[str, ...]
Truth = Mapping[Key, Fraction | int]


@dataclass(frozen=True)
class Person:
    household: str
    number: str
    name: str
    town: str
    sex: str
    born: date
    income: Decimal | None
    employed: str

    @property
    def age(self) -> int:
        """Whole years completed on the first of January 2026."""
        return 2025 - self.born.year + ((self.born.month, self.born.day) == (1, 1))

    @property
    def steps(self) -> int:
        """The income in tens, halves upwards, within 0 to 5000."""
        assert self.income is not None
        return min(max(math.floor(self.income / 10 + Decimal("0.5")), 0), 500)


def residents(draw: random.Random, households: range) -> list[Person]:
    """Households of one to six, each in one town; a tenth of the incomes and a fifth of the answers are missing."""
    people = []
    for home in households:
        town = draw.choice(list(TOWNS))
        for number in range(draw.choice([1, 1, 2, 2, 3, 4, 5, 6])):
            people.append(
                Person(
                    household=f"HH{home:05}",
                    number=f"PNR{home:05}{number}",
                    name=f"Müßig-{draw.randrange(16**8):08x}",
                    town=town,
                    sex=draw.choice(["männlich", "weiblich"]),
                    born=date(1930, 1, 1) + timedelta(days=draw.randrange(35000)),
                    income=None if draw.random() < 0.1 else Decimal(draw.randrange(600_000)) / 100,
                    employed=draw.choices(["ja", "nein", MISSING], [45, 35, 20])[0],
                )
            )
    return people


def written(people: Iterable[Person]) -> bytes:
    """As the register's program writes them: Latin-1, semicolons, days as dd.mm.yyyy, a decimal comma."""
    lines = [";".join(NAMES)]
    for p in people:
        income = MISSING if p.income is None else f"{p.income:.2f}".replace(".", ",")
        fields = p.household, p.number, p.name, p.town, p.sex, p.born.strftime("%d.%m.%Y"), income, p.employed
        lines.append(";".join(fields))
    return "\r\n".join([*lines, ""]).encode("latin-1")


def by_town(people: Iterable[Person]) -> dict[Key, int]:
    """People of each town, of a household six at most, with the totals of the code list's parents."""
    homes = Counter((p.town, p.household) for p in people)
    counts = Counter[Key]()
    for (town, _), size in homes.items():
        for key in ((town,), ("Kreis", town[:5]), ("total",)):
            counts[key] += min(size, LARGEST)
    return counts


BANDS = {"0-17": (0, 17), "18-64": (18, 64), "65 und mehr": (65, 200)}


def by_age(people: Iterable[Person]) -> dict[Key, int]:
    counts = Counter[Key]({(band, sex): 0 for band in BANDS for sex in ("männlich", "weiblich", "divers")})
    for p in people:
        (band,) = [band for band, (low, high) in BANDS.items() if low <= p.age <= high]
        for key in ((band, p.sex), ("Geburtsdatum", band), ("total",)):
            counts[key] += 1
    return counts


def means_and_shares(people: list[Person]) -> dict[Key, Fraction]:
    """The mean income of those with one, and the share of the employed among those who answered."""
    values: dict[Key, Fraction] = {}
    groups = [((town,), {town}) for town in TOWNS] + [
        (("Kreis", district), {town for town in TOWNS if town.startswith(district)}) for district in DISTRICTS
    ]
    for key, towns in [*groups, (("total",), set(TOWNS))]:
        steps = [p.steps for p in people if p.town in towns and p.income is not None]
        answers = [p.employed == "ja" for p in people if p.town in towns and p.employed != MISSING]
        values[*key, "Einkommen"] = Fraction(10 * sum(steps), len(steps))
        values[*key, "erwerbstätig"] = Fraction(sum(answers), len(answers))
    return values


def numbers(release: Mapping[str, Any], columns: list[str]) -> dict[Key, tuple[float, float, float]]:
    """Published number, low and high of each group and total, from what `--json` prints."""
    found = {}
    for row in release["rows"]:
        found[tuple(row[c] for c in [*columns, "statistic"] if c in row)] = row["published"], row["low"], row["high"]
    for margin, rows in release["margins"].items():
        for row in rows:
            parts = [row[c] for c in row if c in margin.split("+")]
            name = [margin] if margin == "total" else [margin, *parts]
            key = tuple(name + ([row["statistic"]] if "statistic" in row else []))
            found[key] = row["total"], row["low"], row["high"]
    return found


def refuted(release: Mapping[str, Any], truth: Truth, columns: list[str]) -> list[Key]:
    """The groups and totals whose interval does not hold the truth."""
    found = numbers(release, columns)
    assert set(found) == set(truth)
    assert all(low <= published <= high for published, low, high in found.values())
    return [key for key, (_, low, high) in found.items() if not low <= truth[key] <= high]


@dataclass
class Office:
    """Somebody at the office's terminal: what was typed, what it was meant to cost, and what was printed for others."""

    command: Callable[..., Told]
    intended: list[tuple[str, Fraction]] = field(default_factory=list)
    public_texts: list[str] = field(default_factory=list)

    def charges(self) -> list[tuple[str, Fraction]]:
        """All charges of the ledger, in its own words."""
        if not Path("amt.db").exists():
            return []
        with dt.Ledger("amt.db") as book:
            return [
                (name, Fraction(line.facts["epsilon"]))
                for name in list(book)
                for line in book[name].history()
                if line.kind == "charge"
            ]

    def settled(self) -> None:
        assert sorted(self.charges()) == sorted(self.intended)

    def does(self, *words: object, code: int = 0, public: bool = True) -> Told:
        """A command that charges nothing."""
        told = self.command(*words, "--ledger", "amt.db")
        assert told.code == code, told
        assert "Traceback" not in told.err
        if public:
            self.public_texts.append(told.out + told.err)
        self.settled()
        return told

    def alone(self, *words: object, code: int = 0) -> Told:
        """A command whose words are for whoever holds the data."""
        told = self.does(*words, code=code, public=False)
        assert "For you alone, not for publication." in told.out
        return told

    def mistypes(self, *words: object, says: str, ledger: str = "amt.db") -> None:
        """A command that is refused with what helps, writes nothing and charges nothing."""
        before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
        told = self.command(*words, "--ledger", ledger)
        assert_one_good_error(told)
        assert says in told.err
        self.public_texts.append(told.err)
        self.settled()
        assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before

    def pays(self, dataset: str, epsilon: str, *words: object) -> Told:
        """A release that is meant: it charges what was said, once."""
        self.intended.append((dataset, Fraction(epsilon)))
        told = self.does("release", *words, "--dataset", dataset, "--epsilon", epsilon)
        assert f"Charged epsilon {epsilon}." in told.out
        return told

    def reads_again(self, dataset: str, epsilon: str, *words: object) -> dict[str, Any]:
        """The stored answer, all its intervals at once at 1 - 1e-9: free."""
        told = self.does("release", *words, "--dataset", dataset, "--epsilon", epsilon, *SURE, "--json")
        assert "this is the answer stored for version" in told.err
        return json.loads(told.out)


@pytest.fixture
def office(run) -> Office:  # noqa: F811
    return Office(run)


@pytest.fixture
def clock(monkeypatch) -> Callable[[str], None]:
    def set_to(day: str) -> None:
        monkeypatch.setattr(periods, "clock", lambda: f"{day}T09:00:00+00:00")

    return set_to


READ = ["--encoding", "latin-1", "--separator", ";", "--decimal", ",", "--null", MISSING]
DATES = ["--dates", "Geburtsdatum:dd.mm.yyyy"]
CODES = ["--by", "Gemeinde", "--domain", "Gemeinde=file:gemeinden.csv"]
PEOPLE = [*CODES, "--counted", "Person", "--max-rows", LARGEST, "--margins", "Kreis,total"]
AGES = ["--by", "Geburtsdatum,Geschlecht", "--domain", "merkmale.json", "--counted", "Person", "--max-rows", LARGEST]
AGES += ["--margins", "Geburtsdatum,total"]
INCOMES = [*CODES, "--counted", "rows", "--max-rows", LARGEST, "--margins", "Kreis,total"]
INCOMES += ["--mean", "Einkommen:0..5000/10 missing out", "--share", "erwerbstätig=Erwerbstätig = 'ja' missing out"]
GERMAN = ["--out-decimal", ",", "--source", "Melderegister"]


def public_lists() -> None:
    """The code list of the state's office, and the keys of the other columns."""
    lines = ["code;label;parent;level"]
    lines += [f"{code};{label};;Kreis" for code, label in DISTRICTS.items()]
    lines += [f"{code};{label};{code[:5]};Gemeinde" for code, label in TOWNS.items()]
    Path("gemeinden.csv").write_text("\n".join([*lines, ""]), encoding="latin-1")
    bands = {band: [low, None if high == 200 else high] for band, (low, high) in BANDS.items()}
    keys = {
        "Gemeinde": "file:gemeinden.csv",
        "Geschlecht": ["männlich", "weiblich", "divers"],
        "Geburtsdatum": {"age_at": "2026-01-01", "bands": bands},
    }
    Path("merkmale.json").write_text(json.dumps(keys), encoding="utf-8")
    wrong = keys | {"Geschlecht": ["Männlich", "weiblich", "divers"]}
    Path("vertippt.json").write_text(json.dumps(wrong), encoding="utf-8")


def opened(office: Office) -> None:
    """January: the file is looked at, the account opened, and the file admitted; the first tries are wrong."""
    file = "einwohner.csv"
    told = office.command("profile", file, *READ, *DATES, "--unit", "Haushalt")
    assert told.code == 0
    assert "Geburtsdatum  dates" in told.out
    told = office.command("profile", file, *READ, "--domain", "merkmale.json", "-o", "gemeinden.csv", "--overwrite")
    assert_one_good_error(told)
    assert "gemeinden.csv is read by this command" in told.err
    terms = ["--budget", 20, "--per", "year", 2, "--relation", "add-remove"]
    office.does("ledger", "create", "versuch", *terms, "--unit", "Haushlt")
    office.mistypes("admit", file, "--dataset", "versuch", *READ, *DATES, says="no column 'Haushlt'")
    made = office.does("ledger", "create", "einwohner", *terms, "--unit", "Haushalt")
    assert "budget 20, at most 2 a year, relation add-remove" in made.out
    office.mistypes("ledger", "create", "einwohner", *terms, says="leave out discreet ledger create")
    about = ["--dataset", "einwohner", "--version", "2026-01"]
    for options, says in (
        (READ[2:], "say its encoding, such as latin-1"),
        ([*READ[:2], *READ[4:]], '--separator ";"'),
        ([*READ[:4], *READ[6:]], '--decimal ","'),
    ):
        office.mistypes("admit", file, *about, *options, *DATES, says=says)
    office.alone("admit", file, "--dataset", "einwohner", "--version", "ohne-datum", *READ)
    bounds = ["--sum", "Einkommen:0..5000/10", "--domain", "merkmale.json", "--codes", "Gemeinde"]
    assert "Admitted as version 2026-01" in office.alone("admit", file, *about, *READ, *DATES, *bounds).out


def typing_errors(office: Office) -> None:
    """What is refused before it is paid, and what whoever holds the data is told by --check."""
    asked = ["release", "einwohner.csv", "--dataset", "einwohner", "--version", "2026-01"]
    few = ["--counted", "rows", "--max-rows", LARGEST]
    half = ["--epsilon", "1/2"]
    for words, says in (
        ([*asked, *PEOPLE, "--epsilon", "0,5"], "write 0.5"),
        ([*asked, *CODES, *few, "--max-groups", "20.000", *half], "write 20 or 20000"),
        ([*asked, *CODES, *few, "--mean", "Einkommen:0..5.000/10", *half], "may mean 5 or 5000"),
        ([*asked, "--by", "Gemeinde", "Geschlecht", *CODES[2:], *half], "--by Gemeinde --by Geschlecht"),
        ([*asked, "--by", "Gemeide", *CODES[2:], *half], "No values are declared for Gemeide"),
        ([*asked, *CODES[:2], "--domain", "Gemeinde=file:gemeinde.csv", *half], "no code list 'gemeinde.csv'"),
        ([*asked, *PEOPLE[:-1], "Kreise,total", *half], "Did you mean 'Kreis'?"),
        ([*asked, *CODES, "--count", "Erwerbstaetig = 'ja'", *half], "Did you mean 'Erwerbstätig'?"),
        ([*asked, *CODES, "--count", "Geburtsdatum < '01.01.1990'", *half], "such as '2020-01-31'"),
        ([*asked, *PEOPLE, *half, "--separator", ";"], "fixed at admission"),
        ([*asked, *PEOPLE, "--epsilon", "5/2"], "2 left of the 2 that may be spent in the year 2026"),
        ([*asked, *PEOPLE, *half, "-o", "gemeinden.csv", "--overwrite"], "gemeinden.csv is read here"),
        ([*asked, *AGES, *half, "-o", "merkmale.csv", "--overwrite"], "merkmale.json is read here"),
        (
            [*asked, *AGES, *half, "-o", "gemeinden.csv", "--overwrite"],
            "gemeinden.csv is read here",
        ),  # the domain names it
        (
            [*asked, *INCOMES, *half, "--label", "count=Einwohner", "-o", "x.csv"],
            "no column or statistic 'count' to label",
        ),
        (["release", "einwohner.csv", "--dataset", "einwoner", *PEOPLE, *half], "Did you mean 'einwohner'?"),
        (["release", "einwoner.csv", *asked[2:], *PEOPLE, *half], "There is no file 'einwoner.csv'"),
    ):
        office.mistypes(*words, says=says)
    office.mistypes(*asked, *PEOPLE, *half, says="Did you mean 'amt.db'?", ledger="amtt.db")
    told = office.does(*asked[:-1], "2026-1", *PEOPLE, *half, code=2)
    assert "Version '2026-1' of 'einwohner' was not admitted, and nothing was charged." in told.err
    assert "This very file was admitted as version '2026-01': say --version 2026-01" in told.err
    told = office.alone(*asked, *PEOPLE, "--epsilon", "5/2", "--check", code=1)
    assert "It would charge epsilon 5/2 of 2 left in the year 2026, and so it would be refused" in told.out
    assert office.alone("preview", *asked[1:], *PEOPLE, "--epsilon", "5/2", "--check", code=1).out == told.out
    for words, says in (
        (["--by", "Geschlecht", "--domain", "vertippt.json"], "correct its spelling"),
        ([*CODES, *few, "--share", "Erwerbstätig = 'Ja' missing out"], "true of no row in a group"),
        ([*CODES, *few, "--count", "Erwerbstätig = NULL"], "true of no row in a group"),
    ):
        assert says in office.alone(*asked, *words, *half, "--check", code=1).out


def previewed(office: Office) -> None:
    """What the director asks first: how wrong, at which epsilon."""
    asked = ["preview", "einwohner.csv", "--dataset", "einwohner", "--version", "2026-01", *PEOPLE]
    told = office.does(*asked, "--epsilon", "1/2")
    # One of 5 reports of alpha = e^-(1/12) is within w in 95 % where 2 alpha^(w+1) / (1 + alpha) <= 1/20
    assert math.ceil(12 * math.log(40 / (1 + math.exp(-1 / 12))) - 1) == 36
    assert re.search(r"each group +5 +36 ", told.out)
    assert "totals by Kreis, of the groups listed" in told.out
    assert "nothing was drawn or charged" in told.out
    errors = json.loads(office.does(*asked, "--epsilon", "1/2", "--json").out)["record"]["errors"]
    assert [(row["of"], row["numbers"]) for row in errors] == [("groups", 5), ("Kreis", 2), ("total", 1)]
    assert errors[0]["each"] == 36


@contextmanager
def at_a_terminal(answer: str) -> Iterator[None]:
    """Somebody who is asked, and answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "is_interactive", lambda: True)
        patch.setattr(sys, "stdin", io.StringIO(answer))
        yield


def town_tables(office: Office, people: list[Person]) -> None:
    """Counts of people with households protected, ages, means and shares; one of them is paid for on a terminal."""
    about = ["einwohner.csv", "--version", "2026-01"]
    title = ["--title", "Einwohner nach Gemeinden", "--label", "count=Einwohner"]
    told = office.pays("einwohner", "1/4", *about, *PEOPLE, *GERMAN, *title, "-o", "leute.csv")
    assert "einwohner: distinct values of Person by Gemeinde" in told.out
    assert "Not included: rows with keys that were not declared" in told.out
    ages = ["release", *about, "--dataset", "einwohner", *AGES, "--epsilon", "1/4", "-o", "alter.csv"]
    for answer in ("n\n", "j\n", ""):
        with at_a_terminal(answer):
            assert "Pay 1/4 of 7/4 (7/4 of 2 left in the year" in office.does(*ages, code=1, public=False).err
        assert not Path("alter.csv").exists()
    with at_a_terminal("y\n"):
        office.pays("einwohner", "1/4", *about, *AGES, *GERMAN, "-o", "alter.csv")
    assert record("alter")["checked"] == "checked against the data before payment"
    office.pays("einwohner", "1", *about, *INCOMES, *GERMAN, "-o", "einkommen.csv")

    checked = office.alone("release", *about, "--dataset", "einwohner", *INCOMES, "--epsilon", "1", "--check")
    assert "It would charge nothing." in checked.out  # of what is stored, though the year has 1/2 left
    read = office.reads_again("einwohner", "1/4", *about, *PEOPLE)
    assert refuted(read, by_town(people), ["Gemeinde"]) == []
    households = by_town({p.household: p for p in people}.values())  # one of each: what was once called people
    assert set(refuted(read, households, ["Gemeinde"])) >= {("Kreis", "08115"), ("Kreis", "08416"), ("total",)}
    read = office.reads_again("einwohner", "1/4", *about, *AGES)
    assert refuted(read, by_age(people), ["Geburtsdatum", "Geschlecht"]) == []
    read = office.reads_again("einwohner", "1", *about, *INCOMES)
    assert refuted(read, means_and_shares(people), ["Gemeinde"]) == []
    everybody = [replace(p, employed="nein" if p.employed == MISSING else p.employed) for p in people]
    assert ("total", "erwerbstätig") in refuted(read, means_and_shares(everybody), ["Gemeinde"])


def record(name: str) -> dict[str, Any]:
    return json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))["record"]


def german_files() -> None:
    """What colleagues open in a spreadsheet: semicolons and decimal commas, and a page with the code list's labels."""
    for name, columns in (("leute", 1), ("alter", 2), ("einkommen", 2)):
        text = Path(f"{name}.csv").read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text), delimiter=";"))
        assert rows[0][columns : columns + 3] == ["published", "low", "high"]
        for row in rows[1:]:
            number, low, high = (float(cell.replace(",", ".")) for cell in row[columns : columns + 3])
            assert low <= number <= high
        if name != "alter":
            assert {row[0] for row in rows[1:]} == set(TOWNS)
    assert ",5" in Path("einkommen.csv").read_text(encoding="utf-8")
    page = Path("leute.html").read_text(encoding="utf-8")
    for words in ("Einwohner nach Gemeinden", "Melderegister", *DISTRICTS.values()):
        assert words in page
    assert "Counts and sums were fitted to the totals, so that they add up" in page
    days = "0-17 is from 2008-01-02 to 2026-01-01; 18-64 is from 1961-01-02 to 2008-01-01; 65 und mehr is to 1961-01-01"
    assert f"Geburtsdatum: {days} (the days at both ends included)." in Path("alter.html").read_text(encoding="utf-8")
    shown, folded = page.split("For statisticians")
    for code, label in TOWNS.items():
        assert f"{code} {label}" in shown
        assert f"{code} {label}" in folded


def district(office: Office) -> None:
    """A district's Excel file: a cover, a title row, and a public column that was mistyped; then shares and counts for adding."""
    draw = random.Random(3)
    places = ["Süd", "Weiher", "Äußere Stadt"]
    rows = [
        (draw.choice(places), draw.randrange(100), draw.choices(["ja", "nein", MISSING], [3, 4, 2])[0])
        for _ in range(600)
    ]
    cells = [["Bezirk Süd, Stand 31.01.2026"], [None], ["Ortsteil", "Alter", "Förderung"]]
    workbook(Path("sued.xlsx"), Deckblatt=[["Bezirk"]], Daten=[*cells, *([a, float(b), c] for a, b, c in rows)])
    Path("ortsteile.json").write_text(json.dumps({"Ortsteil": places}), encoding="utf-8")
    terms = ["--budget", 2, "--relation", "change-one"]
    sheet = ["--sheet", "Daten", "--header-row", 3, "--null", MISSING]
    office.does("ledger", "create", "süd", *terms, "--public", "Ortsteile")
    office.mistypes("admit", "sued.xlsx", "--dataset", "süd", says="'Deckblatt', 'Daten'")
    office.mistypes("admit", "sued.xlsx", "--dataset", "süd", "--sheet", "Daten", says="--header-row")
    assert "Did you mean 'Ortsteil'?" in office.alone("admit", "sued.xlsx", "--dataset", "süd", *sheet).out
    office.does("ledger", "create", "sued", *terms, "--public", "Ortsteil")
    office.alone("admit", "sued.xlsx", "--dataset", "sued", *sheet)
    asked = ["--by", "Ortsteil", "--domain", "ortsteile.json", "--margins", "total"]
    share = ["sued.xlsx", *asked, "--share", "Förderung = 'ja' where Alter >= 18 missing out"]
    count = ["sued.xlsx", *asked, "--count", "Förderung = 'ja'"]
    office.mistypes("release", *share, "--dataset", "sued", "--epsilon", "3", says="2 left")
    office.pays("sued", "1", *share, "-o", "anteil.csv", *GERMAN[:2])
    office.pays("sued", "1/2", *count, "-o", "gefoerdert.csv", *GERMAN[:2])

    truth: dict[Key, Fraction | int] = {}
    of_all: dict[Key, Fraction | int] = {}
    counts: dict[Key, Fraction | int] = {}
    for key, places_of_key in (*(((place,), [place]) for place in places), (("total",), places)):
        here = [(age, answer) for place, age, answer in rows if place in places_of_key]
        adults = [answer for age, answer in here if age >= 18]
        yes = adults.count("ja")
        truth[key] = Fraction(yes, yes + adults.count("nein"))
        of_all[key] = Fraction(yes, len(adults))  # with those who did not answer in the denominator
        counts[key] = [answer for _, answer in here].count("ja")
    read = office.reads_again("sued", "1", *share)
    assert refuted(read, truth, ["Ortsteil"]) == []
    assert refuted(office.reads_again("sued", "1/2", *count), counts, ["Ortsteil"]) == []


def births(office: Office) -> None:
    """Births of each month: each month is charged for itself, the year charges every month."""
    draw = random.Random(4)
    rows = [
        (f"2026-{month:02}", draw.choice(["Mädchen", "Junge"])) for month in (1, 2) for _ in range(150 + 40 * month)
    ]
    Path("kinder.json").write_text(json.dumps({"Geschlecht": ["Mädchen", "Junge"]}), encoding="utf-8")
    office.does("ledger", "create", "geburten", "--budget", 1, "--relation", "add-remove", "--parts", "Monat")
    asked = ["--by", "Geschlecht", "--domain", "kinder.json"]
    for month, last in (("2026-01", "Januar"), ("2026-02", "Februar")):
        file, version = f"geburten_{last}.csv", f"bis {last}"
        known = [row for row in rows if row[0] <= month]
        lines = ["Monat;Geschlecht", *(";".join(row) for row in known), ""]
        Path(file).write_text("\n".join(lines), encoding="latin-1")
        admit = ["admit", file, "--dataset", "geburten", "--version", version]
        office.alone(*admit, "--encoding", "latin-1", "--separator", ";")
        told = office.alone(
            *("release", file, "--dataset", "geburten", "--version", version, *asked, "--epsilon", "1/2"),
            *("--part", month.replace("-0", "-"), "--check"),
            code=1,
        )
        assert "no row names it" in told.out
        words = [file, "--version", version, *asked, "--part", month]
        office.pays("geburten", "1/2", *words, "-o", f"geburten-{month}.csv")
        read = office.reads_again("geburten", "1/2", *words)
        counts = Counter((sex,) for when, sex in rows if when == month)
        assert refuted(read, counts, ["Geschlecht"]) == []
    compared = office.command("compare-releases", "geburten-2026-02.json", "geburten-2026-01.json").out
    assert "geburten: version bis Februar (part 2026-02) minus version bis Januar (part 2026-01)" in compared
    words = ["geburten_Februar.csv", "--version", "bis Februar", *asked]
    office.mistypes("release", *words, "--dataset", "geburten", "--epsilon", "3/4", says="1/2 left")
    office.pays("geburten", "1/4", *words, "-o", "geburten-jahr.csv")
    read = office.reads_again("geburten", "1/4", *words)
    assert refuted(read, Counter((sex,) for _, sex in rows), ["Geschlecht"]) == []
    shown = json.loads(office.does("ledger", "show", "geburten", "--json").out)
    assert {row["part"]: row["spent"] for row in shown} == {
        "": "3/4",
        "2026-01": "3/4",
        "2026-02": "3/4",
        "(any other)": "1/4",
    }


def corrected(office: Office, before: list[Person], after: list[Person]) -> None:
    """March: late registrations. The old version's answer is stored, the new one is paid for and says what it corrects."""
    told = office.does(
        *("release", "einwohner_maerz.csv", "--version", "2026-01", "--dataset", "einwohner", *PEOPLE),
        *("--epsilon", "1/4"),
    )
    assert "this is the answer stored for version 2026-01, at no charge. A file is not read again." in told.out
    about = ["einwohner_maerz.csv", "--version", "2026-03"]
    office.alone("admit", about[0], "--dataset", "einwohner", *about[1:], *READ, *DATES)
    why = ["--supersedes", "2026-01", "--reason", "Nachmeldungen aus dem Februar"]
    wrong = ["release", *about, "--dataset", "einwohner", *PEOPLE, "--epsilon", "1/4"]
    office.mistypes(*wrong, "--supersedes", "2026-1", *why[2:], says="2026-1")
    office.mistypes(*wrong, *why, "-o", "leute.csv", says="leute.html already exists")
    office.pays("einwohner", "1/4", *about, *PEOPLE, *why, *GERMAN, "-o", "leute-maerz.csv")
    assert "Nachmeldungen aus dem Februar" in Path("leute-maerz.html").read_text(encoding="utf-8")
    first, line = record("leute")["ledger_line"], record("leute-maerz")["supersedes"]["line"]
    assert first == line
    read = office.reads_again("einwohner", "1/4", *about, *PEOPLE)
    assert refuted(read, by_town(after), ["Gemeinde"]) == []

    compare = ["compare-releases", "leute-maerz.json", "leute.json", "--confidence", "0.999999999", "--json"]
    told = office.command(*compare)
    office.public_texts.append(told.out)
    old, new = by_town(before), by_town(after)
    assert new["total",] - old["total",] > 100
    rows = json.loads(told.out)
    assert [row["low"] <= new[row["Gemeinde"],] - old[row["Gemeinde"],] <= row["high"] for row in rows] == [True] * 5


def next_year(office: Office, people: list[Person], clock: Callable[[str], None]) -> None:
    """December: 1/4 of the year's 2 is left, and no more is spent; in January there are 2 again, of what is left of 20."""
    clock("2026-12-31")
    asked = ["einwohner_maerz.csv", "--version", "2026-03", *AGES]
    spent = "1/4 left of the 2 that may be spent in the year 2026"
    office.mistypes("release", *asked, "--dataset", "einwohner", "--epsilon", "1/2", says=spent)
    promise = office.does("ledger", "promise", "einwohner", "-o", "zusage.html")
    assert promise.err == ""
    page = office.does("ledger", "promise", "einwohner").out
    for words in ("epsilon 20 for everything", "A cap paces spending and promises no privacy", "Haushalt"):
        assert words in page
    clock("2027-01-04")
    office.pays("einwohner", "1/2", *asked, "-o", "alter-2027.csv")
    read = office.reads_again("einwohner", "1/2", *asked)
    # Of the household of 20 six count, in whichever groups a hash says: each truth is known up to these
    large = [p for p in people if p.household == LARGE]
    least, most = by_age([p for p in people if p.household != LARGE]), by_age(people)
    found = numbers(read, ["Geburtsdatum", "Geschlecht"])
    assert len(large) == 20
    assert set(found) == set(least) == set(most)
    assert all(low <= most[key] and least[key] <= high for key, (_, low, high) in found.items())
    assert "3/2" in office.does("ledger", "show", "einwohner").out


RELEASES = {
    "einwohner": ["leute", "alter", "einkommen", "leute-maerz", "alter-2027"],
    "sued": ["anteil", "gefoerdert"],
    "geburten": ["geburten-2026-01", "geburten-2026-02", "geburten-jahr"],
}


def checked_by_others(office: Office) -> None:
    """The office checks its releases; a journalist has the published files, the exported ledgers, verify.py and a bare Python."""
    press = Path("presse")
    press.mkdir()
    script = shutil.copy(verify.__file__, press)
    bare = [sys.executable, "-I", "-S", "-W", "error", Path(script).name]
    spent = {"einwohner": "9/4 of 20", "sued": "3/2 of 2", "geburten": "3/4 of 1"}
    for dataset, names in RELEASES.items():
        assert office.does("ledger", "verify", dataset).code == 0
        for name in names:
            assert office.does("check-release", f"{name}.json").out.startswith(f"{name}.json: holds")
            for file in [f"{name}.json", *record(name)["files"]]:
                shutil.copy(file, press)
        published = [word for name in names for word in ("--release", f"{name}.json")]
        office.does("ledger", "export", dataset, *published, "-o", "presse/ledger.json")
        given = [*(f"{name}.json" for name in names), "ledger.json"]
        done = subprocess.run([*bare, *given], cwd=press, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("verdict: all of this holds") == len(given)
        assert f"holds: {spent[dataset]} is spent" in done.stdout
        assert f"in {len(names)} charges; 0 without an answer" in done.stdout
        Path("presse/ledger.json").rename(f"presse/{dataset}-ledger.json")
    rows = press / "leute.csv"
    rows.write_text(rows.read_text(encoding="utf-8").replace("08115003;", "08115003;1", 1), encoding="utf-8")
    done = subprocess.run([*bare, "leute.json"], cwd=press, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "DOES NOT HOLD: 'leute.csv' was changed" in done.stdout


def private_words(people: Iterable[Person]) -> set[str]:
    """What no reader may see: ids, names and days of birth. Incomes are numbers, which reports may equal by chance."""
    return {word for p in people for word in (p.household, p.number, p.name, p.born.strftime("%d.%m.%Y"))}


PRIVATE = {"einwohner.csv", "einwohner_maerz.csv", "sued.xlsx", "geburten_Januar.csv", "geburten_Februar.csv"}


def exposed(text: str, words: set[str]) -> set[str]:
    """The private words of a text. All are runs of letters, digits, points and hyphens."""
    return words & set(re.findall(r"[\w.-]*\w", text))


def nothing_private(office: Office, people: Iterable[Person]) -> None:
    """In every file but the data themselves, and in all that was printed for others."""
    words = private_words(people)
    assert exposed(Path("einwohner.csv").read_text(encoding="latin-1"), words)
    for path in Path().rglob("*"):
        if path.is_file() and path.name not in PRIVATE | {"amt.db.secret"}:
            content = path.read_bytes()
            for encoding in ("utf-8", "latin-1"):
                assert exposed(content.decode(encoding, errors="replace"), words) == set(), path
    assert exposed(" ".join(office.public_texts), words) == set()


LARGE = "HH99999"


@pytest.mark.long
def test_the_year_of_an_office(office, clock):
    draw = random.Random(2026)
    january = residents(draw, range(1800))
    late = residents(draw, range(1800, 1900))
    home = [replace(p, household=LARGE, number=f"PNR99999{k:02}") for k, p in enumerate(late[:20])]
    march = january + late + [replace(p, town="08416041") for p in home]
    Path("einwohner.csv").write_bytes(written(january))
    Path("einwohner_maerz.csv").write_bytes(written(march))
    public_lists()
    clock("2026-01-12")
    opened(office)
    typing_errors(office)
    previewed(office)
    town_tables(office, january)
    german_files()
    clock("2026-02-16")
    district(office)
    births(office)
    clock("2026-03-09")
    corrected(office, january, march)
    next_year(office, march, clock)
    checked_by_others(office)
    nothing_private(office, march)
    office.settled()
    with dt.Ledger("amt.db") as book:
        assert book["einwohner"].balance().spent == Fraction(9, 4)
        assert book["sued"].balance().spent == Fraction(3, 2)
        assert book["geburten"].balance().spent == Fraction(3, 4)
        assert all(book[name].balance().pending == 0 for name in list(book))
    assert sum(epsilon for _, epsilon in office.charges()) == Fraction(9, 4) + Fraction(3, 2) + Fraction(5, 4)
