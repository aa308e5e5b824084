"""Where PyTorch tells what it does: process groups (register_pre_hook, register_post_hook), pipeline stages, modules, optimizers.
Whatever goes wrong in a hook stays there: it is counted, and after a few times the hooks do nothing more."""
import functools
import importlib
import sys
import threading
import time
import weakref

from . import wire

MOST_ERRORS = 10
MOST_WAITED = 4096
MOST_HOOKED = 2048  # modules
HOOK = 0x52414E4B  # this package's among a group's hooks

NAMES = {
    "ALLREDUCE": "all_reduce", "ALLREDUCE_COALESCED": "all_reduce", "ALLGATHER": "all_gather", "ALLGATHER_BASE": "all_gather",
    "ALLGATHER_COALESCED": "all_gather", "REDUCE_SCATTER": "reduce_scatter", "REDUCE_SCATTER_BASE": "reduce_scatter",
    "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all", "BROADCAST": "broadcast", "REDUCE": "reduce", "BARRIER": "barrier",
    "GATHER": "gather", "SCATTER": "scatter",
}

AXES = (  # a word in a mesh dimension's name or a group's description, strongest first
    ("expert_model", "ep"), ("ep", "ep"), ("expert", "ep"), ("context", "cp"), ("cp", "cp"), ("pipeline", "pp"), ("pipe", "pp"),
    ("pp", "pp"), ("tensor", "tp"), ("tp", "tp"), ("sequence", "tp"), ("data", "dp"), ("dp", "dp"), ("ddp", "dp"), ("fsdp", "dp"),
    ("shard", "dp"), ("replicate", "dp"),
)


def axis_of(name):
    """The axis that a name tells, or None: "mesh_dp_shard", "TENSOR_MODEL_PARALLEL_GROUP", "pp"."""
    words = name.lower().replace("-", "_").split("_")
    for key, axis in AXES:
        if key in words or (len(key) > 6 and key in name.lower()):
            return axis
    return None


class Group:
    """What is known of a process group when its hooks fire."""

    def __init__(self, name, kind, ranks, number):
        self.name, self.kind, self.ranks, self.number = name, kind, ranks, number
        self.collectives = 0
        self.pairs = {}  # (source, destination) -> [group number, operations]


class Open:
    """An operation that was issued and is not known to be done."""

    __slots__ = ("track", "kind", "start", "microbatch", "size", "correlation", "step", "name", "group", "number", "since", "waits", "work")


