"""Real commands over small corpora: where they run, what they are given and what they print."""

import fcntl
import functools
import importlib.util
import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import example_scripts
import pytest
from plain_files import ROOT, put, read

# they run in copies of a process that has imported torch and fairseq
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*"]
PACKAGE = ROOT / "lev_plugins"
TIMEOUT = 300  # seconds
ENCODER = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2"
)
SIZES = (
    f"{ENCODER} --decoder-embed-dim 32 --decoder-ffn-embed-dim 64 "
    "--decoder-layers 1 --decoder-attention-heads 2"
)
MODEL = f"--arch levenshtein_editor_char {SIZES} --max-insertions 15 --criterion edit_policy_loss"
#: a system's that writes from left to right
WRITER = (
    f"{ENCODER} --decoder-layers 1 --share-all-embeddings --dropout 0 "
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1"
)
#: of a training in several processes on CPUs
SEVERAL = "--distributed-backend gloo --ddp-backend legacy_ddp"
TRAINING = (
    "--optimizer adam --lr 0.01 --clip-norm 1 --batch-size 32 --num-workers 0 --cpu "
    "--log-format simple --log-interval 50 --no-epoch-checkpoints"
)


Environ = Mapping[str, str]
EMPTY = {}


class Result(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def lines(self, kind: str) -> dict[int, list[str]]:
        """``H-3<TAB>score<TAB>text`` → ``{3: [score, text]}``, in the order printed."""
        lines_of = {}
        for line in self.out.split("\n"):  # a text may hold other ends of lines
            head, *fields = line.split("\t")
            if head.startswith(f"{kind}-"):
                number = int(head.removeprefix(f"{kind}-"))
                assert number not in lines_of, f"{head} is there twice"
                lines_of[number] = fields
        return lines_of

    def texts(self, kind: str) -> list[str]:
        """The last fields in the order of the sentences, whose ids have to be 0, 1, 2 …"""
        lines = self.lines(kind)
        assert sorted(lines) == list(range(len(lines)))
        return [lines[number][-1] for number in sorted(lines)]

    def succeeded(self, command: object) -> "Result":
        """Itself, of a command that has to succeed."""
        assert self.code == 0, f"{command}\n{self.out[-3000:]}\n{self.err[-3000:]}"
        return self

    @property
    def error(self) -> str:
        """The one line of a refused command, without ``error:``."""
        assert self.code not in (0, 2), f"status {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.out + self.err
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1 and self.err.rstrip().endswith(lines[0]), self.err
        return lines[0].removeprefix("error: ")


Words = str | Sequence[str]


class Commands:
    """Runs commands, from a process that has torch and fairseq in memory (see warm.py)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.numbers = folder, itertools.count(1)
        environ = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            "LC_ALL": "C.UTF-8",
        }
        for name in ("WORLD_SIZE", "RANK", "LEV_PLUGINS_TRACEBACK"):
            environ.pop(name, None)
        if environ.get("PYTHONPATH") != str(ROOT):  # this checkout, and no other installed one
            environ.pop("PYTHONPATH", None)
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        words = [sys.executable, str(Path(__file__).with_name("warm.py"))]
        silent = subprocess.DEVNULL
        self.server = subprocess.Popen(words, **streams, stderr=silent, env=environ, text=True)
        self._answer()

    def _answer(self) -> str:
        answer = self.server.stdout.readline().strip()  # type: ignore[union-attr]
        assert answer, "the process that runs the commands has died"
        return answer

    def _ask(self, **request: Any) -> int:
        print(json.dumps(request), file=self.server.stdin, flush=True)
        return int(self._answer())

    def close(self) -> None:
        # said, not shown by the end of its input: a worker of a test's own may hold that open
        print(json.dumps({"end": True}), file=self.server.stdin, flush=True)
        self.server.wait()

    def start(
        self, command: Words, cwd: Path, stdin: str | bytes = b"", environ: Environ = EMPTY
    ) -> tuple[int, list[Path]]:
        """Begins a command; :meth:`finish` takes what this returns."""
        words = split(command)
        number = next(self.numbers)
        streams = [self.folder / f"{number}.{name}" for name in ("in", "out", "err")]
        streams[0].write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        for path in streams[1:]:
            path.touch()
        # only our own commands have to find the package; fairseq's are told where it is
        ours = {"PYTHONPATH": str(ROOT)} if words[0] == "python" else {}
        start = {"argv": words, "cwd": str(cwd), "environ": {**ours, **environ}}
        return self._ask(start={**start, "streams": list(map(str, streams))}), streams

    def finish(self, started: tuple[int, list[Path]]) -> Result:
        """Waits for a command; one that hangs is killed, which gives a negative status."""
        pid, (_, out, err) = started
        code = self._ask(wait=pid, seconds=TIMEOUT)
        shown = out.read_text("utf-8", "surrogateescape")
        return Result(code, shown, err.read_text("utf-8", "replace"))

    def __call__(self, command: Words, cwd: Path, **options: Any) -> Result:
        return self.finish(self.start(command, cwd, **options))

    def ok(self, command: Words, cwd: Path, **options: Any) -> Result:
        """Runs a command as it is; it has to succeed."""
        return self(command, cwd, **options).succeeded(command)

    def plugin(
        self, command: Words, cwd: Path, task: str = "translation_edit", **options: Any
    ) -> Result:
        """Runs a fairseq command with the plug-in and a task."""
        words = [*split(command), "--user-dir", str(PACKAGE), "--task", task]
        return self(words, cwd, **options)

    def done(self, command: Words, cwd: Path, **options: Any) -> Result:
        """Runs a fairseq command as :meth:`plugin` does; it has to succeed."""
        return self.plugin(command, cwd, **options).succeeded(command)

    def ranks(
        self,
        command: Words,
        cwd: Path,
        environs: Sequence[Environ] = (EMPTY, EMPTY),
    ) -> list[Result]:
        """Runs a command as two processes, told what torchrun would tell them, and ``environs``."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        started = []
        for rank, more in enumerate(environs):
            environ = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
            environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), **more}
            started.append(self.start(command, cwd, environ=environ))
        return list(map(self.finish, started))

    def preprocess(self, flags: str, cwd: Path) -> Result:
        return self.ok(f"python -m lev_plugins preprocess {flags}", cwd)


