// NCCL's calls on the imaginary machine: members of a communicator meet; what needs a peer waits for it.
//
// - A communicator is there when all its members have asked for it.
// - The first send from one member to another is taken when the other has asked to receive; the first sum likewise, unless
//   NCCL_RUNTIME_CONNECT is 0. Until then the call is in progress. (A host that asks again and again is put to sleep: so that it
//   can be seen that it waits in a circle.)
// - Kernels of one communicator run in the order of issue on each member, and end when their peers run theirs. A send orders
//   what the receiver does later; what the sender does later it does not.
// - Each block of a kernel takes a processor of the GPU until the kernel ends: one that finds too few free does not begin.
// - A communicator has a stream of its own, which waits for each of its kernels.
// - A communicator that is aborted ends its kernels that run at once, and the call returns when those have ended, too, that were
//   put on a stream and have not begun. Of several in one group the running ones end first.
#include "live/comm/nccl/nccl_calls.h"
#include "live/emulated/handles.h"
#include "live/emulated/nccl_parts.h"
#include "sim/error.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace live::nccl {
namespace {

using emulated::Access, emulated::Clique, emulated::Collective, emulated::Kernel, emulated::Machine, emulated::Member,
    emulated::Operation, emulated::Part, emulated::Wait, emulated::Wire, emulated::missing, emulated::world;

constexpr Result kFailed = static_cast<Result>(1);
constexpr int kVersion = 22809;

Member& memberOf(Comm communicator)
{
    return *reinterpret_cast<Member*>(communicator);
}

Access piece(const void* data, std::size_t bytes, bool isWritten)
{
    return {static_cast<const std::byte*>(data), bytes, bytes, 1, isWritten};
}

Result issue(Comm communicator, Stream stream, const std::shared_ptr<Kernel>& kernel, std::vector<Access> accesses)
{
    Machine& machine = Machine::current();
    Member& member = memberOf(communicator);
    const bool taken = machine.locked([&] {
        if (member.aborted)
            return false;
        if (const Wait last = missing(member); !last.why.empty())
            throw sim::Error("NCCL is called for group " + member.clique->name + " while its last call is in progress: it " +
                             last.why);
        kernel->member = &member;
        Clique& clique = *member.clique;
        for (const Part& part : kernel->parts) {
            const auto ends = part.isSend ? std::pair(member.member, part.peer) : std::pair(part.peer, member.member);
            clique.channels[ends].asked.insert(part.isSend);
            member.channels.insert(ends);
            Wire* const wire = machine.wire();
            if (!wire || part.peer == member.member || clique.opened.contains(ends))
                continue;
            wire->send(clique.processOf(part.peer), clique.tag(Clique::About::opened), "", 1);
            clique.opened[ends] = wire->receive(clique.processOf(part.peer), clique.tag(Clique::About::opened), 1);
        }
        if (kernel->collective != Collective::none) {
            kernel->place = member.collectives++;
            member.sums = true;
        }
        member.order.push_back(kernel);
        return true;
    });
    if (!taken)
        return kFailed;
    machine.record(*member.event, *member.kernels);
    machine.wait(emulated::of(stream), *member.event);
    try {
        machine.put(emulated::of(stream), kernel->name, std::move(accesses), kernel);
    } catch (...) { // of a machine that has failed: it will never end
        machine.locked([&] { std::erase(member.order, kernel); });
        throw;
    }
    machine.record(*member.event, emulated::of(stream));
    machine.wait(*member.kernels, *member.event);
    return machine.locked([&] { return missing(member).why.empty() ? Result::success : Result::inProgress; });
}

Result collective(Collective kind, const char* word, const void* input, std::size_t inputBytes, void* output,
                  std::size_t outputBytes, std::size_t count, DType type, ReduceOp reduce, int root, Comm communicator,
                  Stream stream)
{
    auto kernel = std::make_shared<Kernel>();
    kernel->name = std::string("NCCL ") + word + " in group " + memberOf(communicator).clique->name;
    kernel->collective = kind;
    kernel->type = type;
    kernel->reduce = reduce;
    kernel->count = count;
    kernel->input = input;
    kernel->output = output;
    kernel->root = root;
    std::vector<Access> accesses;
    if (kind != Collective::broadcast || memberOf(communicator).member == root)
        accesses.push_back(piece(input, inputBytes, false));
    accesses.push_back(piece(output, outputBytes, true));
    return issue(communicator, stream, kernel, std::move(accesses));
}

/// Between groupStart() and groupEnd().
struct OpenGroup {
    bool isOpen = false;
    Comm communicator = nullptr;
    Stream stream = nullptr;
    std::shared_ptr<Kernel> kernel;
    std::vector<Member*> aborted;
};
thread_local OpenGroup t_group; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): as NCCL, one a thread

