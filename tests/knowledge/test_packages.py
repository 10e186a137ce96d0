from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.packages import Packages, find_packages, last_name, outer_names
from contextive.knowledge.support_code import is_product_code

parts = st.text(string.ascii_letters + "._-", min_size=1, max_size=6).filter(lambda part: part.strip(".") != "")
names = st.sampled_from(["a.py", "__init__.py", "b.ts", "c.rs", "d.go", "E.java", "f.cpp", "README.md", "test_a.py"])
paths = st.lists(st.one_of(st.sampled_from(["src", "lib", "docs", "tests"]), parts), max_size=4).flatmap(
    lambda folders: names.map(lambda name: "/".join([*folders, name]))
)
MANIFESTS = {
    "Cargo.toml": '[package]\nname = "{}"\nversion = "1"\n',
    "package.json": '{{"name": "{}"}}',
    "go.mod": "module {}\n\ngo 1.22\n",
}


def manifest(kind: str, name: str) -> str:
    return MANIFESTS[kind].format(name)


def names_of(files: list[str], **manifests: str) -> dict[str, str | None]:
    packages = find_packages(files, manifests)
    return {path: packages.name_of(path, artifact_type_of(path)) for path in files}


##= docs/spec/knowledge.md#file-metadata
##% A package MUST have the name under which other code knows it: that of its crate, its package.json, its import path
##% in Go, or its dotted name in Java and Python.
def test_crates_are_named_by_their_manifests() -> None:
    files = [
        "bin/src/main.rs",
        "bin/tests/run.rs",
        "crates/proto/src/rr/name.rs",
        "crates/proto/README.md",
        "Cargo.toml",
    ]
    found = names_of(
        files,
        **{
            "Cargo.toml": '[workspace]\nmembers = ["bin", "crates/*"]\n',
            "bin/Cargo.toml": manifest("Cargo.toml", "acme-dns"),
            "crates/proto/Cargo.toml": '[lib]\nname = "wrong"\n[package]\n# name = "no"\nname = \'acme-proto\'\n',
        },
    )
    assert found == {
        "bin/src/main.rs": "acme-dns",
        "bin/tests/run.rs": "acme-dns",
        "crates/proto/src/rr/name.rs": "acme-proto",
        "crates/proto/README.md": "acme-proto",
        "Cargo.toml": None,
    }


def test_javascript_packages_are_named_by_their_manifests() -> None:
    files = ["packages/core/src/deep/a.ts", "packages/core/test/a.js", "packages/ui/index.tsx", "scripts/release.js"]
    found = names_of(
        files,
        **{
            "packages/core/package.json": manifest("package.json", "@acme/core"),
            "packages/ui/package.json": manifest("package.json", "@acme/ui"),
        },
    )
    assert list(found.values()) == ["@acme/core", "@acme/core", "@acme/ui", None]


def test_the_package_of_a_whole_project_is_divided_by_directories() -> None:
    files = [
        "src/app.ts",
        "src/router/trie/node.ts",
        "src/router/trie/node.test.ts",
        "src/bin/run.ts",
        "tests/app.test.ts",
    ]
    found = names_of(files, **{"package.json": manifest("package.json", "web")})
    assert list(found.values()) == ["web", "web/router", "web/router", "web", None]
    crate = names_of(["src/lib.rs", "src/net/tcp.rs", "src/bin/x.rs"], **{"Cargo.toml": manifest("Cargo.toml", "wire")})
    assert list(crate.values()) == ["wire", "wire::net", "wire"]


def test_go_packages_are_named_by_their_import_paths() -> None:
    files = ["root.go", "root_test.go", "doc/man.go", "internal/store/sql/a.go", "internal/store/sql/testdata/x.go"]
    found = names_of(files, **{"go.mod": manifest("go.mod", "example.org/acme/tool")})
    assert list(found.values()) == [
        "example.org/acme/tool",
        "example.org/acme/tool",
        "example.org/acme/tool/doc",
        "example.org/acme/tool/internal/store/sql",
        "example.org/acme/tool/internal/store/sql",
    ]


def test_java_packages_contain_the_tests_of_the_same_package() -> None:
    files = ["app/src/main/java/com/acme/bill/A.java", "app/src/test/java/com/acme/bill/ATest.java"]
    assert set(names_of(files).values()) == {"com.acme.bill"}


