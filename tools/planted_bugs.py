#!/usr/bin/env python3
"""Plants one-line bugs in the costs, one after the other, and tells which of them no test sees.

    tools/planted_bugs.py [NAME…]              those of the list below
    tools/planted_bugs.py --random 30 [--seed 1]   as many slips of the pen, anywhere in the folders of FOLDERS

Works in a copy of the repository, so that nothing here changes. A bug is caught when a test of its own kind fails: those of
sim/cost, sim/program, sim/model, sim/engine and sim/simulate, without pictures and without the gallery.
"""
import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = ["test_sim_cost", "test_sim_program", "test_sim_model", "test_sim_engine", "test_sim_simulate"]  # the quick ones first
FOLDERS = ["sim/cost", "sim/program", "sim/model", "sim/engine"]

# What a slip of the pen makes of a line.
SLIPS = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" < ", " >= "), (r" > ", " <= "), (r" == ", " != "),
         (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r"std::max\(", "std::min("), (r"std::max<", "std::min<"),
         (r"std::min\(", "std::max("), (r" \+= ", " -= "), (r"\b2\b", "3"), (r"\b1\b", "2"), (r"\b0\.5\b", "0.25"),
         (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" \?(.*) : (.*);$", r" ?\2 : \1;")]

# name, file, what stands there, what is planted
BUGS = [
    ("a slow link's factor is dropped", "sim/engine/under_way.cpp", "[issued.index], group.linkFactor);", "[issued.index], 1);"),
    ("transfers have their ports to themselves", "sim/engine/shared_ports.cpp", "users[port][direction] > 1", "users[port][direction] > 99"),
    ("kernels do not mind collectives beside them", "sim/engine/under_way.cpp",
     "worker.beside > 0 ? m_besideRate : FairShare::kFullRate;\n    schedule", "FairShare::kFullRate;\n    schedule"),
    ("an all-reduce takes half of its port", "sim/cost/collectives.cpp", "CollectiveKind::allReduce && !inNetwork ? 2 : 1;",
     "CollectiveKind::allReduce && !inNetwork ? 1 : 1;"),
    ("over the spine one takes no network card", "sim/cost/collectives.cpp", "if (port == Port::spine)\n", "if (false && port == Port::spine)\n"),
    ("a pass is issued before kernels of the last one have begun", "sim/engine/issue.cpp", "if (worker.waitingKernels > 0)\n",
     "if (worker.waitingKernels > 999)\n"),
    ("messages do not wait for their receivers", "sim/engine/messages.cpp", "if (meeting.postedNs == kNotYet)", "if (false)"),
    ("a message begins when it is made, however late its receive is", "sim/engine/messages.cpp",
     "carry(c, issued, std::max(readyNs, meeting.postedNs));", "carry(c, issued, readyNs);"),
    ("a message that lay ready begins before its receive is posted", "sim/engine/messages.cpp",
     "carry(sender, sent, std::max(meeting.sentNs, readyNs));", "carry(sender, sent, meeting.sentNs);"),
    ("what happens at the same time and was put down elsewhere is forgotten", "sim/engine/event_queue.h",
     "out.insert(out.end(), bucket.events.begin(), bucket.events.end());", "bucket.events.clear();"),
    ("selective recomputation keeps everything", "sim/program/rerun.cpp", "kept -= remadeBytes(op, module);", "kept -= 0;"),
    ("activations stay when they have left for the host", "sim/program/offload.cpp", "m_pass.ops.back().freeBytes = bytes;", ""),
    ("the host's optimizer waits for all gradients", "sim/program/offload.cpp", "constexpr std::int64_t kPieces = 8;",
     "constexpr std::int64_t kPieces = 1;"),
    ("copies to the host ignore the link's efficiency", "sim/cost/kernels.cpp", "hostBandwidthGBs * efficiency.hostLink", "hostBandwidthGBs"),
    ("attention runs backward only twice", "sim/model/operators.cpp", "op.backwardFlopsFactor = 2.5;", "op.backwardFlopsFactor = 2;"),
    ("reduction in the network is ignored", "sim/cost/collectives.cpp", "(inNetwork ? once : 2 * once)", "(2 * once)"),
    ("the factor of grouped products is forgotten", "sim/cost/kernels.cpp", "reached *= efficiency.groupedGemm;", ";"),
    ("a layer's backward waits for the gradients before it", "sim/program/pass_builder.cpp",
     "gatherBucket(stage.buckets[i - 1], prefetches);\n            waitFor", "gatherBucket(stage.buckets[i - 1], prefetches);\n            if (gathersLate) waitFor"),
    ("replicas reduce on the gathers' stream", "sim/program/pass_builder.cpp",
     "role == CommunicatorRole::dpReplicate ? Stream::replicas : ", ""),
    ("replicas of hybrid sharding reduce whole tensors", "sim/program/data_parallel.cpp",
     "dense / std::max(1, layout.dpShard)", "dense"),
    ("tied embeddings are not reduced", "sim/program/data_parallel.cpp", "if (sharesEmbedding)\n", "if (false && sharesEmbedding)\n"),
    ("the optimizer moves half", "sim/program/data_parallel.cpp", "std::int64_t{2} * m_stateBytes.optimizer",
     "std::int64_t{1} * m_stateBytes.optimizer"),
    ("a tree's latency counts members instead of their logarithm", "sim/cost/collectives.cpp",
     "2 * portableLog2(std::max(2.0, static_cast<double>(path.outerDomains))) * path.outerSeconds",
     "2 * std::max(2.0, static_cast<double>(path.outerDomains)) * path.outerSeconds"),
    ("pieces of tensor parallelism are each the whole", "sim/program/pass_builder.cpp",
     "const std::int64_t bytes = (gathers ? gatheredOperandBytes(bucket, index) : collective.commBytes) / kTensorOverlapPieces;",
     "const std::int64_t bytes = (gathers ? gatheredOperandBytes(bucket, index) : collective.commBytes);"),
    ("sends are priced on the innermost tier", "sim/engine/messages.cpp", "m_prices.sendNs[asIndex(tier)]", "m_prices.sendNs[0]"),
    ("gradients always travel in four bytes", "sim/program/states.cpp", ".gradient = training.gradientBytes", ".gradient = 4"),
    ("operands are cast for nothing", "sim/cost/kernels.cpp", "own * m_stack.castBytes", "own * 0"),
    ("kernels do not wait for the host", "sim/cost/kernels.cpp", "if (op.kind == OpKind::compute && host > ready)",
     "if (op.kind == OpKind::compute && host > ready && false)"),
    ("tokens go once for each expert, not for each node", "sim/cost/all_to_all.cpp",
     "routes.leaving = nodes > 1 ? sharedCopies(nodes, copies) : 1;", ";"),
    ("weight gradients take no room", "sim/program/pass_builder.cpp", "m_pass.ops.back().allocBytes = passing;",
     "m_pass.ops.back().allocBytes = 0;"),
    ("the software's rate of data parallelism is ignored", "sim/cost/collectives.cpp", "(isData ? m_stack.network : 1)", "1"),
    ("rows that are not aligned cost nothing", "sim/cost/kernels.cpp", "return bytes % 8 == 0 ? 0.16 : 0.12;", "return 1;"),
]


