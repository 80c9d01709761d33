"""What a Levenshtein Transformer did to one sentence: the runtime's records."""

from lev_runtime.history import EditTrace as EditTrace
from lev_runtime.history import Iteration as Iteration
from lev_runtime.history import Mark as Mark
from lev_runtime.history import Termination as Termination
