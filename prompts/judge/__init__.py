"""Prompts for judges, one file a prompt."""
