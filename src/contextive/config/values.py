"""The kinds of value that a setting may hold, and each kind in words.

A document is accepted in the sense of JSON: "5" is no integer and 1 is no boolean. The JSON Schema that is generated
from these types accepts exactly the same documents, which a property test proves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
# Only ASCII classes: the dialects of Rust, Python and ECMAScript disagree about the others.
URL_PATTERN: Final = r"^https?://[A-Za-z0-9\[][!-~]*$"
ORIGIN_PATTERN: Final = r"^[a-z][a-z0-9+.-]*://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]{1,5})?$"
PUBLIC_HOST_PATTERN: Final = r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]{1,5})?$"
CREDENTIAL_PATTERN: Final = r"^[!-~]+$"
SHA256_PATTERN: Final = r"^[0-9A-Fa-f]{64}$"

PATTERN_DESCRIPTIONS: Final[Mapping[str, str]] = {
    NAME_PATTERN: "name of 1 to 64 letters, digits, dots, dashes and underscores that starts with a letter or digit",
    URL_PATTERN: "http or https URL",
    ORIGIN_PATTERN: "origin such as https://example.org (no path, no wildcard)",
    PUBLIC_HOST_PATTERN: "host name or host name:port",
    CREDENTIAL_PATTERN: "string of at least 16 visible ASCII characters without spaces",
    SHA256_PATTERN: "64 hexadecimal digits",
}


def as_integer(value: Any) -> Any:
    """A whole number that was written with a point as an integer; anything else as it is."""
    # In JSON Schema 5.0 is an integer; so it is one here.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Strict(False)]  # a parsed list is not a tuple, and strict mode would refuse it
Integer = Annotated[int, BeforeValidator(as_integer)]
# A year is the ceiling because clocks and timers overflow far above it.
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
HttpUrl = Annotated[str, Field(pattern=URL_PATTERN)]
Origin = Annotated[str, Field(pattern=ORIGIN_PATTERN)]
PublicHost = Annotated[str, Field(pattern=PUBLIC_HOST_PATTERN)]
Token = Annotated[str, Field(min_length=16, pattern=CREDENTIAL_PATTERN)]
Sha256 = Annotated[str, Field(pattern=SHA256_PATTERN), AfterValidator(str.lower)]


##= docs/spec/host.md#validation
##% An unknown key MUST be an error.
##= docs/spec/host.md#validation
##% A value of the wrong type MUST be an error, even if it could be converted.
class Section(BaseModel):
    """A frozen group of settings that refuses keys it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        alias_generator=to_camel,
        # Code writes attribute names; documents are validated with `by_name=False`, so a file cannot.
        validate_by_name=True,
        validate_by_alias=True,
        # Built once, as parts of the whole, when the first document is read.
        defer_build=True,
        # An exception that escapes into a log must not carry a token.
        hide_input_in_errors=True,
    )
