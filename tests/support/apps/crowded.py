"""Programs in which much happens at once.

Each prints the ids that it recorded and failgraph's counters, as one JSON object.
"""

import patched  # noqa: F401, I001 - before any module that makes a lock

import gc
import itertools
import json
import os
import signal
import sys
import threading
import time
import warnings

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import failgraph
from builders import event

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of a fork beside threads
EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider(shutdown_on_exit=False)
PROVIDER.add_span_processor(failgraph.FailureSpanProcessor())
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))
TRACER = PROVIDER.get_tracer("crowded")
NUMBERS = itertools.count()
ID = "nemo.gym.failure.id"


def exported():
    """Return the ids of all exported failures."""
    return [each.attributes[ID] for span in EXPORTER.get_finished_spans() for each in span.events]


def fork_while_recording():
    """Fork 40 times while 4 threads record without a pause. Each child records twice and exits."""
    going = True
    recorded = []

    def work(number):
        each = 0
        while going:
            each += 1
            with TRACER.start_as_current_span("thread"):
                failgraph.record(event(f"thread {number} {each}"))
            recorded.append(f"thread {number} {each}")
            if each > 2000:
                time.sleep(0.001)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    codes = []
    for number in range(40):
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)  # ends a deadlock
            with TRACER.start_as_current_span("child"):
                failgraph.record(event(f"child {number}"))
            failgraph.record(event(f"child {number} outside"))
            os._exit(0)
        codes.append(os.waitpid(pid, 0)[1])
        recorded += [f"child {number}", f"child {number} outside"]
    going = False
    for thread in threads:
        thread.join()
    assert codes == [0] * 40, codes
    return recorded


def gevent():
    """Record on one span in 30 greenlets that yield after each record, then in forked children."""
    import gevent as green

    recorded = []
    with TRACER.start_as_current_span("one") as span:

        def work(number):
            for each in range(20):
                failgraph.record(event(f"{number} {each}"), span=span)
                recorded.append(f"{number} {each}")
                green.sleep(0)

        green.joinall([green.spawn(work, number) for number in range(30)], raise_error=True)
    assert failgraph.flush(10)
    assert sorted(exported()) == sorted(recorded)
    for number in range(5):
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            failgraph.record(event(f"child {number}"))
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        recorded.append(f"child {number}")
    return recorded


def _interrupted(handler, work):
    """Call `work` while a signal arrives every 2 ms, or as often as there is time for it."""
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def deferred_in_a_signal_handler():
    """Record in a signal handler, deferred, while the same thread records on one span."""
    recorded = []

    def handler(*_):
        each = f"signal {next(NUMBERS)}"
        if failgraph.record(event(each), deferred=True).placement == "deferred":
            recorded.append(each)

    def work():
        for number in range(3000):
            each = f"plain {number}"
            failgraph.record(event(each))
            recorded.append(each)

    with TRACER.start_as_current_span("one"):  # a signal outside of it would be in no trace
        _interrupted(handler, work)
    assert failgraph.flush(10)
    assert sorted(exported()) == sorted(recorded)
    return recorded


def plain_in_a_signal_handler():
    """Record in a signal handler outside any span, where the SDK takes no lock."""
    recorded = []

    def handler(*_):
        each = f"signal {next(NUMBERS)}"
        if failgraph.record(event(each)).placement == "journal":
            recorded.append(each)

    def work():
        for number in range(3000):
            each = f"plain {number}"
            if failgraph.record(event(each)).placement == "journal":
                recorded.append(each)

    _interrupted(handler, work)
    return recorded


def deferred_in_a_finalizer():
    """Record, deferred, in finalizers that run anywhere inside of another record."""
    recorded = []

    class Dying:
        def __init__(self, number):
            self.me, self.number = self, number

        def __del__(self):
            each = f"dying {self.number}"
            if failgraph.record(event(each), deferred=True).placement == "deferred":
                recorded.append(each)

    gc.set_threshold(20, 1, 1)
    with TRACER.start_as_current_span("one"):
        for number in range(600):
            Dying(number)
            failgraph.record(event(f"plain {number}"))
            recorded.append(f"plain {number}")
    gc.collect()
    assert failgraph.flush(10)
    assert sorted(exported()) == sorted(recorded)
    return recorded


if __name__ == "__main__":
    found = globals()[sys.argv[1]]()
    print(json.dumps({"recorded": found, "stats": dict(failgraph.stats())}))