Result issueParts(Comm communicator, Stream stream, const std::shared_ptr<Kernel>& kernel)
{
    std::vector<Access> accesses;
    for (const Part& part : kernel->parts)
        accesses.push_back(piece(part.isSend ? part.from : part.to, part.bytes, !part.isSend));
    return issue(communicator, stream, kernel, std::move(accesses));
}

/// Of a communicator that is aborted: those that run, and those that have not begun when they do.
void endKernels(Member& member)
{
    if (std::exchange(member.aborted, true))
        return;
    Clique& clique = *member.clique;
    for (auto& [ends, channel] : clique.channels)
        for (auto* waiting : {&channel.sends, &channel.receives})
            std::erase_if(*waiting, [&](const auto& entry) { return entry.first->member == &member; });
    for (auto& [place, kernels] : clique.collectives)
        for (Kernel*& kernel : kernels)
            if (kernel && kernel->member == &member)
                kernel = nullptr;
    std::erase_if(world().wired, [&](const Kernel* kernel) { return kernel->member == &member; });
    const std::deque<std::shared_ptr<Kernel>> open = member.order;
    for (const auto& kernel : open)
        if (kernel->operation && kernel->operation->stream->running.get() == kernel->operation)
            kernel->finish();
}

Result awaitEnd(const std::vector<Member*>& aborted)
{
    const auto left = [&] {
        return std::find_if(aborted.begin(), aborted.end(), [](const Member* member) { return !member->order.empty(); });
    };
    const bool ended = Machine::current().waitBeside(
        [&] { return left() == aborted.end(); },
        [&] {
            const Member& member = **left();
            const Operation* const next = member.order.front()->operation;
            return Wait{next, -1, "aborts its communicator of group " + member.clique->name + ", and waits for its kernels"};
        });
    return ended ? Result::success : kFailed;
}

Result transfer(const Part& part, Comm communicator, Stream stream)
{
    const std::string& group = memberOf(communicator).clique->name;
    if (!t_group.isOpen) {
        auto kernel = std::make_shared<Kernel>();
        kernel->name = (part.isSend ? "NCCL send to " : "NCCL receive from ") + std::to_string(part.peer) + " in group " + group;
        kernel->parts.push_back(part);
        return issueParts(communicator, stream, kernel);
    }
    if (!t_group.kernel) {
        t_group.kernel = std::make_shared<Kernel>();
        t_group.kernel->name = "NCCL exchange in group " + group;
        t_group.communicator = communicator;
        t_group.stream = stream;
    }
    t_group.kernel->parts.push_back(part);
    return Result::success;
}

} // namespace

int version()
{
    const int asked = Machine::current().options().ncclVersion;
    return asked > 0 ? asked : kVersion;
}
int builtVersion()
{
    return kVersion;
}
std::string errorText(Result)
{
    return "aborted";
}
std::string lastError(Comm)
{
    return "";
}

Result makeUniqueId(UniqueId& id)
{
    return Machine::current().locked([&] {
        const std::string text = "emulated " + std::to_string(++world().ids);
        std::copy(text.begin(), text.end(), id.bytes.begin());
        return Result::success;
    });
}

Result initRank(Comm& communicator, const CommGroup& group, const UniqueId& id, int member, int maxBlocks)
{
    Machine& machine = Machine::current();
    const int host = machine.callingHost();
    const int gpu = emulated::gpuOfThread();
    std::unique_ptr<emulated::Event> event(machine.createEvent(gpu, false));
    emulated::Stream* const kernels = machine.createStream(gpu);
    return machine.locked([&] {
        std::shared_ptr<Clique>& clique = world().cliques[std::string(id.bytes.data()) + "/" + std::to_string(group.id)];
        if (!clique) {
            clique = std::make_shared<Clique>();
            clique->name = group.name;
            clique->ranks = group.ranks;
            clique->members.resize(group.ranks.size());
            const char* const said = std::getenv("NCCL_RUNTIME_CONNECT"); // NOLINT(concurrency-mt-unsafe)
            clique->connectsLate = !said || std::atoi(said) != 0;
        }
        auto made = std::make_unique<Member>();
        made->clique = clique;
        made->member = member;
        made->host = host;
        made->kernels = kernels;
        made->event = std::move(event);
        made->gpu = gpu;
        if (maxBlocks > 0)
            made->blocks = maxBlocks;
        clique->members.at(static_cast<std::size_t>(member)) = made.get();
        if (Wire* const wire = machine.wire()) {
            clique->id = group.id;
            for (int other = 0; other < clique->size(); ++other) {
                const int tag = clique->tag(Clique::About::made);
                if (other != member)
                    wire->send(clique->processOf(other), tag, "", 1);
                clique->made.push_back(other == member ? nullptr : wire->receive(clique->processOf(other), tag, 1));
            }
            machine.onWire = [wire] {
                const std::vector<Kernel*> open = world().wired;
                for (Kernel* kernel : open)
                    kernel->goOnOnWire(*wire);
            };
        }
        communicator = reinterpret_cast<Comm>(made.get());
        world().members.push_back(std::move(made));
        return missing(*clique->members[static_cast<std::size_t>(member)]).why.empty() ? Result::success : Result::inProgress;
    });
}

