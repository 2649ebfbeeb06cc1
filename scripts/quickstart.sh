#!/usr/bin/env bash
# Installs what is missing, builds Snug and trains a network on MNIST within 64 MiB.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh --run
cmake --preset release -DSNUG_TESTS=OFF -DSNUG_BENCH=OFF
cmake --build build
build/snug fit examples/mnist.yaml --memory 64MiB

cat <<'END'

Snug works on this machine: the program is build/snug, and what you saw is examples/mnist.yaml.
  build/snug plan examples/mnist.yaml --memory 20MiB    what a run needs, or what would fit
  build/snug doctor                                     what this machine can do
  your own data:  copy examples/mnist.yaml, give `data: {train: {x: x.npy, y: y.npy}}` and your layers
  your own C++:   examples/mnist.cpp is the same network as a program (README.md, "In C++")
END