class Hooks:
    def __init__(self, torch, recorder, rank, on_error=None):
        self.torch, self.recorder, self.rank = torch, recorder, rank
        self.errors = 0
        self._on_error = on_error
        self._undo = []
        self._groups = {}  # by a process group's identity
        self._open = {}  # by (group number, number, track)
        self._waited = {}  # by a work's identity: those that have no future
        self._issued = threading.local()
        self._stage, self._microbatch, self._letter = 0, -1, None
        self._in_stage = False
        self._forwards = 0
        self._root, self._is_found = None, False  # the model whose forward pass runs, while models are found
        self._roots = weakref.WeakSet()
        self._hooked = 0
        self._backward = None  # the module whose backward runs
        self._optimizer, self._optimizing = None, None
        self.on_step = None

    def _guarded(self, function):
        """A hook that never raises into the job."""

        @functools.wraps(function)
        def hook(*arguments, **named):
            if not self.recorder.enabled or self.errors >= MOST_ERRORS:
                return None
            try:
                function(*arguments, **named)
            except Exception as error:
                self.errors += 1
                if self._on_error is not None:
                    self._on_error(function.__name__, error, self.errors >= MOST_ERRORS)
            return None

        return hook

    def _patch(self, place, name, wrapper):
        original = getattr(place, name)
        setattr(place, name, wrapper)
        self._undo.append(lambda: setattr(place, name, original) if getattr(place, name) is wrapper else None)

    # --- process groups ---------------------------------------------------------------------------------------------------------

    def watch_groups(self):
        """Those that are there, and those that will be made."""
        c10d = self.torch.distributed.distributed_c10d
        make = getattr(c10d, "_new_process_group_helper", None)
        watch = self._guarded(self.watch_group)
        if make is not None:
            @functools.wraps(make)
            def made(*arguments, **named):
                result = make(*arguments, **named)
                # Its ranks are known once the caller has gone on: at its first operation.
                watch(result[0] if isinstance(result, tuple) else result)
                return result

            self._patch(c10d, "_new_process_group_helper", made)
        self.watch_known_groups()
        self._watch_works(c10d)

    def watch_known_groups(self):
        c10d = self.torch.distributed.distributed_c10d
        for group in list(getattr(c10d._world, "pg_map", {})):
            self._guarded(self.watch_group)(group)

    def watch_group(self, group):
        if group is None or not hasattr(group, "register_pre_hook") or id(group) in self._groups:
            return
        non_member = getattr(getattr(self.torch.distributed, "GroupMember", None), "NON_GROUP_MEMBER", None)
        if non_member is not None and group is non_member:
            return
        # Kept: while it is here no other one gets its identity.
        self._groups[id(group)] = (group, [None])
        key = id(group)
        group.register_pre_hook(HOOK, self._guarded(lambda args: self._before_operation(key, args)))
        group.register_post_hook(HOOK, self._guarded(self._after_operation))

        def leave():
            try:
                group.unregister_pre_hook(HOOK)
                group.unregister_post_hook(HOOK)
            except Exception:
                pass  # it was destroyed

        self._undo.append(leave)

    def _known(self, key):
        group, known = self._groups[key]
        if known[0] is None:
            known[0] = self._know(group)
        return known[0]

    def _know(self, group):
        dist = self.torch.distributed
        ranks = list(dist.get_process_group_ranks(group))
        described = str(getattr(group, "group_desc", "") or "")
        axis = axis_of(described) if described not in ("undefined", "default_pg") else None
        world = len(ranks) == dist.get_world_size()
        if axis is not None:
            name, kind = axis, axis
        elif world:
            name, kind = "world", "world"
        else:
            name, kind = (described if described and described != "undefined" else "group"), "other"
        if axis is not None and described.lower() not in (axis, "mesh_" + axis):
            name = described.lower().removeprefix("mesh_") or axis  # as "dp_shard" beside "dp_replicate"
        return Group(name, kind, ranks, self.recorder.group(name, kind, ranks))

    def watch_mesh(self, mesh):
        """Its dimensions name the axes, those too whose group is another's (a mesh reuses the world's)."""
        for dimension, name in enumerate(mesh.mesh_dim_names or ()):
            group = mesh.get_group(dimension)
            axis = axis_of(name)
            self._guarded(self.watch_group)(group)
            if axis is None or id(group) not in self._groups:
                continue
            ranks = list(self.torch.distributed.get_process_group_ranks(group))
            self._groups[id(group)][1][0] = Group(name, axis, ranks, self.recorder.group(name, axis, ranks))

    def watch_meshes(self):
        try:
            from torch.distributed import device_mesh
        except ImportError:
            return
        # The class: a script may hold init_device_mesh since before this.
        mesh_class = getattr(device_mesh, "DeviceMesh", None)
        if mesh_class is None:
            return
        make = mesh_class.__init__
        watch = self._guarded(self.watch_mesh)

        @functools.wraps(make)
        def made(mesh, *arguments, **named):
            make(mesh, *arguments, **named)
            watch(mesh)

        self._patch(mesh_class, "__init__", made)

    def _before_operation(self, key, args):
        recorder = self.recorder
        recorder.begin()
        start = recorder.clock.stamp()
        group = self._known(key)
        name = getattr(args.name, "name", None) or str(args.name).rpartition(".")[2]
        op = Open()
        op.since, op.waits, op.work = time.monotonic_ns(), True, None
        op.start, op.step, op.microbatch = start, recorder.step, self._microbatch
        inputs, outputs = args.input_tensors, args.output_tensors
        op.size = sum(tensor.numel() * tensor.element_size() for tensor in (inputs or outputs))
        if name in ("SEND", "RECV", "RECV_ANY_SOURCE"):
            peer = group.ranks[args.root] if 0 <= args.root < len(group.ranks) else -1
            sends = name == "SEND"
            ends = (self.rank, peer) if sends else (peer, self.rank)
            op.name = "send" if sends else "receive"
            op.track = (self._direction(group, peer)) if sends else wire.RECEIVE
            op.kind = recorder.kind(op.name, wire.PP_COMM, group="pp")
            op.group, op.number = -1, 0
            if peer >= 0:
                pair = group.pairs.get(ends)
                if pair is None:
                    pair = group.pairs[ends] = [recorder.group("pp", "pair", ends), 0]
                op.group, op.number = pair
                pair[1] += 1
        else:
            op.name = NAMES.get(name, name.lower())
            axis = group.kind if group.kind in wire.CLASS_OF_AXIS else "dp"
            op.track = wire.TRACK_OF_AXIS.get(axis, wire.DP)
            op.kind = recorder.kind(f"{group.name} {op.name}", wire.CLASS_OF_AXIS[axis], group=group.name)
            op.group, op.number = group.number, group.collectives
            group.collectives += 1
        op.correlation = 0 if op.group < 0 else (op.group + 1) << 32 | (op.number & 0xFFFFFFFF)
        self._issued.op = op
        self._open[(op.group, op.number, op.track)] = op

    def _direction(self, group, peer):
        """Forward or backward: of the pass that was done last, else by the ranks' order."""
        if self._letter is not None:
            return wire.SEND_FORWARD if self._letter == "F" else wire.SEND_BACKWARD
        return wire.SEND_FORWARD if peer > self.rank else wire.SEND_BACKWARD

    def _after_operation(self, args):
        op = getattr(self._issued, "op", None)
        self._issued.op = None
        if op is None:
            return
        work = args.work
        if work is None:
            self._done(op)
            return
        try:
            future = work.get_future()
        except RuntimeError:  # gloo's sends, receives, reduce-scatters: done when somebody has waited for them
            op.waits = False
            op.work = work  # kept, so that who waits holds this object
            self._waited[id(work)] = op
            if len(self._waited) > MOST_WAITED:
                oldest = next(iter(self._waited))
                self._forget(self._waited.pop(oldest))
            return
        future.then(self._guarded(lambda _: self._done(op)))

    def _forget(self, op):
        self._open.pop((op.group, op.number, op.track), None)

    def _done(self, op):
        op.work = None
        self._forget(op)
        recorder = self.recorder
        recorder.span(op.track, op.kind, op.start, recorder.clock.stamp(), op.microbatch, op.size, op.correlation, op.step)

    def _watch_works(self, c10d):
        work_class = getattr(self.torch._C._distributed_c10d, "Work", None)
        if work_class is None:
            return
        original, waited = work_class.wait, self._waited
        done = self._guarded(self._done)

        def wait(work, *arguments, **named):
            op = waited.pop(id(work), None) if waited else None
            if op is None:
                return original(work, *arguments, **named)
            op.waits = True
            try:
                return original(work, *arguments, **named)
            finally:
                done(op)

        try:
            self._patch(work_class, "wait", wait)
        except TypeError:  # a class that cannot be changed: such operations have no end
            pass

    def waits(self, longer_ns):
        """Operations under way for so long: [{name, group, number, since_ns}]."""
        now = time.monotonic_ns()
        return [{"name": op.name, "group": op.group, "number": op.number, "since_ns": op.since}
                for op in list(self._open.values()) if op.waits and op.group >= 0 and now - op.since > longer_ns][:16]

    # --- pipeline stages --------------------------------------------------------------------------------------------------------

    def watch_stages(self):
        try:
            from torch.distributed.pipelining import stage
        except ImportError:
            return
        base = getattr(stage, "_PipelineStageBase", None)
        if base is None:
            return
        for method, letter in (("forward_one_chunk", "F"), ("backward_one_chunk", "B"), ("backward_weight_one_chunk", "W")):
            if hasattr(base, method):
                self._patch(base, method, self._timed_pass(getattr(base, method), letter))

    def _timed_pass(self, original, letter):
        begin, end = self._guarded(self._begin_pass), self._guarded(self._end_pass)

        @functools.wraps(original)
        def timed(stage, chunk, *arguments, **named):
            kind = letter
            if letter == "B" and not named.get("full_backward", arguments[1] if len(arguments) > 1 else True):
                kind = "I"
            begin(stage, chunk, kind)
            try:
                return original(stage, chunk, *arguments, **named)
            finally:
                end(stage, chunk, kind)

        return timed

    def _begin_pass(self, stage, chunk, letter):
        self.recorder.begin()
        self._stage, self._microbatch, self._letter = stage.stage_index, chunk, letter
        self._in_stage = True
        stage.__dict__["_rankscope_began"] = self.recorder.clock.stamp()

    def _end_pass(self, stage, chunk, letter):
        self._end_backward()
        self._in_stage = False
        start = stage.__dict__.pop("_rankscope_began", None)
        if start is not None:
            self._action(letter, stage.stage_index, chunk, start, self.recorder.clock.stamp())

    def _action(self, letter, stage, microbatch, start, end):
        op_class = {"F": wire.FORWARD, "B": wire.BACKWARD, "I": wire.BACKWARD_INPUT, "W": wire.BACKWARD_WEIGHT}[letter]
        self.recorder.span(wire.ACTIONS, self.recorder.kind(f"{stage}{letter}", op_class, stage), start, end, microbatch)

    # --- modules ----------------------------------------------------------------------------------------------------------------

    def watch_modules(self):
        """Hooks on all modules until the first step is done: they find the models, which then have their own."""
        module = self.torch.nn.modules.module
        before, after = self._guarded(self._first_before), self._guarded(self._first_after)
        self._finders = [module.register_module_forward_pre_hook(lambda m, i: before(m)),
                         module.register_module_forward_hook(lambda m, i, o: after(m, o))]
        self._undo.append(self._stop_finding)

    def _stop_finding(self):
        for handle in self._finders:
            handle.remove()
        self._finders = []
        self._root = None

    def _first_before(self, module):
        if self._root is not None or self.torch.compiler.is_compiling():
            return
        if module in self._roots:
            self._root, self._is_found = module, False
        elif next(module.parameters(), None) is not None:
            self._root, self._is_found = module, True
            self.watch_model(module)
            self._enter_root(module)

    def _first_after(self, module, output):
        if module is not self._root:
            return
        self._root = None
        if self._is_found:
            self._leave_root(module, output)

    def watch_model(self, model):
        """Hooks on a model, and on its layers."""
        if model in self._roots:
            return
        self._roots.add(model)
        enter, leave = self._guarded(self._enter_root), self._guarded(self._leave_root)
        found = self._root is model
        if not found:
            enter_later, leave_later = enter, leave
        else:  # its first forward pass is under way, and seen by those who found it
            state = {"first": True}

            def enter_later(module):
                state["first"] = False
                enter(module)

            def leave_later(module, output):
                if not state["first"]:
                    leave(module, output)
        handles = [model.register_forward_pre_hook(lambda m, i: enter_later(m)), model.register_forward_hook(lambda m, i, o: leave_later(m, o))]
        for name, layer, module in parts_of(self.torch, model):
            if self._hooked >= MOST_HOOKED:
                break
            self._hooked += 1
            handles += self._watch_part(name, layer, module)
        self._undo.append(lambda: [handle.remove() for handle in handles])

    def _enter_root(self, module):
        self.recorder.begin()
        if self._in_stage:
            return
        self._letter = None
        self._microbatch = self._forwards
        self._forwards += 1
        module.__dict__["_rankscope_began"] = self.recorder.clock.stamp()

    def _leave_root(self, module, output):
        start = module.__dict__.pop("_rankscope_began", None)
        if start is None:
            return
        microbatch = self._microbatch
        self._action("F", 0, microbatch, start, self.recorder.clock.stamp())
        tensor = first_tensor(self.torch, output)
        if tensor is None or not tensor.requires_grad:
            return
        engine = self.torch.autograd.Variable._execution_engine
        step = self.recorder.step

        def begins(_):
            self._microbatch = microbatch
            began = self.recorder.clock.stamp()
            engine.queue_callback(self._guarded(lambda: self._backward_done(microbatch, began, step)))

        tensor.register_hook(self._guarded(begins))

    def _backward_done(self, microbatch, began, step):
        self._end_backward()
        self._action("B", 0, microbatch, began, self.recorder.clock.stamp())

    def _watch_part(self, name, layer, module):
        recorder, torch = self.recorder, self.torch
        began = []
        kinds = {}

        def kind(op_class):
            key = (op_class, self._stage)
            if key not in kinds:
                kinds[key] = recorder.kind(name, op_class, self._stage if self._in_stage else 0, layer)
            return kinds[key]

        def enter(part, inputs):
            began.append(recorder.clock.stamp())

        def leave(part, inputs, output):
            if not began:
                return
            start, microbatch = began.pop(), self._microbatch
            again = self._backward is not None
            recorder.span(wire.COMPUTE, kind(wire.RECOMPUTE if again else wire.FORWARD), start, recorder.clock.stamp(), microbatch)
            out = first_tensor(torch, output)
            if out is None or not out.requires_grad or not torch.is_grad_enabled():
                return
            inside = first_tensor(torch, inputs, needs_grad=True)
            mine = (id(part), microbatch)

            def begins(_):
                self._begin_backward(mine, kind(wire.BACKWARD), microbatch)
                if inside is None:
                    torch.autograd.Variable._execution_engine.queue_callback(self._guarded(lambda: self._end_backward(mine)))

            out.register_hook(self._guarded(begins))
            if inside is not None:
                inside.register_hook(self._guarded(lambda _: self._end_backward(mine)))
            # Held by the hook no longer than the graph: only whether there is one was asked.
            inside = None if inside is None else True

        return [module.register_forward_pre_hook(self._guarded(enter)), module.register_forward_hook(self._guarded(leave))]

    def _begin_backward(self, mine, kind, microbatch):
        now = self.recorder.clock.stamp()
        self._end_backward(now=now)
        self._backward = (mine, kind, microbatch, now)

    def _end_backward(self, mine=None, now=None):
        """Of this module, or of whichever runs."""
        running = self._backward
        if running is None or (mine is not None and running[0] != mine):
            return
        self._backward = None
        self.recorder.span(wire.COMPUTE, running[1], running[3], self.recorder.clock.stamp() if now is None else now, running[2])

    # --- optimizers -------------------------------------------------------------------------------------------------------------

    def watch_optimizers(self):
        optimizer = importlib.import_module(self.torch.__name__ + ".optim.optimizer")  # the package hides its name
        before, after = self._guarded(self._before_optimizer), self._guarded(self._after_optimizer)
        handles = [optimizer.register_optimizer_step_pre_hook(lambda o, *_: before(o)),
                   optimizer.register_optimizer_step_post_hook(lambda o, *_: after(o))]
        self._undo.append(lambda: [handle.remove() for handle in handles])

    def _before_optimizer(self, optimizer):
        self._end_backward()
        self._optimizing = self.recorder.clock.stamp()

    def _after_optimizer(self, optimizer):
        recorder = self.recorder
        if self._optimizing is not None:
            recorder.span(wire.COMPUTE, recorder.kind("optimizer", wire.OPTIMIZER), self._optimizing, recorder.clock.stamp())
            self._optimizing = None
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
        if self._optimizer() is optimizer:
            self.step_done()

    def step_done(self):
        self._forwards, self._microbatch, self._letter, self._in_stage, self._backward = 0, -1, None, False, None
        self.recorder.step_done()
        if getattr(self, "_finders", None):
            self._stop_finding()
        if self.on_step is not None:
            self.on_step(self.recorder.step)

    def leave(self):
        for undo in reversed(self._undo):
            try:
                undo()
            except Exception as error:
                print(f"rankscope: {error}", file=sys.stderr)
        self._undo = []


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
                found.append((type(child).__name__, int(key) if key.isdigit() else len(found), child))
            elif id(child) in inside and not hasattr(child, "_orig_mod"):
                walk(child, key)
            else:
                found.append((key, -1, child))

    walk(model, "")
    return found
