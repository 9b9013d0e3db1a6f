"""Loads data sets of images and rows by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from structnet.datasets import cifar10, digits, mnist, sarcos, svmlight_file, table
from structnet.datasets.arrays import Arrays
from structnet.datasets.catalogue import SPARSE, TABLES
from structnet.parse.packed import kind_of

LOADERS: dict[str, Callable[..., Any]] = {
    "digits": digits.load,
    "mnist": mnist.load,
    "cifar10": cifar10.load,
    "sarcos": sarcos.load,
}


def load(name: str, data_dir: str | Path | None = None, **options: Any) -> Arrays:
    """Loads a data set by its name, or a file by its path.

    Args:
        name: ``"digits"``, ``"mnist"``, ``"cifar10"`` or ``"sarcos"``; or the path of a ``.csv``
            file, whose fields are separated by commas, semicolons or tabs, or of a ``.tsv`` file,
            with tabs; or the path of a ``.svm``, ``.libsvm`` or ``.svmlight`` file of sparse rows.
            Files may be compressed (``.gz``, ``.bz2``).
        data_dir: folder to search for the files of a named data set, before the cache; the path of
            a file is relative to it. Digits have no files.
        options: other arguments of that data set's ``load``, such as ``download=True``, or
            ``target="price"`` for a table.

    Raises:
        ValueError: there is no such data set, or its ``load`` refuses an argument.
        TypeError: its ``load`` has no such option.

    Example:
        >>> data = load("digits")
        >>> data.name, data.task, data.num_outputs
        ('digits', 'classification', 10)
    """
    if name == "digits":
        return digits.load(**options)
    if name in LOADERS:
        return LOADERS[name](data_dir, **options)
    path = Path(data_dir or "", name)
    if path.name.lower().endswith(SPARSE):
        return svmlight_file.load(path, **options)
    if not path.name.lower().endswith(TABLES):
        raise ValueError(
            f"there is no data set {name!r}; there are {', '.join(LOADERS)}, and files of your "
            f"own, FILE{' or FILE'.join(('.csv', '.tsv', '.svm'))}"
        )
    if kind_of(path) == ".tsv":
        options = {"delimiter": "\t"} | options
    return table.load(path, **options)
