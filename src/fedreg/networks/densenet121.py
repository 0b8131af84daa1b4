"""DenseNet-121 (Huang et al., CVPR 2017), by MONAI, with group normalisation as in the paper's appendix B.2."""

from torch import nn

from ..core.errors import FedregError, require

GROUPS = 32  # the growth of a dense layer, so that it divides every layer's channels


def densenet121(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """MONAI's DenseNet121: for images of three channels and two classes 6,955,906 parameters."""
    channels, height, width = shape
    require(
        min(height, width) >= 29,
        f"densenet121: images of {height} x {width} pixels cannot be halved five times; use another network, say cnn4",
    )
    try:
        from monai.networks.nets import DenseNet121  # here, since it takes seconds
    except ImportError as error:
        raise FedregError('network densenet121 needs MONAI; install it by pip install "fedreg[medical]"') from error
    module: nn.Module = DenseNet121(
        spatial_dims=2,
        in_channels=channels,
        out_channels=outputs,
        norm=("group", {"num_groups": GROUPS}),
        act=("relu", {"inplace": False}),
        dropout_prob=0.0,
    )
    return module