def split(command: Words) -> list[str]:
    return command.split() if isinstance(command, str) else list(command)


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    runner = Commands(tmp_path_factory.mktemp("streams"))
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def succeed(commands, tmp_path_factory):
    """Runs a script of examples/, whose programs don't wait for torch to be imported."""
    with example_scripts.programs(commands, tmp_path_factory.mktemp("programs")) as folder:
        yield functools.partial(example_scripts.succeed, programs=folder)


class Corpus(NamedTuple):
    """A folder with text, binarised data and a checkpoint trained on them.

    flags: languages (and drafts), for every command. arch: the model and its criterion.
    """

    folder: Path
    flags: str
    arch: str
    task: str = "translation_edit"

    @property
    def data(self) -> Path:
        return self.folder / "bin"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "trained" / "checkpoint_last.pt"

    def text(self, split: str, side: str) -> list[str]:
        return read(self.folder / f"{split}.{side}")

    def train(self, more: str) -> str:
        return f"fairseq-train {self.data} {self.flags} {self.arch} {TRAINING} {more}"

    def generate(self, more: str, checkpoint: Path | None = None) -> str:
        path = checkpoint or self.checkpoint
        return f"fairseq-generate {self.data} {self.flags} --path {path} --cpu {more}"

    def interactive(self, more: str = "") -> str:
        path = self.checkpoint
        return f"fairseq-interactive {self.data} {LANGUAGES} --path {path} --cpu {more}"


LETTERS = "abcdefgh"


def triple(draw: random.Random) -> tuple[str, str, str]:
    """Source ``a b c``, target ``A . B . C .``, and a draft that lacks dots and has ``!`` instead.

    What is wrong with a draft can be seen in the draft alone, so that editing is learnt at once.
    """
    source = draw.choices(LETTERS, k=draw.randint(2, 5))
    target = [token for letter in source for token in (letter.upper(), ".")]
    draft = []
    for token in target:
        draft += [] if token == "." and draw.random() < 0.3 else [token]
        draft += ["!"] if draw.random() < 0.2 else []
    return " ".join(source), " ".join(target), " ".join(draft)


def conllu(sentences: Sequence[Sequence[str]], tags: Mapping[str, str]) -> list[str]:
    """The lines of a CoNLL-U file of words with these tags."""
    rows = []
    for words in sentences:
        for place, word in enumerate(words, start=1):
            rows.append("\t".join([str(place), word, "_", tags[word], *"______"]))
        rows.append("")
    return rows


def others(folder: Path) -> Path:
    """The folder with what others keep in theirs, under names that commands may know."""
    for name in ("data/train.csv", "text/notes.txt", "dict.txt", "config.yaml"):
        put(folder / name, ["somebody's"])
    return folder


