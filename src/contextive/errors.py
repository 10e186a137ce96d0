"""Every error that Contextive raises on purpose.

    ContextiveError
    ├── UsageError               usage_error             the command line cannot be understood
    ├── ConfigError              config_invalid          the configuration cannot be used as it is
    ├── InvalidRequest           invalid_request         an argument is missing, unknown or out of range
    │   ├── InvalidIdentifier    invalid_identifier      an identifier has the wrong form
    │   ├── InvalidCursor        invalid_cursor          a page cursor was not issued by this server
    │   └── SchemaInvalid        schema_invalid          a recipe does not match the recipe schema
    ├── NotFound                 not_found               the named thing does not exist
    │   ├── ToolNotFound         tool_not_found          this caller has no tool with that name
    │   ├── PromptNotFound       prompt_not_found        this caller has no prompt with that name
    │   ├── ResourceNotFound     resource_not_found      there is no resource at that URI
    │   └── RecipeNotFound       recipe_not_found        there is no recipe with that name
    ├── Unauthorized             unauthorized            the token is missing or unknown
    ├── Forbidden                forbidden               the token is valid, but its scope is too small
    ├── Conflict                 conflict                the thing changed since it was read, or exists already
    ├── RateLimited              rate_limited            too many requests in the window
    ├── TooLarge                 too_large               a request or an answer is larger than allowed
    ├── TimedOut                 timeout                 the call took longer than its limit
    ├── UnsupportedOperation     unsupported_operation   the request is valid, but not supported
    ├── ToolFailed               tool_failed             a step of a recipe or workflow failed
    ├── AssertFailed             assert_failed           the result of a step fails an assertion of its recipe
    ├── Unavailable              unavailable             a required component is disabled or not ready
    │   ├── NoModel              no_model                no configured model fits the request
    │   └── ProjectMissing       project_missing         the project directory no longer exists
    ├── CapabilityMissing        missing_client_capability   the client lacks a capability that the call needs
    ├── UpstreamError            upstream_error          a call to another service failed
    └── InternalError            internal_error          a bug in Contextive; details are only in the log

The `code` is part of the public interface and never changes; docs/errors.md lists each one. `message` says what is wrong and
`hint` what to do next. Both are sent to clients, so neither may contain a path outside the project, a traceback or a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


##= docs/spec/host.md#errors
##% Every error MUST have a stable code.
class ContextiveError(Exception):
    """The base class: an error with a stable code, a message and an optional hint."""

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] | None = None
        """Data for programs, such as the steps of a recipe that ran before the error."""

    ##= docs/spec/gateway.md#tool-results
    ##% An error MUST have the `status` `error` and an `error` with a code, a message and, if there is a remedy, a
    ##% hint.
    def as_dict(self) -> dict[str, Any]:
        """The error as every transport sends it."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        if self.details is not None:
            body["details"] = dict(self.details)
        return body

    def full_message(self) -> str:
        """Message and hint in one line, for a terminal."""
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?", ":", ";")) else "."
        return f"{self.message}{end} {self.hint}"


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
    """A page cursor was not issued by this server."""

    code = "invalid_cursor"


class SchemaInvalid(InvalidRequest):
    """A recipe does not match the recipe schema."""

    code = "schema_invalid"


##= docs/spec/notes.md#failures
##% A request for a page that does not exist MUST be answered with 404.
class NotFound(ContextiveError):
    """The named thing does not exist."""

    code = "not_found"
    http_status = 404


class ToolNotFound(NotFound):
    """This caller has no tool with that name."""

    code = "tool_not_found"


class PromptNotFound(NotFound):
    """This caller has no prompt with that name."""

    code = "prompt_not_found"


##= docs/spec/trace.md#uris
##% A request for a resource that does not exist MUST be refused with the code `resource_not_found`.
class ResourceNotFound(NotFound):
    """There is no resource at that URI."""

    code = "resource_not_found"


class RecipeNotFound(NotFound):
    """There is no recipe with that name."""

    code = "recipe_not_found"


class Unauthorized(ContextiveError):
    """The token is missing or unknown."""

    code = "unauthorized"
    http_status = 401


class Forbidden(ContextiveError):
    """The token is valid, but its scope is too small."""

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
    """A request or an answer is larger than allowed."""

    code = "too_large"
    http_status = 413


class TimedOut(ContextiveError):
    """The call took longer than its limit."""

    code = "timeout"
    http_status = 504


class UnsupportedOperation(ContextiveError):
    """The request is valid, but not supported."""

    code = "unsupported_operation"
    http_status = 400


class ToolFailed(ContextiveError):
    """A step of a recipe or workflow failed."""

    code = "tool_failed"
    http_status = 502


class AssertFailed(ContextiveError):
    """The result of a step fails an assertion of its recipe."""

    code = "assert_failed"
    http_status = 422


##= docs/spec/notes.md#failures
##% A question MUST be answered with 503 if there is no model.
class Unavailable(ContextiveError):
    """A required component is disabled or not ready."""

    code = "unavailable"
    http_status = 503


class NoModel(Unavailable):
    """No configured model fits the request."""

    code = "no_model"


class ProjectMissing(Unavailable):
    """The project directory no longer exists."""

    code = "project_missing"

    def __init__(self) -> None:
        super().__init__(
            "The project directory no longer exists.",
            hint="Restore it, or stop this server and start it in the project's new directory.",
        )


class CapabilityMissing(ContextiveError):
    """The client lacks a capability that the call needs."""

    code = "missing_client_capability"
    http_status = 400

    def __init__(self, capabilities: tuple[str, ...]) -> None:
        super().__init__(
            f"This call needs a client that supports {', '.join(capabilities)}.", hint="Use an MCP client that does."
        )
        self.capabilities = capabilities


class UpstreamError(ContextiveError):
    """A call to another service failed."""

    code = "upstream_error"
    http_status = 502


class InternalError(ContextiveError):
    """A bug in Contextive; details are only in the log."""

    code = "internal_error"


class ParseError(Exception):
    """A text is not valid JSON, YAML or TOML; with line and column where they are known.

    It has no code, because it never reaches a client: callers turn it into a `ContextiveError` or a finding.
    """

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.column = column

    def located_in(self, name: str) -> str:
        """The message with its location: `name:line:column: message`."""
        position = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([name, *position]) + f": {self.text}"


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
