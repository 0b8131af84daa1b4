"""Small made-up copies of datasets, in their official layouts."""

import gzip
import zipfile

import numpy as np
from PIL import Image

CLASSES = 10


def images(n, side=28, channels=1, classes=CLASSES, seed=0):
    """Images that tell their class: a bright block whose place depends on it; and their classes, in turn."""
    random = np.random.default_rng(seed)
    labels = (np.arange(n) % classes).astype(np.uint8)
    x = random.integers(0, 60, (n, channels, side, side), dtype=np.uint8)
    for i, label in enumerate(labels):
        row, column = divmod(int(label) % 9, 3)
        step = side // 3
        x[i, :, row * step : (row + 1) * step, column * step : (column + 1) * step] += 120
    return x, labels


def idx(array):
    """The array of bytes, or of big-endian whole numbers, as an idx file."""
    return (
        b"\0\0"
        + bytes([{1: 8, 4: 12}[array.itemsize], array.ndim])
        + np.array(array.shape, ">i4").tobytes()
        + array.tobytes()
    )


def mnist(folder, train=400, test=100, compressed=True, stem="", names=("train", "t10k")):
    """The four files of MNIST, or of what looks like it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, n, seed in ((stem + names[0], train, 0), (stem + names[1], test, 1)):
        x, y = images(n, seed=seed)
        for what, array in (("images-idx3", x[:, 0]), ("labels-idx1", y)):
            raw = idx(array)
            path = folder / f"{name}-{what}-ubyte{'.gz' if compressed else ''}"
            path.write_bytes(gzip.compress(raw) if compressed else raw)
    return folder


def emnist(folder):
    """The four files of EMNIST's digits."""
    return mnist(folder, stem="emnist-digits-", names=("train", "test"))


def emnist_subset(folder):
    """The subset's one file."""
    folder.mkdir(parents=True, exist_ok=True)
    x, y = images(700)
    np.savez(folder / "subset.npz", x=x[:, 0], y=y.astype(np.int64))
    return folder / "subset.npz"


def mnist_by_writer(folder, writers=8):
    """The four files of MNIST, and QMNIST's of who wrote the training images."""
    mnist(folder)
    rows = np.zeros((400, 8), ">i4")
    rows[:, 0] = images(400)[1]
    rows[:, 2] = 2100 + np.arange(400) % writers
    (folder / "qmnist-train-labels-idx2-int.gz").write_bytes(gzip.compress(idx(rows)))
    return folder


def cifar10(folder, train=400, test=100):
    """The six binary files of CIFAR-10."""
    x, y = images(train, side=32, channels=3)
    batches = {f"data_batch_{i + 1}": (x[i::5], y[i::5]) for i in range(5)}
    batches["test_batch"] = images(test, side=32, channels=3, seed=1)
    for name, (x, y) in batches.items():
        binary(folder / "cifar-10-batches-bin" / f"{name}.bin", y[:, None], x)
    return folder


def cifar100(folder, train=400, test=100):
    """The two binary files of CIFAR-100, in which a coarse class stands before the fine one."""
    for name, n, seed in (("train", train, 0), ("test", test, 1)):
        x, y = images(n, side=32, channels=3, classes=100, seed=seed)
        binary(folder / "cifar-100-binary" / f"{name}.bin", np.stack([y % 20, y], axis=1), x)
    return folder


def binary(path, labels, x):
    """A file with the labels before the numbers of each image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.concatenate([labels, x.reshape(len(x), -1)], axis=1).tofile(path)


def photograph(path, label, i, mode="RGB", kind=None):
    """An image file of an odd size that tells its class: its green falls or rises from the left to the right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = 40 + i % 7, 30 + i % 5
    pixels = np.full((height, width, 3), 90 + i % 20, np.uint8)
    slope = np.linspace(40, 200, width).astype(np.uint8)
    pixels[:, :, 1] = slope if label % 2 else slope[::-1]
    Image.fromarray(pixels).convert(mode).save(path, kind)


PAPERS = {  # a part of the split -> how the names of its images begin
    "train": ["2020.01.24.919183-p27-1%d"] * 4 + ["PIIS0140673620303603%%%d"] * 3 + ["bmj.m606.full-p4-22%%%d"] * 2,
    "val": ["2020.03.22.20040782-p25-15%d"] * 2,
    "test": ["2020.03.22.20040782-p26-15%d"] * 2 + ["kjr-21-e24-p5-%d"] * 2,
}


def covid_ct(folder):
    """The images of COVID-CT, one kind in a folder, the other in an archive, and the official split of both."""
    with zipfile.ZipFile(made(folder / "Images-processed") / "CT_NonCOVID.zip", "w") as archive:
        for split, beginnings in PAPERS.items():
            names = {"COVID": [f"{beginning % i}.png" for i, beginning in enumerate(beginnings)]}
            names["NonCOVID"] = [f"{split}{i}%1.jpg" for i in range(len(beginnings) + 2)]
            for i, name in enumerate(names["COVID"]):  # some of the official .png files are JPEGs
                path = folder / "Images-processed" / "CT_COVID" / name
                photograph(path, 1, i, *[("RGB",), ("RGBA",), ("L",), ("RGB", "JPEG")][i % 4])
            for i, name in enumerate(names["NonCOVID"]):
                photograph(folder / name, 0, i)
                archive.write(folder / name, f"CT_NonCOVID/{name}")
                (folder / name).unlink()
            for kind, those in names.items():
                text = "\r\n".join([*those, ""] if kind == "COVID" else those)
                (made(folder / "Data-split" / kind) / f"{split}CT_{kind}.txt").write_bytes(text.encode())
    return folder


def landmarks(folder, flat=False):
    """The tables of Landmarks-User-160k and the images that they name."""
    tables = {"federated_train.csv": ["user_id,image_id,class"], "test.csv": ["image_id,class"]}
    for i in range(24):
        name, label, user = f"{i * 7919:016x}"[::-1], i % 3, i % 4
        place = folder / "train" if flat else (folder / "train").joinpath(*name[:3])
        photograph(place / f"{name}.jpg", label, i)
        row = f"{name},{label}"
        tables["test.csv" if i >= 18 else "federated_train.csv"].append(row if i >= 18 else f"{user},{row}")
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder


def made(folder):
    """The folder, which is there from now on."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


COPIES = {
    "mnist": mnist,
    "mnist-by-writer": mnist_by_writer,
    "fashion-mnist": mnist,
    "emnist-digits": emnist,
    "emnist-digits-subset": emnist_subset,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "covid-ct": covid_ct,
    "landmarks-user-160k": landmarks,
}
