"""Steps as other people's programs make them: several passes, updates, lattices, caches, graphs."""

import random

from problems.further import attend, sequence_input
from problems.pictures import conv_norm_relu, image
from problems.step import Step


def mlp_loss(step, x, weights, widths):
    for weight, units in zip(weights, widths[1:]):
        x = step.relu(step.dense(x, units, weight))
    return x


def new_results(step, before):
    """What has been pinned since, which is pinned no longer."""
    made = [v for v in range(len(step.bytes)) if step.pinned[v] and v not in before]
    for v in made:
        step.pinned[v] = 0
    return made


def pinned_of(step):
    return {v for v, pinned in enumerate(step.pinned) if pinned}


def accumulated_adam(size):
    """Gradients of several batches, added up, then Adam: old weights and moments may go, new ones
    stay, and so do the losses."""
    step = Step(64)
    widths = (784,) + (512,) * 6 * size + (10,)
    weights = [step.weight(a * b) for a, b in zip(widths, widths[1:])]
    sums = [None] * len(weights)
    for _ in range(3):
        x = (step.value(4 * step.batch * widths[0], constant=1), 1, 1, widths[0])
        step.freed.add(x[0])
        before = pinned_of(step)
        y = mlp_loss(step, x, weights, widths)
        loss = step.value(4)
        step.node([y[0]], [loss])
        step.finish([y[0]])
        step.forward = []
        gradients = new_results(step, before)
        step.pinned[loss] = 1
        for layer, g in zip(reversed(range(len(weights))), gradients):
            if sums[layer] is not None:
                total = step.value(step.bytes[g])
                step.node([sums[layer], g], [total])
                g = total
            sums[layer] = g
    for weight, g in zip(weights, sums):
        step.freed.add(weight)
        m, v = (step.value(step.bytes[g], constant=1) for _ in range(2))
        step.freed |= {m, v}
        m2, v2, w2 = (step.value(step.bytes[g], pinned=1) for _ in range(3))
        step.node([g, m, v, weight], [m2, v2, w2])
    return step


def vit(size):
    """Patches and a class token; the program lets go of weights when it no longer reads them."""
    step = Step(16)
    width, length = 384, 197
    patches = step.conv(image(step, 224), width, 16, 16)
    token = step.op("linear", [step.weight(width)], width)
    x = (step.op("linear", [patches[0], token], length * width), length, 1, width)
    x = (step.op("linear", [x[0], step.weight(length * width)], length * width), length, 1, width)
    for _ in range(8 * size):
        n = step.norm(x)
        x = step.add(attend(step, n, n, width, 6), x)
        h = step.dense(step.norm(x), 4 * width)
        x = step.add(step.dense((step.op("input_output", [h[0]], length * 4 * width),) + h[1:], width), x)
    first = (step.op("linear", [step.norm(x)[0]], width), 1, 1, width)
    step.finish([step.dense(first, 1000)[0]])
    step.freed = {v for v, c in enumerate(step.constant) if c}
    return step


def nerf(size):
    """A wide net over very many rows, read at two depths, with results for every row."""
    step = Step(16384)
    rows = step.value(4 * step.batch * 3, constant=1)
    code = (step.op("linear", [rows], 60), 1, 1, 60)
    x = code
    for layer in range(8 * size):
        x = step.relu(step.dense(x, 256))
        if layer == 4:
            x = step.concat([x, code])
    density = step.unary(step.dense(x, 1)[0], 1)
    view = (step.op("linear", [step.value(4 * step.batch * 3, constant=1)], 24), 1, 1, 24)
    color = step.dense(step.relu(step.dense(step.concat([step.dense(x, 256), view]), 128)), 3)
    color = step.unary(color[0], 3)
    for v in (density, color):
        step.pinned[v] = 1
    weights = step.op("output", [density], 1)
    return step.finish([step.op("both", [weights, color], 3)])


