"""Hooks on modules that leave these what they are to everybody else: torch.compile does not trace them, pickle and copies leave them
behind, TorchScript does not compile them."""
import contextlib
import functools


class Hook:
    """What torch.compile traces of it is that it does nothing."""

    def __init__(self, torch, function):
        self._is_compiling, self._function = torch.compiler.is_compiling, function

    def __call__(self, module, *arguments):
        if self._is_compiling():
            return None
        return self._function(module, *arguments)

    def __reduce__(self):
        # Where a class of modules has a state of its own making (state_without_hooks). Of the standard library, so that whoever loads it needs no Rankscope: it takes anything, and does nothing.
        return getattr, (contextlib.nullcontext(), "__exit__")


class CompiledCall:
    """In the place of what `module.compile()` made, whose inside no hook sees. pairs(): (enter, leave) each, to call around it."""

    def __init__(self, torch, call, pairs):
        self._is_compiling, self.call, self._pairs = torch.compiler.is_compiling, call, pairs

    def __call__(self, *arguments, **named):
        if self._is_compiling():
            return self.call(*arguments, **named)
        for enter, _ in self._pairs():
            enter(arguments)
        output = None
        try:
            output = self.call(*arguments, **named)
            return output
        finally:
            for _, leave in self._pairs():  # those too that were found meanwhile
                leave(arguments, output)


def state_without_hooks(get_state):
    """A module's own __getstate__, of which copies and pickles are made."""

    @functools.wraps(get_state)
    def state_of(module):
        state = get_state(module)
        ours = set()
        for name in ("_forward_pre_hooks", "_forward_hooks"):
            hooks = state.get(name, {})
            found = {key for key, hook in hooks.items() if isinstance(hook, Hook)}
            if found:
                state[name] = type(hooks)((key, hook) for key, hook in hooks.items() if key not in found)
                ours |= found
        always = state.get("_forward_hooks_always_called", {})
        if ours & always.keys():
            state["_forward_hooks_always_called"] = type(always)((key, value) for key, value in always.items() if key not in ours)
        return state

    return state_of


def without_hooks(create_script_module):
    """torch.jit's own, which compiles a module's hooks too: while it does, there are none of ours."""

    @functools.wraps(create_script_module)
    def create(module, *arguments, **named):
        taken = []
        for part in module.modules():
            for hooks in (part._forward_pre_hooks, part._forward_hooks):
                ours = {key: hook for key, hook in hooks.items() if isinstance(hook, Hook)}
                taken.append((hooks, ours))
                for key in ours:
                    del hooks[key]
        try:
            return create_script_module(module, *arguments, **named)
        finally:
            for hooks, ours in taken:
                hooks.update(ours)

    return create
