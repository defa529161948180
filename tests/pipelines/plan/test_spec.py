"""Specifications: what is refused, in which words, before anything heavy starts."""

import pytest

from operators import InputError
from pipelines.plan.sweep_spec import load_spec
from tests.pipelines.sweep_cases import specification, write_spec


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"colour": 1}, "unknown setting 'colour': known settings are name, manifest, output"),
        ({"name": "../x"}, "name is '../x'"),
        ({"seeds": [1, 1]}, "seeds is [1, 1]: it must name at least one seed, each once"),
        ({"metrics": ["psnr", "beauty"]}, "each must be one of"),
        ({"solver": {"settings": {"etakl": 1}}}, "'etakl' is not a setting of g2d2 (did you mean 'eta_kl'?)"),
        (
            {"grid": {"cross": {"eta_k": [1]}}},
            "'eta_k' is not a setting of g2d2 (did you mean 'eta_kl'?); known are process",
        ),
        ({"grid": {"exclude": [{"nonsense": 1}]}}, "'nonsense' is not a setting of g2d2"),
        (
            {"solver": {"preset": "finest"}},
            "solver: preset 'finest' (did you mean 'fast'?) must be one of tuned, fast, best, protocol, paper",
        ),
        ({"solver": {"experiment": "imagenet-sr9"}}, "experiment 'imagenet-sr9' (did you mean 'imagenet-sr4'?) needs"),
        ({"metrics": ["pnsr"]}, "'pnsr' (did you mean 'psnr'?): each must be one of"),
        ({"distribution": ["fdi"]}, "'fdi' (did you mean 'fid'?): each must be one of"),
        ({"seeds": [2**63]}, "is beyond the whole numbers of 64 bits"),
        ({"select": {"tasks": []}}, "select.tasks is []"),
        ({"output": "s3://KEY:hunter2@bucket/x"}, "it holds a password, token or key"),
        ({"resources": {"batch": 0}}, "resources.batch"),
        ({"resources": {"compile": "graph"}}, "resources.compile is 'graph': it must be true, false or graphs"),
        ({"tracking": {"uri": "postgresql://me:hunter2@host/db"}}, "it holds a password"),
        ({"keep": {"snapshots_at": [3]}}, "snapshots_at needs traces: true"),
    ],
)
def test_a_bad_specification_is_told_in_a_sentence(changes, said, tmp_path):
    path = write_spec(tmp_path / "spec.yaml", specification("m", "p", "o") | changes)
    with pytest.raises(InputError) as caught:
        load_spec(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_specification(tmp_path):
    for content, said in (("a: [", "it is not YAML"), ("- 1", "it must be a mapping"), ("", "name is missing")):
        (tmp_path / "spec.yaml").write_text(content)
        with pytest.raises(InputError, match=said):
            load_spec(tmp_path / "spec.yaml")
    with pytest.raises(InputError, match="there is no such file"):
        load_spec(tmp_path / "none.yaml")


def test_a_specification_survives_being_written_down(tmp_path):
    spec = load_spec(write_spec(tmp_path / "spec.yaml", specification("m", "p", "o")))
    again = load_spec(write_spec(tmp_path / "again.yaml", spec.model_dump(mode="json")))
    assert again == spec
