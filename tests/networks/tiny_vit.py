"""A small vision transformer with random weights, kept as pre-trained ones are."""

import torch
from transformers import ViTConfig, ViTForImageClassification


def tiny_vit(folder, side=16):
    """The folder, with a transformer for images of side x side pixels and seven classes that nobody asks for."""
    config = ViTConfig(
        image_size=side,
        patch_size=8,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=7,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        ViTForImageClassification(config).save_pretrained(folder)
    return folder
