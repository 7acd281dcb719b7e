"""Plain definitions that the fast code is held equal to."""
