"""Servers as tests start them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import uvicorn

from lev_serve import cli
from lev_serve.app import HttpProtocol


@contextmanager
def serving(application, port=0):
    """Yields the port at which an application answers."""
    config = uvicorn.Config(application, http=HttpProtocol, ws="none", log_level="error")
    server = uvicorn.Server(config)
    with cli.listen("127.0.0.1", port) as listening, ThreadPoolExecutor(1) as pool:
        pool.submit(server.run, [listening])
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
