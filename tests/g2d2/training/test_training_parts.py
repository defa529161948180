"""Codebook, text, noise and optimiser, each alone."""

import torch
from diffusers import VQDiffusionScheduler

from g2d2.training.data import PROMPTS
from g2d2.training.loop import cosine_lr, step_generator
from g2d2.training.orthogonal import OrthogonalMomentum, orthogonalise
from g2d2.training.vq_diffusion.codebook import MovingCodebook, kmeans, nearest
from g2d2.training.vq_diffusion.prompt_text import build_tokenizer
from g2d2.training.vq_diffusion.token_noise import corrupt, spread_timesteps
from g2d2.training.vq_diffusion.token_transformer import TokenPrior
from g2d2.training.vq_diffusion.vq_recipe import TransformerSettings, VQDiffusionRecipe


def test_kmeans_covers_separated_clusters() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = truth.repeat(50, 1) + 0.1 * torch.randn(150, 2, generator=generator)
    centres = kmeans(points, 9, generator)
    assert torch.cdist(truth, centres).min(1).values.max() < 0.3


def test_dead_codes_restart_from_the_batch() -> None:
    generator = torch.Generator().manual_seed(0)
    codes = torch.tensor([[0.0, 0.0], [100.0, 100.0]])
    book = MovingCodebook(codes, decay=0.5, dead_share=0.1)
    vectors = torch.randn(64, 2, generator=generator)
    restarted = book.update(vectors, nearest(vectors, codes), generator, restart=True)
    assert restarted == 1
    assert torch.cdist(codes[1:], vectors).min() == 0


def test_each_prompt_word_is_one_token_and_other_text_still_encodes() -> None:
    tokenizer = build_tokenizer(PROMPTS, 16)
    for prompt in PROMPTS:
        words = tokenizer.tokenize(prompt)
        assert words == [word + "</w>" for word in prompt.split()]
    unseen = tokenizer("zebra née 7", padding="max_length", max_length=16)["input_ids"]
    assert unseen.index(tokenizer.eos_token_id) > 5


def test_corruption_follows_the_scheduler() -> None:
    scheduler = VQDiffusionScheduler(num_vec_classes=9, num_train_timesteps=10)
    tokens = torch.randint(8, (4, 50_000), generator=torch.Generator().manual_seed(1))
    t = torch.tensor([0, 3, 6, 9])
    noisy = corrupt(tokens, t, scheduler, torch.Generator().manual_seed(2))
    masked = (noisy == scheduler.mask_class).float().mean(1)
    assert torch.allclose(masked, scheduler.log_cumprod_ct[t].exp(), atol=0.01)


def test_uniform_noise_is_applied_when_the_schedule_has_it() -> None:
    scheduler = VQDiffusionScheduler(num_vec_classes=9, num_train_timesteps=10, gamma_cum_end=0.5)
    tokens = torch.zeros(1, 50_000, dtype=torch.int64)
    noisy = corrupt(tokens, torch.tensor([9]), scheduler, torch.Generator().manual_seed(2))
    shares = torch.bincount(noisy[0], minlength=9) / 50_000
    assert torch.allclose(shares, torch.tensor([0.5 / 8] * 8 + [0.5]), atol=0.01)


def test_spread_timesteps_cover_all_levels() -> None:
    t = spread_timesteps(10, 100, torch.Generator().manual_seed(0))
    assert (t // 10).tolist() == list(range(10))


def test_row_timesteps_agree_with_scalar_ones() -> None:
    torch.manual_seed(0)
    settings = TransformerSettings(layers=2, heads=2, head_dim=8, timesteps=6, text_width=16)
    prior = TokenPrior(settings, codes=8, side=4)
    for weight in prior.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    z_t, labels = torch.randint(9, (3, 16)), torch.tensor([0, 5, 9])
    dropped = torch.tensor([False, True, False])
    together = prior(z_t, torch.tensor([1, 4, 5]), labels, dropped)
    for row, t in enumerate((1, 4, 5)):
        alone = prior(z_t[row : row + 1], torch.tensor(t), labels[row : row + 1], dropped[row : row + 1])
        assert torch.allclose(together[row : row + 1], alone, atol=1e-5)


def test_orthogonalise_flattens_the_spectrum() -> None:
    for shape in ((8, 32), (32, 8)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape), rounds=8))
        assert values.min() > 0.5
        assert values.max() < 1.5


def test_orthogonal_momentum_descends() -> None:
    torch.manual_seed(0)
    weight, goal = torch.nn.Parameter(torch.zeros(6, 4)), torch.randn(6, 4)
    optimizer = OrthogonalMomentum([weight], lr=0.02)
    start = (weight - goal).square().sum().item()
    for _ in range(100):
        optimizer.zero_grad()
        (weight - goal).square().sum().backward()
        optimizer.step()
    assert (weight - goal).square().sum().item() < 0.2 * start


def test_schedule_and_budget() -> None:
    assert cosine_lr(0.0) < 0.1
    assert cosine_lr(0.03) == 1.0
    assert abs(cosine_lr(1.0) - 0.02) < 1e-9
    recipe = VQDiffusionRecipe(out="x").with_minutes(41)
    assert abs(recipe.vqvae_limits.minutes + recipe.transformer_limits.minutes - 41) < 1e-9
    first, again = (torch.rand(3, generator=step_generator(0, "a", 1)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, torch.rand(3, generator=step_generator(0, "a", 2)))
