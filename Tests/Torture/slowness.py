"""How much slower than an idle one this machine is: what bounds of time allow in experiments that are about time."""

import collections
import functools
import os
import threading
import time


class Stalls(threading.Thread):
    """Notices when this process, or the whole machine, stands still."""

    def __init__(self):
        super().__init__(daemon=True)
        self.noticed: collections.deque[tuple[float, float]] = collections.deque(maxlen=1000)

    def run(self) -> None:
        while True:
            began = time.monotonic()
            time.sleep(0.05)
            late = time.monotonic() - began - 0.05
            if late > 0.1:
                self.noticed.append((began, late))

    @property
    def seconds(self) -> float:
        """How long it was in the last minute."""
        return sum(late for began, late in tuple(self.noticed) if began > time.monotonic() - 60)


@functools.cache
def stalls(process: int) -> Stalls:
    thread = Stalls()
    thread.start()
    return thread


# From the first test on. A forked process gets a thread of its own.
stalls(os.getpid())


def slowness() -> float:
    """How many times as long everything takes as on an idle machine, because others wait for their turn."""
    return 1 + os.getloadavg()[0] / os.cpu_count()


def within(seconds: float) -> float:
    """How long what takes that long at the most on an idle machine may take on this one."""
    return seconds * slowness() + stalls(os.getpid()).seconds
