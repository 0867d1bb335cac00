"""A submission cannot choose "not graded": where the grader fails twice in the same call, it is a crash."""

import pytest

import grader
from grader.hosts import Hosts
from grader.worker import GraderFault, TimedOut, Worker
from tests.right.hand_decoder import HERE

RIGHT = HERE / "numpy_einsum.py"


def failing(monkeypatch, method, times):
    """The first ``times`` calls of a worker's method fail as the grader fails."""
    real, left = getattr(Worker, method), [times]

    def sometimes(self, *args, **kwargs):
        if left[0]:
            left[0] -= 1
            raise GraderFault("the process that starts submissions has failed")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Worker, method, sometimes)


def softmax():
    with Hosts("process") as hosts:
        return grader.grade(RIGHT, assignment="hand-decoder", only="softmax", hosts=hosts)


@pytest.mark.parametrize("method", ["call", "load"])
def test_one_fault_costs_nothing(monkeypatch, method):
    failing(monkeypatch, method, 1)
    assert all(verdict.passed for verdict in softmax().verdicts)


def test_two_faults_in_one_call_are_a_crash(monkeypatch):
    failing(monkeypatch, "call", 2)
    statuses = [verdict.status for verdict in softmax().verdicts]
    assert statuses.count("crashed") >= 1


def test_two_faults_at_import_make_it_unreadable(monkeypatch):
    failing(monkeypatch, "load", 2)
    result = softmax()
    assert result.rubric["status"] == "unreadable"
    assert "lost the process twice" in result.problem


def test_a_process_that_hangs_after_its_last_answer_keeps_its_grade(monkeypatch):
    def late(self):
        raise TimedOut(5)

    monkeypatch.setattr(Worker, "settle", late)
    assert all(verdict.passed for verdict in softmax().verdicts)
