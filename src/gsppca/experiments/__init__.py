"""The paper's tables and figures, each rerun by one command; your own methods, data and experiments beside them.

Needs ``pip install 'gsppca[experiments]'``.
"""

from gsppca.experiments.data import get_data, register_data
from gsppca.experiments.methods import Method, get_method, method_names, paper_procedure, register_method
from gsppca.experiments.registry import experiment_names, get_experiment, register_experiment
from gsppca.experiments.runner import run_experiment
from gsppca.experiments.simulated import SimulatedGrid
from gsppca.experiments.spec import Claim, Experiment, Plan, RunSpec, Table
from gsppca.experiments.store import ResultsTable

__all__ = [
    "Claim",
    "Experiment",
    "Method",
    "Plan",
    "ResultsTable",
    "RunSpec",
    "SimulatedGrid",
    "Table",
    "experiment_names",
    "get_data",
    "get_experiment",
    "get_method",
    "method_names",
    "paper_procedure",
    "register_data",
    "register_experiment",
    "register_method",
    "run_experiment",
]
