"""The converter, on tiny checkpoints written here in the original layout by an inverse mapping of its own."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
import yaml

from g2d2.priors import Architecture, load_prior
from g2d2.priors.catalog import CATALOG
from g2d2.priors.vq_diffusion import conversion
from g2d2.priors.vq_diffusion.clip_conditioned import ClipConditionedTransformer, GumbelVQModel
from g2d2.priors.vq_diffusion.components import COMPONENT_CLASSES, OTHER_CLASSES
from g2d2.priors.vq_diffusion.conversion import Sources, convert
from g2d2.priors.vq_diffusion.random_weights import random_components
from operators import InputError

Transformer2DModel, VQModel = COMPONENT_CLASSES["transformer"], COMPONENT_CLASSES["vqvae"]

CODES, SIDE, STEPS, WORDS, HEADS, WIDTH = 8, 4, 10, 16, 2, 8

SHAPE = Architecture(
    codes=CODES,
    code_width=4,
    latent_width=4,
    token_side=SIDE,
    decoder_channels=(32, 64),
    decoder_layers=1,
    norm_groups=32,
    transformer_layers=2,
    heads=HEADS,
    head_width=WIDTH // HEADS,
    text_width=8,
    text_length=WORDS,
    train_steps=STEPS,
)


def tiny_vqvae(kind=VQModel):
    torch.manual_seed(1)
    model = kind(
        down_block_types=("DownEncoderBlock2D", "AttnDownEncoderBlock2D"),
        up_block_types=("AttnUpDecoderBlock2D", "UpDecoderBlock2D"),
        block_out_channels=(32, 64),
        layers_per_block=1,
        latent_channels=4,
        vq_embed_dim=4,
        num_vq_embeddings=CODES,
        norm_num_groups=32,
        sample_size=8,
    )
    shake(model)
    return model.eval()


def shake(module):
    """No parameter stays at a value another one has, so that none can be swapped unnoticed."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))


# The inverse mapping: what the original code calls each tensor.


def original_attention(prefix, state, old):
    names = {"query": "to_q", "key": "to_k", "value": "to_v", "proj": "to_out.0"}
    return {f"{prefix}.{a}.{p}": state[f"{old}.{b}.{p}"] for a, b in names.items() for p in ("weight", "bias")}


def original_transformer(state, layers, clip):
    out = {
        f"content_emb.{n}.weight": state[f"latent_image_embedding.{n}.weight"]
        for n in ("emb", "height_emb", "width_emb")
    }
    for p in ("weight", "bias"):
        out[f"to_logits.0.{p}"], out[f"to_logits.1.{p}"] = state[f"norm_out.{p}"], state[f"out.{p}"]
    for i in range(layers):
        old, new = f"transformer_blocks.{i}", f"blocks.{i}"
        pairs = {"ln1.emb.weight": "norm1.emb.weight"}
        pairs |= {f"ln1.linear.{p}": f"norm1.linear.{p}" for p in ("weight", "bias")}
        if clip:
            pairs |= {f"ln2.{m}.{p}": f"norm2.{m}.{p}" for m in ("emb", "linear") for p in ("weight", "bias")}
            pairs |= {f"mlp.{m}.{p}": f"ff.{m}.{p}" for m in ("conv1", "conv2") for p in ("weight", "bias")}
            out |= original_attention(f"{new}.attn", state, f"{old}.attn1")
        else:
            pairs |= {"ln1_1.emb.weight": "norm2.emb.weight"}
            pairs |= {f"ln1_1.linear.{p}": f"norm2.linear.{p}" for p in ("weight", "bias")}
            pairs |= {f"ln2.{p}": f"norm3.{p}" for p in ("weight", "bias")}
            pairs |= {f"mlp.0.{p}": f"ff.net.0.proj.{p}" for p in ("weight", "bias")}
            pairs |= {f"mlp.2.{p}": f"ff.net.2.{p}" for p in ("weight", "bias")}
            out |= original_attention(f"{new}.attn1", state, f"{old}.attn1")
            out |= original_attention(f"{new}.attn2", state, f"{old}.attn2")
        out |= {f"{new}.{a}": state[f"{old}.{b}"] for a, b in pairs.items()}
    assert len(out) == len(state)
    return out


