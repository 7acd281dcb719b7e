"""Answer and score with Ray, on this machine or on a cluster."""

from semqa.distributed.cluster import RaySettings
from semqa.distributed.workers import RayWorkers, open_ray

__all__ = ["RaySettings", "RayWorkers", "open_ray"]
