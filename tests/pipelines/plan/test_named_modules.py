"""Which modules of the user's own a sweep names, in its specification at any depth and in its manifest."""

import pyarrow as pa

from operators.validation import validate
from pipelines.plan.named_modules import is_module_name, named_modules
from pipelines.plan.spec_values import dotted, single_values, with_values
from pipelines.plan.sweep_spec import SweepSpec
from tests.pipelines.sweep_cases import specification


def sweep(prior="cifar10", **changes):
    return validate(SweepSpec, specification("m", prior, "o", **changes), where="specification")


class Rows:
    """A manifest of these operators, in batches of two."""

    def __init__(self, *operators):
        self.operators = operators

    def index(self, columns):
        assert columns == ["operator", "signal"]
        for start in range(0, len(self.operators), 2):
            operators = list(self.operators[start : start + 2])
            yield pa.record_batch({"operator": operators, "signal": ["image"] * len(operators)})


def test_names_of_ours_are_no_modules():
    assert named_modules(sweep(), Rows("gaussian_blur")) == {}
    assert named_modules(sweep("/a/prior:odd/path"), None) == {}


def test_a_module_is_named_once_with_its_first_key():
    spec = sweep("my.priors:Mine", solver={"method": "g2d2.methods.g2d2:G2D2"})
    manifest = Rows("identity", "my_operators:A", "my_operators:B", "my.priors:C")
    assert named_modules(spec, manifest) == {
        "my.priors": "prior",
        "g2d2.methods.g2d2": "solver.method",
        "my_operators": "manifest, column operator",
    }


def test_lists_and_deeper_keys_are_looked_into():
    class Deep:
        def model_dump(self, mode):
            return {"arms": {"one": {"method": "a:b"}}, "metrics": ["psnr", "c.d:e"], "name": "f:g"}

    assert named_modules(Deep(), None) == {"a": "arms.one.method", "c.d": "metrics"}


def test_what_looks_like_a_module_name():
    assert all(map(is_module_name, ("a:b", "a.b_1:C.d")))
    assert not any(map(is_module_name, ("a", "a:", ":b", "s3://a/b", "a b:c", "1a:b", "a:b:c", "./a:b", "a.:b")))


def test_single_values_of_nested_ones():
    values = {"a": [1, {"b": 2}], "c": {}, "d": None}
    assert [(dotted(keys), value) for keys, value in single_values(values)] == [("a", 1), ("a.b", 2), ("d", None)]
    doubled = with_values(values, lambda keys, value: value and 2 * value)
    assert doubled == {"a": [2, {"b": 4}], "c": {}, "d": None}
