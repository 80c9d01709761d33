"""Train the models of a memory that ``prepare`` made, for as long as it helps.

A translation model learns for 30 % of the time, from sources with their change marked; it starts
from embeddings of symbols that stand in the same pairs. LevT starts from it and learns to edit
drafts. The learning rate falls to zero when the time is over. A second call goes on from the last
checkpoint, and with more minutes LevT learns on. In the end it is exported for lev_runtime.
"""

import argparse
import importlib.util
import json
import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lev_runtime.errors import UserError

from .commands import failure, program, run_logged
from .formats.files import read_settings, require_work, write_json
from .scores import ter

BEGINNING = 40  # updates after which the speed is known
TRANSLATION_SHARE = 0.3  # of the time
EDITOR_COST = 1.5  # of an update of the editor, in updates of the translation model
VALIDATIONS = 8  # in the time of a model
PATIENCE = 5  # validations without a better one, after which a training stops
# passes over the data that need no dropout; each doubling needs 0.1 more
PASSES_WITHOUT_DROPOUT, LARGEST_DROPOUT = 3, 0.3
SAME_TIME = 1e-5  # hours
FEW_UPDATES = 400  # of an editor, before which it does not need fewer edits than the drafts
NEVER = 1_000_000
EXPORTED = "exported"  # the folder in WORK of the model that is used
_LINE = re.compile(r"\| INFO \| (train_inner|valid) \| (\{.*\})\s*$")
_NO_EDITS = re.compile(r"valid: no edits, the drafts as they are: \S+ ([\d.]+)")
_SIZES = "--{0}-embed-dim 128 --{0}-ffn-embed-dim 512 --{0}-layers 2 --{0}-attention-heads 4"
_SIZES += " --{0}-normalize-before"
ENCODER, DECODER = (_SIZES.format(side).split() for side in ("encoder", "decoder"))
SMOOTHED = "--criterion label_smoothed_cross_entropy --label-smoothing 0.1".split()
DRAFTS = "--draft-lang draft --old-source".split()
EDITS = (
    "--eval-metrics ter_normalized --best-checkpoint-metric ter_normalized "
    "--eval-bleu-remove-bpe sentencepiece"
).split()


class Stage(NamedTuple):
    """A model's training: the folder of its checkpoints and that of its data in WORK, its share of
    the time, flags of its own, and the stage whose model it starts from."""

    name: str
    data: str
    share: float
    flags: Sequence[str]
    start: str = ""


TRANSLATION = Stage(
    "translation",
    "all",
    TRANSLATION_SHARE,
    # from left to right, in blocks like LevT's, with rotary positions, which fairseq's has not
    [*"--task translation --arch pbd_transformer --no-parameter-sharing".split(),
     *"--no-future-modelling --rotary-positions".split(), *ENCODER, *SMOOTHED],
)  # fmt: skip
LEVT = Stage(
    "model",
    "data",
    1 - TRANSLATION_SHARE,
    [*DRAFTS, *ENCODER, *DECODER, *EDITS,
     *"--task translation_edit --arch levenshtein_editor --rotary-positions".split(),
     *"--criterion edit_policy_loss --label-smoothing 0 --placeholder-weight 2".split(),
     *"--token-weight 2 --deletion-trace --source-pointer --delete-words".split(),
     *"--kept-tokens incomplete --token-masking uniform --max-insertions 63".split(),
     *"--alpha-start 0.3 --alpha 0.8 --beta-start 0.3 --beta 0.8 --roll-in-updates 0.5".split(),
     *"--delete-threshold 0.9".split()],
    "translation",
)  # fmt: skip
STAGES = [TRANSLATION, LEVT]


class Recipe(NamedTuple):
    """What was chosen by the speed of the machine and the size of the memory.

    passes: of the editor over its data, in its share of the time. updates: of each stage. minutes:
    of all stages, 0 where they were not noted.
    """

    dropout: float
    passes: float
    updates: dict[str, int]
    minutes: float = 0.0

    def in_minutes(self, minutes: float) -> "Recipe":
        """The same for a longer time."""
        longer = minutes / (self.minutes or minutes)
        if longer <= 1:
            return self._replace(minutes=self.minutes or minutes)
        updates = {name: round(count * longer) for name, count in self.updates.items()}
        passes = self.passes * longer
        return Recipe(dropout_for(passes), round(passes, 2), updates, minutes)


