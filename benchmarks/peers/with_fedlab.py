"""FedAvg by FedLab: its synchronous server, its serial trainer with the training that comes with it, its pipeline.

FedLab's modules import torchvision for datasets that are not used here; an empty stand-in takes its place.
"""

import sys
from collections.abc import Iterator
from types import ModuleType

import torch
from protocol import Diary, Work, asked
from torch_client import AT_ONCE, Client, accuracy, sent_by

for name in ("torchvision", "torchvision.transforms"):
    sys.modules[name] = ModuleType(name)
sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer  # noqa: E402
from fedlab.contrib.algorithm.basic_server import SyncServerHandler  # noqa: E402
from fedlab.core.standalone import StandalonePipeline  # noqa: E402


class Server(SyncServerHandler):
    """A server whose cohorts are dealt and not drawn."""

    def deal(self, work: Work) -> None:
        """Take the cohorts of this work."""
        self.cohorts = work.cohorts.tolist()

    def sample_clients(self) -> list[int]:
        """The clients of this round."""
        return self.cohorts[self.round]


class Loader:
    """A client's batches in a round, with each epoch's shuffle in its turn."""

    def __init__(self, client: Client, t: int, k: int) -> None:
        self.client, self.t, self.k, self.epoch = client, t, k, 0

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of the next epoch."""
        self.epoch += 1
        return self.client.batches(self.t, self.k, self.epoch - 1)


class Federated:
    """The clients' data, in memory."""

    def __init__(self, client: Client, server: Server) -> None:
        self.client, self.server = client, server

    def get_dataloader(self, client: int, batch_size: int) -> Loader:
        """A client's batches in this round."""
        t = self.server.round
        return Loader(self.client, t, self.server.cohorts[t].index(client))


class Pipeline(StandalonePipeline):
    """FedLab's rounds, with a diary."""

    def keep(self, diary: Diary, client: Client) -> None:
        """Keep this diary, and test on this client's test images."""
        self.diary, self.client = diary, client

    def evaluate(self) -> None:
        """Test the server's model."""
        self.diary.trained()
        module = self.handler.model
        self.diary.tested(accuracy(module, *self.client.test, AT_ONCE[self.client.work.network]), sent_by(module))


def main() -> None:
    """Print one line of JSON."""
    ask, diary = asked(), Diary()
    torch.set_num_threads(ask.threads)
    work, client = ask.work, Client(ask.work)
    clients = len(work.offsets) - 1
    server = Server(client.module, work.rounds, (work.cohorts.shape[1] + 0.5) / clients)
    server.deal(work)
    trainer = SGDSerialClientTrainer(client.module, clients)
    trainer.setup_dataset(Federated(client, server))
    trainer.setup_optim(work.epochs, work.batch_size, work.lr)
    pipeline = Pipeline(server, trainer)
    pipeline.keep(diary, client)
    diary.begin()
    pipeline.main()
    diary.tell(["fedlab", "torch", "numpy"])


if __name__ == "__main__":
    main()
