# ruff: noqa: RUF001 - letters that look alike are the subject
"""Transliteration to ASCII, as section ids need it.

`anyascii` knows every script. The tables here override it where duvet's ids differ: Greek and Cyrillic letters, kana,
Hangul, Chinese (each character is a separate word), fractions, and symbols that occur in headings.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_DROPPED_CATEGORIES = frozenset({"Mn", "Me", "Cf", "Cc"})
"""Characters of these categories are dropped; any other character without a transliteration separates words."""

_SIGNS = (
    "¢=c/ £=ps ¥=y= §=ss ×=x ⁋=pp ₡=cl ₣=ff ₪=ns ✓=ok ✖=x ˇ=v ˘=v ⭐=* ❗=! ❓=? ➕=+ ➖=- ➗=/ ☀=* 〓=x- ー= "
    "⚠=warning ❤=heart ✉=envelope ☎=telephone ▶=> ◀=<"
)
_LATIN = (
    "ĸ=k ƍ=d Ǝ=3 Ə=@ ƕ=hv Ƣ=oi ƣ=oi Ʀ=yr Ʊ=y Ƹ=zh ƹ=zh ƻ=2 Ʃ=sh Ʒ=zh ǀ=| ǁ=| ǂ=| ǃ=! ǝ=@ Ƕ=hv Ʌ=^ ə=@ ʃ=s ʒ=z ʌ=^ "
    "ẚ=a ẜ=s ẝ=s"
)
_GREEK = "β=b η=e Ξ=ks ξ=x υ=u φ=ph χ=kh ϒ=u ϡ=sp ϧ=kh ϫ=g ϭ=ch ϲ=c"
_CYRILLIC = "ѐ=ie ё=io ѓ=gj Є=e є=ie ї=yi ћ=tsh ќ=kj й=i ю=iu я=ia ґ=g' ғ=g' җ=zh' қ=k' ң=n' ұ=u' ҳ=kh'"
_HEBREW = "ב=b ח=kh ך=k כ=k ף=p פ=p ק=q ש=sh"
_DEVANAGARI = (
    "आ=aa ई=ii ऊ=uu ऍ=en ऑ=on ङ=ng ञ=ny ट=tt ठ=tth ड=dd ढ=ddh ण=nn श=sh ष=ss ॐ=aum ॠ=rr ॡ=ll "
    "\u0901=n \u0902=n \u093e=aa \u0940=ii \u0942=uu \u0944=rr \u0945=en \u0949=on \u0963=ll"
)
_KANA = (
    "し=si じ=zi ち=ti ぢ=di っ=tu つ=tu づ=du ふ=hu ゐ=wi ゑ=we を=wo ゖ=ke "
    "シ=si ジ=zi チ=ti ヂ=di ッ=tu ツ=tu ヅ=du フ=hu ヰ=wi ヱ=we ヲ=wo ヶ=ke"
)
"""Kana that are transliterated by their row in the syllable table, not by their sound."""
_OVERRIDES = dict(
    pair.split("=", 1)
    for group in (_SIGNS, _LATIN, _GREEK, _CYRILLIC, _HEBREW, _DEVANAGARI, _KANA)
    for pair in group.split(" ")
)
"""An entry for a lower-case letter also applies to the upper-case one."""
_FRACTIONS = "⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_LEADS = ["g", "gg", "n", "d", "dd", "r", "m", "b", "bb", "s", "ss", "", "j", "jj", "c", "k", "t", "p", "h"]
_VOWELS = [
    "a",
    "ae",
    "ya",
    "yae",
    "eo",
    "e",
    "yeo",
    "ye",
    "o",
    "wa",
    "wae",
    "oe",
    "yo",
    "u",
    "weo",
    "we",
    "wi",
    "yu",
    "eu",
    "yi",
    "i",
]
_TAILS = [
    "",
    "g",
    "gg",
    "gs",
    "n",
    "nj",
    "nh",
    "d",
    "l",
    "lg",
    "lm",
    "lb",
    "ls",
    "lt",
    "lp",
    "lh",
    "m",
    "b",
    "bs",
    "s",
    "ss",
    "ng",
    "j",
    "c",
    "k",
    "t",
    "p",
    "h",
]


@lru_cache(maxsize=4096)
def to_ascii(character: str) -> str:
    """One character in ASCII. The result for a word separator is neither a letter nor a digit."""
    if character.isascii():
        return character
    lower = character.lower()
    base = unicodedata.normalize("NFD", lower)[0]
    for known in (character, lower, base if "Ͱ" <= base <= "Ͽ" else lower):
        if known in _OVERRIDES:
            return _OVERRIDES[known]
    if "가" <= character <= "힣":
        number = ord(character) - ord("가")
        return _LEADS[number // 588] + _VOWELS[number % 588 // 28] + _TAILS[number % 28]
    if "\u2190" <= character <= "\u21ff" or character == "\u200b":
        return "-"
    return _from_anyascii(base if "Ͱ" <= base <= "Ͽ" else character)


def _from_anyascii(character: str) -> str:
    from anyascii import anyascii

    spelled = anyascii(character)
    if not spelled:
        return "" if unicodedata.category(character) in _DROPPED_CATEGORIES else "-"
    if len(spelled) > 2 and spelled[0] == spelled[-1] == ":":
        return spelled[1:]  # the name of an emoji
    if "\u4e00" <= character <= "\u9fff":
        return spelled + " "
    return f" {spelled} " if character in _FRACTIONS else spelled
