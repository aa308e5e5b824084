"""A PyTorch job shown live: what its ranks compute, send and wait for, in the views that simulations have.

    rankscope-live collect --listen tcp://127.0.0.1:5555        # where somebody watches: rankscope --attach tcp://127.0.0.1:5555
    RANKSCOPE_ATTACH=tcp://127.0.0.1:5556 torchrun … -m rankscope.run train.py

or, in the script,

    with rankscope.attach("tcp://127.0.0.1:5556"):
        train()
"""
from __future__ import annotations

import atexit
import contextlib
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
import traceback
from typing import Any, Optional, Tuple

_attached: "Optional[Attachment]" = None  # of this process, while there is one


def attach(
    endpoint: Optional[str] = None,
    key: Optional[str] = None,
    server_key: Optional[str] = None,
    *,
    first_step: int = 0,
    most_spans: int = 65536,
    hang_s: float = 30.0,
    folder: Optional[str] = None,
    profile: Optional[Tuple[int, int]] = None,
) -> "Attachment":
    """Watches this process from now on; a context manager, or call close().

    endpoint: of `rankscope-live collect` (RANKSCOPE_ATTACH where none is given). key: this process's key file, server_key: the collector's
    public key or its file (RANKSCOPE_KEY, RANKSCOPE_SERVER_KEY), for endpoints on other machines. first_step: the number of the step
    that comes first. most_spans: kept while nobody takes them; more are dropped, and counted. hang_s: an operation under way for longer
    is told, with a flight record in `folder` (the system's for temporary files). profile: (first, last) steps recorded with
    torch.profiler too, into `folder`.

    Where this process is attached already, as by -m rankscope.run, gives that attachment, which ends when the last who has it closes it.
    `profile` is then that attachment's from now on; what else it has otherwise is told, and left.

    Raises ValueError or TypeError where an argument is none, as an endpoint that is missing, and RuntimeError where torch or pyzmq is
    missing; after that nothing that goes wrong here reaches the job.
    """
    endpoint = endpoint or os.environ.get("RANKSCOPE_ATTACH")
    if not endpoint:
        raise ValueError('rankscope.attach: where to? As in rankscope.attach("tcp://127.0.0.1:5556") or RANKSCOPE_ATTACH=…')
    _check_endpoint(endpoint)
    _check_number("first_step", first_step, int, 0)
    _check_number("most_spans", most_spans, int, 1)
    _check_number("hang_s", hang_s, (int, float), 0)
    if profile is not None:
        if not isinstance(profile, (tuple, list)) or len(profile) != 2:
            raise TypeError(f"rankscope.attach: profile is the first and the last step, such as (10, 12), not {profile!r}")
        for step in profile:
            _check_number("a step of profile", step, int, 0)
        if profile[0] > profile[1]:
            raise ValueError(f"rankscope.attach: profile: step {profile[0]} comes after step {profile[1]}")
        profile = tuple(profile)
    given = {"key": key or os.environ.get("RANKSCOPE_KEY"), "server_key": server_key or os.environ.get("RANKSCOPE_SERVER_KEY"),
             "first_step": first_step, "most_spans": most_spans, "hang_s": hang_s, "folder": folder, "profile": profile}
    there = _attached
    if there is not None and there._process == os.getpid():
        if there.state not in ("refused", "closed"):
            return there._taken_again(endpoint, given)
        there._finish()
    return Attachment(endpoint, **given)


def _check_number(name: str, value: Any, kind: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"rankscope.attach: {name} is a {'whole number' if kind is int else 'number'}, not {value!r}")
    if not value >= least:
        raise ValueError(f"rankscope.attach: {name} is {value}, and at least {least}")


def _check_endpoint(endpoint: str) -> None:
    if not isinstance(endpoint, str):
        raise TypeError(f"rankscope.attach: an endpoint is a text, as tcp://127.0.0.1:5556, not {endpoint!r}")
    transport, _, place = endpoint.partition("://")
    host, _, port = place.rpartition(":")
    if transport == "tcp" and host and port.isascii() and port.isdigit():
        if not 1 <= int(port) <= 65535:
            raise ValueError(f"rankscope.attach: {endpoint!r}: a port is a number from 1 to 65535")
    elif transport != "ipc" or not place:
        raise ValueError(f"rankscope.attach: {endpoint!r} is no endpoint; as in tcp://127.0.0.1:5556 or ipc://PATH")


