"""What engines share that ask one model of one endpoint."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from semqa.engines.model.background import Background
from semqa.engines.openai.remote import RemoteModel
from semqa.engines.openai.transport import Transport

if TYPE_CHECKING:
    from semqa.engines.openai.endpoint import Endpoint
    from semqa.engines.openai.transport import Patience
    from semqa.engines.openai.ways import Offer

__all__ = ["Connection"]


class Connection:
    """The connections, and what is known of the endpoint.

    Args:
        model: its name at the endpoint.
        endpoint: where it is.
        patience: how long to wait.

    Attributes:
        remote: asks the model.
        background: where it is asked.
        ways: the way to take for each setting of the constraint, once it is known.
        lock: held while `ways` is read or written.
    """

    def __init__(self, model: str, endpoint: Endpoint, patience: Patience) -> None:
        transport = Transport(endpoint, patience)
        self.remote = RemoteModel(model, transport)
        self.background = Background("semqa-endpoint", transport.close)
        self.ways: dict[str, Offer] = {}
        self.lock = Lock()
        self._users = 1

    def share(self) -> Connection:
        """Return this, for one more engine."""
        with self.lock:
            self._users += 1
        return self

    def release(self) -> None:
        """Close it when the last engine lets go."""
        with self.lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.background.close()
