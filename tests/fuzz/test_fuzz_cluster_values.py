"""Spoiled values of clusters: every kind of file is rendered, or refused with a sentence."""

from pathlib import Path

import yaml
from hypothesis import strategies as st

from cluster.files import KINDS
from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import ODD_NUMBERS, ODD_STRINGS, paths, spoiled, spoiled_text
from tests.fuzz.oracle import g2d2

FILE = Path(__file__).parents[2] / "cluster" / "values.yaml"
OURS = {
    "tracking": "http://mlflow.internal:5000",
    "endpoint": "http://store:9000",
    "credentials": "~/.aws/credentials",
    "aws": {"region": "us-west-2", "ami": "ami-0123", "security_groups": ["sg-1"], "zones": ["us-west-2a"]},
    "gcp": {"project": "p", "zone": "us-central1-a", "worker_account": "a@p.iam"},
    "kubernetes": {"namespace": "default", "secrets": {"AWS_ACCESS_KEY_ID": "store"}, "node_selector": {"a": "b"},
                   "schedule": "0 2 * * *", "time_zone": "Etc/UTC", "cpus": 4, "memory_gib": 16, "retries": 1},
}  # fmt: skip
VALUES = yaml.safe_load(FILE.read_text()) | OURS
kinds = st.sampled_from(sorted(KINDS))
NAMES = sorted(".".join(map(str, path)) for path in paths(VALUES) if path)


def render(kind, *words):
    """What was rendered can be read again, and nothing in it is an object of a program's own."""
    outcome = g2d2("cluster", "render", kind, "--values", "values.yaml", *words)
    assert outcome.code in (0, 2)
    assert (outcome.code == 0) == bool(yaml.safe_load(outcome.out))


@amounts(quick=80, slow=2000)
def test_spoiled_values(examples, tmp_path):
    def check(case):
        kind, values = case
        (tmp_path / "values.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
        render(kind)

    addresses = [("output",), ("endpoint",), ("tracking",)]
    each_case(examples, st.tuples(kinds, spoiled(VALUES, addresses=addresses)), check)


@amounts(quick=30, slow=500)
def test_spoiled_text(examples, tmp_path):
    def check(case):
        kind, text = case
        (tmp_path / "values.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
        render(kind)

    each_case(examples, st.tuples(kinds, spoiled_text(FILE.read_text())), check)


@amounts(quick=30, slow=500)
def test_changes_on_the_command_line(examples, tmp_path):
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(VALUES))
    values = st.one_of(st.sampled_from(ODD_STRINGS), st.sampled_from(ODD_NUMBERS).filter(lambda n: abs(n) < 1e300))
    words = st.builds("{}={}".format, st.one_of(st.sampled_from(NAMES), st.sampled_from(ODD_STRINGS)), values)

    def check(case):
        kind, changes = case
        render(kind, "--set", *changes)

    each_case(examples, st.tuples(kinds, st.lists(words, min_size=1, max_size=3)), check)
