"""A round's memory does not grow with the number of clients."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import torch
import fedreg
torch.set_num_threads(1)
clients, engine = int(sys.argv[1]), sys.argv[2]
module = torch.nn.Linear(1000, 1000)  # 4 MB of parameters
x, y = torch.rand(clients, 1000), torch.zeros(clients, dtype=torch.long)
people = fedreg.Population.from_owners(x, y, range(clients))
plan = fedreg.Plan(rounds=2, cohort=clients, epochs=1, batch_size=1)
method = fedreg.FedCurv(0.1, 0.1) if sys.argv[3] == "fedcurv" else fedreg.FedAvg(0.1)
engine = fedreg.engines.sequential() if engine == "sequential" else fedreg.engines.vectorized(chunk=4)
for r in fedreg.federate(method, fedreg.classification(module), fedreg.ravel(module), people, plan, engine=engine):
    pass
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # rusage counts the parent's, too
print(json.dumps(int(peak.split()[1]) / 1024))
"""


def megabytes(*words):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_hundred_clients_need_little_more_than_four():
    """Less than half of what the replies of the other 96 would take: 4 MB a vector, of which FedCurv sends three."""
    for engine, method, vectors in (
        ("sequential", "fedavg", 1),
        ("vectorized", "fedavg", 1),
        ("vectorized", "fedcurv", 3),
    ):
        more = megabytes(100, engine, method) - megabytes(4, engine, method)
        assert more < 96 * 4 * vectors / 2, f"{engine} {method}: {more} MB more"


def test_per_example_gradients_are_held_a_few_at_a_time():
    """4 MB each, 64 MiB at once: of 200 examples, all at once would be 800 MB."""
    program = PROGRAM.replace("range(clients)", "[0] * clients").replace("cohort=clients", "cohort=1")
    done = subprocess.run(
        [sys.executable, "-c", program, "200", "sequential", "fedcurv"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) - megabytes(4, "sequential", "fedavg") < 400
