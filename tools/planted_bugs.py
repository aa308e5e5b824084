#!/usr/bin/env python3
"""Plants one-line bugs in the costs, one after the other, and tells which of them no test sees.

    tools/planted_bugs.py [NAME…]                  those of the list below
    tools/planted_bugs.py --random 30 [--seed 1]   as many slips of the pen, anywhere in the folders of FOLDERS
    tools/planted_bugs.py --together [NAME…]       those of TOGETHER, or of these names, all at once: each has a test of its own when
                                                   some test fails that does not where only the others are planted

Works in a copy of the repository, so that nothing here changes. The copy is built once, with all bugs in it, each behind a
question that the environment answers (mutant schemata: Untch, Offutt and Harrold 1993): trying one is running the tests. What
cannot be said as an expression is compiled by itself. With --folder the copy stays, and the next time only what has changed
is compiled.

A bug is caught when a test of its own kind fails: those of TESTS, without pictures and without the gallery.
"""
import argparse
import concurrent.futures
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("RANKSCOPE_BUILD_DIR", "build")
# Pinned steps differ after every change: they say that something is wrong, not what. Cancelling, refusing and searching take
# minutes and are about other folders.
TESTS = {"test_sim_mesh": "*", "test_sim_cost": "*", "test_sim_program": "*", "test_sim_model": "*", "test_sim_engine": "*",
         "test_sim_simulate": "-*PinnedStep*:Cancelling.*:MemoryLimit.*:SearchSchedule.*"}  # the quick ones first
GOODPUT = {"test_sim_analysis": "Goodput.*"}  # of sim/analysis
FOLDERS = ["sim/cost", "sim/program", "sim/model", "sim/engine"]

# What a slip of the pen makes of a line.
SLIPS = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" < ", " >= "), (r" > ", " <= "), (r" == ", " != "),
         (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r"std::max\(", "std::min("), (r"std::max<", "std::min<"),
         (r"std::min\(", "std::max("), (r" \+= ", " -= "), (r"\b2\b", "3"), (r"\b1\b", "2"), (r"\b0\.5\b", "0.25"),
         (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" \?(.*) : (.*);$", r" ?\2 : \1;")]
# Lines that change no number: messages, checks that hold, what only makes it faster or lets it be cancelled.
NO_NUMBER = re.compile(r'["#]|assert|Error|checkCancelled|reserve|template|prefetch|fetch|kAhead|poll\(|take\(|kShortest|kKept'
                       r"|values \* olds|^\s*(//|/\*|case )")

# Slips after which all is as before, and why: file, a part of what is planted.
SAME = [
    ("sim/engine/documents.cpp", "m_state -= ", "other drawings of the same law"),
    ("sim/engine/documents.cpp", "documents.seed - 1", "other drawings of the same law"),
    ("sim/engine/in_order.cpp", "span(&unit, 2)", "whether something hangs does not depend on times"),
    ("sim/engine/in_order.cpp", "uses.resize(2)", "room that nobody uses"),
    ("sim/engine/shared_ports.cpp", "array<int, 3>", "room that nobody uses"),
    ("sim/engine/shared_ports.cpp", "return true;", "a message that claims nothing takes as long"),
    ("sim/engine/shared_ports.cpp", "group < 0 && roles", "who has no group sends nothing in it"),
    ("sim/engine/quiet_runs.cpp", "op.kind != OpKind::collective && (m_ownAffairs", "one by one they end at the same times"),
    ("sim/engine/deadlock.cpp", "begun &= begun - 2", "a kernel's end is never open when nothing goes on"),
    ("sim/program/data_parallel.cpp", "gatherBucket(bucket, false)", "what the next kernel waits for ends with its pass"),
    ("sim/program/pass_builder.cpp", "if (index > 2 &&", "no list begins with a gathering"),
    ("sim/program/pass_builder.cpp", "std::max(2.0, m_rankParameters", "a rank has more than two parameters"),
    ("sim/program/overlap_block.cpp", "endsInExpertComm(pieces[i - 2].pass) && !endsInExpertComm(between.pass)",
     "behind a pass's last piece the next one waits, a moment before it would"),
    ("sim/engine/in_order.cpp", "i - 1 == steps.size()", "no list ends within a block"),
    ("sim/program/pass_backward.cpp", "operators.size() || operators[index + 1].kind == OperatorKind::leaveTensorParallel;",
     "a product before a gathering there is not"),
]

