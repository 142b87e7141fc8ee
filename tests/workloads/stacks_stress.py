# SPDX-License-Identifier: BSD-2-Clause
"""stacks_stress.py SECONDS: frames that change as fast as an interpreter can change them, in threads that come and go, between two
submissions each: calls, generators, exceptions, deep recursion, C in between, code that is made and thrown away. Prints how many threads
there were. CALLS says which function may stand in which, so that a test can tell frames that cannot be. Standard library only."""

import sys
import threading
import time

from stacks_python import Driver

CHURN_S = 0.006  # of a thread: it is looked at while it does this
THREADS = 3      # at a time, besides the main one
DEPTH = 300
MADE = "<made>"  # the file of code that is made

CALLS = {  # whose frame may stand right inside of whose; of made_<n> the number is left out
    "<module>": {"main"},
    "main": {"Driver.__init__", "Driver.call", "churn", "start", "submit"},
    "start": set(),
    "in_a_thread": {"Driver.enter", "submit", "churn"},
    "submit": {"Driver.call"},
    "Driver.__init__": {"Driver.call", "Driver.enter"},
    "Driver.enter": {"Driver.call"},
    "Driver.call": set(),
    "churn": {"calls", "generators", "exceptions", "recursion", "through_c", "made_code"},
    "calls": {"small", "larger"},
    "larger": {"small"},
    "small": set(),
    "generators": {"outer_generator"},
    "outer_generator": {"inner_generator"},
    "inner_generator": {"small"},
    "exceptions": {"raises"},
    "raises": {"raises", "small"},
    "recursion": {"down"},
    "down": {"down", "small"},
    "through_c": {"through_c.<locals>.<lambda>"},
    "through_c.<locals>.<lambda>": {"larger"},
    "made_code": {"<made>", "made_#"},
    "<made>": set(),  # what defines it
    "made_#": {"small"},
}


def small(n):
    return n + 1


def larger(n, *more):
    a, b, c = n, n + 1, n + 2
    return small(a) + b - c + len(more)


def calls():
    total = 0
    for i in range(50):
        total = small(total) if i % 2 else larger(total, i)
    return total


def inner_generator(n):
    for i in range(n):
        yield small(i)


def outer_generator(n):
    for i in range(n):
        yield from inner_generator(i)


def generators():
    return sum(outer_generator(12))


def raises(n):
    if n:
        try:
            return raises(n - 1)
        finally:
            small(n)
    raise ValueError(small(n))


def exceptions():
    try:
        raises(20)
    except ValueError as error:
        return error.args[0]


def down(n):
    return down(n - 1) + 1 if n else small(0)


def recursion():
    return down(DEPTH)


def through_c():
    return sorted([3, 1, 2], key=lambda x: larger(x))


def made_code(number):
    names = {"small": small}
    exec(compile(f"def made_{number}(n):\n    x = n\n    return small(x)\n", MADE, "exec"), names)
    return names[f"made_{number}"](number)


def churn(seconds):
    """The sum of what each has to give; any other sum is a broken interpreter."""
    end, rounds = time.monotonic() + seconds, 0
    while not rounds or time.monotonic() < end:
        assert (calls(), generators(), exceptions(), recursion()) == (50, 286, 1, DEPTH + 1)
        assert through_c() == [1, 2, 3] and made_code(rounds) == rounds + 1
        rounds += 1
    return rounds


def submit(driver):
    driver.call("cuLaunchKernel", driver.kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)


def in_a_thread(driver, done):
    driver.enter()
    submit(driver)
    done.append(churn(CHURN_S))
    submit(driver)


def start(driver, done):
    thread = threading.Thread(target=in_a_thread, args=(driver, done))
    thread.start()
    return thread


def main(seconds):
    driver, threads, done, started = Driver(), [], [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        threads = list(filter(threading.Thread.is_alive, threads))
        if len(threads) < THREADS:
            threads.append(start(driver, done))
            started += 1
        submit(driver)
        churn(CHURN_S / 2)
    for thread in threads:
        thread.join()
    driver.call("cuCtxSynchronize")
    assert len(done) == started and min(done) >= 1
    print(started)


if __name__ == "__main__":
    main(float(sys.argv[1]))
