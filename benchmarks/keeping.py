"""What clients keep, at scale: memory, seconds a round, a checkpoint, a smaller file and going on. Needs a large disk.

python benchmarks/keeping.py FOLDER [clients] [numbers a client] [cohort]
"""

import os
import resource
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import torch

from fedreg import Scaffold
from fedreg.core.rng import rng
from fedreg.federation.keeping import grown
from fedreg.federation.rounds import start
from fedreg.methods.scaffold import Own
from fedreg.runs import checkpoint

METHOD = Scaffold(0.1)


def written() -> int:
    """Bytes that this process has given to the system to write."""
    return int(Path("/proc/self/io").read_text().partition("wchar: ")[2].split()[0])


def memory() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(folder: str, clients: int = 10_000, numbers: int = 228_010, cohort: int = 100) -> None:
    """Print what rounds cost until a file has been left for a smaller one."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "checkpoint.safetensors"
    theta = torch.randn(numbers)
    r = start(METHOD, theta)
    records = checkpoint.records_of(path, r, METHOD, theta, "run")
    print(f"before the first round: {memory():.0f} MB of memory")
    rounds, saves, moved = [], [], 0.0
    while not moved:
        t = r.t + 1
        met = sorted(torch.randperm(clients, generator=rng(0, "cohort", t))[:cohort].tolist())
        begin = perf_counter()
        new = {i: Own(r.owns[i].c_i + 1 if i in r.owns else torch.full((numbers,), float(i))) for i in met}
        owns, other = grown(r.owns, new, records)
        seconds = perf_counter() - begin
        moved = seconds if other is not records else 0.0
        rounds += [] if moved else [seconds]
        r, records = r._replace(t=t, owns=owns), other
        if t % 10 == 0 and not moved:
            begin, before = perf_counter(), written()
            checkpoint.save(path, r, "run")
            saves.append((perf_counter() - begin, written() - before))
    print(f"{r.t} rounds of {cohort}: {len(r.owns)} clients keep {len(r.owns) * numbers * 4 / 1e9:.2f} GB")
    print(f"memory at most {memory():.0f} MB; a cohort's records are {cohort * numbers * 4 / 2**20:.0f} MB")
    print(f"a round reads and writes them in {median(rounds):.3f} s")
    print(
        f"a checkpoint every ten rounds: {median(s for s, _ in saves):.2f} s, in which it writes "
        f"{saves[-1][1] / 1e6:.2f} MB and waits for {10 * cohort * numbers * 4 / 1e9:.2f} GB"
    )
    begin = perf_counter()
    checkpoint.save(path, r, "run")
    print(f"a smaller file in {moved:.1f} s, and the checkpoint that names it in {perf_counter() - begin:.1f} s more")
    begin = perf_counter()
    again = checkpoint.load(path, METHOD, theta, "run")
    seconds = perf_counter() - begin
    assert all(torch.equal(again.owns[i].c_i, r.owns[i].c_i) for i in list(r.owns)[::100])
    print(f"read again in {seconds:.2f} s")
    for file in path.parent.iterdir():
        os.unlink(file)
    path.parent.rmdir()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
