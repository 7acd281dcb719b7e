"""Tests with a real language model: `make test-models`."""
