"""Threads are awaited, but not by an interrupt."""

import subprocess
import sys
import threading
import time

import pytest

from tilewright.threads import threads


def test_results_come_in_order_and_all_work_is_done() -> None:
    done: list[bool] = []
    with threads() as pool:
        found = pool.map(lambda number: number + 1, range(9))
        pool.submit(time.sleep, 0.05).add_done_callback(lambda _: done.append(True))
    assert list(found) == list(range(1, 10))
    assert done == [True]


def test_an_interrupt_does_not_wait() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(60)
        done.set()

    def interrupted() -> None:
        with threads() as pool:
            pool.submit(work)
            begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not done.is_set()
    go_on.set()


def test_an_interrupted_command_ends_at_once() -> None:
    """With status 130, although a thread is in the midst of something."""
    code = """
import signal, sys, time, types
from tilewright.cli import main
from tilewright.threads import threads

def plan():
    '''Interrupted while a thread sleeps.'''
    with threads() as pool:
        pool.submit(time.sleep, 60)
        signal.raise_signal(signal.SIGINT)

sys.modules["tilewright.cli.plan"] = types.SimpleNamespace(plan=plan)
sys.argv = ["tilewright", "plan"]
main.main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert ended.returncode == 130
    assert ended.stderr == ""