def slips(count, seed):
    """Random entries for BUGS. Comments, messages and what does not change a number are left alone."""
    places = []
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            file = os.path.join(folder, name)
            if not name.endswith(".cpp"):
                continue
            with open(os.path.join(ROOT, file), encoding="utf-8") as text:
                lines = text.read().split("\n")
            for number, line in enumerate(lines, 1):
                code = line.split(" //")[0]
                if not code.startswith("    ") or re.search(r'["#]|assert|Error|checkCancelled|reserve|template|^\s*(//|/\*|case )', line):
                    continue
                for pattern, to in SLIPS:
                    changed = re.sub(pattern, to, code, count=1)
                    if changed != code:
                        places.append((file, number, line, changed))
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    return [(f"{file}:{number}: {changed.strip()}", file, number, changed) for file, number, _, changed in chosen]


def run(command, folder, seconds=None):
    # A bug may make a loop endless, or take all memory.
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds, errors="replace",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30)))
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -9, "", "")


def build(folder):
    return run(["cmake", "--build", "build", "-j", str(os.cpu_count()), "--target", *TESTS], folder)


def failing(folder, first=False):
    """Names of tests that fail; of those of the first program with any, if that is enough."""
    out = []
    for test in TESTS:
        # Pinned steps differ after every change: they say that something is wrong, not what.
        done = run([os.path.join("build", "bin", test), "--gtest_brief=1", "--gtest_filter=-*PinnedStep*"], folder, seconds=300)
        out += [line.split("]", 1)[1].strip().split(" ")[0] for line in done.stdout.splitlines()
                if line.startswith("[  FAILED  ]") and "." in line]
        if done.returncode < 0:
            out.append(f"{test} (ended by signal {-done.returncode})")
        if out and first:
            break
    return sorted(set(name.rstrip(",") for name in out))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; without any all bugs")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="slips of the pen instead")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [bug for bug in BUGS if not arguments.names or any(name in bug[0] for name in arguments.names)]
    if arguments.random:
        chosen = slips(arguments.random, arguments.seed)
    folder = tempfile.mkdtemp(prefix="rankscope-bugs-")
    try:
        copy = os.path.join(folder, "rankscope")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", "build-*", ".git"))
        with open(os.path.join(copy, "CMakeLists.txt"), encoding="utf-8") as text:
            settings = text.read()
        with open(os.path.join(copy, "CMakeLists.txt"), "w", encoding="utf-8") as text:
            text.write(settings.replace("-Werror", ""))  # a test is to see the bug, not the compiler
        configured = run(["cmake", "--preset", "release", "-B", "build", "-DRANKSCOPE_CUDA=OFF", "-DRANKSCOPE_MPI=OFF", "-DRANKSCOPE_APP=OFF",
                          "-DRANKSCOPE_LIVE=OFF"], copy)
        if configured.returncode or build(copy).returncode:
            sys.exit("the copy does not build:\n" + configured.stderr + build(copy).stdout[-3000:])
        if before := failing(copy):
            sys.exit("tests fail before any bug is planted: " + ", ".join(before))
        survived = counted = 0
        for name, file, found, planted in chosen:
            path = os.path.join(copy, file)
            with open(path, encoding="utf-8") as text:
                right = text.read()
            if isinstance(found, int):
                lines = right.split("\n")
                lines[found - 1] = planted
                wrong = "\n".join(lines)
            elif right.count(found) != 1:
                sys.exit(f"{file}: \"{found}\" stands there {right.count(found)} times, not once")
            else:
                wrong = right.replace(found, planted)
            with open(path, "w", encoding="utf-8") as text:
                text.write(wrong)
            if build(copy).returncode == 0:
                seen = failing(copy, first=True)
                counted += 1
                survived += not seen
                print(f"{'caught  ' if seen else 'SURVIVED'}  {name}: {', '.join(seen[:3])}", flush=True)
            else:
                print(f"no code   {name}", flush=True)
            with open(path, "w", encoding="utf-8") as text:
                text.write(right)
        print(f"{counted - survived} of {counted} caught")
        sys.exit(survived > 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
