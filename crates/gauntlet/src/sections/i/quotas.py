"""Uses up what a kernel counts for a user or for all (`hold`), or measures what is left (`can`)."""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import select
import socket
import struct
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
kept = []


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def inotify():
    return checked(libc.inotify_init1(0))


def watch(number, handle=[]):
    if number % 200 == 0:
        handle[:] = [inotify()]
    path = "/tmp/watched-%d" % (number % 200)
    if not os.path.exists(path):
        open(path, "w").close()
    return checked(libc.inotify_add_watch(handle[0], path.encode(), 2))


def fanotify():
    return checked(libc.syscall(300, 0x200, 0))


def pipe():
    one, other = os.pipe()
    kept.append((one, other))
    size = fcntl.fcntl(one, 1032)
    if size < 65536:
        raise OSError(errno.ENOBUFS, "a pipe of %d bytes" % size)
    try:
        fcntl.fcntl(one, 1031, 1 << 17)
    except PermissionError:
        pass  # Where a larger one is refused to all, nobody has less of it than another.


def timer():
    number = ctypes.c_int()
    checked(libc.timer_create(1, None, ctypes.byref(number)))


def signals():
    import signal
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    value = ctypes.c_void_p(0)
    checked(libc.sigqueue(os.getpid(), 40, value))


def key(number):
    checked(libc.syscall(248, b"user", b"k%d" % number, b"v", 1, -2 & 0xFFFFFFFF))


def queue(number):
    name = b"gauntlet-%d-%d" % (os.getpid(), number)
    checked(libc.syscall(240, name, 0o102, 0o600, None))
    return ("removed by", lambda: libc.syscall(241, name))


def process():
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    kept.append(("process", child))


def thread():
    it = threading.Thread(target=time.sleep, args=(20,), daemon=True)
    it.start()


def descriptor():
    return os.open("/usr/bin/env", os.O_RDONLY)


def terminal():
    return os.openpty()


def aio():
    context = ctypes.c_ulong(0)
    checked(libc.syscall(206, 512, ctypes.byref(context)))


def locked_memory():
    memory = mmap.mmap(-1, 65536)
    kept.append(memory)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    checked(libc.mlock(ctypes.c_void_p(address), 65536))


def epoll(number, handle=[]):
    if not handle:
        handle[:] = [select.epoll(), socket.socketpair()]
    other = os.dup(handle[1][0].fileno())
    kept.append(other)
    handle[0].register(other, select.EPOLLIN)


def namespace(flag):
    def unshare():
        checked(libc.unshare(flag))
    return unshare


def memory():
    piece = mmap.mmap(-1, 4 << 20)
    for at in range(0, len(piece), 4096):
        piece[at] = 1
    return piece


def blocks(number):
    with open("block-%d-%d" % (os.getpid(), number), "wb") as file:
        file.write(b"x" * (1 << 20))


def inode(number):
    open("inode-%d-%d" % (os.getpid(), number), "w").close()


def nameless():
    file = tempfile.TemporaryFile(dir=".")
    file.write(b"x" * (1 << 20))
    file.flush()
    return file


def memory_file():
    handle = checked(libc.memfd_create(b"x", 0))
    os.write(handle, b"x" * (1 << 20))
    return handle


def of_system_v(make, remove):
    """What outlives its process, unless it is removed."""
    def take():
        number = checked(make())
        return ("removed by", lambda: remove(number))
    return take


shared_memory = of_system_v(lambda: libc.shmget(0, 65536, 0o1600), lambda it: libc.shmctl(it, 0, None))
semaphores = of_system_v(lambda: libc.semget(0, 100, 0o1600), lambda it: libc.semctl(it, 0, 0))
messages = of_system_v(lambda: libc.msgget(0, 0o1600), lambda it: libc.msgctl(it, 0, None))


def lock(path, how):
    def take():
        handle = os.open(path, os.O_RDONLY)
        kept.append(handle)
        if how == "flock":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif how == "shared":
            # Readers exclude each other only by writers: this one is a reader that stays.
            fcntl.fcntl(handle, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0))
        else:
            fcntl.fcntl(handle, 1024, fcntl.F_RDLCK)
    return take


