"""The secret of a ledger: the fingerprint of data tells nothing without it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.book import Book, Head

TENTH = Fraction(1, 10)
posix = pytest.mark.skipif(os.name != "posix", reason="needs the rights of POSIX")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.outside("postgres"))])
def address(request, tmp_path, monkeypatch) -> str:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    if request.param == "sqlite":
        return str(tmp_path / "l.db")
    return str(request.getfixturevalue("server").database())


@pytest.fixture
def survey(address) -> Iterator[Book]:
    with Book(address) as ledger:
        ledger.create("survey", 1)
        yield ledger


def charge(ledger: Book, question: object = 1, data: str = "a", **more: bool) -> object:
    return ledger.begin("survey", {"q": question}, epsilon=TENTH, data=data, **more)


def everything(path: Path) -> list[str]:
    """Every cell of a file's tables, as whoever may read it sees them."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    cells = [str(cell) for table in tables for row in connection.execute(f"SELECT * FROM {table}") for cell in row]
    connection.close()
    return cells


def guesses(cells: list[str], candidate: str) -> bool:
    """Does any digest in the cells follow from a candidate for the data and the texts that stand beside it?"""
    salts = [b"", *(bytes.fromhex(c) for c in cells if len(c) == 32 and set(c) <= set("0123456789abcdef"))]
    ways = (candidate, f"data\n{candidate}", f"fingerprint\n{candidate}")
    made = {hashlib.sha256(salt + way.encode()).hexdigest() for salt in salts for way in ways}
    made |= {hmac.new(salt, way.encode(), "sha256").hexdigest() for salt in salts for way in ways}
    return any(digest in cell for digest in made for cell in cells)


def test_a_ledger_does_not_tell_the_fingerprint_of_its_data(tmp_path):
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        ledger.finish(charge(ledger, data="all rows, and hers is yes"), "12")
    assert not guesses(everything(tmp_path / "l.db"), "all rows, and hers is yes")


def test_the_guesser_has_teeth():
    """Negative control: a digest that its salt alone keys is opened by the very same guesses."""
    salt = "5c" * 16
    stored = hashlib.sha256(bytes.fromhex(salt) + b"data\nyes").hexdigest()
    assert guesses([salt, f'{{"data":"{stored}"}}'], "yes")
    assert not guesses([salt, f'{{"data":"{stored}"}}'], "no")


def test_the_line_is_an_hmac_under_the_secret(tmp_path):
    """Computed here anew, by RFC 2104's own formula on SHA-256."""
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        charge(ledger, data="fingerprint")
        line = ledger.history("survey")[1].facts
    secret = bytes.fromhex((tmp_path / "l.db.secret").read_text().strip())
    salt = everything(tmp_path / "l.db")[everything(tmp_path / "l.db").index("survey") + 1]
    message = b"".join(len(p).to_bytes(8, "big") + p for p in (b"data", salt.encode(), b"2", b"fingerprint"))
    pad = secret.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in pad) + message).digest()
    assert line["fingerprint"] == hashlib.sha256(bytes(b ^ 0x5C for b in pad) + inner).hexdigest()
    assert "data" not in line


def test_lines_do_not_tell_whether_their_data_are_the_same(tmp_path):
    """Whether two versions have the same data is a fact about the data, without noise: an export must not tell it."""
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        for version in ("January", "March"):
            ledger.note_admission("survey", version, data="one file", reading={}, columns=[])
            charge(ledger, version, data="the same rows")
        prints = [line["entry"].get("fingerprint") for line in ledger.export("survey")["entries"]]
        assert len({*prints[1:]}) == 4
        with ledger.consult("survey") as said:
            assert all(said.is_admitted(one, "one file") for one in said.admissions())
            assert not any(said.is_admitted(one, "another") for one in said.admissions())
        assert ledger.note_admission("survey", "March", data="one file", reading={}, columns=[]) == ledger.admission(
            "survey", "March"
        )


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_their_owners_alone(tmp_path, umask):
    old = os.umask(umask)
    try:
        with Book(tmp_path / "l.db") as ledger:
            ledger.create("survey", 1)
            with ledger._store().transaction(write=True) as run:
                run("UPDATE discreet_history SET count = :count", count=2)
                made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert made == {"l.db": 0o600, "l.db.secret": 0o600, "l.db-journal": 0o600}


def test_the_secret_is_random_and_made_once(tmp_path):
    texts = []
    for name in ("a.db", "b.db"):
        with Book(tmp_path / name) as ledger:
            assert not (tmp_path / f"{name}.secret").exists()  # with the first data set, not before
            ledger.create("survey", 1)
            texts.append((tmp_path / f"{name}.secret").read_text())
            ledger.create("more", 1)
            charge(ledger)
        assert (tmp_path / f"{name}.secret").read_text() == texts[-1]
    assert len({*texts}) == 2
    assert all(len(bytes.fromhex(text)) == 32 and text.endswith("\n") for text in texts)


def test_the_same_data_are_recognised_later(address, survey):
    survey.finish(charge(survey, data="a"), "x")
    with Book(address) as again:
        assert charge(again, data="a").text == "x"
        with pytest.raises(LedgerError, match="other data"):
            charge(again, data="b")


def secret_of(ledger: Book) -> Path:
    return ledger._secret.path


