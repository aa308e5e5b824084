// NCCL's calls on the imaginary machine: members of a communicator meet; what needs a peer waits for it.
//
// - A communicator is there when all its members have asked for it.
// - The first send from one member to another is taken when the other has asked to receive; the first sum likewise, unless
//   NCCL_RUNTIME_CONNECT is 0. Until then the call is in progress. (A host that asks again and again is put to sleep: so that it
//   can be seen that it waits in a circle.)
// - Kernels of one communicator run in the order of issue on each member, and end when their peers run theirs. A send orders
//   what the receiver does later; what the sender does later it does not.
#include "live/comm/nccl/nccl_calls.h"

#include "live/comm/reduction.h"
#include "live/emulated/handles.h"
#include "live/emulated/wire.h"
#include "sim/error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <utility>

namespace live::nccl {
namespace {

using emulated::Access, emulated::Clock, emulated::Machine, emulated::Operation, emulated::Wait, emulated::Wire;

constexpr Result kFailed = static_cast<Result>(1);
constexpr int kVersion = 22809;

struct Kernel;
struct Clique;

/// What a Comm points to.
struct Member {
    std::shared_ptr<Clique> clique;
    int member = 0, host = -1;
    std::deque<std::shared_ptr<Kernel>> order; ///< issued and not done
    std::uint64_t collectives = 0;             ///< issued
    bool sums = false;                         ///< has asked for its first collective
    std::set<std::pair<int, int>> channels;    ///< from and to: used by this member
    bool aborted = false;
};

struct Part {
    bool isSend = false;
    int peer = 0;
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t bytes = 0;
    bool done = false;
};

enum class Collective : std::uint8_t { none, allReduce, reduceScatter, allGather, broadcast };

/// The members of one communicator.
struct Clique {
    std::string name;
    std::vector<int> ranks;
    std::vector<Member*> members; ///< null: has not come yet
    bool connectsLate = true;
    struct Channel {
        std::set<bool> asked;                                  ///< true: the sender, false: the receiver
        std::deque<std::pair<Kernel*, Part*>> sends, receives; ///< of kernels that run
    };
    std::map<std::pair<int, int>, Channel> channels;
    std::map<std::uint64_t, std::vector<Kernel*>> collectives; ///< by place in the order: those that run, by member
    /// Where the others are processes of their own: what they have told, by member; by ends of a channel.
    std::vector<std::shared_ptr<Wire::Incoming>> made;
    std::map<std::pair<int, int>, std::shared_ptr<Wire::Incoming>> opened;
    int id = 0; ///< the group's

    /// Of messages; each group has its own.
    enum class About : std::uint8_t { made, opened, sum, data, taken, kinds };
    int tag(About about) const { return id * static_cast<int>(About::kinds) + static_cast<int>(about); }
    int processOf(int member) const { return ranks[static_cast<std::size_t>(member)]; }

