"""What a failed transaction means for what was asked, in words: nothing was done, or nobody knows."""

from __future__ import annotations

from .chain import Pending
from .stores import Outcome

CREATING = Outcome(
    "No data set was made: create it again after that.",
    "Whether the data set was made is not known: list what there is, then create it if it is missing.",
)
ADMITTING = Outcome(
    "Nothing was admitted: admit it again after that.",
    "Whether it was admitted is not known: admit it again, which changes nothing where it was.",
)
CHARGING = Outcome(
    "Nothing was charged: ask again after that.",
    "Nothing was drawn, but whether it was charged is not known: look at the balance before asking again, which may be "
    "charged once more.",
)


def storing(pending: Pending) -> Outcome:
    """A charge stands, whatever happens to its answer."""
    stands = f"Charge {pending.charge} of {pending.name!r} stands"
    return Outcome(
        f"{stands}, but its answer was not stored, and nothing of it is shown: when that is mended, ask the same again in this "
        "process, which stores it and costs nothing more; once the process is over, you pay again.",
        f"{stands}, but whether its answer was stored is not known, so it must not be shown: ask again; if it was stored, "
        "you get it free of charge, else you pay again.",
    )
