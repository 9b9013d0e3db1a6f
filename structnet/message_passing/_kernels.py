"""The loops that plan a sweep over a forest: compiled once by numba, cached on disk.

All take and return int64 arrays. A *slot* is one thing that a node receives; equal slots from the
same child are one *message*; rows with the same key form a *run*, and runs of equal length form a
*stack*. Of the fields of a stack (:data:`STACK`), ``first`` is the number of its first row and
``length`` the number of rows in each run.
"""

from __future__ import annotations

import numpy as np

from structnet.trees._kernels import compiled, grouped

# A ``complete`` stack has every key in order; others have theirs in a list from ``first_key`` on.
STACK_FIELDS = ("level", "first", "runs", "length", "complete", "first_key")
STACK = np.dtype([(name, np.int64) for name in STACK_FIELDS])


@compiled
def runs(level, key, levels):
    """The runs of rows that are sorted by level, then key.

    Returns the first row of each run and the end, the keys of the runs, and the first run of each
    level and the end.
    """
    starts, keys = np.empty(len(level) + 1, np.int64), np.empty(len(level), np.int64)
    of_level = np.zeros(levels + 1, np.int64)
    n = 0
    for row in range(len(level)):
        if row == 0 or level[row] != level[row - 1] or key[row] != key[row - 1]:
            starts[n], keys[n] = row, key[row]
            of_level[level[row] + 1] += 1
            n += 1
    starts[n] = len(level)
    for one in range(levels):
        of_level[one + 1] += of_level[one]
    return starts[: n + 1], keys[:n], of_level


@compiled
def _pack_level(keys, counts, num_keys, slack):
    """Packs the runs of one level into stacks, padding the runs of a stack to its longest.

    Runs join a stack from the longest down, while its padding rows are at most ``slack``, and at
    most 64 more than its real rows.

    Returns the stack of each run and its place in it, then the length, the number of runs and the
    completeness of each stack.
    """
    longest = np.int64(0)
    for run in range(len(counts)):
        longest = max(longest, counts[run])
    order, _ = grouped(longest - counts, longest + 1)
    stack = np.empty(len(keys), np.int64)
    place = np.empty(len(keys), np.int64)
    length = np.empty(len(keys), np.int64)
    size = np.zeros(len(keys), np.int64)
    real = 0
    b = -1
    for run in order:
        allowed = real + counts[run] + min(slack, real + counts[run] + 64)
        if b < 0 or (size[b] + 1) * length[b] > allowed:
            b += 1
            length[b] = counts[run]
            real = 0
        stack[run] = b
        place[run] = size[b]
        size[b] += 1
        real += counts[run]
    complete = np.zeros(b + 1, np.bool_)
    # A single stack with almost every key takes them all, so that its weights need no gathering.
    # Reading the weights of an absent key costs about as much as four more rows.
    absent = num_keys - size[0]
    if b == 0 and num_keys * length[0] + 4 * absent <= real + min(slack, real + 64):
        complete[0] = True
        size[0] = num_keys
        for run in range(len(keys)):
            place[run] = keys[run]
    return stack, place, length[: b + 1], size[: b + 1], complete


@compiled
def pack(level, key, num_keys, slack):
    """Arranges items, sorted by level and then key, in rows.

    Returns the row of each item, the stacks, the keys of the runs of all incomplete stacks, and the
    number of rows, padding included.
    """
    row = np.empty(len(level), np.int64)
    starts, keys, of_level = runs(level, key, level[-1] + 1 if len(level) else 0)
    stacks = np.empty(len(keys), STACK)
    run_keys = np.empty(len(keys), np.int64)
    num_stacks = num_rows = num_run_keys = 0
    for h in range(len(of_level) - 1):
        first, last = of_level[h], of_level[h + 1]
        if first == last:
            continue
        begins = starts[first:last]
        counts = starts[first + 1 : last + 1] - begins
        stack, place, length, size, complete = _pack_level(
            keys[first:last], counts, num_keys, slack
        )
        for b in range(len(length)):
            s = stacks[num_stacks + b]
            s.level = h
            s.first = num_rows
            s.runs = size[b]
            s.length = length[b]
            s.complete = complete[b]
            s.first_key = num_run_keys
            num_rows += size[b] * length[b]
            if not complete[b]:
                num_run_keys += size[b]
        for run in range(last - first):
            s = stacks[num_stacks + stack[run]]
            row0 = s.first + place[run] * s.length
            for i in range(counts[run]):
                row[begins[run] + i] = row0 + i
            if not s.complete:
                run_keys[s.first_key + place[run]] = keys[first + run]
        num_stacks += len(length)
    return row, stacks[:num_stacks], run_keys[:num_run_keys], num_rows


