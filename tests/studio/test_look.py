"""The colours of the studio: what is read or pressed stands out from what is behind it, in the light and in the dark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import discreet.studio
from discreet.present.plot.charts import SHADES
from discreet.present.plot.looks import BLUE, ORANGE

CSS = (Path(discreet.studio.__file__).parent / "static" / "studio.css").read_text(encoding="utf-8")
TEXT = [
    ("ink", "ground"),
    ("ink", "sheet"),
    ("quiet", "ground"),
    ("quiet", "sheet"),
    ("quiet", "own-ground"),
    ("own", "ground"),
    ("own", "sheet"),
    ("own-ink", "own"),
    ("ink", "own-ground"),
    ("warn", "warn-ground"),
    ("warn", "sheet"),
    ("good", "good-ground"),
    ("mark", "mark-ground"),
    ("mark", "sheet"),
]
EDGES = [
    ("edge", "ground"),
    ("edge", "sheet"),
    ("own", "ground"),
    ("warn", "sheet"),
    ("bar", "sheet"),
    ("truth", "sheet"),
    ("mark", "ground"),
]


def colours(scheme):
    """The names of one scheme; what the dark one does not name is as in the light."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in CSS.split("prefers-color-scheme: dark", 1)
    )
    return light if scheme == "light" else {**light, **dark}


def contrast(one, other):
    """As WCAG 2.2 defines it: (L1 + 0.05) / (L2 + 0.05) of relative luminances."""

    def luminance(colour):
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_edges_stand_out(scheme):
    named = colours(scheme)
    for pairs, least in ((TEXT, 4.5), (EDGES, 3.0)):
        for one, other in pairs:
            assert contrast(named[one], named[other]) >= least, (scheme, one, other)
    assert contrast(named["line"], named["sheet"]) < 3  # the measure tells: a line between parts is decoration alone


def test_the_measure_is_the_one_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the grey that just fails


def test_numbers_are_read_on_every_square():
    """One of the two inks of a picture has a contrast of 4.5 with any shade, from black to white."""
    drawn = (Path(discreet.studio.__file__).parent / "static" / "heat.js").read_text(encoding="utf-8")
    inks = re.search(r'ink: .* \? "(#\w{6})" : "(#\w{6})"', drawn).groups()

    def least(*inks):
        return min(max(contrast(ink, f"#{k:02x}{k:02x}{k:02x}") for ink in inks) for k in range(256))

    assert least(*inks) >= 4.5
    assert least("#1d2430", "#ffffff") < 4.5  # a softer black is not enough


def test_no_colour_stands_beside_its_name():
    """Elsewhere in the rooms' own looks colours are named, so that both schemes have them."""
    rest = CSS.split("/* The page */", 1)[1]
    rooms = [path.read_text(encoding="utf-8") for path in Path(discreet.studio.__file__).parent.glob("static/*.css")]
    others = [text for text in rooms if text != CSS]
    assert others
    assert not any(re.findall(r":[^;{}]*#[0-9a-fA-F]{3,8}\b", text) for text in [rest, *others])


def test_pictures_have_the_colours_of_the_library():
    """The studio draws its heat maps itself: their shades, bars and marks are those of `m.plot()`."""
    drawn = (Path(discreet.studio.__file__).parent / "static" / "heat.js").read_text(encoding="utf-8")
    assert f"light: {json.dumps(SHADES)}" in drawn
    assert f"light: {json.dumps(SHADES[::-1])}" not in drawn
    named = colours("light")
    assert (named["bar"], named["truth"]) == (BLUE.lower(), ORANGE.lower())
