"""The lifecycle report of a project with a history: it names all ten planted faults, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool

from .conftest import OpenHost
from .repository import commit_all, run_git, write_repository
from .test_maintenance import ADMIN

HEALTHY: Mapping[str, str] = {
    "README.md": "# Shop\n\nStart with [the guide](docs/guide.md).\n",
    "LICENSE": "Do what you want.\n",
    "CODE_OF_CONDUCT.md": "# Code of conduct\n\nBe kind.\n",
    "CHANGELOG.md": "# Changes\n\n`Cart.total` is new.\n",
    "setup.py": "from setuptools import setup\n\nsetup()\n",
    "scripts/release.sh": "#!/bin/sh\ntrue\n",
    "examples/hello.py": "print('hello')\n",
    "docs/Makefile": "html:\n\ttrue\n",
    "docs/.gitignore": "_build\n",
    "docs/conf.py": "project = 'Shop'\n",
    "docs/_static/custom.css": "p { margin: 0 }\n",
    "docs/_templates/page.html": "<p>Shop</p>\n",
    "docs/guide.md": "# Guide\n\n`Cart.total` adds up. See [the API](api.rst).\n",
    "docs/api.rst": "API\n===\n\n.. toctree::\n\n   cart\n",
    "docs/cart.rst": "Cart\n====\n\n.. autoclass:: shop.cart.Cart\n",
    "docs/adr/0001-cart.md": "# Use a cart\n\nAs in `src/shop/cart.py`. [Guide](../guide.md)\n",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "class Cart:\n    def total(self):\n        return 1\n\n\ndef _own():\n    return Cart().total()\n",
    "src/shop/publish/__init__.py": "",
    "src/shop/publish/page.py": "def render(name: str) -> str:\n    return name\n",
    "src/shop/templates/index.html": "<p>Shop</p>\n",
    "tests/conftest.py": "",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total() -> None:\n    assert Cart().total() == 1\n",
    "tests/test_publish_page.py": "def test_page() -> None:\n    assert True\n",
    "tests/data/prices.json": "{}\n",
    "crates/count/Cargo.toml": '[package]\nname = "shop-count"\n',
    "crates/count/src/lib.rs": "pub fn count() {}\n\n#[cfg(test)]\nmod tests {\n    fn counts() { super::count() }\n}\n",
    "crates/count/README.md": "# shop-count\n\nCounts.\n",
    "fuzz/Cargo.toml": '[package]\nname = "shop-fuzz"\n',
    "fuzz/src/main.rs": "fn main() {}\n",
    "ledger/go.mod": "module example.org/ledger\n",
    "ledger/book.go": "package ledger\n\nfunc Open() int { return 1 }\n",
    "ledger/book_test.go": "package ledger\n\nfunc TestOpen() { Open() }\n",
    "web/ui/package.json": '{"name": "@shop/ui"}\n',
    "web/ui/src/button.ts": "export function button(): string {\n  return 'x';\n}\n",
    "web/ui/src/button.test.ts": "import { button } from './button';\n\nbutton();\n",
}  # fmt: skip
PLANTED: Mapping[str, str] = {
    # orphans
    "docs/idea.md": "# An idea\n\nNobody remembers it.\n",
    "docs/forgotten.rst": "Forgotten\n=========\n\nNobody reads it.\n",
    "lost.adoc": "= Lost\n\nNobody links to it.\n",
    # behind their code
    "docs/billing.md": "# Billing\n\nSee [the code](../src/shop/billing/invoice.py). [Guide](guide.md)\n",
    "docs/tax.md": "# Tax\n\n`compute_tax()` rounds down.\n",
    "docs/shipping.md": "---\nsubsystem: shop.shipping\n---\n# Shipping\n\nParcels.\n",
    "docs/wire.md": "# Wire\n\nThe format is in `crates/wire/src/lib.rs`.\n",
    "src/shop/billing/__init__.py": "",
    "src/shop/billing/invoice.py": "def invoice(total: int) -> int:\n    return total\n",
    "src/shop/tax.py": "def compute_tax(total: int) -> int:\n    return total // 5\n\n\ndef other() -> int:\n    return 0\n",
    "src/shop/shipping/__init__.py": "",
    "src/shop/shipping/parcel.py": "def weigh() -> int:\n    return 1\n",
    "tests/test_tax.py": "from shop.tax import compute_tax\n\n\ndef test_tax() -> None:\n    assert compute_tax(5) == 1\n",
    "tests/test_shipping.py": "from shop.shipping.parcel import weigh\n\n\ndef test_weight() -> None:\n    assert weigh()\n",
    # without tests: shop.billing, and these
    "crates/wire/Cargo.toml": '[package]\nname = "shop-wire"\n',
    "crates/wire/src/lib.rs": "pub fn encode() -> u8 { 1 }\n",
    "ledger/report/print.go": "package report\n\nfunc Print() int { return 1 }\n",
}  # fmt: skip
LATER: Mapping[str, str] = {
    "src/shop/billing/invoice.py": "def invoice(total: int) -> int:\n    return total + 1\n",
    "src/shop/tax.py": "def compute_tax(total: int) -> int:\n    return total // 4\n\n\ndef other() -> int:\n    return 0\n",
    "src/shop/shipping/parcel.py": "def weigh() -> int:\n    return 2\n",
    "crates/wire/src/lib.rs": "pub fn encode() -> u8 { 2 }\n",
    # only the layout, or another part of the file
    "src/shop/cart.py": "class Cart:\n    def total(\n        self,\n    ):\n        return 1\n\n\ndef _own():\n    return 2\n",
}  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "shop", {**HEALTHY, **PLANTED})


def report_of(root: Path, open_host: OpenHost, **arguments: Any) -> dict[str, Any]:
    report: dict[str, Any] = call_tool(open_host(root, **ADMIN), "km-lifecycle-report", {"detail": "full", **arguments})
    return report


##= docs/spec/gateway.md#km-lifecycle-report
##% A node MUST be reported as isolated only if it has no edges except to its own parts.
##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale only if its last commit is older than `knowledge.staleDays` and code that it
##% describes or links to changed after it.
def test_the_report_names_every_planted_fault_and_nothing_else(shop: Path, open_host: OpenHost) -> None:
    write_repository(shop, LATER, git=False)
    commit_all(shop, "Change the code", when="2024-08-01T12:00:00+00:00")
    report = report_of(shop, open_host)
    isolated = {row["path"] for rows in report["isolated"].values() for row in rows}
    assert isolated == {"docs/idea.md", "docs/forgotten.rst", "lost.adoc"}
    assert {row["path"]: row["changed_code"] for row in report["stale_docs"]} == {
        "docs/billing.md": ["src/shop/billing/invoice.py"],
        "docs/shipping.md": ["src/shop/shipping/parcel.py"],
        "docs/tax.md": ["src/shop/tax.py::compute_tax"],
        "docs/wire.md": ["crates/wire/src/lib.rs"],
    }
    assert {row["subsystem"] for row in report["missing_tests"]} == {
        "shop.billing", "shop-wire", "example.org/ledger/report",
    }  # fmt: skip
    assert report["symbol_test_gaps"] == []


def test_a_document_that_was_updated_with_its_code_is_not_stale(shop: Path, open_host: OpenHost) -> None:
    documents = {path: f"{PLANTED[path]}\nUpdated.\n" for path in ("docs/tax.md", "docs/wire.md")}
    write_repository(shop, {**LATER, **documents}, git=False)
    commit_all(shop, "Change the code", when="2024-08-01T12:00:00+00:00")
    stale = report_of(shop, open_host)["stale_docs"]
    assert [row["path"] for row in stale] == ["docs/billing.md", "docs/shipping.md"]


def test_without_git_no_document_is_stale(tmp_path: Path, open_host: OpenHost) -> None:
    root = write_repository(tmp_path / "shop", {**HEALTHY, **PLANTED, **LATER}, git=False)
    report = report_of(root, open_host)
    assert report["stale_docs"] == []
    assert len(report["isolated"]["DesignDoc"]) == 3
    assert len(report["missing_tests"]) == 3


def test_a_report_after_edits_is_that_of_a_new_index(shop: Path, open_host: OpenHost) -> None:
    host = open_host(shop, **ADMIN)
    call_tool(host, "km-lifecycle-report", {})
    write_repository(shop, LATER, git=False)
    run_git(shop, "mv", "docs/idea.md", "docs/plan.md")
    run_git(shop, "rm", "-q", "tests/test_tax.py", "web/ui/package.json", "docs/cart.rst")
    write_repository(
        shop,
        {
            "docs/index.md": "# Index\n\n[Plan](plan.md) and [forgotten](forgotten.rst)\n",
            "Cargo.toml": '[package]\nname = "root"\n',
            "src/net/mod.rs": "pub fn send() {}\n",
            "tests/test_billing.py": "from shop.billing.invoice import invoice\n\n\ndef test_it() -> None:\n    invoice(1)\n",
        },
        git=False,
    )
    commit_all(shop, "Change everything", when="2024-09-01T12:00:00+00:00")
    changed = call_tool(host, "km-lifecycle-report", {"detail": "full"})
    fresh = call_tool(
        open_host(shop, **ADMIN, CONTEXTIVE_STORE__STATE_PATH=".fresh"), "km-lifecycle-report", {"detail": "full"}
    )
    for key in ("isolated", "stale_docs", "missing_tests", "symbol_tests", "symbol_test_gaps", "summary"):
        if key != "summary":
            assert changed[key] == fresh[key], key
    assert {row["path"] for row in changed["isolated"]["DesignDoc"]} == {"lost.adoc"}
    assert "root::net" in {row["subsystem"] for row in changed["missing_tests"]}
