"""FedCurv against its own definition: the gradient of the loss plus the penalty, by autograd."""

import pytest
import torch

from fedreg import Cohort, FedCurv, FedregError, client_round, schedule
from fedreg.core.data import Data
from fedreg.core.rng import rng

from ..cases import THETA, F, client

LAM, LR = 0.05, 0.1


def fisher(theta, data):
    singles = [F.grad(theta, Data(*(field[i : i + 1] for field in data))) for i in range(len(data.w))]
    return torch.stack([g**2 for g in singles]).mean(0)


def test_two_rounds_are_the_definition():
    method = FedCurv(LR, LAM)
    server = method.init(THETA)
    datas = [client(0, 5), client(1, 8)]
    anchors: list[tuple] = []  # theta_j and F_j of the last cohort
    for t in range(3):
        replies, expected = [], []
        for i, data in enumerate(datas):
            batches = schedule(len(data.w), 2, 4, rng(t, i))
            replies.append(client_round(method, F, method.broadcast(server), (), data, batches)[0])
            theta = server.theta.clone()
            for b in batches.batches():
                theta = theta.detach().requires_grad_()
                loss = F.loss(theta, data.take(b))
                for theta_j, F_j in anchors:
                    loss = loss + LAM * ((theta - theta_j) * F_j * (theta - theta_j)).sum()
                theta = theta - LR * torch.autograd.grad(loss, theta)[0]
            expected.append(theta.detach())
            torch.testing.assert_close(replies[-1].theta, expected[-1], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(replies[-1].F, fisher(expected[-1], data))
        anchors = [(theta, fisher(theta, data)) for theta, data in zip(expected, datas, strict=True)]
        mean = type(replies[0])(*(torch.stack(leaves).mean(0) for leaves in zip(*replies, strict=True)))
        server = method.update(server, mean, Cohort(2, 9))
        torch.testing.assert_close(server.F, sum(F_j for _, F_j in anchors))
        torch.testing.assert_close(server.F_theta, sum(F_j * theta_j for theta_j, F_j in anchors))


def test_impossible_settings_are_refused():
    with pytest.raises(FedregError, match="lam"):
        FedCurv(0.1, -1.0)
    with pytest.raises(FedregError, match="lr"):
        FedCurv(-0.1, 1.0)
