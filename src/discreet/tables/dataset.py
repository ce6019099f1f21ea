"""A data set with a budget: what may be asked of it, and what that costs. Everything that is paid for is a method of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, final

from ..engines.table import Table
from ..errors import ReleaseError
from ..exact.aliases import Rational
from ..exact.level import LevelLike
from ..ledger.book import Balance, Entry, Head, Terms
from ..progress import Progress
from ..questions.question import Question, QuestionParts

if TYPE_CHECKING:
    import pyarrow as pa

    from ..collect.request import ChargedDataset
    from ..ledger.promise import Promise
    from ..ledger.spending import Paid
    from ..mechanism import Mechanism
    from .count.admitting import Profile
    from .draw.audiences import Audiences
    from .ledger import Ledger
    from .publish.previews import Preview
    from .publish.released import Release
    from .release import Confirm


@final
@dataclass(frozen=True, repr=False)
class DataSet:
    """A data set of a ledger: `ledger.create("town", ...)` makes one, and `ledger["town"]` gives it later.

    What is asked is a `Question`, or the same parts as keywords (`help(discreet.Question)` has them). A table is a path, a data
    frame, or what `discreet.read` made of one.

    >>> import discreet as dt, pyarrow as pa
    >>> town = dt.Ledger("budget.db").create("town", budget="1", relation="add-remove")
    >>> made = town.release(pa.table({"ill": ["yes", "no", "no"] * 20}), count="ill = 'yes'", epsilon="1/2")
    >>> print(len(made.rows()), town.balance().left)
    1 1/2
    """

    ledger: Ledger
    name: str

    def __repr__(self) -> str:
        return f"<DataSet {self.name!r} of {self.ledger.place}>"

    def __str__(self) -> str:
        return str(self.terms)

    @property
    def terms(self) -> Terms:
        """What was agreed when it was made: its budget, and what is protected. They stay."""
        return self.ledger.book.terms(self.name)

    # Before anything is paid

    def admit(
        self,
        table: Any,
        *,
        version: str = "1",
        domain: Any = None,
        sum: Any = None,
        codes: Sequence[str] = (),
        supersedes: str | None = None,
        progress: Progress | None = None,
    ) -> Profile:
        """Admit a table as a version: its content is checked, with a report for you alone; then others may ask about it.

            supersedes  the version that this one corrects. Where the terms declare parts, it may move people from one to another:
                        from then on everything that is charged counts for all of them

        A file is admitted before it is released, and is read in this way from then on. A table in memory may be; then it is known
        by the contents of all its columns. What it is compared with is said as for `profile`. Returns the report. A grave finding
        refuses the table; the report is the error's `report`.

        >>> import discreet as dt
        >>> from pathlib import Path
        >>> size = Path("people.csv").write_text("district;ill\\nnorth;yes\\nsouth;no\\n")
        >>> town = dt.Ledger("budget.db").create("town", budget="1", relation="add-remove")
        >>> town.admit(dt.read("people.csv", separator=";"), version="2026").names
        ('district', 'ill')
        """
        from .count.admitting import admitted

        return admitted(
            self.ledger.book,
            self.name,
            Table.of(table),
            version,
            domain=domain,
            sum=sum,
            codes=codes,
            supersedes=supersedes,
            progress=progress,
        )

    def preview(
        self,
        question: Question | None = None,
        *,
        table: Any = None,
        epsilon: LevelLike | None = None,
        alpha: LevelLike | None = None,
        rho: Rational | None = None,
        version: str = "1",
        part: str | None = None,
        supersedes: str | None = None,
        reason: str | None = None,
        check: bool = False,
        progress: Progress | None = None,
        **parts: Unpack[QuestionParts],
    ) -> Preview:
        """The errors to expect from a release, computed from declared and public quantities: nothing is drawn or charged.

            table  what the question is about. Under "change-one" the sizes of its groups are public, and the errors depend on them;
                   under "add-remove" nothing does, and no table is needed
            check  compare the question with what it counts, for whoever holds the data: keys that no row has, conditions that are
                   true of no row, rows in no group. `check` of the result (a QuestionCheck) has what was found, for you alone

        >>> import discreet as dt
        >>> town = dt.Ledger("budget.db").create("town", budget="1", relation="add-remove")
        >>> print(town.preview(count="ill = 'yes'", epsilon="1/2").rows()[0]["half width"])
        6.0
        """
        from .ask.asked import Asked, Correction
        from .release import previewed, question_of

        asked = Asked.at_level(question_of(question, parts), self.name, version, alpha, epsilon, part, rho)
        given = None if table is None else Table.of(table)
        corrects = Correction.of(supersedes, reason, version)
        return previewed(self.ledger.book, given, asked, corrects, check, progress)

    # What is paid for

    def release(
        self,
        table: Any,
        question: Question | None = None,
        *,
        epsilon: LevelLike | None = None,
        alpha: LevelLike | None = None,
        rho: Rational | None = None,
        version: str = "1",
        part: str | None = None,
        fresh: bool = False,
        supersedes: str | None = None,
        reason: str | None = None,
        confirm: Confirm | None = None,
        progress: Progress | None = None,
        **parts: Unpack[QuestionParts],
    ) -> Release:
        """Count and add up, charge, draw, store and return: private statistics of `table`, for each declared group.

        The terms say what is protected. Under "change-one", group membership is public and what a person
        adds is private: group sizes are public. Under "add-remove",
        one person is added or removed, and nothing about them is public.
        `epsilon` is spent once for the whole call: disjoint groups share it; several statistics divide it. A file must have been
        admitted as this `version` (`admit`); a table in memory need not be. `preview` says beforehand what error to
        expect, and with `check=True` what is counted in no group. The same question about the same version has the stored answer.
        Totals, other intervals and words for the page cost nothing: they are methods of the result.

            rho         what is spent instead of an epsilon, where the data set's terms are concentrated: Gaussian noise
            version     your name for this version of the data
            part        count the people of one part alone, and charge no other; only where the data set's terms declare parts
            fresh       draw anew on changed data, and pay again
            confirm     a function that is shown the question beside what it counts (a QuestionCheck, for you alone), and says
                        whether to pay. lambda check: not check.proposals
            supersedes  the version that this one corrects. Record and page say so
            reason      why it was corrected, published as you write it: put no number from the data in it. "late registrations"
        """
        from .ask.asked import Asked, Correction
        from .release import question_of, released

        asked = Asked.at_level(question_of(question, parts), self.name, version, alpha, epsilon, part, rho)
        corrects = Correction.of(supersedes, reason, version)
        [made], _ = released(self.ledger.book, Table.of(table), asked, fresh, corrects, confirm, progress)
        return made

    def release_to(
        self,
        table: Any,
        question: Question | None = None,
        *,
        audiences: Mapping[str, Any],
        version: str = "1",
        part: str | None = None,
        fresh: bool = False,
        supersedes: str | None = None,
        reason: str | None = None,
        confirm: Confirm | None = None,
        progress: Progress | None = None,
        **parts: Unpack[QuestionParts],
    ) -> Audiences:
        """A release for each of several audiences, {name: epsilon}, for example {"ministry": "1", "public": "1/4"}.

        Each audience gets a release of its own (`releases["public"]`). They are drawn such that audiences that share
        theirs learn no more than the least private of them knows, so the charge is the largest of the epsilons, once. Audiences
        with the same epsilon get the same reports. The names are for people: the same question with the same epsilons under
        other names has the stored answer.
        The rest is as in `release`; only geometric noise leads from every level to every more private one.

        >>> import discreet as dt, pyarrow as pa
        >>> people = pa.table({"ill": ["yes", "no", "no"] * 20})
        >>> town = dt.Ledger("budget.db").create("town", budget="1", relation="add-remove")
        >>> both = town.release_to(people, count="ill = 'yes'", audiences={"ministry": 1, "public": "1/4"})
        >>> print(both["public"].record["epsilon_charged"], town.balance().left)
        1/4 0
        """
        from .ask.asked import Asked, Correction
        from .draw.audiences import handed_out
        from .release import question_of, released

        if {"rho", "alpha", "epsilon"} & parts.keys():
            raise ReleaseError(
                'Audiences have epsilons, such as audiences={"ministry": "1", "public": "1/4"}: that one report can be made '
                "from a sharper one is proved for geometric noise alone."
            )
        asked = Asked.of_audiences(question_of(question, parts), self.name, version, audiences, part)
        corrects = Correction.of(supersedes, reason, version)
        made, charged = released(self.ledger.book, Table.of(table), asked, fresh, corrects, confirm, progress)
        return handed_out(made, asked, charged)

    def perturb(
        self,
        table: Any,
        column: str,
        mechanism: Mechanism,
        *,
        rows: bool = False,
        out: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        on_bad: str | None = None,
        version: str = "1",
        max_rows: Rational | None = None,
        fresh: bool = False,
        progress: Progress | None = None,
    ) -> pa.Table:
        """The reports of a column, as `discreet.perturb` makes them, paid for: the level between any two values, times `max_rows`.

            on_bad    where values that are missing or not on the grid go, since a charge covers no refusal: "map=VALUE" or
                      "clamp,map=VALUE". By default numbers go to the nearest value, and what is none to the first; of names say it
            max_rows  the most rows of one person, by the data set's id column, that are perturbed; by default one

        The tally is stored: the same question about the same data has it again, free of charge.
        """
        from ..collect.perturbing import perturbed
        from ..collect.request import PerturbRequest, paid_rule

        request = PerturbRequest.of(
            column=column,
            mechanism=mechanism,
            rows=rows or out is not None,
            on_bad=paid_rule(mechanism) if on_bad is None else on_bad,
            charged=self.paying(version, max_rows, fresh),
        )
        return perturbed(Table.of(table), request, out, overwrite, progress)

    def paying(self, version: str = "1", max_rows: Rational | None = None, fresh: bool = False) -> ChargedDataset:
        """That this data set pays for a perturbation of a version of it."""
        from ..collect.request import ChargedDataset
        from ..exact.given import whole
        from .count.admitted import admitted_as

        book = self.ledger.book
        most = 1 if max_rows is None else whole(max_rows, "max_rows", error=ReleaseError)

        def admitted(table: Table) -> tuple[Table, int | None]:
            with book.consult(self.name) as said:
                admission = said.admission(version)
            if admission is None:
                return admitted_as(book, said, table, version, None), None
            return admitted_as(book, said, table.opened(), version, admission), admission.number

        return ChargedDataset(self.name, book, version, most, fresh, admitted)

    def charge(
        self, *, epsilon: object = None, alpha: object = None, rho: object = None, what: str, part: str | None = None
    ) -> Balance:
        """Record what was spent on it, or on a part, where the library cannot see it; the line says "stated, unverified"."""
        return self.ledger.book.charge(self.name, epsilon=epsilon, alpha=alpha, rho=rho, what=what, part=part)

    def spend(
        self, *, epsilon: object = None, alpha: object = None, rho: object = None, what: str, part: str | None = None
    ) -> Paid:
        """A charge for one report of any mechanism: `with town.spend(epsilon="1/2", what="...") as paid:
        report = paid.sample(m, value)`. The charge is written and synced when the block is entered, and stays.

        With `part` that part is charged alone: the value must be computed from its rows, which nobody can check here."""
        return self.ledger.book.spend(self.name, epsilon=epsilon, alpha=alpha, rho=rho, what=what, part=part)

    # What was paid

    def balance(self, part: str | None = None) -> Balance:
        """What is spent and left, in all and in the periods of now. Where its terms declare parts, of one of them, or of the one
        that has spent most."""
        return self.ledger.book.balance(self.name, part)

    def history(self) -> list[Entry]:
        """Every line with what was asked in words, oldest first, as it stands; `verify` says whether to believe it."""
        return self.ledger.book.history(self.name)

    def promise(self) -> Promise:
        """A page for whoever must answer for it: the whole budget in odds, what is spent, pacing, what is not promised."""
        return self.ledger.book.promise(self.name)

    def head(self) -> Head:
        """The end of the history now. Keep it where the ledger's owner cannot write, and give it to `verify` later."""
        return self.ledger.book.head(self.name)

    def verify(self, head: Head | None = None) -> Head:
        """Check every line and total, and return the head; the first bad line is named in a LedgerError. With a `head` that was
        kept elsewhere also that all lines up to it are still there, and are the same."""
        return self.ledger.book.verify(self.name, head)

    def export(self, *, words: bool = False, published: Collection[int] = ()) -> dict[str, Any]:
        """The history for others to check, without answers, questions and salts; its hashes can be computed anew.

        With `words`, what each line was about as well, with the salt that opens its digest. `published` are charges whose answers
        were published as they are stored: their lines get the salt that opens the commitment to the answer, for whoever has it.
        """
        return self.ledger.book.export(self.name, words=words, published=published)
