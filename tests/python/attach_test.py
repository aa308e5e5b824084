"""A job that is attached arrives whole, and whatever goes wrong with watching it, the job does not notice.
Usage: attach_test.py BIN_DIR; PyTorch's place is taken by stand_in_torch.py."""
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
BINARIES = pathlib.Path(sys.argv.pop()).resolve()
try:
    import zmq  # noqa: F401
except ImportError:
    print("SKIPPED: there is no pyzmq (Debian: python3-zmq)")
    sys.exit(0)

JOB = """
import sys, time
import stand_in_torch
torch, world = stand_in_torch.install(int(sys.argv[1]), 2)
import rankscope
rank, peer = int(sys.argv[1]), 1 - int(sys.argv[1])
def train(steps, attachment):
    model = stand_in_torch.Module(embedding=stand_in_torch.Block(), layers=stand_in_torch.ModuleList(**{"0": stand_in_torch.Block(), "1": stand_in_torch.Block()}))
    stage, optimizer = stand_in_torch.Stage(rank, model), stand_in_torch.Optimizer()
    dp, _ = torch.distributed.distributed_c10d._new_process_group_helper([0, 1], "mesh_dp")
    for step in range(steps):
        for chunk in range(2):
            if rank == 1:
                world.issue("RECV", peer).wait()
            stage.forward_one_chunk(chunk, stand_in_torch.Tensor())
            if rank == 0:
                world.issue("SEND", peer).wait()
            stage.backward_one_chunk(chunk)
        dp.issue("ALLREDUCE").wait()
        attachment.log(loss=3.0 - step, tokens=100)
        optimizer.step()
"""


def environment(**more):
    return dict(os.environ, PYTHONPATH=f"{PACKAGE}:{HERE}", RANKSCOPE_BIN_DIR=str(BINARIES), **more)


