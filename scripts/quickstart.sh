#!/usr/bin/env bash
# Installs what is missing, builds Snug and trains a network on MNIST within 64 MiB.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh --run
cmake --preset release -DSNUG_TESTS=OFF -DSNUG_BENCH=OFF
cmake --build build
exec build/snug fit examples/mnist.yaml --memory 64MiB