    int size() const { return static_cast<int>(ranks.size()); }
    Wait waitFor(int member, const std::string& what) const
    {
        const Member* const other = members[static_cast<std::size_t>(member)];
        const std::string number = std::to_string(ranks[static_cast<std::size_t>(member)]);
        const bool isProcess = Machine::current().hostCalled("process " + number) >= 0; // of several ranks
        const std::string rank = (isProcess ? "process " : "rank ") + number;
        const int host = other ? other->host : Machine::current().hostCalled(rank);
        return {nullptr, host, "waits for " + rank + " to " + what + " in group " + name};
    }
};

struct World {
    std::vector<Kernel*> wired; ///< those that run and wait for other processes
    std::uint64_t ids = 0;
    std::map<std::string, std::shared_ptr<Clique>> cliques;
    std::vector<std::unique_ptr<Member>> members;
};

World& world() // under the machine's lock
{
    Machine& machine = Machine::current();
    if (!machine.nccl)
        machine.nccl = std::make_shared<World>();
    return *static_cast<World*>(machine.nccl.get());
}

Member& memberOf(Comm communicator)
{
    return *reinterpret_cast<Member*>(communicator);
}

/// What the member's last call still waits for; no text: nothing.
Wait missing(const Member& member)
{
    const Clique& clique = *member.clique;
    if (!clique.made.empty()) {
        for (int other = 0; other < clique.size(); ++other)
            if (const auto& told = clique.made[static_cast<std::size_t>(other)]; told && !told->isDone())
                return clique.waitFor(other, "make its communicator");
        for (const auto& [ends, told] : clique.opened)
            if (!told->isDone())
                return clique.waitFor(ends.first == member.member ? ends.second : ends.first, "open its connection");
        return {};
    }
    for (int other = 0; other < clique.size(); ++other)
        if (!clique.members[static_cast<std::size_t>(other)])
            return clique.waitFor(other, "make its communicator");
    for (const auto& ends : member.channels)
        for (const bool side : {true, false})
            if (!clique.channels.at(ends).asked.contains(side))
                return clique.waitFor(side ? ends.first : ends.second,
                                      side ? "send for the first time" : "receive for the first time");
    for (int other = 0; member.sums && clique.connectsLate && other < clique.size(); ++other)
        if (!clique.members[static_cast<std::size_t>(other)]->sums)
            return clique.waitFor(other, "sum for the first time");
    return {};
}

struct Kernel final : emulated::Meeting {
    Member* member = nullptr;
    std::string name;
    Collective collective = Collective::none;
    std::uint64_t place = 0; ///< of a collective
    DType type = DType::f32;
    ReduceOp reduce = ReduceOp::sum;
    std::size_t count = 0; ///< elements, as the call counts them
    const void* input = nullptr;
    void* output = nullptr;
    int root = 0;
    std::vector<Part> parts;
    Clock learnt;                                        ///< of the others
    std::vector<std::shared_ptr<Wire::Incoming>> coming; ///< over the wire: by part, or by member

    bool mayBegin(const Operation&, Wait* why) const override
    {
        if (member->aborted)
            return true;
        if (member->order.front().get() != this) {
            *why = {member->order.front()->operation, -1, "comes after another of its communicator"};
            return false;
        }
        *why = missing(*member);
        return why->why.empty();
    }

    void begin(Operation&) override
    {
        if (member->aborted)
            return finish();
        if (Wire* const wire = Machine::current().wire())
            return beginOnWire(*wire);
        if (collective != Collective::none)
            return meet();
        Clique& clique = *member->clique;
        std::vector<std::pair<int, int>> touched;
        for (Part& part : parts) {
            const auto ends = part.isSend ? std::pair(member->member, part.peer) : std::pair(part.peer, member->member);
            Clique::Channel& channel = clique.channels[ends];
            (part.isSend ? channel.sends : channel.receives).emplace_back(this, &part);
            touched.push_back(ends);
        }
        for (const auto& ends : touched)
            exchange(clique.channels[ends]);
    }

    Wait waitsFor(const Operation&) const override
    {
        const Clique& clique = *member->clique;
        if (!coming.empty())
            return {nullptr, -1, "waits for other processes of group " + clique.name};
        if (collective != Collective::none) {
            const std::vector<Kernel*>& here = clique.collectives.at(place);
            for (std::size_t other = 0; other < here.size(); ++other)
                if (!here[other])
                    return peersKernel(static_cast<int>(other), [&](const Kernel& kernel) {
                        return kernel.collective != Collective::none && kernel.place == place;
                    });
        }
        for (const Part& part : parts)
            if (!part.done)
                return peersKernel(part.peer, [&](const Kernel& kernel) {
                    return std::any_of(kernel.parts.begin(), kernel.parts.end(), [&](const Part& other) {
                        return !other.done && other.isSend != part.isSend && other.peer == member->member;
                    });
                });
        return {};
    }