class Attachment:
    """What attach() gives. `dropped`, `sent`, `overhead_s` say how it goes."""

    def __init__(self, endpoint, key, server_key, first_step, most_spans, hang_s, folder, profile):
        try:
            import torch
            import torch.distributed
        except ImportError:
            raise RuntimeError("rankscope.attach needs PyTorch: there is no module torch here") from None
        from ._attach import hooks, recorder, sender

        self._given = {"key": key, "server_key": server_key, "first_step": first_step, "most_spans": most_spans, "hang_s": hang_s,
                       "folder": folder, "profile": profile}
        self._holders = {self}  # who have not closed it
        self._torch, self._hang_ns, self._process = torch, int(hang_s * 1e9), os.getpid()
        self._folder = folder or tempfile.gettempdir()
        self._profile, self._profiler, self._stay = profile, None, None
        self._sender_class, self._sender = sender.Sender, None
        self._endpoint, self._keys = endpoint, (key, server_key)
        self._rank, self._flight_file, self._waited = int(os.environ.get("RANK", 0)), "", False
        cuda = torch.cuda.is_available() and os.environ.get("RANKSCOPE_CLOCK") != "cpu"
        self._recorder = recorder.Recorder(None, most_spans, first_step)
        self._make_clock = (lambda: recorder.CudaClock(torch)) if cuda else None
        for name in (key, server_key):  # told here, where somebody sees it
            if name and not os.path.exists(name) and len(name) != 40:
                raise ValueError(f"rankscope.attach: there is no key file {name}")
        import importlib.util

        if importlib.util.find_spec("zmq") is None:
            raise RuntimeError("rankscope.attach needs pyzmq: pip install pyzmq (Debian: python3-zmq)")
        self._hooks = hooks.Hooks(torch, self._recorder, self._rank, self._hook_failed)
        self._hooks.on_step = self._on_step
        self._restore = None
        self._hooks.on_work = self._first_step_begins
        if torch.distributed.is_initialized():
            self._begin()
            self._first_step_begins()
        else:
            self._wait_for_job()
        atexit.register(self._finish)
        global _attached
        _attached = self

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(self, kind, error, _) -> None:
        self._end(self, kind, error)

    @property
    def dropped(self) -> int:
        """Spans that were not taken in time."""
        return self._recorder.dropped

    @property
    def sent(self) -> int:
        return self._sender.sent if self._sender else 0

    @property
    def state(self) -> str:
        """connecting, attached, refused or closed."""
        return self._sender.state if self._sender else "connecting"

    @property
    def overhead_s(self) -> float:
        """Processor time of the thread that sends."""
        return self._sender.seconds if self._sender else 0.0

    def log(self, **facts: Any) -> None:
        """Of the step that runs, before its optimizer's step: loss, gradient_norm, tokens (of this rank)."""
        unknown = set(facts) - {"loss", "gradient_norm", "tokens"}
        if unknown:
            raise TypeError(f"log() knows loss, gradient_norm and tokens, not {', '.join(sorted(unknown))}")
        self._find_job()
        self._recorder.facts(**facts)

    def watch(self, model: Any) -> None:
        """A model that is first used after the first step: others are found by themselves."""
        self._guarded(self._hooks.watch_model, model)

    def watch_mesh(self, mesh: Any) -> None:
        """A DeviceMesh that was made before attach()."""
        self._guarded(self._hooks.groups.watch_mesh, mesh)

    def step(self) -> None:
        """Ends a step where no optimizer does."""
        self._guarded(self._hooks.step_done)

    def profile(self, steps: int = 1, first: Optional[int] = None) -> None:
        """Records so many steps with torch.profiler too, from the next one (or `first`) on, into the folder."""
        start = self._recorder.step + 1 if first is None else first
        self._profile = (start, start + steps - 1)

    def close(self) -> None:
        """Sends what is left, and leaves the job as it was: where attach() gave this more than once, when the last one closes it."""
        self._end(self)

    def _guarded(self, function, *arguments):
        """What the job asks for raises no more into it than what it does not know of."""
        self._find_job()
        self._hooks.guarded(function)(*arguments)

    def _find_job(self):
        """One whose process group was made by what this process had taken hold of before."""
        if self._sender is None and self._restore is not None and self._torch.distributed.is_initialized():
            self._restore()
            self._begin_or_say()

    def _begin_or_say(self):
        try:
            self._begin()
        except Exception as error:
            print(f"rankscope: this process cannot be watched: {error}", file=sys.stderr)

    def _begin(self):
        """The job is known."""
        dist = self._torch.distributed
        if self._sender is not None:
            return
        self._rank = self._hooks.rank = dist.get_rank()
        if self._make_clock is not None:
            self._recorder.clock = self._make_clock()
        device = self._torch.cuda.get_device_name() if self._make_clock else "CPU"
        run = os.environ.get("TORCHELASTIC_RUN_ID", "")
        job = f"{os.environ.get('MASTER_ADDR', socket.gethostname())}:{os.environ.get('MASTER_PORT', '')}"
        if run and run != "none":
            job = run
        job += f"/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        identity = {"job": job, "rank": self._rank, "world_size": dist.get_world_size(), "device": f"{device}, torch {self._torch.__version__}"}
        self._hooks.groups.watch()
        self._hooks.groups.watch_meshes()
        self._hooks.watch_stages()
        self._hooks.watch_modules()
        self._hooks.watch_optimizers()
        self._hooks.watch_captures()
        self._sender = self._sender_class(self._recorder, identity, self._endpoint, *self._keys, on_welcome=self._on_welcome, hung=self._hung)

    def _wait_for_job(self):
        """Until torch.distributed is there. A script may hold init_process_group since before this: then what it calls tells."""
        dist = self._torch.distributed
        c10d = dist.distributed_c10d
        original, update = c10d.init_process_group, getattr(c10d, "_update_default_pg", None)

        def init_process_group(*arguments, **named):
            result = original(*arguments, **named)
            self._find_job()
            self._first_step_begins()
            return result

        def update_default_pg(*arguments, **named):
            result = update(*arguments, **named)
            self._find_job()
            return result

        init_process_group.__doc__ = original.__doc__

        def restore():
            for place in (c10d, dist):
                if getattr(place, "init_process_group", None) is init_process_group:
                    place.init_process_group = original
            if getattr(c10d, "_update_default_pg", None) is update_default_pg:
                c10d._update_default_pg = update
            self._restore = None

        c10d.init_process_group = dist.init_process_group = init_process_group
        if update is not None:
            c10d._update_default_pg = update_default_pg
        self._restore = restore

    def _taken_again(self, endpoint, given):
        plain = attach.__kwdefaults__
        other = [name for name, value in given.items() if value not in (plain.get(name), self._given[name])]
        if "profile" in other:
            other.remove("profile")
            first, last = self._given["profile"] = given["profile"]
            self.profile(last - first + 1, first)
        elsewhere = "" if endpoint == self._endpoint else f", not to {endpoint}"
        kept = f", with its own {', '.join(other)}" if other else ""
        print(f"rankscope: this process is attached to {self._endpoint} already{elsewhere}: that attachment goes on{kept}", file=sys.stderr)
        return _TakenAgain(self)

    def _end(self, holder, kind=None, error=None):
        self._holders.discard(holder)
        if not self._holders:
            self._finish(error is not None, "" if error is None else f"{kind.__name__}: {error}")

    def _finish(self, failed=False, message=""):
        global _attached
        if os.getpid() != self._process:  # a child that was forked: not its job
            return
        if self._restore is not None:
            self._restore()
            if self._recorder.enabled and multiprocessing.parent_process() is None:  # else a helper of the job's, as one that reads data
                print("rankscope: no process group was seen: nothing of this process was watched", file=sys.stderr)
        atexit.unregister(self._finish)
        _attached = None if _attached is self else _attached
        self._stop_profiling()
        self._hooks.leave()
        if self._sender is not None and self._sender.state != "closed":
            self._sender.close(failed, message)
        self._recorder.enabled = False

    def _hook_failed(self, where, error, last):
        if last or self._hooks.errors == 1:
            print(f"rankscope: {where}: {type(error).__name__}: {error}" + ("; nothing more is recorded" if last else ""), file=sys.stderr)

    def _on_welcome(self, said):
        steps = said.get("profile")
        if self._profile is None and isinstance(steps, list) and len(steps) == 2 and all(isinstance(step, int) for step in steps):
            self._profile = tuple(steps)

    # --- a window of torch.profiler ---------------------------------------------------------------------------------------------

    def _first_step_begins(self):
        """The process group is whole: PyTorch's profiler writes down what it is."""
        if self._hooks.on_work is not None:
            self._hooks.on_work = None
            self._on_step(self._recorder.step)

    def _on_step(self, step):
        """This step begins."""
        if self._profile is None and self._profiler is None:
            return
        try:
            if self._profiler is not None:
                if step > self._profile[1]:
                    self._stop_profiling()
                else:
                    self._profiler.step()
            elif step > self._profile[1]:
                self._no_profile(f"steps {self._profile[0]} to {self._profile[1]} were over before they could be recorded")
            elif step >= self._profile[0]:
                self._start_profiling()
        except Exception as error:
            self._no_profile(f"{type(error).__name__}: {error}")

    def _no_profile(self, why):
        print(f"rankscope: no profile: {why}", file=sys.stderr)
        profiler, _ = self._leave_profiler()
        if profiler is not None:
            with contextlib.suppress(Exception):
                profiler.stop()

    def _leave_profiler(self):
        """(profiler or None, its steps): there is none any more."""
        if self._stay is not None:
            self._stay()
        left = self._profiler, self._profile
        self._profiler = self._profile = self._stay = None
        return left

    def _start_profiling(self):
        """Makes way when the job starts a profiler of its own: there can be one, and whoever comes second is told so by an exception."""
        torch = self._torch
        is_taken = getattr(torch.autograd, "_profiler_enabled", None)
        if is_taken is not None and is_taken():
            raise RuntimeError("the job has a profiler of its own")
        # Without a schedule it marks no steps. Its numbers are the job's, so that those of two windows are told apart.
        profiler = torch.profiler.profile(record_shapes=True, schedule=lambda _: torch.profiler.ProfilerAction.RECORD)
        profiler.step_num = self._recorder.step
        try:
            profiler.start()
        except Exception:
            with contextlib.suppress(Exception):
                profiler.stop()  # or what it has begun ends the process later
            raise
        self._profiler = profiler
        place = torch.autograd.profiler.profile
        original = getattr(place, "_prepare_trace", None)
        if original is None:
            return

        def prepare_trace(*arguments, **named):
            if self._profiler is not None:
                self._stop_profiling()
            return original(*arguments, **named)

        def stay():
            if place._prepare_trace is prepare_trace:
                place._prepare_trace = original

        place._prepare_trace = prepare_trace
        self._stay = stay

    def _stop_profiling(self):
        profiler, steps = self._leave_profiler()
        if profiler is None:
            return
        try:
            profiler.stop()
            path = os.path.join(self._folder, f"rankscope-{socket.gethostname()}-rank{self._rank}-step{steps[0]}.json")
            profiler.export_chrome_trace(path)
            print(f"rankscope: steps {steps[0]} to {steps[1]} of rank {self._rank} are in {path}", file=sys.stderr)
        except Exception as error:
            print(f"rankscope: no profile: {type(error).__name__}: {error}", file=sys.stderr)

    # --- hangs ------------------------------------------------------------------------------------------------------------------

    def _hung(self):
        """Called by the sender's thread, once a second."""
        waits = self._hooks.groups.waits(self._hang_ns)
        if not waits:
            waited, self._waited = self._waited, False
            self._flight_file = "" if waited else self._flight_file
            return {"waits": [], "file": ""} if waited else None
        self._waited = True
        if not self._flight_file:
            self._flight_file = self._write_flight_record()
        return {"waits": waits, "file": self._flight_file}

    def _write_flight_record(self):
        """What PyTorch's flight recorder holds, and beside it where each thread stands."""
        path = os.path.join(self._folder, f"rankscope-flight-{socket.gethostname()}-rank{self._rank}-{os.getpid()}.json")
        c10d = self._torch._C._distributed_c10d
        try:
            with _own_file(path[:-5] + ".txt") as file:
                names = {thread.ident: thread.name for thread in threading.enumerate()}
                for identity, frame in sys._current_frames().items():
                    file.write(f"{names.get(identity, identity)}\n{''.join(traceback.format_stack(frame))}\n")
            for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json"):
                with contextlib.suppress(Exception):
                    dump = getattr(c10d, name)()
                    dump = dump.decode() if isinstance(dump, bytes) else dump
                    json.loads(dump)
                    with _own_file(path) as file:
                        file.write(dump)
                    return path
            return path[:-5] + ".txt"
        except OSError:
            return ""


class _TakenAgain:
    """An attachment that is there already, as who asks for it next has it: closed by each for itself, however often."""

    def __init__(self, there):
        self._there = there
        there._holders.add(self)

    def __getattr__(self, name):
        return getattr(self._there, name)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        self._end(self, kind, error)

    def close(self):
        self._end(self)


def _own_file(path: str):
    """A new file of ours alone, in a folder that others may write to: links there are not followed, and files of ours made anew."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")


def attach_where_asked() -> Optional[Attachment]:
    """With RANKSCOPE_ATTACH set, attaches this process; says why where that cannot be, and lets the job go on."""
    if not os.environ.get("RANKSCOPE_ATTACH"):
        return None
    try:
        first = os.environ.get("RANKSCOPE_PROFILE", "")
        window = None
        if first:
            begin, _, end = first.partition("-")
            window = (int(begin), int(end or begin))
        return attach(profile=window, hang_s=float(os.environ.get("RANKSCOPE_HANG_S", 30)), folder=os.environ.get("RANKSCOPE_FOLDER"))
    except Exception as error:
        print(f"rankscope: this process is not watched: {error}", file=sys.stderr)
        return None
