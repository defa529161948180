"""A masked prior of human motion, with a tokeniser of its own, trained on captured clips."""
