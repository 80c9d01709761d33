"""Edits as HTML that a notebook shows: the runtime's."""

from lev_runtime.html import deleted as deleted
from lev_runtime.html import inserted as inserted
from lev_runtime.html import rows as rows
from lev_runtime.html import small as small
from lev_runtime.html import text as text
