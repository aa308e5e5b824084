#!/usr/bin/env python3
"""Plants one-line bugs in the costs, one after the other, and tells which of them no test sees.

    tools/planted_bugs.py [NAME…]

Works in a copy of the repository, so that nothing here changes. A bug is caught when a test of its own kind fails: those of
sim/cost, sim/program, sim/model, sim/engine and sim/simulate, without pictures and without the gallery.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = ["test_sim_cost", "test_sim_program", "test_sim_model", "test_sim_engine", "test_sim_simulate"]

# name, file, what stands there, what is planted
BUGS = [
    ("a slow link's factor is dropped", "sim/engine/engine.cpp", "duration = scaled(duration, group.linkFactor);", ";"),
    ("selective recomputation keeps everything", "sim/program/pass_builder.cpp", "return dropped ? 0 :", "return"),
    ("attention runs backward only twice", "sim/model/operators.cpp", "op.backwardFlopsFactor = 2.5;", "op.backwardFlopsFactor = 2;"),
    ("reduction in the network is ignored", "sim/cost/collectives.cpp", "(inNetwork ? once : 2 * once)", "(2 * once)"),
    ("the factor of grouped products is forgotten", "sim/cost/kernels.cpp", "reached *= efficiency.groupedGemm;", ";"),
    ("replicas of hybrid sharding reduce whole tensors", "sim/program/pass_builder.cpp",
     "dense / std::max(1, layout.dpShard)", "dense"),
    ("tied embeddings are not reduced", "sim/program/pass_builder.cpp", "if (sharesEmbedding)\n", "if (false && sharesEmbedding)\n"),
    ("the optimizer moves half", "sim/program/pass_builder.cpp", "std::int64_t{2} * m_stateBytes.optimizer",
     "std::int64_t{1} * m_stateBytes.optimizer"),
    ("a tree's latency counts members instead of their logarithm", "sim/cost/collectives.cpp",
     "2 * std::log2(std::max(2.0, static_cast<double>(path.outerDomains))) * path.outerSeconds",
     "2 * std::max(2.0, static_cast<double>(path.outerDomains)) * path.outerSeconds"),
    ("pieces of tensor parallelism are each the whole", "sim/program/pass_builder.cpp",
     "const std::int64_t bytes = (gathers ? gatheredOperandBytes(bucket, index) : collective.commBytes) / kTensorOverlapPieces;",
     "const std::int64_t bytes = (gathers ? gatheredOperandBytes(bucket, index) : collective.commBytes);"),
    ("sends are priced on the innermost tier", "sim/engine/engine.cpp", "m_prices.sendNs[asIndex(tier)]", "m_prices.sendNs[0]"),
    ("gradients always travel in four bytes", "sim/program/states.cpp", ".gradient = training.gradientBytes", ".gradient = 4"),
    ("operands are cast for nothing", "sim/cost/kernels.cpp", "m * k * m_stack.castBytes", "m * k * 0"),
    ("kernels do not wait for the host", "sim/cost/kernels.cpp", "if (op.kind == OpKind::compute && host > ready)",
     "if (op.kind == OpKind::compute && host > ready && false)"),
    ("tokens go once for each expert, not for each node", "sim/cost/collectives.cpp",
     "share *= sharedCopies(group.domains[t - 1], copies);", ";"),
    ("weight gradients take no room", "sim/program/pass_builder.cpp", "m_pass.ops.back().allocBytes = passing;",
     "m_pass.ops.back().allocBytes = 0;"),
    ("the software's rate of data parallelism is ignored", "sim/cost/collectives.cpp", "(isData ? m_stack.network : 1)", "1"),
    ("rows that are not aligned cost nothing", "sim/cost/kernels.cpp", "return bytes % 8 == 0 ? 0.16 : 0.12;", "return 1;"),
]


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def build(folder):
    return run(["cmake", "--build", "build", "-j", str(os.cpu_count()), "--target", *TESTS], folder)


def failing(folder):
    """Names of tests that fail."""
    out = []
    for test in TESTS:
        done = run([os.path.join("build", "bin", test), "--gtest_brief=1"], folder)
        out += [line.split("]", 1)[1].strip().split(" ")[0] for line in done.stdout.splitlines()
                if line.startswith("[  FAILED  ]") and "." in line]
        if done.returncode < 0:
            out.append(f"{test} (ended by signal {-done.returncode})")
    return sorted(set(name.rstrip(",") for name in out))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; without any all bugs")
    arguments = parser.parse_args()
    chosen = [bug for bug in BUGS if not arguments.names or any(name in bug[0] for name in arguments.names)]
    folder = tempfile.mkdtemp(prefix="rankscope-bugs-")
    try:
        copy = os.path.join(folder, "rankscope")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", "build-*", ".git"))
        with open(os.path.join(copy, "CMakeLists.txt"), encoding="utf-8") as text:
            settings = text.read()
        with open(os.path.join(copy, "CMakeLists.txt"), "w", encoding="utf-8") as text:
            text.write(settings.replace("-Werror", ""))  # a test is to see the bug, not the compiler
        configured = run(["cmake", "--preset", "debug", "-B", "build", "-DRANKSCOPE_CUDA=OFF", "-DRANKSCOPE_MPI=OFF"], copy)
        if configured.returncode or build(copy).returncode:
            sys.exit("the copy does not build:\n" + configured.stderr + build(copy).stdout[-3000:])
        if before := failing(copy):
            sys.exit("tests fail before any bug is planted: " + ", ".join(before))
        survived = 0
        for name, file, found, planted in chosen:
            path = os.path.join(copy, file)
            with open(path, encoding="utf-8") as text:
                right = text.read()
            if right.count(found) != 1:
                sys.exit(f"{file}: \"{found}\" stands there {right.count(found)} times, not once")
            with open(path, "w", encoding="utf-8") as text:
                text.write(right.replace(found, planted))
            built = build(copy)
            seen = ["the compiler"] if built.returncode else failing(copy)
            survived += not seen
            print(f"{'caught  ' if seen else 'SURVIVED'}  {name}: {', '.join(seen[:3])}", flush=True)
            with open(path, "w", encoding="utf-8") as text:
                text.write(right)
        print(f"{len(chosen) - survived} of {len(chosen)} caught")
        sys.exit(survived > 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
