#!/usr/bin/env bash
# Makes the virtual environment with the frameworks that bench/train.py and bench/data.py compare Snug
# with: Keras on TensorFlow and on JAX, JAX, PyTorch, pandas, pyarrow. Nothing else needs it: not the build, not the tests.
#
# usage: bench/peers.sh [FOLDER]     default: $SNUG_PEERS, or bench/.venv
#
# About 8 GB on disk: PyPI's PyTorch brings its CUDA libraries along and does not import without them.
# Where PyTorch's own index can be reached, PIP_INDEX=https://download.pytorch.org/whl/cpu takes its
# CPU build instead, which trains at the same speed.
set -euo pipefail
cd "$(dirname "$0")"
case "${1:-}" in
  -*)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$(basename "$0")"
    [[ "$1" == --help ]] && exit 0 || exit 2
    ;;
esac
folder="${1:-${SNUG_PEERS:-$PWD/.venv}}"

python3 -m venv "$folder"
pip=("$folder/bin/pip" install --no-cache-dir --quiet)
"${pip[@]}" "tensorflow-cpu>=2.21" "keras>=3.15" "jax>=0.10" "optax>=0.2" numpy "pandas>=2.2" "pyarrow>=17"
if [[ -n "${PIP_INDEX:-}" ]]; then
  "${pip[@]}" torch --index-url "$PIP_INDEX"
else
  "${pip[@]}" "torch>=2.15"
fi
"$folder/bin/python" - <<'EOF'
from importlib.metadata import version
print("ready:", ", ".join(f"{name} {version(name)}" for name in ("tensorflow-cpu", "keras", "jax", "torch")))
EOF
