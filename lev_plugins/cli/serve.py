"""A page on which a person and a model edit together, and its HTTP/JSON interface.

    python -m lev_plugins.cli.serve --path CHECKPOINT

Prints an address that opens the page; only this machine can reach it, and only with the token that
is in the address. A model of any kind will do: edit models have ``/edit`` and ``/correct``, models
that write from left to right ``/correct``, EncT5 ``/predict``; ``/openapi.json`` describes them.
"""

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence

from ..errors import UserError
from ..fairseq_patches import run_cli
from ..serve.server import LOOPBACK, address, hosts_of, listen, read_token, run
from .options import add_model_data, adder, make_parser, text_processing

_NEEDED = ("starlette", "uvicorn")
_MAX_PORT = 65_535


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal (Ctrl-C, SIGTERM) ends it; returns 0 then.

    Raises:
        UserError: an option or checkpoint that cannot be used, an address that is taken.
    """
    args = build_parser().parse_args(argv)
    _check(args)
    token = read_token(args.token_file)
    listening = listen(args.host, args.port)
    try:
        from ..serve import app, model

        served = model.load(
            args.path, args.data, args.device, args.batch_size, args.settings, text_processing(args)
        )
        served.info["model"] = os.path.basename(os.path.normpath(args.path))
        limits = app.Limits(
            args.max_rows, args.max_bytes, args.timeout, args.max_waiting, args.batch_size
        )
        application = app.make_app(served, token, hosts_of(args.host), limits)
        port = listening.getsockname()[1]
        print(address(args.host, port, token), flush=True)
        if args.host not in LOOPBACK:
            print(
                "note: other machines can reach this address; whoever has the token may use the "
                "model, and the connection is not encrypted",
                file=sys.stderr,
            )
        run(application, listening, args.timeout)
    finally:
        listening.close()
    return 0


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
    add("--device NAME", "such as cuda (default: cpu)")
    add("--settings FILE", "as of correct (default: corrector.json beside it)")
    add_model_data(add)
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