def dropout_for(passes: float) -> float:
    """None for three passes over the data or fewer, 0.1 for six, 0.2 for twelve."""
    doublings = math.log2(max(passes, 1e-3) / PASSES_WITHOUT_DROPOUT)
    return round(min(max(0.1 * doublings, 0.0), LARGEST_DROPOUT), 2)


def checkpoint_of(folder: Path) -> Path | None:
    """The best checkpoint of a training, else the last; None where there is none."""
    paths = (folder / f"checkpoint_{name}.pt" for name in ("best", "last"))
    return next((path for path in paths if path.is_file()), None)


class Training:
    """The trainings of a WORK.

    minutes: of the processor, for all stages. start: a checkpoint of a larger memory. extra:
    flags for fairseq-train, which win.
    """

    def __init__(
        self, work: Path, minutes: float, seed: int, start: Path | None, extra: Sequence[str]
    ) -> None:
        require_work(work)
        if not (work / "data").is_dir():
            raise UserError(f"no data in {work}: lev-memory prepare makes them")
        self.work, self.minutes, self.seed = work.resolve(), minutes, seed
        self.start, self.extra = start, [*extra]
        target = (self.work / "text/valid.tgt").read_text("utf-8").splitlines()
        self.valid_words = sum(ter().statistics(line, line)[1] for line in target)
        self.minutes_left = 0.0  # as the training said last

    def command(self, stage: Stage, hours: float, more: Sequence[str]) -> list[str]:
        """fairseq-train for a stage."""
        limits = "--max-source-positions 512 --max-target-positions 512".split()
        optimizer = "--optimizer muon --muon-update-rms 0.4".split()
        if "--optimizer" in self.extra:  # another one knows no --muon-update-rms
            optimizer = []
        bf16 = ["--bf16"] if multiplies_bf16() else []  # elsewhere it costs a tenth more
        return [
            *(program("fairseq-train"), str(self.work / stage.data), "--user-dir", plug_in()),
            *("--source-lang", "src", "--target-lang", "tgt", *stage.flags, *limits),
            *("--share-all-embeddings", "--bpe", "sentencepiece"),
            *("--sentencepiece-model", str(self.work / "spm.model")),
            *("--skip-invalid-size-inputs-valid-test", *optimizer, "--lr", "0.004"),
            *("--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0", *bf16),
            *("--lr-scheduler", "time_budget", "--processor-time"),
            *("--stop-time-hours", f"{hours:.6f}", "--max-tokens", "2600"),
            *("--seed", str(self.seed), "--save-dir", str(self.work / stage.name)),
            *("--no-epoch-checkpoints", "--log-format", "json", "--log-interval", "20"),
            *more,
        ]

    def hours(self, stage: Stage, stages: Sequence[Stage]) -> float:
        """The time of a stage, so that all stages together take the minutes: what earlier ones are
        done with is theirs, and the others share the rest."""
        spent = {earlier.name: self.spent(earlier) for earlier in stages[:-1]}
        rest = self.minutes / 60 - sum(spent.values())
        whole = sum(other.share for other in stages if not spent.get(other.name))
        return rest * stage.share / whole

    def spent(self, stage: Stage) -> float:
        """The hours after which a stage was done; 0 where it is not, or does not say."""
        path = self.work / stage.name / "done"
        said = path.read_text("utf-8").strip() if path.is_file() else ""
        return float(said or 0)

    def started_from(self, stage: Stage) -> list[str]:
        """The flags to start from another model, where there is one."""
        path = checkpoint_of(self.work / stage.start) if stage.start else None
        path = path or (self.start if stage.name == "model" else None)
        return ["--finetune-from-model", str(path)] if path else []

    def embeddings(self, stage: Stage) -> Path:
        """The file of embeddings as wide as the stage's model; ten seconds where there is none."""
        options = argparse.ArgumentParser(allow_abbrev=False)
        options.add_argument("--encoder-embed-dim")
        sizes, _ = options.parse_known_args([*stage.flags, *self.extra])
        path = self.work / f"embeddings.{sizes.encoder_embed_dim}.txt"
        if not path.is_file():
            print("embeddings: from which symbols stand in the same pairs", flush=True)
            data = str(self.work / stage.data)
            options_of = [data, str(path), "--dim", sizes.encoder_embed_dim]
            run_logged("lev-embeddings", options_of, self.work / "embeddings.log")
        return path

    def run(self, stage: Stage, hours: float, more: Sequence[str]) -> float:
        """Trains, with a line for what is new; returns the passes of 100 updates."""
        folder, passes = self.work / stage.name, 0.0
        folder.mkdir(parents=True, exist_ok=True)
        if not stage.start:
            more = ["--encoder-embed-path", str(self.embeddings(stage)), *more]
        command = self.command(stage, hours, more)
        with (
            open(folder / "train.log", "a", encoding="utf-8") as log,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                log.flush()
                event, drafts = _LINE.search(line), _NO_EDITS.search(line)
                if drafts:
                    print(f"{stage.name}: {self.edits(drafts[1])}, the drafts as they are")
                if event:
                    numbers = json.loads(event[2])
                    passes = self.say(stage, event[1], numbers) or passes
        if process.returncode:
            raise failure("fairseq-train", folder / "train.log")
        return passes

    def say(self, stage: Stage, kind: str, numbers: dict[str, str]) -> float:
        """A line on the course of a training; returns the passes of an update, 0 if not told."""
        if kind == "train_inner":
            done, updates = float(numbers["update"]), int(numbers["num_updates"])
            self.minutes_left = float(numbers["minutes_left"])
            left = f"{self.minutes_left:.1f} minutes left"
            print(f"{stage.name}: {updates} updates, {done:.2f} passes, {left}", flush=True)
            return done / updates
        said = f"loss {numbers['valid_loss']}"
        if "valid_ter_normalized" in numbers:
            said = self.edits(numbers["valid_ter_normalized"])
        best = numbers.get("valid_best_ter_normalized") or numbers.get("valid_best_loss")
        print(f"{stage.name}: {said}" + (f", the best {best}" if best else ""), flush=True)
        return 0.0

    def edits(self, ter: str) -> str:
        """A TER of the validation part in words."""
        return f"{float(ter) * self.valid_words / 100:.0f} edits on valid, TER {ter}"

    def recipe(self, stages: Sequence[Stage]) -> Recipe:
        """What was chosen before, else by a few updates of the first stage."""
        path = self.work / f"{stages[-1].name}.json"
        if path.is_file():
            try:
                recipe = Recipe(**read_settings(path)).in_minutes(self.minutes)
            except TypeError as error:
                raise UserError(f"{path} is of another version: delete it") from error
            write_json(path, recipe._asdict())
            return recipe
        first = stages[0]
        hours = self.hours(first, stages)
        beginning = ["--disable-validation", "--max-update", str(BEGINNING)]
        beginning += ["--log-interval", str(BEGINNING // 2)]
        pass_share = self.run(first, hours, [*self.started_from(first), *self.extra, *beginning])
        seconds = 60 * (60 * hours - self.minutes_left) / BEGINNING
        sizes = {one.data: self.rows(one.data) for one in stages}
        updates = {}
        for stage in stages:
            cost = EDITOR_COST if stage.name == "model" and first.name != "model" else 1.0
            updates[stage.name] = int(3600 * self.hours(stage, stages) / (cost * seconds))
        last = stages[-1]
        passes = updates[last.name] * pass_share * sizes[first.data] / sizes[last.data]
        recipe = Recipe(dropout_for(passes), round(passes, 2), updates, self.minutes)
        write_json(path, recipe._asdict())
        return recipe

    def rows(self, data: str) -> int:
        """How many lines are learnt from."""
        name = "all" if data == "all" else "train"
        return len((self.work / f"text/{name}.tgt").read_text("utf-8").splitlines())

    def train(self) -> None:
        """Runs the stages that are not done."""
        stages = [one for one in STAGES if not (self.start and one.data == "all")]
        recipe = self.recipe(stages)
        passes = f"about {recipe.passes:.1f} passes over the matches"
        print(f"{passes} to come: dropout {recipe.dropout:g}", flush=True)
        updates = recipe.updates[stages[-1].name]
        if updates < FEW_UPDATES and not self.start:
            enough = math.ceil(recipe.minutes * FEW_UPDATES / max(updates, 1))
            print(f"about {updates} updates are too few to learn from: --minutes {enough}, or "
                  "--start from the model of a larger memory", flush=True)  # fmt: skip
        for stage in stages:
            done, spent = self.work / stage.name / "done", self.spent(stage)
            hours = self.hours(stage, stages)
            last = stage == stages[-1]
            if done.is_file() and (not last or hours < spent + SAME_TIME):
                say = f"{stage.name} is trained"
                print(f"{say}; more than {recipe.minutes:g} --minutes go on" if last else say)
                continue
            every = max(recipe.updates[stage.name] // VALIDATIONS, 1)
            validation = [
                *("--dropout", f"{recipe.dropout:g}", "--patience", str(PATIENCE)),
                *("--validate-interval", str(NEVER), "--save-interval", str(NEVER)),
                *("--validate-interval-updates", str(every), "--keep-interval-updates", "1"),
                *("--save-interval-updates", str(every), "--max-tokens-valid", "4000"),
            ]
            more = [*validation, *self.started_from(stage), *self.extra]
            self.run(stage, hours, more)
            done.write_text(f"{hours}\n", "utf-8")


def run(args: argparse.Namespace) -> int:
    """The command ``train``.

    Raises:
        UserError: there is nothing to train on or to start from, or fairseq-train failed.
    """
    if args.minutes <= 0:
        raise UserError(f"--minutes {args.minutes:g}: give a number above 0")
    start = checkpoint_of(args.start / LEVT.name) if args.start else None
    if args.start and not start:
        raise UserError(f"--start {args.start}: there is no trained model")
    if start and not same_subwords(args.work, args.start):
        raise UserError(
            f"{args.work} has other subwords than {args.start}: prepare it with --like {args.start}"
        )
    training = Training(args.work, args.minutes, args.seed, start, args.extra)
    training.train()
    export(args.work)
    print(f"next: lev-memory evaluate {args.work}")
    return 0


def export(work: Path) -> None:
    """Exports the trained model, so that it is used without torch.

    Raises:
        UserError: there is no model, or what exports it is not installed.
    """
    checkpoint = checkpoint_of(work / "model")
    if checkpoint is None:
        raise UserError(f"{work} holds no model: lev-memory train {work} trains one")
    staged = work / "exporting"
    shutil.rmtree(staged, ignore_errors=True)
    run_logged("lev-export", [str(checkpoint), str(staged)], work / "export.log")
    shutil.rmtree(work / EXPORTED, ignore_errors=True)
    staged.rename(work / EXPORTED)


def plug_in() -> str:
    """Returns the folder of lev_plugins for fairseq's --user-dir."""
    spec = importlib.util.find_spec("lev_plugins")
    assert spec is not None and spec.submodule_search_locations  # of the same distribution
    return spec.submodule_search_locations[0]


def multiplies_bf16() -> bool:
    """Returns whether oneDNN multiplies bfloat16 here: on x86-64 with AVX-512."""
    described = Path("/proc/cpuinfo")
    return described.is_file() and " avx512bw " in described.read_text("utf-8", "replace")


def same_subwords(work: Path, other: Path) -> bool:
    """Whether models of two memories read the same vocabulary."""
    paths = [folder / "data/dict.src.txt" for folder in (work, other)]
    if not all(path.is_file() for path in paths):
        return False
    symbols = [[line.split()[0] for line in path.read_text("utf-8").splitlines()] for path in paths]
    return symbols[0] == symbols[1]
