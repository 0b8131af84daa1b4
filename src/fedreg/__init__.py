"""Federated learning that does not forget."""

import os

# Before torch is imported: threads that wait for each other sleep. Beside another busy process they would spin for most
# of a round.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from . import engines
from .core.data import Batch, Data, Schedule, schedule
from .core.errors import Diverged, FedregError
from .core.gradient import DPSGD, exact
from .core.method import Averaging, Cohort, Local, Method, client_round
from .core.module import flat, group_norm, headless, ravel, unravel
from .core.objective import Objective, classification, embedding, regression
from .datasets import Dataset
from .federation.evaluation import Score, evaluate
from .federation.examples import Examples
from .federation.gp_tree import gp_tree
from .federation.partition import ByClass, ByOwner, Dirichlet, PowerLaw, Uniform
from .federation.population import Population
from .federation.rounds import Plan, Round, federate
from .methods import METHODS, FedAvg, FedCurv, FedProx, FedReg, PFedGP, Scaffold
from .version import __version__

__all__ = [
    "DPSGD",
    "METHODS",
    "Averaging",
    "Batch",
    "ByClass",
    "ByOwner",
    "Cohort",
    "Data",
    "Dataset",
    "Dirichlet",
    "Diverged",
    "Examples",
    "FedAvg",
    "FedCurv",
    "FedProx",
    "FedReg",
    "FedregError",
    "Local",
    "Method",
    "Objective",
    "PFedGP",
    "Plan",
    "Population",
    "PowerLaw",
    "Round",
    "Scaffold",
    "Schedule",
    "Score",
    "Uniform",
    "__version__",
    "classification",
    "client_round",
    "embedding",
    "engines",
    "evaluate",
    "exact",
    "federate",
    "flat",
    "gp_tree",
    "group_norm",
    "headless",
    "ravel",
    "regression",
    "schedule",
    "unravel",
]
