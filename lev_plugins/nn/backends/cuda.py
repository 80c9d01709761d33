"""Settings that are faster on a GPU of NVIDIA's than torch's defaults."""

import logging
import os

import torch

logger = logging.getLogger(__name__)

#: 0 in this variable of the environment: trainings multiply single precision in full
TF32_ENV = "LEV_PLUGINS_TF32"
#: variables by which torch and cuBLAS are told the same
_OTHER_ENV = ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE")


def prefer_own_attention() -> None:
    """Leaves attention to torch's kernels in this process, not to cuDNN's.

    On Hopper GPUs torch prefers cuDNN's in half precision. It makes a plan for each shape that it
    has not met, which takes half a second, and batches of text always have new shapes.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def choose_precision() -> None:
    """Lets a training multiply single precision as TF32, unless that is forbidden.

    Its loss stays within what seeds differ by (benchmarks/notes/speed.md).
    """
    if os.environ.get(TF32_ENV) != "0":
        torch.set_float32_matmul_precision("high")
        logger.info(f"matrices of single precision are multiplied as TF32; {TF32_ENV}=0: in full")


def may_use_tf32() -> bool:
    """Returns whether the GPU has TF32 and no setting of torch forbids it.

    TF32 keeps 10 bits of the factors' 23 and adds in single precision, several times as fast.
    """
    matmul = torch.backends.cuda.matmul
    # "none" by default, where torch has it
    if getattr(matmul, "fp32_precision", "none") != "none" or any(map(os.getenv, _OTHER_ENV)):
        return False
    if torch.get_float32_matmul_precision() != "highest":
        return False
    return torch.cuda.get_device_capability() >= (8, 0)
