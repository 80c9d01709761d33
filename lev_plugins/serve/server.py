"""Where lev-serve listens, the token that it asks for, and its run until a signal."""

import secrets
import signal
import socket

from ..errors import UserError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANYWHERE = ("0.0.0.0", "::", "")


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 is any that is free.

    Raises:
        UserError: it is taken, or not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UserError(
            f"--host {host} --port {port}: {error.strerror or error}; choose another port, or "
            "--port 0 for one that is free"
        ) from error


def hosts_of(host: str) -> list[str] | None:
    """The names by which a server at an address may be called; None for any."""
    return None if host in _ANYWHERE else [*LOOPBACK, host]


def address(host: str, port: int, token: str) -> str:
    """The address of the page, token included."""
    name = socket.gethostname() if host in _ANYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/?token={token}"


def read_token(path: str | None) -> str:
    """The token in a file, or a new one.

    Raises:
        UserError: the file cannot be read, or holds no token.
    """
    if path is None:
        return secrets.token_urlsafe(16)
    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--token-file {path}: cannot be read ({error})") from error
    if len(token) < 8 or not all(char.isalnum() or char in "-_" for char in token):
        raise UserError(
            f"--token-file {path}: a token is 8 or more letters, digits, - and _; make one: "
            f"python -c 'import secrets; print(secrets.token_urlsafe(16))' > {path}"
        )
    return token


def run(application: object, listening: socket.socket, timeout: float) -> None:
    """Runs the server until it is told to stop; requests that are under way are answered."""
    import uvicorn

    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=max(1, round(timeout)),
    )
    # uvicorn sends itself the signal again once it has shut down; by then all is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listening])
