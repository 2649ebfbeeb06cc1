"""Nets for texts, trees and games. `size` makes them longer: 1 is the usual net."""

from problems.step import Step


def transformer(size):
    step = Step(8)
    length, width, heads = 256, 512, 8
    x = (step.value(4 * step.batch * length * width, constant=1), length, 1, width)
    x = step.dense(x, width)
    for _ in range(6 * size):
        n = step.norm(x)
        q, k, v = (step.dense(n, width) for _ in range(3))
        scores = step.product(q[0], k[0], heads * length * length, width // heads)
        weights = step.unary(scores, heads * length * length)
        dropped = step.op("linear", [weights], heads * length * length)
        mixed = step.product(dropped, v[0], length * width, length)
        x = step.add(step.dense((mixed, length, 1, width), width), x)
        h = step.dense(step.norm(x), 4 * width)
        h = (step.op("input_output", [h[0]], length * 4 * width), length, 1, 4 * width)
        x = step.add(step.dense(h, width), x)
    return step.finish([step.dense(step.norm(x), 1000)[0]])


def gpt(size):
    """Every small op on its own, as a tracer sees it, and one table for the first layer and the
    last."""
    step = Step(4)
    length, width, heads, words = 512, 768, 12, 16000
    table = step.weight(words * width)
    x = (step.op("product", [step.value(4 * step.batch * length, constant=1)], length * width,
                 table), length, 1, width)
    for _ in range(12 * size):
        n = step.norm(x)
        parts = step.dense(n, 3 * width)
        q, k, v = (step.op("linear", [parts[0]], length * width) for _ in range(3))
        scores = step.product(q, k, heads * length * length, width // heads)
        masked = step.op("linear", [scores], heads * length * length)
        weights = step.unary(masked, heads * length * length)
        dropped = step.op("linear", [weights], heads * length * length,
                          extra=step.batch * heads * length * length // 4)
        mixed = step.product(dropped, v, length * width, length)
        x = step.add(step.dense((mixed, length, 1, width), width), x)
        h = step.dense(step.norm(x), 4 * width)
        cubed = step.op("input_output", [h[0]], length * 4 * width)
        inner = step.op("linear", [h[0], cubed], length * 4 * width)
        gate = step.unary(inner, length * 4 * width)
        h = (step.op("both", [h[0], gate], length * 4 * width), length, 1, 4 * width)
        x = step.add(step.dense(h, width), x)
    logits = step.dense(step.norm(x), words, table)
    return step.finish([step.unary(logits[0], length * words)])


def cell(step, hidden, z, c):
    """The rest of an LSTM cell, from the sum of its products: (h, c)."""
    i, f, o, g = (step.unary(step.op("linear", [z], hidden), hidden) for _ in range(4))
    c = step.op("linear", [step.op("both", [f, c], hidden), step.op("both", [i, g], hidden)], hidden)
    return step.op("both", [o, step.unary(c, hidden)], hidden), c


def lstm(size):
    step = Step(64)
    hidden, inputs = 512, 128
    h = c = step.value(4 * step.batch * hidden, constant=1)
    w, recurrent = step.weight(4 * inputs * hidden), step.weight(4 * hidden * hidden)
    for _ in range(100 * size):
        x = (step.value(4 * step.batch * inputs, constant=1), 1, 1, inputs)
        a = step.dense(x, 4 * hidden, w)
        b = step.dense((h, 1, 1, hidden), 4 * hidden, recurrent)
        h, c = cell(step, hidden, step.add(a, b)[0], c)
    return step.finish([step.dense((h, 1, 1, hidden), 10)[0]])


def tree_lstm(size):
    """A full binary tree of cells."""
    step = Step(16)
    hidden = 256
    w = step.weight(4 * 2 * hidden * hidden)

    def grow(depth):
        if depth == 0:
            leaf = step.value(4 * step.batch * hidden, constant=1)
            return step.unary(leaf, hidden), step.op("linear", [leaf], hidden)
        (h1, c1), (h2, c2) = grow(depth - 1), grow(depth - 1)
        both = step.op("linear", [h1, h2], 2 * hidden)
        z = step.dense((both, 1, 1, 2 * hidden), 4 * hidden, w)
        return cell(step, hidden, z[0], step.op("linear", [c1, c2], hidden))

    h, _ = grow(5 + size)
    return step.finish([step.dense((h, 1, 1, hidden), 5)[0]])


def unrolled_gan(size):
    """A generator against a discriminator that looks some steps of its own training ahead: the
    backward pass goes through gradients and updates."""
    step = Step(512)
    widths = (128, 256, 256, 256, 1)
    noise = (step.value(4 * step.batch * 64, constant=1), 1, 1, 64)
    for units in (256, 256, 128):
        noise = step.relu(step.dense(noise, units))
    real = step.value(4 * step.batch * widths[0], constant=1)
    w = [step.op("linear", [step.weight(a * b)], a * b / step.batch)
         for a, b in zip(widths, widths[1:])]

    def judge(v):
        seen = [v]
        for layer, units in enumerate(widths[1:]):
            v = step.unary(step.product(v, w[layer], units, widths[layer]), units)
            seen.append(v)
        return seen

    for _ in range(10 * size):
        for data in (real, noise[0]):
            seen = judge(data)
            dy = step.unary(seen[-1], 1)
            for layer in reversed(range(len(w))):
                dz = step.op("both", [dy, seen[layer + 1]], widths[layer + 1])
                area = widths[layer] * widths[layer + 1]
                dw = step.product(seen[layer], dz, area / step.batch, step.batch)
                dy = step.product(dz, w[layer], widths[layer], widths[layer + 1])
                w[layer] = step.op("linear", [w[layer], dw], area / step.batch)
    return step.finish([judge(noise[0])[-1]])
