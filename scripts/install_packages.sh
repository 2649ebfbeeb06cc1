#!/usr/bin/env bash
# Installs what Snug needs on Debian 12, without asking anything; does nothing if all of it is there.
#
# usage: scripts/install_packages.sh [--run]
#   --run   only what building and running Snug needs, without what its tests need
set -euo pipefail

# Compilers and build tools.
build=(g++ cmake ninja-build ccache pkg-config)
# The engine: kernels (oneDNN, whose CMake config wants OpenCL), vector loops, text.
build+=(libdnnl-dev ocl-icd-opencl-dev libhwy-dev libfmt-dev)
# The command line, run files, Keras configs, CSV numbers.
build+=(libcli11-dev libyaml-cpp-dev nlohmann-json3-dev libfast-float-dev)
# Keras files (libzip's CMake config wants its three tools), TFRecord and TensorBoard.
build+=(libzip-dev zipcmp zipmerge ziptool libprotobuf-dev protobuf-compiler)
# Images, compressed IDX files, checksums, spill files.
build+=(libjpeg62-turbo-dev libpng-dev zlib1g-dev libxxhash-dev liburing-dev)
# Tests and benchmarks; clang with libomp for the thread sanitizer; the checks of tools/.
tests=(libgtest-dev libbenchmark-dev clang-14 libclang-rt-14-dev libomp-14-dev python3)

packages=("${build[@]}")
if [[ "${1:-}" != --run ]]; then packages+=("${tests[@]}"); fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [[ "$status" != installed ]]; then missing+=("$package"); fi
done
if ((${#missing[@]} == 0)); then exit 0; fi

echo "Installing: ${missing[*]}"
if ((EUID != 0)); then
  echo "install_packages: root is needed; run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
