"""Convert a checkpoint of VQ-Diffusion or CLIP-VQDiffusion from its original layout to a folder `load_prior` reads.

Supported: text-to-image VQ-Diffusion (a CLIP state per word, cross-attention) and CLIP-VQDiffusion (one CLIP embedding
of the prompt, `class_type: adalayerclip`), with a taming VQGAN, its Gumbel variant or VQ-Diffusion's PatchVQGAN.
Class-conditional and unconditional models, other adaptive norms and reduced codebooks are refused by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from diffusers import Transformer2DModel, VQDiffusionScheduler, VQModel
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import (
    LearnedClassifierFreeSamplingEmbeddings,
)

from g2d2.priors.new_folders import require_new, written_whole
from g2d2.priors.vq_diffusion.clip_conditioned import ClipConditionedTransformer, GumbelVQModel
from g2d2.priors.vq_diffusion.components import Components, check_components
from g2d2.priors.vq_diffusion.layout import COMPONENTS
from g2d2.priors.vq_diffusion.original_layout import WEIGHTS, State, allow, entry, read_diffusion, read_vqvae, read_yaml
from g2d2.priors.vq_diffusion.original_names import (
    CLIP_TRANSFORMER,
    TEXT_TRANSFORMER,
    original_vqvae_name,
    rename,
    take,
)
from g2d2.priors.vq_diffusion.text_encoders import load_text_encoder
from operators.errors import InputError


@dataclass(frozen=True)
class Sources:
    """The files a user brings."""

    checkpoint: Path
    config: Path
    vqvae_config: Path
    vqvae: Path | None = None
    """None: the tokeniser is stored in the checkpoint itself, as training checkpoints do."""
    text_encoder: str = "openai/clip-vit-base-patch32"
    """Folder or hub id of the CLIP model the prior was trained with."""
    weights: str = "ema"


def convert(sources: Sources, out: str | Path) -> Path:
    """Write the prior's folder at once, or not at all."""
    out = Path(out)
    require_new(out)
    components = convert_components(sources)
    with written_whole(out) as folder:
        for name in COMPONENTS:
            getattr(components, name).save_pretrained(folder / name)
    return out


def convert_components(sources: Sources) -> Components:
    """Configurations are read and refused first; the large files come last."""
    if sources.weights not in WEIGHTS:
        raise InputError(f"weights: {sources.weights!r} is unknown; choose one of {', '.join(WEIGHTS)}.")
    params = read_yaml(sources.config)["params"]
    diffusion = entry(params, "diffusion_config", "params", where=str(sources.config))
    build, rules, pooled = _transformer_kind(diffusion, str(sources.config))
    _check_codec(params, str(sources.config))
    vqvae_config = read_yaml(sources.vqvae_config)
    vqvae = _empty_vqvae(vqvae_config, str(sources.vqvae_config))
    transformer = build(_transformer_numbers(diffusion, pooled, str(sources.config)))
    pad = _pad_value(params)
    tokenizer, text_encoder = load_text_encoder(sources.text_encoder, pooled=pooled, pad_value=pad)

    state, codec = read_diffusion(sources.checkpoint, sources.weights)
    _fill(transformer, {name: rename(name, rules) for name in transformer.state_dict()}, state, sources.checkpoint)
    if sources.vqvae is not None:
        codec = read_vqvae(sources.vqvae)
    if not codec:
        raise InputError(
            f"checkpoint {sources.checkpoint}: it holds no tokeniser; give the VQVAE's own checkpoint too."
        )
    levels = len(vqvae.config.block_out_channels)
    names = {name: original_vqvae_name(name, levels, codec) for name in vqvae.state_dict()}
    _fill(vqvae, names, codec, sources.vqvae or sources.checkpoint)

    learnable = bool(diffusion.get("learnable_cf") or params.get("learnable_cf"))
    parts = Components(
        vqvae,
        transformer,
        VQDiffusionScheduler(
            num_vec_classes=transformer.config.num_vector_embeds,
            num_train_timesteps=transformer.config.num_embeds_ada_norm,
        ),
        text_encoder,
        tokenizer,
        _blank(state, learnable, sources.checkpoint),
    )
    check_components(parts)
    return parts


def _transformer_kind(diffusion: Mapping[str, Any], where: str) -> tuple[Any, Any, bool]:
    """Class, name table, and whether the condition is one vector."""
    config = entry(diffusion, "transformer_config", where=where)
    kind = str(entry(config, "target", where=where)).rpartition(".")[2]
    allow(kind, ("Text2ImageTransformer", "Condition2ImageTransformer"), "transformer_config.target", where)
    params = entry(config, "params", where=where)
    allow(params.get("timestep_type", "adalayernorm"), ("adalayernorm",), "timestep_type", where)
    allow(params.get("block_activate"), ("GELU2",), "block_activate", where)
    allow(params.get("mlp_hidden_times", 4), (4,), "mlp_hidden_times", where)
    allow(diffusion.get("alpha_init_type"), ("alpha1",), "alpha_init_type", where)
    if kind == "Condition2ImageTransformer":
        allow(params.get("class_type", "adalayernorm"), ("adalayerclip",), "class_type", where)
        allow(params.get("mlp_type", "conv_mlp"), ("conv_mlp",), "mlp_type", where)
        return (lambda numbers: ClipConditionedTransformer(**numbers)), CLIP_TRANSFORMER, True
    allow(params.get("mlp_type", "fc"), ("fc",), "mlp_type", where)
    text = entry(diffusion, "condition_emb_config", "params", where=where)
    allow(text.get("normalize", True), (True,), "condition_emb_config.normalize", where)
    allow(text.get("pick_last_embedding", True), (False,), "condition_emb_config.pick_last_embedding", where)
    more = {"attention_bias": True, "activation_fn": "geglu-approximate", "norm_type": "ada_norm"}
    return (lambda numbers: Transformer2DModel(**numbers, **more)), TEXT_TRANSFORMER, False