def original_vqvae(model, codebook):
    """Walks the modules, so that no name is derived from the converter's tables."""
    out = {}

    def put(name, module):
        out.update({f"{name}.{p}": v for p, v in module.state_dict().items()})

    def resnet(name, block):
        for part in ("norm1", "conv1", "norm2", "conv2"):
            put(f"{name}.{part}", getattr(block, part))
        if block.conv_shortcut is not None:
            put(f"{name}.nin_shortcut", block.conv_shortcut)

    def attention(name, block):
        put(f"{name}.norm", block.group_norm)
        for new, layer in {"q": block.to_q, "k": block.to_k, "v": block.to_v, "proj_out": block.to_out[0]}.items():
            out[f"{name}.{new}.weight"] = layer.weight.detach()[:, :, None, None]
            out[f"{name}.{new}.bias"] = layer.bias.detach()

    for side, half in (("encoder", model.encoder), ("decoder", model.decoder)):
        put(f"{side}.conv_in", half.conv_in)
        put(f"{side}.conv_out", half.conv_out)
        put(f"{side}.norm_out", half.conv_norm_out)
        resnet(f"{side}.mid.block_1", half.mid_block.resnets[0])
        resnet(f"{side}.mid.block_2", half.mid_block.resnets[1])
        attention(f"{side}.mid.attn_1", half.mid_block.attentions[0])
        levels = list(half.down_blocks) if side == "encoder" else list(half.up_blocks)[::-1]
        direction = "down" if side == "encoder" else "up"
        for i, level in enumerate(levels):
            for j, block in enumerate(level.resnets):
                resnet(f"{side}.{direction}.{i}.block.{j}", block)
            for j, block in enumerate(getattr(level, "attentions", [])):
                attention(f"{side}.{direction}.{i}.attn.{j}", block)
            for sampler in getattr(level, f"{direction}samplers", None) or []:
                put(f"{side}.{direction}.{i}.{direction}sample.conv", sampler.conv)
    put("quant_conv", model.quant_conv)
    put("post_quant_conv", model.post_quant_conv)
    out[codebook] = model.quantize.embedding.weight.detach()
    if isinstance(model, GumbelVQModel):
        put("quantize.proj", model.quantize.proj)
    assert len(out) == len(model.state_dict())
    out["loss.discriminator.weight"] = torch.zeros(1)  # training leaves these behind
    return out


def yaml_files(folder, *, clip=False, gumbel=False, **changes):
    content = {"num_embed": CODES, "spatial_size": (SIDE, SIDE), "embed_dim": WIDTH, "pos_emb_type": "embedding"}
    transformer = {
        "n_layer": 2, "n_embd": WIDTH, "n_head": HEADS, "content_seq_len": SIDE**2,
        "content_spatial_size": [SIDE, SIDE], "block_activate": "GELU2", "timestep_type": "adalayernorm",
        "mlp_hidden_times": 4,
    }  # fmt: skip
    transformer |= (
        {"class_type": "adalayerclip", "attn_type": "selfcondition", "mlp_type": "conv_mlp"}
        if clip
        else {"attn_type": "selfcross", "condition_dim": 8}
    )
    kind = "Condition2ImageTransformer" if clip else "Text2ImageTransformer"
    diffusion = {
        "diffusion_step": STEPS,
        "alpha_init_type": "alpha1",
        "learnable_cf": True,
        "transformer_config": {"target": f"a.b.{kind}", "params": transformer | changes},
        "content_emb_config": {"target": "a.b.DalleMaskImageEmbedding", "params": content},
    }
    if not clip:
        text = {"normalize": True, "pick_last_embedding": False}
        diffusion["condition_emb_config"] = {"target": "a.b.CLIPTextEmbedding", "params": text}
    model = {
        "target": "a.b.DALLE",
        "params": {
            "content_codec_config": {"target": "a.b.TamingGumbelVQVAE", "params": {"quantize_number": 0}},
            "condition_codec_config": {"params": {"pad_value": 1}},
            "diffusion_config": {"target": "a.b.DiffusionTransformer", "params": diffusion},
        },
    }
    net = {
        "double_z": False, "z_channels": 4, "resolution": 8, "in_channels": 3, "out_ch": 3, "ch": 32, "ch_mult": [1, 2],
        "num_res_blocks": 1, "attn_resolutions": [4], "dropout": 0.0,
    }  # fmt: skip
    vqvae = {
        "target": f"a.b.{'GumbelVQ' if gumbel else 'VQModel'}",
        "params": {"embed_dim": 4, "n_embed": CODES, "ddconfig": net},
    }
    # tuples are dumped with the Python tag that the published files carry
    (folder / "model.yaml").write_text(yaml.dump({"model": model, "solver": {"betas": (0.9, 0.96)}}))
    (folder / "vqvae.yaml").write_text(yaml.dump({"model": vqvae}))
    assert "!!python/tuple" in (folder / "model.yaml").read_text()


