"""Shows the operator of lev-serve metrics, and a line for each request."""

import json
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from fastapi import Request
from fastapi.responses import Response
from prometheus_client import Gauge, Histogram, generate_latest

from lev_runtime.io.options import say

#: What comes after a middleware, and a middleware.
Answer = Callable[[Request], Awaitable[Any]]
Middleware = Callable[[Request, Answer], Awaitable[Response]]
TAKEN = Histogram("lev_serve_seconds", "Time that a request took", ["path", "status"])
RUNNING = Gauge("lev_serve_running", "Requests under way")
_TOKEN = re.compile("^/[^/]+(?=/v2/)")


def observer(access_log: bool) -> Middleware:
    """Returns a middleware that measures requests, and prints them where ``access_log``.

    A request keeps the ``X-Request-ID`` that it brings. The token is never printed.
    """

    async def observe(request: Request, answer: Answer) -> Response:
        """Measures one request."""
        path, status = _TOKEN.sub("", request.url.path), 500
        started = time.perf_counter()
        number = request.headers.get("x-request-id") or uuid4().hex
        try:
            with RUNNING.track_inprogress():
                response = await answer(request)
            status = response.status_code
        finally:
            seconds = time.perf_counter() - started
            # a path that is not there is anybody's to name, and may have the token in it
            path = "other" if status in (400, 403, 404) else path
            TAKEN.labels(path, status).observe(seconds)
            if access_log:
                record = {"id": number, "method": request.method, "path": path, "status": status}
                say(json.dumps({**record, "ms": round(1000 * seconds, 1)}))
        response.headers["X-Request-ID"] = number
        return response

    return observe


def metrics() -> Response:
    """Measure the server, in the text format of Prometheus."""
    return Response(generate_latest(), media_type="text/plain")
