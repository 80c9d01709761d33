"""The page of lev-serve in a real browser, by keyboard, on a phone, in light and dark.

The model is scripted, so that what it says is known; what models say is test_serve.py's.
"""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from test_pages_in_browser import BROWSER, PAYLOADS

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from lev_plugins.cli import serve  # noqa: E402
from lev_plugins.io.output import printable  # noqa: E402
from lev_plugins.serve.app import make_app  # noqa: E402
from lev_plugins.serve.model import ServedModel  # noqa: E402

DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="there is no chromium with chromedriver"),
]
TOKEN = "browser-token"
WRONG = {"teh": "the", "big": "large", "𝒳wrong": "𝒴right"}
PATIENCE = 20.0


# the model ----------------------------------------------------------------------------------------


def words_of(text: str) -> list[tuple[int, str]]:
    found, place = [], 0
    for word in text.split(" "):
        found += [(place, word)] if word else []
        place += len(word) + 1
    return found


def record(offset: int, before: str, after: str) -> dict[str, Any]:
    return {
        "offset": offset, "length": len(before), "before": before, "after": after,
        "probability": 0.25 if before == "big" else 0.75, "applied": True, "reason": None,
    }  # fmt: skip


def edited(text: str, marks: Sequence[Any] = (), best: int = 0) -> dict[str, Any]:
    """Puts right what is wrong, as far as marks allow."""
    kinds = {mark.start: mark.kind for mark in marks}
    edits = []
    for offset, word in words_of(text):
        kind = kinds.get(offset)
        if kind == "drop":
            edits.append(record(offset, word, ""))
        elif kind == "replace":
            edits.append(record(offset, word, "another"))
        elif kind is None and word in WRONG:
            edits.append(record(offset, word, WRONG[word] + "!" * best))
    out, place = "", 0
    for edit in edits:
        out += text[place : edit["offset"]] + edit["after"]
        place = edit["offset"] + edit["length"]
    return {"text": out + text[place:], "edits": edits}


def correct(options: Any, rows: Sequence[str]) -> list[dict[str, Any]]:
    return [{"source": row, **edited(row)} for row in rows]


def edit(options: Any, rows: Sequence[Any]) -> list[dict[str, Any]]:
    found = []
    for row in rows:
        step = {
            "before": ["teh", "cat"], "deleted": [True, False], "after": ["the", "cat"],
            "inserted": [True, False], "delete_probabilities": [0.9, 0.1],
            "token_probabilities": [0.8, 0.9],
        }  # fmt: skip
        hypotheses = [
            {**edited(row.draft or "", row.marks, best), "score": -best, "terminated": "unchanged",
             "iterations": [step]}
            for best in range(options.nbest)
        ]  # fmt: skip
        found.append({"source": row.source, "draft": row.draft, "hypotheses": hypotheses})
    return found


def predict(options: Any, rows: Sequence[Any]) -> list[dict[str, Any]]:
    scores = [{"label": "red", "score": 0.7}, {"label": "<b>blue</b>", "score": 0.3}]
    return [{"text": row[0], **scores[0], "top": scores, "cut": False} for row in rows]


def served(**runners: Any) -> ServedModel:
    info = {"model": "<i>m</i>.pt", "modes": list(runners), "min_confidence": 0.0}
    return ServedModel({**info, "labels": ["red", "<b>blue</b>"], "texts": 1}, runners)


# the browser --------------------------------------------------------------------------------------


class Server:
    """A server in a thread."""

    def __init__(self, model: ServedModel) -> None:
        self.socket = serve.listen("127.0.0.1", 0)
        app = make_app(model, TOKEN, serve.hosts_of("127.0.0.1"))
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}/?token={TOKEN}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.socket.close()


class Page:
    """The page of one server."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        driver.get(address)
        self.until(lambda: driver.execute_script("return document.body.dataset.ready"))

    def until(self, holds: Callable[[], Any]) -> Any:
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < end, self.text("error") or self.text("words")
            time.sleep(0.01)
        return found

    def __getitem__(self, name: str) -> Any:
        return self.driver.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return str(
            self.driver.execute_script(f"return document.getElementById('{name}').textContent")
        )

    def put(self, name: str, text: str) -> None:
        """As if it were pasted."""
        self.driver.execute_script(
            "const field = document.getElementById(arguments[0]);"
            "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
            name,
            text,
        )

    def keys(self, *keys: str) -> None:
        """To whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def chord(self, modifier: str, key: str) -> None:
        chain = webdriver.ActionChains(self.driver)
        chain.key_down(modifier).send_keys(key).key_up(modifier).perform()

    def shows(self, text: str) -> None:
        self.until(lambda: self.text("text") == text)


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
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    made.downloads = folder
    yield made
    made.quit()


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    made = {
        "edit": Server(served(edit=edit, correct=correct)),
        "correct": Server(served(correct=correct)),
        "predict": Server(served(predict=predict)),
    }
    yield made
    for server in made.values():
        server.stop()


