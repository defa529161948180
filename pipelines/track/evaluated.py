"""What a run evaluated: the manifest as MLflow's data set and the priors as its external models, each made once."""

import json
import re
from dataclasses import dataclass
from typing import Any

from pipelines.score.stored_sweep import StoredSweep
from pipelines.track.server import Server

_DIGEST = 36
"""Characters of a data set's digest that MLflow keeps."""
_PRIOR = "prior_digest"


@dataclass(frozen=True)
class Evaluated:
    """The data set of a run, and the model that its metrics are of."""

    dataset: Any
    """An `mlflow.entities.Dataset`."""

    models: tuple[str, ...] = ()
    """Ids of the priors; the metrics are of the first where it is the only one."""

    @property
    def of(self) -> dict[str, str]:
        """What a metric says of itself."""
        data = {"dataset_name": self.dataset.name, "dataset_digest": self.dataset.digest}
        return data | ({"model_id": self.models[0]} if len(self.models) == 1 else {})

    def inputs(self) -> dict[str, Any]:
        """For `log_inputs`."""
        from mlflow.entities import DatasetInput, InputTag, LoggedModelInput

        tags = [InputTag("mlflow.data.context", "evaluation")]
        return {"datasets": [DatasetInput(self.dataset, tags)], "models": [*map(LoggedModelInput, self.models)]}


def dataset(sweep: StoredSweep) -> Any:
    """The manifest with its digest, how many measurements of it are planned and their tasks."""
    from mlflow.entities import Dataset

    manifest, facts = sweep.spec.manifest, {"measurements": sweep.plan.measurements, "tasks": sweep.record.tasks}
    name = manifest.rstrip("/").rpartition("/")[2] or manifest
    source = json.dumps({"uri": manifest})
    digest = str(sweep.summary["manifest_digest"])[:_DIGEST]
    return Dataset(name, digest, "s3" if "://" in manifest else "local", source, profile=json.dumps(facts))


def prior_models(server: Server, experiment: str, sweep: StoredSweep) -> dict[str, str]:
    """Ids of the experiment's models by the name of the prior; found by the digest of the prior's files."""
    return {name: _model(server, experiment, name, digest) for name, digest in sweep.summary["priors"].items()}


def _model(server: Server, experiment: str, name: str, digest: str) -> str:
    def find_or_make() -> str:
        found = server.client.search_logged_models([experiment], f"tags.{_PRIOR} = '{digest}'", max_results=1)
        if found:
            return str(found[0].model_id)
        tags = {_PRIOR: digest, "prior": name, "mlflow.model.isExternal": "true"}
        plain = re.sub(r"[^\w-]+", "-", name).strip("-") or "prior"
        model = server.client.create_logged_model(experiment, plain, tags=tags, model_type="prior")
        return str(server.client.finalize_logged_model(model.model_id, "READY").model_id)

    return server.call(find_or_make)
