"""Lists of text as callers in Python give them: the runtime's."""

from lev_runtime.arguments import strings as strings
