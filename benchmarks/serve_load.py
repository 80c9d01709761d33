"""Many people at once on one lev-serve: is anything lost or mixed up, is memory flat?

    python benchmarks/serve_load.py --clients 50 --seconds 60

Starts a server of its own with an untrained LevT of the size of examples/translation (two layers,
d = 128; --layers and --dim for others), on one core. A fixed rule decides its deletions and
insertions, since untrained heads do not edit sensibly: about one token in thirty goes, and one
place in thirty gets a new one, until nothing changes. All layers and heads are computed, so the
time is that of a trained model of the size. --address takes a server that runs, with any model
that edits.

Each client edits sentences of its own, one after the other, without a pause. Lost: a request
without a result. Mixed up: a result that names another source or draft. Other text: not what the
same sentence was edited to alone. The first table is of one client, who types alone.
"""

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

SERVED_ALONE = 40  # sentences of one client, before the load
EACH = 20  # sentences of a client, which are sent in turn
_PERIOD = 30  # one token in so many is deleted, one place in so many gets a new one


class Client:
    """A connection that is kept."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.token = parse_qs(parts.query)["token"][0]
        self.connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=120)

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def edit(self, pair: tuple[str, str]) -> dict[str, object] | None:
        """The result of a sentence, None where there is none."""
        body = json.dumps({"sentences": [{"source": pair[0], "draft": pair[1]}]})
        status, content = self._ask("POST", "/edit", body)
        return json.loads(content)["results"][0] if status == 200 else None


class Load:
    """What all clients note."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds
        self.lock = threading.Lock()
        self.times: list[float] = []
        self.lost = self.mixed_up = self.other_text = 0

    def run(self, client: Client, pairs: Sequence[tuple[str, str]], alone: Sequence[str]) -> None:
        """Edits sentences in turn until the time is up."""
        number = 0
        while time.perf_counter() < self.end:
            pair, expected = pairs[number % len(pairs)], alone[number % len(pairs)]
            start = time.perf_counter()
            try:
                result = client.edit(pair)
            except (OSError, http.client.HTTPException):
                result = None
            took = time.perf_counter() - start
            with self.lock:
                self.times.append(took)
                self.lost += result is None
                if result is not None:
                    self.mixed_up += (result["source"], result["draft"]) != pair
                    self.other_text += text_of(result) != expected
            number += 1