@compiled
def slots(types, offsets, children, pos, arity, positional, pads):
    """The slots of each typed node in order of place: offsets by node, then sources and keys.

    The key of a message is ``type * arity + pos`` of the receiver, or its type alone if positions
    do not matter. With ``pads``, a place without a child receives a message from the bottom, which
    is node ``len(types)``.
    """
    n = len(types)
    first = np.zeros(n + 1, np.int64)
    for v in range(n):
        size = arity if pads and types[v] >= 0 else offsets[v + 1] - offsets[v]
        first[v + 1] = first[v] + size
    source, key = np.empty(first[n], np.int64), np.empty(first[n], np.int64)
    for v in range(n):
        if pads and types[v] >= 0:
            for j in range(arity):
                source[first[v] + j] = n
                key[first[v] + j] = types[v] * arity + j if positional else types[v]
        for e in range(offsets[v], offsets[v + 1]):
            slot = first[v] + (pos[e] if pads else e - offsets[v])
            source[slot] = children[e]
            key[slot] = types[v] * arity + pos[e] if positional else types[v]
    return first, source, key


@compiled
def distinct_messages(source, key, height, num_keys):
    """Distinct (source, key) pairs, ordered by the level of the source, then key, then source.

    Returns the level, source and key of each pair, and the pair of each slot. ``height`` has an
    entry for each node, and at the end a 0 for the bottom. Counting sorts make the time linear.
    """
    by_source, starts = grouped(source, len(height))
    slots = len(source)
    sources, keys = np.empty(slots, np.int64), np.empty(slots, np.int64)
    pair = np.empty(slots, np.int64)
    last = np.zeros(num_keys, np.int64)  # 1 + the number of the latest pair with each key
    pairs, num_levels = 0, np.int64(0)  # a literal would make numba compile grouped again
    for v in range(len(height)):
        num_levels = max(num_levels, height[v] + 1)
        first = pairs
        for i in range(starts[v], starts[v + 1]):
            slot = by_source[i]
            k = key[slot]
            if last[k] <= first:
                sources[pairs], keys[pairs] = v, k
                pairs += 1
                last[k] = pairs
            pair[slot] = last[k] - 1
    by_key, _ = grouped(keys[:pairs], num_keys)
    levels = np.empty(pairs, np.int64)
    for i in range(pairs):
        levels[i] = height[sources[by_key[i]]]
    by_level, _ = grouped(levels, num_levels)
    rows = np.empty((4, pairs), np.int64)  # level, source, key; and the new number of each pair
    for i in range(pairs):
        before = by_key[by_level[i]]
        rows[0, i], rows[1, i], rows[2, i] = levels[by_level[i]], sources[before], keys[before]
        rows[3, before] = i
    for slot in range(slots):
        pair[slot] = rows[3, pair[slot]]
    return rows[0], rows[1], rows[2], pair


@compiled
def inboxes(nodes, node_row, num_rows, first, message_row, num_messages, width):
    """The message rows that each node row receives, and the transpose, both as CSR lists.

    With ``width`` > 0 every row, padding included, has that many slots. Otherwise a padding row
    receives one message, so that a cell that divides by their number does not divide by 0.

    Returns ``offsets, messages`` by node row and ``offsets, slots, rows`` by message row.
    """
    offsets = np.zeros(num_rows + 1, np.int64)
    offsets[1:] = min(num_messages, 1)
    for i in range(len(nodes)):
        offsets[node_row[i] + 1] = first[nodes[i] + 1] - first[nodes[i]]
    if width > 0:
        offsets[1:] = width
    for row in range(num_rows):
        offsets[row + 1] += offsets[row]
    messages = np.zeros(offsets[-1], np.int64)  # padding rows read row 0
    received = np.empty(len(message_row), np.int64)  # the message row of each slot
    slots = np.empty(len(message_row), np.int64)
    rows = np.empty(len(message_row), np.int64)
    total = 0
    for i in range(len(nodes)):
        slot = offsets[node_row[i]]
        for e in range(first[nodes[i]], first[nodes[i] + 1]):
            messages[slot] = received[total] = message_row[e]
            slots[total], rows[total] = slot, node_row[i]
            slot += 1
            total += 1
    order, back_offsets = grouped(received[:total], num_messages)
    back_slots, back_rows = slots[order], rows[order]
    return offsets, messages, back_offsets, back_slots, back_rows
