"""Training of the embedded prior: a VQ-VAE and a VQ-Diffusion transformer on CIFAR-10."""
