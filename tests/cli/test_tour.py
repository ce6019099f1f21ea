"""The sketches of the tour: curves where the numbers are."""

from __future__ import annotations

from xml.etree import ElementTree

from discreet.cli.tour import sketch


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]


def test_a_sketch_has_its_curves_where_the_numbers_are():
    """Equal values at equal heights, larger ones higher, all inside the frame, ticks at round numbers, texts escaped."""
    picture = sketch(
        {"a<b": ([0, 5, 10], [0.0, 0.3, 0.1]), "c": ([0, 5, 10], [0.1, 0.1, 0.3])}, "<t>", "x & y", "share"
    )
    tree = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    first, second = (points(line) for line in tree.iter(f"{space}polyline"))
    assert first[1][1] == second[2][1] < first[2][1] == second[0][1] < first[0][1]  # upwards is less
    assert [p[0] for p in first] == [p[0] for p in second]
    assert first[1][0] == (first[0][0] + first[2][0]) / 2
    height = first[0][1] - first[1][1]
    assert abs((first[0][1] - first[2][1]) / height - 1 / 3) < 2e-3  # to a tenth of a point
    assert all(0 <= p[0] <= 640 and 0 <= p[1] <= 300 for p in first + second)
    texts = [text.text for text in tree.iter(f"{space}text")]
    assert {"<t>", "x & y", "share", "a<b", "c", "0", "10", "0.1", "0.3"} <= set(texts)
    assert tree.attrib["aria-label"] == "<t>"


def test_a_sketch_of_next_to_nothing():
    for series in ({"a": ([3], [0.0])}, {"a": ([0, 1], [1e-12, 2e-12])}, {"a": ([-7, 10**6], [5, 1e9])}):
        ElementTree.fromstring(sketch(series, "t", "x", "y"))
