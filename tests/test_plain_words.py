"""Words that must not return: each has a plain one that the field uses."""

import re
from pathlib import Path

import pytest

#: What stood there → what stands there now.
PLAIN = {
    r"mend(s|ed|ing)?": "fix, correct",
    r"[Tt]he engine('s)?": "fairseq",
    r"[Ww]ork-rounds?": "workaround",
    r"[Bb]lanks": "spaces, whitespace",
    r"[Dd]rawn": "sampled, randomly initialised, plotted",
    r"[Dd]oing nothing": "no-edit baseline",
    r"[Ss]everal answers": "n-best",
    r"taken up again|goes on": "resumed, continues",
    r"make room": "free some space",
    r"strangers?": "untrusted",
    r"way_on": "recovery_hint",
    r"distrust_checkpoints": "harden_checkpoint_loading",
    r"calm_(root_logger|hydra_warnings)": "restore_log_level, filter_hydra_warnings",
    r"end_readers_in_time": "stop_prefetch_threads",
    r"cut_batches_once": "deterministic_batching",
    r"keep_every_sentence": "keep_last_batch",
    r"carry_over": "restore_early_stopping",
    r"settle_model": "resolve_model_config",
    r"hide_sums": "hide_private_stats",
    r"read_lines_whole": "patch_interactive_reader",
    r"choose_other": "mask_forbidden",
    r"standing_alone": "strip_pretrained",
    r"make_ready": "prepack_weight",
    r"worth_it": "maybe_pack",
    r"lower_precision": "quantize",
    r"spelt_out": "is_char_tokenized",
    r"WatchedPolicy": "RecordingPolicy",
    r"greetings": "latent_self_attention",
    r"Cutter|PieceDictionary": "Tokenizer, SubwordDictionary",
    r"TriplesTask|TriplesConfig": "PostEditingTask, PostEditingConfig",
}
#: Files that tell the past, or hold text of others.
EXEMPT = {
    "CHANGELOG.md",
    "everyday.tsv",
    "deprecation.py",
    "test_plain_words.py",
    "test_deprecation.py",
}
FOLDERS = ("lev_plugins", "tests", "examples", "benchmarks")
KINDS = {".py", ".md", ".sh", ".toml", ".txt", ".yaml", ".html", ".js", ".css"}


@pytest.fixture(scope="module")
def lines(root: Path) -> list[tuple[str, str]]:
    """Every line of ours with its place."""
    files = [file for file in root.iterdir() if file.is_file()]
    files += [file for folder in FOLDERS for file in (root / folder).rglob("*") if file.is_file()]
    return [
        (f"{file.relative_to(root)}:{number}", line)
        for file in files
        if file.suffix in KINDS and file.name not in EXEMPT
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if "renamed_" not in line
    ]


@pytest.mark.parametrize("word", PLAIN)
def test_a_plain_word_is_used(lines, word):
    found = re.compile(rf"(?<![A-Za-z]){word}(?![A-Za-z])")
    assert len(lines) > 20_000
    there = [place for place, line in lines if found.search(line)]
    assert not there, f"write {PLAIN[word]!r}"