# name, file, what stands there, what is planted
BUGS = [
    ("a slow link's factor is dropped", "sim/engine/under_way.cpp", "[issued.index], group.linkFactor);", "[issued.index], 1);"),
    ("transfers have their ports to themselves", "sim/engine/shared_ports.cpp", "of.count[port][direction] > 1",
     "of.count[port][direction] > 99"),
    ("who has a network card together with others has it alone", "sim/engine/shared_ports.h",
     "isNic(port) ? m_classes.sharersOf(classIndex) : 1", "1"),
    ("a collective finds the whole of a card that all send over", "sim/cost/collectives.cpp",
     "members / group.cards[tier - 1]", "1"),
    ("each of those that send over a card is said to take all of it", "sim/cost/collectives.cpp", "/= group.senders;", "/= 1;"),
    ("a ring's members that leave over one card have one each", "sim/cost/collectives.cpp",
     "bytesPerSecondAmong(m_cluster, tier, group.hops)", "bytesPerSecondAmong(m_cluster, tier, 1)"),
    ("other stages are taken to send over a card, too", "sim/mesh/card_use.h",
     "return {stage, cardOf(rank)};", "return {0, cardOf(rank)};"),
    ("rings of an NVLink domain are counted in one of its nodes", "sim/mesh/card_use.cpp",
     "m_cluster->tiers[m_cluster->networkTier() - 1].span", "m_cluster->gpusPerNode"),
    ("kernels do not lose to what is issued behind them", "sim/engine/issue.cpp", "(free.behind[op] & free.behind[", "(0 & free.behind["),
    ("kernels do not lose to what the next pass begins with", "sim/engine/issue.cpp", "free |= of.atStart;", "free |= 0;"),
    ("kernels do not mind collectives beside them", "sim/engine/under_way.cpp",
     "worker.beside > 0 ? m_besideRate : FairShare::kFullRate;", "FairShare::kFullRate;"),
    ("an all-to-all slows kernels no more than a reduction", "sim/engine/under_way.cpp", "worker.besideExperts > 0", "worker.besideExperts > 99"),
    ("an all-reduce takes half of its port", "sim/cost/collectives.cpp", "allReduceRoute(group, m_cluster).sentShare : (n - 1) / n", "(n - 1) / n : (n - 1) / n"),
    ("two GPUs of a mesh have all of its links", "sim/cost/collectives.cpp", "std::clamp(joined - 1, 1.0, links) / links", "1.0"),
    ("over the spine one takes no network card", "sim/cost/collectives.cpp", "if (port == Port::spine)\n", "if (false && port == Port::spine)\n"),
    ("a pass is issued before kernels of the last one have begun", "sim/engine/issue.cpp", "if (worker.waitingKernels > 0)\n",
     "if (worker.waitingKernels > 999)\n"),
    ("messages do not wait for their receivers", "sim/engine/messages.cpp", "if (meeting.postedNs == kNotYet)", "if (false)"),
    ("a message begins when it is made, however late its receive is", "sim/engine/messages.cpp",
     "carry(c, issued, std::max(readyNs, meeting.postedNs));", "carry(c, issued, readyNs);"),
    ("a message that lay ready begins before its receive is posted", "sim/engine/messages.cpp",
     "carry(sender, sent, std::max(meeting.sentNs, readyNs));", "carry(sender, sent, meeting.sentNs);"),
    ("what happens at the same time and was put down elsewhere is forgotten", "sim/engine/event_queue.h",
     "out.insert(out.end(), bucket.events.begin(), bucket.events.end());",
     "out.insert(out.end(), bucket.events.end(), bucket.events.end());"),
    ("selective recomputation keeps everything", "sim/program/rerun.cpp", "kept -= remadeBytes(op, module);", "kept -= 0;"),
    ("activations stay when they have left for the host", "sim/program/offload.cpp", "m_pass.ops.back().freeBytes = bytes;", "m_pass.ops.back().freeBytes = 0;"),
    ("the host's optimizer waits for all gradients", "sim/program/offload.cpp", "constexpr std::int64_t kPieces = 8;",
     "constexpr std::int64_t kPieces = 1;"),
    ("copies to the host ignore the link's efficiency", "sim/cost/kernels.cpp", "hostBandwidthGBs * efficiency.hostLink", "hostBandwidthGBs"),
    ("the last blocks of attention cost nothing", "sim/cost/kernels.cpp", "kTail * kQueriesOfBlock", "0 * kQueriesOfBlock"),
    ("short sequences cost attention backward what they cost forward", "sim/cost/kernels.cpp", "efficiency.attentionHalfLength * kBackwardHalfLength", "efficiency.attentionHalfLength"),
    ("attention in 8 bits is cast for nothing", "sim/cost/kernels.cpp", "return cast * m_stack.castBytes", "return 0 * m_stack.castBytes"),
    ("attention in 8 bits leaves out keys before a window", "sim/cost/kernels.cpp", "flops *= whole / n;", "flops *= 1;"),
    ("attention in 8 bits of a window takes less the more ranks share it", "sim/cost/kernels.cpp", "m * m_partsOfSequence", "m"),
    ("attention in 8 bits runs at the rate of 16", "sim/cost/kernels.cpp", "        of = &narrow;", "        of = of;"),
    ("a pipeline's inputs have no room of their own", "sim/program/lower.cpp", "(otherRank(stage, true) >= 0 ? 1 : 0) + (otherRank(stage, false) >= 0 ? 1 : 0)", "(otherRank(stage, false) >= 0 ? 1 : 0)"),
    ("attention runs backward only twice", "sim/model/operator_builder.cpp", "static_cast<double>(3 * qkDim + 2 * vDim)", "static_cast<double>(2 * qkDim + 2 * vDim)"),
    ("reduction in the network is ignored", "sim/cost/collectives.cpp", "route.inNetwork && rate > 0", "false && rate > 0"),
    ("the factor of grouped products is forgotten", "sim/cost/kernels.cpp", "reached *= efficiency.groupedGemm;", "reached *= 1;"),
    ("a layer's backward does not wait for its parameters", "sim/program/pass_backward.cpp",
     "waitFor(maskOf(Stream::dp));\n        };", "waitFor(gathersLate ? maskOf(Stream::dp) : StreamMask{0});\n        };"),
    ("a layer's backward waits for the gradients before it", "sim/program/pass_backward.cpp",
     "const bool gathersLate = m_scenario.training.stack.gathersAfterReduction;", "const bool gathersLate = true;"),
    ("replicas reduce on the gathers' stream", "sim/program/pass_builder.cpp",
     "isOfReplicas ? Stream::replicas", "isOfReplicas ? Stream::dp"),
    ("replicas of hybrid sharding reduce whole tensors", "sim/program/data_parallel.cpp",
     "\"grad.reduce.replicas\", dense / ranks.dense", "\"grad.reduce.replicas\", dense"),
    ("tied embeddings are not reduced", "sim/program/data_parallel.cpp", "if (sharesEmbedding) {", "if (false && sharesEmbedding) {"),
    ("the optimizer moves half", "sim/program/states.cpp", "gradient + 2 * optimizer", "gradient + 1 * optimizer"),
    ("a tree's latency counts members instead of their logarithm", "sim/cost/collectives.cpp",
     "2 * portableLog2(std::max(2.0, static_cast<double>(path.outerDomains))) * path.outerSeconds",
     "2 * std::max(2.0, static_cast<double>(path.outerDomains)) * path.outerSeconds"),
    ("pieces of tensor parallelism are each the whole", "sim/program/pass_builder.cpp",
     "reducesAmongAll ? whole.chunk(kTensorOverlapPieces) : whole.piece(kTensorOverlapPieces);",
     "reducesAmongAll ? whole.chunk(kTensorOverlapPieces) : whole.piece(1);"),
    ("products that gather by themselves do not beside their pieces", "sim/program/pass_builder.cpp",
     "gather < collective.gathers()", "gather < 1"),
    ("an embedding that is whole is added up in parts", "sim/model/tensors.cpp",
     "wholeEmbedding ? vocabulary : ceilDivide(vocabulary, tp)", "ceilDivide(vocabulary, tp)"),
    ("sends are priced on the innermost tier", "sim/engine/messages.cpp", "m_prices.sendNs[asIndex(tier)]", "m_prices.sendNs[0]"),
    ("gradients always travel in four bytes", "sim/program/states.cpp", ".gradient = training.gradientBytes", ".gradient = 4"),
    ("operands are cast for nothing", "sim/cost/kernels.cpp", "own * m_stack.castBytes", "own * 0"),
    ("kernels do not wait for the host", "sim/cost/launches.cpp", "if (isHeld)\n", "if (isHeld && !isKernel)\n"),
    ("each piece of a block begins its launches anew", "sim/cost/launches.cpp", "isKernel && !hasKernel && !pass.goesOn",
     "isKernel && !hasKernel"),
    ("tokens go once for each expert, not for each node", "sim/cost/all_to_all.cpp",
     "routes.leaving = nodes > 1 ? shared(nodes) : 1;", "routes.leaving = 1;"),
    ("a token may go to every node, whatever groups its experts are of", "sim/model/token_copies.h",
     "if (chosenGroups >= groups || places < 2)", "if (chosenGroups >= groups || places >= 0)"),
    ("narrow copies of all weights are kept though ZeRO 3 drops the weights", "sim/program/states.cpp",
     "return ranks.routed == 1 ? std::min(elements.narrow, elements.routed) : 0;", "return elements.narrow;"),
    ("weight gradients take no room", "sim/program/pass_backward.cpp", "m_pass.ops.back().allocBytes = passing;",
     "m_pass.ops.back().allocBytes = 0;"),
    ("software that drives one of a node's cards drives NVLink as badly", "sim/cost/collectives.cpp", "cluster.isInsideNode(t) ? 1 : beyondNode",
     "beyondNode"),
    ("what was gathered lies joined by itself", "sim/program/data_parallel.cpp", "m_scenario.training.stack.gatherBytes", "0"),
    ("the software's rate of data parallelism is ignored", "sim/cost/collectives.cpp", "isData ? m_stack.network : 1", "1"),
    ("rows that are not aligned cost nothing", "sim/cost/kernels.cpp", "return bytes % 8 == 0 ? 0.16 : 0.12;", "return 1;"),
    # What leaves for the host.
    ("layers are not brought back before their backward pass", "sim/program/pass_backward.cpp",
     "if (i > 0 && isOffloaded(stage.buckets[i - 1]))", "if (false && isOffloaded(stage.buckets[i - 1]))"),
    ("a layer's backward does not wait for what comes back", "sim/program/pass_backward.cpp",
     "waitFor(maskOf(Stream::fromHost));", "waitFor(StreamMask{0});"),
    ("the host begins before it has gradients", "sim/program/offload.cpp",
     "copy(Stream::host, \"optimizer on host\", maskOf(Stream::toHost)", "copy(Stream::host, \"optimizer on host\", maskOf(Stream::host)"),
    ("parameters come back before the host has made them", "sim/program/offload.cpp",
     "\"parameters from host\", maskOf(Stream::host)", "\"parameters from host\", maskOf(Stream::fromHost)"),
    ("the GPU updates the host's share, too", "sim/program/data_parallel.cpp", "const Checked moved = here * m_stateBytes",
     "const Checked moved = updated * m_stateBytes"),
    ("the host's optimizer states stay on the GPU", "sim/program/states.cpp", "states.optimizer = optimizer - hostStates;",
     "states.optimizer = optimizer - Checked(0);"),
    ("a node's GPUs do not share its processors", "sim/cost/kernels.cpp", "m_cluster.host.memoryBandwidthGBs / m_ranksOfHost",
     "m_cluster.host.memoryBandwidthGBs"),
    # Documents of uneven lengths.
    ("short documents reach the rate of long ones", "sim/engine/documents.cpp", "return tokens * (tokens + half);",
     "return tokens * (tokens + 0 * half);"),
    ("documents are drawn evenly", "sim/engine/documents.cpp", "drawing.next() * upTo.back()", "upTo.back() / 2"),
    ("the last document is not cut", "sim/engine/documents.cpp", "std::min(left, static_cast<double>(documents.lengths[which]))",
     "static_cast<double>(documents.lengths[which])"),
    ("replicas have the same documents", "sim/engine/documents.cpp", "replica * 0x9E6C63D0876A9A47ULL", "replica * 0"),
    ("micro-batches have the same documents", "sim/engine/documents.cpp", "microbatch * 0xD6E8FEB86659FD93ULL", "microbatch * 0"),
    ("sequences of a micro-batch add up", "sim/engine/documents.cpp", "sum / scenario.training.microBatchSize", "sum"),
    ("documents shorten every kernel", "sim/engine/documents.cpp", "return isAttention && replica >= 0", "return replica >= 0"),
    ("packed attention is held to the peak of whole sequences", "sim/engine/slowdown.cpp", "scaledNs(fastest, share)", "fastest"),
    # Narrower formats.
    ("narrow inputs are kept wide", "sim/model/operator_builder.h", "isCopied ? whole / m_sharding.keptNarrower", "isCopied ? whole"),
    ("gradients between split backward passes are kept wide", "sim/model/operator_builder.h", "/ (isNarrower ? m_sharding.keptNarrower : 1);",
     "/ (isNarrower ? 1 : 1);"),
    ("four bits are kept in eight", "sim/model/operators.cpp", "return precision == Precision::nvfp4 ? 4 :",
     "return precision == Precision::nvfp4 ? 2 :"),
    ("modules begin with what is kept narrow", "sim/model/operator_builder.h", "if (isFrozen() || (isCopied && input != ProductInput::kept))",
     "if (isFrozen() || (isNarrower && false))"),
    ("moments are always wide", "sim/program/states.cpp", "2 * training.momentBytes", "2 * 4"),
    ("gathered scales of blocks cost nothing", "sim/cost/kernels.cpp", "m_stack.castBytes *= 1.35;", "m_stack.castBytes *= 1;"),
    # What several use, and what nobody asks for.
    ("experts without a replica are gathered all the same", "sim/program/states.cpp", "if (routed == 1)", "if (routed == 0)"),
    ("weights are dropped before they are used again", "sim/program/pass_builder.cpp", "flags.releasesParameters && !bucket.usedAgain",
     "flags.releasesParameters"),
    ("gradients of weights that are used again have no room until the last", "sim/program/data_parallel.cpp",
     "bytes += bucket.usedAgain ? wholeBytes", "bytes += false ? wholeBytes"),
    ("the first adapter passes its gradient on", "sim/program/pass_backward.cpp", "if (!op.needsInputGradient) {",
     "if (false && !op.needsInputGradient) {"),
    # Prediction of further tokens.
    ("each prediction module has a head of its own", "sim/program/stage_content.cpp",
     "operatorsOf(model, sharding, ModelPart::head, true)", "operatorsOf(model, sharding, ModelPart::head, false)"),
    ("each prediction module has an embedding of its own", "sim/program/stage_content.cpp", "key.ownsEmbedding || tied || i > 0",
     "key.ownsEmbedding || tied"),
    ("a prediction module gathers one of its two inputs", "sim/model/operators.cpp", "\"mtp.gather\", 2 * tensor", "\"mtp.gather\", tensor"),
    ("attention of prediction modules is not counted", "sim/model/attention_pairs.cpp", "? model.numNextnPredictLayers : 0", "? 0 : 0"),
    ("prediction modules are not run again", "sim/model/flops.cpp", "again += std::clamp(room, 0, model.numNextnPredictLayers) *",
     "again += std::clamp(room, 0, 0) *"),
    # Windows, chunks and context parallelism.
    ("windows are passed round a ring", "sim/model/operator_builder.cpp", "(!m_sharding.flashAttention || m_kind.type != LayerType::full)",
     "(!m_sharding.flashAttention)"),
    ("windows read keys that they do not see", "sim/model/attention_pairs.cpp", "(causal ? last : end) - begin", "(causal ? last : end)"),
    ("a window sees one key too many", "sim/model/attention_pairs.cpp", "first + 1 - model.slidingWindow", "first - model.slidingWindow"),
    ("windows read all keys that are gathered", "sim/model/operator_builder.cpp", "gathers ? 2 * m_sharding.cp : 1", "1"),
    ("gradients of gathered keys are not reduced", "sim/program/pass_backward.cpp",
     "exchange(CommunicatorRole::cp, CollectiveKind::reduceScatter, op.name, op.commBytes);",
     "exchange(CommunicatorRole::cp, CollectiveKind::reduceScatter, op.name, 0);"),
    ("gradients do not go round the ring with keys and values", "sim/program/pass_backward.cpp",
     "checkedMultiply(ringBackwardFactor(m_scenario.training), op.commBytes), 0);", "op.commBytes, 0);"),
    ("gradients of a ring travel narrow", "sim/program/states.cpp", "kWide / elementBytes(training.precision) : 1", "1 : 1"),
    ("one block of a ring less is joined", "sim/model/operator_builder.cpp", "blocks / together - 1; joined > 0",
     "m_sharding.cp / together - 2; joined > 0"),
    # What runs again.
    ("the core of attention drops queries and keys as well", "sim/program/rerun.cpp", "Checked(op.savedBytes) - op.savedHeadBytes",
     "Checked(op.savedBytes) - 0"),
    ("a frozen module's input is dropped", "sim/program/rerun.cpp", "whole && op.keepsInputOf.has(*whole) ? op.moduleInputBytes : 0;",
     "whole && op.keepsInputOf.has(*whole) ? 0 : 0;"),
    ("what runs again keeps its kernels' place", "sim/program/rerun.cpp", "rerun.before = i + 1;", "rerun.before = i;"),
    ("layers below the ones that are recomputed are, too", "sim/program/stage_content.cpp", "layer < training.recomputeLayers", "true"),
    # Links and ranks that differ.
    ("all-to-alls cross the network with what stays in the node", "sim/cost/collectives.cpp", "isInNode ? routes.inNodeShare(members) : members / group.size * routes.leaving",
     "isInNode ? members : members / group.size * routes.leaving"),
    ("a link's slowness counts only for its sender", "sim/engine/messages.cpp", "std::max(m_facts[asIndex(c)].link, m_facts[asIndex(peer)].link)",
     "m_facts[asIndex(c)].link"),
    ("jitter is the same for every kernel", "sim/engine/slowdown.cpp", "static_cast<std::uint64_t>(ordinal)", "1"),
    ("a transfer keeps its first rate", "sim/engine/under_way.cpp", "state.rate = rate;", "state.rate = FairShare::kFullRate;"),
    ("where another's link is slow all ports are taken whole", "sim/engine/under_way.cpp", "own < group.linkFactor)", "own < 0)"),
    ("instants come in the order of their coming", "sim/engine/event_queue.h", "ns != other.ns ? ns > other.ns : number > other.number",
     "number > other.number"),
    ("of an instant what came last comes first", "sim/engine/event_queue.h", "ns > other.ns : number > other.number",
     "ns > other.ns : number < other.number"),
    ("ranks of other neighbours are one class", "sim/engine/classes.cpp", "mix[asIndex(m_pp[rank])] = m_colours[rank];",
     "mix[asIndex(m_pp[rank])] = 0;"),
    # Failures.
    ("half of an interval is not lost", "sim/analysis/goodput.cpp", "return 1 - a / 2 + a * a / 12", "return 1 - a / 12 + a * a / 12"),
    ("restarts do not fail", "sim/analysis/goodput.cpp", "portableExp(-job.restart / job.mtbf)", "(1 - 0 * job.restart)"),
    ("the last spare is not taken", "sim/analysis/goodput.cpp", "erlangB(job.spares + 1, job.replace / job.mtbf)",
     "erlangB(job.spares, job.replace / job.mtbf)"),
    ("a job fails as often as a GPU", "sim/analysis/goodput.cpp", "f.mtbfHours * kSecondsAnHour / m.worldSize", "f.mtbfHours * kSecondsAnHour"),
    ("checkpoints hold no parameters", "sim/analysis/goodput.cpp", "(states.parameter + states.optimizer);", "(states.optimizer);"),
    ("one node writes for all", "sim/analysis/goodput.cpp", "f.storageGBs * kBytesAGigabyte * nodesOf(simulation);", "f.storageGBs * kBytesAGigabyte;"),
    ("played through, spares never come back", "sim/analysis/goodput.cpp", "m_now + m_job.replace", "m_now + 100 * m_job.replace"),
    ("played through, what was not saved counts", "sim/analysis/goodput.cpp", "credit(begin, std::min(lastSave, m_end));",
     "credit(begin, std::min(failure, m_end));"),
]


