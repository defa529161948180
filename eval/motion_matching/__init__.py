"""A small network that matches motions with prompts, its embedded weights, and how they are trained."""
