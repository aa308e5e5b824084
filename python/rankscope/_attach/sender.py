"""The thread that hands on what was recorded, to rankscope-live collect over ZeroMQ. It alone touches the socket. The job never
waits for it: where nobody takes what it has, the recorder fills up and counts."""
import json
import os
import socket as sockets
import sys
import threading
import time

from . import wire

PINGS = 12
TRY_AGAIN_S = 120  # where a refusal may pass: ranks of a node that died are attached until they have said nothing for 30 s
HEARTBEAT_MS = 5000


class Refused(RuntimeError):
    pass


def read_key(path, secret):
    """From a key file of rankscope-live keys (secret: both keys), a .pub file, or the 40 characters themselves."""
    if not secret and len(path) == 40 and not os.path.exists(path):
        return path.encode()
    lines = dict(line.split()[:2] for line in open(path) if line.strip() and not line.startswith("#") and len(line.split()) > 1)
    try:
        return (lines["public"].encode(), lines["secret"].encode()) if secret else lines["public"].encode()
    except KeyError as missing:
        raise ValueError(f"{path}: is no key file: it lacks the line {missing} (rankscope-live keys makes one)") from None


def boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


class Sender:
    def __init__(self, recorder, identity, endpoint, key=None, server_key=None, interval=0.2, on_welcome=None, hung=None, warn=None):
        """identity: job, rank, world_size, device. hung(): what it waits for, or None. Raises where the keys cannot be read or pyzmq
        is missing; after that it says what is wrong once, to standard error, and goes on or gives up."""
        try:
            import zmq
        except ImportError:
            raise RuntimeError("rankscope.attach needs pyzmq: pip install pyzmq (Debian: python3-zmq)") from None
        self._zmq = zmq
        self._recorder, self._endpoint, self._interval = recorder, endpoint, interval
        self._identity = dict(identity, host=sockets.gethostname(), process_id=os.getpid(), boot=boot_id())
        if (key is None) != (server_key is None):
            raise ValueError("rankscope.attach: key (this process's key file) and server_key (the collector's public key) go together")
        self._key = read_key(key, True) if key else None
        self._server_key = read_key(server_key, False) if server_key else None
        self._on_welcome, self._hung = on_welcome, hung
        self._warn = warn or (lambda text: print("rankscope: " + text, file=sys.stderr))
        self._stop = threading.Event()
        self._goodbye = None
        self._refused_since = None
        self.state = "connecting"  # then attached, refused, closed
        self.sent = 0
        self.seconds = 0.0  # processor time of this thread
        self._thread = threading.Thread(target=self._run, name="rankscope", daemon=True)
        self._thread.start()

    def close(self, failed=False, message="", most=5.0):
        """Sends what is left, at most so many seconds."""
        self._goodbye = (failed, message, time.monotonic() + most)
        self._stop.set()
        self._thread.join(most + 1.0)

    # The thread's own.
    def _run(self):
        context = self._zmq.Context()
        try:
            self._recorder.clock.settle()
            self._serve(context)
        except Refused as error:
            self.state = "refused"
            self._recorder.enabled = False
            self._warn(f"{self._endpoint} refused rank {self._identity['rank']}: {error}; the job goes on without being watched")
        except Exception as error:  # whatever it is, the job goes on
            self.state = "closed"
            self._recorder.enabled = False
            self._warn(f"spans are sent no more: {type(error).__name__}: {error}")
        finally:
            context.destroy(linger=0)

    def _open(self, context):
        zmq = self._zmq
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.SNDHWM, 16)
        self._socket.setsockopt(zmq.IMMEDIATE, 1)  # nothing waits for a connection that is not there
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 200)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 5000)
        # A host that is gone says no goodbye: both sides find out by themselves.
        self._socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
        self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 4 * HEARTBEAT_MS)
        self._socket.setsockopt(zmq.HEARTBEAT_TTL, 6 * HEARTBEAT_MS)
        if "[" in self._endpoint:
            self._socket.setsockopt(zmq.IPV6, 1)
        if self._key:
            self._socket.curve_publickey, self._socket.curve_secretkey = self._key
            self._socket.curve_serverkey = self._server_key
        from zmq.utils.monitor import recv_monitor_message
        self._read_event = recv_monitor_message
        events = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
        self._events = self._socket.get_monitor_socket(events)
        self._socket.connect(self._endpoint)

    def _serve(self, context):
        self._open(context)
        self._begin()
        since = begun = time.monotonic()
        warned = False
        while True:
            stopping = self._stop.is_set()
            if self.state != "attached":
                self._greet()
                if not warned and self._refused_since is None and time.monotonic() - since > 10:
                    warned = True
                    self._warn(f"nobody answers at {self._endpoint} yet (rankscope-live collect?); still trying, spans are kept meanwhile")
            else:
                self._beat()
                since, warned = time.monotonic(), False
            if stopping and self.state != "attached" and self._pings == 0 and time.monotonic() - begun > 1.0:
                break  # nobody was ever there
            if stopping and self._refused_since is not None:
                break
            if stopping and (not len(self._recorder) and self._unsent is None and self.state == "attached" or time.monotonic() > self._goodbye[2]):
                break
            # While nobody has answered there is nothing to be quick for: an answer ends the wait.
            unheard = self.state != "attached" and self._pings == 0
            self._listen(0.02 if stopping or not (unheard or self.state == "attached") else self._interval)
            self.seconds = time.thread_time()
        failed, message, _ = self._goodbye
        if self.state == "attached":
            self._send([wire.header("bye", failed=failed, message=message[:400])])
            self._socket.close(linger=500)
        self.state = "closed"

    def _begin(self):
        self._unsent = None
        self._kinds = self._groups = 0
        self._pings, self._best, self._pinged = 0, None, 0.0
        self._greeted = 0.0
        self._spoke = self._asked = 0.0

    def _greet(self):
        now = time.monotonic()
        if self._pings < PINGS:
            if now - self._pinged > (0.5 if self._pings == 0 else 0.05) and self._send([wire.header("ping", t=time.monotonic_ns())]):
                self._pinged = now
        elif now - self._greeted > 1.0:
            round_trip, offset = self._best
            if self._send([wire.header("hello", offset_ns=offset, uncertainty_ns=round_trip // 2 + 1, **self._identity)]):
                self._greeted = now

    def _send(self, parts):
        try:
            self._socket.send_multipart(parts, self._zmq.NOBLOCK)
            self._spoke = time.monotonic()
            return True
        except self._zmq.Again:
            return False

    def _beat(self):
        recorder = self._recorder
        if self._unsent is not None and not self._flush():
            return
        while True:
            if self._groups < len(recorder.groups):
                groups = recorder.groups[self._groups:]
                if not self._send([wire.header("groups", **{"from": self._groups}, groups=groups)]):
                    return
                self._groups += len(groups)
            spans, steps, memory = recorder.take(wire.MOST_RECORDS)
            if not (spans or steps):
                break
            kinds = recorder.kinds[self._kinds:]  # all that these spans name are there
            groups = recorder.groups[self._groups:]
            first = [wire.header("groups", **{"from": self._groups}, groups=groups)] if groups else None
            members = dict(dropped=recorder.dropped, kinds_from=self._kinds, kinds=kinds, steps=steps, spans=bool(spans), memory=bool(memory))
            parts = [wire.header("data", **members)]
            if spans:
                parts.append(wire.pack_spans(self._identity["rank"], spans))
            if memory:
                parts.append(wire.pack_memory(self._identity["rank"], memory))
            self._unsent = (first, parts, len(kinds), len(groups), len(spans))
            if not self._flush():
                return
        now = time.monotonic()
        if self._hung is not None and now - self._asked > 1.0:
            self._asked = now
            waits = self._hung()
            if waits is not None:
                self._send([wire.header("waits", **waits)])
        if now - self._spoke > 0.5:
            self._send([wire.header("alive")])

    def _flush(self):
        first, parts, kinds, groups, spans = self._unsent
        if first is not None:
            if not self._send(first):
                return False
            self._groups += groups
            self._unsent = (None, parts, kinds, 0, spans)
        if not self._send(parts):
            return False
        self._kinds += kinds
        self.sent += spans
        self._unsent = None
        return True

    def _listen(self, seconds):
        zmq = self._zmq
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._events, zmq.POLLIN)
        ready = dict(poller.poll(int(seconds * 1000)))
        while self._events in ready:
            try:
                event = self._read_event(self._events, zmq.NOBLOCK)
            except zmq.Again:
                break
            if event["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                raise Refused("it does not know this key (its file for --allow must list the public one)")
            self._lost()
        if self._socket not in ready:
            return
        while True:
            try:
                parts = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                said = json.loads(parts[0])
            except ValueError:
                continue
            self._hear(said if isinstance(said, dict) else {})

    def _lost(self):
        """What was on the way may be gone: begin anew where the connection comes back."""
        if self._unsent is not None:
            self._recorder.dropped += self._unsent[4]
        self.state = "connecting"
        self._begin()

    def _hear(self, said):
        kind = said.get("type")
        if kind == "pong":
            now = time.monotonic_ns()
            sent = said.get("t")
            if isinstance(sent, int) and isinstance(said.get("clock_ns"), int) and 0 <= now - sent < 10**10:
                self._pings += 1
                sample = (now - sent, said["clock_ns"] - (sent + (now - sent) // 2))
                self._best = min(self._best, sample) if self._best else sample
                self._pinged = 0.0
        elif kind == "welcome":
            self.state, self._refused_since = "attached", None
            if self._on_welcome is not None:
                self._on_welcome(said)
                self._on_welcome = None
        elif kind == "refused":
            self._hear_refusal(str(said.get("message", "no reason"))[:500], said.get("again") is True)
        elif kind == "who":
            self._lost()

    def _hear_refusal(self, why, may_pass):
        now = time.monotonic()
        if not may_pass or (self._refused_since is not None and now - self._refused_since > TRY_AGAIN_S):
            raise Refused(why)
        if self._refused_since is None:
            self._refused_since = now
            self._warn(f"{self._endpoint} refuses rank {self._identity['rank']}: {why}; tried again for {TRY_AGAIN_S} s")
