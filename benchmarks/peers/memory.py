"""The memory of a process and all that it starts, as they come and go."""

from pathlib import Path
from threading import Event, Thread
from time import perf_counter

SHARE = 50  # a look is followed by a rest of so many times its own length


class Memory:
    """The most memory, in megabytes, that a process and all below it took together."""

    def __init__(self, root: int) -> None:
        self.root, self.peak, self.over = root, 0.0, Event()
        self.thread = Thread(target=self.watch, daemon=True)

    def __enter__(self) -> "Memory":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        """Look again and again, rarely enough to take no more than a few hundredths of a core."""
        rest = 0.1
        while not self.over.wait(max(0.1, rest)):
            begin = perf_counter()
            self.peak = max(self.peak, sum(map(proportional, below(self.root))))
            rest = SHARE * (perf_counter() - begin)


def below(root: int) -> list[int]:
    """The process and all that it started, and they started."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it is over
            continue
        children.setdefault(parent, []).append(int(process.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def proportional(process: int) -> float:
    """A process's memory in megabytes, with its part of what is shared; 0 where that is not told."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