    template <class Fits>
    Wait peersKernel(int peer, const Fits& fits) const
    {
        const Clique& clique = *member->clique;
        for (const auto& kernel : clique.members[static_cast<std::size_t>(peer)]->order)
            if (fits(*kernel) && kernel->operation)
                return {kernel->operation, -1, "waits for " + Machine::current().nameOf(*kernel->operation)};
        return clique.waitFor(peer, "ask for the same");
    }

    void finish()
    {
        std::erase_if(member->order, [&](const auto& kernel) { return kernel.get() == this; }); // the operation keeps it
        Machine::current().complete(*operation->stream->running, &learnt);
    }

    static void exchange(Clique::Channel& channel)
    {
        while (!channel.sends.empty() && !channel.receives.empty()) {
            const auto [sender, sent] = channel.sends.front();
            const auto [receiver, received] = channel.receives.front();
            channel.sends.pop_front();
            channel.receives.pop_front();
            if (sent->bytes != received->bytes)
                throw sim::Error("'" + sender->name + "' sends " + std::to_string(sent->bytes) + " bytes, and '" +
                                 receiver->name + "' waits for " + std::to_string(received->bytes));
            std::memcpy(received->to, sent->from, sent->bytes);
            sent->done = received->done = true;
            if (sender != receiver)
                receiver->learnt.join(Machine::current().clockOf(*sender->operation));
            for (Kernel* kernel : {sender, receiver})
                if (kernel->operation &&
                    std::all_of(kernel->parts.begin(), kernel->parts.end(), [](const Part& part) { return part.done; }))
                    kernel->finish();
        }
    }

    void meet()
    {
        Clique& clique = *member->clique;
        std::vector<Kernel*>& here = clique.collectives[place];
        here.resize(clique.members.size());
        here[static_cast<std::size_t>(member->member)] = this;
        for (const Kernel* other : here)
            if (other && (other->collective != collective || other->count != count || other->type != type ||
                          other->reduce != reduce || other->root != root))
                throw sim::Error("members of group " + clique.name + " meet in different operations: '" + other->name + "' of " +
                                 std::to_string(other->count) + " elements and '" + name + "' of " + std::to_string(count));
        if (std::any_of(here.begin(), here.end(), [](const Kernel* kernel) { return kernel == nullptr; }))
            return;
        const std::vector<Kernel*> all = std::move(here);
        clique.collectives.erase(place);
        std::vector<const void*> inputs;
        std::vector<void*> outputs;
        for (const Kernel* kernel : all) {
            inputs.push_back(kernel->input);
            outputs.push_back(kernel->output);
        }
        compute(inputs, outputs, 0);
        Clock together;
        for (const Kernel* kernel : all)
            together.join(Machine::current().clockOf(*kernel->operation));
        const Clock ofRoot = Machine::current().clockOf(*all[static_cast<std::size_t>(root)]->operation);
        for (Kernel* kernel : all) {
            kernel->learnt = collective == Collective::broadcast ? ofRoot : together;
            kernel->finish();
        }
    }

    /// inputs: of all members; outputs: of some, from member `first` on.
    void compute(const std::vector<const void*>& inputs, std::vector<void*>& outputs, std::size_t first) const
    {
        const std::size_t bytes = count * static_cast<std::size_t>(bytesOf(type));
        WorkerPool& pool = Machine::current().pool();
        const auto elements = static_cast<std::int64_t>(count);
        switch (collective) {
        case Collective::allReduce:
            return reduceInOrder(pool, type, reduce, elements, inputs, outputs);
        case Collective::reduceScatter:
            for (std::size_t i = 0; i < outputs.size(); ++i) {
                std::vector<const void*> slices;
                for (const void* whole : inputs)
                    slices.push_back(static_cast<const std::byte*>(whole) + (first + i) * bytes);
                reduceInOrder(pool, type, reduce, elements, slices, {&outputs[i], 1});
            }
            return;
        case Collective::allGather:
            for (void* to : outputs)
                for (std::size_t part = 0; part < inputs.size(); ++part)
                    std::memmove(static_cast<std::byte*>(to) + part * bytes, inputs[part], bytes);
            return;
        case Collective::broadcast:
            for (void* to : outputs)
                std::memmove(to, inputs[static_cast<std::size_t>(root)], bytes);
            return;
        case Collective::none:
            return;
        }
    }

