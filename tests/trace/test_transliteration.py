# ruff: noqa: RUF001 - letters that look alike are the subject
from __future__ import annotations

import pytest

from contextive.trace.specification import slug


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ünïcode ß æ Ø", "unicode-ss-ae-o"),
        ("e\u0301 combining", "e-combining"),
        ("кот и пёс", "kot-i-pios"),
        ("Юрий", "iurii"),
        ("βήτα Ξενία", "beta-ksenia"),
        ("ἁπλοῦς", "aplous"),
        ("שלום", "shlvm"),
        ("का नहीं", "kaa-nhiin"),
        ("日本 語", "ri-ben-yu"),
        ("北京", "bei-jing"),
        ("しちつ シフ", "sititu-sihu"),
        ("한글", "hangeul"),
        ("Emoji 🦀 crab", "emoji-crab-crab"),
        ("⚠ Note", "warning-note"),
        ("½ and ⅓x", "1-2-and-1-3-x"),
        ("§ 3 × 4", "ss-3-x-4"),
        ("a → b ↓ c", "a-b-c"),
        ("x\u00a0y", "x-y"),
        ("ﬁn", "fin"),
        ("“Quotes” – and…", "quotes-and"),
        ("zero\u200bwidth", "zero-width"),
        ("_under_score_", "under-score"),
        ("***", ""),
    ],
)
def test_titles_in_any_script_have_ascii_ids(title: str, expected: str) -> None:
    assert slug(title) == expected