def write_corpus(folder: Path) -> None:
    """256 training, 11 validation, 11 test and 3 further test triples.

    The test set has an empty draft, an empty source, and words that are in no dictionary.
    """
    draw = random.Random(7)
    splits = {
        name: [triple(draw) for _ in range(size)]
        for name, size in (("train", 256), ("valid", 11), ("test", 11), ("few", 3))
    }
    splits["test"][2] = ("c d e", "C . D . E .", "")
    splits["test"][5] = ("", "A .", "A ! .")
    splits["test"][8] = ("a xyz b", "A . Xyz . B .", "A . Xyz . ! B .")
    for name, triples in splits.items():
        for side, lines in zip(("src", "tgt", "mt"), zip(*triples, strict=True), strict=True):
            put(folder / f"{name}.{side}", lines)


def write_fruit(folder: Path, **sizes: int) -> None:
    """``SPLIT.clean`` of so many lines, the last one empty, and dictionaries of characters."""
    draw, fruit = random.Random(1), "apple banana cherry damson elderberry figtree grapes hazelnut"
    for split, size in sizes.items():
        lines = [" ".join(draw.choices(fruit.split(), k=draw.randint(1, 4))) for _ in range(size)]
        put(folder / f"{split}.clean", [*lines[:-1], ""])
    for side in ("noisy", "clean"):
        put(folder / f"dict.{side}.txt", [f"{chr(code)} 1" for code in (*range(33, 127), 9601)])


def prepared(commands: Commands, folder: Path, flags: str, joined: bool) -> None:
    write_corpus(others(folder))
    languages = flags + (" --joined-dictionary" if joined else "")
    places = "--trainpref train --validpref valid --testpref test,few --destdir bin"
    commands.preprocess(f"{languages} {places}", folder)


def once(name: str, make: Callable[[Path], object]) -> Path:
    """Returns a folder that ``make`` has filled, in this run or in one of the same sources."""
    sources = [*ROOT.glob("lev_*/**/*.py"), *Path(__file__).parent.glob("[!t]*.py")]
    newest = max(path.stat().st_mtime_ns for path in [*sources, ROOT / "constraints.txt"])
    folder = ROOT / ".pytest_cache" / "trained" / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.made", "a+") as note:
        fcntl.flock(note, fcntl.LOCK_EX)
        note.seek(0)
        if note.read() != str(newest):
            shutil.rmtree(folder)
            folder.mkdir()
            make(folder)
            note.truncate(0)
            note.write(str(newest))
    return folder


LANGUAGES = "--source-lang src --target-lang tgt"
DRAFTED = f"{LANGUAGES} --draft-lang mt"
#: name → languages, model, task and training; until outputs are mostly right, or differ
TRAINED = {
    "triples": (  # one dictionary
        DRAFTED,
        f"{MODEL} --share-all-embeddings --dropout 0",
        "translation_edit",
        "--alpha 0.8 --beta 0.8 --max-update 160",
    ),
    "pairs": (  # two dictionaries
        LANGUAGES,
        f"{MODEL} --dropout 0",
        "translation_edit",
        "--token-weight 2 --placeholder-weight 2 --max-update 240",
    ),
    "pbd": (LANGUAGES, f"--arch pbd_transformer_char {WRITER}", "translation", "--max-update 120"),
    "gated": (
        LANGUAGES,
        f"--arch gated_transformer_char --gates all {WRITER}",
        "translation",
        "--max-update 120",
    ),
    "concat": (
        DRAFTED,
        f"--arch transformer_concat_char {WRITER}",
        "translation_concat",
        "--max-update 60",
    ),
}


@pytest.fixture(scope="session")
def trained(commands):
    """Returns a corpus of TRAINED by its name, with the log of its training in ``train.log``."""

    def make(name: str) -> Corpus:
        flags, arch, task, training = TRAINED[name]

        def fill(folder: Path) -> None:
            prepared(commands, folder, flags, joined="--share-all" in arch)
            command = Corpus(folder, flags, arch).train(f"{training} --save-dir trained")
            (folder / "train.log").write_text(commands.done(command, folder, task=task).out)

        return Corpus(once(name, fill), flags, arch, task=task)

    return make


@pytest.fixture(scope="session")
def triples(trained):
    return trained("triples")


@pytest.fixture(scope="session")
def pairs(trained):
    return trained("pairs")
