"""Track: one MLflow writer, derived from committed Parquet alone, so that it can run again at any time."""

from pipelines.tracking.server import TrackingError
from pipelines.tracking.writer import Tracked, track, track_folder

__all__ = ["Tracked", "TrackingError", "track", "track_folder"]
