from __future__ import annotations

import pytest

from contextive.trace.target import Target, cached_path, canonical_url, normalise_url, requirements_dir


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.ORG/A", "https://example.org/A"),
        ("https://example.com:443/x", "https://example.com/x"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com/a b/é", "https://example.com/a%20b/%C3%A9"),
        ("https://example.com/%7Ea", "https://example.com/%7Ea"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com/a?b=c d", "https://example.com/a?b=c%20d"),
        ("other://Host/Path", "other://Host/Path"),
    ],
)
def test_urls_are_normalised_as_url_parsers_print_them(url: str, normal: str) -> None:
    assert normalise_url(url) == normal
    assert normalise_url(normal) == normal


@pytest.mark.parametrize(
    "url",
    [
        "https://www.rfc-editor.org/rfc/rfc9000",
        "http://www.rfc-editor.org/rfc/rfc9000.txt",
        "https://www.rfc-editor.org/rfc/rfc9000/",
        "https://tools.ietf.org/rfc/rfc9000.html",
        "https://datatracker.ietf.org/doc/html/rfc9000.xml",
        "http://datatracker.ietf.org/doc/html/rfc9000.pdf",
    ],
)
def test_every_common_url_of_an_rfc_has_the_same_canonical_url(url: str) -> None:
    assert canonical_url(url) == "https://www.rfc-editor.org/rfc/rfc9000.txt"
    assert cached_path(url, "d") == "d/www.rfc-editor.org/rfc/rfc9000.txt"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://example.com/spec-v1.2", "d/example.com/spec-v1.txt"),
        ("https://example.com/", "d/example.txt"),
        ("https://example.com/a/b/", "d/example.com/a/b.txt"),
        ("https://example.com/a%20b.md", "d/example.com/a%20b.txt"),
    ],
)
def test_the_stored_text_of_a_url_has_the_extension_txt(url: str, path: str) -> None:
    assert cached_path(url, "d") == path


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("spec.md", "r/spec"),
        ("./a.b/spec.txt", "r/a.b/spec"),
        ("../up/spec", "r/up/spec"),
        ("https://example.com/x/rfc1.html", "r/example.com/x/rfc1"),
    ],
)
def test_requirements_are_stored_below_the_path_of_their_specification(target: str, folder: str) -> None:
    assert requirements_dir(Target(target), "d", "r") == folder


def test_targets_are_sorted_by_the_parts_of_their_paths() -> None:
    paths = [
        "b.md",
        "a/z.md",
        "a.md",
        "./c.md",
        "../d.md",
        "/e/./b.md",
        "/e/a.md",
        "https://z.example/",
        "http://a.example/",
    ]
    assert [target.path for target in sorted(map(Target, paths), key=Target.sort_key)] == [
        "http://a.example/",
        "https://z.example/",
        "/e/a.md",
        "/e/./b.md",
        "./c.md",
        "../d.md",
        "a/z.md",
        "a.md",
        "b.md",
    ]
