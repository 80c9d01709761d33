"""Orders of a person: the runtime's marks on drafts, and what follows them through decoding."""

from lev_runtime.constraints import EditConstraints as EditConstraints
from lev_runtime.markup import BEGINS as BEGINS
from lev_runtime.markup import DROP as DROP
from lev_runtime.markup import ENDS as ENDS
from lev_runtime.markup import JOINED as JOINED
from lev_runtime.markup import KEEP as KEEP
from lev_runtime.markup import SPACES as SPACES
from lev_runtime.markup import Joining as Joining
from lev_runtime.markup import Mark as Mark
from lev_runtime.markup import escape_markup as escape_markup
from lev_runtime.markup import parse_markup as parse_markup
from lev_runtime.markup import token_marks as token_marks
from lev_runtime.markup import whole_words as whole_words
from lev_runtime.markup import write_mark as write_mark
