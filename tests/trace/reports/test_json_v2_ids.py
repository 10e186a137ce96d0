from __future__ import annotations

from contextive.trace.reports.json_v2_ids import (
    cite_id,
    fnv1a_64,
    inline_source_id,
    linked_source_id,
    repository_id,
    requirement_id,
    section_id,
    specification_id,
)


def test_the_hash_is_fnv1a_of_64_bits() -> None:
    assert fnv1a_64(b"") == 0xCBF29CE484222325
    assert fnv1a_64(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a_64(b"foobar") == 0x85944171F73967E8


def test_ids_are_the_same_as_duvets() -> None:
    assert repository_id("https://github.com/org/repo/blob/main") == "repo-2a688096043d13a6"
    assert inline_source_id("hello world") == "src-779a65e7023cd2e7"
    assert linked_source_id("src/lib.rs", "repo-abc123") == "lnk-944cdb82e9f1060d"
    assert linked_source_id("src/lib.rs", "") == "lnk-45b7397fa826f08e"
    assert specification_id("src-aaa", 0, 98765) == "spc-dfc8916cc1aac4ca"
    assert cite_id("lnk-bbb", 42, "src-aaa") == "cite-1a2fb6b5abf8ae91"


def test_ids_of_a_section_and_a_specification_of_the_same_range_differ_only_in_the_prefix() -> None:
    assert section_id("src-aaa", 0, 98765) == "sec-dfc8916cc1aac4ca"


def test_the_order_of_ranges_does_not_matter() -> None:
    one = requirement_id("src-a", [(10, 20), (1, 5)], "lnk-b", 3)
    assert one == requirement_id("src-a", [(1, 5), (10, 20)], "lnk-b", 3)
    assert one != requirement_id("src-a", [(1, 5), (10, 20)], "lnk-b", 4)


def test_text_is_hashed_as_utf_8() -> None:
    assert inline_source_id("é") == f"src-{fnv1a_64(bytes((0xC3, 0xA9))):016x}"
