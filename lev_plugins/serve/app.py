"""The HTTP interface: the page, its files, and JSON in and out."""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import UserError
from .batcher import Batcher, Full, Result, Stopped
from .fields import read
from .files import page_files
from .metrics import CONTENT_TYPE, Metrics
from .model import ServedModel
from .openapi import describe
from .requests import CorrectRequest, EditRequest, PredictRequest

Handler = Callable[[Request], Awaitable[Response]]
REQUESTS: Mapping[str, type] = {
    "edit": EditRequest,
    "correct": CorrectRequest,
    "predict": PredictRequest,
}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_log = logging.getLogger(__name__)
_LATER = {"Retry-After": "1"}
_CLOSED_BY_CLIENT = 499  # nginx's number, for the metrics alone


@dataclass(frozen=True)
class Limits:
    """What a client may ask for.

    rows: sentences, lines or texts of a request. body: its bytes. seconds: until it is given up.
    waiting: requests that wait for the model. batch_size: rows that the model reads at once.
    """

    rows: int = 256
    body: int = 1_000_000
    seconds: float = 30.0
    waiting: int = 256
    batch_size: int = 64


def make_app(
    model: ServedModel, token: str, hosts: Sequence[str] | None = None, limits: Limits | None = None
) -> Starlette:
    """The application, ready for any ASGI server.

    Args:
        model: what is served. It is used in one thread alone.
        token: what a request has to bring, as ``?token=`` or ``Authorization: Bearer``.
        hosts: names by which the server may be called; None for any.
        limits: of requests.
    """
    server = _Server(model, token, hosts, limits or Limits())
    routes = [
        Route("/", server.guarded(server.page), methods=["GET"]),
        Route("/static/{name}", server.guarded(server.file, public=True), methods=["GET"]),
        Route("/health", server.guarded(server.health, public=True), methods=["GET"]),
        Route("/info", server.guarded(server.info), methods=["GET"]),
        Route("/metrics", server.guarded(server.metrics_text), methods=["GET"]),
        Route("/openapi.json", server.guarded(server.openapi), methods=["GET"]),
        *(
            Route(f"/{kind}", server.guarded(server.handler(kind)), methods=["POST"])
            for kind in REQUESTS
        ),
    ]
    return Starlette(
        routes=routes,
        lifespan=server.lifespan,
        exception_handlers={HTTPException: _http_error},  # type: ignore[dict-item]
    )


def _json(value: object, status: int = 200, **headers: str) -> Response:
    content = json.dumps(value, ensure_ascii=True, allow_nan=False).encode("ascii")
    return Response(content, status, {**HEADERS, **headers}, "application/json")


def _error(status: int, message: str, **headers: str) -> Response:
    return _json({"error": message}, status, **headers)


async def _http_error(request: Request, error: HTTPException) -> Response:
    name = request.url.path
    said = {404: f"there is no {name}", 405: f"{name} has no method {request.method}"}
    return _error(error.status_code, said.get(error.status_code, str(error.detail)))


