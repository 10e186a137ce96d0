"""Every error that this product raises on purpose.

    ContextiveError
    ├── UsageError               usage_error             the command line cannot be understood
    ├── ConfigError              config_invalid          the configuration cannot be used as it is
    ├── InvalidRequest           invalid_request         an argument is missing, unknown or out of range
    │   ├── InvalidIdentifier    invalid_identifier      an identifier has the wrong form
    │   ├── InvalidCursor        invalid_cursor          a page cursor is not one that this server gave out
    │   └── SchemaInvalid        schema_invalid          a recipe is not written as recipes are
    ├── NotFound                 not_found               the named thing does not exist
    │   ├── ToolNotFound         tool_not_found          no tool of that name is offered to this caller
    │   ├── PromptNotFound       prompt_not_found        no prompt of that name is offered to this caller
    │   ├── ResourceNotFound     resource_not_found      no resource stands at that URI
    │   └── RecipeNotFound       recipe_not_found        there is no recipe of that name
    ├── Unauthorized             unauthorized            no credential, or one that is not known here
    ├── Forbidden                forbidden               the credential is known, its scope is too small
    ├── Conflict                 conflict                the thing changed since it was read, or exists already
    ├── RateLimited              rate_limited            too many requests in the window
    ├── TooLarge                 too_large               a request or an answer is over its limit
    ├── TimedOut                 timeout                 the work took longer than its limit
    ├── UnsupportedOperation     unsupported_operation   understood, and deliberately not done
    ├── ToolFailed               tool_failed             a step of a recipe or workflow failed
    ├── AssertFailed             assert_failed           a step gave another result than its recipe asserts
    ├── Unavailable              unavailable             a needed part is off or not ready
    │   ├── NoModel              no_model                no configured model fits the request
    │   └── ProjectMissing       project_missing         the project directory does not exist any more
    ├── CapabilityMissing        missing_client_capability   the client does not offer what the call needs of it
    ├── UpstreamError            upstream_error          another service that was called failed
    └── InternalError            internal_error          a fault of ours; details are in the log only

The `code` is part of the public interface and never changes; docs/errors.md lists each one. `message` says what was wrong,
`hint` what to do next. Neither may hold a path outside the project, a trace or a secret: both reach clients as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


##= docs/spec/host.md#errors
##% Every error MUST have a stable code.
class ContextiveError(Exception):
    """The root: an error with a stable code, a sentence, and what to do next."""

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] | None = None
        """Facts that a program may want to read, such as the steps that a recipe got through."""

    ##= docs/spec/gateway.md#tool-results
    ##% An error MUST have the `status` `error` and an `error` with a code, a message and, if there is a remedy, a
    ##% hint.
    def as_dict(self) -> dict[str, Any]:
        """The one shape in which every door shows an error."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        if self.details is not None:
            body["details"] = dict(self.details)
        return body

    def full_message(self) -> str:
        """Message and hint as one line for a terminal."""
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(ContextiveError):
    """The command line cannot be understood."""

    code = "usage_error"
    http_status = 400


class ConfigError(ContextiveError):
    """The configuration cannot be used as it is."""

    code = "config_invalid"


class InvalidRequest(ContextiveError):
    """An argument is missing, unknown or out of range."""

    code = "invalid_request"
    http_status = 400


class InvalidIdentifier(InvalidRequest):
    """An identifier has the wrong form."""

    code = "invalid_identifier"


class InvalidCursor(InvalidRequest):
    """A page cursor is not one that this server gave out."""

    code = "invalid_cursor"


class SchemaInvalid(InvalidRequest):
    """A recipe is not written as recipes are."""

    code = "schema_invalid"


##= docs/spec/notes.md#failures
##% A request for a page that does not exist MUST be answered with 404.
class NotFound(ContextiveError):
    """The named thing does not exist."""

    code = "not_found"
    http_status = 404


