"""FedAvg by pfl-research: its FederatedAveraging on its SimulatedBackend, in one process or several."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle

import torch
from protocol import Diary, Work, asked
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_client import AT_ONCE, Client, sent_by

ALL = 10**9  # a batch of all examples: pfl tests a client's before and after its first training
RANK, ADDRESSES = "PFL_WORKER_RANK", "PFL_WORKER_ADDRESSES"


def others(processes: int) -> list[subprocess.Popen]:
    """The other processes of this run, started; none if this is one of them."""
    if processes == 1 or RANK in os.environ:
        return []
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    os.environ[ADDRESSES] = ",".join([f"localhost:{port}"] * processes)
    words = [sys.executable, *sys.argv]
    quiet = {"stdout": subprocess.DEVNULL}
    started = [subprocess.Popen(words, env={**os.environ, RANK: str(i)}, **quiet) for i in range(1, processes)]
    os.environ[RANK] = "0"
    return started


class Net(nn.Module):
    """The network, with the loss and the metrics that pfl asks of it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return cross_entropy(self.module(x), y)

    @torch.no_grad()
    def metrics(self, x: Tensor, y: Tensor) -> dict:
        """The accuracy on a batch."""
        from pfl.metrics import Weighted

        return {"accuracy": Weighted(int((self.module(x).argmax(1) == y).sum()), len(y))}


def federation(client: Client, work: Work) -> object:
    """The clients' data in memory, client after client as they were dealt, with each epoch's shuffle in its turn."""
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset

    size = work.cohorts.shape[1]

    class Shuffled(Dataset):
        """A client's data in a round."""

        epoch = 0

        def iter(self, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
            """The batches of the next epoch; or all of it, where pfl looks at it before the first round."""
            if batch_size == ALL:
                return iter([self.raw_data])
            self.epoch += 1
            return client.batches(*divmod(self.user_id, size), self.epoch - 1)

    weights = {i: len(client.examples(*divmod(i, size))[1]) for i in range(work.cohorts.size)}
    turns = cycle(range(work.cohorts.size))
    return FederatedDataset(
        lambda i: Shuffled(client.examples(*divmod(i, size)), user_id=i), lambda: next(turns), weights
    )


def tested_by(diary: Diary, client: Client) -> object:
    """The callback by which pfl tests a model centrally, after every round, with a diary."""
    from pfl.callback.base import TrainingProcessCallback
    from pfl.callback.central_evaluation import CentralEvaluationCallback
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.hyperparam import NNEvalHyperParams
    from pfl.metrics import Metrics

    at_once = NNEvalHyperParams(local_batch_size=AT_ONCE[client.work.network])
    central = CentralEvaluationCallback(PyTorchTensorDataset(client.test), at_once)

    class Tested(TrainingProcessCallback):
        """Marks the time before and after pfl's own evaluation."""

        def on_train_begin(self, *, model: object) -> object:
            """Evaluate once before training, as pfl does."""
            central.on_train_begin(model=model)
            diary.begin()
            return Metrics()

        def after_central_iteration(self, aggregate_metrics: object, model: object, *, central_iteration: int) -> tuple:
            """Evaluate, also after the first round, which pfl leaves out."""
            diary.trained()
            stop, metrics = central.after_central_iteration(
                aggregate_metrics, model, central_iteration=central_iteration + 1
            )
            found = metrics.to_simple_dict()["Central val | accuracy"]
            diary.tested(found, sent_by(model.pytorch_model))
            return stop, Metrics()

    return Tested()


def main() -> None:
    """Print one line of JSON, if this is the first process."""
    ask, diary = asked(), Diary()
    started = others(ask.processes)
    torch.set_num_threads(ask.threads)
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByUser
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    work, client = ask.work, Client(ask.work)
    net = Net(client.module)
    model = PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), 1.0))
    data = federation(client, work)
    FederatedAveraging().run(
        NNAlgorithmParams(work.rounds, 10**9, work.cohorts.shape[1], None),
        SimulatedBackend(data, data, [WeightByUser()]),
        model,
        NNTrainHyperParams(local_num_epochs=work.epochs, local_learning_rate=work.lr, local_batch_size=work.batch_size),
        NNEvalHyperParams(local_batch_size=ALL),
        callbacks=[tested_by(diary, client)],
        send_metrics_to_platform=False,
    )
    if os.environ.get(RANK, "0") == "0":
        diary.tell(["pfl", "torch", "numpy"])
    for process in started:
        process.wait()


if __name__ == "__main__":
    main()
