"""How the tables came to be, one step a file; Alembic reads them in order."""
