"""Plain JAX: the whole step under jit, its state donated, optax. W1, W3 and W5."""

import os
import sys

import turns as protocol
import workloads as wl

args = protocol.parser(__doc__).parse_args()
W = args.workload
if W not in ("W1", "W3", "W5") or args.mode != "step":
    sys.exit("run_jax.py: plain JAX has W1, W3 and W5, in mode step")
if args.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import optax
from jax import lax

keys = iter(jax.random.split(jax.random.key(0), 200))
glorot = jax.nn.initializers.glorot_uniform()
optimizer = optax.adam(1e-3, eps=1e-7)


def dense(inputs, outputs):
    return {"w": glorot(next(keys), (inputs, outputs)), "b": jnp.zeros(outputs)}


def kernel(inputs, outputs):
    return {"w": glorot(next(keys), (3, 3, inputs, outputs)), "b": jnp.zeros(outputs)}


def apply(p, x):
    return x @ p["w"] + p["b"]


def conv(p, x):
    return lax.conv_general_dilated(x, p["w"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["b"]


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def drop(key, x):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x * 2, 0)


def parameters():
    if W == "W1":
        return [dense(100, 64), dense(64, 1)]
    if W == "W3":
        return [dense(200, 512), dense(512, 256), dense(256, 1)]
    return [kernel(1, 32), kernel(32, 64), dense(1600, 10)]


def logits(p, x, key):
    if W == "W1":
        return apply(p[1], jax.nn.relu(apply(p[0], x)))
    if W == "W3":
        a, b = jax.random.split(key)
        x = drop(a, jax.nn.relu(apply(p[0], x)))
        return apply(p[2], drop(b, jax.nn.relu(apply(p[1], x))))
    x = pool(jax.nn.relu(conv(p[0], x)))
    x = pool(jax.nn.relu(conv(p[1], x)))
    return apply(p[2], drop(key, x.reshape(x.shape[0], -1)))


def loss_of(p, x, y, key):
    z = logits(p, x, key)
    if W in wl.BINARY:
        return optax.sigmoid_binary_cross_entropy(z, y).mean()
    return optax.softmax_cross_entropy_with_integer_labels(z, y).mean()


def step(state, x, y):
    p, moments, key = state
    key, dropout_key = jax.random.split(key)
    loss, gradients = jax.value_and_grad(loss_of)(p, x, y, dropout_key)
    updates, moments = optimizer.update(gradients, moments, p)
    return (optax.apply_updates(p, updates), moments, key), loss


step = jax.jit(step, donate_argnums=0)
batch, steps = wl.plan(args)
turns = protocol.Turns(steps)
(x,), y, data_s = protocol.timed_data(W, batch * steps)
p = parameters()
state = (p, optimizer.init(p), jax.random.key(1))
state, loss = step(state, x[:batch], y[:batch])
loss.block_until_ready()
turns.say("first_step", data_s=data_s)


def epoch():
    global state
    for i in range(steps):
        state, loss = step(state, x[i * batch:(i + 1) * batch], y[i * batch:(i + 1) * batch])
    return float(loss)


epoch()
turns.say("ready", version="JAX " + jax.__version__, data_mib=protocol.mib(x, y))
while turns.begin():
    turns.end(epoch())
