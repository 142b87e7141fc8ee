#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who the programs deal with, each a process outside of what is recorded:

  reader FIFO FILE       takes what is logged, no faster than its draws allow, and keeps it
  feeder FIFO BYTES      a data service: writes batches of so many bytes, each as late as it draws
  balancer FOLDER N      N requests over each connection that the server of FOLDER/port has executors for; it thinks before each

They end with their other end, and with who started them."""

import ctypes
import fcntl
import os
import random
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

from phases import Draws

SMALL = 4096  # the pipe's room


def reader(fifo, out):
    draws = Draws(31)
    pipe = os.open(fifo, os.O_RDONLY)
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, SMALL)
    with open(out, "wb", buffering=0) as file:
        while text := os.read(pipe, SMALL):
            file.write(text)
            time.sleep(draws.ns(0.3, 30) / 1e9)
    Path(out).with_suffix(".whole").touch()


def feeder(fifo, size):
    draws = Draws(32)
    pipe = os.open(fifo, os.O_WRONLY)
    batches = [random.Random(number).randbytes(int(size)) for number in range(4)]
    number = 0
    while True:
        try:
            view = memoryview(batches[number % 4])
            while view:
                view = view[os.write(pipe, view):]
        except BrokenPipeError:
            return
        number += 1
        time.sleep(draws.ns(0.1, 60) / 1e9)


def ask(peer, lane, count):
    draws = Draws(lane)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(count):
        time.sleep(draws.ns(0.05, 40) / 1e9)
        size, tokens = int(2 ** draws.uniform(6, 16)), draws.randint(1, 40)
        peer.sendall(struct.pack("=4I", number, size, tokens, draws.ns(0.01, 4)) + draws.randbytes(size))
        left = 4 * tokens
        while left:
            left -= len(peer.recv(left))
    peer.close()


def balancer(folder, count):
    port = Path(folder) / "port"
    while not port.exists():
        time.sleep(0.01)
    number, executors = map(int, port.read_text().split())
    peers = [socket.create_connection(("127.0.0.1", number)) for _ in range(executors)]  # in the executors' order
    asking = [threading.Thread(target=ask, args=(peer, 40 + lane, int(count))) for lane, peer in enumerate(peers)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    sys.exit({"reader": reader, "feeder": feeder, "balancer": balancer}[sys.argv[1]](*sys.argv[2:]))
