"""What numbers about sets of motions are called, on which evaluator's embeddings, known without torch."""

T2M = "t2m"
"""The evaluator of Guo et al. (CVPR 2022): on its embeddings alone is a Frechet distance an FID of motions."""
EMBEDDED = "cmu"
"""The one that the package ships."""
TOPS = (1, 2, 3)
"""Ranks that count in retrieval."""
FRECHET, R_PRECISION, MATCHING, DIVERSITY = "frechet", "r_precision", "matching_score", "diversity"
RANKED = {f"{R_PRECISION}_top{top}": top for top in TOPS}
KINDS = (FRECHET, *RANKED, MATCHING, DIVERSITY)
"""Numbers about a set of motions: against real ones, against their texts, and by themselves."""


def set_names(evaluator: str) -> dict[str, str]:
    """Names by kind on this evaluator's embeddings: `frechet_cmu`, and `fid_t2m` of the published one."""
    names = {kind: f"{kind}_{evaluator}" for kind in KINDS}
    names |= {kind: f"{R_PRECISION}_{evaluator}_top{top}" for kind, top in RANKED.items()}
    return names | ({FRECHET: f"fid_{T2M}"} if evaluator == T2M else {})


MOTION_SETS = {name: (evaluator, kind) for evaluator in (EMBEDDED, T2M) for kind, name in set_names(evaluator).items()}
"""Evaluator and kind by name, of what a sweep can ask for."""
