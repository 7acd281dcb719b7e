"""What every training shares, whatever it trains: its folder, and how it is interrupted."""

from semqa.trainer.folder import TrainingFolder
from semqa.trainer.interrupt import Interrupt

__all__ = ["Interrupt", "TrainingFolder"]
