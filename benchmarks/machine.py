"""What a benchmark ran on: no figure stands without it."""

import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def machine(device: str) -> str:
    """The name of the GPU or CPU that ``device`` stands for, as far as the system tells it."""
    if device == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    return processor()


def processor(described: Path = CPUINFO) -> str:
    """The CPU's name and, where the system tells them, its family and model.

    The name alone does not say how wide a CPU computes: "AMD EPYC" stands for several generations.
    """
    first = described.read_text(errors="replace") if described.is_file() else ""
    fields = re.findall(r"^([\w ]+?)\s*: (.+)$", first.partition("\n\n")[0], re.M)
    told = {key: value.strip() for key, value in fields}
    name = told.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= told.keys():
        return f"{name} (family {told['cpu family']}, model {told['model']})"
    return name


def kernels() -> str:
    """Which instructions torch's own kernels use here, and what multiplies fp32 matrices."""
    import torch

    from lev_plugins.nn import cpu

    product = "oneDNN" if torch.float32 in cpu.kinds else "torch"
    return f"{torch.backends.cpu.get_cpu_capability()}, {product}"
