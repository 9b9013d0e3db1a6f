"""Data sets: published files by their hash, or generators of the like.

Trees: ``listops`` and ``lrt`` each have ``load``, which gives the published data if they lie in
``data_dir`` or in the cache, ``generate``, ``read_tsv`` and ``write_tsv``. They give plain trees
and lists.

Images and rows: ``digits``, ``mnist``, ``cifar10``, ``sarcos`` and ``table``, a CSV file of one's
own, each have ``load``, and ``load(name)`` takes their names. They give :class:`Arrays`, scaled by
what the training examples alone say.

Nothing is downloaded unless ``download=True`` is said.
"""

from __future__ import annotations

from structnet.datasets import cifar10, digits, listops, lrt, mnist, sarcos, table
from structnet.datasets.arrays import Arrays, Scale
from structnet.datasets.csv_file import TableError
from structnet.datasets.held_out import hold_out
from structnet.datasets.listops import ListOps, evaluate_expression
from structnet.datasets.lrt import LogicalRelations, Pair
from structnet.datasets.named import load
from structnet.datasets.source import (
    DownloadError,
    Source,
    WrongFileError,
    cache_dir,
    fetch,
    find,
    verify,
)
from structnet.datasets.truth import num_operators, relation, truth_table

__all__ = [
    "Arrays",
    "DownloadError",
    "ListOps",
    "LogicalRelations",
    "Pair",
    "Scale",
    "Source",
    "TableError",
    "WrongFileError",
    "cache_dir",
    "cifar10",
    "digits",
    "evaluate_expression",
    "fetch",
    "find",
    "hold_out",
    "listops",
    "load",
    "lrt",
    "mnist",
    "num_operators",
    "relation",
    "sarcos",
    "table",
    "truth_table",
    "verify",
]
