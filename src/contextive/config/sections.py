"""The sections with fixed keys: server, notes, trace, knowledge, store, auth and limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from contextive.config.values import (
    HttpUrl,
    Integer,
    Name,
    Origin,
    PublicHost,
    Seconds,
    Section,
    Sha256,
    Text,
    Texts,
    Token,
)


class Tracing(Section):
    """Where spans of OpenTelemetry go."""

    enabled: bool = Field(False, description="Send spans; needs the otel extra.")
    endpoint: HttpUrl | None = Field(None, description="OTLP over HTTP endpoint that receives the spans.")
    service_name: Text = Field("contextive-mcp", description="Name of this service in the spans.")
    sample_ratio: float = Field(1.0, ge=0, le=1, description="Share of requests that is traced.")
    console_export: bool = Field(False, description="Also write spans to standard error.")


##= docs/spec/host.md#sections
##% The section `server` MUST hold the transport, the port, the log level and the other settings of the server.
##= docs/spec/host.md#requests
##% A wildcard MUST NOT be accepted as an allowed origin.
class Server(Section):
    """How the server is reached and how it behaves."""

    mode: Literal["stdio", "http"] = Field("stdio", description="Transport: one client over stdio, or many over HTTP.")
    profile: Literal["contextive", "duvet", "spexus", "nexus", "duskmantle"] = Field(
        "contextive", description="Identity that the server shows, with the tools that belong to it."
    )
    ##= docs/spec/host.md#startup
    ##% The default address MUST be loopback.
    host: Text = Field("127.0.0.1", description="Address to listen on in HTTP mode.")
    port: Integer = Field(8787, ge=1, le=65535, description="TCP port to listen on in HTTP mode.")
    log_level: Literal["trace", "debug", "info", "warn", "error"] = Field(
        "info", description="Least severity that is written to the log on standard error."
    )
    public_hosts: Annotated[tuple[PublicHost, ...], Strict(False)] = Field(
        (), description="Values of the Host header that are accepted besides loopback."
    )
    allowed_origins: Annotated[tuple[Origin, ...], Strict(False)] = Field(
        (), description="Browser origins that are accepted besides loopback; a wildcard is refused."
    )
    trusted_proxies: Texts = Field(
        (), description="Addresses and networks of proxies whose Forwarded and X-Forwarded-For headers are believed."
    )
    json_response: bool = Field(False, description="Answer HTTP requests with plain JSON in place of an event stream.")
    session_idle_seconds: Seconds = Field(1800.0, description="A session without requests for this long is closed.")
    max_sessions: Integer = Field(1000, ge=1, description="Sessions that may be open at once.")
    shutdown_seconds: float = Field(3.0, ge=0, le=60, description="Time that running calls get to end at shutdown.")
    reload: bool = Field(True, description="Take over changes of the configuration file while running.")
    tracing: Tracing = Field(default_factory=Tracing, description="Export of OpenTelemetry spans.")


class Notes(Section):
    """Which files are notes, and how questions about them are answered."""

    paths: Texts = Field(("notes/**/*.md",), description="Globs of the files that are notes.")
    ask_client_model: bool = Field(False, description="Let the connected client's model write answers to questions.")


class Trace(Section):
    """What requirements are taken from, and where code cites them."""

    specifications: Texts = Field((), description="Paths, globs or URLs of the specifications.")
    sources: Texts = Field((), description="Globs of the source files that cite requirements.")
    fetch: bool = Field(False, description="Download specifications that are named by a URL and not yet stored.")


_CRON_DESCRIPTION = "Times as a crontab writes them, in UTC; wins over the interval."


class IngestSchedule(Section):
    """When the index is brought in step by the clock."""

    enabled: bool = Field(False, description="Index by the clock, whenever the git HEAD is another one by then.")
    interval_minutes: Integer = Field(30, ge=1, le=525_600, description="Minutes from one run to the next.")
    cron: Text | None = Field(None, description=_CRON_DESCRIPTION)


class BackupSchedule(Section):
    """When backups are made by the clock."""

    enabled: bool = Field(False, description="Make backups by the clock.")
    interval_minutes: Integer = Field(720, ge=1, le=525_600, description="Minutes from one backup to the next.")
    cron: Text | None = Field(None, description=_CRON_DESCRIPTION)


class Schedule(Section):
    """What a serving process does by the clock."""

    ingest: IngestSchedule = Field(default_factory=IngestSchedule, description="Ingest by the clock.")
    backup: BackupSchedule = Field(default_factory=BackupSchedule, description="Backups by the clock.")


class Knowledge(Section):
    """What is indexed, where uploads go, and which gateway a client talks to."""

    include: Texts = Field((), description="Globs of the files to index; empty means all that are not ignored.")
    exclude: Texts = Field((), description="Globs of files that are never indexed.")
    auto_ingest: bool = Field(True, description="Index by itself when a server starts and when files change.")
    default_profile: Name = Field("manual", description="Name of an ingest run when the caller gives none.")
    max_file_bytes: Integer = Field(1_048_576, ge=1024, le=67_108_864, description="Largest file that is indexed.")
    window_characters: Integer = Field(1000, ge=100, le=20_000, description="Length of a piece without structure.")
    window_overlap: Integer = Field(200, ge=0, le=10_000, description="Characters that neighbouring pieces share.")
    symbols: bool = Field(True, description="Find the symbols that code declares.")
    embedding_model: Text = Field(
        "minilm",
        description="What makes vectors: minilm, dummy, none, openai:NAME, sentence-transformers:NAME or fastembed:NAME.",
    )
    embedding_url: HttpUrl | None = Field(None, description="Base URL of the endpoint behind openai:NAME.")
    embedding_key: Token | None = Field(None, repr=False, description="Key of that endpoint.")
    coverage_history: Integer = Field(5, ge=1, le=100, description="Coverage reports that are kept.")
    lifecycle_history: Integer = Field(10, ge=1, le=100, description="Lifecycle reports that are kept.")
    stale_days: Integer = Field(30, ge=0, le=365, description="Age at which a document counts as stale.")
    content_root: Text = Field(".", description="Directory that uploaded and captured documents are written under.")
    docs_subdir: Text = Field("docs", description="Directory below the content root that holds documents.")
    upload_roots: Texts = Field((), description="Directories that local files may be uploaded from.")
    upload_default_overwrite: bool = Field(False, description="Replace an existing file when an upload does not say.")
    upload_default_ingest: bool = Field(False, description="Index a file at once when an upload does not say.")
    editor_uri_template: Text | None = Field(
        None, description="Template of links that open a file in an editor, with {path} and {line}."
    )
    gateway_url: HttpUrl | None = Field(None, description="Gateway that answers in place of the local index.")
    gateway_timeout_seconds: Seconds = Field(30.0, description="Longest wait for an answer of the gateway.")
    gateway_verify_ssl: bool = Field(True, description="Check the certificate of the gateway.")
    gateway_ca_file: Text | None = Field(
        None,
        description="File of certificates, in PEM, that the gateway's may be signed by, beside the well-known ones.",
    )
    schedule: Schedule = Field(default_factory=Schedule, description="What is done by the clock.")


Weight = Annotated[float, Field(ge=0, le=1)]


class Search(Section):
    """How results are ranked."""

    weight_profile: Literal["default", "analysis", "operations", "docs-heavy"] = Field(
        "default", description="Set of weights for what the graph knows about a result."
    )
    weight_subsystem: Weight | None = Field(None, description="Weight of a subsystem that the query names.")
    weight_relationship: Weight | None = Field(None, description="Weight of related artifacts.")
    weight_support: Weight | None = Field(None, description="Weight of documents and tests beside a result.")
    weight_coverage_penalty: Weight | None = Field(None, description="Weight of what is missing in the index.")
    weight_criticality: Weight | None = Field(None, description="Weight of a subsystem's criticality.")
    vector_weight: float = Field(0.4, ge=0, le=10, description="Weight of nearness in meaning.")
    lexical_weight: float = Field(0.6, ge=0, le=10, description="Weight of shared words.")
    sort_by_vector: bool = Field(False, description="Order by nearness in meaning alone when a request does not say.")
    graph_max_results: Integer = Field(20, ge=0, le=100, description="Results that get graph context.")
    graph_time_budget_ms: Integer = Field(750, ge=50, le=60_000, description="Longest time for graph context.")
    log_events: Integer = Field(10_000, ge=0, le=1_000_000, description="Shown results that are remembered for votes.")


class Store(Section):
    """Where the index lives."""

    state_path: Text = Field(".contextive", description="Directory of the embedded store, relative to the project.")
    dsn: Text | None = Field(
        None,
        repr=False,
        description="For a store in PostgreSQL. There is none yet: every value is refused.",
    )


class Backup(Section):
    """Where backups go, and how many stay."""

    destination: Text | None = Field(
        None, description="Directory of the archives; unset means `backups/archives` in the state directory."
    )
    retention: Integer = Field(7, ge=0, le=10_000, description="Archives that stay; 0 means all.")


class IssuedToken(Section):
    """A token that is known by its hash alone."""

    name: Name = Field(description="Name that the audit log shows for this token.")
    sha256: Sha256 = Field(repr=False, description="SHA-256 of the token in hexadecimal.")
    scope: Literal["reader", "maintainer"] = Field(description="What the bearer may do.")


class Auth(Section):
    """Who may call over HTTP."""

    reader_token: Token | None = Field(None, repr=False, description="Bearer token of the reader scope.")
    admin_token: Token | None = Field(None, repr=False, description="Bearer token of the maintainer scope.")
    tokens: Annotated[tuple[IssuedToken, ...], Strict(False)] = Field(
        (), description="Further tokens, each known by its hash alone."
    )


class Limits(Section):
    """How much one caller may ask for."""

    rate_requests: Integer = Field(
        6000, ge=0, description="Requests per token, or per address without one, and window; 0 means no limit."
    )
    rate_window_seconds: Integer = Field(60, ge=1, le=31_536_000, description="Length of the window.")
    auth_failures: Integer = Field(20, ge=1, description="Wrong tokens per address and window.")
    write_seconds: Seconds = Field(30.0, description="An answer of which nothing is read for this long is cut.")
    audit_history: Integer = Field(100, ge=1, le=500, description="Most runs in one answer of the audit history.")
    max_body_bytes: Integer = Field(4_194_304, ge=1024, le=67_108_864, description="Largest HTTP request body.")
    max_result_bytes: Integer = Field(1_000_000, ge=1024, description="Largest result of a tool.")
    tool_timeout_seconds: Seconds = Field(60.0, description="Longest run of one tool call.")
    page_size: Integer = Field(100, ge=1, le=1000, description="Entries on one page of a list.")
    plugin_load_seconds: Seconds = Field(5.0, description="Longest time that one plugin may take to load.")
