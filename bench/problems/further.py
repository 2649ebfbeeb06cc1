"""Further nets and programs, each with something that the others do not have."""

import math

from problems.pictures import classify, conv_norm_relu, image
from problems.step import Step


def sequence_input(step, length, width):
    return (step.value(4 * step.batch * length * width, constant=1), length, 1, width)


def attend(step, x, memory, width, heads):
    """Of the rows of x to those of the memory."""
    q, k, v = step.dense(x, width), step.dense(memory, width), step.dense(memory, width)
    area = heads * x[1] * memory[1]
    scores = step.product(q[0], k[0], area, width // heads)
    mixed = step.product(step.unary(scores, area), v[0], x[1] * width, memory[1])
    return step.dense((mixed, x[1], 1, width), width)


def encoder_decoder(size):
    """Cross attention: what the encoder ends with is read in every layer of the decoder."""
    step = Step(8)
    width, heads = 512, 8
    source, target = (step.dense(sequence_input(step, length, width), width) for length in (256, 192))
    for _ in range(4 * size):
        n = step.norm(source)
        source = step.add(attend(step, n, n, width, heads), source)
        source = step.add(step.dense(step.relu(step.dense(step.norm(source), 4 * width)), width), source)
    for _ in range(4 * size):
        n = step.norm(target)
        target = step.add(attend(step, n, n, width, heads), target)
        target = step.add(attend(step, step.norm(target), source, width, heads), target)
        target = step.add(step.dense(step.relu(step.dense(step.norm(target), 4 * width)), width), target)
    return step.finish([step.dense(step.norm(target), 4000)[0]])


def gru_attention(size):
    """An unrolled GRU that looks at all states of another one in every step."""
    step = Step(32)
    hidden = 256
    w = [step.weight(2 * hidden * hidden) for _ in range(6)]
    table = step.weight(hidden * hidden)

    def cell(h, x, w):
        both = (step.op("linear", [h, x], 2 * hidden), 1, 1, 2 * hidden)
        r, z = (step.unary(step.dense(both, hidden, weight)[0], hidden) for weight in w[:2])
        reset = step.op("linear", [step.op("both", [r, h], hidden), x], 2 * hidden)
        n = step.unary(step.dense((reset, 1, 1, 2 * hidden), hidden, w[2])[0], hidden)
        kept = step.op("both", [z, h], hidden)
        return step.op("linear", [kept, step.op("both", [z, n], hidden)], hidden)

    h = step.value(4 * step.batch * hidden, constant=1)
    states = []
    for _ in range(40 * size):
        h = cell(h, step.value(4 * step.batch * hidden, constant=1), w[:3])
        states.append(h)
    memory = step.op("linear", states, len(states) * hidden)
    losses = []
    for _ in range(40 * size):
        q = step.dense((h, 1, 1, hidden), hidden, table)
        scores = step.unary(step.product(q[0], memory, len(states), hidden), len(states))
        h = cell(h, step.product(scores, memory, hidden, len(states)), w[3:])
        losses.append(step.dense((h, 1, 1, hidden), 64)[0])
    return step.finish(losses)


def resnext(size):
    """Groups as branches of their own."""
    step = Step(16)
    x = step.pool(conv_norm_relu(step, image(step, 128), 64, 7, 2))
    for stage, blocks in enumerate((2, 2 + size, 2)):
        channels = 128 << stage
        for block in range(blocks):
            y = conv_norm_relu(step, x, channels, 1, 2 if stage and not block else 1)
            groups = []
            for _ in range(8):
                part = (step.op("linear", [y[0]], y[1] * y[2] * channels // 8), y[1], y[2], channels // 8)
                groups.append(step.conv(part, channels // 8))
            y = step.norm(step.conv(step.relu(step.norm(step.concat(groups))), 2 * channels, 1))
            if block == 0:
                x = step.norm(step.conv(x, 2 * channels, 1, 2 if stage else 1))
            x = step.relu(step.add(y, x))
    return classify(step, x)


def dlrm(size):
    """Large tables, small activations, and a product of every pair of rows."""
    step = Step(2048)
    width = 64
    x = (step.value(4 * step.batch * 13, constant=1), 1, 1, 13)
    for units in (512, 256, width):
        x = step.relu(step.dense(x, units))
    rows = [x[0]]
    for i in range(25 * size):
        table = step.weight(10 ** (3 + i % 3) * width)
        index = step.value(4 * step.batch, constant=1)
        rows.append(step.op("product", [index], width, table))
    pairs = [step.product(a, b, 1, width) for i, a in enumerate(rows) for b in rows[:i]]
    x = (step.op("linear", pairs + [x[0]], len(pairs) + width), 1, 1, len(pairs) + width)
    for units in (1024, 1024, 512, 256):
        x = step.relu(step.dense(x, units))
    return step.finish([step.dense(x, 1)[0]])


def wavenet(size):
    """Gates, and a sum of what every layer gives."""
    step = Step(4)
    x = step.conv((step.value(4 * step.batch * 8000, constant=1), 8000, 1, 1), 32, 1)
    skips = []
    for _ in range(30 * size):
        f, g = (step.unary(step.conv(x, 32, 2)[0], 8000 * 32) for _ in range(2))
        gated = (step.op("both", [f, g], 8000 * 32), 8000, 1, 32)
        skips.append(step.conv(gated, 64, 1)[0])
        x = step.add(step.conv(gated, 32, 1), x)
    total = step.relu((step.op("linear", skips, 8000 * 64), 8000, 1, 64))
    return step.finish([step.conv(step.relu(step.conv(total, 64, 1)), 256, 1)[0]])


def pyramid(size):
    """Features of all scales, a head and a loss for each."""
    step = Step(8)
    x = conv_norm_relu(step, image(step, 256), 32, 3, 2)
    levels = []
    for channels in (64, 128, 256, 512):
        x = conv_norm_relu(step, x, channels, 3, 2)
        for _ in range(size):
            x = step.relu(step.add(step.norm(step.conv(conv_norm_relu(step, x, channels), channels)), x))
        levels.append(x)
    top = step.conv(levels.pop(), 128, 1)
    losses = []
    while True:
        h = conv_norm_relu(step, conv_norm_relu(step, step.conv(top, 128), 128), 128)
        losses += [step.conv(h, 36)[0], step.conv(h, 80)[0]]
        if not levels:
            return step.finish(losses)
        top = step.add(step.upsample(top), step.conv(levels.pop(), 128, 1))


def forward_only(size):
    """No backward pass: a dense net that is used."""
    step = Step(16)
    x = step.pool(conv_norm_relu(step, image(step, 128), 64, 7, 2))
    for count in (6, 12 * size, 24):
        for _ in range(count):
            y = step.conv(step.relu(step.norm(x)), 128, 1)
            x = step.concat([x, step.conv(step.relu(step.norm(y)), 32, 3)])
        x = step.pool(step.conv(step.relu(step.norm(x)), x[3] // 2, 1))
    step.pinned[step.dense(step.average(x), 10)[0]] = 1
    return step


def accumulated(size):
    """Several batches one after the other, each with a backward pass of its own, whose gradients
    are added up: as many peaks."""
    step = Step(32)
    widths = (256, 512, 1024, 512, 256, 512, 1024, 512) * 2
    weights = [step.weight(a * b) for a, b in zip(widths, widths[1:])]
    sums = {}
    for _ in range(4 * size):
        x = (step.value(4 * step.batch * 16 * widths[0], constant=1), 16, 1, widths[0])
        step.freed.add(x[0])
        for weight, units in zip(weights, widths[1:]):
            x = step.relu(step.dense(x, units, weight))
        before = set(v for v, pinned in enumerate(step.pinned) if pinned)
        step.finish([x[0]])
        step.forward = []
        made = [v for v, pinned in enumerate(step.pinned) if pinned and v not in before]
        # The last layer's weight first.
        for weight, g in zip(reversed(weights), made):
            if weight in sums:
                total = step.value(step.bytes[g], pinned=1)
                step.node([sums[weight], g], [total])
                step.pinned[g] = step.pinned[sums[weight]] = 0
                g = total
            sums[weight] = g
    return step


def multi_scale(size):
    """Four resolutions side by side that are mixed again and again."""
    step = Step(8)
    x = conv_norm_relu(step, image(step, 128), 16, 3, 2)
    scales = [conv_norm_relu(step, x, 16 << i, 3, 1 << i) for i in range(4)]
    for _ in range(4 * size):
        scales = [step.relu(step.add(step.norm(step.conv(conv_norm_relu(step, s, s[3]), s[3])), s))
                  for s in scales]
        mixed = []
        for i, target in enumerate(scales):
            parts = [target]
            for j, other in enumerate(scales):
                if j < i:
                    parts.append(step.norm(step.conv(other, target[3], 3, 1 << (i - j))))
                elif j > i:
                    small = step.norm(step.conv(other, target[3], 1))
                    parts.append((step.op("linear", [small[0]], math.prod(target[1:])),) + target[1:])
            mixed.append(step.relu((step.op("linear", [p[0] for p in parts], math.prod(target[1:])),)
                                   + target[1:]))
        scales = mixed
    return classify(step, scales[-1], 10)


def conditioned(size):
    """A small value that scales and shifts every layer."""
    step = Step(8)
    c = (step.value(4 * step.batch * 64, constant=1), 1, 1, 64)
    for _ in range(3):
        c = step.relu(step.dense(c, 256))
    x = step.conv(image(step, 64), 64)
    for _ in range(16 * size):
        y = step.norm(x)
        for part in (step.dense(c, 64), step.dense(c, 64)):
            y = (step.op("both", [y[0], part[0]], 64 * 64 * 64),) + x[1:]
        x = step.add(step.conv(step.relu(y), 64), x)
    return step.finish([step.conv(x, 3)[0]])


def every_state(size):
    """Each step attends to all states before it: quadratically many readers."""
    step = Step(16)
    width = 256
    states = [step.value(4 * step.batch * width, constant=1)]
    w = step.weight(width * width)
    for _ in range(60 * size):
        q = step.dense((states[-1], 1, 1, width), width, w)[0]
        seen = states[-20:]
        scores = [step.product(q, s, 1, width) for s in seen]
        weights = step.unary(step.op("linear", scores, len(scores)), len(scores))
        mixed = step.op("linear", [step.op("both", [s, weights], width) for s in seen], width)
        states.append(step.unary(step.op("linear", [mixed, q], width), width))
    return step.finish([step.dense((states[-1], 1, 1, width), 10)[0]])