class Collect:
    """rankscope-live collect, until its job is over."""

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.endpoint = f"ipc://{self.path}/ranks"
        self.trace = self.path / "trace.json"
        self.process = subprocess.Popen(
            [BINARIES / "rankscope-live", "collect", "--listen", f"ipc://{self.path}/viewers", "--ingest", self.endpoint, "--trace", self.trace, "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        out, errors = self.process.communicate(timeout=60)
        return json.loads(out), errors

    def names(self):
        """How often each span of each rank is there."""
        events = json.loads(self.trace.read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        return collections.Counter((event["pid"], event["name"]) for event in events if event["ph"] == "X" and not event["name"].startswith("wait"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.folder.cleanup()


def python(code, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", JOB + textwrap.dedent(code), *map(str, arguments)], env=environment(**more),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class AttachedJob(unittest.TestCase):
    def test_arrives_whole(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach(sys.argv[2]) as attachment:
                train(5, attachment)
            assert attachment.dropped == 0 and attachment.state == "closed", (attachment.dropped, attachment.state)
            print(attachment.sent)
        """
        with Collect() as collect:
            ranks = [python(code, rank, collect.endpoint) for rank in range(2)]
            said = [rank.communicate(timeout=60) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
            answer, errors = collect.end()
            self.assertEqual((answer["status"], answer["world_size"], answer["steps"], answer["spans_dropped"]), ("finished", 2, 5, 0), errors)
            self.assertEqual(answer["messages_ignored"], 0)
            self.assertEqual(answer["spans_recorded"], sum(int(out) for out, _ in said))
            names = collect.names()
            for rank in range(2):
                for name, count in ((f"{rank}F", 10), (f"{rank}B", 10), ("dp all_reduce", 5), ("optimizer", 5), ("Block", 20), ("embedding", 10)):
                    self.assertEqual(names[(rank, name)], count, (rank, name, names))
            self.assertEqual((names[(0, "send")], names[(1, "receive")]), (10, 10))

    def test_one_that_attaches_before_the_job_is_known_is_attached_with_it_by_the_environment(self):
        code = """
            import rankscope.auto
            torch.distributed.init_process_group()
            train(3, rankscope.auto.attachment)
        """
        with Collect() as collect:
            ranks = [python(code, rank, RANKSCOPE_ATTACH=collect.endpoint) for rank in range(2)]
            for rank in ranks:
                rank.communicate(timeout=60)
                self.assertEqual(rank.returncode, 0)
            answer, _ = collect.end()
            self.assertEqual((answer["status"], answer["steps"]), ("finished", 3))

    def test_one_that_fails_says_why(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach(sys.argv[2]) as attachment:
                train(2, attachment)
                if rank == 1:
                    raise FloatingPointError("the loss is no number")
        """
        with Collect() as collect:
            ranks = [python(code, rank, collect.endpoint) for rank in range(2)]
            for rank in ranks:
                rank.communicate(timeout=60)
            self.assertEqual([rank.returncode for rank in ranks], [0, 1])
            answer, errors = collect.end()
            self.assertEqual(answer["status"], "failed")
            self.assertIn("rank 1 said: FloatingPointError: the loss is no number", answer["message"])
            self.assertEqual(collect.process.returncode, 1)

    def test_runs_on_where_nobody_listens_and_counts_what_it_drops(self):
        code = """
            torch.distributed.init_process_group()
            began = time.monotonic()
            with rankscope.attach("ipc:///nowhere/at/all", most_spans=50) as attachment:
                train(20, attachment)
            assert time.monotonic() - began < 5
            print(attachment.dropped)
        """
        rank = python(code, 0)
        out, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 0, errors)
        self.assertGreater(int(out), 100)

    def test_does_not_notice_a_hook_that_fails(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                attachment._recorder.span = None
                train(20, attachment)
        """
        rank = python(code, 0)
        _, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 0, errors)
        self.assertIn("nothing more is recorded", errors)
        self.assertLess(len(errors.splitlines()), 6, errors)

    def test_goes_on_with_a_wrong_key(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("run", "me", "stranger"):
                subprocess.run([BINARIES / "rankscope-live", "keys", f"{folder}/{name}"], check=True, capture_output=True)
            pathlib.Path(folder, "allowed").write_text(pathlib.Path(folder, "me.pub").read_text().split("public ")[1])
            code = """
                torch.distributed.init_process_group()
                with rankscope.attach(sys.argv[2], key=sys.argv[3], server_key=sys.argv[4]) as attachment:
                    train(2, attachment)
                    end = time.monotonic() + 8
                    while attachment.state == "connecting" and time.monotonic() < end:
                        time.sleep(0.02)
                    print(attachment.state)
            """
            with Collect("--key", f"{folder}/run", "--allow", f"{folder}/allowed") as collect:
                for name, state in (("stranger", "refused"), ("me", "attached")):
                    rank = python(code, 0, collect.endpoint, f"{folder}/{name}", f"{folder}/run.pub")
                    out, errors = rank.communicate(timeout=60)
                    self.assertEqual((rank.returncode, out.strip()), (0, state), errors)

    def test_is_found_by_who_took_init_process_group_before(self):
        code = """
            from torch.distributed import init_process_group
            import rankscope.auto
            init_process_group()
            train(3, rankscope.auto.attachment)
        """
        with Collect() as collect:
            ranks = [python(code, rank, RANKSCOPE_ATTACH=collect.endpoint) for rank in range(2)]
            said = [rank.communicate(timeout=60) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
            answer, _ = collect.end()
            self.assertEqual((answer["status"], answer["steps"]), ("finished", 3))

    def test_a_process_has_one_attachment_however_often_it_attaches(self):
        code = """
            import rankscope.auto
            torch.distributed.init_process_group()
            outer = rankscope.auto.attachment
            with rankscope.attach() as attachment:
                assert attachment._hooks is outer._hooks
                train(2, attachment)
                attachment.close()
            assert outer.state != "closed" and world.before
            train(3, outer)
            other = rankscope.attach("ipc:///elsewhere", most_spans=9, hang_s=5, profile=(90, 91), first_step=0)
            assert outer._profile == (90, 91)
            for _ in range(2):
                outer.close()
            train(1, outer)
            other.close()
            assert outer.state == "closed" and not world.before
            with rankscope.attach("ipc:///nowhere/at/all") as other:
                assert other is not outer
        """
        with Collect() as collect:
            ranks = [python(code, rank, RANKSCOPE_ATTACH=collect.endpoint) for rank in range(2)]
            said = [rank.communicate(timeout=60) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
            again = f"rankscope: this process is attached to {collect.endpoint} already{{}}: that attachment goes on"
            self.assertEqual(said[0][1].splitlines()[:2], [again.format(""), again.format(", not to ipc:///elsewhere") + ", with its own most_spans, hang_s"])
            answer, errors = collect.end()
            self.assertEqual((answer["status"], answer["steps"], answer["spans_dropped"]), ("finished", 6, 0), errors)
            self.assertEqual(collect.names()[(1, "dp all_reduce")], 6)

    def test_says_so_where_it_never_sees_a_process_group(self):
        code = """
            attachment = rankscope.attach("ipc:///nowhere/at/all")
            attachment.log(loss=1.0)
            attachment.step()
        """
        rank = python(code, 0)
        _, errors = rank.communicate(timeout=60)
        self.assertEqual((rank.returncode, errors), (0, "rankscope: no process group was seen: nothing of this process was watched\n"))

    def test_words_of_the_script_raise_nothing_into_it(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                attachment.watch(None)
                attachment.watch_mesh(None)
                attachment._recorder.step_done = None
                attachment.step()
                print(attachment._hooks.errors)
        """
        rank = python(code, 0)
        out, errors = rank.communicate(timeout=60)
        self.assertEqual((rank.returncode, out.strip()), (0, "3"), errors)

    def test_two_groups_of_the_same_ranks_are_two(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach(sys.argv[2]) as attachment:
                make = torch.distributed.distributed_c10d._new_process_group_helper
                first, second = make([0, 1], "mesh_dp")[0], make([0, 1], "mesh_dp")[0]
                sent = {}
                span = attachment._recorder.span
                def kept(*arguments):
                    sent.setdefault(arguments[6], []).append(arguments[1])
                    return span(*arguments)
                attachment._recorder.span = kept
                for group in (first, second, first, second, first):
                    group.issue("ALLREDUCE").wait()
                assert len(sent) == 5, sent  # no two with the same number in the same group
                known = {attachment._hooks.groups._known(id(group)).number for group in (first, second)}
                assert len(known) == 2 and sorted(c & 0xFFFFFFFF for c in sent) == [0, 0, 1, 1, 2], sent
                # A mesh that is made again names it again, and goes on counting.
                import types
                mesh = types.SimpleNamespace(mesh_dim_names=("dp",), get_group=lambda dimension: first)
                for _ in range(2):
                    attachment.watch_mesh(mesh)
                    first.issue("ALLREDUCE").wait()
                assert len(sent) == 7, sent
                # A hook that throws leaves the count as the others have it.
                kind, attachment._recorder.kind = attachment._recorder.kind, None
                first.issue("ALLREDUCE").wait()
                attachment._recorder.kind = kind
                first.issue("ALLREDUCE").wait()
                assert max(c & 0xFFFFFFFF for c in sent) == 6, sent
        """
        rank = python(code, 0, "ipc:///nowhere/at/all")
        _, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 0, errors)

    def test_a_group_that_is_destroyed_is_kept_by_nobody(self):
        code = """
            import gc, weakref
            torch.distributed.init_process_group()
            c10d = torch.distributed.distributed_c10d
            unregister = c10d._unregister_process_group
            with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                kept = c10d._new_process_group_helper([0, 1], "mesh_dp")[0]
                group = c10d._new_process_group_helper([0, 1], "mesh_tp")[0]
                group.issue("ALLREDUCE").wait()
                group._start_coalescing(None)
                group.issue("ALLREDUCE")
                c10d.destroy_process_group(group)
                assert not group.before and not group.after and kept.before and world.before
                assert not attachment._hooks.groups._open and not attachment._hooks.errors
                group = weakref.ref(group)
                gc.collect()
                assert group() is None
            assert not kept.before and not world.after and c10d._unregister_process_group is unregister
        """
        rank = python(code, 0)
        self.assertEqual((rank.communicate(timeout=60)[1], rank.returncode), ("", 0))

    def test_sends_that_are_issued_together_end_together(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach(sys.argv[2]) as attachment:
                spans = []
                span = attachment._recorder.span
                attachment._recorder.span = lambda *arguments: spans.append(arguments) or span(*arguments)
                world._start_coalescing(None)
                for name in ("SEND", "RECV"):
                    world.issue(name, peer)
                work = world._end_coalescing(None)
                time.sleep(0.05)
                assert not spans
                work.wait()
                assert len(spans) == 2 and all(end - start >= 50_000_000 for _, _, start, end, *_ in spans), spans
                world._start_coalescing(None)
                world.issue("SEND", peer)  # whose end is never seen
                stand_in_torch.Optimizer().step()
                assert not attachment._hooks.groups._open and not attachment._hooks.groups._coalesced
        """
        rank = python(code, 0, "ipc:///nowhere/at/all")
        _, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 0, errors)

    def test_passes_that_end_by_an_exception_leave_nothing_behind(self):
        code = """
            torch.distributed.init_process_group()
            class Enough(Exception): pass
            class Stops(stand_in_torch.Block):
                def forward(self, x): raise Enough
            for always in (True, False):
                if not always:
                    class Stops(Stops):
                        def register_forward_hook(self, hook): return stand_in_torch.Handle(self._after, hook)
                with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                    model = stand_in_torch.Module(layers=stand_in_torch.ModuleList(**{"0": Stops(), "1": Stops()}))
                    attachment.watch(model)
                    for _ in range(10):
                        try: model._children["layers"]._children["0"](stand_in_torch.Tensor())
                        except Enough: pass
                    began = sum(map(len, attachment._hooks._parts_began))
                    assert began == (0 if always else 10), began
                    attachment.step()
                    assert not sum(map(len, attachment._hooks._parts_began))
        """
        rank = python(code, 0)
        _, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 0, errors)

    def test_is_tried_again_where_another_job_is_about_to_go(self):
        code = """
            torch.distributed.init_process_group()
            with rankscope.attach(sys.argv[2]) as attachment:
                end = time.monotonic() + 30
                while attachment.state != "attached" and time.monotonic() < end:
                    time.sleep(0.02)
                print("attached" if attachment.state == "attached" else attachment.state, flush=True)
                if len(sys.argv) > 3:
                    import os
                    while not os.path.exists(sys.argv[3]):
                        time.sleep(0.02)
                    sys.exit(0)
                train(2, attachment)
        """
        with Collect() as collect:
            ends = collect.path / "ends"
            old = python(code, 0, collect.endpoint, ends, TORCHELASTIC_RUN_ID="old")
            self.assertEqual(old.stdout.readline().strip(), "attached")
            new = [python(code, rank, collect.endpoint, TORCHELASTIC_RUN_ID="new") for rank in range(2)]
            for rank in new:
                self.assertIn("another job is attached here (1 ranks of old/0)", rank.stderr.readline())
            ends.touch()
            said = [rank.communicate(timeout=60) for rank in new]
            old.communicate(timeout=60)
            self.assertEqual([out.strip() for out, _ in said], ["attached"] * 2, said)
            answer, _ = collect.end()
            self.assertEqual((answer["status"], answer["steps"]), ("finished", 2))

    def test_a_profile_window_that_is_over_or_taken_is_told_and_the_first_step_can_be_one(self):
        code = """
            torch.distributed.init_process_group()
            import types, os
            place = types.SimpleNamespace(running=0)
            class Inner:
                def _prepare_trace(self):
                    if place.running: raise RuntimeError("there is one")
            class Profile(Inner):
                def __init__(self, schedule=None, **_): self.step_num, self.schedule, self.marks = 0, schedule, []
                def start(self): Inner._prepare_trace(self); place.running += 1; self.mark()
                def stop(self): place.running -= 1; place.marks = self.marks
                def step(self): self.step_num += 1; self.mark()
                def mark(self): self.marks += [self.step_num] if self.schedule and self.schedule(self.step_num) == "record" else []
                def export_chrome_trace(self, path): open(path, "w").write("{}")
            torch.profiler = types.SimpleNamespace(profile=Profile, ProfilerAction=types.SimpleNamespace(RECORD="record"))
            torch.autograd = types.SimpleNamespace(_profiler_enabled=lambda: place.running > 0, profiler=types.SimpleNamespace(profile=Inner))
            prepare, folder = Inner._prepare_trace, sys.argv[2]
            def attached(**more): return rankscope.attach("ipc:///nowhere/at/all", folder=folder, **more)
            with attached(profile=(0, 0)) as attachment:
                attachment.step()
            assert len(os.listdir(folder)) == 1 and not place.running and Inner._prepare_trace is prepare
            assert place.marks == [0], place.marks
            with attached(first_step=5, profile=(6, 7)) as attachment:
                for step in range(4): attachment.step()
            assert place.marks == [6, 7], place.marks
            with attached(first_step=5, profile=(0, 2)) as attachment:
                attachment.step()
            place.running = 1
            with attached(profile=(1, 2)) as attachment:
                attachment.step()
                assert attachment._hooks.errors == 0
            place.running = 0
            with attached(profile=(0, 9)) as attachment:
                Profile().start()  # the job's own
                assert place.running == 1
                attachment.step()
        """
        with tempfile.TemporaryDirectory() as folder:
            rank = python(code, 0, folder)
            _, errors = rank.communicate(timeout=60)
            self.assertEqual(rank.returncode, 0, errors)
            self.assertIn("no profile: steps 0 to 2 were over before they could be recorded", errors)
            self.assertIn("no profile: RuntimeError: the job has a profiler of its own", errors)

    def test_a_pass_that_only_tells_shapes_is_none(self):
        code = """
            torch.distributed.init_process_group()
            prepare = stand_in_torch.Stage._prepare_forward_infra
            with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                block = stand_in_torch.Block()
                model = stand_in_torch.Module(layers=stand_in_torch.ModuleList(**{"0": block, "1": stand_in_torch.Block()}))
                stage = stand_in_torch.Stage(1, model)
                for watched in (False, True):
                    stage._prepare_forward_infra(stand_in_torch.Tensor())
                    assert not len(attachment._recorder), attachment._recorder._queue
                    attachment.watch(model)
                stage.forward_one_chunk(0, stand_in_torch.Tensor())
                names = [attachment._recorder.kinds[span[2]]["name"] for span in attachment._recorder._queue]
                assert names == ["Block", "Block", "1F"], names
            assert stand_in_torch.Stage._prepare_forward_infra is prepare
        """
        rank = python(code, 0)
        self.assertEqual((rank.communicate(timeout=60)[1], rank.returncode), ("", 0))

    def test_is_left_as_it_was(self):
        code = """
            torch.distributed.init_process_group()
            wait, forward = stand_in_torch.Work.wait, stand_in_torch.Stage.forward_one_chunk
            with rankscope.attach("ipc:///nowhere/at/all") as attachment:
                train(2, attachment)
            assert stand_in_torch.Work.wait is wait and stand_in_torch.Stage.forward_one_chunk is forward
            assert not world.before and not world.after
            assert not (stand_in_torch.BEFORE or stand_in_torch.AFTER or stand_in_torch.BEFORE_STEP or stand_in_torch.AFTER_STEP)
        """
        rank = python(code, 0)
        self.assertEqual((rank.communicate(timeout=60)[1], rank.returncode), ("", 0))


GLOO = """
import sys, torch
from torch.distributed import init_process_group
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.checkpoint import checkpoint
import rankscope.auto  # who held init_process_group before
init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp_shard_cp",))
other, rank = dist.new_group([0, 1]), dist.get_rank()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x
net = Net()
optimizer, attachment = torch.optim.SGD(net.parameters(), lr=0.01), rankscope.auto.attachment
for step in range(4):
    net(torch.randn(2, 4)).sum().backward()
    for group in (mesh.get_group("dp_shard_cp"), other, None):  # the mesh's is the world's
        dist.all_reduce(torch.ones(2), group=group)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), 1 - rank), dist.P2POp(dist.irecv, torch.ones(2), 1 - rank)]):
        work.wait()
    optimizer.step()
    if step == 1:
        with torch.profiler.profile():  # the job's own, within ours
            torch.ones(1) + 1
hooks = attachment._hooks
assert not sum(map(len, hooks._parts_began)) and not hooks.groups._open and not hooks.errors, (hooks._parts_began, hooks.groups._open, hooks.errors)
dist.destroy_process_group()
"""


# What a script does with its modules beside training them. Ends where attached it is not as it is without.
MODULES = """
import collections, copy, io, pickle, sys, warnings
warnings.simplefilter("ignore")
import torch
import torch.distributed as dist
import rankscope.auto
attachment = rankscope.auto.attachment
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(9))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
def train(net, steps=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        net(torch.randn(2, 4)).sum().backward()
        optimizer.step()
def names(action):
    recorder = attachment._recorder
    before = len(recorder)
    action()
    spans = list(recorder._queue)[before:]
    return collections.Counter(recorder.kinds[span[2]]["name"] for span in spans if span[0] is not None)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
"""
COMPILE = """
from torch._dynamo.utils import counters
net, how = Net(), sys.argv[1]
if how == "trained before":
    train(net)
if how == "every layer":
    for layer in net.layers:
        layer.compile(backend="aot_eager")
elif how == "in place":
    net.compile(backend="aot_eager")
compiled = net if how in ("every layer", "in place") else torch.compile(net, backend="aot_eager")
seen = names(lambda: train(compiled))
graphs = 2 if how == "every layer" else 1  # the first layer's input needs no gradient
assert (counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())) == (graphs, 0), counters
layers = 18 if how == "every layer" else 0
assert (seen["0F"], seen["0B"], seen["Sequential"]) == (2, 2, 2 * layers), seen  # layers forward and backward
assert not attachment._hooks.errors
"""
BACKWARD = """
class Apart(Net):
    def forward(self, x):
        for layer in self.layers:
            x = layer(x) * 1  # something between two layers
        return x
hooked, register = [], torch.Tensor.register_hook
torch.Tensor.register_hook = lambda tensor, hook: (hooked.append(tensor), register(tensor, hook))[1]
for made, hooks in ((Net(), 9 + 1), (Apart(), 9 + 8 + 1)):  # a layer's output each, the model's, and inputs that are no layer's output
    recorder = attachment._recorder
    attachment.watch(made)  # a second one is not found by itself
    train(made, 1)
    del hooked[:]
    before = len(recorder)
    train(made, 1)
    spans = [span for span in list(recorder._queue)[before:] if span[0] is not None]
    passes = [span for span in spans if recorder.kinds[span[2]]["name"] == "Sequential" and recorder.kinds[span[2]]["class"] == 1]
    assert (len(hooked), len(passes)) == (hooks, 9), (len(hooked), len(passes))
    layers = [recorder.kinds[span[2]]["layer"] for span in passes]
    assert layers == list(range(8, -1, -1)), layers
    for one, after in zip(passes, passes[1:]):  # start and end
        assert one[4] <= one[5] <= after[4] and (one[5] == after[4]) == (hooks == 10), (one, after)
assert not attachment._hooks.errors
"""
RAISE = """
class Stops(Net):
    def forward(self, x):
        raise FloatingPointError("the loss is no number")
stops, net = Stops(), Net()
stops.compile(backend="eager")
try:
    stops(torch.randn(2, 4))
except FloatingPointError:
    seen = names(lambda: train(net))
assert (seen["0F"], attachment._hooks.errors) == (2, 0), seen
"""
KEEP = """
net = Net()
train(net)
for kept in (net, net.layers[0]):
    torch.save(kept, io.BytesIO())
    text = pickle.dumps(kept)
    assert b"rankscope" not in text
    for other in (pickle.loads(text), copy.deepcopy(kept)):
        assert not names(lambda: other(torch.randn(2, 4)))
        assert not any(module._forward_hooks or module._forward_pre_hooks or module._forward_hooks_always_called for module in other.modules())
net.register_forward_hook(print, always_call=True)  # the job's own stay
own, = copy.deepcopy(net)._forward_hooks.items()
assert own[1] is print and list(copy.deepcopy(net)._forward_hooks_always_called) == [own[0]]
del net._forward_hooks[own[0]], net._forward_hooks_always_called[own[0]]
x = torch.randn(2, 4)
for layer in (net.layers[0], copy.deepcopy(net.layers[0]), pickle.loads(pickle.dumps(net.layers[0]))):
    assert torch.equal(torch.jit.script(layer)(x), net.layers[0](x))
seen = names(lambda: train(net, 1))
assert (seen["0F"], seen["Sequential"], attachment._hooks.errors) == (1, 18, 0), seen
attachment.close()
assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
class WithPyTorch(unittest.TestCase):
    def test_a_job_by_gloo_is_seen_as_it_is(self):
        import torch

        if not hasattr(torch._C._distributed_c10d.ProcessGroup, "register_pre_hook"):
            self.skipTest("this PyTorch has no hooks of process groups")
        with Collect() as collect, tempfile.TemporaryDirectory() as folder:
            more = dict(RANKSCOPE_ATTACH=collect.endpoint, RANKSCOPE_PROFILE="0-2", RANKSCOPE_FOLDER=folder, WORLD_SIZE="2",
                        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), OMP_NUM_THREADS="1")
            ranks = [subprocess.Popen([sys.executable, "-c", GLOO], env=environment(RANK=str(rank), **more), stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for rank in range(2)]
            said = [rank.communicate(timeout=200) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
            answer, errors = collect.end()
            self.assertEqual((answer["status"], answer["steps"], answer["spans_dropped"]), ("finished", 4, 0), errors)
            names = collect.names()
            for rank in range(2):
                for name, count in (("0F", 4), ("0B", 4), ("Sequential", 36), ("dp_shard_cp all_reduce", 8), ("world all_reduce", 4), ("send", 4)):
                    self.assertEqual(names[(rank, name)], count, (rank, name, names))
            self.assertEqual(len(os.listdir(folder)), 2, said)

    def run_attached(self, code, *arguments):
        ended = subprocess.run([sys.executable, "-c", MODULES + code, *arguments], capture_output=True, text=True, timeout=300,
                               env=environment(RANKSCOPE_ATTACH="ipc:///nowhere/at/all", OMP_NUM_THREADS="1"))
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_what_is_compiled_is_compiled_as_without_it_and_seen_as_one_piece(self):
        for how in ("at first", "in place", "every layer", "trained before"):
            with self.subTest(how):
                self.run_attached(COMPILE, how)

    def test_a_tensor_between_two_layers_ends_one_and_begins_the_other(self):
        self.run_attached(BACKWARD)

    def test_models_are_found_after_a_compiled_one_that_ended_by_an_exception(self):
        self.run_attached(RAISE)

    def test_groups_that_the_job_destroys_are_gone(self):
        self.run_attached("""
def used():
    group = dist.new_group([0])
    dist.all_reduce(torch.ones(1), group=group)
    dist.destroy_process_group(group)
    return len(os.listdir("/proc/self/fd"))
import os
first = [used() for _ in range(3)][-1]
assert [used() for _ in range(8)][-1] == first and not attachment._hooks.errors
""")

    def test_modules_are_saved_copied_and_scripted_as_without_it(self):
        self.run_attached(KEEP)


def free_port():
    import socket

    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return at.getsockname()[1]


class FakeEvent:
    """Of a GPU that passes events when it is told to."""

    passed, asked = 0, 0

    def __init__(self, cuda):
        self.cuda, self.at = cuda, None

    def record(self, stream=None):
        self.cuda.check()
        self.cuda.recorded += 1
        self.at = time.monotonic_ns()
        self.number = self.cuda.recorded

    def synchronize(self):
        self.cuda.check()
        self.cuda.passed = max(self.cuda.passed, self.number)

    def query(self):
        self.cuda.check()
        return self.number <= self.cuda.passed

    def elapsed_time(self, other):
        self.cuda.check()
        return (other.at - self.at) * 1e-6


class FakeCuda:
    """torch.cuda that fails whatever is asked for while a graph is captured, as a global capture does."""

    def __init__(self):
        cuda = self
        self.captures, self.broken, self.recorded, self.passed = False, 0, 0, 0

        class CUDAGraph:
            def capture_begin(self):
                cuda.captures = True

            def capture_end(self):
                cuda.captures = False

        self.CUDAGraph, self.Stream = CUDAGraph, object

    def check(self):
        self.broken += self.captures

    def Event(self, enable_timing):  # noqa: N802
        return FakeEvent(self)

    def is_current_stream_capturing(self):
        return self.captures

    def memory_allocated(self):
        return 0


def hooks_on_fake_gpu(by_cpu=False):
    sys.path.insert(0, str(PACKAGE))
    sys.path.insert(0, str(HERE))
    import types

    from rankscope._attach import hooks, recorder

    cuda = FakeCuda()
    torch = types.SimpleNamespace(cuda=cuda)
    made = hooks.Hooks(torch, recorder.Recorder(None if by_cpu else recorder.CudaClock(torch)), 0)
    made.watch_captures()
    return cuda, made


class OnAGpu(unittest.TestCase):
    def test_nothing_is_asked_of_cuda_while_a_graph_is_captured(self):
        cuda, hooks = hooks_on_fake_gpu()
        recorder, graph = hooks.recorder, cuda.CUDAGraph()
        recorder.begin()
        recorder.span(1, 0, recorder.clock.stamp(), recorder.clock.stamp())
        graph.capture_begin()
        recorder.span(1, 0, recorder.clock.stamp(), recorder.clock.stamp())
        recorder.step_done()
        cuda.passed = 10**9
        self.assertEqual(recorder.take(10), ([], [], []))
        self.assertEqual(hooks.groups.waits(0), [])
        self.assertEqual((cuda.broken, recorder.step), (0, 0))
        graph.capture_end()
        recorder.step_done()
        spans, steps, _ = recorder.take(10)
        self.assertEqual((len(spans), len(steps), cuda.broken), (1, 1, 0))
        hooks.leave()

    def test_a_loss_is_not_read_while_a_graph_is_captured_by_the_processors_clock_either(self):
        cuda, hooks = hooks_on_fake_gpu(by_cpu=True)

        class Loss:
            def __float__(self):
                cuda.check()
                return 2.0

        graph = cuda.CUDAGraph()
        graph.capture_begin()
        hooks.recorder.facts(loss=Loss())
        hooks.recorder.step_done()
        self.assertEqual((hooks.recorder.take(10)[1], cuda.broken), ([], 0))
        graph.capture_end()
        self.assertEqual((hooks.recorder.take(10)[1][0][3], cuda.broken), (2.0, 0))

    def test_no_capture_begins_while_stamps_are_read(self):
        import threading

        cuda, hooks = hooks_on_fake_gpu()
        with hooks.recorder.clock.reading() as may_read:
            self.assertTrue(may_read)
            begins = threading.Thread(target=cuda.CUDAGraph().capture_begin)
            begins.start()
            begins.join(0.1)
            self.assertFalse(cuda.captures)
        begins.join()
        self.assertTrue(cuda.captures)

    def test_an_operation_is_open_until_the_gpu_has_passed_its_end(self):
        import types

        cuda, hooks = hooks_on_fake_gpu()
        hooks.torch.distributed = types.SimpleNamespace(get_world_size=lambda: 2, get_process_group_ranks=lambda g: [0, 1])
        group = types.SimpleNamespace(group_name="0", group_desc="default_pg", register_pre_hook=lambda *_: None, register_post_hook=lambda *_: None)
        hooks.groups.watch_group(group)
        done = types.SimpleNamespace(then=lambda callback: callback(None))  # as NCCL's: at once
        for _ in range(3):
            hooks.groups._before_operation(id(group), types.SimpleNamespace(name="ALLREDUCE", root=-1, input_tensors=[], output_tensors=[]))
            hooks.groups._after_operation(id(group), types.SimpleNamespace(work=types.SimpleNamespace(get_future=lambda: done)))
        self.assertEqual([(wait["name"], wait["number"]) for wait in hooks.groups.waits(0)], [("all_reduce", 0)], "the first one of the group")
        self.assertEqual(hooks.groups.waits(10**12), [])
        cuda.passed = 10**9
        self.assertEqual(hooks.groups.waits(0), [])
        self.assertFalse(hooks.groups._open)
        self.assertEqual(len(hooks.recorder.take(10)[0]), 3)

    def test_an_operation_that_was_refused_is_no_hang_and_one_that_gathers_has_all_bytes(self):
        import types

        _, hooks = hooks_on_fake_gpu(by_cpu=True)
        hooks.torch.distributed = types.SimpleNamespace(get_world_size=lambda: 2, get_process_group_ranks=lambda g: [0, 1])
        group = types.SimpleNamespace(group_name="0", group_desc="default_pg", register_pre_hook=lambda *_: None, register_post_hook=lambda *_: None)
        hooks.groups.watch_group(group)
        tensor = types.SimpleNamespace(numel=lambda: 256, element_size=lambda: 4)
        gathers = types.SimpleNamespace(name="ALLGATHER", root=-1, input_tensors=[tensor], output_tensors=[tensor] * 8)
        hooks.groups._before_operation(id(group), gathers)  # and it raises: there is no other hook
        self.assertEqual([op.size for op in hooks.groups._open], [8 * 1024])
        hooks.groups._before_operation(id(group), gathers)
        self.assertEqual([op.number for op in hooks.groups._open], [1])
        hooks.step_done()
        self.assertEqual(hooks.groups.waits(0), [])

    def test_a_time_is_taken_where_the_thread_was_not_kept_waiting(self):
        cuda, hooks = hooks_on_fake_gpu()
        clock, late = hooks.recorder.clock, [0.05, 0.05, 0, 0.05, 0.05]
        wait = FakeEvent.synchronize

        def synchronize(event):
            wait(event)
            time.sleep(late.pop(0))  # the interpreter is another thread's

        FakeEvent.synchronize = synchronize
        try:
            clock._rebase()
        finally:
            FakeEvent.synchronize = wait
        event, at = clock._base
        self.assertLess(abs(at - event.at), 10_000_000)
        self.assertFalse(late)


class Package(unittest.TestCase):
    def test_axes_are_those_of_whole_descriptions_first(self):
        sys.path.insert(0, str(PACKAGE))
        from rankscope._attach.axes import axis_of

        told = json.loads((HERE.parents[1] / "tests" / "data" / "group_descriptions.json").read_text(encoding="utf-8"))["descriptions"]
        for description, means in told.items():
            self.assertEqual(axis_of(description), means["axis"], description)

    def test_imports_neither_torch_nor_zmq_by_itself(self):
        code = "import sys, rankscope, rankscope.auto; assert not {'torch', 'zmq'} & set(sys.modules); assert rankscope.auto.attachment is None"
        subprocess.run([sys.executable, "-c", code], env=environment(), check=True)

    def test_says_what_is_missing(self):
        sys.path.insert(0, str(PACKAGE))
        import rankscope

        with self.assertRaisesRegex(ValueError, "where to"):
            rankscope.attach()
        with self.assertRaisesRegex(ValueError, "'localhost:5' is no endpoint"):
            rankscope.attach("localhost:5")
        for told, kind, arguments, named in (
            ("an endpoint is a text", TypeError, (5,), {}),
            ("is no endpoint", ValueError, ("tcp://127.0.0.1",), {}),
            ("is no endpoint", ValueError, ("tcp://:5556",), {}),
            ("is no endpoint", ValueError, ("ipc://",), {}),
            ("a port is a number from 1 to 65535", ValueError, ("tcp://127.0.0.1:99999",), {}),
            ("most_spans is a whole number, not 'x'", TypeError, ("tcp://[::1]:5",), {"most_spans": "x"}),
            ("most_spans is 0, and at least 1", ValueError, ("ipc:///x",), {"most_spans": 0}),
            ("first_step is -1", ValueError, ("ipc:///x",), {"first_step": -1}),
            ("hang_s is a number", TypeError, ("ipc:///x",), {"hang_s": "30"}),
            (r"such as \(10, 12\), not 5", TypeError, ("ipc:///x",), {"profile": 5}),
            ("step 4 comes after step 2", ValueError, ("ipc:///x",), {"profile": (4, 2)}),
        ):
            with self.subTest(told), self.assertRaisesRegex(kind, told):
                rankscope.attach(*arguments, **named)

    def test_runs_scripts_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text("import sys\nassert __name__ == '__main__'\nprint(sys.argv[1:])\nsys.exit(7)\n")
            ended = subprocess.run([sys.executable, "-m", "rankscope.run", script, "--a", "b"], env=environment(), capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stdout.strip()), (7, "['--a', 'b']"), ended.stderr)

    def test_memory_is_told_of_the_process_that_asks_from_a_file_that_stays_open(self):
        script = textwrap.dedent("""
            import builtins, os
            from rankscope._attach import recorder
            clock = recorder.CpuClock()
            recorder.held_bytes(clock)
            opened = os.listdir("/proc/self/fd")
            before = recorder.held_bytes(clock)
            assert os.listdir("/proc/self/fd") == opened, "a file is left open"
            calls = []
            real = os.open, builtins.open
            os.open = builtins.open = lambda *a, **n: calls.append(a)
            try:
                recorder.held_bytes(clock)
            except AttributeError:
                pass
            os.open, builtins.open = real
            assert not calls, "opened anew each step"
            child = os.fork()
            if child == 0:
                more = bytearray(64 << 20)
                more[::4096] = b"x" * len(more[::4096])
                os._exit(0 if recorder.held_bytes(clock) - before > 48 << 20 else 1)
            assert os.waitpid(child, 0)[1] == 0, "a fork is told its parent's memory"
            assert abs(recorder.held_bytes(clock) - before) < 16 << 20
            print("good")
            """)
        done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), "good", done.stderr)

    def test_packs_columns_as_they_are_read(self):
        sys.path.insert(0, str(PACKAGE))
        from rankscope._attach import wire

        spans = [(1, 2, 3, -1, 10**15, 10**15 + 7, 0, 5 << 32), (1, 2, 4, 0, 10**15 + 300, 10**15 + 305, 9, 0)]
        packed = wire.pack_spans(6, spans)
        column = lambda least, width: least.to_bytes(8, "little", signed=True) + bytes([width])  # noqa: E731
        self.assertEqual(packed[:13], (2).to_bytes(4, "little") + column(6, 0))
        self.assertIn(column(3, 1) + b"\x00\x01" + column(-1, 1) + b"\x00\x01" + column(10**15, 2) + b"\x00\x00\x2c\x01" + column(5, 1) + b"\x02\x00", packed)
        self.assertTrue(packed.endswith(column(0, 8) + (5 << 32).to_bytes(8, "little") + bytes(8)))


if __name__ == "__main__":
    unittest.main()
