"""What every training shares, whatever it trains: folder, processes, interruptions, steps."""

from semqa.trainer.folder import TrainingFolder
from semqa.trainer.interrupt import Interrupt, Terminated
from semqa.trainer.ranks import Ranks
from semqa.trainer.session import Progress, Session

__all__ = ["Interrupt", "Progress", "Ranks", "Session", "Terminated", "TrainingFolder"]
