"""A page on which a person and a model edit together, and its HTTP/JSON interface.

Prints an address, with a token, that opens the page; ``/openapi.json`` describes the interface.
"""

import argparse
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from lev_correct.packaged import ENGLISH_SPELLING
from lev_runtime.errors import UserError, require_extra, require_number
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import (
    add_model_data,
    adder,
    as_flags,
    make_parser,
    say,
    text_processing,
)
from lev_runtime.io.signature import signature
from lev_runtime.io.text_files import read_lines

TOKEN = "LEV_SERVE_TOKEN"  #: names the token in the environment
ENGLISH = "en-US,en-GB,en-AU,en-CA,en-NZ,en-ZA"
_LOOPBACK, _ANYWHERE = ("127.0.0.1", "localhost", "[::1]"), ("0.0.0.0", "::", "")


def run_script() -> NoReturn:
    """Runs the command of this process and exits."""
    run_cli(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal (Ctrl-C, SIGTERM) ends it; returns 0 then.

    Raises:
        UserError: an option or checkpoint that cannot be used, an address that is taken.
    """
    args = build_parser().parse_args(argv)
    require_number("--timeout ", args.timeout, 0.001, threading.TIMEOUT_MAX)
    for name in args.allowed_host:
        if not re.fullmatch(r"(\*\.)?[\w.-]+|\[[\da-f:.]+\]", name):
            raise UserError(f"--allowed-host {name}: a name, *.NAME or [IPv6], without a port")
    require_extra("serve")
    token = fixed_token(args.token_file) or secrets.token_urlsafe(16)
    with listen(args.host, args.port) as listening:
        from . import app, model

        processing = text_processing(args)
        with as_flags(args):
            served = model.load(args.path, args.data, args.device, args.settings, **processing)
        path = args.path or ENGLISH_SPELLING
        served.info["signature"] = signature(path, threshold=served.info.get("min_confidence"))
        if args.example:
            served.info["example"] = args.example
        served.info["model"] = os.path.basename(os.path.normpath(path))
        name = f"[{args.host}]" if ":" in args.host else args.host
        hosts = [*_LOOPBACK, name, *args.allowed_host]
        if args.host in _ANYWHERE:
            name = socket.gethostname()
            hosts = [*hosts, name] if args.allowed_host else ["*"]
        print(f"http://{name}:{listening.getsockname()[1]}/?token={token}", flush=True)
        if name not in _LOOPBACK:
            say("note: other machines can reach this address, and the connection is not encrypted")
        languages = args.languages.split(",")
        application = app.make_app(served, token, hosts, args.timeout, languages, args.access_log)
        run(application, listening, args.timeout)
    return 0


def fixed_token(file: str | None) -> str | None:
    """Returns the token of a file, or of the environment; None for none.

    Raises:
        UserError: a file that cannot be read, or a token that is short or no part of an address.
    """
    token = next(read_lines(file), "") if file else os.environ.get(TOKEN)
    if token is not None and not re.fullmatch(r"[\w.~-]{16,}", token, re.ASCII):
        raise UserError(f"{file or TOKEN}: a token has 16 or more letters, digits and . _ ~ -")
    return token


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; raises :class:`UserError` where it is taken, or not of here."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = re.sub(r"^\[.*\] | \(while.*|\.$", "", str(error))
        way = "choose another address, or --port 0 for a free port"
        raise UserError(f"--host {host} --port {port}: {reason}; {way}") from None


def run(application: object, listening: socket.socket, timeout: float) -> None:
    """Runs the server until it is told to stop; requests that are under way are answered."""
    import uvicorn

    from .app import HttpProtocol

    quiet: Any = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
    patience = max(1, round(timeout))
    config = uvicorn.Config(
        application, http=HttpProtocol, timeout_graceful_shutdown=patience, **quiet
    )
    # uvicorn sends itself the signal again once it has shut down; by then all is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listening])


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    about = "Serve a page on which a person and a model edit together, and an HTTP/JSON interface."
    parser = make_parser("serve", about, "--path checkpoint_best.pt")
    add = adder(parser)
    add(
        "--path CHECKPOINT",
        "checkpoint, its folder, or a folder from lev-export (default: the built-in English "
        "spelling model)",
    )
    add("--device NAME", "device, such as cuda (default: cpu)")
    add("--settings FILE", "as in lev-correct (default: corrector.json beside the checkpoint)")
    add_model_data(add)
    add = adder(parser.add_argument_group("server"))
    add("--host NAME", "address to listen on (default: 127.0.0.1, this machine only)", "127.0.0.1")
    add("--port N", "port; 0 chooses a free one (default: 8000)", 8000)
    add("--timeout SECONDS", "time limit of a request (default: 30)", 30.0)
    add(
        "--token-file FILE",
        f"file with the token that requests have to bring (default: ${TOKEN}, or a new one)",
    )
    add(
        "--allowed-host NAME",
        "another name by which clients call the server, such as a proxy's; can be repeated",
        [],
        action="append",
    )
    add(
        "--example TEXT",
        "what the page's Try an example fills in; of an edit model SOURCE, a tab and DRAFT",
    )
    add("--languages TAGS", f"for LanguageTool's clients (default: {ENGLISH})", ENGLISH)
    add("--access-log", "print a line of JSON for each request, with its X-Request-ID")
    return parser
