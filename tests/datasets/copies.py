"""Small made-up copies of datasets, in their official layouts."""

import gzip

import numpy as np

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


COPIES = {
    "mnist": mnist,
    "mnist-by-writer": mnist_by_writer,
    "fashion-mnist": mnist,
    "emnist-digits": emnist,
    "emnist-digits-subset": emnist_subset,
    "cifar10": cifar10,
    "cifar100": cifar100,
}
