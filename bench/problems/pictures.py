"""Nets for pictures. `size` makes those that have it longer: 1 is the net as published."""

from problems.step import Step


def image(step, size, channels=3):
    return (step.value(4 * step.batch * size * size * channels, constant=1), size, size, channels)


def conv_norm_relu(step, x, channels, kernel=3, stride=1):
    return step.relu(step.norm(step.conv(x, channels, kernel, stride)))


def classify(step, x, classes=1000):
    return step.finish([step.dense(step.average(x), classes)[0]])


def bottlenecks(counts):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 224), 64, 7, 2))
    for stage, blocks in enumerate(counts):
        channels = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = conv_norm_relu(step, x, channels, 1, stride)
            y = conv_norm_relu(step, y, channels, 3)
            y = step.norm(step.conv(y, 4 * channels, 1))
            if block == 0:
                x = step.norm(step.conv(x, 4 * channels, 1, stride))
            x = step.relu(step.add(y, x))
    return classify(step, x)


def resnet50(size):
    return bottlenecks((3, 4, 5 + size, 3))


def resnet101(size):
    return bottlenecks((3, 4, 22 + size, 3))


def vgg16(size):
    step = Step(32)
    x = image(step, 224)
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = step.relu(step.conv(x, channels))
        x = step.pool(x)
    x = (x[0], 1, 1, x[1] * x[2] * x[3])
    for _ in range(2):
        x = step.relu(step.dense(x, 4096))
    return step.finish([step.dense(x, 1000)[0]])


def mobilenet(size):
    step = Step(64)
    x = conv_norm_relu(step, image(step, 224), 32, 3, 2)
    for wider, channels, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                            (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                            (6, 320, 1, 1)):
        for block in range(blocks):
            y = conv_norm_relu(step, x, wider * x[3], 1) if wider > 1 else x
            y = step.relu(step.norm(step.depthwise(y, stride if block == 0 else 1)))
            y = step.norm(step.conv(y, channels, 1))
            x = step.add(y, x) if block > 0 else y
    return classify(step, conv_norm_relu(step, x, 1280, 1))


def unet(size):
    step = Step(8)
    x = image(step, 256)
    skips = []
    for channels in (64, 128, 256, 512):
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels), channels)
        skips.append(x)
        x = step.pool(x)
    x = conv_norm_relu(step, conv_norm_relu(step, x, 1024), 1024)
    for channels in (512, 256, 128, 64):
        x = step.concat([step.conv(step.upsample(x), channels, 2), skips.pop()])
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels), channels)
    return step.finish([step.conv(x, 2, 1)[0]])


def unetpp(size):
    """Nested: level i of column j reads every column before it and what is below."""
    step = Step(4)
    widths = (32, 64, 128, 256, 512)
    grid = {}
    x = image(step, 256)
    for i, channels in enumerate(widths):
        x = conv_norm_relu(step, conv_norm_relu(step, x, channels), channels)
        grid[i, 0] = x
        x = step.pool(x)
    for j in range(1, len(widths)):
        for i in range(len(widths) - j):
            up = step.upsample(grid[i + 1, j - 1])
            x = step.concat([grid[i, k] for k in range(j)] + [up])
            grid[i, j] = conv_norm_relu(step, conv_norm_relu(step, x, widths[i]), widths[i])
    return step.finish([step.conv(grid[0, j], 1, 1)[0] for j in range(1, len(widths))])


def densenet(size):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 128), 64, 7, 2))
    for i, count in enumerate((6, 12, 24, 16)):
        for _ in range(count * size):
            y = step.conv(step.relu(step.norm(x)), 128, 1)
            y = step.conv(step.relu(step.norm(y)), 32, 3)
            x = step.concat([x, y])
        if i < 3:
            x = step.pool(step.conv(step.relu(step.norm(x)), x[3] // 2, 1))
    return classify(step, x)


def inception(size):
    step = Step(32)
    x = step.pool(conv_norm_relu(step, image(step, 149), 64, 3, 2))
    for modules, channels in ((4, 96), (7, 192), (3, 256)):
        for _ in range(modules):
            a = conv_norm_relu(step, x, channels, 1)
            b = conv_norm_relu(step, conv_norm_relu(step, x, channels * 2 // 3, 1), channels, 3)
            c = conv_norm_relu(step, x, channels * 2 // 3, 1)
            c = conv_norm_relu(step, conv_norm_relu(step, c, channels, 3), channels, 3)
            d = (step.op("linear", [x[0]], x[1] * x[2] * x[3]),) + x[1:]
            x = step.concat([a, b, c, conv_norm_relu(step, d, channels, 1)])
        x = conv_norm_relu(step, x, 2 * channels, 3, 2)
    return classify(step, x)


def two_branch(size):
    step = Step(64)
    a = image(step, 64)
    b = (step.value(4 * 64 * 512, constant=1), 1, 1, 512)
    for channels in (32, 64, 128, 256):
        a = step.pool(conv_norm_relu(step, conv_norm_relu(step, a, channels), channels))
    for _ in range(10):
        b = step.relu(step.dense(b, 2048))
    x = step.concat([step.dense(step.average(a), 512), step.dense(b, 512)])
    x = step.relu(step.dense(x, 1024))
    return step.finish([step.dense(x, 10)[0], step.dense(x, 1)[0]])


def mlp(size):
    step = Step(8192)
    x = (step.value(4 * 8192 * 1024, constant=1), 1, 1, 1024)
    for layer in range(20 * size):
        x = step.relu(step.dense(x, (1024, 2048, 512, 1536)[layer % 4]))
    return step.finish([step.dense(x, 10)[0]])
