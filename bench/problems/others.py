"""Steps of shapes that well-known nets do not have, but other people's programs do."""

import random

from problems.step import Step


def gan(size):
    """Two backward passes: one that updates the discriminator, and one for the generator through
    the updated discriminator."""
    step = Step(256)
    x = (step.value(4 * step.batch * 64, constant=1), 1, 1, 64)
    widths = (784, 512, 256, 128, 1)
    weights = [step.weight(a * b) for a, b in zip(widths, widths[1:])]
    for units in (128, 256, 512) * size + (784,):
        x = step.relu(step.dense(x, units))
    generator, step.forward = step.forward, []

    def judge(v):
        v = (v, 1, 1, widths[0])
        for weight, units in zip(weights, widths[1:]):
            v = step.relu(step.dense(v, units, weight))
        return v[0]

    real = step.value(4 * step.batch * widths[0], constant=1)
    step.finish([judge(real), judge(x[0])])
    gradients = [v for v, pinned in enumerate(step.pinned) if pinned]
    for layer, weight in enumerate(weights):
        gradient = next(g for g in gradients if step.bytes[g] == step.bytes[weight])
        gradients.remove(gradient)
        step.pinned[gradient] = 0
        weights[layer] = step.value(step.bytes[weight], pinned=1)
        step.node([weight, gradient], [weights[layer]])
    step.forward = generator
    return step.finish([judge(x[0])])


def fan_out(size):
    """One value that very many heads read, all of which are added up."""
    step = Step(32)
    trunk = step.relu(step.dense((step.value(4 * 32 * 256, constant=1), 1, 1, 256), 512))
    heads = [step.relu(step.dense(step.relu(step.dense(trunk, 256)), 64)) for _ in range(200 * size)]
    total = (step.op("linear", [head[0] for head in heads], 64), 1, 1, 64)
    return step.finish([step.dense(total, 10)[0]])


def one_huge(size):
    """A long chain with one value that is larger than all others together."""
    step = Step(16)
    x = (step.value(4 * 16 * 128, constant=1), 1, 1, 128)
    for layer in range(150 * size):
        units = 60_000 if layer == 50 * size else 128
        x = (step.unary(x[0], units), 1, 1, units)
    return step.finish([x[0]])


def costless(size):
    """A step whose nodes were never timed: all of them cost nothing."""
    step = Step(64)
    x = (step.value(4 * 64 * 512, constant=1), 1, 1, 512)
    for layer in range(40 * size):
        x = step.relu(step.dense(x, (512, 1024, 256)[layer % 3]))
    step.finish([x[0]])
    step.nodes = [(0, ins, outs) for _, ins, outs in step.nodes]
    return step


def bare(size):
    """Nodes without inputs, without outputs, without both; values of no bytes; values that nobody
    reads; constants that may go, and one that nobody reads at all."""
    step, dice = Step(1), random.Random(5)
    known = [step.value(1000 * i, constant=1) for i in range(6)]
    step.freed = set(known[1::2])
    for _ in range(300 * size):
        ins = [dice.choice(known[-8:]) for _ in range(dice.randint(0, 3))]
        outs = [step.value(dice.choice((0, 0, 4, 1000, 50_000)), pinned=int(dice.random() < 0.03))
                for _ in range(dice.choice((0, 1, 1, 1, 2)))]
        step.node(sorted(set(ins)), outs)
        known += outs
    return step


def stem_heavy(size):
    """The first values are larger than all that follow, which are many."""
    step = Step(8)
    x = (step.value(4 * 8 * 224 * 224 * 3, constant=1), 224, 224, 3)
    for layer in range(3 + 60 * size):
        x = step.relu(step.norm(step.conv(x, 32 if layer < 3 else 16)))
        if layer == 2:
            x = step.pool(x, 8)
    return step.finish([step.dense(step.average(x), 10)[0]])


def hypercolumn(size):
    """Every layer is read once more at the end, by one node."""
    step = Step(8)
    x = (step.value(4 * 8 * 64 * 64 * 3, constant=1), 64, 64, 3)
    seen = []
    for _ in range(30 * size):
        x = step.relu(step.norm(step.conv(x, 24)))
        seen.append(x)
    return step.finish([step.conv(step.concat(seen), 2, 1)[0]])


def siamese(size):
    """Three towers with the same weights, compared at the end."""
    step = Step(16)
    weights = {}

    def tower():
        x = (step.value(4 * 16 * 64 * 64 * 3, constant=1), 64, 64, 3)
        for block, channels in enumerate((16, 32, 64, 128) * size):
            for layer in range(3):
                v, h, w, c = x
                weight = weights.get((block, layer)) or step.weight(c * 9 * channels)
                weights[block, layer] = weight
                flops = 2.0 * h * w * channels * c * 9
                x = step.relu((step.op("product", [v], h * w * channels, weight, flops), h, w, channels))
            x = step.pool(x) if x[1] > 2 else x
        return step.average(x)

    a, b, c = tower(), tower(), tower()
    pairs = [step.op("both", [a[0], other[0]], a[3]) for other in (b, c)]
    return step.finish([step.op("linear", pairs, 1)])


def with_update(size):
    """The optimizer is a part of the program: old weights and moments may go, the new ones stay."""
    step = Step(256)
    x = (step.value(4 * 256 * 784, constant=1), 1, 1, 784)
    for _ in range(12 * size):
        x = step.relu(step.dense(x, 512))
    step.finish([step.dense(x, 10)[0]])
    for gradient in [v for v, pinned in enumerate(step.pinned) if pinned]:
        step.pinned[gradient] = 0
        size_of = step.bytes[gradient]
        moment, weight = step.value(size_of, constant=1), step.value(size_of, constant=1)
        step.freed |= {moment, weight}
        new_moment, new_weight = step.value(size_of, pinned=1), step.value(size_of, pinned=1)
        step.node([gradient, moment], [new_moment])
        step.node([new_moment, weight], [new_weight])
    return step
