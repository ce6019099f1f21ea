"""The secret of a ledger: the fingerprint of data tells nothing without it; ledgers from before it are brought along."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.ledger import Head, Ledger, Pending
from tests import postgres

LANDED = Path(__file__).parent.parent / "landed" / "ledger.db"
TENTH = Fraction(1, 10)
posix = pytest.mark.skipif(os.name != "posix", reason="needs the rights of POSIX")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs_postgres)])
def address(request, tmp_path, monkeypatch) -> str:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    if request.param == "sqlite":
        return str(tmp_path / "l.db")
    return str(request.getfixturevalue("server").database())


@pytest.fixture
def survey(address) -> Iterator[Ledger]:
    with Ledger(address) as ledger:
        ledger.create("survey", 1)
        yield ledger


def charge(ledger: Ledger, question: object = 1, data: str = "a", **more: bool) -> object:
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
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        ledger.finish(charge(ledger, data="all rows, and hers is yes"), "12")
    assert not guesses(everything(tmp_path / "l.db"), "all rows, and hers is yes")


def test_the_guesser_has_teeth(tmp_path):
    """Negative control: the landed version's lines are opened by the very same guesses."""
    path = shutil.copy(LANDED, tmp_path / "old.db")
    salt = dict(sqlite3.connect(path).execute("SELECT name, salt FROM discreet_data_set"))["survey"]
    stored = hashlib.sha256(bytes.fromhex(salt) + b"data\nyes").hexdigest()
    assert guesses([salt, f'{{"data":"{stored}"}}'], "yes")
    assert not guesses([salt, f'{{"data":"{stored}"}}'], "no")


def test_the_line_is_an_hmac_under_the_secret(tmp_path):
    """Computed here anew, by RFC 2104's own formula on SHA-256."""
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.create("survey", 1)
        charge(ledger, data="fingerprint")
        line = ledger.history("survey")[1].facts
    secret = bytes.fromhex((tmp_path / "l.db.secret").read_text().strip())
    salt = everything(tmp_path / "l.db")[everything(tmp_path / "l.db").index("survey") + 3]
    message = b"".join(len(p).to_bytes(8, "big") + p for p in (b"data", salt.encode(), b"fingerprint"))
    pad = secret.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in pad) + message).digest()
    assert line["fingerprint"] == hashlib.sha256(bytes(b ^ 0x5C for b in pad) + inner).hexdigest()
    assert "data" not in line


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_their_owners_alone(tmp_path, umask):
    old = os.umask(umask)
    try:
        with Ledger(tmp_path / "l.db") as ledger:
            ledger.create("survey", 1)
            with ledger._store().transaction(write=True) as run:
                run("UPDATE discreet_data_set SET spent = :spent", spent="1/3")
                made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert made == {"l.db": 0o600, "l.db.secret": 0o600, "l.db-journal": 0o600}


def test_the_secret_is_random_and_made_once(tmp_path):
    texts = []
    for name in ("a.db", "b.db"):
        with Ledger(tmp_path / name) as ledger:
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
    with Ledger(address) as again:
        assert charge(again, data="a").text == "x"
        with pytest.raises(LedgerError, match="other data"):
            charge(again, data="b")


def secret_of(ledger: Ledger) -> Path:
    return ledger._secret.path


def refused(address: str, match: str, **more: object) -> None:
    """A charge and a new data set are refused, before anything is written; reading goes on."""
    with Ledger(address, **more) as ledger:
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
    refused(address, "holds another secret.*bring the right one")
    for wrong in ("", text[:63], text + text, "g" * 64, "0" * 64 + "\n\n"):
        path.write_text(wrong)
        refused(address, "holds no secret of 64 hexadecimal digits")
    path.write_text(text)
    with Ledger(address) as again:
        assert charge(again).text == "x"


@posix
def test_a_secret_that_others_may_read_is_refused(address, survey):
    survey.finish(charge(survey), "x")
    path = secret_of(survey)
    for mode in (0o640, 0o604, 0o644, 0o620, 0o666):
        path.chmod(mode)
        refused(address, f"Others may use the secret .*chmod 600 {path}")
    path.chmod(0o400)
    with Ledger(address) as again:
        assert charge(again).text == "x"
    path.unlink()
    os.mkfifo(path, 0o600)
    refused(address, "no plain file")
    path.unlink()
    path.mkdir()
    refused(address, "no plain file")


