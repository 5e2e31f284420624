"""Private average treatment effects of an experiment."""
