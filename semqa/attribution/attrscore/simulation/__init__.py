"""Training data of AttrScore, made of questions with answers."""

from semqa.attribution.attrscore.simulation.qa import QAItem, QASet, read_qa
from semqa.attribution.attrscore.simulation.simulate import Simulation, simulate

__all__ = ["QAItem", "QASet", "Simulation", "read_qa", "simulate"]
