"""The routes of the site: pages, the files that they load, signing in and out, and live updates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from contextive.errors import ContextiveError, Forbidden, InternalError, NotFound, TimedOut
from contextive.registry import Scope
from contextive.registry.threads import run_in_thread
from contextive.search.editor_links import EditorLinks
from contextive.server.auth import ANONYMOUS, InvalidToken
from contextive.server.browser_sessions import SESSION_SECONDS, cookie_name, session_id_of
from contextive.server.guard import LIMIT_KEY, count_failure, error_body, error_headers
from contextive.server.headers import RequestHeaders
from contextive.server.host import Host
from contextive.server.live_updates import LiveUpdates
from contextive.server.protocol import REQUEST_ID_KEY
from contextive.server.rate_limits import CallerLimits
from contextive.server.rest import caller_of
from contextive.server.site_requests import (
    EVENTS_PATH,
    SECURITY_HEADERS,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    SiteAccess,
    is_secure,
    refuse_foreign_origin,
    refuse_other_sites,
    safe_next,
    wants_page,
)
from contextive.server.site_version import site_version
from contextive.web.notes import save_note
from contextive.web.page import Download, Page, Problem, View
from contextive.web.project import SiteProject
from contextive.web.rendering import ASSETS, Frame, asset, render, to_json
from contextive.web.sign_in import SignIn
from contextive.web.views import VIEWS

_FOREVER: Final = "public, max-age=31536000, immutable"
_STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_THEME_COOKIE: Final = "contextive-theme"
_MAX_FIELDS: Final = 20


class Website:
    """The site of one host."""

    def __init__(self, host: Host, access: SiteAccess, limits: Callable[[], CallerLimits], instance: str) -> None:
        """`instance` is a random name of this server, by which a command finds it again."""
        self._host = host
        self._instance = instance
        self._access = access
        self._limits = limits
        self.live = LiveUpdates(partial(site_version, host))

    def routes(self) -> list[BaseRoute]:
        return [
            *(Route(view.path, partial(self._show, view), methods=["GET"]) for view in VIEWS),
            Route("/notes/new", self._save_note, methods=["POST"]),
            Route("/notes/{slug}/edit", self._save_note, methods=["POST"]),
            Route("/instance", self._instance_name, methods=["GET"]),
            Route("/assets/{file}", self._asset, methods=["GET"]),
            Route(EVENTS_PATH, self._events, methods=["GET"]),
            Route(SIGN_IN_PATH, self._sign_in_page, methods=["GET"]),
            Route(SIGN_IN_PATH, self._sign_in, methods=["POST"]),
            Route(SIGN_OUT_PATH, self._sign_out, methods=["POST"]),
        ]

    ##= docs/spec/site.md#pages
    ##% The command `contextive-mcp serve --http` MUST serve the site at `/`.
    async def _show(self, view: View, request: Request) -> Response:
        as_json = _wants_json(request)
        given = {**request.query_params, **{name: str(value) for name, value in request.path_params.items()}}
        frame, project = self._frame(request), self._project(request)

        def build() -> Response:
            if not self._is_enabled(view):
                raise NotFound("This part is switched off in the configuration.", hint=f"See toolPacks.{view.pack}.")
            found = view.build(project, given)
            if isinstance(found, Download):
                name = found.name.replace('"', "")
                kept = {"Content-Disposition": f'attachment; filename="{name}"'}
                return _response(found.text.encode("utf-8", "replace"), found.media_type, headers=kept)
            if as_json:
                return _response(to_json(found), "application/json", found.status)
            return _response(render(found, frame).encode("utf-8", "replace"), "text/html", found.status)

        try:
            if as_json:
                refuse_other_sites(RequestHeaders(request.scope))
            async with asyncio.timeout(self._host.limits.timeout_seconds):
                return await run_in_thread(build)
        except TimeoutError:
            return self.problem(request, TimedOut("The page took too long.", hint="Try again in a moment."))
        except ContextiveError as error:
            return self.problem(request, error)

    async def _save_note(self, request: Request) -> Response:
        try:
            fields = await self.check_form(request)
            given = {**fields, "slug": str(request.path_params.get("slug", ""))}
            found = await run_in_thread(partial(save_note, self._project(request), given))
        except ContextiveError as error:
            return self.problem(request, error)
        if isinstance(found, Page):
            return _response(render(found, self._frame(request)).encode("utf-8", "replace"), "text/html", found.status)
        return _redirect(found)

    def _is_enabled(self, view: View) -> bool:
        return view.pack in self._host.assembly.registry.packs

    def problem(self, request: Request, error: ContextiveError, status: int | None = None) -> Response:
        """The page, or the JSON, for an error."""
        code = status or error.http_status
        if _wants_json(request) or not wants_page(request.scope):
            body = Page("", "", error_body(error, request.scope[REQUEST_ID_KEY]))
            return _response(to_json(body), "application/json", code, dict(error_headers(error)))
        title = "Not found" if code == 404 else "This did not work"
        page = Page("problem.html", title, Problem(error.code, error.message, error.hint), status=code)
        return _response(render(page, self._frame(request)).encode("utf-8", "replace"), "text/html", code)

    def _project(self, request: Request) -> SiteProject:
        host, caller = self._host, caller_of(request)
        return SiteProject(
            name=host.loaded.project.name,
            services=host.services,
            checks=host.checks,
            links=EditorLinks(host.config.knowledge.editor_uri_template, host.loaded.project),
            profile=host.profile.name,
            address=f"{request.url.scheme}://{request.headers.get('host', '')}",
            caller=caller.name,
            may_write=self._may_write(request),
            token_names=host.authenticator().names(),
        )

    ##= docs/spec/site.md#security
    ##% Without tokens, everybody on this machine MUST be able to read the site, and nobody to change anything with it.
    def _may_write(self, request: Request) -> bool:
        caller = caller_of(request)
        return caller is not ANONYMOUS and caller.scope.covers(Scope.WRITER)

    def _frame(self, request: Request) -> Frame:
        session_id = self._session_id(request)
        theme = request.cookies.get(_THEME_COOKIE, "")
        query = f"?{request.url.query}" if request.url.query else ""
        caller = caller_of(request)
        has_session = session_id is not None and caller is not ANONYMOUS
        return Frame(
            project=self._host.loaded.project.name,
            path=f"{request.url.path}{query}",
            navigation=tuple(view for view in VIEWS if view.label and self._is_enabled(view)),
            theme=theme if theme in ("light", "dark") else "",
            caller=caller.name if has_session else "",
            form_token=self._access.sessions.form_token(session_id) if session_id and has_session else "",
            may_write=self._may_write(request),
        )

    def _session_id(self, request: Request) -> str | None:
        headers = RequestHeaders(request.scope)
        return session_id_of(headers.get(b"cookie"), headers.get(b"host") or "")

    # Files

    async def _asset(self, request: Request) -> Response:
        name = str(request.path_params["file"])
        if name not in ASSETS:
            return self.problem(request, NotFound("There is no such file.", hint="Reload the page."))
        return _response(asset(name), ASSETS[name], headers={"Cache-Control": _FOREVER})

    async def _instance_name(self, _request: Request) -> Response:
        body = json.dumps({"instance": self._instance}).encode()
        return _response(body, "application/json", headers={"Cache-Control": "no-store"})

    # Live updates

    ##= docs/spec/site.md#live-updates
    ##% An open page MUST learn of a saved file within two seconds, without moving what its reader looks at.
    async def _events(self, request: Request) -> Response:
        headers = RequestHeaders(request.scope)
        try:
            refuse_other_sites(headers)
            events = self.live.stream(self._session_id(request) or str(request.scope.get(LIMIT_KEY, "")))
        except ContextiveError as error:
            return self.problem(request, error)
        return StreamingResponse(
            events, media_type="text/event-stream", headers={**SECURITY_HEADERS, **_STREAM_HEADERS}
        )

    # Signing in

    async def _sign_in_page(self, request: Request) -> Response:
        following = safe_next(request.query_params.get("next", "/"))
        if not self._access.needs_sign_in:
            return _redirect("/")
        return self._sign_in_form(request, SignIn(following))

    def _sign_in_form(self, request: Request, content: SignIn, status: int = 200) -> Response:
        page = Page("sign_in.html", "Sign in", content, status=status)
        return _response(render(page, self._frame(request)).encode(), "text/html", status)

    ##= docs/spec/site.md#signing-in
    ##% The token MUST be sent in the body of a form, and the session id in a cookie that scripts cannot read, that other
    ##% sites do not send, and that is `Secure` under https.
    async def _sign_in(self, request: Request) -> Response:
        headers = RequestHeaders(request.scope)
        following = "/"
        try:
            refuse_foreign_origin(headers)
            fields = await form_fields(request)
            following = safe_next(fields.get("next", "/"))
            session_id = self._access.sign_in(fields.get("token", "").strip())
        except InvalidToken as refusal:
            return self._refused(request, headers, refusal, following)
        except ContextiveError as error:
            return self._sign_in_form(request, SignIn(following, error.full_message()), error.http_status)
        response = _redirect(following)
        secure = is_secure(headers)
        response.set_cookie(
            cookie_name(headers.get(b"host") or "", is_secure=secure),
            session_id,
            max_age=SESSION_SECONDS,
            path="/",
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return response

    ##= docs/spec/site.md#signing-in
    ##% A wrong token MUST count as a failed authentication of its address.
    def _refused(self, request: Request, headers: RequestHeaders, refusal: InvalidToken, following: str) -> Response:
        limits = self._limits()
        peer = (request.scope.get("client") or ("unknown",))[0]
        try:
            count_failure(limits.failures, limits.proxies.limit_key(peer, headers), refusal)
        except ContextiveError as error:
            return self._sign_in_form(request, SignIn(following, error.full_message()), error.http_status)
        return self._sign_in_form(request, SignIn(following, "This token is not valid."), 401)

    async def _sign_out(self, request: Request) -> Response:
        try:
            await self.check_form(request)
        except ContextiveError as error:
            return self.problem(request, error)
        headers = RequestHeaders(request.scope)
        session_id = self._session_id(request)
        if session_id is not None:
            self._access.sessions.end(session_id)
        response = _redirect(SIGN_IN_PATH)
        secure = is_secure(headers)
        response.delete_cookie(
            cookie_name(headers.get(b"host") or "", is_secure=secure),
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return response

    async def check_form(self, request: Request) -> Mapping[str, str]:
        """The fields of a form that a page of this site sent for its session."""
        refuse_foreign_origin(RequestHeaders(request.scope))
        fields = await form_fields(request)
        session_id = self._session_id(request)
        if session_id is None or not self._access.sessions.is_form_token(session_id, fields.get("form_token", "")):
            raise Forbidden("The form is too old, or was not sent by a page of this site.", hint="Open the page again.")
        return fields

    def internal_error(self, request: Request) -> Response:
        return self.problem(request, InternalError("Internal error.", hint="The log has the details."))


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a form, the first value of each."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(body, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items()}


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or (
        "application/json" in accepted and "text/html" not in accepted
    )


def _response(body: bytes, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    kept = {"Cache-Control": "private, no-cache", **SECURITY_HEADERS, **(headers or {})}
    return Response(body, status, kept, f"{media_type}; charset=utf-8")


def _redirect(address: str) -> Response:
    response = RedirectResponse(address, 303, dict(SECURITY_HEADERS))
    response.headers["Cache-Control"] = "no-store"
    return response
