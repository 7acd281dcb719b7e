"""The page: chat beside its sources, as plain modules that a browser reads as they stand."""

from semqa.server.page.router import router

__all__ = ["router"]