def actor_critic(size):
    """Two heads and two losses on one trunk, an older net beside it that is not trained."""
    step = Step(256)
    x = frames = image(step, 84, 4)

    def trunk(x):
        for channels, kernel, stride in ((32, 8, 4), (64, 4, 2)) + ((64, 3, 1),) * 2 * size:
            x = step.relu(step.conv(x, channels, kernel, stride))
        flat = (x[0], 1, 1, x[1] * x[2] * x[3])
        return step.relu(step.dense(flat, 512))

    old = step.dense(trunk(frames), 1)
    step.forward = []
    x = trunk(x)
    policy, value = step.unary(step.dense(x, 18)[0], 18), step.dense(x, 1)
    entropy = step.op("input_output", [policy], 1)
    advantage = step.op("linear", [old[0], value[0]], 1)
    chosen = step.op("both", [policy, advantage], 1)
    step.pinned[entropy] = step.pinned[policy] = 1
    return step.finish([chosen, entropy, step.op("both", [advantage, advantage], 1)])


def many_tasks(size):
    """One trunk, a decoder and a full picture for each task."""
    step = Step(4)
    x = conv_norm_relu(step, image(step, 256), 32, 3, 2)
    for channels in (64, 128, 256):
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels, 3, 2), channels)
    losses = []
    for _ in range(8 * size):
        y = x
        for channels in (128, 64, 32):
            y = conv_norm_relu(step, step.upsample(y), channels)
        losses.append(step.conv(step.upsample(y), 4)[0])
        step.pinned[losses[-1]] = 1
    return step.finish(losses)


