"""A training step that is written down node by node: the forward pass by hand, the rest follows."""

import math
import random

FLOPS, BYTES = 100.0, 15.0  # Of a machine, in a nanosecond.


class Step:
    """Forward nodes as they are added; `finish` appends the backward pass."""

    def __init__(self, batch):
        self.batch = batch
        self.bytes, self.constant, self.pinned = [], [], []
        self.freed = set()  # Constants that may go after their last reader.
        self.nodes = []  # (cost, ins, outs)
        self.forward = []  # (kind, x ids, y id, saved id or None, weight id or None, flops)

    def value(self, size, constant=0, pinned=0):
        self.bytes.append(int(size))
        self.constant.append(constant)
        self.pinned.append(pinned)
        return len(self.bytes) - 1

    def weight(self, elements):
        return self.value(4 * elements, constant=1)

    def node(self, ins, outs, flops=0.0):
        moved = sum(self.bytes[v] for v in ins) + sum(self.bytes[v] for v in outs)
        self.nodes.append((500 + max(flops / FLOPS, moved / BYTES), list(ins), list(outs)))

    def op(self, kind, xs, elements, weight=None, flops=0.0, extra=0):
        """y = op(xs, weight); elements of y a row. The backward pass reads, by kind: product and
        norm their input and weight, output its result, input_output both, both the other input."""
        y = self.value(4 * self.batch * elements)
        e = self.value(4 * extra) if extra else None
        ins = list(xs) + ([weight] if weight is not None else [])
        self.node(ins, [y] + ([e] if e is not None else []), flops * self.batch)
        self.forward.append((kind, list(xs), y, e, weight, flops * self.batch))
        return y

    # The usual layers. A value is (id, height, width, channels).
    def conv(self, x, channels, kernel=3, stride=1):
        v, h, w, c = x
        h2, w2 = math.ceil(h / stride), math.ceil(w / stride)
        flops = 2.0 * h2 * w2 * channels * c * kernel * kernel
        weight = self.weight(c * kernel * kernel * channels)
        return (self.op("product", [v], h2 * w2 * channels, weight, flops), h2, w2, channels)

    def depthwise(self, x, stride=1):
        v, h, w, c = x
        h2, w2 = math.ceil(h / stride), math.ceil(w / stride)
        flops = 2.0 * h2 * w2 * c * 9
        return (self.op("product", [v], h2 * w2 * c, self.weight(9 * c), flops), h2, w2, c)

    def norm(self, x):
        v, h, w, c = x
        return (self.op("norm", [v], h * w * c, self.weight(2 * c), 0, 2 * c), h, w, c)

    def relu(self, x):
        v, h, w, c = x
        return (self.op("output", [v], h * w * c), h, w, c)

    def add(self, a, b):
        return (self.op("linear", [a[0], b[0]], a[1] * a[2] * a[3]),) + a[1:]

    def pool(self, x, factor=2):
        v, h, w, c = x
        h2, w2 = max(1, h // factor), max(1, w // factor)
        return (self.op("input_output", [v], h2 * w2 * c), h2, w2, c)

    def average(self, x):
        return (self.op("linear", [x[0]], x[3]), 1, 1, x[3])

    def upsample(self, x):
        v, h, w, c = x
        return (self.op("linear", [v], 4 * h * w * c), 2 * h, 2 * w, c)

    def concat(self, xs):
        c = sum(x[3] for x in xs)
        return (self.op("linear", [x[0] for x in xs], xs[0][1] * xs[0][2] * c),
                xs[0][1], xs[0][2], c)

    def dense(self, x, units, weight=None):
        v, h, w, c = x
        if weight is None:
            weight = self.weight(c * units)
        return (self.op("product", [v], h * w * units, weight, 2.0 * h * w * c * units),
                h, w, units)

    def product(self, a, b, elements, depth):
        return self.op("both", [a, b], elements, None, 2.0 * elements * depth)

    def unary(self, v, elements):
        return self.op("output", [v], elements)

    def finish(self, outputs):
        """The gradients of the outputs, of every value before them and of the weights, which stay.
        Where a value or a weight has several readers, its gradients are added up."""
        gradient = {}
        made = {y for _, _, y, _, _, _ in self.forward}
        for out in outputs:
            g = self.value(self.bytes[out])
            self.node([out], [g])
            self._give(gradient, out, g)
        for kind, xs, y, extra, w, flops in reversed(self.forward):
            if y not in gradient:
                continue
            dy = gradient.pop(y)
            if w is not None:
                dw = self.value(self.bytes[w])
                self.node([xs[0], dy] + ([extra] if extra is not None else []), [dw], flops)
                self._give(gradient, w, dw)
            for i, x in enumerate(xs):
                if x in made:
                    dx = self.value(self.bytes[x])
                    self.node(self._reads(kind, dy, xs, i, y, w, extra), [dx], flops)
                    self._give(gradient, x, dx)
        for v, g in gradient.items():
            self.pinned[g] = int(self.constant[v])
        return self

    def _give(self, gradient, v, g):
        if v in gradient:
            total = self.value(self.bytes[v])
            self.node([gradient[v], g], [total])
            g = total
        gradient[v] = g

    @staticmethod
    def _reads(kind, dy, xs, i, y, w, extra):
        reads = [dy]
        if kind in ("product", "norm") and w is not None:
            reads.append(w)
        if kind in ("norm", "input_output"):
            reads.append(xs[i])
        if kind in ("output", "input_output"):
            reads.append(y)
        if kind == "both":
            reads.append(xs[1 - i])
        if extra is not None:
            reads.append(extra)
        return reads

    def roughen(self, seed):
        """What programs of others have too: views that cost nothing, checks without a result,
        values that nobody reads, constants that may go, a result beside the gradients."""
        dice = random.Random(seed)
        nodes, views = [], {}
        for cost, ins, outs in self.nodes:
            ins = [views.get(v, v) for v in ins]
            nodes.append((cost, ins, outs))
            chance = dice.random()
            if outs and chance < 0.05:
                views[outs[0]] = self.value(0 if chance < 0.02 else self.bytes[outs[0]])
                if chance >= 0.02:  # In place, as programs see it: the old value is never read again.
                    nodes.append((0 if chance < 0.03 else cost / 20, [outs[0]], [views[outs[0]]]))
                else:
                    nodes.append((0, [outs[0]], [views.pop(outs[0])]))
            elif outs and chance < 0.07:
                nodes.append((10, [outs[0]], []))
            elif chance < 0.09:
                nodes.append((100, ins, [self.value(dice.randint(0, 10**6), pinned=dice.randint(0, 1))]))
        moved = {old: new for old, new in views.items() if self.pinned[old]}
        for old, new in moved.items():
            self.pinned[old], self.pinned[new] = 0, 1
        self.nodes = nodes
        self.freed = {v for v, c in enumerate(self.constant) if c and dice.random() < 0.3}
        return self

    def write(self, path):
        last = [-1] * len(self.bytes)
        for n, (_, ins, _) in enumerate(self.nodes):
            for v in ins:
                last[v] = n
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{len(self.nodes)} {len(self.bytes)}\n")
            for v, size in enumerate(self.bytes):
                release = -1 if self.constant[v] and v not in self.freed else last[v]
                file.write(f"{size} {self.constant[v]} {self.pinned[v]} {release}\n")
            for cost, ins, outs in self.nodes:
                words = [f"{cost:.0f}", str(len(ins)), *map(str, ins), str(len(outs)),
                         *map(str, outs)]
                file.write(" ".join(words) + "\n")
