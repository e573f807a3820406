"""Watches every folder that it may, and writes down what happens there, until a file says to stop."""

import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
handle = libc.inotify_init1(os.O_NONBLOCK)
places = ["/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", "/var"]
places += ["/usr/" + name for name in ("bin", "sbin", "lib", "lib64", "share", "local", "local/bin", "libexec")]
places += ["/usr/bin/env", "/usr/bin/ls", "/etc/passwd", "/usr/lib/x86_64-linux-gnu"]
watched = 0
for place in places:
    watched += libc.inotify_add_watch(handle, place.encode(), 0xFFF) >= 0
heard = b""
until = time.time() + 60
with open("watching", "w") as file:
    file.write("%d %d" % (handle, watched))
# What opening that file set off is its own.
while not os.path.exists("stop-watching") and time.time() < until:
    try:
        heard += os.read(handle, 65536)
    except OSError:
        time.sleep(0.02)
with open("heard", "wb") as file:
    file.write(heard)
