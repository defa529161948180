"""Names of tensors in MMM's two checkpoints, and ours for the same."""

import re

_LAYERS = {
    "ln1": "norm1",
    "ln2": "norm2",
    "ln3": "norm_words",
    "attn.query": "attention.query",
    "attn.key": "attention.key",
    "attn.value": "attention.value",
    "attn.proj": "attention.out",
    "mlp.0": "expand",
    "mlp.2": "contract",
}
_OUTSIDE = {
    "trans_base.learn_tok_emb.weight": "special",
    "trans_base.to_emb.weight": "embed.weight",
    "trans_base.to_emb.bias": "embed.bias",
    "trans_base.cond_emb.weight": "embed_pooled.weight",
    "trans_base.cond_emb.bias": "embed_pooled.bias",
    "trans_base.word_emb.weight": "embed_words.weight",
    "trans_base.word_emb.bias": "embed_words.bias",
    "trans_head.ln_f.weight": "norm.weight",
    "trans_head.ln_f.bias": "norm.bias",
    "trans_head.head.weight": "head.weight",
}
POSITIONS = "trans_base.pos_embed.embed"
"""Sines and cosines, which ours are compared with."""
TOKENISER = "trans_base.vqvae."
"""What the transformer's file repeats of the tokeniser begins so."""
_UNUSED = re.compile(r"trans_base\.pos_embedding\.weight|.*\.attn\.mask")
"""A learned table that MMM does not add to anything, and the places of a causal mask that it does not apply."""
_CONVOLUTIONS = {"conv1": "dilated", "conv2": "pointwise"}


def is_unused(name: str) -> bool:
    """Whether MMM keeps a tensor that decides nothing."""
    return _UNUSED.fullmatch(name) is not None


def transformer_name(name: str, base_layers: int) -> str | None:
    """Ours for a tensor of the transformer; None for one that it is not known to have."""
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    match = re.fullmatch(r"(trans_base\.cross_att|trans_base\.blocks|trans_head\.blocks)\.(\d+)\.(.+)\.(\w+)", name)
    if match is None or match[3] not in _LAYERS:
        return None
    place = int(match[2]) + (base_layers if match[1].startswith("trans_head") else 0)
    blocks = "word_blocks" if match[1].endswith("cross_att") else "blocks"
    return f"{blocks}.{place}.{_LAYERS[match[3]]}.{match[4]}"


def vqvae_name(name: str, halvings: int) -> str | None:
    """Ours for a tensor of the tokeniser; None for one that it is not known to have."""
    if name == "vqvae.quantizer.codebook":
        return "codebook"
    match = re.fullmatch(r"vqvae\.(encoder|decoder)\.model\.(\d+)\.(?:(.+)\.)?(weight|bias)", name)
    if match is None:
        return None
    side, place, inside, kind = match[1], int(match[2]), match[3], match[4]
    last = {"encoder": {2 + halvings: "out"}, "decoder": {2 + halvings: "middle", 4 + halvings: "out"}}[side]
    if inside is None:
        end = {0: "in", **last}.get(place)
        return None if end is None else f"{side}_{end}.{kind}"
    level = _inside_level(inside, side)
    return None if level is None or not 2 <= place < 2 + halvings else f"{side}.{place - 2}.{level}.{kind}"


def _inside_level(inside: str, side: str) -> str | None:
    """Within a level the encoder changes the rate first and refines then, the decoder the other way round."""
    change, refine = ("0", "1") if side == "encoder" else ("2", "0")
    if inside == change:
        return "change"
    match = re.fullmatch(rf"{refine}\.model\.(\d+)\.(conv1|conv2)", inside)
    return None if match is None else f"blocks.{match[1]}.{_CONVOLUTIONS[match[2]]}"