# Each hides the others where tests only look at a whole step.
TOGETHER = ["a slow link's factor is dropped", "selective recomputation keeps everything", "attention runs backward only twice",
            "reduction in the network is ignored", "the factor of grouped products is forgotten",
            "replicas of hybrid sharding reduce whole tensors", "tied embeddings are not reduced", "the optimizer moves half"]


def ownTests(together, without):
    """Of the tests that fail with all bugs, those of each bug: they pass where it alone is missing."""
    return {bug: sorted(together - others) for bug, others in without.items()}


def slips(count, seed):
    """Random entries for BUGS. Comments, messages and what does not change a number are left alone."""
    places = []
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            file = os.path.join(folder, name)
            if not name.endswith(".cpp"):
                continue
            at = 0
            for number, line in enumerate(textOf(file).split("\n"), 1):
                code = line.split(" //")[0]
                if code.startswith("    ") and not NO_NUMBER.search(line):
                    for pattern, to in SLIPS:
                        changed = re.sub(pattern, to, code, count=1)
                        if changed != code:
                            places.append(Bug(f"{file}:{number}: {changed.strip()}", file, at, at + len(code), changed))
                at += len(line) + 1
    return random.Random(seed).sample(places, min(count, len(places)))


def textOf(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return text.read()


class Bug:
    """Text of a file, from `begin` to `end`, and what is planted instead."""

    def __init__(self, name, file, begin, end, planted):
        self.name, self.file, self.begin, self.end, self.planted = name, file, begin, end, planted

    @staticmethod
    def listed(entry):
        name, file, found, planted = entry
        text = textOf(file)
        if text.count(found) != 1:
            sys.exit(f"{file}: \"{found}\" stands there {text.count(found)} times, not once")
        return Bug(name, file, text.index(found), text.index(found) + len(found), planted)

    def same(self):
        """Why it changes nothing, if that is known."""
        return next((why for file, part, why in SAME if file == self.file and part in self.planted), None)

    def alone(self, text):
        return text[:self.begin] + self.planted + text[self.end:]


def masked(text):
    """The same with blanks for comments and strings."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text)


def expressionAround(mask, begin, end):
    """The smallest whole expression with all of [begin, end): from bracket, comma, semicolon, assignment or return to the next."""
    opened = closed = 0
    for at in range(begin, end):
        opened += mask[at] in "([{"
        if mask[at] in ")]}":
            opened, closed = max(0, opened - 1), closed + (opened == 0)
    depth, left = closed, begin
    while left > 0:
        before = mask[left - 1]
        if depth == 0 and (before in ",;" or re.search(r"( [-+*/|&]?=\s|\breturn\s|\belse\s)$", mask[max(0, left - 12):left])):
            break
        if before == "}" and depth == 0 and re.match(r"\s*\n", mask[left:]):
            break  # a block before it
        depth += (before in ")]}") - (before in "([{")
        if depth < 0:
            break
        left -= 1
    depth, right = opened, end
    while right < len(mask):
        if depth == 0 and mask[right] in ",;":
            break
        depth += (mask[right] in "([{") - (mask[right] in ")]}")
        if depth < 0:
            break
        right += 1
    while left < right and mask[left].isspace():
        left += 1
    while right > left and mask[right - 1].isspace():
        right -= 1
    statement = re.match(r"(?:if|for|while)(?: constexpr)? \(", mask[left:right])
    while statement:  # what it governs
        depth, left = 1, left + statement.end()
        while depth > 0 and left < right:
            depth += (mask[left] in "([{") - (mask[left] in ")]}")
            left += 1
        while left < right and mask[left].isspace():
            left += 1
        statement = re.match(r"(?:if|for|while)(?: constexpr)? \(", mask[left:right])
    return left, right


class Switched:
    """A file with several bugs, of which the environment says which is there."""

    def __init__(self, file):
        self.file, self.text, self.spans, self.left = file, textOf(file), {}, []
        self.mask = masked(self.text)

    def add(self, number, bug):
        """Whether it can be said as an expression."""
        old, new = self.text[bug.begin:bug.end], bug.planted
        same = len(os.path.commonprefix([old, new]))
        tail = len(os.path.commonprefix([old[same:][::-1], new[same:][::-1]]))
        begin, end, planted = bug.begin + same, bug.end - tail, new[same:len(new) - tail]
        # Whole words and operators.
        isPart = lambda at: 0 < at < len(self.mask) and re.match(r"\w\w|[.\w][.\w]|[-+*/=<>!&|]{2}", self.mask[at - 1:at + 1])
        while isPart(begin):
            begin, planted = begin - 1, self.text[begin - 1] + planted
        while isPart(end):
            end, planted = end + 1, planted + self.text[end]
        left, right = expressionAround(self.mask, begin, end)
        clash = any(a < right and left < b and not (a <= left and right <= b or left <= a and b <= right)
                    for a, b in self.spans.values())
        if left > begin or right < end or left == right or ";" in masked(planted) or clash:
            return False
        wrong = self.text[left:begin] + planted + self.text[end:right]
        wrong = re.sub(r"//[^\n]*", "", wrong).replace("\n", " ")  # lines keep their numbers
        self.spans[number] = (left, right)
        self.left.append((right - left, number, left, right, wrong))
        return True

    def drop(self, lines):
        """Bugs on these lines, or where lines have none, all: they do not compile."""
        lineOf = lambda at: self.text.count("\n", 0, at) + 2  # one more before it
        on = {bug for _, bug, left, right, _ in self.left for line in lines if lineOf(left) <= line <= lineOf(right)}
        gone = on or {bug for _, bug, *_ in self.left}
        self.left = [entry for entry in self.left if entry[1] not in gone]
        for bug in gone:
            del self.spans[bug]
        return gone

    def rendered(self, begin=0, end=None, inside=None):
        end = len(self.text) if end is None else end
        within = sorted((e for e in self.left if begin <= e[2] and e[3] <= end and (inside is None or e[:2] < inside)), reverse=True)
        out, at = "", begin
        outer = [e for i, e in enumerate(within) if not any(o[2] <= e[2] and e[3] <= o[3] for o in within[:i])]
        for size, number, left, right, wrong in sorted(outer, key=lambda e: e[2]):
            out += self.text[at:left]
            out += f"(planted_bugs::isPlanted({number}) ? ({wrong}) : ({self.rendered(left, right, (size, number))}))"
            at = right
        return out + self.text[at:end]

    def file_text(self):
        text = self.rendered()
        if self.left:  # a constant of which the environment decides is none of the compiler's
            number = lambda at: self.text.count("\n", 0, at)
            lines = text.split("\n")
            for _, _, left, _, _ in self.left:
                lines[number(left)] = re.sub(r"\bconstexpr (?=.*isPlanted)", "const ", lines[number(left)])
            text = "\n".join(lines)
        return f'#include "{SWITCH}"\n' + text


SWITCH = "planted_bugs_switch.h"
SWITCH_TEXT = """#pragma once
#include <bitset>
#include <cstdlib>
namespace planted_bugs {
/// The environment names them: "3" or "1,4,7".
inline bool isPlanted(std::size_t bug)
{
    static const std::bitset<4096> planted = [] {
        std::bitset<4096> out;
        const char* text = std::getenv("RANKSCOPE_PLANTED_BUGS");
        while (text != nullptr && *text != 0) {
            char* end = nullptr;
            out.set(std::strtoul(text, &end, 10));
            text = *end == ',' ? end + 1 : nullptr;
        }
        return out;
    }();
    return planted[bug];
}
} // namespace planted_bugs
"""


def run(command, folder, seconds=None, planted=()):
    # A bug may make a loop endless, or take all memory.
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds, errors="replace",
                              env={**os.environ, "RANKSCOPE_PLANTED_BUGS": ",".join(map(str, planted))},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30)))
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -9, "", "")


class Copy:
    """The repository's copy, and what it says of a bug."""

    def __init__(self, folder, bugs):
        self.folder, self.bugs = folder, bugs
        self.tests = {**TESTS, **(GOODPUT if any(bug.file.startswith("sim/analysis") for bug in bugs) else {})}
        self.seconds = {}
        self.bring()

    def bring(self):
        """Writes only what differs, so that nothing else is compiled anew."""
        listed = run(["git", "ls-files", "-co", "--exclude-standard"], ROOT).stdout.split("\n")
        for file in filter(None, listed):
            source, target = os.path.join(ROOT, file), os.path.join(self.folder, file)
            if not os.path.isfile(source) or any(bug.file == file for bug in self.bugs):
                continue
            with open(source, "rb") as content:
                wanted = content.read()
            if file == "sim/CMakeLists.txt":  # a test is to see the bug, not the compiler
                wanted += "".join(f"target_compile_options({of.replace('/', '_')} PRIVATE -w)\n" for of in [*FOLDERS, "sim/analysis"]).encode()
            self.write(target, wanted)
        self.write(os.path.join(self.folder, SWITCH), SWITCH_TEXT.encode())

    @staticmethod
    def write(target, wanted):
        if os.path.exists(target):
            with open(target, "rb") as content:
                if content.read() == wanted:
                    return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as content:
            content.write(wanted)

    def put(self, file, text):
        self.write(os.path.join(self.folder, file), text.encode())

    def build(self):
        if not os.path.exists(os.path.join(self.folder, BUILD, "CMakeCache.txt")):
            configured = run(["cmake", "--preset", "release", "-B", BUILD, "-DRANKSCOPE_CUDA=OFF", "-DRANKSCOPE_MPI=OFF",
                              "-DRANKSCOPE_APP=OFF", "-DRANKSCOPE_LIVE=OFF"], self.folder)
            if configured.returncode:
                sys.exit(configured.stderr)
        return run(["cmake", "--build", BUILD, "-j", os.environ.get("RANKSCOPE_JOBS", str(os.cpu_count())), "--target", *self.tests,
                    "--", "-k", "0"], self.folder)

    def plant(self):
        """Builds it with as many bugs as can be switched; the numbers of the others."""
        files, others = {}, set()
        for number, bug in enumerate(self.bugs, 1):
            if not files.setdefault(bug.file, Switched(bug.file)).add(number, bug):
                others.add(number)
        while True:
            for switched in files.values():
                self.put(switched.file, switched.file_text())
            built = self.build()
            if built.returncode == 0:
                return others
            failed = re.findall(r"(sim/\S+?):(\d+):\d+: error", built.stdout)
            dropped = set()
            for file in {file for file, _ in failed} & files.keys():
                if files[file].left:
                    dropped |= files[file].drop([int(line) for of, line in failed if of == file])
            if not dropped:
                sys.exit("the copy does not build:\n" + built.stdout[-3000:])
            others |= dropped

    def failingOf(self, test, planted, *flags):
        """The tests of a program that fail with these bugs."""
        begin = time.monotonic()
        done = run([os.path.join(BUILD, "bin", test), "--gtest_brief=1", f"--gtest_filter={self.tests[test]}", *flags], self.folder,
                   seconds=20 * self.seconds.get(test, 30) + 10, planted=planted)
        if not planted:
            self.seconds[test] = time.monotonic() - begin
        seen = {line.split("]", 1)[1].strip().split(" ")[0].rstrip(",") for line in done.stdout.splitlines()
                if line.startswith("[  FAILED  ]") and "." in line}
        if done.returncode < 0:
            seen.add(f"{test} (ended by signal {-done.returncode})")
        return seen

    def failing(self, bug):
        """The tests that fail, of the first program with any; that of the bug's folder first."""
        own = "test_" + os.path.dirname(self.bugs[bug - 1].file).replace("/", "_") if bug else None
        for test in sorted(self.tests, key=lambda name: name != own):
            if seen := self.failingOf(test, [bug] if bug else [], "--gtest_fail_fast"):
                return sorted(seen)
        return []

    def allFailing(self, planted):
        return set().union(*(self.failingOf(test, planted) for test in self.tests))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; without any all bugs")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="slips of the pen instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--together", action="store_true", help="all at once")
    parser.add_argument("--folder", help="where the copy is to stay; else it is made and removed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="bugs that are tried at a time")
    arguments = parser.parse_args()
    names = arguments.names or (TOGETHER if arguments.together else [])
    bugs = [Bug.listed(bug) for bug in BUGS if not names or any(name in bug[0] for name in names)]
    if arguments.random:
        drawn = slips(arguments.random, arguments.seed)
        for bug in filter(Bug.same, drawn):
            print(f"same      {bug.name}: {bug.same()}", flush=True)
        bugs = [bug for bug in drawn if not bug.same()]
    folder = arguments.folder or tempfile.mkdtemp(prefix="rankscope-bugs-")
    try:
        copy = Copy(folder, bugs)
        others = copy.plant()
        if before := copy.failing(0):
            sys.exit("tests fail before any bug is planted: " + ", ".join(before))
        counted = survived = 0

        def tell(bug, seen):
            nonlocal counted, survived
            counted += 1
            survived += not seen
            print(f"{'caught  ' if seen else 'SURVIVED'}  {bugs[bug - 1].name}: {', '.join(seen[:3])}", flush=True)

        numbers = [number for number in range(1, len(bugs) + 1) if number not in others]
        if arguments.together:
            if others:
                sys.exit("cannot be switched: " + ", ".join(bugs[bug - 1].name for bug in sorted(others)))
            sets = [numbers] + [[other for other in numbers if other != bug] for bug in numbers]
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                together, *without = pool.map(copy.allFailing, sets)
            for bug, seen in ownTests(together, dict(zip(numbers, without))).items():
                tell(bug, seen)
            print(f"{counted - survived} of {counted} have a test of their own; {len(together)} fail in all")
            sys.exit(survived > 0)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for bug, seen in zip(numbers, pool.map(copy.failing, numbers)):
                tell(bug, seen)
        for bug in sorted(others):
            for file in {of.file for of in bugs}:
                copy.put(file, textOf(file) if file != bugs[bug - 1].file else bugs[bug - 1].alone(textOf(file)))
            if copy.build().returncode == 0:
                tell(bug, copy.failing(bug))
            else:
                print(f"no code   {bugs[bug - 1].name}", flush=True)
        print(f"{counted - survived} of {counted} caught")
        sys.exit(survived > 0)
    finally:
        if not arguments.folder:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
