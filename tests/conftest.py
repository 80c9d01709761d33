"""What all tests share: one thread, fixed seeds, the data of the machine where there are any.

``LEV_DEVICE=cuda python -m pytest -m device`` runs the tests of what computes on a GPU; commands
take one by themselves.
"""

import os

# Before torch: tiny models only wait for a second thread. tests/kernels.sh asks for several.
THREADS = os.environ.get("LEV_THREADS", "1")
os.environ["OMP_NUM_THREADS"] = THREADS
# Our modules are compiled once, and not in each of the hundreds of processes that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import importlib.util  # noqa: E402
import logging  # noqa: E402
import random  # noqa: E402
import re  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

#: None where the core alone is installed: tests/core.sh
torch = None
if importlib.util.find_spec("torch"):
    import torch

    # All of fairseq before lev_plugins, so that tests are alike in any order; it sets up logging.
    LOGGER = logging.getLogger()
    LEVEL, HANDLERS = LOGGER.level, list(LOGGER.handlers)
    import fairseq  # noqa: F401

    LOGGER.setLevel(LEVEL)
    LOGGER.handlers[:] = HANDLERS
    torch.set_num_threads(int(THREADS))

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# A run that a shell starts in the background ignores Ctrl-C, and so would all it starts itself.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run and on any machine, however busy it is; more of them with
# --hypothesis-profile=thorough.
SAME = {"derandomize": True, "database": None, "deadline": None}
SAME["suppress_health_check"] = [HealthCheck.too_slow]
for name, count in {"lev_plugins": 25, "thorough": 200}.items():
    settings.register_profile(name, max_examples=count, **SAME)
settings.load_profile("lev_plugins")

DEVICE = os.environ.get("LEV_DEVICE", "cpu")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What a test marked ``device`` makes without naming a device is made on DEVICE."""
    if DEVICE == "cpu" or item.get_closest_marker("device") is None:
        return (yield)
    with torch.device(DEVICE):
        return (yield)


#: what a file of tests imports that holds something against the plug-in, or is about it
PLUGIN = re.compile(
    r"^\s*(?:from|import) (?:torch|fairseq|omegaconf|editdistance|tiny|editors|saved|exported|"
    r"enct5_models|checkpoints|"
    r"lev_plugins\.(?:data\.(?!noise|source)|inference|nn|optim|pretrained|reports|systems|tasks)|"
    r"lev_plugins import .*(?:EditTrace|EncT5|Iteration|LevenshteinEditor))",
    re.MULTILINE,
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out such files where torch is missing: tests/core.sh."""
    is_left_out = torch is None and collection_path.suffix == ".py"
    return True if is_left_out and PLUGIN.search(collection_path.read_text("utf-8")) else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips single tests of the plug-in where torch is missing."""
    if torch is None and item.get_closest_marker("plugin"):
        pytest.skip("needs fairseq and torch: pip install '.[train,test]'")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Real commands are slow, and come first: at the end only short tests are left to share."""
    for item in items:
        if "commands" in item.path.parts:
            item.add_marker("slow")
    items.sort(key=lambda item: "commands" not in item.path.parts)


#: CPU seconds that a plain test should not take; a busy machine needs several times as many
BUDGET = 2.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Notes the CPU seconds of a plain test; an outcome does not depend on them."""
    started = time.process_time()
    result = yield
    seconds = time.process_time() - started
    if seconds > BUDGET and not any(map(item.get_closest_marker, ("slow", "long"))):
        item.user_properties.append(("seconds", seconds))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names the plain tests that should be marked slow."""
    for report in terminalreporter.getreports("passed"):
        for seconds in (value for key, value in report.user_properties if key == "seconds"):
            if report.when == "call":
                terminalreporter.line(f"slow, not marked: {report.nodeid} ({seconds:.1f} CPU s)")


@pytest.fixture(autouse=True)
def seeds():
    """Every test starts from the same random state, whichever tests ran before it."""
    random.seed(1)
    np.random.seed(1)
    if torch:
        torch.manual_seed(1)


@pytest.fixture(autouse=True)
def handlers():
    """A training that begins in a test's own process leaves its handlers of signals to no other."""
    numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def root():
    """The folder that holds ``lev_plugins``."""
    return ROOT


@pytest.fixture(scope="session")
def transformers():
    """The library that pre-trained models are held against, which the package does not need."""
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed: pip install '.[train,test]'")
    importlib.import_module("checkpoints")  # which keeps a broken torchaudio from it
    os.environ["HF_HUB_OFFLINE"] = "1"
    return importlib.import_module("transformers")
