"""The page of lev-serve in a real browser: a person writes, by keyboard, mouse and on a phone.

The model is scripted, so that what it says is known; what models say is test_app.py's.
"""

import shutil
import time
from importlib import resources

import pytest
from serving import correct, serving, spelled

from lev_correct import Edit
from lev_serve.app import make_app
from lev_serve.model import ServedModel

webdriver = pytest.importorskip("selenium.webdriver")
Keys = webdriver.Keys
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
PATIENCE = 30.0


def edit(asked, rows):
    return [
        {
            "source": row.source,
            "draft": row.draft,
            "hypotheses": [
                {
                    **spelled(row.draft or row.source, [mark.start for mark in row.marks]),
                    "score": -1,
                }
            ],
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
        self.until(lambda: self.run("return document.body.dataset.ready"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, holds):
        end = time.monotonic() + PATIENCE
        while not (result := holds()):
            assert time.monotonic() < end, [self.content("error"), self.value(), self.marked()]
            time.sleep(0.01)
        return result

    def __getitem__(self, name):
        return self.driver.find_element("id", name)

    def content(self, name):
        return str(self[name].get_property("textContent"))

    def value(self, name="text"):
        return self[name].get_property("value")

    def put(self, text, name="text"):
        """Pastes a text over what is in a field."""
        self[name].click()
        self.keys("a", held=[Keys.CONTROL])
        self.run("document.execCommand('insertText', 0, arguments[0])", text)

    def keys(self, *keys, held=()):
        """To whatever has the focus, while others are held."""
        chain = webdriver.ActionChains(self.driver)
        for key in held:
            chain = chain.key_down(key)
        chain.send_keys(*keys).perform()
        chain.reset_actions()

    def next(self):
        self.keys(Keys.ARROW_DOWN, held=[Keys.ALT])

    def reads(self, text, name="text"):
        self.until(lambda: self.value(name) == text)

    def marked(self):
        """Returns what is underlined: words, of edits that are doubtful with a question mark."""
        return self.run("""
            const found = [["sure", ""], ["doubt", "?"]].flatMap(([name, sign]) =>
              [...(CSS.highlights.get(name) ?? [])].map((range) => [range.startOffset,
                range.startContainer.data.slice(range.startOffset, range.endOffset) + sign]));
            return found.sort(([a], [b]) => a - b).map(([, words]) => words).join(" ");
        """)

    def marks(self, words):
        self.until(lambda: self.marked() == words)

    def click_on_the_first_mark(self):
        place = self.run("""
            const [range] = CSS.highlights.get("sure"), live = new Range();
            live.setStart(range.startContainer, range.startOffset);
            live.setEnd(range.endContainer, range.endOffset);
            const box = live.getBoundingClientRect(), field = document.getElementById("text")
              .getBoundingClientRect();
            return [box.x + box.width / 2 - field.x - field.width / 2,
              box.y + box.height / 2 - field.y - field.height / 2];
        """)
        chain = webdriver.ActionChains(self.driver)
        chain.move_to_element_with_offset(self["text"], *map(round, place)).click().perform()

    def saved(self, name):
        self.run("document.getElementById('save').click()")
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
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    browser.downloads = folder
    yield browser
    browser.quit()


def application(runner, token="token"):
    """A server that does what a test is about."""
    info = {"model": "<i>m</i>.pt", "modes": [runner.__name__], "texts": 1}
    info["example"] = "a source\tteh"
    model = ServedModel({**info, "labels": ["red", "<b>blue</b>"]}, {runner.__name__: runner})
    return make_app(model, token, ["127.0.0.1"])


@pytest.fixture
def page(driver, request):
    with serving(application(getattr(request, "param", correct))) as port:
        yield Page(driver, port)
        assert not driver.get_log("browser")
        driver.get("about:blank")


def test_a_person_writes_corrects_and_ignores(page):
    page.keys("teh big, uh cat", Keys.ENTER, "sat. te")
    page.marks("teh big? uh ")
    page.keys("h")
    page.marks("teh big? uh  teh")  # after a rest
    page.keys(".")
    page.marks("teh big? uh  teh")  # a word without its full stop
    page.click_on_the_first_mark()
    page.until(lambda: page.content("take") == "the" and page["pop"].is_displayed())
    assert page.run("return document.activeElement.id") == "text"
    assert page.content("reason") == "why the"
    page["take"].click()
    page.reads("the big, uh cat\nsat. teh.")
    page.next()
    assert page.content("take") == "large" and "50" in page.content("reason")
    page.keys(Keys.ESCAPE)
    assert not page["pop"].is_displayed()
    page.next()
    page["ignore"].click()
    page.marks("big? teh")
    page.keys(Keys.HOME, held=[Keys.CONTROL])
    page.keys("teh uh x ")
    page.marks("teh uh  big? teh")  # what is ignored stays so while the text moves
    page.keys(Keys.HOME, held=[Keys.CONTROL])
    page.next()
    page["always"].click()
    page.marks("uh  big?")
    page.driver.refresh()
    page.marks("uh  big?")  # the tab keeps the text, the browser the words
    page["more"].click()
    page.driver.find_element("css selector", "#words button").click()
    page.marks("teh uh  big? teh")


#: word → probability, why it is not made, what speaks for it; and whether *Correct all* takes it
GRADED = {
    "aa": (0.8, None, [], True),
    "bb": (0.79, None, [], False),
    "cc": (0.9, "reported", [], True),  # an everyday slip
    "dd": (0.89, "reported", [], False),
    "ee": (0.99, "reported", [("certain", 3.0)], False),
    "ff": (0.99, "confidence", [("certain", 3.0)], False),
}


def graded(asked, rows):
    results = []
    for row in rows:
        text = getattr(row, "draft", row)
        edits = [
            Edit(text.index(word), word, word.upper(), share, not reason, reason, why)
            for word, (share, reason, why, _) in GRADED.items()
            if word in text
        ]
        results.append({"edits": [edit.to_dict() for edit in edits]})
    return results


@pytest.mark.parametrize("mode", ["correct", "edit"])
def test_a_wave_is_what_all_at_once_makes(driver, mode):
    app = make_app(ServedModel({"modes": [mode]}, {mode: graded}), "token", ["127.0.0.1"])
    with serving(app) as port:
        page = Page(driver, port)
        page.put(" ".join(GRADED))
        takes = {word: each[-1] for word, each in GRADED.items()}
        page.marks(" ".join(word + "?" * (not takes[word]) for word in takes))
        page["all"].click()
        page.reads(" ".join(word.upper() if takes[word] else word for word in takes))


def test_the_list_is_gone_through_and_emptied_by_keys_alone(page):
    def is_at(name):
        page.until(lambda: page.run("return document.activeElement.ariaLabel") == name)

    page.keys("teh big cat, eht teh x")
    page.marks("teh big? eht? teh")
    page.until(lambda: page.content("status") == "4 suggestions")
    assert page.content("size") == "6 words, 22 characters."
    assert "why the" in page.content("list") and "50" in page.content("list")
    page.keys(Keys.TAB)
    is_at("the: replace teh")
    page.keys(Keys.TAB)
    is_at("large: replace big")
    page.keys(Keys.ARROW_UP, Keys.ENTER)
    page.reads("the big cat, eht teh x")
    is_at("large: replace big")
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    page.reads("the tea cat, eht teh x")
    is_at("the: replace eht")
    page.keys(Keys.DELETE)
    is_at("the: replace teh")
    assert page.run("return CSS.highlights.get('chosen').size") == 1
    page.keys(Keys.ESCAPE, "Z")
    page.reads("the tea cat, eht Z x")
    page.marks("")
    page.until(lambda: page.content("status") == "No misspellings found.")
    page.keys("z", held=[Keys.CONTROL])
    page.marks("teh")
    page.keys(Keys.TAB, Keys.ENTER)
    page.reads("the tea cat, eht the x")
    assert page.run("return document.activeElement.id") == "text"


def test_of_many_findings_those_at_the_caret_are_listed(page):
    page.put("teh\n" * 120)
    page.until(lambda: page.run("return CSS.highlights.get('sure').size") == 120)
    assert page.content("rest") == "70 others before these."
    page.keys(Keys.HOME, held=[Keys.CONTROL])
    page.until(lambda: page.content("rest") == "70 others after these.")
    page.keys(Keys.TAB, *[Keys.ARROW_DOWN] * 9, Keys.ENTER)
    page.reads("teh\n" * 9 + "the\n" + "teh\n" * 110)
    assert page.content("rest") == "69 others after these."


def test_a_line_longer_than_a_model_takes_is_corrected(page):
    page.put("word " * 5_000 + "teh end")
    page.marks("teh")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_long_file_is_corrected_taken_back_and_saved_byte_for_byte(page, tmp_path, ending):
    text = "\ufeff a\tb  c\n\n\n" + "teh cat\x0b \u2028 y\n  big \t uh end\n" * 300 + "\n"
    text, file, states = text.replace("\n", ending), tmp_path / "a.md", [""]
    file.write_bytes(text.encode())

    def does(*keys, click=None):
        page[click].click() if click else page.keys(*keys)
        states.append(page.until(lambda: page.value() != states[-1] and page.value()))

    does("a note")
    page["load"].send_keys(str(file))
    page.until(lambda: page.run("return CSS.highlights.get('sure').size") == 600)
    states.append(page.value())
    assert page.saved(file.name).decode() == text
    page.next()
    does(Keys.ENTER)
    does(click="all")
    right = text.replace("teh", "the").replace("uh ", "")
    assert page.saved(file.name).decode() == right
    does(Keys.END, "bye")
    does(Keys.ENTER)
    for state in [*reversed(states[:-1]), ""]:
        page.keys("z", held=[Keys.CONTROL])
        page.reads(state)
    for state in states[1:]:
        page.keys("z", held=[Keys.CONTROL, Keys.SHIFT])
        page.reads(state)
    page.keys("z", held=[Keys.CONTROL])
    page.keys("!")
    page.keys("y", held=[Keys.CONTROL])
    assert page.value().count("!") == 1, "what was taken back is gone once something is written"


@pytest.mark.parametrize("page", [edit], indirect=True)
def test_drafts_are_edited_beside_their_sources(page, tmp_path):
    file = tmp_path / "my file.tsv"
    file.write_bytes(b"teh source\tteh big cat\r\nfine\tfine\r\nteh new\t\r\n")
    page["example"].click()
    page.reads("a source", "source")
    page.marks("teh")
    page["load"].send_keys(str(file))
    page.reads("teh big cat\nfine", "text")
    assert page.value("source") == "teh source\nfine\nteh new"
    page.until(lambda: page.run("return document.querySelectorAll('#gaps i').length") == 1)
    page.keys(Keys.HOME, held=[Keys.CONTROL])
    page.next()
    page["ignore"].click()
    page.marks("big? ")  # the model keeps its mark
    page.next()
    page.keys(Keys.ENTER)
    page.reads("teh large cat\nfine")
    page.next()
    page.keys(Keys.ENTER)
    page.reads("teh large cat\nfine\nthe new")
    wanted = b"teh source\tteh large cat\r\nfine\tfine\r\nteh new\tthe new\r\n"
    assert page.saved(file.name) == wanted
    for payload in PAYLOADS:
        page.put(f"a teh {payload}")
        page.marks("teh")
    assert page.driver.title == "Edit a draft · lev-serve"
    assert page.content("model") == "lev-serve · <i>m</i>.pt"


def test_the_text_stays_when_the_server_goes_and_comes_again(driver):
    with serving(application(correct)) as port:
        page = Page(driver, port)
        page.put("teh cat")
        page.marks("teh")
    page.keys(" big x")
    page.until(lambda: page.content("error"))
    with serving(application(correct), port):
        page.marks("teh big?")
        assert not page.content("error")
    with serving(application(correct, "new"), port):
        page.keys(" teh x")
        page.until(lambda: page.content("error"))
        page = Page(driver, port, "new")
        page.marks("teh big? teh")
    driver.get_log("browser")  # of what could not be reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 380])
@pytest.mark.parametrize("page", [correct, edit, predict], indirect=True)
def test_it_is_accessible(page, scheme, width):
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def faults():
        page.run(axe)
        run = "axe.run().then(arguments[0])"
        found = page.driver.execute_async_script(run)["violations"]
        wide = page.run("return document.documentElement.scrollWidth > innerWidth")
        return [fault["id"] for fault in found] + ["too wide"] * wide

    assert not faults()
    page.put("teh big cat " * 9)
    if page.run("return document.body.dataset.mode") == "predict":
        page.until(lambda: "<b>blue</b> 0.30" in page.content("predictions"))
    else:
        page.until(page.marked)
        page.next()
        assert page["pop"].is_displayed()
    page.run("document.getElementById('more').open = true")
    assert not faults()
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
