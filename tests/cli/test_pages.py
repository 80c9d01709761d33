"""Pages: whatever stands in a text, it is shown and nothing of it is done."""

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser

import pytest
from editors import trace
from hypothesis import example, given
from hypothesis import strategies as st

from lev_correct import Correction, Edit
from lev_correct import html as correction_page
from lev_plugins.reports.gates import Record
from lev_plugins.reports.gates import render_html as gates_page
from lev_plugins.reports.traces import render_html as trace_page
from lev_runtime.io.output import printable

DO = "document.title='DONE'"
#: each of them would change the title, from the text of a page or from an attribute of it
PAYLOADS = (
    f"</title><script>{DO}</script>",
    f"</style><script>{DO}</script>",
    f"</p></article></main><script>{DO}</script>",
    f"--><script>{DO}</script><!--",
    f'"><img src=x onerror="{DO}">',
    f"'><img src=x onerror={DO}>",
    f'" autofocus onfocus="{DO}" x="',
    f"<svg onload={DO}>",
    f"<iframe srcdoc='<script>parent.{DO}</script>'></iframe>",
    f'<a href="javascript:{DO}" id=link>a</a><script>link.click()</script>',
    '<meta http-equiv="refresh" content="0; url=about:blank">',
    "<plaintext>",
    "<!--",
    "<style>* { display: none }</style>",
    f"\0<script>{DO}</script>\u2029",
    f"&lt;script&gt;{DO}&lt;/script&gt;",
    f"+ADw-script+AD4-{DO}+ADw-/script+AD4-",
    f"\ufeff<script>{DO}</script>\u202e",
    f"\ud800<script>{DO}</script>",
    "{title} {{ 7 * 7 }} {0} %s $x",
)
ALLOWED = set("lang charset name content http-equiv dir class translate open title".split())
ALLOWED |= set("href id style".split())  # of the pages of corrections and gates


class Shown(HTMLParser):
    """What a browser has made of a page: tags, names of attributes, title, texts of elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.lines: list[str] = []
        self.title, self.open = "", ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag in ("p", "b", "title"):
            self.open = tag
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = "" if tag == self.open else self.open

    def handle_data(self, data: str) -> None:
        if self.open == "title":
            self.title += data
        elif self.open:
            self.lines[-1] += data


def gated(text: str, number: int) -> Record:
    """What the gates say of a text; the first of them hides it where it is odd."""
    values = [0.25, 0.75]
    gate = values if number % 2 else None
    tokens = [text, "</s>"]
    return Record(number, text, tokens, gate, text, tokens, values, values, values, values)


def corrected(texts: Sequence[str], title: str) -> str:
    """A page of files of these names with lines of that text, which an edit turns into itself."""
    files = {}
    for name, text in enumerate(texts):
        edits = Edit(0, text, text, 0.5), Edit(0, text, text, 0.5, False, "confidence")
        same = Correction(text, text, ())
        files[f"{text}{name}"] = [(2, same), (3, same), (4, Correction(text, text, edits))]
    return correction_page.render_html(files, {"lines": 2}, title)


PAGES: dict[str, Callable[[Sequence[str]], str]] = {
    "correct": lambda texts: corrected(texts, " ".join(texts)),
    "trace": lambda texts: trace_page(list(map(trace, texts)), " ".join(texts)),
    "gates": lambda texts: gates_page(
        [gated(text, number) for number, text in enumerate(texts, 1)], " ".join(texts)
    ),
}
#: text with all that could break out of a page or a terminal, at every turn
RISKY = st.text(
    st.sampled_from("<>&\"'/\0\x1b\u2028\u202e\n\t\\{}%-!ab é")
    | st.characters(exclude_characters="\r"),  # which ends a line on Windows
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("name", PAGES)
@given(texts=st.lists(RISKY, min_size=1, max_size=3))
@example(texts=list(PAYLOADS))
def test_input_reaches_a_page_as_text_only(name, texts):
    page = PAGES[name](texts)
    shown, plain = Shown(page), Shown(PAGES[name](["a"] * len(texts)))
    assert shown.tags == plain.tags and shown.attributes <= ALLOWED
    assert shown.title == printable(" ".join(texts))
    for text in texts:
        assert text.isspace() or shown.lines.count(printable(text)) >= 2
    assert all(char in "\n " or char == printable(char) for char in page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_nothing_from_anywhere_and_has_every_scheme(name):
    page = PAGES[name]([])
    assert not re.search(r"https?:|url\(|@import|src=|<(script|link|img|iframe)", page)
    assert '<meta charset="utf-8">' in page and "default-src 'none'" in page
    assert len(re.findall(r":root \{", page)) == 3, "light, dark and print"