    std::size_t inputBytes() const
    {
        const std::size_t bytes = count * static_cast<std::size_t>(bytesOf(type));
        return collective == Collective::reduceScatter ? bytes * member->clique->ranks.size() : bytes;
    }

    /// Tells the others what they need of this member, and waits for what it needs of them.
    void beginOnWire(Wire& wire)
    {
        using About = Clique::About;
        const Clique& clique = *member->clique;
        if (collective != Collective::none) {
            for (int other = 0; other < clique.size(); ++other) {
                const bool isOther = other != member->member;
                if (isOther)
                    wire.send(clique.processOf(other), clique.tag(About::sum), input, inputBytes());
                coming.push_back(isOther ? wire.receive(clique.processOf(other), clique.tag(About::sum), inputBytes()) : nullptr);
            }
        } else {
            for (const Part& part : parts) {
                const int process = clique.processOf(part.peer);
                if (part.peer == member->member)
                    coming.push_back(nullptr);
                else if (part.isSend)
                    coming.push_back((wire.send(process, clique.tag(About::data), part.from, part.bytes),
                                      wire.receive(process, clique.tag(About::taken), 1)));
                else
                    coming.push_back(wire.receive(process, clique.tag(About::data), part.bytes));
            }
        }
        world().wired.push_back(this);
        goOnOnWire(wire);
    }

    /// Takes what has come, and tells its sender; ends when all has.
    void goOnOnWire(Wire& wire)
    {
        const Clique& clique = *member->clique;
        bool isOver = true;
        for (std::size_t i = 0; i < coming.size(); ++i) {
            const auto& message = coming[i];
            if (message && !message->isDone()) {
                isOver = false;
                continue;
            }
            if (message && message->came() != static_cast<std::int64_t>(message->bytes.size()))
                throw sim::Error("'" + name + "' waits for " + std::to_string(message->bytes.size()) +
                                 " bytes of another member, and " + std::to_string(message->came()) + " came");
            if (parts.empty() || std::exchange(parts[i].done, true) || parts[i].isSend)
                continue;
            const Part& part = parts[i];
            std::memcpy(part.to, message ? static_cast<const void*>(message->bytes.data()) : sentToMyself().from, part.bytes);
            if (message)
                wire.send(clique.processOf(part.peer), clique.tag(Clique::About::taken), "", 1);
        }
        if (!isOver)
            return;
        if (collective != Collective::none) {
            std::vector<const void*> inputs;
            for (const auto& message : coming)
                inputs.push_back(message ? static_cast<const void*>(message->bytes.data()) : input);
            std::vector<void*> outputs = {output};
            compute(inputs, outputs, static_cast<std::size_t>(member->member));
        }
        std::erase(world().wired, this);
        finish();
    }

    const Part& sentToMyself() const
    {
        return *std::find_if(parts.begin(), parts.end(),
                             [&](const Part& part) { return part.isSend && part.peer == member->member; });
    }
};

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
    machine.put(emulated::of(stream), kernel->name, std::move(accesses), kernel);
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
};
thread_local OpenGroup t_group; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): as NCCL, one a thread

Result issueParts(Comm communicator, Stream stream, const std::shared_ptr<Kernel>& kernel)
{
    std::vector<Access> accesses;
    for (const Part& part : kernel->parts)
        accesses.push_back(piece(part.isSend ? part.from : part.to, part.bytes, !part.isSend));
    return issue(communicator, stream, kernel, std::move(accesses));
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

Result initRank(Comm& communicator, const CommGroup& group, const UniqueId& id, int member)
{
    Machine& machine = Machine::current();
    const int host = machine.callingHost();
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
    Machine::current().locked([&] {
        Member& member = memberOf(communicator);
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
    });
    return Result::success;
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
