"""Where evaluations run: job submission, cluster files and local services."""