class _Server:
    """What the routes share."""

    def __init__(
        self, model: ServedModel, token: str, hosts: Sequence[str] | None, limits: Limits
    ) -> None:
        self.model, self.token, self.limits = model, token, limits
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self.metrics = Metrics()
        self.files = page_files()
        self.description = describe(model.runners, limits)
        self.batcher: Batcher | None = None

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Starts the thread that owns the model, and ends it."""
        self.batcher = Batcher(
            self.model.runners, self.limits.batch_size, self.limits.waiting, self.metrics.batch
        )
        try:
            yield
        finally:
            await asyncio.to_thread(self.batcher.close)

    # every request ------------------------------------------------------------------------------

    def guarded(self, handler: Handler, public: bool = False) -> Handler:
        """A handler behind the checks of host and, unless public, token; counts its answers."""
        name = getattr(handler, "__name__", "")

        async def checked(request: Request) -> Response:
            start = time.perf_counter()
            route = "/static" if name == "file" else request.url.path
            try:
                self._check(request, public)
                response = await handler(request)
            except HTTPException as refused:
                headers = dict(refused.headers or {})
                response = _error(refused.status_code, refused.detail, **headers)
            except UserError as error:
                response = _error(422, str(error))
            except ClientDisconnect:
                response = _error(_CLOSED_BY_CLIENT, "the client has gone")
            except Exception:
                _log.exception("%s failed", route)
                response = _error(500, "the server failed; its log has the reason")
            self.metrics.request(route, response.status_code, time.perf_counter() - start)
            return response

        return checked

    def _check(self, request: Request, public: bool) -> None:
        # A page of another site may make a browser call this address by a name of its own.
        if self.hosts is not None and (request.url.hostname or "").lower() not in self.hosts:
            raise HTTPException(421, "the server is not called by this name; see lev-serve --host")
        if public:
            return
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = bearer if kind.lower() == "bearer" else request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            raise HTTPException(
                403,
                "the token is missing or wrong: open the address that lev-serve printed, or send "
                "'Authorization: Bearer TOKEN'",
            )

    # what is there to read ----------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """GET /."""
        return Response(self.files["index.html"][0], 200, HEADERS, "text/html")

    async def file(self, request: Request) -> Response:
        """GET /static/NAME."""
        name = request.path_params["name"]
        if name not in self.files:
            raise HTTPException(404, "there is no such file")
        content, kind = self.files[name]
        return Response(content, 200, HEADERS, kind)

    async def health(self, request: Request) -> Response:
        """GET /health."""
        return _json({"status": "ok"})

    async def info(self, request: Request) -> Response:
        """GET /info."""
        limits = {"rows": self.limits.rows, "body": self.limits.body}
        return _json({**self.model.info, "limits": limits})

    async def openapi(self, request: Request) -> Response:
        """GET /openapi.json."""
        return _json(self.description)

    async def metrics_text(self, request: Request) -> Response:
        """GET /metrics."""
        shown = {key: str(self.model.info.get(key, "")) for key in ("model", "task", "device")}
        text = self.metrics.text(len(self.batcher or ()), shown)
        return Response(text, 200, HEADERS, CONTENT_TYPE)

    # what the model does ------------------------------------------------------------------------

    def handler(self, kind: str) -> Handler:
        """Of POST /edit, /correct or /predict."""

        async def answer(request: Request) -> Response:
            if kind not in self.model.runners:
                has = ", ".join(f"/{name}" for name in self.model.runners)
                raise HTTPException(404, f"this model has no /{kind}; it has {has}")
            asked: Any = read(REQUESTS[kind], await self._body(request))
            rows = asked.rows
            if len(rows) > self.limits.rows:
                raise HTTPException(
                    413, f"{len(rows)} rows; a request may have {self.limits.rows}: send several"
                )
            return _json({"results": await self._results(request, kind, asked.options, rows)})

        return answer

    async def _body(self, request: Request) -> object:
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > self.limits.body:
                raise HTTPException(
                    413, f"more than {self.limits.body} bytes; send several requests"
                )
        try:
            return json.loads(content.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, f"the request is not JSON in UTF-8: {error}") from error

    async def _results(
        self, request: Request, kind: str, options: Hashable, rows: Sequence[object]
    ) -> list[Result]:
        if self.batcher is None:
            raise HTTPException(503, "the server is starting", _LATER)
        try:
            future = asyncio.wrap_future(self.batcher.submit(kind, options, rows))
        except Full:
            raise HTTPException(503, "too many requests wait", _LATER) from None
        except Stopped:
            raise HTTPException(503, "the server is shutting down") from None
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait(
                (future, gone), timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if future.done():
                return await future
            if gone.done():
                raise ClientDisconnect
            raise HTTPException(
                504, f"not done after {self.limits.seconds:g} s; send fewer or shorter sentences"
            )
        except Stopped:
            raise HTTPException(503, "the server is shutting down") from None
        finally:
            for task in (future, gone):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await gone


async def _disconnected(request: Request) -> None:
    """Returns when the client has hung up; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
