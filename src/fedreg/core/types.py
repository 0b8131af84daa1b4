"""The shapes things have. d: parameters, n: examples, k: outputs, b: batch, s: local steps."""

from typing import TypeAlias

from jaxtyping import Float, Int, Num
from torch import Tensor

Vector: TypeAlias = Float[Tensor, " d"]  # theta, a gradient, a Fisher diagonal, a control variate
Scalar: TypeAlias = Float[Tensor, ""]
Inputs: TypeAlias = Num[Tensor, " n ..."]
Labels: TypeAlias = Float[Tensor, " n ..."]  # one-hot or soft classes, or the values of a regression
Outputs: TypeAlias = Float[Tensor, " n ..."]  # what a network says before any softmax
Weights: TypeAlias = Float[Tensor, " n"]
Rows: TypeAlias = Int[Tensor, " b"]  # indices into a client's data; -1 is nobody
Key: TypeAlias = Int[Tensor, ""]  # 64 bits from which a step's noise is computed
