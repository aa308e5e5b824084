"""Where PyTorch tells what it does: process groups, pipeline stages, modules, optimizers.
Whatever goes wrong in a hook stays there: it is counted, and after a few times the hooks do nothing more."""
import functools
import importlib
import sys
import weakref

from . import models, wire
from .groups import GroupHooks

MOST_ERRORS = 10
MOST_HOOKED = 2048  # modules


class Hooks:
    def __init__(self, torch, recorder, rank, on_error=None):
        self.torch, self.recorder, self.rank = torch, recorder, rank
        self.errors = 0
        self._on_error = on_error
        self._undo = []
        self.groups = GroupHooks(self)
        self._parts_began = []  # a list a part of a model
        self._stage, self.microbatch, self.letter = 0, -1, None
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

    def patch(self, place, name, wrapper):
        original = getattr(place, name)
        setattr(place, name, wrapper)
        self.at_leave(lambda: setattr(place, name, original) if getattr(place, name) is wrapper else None)

    def at_leave(self, undo):
        self._undo.append(undo)

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
            self.patch(graph, "capture_begin", capture_begin)
            self.patch(graph, ends, capture_end)
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
                self.patch(base, method, self._timed_pass(getattr(base, method), letter))

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
        self._stage, self.microbatch, self.letter = stage.stage_index, chunk, letter
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
        self.at_leave(self._stop_finding)

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
        for name, layer, module in models.parts_of(self.torch, model):
            if self._hooked >= MOST_HOOKED:
                break
            self._hooked += 1
            handles += self._watch_part(name, layer, module)
        self.at_leave(lambda: [handle.remove() for handle in handles])

    def _enter_root(self, module):
        self._begins_work()
        if self._in_stage:
            return
        self.letter = None
        self.microbatch = self._forwards
        self._forwards += 1
        module.__dict__["_rankscope_began"] = self.recorder.clock.stamp()

    def _leave_root(self, module, output):
        start = module.__dict__.pop("_rankscope_began", None)
        if start is None:
            return
        microbatch = self.microbatch
        self._action("F", 0, microbatch, start, self.recorder.clock.stamp())
        tensor = models.first_tensor(self.torch, output)
        if tensor is None or not tensor.requires_grad:
            return
        engine = self.torch.autograd.Variable._execution_engine
        step = self.recorder.step

        def begins(_):
            self.microbatch = microbatch
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
            start, microbatch = began.pop(), self.microbatch
            again = self._backward is not None
            recorder.span(wire.COMPUTE, kind(wire.RECOMPUTE if again else wire.FORWARD), start, recorder.clock.stamp(), microbatch)
            out = models.first_tensor(torch, output)
            if out is None or not out.requires_grad or not torch.is_grad_enabled():
                return
            inside = models.first_tensor(torch, inputs, needs_grad=True)
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

        return [module.register_forward_pre_hook(self.guarded(enter)), models.always_after(module, self.guarded(leave))]

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
        self.at_leave(lambda: [handle.remove() for handle in handles])

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
        self.groups.step_done()
        for began in self._parts_began:  # of forward passes that were left by an exception
            began.clear()
        self._forwards, self.microbatch, self.letter, self._in_stage, self._backward = 0, -1, None, False, None
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
