"""Counts of what the server does, in the text format of Prometheus (version 0.0.4)."""

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HELP = {
    "lev_requests_total": ("counter", "Requests answered, by path and HTTP status."),
    "lev_request_seconds": ("histogram", "Time from request to answer, by path."),
    "lev_sentences_total": ("counter", "Sentences, lines or texts that the model read."),
    "lev_batches_total": ("counter", "Batches that the model read."),
    "lev_waiting_requests": ("gauge", "Requests that wait for the model or are with it."),
    "lev_cpu_seconds_total": ("counter", "Processor time of the process."),
    "lev_resident_memory_bytes": ("gauge", "Memory of the process."),
    "lev_model_info": ("gauge", "The model, as labels."),
}


class Metrics:
    """Counters, to be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._sentences: Counter[str] = Counter()
        self._batches: Counter[str] = Counter()

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        with self._lock:
            self._requests[path, status] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]
            for limit in (*BUCKETS, float("inf")):
                self._buckets[path, limit] += seconds <= limit

    def batch(self, kind: str, rows: int) -> None:
        """Counts a batch."""
        with self._lock:
            self._batches[kind] += 1
            self._sentences[kind] += rows

    def text(self, waiting: int, info: Mapping[str, str]) -> str:
        """All of them, in the format."""
        with self._lock:
            samples = [
                _sample("lev_requests_total", count, path=path, status=str(status))
                for (path, status), count in self._requests.items()
            ]
            for path, seconds in self._seconds.items():
                counts = [(limit, self._buckets[path, limit]) for limit in BUCKETS]
                total = self._buckets[path, float("inf")]
                for limit, count in (*counts, ("+Inf", total)):
                    samples.append(
                        _sample("lev_request_seconds_bucket", count, path=path, le=str(limit))
                    )
                samples.append(_sample("lev_request_seconds_sum", seconds, path=path))
                samples.append(_sample("lev_request_seconds_count", total, path=path))
            for name, found in (("sentences", self._sentences), ("batches", self._batches)):
                samples += [_sample(f"lev_{name}_total", n, kind=kind) for kind, n in found.items()]
        samples.append(_sample("lev_waiting_requests", waiting))
        samples.append(_sample("lev_cpu_seconds_total", time.process_time()))
        if memory := resident_memory():
            samples.append(_sample("lev_resident_memory_bytes", memory))
        samples.append(_sample("lev_model_info", 1, **info))
        return _with_help(samples)


def _with_help(samples: list[str]) -> str:
    lines = []
    for name, (kind, help) in _HELP.items():
        own = [one for one in samples if one.startswith(name)]
        if own:
            lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *own]
    return "\n".join(lines) + "\n"


def _sample(name: str, value: float, **labels: str) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:.17g}" if inside else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_memory() -> int:
    """Bytes of this process that are in memory, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
