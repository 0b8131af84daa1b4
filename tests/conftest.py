"""What holds for every test."""

import torch

torch.set_num_threads(1)  # tests run in several processes at once