def saved_text(parts, folder):
    parts.text_encoder.save_pretrained(folder / "clip" / "text_encoder")
    parts.tokenizer.save_pretrained(folder / "clip" / "tokenizer")


@pytest.fixture
def text_model(tmp_path):
    """A tiny VQ-Diffusion in the original layout, its diffusers parts, and how to convert it."""
    parts = random_components(SHAPE, seed=2)
    parts.vqvae = tiny_vqvae()
    shake(parts.transformer)
    last = copy.deepcopy(parts.transformer)
    shake(last)
    blank = parts.learned_classifier_free_sampling_embeddings.embeddings.detach()
    ema = {f"transformer.{n}": v for n, v in original_transformer(parts.transformer.state_dict(), 2, False).items()}
    now = {f"transformer.transformer.{n}": v for n, v in original_transformer(last.state_dict(), 2, False).items()}
    ema |= {"empty_text_embed": blank.double(), "log_at": torch.zeros(STEPS)}
    now |= {"transformer.empty_text_embed": 2 * blank.double()}
    torch.save({"last_epoch": 3, "model": now, "ema": ema}, tmp_path / "model.pth")
    torch.save({"state_dict": original_vqvae(parts.vqvae, "quantize.embedding.weight")}, tmp_path / "vqvae.ckpt")
    saved_text(parts, tmp_path)
    yaml_files(tmp_path)
    return parts, last, tmp_path


def sources(folder, **changes):
    given = {
        "checkpoint": folder / "model.pth", "config": folder / "model.yaml", "vqvae_config": folder / "vqvae.yaml",
        "vqvae": folder / "vqvae.ckpt", "text_encoder": str(folder / "clip"),
    }  # fmt: skip
    return Sources(**{**given, **changes})


def tokens(rows=2):
    return torch.randint(0, CODES + 1, (rows, SIDE**2), generator=torch.Generator().manual_seed(0))


def same_vqvae(made, expected):
    image = torch.rand(2, 3, 8, 8) * 2 - 1
    torch.testing.assert_close(made.encode(image).latents, expected.encode(image).latents)
    latents = torch.randn(2, 4, SIDE, SIDE)
    for quantise in (True, False):
        torch.testing.assert_close(
            made.decode(latents, force_not_quantize=not quantise).sample,
            expected.decode(latents, force_not_quantize=not quantise).sample,
        )


@torch.no_grad()
def test_vq_diffusion_comes_back_as_it_was(text_model):
    parts, _, folder = text_model
    prior = load_prior(convert(sources(folder), folder / "out"))
    assert isinstance(prior.components.transformer, Transformer2DModel)
    states = torch.randn(2, WORDS, 8)
    for t in (0, STEPS - 1):
        got = prior.components.transformer(tokens(), states, torch.tensor(t)).sample
        torch.testing.assert_close(got, parts.transformer.eval()(tokens(), states, torch.tensor(t)).sample)
    same_vqvae(prior.components.vqvae, parts.vqvae)
    blank = prior.components.learned_classifier_free_sampling_embeddings.embeddings
    torch.testing.assert_close(blank, parts.learned_classifier_free_sampling_embeddings.embeddings)
    assert prior.schedule.train_steps == STEPS
    assert prior.x_shape == (3, 8, 8)
    assert prior.components.tokenizer.pad_token_id == 1
    condition = prior.condition(["frog", "cat"], [2.0, 0.0])
    assert prior.log_probs(tokens(), 5, condition).isfinite().all()


