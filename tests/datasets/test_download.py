"""Datasets are there whole or not at all, from the first place that answers."""

import hashlib
import io
import json
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from fedreg import FedregError
from fedreg.datasets import DATASETS, SOURCES
from fedreg.datasets.download import add, get, npm
from fedreg.datasets.idx import read_idx, read_images
from fedreg.datasets.source import File, Mirror, official
from fedreg.datasets.store import facts, state, stored

from .copies import idx, mnist

SMALL = replace(SOURCES["mnist"], content=None)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDREG_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def archive(tmp_path):
    """A package with MNIST's files in it, as npm packs one, with something in it that does not shrink."""
    folder = mnist(tmp_path / "package" / "data", compressed=False)
    (folder / "README").write_bytes(np.random.default_rng(0).bytes(3_000_000))
    path = tmp_path / "package.tgz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder.parent, "package")
    return path.read_bytes()


class Site:
    """A web site with one file, which may be slow, deaf to ranges, or cut off in the middle."""

    def __init__(self, body):
        site = self
        self.body, self.ranges, self.asked, self.cut_at, self.delay = body, True, [], None, 0.0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                wanted = self.headers.get("Range")
                site.asked.append(wanted)
                start = int(re.search(r"bytes=(\d+)-", wanted)[1]) if wanted and site.ranges else 0
                if start >= len(site.body):
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206 if wanted and site.ranges else 200)
                self.send_header("Content-Length", str(len(site.body) - start))
                self.end_headers()
                end = site.cut_at or len(site.body)
                for at in range(start, end, 65536):
                    time.sleep(site.delay)
                    self.wfile.write(site.body[at : min(at + 65536, end)])

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/package.tgz"


@pytest.fixture
def site(archive):
    site = Site(archive)
    yield site
    site.server.shutdown()
    site.server.server_close()


def source(site, body=None, where="the site"):
    """MNIST as the site offers it."""
    sha = hashlib.sha256(body or site.body).hexdigest()
    return replace(
        SMALL, mirrors=[Mirror(where, [File("package.tgz", f"sha256:{sha}", official(site.url))], read_images)]
    )


def nobody(file, done, whole):
    """Watches nothing."""


def test_what_is_downloaded_is_kept_with_its_facts(site, cache):
    seen = []
    assert get(source(site), lambda *told: seen.append(told)) == "the site"
    assert seen[-1] == ("package.tgz", len(site.body), len(site.body))
    dataset = DATASETS["mnist"]()
    assert dataset.train.x.shape == (400, 1, 28, 28)
    assert dataset.outputs == 10
    assert facts("mnist")["licence"] == SMALL.licence
    assert not (cache / "downloads" / "mnist").exists()
    assert state("mnist").here


def test_arrays_are_mapped_and_cannot_be_spoilt(site):
    get(source(site), nobody)
    first = stored("mnist")["train_x"]
    assert isinstance(first, np.memmap)
    first[:] = 7
    assert stored("mnist")["train_x"].max() > 7


def test_a_download_that_was_cut_off_goes_on(site):
    site.cut_at = 1_000_000
    with pytest.raises(FedregError, match=r"the site: .*try again.*fedreg data add mnist"):
        get(source(site), nobody)
    half = state("mnist")
    assert not half.here
    assert half.half == pytest.approx(1.0, abs=0.3)
    site.cut_at = None
    get(source(site), nobody)
    assert int(re.search(r"\d+", site.asked[-1])[0]) > 700_000
    assert state("mnist").here


def test_a_site_that_knows_no_ranges_sends_all_of_it_again(site):
    site.cut_at = 1_000_000
    with pytest.raises(FedregError):
        get(source(site), nobody)
    site.cut_at, site.ranges = None, False
    get(source(site), nobody)
    assert state("mnist").here


def test_a_wrong_hash_is_refused_and_the_next_place_is_asked(site):
    wrong = source(site, b"something else", "a bad mirror").mirrors[0]
    with pytest.raises(FedregError, match=r"a bad mirror: .*hash"):
        get(replace(SMALL, mirrors=[wrong]), nobody)
    assert not state("mnist").here
    assert get(replace(SMALL, mirrors=[wrong, *source(site).mirrors]), nobody) == "the site"


