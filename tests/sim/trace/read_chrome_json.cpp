#include "tests/sim/trace/read_trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

namespace test {
namespace {

using nlohmann::json;

std::int64_t nanoseconds(const json& microseconds)
{
    return std::llround(microseconds.get<double>() * 1000);
}

std::string argumentText(const std::string& name, const json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    return name == "flops" ? std::to_string(value.get<double>()) : std::to_string(value.get<std::int64_t>());
}

} // namespace

ReadTrace readChromeJson(const std::string& text)
{
    using Place = std::pair<int, int>; // pid, tid
    const json file = json::parse(text);
    ReadTrace trace;
    std::map<int, std::string> processName;
    std::map<Place, std::string> threadName;
    std::map<int, int> processOrder;
    std::map<Place, int> threadOrder;
    for (const json& event : file.at("traceEvents")) {
        if (event.at("ph") != "M")
            continue;
        const int pid = event.at("pid");
        const std::string name = event.at("name");
        const json& arguments = event.at("args");
        if (name == "process_name")
            processName[pid] = arguments.at("name");
        else if (name == "process_sort_index")
            processOrder[arguments.at("sort_index")] = pid;
        else if (name == "process_labels")
            trace.multiplicity[processName.at(pid)] = arguments.at("labels");
        else if (name == "thread_name")
            threadName[{pid, event.at("tid")}] = arguments.at("name");
        else if (name == "thread_sort_index")
            threadOrder[{pid, event.at("tid")}] = arguments.at("sort_index");
        else
            throw std::runtime_error("metadata " + name);
    }
    for (const auto& [order, pid] : processOrder) {
        trace.processes.push_back(processName.at(pid));
        std::vector<std::pair<int, std::string>> threads;
        for (const auto& [place, name] : threadName)
            if (place.first == pid)
                threads.emplace_back(threadOrder.at(place), name);
        std::sort(threads.begin(), threads.end());
        for (const auto& [threadPlace, name] : threads)
            trace.threads.emplace_back(processName.at(pid), name);
    }

    std::map<Place, std::vector<std::size_t>> rows;
    std::map<std::tuple<Place, std::int64_t>, std::size_t> newestAt; // a flow binds to the span last begun at its instant
    std::map<int, std::size_t> sent;
    std::vector<std::pair<std::size_t, std::size_t>> arrived;
    // Viewers take events in order of time; of those at one instant in the order of the file.
    std::vector<std::pair<std::int64_t, const json*>> events;
    for (const json& event : file.at("traceEvents"))
        if (event.at("ph") != "M")
            events.emplace_back(nanoseconds(event.at("ts")), &event);
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [timeNs, pointer] : events) {
        const json& event = *pointer;
        const std::string phase = event.at("ph");
        const int pid = event.at("pid");
        if (phase == "X") {
            const Place place{pid, event.at("tid")};
            ReadSpan span{processName.at(pid),
                          threadName.at(place),
                          event.at("name"),
                          event.at("cat"),
                          timeNs,
                          nanoseconds(event.at("dur")),
                          {},
                          0};
            for (const auto& [name, value] : event.at("args").items()) {
                if (name == "correlation")
                    span.correlation = value;
                else
                    span.arguments[name] = argumentText(name, value);
            }
            newestAt[{place, span.startNs}] = trace.spans.size();
            rows[place].push_back(trace.spans.size());
            trace.spans.push_back(std::move(span));
        } else if (phase == "s" || phase == "f") {
            const std::size_t span = newestAt.at({Place{pid, event.at("tid")}, timeNs});
            const int id = event.at("id");
            if (phase == "s") {
                if (!sent.emplace(id, span).second)
                    throw std::runtime_error("a flow starts twice");
            } else {
                if (event.at("bp") != "e" || !sent.contains(id))
                    throw std::runtime_error("flow " + std::to_string(id) + " ends before it starts");
                arrived.emplace_back(sent.at(id), span);
                sent.erase(id);
            }
        } else if (phase == "C") {
            for (const auto& [unit, value] : event.at("args").items()) {
                ReadCounter& counter = trace.counters[{processName.at(pid), event.at("name")}];
                counter.unit = unit;
                counter.points.emplace_back(timeNs, value.get<std::int64_t>());
            }
        } else {
            throw std::runtime_error("phase " + phase);
        }
    }
    if (!sent.empty())
        throw std::runtime_error("a flow never arrives");
    for (const auto& [from, to] : arrived)
        trace.flows.emplace_back(trace.spans[from], trace.spans[to]);

    for (auto& [place, spans] : rows) { // complete events of a row must nest
        std::vector<std::int64_t> open;
        for (const std::size_t index : spans) {
            const ReadSpan& span = trace.spans[index];
            while (!open.empty() && open.back() <= span.startNs)
                open.pop_back();
            if (!open.empty() && span.startNs + span.durationNs > open.back())
                throw std::runtime_error(span.name + " does not nest on " + span.thread);
            open.push_back(span.startNs + span.durationNs);
        }
    }
    return trace;
}

} // namespace test