Result finalize(Comm communicator)
{
    return memberOf(communicator).aborted ? kFailed : Result::success;
}
Result destroy(Comm)
{
    return Result::success; // the machine keeps it
}

Result abort(Comm communicator)
{
    Member& member = memberOf(communicator);
    Machine::current().locked([&] { endKernels(member); });
    if (t_group.isOpen) {
        t_group.aborted.push_back(&member);
        return Result::success;
    }
    return awaitEnd({&member});
}

Result asyncError(Comm communicator, Result& state)
{
    Machine& machine = Machine::current();
    const Member& member = memberOf(communicator);
    const auto look = [&] {
        return member.aborted ? kFailed : missing(member).why.empty() ? Result::success : Result::inProgress;
    };
    state = machine.locked(look);
    if (state == Result::inProgress && machine.isHost()) {
        machine.waitUntil([&] { return machine.nudged() || look() != Result::inProgress; }, [&] { return missing(member); });
        state = machine.locked(look);
    }
    return Result::success;
}

Result groupStart()
{
    t_group = {.isOpen = true};
    return Result::success;
}
Result groupEnd()
{
    const OpenGroup group = std::exchange(t_group, {});
    if (!group.aborted.empty())
        return awaitEnd(group.aborted);
    return group.kernel ? issueParts(group.communicator, group.stream, group.kernel) : Result::success;
}

Result allReduce(const void* input, void* output, std::size_t count, DType type, ReduceOp reduce, Comm communicator,
                 Stream stream)
{
    const std::size_t bytes = count * static_cast<std::size_t>(bytesOf(type));
    return collective(Collective::allReduce, "all-reduce", input, bytes, output, bytes, count, type, reduce, 0, communicator,
                      stream);
}
Result reduceScatter(const void* input, void* output, std::size_t outputCount, DType type, ReduceOp reduce, Comm communicator,
                     Stream stream)
{
    const std::size_t bytes = outputCount * static_cast<std::size_t>(bytesOf(type));
    return collective(Collective::reduceScatter, "reduce-scatter", input, bytes * memberOf(communicator).clique->ranks.size(),
                      output, bytes, outputCount, type, reduce, 0, communicator, stream);
}
Result allGather(const void* input, void* output, std::size_t inputCount, DType type, Comm communicator, Stream stream)
{
    const std::size_t bytes = inputCount * static_cast<std::size_t>(bytesOf(type));
    return collective(Collective::allGather, "all-gather", input, bytes, output,
                      bytes * memberOf(communicator).clique->ranks.size(), inputCount, type, ReduceOp::sum, 0, communicator,
                      stream);
}
Result broadcast(const void* input, void* output, std::size_t count, DType type, int root, Comm communicator, Stream stream)
{
    const std::size_t bytes = count * static_cast<std::size_t>(bytesOf(type));
    return collective(Collective::broadcast, "broadcast", input, bytes, output, bytes, count, type, ReduceOp::sum, root,
                      communicator, stream);
}
Result send(const void* input, std::size_t count, DType type, int peer, Comm communicator, Stream stream)
{
    return transfer({.isSend = true, .peer = peer, .from = input, .bytes = count * static_cast<std::size_t>(bytesOf(type))},
                    communicator, stream);
}
Result receive(void* output, std::size_t count, DType type, int peer, Comm communicator, Stream stream)
{
    return transfer({.isSend = false, .peer = peer, .to = output, .bytes = count * static_cast<std::size_t>(bytesOf(type))},
                    communicator, stream);
}

} // namespace live::nccl
