# %% [markdown]
# # Routed networks: words that choose their own way through a network
#
# A routed network (NARU, Nepp, 2021) is a sequence of layers, its *capsules*, each of which
# consists of small recurrent cells, its *bundles*. A word activates one bundle in each capsule, and
# each bundle chooses the next one, by the largest of its gates. The others are not computed, so
# that a large network costs little for each word. Here one learns to predict the next word of a
# text, and we look at the paths that words take and compare it with a GRU of the same cost.
#
# `python tutorials/8_naru.py` takes a few minutes and writes its picture to `runs/tutorials/`. With
# `STRUCTNET_SMOKE=1` it takes seconds, on less text.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt

from structnet import RoutedLanguageModel, plot_history
from structnet.datasets import DownloadError
from structnet.datasets.text import load_text
from structnet.naru.language_model import RecurrentLanguageModel
from structnet.naru.wiring import DIMS, SIZES

SMOKE = os.environ.get("STRUCTNET_SMOKE") == "1"
PICTURES = Path("runs/tutorials")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## A text
#
# 1,500 sentences of at most 25 words. They are of the Brown corpus if the environment variable
# `STRUCTNET_DATA` names a folder that has it, otherwise of the help texts that come with Python.
# `RoutedLanguageModel.fit` also takes your own text: a list of sentences, or the path of a file
# with one sentence a line.

# %%
try:
    text = load_text("brown")
except DownloadError:
    text = load_text("pydoc")
size = 60 if SMOKE else 1_500
train = [words for words in text.train if 2 <= len(words) <= 25][:size]
test = [words for words in text.test if 2 <= len(words) <= 25][: size // 5]
print(f"{text.name}: {len(train)} sentences to learn from, {len(test)} to test")

# %% [markdown]
# ## A network of 56 bundles, of which a word activates 7
#
# It is the network of the thesis; the default has a bundle that remembers and a capsule of 6
# bundles between the first and the last one, and trains faster. The model first learns vectors of
# the words from the text, then to predict each next word. The accuracy and the perplexity are
# those of its mixture with counts of what follows the last words; beside them stands the
# perplexity of each of the two alone. It is trained for a few epochs only; one takes about ten
# seconds on an idle core.

# %%
thesis = {"sizes": SIZES, "dims": DIMS[1:-1], "memory": None}
model = RoutedLanguageModel(**thesis, epochs=1 if SMOKE else 6, random_state=0)
model.fit(train)
network = model.model_.network
wiring = network.wiring
parameters = sum(parameter.numel() for parameter in network.parameters())
print(
    f"{sum(wiring.sizes)} bundles, {wiring.num_connections} connections, {parameters:,} parameters"
)
print(f"multiplications a word: {wiring.multiply_adds:,}")
for record in model.history_:
    print(f"epoch {record['epoch']}: validation loss {record['validation_loss']:.3f}")
print("test:", {name: round(value, 3) for name, value in model.measure(test).to_dict().items()})
figure = plot_history(model.history_)[0].figure
figure.savefig(PICTURES / "naru_history.png", dpi=120)
plt.close(figure)

# %% [markdown]
# The likeliest next words after some beginnings:

# %%
beginnings = ("the", "it is", "in the")
words, probabilities = model.predict_top(beginnings, k=3)
for beginning, found, prob in zip(beginnings, words, probabilities, strict=True):
    print(f"{beginning} -> {', '.join(f'{w} {p:.0%}' for w, p in zip(found, prob, strict=True))}")

# %% [markdown]
# ## How the network is used
#
# The utilisation is the share of the bundles that a sentence has visited after a number of words,
# here 0, 3, 6 and 9. The bias is how unevenly the bundles are visited, divided by its value for
# random choices: 1 would mean no preference. A path is written as one bundle a capsule.

# %%
stats = model.statistics(test)
shares = stats.utilisation()
print("utilisation by step:", [f"{share:.0%}" for share in shares[:12:3]])
print(f"bias over random: {stats.bias(normalised=True):.1f}")
print(f"bundles that no test sentence visits: {len(stats.dead_bundles())}")
print("most visited path:", stats.main_path())

# %% [markdown]
# ## Which paths words take
#
# The bundle in each capsule that each word of a sentence activated. A word reaches one capsule a
# step, so the last word does not reach the last capsule (`-`). The busiest route is the connection
# of two bundles, each given by its capsule and its number, that was taken most often.

# %%
sentence = test[0][:8]
for word, path in zip(sentence, model.paths([sentence])[0], strict=True):
    print(f"{word:>12}  {' '.join('-' if bundle < 0 else str(bundle) for bundle in path)}")
digraph = network.to_networkx(stats)
busiest = max(digraph.edges(data="count"), key=lambda edge: edge[2])
print("busiest route:", busiest)

# %% [markdown]
# ## A GRU of as many multiplications
#
# A GRU uses all of its parameters for every word, and keeps all it has read in one state. With so
# little training it has the lower perplexity. The advantages of a routed network are that its
# parameters, here eleven times as many, cost nothing on paths that are not taken, and that its
# paths can be inspected. Where both learn to predict vectors, a routed network is as good as the
# GRU after 30 epochs at 3e-4 (`tutorials/results/naru/table.md`).

# %%
gru = RecurrentLanguageModel(**thesis, epochs=1 if SMOKE else 6, random_state=0)
gru.fit(train)
print(f"GRU: {gru.model_.network.multiply_adds:,} multiplications a word")
found = {name: each.measure(test) for name, each in (("GRU", gru), ("NARU", model))}
alone = {name: each.perplexity_without_ngrams for name, each in found.items()}
print("perplexity without n-grams:", ", ".join(f"{name} {p:.1f}" for name, p in alone.items()))
