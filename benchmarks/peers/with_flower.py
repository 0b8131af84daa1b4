"""FedAvg by Flower's simulation: its FedAvg strategy, its ClientApp, Ray's actors.

A node a client, as Flower has it; or with --few as many nodes as a cohort, each told in every round whom it is to be.
Ray and its actors start in what counts as the first round, since Flower's server does not wait for them.
"""

from collections.abc import Iterable
from pathlib import Path
from time import sleep

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from protocol import Asked, Diary, asked
from torch_client import Client, client_of, sent_by


class Dealt(FedAvg):
    """FedAvg whose cohorts are dealt and not drawn."""

    def __init__(self, ask: Asked, nodes: int) -> None:
        super().__init__(fraction_evaluate=0.0)
        self.ask, self.count = ask, nodes
        self.nodes: list[int] = []

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """One message a client of the cohort."""
        while len(self.nodes) < self.count:
            sleep(0.1)
            self.nodes = sorted(grid.get_node_ids())
        cohort = self.ask.work.cohorts[server_round - 1].tolist()
        messages = []
        for k, client in enumerate(cohort):
            place = ConfigRecord({"t": server_round - 1, "k": k})
            record = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: place})
            node = self.nodes[client if self.count > len(cohort) else k]
            messages.append(Message(content=record, message_type="train", dst_node_id=node))
        return messages


def client_app(path: Path, threads: int) -> ClientApp:
    """What a node runs; an actor keeps its client and its data."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        """The parameters after a client's round; its weight in the mean is that of any other."""
        client = client_of(path, threads)
        client.module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        client.train(message.content["config"]["t"], message.content["config"]["k"])
        arrays = ArrayRecord(client.module.state_dict())
        content = RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1})})
        return Message(content=content, reply_to=message)

    return app


def server_app(ask: Asked, nodes: int, diary: Diary) -> ServerApp:
    """What trains and tests, and keeps the diary."""
    torch.set_num_threads(ask.threads * ask.processes)
    server, app = Client(ask.work), ServerApp()

    def evaluate(t: int, arrays: ArrayRecord) -> MetricRecord:
        """The accuracy after round t; before the first, the diary begins."""
        if t == 0:
            diary.begin()
            return MetricRecord()
        diary.trained()
        server.module.load_state_dict(arrays.to_torch_state_dict())
        diary.tested(server.accuracy(), sent_by(server.module))
        return MetricRecord({"accuracy": diary.accuracies[-1]})

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        """All rounds."""
        first = ArrayRecord(server.module.state_dict())
        Dealt(ask, nodes).start(grid, first, num_rounds=ask.work.rounds, evaluate_fn=evaluate)

    return app


def main() -> None:
    """Print one line of JSON."""
    ask, diary = asked(), Diary()
    nodes = ask.work.cohorts.shape[1] if ask.few else len(ask.work.offsets) - 1
    run_simulation(
        server_app=server_app(ask, nodes, diary),
        client_app=client_app(ask.path.absolute(), ask.threads),
        num_supernodes=nodes,
        backend_config={
            "init_args": {"num_cpus": ask.processes, "logging_level": "error"},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
    diary.tell(["flwr", "ray", "torch", "numpy"])


if __name__ == "__main__":
    main()
