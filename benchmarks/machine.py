"""What a benchmark ran on: no figure stands without it."""

import platform
from pathlib import Path


def machine(device: str) -> str:
    """The name of the GPU or CPU that ``device`` stands for, as far as the system tells it."""
    if device == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def kernels() -> str:
    """Which instructions torch's own kernels use here, and what multiplies fp32 matrices."""
    import torch

    from lev_plugins.nn import linear

    product = "oneDNN" if linear.uses_one_dnn() else "torch"
    return f"{torch.backends.cpu.get_cpu_capability()}, {product}"
