"""The sections with fixed keys: server, notes, evidence, trace, knowledge, search, store, backup, auth and limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from contextive.config.values import (
    HttpUrl,
    Integer,
    Name,
    Origin,
    ProjectName,
    PublicHost,
    Seconds,
    Section,
    Sha256,
    Text,
    Texts,
    Token,
)


class Tracing(Section):
    """OpenTelemetry tracing."""

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
        "contextive", description="Name of the server and the set of tools that it offers."
    )
    ##= docs/spec/host.md#startup
    ##% The default address MUST be loopback.
    host: Text = Field("127.0.0.1", description="Address to listen on in HTTP mode.")
    port: Integer = Field(8787, ge=1, le=65535, description="TCP port to listen on in HTTP mode.")
    log_level: Literal["trace", "debug", "info", "warn", "error"] = Field(
        "info", description="Lowest level that is logged, to standard error."
    )
    public_hosts: Annotated[tuple[PublicHost, ...], Strict(False)] = Field(
        (), description="Values of the Host header that are accepted in addition to loopback."
    )
    allowed_origins: Annotated[tuple[Origin, ...], Strict(False)] = Field(
        (), description="Browser origins that are accepted in addition to loopback; wildcards are refused."
    )
    trusted_proxies: Texts = Field(
        (), description="Addresses and networks of proxies whose Forwarded and X-Forwarded-For headers are trusted."
    )
    json_response: bool = Field(False, description="Answer HTTP requests with plain JSON instead of an event stream.")
    session_idle_seconds: Seconds = Field(1800.0, description="A session without requests for this long is closed.")
    max_sessions: Integer = Field(1000, ge=1, description="Most sessions that can be open at the same time.")
    shutdown_seconds: float = Field(3.0, ge=0, le=60, description="Time for running calls to finish at shutdown.")
    ##= docs/spec/host.md#permissions
    ##% The setting `server.allowWrites` and the flag `--allow-writes` MUST allow the owner to change pages and documents,
    ##% to vote and to ingest.
    allow_writes: bool = Field(
        False,
        description="Let the owner of a stdio server write pages and documents, vote and ingest, without a token.",
    )
    reload: bool = Field(True, description="Apply changes of the configuration file while running.")
    tracing: Tracing = Field(default_factory=Tracing, description="Export of OpenTelemetry spans.")


class Notes(Section):
    """Which files are notes, and how questions about them are answered."""

    paths: Texts = Field(("notes/**/*.md",), description="Globs of the files that are notes.")
    ask_client_model: bool = Field(False, description="Let the model of the connected client answer questions.")


class Evidence(Section):
    """Which files say how tests ended and which lines they ran."""

    paths: Texts = Field((), description="Globs of files of test results and coverage that are added as evidence.")


class Trace(Section):
    """The specifications, and the source files that cite them."""

    specifications: Texts = Field((), description="Paths, globs or URLs of the specifications.")
    sources: Texts = Field((), description="Globs of the source files that cite requirements.")
    fetch: bool = Field(False, description="Download specifications that have a URL and are not stored yet.")
    formats: Annotated[tuple[Literal["kiro", "speckit", "openspec"], ...], Strict(False)] | None = Field(
        None,
        description="Spec-driven formats to trace; unset means all, except in the profile duvet; an empty list means none.",
    )


_CRON_DESCRIPTION = "Cron expression, in UTC; overrides the interval."


class IngestSchedule(Section):
    """The schedule of ingest runs."""

    enabled: bool = Field(False, description="Ingest on a schedule, if the git HEAD has changed since the last run.")
    interval_minutes: Integer = Field(30, ge=1, le=525_600, description="Minutes from one run to the next.")
    cron: Text | None = Field(None, description=_CRON_DESCRIPTION)


class BackupSchedule(Section):
    """The schedule of backups."""

    enabled: bool = Field(False, description="Make backups on a schedule.")
    interval_minutes: Integer = Field(720, ge=1, le=525_600, description="Minutes from one backup to the next.")
    cron: Text | None = Field(None, description=_CRON_DESCRIPTION)


class Schedule(Section):
    """The scheduled jobs of a server."""

    ingest: IngestSchedule = Field(default_factory=IngestSchedule, description="Scheduled ingest.")
    backup: BackupSchedule = Field(default_factory=BackupSchedule, description="Scheduled backups.")


class Knowledge(Section):
    """What is indexed, where uploads go, and which gateway is used."""

    include: Texts = Field((), description="Globs of the files to index; empty means all that are not ignored.")
    exclude: Texts = Field((), description="Globs of files that are never indexed.")
    auto_ingest: bool = Field(True, description="Update the index when a server starts and when files change.")
    default_profile: Name = Field("manual", description="Name of an ingest run if the caller gives none.")
    max_file_bytes: Integer = Field(1_048_576, ge=1024, le=67_108_864, description="Largest file that is indexed.")
    window_characters: Integer = Field(
        1000, ge=100, le=20_000, description="Characters of a chunk, for text without structure."
    )
    window_overlap: Integer = Field(200, ge=0, le=10_000, description="Characters that adjacent chunks share.")
    symbols: bool = Field(True, description="Index the symbols that code declares.")
    embedding_model: Text = Field(
        "minilm",
        description="Embedding model: minilm, dummy, none, openai:NAME, sentence-transformers:NAME or fastembed:NAME.",
    )
    embedding_url: HttpUrl | None = Field(None, description="Base URL of the endpoint for openai:NAME.")
    embedding_key: Token | None = Field(None, repr=False, description="Key of that endpoint.")
    coverage_history: Integer = Field(5, ge=1, le=100, description="Number of coverage reports to keep.")
    lifecycle_history: Integer = Field(10, ge=1, le=100, description="Number of lifecycle reports to keep.")
    stale_days: Integer = Field(30, ge=0, le=365, description="Age in days at which a document counts as stale.")
    content_root: Text = Field(".", description="Directory for uploaded and captured documents.")
    docs_subdir: Text = Field("docs", description="Directory for documents, below the content root.")
    upload_roots: Texts = Field((), description="Directories from which local files may be uploaded.")
    upload_default_overwrite: bool = Field(False, description="Replace existing files unless an upload says otherwise.")
    upload_default_ingest: bool = Field(False, description="Index a file at once unless an upload says otherwise.")
    editor_uri_template: Text | None = Field(
        None, description="Template for links that open a file in an editor, with {path} and {line}."
    )
    gateway_url: HttpUrl | None = Field(None, description="Gateway to use instead of the local index.")
    gateway_timeout_seconds: Seconds = Field(30.0, description="Longest wait for an answer of the gateway.")
    gateway_verify_ssl: bool = Field(True, description="Verify the certificate of the gateway.")
    gateway_ca_file: Text | None = Field(
        None,
        description="PEM file of additional certificate authorities for the gateway.",
    )
    schedule: Schedule = Field(default_factory=Schedule, description="Scheduled jobs.")


Weight = Annotated[float, Field(ge=0, le=1)]


class Search(Section):
    """The ranking of search results."""

    weight_profile: Literal["default", "analysis", "operations", "docs-heavy"] = Field(
        "default", description="Set of weights for the graph signals of a result."
    )
    weight_subsystem: Weight | None = Field(None, description="Weight of a subsystem that the query names.")
    weight_relationship: Weight | None = Field(None, description="Weight of related artifacts.")
    weight_support: Weight | None = Field(None, description="Weight of related documents and tests.")
    weight_coverage_penalty: Weight | None = Field(None, description="Weight of gaps in the index.")
    weight_criticality: Weight | None = Field(None, description="Weight of a subsystem's criticality.")
    vector_weight: float = Field(0.5, ge=0, le=10, description="Weight of semantic similarity.")
    lexical_weight: float = Field(0.5, ge=0, le=10, description="Weight of matching words.")
    sort_by_vector: bool = Field(
        False, description="Order by semantic similarity alone, unless a request says otherwise."
    )
    graph_max_results: Integer = Field(20, ge=0, le=100, description="Number of results that get graph context.")
    graph_time_budget_ms: Integer = Field(750, ge=50, le=60_000, description="Time limit for graph context.")
    log_events: Integer = Field(
        10_000, ge=0, le=1_000_000, description="Number of returned results that are recorded for votes."
    )


class Store(Section):
    """The location of the index."""

    state_path: Text = Field(".contextive", description="State directory, relative to the project.")
    dsn: Text | None = Field(
        None,
        repr=False,
        description="PostgreSQL database of a shared index, or env:NAME for the value of a variable; unset means SQLite.",
    )
    project: ProjectName = Field("contextive", description="Schema of the project in a shared index.")
    password_file: Text | None = Field(None, description="File with the password for store.dsn.")
    insecure: bool = Field(False, description="Allow connections to other hosts without TLS.")
    connections: Integer = Field(16, ge=2, le=1000, description="Most connections of one process to a shared index.")
    migrate: bool = Field(True, description="Create and migrate the tables of a shared index when it is opened.")


class Backup(Section):
    """Where backups are stored, and how many are kept."""

    destination: Text | None = Field(
        None, description="Directory of the archives; unset means `backups/archives` in the state directory."
    )
    retention: Integer = Field(7, ge=0, le=10_000, description="Number of archives to keep; 0 means all.")


class IssuedToken(Section):
    """A token of which only the hash is known."""

    name: Name = Field(description="Name of the token in the audit log.")
    sha256: Sha256 = Field(repr=False, description="SHA-256 of the token in hexadecimal.")
    scope: Literal["reader", "maintainer"] = Field(description="What the bearer may do.")


class Auth(Section):
    """The tokens of HTTP clients."""

    reader_token: Token | None = Field(None, repr=False, description="Bearer token of the reader scope.")
    admin_token: Token | None = Field(None, repr=False, description="Bearer token of the maintainer scope.")
    tokens: Annotated[tuple[IssuedToken, ...], Strict(False)] = Field((), description="More tokens, as hashes.")


class Limits(Section):
    """Limits that protect the server."""

    rate_requests: Integer = Field(
        6000, ge=0, description="Requests in a window per token, or per address without a token; 0 means no limit."
    )
    rate_window_seconds: Integer = Field(60, ge=1, le=31_536_000, description="Length of the window.")
    auth_failures: Integer = Field(20, ge=1, description="Invalid tokens in a window per address.")
    write_seconds: Seconds = Field(
        30.0, description="A connection whose client reads nothing of an answer for this long is closed."
    )
    audit_history: Integer = Field(100, ge=1, le=500, description="Most runs in one answer of the audit history.")
    max_body_bytes: Integer = Field(4_194_304, ge=1024, le=67_108_864, description="Largest HTTP request body.")
    max_result_bytes: Integer = Field(1_000_000, ge=1024, description="Largest result of a tool.")
    tool_timeout_seconds: Seconds = Field(60.0, description="Time limit of a tool call.")
    page_size: Integer = Field(100, ge=1, le=1000, description="Entries on one page of a list.")
    plugin_load_seconds: Seconds = Field(5.0, description="Time limit for loading a plugin.")
