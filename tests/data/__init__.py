"""Tests of `semqa.data`."""
