"""The CLIP text encoder and tokenizer a converted prior needs: from a folder or the hub."""

from typing import Any

from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.priors.strict_weights import quiet_libraries
from operators.errors import InputError
from operators.local_paths import local_path


def load_text_encoder(source: str, *, pooled: bool, pad_value: int) -> tuple[Any, Any]:
    """Tokenizer and encoder from a CLIP folder, a prior's folder (`text_encoder`, `tokenizer`) or a hub id."""
    folder = local_path(source, "text encoder")
    local = folder.is_dir()
    if not local and (source.startswith((".", "/", "~")) or source.count("/") != 1):
        raise InputError(
            f"text encoder: {source!r} is neither a folder here nor a hub id like 'openai/clip-vit-base-patch32'."
        )
    nested = local and (folder / "text_encoder").is_dir()
    where = str(folder) if local else source
    kind = CLIPTextModelWithProjection if pooled else CLIPTextModel
    try:
        with quiet_libraries():  # the vision half of a CLIP model is left out on purpose
            tokenizer = CLIPTokenizer.from_pretrained(where, **({"subfolder": "tokenizer"} if nested else {}))
            encoder, report = kind.from_pretrained(
                where, output_loading_info=True, **({"subfolder": "text_encoder"} if nested else {})
            )
    except Exception as error:  # every loader has its own zoo of exceptions
        reason = " ".join(str(error).split())[:160]
        raise InputError(
            f"text encoder: {source!r} cannot be loaded from a folder, the hub or its cache ({reason})."
        ) from error
    if report["missing_keys"]:  # transformers fills these with random numbers
        missing = sorted(report["missing_keys"])[0]
        raise InputError(f"text encoder: {source!r} has no tensor {missing!r}; this prior needs a {kind.__name__}.")
    # these models were trained with prompts padded by a fixed id, not by CLIP's own padding token
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(pad_value)
    return tokenizer, encoder
