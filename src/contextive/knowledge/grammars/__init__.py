"""Queries for declarations, calls and imports in the syntax tree of each language."""

from __future__ import annotations

from collections.abc import Mapping

from contextive.knowledge.grammars.c_family import CPP, C
from contextive.knowledge.grammars.ecmascript import JAVASCRIPT, TSX, TYPESCRIPT
from contextive.knowledge.grammars.go import GO
from contextive.knowledge.grammars.grammar import Grammar
from contextive.knowledge.grammars.java import JAVA
from contextive.knowledge.grammars.python import PYTHON
from contextive.knowledge.grammars.rust import RUST

GRAMMARS: Mapping[str, Grammar] = {
    grammar.language: grammar for grammar in (PYTHON, TYPESCRIPT, TSX, JAVASCRIPT, GO, RUST, JAVA, C, CPP)
}
