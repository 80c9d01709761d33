"""Run by test_alignment_triton.py, ``triton_masks.py KERNELS CASES ANSWERS``.

In a process of its own, because Triton is told before its import that there is no GPU.
"""

import importlib.util
import os
import sys

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

# alone, without the package, which loads all of fairseq
spec = importlib.util.spec_from_file_location("alignment_triton", sys.argv[1])
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)

device = "cuda" if torch.cuda.is_available() else "cpu"
answers = []
for x, y, pad, sentences in torch.load(sys.argv[2], weights_only=True):
    masks = kernels.lcs_masks_triton(x.to(device), y.to(device), pad, sentences)
    answers.append([mask.cpu() for mask in masks])
torch.save(answers, sys.argv[3])
