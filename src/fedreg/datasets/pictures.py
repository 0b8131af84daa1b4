"""Image files of any format as bytes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from ..core.errors import FedregError

BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)  # what reading half an image may raise


def picture(path: Path) -> NDArray[np.uint8]:
    """An image's red, green and blue: height x width x 3."""
    return opened(path, lambda image: image)


def square(path: Path, side: int) -> NDArray[np.uint8]:
    """An image's red, green and blue (3 x side x side): its shorter side resized to side, the middle cut out."""
    fitted = opened(path, lambda image: ImageOps.fit(image, (side, side), Image.Resampling.BILINEAR))
    return np.ascontiguousarray(fitted.transpose(2, 0, 1))


def opened(path: Path, change: Callable[[Image.Image], Image.Image]) -> NDArray[np.uint8]:
    """The bytes of an image file that was changed in some way."""
    try:
        with Image.open(path) as image:
            return np.asarray(change(image.convert("RGB")))
    except BROKEN as error:
        raise FedregError(f"{path} cannot be read as an image ({error}); get it again") from error
