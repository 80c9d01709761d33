"""The page of lev-serve in a real browser: three journeys by keyboard.

The model is scripted, so that what it says is known; what models say is test_serve.py's.
"""

import shutil
import threading
import time

import pytest

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from lev_correct import Edit  # noqa: E402
from lev_correct.cli import serve  # noqa: E402
from lev_correct.edits import apply_edits  # noqa: E402
from lev_correct.serve.app import make_app  # noqa: E402
from lev_correct.serve.model import ServedModel  # noqa: E402

DRIVER = shutil.which("chromedriver")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="there is no chromium with chromedriver"),
]
#: text that would run on a page that took it for HTML
DO = "document.title='DONE'"
PAYLOADS = (f"</title><script>{DO}</script>", f'"><img src=x onerror="{DO}">', "<plaintext>")
WRONG = {"teh": "the", "big": "large", "uh": ""}
PATIENCE = 30.0


def edited(text, marks=()):
    """Puts right what is wrong, as far as marks allow."""
    kinds = {mark.start: mark.kind for mark in marks}
    edits, place = [], 0
    for word in text.split(" "):
        kind = kinds.get(place)
        if kind == "drop":
            edits.append(Edit(place, word, "", 0.75))
        elif kind is None and word in WRONG:
            before = word + " " * (not WRONG[word])
            edits.append(Edit(place, before, WRONG[word], 0.75))
        place += len(word) + 1
    return {"text": apply_edits(text, edits), "edits": [edit.to_dict() for edit in edits]}


def correct(asked, rows):
    plain = {"text": "", "edits": []}
    return [
        {"source": row, **(plain if "~" in row else edited(row)), "code": "~" in row}
        for row in rows
    ]


def edit(asked, rows):
    other = {"text": "version 2", "edits": [], "score": -2, "iterations": []}
    versions = [other] * (asked.nbest - 1)
    return [
        {
            "source": row.source,
            "draft": row.draft,
            "hypotheses": [{**edited(row.draft or row.source, row.marks), "score": -1}, *versions],
        }
        for row in rows
    ]


def predict(asked, rows):
    scores = [{"label": "red", "score": 0.7}, {"label": "<b>blue</b>", "score": 0.3}]
    return [{"text": row, **scores[0], "top": scores, "cut": False} for row in rows]


class Page:
    """A page in a browser."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        driver.get(address)
        self.until(lambda: driver.execute_script("return document.body.dataset.ready"))

    def until(self, holds):
        end = time.monotonic() + PATIENCE
        while not (result := holds()):
            assert time.monotonic() < end, [self.text(name) for name in ("error", "text")]
            time.sleep(0.01)
        return result

    def __getitem__(self, name):
        return self.driver.find_element("id", name)

    def text(self, name):
        return str(self[name].get_property("textContent"))

    def put(self, name, text):
        """As if it were pasted."""
        self.driver.execute_script(
            "const field = document.getElementById(arguments[0]);"
            "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
            name,
            text,
        )

    def keys(self, *keys, held=()):
        """To whatever has the focus, while others are held."""
        chain = webdriver.ActionChains(self.driver)
        for key in held:
            chain = chain.key_down(key)
        chain.send_keys(*keys).perform()
        chain.reset_actions()

    def shows(self, text, name="text"):
        self.until(lambda: self.text(name) == text)

    def saved(self, name):
        self["save"].send_keys(Keys.ENTER)
        path = self.driver.downloads / name
        content = self.until(lambda: path.exists() and path.read_bytes())
        path.unlink()
        return content


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
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


@pytest.fixture
def page(driver, request):
    """The page of a server that does what a test is about."""
    runner = request.param
    info = {"model": "<i>m</i>.pt", "modes": [runner.__name__], "min_confidence": 0.0, "texts": 1}
    model = ServedModel({**info, "labels": ["red", "<b>blue</b>"]}, {runner.__name__: runner})
    app = make_app(model, "token", ["127.0.0.1"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    sockets = [serve.listen("127.0.0.1", 0)]
    address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/?token=token"
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    yield Page(driver, address)
    for entry in driver.get_log("browser"):
        assert "beforeunload" in entry["message"], entry
    driver.get("about:blank")
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.mark.parametrize("page", [edit], indirect=True)
def test_drafts_are_edited_and_saved(page, tmp_path):
    page["draft"].click()
    page.keys("teh big cat sat")
    page.shows("the large cat sat")
    for keys, text in (
        ([Keys.TAB, Keys.ENTER], "teh large cat sat"),  # refused
        ([Keys.ENTER], "the large cat sat"),  # and accepted again
        (["n", "l"], "the big cat sat"),
        ([Keys.END, "s"], "the big cat"),
        (["u"], "the big cat sat"),
        (["r", "stood", Keys.ENTER], "the big cat stood"),
    ):
        page.keys(*keys)
        page.shows(text)
    page.driver.execute_script("document.getElementById('more').open = true")
    page.until(lambda: "version 2" in page.text("versions"))
    page.driver.execute_script("document.querySelectorAll('#versions button')[1].click()")
    page.shows("version 2")
    for payload in PAYLOADS:
        page.put("draft", f"teh {payload}")
        page.shows(f"the {payload}")
    assert page.driver.title == "<i>m</i>.pt"

    page = Page(page.driver, page.address)
    lines = ["source one\tteh cat", *["fine\tfine"] * 70, "x\tteh"]
    file = tmp_path / "lines.tsv"
    file.write_bytes("\r\n".join(lines).encode())
    page["load"].send_keys(str(file))
    page.shows("line 1 of 72", "place")
    page.shows("the cat")
    page.keys(Keys.ARROW_DOWN, held=[Keys.ALT, Keys.SHIFT])
    page.shows("line 72 of 72", "place")
    expected = ["source one\tthe cat", *lines[1:-1], "x\tthe"]
    assert page.saved("lines.tsv").decode().split("\r\n") == expected


@pytest.mark.parametrize("page", [correct], indirect=True)
def test_documents_are_corrected_and_saved_byte_for_byte_but_for_changes(page, tmp_path):
    text = "\ufeff a\tb  c\r\n\r\n\nteh cat\x0b\rx \u2028 y\n  ~ teh\n  big \t uh end\r\n\r\n"
    file = tmp_path / "my file.md"
    file.write_bytes(text.encode())
    page["load"].send_keys(str(file))
    page.shows("3 of 3 edits applied", "summary")
    assert page.text("lines").count("teh") == 2

    def press(label):
        script = "document.querySelector(`#edits [aria-label='${arguments[0]}']`).focus()"
        page.driver.execute_script(script, label)
        page.keys(Keys.ENTER)

    press("Refuse: teh → the")
    page.shows("2 of 3 edits applied", "summary")
    assert page.saved(file.name).decode() == text.replace("uh ", "").replace("big", "large")
    page["refuse-all"].click()
    page.shows("0 of 3 edits applied", "summary")
    assert page.saved(file.name).decode() == text
    page["draft"].send_keys("teh")
    prevented = "return !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.driver.execute_script(prevented), "work is not lost without a warning"


@pytest.mark.parametrize("page", [predict], indirect=True)
def test_texts_are_labelled(page):
    page.put("draft", "a text")
    page.until(lambda: "<b>blue</b>0.30" in page.text("predictions").replace(" ", ""))
