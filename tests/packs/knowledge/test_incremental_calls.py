"""Incremental equals fresh for calls: a change of a type in one file changes the targets of calls in others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.ingest.settings import IngestRequest
from contextive.search.index import Index

from .repository import write_repository
from .snapshots import rows_of
from .test_incremental import _assert_equal, _index_of

_TEXTS: Final = """
== app/rows.py
class Rows:
    def first(self): pass
== app/rows.py
class Rows: pass
class Other:
    def first(self): pass
== app/database.py
from app.rows import Rows
class Database:
    def execute(self) -> Rows: pass
    def shut_down(self): pass
== app/database.py
from app.rows import *
class Base:
    def shut_down(self): pass
class Database(Base):
    def execute(self): return Rows()
== app/database.py
class Database:
    def execute(self) -> 'Other': pass
== app/views.py
from app.database import Database
class View:
    def __init__(self, database): self.db = database
    def show(self): self.db.execute().first()
    def stop(self): self.db.shut_down()
== app/views.py
from app import database as d
class View:
    db: d.Database
    def show(self): self.db.execute().first()
== app/spare.py
def shut_down(): pass
== app/spare.py
class Spare:
    def shut_down(self): pass
== tests/helpers.py
from app.views import View
def make_view(): return View(None)
== tests/helpers.py
from app.database import Database
def make_view(): return Database()
== tests/conftest.py
import pytest
from tests.helpers import make_view
@pytest.fixture
def view(): yield make_view()
== tests/test_views.py
from tests.helpers import make_view
def test_show(view):
    view.show()
    make_view().execute()
== go.mod
module x.org/app
== go.mod
module x.org/other
== store/store.go
package store
type Store struct{}
func New() *Store { return nil }
== store/store.go
package store
type Store struct{}
func New() (Box, error) { return Box{}, nil }
== store/load.go
package store
func (s *Store) Load() {}
== store/load.go
package store
type Box struct{}
func (b Box) Load() {}
== main.go
package main
import "x.org/app/store"
func run() {
    s, _ := store.New()
    s.Load()
}
== src/lib.rs
mod name;
use name::Name;
struct Label { name: Option<Name> }
impl Label {
    fn show(&self) { assert!(self.name.as_ref().unwrap().is_root()); }
}
== src/name.rs
pub struct Name;
impl Name { pub fn is_root(&self) -> bool { true } }
== src/name.rs
pub use crate::inner::Name;
== src/inner.rs
pub struct Name;
impl Name { pub fn is_root(&self) -> bool { false } }
== web/store.ts
export class Store { get(): Item { return new Item() } }
export class Item { show() {} }
== web/store.ts
export { Store } from './inner'
== web/inner.ts
export class Store { get() { return this }
 show() {} }
== web/app.ts
import { Store } from './store'
export function run(store: Store) { store.get().show() }
"""
"""Versions of files. The first ones of each are the project in the beginning."""
VERSIONS: Final = [(path, text) for path, _, text in (part.partition("\n") for part in _TEXTS.split("\n== ")[1:])]
_EDITS = st.one_of(
    st.sampled_from(VERSIONS), st.tuples(st.sampled_from(sorted({path for path, _ in VERSIONS})), st.none())
)


##= docs/spec/knowledge.md#index-updates
##% After any edits, a run MUST leave the same rows as a rebuild.
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(_EDITS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_calls_after_any_edits_are_those_of_a_rebuild(runs: list[list[tuple[str, str | None]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write_repository(Path(folder) / "project", dict(reversed(VERSIONS)), git=False)
        kept, fresh = _index_of(root, ".contextive"), _index_of(root, ".fresh")
        try:
            index = kept.services.get(Index)
            index.ingest(IngestRequest())
            for edits in runs:
                for path, text in edits:
                    if text is None:
                        (root / path).unlink(missing_ok=True)
                    else:
                        (root / path).write_text(text, encoding="utf-8")
                index.ingest(IngestRequest())
            other = fresh.services.get(Index)
            other.ingest(IngestRequest())
            _assert_equal(rows_of(index.store), rows_of(other.store))
        finally:
            kept.close()
            fresh.close()
