from __future__ import annotations

import pytest

from contextive.knowledge.artifact import Artifact, ArtifactType
from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.symbol import Symbol, SymbolKind
from contextive.knowledge.untested_subsystems import named_tests_of, names_of_test, untested_subsystems

CODE = "src/shop/pay/card.py"


def file(path: str, subsystem: str | None = None, kind: ArtifactType | None = None) -> Artifact:
    return Artifact(path, kind or artifact_type_of(path), "d", 1, path, "n", subsystem)


def symbol(path: str, name: str, kind: SymbolKind = "function", language: str = "python") -> Symbol:
    return Symbol(f"{path}::{name}", name.rpartition(".")[2], name, kind, language, 1, 2)


def untested(*files: Artifact, reached: tuple[str, ...] = (), name: str = "f", language: str = "python") -> list[str]:
    symbols = {f.path: [symbol(f.path, name, language=language)] for f in files}
    return [found.name for found in untested_subsystems(files, symbols, reached)]


def test_a_subsystem_without_any_test_is_untested() -> None:
    found = untested_subsystems([file(CODE, "shop.pay")], {CODE: [symbol(CODE, "f")]}, ())
    assert [(row.name, row.source_files) for row in found] == [("shop.pay", 1)]


##= docs/spec/gateway.md#km-lifecycle-report
##% A subsystem MUST NOT be reported as untested if a test exercises or imports its code, lies in it, or is named
##% after it.
@pytest.mark.parametrize(
    "test",
    [
        "tests/test_pay.py", "tests/test_pay_by_card.py", "tests/pay/test_card.py", "tests/unit/pay/card_test.py",
        "test/PayTest.java", "tests/pay.rs", "tests/e2e/pay.spec.ts",
    ],
)  # fmt: skip
def test_tests_named_after_a_subsystem_are_its_tests(test: str) -> None:
    assert untested(file(CODE, "shop.pay"), file(test)) == []


@pytest.mark.parametrize(
    "test", ["tests/test_payment.py", "tests/test_card.py", "tests/pay.json", "pay/tests/test_x.py"]
)
def test_other_names_say_nothing(test: str) -> None:
    assert untested(file(CODE, "shop.pay"), file(test)) == ["shop.pay"]


def test_tests_that_lie_in_a_subsystem_or_reach_its_code_are_its_tests() -> None:
    assert untested(file(CODE, "shop.pay"), file("src/shop/pay/tests/test_x.py", "shop.pay")) == []
    assert untested(file(CODE, "shop.pay"), reached=(CODE,)) == []


def test_a_test_of_a_nested_subsystem_counts_for_those_around_it_but_not_the_other_way() -> None:
    outer, inner = file("src/shop/cli.py", "shop"), file(CODE, "shop.pay")
    assert untested(outer, inner, reached=(CODE,)) == []
    assert untested(outer, inner, reached=("src/shop/cli.py",)) == ["shop.pay"]


def test_tests_inside_of_rust_files_count() -> None:
    assert untested(file("crates/a/src/lib.rs", "a"), name="tests.it_works", language="rust") == []


@pytest.mark.parametrize(
    "path",
    ["src/shop/pay/page.html", "src/shop/pay/style.css", "examples/pay.py", "fuzz/pay.py", "src/pay/user_pb2.py"],
)
def test_pages_styles_and_supporting_code_need_no_tests(path: str) -> None:
    assert untested(file(path, "shop.pay", "code")) == []


def test_code_without_functions_needs_no_tests() -> None:
    types = "src/shop/pay/types.py"
    assert list(untested_subsystems([file(types, "shop.pay")], {types: [symbol(types, "T", "class")]}, ())) == []
    assert untested(file("lib/pay/run.rb", "pay")) == ["pay"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/publish/test_cloud_run.py", ["publish", "cloud", "cloud_run"]),
        ("src/router/trie.test.ts", ["trie"]),
        ("test/java/com/CloudRunIT.java", ["java", "com", "cloud", "cloud_run"]),
    ],
)
def test_the_path_of_a_test_says_what_it_is_for(path: str, expected: list[str]) -> None:
    assert list(names_of_test(path)) == expected


TESTS = [
    "src/jwt/index.test.ts", "src/jwt/key.test.ts", "tests/test_table_api.py", "tests/test_table.html", "tests/test_tables.py",
    "tests/test_internals_database.py", "store/tests/mod.rs",
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/jwt/jwt.ts", ["src/jwt/index.test.ts"]),
        ("src/jwt/key.ts", ["src/jwt/key.test.ts", "src/jwt/index.test.ts"]),
        ("app/views/table.py", ["tests/test_table_api.py"]),
        ("app/database.py", ["tests/test_internals_database.py"]),
        ("app/table/__init__.py", ["tests/test_table_api.py"]),
        ("app/unknown.py", []),
    ],
)
def test_the_tests_of_a_file_are_found_by_their_names(path: str, expected: list[str]) -> None:
    assert named_tests_of(path, TESTS) == expected
