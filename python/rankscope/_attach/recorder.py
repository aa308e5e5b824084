"""What a rank did, in a bounded queue: whoever records never waits, what does not fit is counted. Any thread may record."""
import collections
import contextlib
import ctypes
import os
import threading
import time


class Clock:
    """While a stream captures a graph nobody here asks CUDA anything: in the mode that PyTorch captures in, such a call of any thread
    breaks the capture."""

    RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED

    def __init__(self):
        self._captures = 0
        self._lock = threading.Lock()  # held by who reads stamps and tensors: no capture begins meanwhile

    def begin_capture(self):
        with self._lock:
            self._captures += 1

    def end_capture(self):
        with self._lock:
            self._captures = max(0, self._captures - 1)

    def settle(self):
        """Of the thread that reads, before it does: what it asks CUDA is no matter of a capture that is not known of here."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(self.RELAXED)))

    @contextlib.contextmanager
    def reading(self):
        """Whether stamps and tensors may be read, for as long as they are."""
        with self._lock:
            yield self._captures == 0


class CpuClock(Clock):
    """Time is known at once."""

    stamp = staticmethod(time.monotonic_ns)

    @staticmethod
    def resolve(stamp):
        return stamp


class CudaClock(Clock):
    """A stamp is an event on the current stream, whose time is known once the GPU has passed it. Nobody waits for that. While a graph
    is captured there are none."""

    REBASE_NS = 10_000_000_000  # CUDA tells differences in milliseconds as 32-bit floats: over ten seconds within a microsecond
    ROUNDS = 5

    def __init__(self, torch):
        super().__init__()
        self._torch = torch
        self._stream = self._base = None

    def _rebase(self):
        """An event and the host's time of it: between those before and after, of which the closest pair counts, as a thread may have
        to wait for the interpreter between any two lines."""
        best = None
        for _ in range(self.ROUNDS):
            event = self._torch.cuda.Event(enable_timing=True)
            before = time.monotonic_ns()
            event.record(self._stream)
            event.synchronize()
            after = time.monotonic_ns()
            if best is None or after - before < best[0]:
                best = (after - before, event, before + (after - before) // 2)
        self._base = best[1:]

    def stamp(self):
        if self._captures or self._torch.cuda.is_current_stream_capturing():
            return None
        if self._stream is None:  # on the device that the job computes on, which it may choose after joining its process group
            self._stream = self._torch.cuda.Stream()
            self._rebase()
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def resolve(self, stamp):
        """Within reading()."""
        if stamp is None or isinstance(stamp, int):
            return stamp
        if not stamp.query():
            return None
        event, at = self._base
        if time.monotonic_ns() - at > self.REBASE_NS:
            self._rebase()
            event, at = self._base
        return at + int(event.elapsed_time(stamp) * 1e6)


class Recorder:
    MOST_STEPS = 4096  # that a message may tell of (live/stream/budget.h)

    def __init__(self, clock=None, most=65536, first_step=0):
        self.clock = clock or CpuClock()
        self.step = first_step
        self.dropped = 0
        self.enabled = True
        # As they are told. More kinds than are taken are one.
        self.kinds, self.groups = [{"name": "other kinds", "class": 12, "stage": -1, "layer": -1, "group": ""}], []
        self._queue = collections.deque()
        self._most = most
        self._kind_numbers, self._group_numbers = {}, {}
        self._lock = threading.Lock()
        self._step_began = None
        self._facts = {}

    def kind(self, name, op_class, stage=-1, layer=-1, group=""):
        key = (name, op_class, stage, layer, group)
        number = self._kind_numbers.get(key)
        if number is None:
            with self._lock:
                number = self._kind_numbers.get(key)
                if number is None:
                    number = len(self.kinds)
                    if number >= 8000:
                        return 0
                    self.kinds.append({"name": name, "class": op_class, "stage": stage, "layer": layer, "group": group})
                    self._kind_numbers[key] = number
        return number

    def group(self, name, kind, ranks, of=""):
        """Its number. kind: tp, cp, ep, pp, dp, world, other, or pair (a sender and its receiver). of: PyTorch's name of the process
        group, which its members agree on: others may have the same members."""
        key = (name, kind, tuple(ranks), of)
        number = self._group_numbers.get(key)
        if number is None:
            with self._lock:
                number = self._group_numbers.get(key)
                if number is None:
                    number = len(self.groups)
                    if number >= 4096:  # as many as are taken: its spans are there, and joined to nobody's
                        return -1
                    self.groups.append({"name": name, "kind": kind, "ranks": list(ranks), "of": of})
                    self._group_numbers[key] = number
        return number

    def span(self, track, kind, start, end, microbatch=-1, size=0, correlation=0, step=None, ended=None):
        """Whether it is kept. Times are the clock's stamps, None where there is none: while a graph is captured. ended(): called when
        both have passed, by who takes it."""
        if start is None or end is None:
            return False
        queue = self._queue
        if len(queue) >= self._most:
            self.dropped += 1
            return False
        queue.append((track, self.step if step is None else step, kind, microbatch, start, end, size, correlation, ended))
        return True

    def facts(self, **facts):
        """Of the step that runs: loss, gradient_norm, tokens."""
        self._facts.update(facts)

    def step_done(self, start=None):
        now = self.clock.stamp()
        if now is None:  # captured, not run
            return
        began = self._step_began if start is None else start
        if len(self._queue) < self._most + 64:  # steps may be a little more than full
            self._queue.append((None, self.step, self._facts, now if began is None else began, now, held_bytes(self.clock)))
        self._facts = {}
        self._step_began = now
        self.step += 1

    def begin(self):
        if self._step_began is None:
            self._step_began = self.clock.stamp()

    def __len__(self):
        return len(self._queue)

    def take(self, most):
        """(spans, steps, memory) that are complete, with times in ns."""
        spans, steps, memory = [], [], []
        with self.clock.reading() as may_read:
            if may_read:
                self._take(most, spans, steps, memory)
        return spans, steps, memory

    def _take(self, most, spans, steps, memory):
        queue, resolve = self._queue, self.clock.resolve
        while queue and len(spans) < most and len(steps) < self.MOST_STEPS:
            head = queue[0]
            if head[0] is None:
                start, end = resolve(head[3]), resolve(head[4])
                if start is None or end is None:
                    break
                facts = head[2]
                steps.append([head[1], start, max(start, end)] + [number(facts.get(name)) for name in ("loss", "gradient_norm", "tokens")])
                if head[5] is not None:
                    memory.append((end, head[5]))
            else:
                start, end = resolve(head[4]), resolve(head[5])
                if start is None or end is None:
                    break
                spans.append((head[0], head[1], head[2], head[3], start, max(start, end), head[6], head[7]))
                if head[8] is not None:
                    head[8]()
            queue.popleft()


def number(value):
    """A tensor's value too: read here, by the thread that sends."""
    try:
        value = float(value)
        return value if abs(value) < 1e300 else None
    except (TypeError, ValueError, RuntimeError):
        return None


class ResidentMemory:
    """Of this process. Its file stays open: to open it anew takes as long as ten spans, each step."""

    def __init__(self):
        self._process = self._file = None

    def bytes(self):
        if self._process != os.getpid():  # a fork's file would tell of who opened it
            if self._file is not None:
                os.close(self._file)
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            self._process = os.getpid()
        return int(os.pread(self._file, 128, 0).split()[1]) * PAGE


PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
resident_memory = ResidentMemory()


def held_bytes(clock):
    """Of the GPU where there is one, else the process's resident memory."""
    try:
        if isinstance(clock, CudaClock):
            return int(clock._torch.cuda.memory_allocated())
        return resident_memory.bytes()
    except (OSError, ValueError, IndexError):
        return None
