"""What of a model is watched: its parts, and tensors that pass through them."""


def always_after(module, hook):
    """A forward hook that runs too where the pass ends by an exception, as a recomputed one does once it has what was asked for."""
    try:
        return module.register_forward_hook(hook, always_call=True)
    except TypeError:
        return module.register_forward_hook(hook)


def first_tensor(torch, values, needs_grad=False, depth=3):
    if isinstance(values, torch.Tensor):
        return values if values.requires_grad or not needs_grad else None
    if depth > 0 and isinstance(values, (tuple, list)):
        values = values[:8]
    elif depth > 0 and isinstance(values, dict):
        values = list(values.values())[:8]
    else:
        return None
    for value in values:
        found = first_tensor(torch, value, needs_grad, depth - 1)
        if found is not None:
            return found
    return None


def parts_of(torch, model):
    """(name, layer or -1, module): the entries of the container that holds most parameters, and the modules beside it. Together they
    are the model, and none is within another."""
    nn = torch.nn
    if hasattr(model, "_orig_mod"):  # compiled: one piece
        return []

    def size(module):
        return sum(parameter.numel() for parameter in module.parameters())

    containers = [module for module in model.modules()
                  if isinstance(module, (nn.ModuleList, nn.ModuleDict, nn.Sequential)) and len(module) > 1]
    layers = max(containers, key=lambda module: (size(module), -len(list(module.modules()))), default=None)
    inside = set() if layers is None else {id(m) for m in model.modules() if any(c is layers for c in m.modules())}
    found = []

    def walk(module, name):
        for key, child in module.named_children():
            if next(child.parameters(), None) is None:
                continue
            if module is layers:
                found.append((type(getattr(child, "_orig_mod", child)).__name__, int(key) if key.isdigit() else len(found), child))
            elif id(child) in inside and not hasattr(child, "_orig_mod"):
                walk(child, key)
            else:
                found.append((key, -1, child))

    walk(model, "")
    return found
