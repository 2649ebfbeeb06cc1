"""Random runs: a model, its data, its batch, its optimizer and a budget, all from one seed."""

import array
import gzip
import random
import struct

MIB = 1 << 20


def write_npy(path, shape, values, descr):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def write_idx(path, shape, values):
    header = struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    path.write_bytes(gzip.compress(header + values, 1))


def count_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class Draw(random.Random):
    def scale(self, low, high):
        """A whole number; each doubling is as likely as the next."""
        return round(low * (high / low) ** self.random())

    def maybe(self, chance=0.5):
        return self.random() < chance


def floats(draw, count, code):
    """Numbers around 0, from a short list: drawing each would take longer than training on them."""
    some = array.array(code, [draw.gauss(0, 1) for _ in range(1009)])
    return (some * (count // len(some) + 1))[:count].tobytes()


class RandomRun:
    """One run: its run file, its data files, its budget."""

    def __init__(self, seed):
        self.draw = Draw(seed)
        draw = self.draw
        kind = draw.choice(("dense", "dense", "image", "image", "sequence", "table"))
        if seed % 50 in (7, 14):
            kind = "deep"
        self.rows = draw.scale(40, 1500)
        self.integers = None  # Inputs are numbers below this.
        self.pixels = False
        self.layers = []
        getattr(self, kind)()
        self.head()
        # Not more than some hundred steps.
        self.batch = draw.scale(max(1, self.rows // 60), 1000)
        self.budget = draw.scale(11 * MIB, 72 * MIB) // 4096 * 4096

    def dense(self):
        draw = self.draw
        self.shape = (draw.scale(1, 800),)
        for _ in range(draw.randint(1, 4)):
            self.layers.append(f"dense: {{units: {draw.scale(1, 3000)}, activation: {self.activation()}}}")
            self.between()

    def image(self):
        draw = self.draw
        side = draw.scale(8, 64)
        self.pixels = draw.maybe()
        self.shape = (side, draw.scale(8, 64), draw.choice((1, 3)))
        if self.pixels:
            self.layers.append("rescaling: 1/255")
        self.rows = min(self.rows, 400)
        for _ in range(draw.randint(1, 3)):
            strides = draw.choice((1, 1, 2))
            self.layers.append(f"conv2d: {{filters: {draw.scale(1, 48)}, kernel_size: {draw.choice((1, 3, 3, 5))}, "
                               f"padding: same, strides: {strides}, activation: {self.activation()}}}")
            self.between()
            if draw.maybe(0.4):
                self.layers.append(draw.choice(("max_pooling2d: {pool_size: 2, padding: same}",
                                                "average_pooling2d: {pool_size: 2, padding: same}")))
        self.layers.append(draw.choice(("flatten", "global_average_pooling2d")))

    def sequence(self):
        draw = self.draw
        self.shape = (draw.scale(8, 300), draw.scale(1, 32))
        for _ in range(draw.randint(1, 3)):
            self.layers.append(f"conv1d: {{filters: {draw.scale(1, 64)}, kernel_size: 3, padding: same, "
                               f"activation: {self.activation()}}}")
            self.between()
        self.layers.append(draw.choice(("flatten", "global_max_pooling1d")))

    def deep(self):
        """Many layers of few numbers: what a step takes beside them shows."""
        draw = self.draw
        self.rows = min(self.rows, 150)
        pictures = draw.maybe()
        self.shape = (draw.scale(6, 16), draw.scale(6, 16), 3) if pictures else (draw.scale(1, 100),)
        normal = draw.maybe(0.3)
        for _ in range(draw.scale(20, 120)):
            layer = f"conv2d: {{filters: {draw.scale(1, 16)}, kernel_size: {draw.choice((1, 3))}, padding: same" if pictures \
                else f"dense: {{units: {draw.scale(1, 100)}"
            self.layers.append(f"{layer}, activation: {draw.choice(('tanh', 'sigmoid'))}}}")  # Others blow up.
            if normal and draw.maybe():
                self.layers.append("batch_normalization")
        if pictures:
            self.layers.append("flatten")

    def table(self):
        draw = self.draw
        self.shape = (draw.scale(1, 40),)
        self.integers = draw.scale(10, 60000)
        self.layers.append(f"embedding: {{input_dim: {self.integers}, output_dim: {draw.scale(1, 64)}}}")
        self.layers.append(draw.choice(("flatten", "global_average_pooling1d")))
        self.layers.append(f"dense: {{units: {draw.scale(1, 300)}, activation: {self.activation()}}}")

    def activation(self):
        return self.draw.choice(("relu", "relu", "tanh", "sigmoid", "elu", "gelu", "swish"))

    def between(self):
        layer = self.draw.choice(("", "", "", "dropout: 0.2", "batch_normalization", "layer_normalization"))
        if layer:
            self.layers.append(layer)

    def head(self):
        self.classes = self.draw.choice((0, 1, 10))
        self.loss = {0: "mse", 1: "binary_crossentropy", 10: "sparse_categorical_crossentropy"}[self.classes]
        activation = {0: "linear", 1: "sigmoid", 10: "softmax"}[self.classes]
        self.layers.append(f"dense: {{units: {self.classes or 1}, activation: {activation}}}")

    def write(self, folder):
        draw = self.draw
        train = self.write_data(folder, "train", self.rows)
        data = f"train: {train}"
        fit = [f"loss: {self.loss}", f"batch_size: {self.batch}", f"epochs: {draw.randint(1, 3)}"]
        fit.append("optimizer: " + draw.choice((
            "sgd", "{sgd: {learning_rate: 0.001, momentum: 0.9}}", "adam", "adam", "adamw", "rmsprop", "adagrad", "nadam", "lion",
            "{adam: {amsgrad: true, clipnorm: 1}}", "{adam: {use_ema: true}}")))
        if draw.maybe(0.7):
            fit.append("metrics: [" + ("mae" if self.classes == 0 else "accuracy") + "]")
        how = draw.choice(("none", "split", "file"))
        if how == "split":
            fit.append(f"validation_split: {draw.choice((0.1, 0.37, 0.5))}")
        elif how == "file":
            data += f", validation: {self.write_data(folder, 'validation', draw.scale(10, self.rows))}"
            if draw.maybe():
                fit.append(f"validation_batch_size: {draw.scale(1, 400)}")
        if how != "none" and draw.maybe():
            fit.append("callbacks: [early_stopping: {patience: 5, restore_best_weights: true}]")
        if draw.maybe(0.2):
            fit.append("shuffle: false")
        if draw.maybe(0.2):
            fit.append("threads: 1")
        text = f"data: {{{data}}}\nmodel:\n" + "".join(f"  - {layer}\n" for layer in self.layers)
        text += "fit: {" + ", ".join(fit) + "}\n"
        (folder / "run.yaml").write_text(text)

    def write_data(self, folder, name, rows):
        if self.pixels and self.shape[2] == 1 and self.classes == 10:
            return self.write_idx(folder, name, rows)
        draw, shape = self.draw, (rows, *self.shape)
        count = count_of(shape)
        x, y = folder / f"{name}_x.npy", folder / f"{name}_y.npy"
        if self.integers:
            some = array.array("q", [draw.randrange(self.integers) for _ in range(1009)])
            write_npy(x, shape, (some * (count // 1009 + 1))[:count].tobytes(), "<i8")
        elif self.pixels:
            write_npy(x, shape, draw.randbytes(count), "|u1")
        else:
            code, descr = draw.choice((("f", "<f4"), ("f", "<f4"), ("d", "<f8")))
            write_npy(x, shape, floats(draw, count, code), descr)
        if self.classes == 0:
            write_npy(y, (rows,), floats(draw, rows, "f"), "<f4")
        else:
            labels = array.array("q", [draw.randrange(max(2, self.classes)) for _ in range(rows)])
            write_npy(y, (rows,), labels.tobytes(), "<i8")
        return f"{{x: {x.name}, y: {y.name}}}"

    def write_idx(self, folder, name, rows):
        draw = self.draw
        write_idx(folder / f"{name}_x.gz", (rows, *self.shape[:2]), draw.randbytes(rows * count_of(self.shape)))
        write_idx(folder / f"{name}_y.gz", (rows,), bytes(draw.randrange(self.classes) for _ in range(rows)))
        return f"{{images: {name}_x.gz, labels: {name}_y.gz}}"
