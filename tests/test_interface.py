"""What the three objects of the Python interface share: arguments, devices, copies."""

import editors
import pytest

from lev_plugins import Corrector, EncT5, LevenshteinEditor, UserError

# Said by hydra whenever fairseq composes a configuration.
pytestmark = pytest.mark.filterwarnings(r"ignore:\s*'.*' is validated:UserWarning")


@pytest.mark.parametrize("kind", [LevenshteinEditor, Corrector, EncT5])
def test_a_device_that_is_not_here_is_one_line_before_anything_is_read(kind):
    for device in ("cuda:99", "abacus"):
        with pytest.raises(UserError, match=f"^device {device} cannot be used here .*leave it out"):
            kind.from_pretrained("nowhere.pt", device=device)


EDITOR, CORRECTOR = editors.editor, editors.edit_corrector


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: EDITOR().edit(["a"], nbest=2), "edit() has no argument nbest; .*edit_nbest()"),
        (lambda: EDITOR().edit(["a"], max_iters=3), "edit() .* max_iters; did you mean max_iter"),
        (lambda: EDITOR().edit_nbest(["a"], n_best=3), "edit_nbest() .* did you mean nbest"),
        (lambda: LevenshteinEditor.from_pretrained("", bep="x"), "from_pretrained() .* mean bpe"),
        (lambda: CORRECTOR().correct(["a"], keep_word=["a"]), "correct() .* mean keep_words"),
        (lambda: Corrector.from_pretrained("", max_iters=3), "from_pretrained() .* mean max_iter"),
        (lambda: Corrector.from_pretrained("", sentencepiece="x"), "mean sentencepiece_model"),
        (lambda: editors.enct5("classification").predict(["a"], topk=3), "predict() .* mean top_k"),
        (lambda: editors.enct5("tagging").predict_tags(["a"], label=["a"]), "mean labels"),
        (lambda: EncT5.from_pretrained("", devices="cpu"), "from_pretrained() .* mean device"),
    ],
)
def test_an_argument_that_is_not_known_is_named_with_what_was_meant(call, said):
    with pytest.raises(TypeError, match="^" + said.replace("()", r"\(\)") if ")" in said else said):
        call()
