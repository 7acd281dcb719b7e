"""Prompt templates as data, installed as `semqa.prompts`.

One template per file; `semqa.prompting` fills them in. Importing this package loads none of them.
"""
