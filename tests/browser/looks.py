"""What must hold of every state of a page: nothing that axe-core finds, nothing wider than the window, focus somewhere."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

# of what can be seen: parts that scroll by themselves may be wider inside
_WIDER = """() => {
  const clips = (e) => /auto|scroll|hidden/.test(getComputedStyle(e).overflowX);
  const within = (e) => e && e !== document.body && (clips(e) || within(e.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.checkVisibility() && !e.closest(".unseen, .skip, svg, thead") && !within(e.parentElement))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5)
    .map((e) => `${e.tagName} ${e.id} ${e.className}`.slice(0, 80));
}"""


def wider(page: Any) -> list[str]:
    """Elements that stick out to the right."""
    found: list[str] = page.evaluate(_WIDER)
    return found


def findings(page: Any) -> list[str]:
    """What axe-core finds, each with its first place."""
    violations = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['help']} ({v['nodes'][0]['html'][:120]})" for v in violations]


def assert_sound(page: Any) -> None:
    found, sticking_out = findings(page), wider(page)
    assert not found, found
    assert not sticking_out, sticking_out
