"""What the core alone can do, without the extras of pyproject.toml, and that nobody hears of it."""

import os
import subprocess
import sys

import pytest
from plain_files import ROOT
from tables import rows

CORE = """
import sys
hidden, *sys.argv[:] = sys.argv[1:]
sys.modules.update(dict.fromkeys(hidden.split(",")))
"""
TRAIN = "torch,fairseq,fairseq_cli,sacrebleu,scipy,sklearn,omegaconf,hydra,editdistance,onnx"
COMMAND = "from lev_plugins.cli import names\nfrom lev_runtime.io.commands import run_cli\n"
COMMAND += "run_cli(lambda: names.load(sys.argv[0]).main())"
EXPORTS = "lev-export exports it where it was trained"
NEED = "fairseq and torch: pip install '.[train]'"
CHECKPOINT = f"model.pt is a checkpoint of fairseq's ({EXPORTS}) and"


def core(code, folder, *words, hidden=TRAIN, **environ):
    """Runs Python where modules are missing."""
    command = [sys.executable, "-c", CORE + code, hidden, *words]
    # XDG_CACHE_HOME and whatever else says to a library that it is being tested
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)} | environ
    return subprocess.run(command, cwd=folder, env=env, input="Teh end.\n", text=True,
                          capture_output=True, timeout=120)  # fmt: skip


#: command | its error
NEEDS = f"""
trace --path model.pt | lev-trace needs {NEED}
report --hypotheses model.pt --references model.pt | the metric bleu needs sacrebleu: pip
export model.pt x | lev-export needs fairseq and torch and onnx: pip install '.[train
correct --path model.pt | {CHECKPOINT} needs {NEED}
correct check --path model.pt | {CHECKPOINT} needs {NEED}
correct --device cuda | --device cuda needs {NEED}
correct --path x | checkpoint x does not exist
serve --path model.pt --port 0 | {CHECKPOINT} needs {NEED}
serve --port 0 # fastapi | lev-serve needs fastapi: pip install '.[serve]'
"""


@pytest.mark.parametrize("command, wanted", rows(NEEDS))
def test_what_needs_an_extra_says_so_in_a_line_and_writes_nothing(command, wanted, tmp_path):
    (tmp_path / "model.pt").write_text("a checkpoint\n")
    words, _, more = command.partition(" # ")
    if command.startswith("serve") and not more:
        pytest.importorskip("fastapi")
        pytest.importorskip("prometheus_client")
    done = core(COMMAND, tmp_path, *f"lev-{words}".split(), hidden=f"{TRAIN},{more or 'none'}")
    assert done.stderr.startswith(f"error: {wanted}"), done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert done.returncode == (2 if words.startswith("correct check") else 1)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


USES = """
import lev_correct, lev_plugins, lev_runtime
for name in ("EncT5", "LevenshteinEditor"):
    try:
        getattr(lev_plugins, name)
    except ImportError as error:
        assert isinstance(error, lev_plugins.UserError)
        assert str(error).startswith(name + " needs fairseq and torch: pip install"), error
editor, labeler = (lev_runtime.load(path) for path in sys.argv[:2])
assert "d" in editor.edit(["a b c"], ["a [=d=] e"], markup=True)[0].text.split()
assert [tag.label for tag in labeler.predict(["a text", ""])] == ["blue", "blue"]
print(lev_correct.Corrector.from_pretrained().correct(["Teh end."])[0].text)
"""
SERVES = """
from lev_serve import model
modes = [model.load(path, None, None, None).info["modes"] for path in (*sys.argv[:2], None)]
assert modes == [["edit"], ["predict"], ["correct"]], modes
print("The end.")
"""


@pytest.mark.parametrize("code", [COMMAND, USES, SERVES], ids=["command", "python", "serve"])
@pytest.mark.parametrize("cache", ["cache", "model.pt/cache"])
def test_a_model_is_used_and_its_runtime_reports_nothing(code, cache, tmp_path):
    if code == SERVES:
        pytest.importorskip("fastapi")
    (tmp_path / "model.pt").write_text("no folder, in which nothing can be written\n")
    models = [str(ROOT / "tests/exports" / name) for name in ("editor", "labeler")]
    words = ["lev-correct"] if code == COMMAND else models
    done = core(code, tmp_path, *words, XDG_CACHE_HOME=str(tmp_path / cache))
    assert (done.stdout, done.stderr, done.returncode) == ("The end.\n", "", 0)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("*")}
    assert written <= {"cache", "model.pt"}


def test_every_help_is_shown_without_the_extras(tmp_path):
    code = """
from lev_plugins.cli import names
for name in names.COMMANDS:
    sys.argv[:] = ["lev-" + name, "--help"]
    try:
        names.load(name).main()
    except SystemExit as end:
        assert not end.code
"""
    done = core(code, tmp_path, "")
    assert done.stderr == "" and done.returncode == 0, done.stderr
    for name in ("correct", "serve", "trace", "preprocess", "export"):
        assert f"usage: lev-{name} " in done.stdout
