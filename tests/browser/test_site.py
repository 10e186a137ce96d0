"""Every view of the site in a real browser, on a project of real size."""

from __future__ import annotations

import pytest

from .browser import check

MAX_PAINT_MS = 300
MAX_HTML_BYTES = 300_000
MAX_FRAME_MS = 100

pytestmark = [pytest.mark.node, pytest.mark.slow]


##= docs/spec/site.md#pages
##% A page MUST work without an error, without a request to another host and without a violation of WCAG A or AA that axe-core
##% finds, on a desktop and on a phone, light and dark.
def test_no_view_has_an_error_a_foreign_request_or_a_barrier(site: str) -> None:
    results = check(site, "views")
    assert len({result["view"] for result in results}) >= 17
    assert [result for result in results if result["problems"]] == []


def test_the_keyboard_alone_is_enough(site: str) -> None:
    steps = check(site, "keyboard")
    assert len(steps) == 7
    assert [step["step"] for step in steps if not step["ok"]] == []


def test_every_view_appears_quickly_and_is_small(site: str) -> None:
    measured = check(site, "budgets")
    assert [result for result in measured if result["paint"] > MAX_PAINT_MS or result["bytes"] > MAX_HTML_BYTES] == []


def test_a_large_graph_can_be_dragged(site: str) -> None:
    dragged = check(site, "drag")
    assert 200 <= dragged["nodes"] <= 1_500
    assert dragged["median"] < MAX_FRAME_MS