def searched_cells(size):
    """Cells of five nodes, each of which reads two of those before it, of either sort."""
    step, dice = Step(16), random.Random(3)
    x = conv_norm_relu(step, image(step, 32), 64)
    cells = [x, x]
    for cell in range(8 * size):
        if cell in (3 * size, 6 * size):
            cells = [conv_norm_relu(step, c, 2 * c[3], 1, 2) for c in cells]
        known = [step.norm(step.conv(step.relu(c), c[3] // 4, 1)) for c in cells]
        for _ in range(5):
            parts = []
            for c in dice.sample(known, 2):
                kind = dice.randrange(3)
                if kind == 0:
                    c = step.norm(step.conv(step.depthwise(step.relu(c)), c[3], 1))
                elif kind == 1:
                    c = (step.op("input_output", [c[0]], c[1] * c[2] * c[3]),) + c[1:]
                parts.append(c)
            known.append(step.add(*parts))
        cells = [cells[1], step.concat(known[-4:])]
    return step.finish([step.dense(step.average(cells[1]), 10)[0]])


def lattice(size):
    """A transducer: every pair of a frame and a word has an output and reads its neighbours."""
    step = Step(8)
    width = 128
    frames = [step.unary(step.value(4 * step.batch * width, constant=1), width)
              for _ in range(24 * size)]
    words = [step.unary(step.value(4 * step.batch * width, constant=1), width) for _ in range(10)]
    table = step.weight(width * 256)
    rows = {}
    for t, frame in enumerate(frames):
        for u, word in enumerate(words):
            joint = step.unary(step.op("linear", [frame, word], width), width)
            scores = step.unary(step.dense((joint, 1, 1, width), 256, table)[0], 256)
            before = [rows[k] for k in ((t - 1, u), (t, u - 1)) if k in rows]
            rows[t, u] = step.op("input_output", [scores] + before, 1)
    return step.finish([rows[len(frames) - 1, len(words) - 1]])


def message_passing(size):
    """Small values at the nodes of a graph, large ones at its edges."""
    step = Step(20_000)
    width, edges = 32, 6
    x = (step.value(4 * step.batch * 16, constant=1), 1, 1, 16)
    x = step.dense(x, width)
    index = step.value(4 * step.batch * edges, constant=1)
    for _ in range(6 * size):
        pairs = step.op("linear", [x[0], index], 2 * width * edges)
        m = step.relu(step.dense((pairs, edges, 1, 2 * width), width))
        m = step.dense(m, width)
        gate = step.unary(step.dense(m, 1)[0], edges)
        m = step.op("both", [m[0], gate], width * edges)
        total = step.op("linear", [m, index], width)
        x = step.norm(step.add(step.dense(step.relu(step.concat([x, (total, 1, 1, width)])), width), x))
    return step.finish([step.dense(x, 8)[0]])


def flow(size):
    """Halves that change each other, and a term of the loss from every layer."""
    step = Step(16)
    area, width = 32 * 32, 12
    halves = [(step.value(4 * step.batch * area * 6, constant=1), 32, 32, 6) for _ in range(2)]
    terms = []
    for _ in range(8 * size):
        a, b = halves
        h = step.relu(step.conv(step.relu(step.conv(a, 64)), 64, 1))
        both = step.conv(h, width)
        scale = step.unary(both[0], area * 6)
        shift = step.op("linear", [both[0]], area * 6)
        b = (step.op("linear", [step.op("both", [b[0], scale], area * 6), shift], area * 6),) + b[1:]
        terms.append(step.op("input_output", [scale], 1))
        halves = [b, a]
    z = step.op("linear", [halves[0][0], halves[1][0]], area * 12)
    return step.finish([step.op("linear", terms + [step.op("both", [z, z], 1)], 1)])


def checkpointed(size):
    """A program that already computes each block again before its backward pass."""
    step = Step(16)
    blocks = 8 * size
    x = inputs = (step.value(4 * 16 * 64 * 64 * 8, constant=1), 64, 64, 8)
    weights = [[step.weight(24 * 24 * 9) for _ in range(3)] for _ in range(blocks)]

    def block(x, ws):
        for w in ws:
            v, h, wide, c = x
            flops = 2.0 * h * wide * 24 * c * 9
            x = step.relu((step.op("product", [v], h * wide * 24, w, flops), h, wide, 24))
        return x

    starts = [inputs]
    for ws in weights:
        x = block(x, ws)
        starts.append(x)
    step.forward = []
    gradient = step.value(step.bytes[x[0]])
    step.node([x[0]], [gradient])
    for start, ws in zip(reversed(starts[:-1]), reversed(weights)):
        x = block(start, ws)
        # As though the block's input were made in it: its gradient goes on.
        seed = step.op("both", [x[0], gradient], 64 * 64 * 24)
        step.forward.insert(0, ("linear", [], start[0], None, None, 0))
        kept, step.pinned = list(step.pinned), [0] * len(step.pinned)
        count = len(step.bytes)
        step.finish([seed])
        step.pinned = kept + [0] * (len(step.bytes) - len(kept))
        made = {v for _, ins, _ in step.nodes for v in ins}
        for v in range(count, len(step.bytes)):
            step.pinned[v] = int(v not in made and step.bytes[v] in (4 * 24 * 24 * 9,))
        gradient = next(v for v in reversed(range(count, len(step.bytes)))
                        if step.bytes[v] == step.bytes[x[0]] and (start[3] == 24))\
            if start[3] == 24 else gradient
        step.forward = []
    return step


def mixed_sizes(size):
    """Values of one byte and of a gigabyte in one chain with skips."""
    step, dice = Step(1), random.Random(11)
    x, seen = step.value(1 << 20, constant=1), []
    for layer in range(40 * size):
        y = step.value(dice.choice((1, 1, 100, 1 << 16, 1 << 24, 1 << 30)))
        ins = [x] + ([dice.choice(seen[-6:])] if seen and layer % 3 == 0 else [])
        step.node(ins, [y], dice.random() * 1e9)
        step.forward.append(("input_output", ins, y, None, None, dice.random() * 1e9))
        seen.append(y)
        x = y
    return step.finish([x])


def many_outputs(size):
    """Nodes with four outputs, some of which nobody reads."""
    step, dice = Step(1), random.Random(9)
    layers, x = [], [step.value(1 << 20, constant=1)]
    for _ in range(30 * size):
        outs = [step.value(dice.choice((0, 1 << 12, 1 << 20, 1 << 22))) for _ in range(4)]
        ins = sorted(set(dice.sample(x, min(len(x), 2))))
        step.node(ins, outs, dice.choice((0, 1e6, 1e8)))
        layers.append((ins, outs))
        x = outs
    gradients = {v: step.value(step.bytes[v]) for v in x[:2]}
    step.node(x[:2], list(gradients.values()))
    for ins, outs in reversed(layers):
        new = {v: step.value(step.bytes[v]) for v in ins if not step.constant[v]}
        weight = step.value(1 << 14, pinned=1)
        step.node(ins + dice.sample(outs, 1) + list(gradients.values()),
                  [weight] + list(new.values()), dice.choice((0, 1e6, 1e8)))
        gradients = new
    return step


def learned_start(size):
    """Some steps of training inside the step, for several tasks, whose losses are added up."""
    step = Step(128)
    widths = (32, 256, 256, 16)
    start = [step.op("linear", [step.weight(a * b)], a * b / step.batch)
             for a, b in zip(widths, widths[1:])]
    losses = []
    for _ in range(4):
        data = step.value(4 * step.batch * widths[0], constant=1)
        w = list(start)
        for inner in range(3 * size + 1):
            seen = [data]
            for layer, units in enumerate(widths[1:]):
                seen.append(step.unary(step.product(seen[-1], w[layer], units, widths[layer]), units))
            if inner == 3 * size:
                break
            dy = step.unary(seen[-1], widths[-1])
            for layer in reversed(range(3)):
                dz = step.op("both", [dy, seen[layer + 1]], widths[layer + 1])
                area = widths[layer] * widths[layer + 1]
                dw = step.product(seen[layer], dz, area / step.batch, step.batch)
                dy = step.product(dz, w[layer], widths[layer], widths[layer + 1])
                w[layer] = step.op("linear", [w[layer], dw], area / step.batch)
        losses.append(seen[-1])
    return step.finish([step.op("linear", losses, widths[-1])])


def diffusion(size):
    """Skips to the other side, attention in the middle, a code of the time in every block."""
    step = Step(8)
    time = (step.value(4 * step.batch * 128, constant=1), 1, 1, 128)
    time = step.relu(step.dense(step.relu(step.dense(time, 256)), 256))

    def block(x, channels):
        y = step.conv(step.relu(step.norm(x)), channels)
        t = step.dense(time, channels)
        y = (step.op("linear", [y[0], t[0]], y[1] * y[2] * channels),) + y[1:]
        y = step.conv(step.relu(step.norm(y)), channels)
        return step.add(y, step.conv(x, channels, 1) if x[3] != channels else x)

    x = step.conv(image(step, 64), 64)
    skips = []
    for channels in (64, 128, 256):
        for _ in range(size + 1):
            x = block(x, channels)
            skips.append(x)
        x = step.conv(x, channels, 3, 2)
    flat = (x[0], x[1] * x[2], 1, x[3])
    n = step.norm(flat)
    x = (step.add(attend(step, n, n, 256, 4), flat)[0],) + x[1:]
    for channels in (256, 128, 64):
        x = step.conv(step.upsample(x), channels)
        for _ in range(size + 1):
            x = block(step.concat([x, skips.pop()]), channels)
    return step.finish([step.conv(step.relu(step.norm(x)), 3)[0]])


def experts(size):
    """Every layer deals its rows to nets of its own and adds up what they give."""
    step = Step(32)
    length, width = 64, 256
    x = step.dense(sequence_input(step, length, width), width)
    for _ in range(3 * size):
        gate = step.unary(step.dense(step.norm(x), 16)[0], length * 16)
        n = step.norm(x)
        parts = []
        for _ in range(12):
            part = (step.op("both", [n[0], gate], length * width // 6), length // 6, 1, width)
            h = step.relu(step.dense(part, 4 * width))
            parts.append(step.dense(h, width)[0])
        x = step.add((step.op("linear", parts + [gate], length * width),) + x[1:], x)
    return step.finish([step.dense(x, 100)[0]])


def cached_words(size):
    """Words one after the other, no backward pass: what was seen grows by a copy each time."""
    step = Step(4)
    width = 256
    x = (step.value(4 * step.batch * width, constant=1), 1, 1, width)
    weights = [[step.weight(width * width) for _ in range(3)] for _ in range(2)]
    cache = [None, None]
    for _ in range(40 * size):
        for layer, (wq, wk, wo) in enumerate(weights):
            q, k = step.dense(x, width, wq), step.dense(x, width, wk)
            known = cache[layer]
            length = known[1] + 1 if known else 1
            cache[layer] = (step.op("linear", [k[0]] + ([known[0]] if known else []), length * width),
                            length, 1, width)
            scores = step.unary(step.product(q[0], cache[layer][0], length, width), length)
            mixed = step.product(scores, cache[layer][0], width, length)
            x = step.add(step.dense((mixed, 1, 1, width), width, wo), x)
        step.pinned[step.dense(x, 50)[0]] = 1
    return step


def contrastive(size):
    """Two encoders and a square of all pairs of rows."""
    step = Step(1024)
    sides = []
    for width in (512, 768):
        x = (step.value(4 * step.batch * width, constant=1), 1, 1, width)
        for _ in range(5 * size):
            x = step.add(step.dense(step.relu(step.dense(step.norm(x), 2 * width)), width), x)
        sides.append(step.norm(step.dense(x, 256)))
    square = step.product(sides[0][0], sides[1][0], step.batch, 256)
    return step.finish([step.unary(square, step.batch), step.unary(square, step.batch)])


def solver(size):
    """A differential equation: four looks at one small net in every step of time."""
    step = Step(512)
    width = 64
    weights = [step.weight(width * 256), step.weight(256 * width)]

    def slope(x):
        h = step.unary(step.dense((x, 1, 1, width), 256, weights[0])[0], 256)
        return step.dense((h, 1, 1, 256), width, weights[1])[0]

    x = step.value(4 * step.batch * width, constant=1)
    for _ in range(16 * size):
        k = [slope(x)]
        for _ in range(3):
            k.append(slope(step.op("linear", [x, k[-1]], width)))
        x = step.op("linear", [x] + k, width)
    return step.finish([x])


def hourglass(size):
    """Nets within nets, each with skips of its own and a loss."""
    step = Step(4)
    x = step.conv(image(step, 128), 64, 7, 2)
    losses = []

    def glass(x, depth):
        skip = conv_norm_relu(step, x, 64)
        y = conv_norm_relu(step, step.pool(x), 64)
        if depth > 0:
            y = glass(y, depth - 1)
        return step.add(step.upsample(conv_norm_relu(step, y, 64)), skip)

    for _ in range(3 * size):
        y = conv_norm_relu(step, glass(x, 3), 64)
        losses.append(step.conv(y, 16, 1)[0])
        x = step.add(x, step.conv(y, 64, 1))
    return step.finish(losses)


def adjoint(size):
    """A long run of equal steps of time that are cheap, and what they were read for."""
    step = Step(1)
    cells = 1 << 18
    x, losses = step.value(4 * cells, constant=1), []
    for t in range(200 * size):
        x = step.op("input_output", [x], cells)
        if t % 20 == 19:
            losses.append(step.op("input_output", [x], 100))
    return step.finish([step.op("linear", losses, 1)])


def ensemble(size):
    """Several nets that are used, not trained, and the mean of what they say."""
    step = Step(32)
    x = image(step, 64)
    votes = []
    for net in range(5):
        y = x
        for layer in range(4 * size):
            z = conv_norm_relu(step, y, 16 * (2 + net % 3), 3, 2 if layer == 2 else 1)
            y = step.add(conv_norm_relu(step, z, z[3]), z)
        votes.append(step.dense(step.average(y), 10)[0])
    mean = step.op("linear", votes, 10)
    step.pinned[mean] = 1
    for v in votes:
        step.pinned[v] = 1
    return step
