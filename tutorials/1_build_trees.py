# %% [markdown]
# # From text to trees
#
# An arithmetic expression, a sentence, a web page, a program: each is a tree, stored as a string of
# characters. Before a model can learn from it, the string has to be parsed back into a tree. This
# tutorial reads every notation that structnet knows, looks at the result, and ends where learning
# starts: with many trees in one graph.
#
# To train on trees of your own without these details, begin with `5_your_own_trees.py`.
#
# Run it cell by cell in an editor that knows `# %%`, or all at once:
# `python tutorials/1_build_trees.py`. It takes a few seconds and writes its pictures to
# `runs/tutorials/`. With `STRUCTNET_SMOKE=1` in the environment it uses smaller numbers.

# %%
import os
import random
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx

from structnet import Forest, Tree, Vocabulary, parse, plot_tree, to_networkx

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## What a tree is
#
# A `Tree` is a label and an ordered sequence of children. It is immutable, can be compared and used
# as a key of a dict, and prints itself in brackets.

# %%
small = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])
print(small)
print("nodes:", small.size, " height:", small.height)
print("leaves:", [leaf.label for leaf in small.leaves()])
print(small.pretty())

# %% [markdown]
# One method covers most computations on a tree: `fold` goes from the leaves up and calls a function
# with each node and the results of its children. Here it evaluates the expression. It does not
# recurse, so the depth of a tree is never a problem.


# %%
def value(node, operands):
    """The value of a node of an expression, given the values of its operands."""
    if not operands:
        return int(node.label)
    return {"MAX": max, "MIN": min}[node.label](operands)


print("value:", small.fold(value))

# %% [markdown]
# ## ListOps and logic: expressions
#
# [ListOps](https://aclanthology.org/N18-4013/) asks a model to evaluate nested list operations on
# digits. Its published files group all tokens in pairs of parentheses; the short notation leaves
# these out. Both give the same tree.

# %%
plain = parse.listops("[MAX 2 9 [MIN 4 7 ] 0 ]")
published = parse.listops("( ( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) 0 ) ] )")
print(plain, "and they are equal:", plain == published)
print("and back:", parse.to_listops(plain))

# %% [markdown]
# The logical sentences of Bowman, Potts and Manning are *curried*: an operator first takes its
# right operand, then its left. The parser joins the two steps again.

# %%
print(parse.logic("( ( not a ) ( or ( b ( and c ) ) ) )"))

# %% [markdown]
# ## When the text is wrong
#
# Every parser raises the same `ParseError`, which has the line and the column and shows the place.

# %%
for parser, text in [
    (parse.listops, "[MAX 2 9\n [MIN 4 x ] 0 ]"),
    (parse.logic, "( a and b )"),
    (parse.json, '{"trees": [1, 2,]}'),
]:
    try:
        parser(text)
    except parse.ParseError as error:
        print(error, end="\n\n")

# %% [markdown]
# One bad line among 100,000 should not make the whole file unusable. `read_lines` raises an error
# that names the file and the line; with `errors="skip"` it leaves bad lines out, counts them, and
# warns once at the end.

# %%
lines = [f"[MAX {n % 10} {n % 7} ]" for n in range(1000)]
lines[499] = "[MAX 9 [MIN 4 ]"
path = PICTURES / "expressions.txt"
path.write_text("\n".join(lines), encoding="utf-8")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = parse.read_lines(path, parse.listops, errors="skip")
print(len(result.values), "trees;", caught[0].message)

# %% [markdown]
# ## Constituency trees
#
# Treebanks write the phrases of a sentence as labelled brackets, often over several lines, with one
# more pair of brackets, without a label, around each sentence. Here is a sentence in the style of
# the Penn Treebank. `-NONE-` marks a trace: the place that *which tree* was moved from.

