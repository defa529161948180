"""A prior of motions that needs no training: a token is four frames in which a standing body glides and turns.

What it makes is no good dance, but it is a motion with a path, so that everything around a prior can be tested.
"""

import torch
from torch import Tensor

from g2d2.priors.base import Condition, Discrete
from g2d2.schedule import cosine_mask_schedule
from operators.skeleton import FEATURES, LONGEST, features_from_joints
from tests.operators.skeleton.clips import walker

FRAMES = 4
CODES = torch.tensor([[turn, speed] for turn in (-0.05, -0.016, 0.0, 0.016, 0.05) for speed in (0.0, 0.02, 0.04)])
STANDING = features_from_joints(walker(1, dtype=torch.float64).expand(3, -1, -1)[None])[0, 0].float()


class Walking(Discrete):
    """Neighbouring tokens are alike; the prompt "stand still" wants no speed."""

    signal = "motion"
    x_shape = (LONGEST, FEATURES)
    num_tokens = LONGEST // FRAMES
    schedule = cosine_mask_schedule(steps=25, num_codes=len(CODES))

    @property
    def codebook(self) -> Tensor:
        return CODES.to(self.device)

    def condition(self, prompts, guidance, x_shapes=None) -> Condition:
        lengths = torch.tensor([-(-shape[0] // FRAMES) for shape in x_shapes], device=self.device)
        active = torch.arange(self.num_tokens, device=self.device) < lengths[:, None]
        still = torch.tensor([float("stand still" in prompt) for prompt in prompts], device=self.device)
        return Condition(still.view(-1, 1, 1), torch.tensor(guidance), active)

    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        codes = z_t.unsqueeze(1)  # (B, 1, D)
        kinds = torch.arange(len(CODES), device=self.device).view(1, -1, 1)
        near = sum((torch.roll(codes, shift, dims=2) == kinds).float() for shift in (-1, 1))
        slow = (CODES[:, 1] == 0).float().to(self.device).view(1, -1, 1) * condition.embeddings
        return (near + 4.0 * slow + 8.0 * (codes == kinds)).log_softmax(dim=1)

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        moves = embeddings.mT.repeat_interleave(FRAMES, dim=1)  # (B, F, 2)
        x = STANDING.to(moves).expand(*moves.shape[:2], -1)
        still = torch.zeros_like(moves[..., :1])
        return torch.cat([moves[..., :1], still, moves[..., 1:], x[..., 3:]], dim=-1)

    def encode(self, x: Tensor) -> Tensor:
        moves = x[..., [0, 2]].unflatten(1, (-1, FRAMES)).mean(2)
        return torch.cdist(moves, CODES.to(x)).argmin(-1)
