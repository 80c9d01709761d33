"""The page of lev-serve in a real browser: three journeys by keyboard.

The model is scripted, so that what it says is known; what models say is test_serve.py's.
"""

import re
import shutil
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from serving import serving  # noqa: E402

from lev_correct import Edit  # noqa: E402
from lev_correct.lines import apply_edits  # noqa: E402
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
    edits = []
    for word in re.finditer(r"\S+", text):
        before, kind = word[0], kinds.get(word.start())
        after = {"drop": "", None: WRONG.get(before, before)}.get(kind, before)
        if after != before:
            before += " " * (before == "uh")
            edits.append(Edit(word.start(), before, after, 0.75))
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

    def __init__(self, driver, port, token="token"):
        self.driver = driver
        driver.get(f"http://127.0.0.1:{port}/?token={token}")
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

    def put(self, text):
        """Pastes a text over the draft."""
        self["draft"].click()
        self.keys("a", held=[Keys.CONTROL])
        self.driver.execute_script("document.execCommand('insertText', 0, arguments[0])", text)

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


def application(runner, token="token"):
    """A server that does what a test is about."""
    info = {"model": "<i>m</i>.pt", "modes": [runner.__name__], "min_confidence": 0.0, "texts": 1}
    model = ServedModel({**info, "labels": ["red", "<b>blue</b>"]}, {runner.__name__: runner})
    return make_app(model, token, ["127.0.0.1"])


@pytest.fixture
def page(driver, request):
    with serving(application(request.param)) as port:
        yield Page(driver, port)
        for entry in driver.get_log("browser"):
            assert "beforeunload" in entry["message"], entry
        driver.get("about:blank")


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
        page.put(f"teh {payload}")
        page.shows(f"the {payload}")
    assert page.driver.title == "<i>m</i>.pt"


TEXT = "\ufeff a\tb  c\r\n\r\n\nteh cat\x0b\rx \u2028 y\n  ~ teh\n  big \t uh end\r\n\r\n"
PAIRS = "teh source\tteh cat\r\n" + "fine\tfine\r\n" * 70 + "x\tbig uh end"


@pytest.mark.parametrize(
    "page, text, next_line, lines",
    [(correct, TEXT, 4, 8), (edit, PAIRS, 72, 72)],
    indirect=["page"],
)
def test_documents_are_corrected_and_saved_byte_for_byte_but_for_changes(
    page, text, next_line, lines, tmp_path
):
    file = tmp_path / "my file.md"
    file.write_bytes(text.encode())
    page["load"].send_keys(str(file))
    page.shows(f"line 1 of {lines}", "place")
    page.keys(Keys.ARROW_DOWN, held=[Keys.ALT, Keys.SHIFT])
    page.shows(f"line {next_line} of {lines}", "place")
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


def test_what_is_typed_stays_with_its_caret_also_when_the_server_starts_anew(driver):
    with serving(application(correct)) as port:
        page = Page(driver, port)

        def shows(typed):
            count = typed.count("teh")
            page.shows(f"{count} of {count} edits applied", "summary")
            assert page["draft"].get_property("value") == typed

        page["draft"].click()
        page.keys("teh teh", Keys.ENTER)
        shows("teh teh\n")
        page.keys("b teh ", Keys.ENTER, Keys.ENTER)
        shows("teh teh\nb teh \n\n")
        page.keys(Keys.LEFT, "teh")
        shows("teh teh\nb teh \nteh\n")
        page.put("x\t teh  \r\n\n" * 300)
        shows("x\t teh  \n\n" * 300)
        white = "return document.documentElement.scrollHeight - document.body.offsetHeight"
        assert driver.execute_script(white) <= 1
        page.keys("z", held=[Keys.CONTROL])
        shows("teh teh\nb teh \nteh\n")
        page["refuse-all"].click()
        page["draft"].send_keys(Keys.UP, Keys.UP, Keys.RIGHT, Keys.ENTER)
        page.shows("0 of 4 edits applied", "summary")
    page["draft"].send_keys(" big")
    page.until(lambda: page.text("error"))
    with serving(application(correct), port):
        page.shows("1 of 5 edits applied", "summary")
        assert not page.text("error")
    with serving(application(correct, "new"), port):
        page["draft"].send_keys(" big")
        page.until(lambda: page.text("error"))
        page = Page(driver, port, "new")
        page.shows("2 of 6 edits applied", "summary")
        assert page.saved("text.txt") == b"teh teh\nb\n large large teh \nteh\n"
    driver.get_log("browser")  # of what could not be reached


@pytest.mark.parametrize("page", [predict], indirect=True)
def test_texts_are_labelled(page):
    page.put("a text")
    page.until(lambda: "<b>blue</b>0.30" in page.text("predictions").replace(" ", ""))
