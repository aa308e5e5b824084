"""The axis of a layout that a process group's description tells."""

# Whole descriptions, in lower case and without "mesh_", "_group" and "_gloo", as sim/recovery/group_role.cpp has them.
ROLES = {
    **dict.fromkeys(("tensor_model_parallel", "tensor_parallel", "tp", "expert_tensor_parallel", "etp"), "tp"),
    **dict.fromkeys(("context_parallel", "cp"), "cp"),
    **dict.fromkeys((
        "data_parallel", "data_parallel_ag", "dp", "data", "ddp", "batch", "dp_replicate", "replicate", "dp_shard", "shard", "fsdp",
        "data_parallel_with_cp", "data_parallel_with_cp_ag", "dp_cp", "dp_shard_cp", "expert_data_parallel", "expert_data_parallel_ag",
        "edp", "efsdp", "dp_shard_mod_ep"), "dp"),
    **dict.fromkeys(("pipeline_model_parallel", "pipeline_parallel", "pipe", "pp"), "pp"),
    **dict.fromkeys(("expert_model_parallel", "expert_parallel", "ep"), "ep"),
    **dict.fromkeys(("embedding", "embd", "position_embedding"), None),
}

AXES = {  # a word of a description that is none of those
    **dict.fromkeys(("ep", "expert", "experts"), "ep"),
    **dict.fromkeys(("cp", "context"), "cp"),
    **dict.fromkeys(("pp", "pipe", "pipeline"), "pp"),
    **dict.fromkeys(("tp", "etp", "tensor", "sequence"), "tp"),
    **dict.fromkeys(("dp", "edp", "ddp", "fsdp", "efsdp", "hsdp", "data", "shard", "replicate"), "dp"),
}


def word_of(description):
    word = description.lower().replace("-", "_").removeprefix("mesh_")
    for part in ("_gloo", "_groups", "_group"):
        word = word.replace(part + "_", "_").removesuffix(part)
    return word


def axis_of(description):
    """The axis that a description tells, or None: "mesh_dp_shard_cp" and "EXPERT_DATA_PARALLEL_GROUP" are dp, as each has a part of the
    batch; "TENSOR_AND_DATA_PARALLEL_GROUP" is no axis."""
    word = word_of(description)
    if word in ROLES:
        return ROLES[word]
    axes = {AXES[part] for part in word.split("_") if part in AXES}
    axes |= {axis for name, axis in (("context", "cp"), ("pipeline", "pp"), ("replicate", "dp")) if name in word}
    if "dp" in axes and axes <= {"dp", "cp", "ep"}:
        return "dp"
    return axes.pop() if len(axes) == 1 else None
