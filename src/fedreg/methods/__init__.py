"""Every method, by the name that experiments and the command line give it."""

from typing import Any

from ..core.method import Method
from .fedavg import FedAvg
from .fedcurv import FedCurv
from .fedprox import FedProx
from .fedreg import FedReg
from .pfedgp import PFedGP
from .scaffold import Scaffold

METHODS: dict[str, type[Method[Any, Any, Any, Any]]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "fedcurv": FedCurv,
    "scaffold": Scaffold,
    "fedreg": FedReg,
    "pfedgp": PFedGP,
}

__all__ = ["METHODS", "FedAvg", "FedCurv", "FedProx", "FedReg", "PFedGP", "Scaffold"]
