"""Comments in a text that leave lines alone; that these stay: test_correct_check.py."""

import pytest

from lev_correct.repository.ignore import IgnoreComments

#: Lines that stay begin with +.
TEXT = """\
-teh
+teh <!-- lev-correct: ignore --> teh
-teh
+<!-- lev-correct: ignore -->
+teh
+teh
-
-teh
+# lev-correct:ignore
-
+* teh
+  teh
-
+lev-correct: ignore-start
+teh
+
+teh <!-- lev-correct: ignore-end -->
-teh
-lev-correct: ignored is no comment
+it begins by `lev-correct: ignore-start` and ends by `lev-correct: ignore-end`
-teh
+// lev-correct: ignore begin
+teh
"""


@pytest.mark.parametrize("size", [1, 100])
def test_comments_stand_for_their_line_the_block_below_or_what_is_between_two(size):
    marked = TEXT.splitlines()
    comments, ignored = IgnoreComments(), list[bool]()
    for start in range(0, len(marked), size):
        ignored += comments.ignored([line[1:] for line in marked[start : start + size]])
    assert ignored == [line.startswith("+") for line in marked]
    assert comments.open_since == len(marked) - 1
