"""How evaluations run over data: the manifest, the plan, the stages and the `g2d2` command."""
