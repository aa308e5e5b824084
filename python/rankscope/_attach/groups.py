"""Process groups, and their operations as they are issued and end (register_pre_hook, register_post_hook)."""
import functools
import itertools
import threading
import time

from . import axes, wire

MOST_WAITED = 4096
HOOK = 0x52414E4B  # this package's among a group's hooks

NAMES = {
    "ALLREDUCE": "all_reduce", "ALLREDUCE_COALESCED": "all_reduce", "ALLGATHER": "all_gather", "ALLGATHER_BASE": "all_gather",
    "ALLGATHER_COALESCED": "all_gather", "REDUCE_SCATTER": "reduce_scatter", "REDUCE_SCATTER_BASE": "reduce_scatter",
    "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all", "BROADCAST": "broadcast", "REDUCE": "reduce", "BARRIER": "barrier",
    "GATHER": "gather", "SCATTER": "scatter",
}


class Group:
    """What is known of a process group when its hooks fire."""

    def __init__(self, name, kind, ranks, number, of):
        self.name, self.kind, self.ranks, self.number, self.of = name, kind, ranks, number, of
        self.pairs = {}  # (source, destination) -> group number


class Open:
    """An operation that was issued and is not known to be done. end: its stamp, which a GPU may not have passed yet."""

    __slots__ = ("track", "kind", "start", "end", "microbatch", "size", "correlation", "step", "name", "group", "number", "since", "waits", "work")


