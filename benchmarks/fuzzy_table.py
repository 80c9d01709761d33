"""Print the table of lev-memory evaluate for outputs of fairseq-generate.

python benchmarks/fuzzy_table.py WORK OUTPUT    # the draft stands where a line was too long
"""

import sys
from pathlib import Path

from lev_memory.evaluate import part_of, table
from lev_plugins.io.printed import read_printed

if __name__ == "__main__":
    work, output = map(Path, sys.argv[1:])
    rows = part_of(work, "test")
    written = read_printed(str(output)).outputs
    texts = [written.get(i, row.draft) for i, row in enumerate(rows)]
    print(table(rows, {output.stem: texts}))
