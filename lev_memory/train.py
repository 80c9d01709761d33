"""Train the models of a memory that ``prepare`` made, for as long as it helps.

A translation model learns for 30 % of the time, from sources with their change marked; it starts
from embeddings of symbols that stand in the same pairs. LevT starts from it and learns to edit
drafts. The learning rate falls to zero when the time is over. A second call goes on from the last
checkpoint, and with more minutes LevT learns on. In the end it is exported for lev_runtime.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lev_runtime.errors import UserError, counted
from lev_runtime.refine.editor import Editor

from .formats.files import EXPORTED, read_settings, require_work, write_json
from .prepare import PARTS, Say, part_of
from .repair.text import to_text
from .scores import corpus, ter

BEGINNING = 40  # updates that measure the speed
TRANSLATION_SHARE = 0.3  # of the time
VALIDATIONS = 8  # in the time of a model
# passes over the data that need no dropout; each doubling needs 0.1 more
PASSES_WITHOUT_DROPOUT, LARGEST_DROPOUT = 3, 0.3
SAME_TIME = 1e-5  # hours
DELETE_THRESHOLD = 0.5  # by 0.7 two models have 0.1 and 0.5 TER more on the validation part
FEW_UPDATES = 400  # of an editor; with fewer it makes more edits necessary than the drafts
TRAINERS = "lev_memory.trainers"  # entry points of packages for fairseq's --user-dir
_EVENT = re.compile(r"\| INFO \| (train_inner|valid) \| (\{.*\})\s*$")
_NO_EDITS = re.compile(r"valid: no edits, the drafts as they are: \S+ ([\d.]+)")
_SIZES = "--{0}-embed-dim 128 --{0}-ffn-embed-dim 512 --{0}-layers 2 --{0}-attention-heads 4"
_SIZES += " --{0}-normalize-before "
ENCODER, DECODER = _SIZES.format("encoder"), _SIZES.format("decoder")
COMMON = (
    "--source-lang src --target-lang tgt --max-source-positions 512 --max-target-positions 512 "
    "--share-all-embeddings --bpe sentencepiece --skip-invalid-size-inputs-valid-test "
    "--lr 0.004 --adam-betas (0.9,0.98) --clip-norm 1.0 --lr-scheduler time_budget "
    "--processor-time --max-tokens 2600 --no-epoch-checkpoints --log-format json --log-interval 20"
)
VALIDATION = (
    "--validate-interval 1000000 --save-interval 1000000 --keep-interval-updates 1 "
    "--max-tokens-valid 4000"
)


class Stage(NamedTuple):
    """The training of one model.

    name: of the folder of its checkpoints. data: folder of its binarised data. lines: the text
    that these were made from. cost: of an update, in updates of the translation model.
    """

    name: str
    data: str
    lines: str
    cost: float
    flags: str


TRANSLATION = Stage(
    "translation",
    "all",
    "text/all.tgt",
    1.0,
    # left to right, in blocks like LevT's, with rotary positions, which fairseq's has not
    f"{ENCODER}--task translation --arch pbd_transformer --no-parameter-sharing "
    "--no-future-modelling --rotary-positions --criterion label_smoothed_cross_entropy "
    "--label-smoothing 0.1",
)
LEVT = Stage(
    "model",
    "data",
    "text/train.tgt",
    1.5,
    f"{ENCODER}{DECODER}--draft-lang draft --old-source --eval-metrics ter_normalized "
    "--best-checkpoint-metric ter_normalized --eval-bleu-remove-bpe sentencepiece "
    "--task translation_edit --arch levenshtein_editor --rotary-positions "
    "--criterion edit_policy_loss --label-smoothing 0 --placeholder-weight 2 "
    "--token-weight 2 --deletion-trace --source-pointer "
    "--kept-tokens incomplete --token-masking uniform --max-insertions 63 "
    "--alpha-start 0.3 --alpha 0.8 --beta-start 0.3 --beta 0.8 --roll-in-updates 0.5 "
    f"--delete-threshold {DELETE_THRESHOLD}",
)


class Recipe(NamedTuple):
    """Holds what the first updates measured: the speed of the machine, the size of the memory.

    passes: of the editor over its data. updates: of each stage. minutes: of all stages.
    """

    passes: float
    updates: dict[str, int]
    minutes: float

    def in_minutes(self, minutes: float) -> "Recipe":
        """Returns the recipe of a longer training."""
        factor = max(minutes / self.minutes, 1.0)
        updates = {name: round(count * factor) for name, count in self.updates.items()}
        return Recipe(self.passes * factor, updates, max(minutes, self.minutes))


def dropout_for(passes: float) -> float:
    """Returns 0 for three passes over the data or fewer, 0.1 for six, 0.2 for twelve."""
    doublings = math.log2(max(passes, 1e-3) / PASSES_WITHOUT_DROPOUT)
    return round(min(max(0.1 * doublings, 0.0), LARGEST_DROPOUT), 2)


def checkpoint_of(folder: Path) -> Path | None:
    """Returns the best checkpoint of a training, else the last; None if there is none."""
    paths = (folder / f"checkpoint_{name}.pt" for name in ("best", "last"))
    return next((path for path in paths if path.is_file()), None)


@dataclass
class Training:
    """Trains the models of a WORK.

    minutes: of the processor, for all stages. start: a checkpoint of a larger memory. extra:
    flags for fairseq-train, which win. progress: as the training logged it last.
    """

    work: Path
    minutes: float
    seed: int
    start: Path | None
    extra: Sequence[str]
    say: Say
    progress: dict[str, str] = field(default_factory=dict)

    @property
    def stages(self) -> list[Stage]:
        return [LEVT] if self.start else [TRANSLATION, LEVT]

    def command(self, stage: Stage, hours: float, more: Sequence[str]) -> list[str]:
        """Returns fairseq-train for a stage."""
        options = {
            "--user-dir": plugin_folder(),
            "--sentencepiece-model": f"{self.work}/spm.model",
            "--stop-time-hours": f"{hours:.6f}",
            "--seed": f"{self.seed}",
            "--save-dir": f"{self.work / stage.name}",
        }
        flags = f"{stage.flags} {COMMON}"
        if "--optimizer" not in self.extra:  # another one knows no --muon-update-rms
            flags += " --optimizer muon --muon-update-rms 0.4"
        if multiplies_bf16():  # elsewhere it costs a tenth more
            flags += " --bf16"
        start = checkpoint_of(self.work / TRANSLATION.name) or self.start
        if stage is LEVT and start:
            options["--finetune-from-model"] = str(start)
        if stage is TRANSLATION:
            options["--encoder-embed-path"] = str(self.embeddings(flags))
        command = [program("fairseq-train"), str(self.work / stage.data), *flags.split()]
        for option in options.items():
            command += option
        return [*command, *more]

    def embeddings(self, flags: str) -> Path:
        """Returns a file of embeddings as wide as the model, and makes it in ten seconds."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        parser.add_argument("--encoder-embed-dim")
        width = parser.parse_known_args([*flags.split(), *self.extra])[0].encoder_embed_dim
        path = self.work / f"embeddings.{width}.txt"
        if not path.is_file():
            self.say("embeddings: from which symbols stand in the same pairs")
            words = [f"{self.work}/all", str(path), "--dim", width]
            run_logged("lev-embeddings", words, self.work / "embeddings.log")
        return path

    def hours(self, stage: Stage) -> float:
        """Returns the time of a stage; the editor has what the translation model left."""
        total = self.minutes / 60
        translation = TRANSLATION_SHARE * total if len(self.stages) > 1 else 0.0
        if stage is TRANSLATION:
            return translation
        return total - (self.spent(TRANSLATION) or translation)

    def spent(self, stage: Stage) -> float:
        """Returns the hours after which a stage was done; 0 if it is not, or does not say."""
        path = self.work / stage.name / "done"
        hours = path.read_text("utf-8").strip() if path.is_file() else ""
        return float(hours or 0)

    def run(self, stage: Stage, more: Sequence[str]) -> None:
        """Trains a stage, and prints a line for each that it logs."""
        folder = self.work / stage.name
        folder.mkdir(parents=True, exist_ok=True)
        command = self.command(stage, self.hours(stage), more)
        with (
            open(folder / "train.log", "a", encoding="utf-8") as log,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
            ) as process,
        ):
            for line in process.stdout or ():
                log.write(line)
                log.flush()
                self.report(stage, line)
        if process.returncode:
            raise failure("fairseq-train", folder / "train.log")

    def report(self, stage: Stage, line: str) -> None:
        """Prints what a line of the log says of the progress."""
        if drafts := _NO_EDITS.search(line):
            self.say(f"{stage.name}: TER {drafts[1]}, the drafts as they are")
        event = _EVENT.search(line)
        if not event:
            return
        numbers = json.loads(event[2])
        if event[1] == "valid":
            ter = numbers.get("valid_ter_normalized")
            score = f"TER {ter}" if ter else f"loss {numbers['valid_loss']}"
            best = numbers.get("valid_best_ter_normalized") or numbers.get("valid_best_loss")
            self.say(f"{stage.name}: {score}, the best {best or 'so far'}")
            return
        self.progress = numbers
        passes, left = float(numbers["update"]), float(numbers["minutes_left"])
        updates = f"{counted(int(numbers['num_updates']), 'update')}, {passes:.2f} passes"
        self.say(f"{stage.name}: {updates}, {left:.1f} minutes left")

    def recipe(self) -> Recipe:
        """Returns what was measured before; else measures it, by updates of the first stage."""
        path = self.work / "model.json"
        if path.is_file():
            try:
                recipe = Recipe(**read_settings(path)).in_minutes(self.minutes)
            except TypeError:
                raise UserError(f"{path} is of another version: delete it") from None
        else:
            recipe = self.measured(self.stages[0])
        write_json(path, recipe._asdict())
        return recipe

    def measured(self, first: Stage) -> Recipe:
        """Returns the recipe by the speed of a few updates."""
        flags = f"--disable-validation --max-update {BEGINNING} --log-interval {BEGINNING // 2}"
        self.run(first, [*self.extra, *flags.split()])
        spent = self.hours(first) - float(self.progress["minutes_left"]) / 60
        speed = BEGINNING / spent  # updates an hour
        updates = {
            stage.name: int(self.hours(stage) * speed * first.cost / stage.cost)
            for stage in self.stages
        }
        lines = float(self.progress["update"]) * self.rows(first) / BEGINNING  # an update
        passes = updates[LEVT.name] * lines / self.rows(LEVT)
        return Recipe(round(passes, 2), updates, self.minutes)

    def rows(self, stage: Stage) -> int:
        """Returns the number of lines that a stage learns from."""
        return (self.work / stage.lines).read_bytes().count(b"\n")

    def train(self) -> None:
        """Runs the stages that are not done."""
        recipe = self.recipe()
        dropout = dropout_for(recipe.passes)
        self.say(f"about {recipe.passes:.1f} passes over the matches to come: dropout {dropout:g}")
        updates = recipe.updates[LEVT.name]
        if updates < FEW_UPDATES and not self.start:
            enough = math.ceil(recipe.minutes * FEW_UPDATES / max(updates, 1))
            few = f"too few to learn from, about {counted(updates, 'update')}"
            self.say(f"{few}: --minutes {enough}, or "
                     "--start from the model of a larger memory")  # fmt: skip
        for stage in self.stages:
            done = self.work / stage.name / "done"
            if done.is_file() and stage is TRANSLATION:
                self.say(f"{stage.name} is trained")
            elif done.is_file() and self.hours(stage) < self.spent(stage) + SAME_TIME:
                self.say(f"{stage.name} is trained; with more --minutes it learns on")
            else:
                interval = max(recipe.updates[stage.name] // VALIDATIONS, 1)
                flags = f"{VALIDATION} --dropout {dropout:g} --validate-interval-updates {interval}"
                flags += f" --save-interval-updates {interval}"
                self.run(stage, [*flags.split(), *self.extra])
                done.write_text(f"{self.hours(stage)}\n", "utf-8")


def train(
    work: Path,
    minutes: float = 60.0,
    seed: int = 1,
    start: Path | None = None,
    extra: Sequence[str] = (),
    say: Say = lambda line: None,
) -> None:
    """Trains the model of a WORK, or goes on, and exports it.

    Args:
        start: another WORK, whose model is the first.
        extra: flags for fairseq-train.

    Raises:
        UserError: there is nothing to train on or to start from, or fairseq-train failed.
    """
    if minutes <= 0:
        raise UserError(f"--minutes {minutes:g}: give a number above 0")
    checkpoint = checkpoint_of(start / LEVT.name) if start else None
    if start and not checkpoint:
        raise UserError(f"--start {start}: no trained model there")
    require_work(work)
    if not (work / "pieces").is_dir():
        raise UserError(f"no data in {work}: make them with lev-memory prepare {work}")
    training = Training(work.resolve(), minutes, seed, checkpoint, extra, say)
    if not (work / "data").is_dir():
        binarise(work)
    if start and symbols_of(work) != symbols_of(start):
        raise UserError(f"{work} has other subwords than {start}: prepare it with --like {start}")
    training.train()
    export(work)


def binarise(work: Path) -> None:
    """Makes the data of both trainings from the subwords; the log is WORK/prepare.log."""
    log, pieces = work / "prepare.log", work / "pieces"
    log.unlink(missing_ok=True)
    like = read_settings(work / "memory.json").get("like")
    words = "--source-lang src --target-lang tgt --joined-dictionary".split()
    prefixes = [f"--trainpref={pieces}/all", f"--validpref={pieces}/valid"]
    same = [f"--srcdict={like}/all/dict.src.txt"] if like else []
    shutil.rmtree(work / "all", ignore_errors=True)  # a run may have ended between the two
    run_logged("lev-preprocess", [*words, *prefixes, *same, f"--destdir={work}/all"], log)
    prefixes = [f"--{part}pref={pieces}/{part}" for part in PARTS]
    same = ["--draft-lang=draft", f"--srcdict={work}/all/dict.src.txt"]
    run_logged("lev-preprocess", [*words, *prefixes, *same, f"--destdir={work}/binarised"], log)
    (work / "binarised").rename(work / "data")


def export(work: Path) -> None:
    """Exports the trained model, so that it is used without torch: the best checkpoint, the last
    one or their average, whichever does best on the validation part.

    Raises:
        UserError: there is no model, or what exports it is not installed.
    """
    log, folder, staging = work / "export.log", work / LEVT.name, work / "exporting"
    shutil.rmtree(staging, ignore_errors=True)
    paths = [folder / f"checkpoint_{name}.pt" for name in ("best", "last")]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        raise UserError(f"{work} holds no model: lev-memory train {work} trains one")
    staging.mkdir()
    if len(paths) > 1:
        average = staging / "checkpoint_average.pt"
        run_logged("lev-average", [*map(str, paths), "--output", str(average)], log)
        paths.append(average)
    exported = [staging / path.stem for path in paths]
    for path, target in zip(paths, exported):
        # smaller, and faster; as good in the rows of README.md and RESULTS.md
        run_logged("lev-export", [str(path), str(target), "--int8"], log)
    best = min(exported, key=lambda path: validated(path, work)) if len(paths) > 1 else exported[0]
    shutil.rmtree(work / EXPORTED, ignore_errors=True)
    best.rename(work / EXPORTED)
    shutil.rmtree(staging)


def validated(exported: Path, work: Path) -> float:
    """Returns the TER of an exported model on the validation part, from its drafts."""
    editor = Editor(exported)
    rows = [row for row in part_of(work, "valid") if editor.fits(row.new, row.draft, row.old)]
    traces = editor.edit(
        [row.new for row in rows],
        [row.draft for row in rows],
        old_sources=[row.old for row in rows],
        delete_threshold=DELETE_THRESHOLD,
        history=False,
    )
    texts = [to_text(trace.text) for trace in traces]
    return corpus(ter(), texts, [to_text(row.tgt) for row in rows])


def plugin_folder() -> str:
    """Returns the folder of fairseq's plug-in that trains: the package that an entry point names.

    Raises:
        UserError: it is not installed.
    """
    for entry in importlib.metadata.entry_points(group=TRAINERS):
        package = importlib.util.find_spec(entry.module)
        if package and package.submodule_search_locations:
            return package.submodule_search_locations[0]
    raise UserError("nothing that trains is installed: pip install '.[train,export]'")


def program(name: str) -> str:
    """Returns the path of a console script: on the PATH, else of this environment.

    Raises:
        UserError: it is not installed.
    """
    path = shutil.which(name) or shutil.which(Path(sys.executable).with_name(name))
    if path is None:
        raise UserError(
            f"{name} is not installed; a training needs it: pip install '.[train,export]'"
        )
    return path


def run_logged(name: str, arguments: Sequence[str], log: Path) -> None:
    """Runs a command to its end; what it prints is appended to a log.

    Raises:
        UserError: it is not installed or failed, with the last line that it printed.
    """
    command = [program(name), *arguments]
    with open(log, "a", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    if status:
        raise failure(name, log)


def failure(name: str, log: Path) -> UserError:
    """Returns the error of a command that failed: the last line of its log."""
    last = log.read_text("utf-8", "replace").rstrip().rpartition("\n")[2]
    return UserError(f"{name} failed: {last.strip().removeprefix('error: ')} (see {log})")


def multiplies_bf16() -> bool:
    """Returns whether oneDNN multiplies bfloat16 here: on x86-64 with AVX-512."""
    described = Path("/proc/cpuinfo")
    return described.is_file() and " avx512bw " in described.read_text("utf-8", "replace")


def symbols_of(work: Path) -> list[str]:
    """Returns the vocabulary that models of a memory read; none without data."""
    path = work / "data/dict.src.txt"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [line.split()[0] for line in lines]
