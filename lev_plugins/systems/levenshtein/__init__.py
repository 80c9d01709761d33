"""LevT, the Levenshtein Transformer (Gu, Wang and Zhao, 2019), for generation and post-editing.

To be read in this order:

===================== =============================================================================
file                  of the paper
===================== =============================================================================
config                options; Table 2a, weight sharing; Fig. 4b, early exit
model                 §3.1, Eq. 3 to 5, the three policies; Alg. 1, the passes of an update
trace, pointer        beyond the paper: deleted tokens stay readable; tokens from the source
roll_in               Eq. 6 and 7, the states to learn from; Alg. 1, the expert's actions on them
criterion             §3.2 and Alg. 1, the loss
task                  batches with their roll-in; drafts as tokens; models, old and stock ones too
markup                beyond the paper: what has to stay, go, be written
decoding/policy       §3.1, what decoding asks of a model; ensembles
decoding/generator    §3.3, from a batch to hypotheses
decoding/loop         §3.3 and Alg. 2: delete, insert placeholders, fill them; γ
decoding/state        §2, the environment: what stands, what is finished, what happened
decoding/options      T_max, γ and all else that a decoding is told
decoding/candidates   §3.3, noisy parallel decoding; ranking, also by an autoregressive model
decoding/history      Fig. 3, what was done to a sentence, as plain data
stock                 checkpoints of fairseq's levenshtein_transformer
===================== =============================================================================

Alignment and edits as tensors (Eq. 7 and 8, the expert and the environment) are in
:mod:`lev_plugins.ops`, the Transformer's blocks (Eq. 2) in :mod:`lev_plugins.nn`.
"""

from . import criterion, task
from .config import LevenshteinEditorConfig
from .model import LevenshteinEditorModel

__all__ = ["LevenshteinEditorConfig", "LevenshteinEditorModel", "criterion", "task"]
