# SPDX-License-Identifier: Apache-2.0
# redis-py's own Lock, one thread: argv[1] is the port. For each line of input, a number of seconds, says how many pairs it
# made per second. Says "ready" first, or what is missing.
import sys
import time

try:
    import redis
except ImportError:
    print("missing: python3-redis is not installed", flush=True)
    sys.exit(0)

server = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]))
lock = server.lock("redis-py", timeout=30)
print("ready " + redis.__version__, flush=True)
for line in sys.stdin:
    start, count = time.monotonic(), 0
    end = start + float(line)
    while time.monotonic() < end:
        if not lock.acquire(blocking=False):
            sys.exit("the lock was not granted")
        lock.release()
        count += 1
    print(count / (time.monotonic() - start), flush=True)
