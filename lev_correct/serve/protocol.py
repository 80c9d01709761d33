"""HTTP as uvicorn reads it, but a client that never ends its request is not waited for."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0  # for a whole request to come in


class HttpProtocol(H11Protocol):
    """uvicorn's, which closes a connection with a part of a request, or none, after a while."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See the base class."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See the base class."""
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        is_part = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_part and self._limit is None:
            self._limit = self.loop.call_later(SECONDS, self.transport.close)
        elif self._limit is not None and not is_part:
            self._limit.cancel()
            self._limit = None