def refused(address: str, match: str, **more: object) -> None:
    """A charge and a new data set are refused, before anything is written; reading goes on."""
    with Book(address, **more) as ledger:
        for change in (lambda: charge(ledger, "new"), lambda: charge(ledger), lambda: ledger.create("more", 1)):
            with pytest.raises(LedgerError, match=match) as caught:
                change()
            assert "Nothing was charged" in str(caught.value)
        assert ledger.datasets() == ["survey"]
        assert ledger.balance("survey").spent == TENTH
        head = ledger.verify("survey")
        assert head == ledger.head("survey") == Head(3, ledger.export("survey")["head"]["hash"])
        assert len(ledger.history("survey")) == 3


def test_a_missing_secret_and_another_one_are_refusals_of_their_own(address, survey):
    survey.finish(charge(survey), "x")
    path = secret_of(survey)
    text = path.read_text()
    path.unlink()
    refused(address, "needs its secret, and .* is not there.*DISCREET_SECRET")
    assert not path.exists()  # it is not made anew
    path.write_text("0" * 64 + "\n")
    path.chmod(0o600)
    refused(address, "holds a secret other than.*bring the right one")
    for wrong in ("", text[:63], text + text, "g" * 64, "0" * 64 + "\n\n"):
        path.write_text(wrong)
        refused(address, "does not hold a secret of 64 hexadecimal digits")
    path.write_text(text)
    with Book(address) as again:
        assert charge(again).text == "x"


@posix
def test_a_secret_that_others_may_read_is_refused(address, survey):
    survey.finish(charge(survey), "x")
    path = secret_of(survey)
    for mode in (0o640, 0o604, 0o644, 0o620, 0o666):
        path.chmod(mode)
        refused(address, f"Others may use the secret .*chmod 600 {path}")
    path.chmod(0o400)
    with Book(address) as again:
        assert charge(again).text == "x"
    path.unlink()
    os.mkfifo(path, 0o600)
    refused(address, "not a plain file")
    path.unlink()
    path.mkdir()
    refused(address, "not a plain file")


def test_where_the_secret_lies(tmp_path, monkeypatch):
    place, here, there = tmp_path / "l.db", tmp_path / "given", tmp_path / "variable"
    with Book(place, secret=here) as ledger:
        ledger.create("survey", 1)
        ledger.finish(charge(ledger), "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "l.db"]
    refused(str(place), "is not there")
    monkeypatch.setenv("DISCREET_SECRET", str(there))
    refused(str(place), f"{there} is not there")
    here.rename(there)
    with Book.existing(place) as ledger:
        assert charge(ledger).text == "x"
    refused(str(place), f"{here} is not there", secret=here)
    for wrong in ("", "a\0b", 3, b"x"):
        with pytest.raises(LedgerError, match="name of the file"):
            Book(place, secret=wrong)


def test_a_secret_that_cannot_be_made_is_a_refusal(tmp_path):
    with Book(tmp_path / "l.db", secret=tmp_path / "l.db" / "secret") as ledger:
        with pytest.raises(LedgerError, match=r"secret .* cannot be (made|read).*Nothing was charged"):
            ledger.create("survey", 1)
        assert ledger.datasets() == []


@posix
def test_a_link_that_leads_nowhere_is_no_secret(tmp_path):
    """A folder of secrets that is not mounted, say: nothing may be keyed by an empty key, and no proof of one stay."""
    file = tmp_path / "vault" / "secret"
    (tmp_path / "l.db.secret").symlink_to(file)
    with Book(tmp_path / "l.db") as ledger:
        with pytest.raises(LedgerError, match=r"a link to a file that is not there.*Nothing was charged"):
            ledger.create("survey", 1)
        with ledger._store().transaction() as run:
            assert run("SELECT proof FROM discreet_ledger") == [("",)]
        file.parent.mkdir()
        file.touch(0o600)
        file.write_text("ab" * 32)
        ledger.create("survey", 1)
        charge(ledger)


def test_two_ledgers_may_share_a_secret(tmp_path):
    for name in ("a.db", "b.db"):
        with Book(tmp_path / name, secret=tmp_path / "secret") as ledger:
            ledger.create("survey", 1)
            charge(ledger, data="same")
    lines = []
    for name in ("a.db", "b.db"):
        with Book(tmp_path / name) as ledger:
            lines.append(ledger.history("survey")[1].facts["fingerprint"])
    assert len({*lines}) == 2  # the data set's salt tells them apart, so that nobody sees that the data are the same


@pytest.mark.outside("postgres")
def test_in_postgres_the_secret_lies_outside_the_database(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    address = server.database()
    with Book(address) as ledger:
        ledger.create("survey", 1)
        charge(ledger, data="fingerprint")
        line = ledger.history("survey")[1].facts["fingerprint"]
    name = hashlib.sha256(f"127.0.0.1/{server.port}/budget".encode()).hexdigest()[:16]
    (found,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert found == tmp_path / "discreet" / f"{name}.secret"
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    ((salt, proof),) = server.run("budget", "SELECT d.salt, l.proof FROM discreet_history d, discreet_ledger l")
    text = found.read_text().strip()
    told = json.dumps(server.run("budget", "SELECT * FROM discreet_entry"))
    assert text not in told
    assert proof != text
    assert line != hashlib.sha256(bytes.fromhex(salt) + b"data\nfingerprint").hexdigest()


def test_the_secret_shows_nowhere(survey):
    charge(survey)
    text = secret_of(survey).read_text().strip()
    told = [repr(survey), repr(survey._secret), json.dumps(survey.export("survey")), repr(survey.history("survey"))]
    assert not [one for one in told if text in one]
