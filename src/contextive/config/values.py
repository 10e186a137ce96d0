"""The types of settings, with their descriptions.

Types are strict, as in JSON: "5" is not an integer and 1 is not a boolean. The JSON Schema that is generated from these
types accepts exactly the same documents, which a property test checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
# Only ASCII classes: the regular expressions of Rust, Python and ECMAScript differ in the others.
URL_PATTERN: Final = r"^https?://[A-Za-z0-9\[][!-~]*$"
ORIGIN_PATTERN: Final = r"^[a-z][a-z0-9+.-]*://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]{1,5})?$"
PUBLIC_HOST_PATTERN: Final = r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]{1,5})?$"
CREDENTIAL_PATTERN: Final = r"^[!-~]+$"
PROJECT_PATTERN: Final = r"^[a-z][a-z0-9_]{0,40}$"
SHA256_PATTERN: Final = r"^[0-9A-Fa-f]{64}$"

PATTERN_DESCRIPTIONS: Final[Mapping[str, str]] = {
    NAME_PATTERN: "name of 1 to 64 letters, digits, dots, dashes and underscores that starts with a letter or digit",
    URL_PATTERN: "http or https URL",
    ORIGIN_PATTERN: "origin such as https://example.org (no path, no wildcard)",
    PUBLIC_HOST_PATTERN: "host name or host name:port",
    CREDENTIAL_PATTERN: "string of at least 16 visible ASCII characters without spaces",
    PROJECT_PATTERN: "lower-case letter and at most 40 more lower-case letters, digits and underscores",
    SHA256_PATTERN: "64 hexadecimal digits",
}


def as_integer(value: Any) -> Any:
    """A float without a fraction as an integer; any other value unchanged."""
    # In JSON Schema, 5.0 is an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Strict(False)]  # strict mode would refuse a list for a tuple
Integer = Annotated[int, BeforeValidator(as_integer)]
# At most a year, because clocks and timers overflow with much larger values.
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
ProjectName = Annotated[str, Field(pattern=PROJECT_PATTERN)]
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
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        alias_generator=to_camel,
        # Code uses attribute names; documents are validated with `by_name=False`, so files cannot.
        validate_by_name=True,
        validate_by_alias=True,
        # Built when the first document is read, together with the whole model.
        defer_build=True,
        # An exception in a log must not contain a token.
        hide_input_in_errors=True,
    )