def test_where_the_secret_lies(tmp_path, monkeypatch):
    place, here, there = tmp_path / "l.db", tmp_path / "given", tmp_path / "variable"
    with Ledger(place, secret=here) as ledger:
        ledger.create("survey", 1)
        ledger.finish(charge(ledger), "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "l.db"]
    refused(str(place), "is not there")
    monkeypatch.setenv("DISCREET_SECRET", str(there))
    refused(str(place), f"{there} is not there")
    here.rename(there)
    with Ledger.existing(place) as ledger:
        assert charge(ledger).text == "x"
    refused(str(place), f"{here} is not there", secret=here)
    for wrong in ("", "a\0b", 3, b"x"):
        with pytest.raises(LedgerError, match="name of the file"):
            Ledger(place, secret=wrong)


def test_a_secret_that_cannot_be_made_is_a_refusal(tmp_path):
    with Ledger(tmp_path / "l.db", secret=tmp_path / "l.db" / "secret") as ledger:
        with pytest.raises(LedgerError, match=r"secret .* cannot be (made|read).*Nothing was charged"):
            ledger.create("survey", 1)
        assert ledger.datasets() == []


@posix
def test_a_link_that_leads_nowhere_is_no_secret(tmp_path):
    """A folder of secrets that is not mounted, say: nothing may be keyed by an empty key, and no proof of one stay."""
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    shutil.copy(LANDED, old)
    for path in (new, old):
        Path(f"{path}.secret").symlink_to(tmp_path / "vault" / path.name)
    with Ledger(new) as ledger, Ledger(old) as landed:
        with pytest.raises(LedgerError, match=r"a link to a file that is not there.*Nothing was charged"):
            ledger.create("survey", 1)
        with pytest.raises(LedgerError, match="a link to a file that is not there"):
            landed.begin("survey", {"q": 1}, epsilon=Fraction(1, 100), data="a")
        (tmp_path / "vault").mkdir()
        for path in (new, old):
            file = tmp_path / "vault" / path.name
            file.touch(0o600)
            file.write_text("ab" * 32)
        ledger.create("survey", 1)
        landed.begin("survey", {"q": 1}, epsilon=Fraction(1, 100), data="a")


def test_two_ledgers_may_share_a_secret(tmp_path):
    for name in ("a.db", "b.db"):
        with Ledger(tmp_path / name, secret=tmp_path / "secret") as ledger:
            ledger.create("survey", 1)
            charge(ledger, data="same")
    lines = []
    for name in ("a.db", "b.db"):
        with Ledger(tmp_path / name) as ledger:
            lines.append(ledger.history("survey")[1].facts["fingerprint"])
    assert len({*lines}) == 2  # the data set's salt tells them apart, so that nobody sees that the data are the same


@pytest.mark.needs_postgres
def test_in_postgres_the_secret_lies_outside_the_database(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    address = server.database()
    with Ledger(address) as ledger:
        ledger.create("survey", 1)
        charge(ledger, data="fingerprint")
        line = ledger.history("survey")[1].facts["fingerprint"]
    name = hashlib.sha256(f"127.0.0.1/{server.port}/budget".encode()).hexdigest()[:16]
    (found,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert found == tmp_path / "discreet" / f"{name}.secret"
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    ((salt, proof),) = server.run("budget", "SELECT d.salt, l.proof FROM discreet_data_set d, discreet_ledger l")
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


# From the landed version

LANDED_HEADS = {
    "town": Head(3, "460434e051fcdf198e4599ed2b0651f61105d0b4a88965156cb0a2ea644e004f"),
    "survey": Head(4, "91375c828efd07c25666955ffd23783018056bca6274140335f0d3984695a010"),
}
TABLES = {
    "discreet_ledger": "version",
    "discreet_data_set": "name, budget, spent, salt, count, head",
    "discreet_entry": "name, number, body, hash",
    "discreet_answer": "name, charge, number, question, salt, text",
}
OLD_SCHEMA = [
    "CREATE TABLE discreet_ledger (version BIGINT NOT NULL)",
    "CREATE TABLE discreet_data_set (name TEXT NOT NULL PRIMARY KEY, budget TEXT NOT NULL, spent TEXT NOT NULL, "
    "salt TEXT NOT NULL, count BIGINT NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE discreet_entry (name TEXT NOT NULL REFERENCES discreet_data_set (name), number BIGINT NOT NULL, "
    "body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (name, number))",
    "CREATE TABLE discreet_answer (name TEXT NOT NULL, charge BIGINT NOT NULL, number BIGINT NOT NULL, "
    "question TEXT NOT NULL, salt TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, charge), "
    "FOREIGN KEY (name, charge) REFERENCES discreet_entry (name, number), "
    "FOREIGN KEY (name, number) REFERENCES discreet_entry (name, number))",
    "CREATE INDEX discreet_asked ON discreet_answer (name, question)",
]


def landed_rows() -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(f"{LANDED.as_uri()}?mode=ro&immutable=1", uri=True)
    rows = {table: connection.execute(f"SELECT {columns} FROM {table}").fetchall() for table, columns in TABLES.items()}
    connection.close()
    return rows


def quoted(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


@pytest.fixture
def old(address, request) -> str:
    """A ledger of the landed version, in a file or in PostgreSQL."""
    if "://" not in address:
        shutil.copy(LANDED, address)
        return address
    statements = OLD_SCHEMA + [
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join(map(quoted, row))})"
        for table, columns in TABLES.items()
        for row in landed_rows()[table]
    ]
    running: postgres.Server = request.getfixturevalue("server")
    running.run("budget", *statements)
    return address


def schema(ledger: Ledger) -> list[tuple[str, ...]]:
    """The tables and columns of a ledger, as its database tells them."""
    with ledger._store().transaction() as run:
        if "://" in ledger.place:
            return sorted(
                run(
                    "SELECT table_name, column_name, data_type, is_nullable, column_default "
                    "FROM information_schema.columns WHERE table_schema = 'public'"
                )
            )
        about = "SELECT name, type, \"notnull\", coalesce(dflt_value, 'none'), pk FROM pragma_table_info('{}')"
        return sorted((table, *column) for table in TABLES for column in run(about.format(table)))


def test_a_landed_ledger_is_brought_to_today(old):
    before = landed_rows()
    with Ledger(old) as ledger:
        assert ledger.datasets() == ["survey", "town"]
        for name, head in LANDED_HEADS.items():
            assert ledger.verify(name, head=head) == head
        assert ledger.balance("town").spent == Fraction(1, 2)
        assert ledger.balance("survey").spent == Fraction(3, 8)
        assert ledger.terms("survey").unit == "person"
        with ledger._store().transaction() as run:
            assert run("SELECT version FROM discreet_ledger") == [(4,)]
            for table, columns in list(TABLES.items())[1:]:
                assert sorted(run(f"SELECT {columns} FROM {table}")) == sorted(before[table])  # old lines as they were
        assert not secret_of(ledger).exists()  # reading makes none
        pending = charge(ledger, "new")
        ledger.finish(pending, "x")
        assert secret_of(ledger).exists()
    with Ledger(old) as ledger:
        assert ledger.verify("survey", head=LANDED_HEADS["survey"]).count == 6
        assert charge(ledger, "new").text == "x"


@posix
def test_a_landed_ledger_of_two_names_is_refused_as_it_is(tmp_path):
    """Under one of the names a write-ahead log may wait with charges for the old pages: none of them may change."""
    path = tmp_path / "l.db"
    shutil.copy(LANDED, path)
    os.link(path, tmp_path / "other.db")
    with pytest.raises(LedgerError, match="2 names"):
        Ledger(path)
    assert path.read_bytes() == LANDED.read_bytes()


def test_an_upgraded_schema_is_the_one_that_is_made_today(old, tmp_path, request):
    with Ledger(old) as ledger:
        upgraded = schema(ledger)
    new = str(tmp_path / "new.db") if "://" not in old else request.getfixturevalue("server").database()
    with Ledger(new) as ledger:
        assert schema(ledger) == upgraded


def old_line(ledger: Ledger, question: str, data: str, answer: str) -> None:
    """A charge and its answer as the landed version wrote them, into a ledger of any version."""
    from discreet.ledger import chain
    from discreet.ledger.charging import append

    with ledger._store().transaction(write=True) as run:
        account = ledger._account(run, "survey")
        asked = chain.digest(account, "question", json.dumps({"q": question}, separators=(",", ":")))
        facts = {"kind": "charge", "epsilon": "1/10", "question": asked}
        facts["data"] = hashlib.sha256(bytes.fromhex(account.salt) + f"data\n{data}".encode()).hexdigest()
        append(run, account, facts, spent=Fraction(account.spent) + TENTH)
        number = account.count + 1
    ledger.finish(Pending("survey", number), answer)


def test_old_answers_are_given_for_the_same_data_and_never_by_guess(survey):
    """An old line is compared as it was written. Where that fails, the data are others, or fingerprinted in another way."""
    old_line(survey, "then", "a", "old answer")
    assert survey.verify("survey").count == 3
    assert charge(survey, "then", data="a").text == "old answer"
    with pytest.raises(LedgerError, match=r"older discreet \(line 2\).*cannot be compared.*Nothing was charged"):
        charge(survey, "then", data="b")
    assert survey.balance("survey").spent == TENTH
    paid = charge(survey, "then", data="b", fresh=True)
    assert isinstance(paid, Pending)
    survey.finish(paid, "new answer")
    assert charge(survey, "then", data="b").text == "new answer"
    assert charge(survey, "then", data="a").text == "old answer"
    assert survey.verify("survey").count == 5


def test_a_user_who_may_only_read_cannot_upgrade(tmp_path):
    path = Path(shutil.copy(LANDED, tmp_path / "l.db"))
    path.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(LedgerError, match=r"read-only|cannot be opened"):
            Ledger(path)
    finally:
        if root:
            os.seteuid(0)
    assert path.read_bytes() == LANDED.read_bytes()


def test_upgrading_is_done_once_by_many(old, tmp_path):
    from tests import crashes

    def work() -> None:
        with Ledger(old) as mine:
            mine.verify("town", head=LANDED_HEADS["town"])
            charge(mine, os.getpid())

    children = [crashes.fork(work, tmp_path / "errors") for _ in range(4)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0, (tmp_path / "errors").read_text()
    with Ledger(old) as ledger:
        assert ledger.balance("survey").spent == Fraction(3, 8) + 4 * TENTH
        ledger.verify("survey", head=LANDED_HEADS["survey"])
