"""The Python interface: arguments, devices, what a notebook shows, threads."""

import inspect
import json
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import editors
import pytest
import saved
import tiny
import torch
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig
from refusals import refuses

import lev_correct
import lev_memory
import lev_plugins
import lev_runtime
from lev_correct import Corrector
from lev_plugins import EncT5, LevenshteinEditor

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))
import notebook  # noqa: E402


@pytest.mark.parametrize("kind", [LevenshteinEditor, Corrector, EncT5])
def test_a_device_that_is_not_here_is_one_line_before_anything_is_read(kind):
    for device in ("cuda:99", "abacus"):
        with refuses(match=f"^device {device} "):
            kind.from_pretrained("nowhere.pt", device=device)
    with refuses("nowhere.pt does not exist"):
        kind.from_pretrained("nowhere.pt", device=torch.device("cpu"))


def taking_options():
    """Returns the public functions and methods that take options by name, each with its class."""
    packages = lev_correct, lev_memory, lev_plugins, lev_runtime
    parts = [getattr(package, name) for package in packages for name in package.__all__]
    found = {}
    for part in parts:
        members = inspect.getmembers(part) if inspect.isclass(part) else [(part.__name__, part)]
        for name, member in members:
            is_function = inspect.isfunction(member) or inspect.ismethod(member)
            kinds = inspect.signature(member).parameters.values() if is_function else ()
            if name[0] != "_" and any(kind.kind is kind.VAR_KEYWORD for kind in kinds):
                found[f"{part.__name__}.{name}"] = part, member
    return found


TAKING_OPTIONS = taking_options()


@pytest.mark.parametrize("name", TAKING_OPTIONS)
def test_a_misspelt_option_is_a_type_error_before_anything_is_read(name, tmp_path):
    """Each function finds it by itself: an option that is not read is no option."""
    part, function = TAKING_OPTIONS[name]
    parameters = [*inspect.signature(function).parameters.values()]
    needed = [each for each in parameters if each.default is each.empty and each.kind < 2]
    arguments = [object.__new__(part) if each.name == "self" else [] for each in needed]
    if function.__name__ == "from_pretrained" and needed:
        data = tiny.dictionaries(tmp_path / "bin")
        arguments = [saved.save(tmp_path / "model.pt", data, "editor")]
    with pytest.raises(TypeError, match="misspelt"):
        next(iter(function(*arguments, misspelt=True)))


def test_functions_that_take_options_are_found():
    assert {"Corrector.correct", "Editor.stream", "Generator.generate"} <= TAKING_OPTIONS.keys()


def test_half_of_a_surrogate_pair_is_a_question_mark_to_what_cuts_text(tmp_path):
    """As to an EncT5; where words are looked up whole, they come back as they were typed."""
    model = tiny.sentencepiece_model(tmp_path / "spm", ["a b"], model_type="char", vocab_size=6)
    editor = editors.editor()
    editor.bpe = SentencepieceBPE(SentencepieceConfig(sentencepiece_model=str(model)))
    halves, marks = ["a \ud800 b", "\udfff"], ["a ? b", "?"]
    actual, expected = (editor.edit(drafts, drafts, max_iter=2) for drafts in (halves, marks))
    assert [trace.text for trace in actual] == [trace.text for trace in expected]
    assert [(trace.source, trace.draft) for trace in actual] == list(zip(halves, halves))


# what a notebook shows ------------------------------------------------------------------------

CELLS = [
    cell
    for cell in json.loads(notebook.NOTEBOOK.read_text("utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


def test_the_notebook_shows_what_its_cells_show():
    names = {}
    for number, cell in enumerate(CELLS, start=1):
        outputs = notebook.run_cell("".join(cell["source"]), names, number)
        assert outputs and (notebook.depends_on_cpu(cell) or outputs == cell["outputs"])


# threads --------------------------------------------------------------------------------------

THREADS = 4


def sentences(thread, count=12):
    """Known letters, and words that no model knows, each thread's own."""
    rng = random.Random(thread)
    words = [*"abcdefgh", *(f"w{thread}-{n}" for n in range(5))]
    return [" ".join(rng.choices(words, k=rng.randint(0, 8))) for _ in range(count)]


def edited(editor, thread):
    drafts = sentences(thread)
    return editor.edit(drafts[::-1], drafts, max_iter=2, batch_size=5)


def corrected(corrector, thread):
    return corrector.correct(sentences(thread, 3), batch_size=2)


#: what is made, and what each thread asks of it
ASKED = {
    "editor": (lambda: editors.editor(2), edited),
    "translation": (editors.writing_corrector, corrected),
    "labels": (lambda: editors.enct5("multilabel"), lambda m, n: m.predict(sentences(n))),
    "tags": (lambda: editors.enct5("tagging"), lambda m, n: m.predict_tags(sentences(n))),
}


@pytest.mark.parametrize("name", ASKED)
def test_every_thread_gets_what_it_gets_alone(name, request):
    make, ask = ASKED[name]
    product = make()
    alone = [ask(product, thread) for thread in range(THREADS)]
    assert alone[0] != alone[1]
    together = threading.Barrier(THREADS)

    def work(thread):
        together.wait()
        return [ask(product, thread) for _ in range(2)]

    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # threads change places as often as they can
    with ThreadPoolExecutor(THREADS) as pool:
        assert [*pool.map(work, range(THREADS))] == [[answer] * 2 for answer in alone]
