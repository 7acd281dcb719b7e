"""The server: pages and interfaces over HTTP. `create_app` makes it, `ServerSettings` says how."""

from semqa.server.app import create_app
from semqa.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]