class GroupHooks:
    """Those of `hooks`, which guards them, takes them away again, and knows the pass that goes on."""

    def __init__(self, hooks):
        self._hooks = hooks
        self._groups = {}  # by a process group's identity
        self._counts = {}  # by group number: of its operations
        self._open = {}  # operations, in their order
        self._waited = {}  # by a work's identity: operations that have no future
        self._coalesced = {}  # by a process group's identity: operations that end with all that are issued together
        self._issued = threading.local()

    def watch(self):
        """Those that are there, and those that will be made."""
        c10d = self._hooks.torch.distributed.distributed_c10d
        make = getattr(c10d, "_new_process_group_helper", None)
        watch = self._hooks.guarded(self.watch_group)
        if make is not None:
            @functools.wraps(make)
            def made(*arguments, **named):
                result = make(*arguments, **named)
                # Its ranks are known once the caller has gone on: at its first operation.
                watch(result[0] if isinstance(result, tuple) else result)
                return result

            self._hooks.patch(c10d, "_new_process_group_helper", made)
        self._watch_destroyed(c10d)
        self._watch_known()
        self._hooks.at_leave(lambda: [self._let_go(key) for key in list(self._groups)])
        self._watch_works()
        self._watch_coalescing()

    def _watch_destroyed(self, c10d):
        """What destroy_process_group calls last, whichever name of it the script holds."""
        let_go = self._hooks.guarded(self._let_go_of_destroyed)
        for name in ("_unregister_process_group", "_unregister_all_process_groups"):
            if not hasattr(c10d, name):
                continue

            def unregister(*arguments, _original=getattr(c10d, name), **named):
                result = _original(*arguments, **named)
                let_go()
                return result

            self._hooks.patch(c10d, name, unregister)

    def _let_go_of_destroyed(self):
        known = self._hooks.torch.distributed.distributed_c10d._world.pg_map
        for key, (group, _) in list(self._groups.items()):
            if group not in known:
                self._let_go(key)

    def _let_go(self, key):
        """Whoever keeps a group keeps its threads and connections."""
        group, _ = self._groups.pop(key)
        for op in self._coalesced.pop(key, ()):
            self._forget(op)
        try:
            group.unregister_pre_hook(HOOK)
            group.unregister_post_hook(HOOK)
        except Exception:
            pass  # it has none any more

    def _watch_known(self):
        c10d = self._hooks.torch.distributed.distributed_c10d
        for group in list(getattr(c10d._world, "pg_map", {})):
            self._hooks.guarded(self.watch_group)(group)

    def watch_group(self, group):
        if group is None or not hasattr(group, "register_pre_hook") or id(group) in self._groups:
            return
        non_member = getattr(getattr(self._hooks.torch.distributed, "GroupMember", None), "NON_GROUP_MEMBER", None)
        if non_member is not None and group is non_member:
            return
        # Kept until it is destroyed: while it is here no other one gets its identity.
        self._groups[id(group)] = (group, [None])
        key = id(group)
        group.register_pre_hook(HOOK, self._hooks.guarded(lambda args: self._before_operation(key, args)))
        group.register_post_hook(HOOK, self._hooks.guarded(lambda args: self._after_operation(key, args)))

    def _known(self, key):
        group, known = self._groups[key]
        if known[0] is None:
            known[0] = self._know(group)
        return known[0]

    def _know(self, group):
        dist = self._hooks.torch.distributed
        ranks = list(dist.get_process_group_ranks(group))
        described = str(getattr(group, "group_desc", "") or "")
        axis = axes.axis_of(described) if described not in ("undefined", "default_pg") else None
        world = len(ranks) == dist.get_world_size()
        if axis is not None:
            name, kind = axis, axis
        elif world:
            name, kind = "world", "world"
        else:
            name, kind = (described if described and described != "undefined" else "group"), "other"
        if axis is not None:
            name = axes.word_of(described) or axis  # as "dp_shard" beside "dp_replicate"
        of = self._name_of(group)
        return Group(name, kind, ranks, self._hooks.recorder.group(name, kind, ranks, of), of)

    def _name_of(self, group):
        """PyTorch's own, the same on all members and no other group's."""
        try:
            return str(group.group_name or "")
        except Exception:
            return str(self._hooks.torch.distributed.distributed_c10d._world.pg_names.get(group, ""))

    def watch_mesh(self, mesh):
        """Its dimensions name the axes, those too whose group is another's (a mesh reuses the world's)."""
        for dimension, name in enumerate(mesh.mesh_dim_names or ()):
            group = mesh.get_group(dimension)
            axis = axes.axis_of(name)
            self._hooks.guarded(self.watch_group)(group)
            if axis is None or id(group) not in self._groups:
                continue
            ranks = list(self._hooks.torch.distributed.get_process_group_ranks(group))
            of = self._name_of(group)
            self._groups[id(group)][1][0] = Group(name, axis, ranks, self._hooks.recorder.group(name, axis, ranks, of), of)

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
        watch = self._hooks.guarded(self.watch_mesh)

        @functools.wraps(make)
        def made(mesh, *arguments, **named):
            make(mesh, *arguments, **named)
            watch(mesh)

        self._hooks.patch(mesh_class, "__init__", made)

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
        recorder = self._hooks.recorder
        self._forget_unissued()
        group = self._known(key)
        name = getattr(args.name, "name", None) or str(args.name).rpartition(".")[2]
        op = Open()
        is_transfer, sends = name in ("SEND", "RECV", "RECV_ANY_SOURCE"), name == "SEND"
        if is_transfer:
            peer = group.ranks[args.root] if 0 <= args.root < len(group.ranks) else -1
            ends = (self._hooks.rank, peer) if sends else (peer, self._hooks.rank)
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
        op.step, op.microbatch = recorder.step, self._hooks.microbatch
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
        if self._hooks.letter is not None:
            return wire.SEND_FORWARD if self._hooks.letter == "F" else wire.SEND_BACKWARD
        return wire.SEND_FORWARD if peer > self._hooks.rank else wire.SEND_BACKWARD

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
        future.then(self._hooks.guarded(lambda _: self._done(op)))

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
        recorder = self._hooks.recorder
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

    def _watch_works(self):
        work_class = getattr(self._hooks.torch._C._distributed_c10d, "Work", None)
        if work_class is None:
            return
        original, waited = work_class.wait, self._waited
        done = self._hooks.guarded(self._all_done)

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
            self._hooks.patch(work_class, "wait", wait)
        except TypeError:  # a class that cannot be changed: such operations have no end
            pass

    def _watch_coalescing(self):
        """batch_isend_irecv's operations have no work each: they are done with that of all, which has no future."""
        group_class = getattr(self._hooks.torch._C._distributed_c10d, "ProcessGroup", None)
        original = getattr(group_class, "_end_coalescing", None)
        if original is None:
            return
        ended = self._hooks.guarded(self._end_coalescing)

        def end(group, *arguments, **named):
            work = original(group, *arguments, **named)
            ended(group, work)
            return work

        try:
            self._hooks.patch(group_class, "_end_coalescing", end)
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
        now, clock = time.monotonic_ns(), self._hooks.recorder.clock
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

    def step_done(self):
        self._forget_unissued()
        for ops in self._coalesced.values():  # whose end was not seen
            for op in ops:
                self._forget(op)
        self._coalesced.clear()
