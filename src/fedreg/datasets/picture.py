"""Pictures as files, which lose no number: PNGs."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..core.errors import FedregError


def read_picture(path: Path) -> NDArray[np.uint8]:
    """The picture's bytes, height x width x 3."""
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # what pillow raises for a picture that is none, or half of one
        raise FedregError(f"{path} cannot be read as a picture: {error}; get it again") from error
