"""Which of torch's attention a GPU computes, in every process that loads the package."""

import torch

# On Hopper GPUs torch prefers cuDNN's in half precision. It makes a plan for each shape that it has
# not met, which takes half a second, and batches of text always have new shapes. Processes that
# fairseq spawns to train or to decode load the package themselves.
torch.backends.cuda.enable_cudnn_sdp(False)
