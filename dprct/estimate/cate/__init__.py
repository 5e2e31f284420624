"""Private heterogeneous effects: a random partition, nuisances, and a one-step second stage."""
