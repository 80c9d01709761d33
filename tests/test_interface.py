"""The Python interface: arguments, devices, what a notebook shows, threads."""

import json
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import editors
import pytest
import tiny
import torch
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceBPE, SentencepieceConfig
from refusals import refuses

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
