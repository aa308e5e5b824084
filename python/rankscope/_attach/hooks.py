"""Where PyTorch tells what it does: process groups, pipeline stages, modules, optimizers.
Whatever goes wrong in a hook stays there: it is counted, and after a few times the hooks do nothing more."""
import functools
import importlib
import sys
import weakref

from . import models, unseen, wire
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
        self._root = None  # the model whose forward pass runs, while models are found
        self._find = self._finder = None  # what finds them, and its hook
        self._is_trial = False  # a pass that only tells shapes
        self._roots = weakref.WeakSet()
        self._around = weakref.WeakKeyDictionary()  # by module: (enter, leave, handles of its hooks)
        self._hooked = 0
        self._backward = None  # the module whose backward runs
        self._last_out = None  # refers to the output of the last part whose backward is watched
        self._optimizer, self._optimizing = None, None
        self.on_step = None
        self.on_work = None  # before the first forward pass

    def guarded(self, function):
        """A hook that never raises into the job. Made for each tensor that one is put on: it bears no name or text of `function`,
        which take as long to copy as all the rest of a span."""

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
        for stage_class in (base, getattr(stage, "PipelineStage", None)):
            for method in ("_prepare_forward_infra", "_prepare_backward_infra"):
                if method in vars(stage_class or object):
                    self.patch(stage_class, method, self._trial(getattr(stage_class, method)))

    def _trial(self, original):
        """Where a stage runs its module for the shapes alone."""

        @functools.wraps(original)
        def trial(*arguments, **named):
            self._is_trial = True
            try:
                return original(*arguments, **named)
            finally:
                self._is_trial = False

        return trial

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
        self._find = self.guarded(self._first_before)
        self._seek()
        self.at_leave(self._stop_finding)
        if "__getstate__" in vars(self.torch.nn.Module):
            self.patch(self.torch.nn.Module, "__getstate__", unseen.state_without_hooks(self.torch.nn.Module.__getstate__))
        self._watch_compilers()

    def _watch_compilers(self):
        """Whatever compiles a module is called in its place, and is seen as one piece."""
        torch, module_class = self.torch, self.torch.nn.Module
        watch, watch_in_place = self.guarded(self._watch_compiled), self.guarded(self._watch_compiled_in_place)
        if hasattr(torch, "compile"):
            compile_any = torch.compile

            @functools.wraps(compile_any)
            def compile(*arguments, **named):
                made = compile_any(*arguments, **named)
                watch(made)
                return made

            self.patch(torch, "compile", compile)
        if hasattr(module_class, "compile"):
            compile_module = module_class.compile

            @functools.wraps(compile_module)
            def compile_in_place(module, *arguments, **named):
                compile_module(module, *arguments, **named)
                watch_in_place(module)

            self.patch(module_class, "compile", compile_in_place)
        recursive = getattr(getattr(torch, "jit", None), "_recursive", None)
        if hasattr(recursive, "create_script_module"):
            self.patch(recursive, "create_script_module", unseen.without_hooks(recursive.create_script_module))

    def _watch_compiled(self, made):
        module = getattr(made, "_orig_mod", None)
        if module is None or module not in self._around:
            return
        if module in self._roots:
            self._roots.add(made)
        enter, leave, _ = self._around[module]
        self._take_off(module)
        self._call_around(made, enter, leave)

    def _watch_compiled_in_place(self, module):
        call = module._compiled_call_impl
        if call is None or isinstance(call, unseen.CompiledCall):
            return
        self._take_off(module)
        there = weakref.ref(module)

        def pairs():
            module = there()
            both = [(self._find, None)] if self._finder is not None else []
            both += [self._around[module][:2]] if module in self._around else []
            return [(functools.partial(enter, module), functools.partial(leave, module) if leave else lambda *_: None) for enter, leave in both]

        ours = module._compiled_call_impl = unseen.CompiledCall(self.torch, call, pairs)

        def leave():
            module = there()
            if module is not None and module._compiled_call_impl is ours:
                module._compiled_call_impl = call

        self.at_leave(leave)

    def _call_around(self, module, enter, leave):
        """enter(module, inputs) before and leave(module, inputs, output) after its forward pass."""
        if getattr(module, "_compiled_call_impl", None) is not None:
            self._around[module] = enter, leave, []
            self._watch_compiled_in_place(module)
            return
        handles = [module.register_forward_pre_hook(unseen.Hook(self.torch, enter)),
                   models.always_after(module, unseen.Hook(self.torch, leave))]
        self._around[module] = enter, leave, handles
        self.at_leave(lambda: [handle.remove() for handle in handles])

    def _take_off(self, module):
        """Its hooks, which are each its own: what is compiled of one layer is then that of the next."""
        if module in self._around:
            for handle in self._around[module][2]:
                handle.remove()

    def _seek(self):
        if self._find is not None and self._finder is None:
            self._finder = self.torch.nn.modules.module.register_module_forward_pre_hook(unseen.Hook(self.torch, self._find))

    def _rest(self):
        """While a model runs nothing is sought: what is compiled then is compiled as without a hook on all modules."""
        if self._finder is not None:
            self._finder.remove()
            self._finder = None

    def _stop_finding(self):
        self._rest()
        self._find = self._root = None

    def _first_before(self, module, inputs):
        if self._is_trial or self._is_in_backward():  # a layer that is recomputed
            return
        if module in self._roots:
            self._root = module
            self._rest()
        elif next(module.parameters(), None) is not None:
            self._root = module
            self._rest()
            self.watch_model(module)
            self._enter_root(module, inputs)  # its own hook comes too late for this pass

    def _is_in_backward(self):
        task = getattr(self.torch._C, "_current_graph_task_id", None)
        return task is not None and task() != -1

    def watch_model(self, model):
        """Hooks on a model, and on its layers."""
        if model in self._roots:
            return
        self._roots.add(model)
        self._call_around(model, self.guarded(self._enter_root), self.guarded(self._leave_root))
        for name, layer, module in models.parts_of(self.torch, model):
            if self._hooked >= MOST_HOOKED:
                break
            self._hooked += 1
            self._watch_part(name, layer, module)

    def _enter_root(self, module, inputs):
        if self._is_trial:
            return
        self._begins_work()
        if self._in_stage:
            return
        self.letter = None
        self.microbatch = self._forwards
        self._forwards += 1
        module.__dict__["_rankscope_began"] = self.recorder.clock.stamp()

    def _leave_root(self, module, inputs, output):
        if module is self._root:
            self._root = None
            self._seek()
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
        recorder, torch, tensor_class = self.recorder, self.torch, self.torch.Tensor
        began = []
        self._parts_began.append(began)
        kinds = {}

        def kind(op_class):
            key = (op_class, self._stage)
            if key not in kinds:
                kinds[key] = recorder.kind(name, op_class, self._stage if self._in_stage else 0, layer)
            return kinds[key]

        def enter(part, inputs):
            if not self._is_trial:
                began.append(recorder.clock.stamp())

        def leave(part, inputs, output):
            if not began:
                return
            start, microbatch = began.pop(), self.microbatch
            again = self._backward is not None
            recorder.span(wire.COMPUTE, kind(wire.RECOMPUTE if again else wire.FORWARD), start, recorder.clock.stamp(), microbatch)
            out = output if type(output) is tensor_class else models.first_tensor(torch, output)
            if out is None or not out.requires_grad or not torch.is_grad_enabled():
                return
            inside = models.first_tensor(torch, inputs, needs_grad=True)
            before, self._last_out = self._last_out, weakref.ref(out)
            mine = (id(part), microbatch)

            def begins(_):
                self._begin_backward(mine, kind(wire.BACKWARD), microbatch)
                if inside is None:
                    torch.autograd.Variable._execution_engine.queue_callback(self.guarded(lambda: self._end_backward(mine)))

            out.register_hook(self.guarded(begins))
            # The part before, whose output it is, begins its backward where this one ends.
            if inside is not None and (before is None or before() is not inside):
                inside.register_hook(self.guarded(lambda _: self._end_backward(mine)))
            # Held by the hook no longer than the graph: only whether there is one was asked.
            inside = None if inside is None else True

        self._call_around(module, self.guarded(enter), self.guarded(leave))

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
        if self._find is not None:
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
