"""LevT, the Levenshtein Transformer (Gu, Wang and Zhao, 2019). To be read in this order:

=============== ==================================================================================
config          options; Table 2a, weight sharing; Fig. 4b, early exit
operations/     §2.2 and Eq. 3 to 5: delete, insert, fill, one file each with its head and the
                expert's labels; what ``--edit-operations`` may name
model, blocks   §3.1: encoder, decoder, what each operation reads; Alg. 1, the passes of an update
trace, pointer, beyond the paper: deleted tokens stay readable; tokens from the source; the source's
source_copy     states at placeholders
expert          Eq. 6 and 7, the states to learn from; t̃ of Alg. 1
criterion       §3.2 and Alg. 1, the loss
task, markup    batches with their expert; drafts, and what has to stay, go, be written; models
decoding/       §3.3 from fairseq's side: generator, from a batch to hypotheses; options, T_max and
                γ; policy, several models as one; candidates, the re-ranker; stock, fairseq's rules
replayed        passes as CUDA graphs
stock           checkpoints of fairseq's levenshtein_transformer
=============== ==================================================================================

The loop of Alg. 2 is :mod:`lev_runtime`'s, without torch: decoding, the iterations; operations,
what each decides and does; processors, penalties, noise, orders and limits; state, what stands;
records and history, what happened (Fig. 3); candidates, noisy parallel decoding. Alignment and
edits as tensors (Eq. 7 and 8) are in :mod:`lev_plugins.ops`, the Transformer's blocks (Eq. 2) in
:mod:`lev_plugins.nn`.
"""

from . import criterion, task
from .config import LevenshteinEditorConfig
from .model import LevenshteinEditorModel

__all__ = ["LevenshteinEditorConfig", "LevenshteinEditorModel", "criterion", "task"]
