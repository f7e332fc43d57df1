"""Processes that record until they are killed: each is a fork of this one, and says what was recorded once it was.

Prints a JSON object: by the number of the process the ids of the failures of which `record` had returned.
"""

import json
import os
import random
import signal
import sys
import time

from opentelemetry.sdk.trace import TracerProvider

import failgraph
from builders import event

PROCESSES = int(sys.argv[1])
SECONDS = 0.012
TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("recording")


def record(number, done):
    """Record in spans and outside any, for ever; each id goes into the pipe `done` when the call has returned."""
    each = 0
    while True:
        each += 1
        if each % 3:
            with TRACER.start_as_current_span("work"):
                failgraph.record(event(f"{number}-{each}"))
        else:
            failgraph.record(event(f"{number}-{each}"))
        os.write(done, f"{number}-{each}\n".encode())


def killed(number, chance):
    """What a process had recorded when it was killed, at a moment by chance."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        record(number, writing)
    os.close(writing)
    first = os.read(reading, 1)
    time.sleep(chance.random() * SECONDS)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with open(reading, "rb") as pipe:
        return (first + pipe.read()).decode().split()


if __name__ == "__main__":
    chance = random.Random(9)
    failgraph.record(event("0"))  # what is made at the first one is made once for all
    print(json.dumps([killed(number, chance) for number in range(PROCESSES)]))
