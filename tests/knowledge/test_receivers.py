"""Calls on instances and attributes get their target from the type of the receiver, where the code shows it."""

from __future__ import annotations

import pytest

from contextive.knowledge.calls import resolve_calls
from tests.knowledge.test_name_resolution import resolver_of

PYTHON = {
    "app/database.py": (
        "class Rows:\n    def first(self): pass\n\n"
        "class Base:\n    def close(self): pass\n\n"
        "class Database(Base):\n    def execute(self, sql) -> Rows: pass\n\n"
        "class Other:\n    def execute(self, sql): pass\n    def first(self): pass\n    def close(self): pass\n"
    ),
    "app/views.py": "from app.database import Database, Rows, Other\nfrom typing import Protocol\n",
}
CASES: dict[str, tuple[str, str]] = {
    "a constructor": (
        "Database.execute",
        """\
def run():
    db = Database()
    db.execute('')
""",
    ),
    "a typed parameter": (
        "Database.execute",
        """\
def run(db: Database | None = None):
    db.execute('')
""",
    ),
    "a result": (
        "Rows.first",
        """\
def run(db: Database):
    db.execute('').first()
""",
    ),
    "a result in a variable": (
        "Rows.first",
        """\
async def run(db: Database):
    rows = await db.execute('')
    rows.first()
""",
    ),
    "a base class": (
        "Base.close",
        """\
def run(db: Database):
    db.close()
""",
    ),
    "an attribute": (
        "Database.execute",
        """\
class View:
    def __init__(self): self.db = Database()
    def get(self): self.db.execute('')
""",
    ),
    "an annotated attribute": (
        "Database.execute",
        """\
class View:
    db: Database
    def get(self): self.db.execute('')
""",
    ),
    "elements": (
        "Database.execute",
        """\
def run(databases: list[Database]):
    for db in databases: db.execute('')
""",
    ),
    "elements of a copy": (
        "Database.execute",
        """\
def run(databases: list[Database]):
    for db in sorted(databases): db.execute('')
""",
    ),
    "a copy or nothing": (
        "Database.execute",
        """\
class View:
    def __init__(self, all: list[Database] | None): self.all = [] if all is None else list(all)
    def get(self):
        for db in self.all: db.execute('')
""",
    ),
    "a with statement": (
        "Database.execute",
        """\
def run():
    with Database() as db: db.execute('')
""",
    ),
    "a function": (
        "Database.execute",
        """\
def connect() -> Database: ...
def run(): connect().execute('')
""",
    ),
    "a returned value": (
        "Database.execute",
        """\
def connect():
    return Database()
def run(): connect().execute('')
""",
    ),
    "a callable object": (
        "Database.execute",
        """\
class Factory(Protocol):
    def __call__(self) -> Database: ...
def run(factory: Factory): factory().execute('')
""",
    ),
    "a property": (
        "Database.execute",
        """\
class View:
    @property
    def db(self) -> Database: ...
    def get(self): self.db.execute('')
""",
    ),
}


def calls(files: dict[str, str], path: str) -> set[tuple[str, bool]]:
    """The called symbols by qualified name, each with whether it was found by its name."""
    resolver, references = resolver_of(files, path)
    return {(call.target.partition("::")[2], call.by_name) for call in resolve_calls(references, resolver)}


@pytest.mark.parametrize(("target", "code"), CASES.values(), ids=CASES.keys())
def test_the_type_of_a_receiver_is_found_in_python(target: str, code: str) -> None:
    files = {**PYTHON, "app/views.py": PYTHON["app/views.py"] + code}
    assert (target, False) in calls(files, "app/views.py")
    assert not any("Other." in name for name, _ in calls(files, "app/views.py"))


