"""From text, and from the objects of other libraries, to :class:`structnet.trees.tree.Tree`.

==========================  ====================================================================
``listops``                 ``[MAX 2 9 [MIN 4 7 ] ]``, plain or with the published parentheses
``logic``                   ``( a ( and ( not b ) ) )``, the sentences of the logical relations
``bracketed``               ``(NP (DT the) (NN cat))``: Penn Treebank, Stanford Sentiment Treebank
``conllu``                  dependency trees: Universal Dependencies, CoNLL-X, ``.dp`` files
``json``                    JSON documents, as text or as Python values
``xml``, ``html``           documents as trees of elements
``python``                  source code, or a node of ``ast``, as its abstract syntax tree
``from_tree_sitter``        source code of any other language, parsed by tree-sitter
``newick``                  phylogenies with branch lengths; ``newick_many`` reads NEXUS too
``networkx_tree``           an arborescence of networkx
``from_nodes``              nodes of anytree, ete, Bio.Phylo, D3, ElementTree, or your own classes
``nested``                  nested tuples and lists, ``(label, child, child, ...)``
``from_nltk``,              parses made by these libraries, none of which is needed
``from_spacy``,
``from_conllu``
``bracketed_many``,         many trees in one text or file
``conllu_many``,
``newick_many``,
``xml_many``, ``html_many``
``as_tree``                 a tree, bracketed text, or another library's parse
``read_lines``              a file of one tree per line; bad lines raise or are skipped and counted
``to_listops``,             back to text
``to_logic``,
``to_bracketed``,
``to_newick``
==========================  ====================================================================

Each format has a file: ``expressions`` (ListOps), ``sentences`` (logic), ``brackets``,
``dependencies`` (CoNLL-U and similar formats, whose columns ``word_tables`` reads), ``json_tree``,
``xml_document`` and ``html_document`` (whose ``elements`` become trees; ``tags`` finds those of
HTML in one pass), ``python_source``, ``phylogenies`` (Newick; ``nexus`` finds it in NEXUS),
``graphs`` (networkx), ``objects`` (other libraries' parses) and ``node_objects`` (nested tuples,
and nodes of any class); ``conversion`` tells objects apart. They share ``lines`` (texts, files and
bytes as lines), ``packed`` (files that may be compressed), ``reading`` (tokens), ``files`` (a file
of many texts) and ``errors``.

A text may be given as bytes: UTF-8, or the encoding that an XML document or Python source declares.

A text that does not follow its format raises :class:`ParseError`, which shows the line with a caret
under the place. No parser recurses, so that a chain of 100,000 nodes is read like any other tree;
the exception is Python source, as Python's own parser recurses.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
