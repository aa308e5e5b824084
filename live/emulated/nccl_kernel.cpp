// Kernels of NCCL on the imaginary machine: how those of one communicator meet, here or over the wire.
#include "live/emulated/nccl_parts.h"

#include "live/comm/reduction.h"
#include "sim/error.h"

#include <algorithm>
#include <cstring>

namespace live::emulated {

World& world()
{
    Machine& machine = Machine::current();
    if (!machine.nccl)
        machine.nccl = std::make_shared<World>();
    return *static_cast<World*>(machine.nccl.get());
}

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

bool Kernel::mayBegin(const Operation&, Wait* why) const
{
    if (member->aborted)
        return true;
    if (member->order.front().get() != this) {
        *why = {member->order.front()->operation, -1, "comes after another of its communicator"};
        return false;
    }
    *why = missing(*member);
    const int all = Machine::current().options().processors, taken = world().blocks[member->gpu];
    if (why->why.empty() && taken + member->blocks > all)
        *why = {nullptr, -1,
                "wants " + std::to_string(member->blocks) + " of its GPU's processors, of whose " + std::to_string(all) +
                    " kernels that wait for others have " + std::to_string(taken)};
    return why->why.empty();
}

void Kernel::begin(Operation&)
{
    if (member->aborted)
        return finish();
    world().blocks[member->gpu] += blocks = member->blocks;
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

Wait Kernel::waitsFor(const Operation&) const
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
Wait Kernel::peersKernel(int peer, const Fits& fits) const
{
    const Clique& clique = *member->clique;
    for (const auto& kernel : clique.members[static_cast<std::size_t>(peer)]->order)
        if (fits(*kernel) && kernel->operation)
            return {kernel->operation, -1, "waits for " + Machine::current().nameOf(*kernel->operation)};
    return clique.waitFor(peer, "ask for the same");
}

void Kernel::finish()
{
    world().blocks[member->gpu] -= std::exchange(blocks, 0);
    std::erase_if(member->order, [&](const auto& kernel) { return kernel.get() == this; }); // the operation keeps it
    Machine::current().complete(*operation->stream->running, &learnt);
}

void Kernel::exchange(Clique::Channel& channel)
{
    while (!channel.sends.empty() && !channel.receives.empty()) {
        const auto [sender, sent] = channel.sends.front();
        const auto [receiver, received] = channel.receives.front();
        channel.sends.pop_front();
        channel.receives.pop_front();
        if (sent->bytes != received->bytes)
            throw sim::Error("'" + sender->name + "' sends " + std::to_string(sent->bytes) + " bytes, and '" + receiver->name +
                             "' waits for " + std::to_string(received->bytes));
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

void Kernel::meet()
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
void Kernel::compute(const std::vector<const void*>& inputs, std::vector<void*>& outputs, std::size_t first) const
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

std::size_t Kernel::inputBytes() const
{
    const std::size_t bytes = count * static_cast<std::size_t>(bytesOf(type));
    return collective == Collective::reduceScatter ? bytes * member->clique->ranks.size() : bytes;
}

/// Tells the others what they need of this member, and waits for what it needs of them.
void Kernel::beginOnWire(Wire& wire)
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
void Kernel::goOnOnWire(Wire& wire)
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

const Part& Kernel::sentToMyself() const
{
    return *std::find_if(parts.begin(), parts.end(),
                         [&](const Part& part) { return part.isSend && part.peer == member->member; });
}

} // namespace live::emulated
