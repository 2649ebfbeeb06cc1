"""PyTorch: a plain loop. --tuned: fused optimizer, channels-last; --compile: torch.compile of model and loss."""

import turns as protocol
import workloads as wl

parser = protocol.parser(__doc__)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--tuned", action="store_true")
parser.add_argument("--sparse", action="store_true", help="W9: sparse gradients of the tables and SparseAdam")
args = parser.parse_args()

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(args.threads)
torch.manual_seed(0)
W = args.workload


def mlp(inputs, hidden, drop=0.0):
    m, i = [], inputs
    for h in hidden:
        m += [nn.Linear(i, h), nn.ReLU()] + ([nn.Dropout(drop)] if drop else [])
        i = h
    return nn.Sequential(*m, nn.Linear(i, 1))


def bn(c, momentum=0.01):
    return nn.BatchNorm2d(c, eps=1e-3, momentum=momentum)


class Block(nn.Module):
    def __init__(self, ci, c, s):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(ci, c, 3, s, 1, bias=False), bn(c), nn.ReLU(),
                               nn.Conv2d(c, c, 3, 1, 1, bias=False), bn(c))
        self.short = nn.Sequential(nn.Conv2d(ci, c, 1, s, bias=False), bn(c)) if s == 2 else nn.Identity()

    def forward(self, x):
        return F.relu(self.a(x) + self.short(x))


def resnet20():
    m = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), bn(16), nn.ReLU()]
    ci = 16
    for stage, c in enumerate((16, 32, 64)):
        for i in range(3):
            m.append(Block(ci, c, 2 if stage and i == 0 else 1))
            ci = c
    return nn.Sequential(*m, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.ModuleList([nn.Embedding(wl.ROWS9, wl.WIDTH9, sparse=args.sparse) for _ in range(wl.TABLES9)])
        self.mlp = mlp(wl.NUMBERS9 + wl.TABLES9 * wl.WIDTH9, [256, 128])

    def forward(self, num, cat):
        return self.mlp(torch.cat([num] + [e(cat[:, i]) for i, e in enumerate(self.emb)], 1))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        two = lambda i, c: nn.Sequential(nn.Conv2d(i, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.down = nn.ModuleList([two(3, 16), two(16, 32), two(32, 64)])
        self.mid = two(64, 128)
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (64, 32, 16)])
        self.merge = nn.ModuleList([two(2 * c, c) for c in (64, 32, 16)])
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        skips = []
        for d in self.down:
            x = d(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.mid(x)
        for u, m in zip(self.up, self.merge):
            x = m(torch.cat([u(x), skips.pop()], 1))
        return self.out(x)


class Inverted(nn.Module):
    def __init__(self, ci, ex, co, s):
        super().__init__()
        m = [nn.Conv2d(ci, ex, 1, bias=False), bn(ex, 0.001), nn.ReLU6()] if ex != ci else []
        self.m = nn.Sequential(*m, nn.Conv2d(ex, ex, 3, s, 1, groups=ex, bias=False), bn(ex, 0.001), nn.ReLU6(),
                               nn.Conv2d(ex, co, 1, bias=False), bn(co, 0.001))
        self.add = s == 1 and ci == co

    def forward(self, x):
        return x + self.m(x) if self.add else self.m(x)


def mobilenet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), bn(16, 0.001), nn.ReLU6(),
        *[Inverted(*b) for b in wl.mobilenet_v2_blocks()],
        nn.Conv2d(160, 1280, 1, bias=False), bn(1280, 0.001), nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 10))


def build():
    if W in ("W1", "W10"):
        return mlp(100, [64])
    if W == "W2":
        return mlp(1000, [1000])
    if W == "W3":
        return mlp(200, [512, 256], 0.5)
    if W == "W4":
        return nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(111 * 111 * 32, 10))
    if W == "W5":
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))
    return {"W6": resnet20, "W9": Tabular, "W11": Unet, "W12": mobilenet}[W]()


def keras_init(m):
    if isinstance(m, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.xavier_uniform_(m.weight)
        if m.bias is not None:
            nn.init.zeros_(m.bias)
    elif isinstance(m, nn.Embedding):
        nn.init.uniform_(m.weight, -0.05, 0.05)


def make_optimizers(model):
    more = {"fused": True} if args.tuned else {}
    if args.sparse:
        return [torch.optim.SparseAdam(model.emb.parameters(), lr=1e-3, eps=1e-7),
                torch.optim.Adam(model.mlp.parameters(), lr=1e-3, eps=1e-7, **more)]
    if W == "W6":
        return [torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, **more)]
    if W == "W12":
        return [torch.optim.SGD(model.parameters(), lr=0.01, **more)]
    return [torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7, **more)]


def make_step():
    """A function (inputs, labels) -> loss that trains a fresh model."""
    model = build()
    model.apply(keras_init)
    if args.tuned and W in wl.CONV:
        model = model.to(memory_format=torch.channels_last)
    model.train()
    optimizers = make_optimizers(model)
    criterion = nn.BCEWithLogitsLoss() if W in wl.BINARY else nn.CrossEntropyLoss()
    forward = lambda xs, y: criterion(model(*xs), y)
    if args.compile:
        forward = torch.compile(forward)

    def step(xs, y):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = forward(xs, y)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss
    return step


def as_tensors(xs, y):
    wide = lambda a: a.long() if a.dtype == torch.int32 else a
    xs, y = [wide(torch.from_numpy(a)) for a in xs], wide(torch.from_numpy(y))
    if W in wl.CONV:  # NHWC in memory is channels_last; the untuned run gets torch's own NCHW.
        xs = [a.permute(0, 3, 1, 2) if args.tuned else a.permute(0, 3, 1, 2).contiguous() for a in xs]
        if y.dim() == 4:
            y = y.permute(0, 3, 1, 2)
    return xs, y


def shuffled():
    return DataLoader(TensorDataset(*xs, y), batch_size=batch, shuffle=True)


def plain_epoch():
    for i in range(steps):
        rows = slice(i * batch, (i + 1) * batch)
        loss = step([a[rows] for a in xs], y[rows])
    return loss.item()


def user_epoch():
    """As a user writes it: a DataLoader, shuffled, and the mean loss."""
    total = 0.0
    for *xb, yb in loader:
        total += step(xb, yb).item()
    return total / steps


def fit_small():
    if args.compile:
        torch._dynamo.reset()
    train = make_step()
    batches = shuffled()
    for _ in range(2):
        for xb, yb in batches:
            loss = train([xb], yb)
    return loss.item()


batch, steps = wl.plan(args)
turns = protocol.Turns(1 if W == "W10" else steps)
xs, y, data_s = protocol.timed_data(W, wl.SMALL_FIT_ROWS if W == "W10" else batch * steps)
data_mib = protocol.mib(*xs, y)
xs, y = as_tensors(xs, y)
step = make_step()
step([a[:batch] for a in xs], y[:batch]).item()
turns.say("first_step", data_s=data_s)
epoch = {"step": plain_epoch, "user": user_epoch}[args.mode] if W != "W10" else fit_small
loader = shuffled() if args.mode == "user" else None
epoch()
turns.say("ready", version="PyTorch " + torch.__version__, data_mib=data_mib)
while turns.begin():
    turns.end(epoch())