def test_a_place_that_is_not_there_is_named(site):
    nowhere = Mirror("nowhere", [File("a", "sha256:0", official("http://127.0.0.1:9/a"))], read_images)
    missing = Mirror("npm", [File("a", "sha256:0", npm("no such package!"))], read_images)
    with pytest.raises(FedregError, match=r"nowhere: cannot be reached; npm: "):
        get(replace(SMALL, mirrors=[nowhere, missing]), nobody)


GET = """
import sys
from dataclasses import replace
from fedreg.datasets import SOURCES
from fedreg.datasets.download import get
from fedreg.datasets.idx import read_images
from fedreg.datasets.source import File, Mirror, official
url, sha = sys.argv[1:]
mirror = Mirror("the site", [File("package.tgz", "sha256:" + sha, official(url))], read_images)
get(replace(SOURCES["mnist"], content=None, mirrors=[mirror]), lambda *told: print("some", flush=True))
"""


def test_a_process_killed_in_the_middle_leaves_what_the_next_one_uses(site, cache):
    site.delay = 0.05
    words = [sys.executable, "-c", GET, site.url, hashlib.sha256(site.body).hexdigest()]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    have = (cache / "downloads" / "mnist" / "package.tgz.part").stat().st_size
    assert 0 < have < len(site.body)
    assert not state("mnist").here
    site.delay = 0.0
    subprocess.run(words, check=True, capture_output=True)
    assert site.asked == [None, f"bytes={have}-"]
    assert state("mnist").here


def test_a_copy_of_ones_own_is_added(tmp_path, archive):
    for place in (mnist(tmp_path / "plain", compressed=False), mnist(tmp_path / "packed")):
        add(SMALL, place)
        assert len(stored("mnist")["train_y"]) == 400
    (tmp_path / "mine.tgz").write_bytes(archive)
    add(SMALL, tmp_path / "mine.tgz")
    assert len(stored("mnist")["test_y"]) == 100


def damaged(folder, name, raw):
    path = mnist(folder, compressed=False) / name
    path.write_bytes(raw)
    return folder


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("train-images-idx3-ubyte", b"GIF89a", "is not an idx file"),
        ("train-images-idx3-ubyte", idx(np.zeros((400, 28, 28), np.uint8))[:-5], "numbers where"),
        ("train-labels-idx1-ubyte", idx(np.zeros(3, np.uint8)), "400 train images but 3 labels"),
    ],
)
def test_a_damaged_copy_is_named_and_the_old_one_stays(tmp_path, name, raw, said):
    add(SMALL, mnist(tmp_path / "good"))
    with pytest.raises(FedregError, match=said):
        add(SMALL, damaged(tmp_path / "bad", name, raw))
    assert len(stored("mnist")["train_y"]) == 400


def test_copies_that_are_not_the_official_one_are_refused(tmp_path):
    with pytest.raises(FedregError, match="not the numbers that it is known by"):
        add(SOURCES["mnist"], mnist(tmp_path / "made-up"))
    with pytest.raises(FedregError, match=r"there is no .*none"):
        add(SMALL, tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FedregError, match="has no train-images-idx3-ubyte"):
        add(SMALL, tmp_path / "empty")
    (tmp_path / "archive.tgz").write_bytes(b"\x1f\x8b no")
    with pytest.raises(FedregError):
        add(SMALL, tmp_path / "archive.tgz")


def test_what_is_not_here_or_damaged_says_what_to_type(tmp_path, cache):
    with pytest.raises(FedregError, match=r"not in .*type: fedreg data get mnist"):
        DATASETS["mnist"]()
    add(SMALL, mnist(tmp_path / "good"))
    (cache / "mnist" / "train_x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(FedregError, match=r"is damaged .*type: fedreg data get mnist"):
        DATASETS["mnist"]()


def test_an_idx_file_is_read_as_it_was_written(tmp_path):
    array = np.random.default_rng(0).integers(0, 255, (3, 4, 5), dtype=np.uint8)
    io.BytesIO(idx(array))
    (tmp_path / "a").write_bytes(idx(array))
    assert np.array_equal(read_idx(tmp_path / "a"), array)


def test_every_source_says_where_it_is_from():
    for name, found in SOURCES.items():
        assert found.name == name
        assert found.licence
        assert found.citation
        assert found.layout
        for mirror in found.mirrors:
            for file in mirror.files:
                assert re.fullmatch(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", file.hash), file
    assert json.dumps([found.about for found in SOURCES.values()])
