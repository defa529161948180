"""MMM's two checkpoints, in the layout that is published, with random weights: converted strictly and to the number."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from g2d2.priors.loading import load_prior
from g2d2.priors.masked_motion.mmm_conversion import MmmSources, convert_mmm, convert_mmm_components
from g2d2.priors.masked_motion.random_motion import random_motion_components
from operators import InputError
from operators.skeleton import FEATURES
from pipelines.cli import main

WIDTH, DEPTH, CODES, CODE_WIDTH, TOKENS = 8, 3, 12, 4, 49
TOKEN_WIDTH, HEADS, TEXT, CROSS, BASE, HEAD = 32, 16, 32, 2, 3, 4


def convolution(state, name, into, out, kernel):
    state[f"{name}.weight"] = torch.randn(out, into, kernel) / math.sqrt(into * kernel)
    state[f"{name}.bias"] = 0.1 * torch.randn(out)


def published_vqvae():
    """Tensors by their published names."""
    state = {}
    for side, first, last in (("encoder", FEATURES, CODE_WIDTH), ("decoder", CODE_WIDTH, FEATURES)):
        model = f"vqvae.{side}.model"
        convolution(state, f"{model}.0", first, WIDTH, 3)
        change, refine, kernel = (0, 1, 4) if side == "encoder" else (2, 0, 3)
        for level in (2, 3):
            convolution(state, f"{model}.{level}.{change}", WIDTH, WIDTH, kernel)
            for block in range(DEPTH):
                convolution(state, f"{model}.{level}.{refine}.model.{block}.conv1", WIDTH, WIDTH, 3)
                convolution(state, f"{model}.{level}.{refine}.model.{block}.conv2", WIDTH, WIDTH, 1)
        if side == "decoder":
            convolution(state, f"{model}.4", WIDTH, WIDTH, 3)
        convolution(state, f"{model}.{4 if side == 'encoder' else 6}", WIDTH, last, 3)
    state["vqvae.quantizer.codebook"] = torch.randn(CODES, CODE_WIDTH)
    return state


def linear(state, name, into, out, bias=True):
    state[f"{name}.weight"] = torch.randn(out, into) / math.sqrt(into)
    if bias:
        state[f"{name}.bias"] = 0.1 * torch.randn(out)


def published_transformer(vqvae):
    state = {f"trans_base.vqvae.{name}": value for name, value in vqvae.items()}
    state["trans_base.learn_tok_emb.weight"] = torch.randn(3, CODE_WIDTH)
    linear(state, "trans_base.to_emb", CODE_WIDTH, TOKEN_WIDTH)
    for name in ("cond_emb", "word_emb"):
        linear(state, f"trans_base.{name}", TEXT, TOKEN_WIDTH)
    state["trans_base.pos_embedding.weight"] = torch.randn(TOKENS + 2, TOKEN_WIDTH)
    place, rate = torch.arange(TOKENS + 2.0)[:, None], 10000 ** (-torch.arange(0, TOKEN_WIDTH, 2.0) / TOKEN_WIDTH)
    table = torch.zeros(TOKENS + 2, 1, TOKEN_WIDTH)
    table[:, 0, 0::2], table[:, 0, 1::2] = (place * rate).sin(), (place * rate).cos()
    state["trans_base.pos_embed.embed"] = table
    layers = [
        *(f"trans_base.cross_att.{layer}" for layer in range(CROSS)),
        *(f"trans_base.blocks.{layer}" for layer in range(BASE)),
        *(f"trans_head.blocks.{layer}" for layer in range(HEAD)),
    ]
    for layer in layers:
        norms = ("ln1", "ln2", "ln3") if "cross_att" in layer else ("ln1", "ln2")
        for norm in norms:
            state[f"{layer}.{norm}.weight"] = 1 + 0.1 * torch.randn(TOKEN_WIDTH)
            state[f"{layer}.{norm}.bias"] = 0.1 * torch.randn(TOKEN_WIDTH)
        for part in ("key", "query", "value", "proj"):
            linear(state, f"{layer}.attn.{part}", TOKEN_WIDTH, TOKEN_WIDTH)
        state[f"{layer}.attn.mask"] = torch.ones(1, 1, 51, 51)
        linear(state, f"{layer}.mlp.0", TOKEN_WIDTH, 4 * TOKEN_WIDTH)
        linear(state, f"{layer}.mlp.2", 4 * TOKEN_WIDTH, TOKEN_WIDTH)
    state["trans_head.ln_f.weight"], state["trans_head.ln_f.bias"] = torch.ones(TOKEN_WIDTH), torch.zeros(TOKEN_WIDTH)
    linear(state, "trans_head.head", TOKEN_WIDTH, CODES, bias=False)
    return state


@pytest.fixture
def files(tmp_path):
    torch.manual_seed(0)
    vqvae = published_vqvae()
    torch.save({"net": vqvae}, tmp_path / "vq.pth")
    torch.save({"trans": published_transformer(vqvae)}, tmp_path / "trans.pth")
    np.save(tmp_path / "mean.npy", np.random.default_rng(0).normal(size=FEATURES))
    np.save(tmp_path / "std.npy", np.random.default_rng(1).uniform(0.1, 1, FEATURES))
    components = random_motion_components()  # its text encoder has CLIP's classes and the width asked for
    for name in ("text_encoder", "tokenizer"):
        getattr(components, name).save_pretrained(tmp_path / "clip" / name)
    return tmp_path


def sources(files, **changes):
    given = {
        "checkpoint": files / "trans.pth",
        "vqvae": files / "vq.pth",
        "mean": files / "mean.npy",
        "std": files / "std.npy",
        "text_encoder": str(files / "clip"),
    }
    return MmmSources(**given | changes)


def reference_decoder(state, codes):
    """The published decoder from its own description: resnet, nearest x2, convolution, twice."""

    def conv(x, name, **options):
        weight, bias = (state[f"vqvae.decoder.model.{name}.{kind}"] for kind in ("weight", "bias"))
        return nn.functional.conv1d(x, weight, bias, **options)

    x = conv(codes, "0", padding=1).relu()
    for level in (2, 3):
        for block, dilation in enumerate((9, 3, 1)):
            inner = conv(x.relu(), f"{level}.0.model.{block}.conv1", padding=dilation, dilation=dilation)
            x = x + conv(inner.relu(), f"{level}.0.model.{block}.conv2")
        x = conv(nn.functional.interpolate(x, scale_factor=2, mode="nearest"), f"{level}.2", padding=1)
    return conv(conv(x, "4", padding=1).relu(), "6", padding=1).mT


def reference_logits(state, ids, pooled, words, visible):
    """The published transformer from its own description, for ids that hold the end and padding already."""

    def dense(x, name):
        return nn.functional.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))

    def norm(x, name):
        return nn.functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])

    def attend(name, x, context, mask=None):
        q, k, v = (
            dense(part, f"{name}.{kind}").unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for kind, part in (("query", x), ("key", context), ("value", context))
        )
        return dense(
            nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2), f"{name}.proj"
        )

    def block(name, x, context=None, mask=None):
        normed = norm(x, f"{name}.ln1")
        x = x + attend(f"{name}.attn", normed, normed if context is None else norm(context, f"{name}.ln3"), mask)
        return x + dense(nn.functional.gelu(dense(norm(x, f"{name}.ln2"), f"{name}.mlp.0")), f"{name}.mlp.2")

    table = torch.cat([state["trans_base.vqvae.vqvae.quantizer.codebook"], state["trans_base.learn_tok_emb.weight"]])
    places = state["trans_base.pos_embed.embed"][:, 0]
    x = dense(table[ids], "trans_base.to_emb") + places[: ids.shape[1]]
    for layer in range(CROSS):
        x = block(f"trans_base.cross_att.{layer}", x, dense(words, "trans_base.word_emb"))
    x = torch.cat([dense(pooled, "trans_base.cond_emb")[:, None], x], dim=1) + places
    for room, count in (("trans_base", BASE), ("trans_head", HEAD)):
        for layer in range(count):
            x = block(f"{room}.blocks.{layer}", x, mask=visible)
    return dense(norm(x, "trans_head.ln_f"), "trans_head.head")[:, 1:]


def test_converted_networks_compute_what_the_published_tensors_say(files):
    components = convert_mmm_components(sources(files))
    state = torch.load(files / "trans.pth", weights_only=True)["trans"]
    codes = torch.randn(2, CODE_WIDTH, 7)
    expected = reference_decoder(torch.load(files / "vq.pth", weights_only=True)["net"], codes)
    assert torch.allclose(components.vqvae.decode(codes), expected, atol=1e-4)

    length, tokens = 20, torch.randint(CODES, (1, TOKENS))
    tokens[:, ::3] = CODES + 2
    ids = torch.full((1, TOKENS + 1), CODES + 1)
    ids[:, :length], ids[:, length] = tokens[:, :length], CODES
    pooled, words = torch.randn(1, TEXT), torch.randn(1, 16, TEXT)
    visible = (torch.arange(TOKENS + 2) <= length + 1)[None, None, None]
    expected = reference_logits(state, ids, pooled, words, visible)[:, :TOKENS].mT
    logits = components.transformer(tokens, torch.arange(TOKENS)[None] < length, pooled, words)
    assert torch.allclose(logits[..., :length], expected[..., :length], atol=1e-4)


def test_converted_folder_is_a_prior_of_its_own_normalisation(files):
    convert_mmm(sources(files), files / "prior")
    prior = load_prior(files / "prior")
    assert prior.x_shape == (196, FEATURES)
    assert prior.mask_id == CODES + 2
    assert torch.allclose(prior.normalisation.mean, torch.from_numpy(np.load(files / "mean.npy")).float())
    tokens = torch.full((1, TOKENS), prior.mask_id)
    log_p = prior.log_probs(tokens, 1, prior.condition(["walk"], [1.0], [(50, FEATURES)]))
    assert log_p.exp().sum(1).allclose(torch.ones(1, TOKENS), atol=1e-4)


def test_the_command_converts(files, capsys):
    command = ["prior", "convert", str(files / "trans.pth"), "--family", "masked_motion", "--out", str(files / "p")]
    rest = [f"--{name}={files / file}" for name, file in (("mean", "mean.npy"), ("std", "std.npy"))]
    assert main([*command, *rest, "--text-encoder", str(files / "clip")]) == 2
    assert "--vqvae is missing" in capsys.readouterr().err
    assert main([*command, *rest, "--text-encoder", str(files / "clip"), "--vqvae", str(files / "vq.pth")]) == 0
    assert "49 tokens, 12 codes" in capsys.readouterr().out


def changed(files, file, entry, change):
    content = torch.load(files / file, weights_only=True)
    change(content[entry])
    torch.save(content, files / "changed.pth")
    return files / "changed.pth"


def test_what_does_not_fit_is_refused_in_one_sentence(files):
    def refusal(match, **changes):
        with pytest.raises(InputError, match=match):
            convert_mmm_components(sources(files, **changes))

    refusal("another tokeniser", vqvae=changed(files, "vq.pth", "net", lambda s: s["vqvae.quantizer.codebook"].add_(1)))
    refusal(
        "'other', which MMM", checkpoint=changed(files, "trans.pth", "trans", lambda s: s.update(other=torch.ones(1)))
    )
    missing = "trans_head.blocks.1.attn.proj.bias"
    refusal(
        r"gives 'blocks.4.attention.out.bias'",
        checkpoint=changed(files, "trans.pth", "trans", lambda s: s.pop(missing)),
    )
    refusal(
        "other places",
        checkpoint=changed(files, "trans.pth", "trans", lambda s: s["trans_base.pos_embed.embed"].mul_(2)),
    )
    refusal("no entry 'trans'", checkpoint=files / "vq.pth")
    refusal("no array of numbers", mean=files / "vq.pth")
    np.save(files / "short.npy", np.ones(4))
    refusal(r"must be \(263,\)", std=files / "short.npy")


def test_a_pickle_that_is_more_than_tensors_is_not_opened(files):
    torch.save({"net": torch.nn.Linear(2, 2)}, files / "bad.pth")
    with pytest.raises(InputError, match="nothing in it was executed"):
        convert_mmm_components(sources(files, vqvae=files / "bad.pth"))
