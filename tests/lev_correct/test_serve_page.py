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


def test_edit_by_keyboard_a_draft_and_an_output_from_nothing(page):
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
    tab.put("draft", "")
    tab.put("source", "teh big cat")
    tab.shows("the large cat")
    tab.word("large", "s")
    tab.shows("the cat")
    assert tab["draft"].get_attribute("value") == "the large cat"
    tab.keys("u")
    tab.shows("the large cat")
    assert tab["draft"].get_attribute("value") == ""


def test_keep_and_drop_survive_every_new_answer_every_key_and_other_settings(page):
    tab = page("edit")
    tab.put("draft", "teh government got big aid; stop")
    tab.shows("the government has received large aid; stop now")
    tab.word("received", Keys.ENTER)
    tab.shows("the government got large aid; stop now")
    tab.word("now", "s")
    tab.word("government", "l")
    tab.word("aid;", "r")
    tab.keys("help;", Keys.ENTER)
    tab.shows("the government got large help; stop")
    assert tab["draft"].get_attribute("value") == "teh government got big help; stop"
    for more in ("", " teh"):
        tab.put("draft", f"so teh government got big help; stop{more}")
    tab.shows("so the government got large help; stop the")
    tab.word("received", Keys.ENTER)  # what was refused is still offered
    tab.shows("so the government has received large help; stop the")
    tab.put("mode", "correct")
    tab.put("least", "7")
    tab.until(lambda: "1" in tab.text("error"))
    tab.put("least", "0.5")
    tab.shows("so the government has received big help; stop the")


def test_files_are_gone_through_by_keys_and_saved_byte_for_byte_but_for_changes(page, tmp_path):
    for lines, end in ((6, ""), (6, "\n"), (7, "\r\n\r\n")):
        tab = page("correct")
        text = "\ufeff a\tb  c\r\n\r\n\nfine\x0b\rx \u2028 y\n  teh\t uh end" + end
        file = tmp_path / f"my {len(end)}.md"
        file.write_bytes(text.encode())
        tab["load"].send_keys(str(file))
        tab.shows(f"line 1 of {lines}", "place")
        assert tab.saved("save", file.name).decode() == text.replace("uh ", "")
    tab.put("draft", "teh one\n\nunreadable teh\n" + "a" * 20_000)  # pasted: lines of their own
    expected = "the one\r\n\r\nunreadable teh\r\n" + "a" * 20_000  # as the line ends
    assert tab.saved("save", file.name).decode().startswith(expected)
    tab["draft"].send_keys("teh")
    prevented = "return !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert tab.driver.execute_script(prevented), "work is not lost without a warning"

    file = tmp_path / "split.md"
    file.write_bytes(b"one two\r\nthree\r\n")
    tab = page("correct")
    tab["load"].send_keys(str(file))
    tab.shows("line 1 of 2", "place")
    tab.put("draft", "one\ntwo")
    assert tab.saved("save", file.name) == b"one\r\ntwo\r\nthree\r\n"

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

    tab = page("edit")
    tab.put("source", "one\ntwo")
    tab.put("draft", "teh\nbig")
    assert tab.saved("save", "text.txt").decode() == "one\tthe\ntwo\tlarge"


def test_hostile_text_is_shown_and_not_done_and_a_phone_cuts_nothing_off(page):
    tab = page("predict")
    tab.put("draft", "a text")
    tab.until(lambda: "<b>blue</b>0.30" in tab.text("predictions").replace(" ", ""))
    tab = page("edit")
    tags = "return [...new Set([...document.querySelectorAll('*')].map((e) => e.tagName))].sort()"
    tab.put("draft", "teh a")
    tab.shows("the a")
    usual = set(tab.driver.execute_script(tags))
    for payload in PAYLOADS:
        text = payload.replace("\ud800", "")
        tab.put("draft", f"teh {text}")
        tab.put("source", text)
        tab.shows(f"the {printable(text)}".replace("\\x", "\\u00"))
    assert tab.driver.title == "<i>m</i>.pt"
    assert set(tab.driver.execute_script(tags)) <= usual | {"DEL", "INS", "SUB"}
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    tab.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    tab.put("draft", "teh " + "long" * 60 + " cat " * 30)
    tab.until(lambda: tab.text("text").startswith("the long"))
    assert tab.driver.execute_script("return document.documentElement.scrollWidth") <= 360

    tab.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_server_that_has_gone_is_told_and_nothing_is_lost(driver):
    server = Server("correct")
    tab = Page(driver, server.address)
    tab.put("draft", "teh big")
    tab.shows("the large")
    tab.word("large", Keys.ENTER)
    server.stop()
    tab.put("draft", "teh big cat")
    tab.until(lambda: "cannot be reached" in tab.text("error"))
    assert tab.text("text") == "the big cat"
    driver.get_log("browser")  # has the refused connections, which are no fault