@torch.no_grad()
def test_the_last_weights_can_be_chosen(text_model):
    _, last, folder = text_model
    prior = load_prior(convert(sources(folder, weights="model"), folder / "out"))
    states = torch.randn(2, WORDS, 8)
    got = prior.components.transformer(tokens(), states, torch.tensor(3)).sample
    torch.testing.assert_close(got, last.eval()(tokens(), states, torch.tensor(3)).sample)


@torch.no_grad()
def test_without_a_learned_embedding_the_empty_prompt_is_unconditional(text_model):
    _, _, folder = text_model
    config = (folder / "model.yaml").read_text()
    (folder / "model.yaml").write_text(config.replace("learnable_cf: true", "learnable_cf: false"))
    prior = load_prior(convert(sources(folder), folder / "out"))
    blank = prior.condition(["frog", ""], [0.0, 1.0]).embeddings
    torch.testing.assert_close(blank[0], blank[1])


def test_the_tokeniser_stored_in_a_training_checkpoint_is_found(text_model):
    parts, _, folder = text_model
    content = torch.load(folder / "model.pth")
    for name, value in original_vqvae(parts.vqvae, "quantize.embedding").items():
        half = "dec" if name.startswith(("decoder", "post_quant_conv")) else "enc"
        content["model"][f"content_codec.{half}.{name}"] = value
    torch.save(content, folder / "model.pth")
    prior = load_prior(convert(sources(folder, vqvae=None), folder / "out"))
    same_vqvae(prior.components.vqvae, parts.vqvae)


# The original block, written from its description alone: what the converted network must compute.


def attend(x, memory, state, name):
    def project(part, value):
        made = F.linear(value, state[f"{name}.{part}.weight"], state[f"{name}.{part}.bias"])
        return made.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    query, key, value = project("query", x), project("key", memory), project("value", memory)
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return F.linear(
        (weights @ value).transpose(1, 2).flatten(2), state[f"{name}.proj.weight"], state[f"{name}.proj.bias"]
    )


def adaptive(x, state, name, vector):
    scale, shift = F.linear(F.silu(vector), state[f"{name}.linear.weight"], state[f"{name}.linear.bias"]).chunk(2, -1)
    return F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift


def original_forward(state, z, condition, t, clip):
    rows, columns = state["content_emb.height_emb.weight"], state["content_emb.width_emb.weight"]
    x = state["content_emb.emb.weight"][z] + (rows[:, None] + columns[None]).flatten(0, 1)
    for i in range(2):
        name = f"blocks.{i}"
        h = adaptive(x, state, f"{name}.ln1", state[f"{name}.ln1.emb.weight"][t])
        if clip:
            x = x + attend(h, h, state, f"{name}.attn")
            vector = F.linear(condition, state[f"{name}.ln2.emb.weight"], state[f"{name}.ln2.emb.bias"])
            h = adaptive(x, state, f"{name}.ln2", vector).mT.unflatten(-1, (SIDE, SIDE))
            h = F.conv2d(h, state[f"{name}.mlp.conv1.weight"], state[f"{name}.mlp.conv1.bias"], padding=1)
            h = h * torch.sigmoid(1.702 * h)
            h = F.conv2d(h, state[f"{name}.mlp.conv2.weight"], state[f"{name}.mlp.conv2.bias"], padding=1)
            x = x + h.flatten(2).mT
        else:
            x = x + attend(h, h, state, f"{name}.attn1")
            h = adaptive(x, state, f"{name}.ln1_1", state[f"{name}.ln1_1.emb.weight"][t])
            x = x + attend(h, condition, state, f"{name}.attn2")
            h = F.layer_norm(x, x.shape[-1:], state[f"{name}.ln2.weight"], state[f"{name}.ln2.bias"])
            h = F.linear(h, state[f"{name}.mlp.0.weight"], state[f"{name}.mlp.0.bias"])
            h = h * torch.sigmoid(1.702 * h)
            x = x + F.linear(h, state[f"{name}.mlp.2.weight"], state[f"{name}.mlp.2.bias"])
    x = F.layer_norm(x, x.shape[-1:], state["to_logits.0.weight"], state["to_logits.0.bias"])
    return F.linear(x, state["to_logits.1.weight"], state["to_logits.1.bias"]).mT.log_softmax(1)


