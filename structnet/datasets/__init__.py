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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
