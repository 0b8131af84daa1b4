"""Runs on disk: a folder a run."""
