"""The room where mechanisms stand side by side: their channels as heat maps, with level, properties and losses."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from .. import files
from ..designs.design import design
from ..errors import DiscreetError
from ..exact.arithmetic import show_above, show_rational
from ..exact.grid import Grid
from ..measure.description import property_letters
from ..measure.prior import prior_of
from ..measure.privacy import check_privacy
from ..measure.utility import expected_loss, worst_loss
from ..mechanism import Mechanism
from ..registry import FAMILIES
from .field_words import FieldRefusedError
from .jobs import Promise, as_job, promised, under_way
from .rooms import CountsForm, Letter, Text

OPTIMUM = "optimum"
_FAMILIES = {
    f.name: f
    for f in FAMILIES
    if f.name in ("geometric", "explicit_fair", "weakly_honest", "randomized_response", "uniform")
}
Name = Literal["geometric", "explicit_fair", "weakly_honest", "randomized_response", "uniform", "optimum"]
_TITLES = {OPTIMUM: "the optimum", "randomized_response": "randomised response (kRR)"}
_SHORT = {
    "geometric": "GM",
    "explicit_fair": "EM",
    "weakly_honest": "WM",
    "randomized_response": "kRR",
    "uniform": "UM",
}
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]

_SENTENCES = {
    "geometric": "Even noise to both sides. What would fall below 0 or above n is reported as 0 or n",  # and what comes of it
    "explicit_fair": "Every truth is told equally often: what would be reported as 0 or n is spread over the other reports.",
    "weakly_honest": "Every true value is reported with probability at least 1/(n + 1); of all mechanisms that do so, none is "
    "wrong less often when all counts are alike.",
    "randomized_response": "The truth, or any other value alike: near values are hidden no better than far ones.",
    "uniform": "Any report, whatever the truth: nobody is given away, and nothing is told.",
    "optimum": "No mechanism with this level and the switched-on properties has a mean loss that is smaller by more than a "
    "millionth of it; that is proved.",
}


class ChoiceForm(CountsForm):
    """What the sliders say."""

    loss: Text = "l1"
    prior: Text | Annotated[list[Weight], Field(max_length=129)] | None = None
    require: list[Letter] = Field(default_factory=list, max_length=7)


class CellForm(ChoiceForm):
    """One entry of one channel."""

    mechanism: Name
    truth: int = Field(ge=0, le=128)
    report: int = Field(ge=0, le=128)


class MechanismForm(ChoiceForm):
    """One of the mechanisms."""

    mechanism: Name


class Face(BaseModel):
    """A mechanism as it is shown. `matrix` has a row for each truth."""

    name: str
    title: str
    sentence: str
    matrix: list[list[float]]
    alpha: str
    epsilon: str
    epsilon_any: str
    properties: list[str]
    mean_loss: float
    worst_loss: float
    python: str
    command: str


class Faces(BaseModel):
    """Mechanisms at one level. `python` makes all of them, the optimum too."""

    alpha: str
    epsilon: str
    prior: list[float]
    faces: list[Face]
    python: str


class Explained(BaseModel):
    """Why an entry is what it is: its neighbours, and the bound that holds between them."""

    sentence: str
    probability: str
    rows: list[dict[str, str]]


router = APIRouter(prefix="/api/choose", tags=["choose"])


def _prior(asked: ChoiceForm) -> Any:
    """A prior by its name, or drawn by hand: weights for each value, put to scale exactly."""
    if not isinstance(asked.prior, list):
        return asked.prior or None
    weights = [Fraction(w) for w in asked.prior]
    if len(weights) != asked.n + 1 or not any(weights):
        raise FieldRefusedError(
            f"A prior drawn by hand has {asked.n + 1} weights, one for each of 0..{asked.n}, not all of them 0.",
            field="prior",
        )
    return tuple(w / sum(weights) for w in weights)


@lru_cache(maxsize=512)
def _member(name: str, n: int, alpha: Fraction) -> Mechanism:
    return _FAMILIES[name].make(n, **({} if name == "uniform" else {"alpha": alpha}))


_designs: dict[Any, Mechanism] = {}
_keeping = threading.Lock()


def _key(asked: ChoiceForm) -> tuple[Any, ...]:
    return asked.n, asked.level().alpha, asked.loss, _prior(asked), frozenset(asked.require)


def _optimum(asked: ChoiceForm, progress: Any = None) -> Mechanism:
    key = _key(asked)
    made = _designs.get(key)
    if made is None:
        n, alpha, loss, prior, require = key
        made = design(n, alpha=alpha, loss=loss, prior=prior, require=require, progress=progress).mechanism
        with _keeping:
            _designs[key] = made
            for old in list(_designs)[:-64]:
                del _designs[old]
    return made


def _mechanism(asked: ChoiceForm, name: str) -> Mechanism:
    return _optimum(asked, under_way()) if name == OPTIMUM else _member(name, asked.n, asked.level().alpha)


def _spelt(asked: ChoiceForm, name: str) -> tuple[str, str]:
    """What makes the same mechanism in Python, and on the command line."""
    level = asked.spelt()
    option = f"--epsilon {asked.epsilon}" if asked.alpha is None else f"--alpha {asked.alpha}"
    if name == "uniform":
        return f"dt.uniform({asked.n})", f"discreet make uniform --n {asked.n}"
    if name != OPTIMUM:
        return f"dt.{name}({asked.n}, {level})", f"discreet make {_FAMILIES[name].word} --n {asked.n} {option}"
    python, command = f"loss={asked.loss!r}", f'--loss "{asked.loss}"'
    prior = _prior_spelt(asked)
    if prior is not None:
        python += f", prior={prior!r}"
        command += f' --prior "{prior if isinstance(prior, str) else ",".join(prior)}"'
    if asked.require:
        needs = ",".join(sorted(asked.require))
        python, command = f"{python}, require={needs!r}", f"{command} --require {needs}"
    return f"dt.design({asked.n}, {level}, {python}).mechanism", f"discreet design --n {asked.n} {option} {command}"


def _prior_spelt(asked: ChoiceForm) -> str | list[str] | None:
    """Its name, or its weights as exact texts; nothing where all counts are alike."""
    if not asked.prior:
        return None
    return asked.prior if isinstance(asked.prior, str) else [str(p) for p in _prior(asked)]


def _script(asked: ChoiceForm) -> str:
    """All six and their losses, to go on with in Python."""
    made = [f'    "{_SHORT.get(name, name)}": {_spelt(asked, name)[0]},' for name in (*_FAMILIES, OPTIMUM)]
    prior = _prior_spelt(asked)
    measured = f"dt.expected_loss(m, {asked.loss!r}{'' if prior is None else f', {prior!r}'})"
    lines = ["import discreet as dt", "", "mechanisms = {", *made, "}", "for name, m in mechanisms.items():"]
    return "\n".join([*lines, f"    print(name, {measured}, *dt.properties(m))", ""])


def _sentence(name: str, m: Mechanism, known: Any) -> str:
    """What to know of a mechanism. Of the geometric one, what becomes of the ends when truths are as known before."""
    if name != "geometric":
        return _SENTENCES[name]
    often = known @ m.matrix
    reported, true = float(often[0] + often[-1]), float(known[0] + known[-1])
    numbers = f"{_percent(reported)} of the time, and true {_percent(true)}"
    if reported >= 1.1 * true:
        return f"{_SENTENCES[name]}: there it piles up. The ends are reported {numbers}."
    if reported * 1.1 <= true:
        return f"{_SENTENCES[name]}. Here the ends are likely, and noise leads away from them: they are reported {numbers}."
    return f"{_SENTENCES[name]}, which changes little here: the ends are reported {numbers}."


def _percent(share: float) -> str:
    """As the page writes it: two digits."""
    return f"{float(f'{100 * share:.2g}'):g} %" if share == 0 or share >= 0.001 else "under 0.1 %"


def _title(name: str) -> str:
    return _TITLES.get(name) or _FAMILIES[name].title


def _face(asked: ChoiceForm, name: str, m: Mechanism) -> Face:
    python, command = _spelt(asked, name)
    return Face(
        name=name,
        title=_title(name),
        sentence=_sentence(name, m, prior_of(_prior(asked), m.inputs).floats),
        matrix=[[float(f"{x:.6g}") for x in row] for row in m.matrix.tolist()],
        alpha=show_rational(m.alpha),
        epsilon=show_above(m.epsilon, 4),
        epsilon_any=show_above(check_privacy(m, neighbours="any").epsilon, 4),
        properties=property_letters(m) or [],
        mean_loss=float(expected_loss(m, asked.loss, _prior(asked))),
        worst_loss=float(worst_loss(m, asked.loss)),
        python=python,
        command=f"{command} -o {name}.json",
    )


@router.post("/faces")
@as_job(quick=True)
def faces(asked: ChoiceForm) -> Faces:
    """The five known mechanisms at this level, with the losses under this prior."""
    level = asked.level()
    prior = prior_of(_prior(asked), Grid.of(asked.n))
    shown = [_face(asked, name, _mechanism(asked, name)) for name in _FAMILIES]
    return Faces(
        alpha=show_rational(level.alpha),
        epsilon=show_above(level.epsilon),
        prior=prior.floats.tolist(),
        faces=shown,
        python=_script(asked),
    )


@router.post("/optimum")
async def optimum(request: Request, asked: ChoiceForm) -> Promise[Face]:
    """The best mechanism, or a promise of it where that takes longer."""
    _key(asked)
    found: Promise[Face] = await promised(request, lambda progress: _face(asked, OPTIMUM, _optimum(asked, progress)))
    return found


@router.post("/cell")
@as_job()
def cell(asked: CellForm) -> Explained:
    """One entry: its exact probability, those of the truths next to it, the ratios, and the bound."""
    if max(asked.truth, asked.report) > asked.n:
        raise DiscreetError(f"Truth and report lie in 0..{asked.n}.")
    m = _mechanism(asked, asked.mechanism)
    channel, own = m.finite(), m.finite().entry(asked.truth, asked.report)
    bound = None if m.alpha == 0 else 1 / m.alpha
    rows = []
    for other in (asked.truth - 1, asked.truth + 1):
        if 0 <= other <= asked.n:
            p = channel.entry(other, asked.report)
            ratio = max(own / p, p / own) if own and p else None
            told = "1" if own == p else "infinite" if ratio is None else _about(ratio)
            tight = "yes" if ratio is not None and ratio == bound else "no"
            rows.append({"truth": str(other), "probability": _about(p), "ratio": told, "at the bound": tight})
    near = " and ".join(f"{row['probability']} when it is {row['truth']}" for row in rows)
    short = _title(asked.mechanism).partition("(")[2].rstrip(")") or _title(asked.mechanism)
    limit = "nothing: no level is claimed" if bound is None else f"a factor of {_about(bound)}, which is 1/alpha"
    sentence = (
        f"When the truth is {asked.truth}, {short} reports {asked.report} with probability {_about(own)}; with {near}. Between "
        f"neighbours the level allows {limit}."
    )
    return Explained(sentence=sentence, probability=show_rational(own), rows=rows)


def _about(x: Fraction) -> str:
    exact = show_rational(x)
    return exact if len(exact) <= 9 else f"{float(x):.4g}".replace("e-0", "e-")  # as the page writes it


@router.post("/file", response_class=Response, responses={200: {"content": {"application/json": {}}}})
@as_job()
def file(asked: MechanismForm) -> Response:
    """The mechanism file, which `discreet check` accepts."""
    return Response(files.text(_mechanism(asked, asked.mechanism)), media_type="application/json")
