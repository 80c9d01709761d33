"""Each fault of fairseq that we work around: it is there, and our commands do not meet it."""

import importlib.util
import io
import logging
import os
import random
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils, models, options, tasks
from fairseq.data import Dictionary, FairseqDataset, data_utils, encoders
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf, merge_with_parent
from fairseq.distributed import utils as distributed_utils
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

import lev_plugins
from lev_plugins import fairseq_patches as patches
from lev_plugins.errors import UserError
from lev_plugins.systems.gated import GatedTransformerConfig

PACKAGE = Path(lev_plugins.__file__).parent
BIN = Path(sys.executable).parent
TINY = (
    "--arch transformer --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 8 "
    "--decoder-embed-dim 8 --encoder-ffn-embed-dim 8 --decoder-ffn-embed-dim 8 "
    "--encoder-attention-heads 1 --decoder-attention-heads 1 --optimizer adam --lr 0.01 "
    "--criterion cross_entropy --batch-size 8 --cpu --log-format simple --log-interval 1"
)
TWO = "--distributed-backend gloo --distributed-world-size 2 --ddp-backend legacy_ddp"
TORCHRUN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}


def run(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A real command in a folder: ``code``, ``out`` and ``err``."""
    words = command.split()
    if (BIN / words[0]).exists():
        words[0] = str(BIN / words[0])
    environment = {name: value for name, value in os.environ.items() if name not in TORCHRUN}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        words, cwd=cwd, input=stdin, capture_output=True, timeout=600, env=environment, check=False
    )
    return SimpleNamespace(
        code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode("utf-8", "replace")
    )


def plugin(command: str, cwd: Path, stdin: bytes = b"") -> SimpleNamespace:
    """A fairseq command with the plug-in loaded."""
    return run(f"{command} --user-dir {PACKAGE}", cwd, stdin)


def error_line(result: SimpleNamespace) -> str:
    """The one line a refused command ends in."""
    assert result.code == 1
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and result.err.rstrip().endswith(lines[0])
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``bin``: 24 training, 11 validation and 5 test pairs over twelve words."""
    from fairseq_cli import preprocess

    path = tmp_path_factory.mktemp("compat")
    rng = random.Random(7)
    for name, size in (("train", 24), ("valid", 11), ("test", 5)):
        lines = [
            " ".join(rng.choices([f"w{i}" for i in range(12)], k=rng.randint(4, 9)))
            for _ in range(size)
        ]
        for language in ("en", "de"):
            (path / f"{name}.{language}").write_text("\n".join(lines) + "\n")
    flags = f"--source-lang en --target-lang de --joined-dictionary --destdir {path}/bin"
    flags += "".join(f" --{name}pref {path}/{name}" for name in ("train", "valid", "test"))
    preprocess.main(options.get_preprocessing_parser().parse_args(flags.split()))
    return path


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Path:
    """A stock transformer, trained for three updates with ``--eval-bleu``, data path relative."""
    done = plugin(f"fairseq-train bin {TINY} --eval-bleu --max-update 3 --save-dir ck", folder)
    assert done.code == 0, done.err
    return folder / "ck" / "checkpoint_last.pt"


# checkpoints


def test_generating_and_validating_read_it_and_log_no_debug_lines(checkpoint, folder):
    flags = f"bin --path {checkpoint} --cpu --batch-size 2 --required-batch-size-multiple 1"
    made = plugin(f"fairseq-generate {flags} --scoring ter --gen-subset test --beam 1", folder)
    assert made.code == 0, made.err
    assert sorted(line[:3] for line in made.out.splitlines() if line[:2] == "H-") == [
        f"H-{i}" for i in range(5)
    ]
    assert "TER = " in made.out and "|tok:tercom|" in made.out
    assert "INFO:fairseq_cli.generate:Translated 5 sentences" in made.err
    assert "DEBUG" not in made.err
    checked = plugin(f"fairseq-validate {flags} --task translation", folder)
    assert checked.code == 0, checked.err
    assert "valid on 'valid' subset | loss" in checked.out


# batches


class Lengths(FairseqDataset):
    """Sentences of given lengths."""

    def __init__(self, lengths: list[int], buckets: list[int] | None = None) -> None:
        self.lengths = np.array(lengths, dtype=np.int64)
        self.shapes = buckets and [(None, bucket) for bucket in buckets]

    def get_batch_shapes(self) -> list[tuple[None, int]] | None:
        return self.shapes

    def num_tokens(self, index: int) -> int:
        return int(self.lengths[index])

    def num_tokens_vec(self, indices: np.ndarray) -> np.ndarray:
        return self.lengths[indices]


def test_fairseq_drops_the_last_batch_and_fails_on_none():
    size = {"num_tokens_fn": lambda i: 1, "required_batch_size_multiple": 8}
    assert list(data_utils.batch_by_size(np.arange(5), **size)) == []
    kept = data_utils.batch_by_size(np.arange(13), max_sentences=8, **size)
    assert sum(len(batch) for batch in kept) == 8
    with pytest.raises(IndexError):
        data_utils.batch_by_size(np.arange(0), **size)


@settings(deadline=None, max_examples=200)
@given(
    lengths=st.lists(st.integers(1, 20), max_size=60),
    max_tokens=st.none() | st.integers(20, 200),
    max_sentences=st.none() | st.integers(1, 20),
    multiple=st.integers(1, 9),
    shuffled=st.randoms(use_true_random=False),
)
def test_every_sentence_is_in_one_batch_within_the_limits(
    lengths, max_tokens, max_sentences, multiple, shuffled
):
    order = list(range(len(lengths)))
    shuffled.shuffle(order)
    indices = np.array(order, dtype=np.int64)
    batches = Lengths(lengths).batch_by_size(indices, max_tokens, max_sentences, multiple)
    assert [i for batch in batches for i in batch] == order
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert max_tokens is None or longest * len(batch) <= max_tokens
        assert max_sentences is None or len(batch) <= max_sentences
    for batch in batches[:-1]:
        assert len(batch) < multiple or len(batch) % multiple == 0


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 20), max_size=60))
def test_every_sentence_is_in_one_batch_of_a_fixed_shape(lengths):
    order = np.argsort(lengths, kind="stable").astype(np.int64)
    batches = Lengths(lengths, [5, 10, 20]).batch_by_size(order, 60, None, 8)
    assert [i for batch in batches for i in batch] == list(order)


