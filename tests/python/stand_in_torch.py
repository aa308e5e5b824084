"""What rankscope.attach sees of PyTorch, without PyTorch: process groups that call hooks, works with and without futures, modules,
optimizers, a pipeline stage. Put in the place of torch by install()."""
import sys
import types


class PreHookArgs:
    def __init__(self, name, op_id, tensors, root=-1):
        self.name, self.op_id, self.async_op, self.root = types.SimpleNamespace(name=name), op_id, True, root
        self.input_tensors, self.output_tensors = tensors, []


class Tensor:
    requires_grad = False

    def __init__(self, count=256):
        self._count = count

    def numel(self):
        return self._count

    def element_size(self):
        return 4


class Future:
    def __init__(self):
        self.callbacks = []

    def then(self, callback):
        self.callbacks.append(callback)


class Work:
    """Of gloo: sends and receives have no future and end when they are waited for."""

    def __init__(self, has_future):
        self._future = Future() if has_future else None

    def get_future(self):
        if self._future is None:
            raise RuntimeError("Work::getFuture not implemented.")
        return self._future

    def wait(self):
        for callback in self._future.callbacks if self._future else ():
            callback(self._future)
        return True


class ProcessGroup:
    made = 0

    def __init__(self, ranks, description):
        self.ranks, self.group_desc, self.group_name = ranks, description, str(ProcessGroup.made)
        ProcessGroup.made += 1
        self.coalescing = False
        self.before, self.after, self.operations = {}, {}, 0

    def register_pre_hook(self, number, hook):
        self.before[number] = hook

    def register_post_hook(self, number, hook):
        self.after[number] = hook

    def unregister_pre_hook(self, number):
        del self.before[number]

    def unregister_post_hook(self, number):
        del self.after[number]

    def issue(self, name, root=-1):
        args = PreHookArgs(name, self.operations, [Tensor()], root)
        self.operations += 1
        for hook in list(self.before.values()):
            hook(args)
        args.work = None if self.coalescing else Work(has_future=name not in ("SEND", "RECV"))
        for hook in list(self.after.values()):
            hook(args)
        return args.work


    def _start_coalescing(self, device):
        self.coalescing = True

    def _end_coalescing(self, device):
        self.coalescing = False
        return Work(has_future=False)


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)


BEFORE, AFTER, BEFORE_STEP, AFTER_STEP = [], [], [], []


class Module:
    def __init__(self, **children):
        self._children, self._before, self._after, self._always = children, [], [], []

    def named_children(self):
        return self._children.items()

    def modules(self):
        yield self
        for child in self._children.values():
            yield from child.modules()

    def parameters(self):
        yield Tensor()
        for child in self._children.values():
            yield from child.parameters()

    def register_forward_pre_hook(self, hook):
        return Handle(self._before, hook)

    def register_forward_hook(self, hook, always_call=False):
        if always_call:
            self._always.append(hook)
        return Handle(self._after, hook)

    def forward(self, x):
        for child in self._children.values():
            x = child(x)
        return x

    def __len__(self):
        return len(self._children)

    def __call__(self, x):
        for hook in (*BEFORE, *self._before):
            hook(self, (x,))
        try:
            y = self.forward(x)
        except Exception:
            for hook in self._always:
                hook(self, (x,), None)
            raise
        for hook in (*AFTER, *self._after):
            hook(self, (x,), y)
        return y


class ModuleList(Module):
    pass


class Block(Module):
    pass


class Stage:
    def __init__(self, index, module):
        self.stage_index, self.module = index, module

    def _prepare_forward_infra(self, args):
        return self.module(args)

    def forward_one_chunk(self, chunk, args):
        return self.module(args)

    def backward_one_chunk(self, chunk, loss=None, full_backward=True, last_backward=False):
        return None


class Optimizer:
    def step(self):
        for hook in list(BEFORE_STEP):
            hook(self, (), {})
        for hook in list(AFTER_STEP):
            hook(self, (), {})


def install(rank, world):
    def module(name, **members):
        made = types.ModuleType(name)
        made.__dict__.update(members)
        sys.modules[name] = made
        return made

    group = ProcessGroup(list(range(world)), "default_pg")
    known = types.SimpleNamespace(pg_map={})
    state = {"begun": False}

    def make(ranks, description="default_pg"):
        made = ProcessGroup(ranks, description)
        known.pg_map[made] = 0
        return made, None

    def destroy(made):
        del known.pg_map[made]
        c10d._unregister_process_group(made.group_name)

    def update_default_pg(made):
        state["begun"] = True

    def init_process_group(*_, **__):
        known.pg_map[group] = 0
        c10d._update_default_pg(group)

    c10d = module("torch.distributed.distributed_c10d", _world=known, _new_process_group_helper=make, init_process_group=init_process_group,
                  _update_default_pg=update_default_pg, destroy_process_group=destroy, _unregister_process_group=lambda name: None)
    module("torch.distributed.pipelining", stage=types.SimpleNamespace(_PipelineStageBase=Stage))
    distributed = module(
        "torch.distributed", distributed_c10d=c10d, init_process_group=init_process_group, get_rank=lambda: rank, get_world_size=lambda: world,
        get_process_group_ranks=lambda g: g.ranks, is_initialized=lambda: state["begun"])
    hooks = types.SimpleNamespace(register_module_forward_pre_hook=lambda hook: Handle(BEFORE, hook),
                                  register_module_forward_hook=lambda hook: Handle(AFTER, hook))
    module("torch.optim.optimizer", register_optimizer_step_pre_hook=lambda hook: Handle(BEFORE_STEP, hook),
           register_optimizer_step_post_hook=lambda hook: Handle(AFTER_STEP, hook))
    module("torch.optim")
    torch = module(
        "torch", distributed=distributed, __version__="stand-in", Tensor=Tensor, is_grad_enabled=lambda: True,
        compiler=types.SimpleNamespace(is_compiling=lambda: False), cuda=types.SimpleNamespace(is_available=lambda: False),
        _C=types.SimpleNamespace(_distributed_c10d=types.SimpleNamespace(Work=Work, ProcessGroup=ProcessGroup, _dump_fr_trace_json=lambda: b'{"entries": []}')),
        nn=types.SimpleNamespace(Module=Module, ModuleList=ModuleList, ModuleDict=ModuleList, Sequential=ModuleList,
                                 modules=types.SimpleNamespace(module=hooks)))
    return torch, group
