"""Pages in a real browser: whatever stands in a text, it is shown and nothing of it is done."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lev_plugins.inference.correction import Correction, Edit
from lev_plugins.io.output import printable
from lev_plugins.reports import correction_page
from lev_plugins.reports.gates import Record
from lev_plugins.reports.gates import render_html as gates_page
from lev_plugins.reports.traces import render_html as trace_page
from lev_plugins.systems.levenshtein.decoding.history import EditTrace, Iteration

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DO = "document.title='DONE'"
#: each of them would change the title, from the text of a page or from an attribute of it
PAYLOADS = (
    f"<script>{DO}</script>",
    f"</title><script>{DO}</script>",
    f"</style><script>{DO}</script>",
    f"</p></article></main><script>{DO}</script>",
    f"--><script>{DO}</script><!--",
    f"]]><script>{DO}</script>",
    f"<img src=x onerror={DO}>",
    f'"><img src=x onerror="{DO}">',
    f"'><img src=x onerror={DO}>",
    f'" autofocus onfocus="{DO}" x="',
    f"<svg onload={DO}>",
    f"<iframe srcdoc='<script>parent.{DO}</script>'></iframe>",
    f'<a href="javascript:{DO}" id=link>a</a><script>link.click()</script>',
    f"javascript:{DO}",
    '<meta http-equiv="refresh" content="0; url=about:blank">',
    '<base href="http://example.invalid/">',
    "<plaintext>",
    "<!--",
    "<textarea>",
    "<style>* { display: none }</style>",
    f"\u2028<script>{DO}</script>\u2029",
    f"\0<script>{DO}</script>",
    f"&lt;script&gt;{DO}&lt;/script&gt;",
    f"&#60;script&#62;{DO}&#60;/script&#62;",
    f"+ADw-script+AD4-{DO}+ADw-/script+AD4-",
    f"\ufeff<script>{DO}</script>\u202e",
    f"\ud800<script>{DO}</script>",
    "{title} {style} {0} %s @RULES@ $x",
)
ALLOWED = set("lang charset name content http-equiv dir class translate open title".split())
# of the page of corrections: its links, its choice of an order, and the place in that
ALLOWED |= set("href id type checked style colspan".split())


class Shown(HTMLParser):
    """What a browser has made of a page: tags, names of attributes, title, texts of elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[list[str]] = []
        self.title, self.open = "", ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag in ("p", "b", "title"):
            self.open = tag
            self.texts.append([])

    def handle_endtag(self, tag: str) -> None:
        self.open = "" if tag == self.open else self.open

    def handle_data(self, data: str) -> None:
        if self.open == "title":
            self.title += data
        elif self.open:
            self.texts[-1].append(data)

    @property
    def lines(self) -> list[str]:
        return ["".join(parts) for parts in self.texts]


@pytest.fixture
def browse(tmp_path: Path) -> Callable[[str], Shown]:
    """Opens a page, lets its scripts run, and gives what is there then."""
    if BROWSER is None:
        pytest.skip("there is no chromium here")

    def open_page(page: str) -> Shown:
        path = tmp_path / "page.html"
        path.write_text(page, "utf-8", errors="backslashreplace")
        words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        words += [f"--user-data-dir={tmp_path}/profile", "--virtual-time-budget=1000", "--dump-dom"]
        done = subprocess.run([*words, path.as_uri()], capture_output=True, timeout=120, check=True)
        return Shown(done.stdout.decode("utf-8"))

    return open_page


def without_policy(page: str) -> str:
    """The page without the line that forbids scripts: escaping has to be enough."""
    bare, count = re.subn(r"<meta http-equiv=.Content-Security-Policy.*>\n", "", page)
    assert count == 1
    return bare


def edited(text: str) -> EditTrace:
    """A trace with a text at every place."""
    step = Iteration((text, "b"), (True, False), ("b", text), (False, True))
    return EditTrace(
        source=text, draft=text, text=text, score=0.0, terminated="unchanged", iterations=(step,)
    )


def gated(text: str, number: int) -> Record:
    """What the gates say of a text; the first of them hides it where it is odd."""
    values = [0.25, 0.75]
    gate = values if number % 2 else None
    tokens = [text, "</s>"]
    return Record(
        number, text, tokens, gate, text, tokens, values, values, values, values, False, text
    )


def corrected(text: str) -> correction_page.FileEdits:
    """A file of that name with lines of that text; in the last an edit turns it into itself."""
    edits = [Edit(0, text, text, 0.5), Edit(0, text, text, 0.5, False, "confidence")]
    same = Correction(text, text, ())
    lines = [(2, same, []), (3, same, []), (4, same, edits)]
    return correction_page.FileEdits(text, shown=lines)


PAGES: dict[str, Callable[[Sequence[str]], str]] = {
    "correct": lambda texts: correction_page.render_html(
        list(map(corrected, texts)), " ".join(texts)
    ),
    "trace": lambda texts: trace_page(list(map(edited, texts)), " ".join(texts)),
    "gates": lambda texts: gates_page(
        [gated(text, number) for number, text in enumerate(texts, 1)], " ".join(texts)
    ),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("policy", [True, False])
def test_texts_are_shown_and_not_done(browse, name, policy):
    page = PAGES[name](PAYLOADS)
    plain = PAGES[name](["a"] * len(PAYLOADS))
    if not policy:
        page, plain = without_policy(page), without_policy(plain)
    shown = browse(page)
    assert shown.title == printable(" ".join(PAYLOADS))
    assert shown.attributes <= ALLOWED
    assert shown.tags == browse(plain).tags
    for text in PAYLOADS:
        assert shown.lines.count(printable(text)) >= 2, text


def test_the_browser_does_what_is_not_escaped(browse):
    page = PAGES["trace"](["a", "b"])
    broken = page.replace("</main>", f"<script>{DO}</script></main>")
    assert browse(without_policy(broken)).title == "DONE", "nothing would have been seen"
    assert browse(broken).title == "a b", "the page's policy forbids scripts"