def passed_descriptor(number, pair=[]):
    if not pair:
        pair[:] = socket.socketpair()
    if number % 100 == 99:
        pair[:] = socket.socketpair()
        kept.append(list(pair))
    socket.send_fds(pair[0], [b"x"], [0])


def sockets():
    return socket.socketpair()


def uring():
    return checked(libc.syscall(425, 8, ctypes.create_string_buffer(120)))


SHARED = ["/usr/bin/env", "/etc/passwd", "/usr/lib", "/", "/usr/share", "/etc/hosts", "/bin/sh", "/dev/null"]
# Name: what takes one, whether it wants a number, how many at most.
PROBES = {
    "inotify instances": (inotify, False, 3000),
    "inotify watches": (watch, True, 20000),
    "fanotify": (fanotify, False, 3000),
    "pipes": (pipe, False, 3000),
    "timers": (timer, False, 100000),
    "signals": (signals, False, 100000),
    "keys": (key, True, 1000),
    "message queues": (queue, True, 1000),
    "processes": (process, False, 20000),
    "threads": (thread, False, 20000),
    "descriptors": (descriptor, False, 100000),
    "terminals": (terminal, False, 5000),
    "aio": (aio, False, 1000),
    "locked memory": (locked_memory, False, 10000),
    "epoll watches": (epoll, True, 100000),
    "namespaces": (namespace(0x10000000), False, 1000),
    # Of what ends a program that takes too much, as much as it is let: E6 goes on from there.
    "memory": (memory, False, 40),
    "disk blocks": (blocks, True, 40),
    "inodes": (inode, True, 3000),
    "nameless files": (nameless, False, 30),
    "memory files": (memory_file, False, 40),
    "shared memory": (shared_memory, False, 5000),
    "semaphores": (semaphores, False, 5000),
    "messages": (messages, False, 5000),
    "passed descriptors": (passed_descriptor, True, 20000),
    "sockets": (sockets, False, 20000),
    "io_uring": (uring, False, 1000),
}
for path in SHARED:
    PROBES["lock of " + path] = (lock(path, "flock"), False, 1)
    PROBES["lease of " + path] = (lock(path, "lease"), False, 1)


def take(name, count):
    act, wants_number, most = PROBES[name]
    taken = 0
    while taken < min(count, most):
        try:
            kept.append(act(taken) if wants_number else act())
        except (OSError, RuntimeError, MemoryError, AttributeError, ValueError, struct.error) as error:
            return taken, str(getattr(error, "errno", None) or error)
        taken += 1
    return taken, None


def in_child(name, work):
    """What `work` says, from a process of its own: what one takes is gone with it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(work(name)).encode())
        except BaseException as error:
            os.write(writing, json.dumps([0, repr(error)]).encode())
        if work is held:
            until = time.time() + 60
            while not os.path.exists("stop") and time.time() < until:
                time.sleep(0.05)
        for it in kept:
            if isinstance(it, tuple) and it and it[0] == "process":
                os.kill(it[1], 9)
            if isinstance(it, tuple) and it and it[0] == "removed by":
                it[1]()
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 5)
    told = os.read(reading, 4096) if ready else b""
    os.close(reading)
    if work is not held:
        try:
            os.waitpid(child, 0)
        except OSError:
            pass
    return json.loads(told or b'[0, "nothing was told"]')


def held(name):
    return take(name, 1 << 30)


def can(name):
    return take(name, 8)


if __name__ == "__main__":
    only = sys.argv[3:] or sorted(PROBES)
    if sys.argv[1] == "hold":
        # What fills up everything else comes last.
        last = ["memory", "disk blocks", "inodes", "nameless files", "threads", "processes"]
        only = [it for it in only if it not in last] + [it for it in last if it in only]
    told = {}
    for name in only:
        try:
            told[name] = in_child(name, held if sys.argv[1] == "hold" else can)
        except OSError as error:
            told[name] = [0, "no process for it: %s" % error.errno]
    if sys.argv[2] == "-":
        print(json.dumps(told))
    else:
        with open(sys.argv[2] + ".part", "w") as out:
            json.dump(told, out)
        os.rename(sys.argv[2] + ".part", sys.argv[2])
    if sys.argv[1] == "hold":
        until = time.time() + 60
        while not os.path.exists("stop") and time.time() < until:
            time.sleep(0.05)