OTHER_LANGUAGES: dict[str, tuple[str, str]] = {
    "typescript": (
        "Item.show",
        """\
== src/store.ts
export class Store { get(key: string): Item { return new Item() } }
export class Item { show() {} }
== src/app.ts
import { Store } from './store'
export class App {
  private store: Store
  run() { this.store.get('a').show() }
}
""",
    ),
    "javascript": (
        "Store.load",
        """\
== store.js
class Store { load() {} }
module.exports = { Store }
class Other { load() {} }
== app.js
const { Store } = require('./store')
function run() { const store = new Store(); store.load() }
""",
    ),
    "go": (
        "Store.Load",
        """\
== go.mod
module x.org/app
== store/store.go
package store
type Store struct{}
func New() *Store { return nil }
func (s *Store) Load() {}
type Other struct{}
func (o Other) Load() {}
== main.go
package main
import "x.org/app/store"
type App struct { store *store.Store }
func (a *App) Run() { a.store.Load() }
""",
    ),
    "go, by a function of another package": (
        "Store.Load",
        """\
== go.mod
module x.org/app
== store/store.go
package store
type Store struct{}
func New() (*Store, error) { return nil, nil }
func (s *Store) Load() {}
type Other struct{}
func (o Other) Load() {}
== main.go
package main
import "x.org/app/store"
func run() {
	s, err := store.New()
	s.Load()
}
""",
    ),
    "rust": (
        "Name.len",
        """\
== src/name.rs
pub struct Name;
impl Name { pub fn len(&self) -> usize { 0 } }
struct Other;
impl Other { pub fn len(&self) {} }
== src/lib.rs
mod name;
use name::Name;
struct Label { name: Option<Name> }
impl Label {
    fn show(&self) { if let Some(name) = &self.name { name.len(); } }
}
""",
    ),
    "rust, in a macro": (
        "Name.len",
        """\
== src/lib.rs
struct Name;
impl Name {
    fn from_utf8(text: &str) -> Self { Name }
    fn len(&self) -> usize { 0 }
}
struct Other;
impl Other { fn len(&self) {} }
#[test]
fn short() { let name = Name::from_utf8("a"); assert_eq!(name.len(), 0); }
""",
    ),
    "java": (
        "Store.load",
        """\
== src/app/Store.java
package app;
public class Store { public void load() {} }
== src/app/Other.java
package app;
public class Other { public void load() {} }
== src/app/Main.java
package app;
class Main { private final Store store = new Store(); void run() { store.load(); } }
""",
    ),
    "c++": (
        "Store.load",
        """\
== store.hpp
class Store { public: void load() {} };
class Other { public: void load() {} };
== main.cpp
#include "store.hpp"
void run() { Store store; store.load(); }
""",
    ),
    "c": (
        "store_load",
        """\
== store.h
int store_load(int key);
== store.c
int store_load(int key) { return key; }
== main.c
int main() { return store_load(1); }
""",
    ),
}
"""The target, and files. The last one has the calls."""


@pytest.mark.parametrize(("target", "text"), OTHER_LANGUAGES.values(), ids=OTHER_LANGUAGES.keys())
def test_the_type_of_a_receiver_is_found_in_other_languages(target: str, text: str) -> None:
    parts = [part.partition("\n") for part in text.removeprefix("== ").split("\n== ")]
    found = calls({path: code for path, _, code in parts}, parts[-1][0])
    assert (target, False) in found
    assert not any("Other." in name for name, _ in found)


@pytest.mark.parametrize(
    "code",
    [
        "def run(database):\n    database.execute('')\n",
        "def run(database=None):\n    database.execute('')\n",
        "class View:\n    def __init__(self, database): self.db = database\n    def get(self): self.db.execute('')\n",
    ],
)
def test_a_parameter_without_a_type_may_be_named_after_its_class(code: str) -> None:
    assert calls({**PYTHON, "app/views.py": code}, "app/views.py") == {("Database.execute", True)}


def test_a_name_that_fits_no_member_of_the_class_says_nothing() -> None:
    code = "def run(database):\n    database.strip()\n    database.first()\n"
    assert calls({**PYTHON, "app/views.py": code}, "app/views.py") == set()


def test_a_known_value_is_better_than_the_name_of_a_parameter() -> None:
    code = "from app.database import Other\ndef run(database):\n    db = database or Other()\n    db.execute('')\n"
    assert calls({**PYTHON, "app/views.py": code}, "app/views.py") == {("Other", False), ("Other.execute", False)}


def test_a_method_without_a_known_receiver_is_found_if_no_other_method_has_its_name() -> None:
    files = {
        "a.py": "class Engine:\n    def ignite(self): pass\n    def get(self): pass\n    def turn(self): pass\n",
        "b.py": "def ignite(engine): pass\nclass Key:\n    def turn(self): pass\n",
        "c.py": "def run(x):\n    x.ignite()\n    x.get()\n    x.turn()\n",
    }
    assert calls(files, "c.py") == {("Engine.ignite", True)}


def test_the_target_of_a_call_on_a_foreign_value_is_not_guessed() -> None:
    files = {**PYTHON, "app/views.py": "import sqlite3\ndef run():\n    db = sqlite3.connect('')\n    db.execute('')\n"}
    assert calls(files, "app/views.py") == set()


def test_circular_hints_end() -> None:
    code = (
        "class A:\n    def __init__(self): self.b = self.c\n    def m(self): self.c = self.b\n"
        "    def run(self): self.b.go()\n"
    )
    assert calls({"a.py": code}, "a.py") == set()
