"""FedAvg by fedreg: its default engine, or client after client; cohorts and shuffles of its own drawing."""

import fedreg  # before torch: it decides how torch's threads wait

# isort: split
import numpy as np
import torch
from protocol import Diary, asked

from fedreg.networks import NETWORKS


def main() -> None:
    """Print one line of JSON."""
    ask = asked()
    torch.set_num_threads(ask.threads)
    work, diary = ask.work, Diary()
    x, y = torch.from_numpy(work.x), torch.from_numpy(work.y)
    population = fedreg.Population.from_owners(x, y, np.repeat(np.arange(len(work.offsets) - 1), np.diff(work.offsets)))
    test = fedreg.Examples(torch.from_numpy(work.test_x), torch.from_numpy(work.test_y))
    f = fedreg.classification(NETWORKS[work.network](tuple(x.shape[1:]), 10))
    theta = torch.cat([torch.from_numpy(array).flatten() for array in work.initial])
    plan = fedreg.Plan(work.rounds, work.cohorts.shape[1], work.epochs, work.batch_size, work.seed)
    engine = fedreg.engines.sequential() if ask.sequential else None
    rounds = fedreg.federate(fedreg.FedAvg(work.lr), f, theta, population, plan, engine)
    diary.begin()
    for r in rounds:
        diary.trained()
        if list(r.clients) != work.cohorts[r.t - 1].tolist():
            raise SystemExit(f"round {r.t} is of other clients than were dealt")
        diary.tested(fedreg.evaluate(f, r.theta, test).accuracy or 0.0, [r.theta])
    diary.tell(["torch", "numpy"])


if __name__ == "__main__":
    main()
