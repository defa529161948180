"""VQ-Diffusion priors, and CLIP-VQDiffusion's: from folders, from original checkpoints, with random weights."""
