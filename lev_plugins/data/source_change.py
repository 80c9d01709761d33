"""What changed between two versions of a source: the runtime's."""

from lev_runtime.source_change import MARKS as MARKS
from lev_runtime.source_change import Change as Change
from lev_runtime.source_change import Segment as Segment
from lev_runtime.source_change import changes as changes
from lev_runtime.source_change import mark_change as mark_change
from lev_runtime.source_change import segments as segments
