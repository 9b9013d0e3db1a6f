"""Routed networks: words that choose their own way through a network.

Run it from the top, or cell by cell in an editor that knows `# %%`. It takes a minute or two; with
STRUCTNET_SMOKE=1 it takes seconds, on less text.
"""

# %% A text
# 1,500 sentences of at most 25 words: of the Brown corpus where STRUCTNET_DATA names a folder that
# has it, else of the help on Python's language, which every Python brings along.
import os

import torch

from structnet import RoutedLanguageModel, plot_history
from structnet.datasets import DownloadError
from structnet.datasets.text import load_text
from structnet.naru import NaruSettings, NextWord, Sentences
from structnet.naru import train as train_network
from structnet.naru.recurrent import RecurrentNetwork

SMOKE = bool(os.environ.get("STRUCTNET_SMOKE"))
try:
    text = load_text("brown")
except DownloadError:
    text = load_text("pydoc")
size = 60 if SMOKE else 1_500
train = [words for words in text.train if 2 <= len(words) <= 25][:size]
test = [words for words in text.test if 2 <= len(words) <= 25][: size // 5]
print(f"{text.name}: {len(train)} sentences to learn from, {len(test)} to test")

# %% A network of 56 bundles, of which a word activates 7
# Untouched, the model learns vectors of the words from the text, and then to predict the vector of
# each next word. Here it stops early; on one quiet core an epoch takes about ten seconds.
model = RoutedLanguageModel(epochs=1 if SMOKE else 6, learning_rate=1e-3, random_state=0)
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
print("test:", {name: round(value, 3) for name, value in model.measure(test).items()})
plot_history(model.history_)[0].figure.savefig("naru_history.png")

# %% What comes next
for beginning in ("the", "it is", "in the"):
    print(f"{beginning} -> {model.predict([beginning])[0]}")

# %% How the network is used
# Utilisation: the share of the bundles that a sentence has visited so far. Bias: how uneven the
# visits are, over what random choices would be; 1 would be no preference at all.
stats = model.statistics(test)
shares = stats.utilisation()
print("utilisation by step:", [f"{share:.0%}" for share in shares[:12:3]])
print(f"bias over random: {stats.bias(normalised=True):.1f}")
print(f"bundles that no test sentence visits: {len(stats.dead_bundles())}")
print("most visited path:", stats.main_path())

# %% Which paths words take
# The bundle of each capsule that each word of a sentence passed.
sentence = test[0][:8]
for word, path in zip(sentence, model.paths([sentence])[0], strict=True):
    print(f"{word:>12}  {' '.join('-' if bundle < 0 else str(bundle) for bundle in path)}")
digraph = network.to_networkx(stats)
busiest = max(digraph.edges(data="count"), key=lambda edge: edge[2])
print("busiest route:", busiest)

# %% A GRU of as many multiplications
# It takes all of them for every word, and mixes all it has read in one state. On this task it
# learns faster and better: what a routed network gives is that its parameters, here eleven times as
# many, cost nothing where nobody goes, and that one can look where words go.
torch.manual_seed(0)
gru = RecurrentNetwork(model.vector_size, wiring.multiply_adds)
counts = torch.from_numpy(model.words_.counts)
other = NextWord(gru, model.model_.vectors, prior=counts, unknown=model.words_.unknown)
held_out = len(train) // 10
learned, validation = (
    Sentences.to_predict(model.words_.encode(part), model.max_length)
    for part in (train[held_out:], train[:held_out])
)
settings = NaruSettings(epochs=1 if SMOKE else 6, learning_rate=1e-3)
history = train_network(other, settings, learned, validation)
told = Sentences.to_predict(model.words_.encode(test), model.max_length)
print(f"GRU of {gru.gru.hidden_size}: {gru.multiply_adds:,} multiplications a word")
print(f"test loss: GRU {other.loss(told).item():.3f}, NARU {model.measure(test)['loss']:.3f}")