@pytest.fixture
def page(driver: Any, servers: dict[str, Server]) -> Iterator[Callable[[str], Page]]:
    driver.set_window_size(900, 1000)
    yield lambda name: Page(driver, servers[name].address)
    severe = [entry["message"] for entry in driver.get_log("browser")]
    assert severe == [], "the browser complained"


# what a person does -------------------------------------------------------------------------------


def test_with_the_keyboard_alone_words_are_edited_locked_struck_and_replaced(page):
    one = page("edit")
    one["draft"].click()
    one.keys("teh big cat sat")
    one.shows("the large cat sat")
    one.until(lambda: one.text("status").startswith("2 edits"))
    for _ in range(2):  # past the number of alternatives
        one.keys(Keys.TAB)
    assert one.driver.switch_to.active_element.text == "teh"
    one.keys(Keys.ENTER)  # refuse
    one.shows("teh large cat sat")
    one.keys(Keys.ENTER)  # accept again
    one.shows("the large cat sat")
    one.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "l")  # big
    one.shows("the big cat sat")
    one.keys(Keys.END, "s")  # sat
    one.shows("the big cat ")
    one.keys(Keys.ARROW_LEFT, "a")  # cat
    one.shows("the big another ")
    one.keys("u")
    one.shows("the big cat ")
    one.keys("r")
    one.keys("dog", Keys.ENTER)
    one.shows("the big dog ")
    one.chord(Keys.CONTROL, Keys.ENTER)
    one.until(lambda: one.text("accepted") == "accepted")


def test_a_line_accepted_while_the_model_works_is_accepted_as_it_answers(page):
    one = page("edit")
    one.put("draft", "teh cat")
    one.shows("the cat")
    one["draft"].click()
    one.keys(Keys.END, " teh")
    one.chord(Keys.CONTROL, Keys.ENTER)  # at once
    one.until(lambda: one.text("accepted") == "accepted")
    assert one.text("text") == "the cat the"


def test_an_inserted_word_can_be_struck_and_the_draft_as_given_is_kept(page):
    one = page("edit")
    one.put("draft", "teh cat")
    one.shows("the cat")
    one.driver.find_element(By.CSS_SELECTOR, ".after .word").click()
    one["drop"].click()
    one.shows(" cat")
    assert one["draft"].get_attribute("value") == "the cat"
    one["undo"].click()
    one.shows("the cat")
    assert one["draft"].get_attribute("value") == "teh cat"


def test_alternatives_and_iterations_are_shown_and_chosen(page):
    one = page("edit")
    one.put("draft", "teh cat")
    one.put("nbest", "3")
    one.until(lambda: len(one.driver.find_elements(By.NAME, "hypothesis")) == 3)
    one.driver.find_elements(By.NAME, "hypothesis")[1].click()
    one.shows("the! cat")
    one.driver.find_element(By.CSS_SELECTOR, "#words .selected").send_keys("3")
    one.shows("the!! cat")
    assert "Iteration 1" in one.text("iterations") and "0.90" in one.text("iterations")


def test_corrections_are_chosen_by_probability_by_hand_and_by_own_words(page):
    one = page("correct")
    assert not one["source"].is_displayed() and not one["modes"].is_displayed()
    one.put("draft", "teh big 𝒳wrong")
    one.shows("the large 𝒴right")
    one.put("least", "0.5")
    one.shows("the big 𝒴right")
    words = one.driver.find_elements(By.CSS_SELECTOR, "#words .before .word")
    words[1].send_keys(Keys.ENTER)
    one.shows("the large 𝒴right")
    one["own"].send_keys("huge", Keys.ENTER)
    one.shows("the huge 𝒴right")
    one.driver.find_element(By.CSS_SELECTOR, "#words .selected").send_keys(Keys.HOME, "l")
    one.shows("teh huge 𝒴right")


def test_what_is_typed_while_the_model_works_is_what_is_shown_in_the_end(page):
    one = page("correct")
    for n in range(40):
        one.put("draft", f"teh {n}")
    one.shows("the 39")
    one.put("draft", "")
    one.until(lambda: not one["result"].is_displayed())


