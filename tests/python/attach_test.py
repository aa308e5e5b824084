"""A job that is attached arrives whole, and whatever goes wrong with watching it, the job does not notice.
Usage: attach_test.py BIN_DIR; PyTorch's place is taken by stand_in_torch.py."""
import collections
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


class Package(unittest.TestCase):
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

    def test_runs_scripts_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text("import sys\nassert __name__ == '__main__'\nprint(sys.argv[1:])\nsys.exit(7)\n")
            ended = subprocess.run([sys.executable, "-m", "rankscope.run", script, "--a", "b"], env=environment(), capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stdout.strip()), (7, "['--a', 'b']"), ended.stderr)

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
