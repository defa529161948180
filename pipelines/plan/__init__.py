"""From a specification and a manifest to work items, written before anything runs."""
