"""Stores API keys, conversations and messages in SQLite (the default) or PostgreSQL.

This package does not depend on HTTP, engines or documents.
"""

from semqa.server.store.store import Conversation, Key, Message, Store

__all__ = ["Conversation", "Key", "Message", "Store"]
