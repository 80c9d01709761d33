"""A page on which a person and a model edit together, and its HTTP/JSON interface.

    python -m lev_plugins.cli.serve --path CHECKPOINT

Prints an address that opens the page; only this machine can reach it, and only with the token that
is in the address. A model of any kind will do: edit models have ``/edit`` and ``/correct``, models
that write from left to right ``/correct``, EncT5 ``/predict``; ``/openapi.json`` describes them.
"""

import argparse
import importlib.util
import os
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..io.lines import TEXT_PROCESSING
from .options import add_text_processing, adder, make_parser

if TYPE_CHECKING:
    from ..serve.app import Limits

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANYWHERE = ("0.0.0.0", "::", "")
_NEEDED = ("starlette", "uvicorn")
_MAX_PORT = 65_535


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal (Ctrl-C, SIGTERM) ends it; returns 0 then.

    Raises:
        UserError: an option or checkpoint that cannot be used, an address that is taken.
    """
    args = build_parser().parse_args(argv)
    _check(args)
    token = _token(args.token_file)
    listening = listen(args.host, args.port)
    try:
        from ..serve import app, model

        served = model.load(
            args.path,
            args.data,
            args.device,
            args.batch_size,
            args.settings,
            {name: getattr(args, name) for name in TEXT_PROCESSING},
        )
        served.info["model"] = os.path.basename(os.path.normpath(args.path))
        application = app.make_app(served, token, hosts_of(args.host), _limits(args))
        port = listening.getsockname()[1]
        print(_address(args.host, port, token), flush=True)
        if args.host not in LOOPBACK:
            print(
                "note: other machines can reach this address; whoever has the token may use the "
                "model, and the connection is not encrypted",
                file=sys.stderr,
            )
        _serve(application, listening, args.timeout)
    finally:
        listening.close()
    return 0


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


def _address(host: str, port: int, token: str) -> str:
    name = socket.gethostname() if host in _ANYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/?token={token}"


def _token(path: str | None) -> str:
    """The token in a file, or a new one."""
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


def _serve(application: object, listening: socket.socket, timeout: float) -> None:
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


def _limits(args: argparse.Namespace) -> "Limits":
    from ..serve.app import Limits

    return Limits(args.max_rows, args.max_bytes, args.timeout, args.max_waiting, args.batch_size)


def _check(args: argparse.Namespace) -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(
            f"lev-serve needs {' and '.join(missing)}: pip install {' '.join(_NEEDED)} (in a "
            "checkout of lev_plugins: pip install '.[serve]')"
        )
    for name in ("batch_size", "max_rows", "max_bytes", "max_waiting", "timeout"):
        if getattr(args, name) <= 0:
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} {getattr(args, name)}: must be above 0")
    if not 0 <= args.port <= _MAX_PORT:
        raise UserError(f"--port {args.port}: a port is a number from 0 to {_MAX_PORT}")


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "serve",
        "Open a page on which a person and a model edit together, and serve the model "
        "over HTTP and JSON.",
        "--path checkpoint_best.pt",
    )
    add = adder(parser)
    add(
        "--path CHECKPOINT",
        "the trained model, of any kind, or a folder with checkpoint_best.pt, checkpoint_last.pt "
        "or model.pt",
        required=True,
    )
    add("--data DIR", "folder with the dictionaries (default: as the model says)")
    add("--device NAME", "such as cuda (default: cpu)")
    add("--settings FILE", "as of correct (default: corrector.json beside it)")
    add_text_processing(add)
    _add_server(parser)
    return parser


def _add_server(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("server"))
    add(
        "--host NAME",
        "address to listen at (default: 127.0.0.1, this machine alone); the connection is not "
        "encrypted",
        "127.0.0.1",
    )
    add("--port N", "0: one that is free (default: 8000)", 8000)
    add(
        "--token-file FILE",
        "file with the token that requests have to bring (default: a random one)",
    )
    add("--batch-size N", "rows at once (default: 64)", 64)
    add(
        "--max-rows N",
        "sentences, lines or texts of a request; more are refused with 413 (default: 256)",
        256,
    )
    add("--max-bytes N", "of a request (default: 1000000)", 1_000_000)
    add(
        "--timeout SECONDS",
        "seconds after which a request is given up with 504; shutting down waits so long "
        "(default: 30)",
        30.0,
    )
    add("--max-waiting N", "requests that wait for the model; more are refused (default: 256)", 256)


if __name__ == "__main__":
    run_cli(main)
