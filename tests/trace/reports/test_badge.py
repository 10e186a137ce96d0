"""The badge is a small, well-formed SVG with the right number and a text for screen readers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from contextive.trace.reports.badge import write_badge
from contextive.trace.requirement import Status, StatusSummary

from .samples import HIDDEN, HOSTILE

_SVG = "{http://www.w3.org/2000/svg}"


def summary(done: int, total: int) -> StatusSummary:
    return StatusSummary(dict.fromkeys(Status, 0) | {Status.COMPLETE: done, Status.NOT_STARTED: total - done})


def texts(badge: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(badge).iter(f"{_SVG}text")]


def colours(done: int) -> list[str]:
    return re.findall('fill="(#[0-9a-f]{6})"', write_badge(summary(done, 100)))


def test_a_badge_shows_label_and_percentage() -> None:
    assert texts(write_badge(summary(87, 100))) == ["requirements", "87%"]


def test_exceptions_count_as_done() -> None:
    counts = dict.fromkeys(Status, 0) | {Status.EXCEPTION: 1, Status.COMPLETE: 1, Status.TODO: 2}
    assert texts(write_badge(StatusSummary(counts)))[1] == "50%"


def test_a_percentage_is_rounded_down_so_that_100_means_all() -> None:
    assert texts(write_badge(summary(9_999, 10_000)))[1] == "99%"
    assert texts(write_badge(summary(10_000, 10_000)))[1] == "100%"


def test_a_project_without_requirements_has_no_percentage() -> None:
    assert texts(write_badge(summary(0, 0))) == ["requirements", "none"]


def test_a_badge_has_a_text_for_screen_readers() -> None:
    root = ElementTree.fromstring(write_badge(summary(3, 4)))
    spoken = "requirements: 75% (3 of 4 done)"
    assert root.get("role") == "img"
    assert root.get("aria-label") == spoken
    assert root.findtext(f"{_SVG}title") == spoken


def test_the_colour_follows_the_percentage() -> None:
    def colour(done: int) -> str:
        return colours(done)[1]

    assert len({colour(done) for done in (0, 25, 50, 75, 90, 100)}) == 6
    assert colour(89) == colour(75)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("done", [0, 25, 50, 75, 90, 100])
def test_white_text_has_enough_contrast_on_every_colour(done: int) -> None:
    for colour in colours(done):
        assert 1.05 / (_luminance(colour) + 0.05) >= 4.5


@pytest.mark.parametrize("label", [*HOSTILE, HIDDEN, "x" * 10_000, "", " \n "])
def test_a_badge_with_any_label_is_small_and_well_formed(label: str) -> None:
    badge = write_badge(summary(1, 2), label)
    badge.encode("utf-8")
    root = ElementTree.fromstring(badge)
    assert {element.tag.removeprefix(_SVG) for element in root.iter()} == {
        "svg",
        "title",
        "clipPath",
        "rect",
        "g",
        "text",
    }
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or "href" in name]
    assert len(badge) < 4_000
