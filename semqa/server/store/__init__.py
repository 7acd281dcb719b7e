"""What the server remembers: API keys, conversations and their messages.

In SQLite by default, in PostgreSQL by URL. Knows nothing of HTTP, engines or documents.
"""

from semqa.server.store.store import Conversation, Key, Message, Store

__all__ = ["Conversation", "Key", "Message", "Store"]
