"""Many runs of a benchmark from one file: its settings, the cells that they span, and their runs."""

from semqa.bench.grid.cells import Cell
from semqa.bench.grid.config import GridConfig, Setting, read_config
from semqa.bench.grid.run import CellOutcome, run_grid

__all__ = ["Cell", "CellOutcome", "GridConfig", "Setting", "read_config", "run_grid"]
