"""The report: one page with every claim and its verdict on top, then each study with what was found, pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.present import plot
from discreet.present.html import page, section, table

from .frame import Claim, Findings, counted, otherwise

_MARKS = {"holds": "yes", "holds in part": "part", "does not hold": "no", "not covered": "open"}
_STYLE = """
.verdict { display: inline-block; white-space: nowrap; padding: 0 .5rem; border-radius: 4px; font-size: .85rem; font-weight: 600 }
.yes { background: #d7ecf7; color: #00466e }
.part { background: #fdf0d0; color: #6b4a00 } .no { background: #fbdccb; color: #7d2f00 }
.open { background: #e8e4dc; color: #3d3a34 }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto }
.wide { overflow-x: auto } .claims td { vertical-align: top } .claims td:nth-child(2) { min-width: 17rem }
.claims q { font-style: italic; color: #4a5568 }
details { margin: .6rem 0 } summary { cursor: pointer; color: #4a5568 }
nav a { margin-right: .8rem; white-space: nowrap }
@media (max-width: 640px) { .claims table, .claims tbody, .claims tr, .claims td { display: block; width: auto }
  .claims thead { display: none } .claims td:nth-child(n) { border: 0; min-width: 0; padding: .1rem .3rem }
  .claims tr { border-bottom: 1px solid #e4e0d8; padding: .5rem 0; display: block } }
@media print { body { background: #fff; max-width: none } figure, tr { break-inside: avoid } nav, summary { display: none } }
"""


def report(found: Sequence[Findings]) -> str:
    """The page one would send to a colleague: self-contained, for screens of any width and for paper."""
    claims = [claim for each in found for claim in each.claims]
    papers, ours = [c for c in claims if not c.ours], [c for c in claims if c.ours]
    size = "small sizes, for a first look" if any(each.quick for each in found) else "the papers' own sizes"
    parts = [
        "<h1 id='top'>What the papers say, recomputed</h1>",
        f"<p class='lead'>{len(papers)} claims of the papers in {len(found)} studies: {counted(papers) or 'none'}. "
        f"{len(ours)} claims of ours, solved exercises among them: {counted(ours) or 'none'}. Run with {size}.</p>",
        f"<nav>{''.join(f'<a href=#{escape(each.name)}>{escape(each.name)}</a> ' for each in found)}</nav>",
    ]
    for paper in dict.fromkeys(each.paper for each in found):
        parts.append(f"<h2>{escape(paper.title)}</h2>")
        parts += [f"<p class='small'>{escape(paper.words)}</p>"] if paper.words else []
        parts.append(_claims([each for each in found if each.paper == paper], "study"))
    surprises = [line for each in found for line in each.unexpected]
    if surprises:
        parts.append(f"<p class='box'><b>Not as expected:</b> {escape('; '.join(surprises))}.</p>")
    parts += [_study(each) for each in found]
    parts.append(
        "<p class='small'>Made with discreet: <code>make studies</code>. What is random is drawn from fixed seeds.</p>"
    )
    return page("What the papers say, recomputed", "\n".join(parts), _STYLE)


def _claims(found: Sequence[Findings], last: str) -> str:
    """Verdict and claim; then the "study", as a link, or what was "found"."""
    rows = [
        [
            f"<span class='verdict {_MARKS[claim.verdict]}'>{claim.verdict}</span>",
            _said(claim),
            f"<a href='#{escape(each.name)}'>{escape(each.name)}</a>" if last == "study" else _evidence(claim),
        ]
        for each in found
        for claim in each.claims
    ]
    return f"<div class='claims'>{table(('verdict', 'claim', last), rows, [False] * 3)}</div>"


def _said(claim: Claim) -> str:
    """The claim in our words, the paper's own sentence, and where it stands."""
    quote = f"<br><q>{escape(claim.quote)}</q>" if claim.quote else ""
    ours = ", <b>ours</b>" if claim.ours else ""
    return f"{escape(claim.says)}{quote}<br><span class='small'>{escape(claim.where)}{ours}</span>"


def _evidence(claim: Claim) -> str:
    told = otherwise(claim)
    return escape(claim.found) + (
        f"<br><span class='small'>{escape(told[:1].upper() + told[1:])}.</span>" if told else ""
    )


def _study(each: Findings) -> str:
    parts = [
        f"<h2 id='{escape(each.name)}'>{escape(each.title)}</h2>",
        f"<p class='small'>{escape(each.paper.title)}, {escape(each.place)} <a href='#top'>back to the top</a></p>",
        _claims([each], "found"),
    ]
    if plot.can_draw():
        for k, picture in enumerate(each.pictures):
            parts.append(f"<figure>{plot.svg(picture.draw(), f'{each.name}-{k}-')}</figure>")
    for shown in each.tables:
        parts.append(
            f"<details><summary>{escape(shown.title)}</summary><div class='wide'>{section(shown, most=400)}</div></details>"
        )
    parts += [f"<p class='small'>{escape(note)}</p>" for note in each.notes]
    return "\n".join(parts)