def test_a_document_is_read_as_a_whole_and_decided_by_edit_by_word_and_at_once(page, tmp_path):
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
    tab["accept-all"].click()
    tab.shows("22 of 22 edits applied", "summary")
    tab.driver.execute_script("document.querySelector('#lines .edit[data-number=\"0\"]').click()")
    tab.shows("line 1 of 28", "place")
    for line, status in (("4", "left alone as code"), ("28", "no answer"), ("6", "")):
        script = "document.querySelectorAll('#lines li')[arguments[0] - 1].click()"
        tab.driver.execute_script(script, line)
        tab.shows(status, "status")


def test_edits_that_nobody_saw_are_saved_or_copied_only_after_a_question(page, tmp_path):
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
    tab.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    tab["copy"].click()
    tab.shows("copied", "status")


def test_lines_below_the_fold_and_answers_of_another_mode_were_not_seen(page, tmp_path):
    file = tmp_path / "fold.txt"
    file.write_text("fine\n" * 7 + "teh", encoding="utf-8")
    tab = page("edit")
    tab.put("mode", "correct")
    low = {"width": 900, "height": 260, "deviceScaleFactor": 1, "mobile": False}
    tab.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", low)
    tab["load"].send_keys(str(file))
    tab.shows("1 of 1 edit applied", "summary")
    tab["save"].send_keys(Keys.ENTER)
    tab.until(tab.question).dismiss()
    tab.shows("line 8 of 8", "place")
    tab.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert tab.saved("save", file.name).endswith(b"\nthe")

    file.write_text("fine\n" * 200 + "teh", encoding="utf-8")
    tab.driver.execute_script("document.getElementById('load').click()")
    tab["load"].send_keys(str(file))  # the same file once more
    tab.shows("line 1 of 201", "place")
    tab.shows("1 of 1 edit applied", "summary")
    script = "document.querySelectorAll('#lines li')[arguments[0]].click()"
    for line in (200, 0):
        tab.driver.execute_script(script, line)
        tab.shows(f"line {line + 1} of 201", "place")
    tab.put("mode", "edit")
    tab.shows("1 of 1 edit applied", "summary")
    tab["save"].send_keys(Keys.ENTER)
    tab.until(tab.question).accept()
    saved = tab.driver.downloads / file.name
    assert tab.until(lambda: saved.exists() and saved.read_bytes()).endswith(b"\nthe")
    saved.unlink()


def test_each_word_that_is_tagged_is_shown_with_its_tag(page):
    tab = page("predict")
    tab.put("draft", "tagged words")
    tab.until(lambda: tab.text("predictions").startswith("tagged: red 0.70words: blue 0.60"))
    assert "cut off" in tab.text("predictions")


def test_other_versions_of_an_edit_model_and_its_iterations_are_shown_and_taken(page):
    tab = page("edit")
    tab.put("draft", "teh cat")
    tab.shows("the cat")
    tab.driver.execute_script("document.getElementById('more').open = true")
    tab.until(lambda: "version 4" in tab.text("versions"))
    assert "a b d c" in tab.text("versions")
    tab.driver.execute_script("document.querySelectorAll('#versions button')[1].click()")
    tab.shows("version 2")
    tab["undo"].click()
    tab.shows("the cat")