# %%
question = """
( (SBARQ
    (WHNP-1 (WDT Which) (NN tree))
    (SQ (VBD did)
      (NP-SBJ (DT the) (NN gardener))
      (VP (VB plant)
        (NP (-NONE- *T*-1))
        (NP-TMP (JJ last) (NN spring))))
    (. ?)))
"""
sentence = parse.bracketed(question)
print(sentence)

# %% [markdown]
# Most models of sentences use neither traces nor the grammatical functions (`-SBJ`, `-TMP`) and
# indices that follow a category. Two options drop them.

# %%
bare = parse.bracketed(question, remove_traces=True, strip_functions=True)
print(bare)

figure, axes = plt.subplots(1, 2, figsize=(13, 5))
plot_tree(sentence, ax=axes[0])
axes[0].set_title("as annotated")
plot_tree(bare, ax=axes[1])
axes[1].set_title("without traces and functions")
figure.tight_layout()
figure.savefig(PICTURES / "1_sentence.png", dpi=120)
plt.close(figure)

# %% [markdown]
# Sentiment trees use the same brackets, with a number as each label. `bracketed_many` reads a text
# or an open file with any number of trees, lazily, one after the other.

# %%
reviews = "(3 (2 It) (4 (2 really) (3 works)))\n(1 (2 (2 Not) (2 so)) (2 much))"
for tree in parse.bracketed_many(reviews):
    print(tree)

# %% [markdown]
# ## Dependency trees
#
# In a dependency tree every word is a node, and its children are the words that depend on it. Such
# a node carries two things: its relation to its head (the word above it) is its `label`, the word
# itself its `token`. It prints as `label/token`. The files of Universal Dependencies (CoNLL-U) have
# one word a line, in ten columns.

# %%
words = [
    ("The", "the", "DET", 2, "det"),
    ("gardener", "gardener", "NOUN", 3, "nsubj"),
    ("planted", "plant", "VERB", 0, "root"),
    ("two", "two", "NUM", 5, "nummod"),
    ("trees", "tree", "NOUN", 3, "obj"),
]
rows = [
    f"{number}\t{form}\t{lemma}\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
    for number, (form, lemma, tag, head, relation) in enumerate(words, start=1)
]
planted = parse.conllu("\n".join(["# text = The gardener planted two trees", *rows]))
print(planted)
print(parse.conllu("\n".join(rows), label="upos", token="lemma"))

# %% [markdown]
# ## Documents and programs
#
# JSON becomes a tree of objects and arrays, whether it is given as text or as Python values. XML
# and HTML become trees of elements, whose attributes are children that start with `@`. Python
# source becomes the syntax tree of Python's own parser (`contexts=False` leaves out `Load` and
# `Store`).

# %%
print(parse.json('{"name": "oak", "height": 21.5, "near": ["elm", "ash"]}'))
print(parse.json({"name": "oak", "height": 21.5, "near": ["elm", "ash"]}))
print(parse.xml("<tree species='oak'><age unit='years'>120</age></tree>"))
print(parse.html("<ul><li>oak<li class=big>elm<br></ul>"))
program = parse.python("def area(r):\n    return 3.14 * r ** 2", contexts=False)
print(program.pretty())

# %% [markdown]
# Phylogenies, in Newick notation, have the lengths of their branches as tokens. Any other nested
# objects, such as dicts or the nodes of tree-sitter, are read through their attributes or keys.

# %%
print(parse.newick("((human:0.1,chimpanzee:0.1):0.05,gorilla:0.2);"))
print(parse.from_nodes({"name": "oak", "children": [{"name": "branch"}, {"name": "root"}]}))

# %%
figure, axes = plt.subplots(1, 2, figsize=(13, 5))
plot_tree(planted, ax=axes[0])
axes[0].set_title("a dependency tree")
plot_tree(program, ax=axes[1])
axes[1].set_title("a program")
figure.tight_layout()
figure.savefig(PICTURES / "1_dependencies_and_program.png", dpi=120)
plt.close(figure)

