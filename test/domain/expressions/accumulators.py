"""Sums, means and variances of random floats, as Python's exact arithmetic has them."""

import json
import math
import random
import statistics
import struct
import sys

random.seed(int(sys.argv[1]))


def number():
    kind = random.randrange(6)
    if kind == 0:
        return struct.unpack("<d", random.randbytes(8))[0] * 0.25
    if kind == 1:
        return random.choice([0.0, -0.0, 5e-324, -2.2e-308, 1e16, 1.0, -1e16, 1e300, -1e300])
    if kind == 2:
        return random.choice([0.1, 0.2, 0.3, -0.3])
    return round(random.uniform(-1000, 1000), 2)


def text(value):
    return None if value is None else repr(float(value))


cases = []
while len(cases) < int(sys.argv[2]):
    values = [number() for _ in range(random.randrange(0, 30))]
    if not all(math.isfinite(value) for value in values):
        continue
    try:
        total = math.fsum(values)
        variance = statistics.variance(values) if len(values) > 1 else None
    except OverflowError:
        continue
    mean = total / len(values) if values else None
    std = None if variance is None else math.sqrt(variance)
    cases.append([[repr(value) for value in values], text(total), text(mean), text(variance), text(std)])
print(json.dumps(cases))