def cpu_seconds(pid: int) -> float:
    """What a process has used; 0 where that is not known."""
    path = Path(f"/proc/{pid}/stat")
    fields = path.read_text().rpartition(")")[2].split() if path.exists() else ["0"] * 13
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Its memory; 0 where that is not known."""
    path = Path(f"/proc/{pid}/statm")
    pages = int(path.read_text().split()[1]) if path.exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def text_of(result: dict) -> str:
    return result["hypotheses"][0]["text"]


def sentences(count: int, length: int, vocabulary: int, seed: int) -> list[tuple[str, str]]:
    """Random sources and drafts."""
    draw = random.Random(seed)

    def one() -> str:
        return " ".join(f"w{draw.randrange(vocabulary)}" for _ in range(length))

    return [(one(), one()) for _ in range(count)]


def main(argv: Sequence[str] | None = None) -> None:
    """Serve, or load a server and print the tables."""
    args = build_parser().parse_args(argv)
    if args.serve:
        serve(args)
        return
    for name in ("clients", "seconds", "length"):
        if getattr(args, name) <= 0:
            raise UserError(f"--{name} {getattr(args, name)}: must be above 0")
    server = None
    try:
        if args.address is None:
            words = [sys.executable, __file__, "--serve", *(sys.argv[1:] if argv is None else argv)]
            server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            assert server.stdout is not None
            args.address = server.stdout.readline().strip()
            if not args.address:
                raise UserError("the server did not start; its message stands above")
        measure(args, server.pid if server else 0)
    finally:
        if server is not None:
            server.terminate()
            server.wait()


def measure(args: argparse.Namespace, pid: int) -> None:
    """Prints what one client, and then all, see; ``pid`` is of the server, 0 for another's."""
    own = [sentences(EACH, args.length, args.vocab, seed) for seed in range(args.clients)]
    first = Client(args.address)
    for pair in own[0][:5]:  # until everything is warm
        first.edit(pair)
    times = []
    used = cpu_seconds(pid)
    for pair in sentences(SERVED_ALONE, args.length, args.vocab, -1):
        start = time.perf_counter()
        first.edit(pair)
        times.append(1000 * (time.perf_counter() - start))
    times.sort()
    used = cpu_seconds(pid) - used
    print(f"alone: {args.length} words, {len(times)} sentences, one after the other")
    print(f"  milliseconds: median {statistics.median(times):.0f}, 95 % {times[-3]:.0f}")
    print(f"  milliseconds of the processor: {1000 * used / len(times):.0f}")
    alone = [[text_of(first.edit(pair) or {}) for pair in pairs] for pairs in own]
    load = Load(args.seconds)
    threads = [
        threading.Thread(target=load.run, args=(Client(args.address), pairs, texts))
        for pairs, texts in zip(own, alone, strict=True)
    ]
    for thread in threads:
        thread.start()
    memory = []
    for _ in range(10):
        time.sleep(max(0.0, args.seconds / 10))
        memory.append(resident_mib(pid))
    for thread in threads:
        thread.join()
    times = sorted(1000 * one for one in load.times)
    print(f"\n{args.clients} clients, {args.seconds:g} s: {len(times):,} sentences")
    print(f"  a second: {len(times) / args.seconds:.1f}")
    middle, last = times[len(times) // 2], times[int(0.95 * len(times))]
    print(f"  milliseconds: median {middle:.0f}, 95 % {last:.0f}, longest {times[-1]:.0f}")
    print(f"  lost {load.lost}, mixed up {load.mixed_up}, other text {load.other_text}")
    shown = ", ".join(f"{one:.0f}" for one in memory)
    print(f"  MiB of the server after each tenth: {shown}")
    print(f"cpu:{machine('cpu')}")


# the server ---------------------------------------------------------------------------------------


def serve(args: argparse.Namespace) -> None:
    """A server of an untrained model; prints its address."""
    import torch
    import uvicorn

    from lev_plugins import Corrector
    from lev_plugins.cli import serve as command
    from lev_plugins.inference.correction.backends import TextProcessing
    from lev_plugins.inference.correction.levenshtein import LevenshteinBackend
    from lev_plugins.serve.app import make_app
    from lev_plugins.serve.model import serve_corrector

    torch.set_num_threads(1)
    editor = untrained(args)
    backend = LevenshteinBackend(editor, TextProcessing(None, None), knows_spaces=True)
    app = make_app(serve_corrector(Corrector(backend)), "load-token")
    listening = command.listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/?token=load-token", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listening])


def untrained(args: argparse.Namespace):  # noqa: ANN201
    """An editor with random weights, whose edits a rule decides."""
    import torch
    from fairseq.data import Dictionary

    from lev_plugins import LevenshteinEditor
    from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
    from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

    limits = {"max_source_positions": 256, "max_target_positions": 256}
    words = Dictionary()
    for number in range(args.vocab):
        words.add_symbol(f"w{number}")
    task = TranslationEditTask(TranslationEditConfig(seed=1, **limits), words, words)
    sizes = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("embed_dim", args.dim),
            ("ffn_embed_dim", 4 * args.dim),
            ("layers", args.layers),
            ("attention_heads", max(1, args.dim // 64)),
        )
    }
    torch.manual_seed(1)
    config = LevenshteinEditorConfig(**sizes, **limits, share_all_embeddings=True, dropout=0.0)
    model = LevenshteinEditorModel.build_model(config, task)
    delete, insert = model.deletion_logits, model.placeholder_logits
    sure = 1e4

    def deletion_logits(tokens, memory):  # noqa: ANN001, ANN202
        logits = delete(tokens, memory)
        return logits + sure * torch.stack([tokens % _PERIOD != 7, tokens % _PERIOD == 7], -1)

    def placeholder_logits(tokens, memory):  # noqa: ANN001, ANN202
        logits = insert(tokens, memory).clone()
        opens = (tokens[:, 1:] + tokens[:, :-1]) % _PERIOD == 11
        logits[..., 0] += sure * ~opens
        logits[..., 1] += sure * opens
        return logits

    model.deletion_logits, model.placeholder_logits = deletion_logits, placeholder_logits
    return LevenshteinEditor([model], task)


def build_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        prog=f"python {os.path.relpath(__file__)}",
    )
    add = parser.add_argument
    add("--clients", type=int, default=50, metavar="N", help="at once (default: 50)")
    add("--seconds", type=float, default=60, metavar="S", help="of the load (default: 60)")
    add("--length", type=int, default=25, metavar="N", help="words of a sentence (default: 25)")
    add("--layers", type=int, default=2, metavar="N", help="of each side (default: 2)")
    add("--dim", type=int, default=128, metavar="N", help="width (default: 128)")
    add("--vocab", type=int, default=8000, metavar="N", help="words (default: 8000)")
    add("--address", metavar="URL", help="of a server that runs, token included")
    add("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    run_cli(main)