def test_a_sentence_longer_than_a_batch_names_the_limit_where_fairseq_asserts():
    order = np.arange(3)
    with pytest.raises(UserError, match="^the longest line has 9 tokens, and a batch at most 5 "):
        Lengths([3, 9, 7]).batch_by_size(order, 5)
    with pytest.raises(AssertionError, match="exceed max_tokens=5"):
        data_utils.batch_by_size(order, len, num_tokens_vec=np.array([3, 9, 7]), max_tokens=5)


def test_nothing_to_train_on_is_told_where_fairseq_never_ends(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-train"])
    with pytest.raises(UserError, match="has no sentence, or none within"):
        Lengths([]).batch_by_size(np.arange(0), 60, None, 8)


def test_lossless_batches_adds_the_tail_and_only_that():
    whole = [np.array([3, 1]), np.array([2, 0])]
    assert [list(b) for b in patches.lossless_batches([3, 1, 2, 0], whole)] == [[3, 1], [2, 0]]
    tail = patches.lossless_batches([3, 1, 2, 0, 4], whole)
    assert [list(b) for b in tail] == [[3, 1], [2, 0], [4]]
    assert [list(b) for b in patches.lossless_batches([5, 6], [])] == [[5, 6]]
    assert patches.lossless_batches([], []) == []
    with pytest.raises(ValueError, match="start of the 4"):
        patches.lossless_batches([1, 3, 2, 0], whole)


# interactive input


def stock_module(name: str) -> ModuleType:
    """A fresh copy of a module of fairseq, as it is without us."""
    found = importlib.util.find_spec(name)
    spec = importlib.util.spec_from_file_location("stock_copy", found.origin)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LINES = "\ufeff\tdraft only\nsource only\t\n  both \t sides  \nplain\r\n\nlast\rnot a line end"
READ = ["\tdraft only", "source only\t", "both\tsides", "plain", "", "last\rnot a line end"]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_interactive_lines_keep_their_tabs(tmp_path, size):
    path = tmp_path / "lines"
    path.write_bytes(LINES.encode())
    buffers = list(patches.read_interactive_lines(str(path), size))
    assert [line for buffer in buffers for line in buffer] == READ
    assert [len(buffer) for buffer in buffers[:-1]] == [size] * (len(buffers) - 1)
    stock = stock_module("fairseq_cli.interactive").buffered_read(str(path), 100)
    assert next(stock)[:2] == ["\ufeff\tdraft only", "source only"], "fairseq's fault is gone"


@pytest.mark.parametrize("stdin", ["bytes", "text"])
def test_standard_input_is_read_the_same_way(monkeypatch, stdin):
    binary = io.TextIOWrapper(io.BytesIO(LINES.encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", binary if stdin == "bytes" else io.StringIO(LINES, "\n"))
    buffers = patches.read_interactive_lines("-", 100)
    assert [line for buffer in buffers for line in buffer] == READ


def test_bytes_that_are_not_utf8_name_their_line(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\nthr\xffee\n")
    buffers = patches.read_interactive_lines(str(path), 100)
    assert next(buffers) == ["one", "two"]
    with pytest.raises(UserError, match=r"lines, line 3: byte 0xff at position 4 is not UTF-8"):
        next(buffers)
    with pytest.raises(UnicodeDecodeError):
        list(stock_module("fairseq_cli.interactive").buffered_read(str(path), 100))
    assert not list(patches.read_interactive_lines(os.devnull, 5))


@pytest.mark.parametrize("command", ["fairseq-interactive", "python -m fairseq_cli.interactive"])
def test_the_real_command_reads_lines_our_way_and_is_quiet(checkpoint, folder, command):
    flags = f"bin --path {checkpoint} --cpu --beam 1 --max-len-b 5"
    result = plugin(f"{command} {flags}", folder, b"w1\rw2\n\nw3\xff\n")
    assert "standard input, line 3: byte 0xff at position 3" in error_line(result)
    sources = [line for line in result.out.splitlines() if line.startswith("S-")]
    assert sources == ["S-0\tw1 w2", "S-1\t"]
    assert "hydra" not in result.err.lower() and "version_base" not in result.err


# errors


def caught(function: Any, *args: Any, **kwargs: Any) -> BaseException:
    """The exception a call raises."""
    with pytest.raises(Exception) as info:
        function(*args, **kwargs)
    return info.value


def load(path: Path) -> Any:
    return checkpoint_utils.load_model_ensemble_and_task([str(path)])


def raise_while_handling(first: BaseException, then: BaseException) -> None:
    try:
        raise first
    except Exception:
        raise then  # noqa: B904 - this is how the trainer does it


def setup(folder: Path, **changes: Any) -> Any:
    cfg = {"_name": "translation", "data": str(folder), **changes}
    return tasks.setup_task(OmegaConf.create(cfg))


def test_missing_data_are_named(folder, tmp_path):
    languages = {"source_lang": "en", "target_lang": "de"}
    missing = tmp_path / "missing"
    assert f"{missing}: no such file" in patches.explain(caught(setup, missing))
    assert "--source-lang" in patches.explain(caught(setup, tmp_path))
    line = patches.explain(caught(setup, tmp_path, **languages))
    assert f"{tmp_path}/dict.en.txt: no such file" in line
    loading = {"train_subset": "train", "dataset_impl": "mmap", "required_seq_len_multiple": 1}
    task = setup(folder / "bin", **languages, **loading)
    line = patches.explain(caught(task.load_dataset, "nosuch"))
    assert f"no data named nosuch in {folder}/bin; check --gen-subset" in line
    unequal = AssertionError("Source and target must contain the same number of examples")
    assert patches.explain(unequal).startswith("source and target have other numbers of lines")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"caf\xe9 3\n", "is not UTF-8"),
        (b"word\n", "Incorrect dictionary format"),
        (b"a 1\na 2\n", "Duplicate word"),
    ],
)
def test_a_bad_dictionary_is_named(tmp_path, content, said):
    path = tmp_path / "dict.en.txt"
    path.write_bytes(content)
    line = patches.explain(caught(Dictionary.load, str(path)))
    assert f"dictionary {path}" in line and said in line


@pytest.mark.parametrize(
    ("name", "flag"), [("sentencepiece", "sentencepiece_model"), ("subword_nmt", "bpe_codes")]
)
def test_a_subword_model_that_lacks_is_named(name, flag):
    from fairseq.registry import REGISTRIES

    config = OmegaConf.structured(REGISTRIES["bpe"]["dataclass_registry"][name]())
    config._name = name
    line = patches.explain(caught(encoders.build_bpe, config))
    assert line == f"--bpe {name} needs --{flag.replace('_', '-')} FILE"
    line = patches.explain(caught(encoders.build_bpe, OmegaConf.merge(config, {flag: "no.model"})))
    assert line == "no.model does not exist; check the path"


def test_a_missing_library_is_named_with_its_installation(monkeypatch):
    from fairseq.data import encoders

    monkeypatch.setitem(sys.modules, "sacremoses", None)
    line = patches.explain(caught(encoders.build_tokenizer, Namespace(tokenizer="moses")))
    assert "pip install sacremoses" in line


class Mistaken(torch.utils.data.Dataset):
    """Data whose sentences cannot be read."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> None:
        raise UserError("train.mt, line 3: no draft")


def test_a_mistake_found_in_another_process_keeps_its_line():
    loader = torch.utils.data.DataLoader(Mistaken(), num_workers=1)
    assert patches.explain(caught(list, loader)) == "train.mt, line 3: no draft"
    text = f"\n\n-- Process 0 terminated:\nTraceback …\n{UserError.__module__}.UserError: no GPU\n"
    spawned = torch.multiprocessing.ProcessRaisedException(text, 0, 1)
    assert patches.explain(spawned) == "no GPU"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"diverse_beam_groups": 2}, "--beam must be a multiple of --diverse-beam-groups"),
        ({"diverse_beam_groups": 5, "diversity_rate": 1.0}, "give at most one of --sampling, --di"),
    ],
)
def test_a_search_that_cannot_be_is_told_in_one_line(folder, options, said):
    task = setup(folder / "bin", source_lang="en", target_lang="de")

    def search() -> None:
        generator = task.build_generator([torch.nn.Module()], Namespace(**options), SearchAlone)
        generator.search.step(0, torch.zeros(1, 5, 9), None)

    assert patches.explain(caught(search)).startswith(said)


class SearchAlone:
    """What a task gives to a generator: how to search."""

    def __init__(self, models: Any, symbols: Any, *, search_strategy: Any, **options: Any) -> None:
        self.search = search_strategy


def test_what_the_commands_assert_is_said_in_one_line():
    import fairseq_cli.generate
    import fairseq_cli.train

    cfg = OmegaConf.structured(FairseqConfig())
    line = patches.explain(caught(fairseq_cli.generate.main, cfg))
    assert line == "--path required for generation!"
    assert "--max-tokens" in patches.explain(caught(fairseq_cli.train.main, cfg))
    cfg.checkpoint.best_checkpoint_metric = "bleu"
    checkpoint_utils.save_checkpoint.best = 1.0
    try:
        trainer = SimpleNamespace(get_num_updates=lambda: 1)
        error = caught(fairseq_cli.train.get_valid_stats, cfg, trainer, {"loss": 1.0}, True)
    finally:
        del checkpoint_utils.save_checkpoint.best
    line = patches.explain(error)
    assert line == "--best-checkpoint-metric bleu: validation gives only loss, num_updates"


@pytest.mark.parametrize(
    ("build", "settings", "said"),
    [
        (
            lambda settings: merge_with_parent(GatedTransformerConfig(), settings),
            {"gate_variant": "pointers"},
            "setting gate_variant: Invalid value 'pointers', expected one of [paper, code, ",
        ),
        (
            lambda settings: merge_with_parent(GatedTransformerConfig(), settings),
            {"gate": "all"},
            "setting gate: Key 'gate' not in 'GatedTransformerConfig'; did you mean gates?",
        ),
        (
            tasks.setup_task,
            {"_name": "noisy_translaton"},
            "task._name: there is no task 'noisy_translaton'; did you mean noisy_translation?",
        ),
        (
            lambda settings: models.build_model(settings, None),
            {"_name": "gated_transformr"},
            "model._name: there is no model 'gated_transformr'; did you mean gated_transformer?",
        ),
        (
            encoders.build_bpe,
            {"_name": "character"},
            "bpe._name: there is no bpe 'character'; did you mean characters?",
        ),
    ],
)
def test_a_setting_that_hydra_lets_through_is_named(build, settings, said):
    line = patches.explain(caught(build, OmegaConf.create(settings)))
    assert line is not None and line.startswith(said)


@pytest.mark.parametrize(
    "kind", [RuntimeError, KeyError, AssertionError, ValueError, OSError, TypeError]
)
def test_anything_else_keeps_its_traceback(kind):
    def fail() -> None:
        raise kind("a fault")

    assert patches.explain(caught(fail)) is None


@pytest.mark.parametrize("program", ["/bin/fairseq-train", "/lib/fairseq_cli/generate.py"])
def test_the_hook_prints_one_line_and_passes_on_what_it_does_not_know(monkeypatch, capsys, program):
    passed: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: passed.append(error))
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.delenv("LEV_PLUGINS_TRACEBACK", raising=False)
    patches.one_line_errors()
    for error in (UserError("fix\nthis"), fault := RuntimeError("fault")):
        sys.excepthook(type(error), error, None)
    assert capsys.readouterr().err == "error: fix this\n"
    assert passed == [fault]
    monkeypatch.setenv("LEV_PLUGINS_TRACEBACK", "1")
    error = caught(raise_while_handling, KeyError("first"), UserError("fix this"))
    sys.excepthook(type(error), error, error.__traceback__)
    shown = capsys.readouterr().err
    assert "Traceback" in shown and shown.endswith("error: fix this\n")


def test_outside_of_commands_the_hook_is_left_alone(monkeypatch):
    before = sys.excepthook
    monkeypatch.setattr(sys, "argv", ["my_program.py"])
    patches.one_line_errors()
    assert sys.excepthook is before


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (None, 0, ""),
        (UserError("fix this"), 1, "error: fix this\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "error: a.txt: no such file"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_run_cli_leaves_with_the_right_status(capsys, raised, status, said):
    def main() -> int | None:
        if raised is not None:
            raise raised
        return None

    with pytest.raises(SystemExit) as leaving:
        patches.run_cli(main)
    assert leaving.value.code == status
    shown = capsys.readouterr().err
    assert shown.startswith(said) and shown.count("\n") <= 1 and bool(shown) == bool(said)


def test_run_cli_hands_on_status_and_faults():
    with pytest.raises(SystemExit) as leaving:
        patches.run_cli(lambda: 3)
    assert leaving.value.code == 3
    with pytest.raises(ZeroDivisionError):
        patches.run_cli(lambda: 1 // 0)


def test_a_reader_that_stops_reading_ends_a_command_without_a_word(tmp_path):
    (tmp_path / "loud.py").write_text(
        "from lev_plugins.fairseq_patches import run_cli\n"
        "def main():\n"
        "    for _ in range(100000):\n"
        "        print('x' * 70)\n"
        "run_cli(main)\n"
    )
    (tmp_path / "pipe.sh").write_text(
        f"{sys.executable} loud.py | head -1\necho ${{PIPESTATUS[0]}}\n"
    )
    result = run("bash pipe.sh", tmp_path)
    assert result.out.splitlines() == ["x" * 70, "141"]
    assert result.err == ""


# logging and scorers


def test_importing_the_plugin_prints_nothing_and_leaves_logging_alone(tmp_path):
    look = "r=logging.getLogger();print(r.level,len(r.handlers))"
    (tmp_path / "import_fairseq.py").write_text(f"import logging,fairseq;{look}")
    (tmp_path / "plugin.py").write_text(f"import logging,{PACKAGE.name};{look}")
    assert run("python import_fairseq.py", tmp_path).out.split() == [str(logging.DEBUG), "1"]
    ours = run("python plugin.py", tmp_path)
    assert (ours.out.split(), ours.err) == ([str(logging.WARNING), "0"], "")


def test_the_root_logger_is_calmed_in_a_command_only(monkeypatch):
    root = logging.getLogger()
    before = root.level
    try:
        root.setLevel(logging.DEBUG)
        patches.restore_log_level()
        assert root.level == logging.DEBUG
        monkeypatch.setattr(sys, "argv", ["/bin/fairseq-generate"])
        monkeypatch.setenv("LOGLEVEL", "debug")
        patches.restore_log_level()
        assert root.level == logging.DEBUG
        monkeypatch.delenv("LOGLEVEL")
        patches.restore_log_level()
        assert root.level == logging.INFO
    finally:
        root.setLevel(before)


def test_chrf_gives_its_score_where_fairseq_raises():
    from fairseq.scoring.chrf import ChrFScorer

    scorer = ChrFScorer(None)
    scorer.add_string("the cat", "the cap")
    assert 0 < scorer.score() < 100
    with pytest.raises(AttributeError):
        ChrFScorer.score.__wrapped__(scorer)


@pytest.mark.parametrize("name", ["characters", "bytes"])
def test_encoders_without_a_configuration_can_be_chosen(name):
    from fairseq.data import encoders
    from fairseq.registry import REGISTRIES

    ours = REGISTRIES["bpe"]["dataclass_registry"][name]
    assert ours.__module__.startswith(PACKAGE.name), "fairseq's fault is gone"
    args = options.parse_args_and_arch(options.get_generation_parser(), ["data", "--bpe", name])
    encoder = encoders.build_bpe(convert_namespace_to_omegaconf(args).bpe)
    assert encoder.decode(encoder.encode("a b")) == "a b"


def test_applying_twice_changes_nothing():
    def now() -> list[Any]:
        return [distributed_utils.call_main, sys.excepthook, *logging.getLogger().handlers]

    before = now()
    patches.apply()
    assert now() == before