def test_a_file_is_gone_through_and_saved_as_text_edits_and_triples(page, tmp_path):
    lines = ["source one\tteh cat", "source two\tbig", "no draft", "source four\tteh big"]
    file = tmp_path / "lines.tsv"
    file.write_text("\n".join(lines), encoding="utf-8")
    one = page("edit")
    one["load"].send_keys(str(file))
    one.until(lambda: one.text("place") == "line 1 of 4")
    one.shows("the cat")
    one.chord(Keys.CONTROL, Keys.ENTER)
    one.until(lambda: one.text("place") == "line 2 of 4")
    one.shows("large")
    one.chord(Keys.ALT, Keys.ARROW_UP)
    one.until(lambda: one.text("accepted") == "accepted")
    one.chord(Keys.ALT, Keys.ARROW_DOWN)
    for name in ("text", "edits", "triples"):
        one[f"export-{name}"].click()
    folder = one.driver.downloads
    saved = [folder / name for name in ("accepted.txt", "edits.jsonl", "triples.tsv")]
    one.until(lambda: all(path.exists() for path in saved))
    text, edits, triples = (path.read_text("utf-8") for path in saved)
    assert text == "the cat\nlarge\n\nthe large\n"
    assert triples == "source one\tteh cat\tthe cat\n"
    found = [json.loads(line) for line in edits.splitlines()]
    assert [(one["line"], one["before"], one["after"]) for one in found] == [
        (1, "teh", "the"), (2, "big", "large"), (4, "teh", "the"), (4, "big", "large"),
    ]  # fmt: skip
    for path in saved:
        path.unlink()


def test_a_file_that_is_no_text_is_refused_and_nothing_is_lost(page, tmp_path):
    file = tmp_path / "latin.txt"
    file.write_bytes(b"caf\xe9\n")
    one = page("correct")
    one.put("draft", "teh")
    one.shows("the")
    one["load"].send_keys(str(file))
    one.until(lambda: "latin.txt is not UTF-8" in one.text("error"))
    assert one.text("text") == "the"


def test_predictions_are_bars_with_their_names(page):
    one = page("predict")
    one.put("draft", "a text")
    one.until(lambda: "0.70" in one.text("predictions"))
    assert "<b>blue</b>" in one.text("predictions")
    assert one.driver.find_elements(By.CSS_SELECTOR, "#predictions b") == []


# what it looks like -------------------------------------------------------------------------------


def test_hostile_text_is_shown_and_not_done(page):
    one = page("edit")
    tags = "return [...new Set([...document.querySelectorAll('*')].map((e) => e.tagName))].sort()"
    one.put("draft", "teh a")
    one.shows("the a")
    usual = set(one.driver.execute_script(tags))
    for payload in PAYLOADS:
        text = payload.replace("\ud800", "")
        one.put("draft", f"teh {text}")
        one.put("source", text)
        one.shows(f"the {printable(text)}".replace("\\x", "\\u00"))
    assert one.driver.title == "<i>m</i>.pt"
    assert set(one.driver.execute_script(tags)) <= usual | {"DEL", "INS", "SUB"}


@pytest.mark.parametrize("mode", ["edit", "correct", "predict"])
def test_nothing_is_cut_off_on_a_phone(page, mode):
    one = page(mode)
    one.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    try:
        one.put("draft", "teh " + "long" * 60 + " cat " * 30)
        shown = "predictions" if mode == "predict" else "result"
        one.until(lambda: one[shown].is_displayed())
        width = one.driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= 360
        for button in one.driver.find_elements(By.CSS_SELECTOR, "#actions button"):
            assert not button.is_displayed() or button.size["height"] >= 40, "for a thumb"
    finally:
        one.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


CONTRAST = """
const parse = (color) => color.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const back = (node) => {
  for (let one = node; one; one = one.parentElement) {
    const color = parse(getComputedStyle(one).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll(arguments[0])].map((node) => {
  const [x, y] = [light(parse(getComputedStyle(node).color)), light(back(node))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(page, scheme):
    one = page("edit")
    one.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    one.put("draft", "teh big cat")
    one.shows("the large cat")
    ratios = one.driver.execute_script(CONTRAST, "body, .word, del, ins, sub, label, kbd, textarea")
    assert len(ratios) > 20 and min(ratios) >= 4.5, "WCAG 2, level AA"
    dark = one.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(dark[4:].split(",")[0]) < 60) == (scheme == "dark")
    one.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_everything_that_can_be_pressed_has_a_name_and_nothing_comes_from_elsewhere(page):
    one = page("edit")
    one.put("draft", "teh cat")
    one.shows("the cat")
    for node in one.driver.find_elements(By.CSS_SELECTOR, "button, input, textarea"):
        assert not node.is_displayed() or node.accessible_name, node.get_attribute("outerHTML")
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    origin = one.driver.execute_script("return location.origin")
    loaded = one.driver.execute_script(script)
    assert len(loaded) > 5 and all(name.startswith(origin) for name in loaded)


def test_a_server_that_has_gone_is_told(driver):
    server = Server(served(correct=correct))
    one = Page(driver, server.address)
    one.put("draft", "teh")
    one.shows("the")
    server.stop()
    one.put("draft", "teh big")
    one.until(lambda: "cannot be reached" in one.text("error"))
    driver.get_log("browser")
