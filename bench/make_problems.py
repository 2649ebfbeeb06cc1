#!/usr/bin/env python3
"""Training steps of well-known nets as problem files for bench/plan_problem.

usage: make_problems.py FOLDER [NAME ...] [--scale N]

Shapes, bytes and costs are those of the nets on a machine with 100 flops and 15 bytes a
nanosecond; layers that Snug does not have yet are written down as they would be planned. With
--scale, the nets that can be made longer get about N nodes.
"""

import argparse
import math
import os

FLOPS, BYTES = 100.0, 15.0


class Step:
    """Forward nodes as they are added; `finish` appends the backward pass and writes the file."""

    def __init__(self, batch):
        self.batch = batch
        self.bytes, self.constant, self.pinned = [], [], []
        self.nodes = []  # (cost, ins, outs)
        self.forward = []  # (kind, x ids, y id, saved ids, weight id or None, flops)

    def value(self, size, constant=0, pinned=0):
        self.bytes.append(int(size))
        self.constant.append(constant)
        self.pinned.append(pinned)
        return len(self.bytes) - 1

    def node(self, ins, outs, flops=0.0):
        moved = sum(self.bytes[v] for v in ins) + sum(self.bytes[v] for v in outs)
        self.nodes.append((500 + max(flops / FLOPS, moved / BYTES), list(ins), list(outs)))

    def op(self, kind, xs, elements, weight=0, flops=0.0, extra=0):
        """y = op(xs, w); elements of y per row."""
        y = self.value(4 * self.batch * elements)
        w = self.value(4 * weight, constant=1) if weight else None
        e = self.value(4 * extra) if extra else None
        ins = list(xs) + ([w] if w is not None else [])
        self.node(ins, [y] + ([e] if e is not None else []), flops * self.batch)
        self.forward.append((kind, list(xs), y, e, w, flops * self.batch))
        return y

    # The usual layers. A value is (id, height, width, channels).
    def conv(self, x, channels, kernel=3, stride=1):
        v, h, w, c = x
        h2, w2 = math.ceil(h / stride), math.ceil(w / stride)
        flops = 2.0 * h2 * w2 * channels * c * kernel * kernel
        return (self.op("product", [v], h2 * w2 * channels, c * kernel * kernel * channels, flops),
                h2, w2, channels)

    def norm(self, x):
        v, h, w, c = x
        return (self.op("norm", [v], h * w * c, 2 * c, 0, 2 * c), h, w, c)

    def relu(self, x):
        v, h, w, c = x
        return (self.op("output", [v], h * w * c), h, w, c)

    def add(self, a, b):
        return (self.op("linear", [a[0], b[0]], a[1] * a[2] * a[3]),) + a[1:]

    def pool(self, x, factor=2):
        v, h, w, c = x
        h2, w2 = max(1, h // factor), max(1, w // factor)
        return (self.op("input_output", [v], h2 * w2 * c), h2, w2, c)

    def upsample(self, x):
        v, h, w, c = x
        return (self.op("linear", [v], 4 * h * w * c), 2 * h, 2 * w, c)

    def concat(self, xs):
        c = sum(x[3] for x in xs)
        return (self.op("linear", [x[0] for x in xs], xs[0][1] * xs[0][2] * c),
                xs[0][1], xs[0][2], c)

    def dense(self, x, units):
        v, h, w, c = x
        return (self.op("product", [v], h * w * units, c * units, 2.0 * h * w * c * units),
                h, w, units)

    def product(self, a, b, elements, depth):
        return self.op("both", [a, b], elements, 0, 2.0 * elements * depth)

    def unary(self, v, elements):
        return self.op("output", [v], elements)

    def finish(self, outputs):
        gradient = {}

        def give(v, g):
            if v not in gradient:
                gradient[v] = g
                return
            total = self.value(self.bytes[v])
            self.node([gradient[v], g], [total])
            gradient[v] = total

        for out in outputs:
            g = self.value(self.bytes[out])
            self.node([out], [g])
            give(out, g)
        made = {y for _, _, y, _, _, _ in self.forward}
        for kind, xs, y, extra, w, flops in reversed(self.forward):
            if y not in gradient:
                continue
            dy = gradient.pop(y)
            if w is not None:
                dw = self.value(self.bytes[w], pinned=1)
                self.node([xs[0], dy] + ([extra] if extra is not None else []), [dw], flops)
            for i, x in enumerate(xs):
                if x not in made:
                    continue
                dx = self.value(self.bytes[x])
                reads = [dy]
                if kind in ("product", "norm") and w is not None:
                    reads.append(w)
                if kind in ("norm", "input_output"):
                    reads.append(x)
                if kind in ("output", "input_output"):
                    reads.append(y)
                if kind == "both":
                    reads.append(xs[1 - i])
                if extra is not None:
                    reads.append(extra)
                self.node(reads, [dx], flops)
                give(x, dx)

    def write(self, path):
        last = [-1] * len(self.bytes)
        for n, (_, ins, _) in enumerate(self.nodes):
            for v in ins:
                last[v] = n
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{len(self.nodes)} {len(self.bytes)}\n")
            for v, size in enumerate(self.bytes):
                release = -1 if self.constant[v] else last[v]
                file.write(f"{size} {self.constant[v]} {self.pinned[v]} {release}\n")
            for cost, ins, outs in self.nodes:
                words = [f"{cost:.0f}", str(len(ins)), *map(str, ins), str(len(outs)),
                         *map(str, outs)]
                file.write(" ".join(words) + "\n")


def image(step, size, channels=3):
    return (step.value(4 * step.batch * size * size * channels, constant=1), size, size, channels)


def conv_norm_relu(step, x, channels, kernel=3, stride=1):
    return step.relu(step.norm(step.conv(x, channels, kernel, stride)))


def resnet50(scale):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 224), 64, 7, 2))
    more = max(0, (scale - 560) // 40) if scale else 0
    for channels, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6 + more, 2), (512, 3, 2)):
        for block in range(blocks):
            s = stride if block == 0 else 1
            y = conv_norm_relu(step, x, channels, 1, s)
            y = conv_norm_relu(step, y, channels, 3)
            y = step.norm(step.conv(y, 4 * channels, 1))
            if block == 0:
                x = step.norm(step.conv(x, 4 * channels, 1, s))
            x = step.relu(step.add(y, x))
    x = step.dense((step.op("linear", [x[0]], x[3]), 1, 1, x[3]), 1000)
    step.finish([x[0]])
    return step


