"""Carries packets between network namespaces, each after its link's delay: relay.py FD=ADDRESS…

Each FD is an open TUN device, whose packets from and to others are those of one place. A line of standard input is a JSON
object with all links from then on: {"FROM TO": [seconds, loss, bits a second]}, loss as a share, 0 bits for no limit. What
has no link is lost, also what is under way when its link goes. Each line is answered by one of standard output.

Packets, not connections: a handshake, a window that grows and a packet that is sent again take as long as on a real line.
"""

import heapq
import itertools
import json
import os
import random
import select
import socket
import sys
import time

BATCH = 64


class Relay:
    def __init__(self, places: dict[int, str]):
        self.devices = {socket.inet_aton(address): device for device, address in places.items()}
        self.names = {socket.inet_aton(address): address for address in places.values()}
        for device in self.devices.values():
            os.set_blocking(device, False)
        #: Delay, loss and rate, by the two addresses.
        self.links: dict[bytes, tuple[float, float, float]] = {}
        #: When each link has sent what it was given so far.
        self.free: dict[bytes, float] = {}
        self.waiting: list[tuple[float, int, bytes, bytes]] = []
        self.count = itertools.count()
        self.chance = random.Random(1)

    def run(self) -> None:
        devices = list(self.devices.values())
        while True:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            for ready in select.select([0, *devices], [], [], wait)[0]:
                if ready != 0:
                    self.take(ready)
                elif not self.change(sys.stdin.readline()):
                    return
            self.deliver()

    def change(self, line: str) -> bool:
        if not line:
            return False
        pair = {f"{a} {b}": one + other for one, a in self.names.items() for other, b in self.names.items()}
        self.links = {pair[names]: tuple(link) for names, link in json.loads(line).items()}
        self.free.clear()
        print("changed", flush=True)
        return True

    def take(self, device: int) -> None:
        for _ in range(BATCH):
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                return
            # The two addresses of an IPv4 packet; nothing else is carried.
            ends = packet[12:20]
            if packet[0] >> 4 != 4 or ends not in self.links:
                continue
            delay, loss, rate = self.links[ends]
            if loss and self.chance.random() < loss:
                continue
            due = time.monotonic()
            if rate:
                due = self.free[ends] = max(due, self.free.get(ends, 0.0)) + len(packet) * 8 / rate
            heapq.heappush(self.waiting, (due + delay, next(self.count), ends, packet))

    def deliver(self) -> None:
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _, _, ends, packet = heapq.heappop(self.waiting)
            if ends in self.links:
                try:
                    os.write(self.devices[ends[4:]], packet)
                except OSError:
                    # The device's queue is full: packets get lost that way anywhere.
                    pass


if __name__ == "__main__":
    Relay({int(device): address for device, _, address in (each.partition("=") for each in sys.argv[1:])}).run()
