"""The processes below one."""

import contextlib
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether a process of ours runs; one that has ended may wait to be asked how."""
    return ") Z " not in Path(f"/proc/{pid}/stat").read_text()


def descendants(pid: int) -> list[int]:
    """All that a process has started, and what those have."""
    children: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[1] == str(pid):
                children.append(int(path.parent.name))
    return [*children, *(descendant for child in children for descendant in descendants(child))]


def are_gone(pids: list[int], seconds: float) -> bool:
    """Whether none of these processes is left; torch's look for their parent every five seconds."""
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)
