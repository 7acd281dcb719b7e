"""Plain reference implementations for the fast code."""
