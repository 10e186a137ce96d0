"""Methods of the standard libraries that return the object, its elements or what it wraps.

The classes themselves do not belong to the project, but their elements may."""

from __future__ import annotations

_SAME_COLLECTION_TEXT = """
iter iter_mut into_iter values values_mut drain filter rev skip take chain clone cloned copied by_ref as_slice to_vec
slice reverse concat copy stream peekable step_by skip_while take_while toSorted as_ref as_mut unwrap expect lock
borrow borrow_mut read write to_owned parallelStream sorted limit distinct
"""
SAME_COLLECTION = frozenset(_SAME_COLLECTION_TEXT.split())
_ELEMENT_TEXT = """
next first last get get_mut pop pop_front pop_back nth find at shift remove popleft peek min_by_key max_by_key front
back getFirst getLast setdefault findFirst findAny next_back poll take swap_remove entry
"""
ELEMENT = frozenset(_ELEMENT_TEXT.split())
_SAME_VALUE_TEXT = """
unwrap expect unwrap_or unwrap_or_else unwrap_or_default clone cloned copied borrow borrow_mut lock read write as_ref
as_mut as_deref as_deref_mut ok ok_or ok_or_else map_err take get get_mut to_owned into upgrade into_inner deref
deref_mut or_else or inspect_err get_or_insert_with orElse orElseThrow orElseGet load join
"""
SAME_VALUE = frozenset(_SAME_VALUE_TEXT.split())
"""Methods of wrappers such as Option, Result and Arc that return the wrapped value."""
