"""Fashion-MNIST: photographs of clothes in the place of MNIST's digits."""

from .download import debian
from .idx import read_images
from .source import File, Mirror, Source, official

HOST = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FILES = {
    "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
PACKAGE = "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0"

FASHION_MNIST = Source(
    name="fashion-mnist",
    about="clothes of ten kinds, 28 x 28",
    licence="MIT",
    citation="Xiao, Rasul and Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning "
    "algorithms, 2017, https://arxiv.org/abs/1708.07747",
    megabytes=55,
    layout="the four idx files, compressed or not",
    read=read_images,
    mirrors=[
        Mirror(
            "Zalando", [File(name, f"sha256:{sha}", official(HOST + name)) for name, sha in FILES.items()], read_images
        ),
        Mirror(
            "the Debian package dataset-fashion-mnist",
            [File("dataset-fashion-mnist.deb", f"sha256:{PACKAGE}", debian("dataset-fashion-mnist"))],
            read_images,
        ),
    ],
    content="2622c8598b064b3094a303769fbe8d49bb95853d43bbfea0b996f36b8df658c3",
)
