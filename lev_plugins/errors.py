"""The one exception for a user's mistake, and common checks: the runtime's."""

from lev_runtime.errors import UserError as UserError
from lev_runtime.errors import counted as counted
from lev_runtime.errors import parse_names as parse_names
from lev_runtime.errors import printable as printable
from lev_runtime.errors import require_share as require_share
