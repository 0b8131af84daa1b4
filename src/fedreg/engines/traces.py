"""Traces: the operations that vmap and grad come down to, written out once and called without them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..core.data import Schedule
from ..core.method import Step
from ..core.types import Vector
from .recorder import Recorder, Work


@torch.library.custom_op("fedreg::mark", mutates_args=())
def mark(theta: Tensor) -> Tensor:
    """theta: where a step begins, and where it ends."""
    return theta.clone()


@mark.register_vmap
def marks(info: Any, in_dims: Any, theta: Tensor) -> tuple[Tensor, Any]:
    """The thetas of many clients, marked as one."""
    return mark(theta), in_dims[0]


class Piece(NamedTuple):
    """Operations of a trace, and what of the rest they need."""

    module: fx.GraphModule
    needs: list[fx.Node]

    def of(self, known: dict[fx.Node, Tensor]) -> Sequence[Tensor]:
        """What it gives, where this is known."""
        given: Sequence[Tensor] = self.module(*(known[node] for node in self.needs))
        return given


class Recording(NamedTuple):
    """A round in pieces: until the first step is taken, any other step, and what is left after the last."""

    inputs: list[fx.Node]
    first: Piece
    gives: list[fx.Node]  # by first: theta, and what the others need
    other: Piece | None
    last: Piece | None
    spec: Any  # of the outputs


@final
class Traces(Recorder[Recording]):
    """Work on a processor as traces; one for any number of steps."""

    def __init__(self, enough: int = 20) -> None:  # writing a trace takes as long as some twenty rounds
        super().__init__(enough)

    def shapes(self, leaves: list[Tensor]) -> Any:
        *others, rows, _, _ = leaves
        k, steps, width = rows.shape
        return tuple((leaf.shape, leaf.dtype) for leaf in others), k, width, steps > 1

    def record(self, work: Work, leaves: list[Tensor], spec: Any) -> Recording:
        found: list[Any] = []

        def whole(*given: Tensor) -> list[Tensor]:
            *inputs, at = given

            def walk(step: Step, theta: Vector, schedule: Schedule) -> Vector:
                theta = step(theta, schedule.batch(0))
                if len(schedule.key) > 1:
                    theta = mark(step(mark(theta), schedule.batch_at(at)))
                return theta

            outputs, how = tree_flatten(work(walk, tree_unflatten(inputs, spec)))
            found.append(how)
            return outputs

        trace = make_fx(whole)(*leaves, torch.ones(1, dtype=torch.int64))
        return cut(trace, found[0])

    def replay(self, recording: Recording, leaves: list[Tensor]) -> Any:
        steps = leaves[-1].shape[1]
        known = dict(zip(recording.inputs, leaves, strict=True))
        known |= zip(recording.gives, recording.first.of(known), strict=True)
        if recording.other is None or recording.last is None:
            return tree_unflatten([known[node] for node in recording.gives], recording.spec)
        kept = [known[node] for node in recording.other.needs[2:]]
        theta = known[recording.gives[0]]
        for s in range(1, steps):
            (theta,) = recording.other.module(theta, torch.tensor([s]), *kept)
        known[recording.last.needs[0]] = theta
        return tree_unflatten(list(recording.last.of(known)), recording.spec)


def cut(trace: fx.GraphModule, spec: Any) -> Recording:
    """The trace in pieces, at its marks."""
    nodes = list(trace.graph.nodes)
    *inputs, at = [node for node in nodes if node.op == "placeholder"]
    outputs = list(nodes[-1].args[0])
    work = nodes[len(inputs) + 1 : -1]
    marks = [i for i, node in enumerate(work) if node.target == torch.ops.fedreg.mark.default]
    if not marks:
        first = piece(trace, inputs, work, outputs)
        return Recording(inputs, first, outputs, None, None, spec)
    begin, end = marks
    before, body, after = work[:begin], work[begin + 1 : end], work[end + 1 :]
    theta_in, theta_out = work[begin], work[end]
    there = {*before, *inputs}
    body_needs = [theta_in, at, *needed(body, [theta_out.args[0]], there)]
    last_needs = [theta_out, *needed(after, outputs, there)]
    gives = [theta_in.args[0], *(n for n in dict.fromkeys([*body_needs[2:], *last_needs[1:]]) if n not in inputs)]
    return Recording(
        inputs,
        piece(trace, inputs, before, gives),
        gives,
        piece(trace, body_needs, body, [theta_out.args[0]]),
        piece(trace, last_needs, after, outputs),
        spec,
    )


def needed(nodes: Sequence[fx.Node], outputs: Iterable[Any], there: set[fx.Node]) -> list[fx.Node]:
    """Which of the nodes that are there these nodes, and what they give, are made of."""
    used = [n for node in nodes for n in node.all_input_nodes] + [n for n in outputs if isinstance(n, fx.Node)]
    return [node for node in dict.fromkeys(used) if node in there]


def piece(trace: fx.GraphModule, needs: list[fx.Node], nodes: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> Piece:
    """These nodes of a trace as operations of their own."""
    graph = fx.Graph()
    copies = {node: graph.placeholder(f"given_{i}") for i, node in enumerate(needs)}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in outputs))
    return Piece(fx.GraphModule(trace, graph), needs)