def strip(state):
    return {name.removeprefix("transformer."): value for name, value in state.items()}


@torch.no_grad()
def test_vq_diffusion_computes_what_the_original_block_computes(text_model):
    _, _, folder = text_model
    prior = load_prior(convert(sources(folder), folder / "out"))
    state = strip(torch.load(folder / "model.pth")["ema"])
    condition = torch.randn(2, WORDS, 8)
    got = prior.components.transformer(tokens(), condition, torch.tensor(4)).sample
    torch.testing.assert_close(got, original_forward(state, tokens(), condition, 4, False), rtol=1e-4, atol=1e-4)


@pytest.fixture
def clip_model(tmp_path):
    """A tiny CLIP-VQDiffusion as released: one bare state dict, and a Gumbel VQGAN."""
    torch.manual_seed(5)
    parts = random_components(SHAPE, seed=2)
    config = parts.text_encoder.config
    config.projection_dim = WIDTH
    parts.text_encoder = OTHER_CLASSES["CLIPTextModelWithProjection"](config)
    transformer = ClipConditionedTransformer(HEADS, WIDTH // HEADS, 2, WIDTH, SIDE, CODES + 1, STEPS)
    shake(transformer)
    parts.vqvae = tiny_vqvae(GumbelVQModel)
    released = {f"transformer.{n}": v for n, v in original_transformer(transformer.state_dict(), 2, True).items()}
    released["empty_text_embed"] = torch.randn(1, WIDTH)
    torch.save(released, tmp_path / "model.pth")
    torch.save({"state_dict": original_vqvae(parts.vqvae, "quantize.embed.weight")}, tmp_path / "vqvae.ckpt")
    saved_text(parts, tmp_path)
    yaml_files(tmp_path, clip=True, gumbel=True)
    return parts, released, tmp_path


@torch.no_grad()
def test_clip_vq_diffusion_computes_what_the_original_block_computes(clip_model):
    _, released, folder = clip_model
    prior = load_prior(convert(sources(folder), folder / "out"))
    condition = prior.condition(["a face", "another"], [1.0, 1.0])
    assert condition.embeddings.shape == (2, 1, WIDTH)
    torch.testing.assert_close(condition.embeddings.norm(dim=-1), torch.ones(2, 1))
    expected = original_forward(strip(released), tokens(), condition.embeddings, 4, True)
    torch.testing.assert_close(prior.log_probs(tokens(), 5, condition), expected, rtol=1e-4, atol=1e-4)
    nobody = prior.condition(["", ""], [0.0, 0.0])
    torch.testing.assert_close(nobody.embeddings, released["empty_text_embed"].expand(2, 1, -1))
    guided = prior.log_probs(tokens(), 5, prior.condition(["a face", "another"], [3.0, 0.5]))
    torch.testing.assert_close(guided.exp().sum(1), torch.ones(2, SIDE**2))


@torch.no_grad()
def test_a_gumbel_tokeniser_picks_codes_by_logits(clip_model):
    parts, _, folder = clip_model
    prior = load_prior(convert(sources(folder), folder / "out"))
    same_vqvae(prior.components.vqvae, parts.vqvae)
    image = torch.rand(2, 3, 8, 8) * 2 - 1
    state = torch.load(folder / "vqvae.ckpt")["state_dict"]
    logits = F.conv2d(parts.vqvae.encode(image).latents, state["quantize.proj.weight"], state["quantize.proj.bias"])
    assert torch.equal(prior.encode(image), logits.argmax(1).flatten(1))
    assert torch.equal(prior.codebook, state["quantize.embed.weight"])


def test_a_prompt_embedding_changes_the_converted_clip_prior(clip_model):
    _, _, folder = clip_model
    prior = load_prior(convert(sources(folder), folder / "out"))
    log_p = prior.log_probs(tokens(1).expand(2, -1), 5, prior.condition(["x", "yz"], [1.0, 1.0]))
    assert not torch.allclose(log_p[0], log_p[1])


def test_published_configurations_give_networks_of_the_published_size():
    """Sizes of ITHQ's files as the hub states them; the numbers are those of its two YAML files."""
    half = {
        "ch": 64, "ch_mult": [1, 2, 4, 8], "num_res_blocks": 2, "out_ch": 3, "in_channels": 3, "z_channels": 256,
        "resolution": [256, 256], "attn_resolutions": [[32, 32]],
    }  # fmt: skip
    codec = {"encoder_config": {"params": half}, "decoder_config": {"params": half}, "embed_dim": 128, "n_embed": 4096}
    block = {
        "n_layer": 36, "n_embd": 1408, "n_head": 16, "condition_dim": 512, "content_spatial_size": [32, 32],
        "block_activate": "GELU2", "timestep_type": "adalayernorm", "mlp_hidden_times": 4,
    }  # fmt: skip
    diffusion = {
        "alpha_init_type": "alpha1",
        "transformer_config": {"target": "a.Text2ImageTransformer", "params": block},
        "condition_emb_config": {"params": {"pick_last_embedding": False}},
        "content_emb_config": {"params": {"num_embed": 4096}},
    }
    with torch.device("meta"):
        vqvae = conversion._empty_vqvae(
            {"target": "a.PatchVQGAN", "params": codec | {"quantizer_type": "EMAVQ"}}, "yaml"
        )
        build, _, pooled = conversion._transformer_kind(diffusion, "yaml")
        transformer = build(conversion._transformer_numbers(diffusion, pooled, "yaml"))
    published = {file.path: file.size for file in CATALOG["ithq"].files}
    for network, name in ((vqvae, "vqvae"), (transformer, "transformer")):
        size = 4 * sum(parameter.numel() for parameter in network.parameters())
        assert size == pytest.approx(published[f"{name}/diffusion_pytorch_model.bin"], rel=0.005)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_type": "adainclip"}, "class_type is 'adainclip', which the converter does not support"),
        ({"mlp_type": "fc"}, "mlp_type is 'fc'"),
        ({"block_activate": "GELU"}, "block_activate is 'GELU'"),
        ({"timestep_type": "adalayernorm_abs"}, "timestep_type is 'adalayernorm_abs'"),
    ],
)
def test_what_cannot_be_represented_is_refused_by_name(clip_model, changes, message):
    _, _, folder = clip_model
    yaml_files(folder, clip=True, gumbel=True, **changes)
    with pytest.raises(InputError, match=message) as error:
        convert(sources(folder), folder / "out")
    assert "\n" not in str(error.value)
    assert not (folder / "out").exists()


