"""LevT, the Levenshtein Transformer (Gu, Wang and Zhao, 2019). To be read in this order:

=============== ==================================================================================
config          options; Table 2a, weight sharing; Fig. 4b, early exit
heads           Eq. 3 to 5, features → logits; beyond the paper: deleted tokens, source tokens
expert          Eq. 6 to 8: the states to learn from, and the expert's labels there
model           §3.1: encoder and decoder; forward: Alg. 1
criterion       §3.2 and Alg. 1, the loss
task            batches with their states; drafts and marks; models and generators
generator       §3.3: from a batch to hypotheses; options, T_max and γ; several models as one
reranker        ranks candidates by an autoregressive model
replayed        what only makes decoding faster: passes as CUDA graphs
stock,          checkpoints of fairseq's levenshtein_transformer; its rules of decoding
stock_decoding
=============== ==================================================================================

The loop of Alg. 2 is :mod:`lev_runtime.refine.decoding`, without torch: delete, insert, fill. Next
to it are state, what stands; constraints, marks on drafts; candidates, noisy parallel decoding; and
:mod:`lev_runtime.history`, what happened (Fig. 3). Alignment and edits as tensors (Eq. 7 and 8)
are in :mod:`lev_plugins.ops`, the Transformer's blocks (Eq. 2) in :mod:`lev_plugins.nn`.
"""

from . import criterion, task
from .config import LevenshteinEditorConfig
from .model import LevenshteinEditorModel
from .replayed import replay_passes

#: decoding asks a prepared model for it (``nn/precision.py``)
LevenshteinEditorModel.replay_passes = replay_passes  # type: ignore[attr-defined]

__all__ = ["LevenshteinEditorConfig", "LevenshteinEditorModel", "criterion", "task"]