# %% [markdown]
# ## Trees from other libraries
#
# The results of nltk, spaCy and conllu are converted by `parse.from_nltk(tree)`,
# `parse.from_spacy(doc)` and `parse.from_conllu(sentence)`, none of which imports that library.
# Graphs of networkx are converted in both directions. Their edges run from parent to child, as
# networkx expects of a tree (an arborescence), so that all of its algorithms apply.

# %%
graph = to_networkx(bare)
print(graph, "is an arborescence:", nx.is_arborescence(graph))
print("longest path:", nx.dag_longest_path_length(graph), "edges")
print("and back:", parse.networkx_tree(graph) == bare)

# %% [markdown]
# A graph that is not a tree is refused, with the reason.

# %%
graph = nx.DiGraph([("root", "left"), ("root", "right"), ("left", "leaf"), ("right", "leaf")])
try:
    parse.networkx_tree(graph)
except ValueError as error:
    print(error)

# %% [markdown]
# ## From trees to a forest
#
# A model computes with numbers. A `Vocabulary` assigns a number to each label: labels of inner
# nodes become *types*, which select the model's parameters, and labels of leaves become *tokens*,
# which select an input vector; `arity` is the largest number of children. It can be collected from
# the trees; for ListOps it is known beforehand.

# %%
OPERATORS = ["MAX", "MIN", "MED", "SM"]
vocabulary = Vocabulary(OPERATORS, tokens="0123456789", arity=5)
print(vocabulary)
print("MIN is type", vocabulary.type_of("MIN"), "and 7 is token", vocabulary.token_of("7"))
print(Vocabulary.from_trees([bare]))
try:
    vocabulary.type_of("MINN")
except ValueError as error:
    print(error)

# %% [markdown]
# A `Forest` holds many trees in one graph, ready for message passing. Equal subtrees are stored
# once: what a model computes for `[MIN 4 7 ]`, it computes once for all the expressions in which it
# occurs. We write 20,000 random expressions, parse them, and count what that saves.


# %%
def random_expression(generator):
    """A random ListOps expression, written token by token."""
    tokens, unclosed, missing = [], [], 1
    while missing:
        if not tokens or (generator.random() < 0.25 and len(unclosed) < 10):
            unclosed.append(missing - 1)
            tokens.append("[" + generator.choice(OPERATORS))
            missing = generator.randint(2, 5)
        else:
            tokens.append(str(generator.randint(0, 9)))
            missing -= 1
        while not missing and unclosed:
            tokens.append("]")
            missing = unclosed.pop()
    return " ".join(tokens)


generator = random.Random(0)
texts = [random_expression(generator) for _ in range(200 if SMOKE else 20_000)]

start = time.perf_counter()
trees = [parse.listops(text) for text in texts]
seconds = time.perf_counter() - start
tokens = sum(text.count(" ") + 1 for text in texts)
print(f"{len(trees)} trees, {tokens} tokens, {tokens / seconds / 1e6:.1f} million tokens a second")

forest = Forest.from_trees(trees, vocabulary)
apart = Forest.from_trees(trees, vocabulary, share=False)
print("nodes, every one stored: ", apart.num_nodes)
print("nodes, equal ones shared:", forest.num_nodes)

# %% [markdown]
# Every tree can be recovered from the forest. A minibatch is again a forest: some of the roots,
# with all nodes below them.

# %%
print("the same tree:", forest.tree(7) == trees[7])
batch = forest[[7, 3, 11]]
print(len(batch), "trees,", batch.num_nodes, "nodes,", len(batch.levels), "levels")

# %% [markdown]
# ## Depth
#
# Recursive code fails on a chain of 100,000 nodes. Here it is a tree like any other.

# %%
depth = 1_000 if SMOKE else 100_000
chain = parse.listops("[MAX " * depth + "1" + " ]" * depth)
print("height", chain.height, "and value", chain.fold(value))

# %% [markdown]
# The next tutorial, `2_listops.py`, trains a tensor Tree-LSTM on such expressions.
