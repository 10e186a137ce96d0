from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge import tokeniser
from contextive.knowledge.tokeniser import (
    MAX_TOKEN_LENGTH,
    query_identifiers,
    query_terms,
    terms_by_line,
    tokenise,
    tokenise_joined,
    unstemmed_words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gatherFiles", ["gatherfiles", "gather", "file"]),
        ("gather_files", ["gather_files", "gather", "file"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("REQ-AUTH-0042", ["req-auth-0042", "req", "auth", "0042"]),
        ("src/net/b.py", ["src/net/b.py", "src", "net", "b.py", "b", "py"]),
        ("kebab-case", ["kebab-case", "kebab", "case"]),
        ("os.path.join", ["os.path.join", "os", "path", "join"]),
        ("std::vec::Vec", ["std::vec::vec", "std", "vec", "vec"]),
        ("self._store", ["_store", "store"]),
        ("__init__", ["__init__", "init"]),
        ("getX509Cert", ["getx509cert", "get", "x509", "cert"]),
        ("HTTP2Server", ["http2server", "http2", "server"]),
        ("URLs", ["url"]),
    ],
)
def test_an_identifier_is_kept_whole_and_split(text: str, expected: list[str]) -> None:
    assert tokenise(text) == expected


@pytest.mark.parametrize("text", ["s2n", "S2N", "base64", "3Des", "0.27.1", "v1", "utf8"])
def test_digits_stay_with_their_letters(text: str) -> None:
    assert tokenise(text) == [text.lower()]


def test_documents_keep_repeated_tokens_and_queries_do_not() -> None:
    assert tokenise("file files FILE") == ["file", "file", "file"]
    assert query_terms("file files FILE") == ("file",)


def test_stop_words_are_left_out_unless_a_query_has_nothing_else() -> None:
    assert tokenise("what is the index of it") == ["index"]
    assert query_terms("what is the index of it") == ("index",)
    assert query_terms("what is it") == ("what", "is", "it")
    assert query_terms(" ?! ") == ()


def test_an_identifier_of_stop_words_is_still_found_as_a_whole() -> None:
    assert "to_all" in tokenise("to_all()")
    assert query_terms("to_all") == ("to_all",)


def test_identifiers_are_recognised_by_their_form() -> None:
    assert query_identifiers("Where does gatherAll call os.path.join or s2n in src/a.py?") == (
        "gatherall",
        "os.path.join",
        "s2n",
        "src/a.py",
        "a.py",
    )
    assert query_identifiers("where does it come from") == ()


def test_unstemmed_words_are_those_that_stemming_changes() -> None:
    assert unstemmed_words("gatherall the files") == ("gatherall", "files")
    assert unstemmed_words("gather_all index") == ()


def test_words_in_other_scripts_are_tokenised() -> None:
    assert tokenise("Straße GRÖSSE café") == ["strass", "grösse", "café"]
    assert tokenise("東京の倉庫") == ["東京", "京の", "の倉", "倉庫"]
    assert tokenise("語 text日本") == ["語", "text", "日本"]
    assert tokenise("\ufb01ne \uff46ull") == ["fine", "full"]


def test_long_words_are_truncated_and_not_split() -> None:
    assert tokenise("Ab" * 500) == [("ab" * 500)[:MAX_TOKEN_LENGTH]]
    long_path = "/".join(["part"] * 40)
    assert set(tokenise(long_path)) == {"part"}


@given(st.text(max_size=200))
def test_tokens_contain_no_spaces_and_have_limited_length(text: str) -> None:
    found = tokenise(text)
    assert all(token and not any(character.isspace() for character in token) for token in found)
    assert all(len(token) <= MAX_TOKEN_LENGTH for token in found)


@given(st.text(max_size=120))
def test_a_query_copied_from_a_document_has_the_same_terms(text: str) -> None:
    terms = query_terms(text)
    assert set(tokenise(text)) == set(terms) or not tokenise(text)
    assert len(set(terms)) == len(terms)


@given(st.lists(st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,20}", fullmatch=True), max_size=8))
def test_the_cache_does_not_change_results(words: list[str]) -> None:
    text = " ".join(words)
    first_result = tokenise(text)
    tokeniser._token_cache.clear()
    assert tokenise(text) == first_result
    assert first_result == [token for word in words for token in tokenise(word)]


def test_the_cache_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokeniser, "CACHE_LIMIT", 100)
    tokenise(" ".join(f"word{number}" for number in range(1000)))
    assert len(tokeniser._token_cache) <= 100


def test_threads_share_the_cache() -> None:
    text = " ".join(f"gathering_{number} runningFast{number}" for number in range(2000))
    expected = tokenise(text)
    tokeniser._token_cache.clear()
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(tokenise(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == [expected] * 4


@given(st.text(max_size=60))
def test_joined_tokens_are_the_tokens(text: str) -> None:
    assert tokenise_joined(text).split() == tokenise(text)


@given(st.text(alphabet="aAzZ09_-./:(){}' \t\n\x1c\x85\u00e9\u6771", max_size=30))
def test_punctuation_around_a_word_changes_nothing(text: str) -> None:
    assert tokenise(text) == [token for raw in tokeniser._raw_words(text) for token in tokenise(raw)]


def test_terms_are_found_per_line() -> None:
    lines = ["def open_door(key):", "    return key", ""]
    assert terms_by_line(lines, ["key", "door", "lock"]) == [{"key", "door"}, {"key"}, set()]
