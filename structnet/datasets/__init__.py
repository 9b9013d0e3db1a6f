"""Data sets: published files by their hash, or generators of the like.

======================  ==========================================================================
``listops``             expressions on lists of digits, and their values
``lrt``                 logical relations: pairs of sentences, and how they are related
``lrt_generator``       such pairs drawn at random
``truth``               what a logical sentence means: the worlds in which it is true
``digits``, ``mnist``,  images: 8 x 8, 28 x 28, and 32 x 32 in colour
``cifar10``
``sarcos``              rows of numbers: a robot arm's movements and torques
``tree_file``           :func:`read_trees`: trees of one's own, with what is to be predicted of
                        them; ``tree_file_sources``, ``tree_file_rows``, ``tree_file_formats`` and
                        ``tree_file_targets`` find and read them
``tree_file_summary``   what is in such a file: sizes, labels, copies, classes
``table``               a CSV file of one's own; ``csv_file`` reads its text
``text``                :func:`load_text`: texts, published or of one's own, in sentences
``gutenberg``           books of Project Gutenberg, without what stands around them
``clusters``            rows around many centres, even or as uneven as words
``next_word``           a text's next word as a class, the words before it as a row
``svmlight_file``       sparse rows, in a file of svmlight's or libsvm's format
``fasttext_file``       labelled text, as fastText reads it
``standard_library``    functions of Python's standard library as syntax trees
``planted``             points of a hierarchy that is known
``_kernels``            the compiled loop over a text's bytes
``named``               :func:`load`: images and rows by the name of the data set
``catalogue``           what there is, in words
``arrays``              :class:`Arrays`: what is loaded of images and rows
``pixels``              images scaled, channel by channel
``source``              :class:`Source`: a file is its hash; finding, downloading, the cache
======================  ==========================================================================

``listops`` and ``lrt`` each have ``load``, which gives the published data if they lie in
``data_dir`` or in the cache, ``generate``, ``read_tsv`` and ``write_tsv``. They give plain trees
and lists. The others give :class:`Arrays`, scaled by what the training examples alone say; sparse
rows stay as they are.

Nothing is downloaded unless ``download=True`` is said.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