def _transformer_numbers(diffusion: Mapping[str, Any], pooled: bool, where: str) -> dict[str, int]:
    params = entry(diffusion, "transformer_config", "params", where=where)
    content = entry(diffusion, "content_emb_config", "params", where=where)
    allow(content.get("pos_emb_type", "embedding"), ("embedding",), "pos_emb_type", where)
    width, heads = int(entry(params, "n_embd", where=where)), int(entry(params, "n_head", where=where))
    rows, columns = entry(params, "content_spatial_size", where=where)
    if rows != columns or width % heads:
        raise InputError(f"config {where}: the token grid {rows}x{columns} must be square, and {heads} divide {width}.")
    return {
        "num_attention_heads": heads,
        "attention_head_dim": width // heads,
        "num_layers": int(entry(params, "n_layer", where=where)),
        "cross_attention_dim": width if pooled else int(params.get("condition_dim", 512)),
        "sample_size": int(rows),
        "num_vector_embeds": int(entry(content, "num_embed", where=where)) + 1,
        "num_embeds_ada_norm": int(diffusion.get("diffusion_step", 100)),
    }


def _check_codec(params: Mapping[str, Any], where: str) -> None:
    codec = entry(params, "content_codec_config", where=where)
    if (codec.get("params") or {}).get("quantize_number", 0) != 0:
        raise InputError(
            f"config {where}: quantize_number is set; a codebook reduced by a lookup table is not supported."
        )


def _pad_value(params: Mapping[str, Any]) -> int:
    return int(((params.get("condition_codec_config") or {}).get("params") or {}).get("pad_value", 0))


def _empty_vqvae(model: Mapping[str, Any], where: str) -> Any:
    kind = str(entry(model, "target", where=where)).rpartition(".")[2]
    allow(kind, ("VQModel", "GumbelVQ", "PatchVQGAN"), "model.target", where)
    params = model["params"]
    if params.get("remap") is not None:
        raise InputError(f"config {where}: remap is set; a codebook reduced by a lookup table is not supported.")
    if kind == "PatchVQGAN":
        allow(params.get("quantizer_type", "VQ"), ("EMAVQ", "VQ"), "quantizer_type", where)
        allow(params.get("quantizer_dis_type", "euclidean"), ("euclidean",), "quantizer_dis_type", where)
        net = {**entry(params, "decoder_config", "params", where=where)}
        net |= entry(params, "encoder_config", "params", where=where)
    else:
        net = entry(params, "ddconfig", where=where)
    allow(net.get("double_z", False), (False,), "double_z", where)
    allow(net.get("resamp_with_conv", True), (True,), "resamp_with_conv", where)
    allow(net.get("scale_by_2"), (None,), "scale_by_2", where)
    multiples = entry(net, "ch_mult", where=where)
    attention = [size[0] if isinstance(size, list | tuple) else size for size in net.get("attn_resolutions", [])]
    resolution = entry(net, "resolution", where=where)
    side = resolution[0] if isinstance(resolution, list | tuple) else resolution
    attends = [side // 2**level in attention for level in range(len(multiples))]
    return (GumbelVQModel if kind == "GumbelVQ" else VQModel)(
        in_channels=net.get("in_channels", 3),
        out_channels=net.get("out_ch", 3),
        down_block_types=tuple("AttnDownEncoderBlock2D" if here else "DownEncoderBlock2D" for here in attends),
        up_block_types=tuple("AttnUpDecoderBlock2D" if here else "UpDecoderBlock2D" for here in reversed(attends)),
        block_out_channels=tuple(entry(net, "ch", where=where) * multiple for multiple in multiples),
        layers_per_block=entry(net, "num_res_blocks", where=where),
        latent_channels=entry(net, "z_channels", where=where),
        num_vq_embeddings=entry(params, "n_embed", where=where),
        vq_embed_dim=entry(params, "embed_dim", where=where),
        norm_num_groups=32,  # fixed in the original code
        sample_size=side,
    )


def _fill(module: torch.nn.Module, names: Mapping[str, str], state: State, path: Path) -> None:
    module.load_state_dict(take(module.state_dict(), names, state, path))


def _blank(state: State, learnable: bool, path: Path) -> Any:
    if not learnable:
        return LearnedClassifierFreeSamplingEmbeddings(learnable=False)
    if "empty_text_embed" not in state:
        raise InputError(f"checkpoint {path}: learnable_cf is set, but tensor 'empty_text_embed' is missing.")
    values = state["empty_text_embed"].float()  # (L, C)
    blank = LearnedClassifierFreeSamplingEmbeddings(True, values.shape[1], values.shape[0])
    blank.embeddings.data.copy_(values)
    return blank
