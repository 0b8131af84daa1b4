"""FedAvg by FedJAX: a federated algorithm on its for_each_client and optimizers, a model made by Haiku.

A batch of each size up to the work's is compiled before the first round, so that nothing is padded; those seconds are
told apart. The algorithm is written here, since FedJAX's own FedAvg weights by size and draws its own shuffles.
"""

import os
from collections.abc import Iterator
from time import perf_counter

import fedjax
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from protocol import Diary, Work, asked

AT_ONCE = {"linear": 10_000, "cnn5": 200}  # test images in a batch: the fastest of 50 to 1,000 on a core of an EPYC


def network(x: jax.Array, kind: str) -> jax.Array:
    """The network's outputs, of images with their one channel last."""
    if kind == "linear":
        return hk.Linear(10)(x.reshape(len(x), -1))
    pool = hk.MaxPool(2, 2, "VALID")
    x = jax.nn.relu(hk.Conv2D(32, 5, padding="VALID")(x))
    x = pool(jax.nn.relu(hk.Conv2D(32, 5, padding="VALID")(x)))
    x = pool(jax.nn.relu(hk.Conv2D(64, 5, padding="VALID")(x)))
    x = jax.nn.relu(hk.Linear(256)(x.reshape(len(x), -1)))
    return hk.Linear(10)(x)


def initial(work: Work) -> dict[str, dict[str, jax.Array]]:
    """The first parameters, in Haiku's names and order of dimensions."""
    count: dict[str, int] = {}
    made = {}
    for weight, bias in zip(work.initial[::2], work.initial[1::2], strict=True):
        kind = "conv2_d" if weight.ndim == 4 else "linear"
        if weight.ndim == 4:
            w = weight.transpose(2, 3, 1, 0)
        elif weight.shape[1] == 576:  # after 64 channels of 3 x 3
            w = weight.reshape(-1, 64, 3, 3).transpose(2, 3, 1, 0).reshape(576, -1)
        else:
            w = weight.T
        name = f"{kind}_{count[kind]}" if count.get(kind) else kind
        count[kind] = count.get(kind, 0) + 1
        made[name] = {"w": jnp.array(w), "b": jnp.array(bias)}
    return made


class Federation:
    """The model, the algorithm and the clients' data."""

    def __init__(self, work: Work) -> None:
        self.work = work
        transformed = hk.transform(lambda batch: network(batch["x"], work.network))
        last = work.x.transpose(0, 2, 3, 1)
        self.x, self.y = np.ascontiguousarray(last), work.y.astype(np.int32)
        sample = {"x": self.x[:1], "y": self.y[:1]}
        self.model = fedjax.create_model_from_haiku(
            transformed,
            sample,
            train_loss=lambda batch, z: fedjax.metrics.unreduced_cross_entropy_loss(batch["y"], z),
            eval_metrics={"accuracy": fedjax.metrics.Accuracy()},
        )
        self.train = self.training()
        parts = range(0, len(work.test_y), AT_ONCE[work.network])
        x, y = np.ascontiguousarray(work.test_x.transpose(0, 2, 3, 1)), work.test_y.astype(np.int32)
        cut = [slice(i, i + AT_ONCE[work.network]) for i in parts]
        self.test = [{"x": jnp.array(x[s]), "y": jnp.array(y[s])} for s in cut]

    def training(self) -> object:
        """What trains each client of a cohort, compiled by FedJAX."""
        optimizer, grad = fedjax.optimizers.sgd(self.work.lr), fedjax.model_grad(self.model)

        def client_init(sent: object, rng: object) -> tuple:
            """A client before its first step."""
            return sent, optimizer.init(sent), rng

        def client_step(state: tuple, batch: dict) -> tuple:
            """A client after another step."""
            params, opt_state, rng = state
            opt_state, params = optimizer.apply(grad(params, batch, rng), opt_state, params)
            return params, opt_state, rng

        def client_final(sent: object, state: tuple) -> object:
            """What a client sends back: its parameters."""
            return state[0]

        return fedjax.for_each_client(client_init, client_step, client_final)

    def batches(self, t: int, k: int) -> Iterator[dict]:
        """All the batches of the client in place k of round t."""
        owned, size = self.work.owned(self.work.cohorts[t, k]), self.work.batch_size
        x, y = self.x[owned], self.y[owned]
        for order in self.work.orders(t, k):
            for i in range(0, len(order), size):
                rows = order[i : i + size]
                yield {"x": x[rows], "y": y[rows]}

    def round(self, params: object, t: int) -> object:
        """The parameters after round t."""
        rng, size = jax.random.PRNGKey(0), self.work.cohorts.shape[1]
        clients = [(k, self.batches(t, k), rng) for k in range(size)]
        total = fedjax.tree_util.tree_zeros_like(params)
        for _, after in self.train(params, clients):
            total = fedjax.tree_util.tree_add(total, after)
        return jax.block_until_ready(fedjax.tree_util.tree_inverse_weight(total, float(size)))

    def accuracy(self, params: object) -> float:
        """The share of test images classified right."""
        return float(fedjax.evaluate_model(self.model, params, self.test)["accuracy"])

    def compile(self, params: object) -> None:
        """Train once on a batch of each size, and test once."""
        batches = [{"x": self.x[:n], "y": self.y[:n]} for n in range(1, self.work.batch_size + 1)]
        jax.block_until_ready(list(self.train(params, [(0, batches, jax.random.PRNGKey(0))])))
        self.accuracy(params)


def main() -> None:
    """Print one line of JSON."""
    ask, diary = asked(), Diary()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[: ask.threads])  # XLA takes as many threads as it finds cores
    federation, params = Federation(ask.work), initial(ask.work)
    begin = perf_counter()
    federation.compile(params)
    diary.compilation = perf_counter() - begin
    diary.begin()
    for t in range(ask.work.rounds):
        params = federation.round(params, t)
        diary.trained()
        diary.tested(federation.accuracy(params), jax.tree_util.tree_leaves(params))
    diary.tell(["fedjax", "jax", "jaxlib", "dm-haiku", "numpy"])


if __name__ == "__main__":
    main()
