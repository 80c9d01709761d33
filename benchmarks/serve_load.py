"""Many people at once on one lev-serve: is anything lost or mixed up, is memory flat?

    python benchmarks/serve_load.py --clients 50 --seconds 60

Starts a server of its own with an untrained LevT of the size of examples/translation (two layers,
d = 128), on one core, whose edits the script of levt_speed.py decides: all layers and heads are
computed, so the time is that of a trained model of the size.

Each client edits sentences of its own, one after the other, without a pause. Lost: a request
without a result. Mixed up: a result that names another source or draft. Other text: not what the
same sentence was edited to alone. The first lines are of one client, who types alone.
"""

import argparse
import http.client
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli

SERVED_ALONE = 40  # sentences of one client, before the load
EACH = 20  # sentences of a client, which are sent in turn
Pair = tuple[str, str]
Answer = tuple[float, Pair, str]


class Client:
    """A connection that is kept."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.token = parse_qs(parts.query)["token"][0]
        self.connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=120)

    def edit(self, pair: Pair) -> Answer | None:
        """Milliseconds, source and draft of the result, and its text; None where there is none."""
        body = json.dumps({"sentences": [{"source": pair[0], "draft": pair[1]}]})
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        start = time.perf_counter()
        try:
            self.connection.request("POST", "/edit", body, headers)
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()  # the next request opens another
            return None
        if answer.status != HTTPStatus.OK:
            return None
        (result,) = json.loads(content)["results"]
        taken = 1000 * (time.perf_counter() - start)
        return taken, (result["source"], result["draft"]), result["hypotheses"][0]["text"]


def load(
    address: str, pairs: Sequence[Pair], alone: Sequence[str], end: float
) -> tuple[list[float], list[int]]:
    """Edits sentences in turn until the time is up: milliseconds, and how many were lost, mixed up
    and of another text."""
    client, times, wrong = Client(address), [], [0, 0, 0]
    turns = itertools.cycle(zip(pairs, alone, strict=True))
    while time.perf_counter() < end:
        pair, expected = next(turns)
        if (answer := client.edit(pair)) is None:
            wrong[0] += 1
            continue
        times.append(answer[0])
        wrong[1] += answer[1] != pair
        wrong[2] += answer[2] != expected
    return times, wrong


def sentences(count: int, length: int, seed: int) -> list[Pair]:
    """Random sources and drafts."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(8000)]
    return [tuple(" ".join(draw.choices(words, k=length)) for _ in "ab") for _ in range(count)]


def measure(args: argparse.Namespace, pid: int) -> None:
    """Prints what one client, and then all, see; ``pid`` is of the server."""
    own = [sentences(EACH, args.length, seed) for seed in range(args.clients)]
    first = Client(args.address)
    answers = [first.edit(pair) for pair in sentences(SERVED_ALONE + 5, args.length, -1)]
    times = sorted(answer[0] for answer in answers[5:] if answer)  # the first warm up
    print(f"alone: {args.length} words, {len(times)} sentences, one after the other")
    print(f"  milliseconds: median {statistics.median(times):.0f}, 95 % {times[-3]:.0f}")
    alone = [[(first.edit(pair) or ("", "", ""))[2] for pair in pairs] for pairs in own]
    end, memory = time.perf_counter() + args.seconds, []
    with ThreadPoolExecutor(args.clients) as pool:
        own_pairs = zip(own, alone, strict=True)
        clients = [pool.submit(load, args.address, *both, end) for both in own_pairs]
        for _ in range(10):
            time.sleep(args.seconds / 10)
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            memory.append(f"{pages * os.sysconf('SC_PAGE_SIZE') / 2**20:.0f}")
    outcomes = [client.result() for client in clients]
    times = sorted(each for taken, _ in outcomes for each in taken)
    lost, mixed_up, other_text = map(sum, zip(*(wrong for _, wrong in outcomes), strict=True))
    middle, last = times[len(times) // 2], times[int(0.95 * len(times))]
    print(f"\n{args.clients} clients, {args.seconds:g} s: {len(times):,} sentences")
    print(f"  a second: {len(times) / args.seconds:.1f}")
    print(f"  milliseconds: median {middle:.0f}, 95 % {last:.0f}, longest {times[-1]:.0f}")
    print(f"  lost {lost}, mixed up {mixed_up}, other text {other_text}")
    print(f"  MiB of the server after each tenth: {', '.join(memory)}")


def serve(args: argparse.Namespace) -> None:
    """A server of an untrained model whose edits the script decides; prints its address."""
    import common
    import torch
    import uvicorn
    from scripted import Script, scripted

    from lev_correct import Corrector
    from lev_correct.cli import serve as command
    from lev_correct.models.editor import LevenshteinBackend
    from lev_correct.serve.app import make_app
    from lev_correct.serve.model import serve_corrector
    from lev_plugins import LevenshteinEditor
    from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
    from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

    torch.set_num_threads(1)
    torch.manual_seed(1)
    words = common.dictionary(8000)
    task = TranslationEditTask(TranslationEditConfig(seed=1), words, words)
    size = argparse.Namespace(layers=args.layers, dim=args.dim, ffn=4 * args.dim, heads=4)
    config = LevenshteinEditorConfig(**vars(common.transformer_options(size, dropout=0.0)))
    model = LevenshteinEditorModel.build_model(config, task)
    backend = LevenshteinBackend(LevenshteinEditor([model], task), knows_spaces=True)
    app = make_app(serve_corrector(Corrector(backend)), "load-token")
    listening = command.listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/?token=load-token", flush=True)
    server = uvicorn.Config(app, log_level="warning", access_log=False, ws="none")
    with scripted(None, [model], Script()):
        uvicorn.Server(server).run(sockets=[listening])


def main(argv: Sequence[str] | None = None) -> None:
    """Serve, or load a server and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    add = parser.add_argument
    add("--clients", type=int, default=50, metavar="N", help="at once (default: 50)")
    add("--seconds", type=float, default=60, metavar="S", help="of the load (default: 60)")
    add("--length", type=int, default=25, metavar="N", help="words of a sentence (default: 25)")
    add("--layers", type=int, default=2, metavar="N", help="of each side (default: 2)")
    add("--dim", type=int, default=128, metavar="N", help="width (default: 128)")
    parser.set_defaults(address="")
    add("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.serve:
        return serve(args)
    words = [sys.executable, __file__, "--serve", *(sys.argv[1:] if argv is None else argv)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            args.address = server.stdout.readline().strip() if server.stdout else ""
            if not args.address:
                raise UserError("the server did not start; its message stands above")
            measure(args, server.pid)
        finally:
            server.terminate()


if __name__ == "__main__":
    run_cli(main)
