"""Runs of Tree-LSTMs at tiny sizes, and what is looked at in any run."""

from __future__ import annotations

from pathlib import Path

EXPRESSION = "[MAX 2 9 [MIN 4 7 ] 0 ]"
SIZES = ["--train-size", "120", "--test-size", "40"]
SMALL = [*SIZES, "--hidden-size", "4", "--rank", "2", "--epochs", "3", "--batch-size", "30"]
TRAIN = {
    "listops": ["train", "tree-lstm", "--data", "listops", "--max-depth", "4", *SMALL],
    "lrt": ["train", "tree-lstm", "--data", "lrt", "--generate", *SMALL],
}


def without_times(result: dict) -> dict:
    """A result without what differs from run to run."""
    details = {k: v for k, v in result["details"].items() if not k.endswith("seconds")}
    kept = {k: v for k, v in result.items() if k not in ("seconds", "run")}
    return kept | {"details": details}


def is_picture(path: Path) -> bool:
    """Is it a PNG file?"""
    return path.read_bytes()[:4] == b"\x89PNG"
