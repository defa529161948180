"""Where a sweep may solve, decided from what a cluster says it has."""

import pytest
import ray
import ray.autoscaler.sdk

from operators import InputError
from pipelines.plan.sweep_spec import Resources
from pipelines.solve import devices
from pipelines.solve.devices import place


class Cluster:
    """Answers in turn, the last one for ever, and remembers what was asked of its autoscaler; a sleep takes no time."""

    def __init__(self, monkeypatch, *answers):
        self.answers, self.asked, self.now = list(answers), [], 0.0
        monkeypatch.setattr(ray, "cluster_resources", self.resources)
        monkeypatch.setattr(ray.autoscaler.sdk, "request_resources", lambda bundles: self.asked.append(bundles))
        monkeypatch.setattr(devices.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(devices.time, "sleep", self.sleep)

    def resources(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def sleep(self, seconds):
        self.now += seconds


def test_gpus_are_asked_for_again_and_the_request_is_withdrawn(monkeypatch):
    cluster, said = Cluster(monkeypatch, *[{}] * 25, {"GPU": 1.0}), []
    placement = place(Resources(devices=2, wait_for_gpus=400), said.append)
    assert (placement.actors, placement.most, str(placement)) == (1, 2, "1 GPU")
    assert cluster.asked == [[{"GPU": 1}] * 2] * 3 + [[]]
    assert len(said) == 1


def test_gpus_that_are_there_are_not_asked_for(monkeypatch):
    cluster = Cluster(monkeypatch, {"GPU": 3.0})
    assert place(Resources(wait_for_gpus=400), print).actors == 3
    assert cluster.asked == []


def test_a_wait_in_vain_leaves_no_request(monkeypatch):
    cluster = Cluster(monkeypatch, {"CPU": 2.0})
    with pytest.raises(InputError, match="no GPU joined the cluster within 5 s"):
        place(Resources(wait_for_gpus=5), print)
    assert cluster.asked == [[{"GPU": 1}], []]


def test_an_interrupted_wait_leaves_no_request(monkeypatch):
    cluster = Cluster(monkeypatch, {})

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(devices.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        place(Resources(wait_for_gpus=5), print)
    assert cluster.asked == [[{"GPU": 1}], []]


def test_graphs_are_refused_by_a_cluster_without_gpus(monkeypatch):
    Cluster(monkeypatch, {"CPU": 4.0})
    with pytest.raises(InputError, match=r"resources\.compile: graphs needs a GPU, .*; allowed here: true, false\."):
        place(Resources(compile="graphs"), print)
    Cluster(monkeypatch, {"CPU": 4.0, "GPU": 1.0})
    assert place(Resources(compile="graphs"), print).gpus == 1


def test_a_head_without_cores_does_not_solve(monkeypatch):
    Cluster(monkeypatch, {"memory": 1e9})
    with pytest.raises(InputError, match=r"neither GPUs nor CPU cores yet; resources\.wait_for_gpus"):
        place(Resources(), print)
