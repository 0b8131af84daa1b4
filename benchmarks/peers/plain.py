"""FedAvg as a loop over clients in PyTorch, with no framework."""

import torch
from protocol import Diary, asked
from torch_client import Client, put, sent_by


def main() -> None:
    """Print one line of JSON."""
    ask = asked()
    torch.set_num_threads(ask.threads)
    client = Client(ask.work)
    parameters = list(client.module.parameters())
    diary = Diary()
    diary.begin()
    for t, cohort in enumerate(ask.work.cohorts):
        sent = [p.clone() for p in sent_by(client.module)]
        total = [torch.zeros_like(p) for p in sent]
        for k in range(len(cohort)):
            put(client.module, sent)
            client.train(t, k)
            for sum_, p in zip(total, parameters, strict=True):
                sum_.add_(p.detach())
        put(client.module, [sum_ / len(cohort) for sum_ in total])
        diary.trained()
        diary.tested(client.accuracy(), sent_by(client.module))
    diary.tell(["torch", "numpy"])


if __name__ == "__main__":
    main()
