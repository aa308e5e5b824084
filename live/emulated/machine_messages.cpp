// What the machine tells people: names of what ran, what waits for what, and the circle of waits where nobody can go on.
#include "live/emulated/machine_parts.h"

#include <algorithm>
#include <string>
#include <utility>

namespace live::emulated {

std::uint32_t Machine::nameNumber(std::string_view name)
{
    const auto [place, isNew] = m_nameNumbers.try_emplace(std::string(name), static_cast<std::uint32_t>(m_names.size()));
    if (isNew)
        m_names.emplace_back(name);
    return place->second;
}

std::string Machine::nameOf(const Operation& operation) const
{
    std::string who = m_hosts.size() > 1 ? " of " + m_hosts[static_cast<std::size_t>(operation.host)]->name : "";
    return "'" + m_names[operation.name] + "' (operation " + std::to_string(operation.number) + who + ", on " +
           m_timelines[operation.stream->timeline] + ")";
}

/// Of one that has not been passed.
std::string Machine::eventText(const Record& record) const
{
    const Operation& operation = *record.operation;
    return "one recorded as operation " + std::to_string(operation.number) + " on " + m_timelines[operation.stream->timeline] +
           ", which has come to " + nameOf(*oldestOf(*operation.stream));
}

std::string Machine::text(const Epoch& epoch) const
{
    return "'" + m_names[epoch.name] + "' (operation " + std::to_string(epoch.number) + ", on " + m_timelines[epoch.timeline] +
           ")";
}

void Machine::fail(const std::string& why) noexcept
{
    if (!m_failure.empty())
        return;
    m_failure = why + (why.ends_with('\n') ? "" : " ") + "[order " + std::to_string(m_options.orderSeed) + "]";
    if (!m_options.repeat.empty())
        m_failure += "\nTo see it again: " + m_options.repeat;
}

const Operation* Machine::oldestOf(const Stream& stream) const
{
    if (stream.running)
        return stream.running.get();
    for (const auto& operation : m_gpus[static_cast<std::size_t>(stream.gpu)].queues[stream.queue])
        if (operation->stream == &stream)
            return operation.get();
    return nullptr;
}

Wait Machine::waitsFor(const Operation& operation) const
{
    const Stream& stream = *operation.stream;
    if (stream.running.get() == &operation)
        return operation.meeting->waitsFor(operation);
    const Operation& head = *m_gpus[static_cast<std::size_t>(stream.gpu)].queues[stream.queue].front();
    Wait why;
    if (&head == &operation) {
        if (mayBegin(operation, &why))
            why.why = "may begin";
        return why;
    }
    if (const Operation* const oldest = oldestOf(stream); oldest != &operation)
        return {oldest, -1, "comes after " + nameOf(*oldest)};
    return {&head, -1,
            "is behind " + nameOf(head) + " in hardware queue " + std::to_string(stream.queue) + " of " +
                std::to_string(m_options.hardwareQueues) + ", which their streams share"};
}

std::string Machine::stuck(Wait at) const
{
    std::vector<Wait> seen; // what was looked at, and what was found there
    std::size_t circle = 0;
    for (;;) {
        const auto again = std::find_if(seen.begin(), seen.end(), [&](const Wait& known) {
            return known.operation == at.operation && (at.operation || known.host == at.host);
        });
        if (again != seen.end()) {
            circle = static_cast<std::size_t>(again - seen.begin());
            break;
        }
        Wait next;
        if (at.operation) {
            next = waitsFor(*at.operation);
            at.why = at.operation->kind == Operation::Kind::record ? "" : nameOf(*at.operation) + " " + next.why;
        } else {
            const Host& waiting = *m_hosts[static_cast<std::size_t>(at.host)];
            next = waiting.ended ? Wait{nullptr, -1, "has ended"}
                   : waiting.why ? (*waiting.why)()
                                 : Wait{nullptr, -1, "waits for nothing of the GPUs'"};
            at.why = waiting.name + " " + next.why;
        }
        seen.push_back(at);
        at = next;
        if (!at.operation && at.host < 0)
            break;
    }
    std::string message = "nobody can go on:";
    for (std::size_t i = circle; i < seen.size(); ++i)
        if (!seen[i].why.empty()) // that an event comes after what is before it says nothing
            message += "\n  " + seen[i].why;
    return message + "\n";
}

} // namespace live::emulated
