"""Runs the rows of results/rows.toml, or goes on with them, and keeps what they gave in results/runs/.

make results                                            # all of them, in their order: many hours
.venv/bin/python benchmarks/results.py mnist-one-class  # those of one experiment
.venv/bin/python benchmarks/results.py --list           # only name each row's command
"""

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from shlex import join

RESULTS = Path(__file__).parents[1] / "results"


def commands(only: list[str]) -> list[list[list[str]]]:
    """What makes each run of each row, and then what keeps it."""
    rows = tomllib.loads((RESULTS / "rows.toml").read_text(encoding="utf-8"))["rows"]
    found = []
    for row in rows:
        name = row["experiment"]
        for seed in row["seeds"]:
            for method in row["methods"] if not only or name in only else ():
                rounds = f"plan.rounds={row['rounds']}"
                made = ["fedreg", "run", name, method, "--seed", str(seed), "--set", rounds, "--resume"]
                kept = [
                    "fedreg",
                    "keep",
                    f"runs/{name}/{method}/seed-{seed}",
                    "-o",
                    str(RESULTS / f"runs/{name}.jsonl"),
                ]
                found.append([made, kept])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", help="of these experiments alone")
    parser.add_argument("--list", action="store_true", help="name the commands and run none")
    asked = parser.parse_args()
    failed, rows = 0, commands(asked.experiments)
    if not rows:
        parser.error(f"results/rows.toml has no row of {', '.join(asked.experiments)}")
    for row in rows:
        print(join(row[0]), flush=True)
        for words in () if asked.list else row:  # a run that diverged is a result, and kept like any other
            done = subprocess.run([sys.executable, "-m", *words], stdout=subprocess.DEVNULL, check=False)
            if done.returncode == 130:
                sys.exit(130)
            failed += done.returncode != 0
    sys.exit(f"{failed} commands failed; what they say is above" if failed else 0)


if __name__ == "__main__":
    main()
