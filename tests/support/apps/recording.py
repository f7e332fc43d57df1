"""Processes that record until they are killed, each a fork of this one.

Prints a JSON list: for each process the ids of the failures whose `record` call had returned.
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
    """Record for ever, in spans and outside. Write each id to the pipe `done` after the call."""
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
    """Kill a recording process at a random moment. Return the ids that it had recorded."""
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
    failgraph.record(event("0"))  # what the first call sets up is set up before the forks
    print(json.dumps([killed(number, chance) for number in range(PROCESSES)]))
