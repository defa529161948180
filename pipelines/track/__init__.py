"""Track: one MLflow writer, derived from committed Parquet alone, so that it can run again at any time."""

from pipelines.track.server import TrackingError
from pipelines.track.writer import Tracked, track, track_folder

__all__ = ["Tracked", "TrackingError", "track", "track_folder"]