class ToolNotFound(NotFound):
    """No tool of that name is offered to this caller."""

    code = "tool_not_found"


class PromptNotFound(NotFound):
    """No prompt of that name is offered to this caller."""

    code = "prompt_not_found"


##= docs/spec/trace.md#uris
##% A request for a resource that does not exist MUST be refused with the code `resource_not_found`.
class ResourceNotFound(NotFound):
    """No resource stands at that URI."""

    code = "resource_not_found"


class RecipeNotFound(NotFound):
    """There is no recipe of that name."""

    code = "recipe_not_found"


class Unauthorized(ContextiveError):
    """No credential, or one that is not known here."""

    code = "unauthorized"
    http_status = 401


class Forbidden(ContextiveError):
    """The credential is known, its scope is too small."""

    code = "forbidden"
    http_status = 403


class Conflict(ContextiveError):
    """The thing changed since it was read, or exists already."""

    code = "conflict"
    http_status = 409


class RateLimited(ContextiveError):
    """Too many requests in the window."""

    code = "rate_limited"
    http_status = 429

    def __init__(self, message: str, *, retry_after_seconds: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_seconds = retry_after_seconds


class TooLarge(ContextiveError):
    """A request or an answer is over its limit."""

    code = "too_large"
    http_status = 413


class TimedOut(ContextiveError):
    """The work took longer than its limit."""

    code = "timeout"
    http_status = 504


class UnsupportedOperation(ContextiveError):
    """Understood, and deliberately not done."""

    code = "unsupported_operation"
    http_status = 400


class ToolFailed(ContextiveError):
    """A step of a recipe or workflow failed."""

    code = "tool_failed"
    http_status = 502


class AssertFailed(ContextiveError):
    """A step gave another result than its recipe asserts."""

    code = "assert_failed"
    http_status = 422


##= docs/spec/notes.md#failures
##% A question MUST be answered with 503 if there is no model.
class Unavailable(ContextiveError):
    """A needed part is off or not ready."""

    code = "unavailable"
    http_status = 503


class NoModel(Unavailable):
    """No configured model fits the request."""

    code = "no_model"


class ProjectMissing(Unavailable):
    """The project directory does not exist any more."""

    code = "project_missing"

    def __init__(self) -> None:
        super().__init__(
            "The project directory does not exist any more.",
            hint="Bring it back, or end this server and start one in the directory where the project is now.",
        )


class CapabilityMissing(ContextiveError):
    """The client does not offer what the call needs of it."""

    code = "missing_client_capability"
    http_status = 400

    def __init__(self, capabilities: tuple[str, ...]) -> None:
        super().__init__(
            f"This call needs a client that offers {', '.join(capabilities)}.", hint="Use an MCP client that does."
        )
        self.capabilities = capabilities


class UpstreamError(ContextiveError):
    """Another service that was called failed."""

    code = "upstream_error"
    http_status = 502


class InternalError(ContextiveError):
    """A fault of ours; details are in the log only."""

    code = "internal_error"


class ParseError(Exception):
    """A text that the readers of JSON, YAML or TOML cannot read, with its place where that is known.

    It has no code, because it never leaves the product: callers turn it into an error of the tree, or into a finding.
    """

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.column = column

    def located_in(self, name: str) -> str:
        """The message after its place: `name:line:column: message`."""
        place = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([name, *place]) + f": {self.text}"


##= docs/spec/host.md#errors
##% Every error code MUST be documented with what to do about it.
##= docs/spec/gateway.md#tool-results
##% The error codes `invalid_request`, `not_found`, `unauthorized`, `forbidden`, `upstream_error` and
##% `unsupported_operation` MUST have these names.
def all_error_types(root: type[ContextiveError] = ContextiveError) -> Iterator[type[ContextiveError]]:
    """Every error class below the root, depth first."""
    for child in root.__subclasses__():
        yield child
        yield from all_error_types(child)
