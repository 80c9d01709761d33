"""The plug-in is found wherever its folder lies, and hydra's commands can use it."""

import json
import shutil
import signal

import pytest
from conftest import PACKAGE
from states import state


def decoded(commands, corpus, user_dir, checkpoint, cwd):
    """What fairseq-generate writes with the plug-in taken from ``user_dir``."""
    command = corpus.generate("--gen-subset test1", checkpoint)
    return commands.ok(f"{command} --user-dir {user_dir} --task translation_edit", cwd).texts("H")


def test_the_plug_in_is_found_beside_and_under_another_name(commands, triples, tmp_path, root):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "lev_plugins", tmp_path / "my_edits", ignore=ignored)
    result = commands.ok(
        f"python -m my_edits preprocess {triples.flags} --joined-dictionary --trainpref "
        f"{triples.folder}/train --destdir {tmp_path}/bin",
        tmp_path,
        environ={"PYTHONPATH": str(tmp_path)},
    )
    assert "--user-dir my_edits --task translation_edit" in result.out.splitlines()[-1]
    for name in ("train.src-tgt.mt.bin", "dict.tgt.txt"):
        assert (tmp_path / "bin" / name).read_bytes() == (triples.data / name).read_bytes()
    for cwd, user_dir in ((root, "lev_plugins"), (tmp_path, "my_edits")):
        command = triples.train(f"--max-update 2 --disable-validation --save-dir {tmp_path}/ck")
        commands.ok(f"{command} --user-dir {user_dir} --task translation_edit", cwd)
        assert len(set(decoded(commands, triples, user_dir, triples.checkpoint, cwd))) == 3
        checkpoint = tmp_path / "ck" / "checkpoint_last.pt"
        assert len(decoded(commands, triples, root / "lev_plugins", checkpoint, "/")) == 3
        shutil.rmtree(tmp_path / "ck")


@pytest.fixture
def trained(triples, tmp_path):
    """Trains three updates by a file and options: ``commands`` or ``commands.ok`` runs it."""
    sides = {"source_lang": "src", "target_lang": "tgt", "draft_lang": "mt"}
    sizes = {"embed_dim": 16, "ffn_embed_dim": 16, "layers": 1, "attention_heads": 2}
    model = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in sizes.items()}
    shared = {"share_all_embeddings": True, "weight_sharing": "plh-tok"}
    parts = {
        "common": {"cpu": True, "seed": 1, "log_format": "simple", "user_dir": str(PACKAGE)},
        "task": {"_name": "translation_edit", "data": str(triples.data), "alpha": 0.8, **sides},
        "model": {"_name": "levenshtein_editor", **model, **shared},
        "criterion": {"_name": "edit_policy_loss", "label_smoothing": 0.05},
        **{"optimizer": {"_name": "adam"}, "lr_scheduler": {"_name": "fixed"}},
        "dataset": {"batch_size": 32, "num_workers": 0},
        "optimization": {"max_update": 3, "lr": [0.01]},
        "checkpoint": {"save_dir": f"{tmp_path}/ck", "no_epoch_checkpoints": True},
    }
    (tmp_path / "own.yaml").write_text(json.dumps(parts))

    def run(how, *options, **environ):
        words = ["--config-dir", str(tmp_path), "--config-name", "own", *options]
        return how(["fairseq-hydra-train", *words], tmp_path, **environ)

    return run


def test_hydra_trains_and_every_job_of_a_sweep_has_a_best_checkpoint(
    commands, triples, tmp_path, root, trained
):
    jobs = ["optimization.max_update=6,1", f"hydra.sweep.dir={tmp_path}/jobs"]
    kept = ["checkpoint.patience=1", f"checkpoint.save_dir={tmp_path}/${{hydra:job.num}}"]
    trained(commands.ok, "-m", *jobs, *kept)
    losses = [state(tmp_path / job / "checkpoint_best.pt")["extra_state"]["best"] for job in "01"]
    assert losses[0] < losses[1], "the second job is worse than the first"
    last = tmp_path / "0" / "checkpoint_last.pt"
    assert len(decoded(commands, triples, root / "lev_plugins", last, tmp_path)) == 3


def test_the_first_job_of_hydra_saves_on_sigterm(commands, tmp_path, root, trained):
    """It imports the package within ``main``."""
    asked = {"ASKED": "SIGTERM:train_step:2", "PYTHONPATH": str(root)}
    own = f"common.user_dir={root}/tests/commands/cut_short"
    result = trained(commands, own, environ=asked)
    last = tmp_path / "ck" / "checkpoint_last.pt"
    assert result.code == 128 + signal.SIGTERM
    assert "ends after 2 updates" in result.err
    assert state(last)["optimizer_history"][-1]["num_updates"] == 2


def test_ctrl_c_ends_hydras_jobs_in_a_line(commands, tmp_path, root, trained):
    own = f"common.user_dir={root}/tests/commands/cut_short"
    asked = {"ASKED": "SIGINT:train_step:2", "PYTHONPATH": str(root)}
    result = trained(commands, own, environ=asked)
    assert result.code == 128 + signal.SIGINT and "Traceback" not in result.err
    assert result.err.count("the training ends after 2 updates") == 1
    sweep = ["-m", "optimization.max_update=3,9", f"hydra.sweep.dir={tmp_path}/jobs"]
    result = trained(commands, *sweep, own, environ=asked)
    assert result.code == 128 + signal.SIGINT and "Traceback" not in result.err
    assert "the training ends after 4 updates" in result.err


def test_hydra_refuses_what_the_command_line_refuses(commands, tmp_path, trained):
    assert "--early-exit 0" in trained(commands, "+model.early_exit=0").error
    gone = trained(commands, "checkpoint.restore_file=gone.pt")
    assert "--restore-file gone.pt does not exist" in gone.error
    several = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}
    alone = "distributed_training.distributed_world_size=1"
    assert "2 processes" in trained(commands, alone, environ=several).error
    torn = "checkpoint.write_checkpoints_asynchronously=true"
    assert "--write-checkpoints-asynchronously" in trained(commands, torn).error
    assert not list(tmp_path.rglob("*.pt"))
