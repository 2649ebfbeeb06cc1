"""A disk that fills up (R28): `snug fit` in a tmpfs of 1 MiB. Refused before step 1 where it is full already; where it fills
up later, training goes on to its end, what was good stays good, and saving begins again once there is room.

usage: full_disk_test.py SNUG      needs root, or user namespaces, for the tmpfs; says so where it has neither
"""

import pathlib
import struct
import subprocess
import sys
import tempfile

ROWS, FEATURES = 400, 8
RUN_FILE = """\
data: {train: {x: x.npy, y: y.npy}}
model: [{dense: {units: 64, activation: relu}}, {dense: {units: 64, activation: relu}}, {dense: 1}]
fit: {loss: mse, optimizer: adam, batch_size: 4, epochs: EPOCHS, seed: 3, verbose: 0, checkpoint: {every_steps: 25, every_seconds: 0}}
"""


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    body = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def make_folder(folder):
    write_npy(folder / "x.npy", (ROWS, FEATURES), [((i * 37) % 101) / 50 - 1 for i in range(ROWS * FEATURES)])
    write_npy(folder / "y.npy", (ROWS,), [((i * 17) % 23) / 10 for i in range(ROWS)])


def fit(snug, folder, disk, *arguments):
    return subprocess.run([snug, "fit", "run.yaml", "--runs", str(disk), *arguments], cwd=folder, capture_output=True, text=True,
                          check=False)


def fill(disk, leave):
    """Takes all but so many bytes."""
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"\0" * 4096)
        except OSError:
            pass
        ballast.truncate(max(0, ballast.tell() - leave))


def expect(condition, what, result):
    if not condition:
        sys.exit(f"full_disk_test: {what}\nexit {result.returncode}\n{result.stdout}\n{result.stderr}")


def check(snug, folder, disk):
    (folder / "run.yaml").write_text(RUN_FILE.replace("EPOCHS", "2"))
    # Full before it begins.
    fill(disk, 64 << 10)
    result = fit(snug, folder, disk)
    expect(result.returncode == 6, "a full disk was not refused with exit code 6", result)
    expect("make room" in result.stderr and "are free" in result.stderr, "the refusal does not say what to do", result)
    (disk / "ballast").unlink()
    # Room at first; then another program takes it, for which a reader of the log stands.
    (folder / "run.yaml").write_text(RUN_FILE.replace("EPOCHS", "3"))
    with subprocess.Popen([snug, "fit", "run.yaml", "--runs", str(disk)], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        while process.poll() is None and not list(disk.glob("run/*/checkpoints/0*.ckpt")):
            pass
        fill(disk, 0)
        output = process.communicate()[0]
    good = sorted(disk.glob("run/*/checkpoints/0*.ckpt"))
    for path in good:
        verified = subprocess.run([snug, "checkpoint", "verify", path], capture_output=True, text=True, check=False)
        expect(verified.returncode == 0, f"{path} is damaged", verified)
    if not good:
        sys.exit(f"full_disk_test: no checkpoint is left\n{output}")
    if process.returncode == 0:
        return "ended before the disk was full"
    if process.returncode != 6 or "make room" not in output or "with --resume goes on" not in output:
        sys.exit(f"full_disk_test: exit {process.returncode}, without a word of what to do\n{output}")
    # Room again: the rest is written.
    (disk / "ballast").unlink()
    result = fit(snug, folder, disk, "--resume")
    expect(result.returncode == 0, "the run does not go on when there is room again", result)
    expect(list(disk.glob("run/*/last.keras")), "there is no model at the end", result)
    return "refused, filled up, gone on with"


def main():
    snug = str(pathlib.Path(sys.argv[1]).resolve())
    if "--inside" not in sys.argv:
        if subprocess.run(["unshare", "--mount", "--map-root-user", "true"], check=False).returncode != 0:
            print("full_disk_test: no right to mount a tmpfs; not run")
            return
        command = ["unshare", "--mount", "--map-root-user", sys.executable, *sys.argv, "--inside"]
        sys.exit(subprocess.run(command, check=False).returncode)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        disk = folder / "disk"
        disk.mkdir()
        make_folder(folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
        try:
            print(f"full_disk_test: a tmpfs of 1 MiB: {check(snug, folder, disk)}")
        finally:
            subprocess.run(["umount", disk], check=True)


if __name__ == "__main__":
    main()
