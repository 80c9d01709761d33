"""The expert's alignment in two Triton kernels: on a GPU, without a copy to the host.

The rows of the LCS table are kept as bits (Crochemore et al., 2001; Hyyrö, 2004): bit j of row i
says that the LCS of x[:i] and y[:j + 1] is longer than that of x[:i] and y[:j]. One addition of
words makes a row from the one before; their carries are added up as the bits of one integer.

Shapes: B sentences, N tokens of x, M tokens of y, W words of 32 bits in a row.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

WORD_BITS = 32
#: bits of a row that a warp works on
BITS_A_WARP, MAX_WARPS = 256, 8
#: numbers that make no kernels of their own
_SIZES = ["batch", "x_width", "y_width"]


@triton.jit(do_not_specialize=[*_SIZES, "pad"])
def _fill_rows(  # type: ignore[no-untyped-def]
    x_tokens,
    y_tokens,
    rows,
    batch,
    x_width,
    y_width,
    pad,
    SENTENCES: tl.constexpr,
    WORDS: tl.constexpr,
):
    """Writes the rows of the LCS table, B × N × W; a program does SENTENCES of them."""
    sentence = (tl.program_id(0) * SENTENCES + tl.arange(0, SENTENCES)).to(tl.int64)
    exists = sentence < batch
    word, bit = tl.arange(0, WORDS), tl.arange(0, 32)
    column = (word[:, None] * 32 + bit[None, :])[None, :, :]
    place = sentence[:, None, None] * y_width + column
    y = tl.load(y_tokens + place, mask=exists[:, None, None] & (column < y_width), other=pad)
    values = tl.full((1, 1, 32), 1, tl.int64) << bit[None, None, :].to(tl.int64)
    number = word[None, :].to(tl.int64)
    full = tl.full((1, 1), 0xFFFFFFFF, tl.int64)
    flat = tl.zeros((SENTENCES, WORDS), tl.int64) + full  # where the LCS does not grow
    for i in range(x_width):
        token = tl.load(x_tokens + sentence * x_width + i, mask=exists, other=pad)[:, None, None]
        matches = tl.sum(tl.where((y == token) & (token != pad), values, 0), axis=2)
        hit = flat & matches
        total = flat + hit
        # carries from word to word: made by those that overflow, passed on by those that are full
        makes = tl.sum((total >> 32) << number, axis=1)[:, None]
        passes = tl.sum(((total & full) == full).to(tl.int64) << number, axis=1)[:, None]
        carries = (((makes << 1) + passes) ^ passes) >> number
        flat = ((total + (carries & 1)) & full) | (flat - hit)
        row = (sentence * x_width + i)[:, None] * WORDS + word[None, :]
        tl.store(rows + row, (full - flat).to(tl.int32), mask=exists[:, None])


@triton.jit(do_not_specialize=_SIZES)
def _trace_back(  # type: ignore[no-untyped-def]
    rows,
    keep_x,
    keep_y,
    batch,
    x_width,
    y_width,
    SENTENCES: tl.constexpr,
    WORDS: tl.constexpr,
):
    """Marks what is kept, B × N and B × M, which are zero before; from the last token of x on."""
    sentence = (tl.program_id(0) * SENTENCES + tl.arange(0, SENTENCES)).to(tl.int64)
    exists = sentence < batch
    word, bit = tl.arange(0, WORDS), tl.arange(0, 32)[None, None, :]
    column = word[None, :, None] * 32 + bit
    limit = tl.zeros((SENTENCES,), tl.int32) + y_width
    place = (sentence * x_width + x_width - 1)[:, None] * WORDS + word[None, :]
    row = tl.load(rows + place, mask=exists[:, None], other=0)
    for step in range(x_width):
        i = x_width - 1 - step
        before = tl.load(rows + place - WORDS, mask=exists[:, None] & (i > 0), other=0)
        grows = ((row[:, :, None] >> bit) & 1) == 1
        grew = (before[:, :, None] >> bit) & 1
        # the last column before the limit where this row grows; x_i is kept if the row before
        # does not grow there, too
        last = tl.where(grows & (column < limit[:, None, None]), 2 * column + 1 - grew, -2)
        last = tl.max(tl.max(last, axis=2), axis=1)
        kept = (last & 1) == 1
        limit = tl.where(kept, last >> 1, limit)
        true = tl.full((SENTENCES,), 1, tl.int8)
        tl.store(keep_x + sentence * x_width + i, true, mask=exists & kept)
        tl.store(keep_y + sentence * y_width + limit, true, mask=exists & kept)
        row, place = before, place - WORDS


def lcs_masks_triton(x: Tensor, y: Tensor, pad: int, sentences: int = 1) -> tuple[Tensor, Tensor]:
    """Computes :func:`~lev_plugins.ops.alignment.lcs_masks`; nothing waits for the device.

    Args:
        x, y, pad: as there; M is at most ``MAX_KERNEL_WIDTH``.
        sentences: how many one program works on, a power of two.
    """
    x, y = x.contiguous(), y.contiguous()
    keep_x, keep_y = torch.zeros_like(x, dtype=torch.bool), torch.zeros_like(y, dtype=torch.bool)
    if x.numel() == 0 or y.numel() == 0:
        return keep_x, keep_y
    batch, x_width, y_width = x.size(0), x.size(1), y.size(1)
    words = triton.next_power_of_2(triton.cdiv(y_width, WORD_BITS))
    rows = torch.empty(batch, x_width, words, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(batch, sentences),)
    sizes = batch, x_width, y_width
    warps = min(max(sentences * words * WORD_BITS // BITS_A_WARP, 1), MAX_WARPS)
    options = {"SENTENCES": sentences, "WORDS": words, "num_warps": warps}
    with torch.cuda.device_of(x):
        _fill_rows[grid](x, y, rows, *sizes, pad, **options)
        marks = keep_x.view(torch.int8), keep_y.view(torch.int8)
        _trace_back[grid](rows, *marks, *sizes, **options)
    return keep_x, keep_y
