"""The same federated work by fedreg, by other frameworks and by a plain loop: interleaved, as ratios.

make bench-peers                                        # all of it
.venv/bin/python benchmarks/peers/run.py --rounds 3 --repetitions 1 --only plain,flower

Each peer runs in an environment of its own below .bench/, which the first run installs. All are given the same
examples, first parameters, cohorts and shuffles (deal.py), on the same two cores; clients' code is the same for all
that are written in PyTorch (torch_client.py). Of a peer's setups (threads, processes) a short trial takes the best.
The first round, start-up and compilation are told apart and not counted. A peer that is further from the plain loop
than works.toml allows is no result; nor is one that cannot be installed or run, and both say why. Memory is that of all
a peer's processes, shared pages once. Peers read their shuffles; fedreg draws its own in the time that is measured.
"""

import argparse
import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from statistics import median
from time import perf_counter

from deal import dealt
from memory import Memory
from peers import BENCH, HERE, PEERS, Peer, Unable, environment, interpreter, last
from protocol import LAUNCHED
from tell import machine, table, wrong

WORKS = tomllib.loads((HERE / "works.toml").read_text(encoding="utf-8"))


def run(peer: Peer, setup: str, work: Path, limit: float) -> dict:
    """What one run told, and its memory."""
    command = [str(interpreter(peer)), str(HERE / peer.script), str(work), *setup.split()]
    variables = {**environment(peer), LAUNCHED: str(perf_counter())}
    with (BENCH / f"{peer.script}.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        with Memory(process.pid) as memory:
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired as error:
                raise Unable(f"not done in {limit:.0f} seconds") from error
            finally:
                end(process)
        output.seek(0)
        text = output.read()
    told = [line for line in text.splitlines() if line.startswith('{"start"')]
    if code or not told:
        raise Unable(f"exit code {code}: {last(text)}")
    return {**json.loads(told[-1]), "peak_mb": round(memory.peak)}


def end(process: subprocess.Popen) -> None:
    """End a run's processes, if there are any left."""
    try:
        os.killpg(process.pid, SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def best_setup(peer: Peer, work: Path | None, limit: float) -> str:
    """The setup whose median round takes the least time, in a trial; with none, the first."""
    interpreter(peer)
    if len(peer.setups) == 1 or work is None:
        return peer.setups[0]
    taken, reasons = {}, []
    for setup in peer.setups:
        try:
            told = run(peer, setup, work, limit)
            taken[setup] = median(told["training"][1:]) + median(told["evaluation"][1:])
        except Unable as error:
            reasons.append(str(error))
    if not taken:
        raise Unable(reasons[0])
    return min(taken, key=lambda setup: taken[setup])


def measure(name: str, rounds: int, repetitions: int, setups: dict[str, str], limit: float) -> Iterator[dict]:
    """One record a run, interleaved."""
    work = dealt(name, rounds, BENCH / "work")
    for repetition in range(repetitions):
        plain: dict = {}
        for peer, setup in setups.items():
            record = {"work": name, "rounds": rounds, "peer": peer, "setup": setup, "repetition": repetition}
            try:
                record |= run(PEERS[peer], setup, work, limit)
            except Unable as error:
                record["failed"] = str(error)
            plain = record if peer == "plain" else plain
            reason = wrong(record, plain, WORKS[name])
            yield record | ({"failed": reason} if reason else {})


def main() -> None:
    """Print a table a work, and append a line of JSON a run to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", type=lambda text: text.split(","), default=list(WORKS))
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PEERS), help="of the peers, these")
    parser.add_argument("--rounds", type=int, help="not as many as works.toml says")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-trial", dest="trial", action="store_false", help="take each peer's first setup")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a run is given up")
    parser.add_argument("--cores", type=int, default=2, help="on so many cores of this machine")
    parser.add_argument("--out", type=Path, default=BENCH / "peers.jsonl")
    ask = parser.parse_args()
    if unknown := set(ask.only) - set(PEERS) | set(ask.works) - set(WORKS):
        parser.error(f"{sorted(unknown)} is neither of {list(PEERS)} nor of {list(WORKS)}")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: ask.cores])
    BENCH.mkdir(exist_ok=True)
    only = [peer for peer in PEERS if peer in ask.only]  # the plain loop first: the others are held against it
    print(json.dumps(machine()), flush=True)
    for name in ask.works:
        records, setups = [], {}
        trial = dealt(name, WORKS[name]["trial"], BENCH / "work") if ask.trial else None
        for peer in only:
            try:
                setups[peer] = best_setup(PEERS[peer], trial, ask.limit)
            except Unable as error:
                records.append({"work": name, "peer": peer, "failed": str(error)})
        for record in measure(name, ask.rounds or WORKS[name]["rounds"], ask.repetitions, setups, ask.limit):
            records.append(record)
            with ask.out.open("a", encoding="utf-8") as file:
                print(json.dumps(machine() | record), file=file)
        print(table(name, records, WORKS[name]["tests"]), flush=True)


if __name__ == "__main__":
    main()
