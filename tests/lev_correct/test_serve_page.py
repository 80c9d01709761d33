"""The page of lev-serve in a real browser, by keyboard and on a phone.

The model is scripted, so that what it says is known; what models say is test_serve.py's.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")
from selenium.common.exceptions import NoAlertPresentException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from lev_correct import Edit  # noqa: E402
from lev_correct.cli import serve  # noqa: E402
from lev_correct.edits import apply_edits  # noqa: E402
from lev_correct.serve.app import make_app  # noqa: E402
from lev_correct.serve.model import ServedModel  # noqa: E402
from lev_runtime.errors import UserError  # noqa: E402
from lev_runtime.io.output import printable  # noqa: E402

#: text that would run on a page that took it for HTML
DO = "document.title='DONE'"
PAYLOADS = (
    f"</title><script>{DO}</script>",
    f'"><img src=x onerror="{DO}">',
    f'" autofocus onfocus="{DO}" x="',
    f"<svg onload={DO}>",
    f"<iframe srcdoc='<script>parent.{DO}</script>'></iframe>",
    f'<a href="javascript:{DO}" id=link>a</a><script>link.click()</script>',
    "<plaintext>",
    "<style>* { display: none }</style>",
    f"\0<script>{DO}</script>\u2029",
    f"&lt;script&gt;{DO}&lt;/script&gt;",
)

DRIVER = shutil.which("chromedriver")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="there is no chromium with chromedriver"),
]
TOKEN = "browser-token"
WRONG = {"teh": "the", "big": "large", "got": "has received", "𝒳wrong": "𝒴right", "uh": ""}
PATIENCE = 30.0


# the model ----------------------------------------------------------------------------------------


def edited(text: str, marks: Sequence[Any] = ()) -> dict[str, Any]:
    """Puts right what is wrong, as far as marks allow, and writes ``now`` behind ``stop``."""
    kinds = {mark.start: mark.kind for mark in marks}
    edits, place = [], 0
    for word in text.split(" "):
        kind = kinds.get(place)
        if kind == "drop":
            edits.append(Edit(place, word, "", 0.75))
        elif kind is None and word in WRONG:
            before = word + " " * (not WRONG[word])
            edits.append(Edit(place, before, WRONG[word], 0.25 if word == "big" else 0.75))
        place += len(word) + 1
        if word == "stop" and not text[place:].startswith("now"):
            edits.append(Edit(place - 1, "", " now", 0.75))
    return {"text": apply_edits(text, edits), "edits": [edit.to_dict() for edit in edits]}


def correct(asked: Any, rows: Sequence[str]) -> list[dict[str, Any]]:
    if any("unreadable" in row for row in rows):
        raise UserError("a word that cannot be read")
    document = asked.document(Fences)
    code = document.read(rows) if document else [False] * len(rows)
    plain = {"text": "", "edits": []}
    return [
        {"source": row, **(plain if mark else edited(row)), "code": mark}
        for row, mark in zip(rows, code, strict=True)
    ]


class Fences:
    """A text in which lines between two of ``~~~``, and indented ones behind a blank, are code."""

    def __init__(self) -> None:
        self.inside, self.before = False, "text"

    def read(self, lines: Sequence[str]) -> list[bool]:
        marks = []
        for line in lines:
            self.inside ^= line == "~~~"
            indented = line.startswith("    ") and not self.before
            marks.append(self.inside or line == "~~~" or indented)
            self.before = line
        return marks


def edit(asked: Any, rows: Sequence[Any]) -> list[dict[str, Any]]:
    results = [edited(row.draft or row.source, row.marks) for row in rows]
    tokens = ("a", "b", "c")
    step = {"before": tokens, "deleted": (True, False, False), "after": ("b", "d", "c")}
    steps = [{**step, "inserted": (False, True, False)}]
    versions = [{"text": f"version {rank}", "edits": [], "score": -rank, "iterations": steps}
                for rank in range(2, asked.nbest + 1)]  # fmt: skip
    return [
        {
            "source": row.source,
            "draft": row.draft,
            "hypotheses": [{**result, "score": -1}, *versions],
        }
        for row, result in zip(rows, results)
    ]


def predict(asked: Any, rows: Sequence[Any]) -> list[dict[str, Any]]:
    scores = [{"label": "red", "score": 0.7}, {"label": "<b>blue</b>", "score": 0.3}]
    if rows == ["tagged words"]:
        tags = {"words": ["tagged", "words"], "tags": ["red", "blue"], "scores": [0.7, 0.6]}
        return [{**tags, "top": [scores, scores], "cut": True}]
    return [{"text": row, **scores[0], "top": scores, "cut": False} for row in rows]


RUNNERS = {"edit": edit, "correct": correct, "predict": predict}


# the browser --------------------------------------------------------------------------------------


class Server:
    def __init__(self, *modes: str) -> None:
        info = {"model": "<i>m</i>.pt", "modes": modes, "min_confidence": 0.0, "texts": 1}
        runners = {mode: RUNNERS[mode] for mode in modes}
        model = ServedModel({**info, "labels": ["red", "<b>blue</b>"]}, runners)
        app = make_app(model, TOKEN, ["127.0.0.1"])
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        sockets = [serve.listen("127.0.0.1", 0)]
        self.address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/?token={TOKEN}"
        self.thread = threading.Thread(target=self.server.run, args=(sockets,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


class Page:
    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        driver.get(address)
        self.until(lambda: driver.execute_script("return document.body.dataset.ready"))

    def until(self, holds: Callable[[], Any]) -> Any:
        end = time.monotonic() + PATIENCE
        while not (result := holds()):
            assert time.monotonic() < end, [
                self.text(place) for place in ("error", "text", "status")
            ]
            time.sleep(0.01)
        return result

    def __getitem__(self, name: str) -> Any:
        return self.driver.find_element("id", name)

    def text(self, name: str) -> str:
        return str(self[name].get_property("textContent"))

    def put(self, name: str, text: str) -> None:
        """As if it were pasted."""
        self.driver.execute_script(
            "const field = document.getElementById(arguments[0]);"
            "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
            name,
            text,
        )

    def keys(self, *keys: str, held: Sequence[str] = ()) -> None:
        """To whatever has the focus, while others are held."""
        chain = webdriver.ActionChains(self.driver)
        for key in held:
            chain = chain.key_down(key)
        chain.send_keys(*keys).perform()
        chain.reset_actions()

    def word(self, text: str, *keys: str) -> None:
        """Clicks a word, and presses keys on it."""
        script = """
            const found = [...document.querySelectorAll("#words .word")].find(
              (button) => button.textContent === arguments[0]);
            return found ? (found.click(), true) : false;"""
        self.until(lambda: self.driver.execute_script(script, text))
        self.keys(*keys)

    def shows(self, text: str, name: str = "text") -> None:
        self.until(lambda: self.text(name) == text)

    def question(self) -> Any:
        """What the page asks, once it does."""
        try:
            return self.driver.switch_to.alert
        except NoAlertPresentException:
            return None

    def saved(self, button: str, name: str) -> bytes:
        self[button].send_keys(Keys.ENTER)  # an answer moves it away from a click
        path: Path = self.driver.downloads / name
        content = self.until(lambda: path.exists() and path.read_bytes())
        path.unlink()
        return content


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.downloads = folder
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    running = {
        tasks[0]: Server(*tasks) for tasks in (("edit", "correct"), ("correct",), ("predict",))
    }
    yield running
    for server in running.values():
        server.stop()


@pytest.fixture
def page(driver: Any, servers: dict[str, Server]) -> Iterator[Callable[[str], Page]]:
    driver.set_window_size(900, 1000)
    yield lambda name: Page(driver, servers[name].address)
    usual = ("beforeunload", "status of 422")  # what is not saved, a line that cannot be read
    for entry in driver.get_log("browser"):
        assert any(part in entry["message"] for part in usual), entry


# what a person does -------------------------------------------------------------------------------


def test_drafts_are_edited_by_keyboard_and_saved(page, tmp_path):
    tab = page("edit")
    tab["draft"].click()
    tab.keys("teh big cat sat")
    tab.shows("the large cat sat")
    tab.until(lambda: tab.text("status").startswith("2 of 2 edits applied"))
    for keys, text in (
        ([Keys.TAB, Keys.ENTER], "teh large cat sat"),  # refused
        ([Keys.ENTER], "the large cat sat"),  # and accepted again
        (["n", "l"], "the big cat sat"),
        ([Keys.END, "s"], "the big cat"),
        (["u"], "the big cat sat"),
        (["r", "stood", Keys.ENTER], "the big cat stood"),
    ):
        tab.keys(*keys)
        tab.shows(text)
    tab.put("draft", "an uh old cat")
    tab.shows("an old cat")
    tab.word("uh", Keys.ENTER)  # of a deletion that is refused the space stays too
    tab.shows("an uh old cat")
    assert tab.text("words") == "an uh 0.75old cat"
    tab.put("draft", "teh cat")
    tab.shows("the cat")
    tab.driver.execute_script("document.getElementById('more').open = true")
    tab.until(lambda: "version 4" in tab.text("versions"))
    assert "a b d c" in tab.text("versions")
    tab.driver.execute_script("document.querySelectorAll('#versions button')[1].click()")
    tab.shows("version 2")
    tab["undo"].click()
    tab.shows("the cat")

    lines = ["source one\tteh cat", "source two\tbig", *["fine\tfine"] * 70, "x\tteh"]
    file = tmp_path / "lines.tsv"
    file.write_text("\r\n".join(lines), encoding="utf-8")
    tab = page("edit")
    tab["load"].send_keys(str(file))
    tab.shows("line 1 of 73", "place")
    tab.shows("the cat")
    tab.keys(Keys.ARROW_DOWN, held=[Keys.ALT])
    tab.shows("line 2 of 73", "place")
    tab.word("large", Keys.ENTER)
    tab.keys(Keys.ARROW_DOWN, held=[Keys.ALT, Keys.SHIFT])
    tab.shows("line 73 of 73", "place")
    text = tab.saved("save", "lines.tsv").decode().split("\r\n")
    assert text == ["source one\tthe cat", "source two\tbig", *lines[2:-1], "x\tthe"]


def test_documents_are_corrected_and_saved_byte_for_byte_but_for_changes(page, tmp_path):
    file = tmp_path / "document.md"
    code = ["~~~", "teh code", "~~~", "", "    teh code"]
    lines = ["teh cat", "big dog", *code, *["teh end"] * 20, "unreadable"]
    file.write_text("\n".join(lines), encoding="utf-8")
    tab = page("correct")
    tab.until(lambda: tab.text("status") == "")
    tab["load"].send_keys(str(file))
    tab.shows("22 of 22 edits applied", "summary")
    kinds = "return [...document.querySelectorAll('#lines li')].map((it) => it.classList[0] ?? '')"
    shown = tab.driver.execute_script(kinds)
    assert [shown[0], *shown[2:8], shown[27]] == ["at", *["code"] * 3, "", "code", "", "failed"]
    assert tab.text("lines").startswith("tehthe0.75 catbiglarge0.25 dog")

    def press(label: str) -> None:
        script = "document.querySelector(`#edits [aria-label='${arguments[0]}']`).focus()"
        tab.driver.execute_script(script, label)
        tab.keys(Keys.ENTER)

    press("Refuse: teh → the")
    tab.shows("1 of 22 edits applied", "summary")
    focused = tab.driver.execute_script("return document.activeElement.ariaLabel")
    assert focused == "Refuse: teh → the", "a keyboard goes on where it was"
    press("line 1")
    tab.keys(Keys.ENTER)
    tab.shows("2 of 22 edits applied", "summary")
    tab.shows("the cat")
    tab["refuse-all"].click()
    tab.shows("0 of 22 edits applied", "summary")
    assert tab.saved("save", file.name).decode() == "\n".join(lines)

    file = tmp_path / "long.txt"
    file.write_text("fine\n" * 200 + "teh\n", encoding="utf-8")
    tab = page("correct")
    tab["load"].send_keys(str(file))
    tab.shows("1 of 1 edit applied", "summary")
    tab["copy"].click()
    question = tab.until(tab.question)
    assert "1 line " in question.text
    question.dismiss()
    tab.shows("line 201 of 201", "place")  # there is the edit
    assert tab.saved("save", file.name).decode() == "fine\n" * 200 + "the\n"

    tab = page("correct")
    text = "\ufeff a\tb  c\r\n\r\n\nfine\x0b\rx \u2028 y\n  teh\t uh end\r\n\r\n"
    file = tmp_path / "my file.md"
    file.write_bytes(text.encode())
    tab["load"].send_keys(str(file))
    tab.shows("line 1 of 7", "place")
    assert tab.saved("save", file.name).decode() == text.replace("uh ", "")
    tab["draft"].send_keys("teh")
    prevented = "return !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert tab.driver.execute_script(prevented), "work is not lost without a warning"


def test_texts_are_labelled_and_hostile_ones_are_shown_and_not_run(page):
    tab = page("predict")
    tab.put("draft", "a text")
    tab.until(lambda: "<b>blue</b>0.30" in tab.text("predictions").replace(" ", ""))
    tab.put("draft", "tagged words")
    tab.until(lambda: tab.text("predictions").startswith("tagged: red 0.70words: blue 0.60"))
    assert "cut off" in tab.text("predictions")
    tab = page("edit")
    tags = "return [...new Set([...document.querySelectorAll('*')].map((e) => e.tagName))].sort()"
    tab.put("draft", "teh a")
    tab.shows("the a")
    usual = set(tab.driver.execute_script(tags))
    for payload in PAYLOADS:
        tab.put("draft", f"teh {payload}")
        tab.put("source", payload)
        tab.shows(f"the {printable(payload)}".replace("\\x", "\\u00"))
    assert tab.driver.title == "<i>m</i>.pt"
    assert set(tab.driver.execute_script(tags)) <= usual | {"DEL", "INS", "SUB"}
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    tab.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    tab.put("draft", "teh " + "long" * 60 + " cat " * 30)
    tab.until(lambda: tab.text("text").startswith("the long"))
    assert tab.driver.execute_script("return document.documentElement.scrollWidth") <= 360

    tab.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
