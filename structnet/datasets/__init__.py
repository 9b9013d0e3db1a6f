"""Data sets: published files, checked by their hash, and generators of similar data.

======================  ==========================================================================
``listops``             nested list operations on digits, and their values
``lrt``                 logical relations: pairs of sentences and the relation between them
``lrt_generator``       random pairs of that kind
``truth``               what a logical sentence means: the worlds in which it is true
``digits``, ``mnist``,  images of 8 x 8 and 28 x 28 pixels, and of 32 x 32 in colour
``cifar10``
``sarcos``              rows of numbers: a robot arm's movements and torques
``tree_file``           :func:`read_trees`: the user's own trees and their targets;
                        ``tree_file_sources``, ``tree_file_folders``, ``tree_file_rows``,
                        ``tree_file_formats`` and ``tree_file_targets`` find and read them
``tree_file_summary``   summary of such a file: sizes, labels, copies, classes
``table``               the user's own CSV file; ``csv_file`` reads its text
``table_columns``       the way in which its columns become numbers, by their ``column_kinds``
``written_numbers``     numbers with marks between thousands, or with a currency or percent sign
``written_dates``       dates in several orders, and what of them may tell something
``telling``             whether columns tell more of the target than chance would
``text``                :func:`load_text`: published texts and the user's own, as sentences
``gutenberg``           books of Project Gutenberg, without the text added around them
``clusters``            rows around many centres, with even or Zipf-distributed classes
``next_word``           prediction of the next word of a text from a row for the words before it
``svmlight_file``       sparse rows in a file in the format of svmlight and libsvm
``fasttext_file``       labelled text in fastText's format
``standard_library``    functions of Python's standard library as syntax trees
``planted``             points drawn from a known hierarchy
``named``               :func:`load`: images and rows by the name of the data set
``catalogue``           one-line descriptions of the data sets
``arrays``              :class:`Arrays`: images or rows, loaded and scaled
``pixels``              scaling of images, channel by channel
``source``              :class:`Source`: a file known by its hash; finding, downloading, the cache
======================  ==========================================================================

``listops`` and ``lrt`` each have ``load``, which reads the published files from ``data_dir`` or the
cache, ``generate``, ``read_tsv`` and ``write_tsv``; they return plain trees and lists. Images, rows
of numbers, tables and the next words of a text are loaded as :class:`Arrays`, scaled by their
training examples alone; sparse rows stay sparse.

No ``load`` function downloads anything unless it is given ``download=True``.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
