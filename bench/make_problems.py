#!/usr/bin/env python3
"""Training steps of well-known nets as problem files for bench/plan_problem.

usage: make_problems.py FOLDER [NAME ...] [--nodes N] [--rough SEED]

Shapes, bytes and costs are those of the nets on a machine with 100 flops and 15 bytes a
nanosecond; layers that Snug does not have yet are written down as they would be planned. With
--nodes, a net is made longer until it has so many nodes; nets that have no longer form are left as
they are. With --rough, it gets what the programs of others have too: views, checks, values that
nobody reads, constants that may go.
"""

import argparse
import os

from problems import further, others, pictures, programs, sequences

NETS = {name: getattr(folder, name)
        for folder, names in (
            (pictures, "resnet50 unet densenet mlp inception two_branch vgg16 resnet101 mobilenet "
                       "unetpp"),
            (sequences, "transformer lstm gpt tree_lstm unrolled_gan"),
            (others, "gan fan_out one_huge costless bare stem_heavy hypercolumn siamese "
                     "with_update"),
            (further, "encoder_decoder gru_attention resnext dlrm wavenet pyramid forward_only "
                      "accumulated multi_scale conditioned every_state"),
            (programs, "accumulated_adam vit nerf actor_critic many_tasks searched_cells lattice "
                       "message_passing flow checkpointed mixed_sizes many_outputs learned_start "
                       "diffusion experts cached_words contrastive solver hourglass adjoint "
                       "ensemble"))
        for name in names.split()}
# What issue 5 is judged by.
EIGHT = "resnet50 unet densenet transformer lstm mlp inception two_branch".split()


def of_nodes(net, count):
    """The shortest form with at least so many nodes."""
    sizes = [len(net(size).nodes) for size in (1, 2)]
    size = 1
    while len(net(size).nodes) < count and sizes[0] < sizes[1]:
        size = max(size + 1, min(2 * size, 1 + (count - sizes[0]) // (sizes[1] - sizes[0])))
    return net(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--rough", type=int)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for name in arguments.names or NETS:
        step = of_nodes(NETS[name], arguments.nodes)
        if arguments.rough is not None:
            step.roughen(arguments.rough)
        path = os.path.join(arguments.folder, f"{name}{arguments.nodes or ''}.problem")
        step.write(path)
        print(f"{path}: {len(step.nodes)} nodes, {len(step.bytes)} values")


if __name__ == "__main__":
    main()