def test_bad_files_are_one_sentence(text_model):
    _, _, folder = text_model

    def refused(message, **changes):
        with pytest.raises(InputError, match=message) as error:
            convert(sources(folder, **changes), folder / "out")
        assert "\n" not in str(error.value)
        assert not list(folder.glob(".out*"))

    refused("nowhere.pth: there is no such file", checkpoint=folder / "nowhere.pth")
    refused("is not a VQGAN checkpoint", vqvae=folder / "model.pth")
    refused("is not a VQ-Diffusion checkpoint", checkpoint=folder / "vqvae.ckpt")
    refused("holds no tokeniser", vqvae=None)
    refused("weights: 'best' is unknown", weights="best")
    refused("has no section model.params", config=folder / "clip" / "tokenizer" / "tokenizer_config.json")
    refused("neither a folder here nor a hub id", text_encoder="clip")
    yaml_files(folder, n_layer=3)
    refused("tensor 'transformer.blocks.2.*' is missing; does the YAML file belong to it")
    yaml_files(folder, n_embd=16)
    refused(r"but the YAML file asks for \(9, 16\)")
    (folder / "model.yaml").write_text("model: !!python/object/apply:os.system ['touch x']")
    refused("not plain YAML, and nothing in it was executed")


def test_an_existing_folder_is_never_overwritten(text_model):
    _, _, folder = text_model
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="exists already"):
        convert(sources(folder), folder / "out")
    assert (folder / "out" / "mine.txt").read_text() == "keep"
