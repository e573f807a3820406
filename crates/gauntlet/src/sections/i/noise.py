"""Takes some of everything that a machine has, and keeps it until a file says to stop."""

import fcntl
import mmap
import os
import socket
import sys
import time

kept = []


def tried(act):
    try:
        kept.append(act())
    except (OSError, ValueError, MemoryError):
        pass


for number in range(20):
    child = os.fork()
    if child == 0:
        until = time.time() + 60
        while not os.path.exists(sys.argv[1]) and time.time() < until:
            time.sleep(0.02)
        os._exit(0)
for number in range(60):
    tried(os.pipe)
    tried(socket.socketpair)
    tried(lambda: os.open("/usr/bin/env", os.O_RDONLY))
os.makedirs("noise", exist_ok=True)
for number in range(300):
    with open("noise/%d" % number, "w") as file:
        file.write("x" * 20000)
memory = mmap.mmap(-1, 60 << 20)
for at in range(0, len(memory), 4096):
    memory[at] = 1
lock = open("noise/0")
tried(lambda: fcntl.flock(lock, fcntl.LOCK_EX))
tried(lambda: fcntl.lockf(open("noise/1", "w"), fcntl.LOCK_EX))
try:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(64)
    for number in range(20):
        client = socket.create_connection(server.getsockname())
        kept.append((client, server.accept()))
except OSError:
    pass
print("ready", flush=True)
open("ready", "w").close()
until = time.time() + 60
while not os.path.exists(sys.argv[1]) and time.time() < until:
    sum(range(20000))
    time.sleep(0.01)
