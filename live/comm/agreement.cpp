#include "live/comm/agreement.h"

#include "sim/error.h"

#include <algorithm>
#include <numeric>

namespace live {
namespace {

std::string rankOf(const CommGroup& group, int member)
{
    return "rank " + std::to_string(group.ranks[static_cast<std::size_t>(member)]);
}

/// Whether two members' requests can belong to one collective, or are a send and its receive.
bool agree(const RequestSummary& a, const RequestSummary& b)
{
    if (a.sequence != b.sequence || a.type != b.type)
        return false;
    if (a.kind == CommKind::send)
        return b.kind == CommKind::receive && a.inputElements == b.outputElements;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case CommKind::allReduce:
    case CommKind::reduceScatter:
        return a.reduce == b.reduce && a.inputElements == b.inputElements;
    case CommKind::allGather:
    case CommKind::broadcast:
        return a.outputElements == b.outputElements;
    default:
        return true;
    }
}

[[noreturn]] void throwDesync(const CommGroup& group, const RequestSummary& a, const RequestSummary& b)
{
    throw sim::Error("the members of group " + group.name + " meet in different communications: " + describe(a) + "; " +
                     describe(b));
}

} // namespace

RequestSummary summarize(const CommRequest& request)
{
    RequestSummary summary;
    summary.sequence = request.sequence;
    summary.inputElements = request.input.elements();
    summary.outputElements = request.output.elements();
    summary.rank = request.group->ranks[static_cast<std::size_t>(request.member)];
    summary.member = request.member;
    summary.peer = request.peer;
    summary.kind = request.kind;
    summary.reduce = request.reduce;
    summary.type = request.kind == CommKind::receive ? request.output.type : request.input.type;
    if (request.kind == CommKind::broadcast)
        summary.type = request.output.type; // only member 0 has an input
    std::copy_n(request.what.begin(), std::min(request.what.size(), summary.what.size() - 1), summary.what.begin());
    return summary;
}

std::string describe(const RequestSummary& summary)
{
    std::string text = "rank " + std::to_string(summary.rank) + ": " + commKindName(summary.kind);
    if (summary.reduce == ReduceOp::max)
        text += " (maximum)";
    if (summary.what[0])
        text += std::string(" ") + summary.what.data();
    if (summary.kind != CommKind::barrier) {
        const bool byOutput = summary.kind == CommKind::receive || summary.kind == CommKind::broadcast;
        text +=
            " of " + std::to_string(byOutput ? summary.outputElements : summary.inputElements) + " " + dtypeName(summary.type);
    }
    return text + ", place " + std::to_string(summary.sequence) + " in the order";
}

void checkAgreement(const CommGroup& group, std::span<const RequestSummary> summaries)
{
    for (const RequestSummary& other : summaries.subspan(1))
        if (!agree(summaries[0], other))
            throwDesync(group, summaries[0], other);
    if (summaries[0].kind == CommKind::broadcast && summaries[0].inputElements != summaries[0].outputElements)
        throw sim::Error("group " + group.name + ": " + describe(summaries[0]) + " does not fit its own input of " +
                         std::to_string(summaries[0].inputElements));
    if (summaries[0].kind != CommKind::allGather)
        return;
    const std::int64_t total =
        std::accumulate(summaries.begin(), summaries.end(), std::int64_t{0},
                        [](std::int64_t sum, const RequestSummary& each) { return sum + each.inputElements; });
    if (total != summaries[0].outputElements)
        throw sim::Error("group " + group.name + ": the members' inputs to the all-gather have " + std::to_string(total) +
                         " elements, its output has " + std::to_string(summaries[0].outputElements) + ": " +
                         describe(summaries[0]));
}

void checkRequest(const CommRequest& request)
{
    const std::int64_t members = request.group->size();
    const std::int64_t in = request.input.elements();
    const std::int64_t out = request.output.elements();
    const auto sum = [](const std::vector<std::int64_t>& rows) {
        return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    };
    bool fits = request.member >= 0 && request.member < members;
    switch (request.kind) {
    case CommKind::allReduce:
        fits = fits && in == out && request.input.type == request.output.type;
        break;
    case CommKind::reduceScatter:
        fits = fits && in == members * out && request.input.type == request.output.type;
        break;
    case CommKind::allGather:
        fits = fits && request.input.type == request.output.type;
        break;
    case CommKind::allToAll:
        fits = fits && static_cast<std::int64_t>(request.sendRows.size()) == members &&
               static_cast<std::int64_t>(request.receiveRows.size()) == members && sum(request.sendRows) == request.input.rows &&
               sum(request.receiveRows) == request.output.rows && request.input.columns == request.output.columns &&
               request.input.type == request.output.type;
        break;
    case CommKind::send:
    case CommKind::receive:
        fits = fits && request.peer >= 0 && request.peer < members && request.peer != request.member;
        break;
    case CommKind::broadcast:
    case CommKind::barrier:
        break;
    }
    if (!fits)
        throw sim::Error("group " + request.group->name + " of " + std::to_string(members) + ", member " +
                         std::to_string(request.member) + ": " + describe(summarize(request)) + " with input " +
                         std::to_string(request.input.rows) + " x " + std::to_string(request.input.columns) + " and output " +
                         std::to_string(request.output.rows) + " x " + std::to_string(request.output.columns) +
                         " does not fit together");
}

void throwRowsDiffer(const CommGroup& group, int fromMember, std::int64_t sent, int toMember, std::int64_t expected)
{
    throw sim::Error("all-to-all of group " + group.name + ": " + rankOf(group, fromMember) + " sends " + std::to_string(sent) +
                     " rows to " + rankOf(group, toMember) + ", which waits for " + std::to_string(expected));
}

} // namespace live