def unet(scale):
    step = Step(8)
    x = image(step, 256)
    skips = []
    for channels in (64, 128, 256, 512):
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels), channels)
        skips.append(x)
        x = step.pool(x)
    x = conv_norm_relu(step, conv_norm_relu(step, x, 1024), 1024)
    for channels in (512, 256, 128, 64):
        x = step.concat([step.conv(step.upsample(x), channels, 2), skips.pop()])
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels), channels)
    step.finish([step.conv(x, 2, 1)[0]])
    return step


def densenet(scale):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 128), 64, 7, 2))
    layers = (6, 12, 24, 16)
    if scale:
        grow = max(1, scale // 1400)
        layers = tuple(n * grow for n in layers)
    for i, count in enumerate(layers):
        for _ in range(count):
            y = step.conv(step.relu(step.norm(x)), 128, 1)
            y = step.conv(step.relu(step.norm(y)), 32, 3)
            x = step.concat([x, y])
        if i < 3:
            x = step.pool(step.conv(step.relu(step.norm(x)), x[3] // 2, 1))
    x = step.dense((step.op("linear", [x[0]], x[3]), 1, 1, x[3]), 1000)
    step.finish([x[0]])
    return step


def transformer(scale):
    step = Step(8)
    length, width, heads = 256, 512, 8
    layers = max(6, scale // 62) if scale else 6
    x = (step.value(4 * step.batch * length * width, constant=1), length, 1, width)
    x = step.dense(x, width)
    for _ in range(layers):
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
    step.finish([step.dense(step.norm(x), 1000)[0]])
    return step


def lstm(scale):
    step = Step(64)
    hidden, length = 512, max(10, scale // 46) if scale else 100
    h = c = step.value(4 * step.batch * hidden, constant=1)
    recurrent = step.value(4 * 4 * hidden * hidden, constant=1)
    outputs = []
    for _ in range(length):
        x = step.value(4 * step.batch * 128, constant=1)
        gates = step.op("product", [x], 4 * hidden, 0, 2.0 * 128 * 4 * hidden)
        z = step.op("both", [h, recurrent], 4 * hidden, 0, 2.0 * hidden * 4 * hidden)
        z = step.op("linear", [gates, z], 4 * hidden)
        i, f, o, g = (step.op("output", [step.op("linear", [z], hidden)], hidden)
                      for _ in range(4))
        keep = step.op("both", [f, c], hidden)
        new = step.op("both", [i, g], hidden)
        c = step.op("linear", [keep, new], hidden)
        h = step.op("both", [o, step.unary(c, hidden)], hidden)
        outputs.append(h)
    step.finish([step.op("product", [h], 10, hidden * 10, 2.0 * hidden * 10)])
    return step


def mlp(scale):
    step = Step(8192)
    x = (step.value(4 * 8192 * 1024, constant=1), 1, 1, 1024)
    for layer in range(max(20, scale // 5) if scale else 20):
        x = step.relu(step.dense(x, (1024, 2048, 512, 1536)[layer % 4]))
    step.finish([step.dense(x, 10)[0]])
    return step


def inception(scale):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 149), 64, 3, 2))
    for modules, channels in ((4, 96), (7, 192), (3, 256)):
        for _ in range(modules):
            a = conv_norm_relu(step, x, channels, 1)
            b = conv_norm_relu(step, conv_norm_relu(step, x, channels * 2 // 3, 1), channels, 3)
            c = conv_norm_relu(step, x, channels * 2 // 3, 1)
            c = conv_norm_relu(step, conv_norm_relu(step, c, channels, 3), channels, 3)
            d = (step.op("linear", [x[0]], x[1] * x[2] * x[3]),) + x[1:]
            d = conv_norm_relu(step, d, channels, 1)
            x = step.concat([a, b, c, d])
        x = conv_norm_relu(step, x, 2 * channels, 3, 2)
    x = step.dense((step.op("linear", [x[0]], x[3]), 1, 1, x[3]), 1000)
    step.finish([x[0]])
    return step


def two_branch(scale):
    step = Step(64)
    a = image(step, 64)
    b = (step.value(4 * 64 * 512, constant=1), 1, 1, 512)
    for channels in (32, 64, 128, 256):
        a = step.pool(conv_norm_relu(step, conv_norm_relu(step, a, channels), channels))
    for _ in range(10):
        b = step.relu(step.dense(b, 2048))
    a = step.dense((step.op("linear", [a[0]], a[3]), 1, 1, a[3]), 512)
    x = step.concat([a, step.dense(b, 512)])
    x = step.relu(step.dense(x, 1024))
    step.finish([step.dense(x, 10)[0], step.dense(x, 1)[0]])
    return step


NETS = {"resnet50": resnet50, "unet": unet, "densenet": densenet, "transformer": transformer,
        "lstm": lstm, "mlp": mlp, "inception": inception, "two_branch": two_branch}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--scale", type=int, default=0)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for name in arguments.names or NETS:
        step = NETS[name](arguments.scale)
        path = os.path.join(arguments.folder, f"{name}{arguments.scale or ''}.problem")
        step.write(path)
        print(f"{path}: {len(step.nodes)} nodes, {len(step.bytes)} values")


if __name__ == "__main__":
    main()
