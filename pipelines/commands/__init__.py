"""The subcommands of `g2d2`, one module each: `configure(parser)` and `run(args) -> exit code`."""
