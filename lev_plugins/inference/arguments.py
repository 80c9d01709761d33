"""Lists of text as callers in Python give them: the runtime's."""

from lev_runtime.arguments import Row as Row
from lev_runtime.arguments import Terms as Terms
from lev_runtime.arguments import read_rows as read_rows
from lev_runtime.arguments import strings as strings
