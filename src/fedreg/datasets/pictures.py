"""Image files, of any size and format, as bytes of one size."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from ..core.errors import FedregError

BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)  # what reading half an image may raise


def picture(path: Path, side: int) -> NDArray[np.uint8]:
    """An image's red, green and blue (3 x side x side): its shorter side resized to side, the middle cut out."""
    try:
        with Image.open(path) as image:
            fitted = ImageOps.fit(image.convert("RGB"), (side, side), Image.Resampling.BILINEAR)
    except BROKEN as error:
        raise FedregError(f"{path} cannot be read as an image ({error}); get it again") from error
    return np.ascontiguousarray(np.asarray(fitted).transpose(2, 0, 1))