def test_python_packages_nest() -> None:
    files = [
        "src/shop/__init__.py", "src/shop/default_rules/__init__.py", "src/shop/default_rules/tax.py",
        "src/shop/templates/index.html", "src/shop/static/app.js", "src/shop/tests/test_a.py", "tests/test_shop.py",
        "src/shop/default_rules/notes.md", "setup.py",
    ]  # fmt: skip
    assert list(names_of(files).values()) == [
        "shop", "shop.default_rules", "shop.default_rules", "shop", "shop", "shop", None, "shop.default_rules", None,
    ]  # fmt: skip


def test_code_outside_of_packages_belongs_to_its_top_directory() -> None:
    files = ["src/net/tcp/a.c", "gui/window.cpp", "services/billing/run.rb", "docs/conf.py", "scripts/x.sh", "main.c"]
    assert list(names_of(files).values()) == ["net", "gui", "services/billing", None, None, None]


def test_documents_and_settings_in_the_root_belong_to_no_package() -> None:
    files = ["src/app.ts", "README.md", "docs/guide.md", "tsconfig.json", "src/router/a.ts", "src/router/notes.md"]
    found = names_of(files, **{"package.json": manifest("package.json", "web")})
    assert [path for path, name in found.items() if name] == ["src/app.ts", "src/router/a.ts"]


def test_documents_in_a_folder_for_documents_do_not_belong_to_the_package_around_it() -> None:
    files = ["crates/a/src/lib.rs", "crates/b/src/lib.rs", "crates/a/docs/design.md", "crates/a/README.md"]
    found = names_of(files, **{f"crates/{c}/Cargo.toml": manifest("Cargo.toml", c) for c in "ab"})
    assert [found["crates/a/docs/design.md"], found["crates/a/README.md"]] == [None, "a"]


def test_packages_of_the_same_name_are_told_apart_by_their_directories() -> None:
    files = ["one/app/__init__.py", "one/app/db/__init__.py", "two/app/__init__.py"]
    assert list(names_of(files).values()) == ["one/app", "app.db", "two/app"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 3}', "[" * 50_000, '{"name": " \\n "}'])
def test_a_manifest_that_names_nothing_is_ignored(text: str) -> None:
    files = ["web/src/a.ts"]
    assert names_of(files, **{"web/package.json": text}) == {"web/src/a.ts": "web"}


def test_the_names_around_a_package_are_found_by_its_separators() -> None:
    assert list(outer_names("example.org/a/b.c")) == ["example.org/a/b", "example.org/a", "example.org", "example"]
    assert list(outer_names("wire::net::tcp")) == ["wire::net", "wire"]
    assert [last_name(name) for name in ("a.b", "x/y", "c::d", "e")] == ["b", "y", "d", "e"]


@given(
    st.lists(paths, max_size=12),
    st.dictionaries(st.lists(parts, max_size=2).map("/".join), st.sampled_from(sorted(MANIFESTS)), max_size=3),
)
def test_packages_do_not_depend_on_the_order_of_files_and_are_never_named_after_a_source_root(
    files: list[str], units: dict[str, str]
) -> None:
    manifests = {f"{folder}/{kind}".lstrip("/"): manifest(kind, "unit") for folder, kind in units.items()}
    packages = find_packages(files, manifests)
    assert packages == find_packages(reversed(files), manifests)
    assert {"src", "lib"}.isdisjoint(packages.names.values())
    for path in files:
        packages.name_of(path, artifact_type_of(path))


def test_a_project_without_files_has_no_packages() -> None:
    assert find_packages([], {}) == Packages()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/app/billing.py", True), ("crates/proto/src/lib.rs", True), ("pkg/tools/registry.go", True), ("app.ts", True),
        ("examples/hello.py", False), ("crates/x/benches/a.rs", False), ("conformance/dns-test/src/a.rs", False),
        ("scripts/release.py", False), ("tools/gen.go", False), ("api/v1/user.pb.go", False), ("web/app.min.js", False),
        ("setup.py", False), ("vite.config.ts", False), ("proto/user_pb2.py", False), ("fuzz/fuzz_targets/a.rs", False),
    ],
)  # fmt: skip
def test_product_code_is_told_from_supporting_code_by_its_path(path: str, expected: bool) -> None:
    assert is_product_code(path) is expected
