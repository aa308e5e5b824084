"""Where PyTorch tells what it does: process groups (register_pre_hook, register_post_hook), pipeline stages, modules, optimizers.
Whatever goes wrong in a hook stays there: it is counted, and after a few times the hooks do nothing more."""
import functools
import importlib
import itertools
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


class Group:
    """What is known of a process group when its hooks fire."""

    def __init__(self, name, kind, ranks, number, of):
        self.name, self.kind, self.ranks, self.number, self.of = name, kind, ranks, number, of
        self.pairs = {}  # (source, destination) -> group number


class Open:
    """An operation that was issued and is not known to be done. end: its stamp, which a GPU may not have passed yet."""

    __slots__ = ("track", "kind", "start", "end", "microbatch", "size", "correlation", "step", "name", "group", "number", "since", "waits", "work")


class Hooks:
    def __init__(self, torch, recorder, rank, on_error=None):
        self.torch, self.recorder, self.rank = torch, recorder, rank
        self.errors = 0
        self._on_error = on_error
        self._undo = []
        self._groups = {}  # by a process group's identity
        self._counts = {}  # by group number: of its operations
        self._open = {}  # operations, in their order
        self._waited = {}  # by a work's identity: operations that have no future
        self._coalesced = {}  # by a process group's identity: operations that end with all that are issued together
        self._issued = threading.local()
        self._parts_began = []  # a list a part of a model
        self._stage, self._microbatch, self._letter = 0, -1, None
        self._in_stage = False
        self._forwards = 0
        self._root, self._is_found = None, False  # the model whose forward pass runs, while models are found
        self._roots = weakref.WeakSet()
        self._hooked = 0
        self._backward = None  # the module whose backward runs
        self._optimizer, self._optimizing = None, None
        self.on_step = None
        self.on_work = None  # before the first forward pass

    def guarded(self, function):
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
        watch = self.guarded(self.watch_group)
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
        self._watch_coalescing(c10d)

    def watch_known_groups(self):
        c10d = self.torch.distributed.distributed_c10d
        for group in list(getattr(c10d._world, "pg_map", {})):
            self.guarded(self.watch_group)(group)

    def watch_group(self, group):
        if group is None or not hasattr(group, "register_pre_hook") or id(group) in self._groups:
            return
        non_member = getattr(getattr(self.torch.distributed, "GroupMember", None), "NON_GROUP_MEMBER", None)
        if non_member is not None and group is non_member:
            return
        # Kept: while it is here no other one gets its identity.
        self._groups[id(group)] = (group, [None])
        key = id(group)
        group.register_pre_hook(HOOK, self.guarded(lambda args: self._before_operation(key, args)))
        group.register_post_hook(HOOK, self.guarded(lambda args: self._after_operation(key, args)))

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
        if axis is not None:
            name = word_of(described) or axis  # as "dp_shard" beside "dp_replicate"
        of = self._name_of(group)
        return Group(name, kind, ranks, self.recorder.group(name, kind, ranks, of), of)

    def _name_of(self, group):
        """PyTorch's own, the same on all members and no other group's."""
        try:
            return str(group.group_name or "")
        except Exception:
            return str(self.torch.distributed.distributed_c10d._world.pg_names.get(group, ""))

    def watch_mesh(self, mesh):
        """Its dimensions name the axes, those too whose group is another's (a mesh reuses the world's)."""
        for dimension, name in enumerate(mesh.mesh_dim_names or ()):
            group = mesh.get_group(dimension)
            axis = axis_of(name)
            self.guarded(self.watch_group)(group)
            if axis is None or id(group) not in self._groups:
                continue
            ranks = list(self.torch.distributed.get_process_group_ranks(group))
            of = self._name_of(group)
            self._groups[id(group)][1][0] = Group(name, axis, ranks, self.recorder.group(name, axis, ranks, of), of)

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
        watch = self.guarded(self.watch_mesh)

        @functools.wraps(make)
        def made(mesh, *arguments, **named):
            make(mesh, *arguments, **named)
            watch(mesh)

        self._patch(mesh_class, "__init__", made)

    def _count(self, op, number):
        """The operation's number in its group, as the other members count it: whatever becomes of the rest of a hook."""
        op.group, op.number = number, 0
        if number >= 0:
            counter = self._counts.get(number)
            if counter is None:
                counter = self._counts.setdefault(number, itertools.count())
            op.number = next(counter)
        op.correlation = 0 if number < 0 else (number + 1) << 32 | (op.number & 0xFFFFFFFF)

    def _before_operation(self, key, args):
        recorder = self.recorder
        self._forget_unissued()
        group = self._known(key)
        name = getattr(args.name, "name", None) or str(args.name).rpartition(".")[2]
        op = Open()
        is_transfer, sends = name in ("SEND", "RECV", "RECV_ANY_SOURCE"), name == "SEND"
        if is_transfer:
            peer = group.ranks[args.root] if 0 <= args.root < len(group.ranks) else -1
            ends = (self.rank, peer) if sends else (peer, self.rank)
            pair = -1
            if peer >= 0:
                pair = group.pairs.get(ends)
                if pair is None:
                    pair = group.pairs[ends] = recorder.group("pp", "pair", ends, group.of)
            self._count(op, pair)
        else:
            self._count(op, group.number)
        recorder.begin()
        op.start, op.end = recorder.clock.stamp(), None
        if op.start is None:  # captured, not run
            return
        op.since, op.waits, op.work = time.monotonic_ns(), True, None
        op.step, op.microbatch = recorder.step, self._microbatch
        inputs, outputs = args.input_tensors, args.output_tensors
        # As NCCL's own figures are: of the side that has all of it.
        op.size = max(sum(tensor.numel() * tensor.element_size() for tensor in side) for side in (inputs, outputs))
        if is_transfer:
            op.name = "send" if sends else "receive"
            op.track = (self._direction(group, peer)) if sends else wire.RECEIVE
            op.kind = recorder.kind(op.name, wire.PP_COMM, group="pp")
        else:
            op.name = NAMES.get(name, name.lower())
            axis = group.kind if group.kind in wire.CLASS_OF_AXIS else "dp"
            op.track = wire.TRACK_OF_AXIS.get(axis, wire.DP)
            op.kind = recorder.kind(f"{group.name} {op.name}", wire.CLASS_OF_AXIS[axis], group=group.name)
        self._issued.op = op
        self._open[op] = True

    def _forget_unissued(self):
        """One that was refused as it was issued has no post hook, and will not end."""
        refused, self._issued.op = getattr(self._issued, "op", None), None
        if refused is not None:
            self._forget(refused)

    def _direction(self, group, peer):
        """Forward or backward: of the pass that was done last, else by the ranks' order."""
        if self._letter is not None:
            return wire.SEND_FORWARD if self._letter == "F" else wire.SEND_BACKWARD
        return wire.SEND_FORWARD if peer > self.rank else wire.SEND_BACKWARD

    def _after_operation(self, key, args):
        op = getattr(self._issued, "op", None)
        self._issued.op = None
        if op is None:
            return
        work = args.work
        if work is None:  # one of several that are issued together
            op.waits = False
            self._coalesced.setdefault(key, []).append(op)
            return
        try:
            future = work.get_future()
        except RuntimeError:  # gloo's sends, receives, reduce-scatters: done when somebody has waited for them
            self._done_when_waited_for(work, [op])
            return
        # NCCL's is completed at once, and runs this on a stream that waits for the operation: so does the stamp.
        future.then(self.guarded(lambda _: self._done(op)))

    def _done_when_waited_for(self, work, ops):
        for op in ops:
            op.waits = False
            op.work = work  # kept, so that who waits holds this object
        self._waited[id(work)] = ops
        if len(self._waited) > MOST_WAITED:
            for op in self._waited.pop(next(iter(self._waited))):
                self._forget(op)

    def _forget(self, op):
        self._open.pop(op, None)

    def _done(self, op):
        """Or its end is on the GPU's stream: it stays open until that has passed."""
        op.work = None
        recorder = self.recorder
        end = recorder.clock.stamp()
        ends_later = end is not None and not isinstance(end, int)
        op.end = end
        ended = functools.partial(self._forget, op) if ends_later else None
        is_kept = recorder.span(op.track, op.kind, op.start, end, op.microbatch, op.size, op.correlation, op.step, ended)
        if not is_kept or not ends_later:
            self._forget(op)

    def _all_done(self, ops):
        for op in ops:
            self._done(op)

    def _watch_works(self, c10d):
        work_class = getattr(self.torch._C._distributed_c10d, "Work", None)
        if work_class is None:
            return
        original, waited = work_class.wait, self._waited
        done = self.guarded(self._all_done)

        def wait(work, *arguments, **named):
            ops = waited.pop(id(work), None) if waited else None
            if ops is None:
                return original(work, *arguments, **named)
            for op in ops:
                op.waits = True
            try:
                return original(work, *arguments, **named)
            finally:
                done(ops)

        try:
            self._patch(work_class, "wait", wait)
        except TypeError:  # a class that cannot be changed: such operations have no end
            pass

    def _watch_coalescing(self, c10d):
        """batch_isend_irecv's operations have no work each: they are done with that of all, which has no future."""
        group_class = getattr(self.torch._C._distributed_c10d, "ProcessGroup", None)
        original = getattr(group_class, "_end_coalescing", None)
        if original is None:
            return
        ended = self.guarded(self._end_coalescing)

        def end(group, *arguments, **named):
            work = original(group, *arguments, **named)
            ended(group, work)
            return work

        try:
            self._patch(group_class, "_end_coalescing", end)
        except TypeError:  # they have no end
            pass

    def _end_coalescing(self, group, work):
        ops = self._coalesced.pop(id(group), None)
        if ops and work is not None:
            self._done_when_waited_for(work, ops)
        for op in ops if ops and work is None else ():
            self._forget(op)

    def waits(self, longer_ns):
        """The first operation of each group that is under way for so long: [{name, group, number, since_ns}]."""
        now, clock = time.monotonic_ns(), self.recorder.clock
        late = [op for op in list(self._open) if op.waits and op.group >= 0 and now - op.since > longer_ns]
        first = {}
        with clock.reading() as may_read:
            for op in late:
                if op.group in first:
                    continue
                if op.end is not None:
                    if not may_read:
                        continue
                    if clock.resolve(op.end) is not None:
                        self._forget(op)
                        continue
                first[op.group] = op
        return [{"name": op.name, "group": op.group, "number": op.number, "since_ns": op.since} for op in list(first.values())[:16]]

    # --- graphs -----------------------------------------------------------------------------------------------------------------

    def watch_captures(self):
        """Nothing is asked of CUDA while a graph is captured."""
        clock, graph = self.recorder.clock, getattr(getattr(self.torch, "cuda", None), "CUDAGraph", None)
        if not hasattr(graph, "capture_begin"):
            return
        ends = "capture_end_pre" if hasattr(graph, "capture_end_pre") else "capture_end"  # the former is in the latter
        begin, end = graph.capture_begin, getattr(graph, ends)

        @functools.wraps(begin)
        def capture_begin(*arguments, **named):
            clock.begin_capture()
            try:
                return begin(*arguments, **named)
            except BaseException:
                clock.end_capture()
                raise

        @functools.wraps(end)
        def capture_end(*arguments, **named):
            try:
                return end(*arguments, **named)
            finally:
                clock.end_capture()

        try:
            self._patch(graph, "capture_begin", capture_begin)
            self._patch(graph, ends, capture_end)
        except TypeError:  # a class that cannot be changed: its stream tells
            pass

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
        begin, end = self.guarded(self._begin_pass), self.guarded(self._end_pass)

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

    def _begins_work(self):
        if self.on_work is not None:
            self.on_work()
        self.recorder.begin()

    def _begin_pass(self, stage, chunk, letter):
        self._begins_work()
        self._stage, self._microbatch, self._letter = stage.stage_index, chunk, letter
        self._in_stage = True
        stage.__dict__["_rankscope_began"] = self.recorder.clock.stamp()

    def _end_pass(self, stage, chunk, letter):
        self._end_backward()
        self._in_stage = False
        start = stage.__dict__.pop("_rankscope_began", None)
        if start is not None:  # not captured
            self._action(letter, stage.stage_index, chunk, start, self.recorder.clock.stamp())

    def _action(self, letter, stage, microbatch, start, end):
        op_class = {"F": wire.FORWARD, "B": wire.BACKWARD, "I": wire.BACKWARD_INPUT, "W": wire.BACKWARD_WEIGHT}[letter]
        self.recorder.span(wire.ACTIONS, self.recorder.kind(f"{stage}{letter}", op_class, stage), start, end, microbatch)

    # --- modules ----------------------------------------------------------------------------------------------------------------

    def watch_modules(self):
        """Hooks on all modules until the first step is done: they find the models, which then have their own."""
        module = self.torch.nn.modules.module
        before, after = self.guarded(self._first_before), self.guarded(self._first_after)
        self._finders = [module.register_module_forward_pre_hook(lambda m, i: before(m)),
                         module.register_module_forward_hook(lambda m, i, o: after(m, o))]
        self._undo.append(self._stop_finding)

    def _stop_finding(self):
        for handle in self._finders:
            handle.remove()
        self._finders = []
        self._root = None

    def _first_before(self, module):
        if self._root is not None or self.torch.compiler.is_compiling() or self._is_in_backward():  # a layer that is recomputed
            return
        if module in self._roots:
            self._root, self._is_found = module, False
        elif next(module.parameters(), None) is not None:
            self._root, self._is_found = module, True
            self.watch_model(module)
            self._enter_root(module)

    def _is_in_backward(self):
        task = getattr(self.torch._C, "_current_graph_task_id", None)
        return task is not None and task() != -1

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
        enter, leave = self.guarded(self._enter_root), self.guarded(self._leave_root)
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
        self._begins_work()
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
            engine.queue_callback(self.guarded(lambda: self._backward_done(microbatch, began, step)))

        tensor.register_hook(self.guarded(begins))

    def _backward_done(self, microbatch, began, step):
        self._end_backward()
        self._action("B", 0, microbatch, began, self.recorder.clock.stamp())

    def _watch_part(self, name, layer, module):
        recorder, torch = self.recorder, self.torch
        began = []
        self._parts_began.append(began)
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
                    torch.autograd.Variable._execution_engine.queue_callback(self.guarded(lambda: self._end_backward(mine)))

            out.register_hook(self.guarded(begins))
            if inside is not None:
                inside.register_hook(self.guarded(lambda _: self._end_backward(mine)))
            # Held by the hook no longer than the graph: only whether there is one was asked.
            inside = None if inside is None else True

        return [module.register_forward_pre_hook(self.guarded(enter)), always_after(module, self.guarded(leave))]

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
        before, after = self.guarded(self._before_optimizer), self.guarded(self._after_optimizer)
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
        self._forget_unissued()
        for began in self._parts_began:  # of forward passes that were left by an exception
            began.clear()
        for ops in self._coalesced.values():  # whose end was not seen
            for op in ops:
                self._forget(op)
        self._coalesced.clear()
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
