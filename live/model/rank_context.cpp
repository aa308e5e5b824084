#include "live/model/rank_context.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <tuple>

namespace live {
namespace {

struct GroupLook {
    SpanTrack track;
    sim::OpClass opClass;
};

GroupLook lookOf(Group group)
{
    switch (group) {
    case Group::tp:
    case Group::headCopies:
        return {SpanTrack::tp, sim::OpClass::tpComm};
    case Group::cp:
        return {SpanTrack::cp, sim::OpClass::cpComm};
    case Group::experts:
    case Group::expertParallel:
    case Group::expertTensor:
    case Group::tokens:
        return {SpanTrack::ep, sim::OpClass::epComm};
    default:
        return {SpanTrack::dp, sim::OpClass::dpComm};
    }
}

} // namespace

KernelLabel::KernelLabel(SpanKinds& kinds, std::string_view name, int stage, int layer, Operator type)
{
    const bool linear = type == Operator::linear;
    const auto kind = [&](sim::OpClass pass, const char* suffix) {
        return kinds.id({.name = std::string(name) + suffix, .opClass = pass, .stage = stage, .layer = layer});
    };
    for (int i = 0; i < kPasses; ++i) {
        const auto pass = static_cast<sim::OpClass>(i);
        const char* suffix = "";
        if (pass == sim::OpClass::backward || pass == sim::OpClass::backwardInput)
            suffix = linear ? ".dgrad" : ".backward";
        else if (pass == sim::OpClass::backwardWeight)
            suffix = linear ? ".wgrad" : ".backward";
        m_kinds[static_cast<std::size_t>(i)] = kind(pass, suffix);
    }
    m_weightKind = kind(sim::OpClass::backward, linear ? ".wgrad" : ".backward");
}

Communication::Communication(RankContext& context, Group group, CommRequest request, std::string_view name)
    : m_context(context), m_request(std::move(request)), m_name(name), m_track(lookOf(group).track),
      m_class(lookOf(group).opClass), m_alone(context.alone(group))
{
    const Membership& membership = context.in(group);
    m_request.group = membership.group;
    m_request.member = membership.index;
}

Communication::Communication(RankContext& context, const CommGroup& pair, SpanTrack track, CommRequest request,
                             std::string_view name)
    : m_context(context), m_request(std::move(request)), m_name(name), m_track(track), m_class(sim::OpClass::ppComm)
{
    m_request.group = &pair;
}

void Communication::start()
{
    if (m_started)
        return;
    m_started = true;
    if (m_alone) { // what a collective of one does
        if (m_request.output && m_request.output.data != m_request.input.data)
            m_context.queue->copy(m_request.input, m_request.output);
        return;
    }
    m_request.queue = m_context.queue.get();
    m_request.what = m_name;
    m_ordinal = m_context.m_issued++;
    m_request.sequence = static_cast<std::int64_t>(m_ordinal);
    if (m_context.plan) {
        const PlannedRequest planned = m_ordinal < m_context.plan->size() ? (*m_context.plan)[m_ordinal] : PlannedRequest{};
        if (planned.kind != m_request.kind || planned.group != m_request.group->id)
            throw sim::Error("rank " + std::to_string(m_context.rank) + ": " + commKindName(m_request.kind) + " " +
                             m_request.what + " is not what was planned as its request " + std::to_string(m_ordinal));
        // One number for all steps: the same on all members, and different from step to step.
        constexpr std::int64_t kMostPerStep = 1LL << 32;
        m_request.sequence = m_context.step * kMostPerStep + planned.sequence;
    }
    m_flightNumber = m_context.flight.issued({.kind = commKindName(m_request.kind),
                                              .what = m_name,
                                              .group = &m_request.group->name,
                                              .ranks = &m_request.group->ranks,
                                              .sequence = m_request.sequence,
                                              .issuedNs = nowNs()});
    m_context.m_communicator.issue(m_request, m_completion);
}

bool Communication::await_suspend(std::coroutine_handle<> waiter) noexcept
{
    // First: once it is suspended another worker may take the rank on at any moment, and this object with it.
    FlightRecord& flight = m_context.flight;
    flight.waits(true);
    if (m_completion.await_suspend(waiter))
        return true;
    flight.waits(false);
    return false;
}

void Communication::await_resume()
{
    if (m_alone)
        return;
    m_context.flight.waits(false);
    m_completion.await_resume();
    m_context.flight.done(m_flightNumber, nowNs());
    if (m_context.recorder) {
        const std::int64_t bytes = std::max(m_request.input.bytes(), m_request.output.bytes());
        const std::uint32_t kind = m_context.kindOf(m_ordinal, m_name, m_class, *m_request.group);
        m_context.record({.startNs = m_completion.issuedNs,
                          .endNs = m_completion.doneNs,
                          .readyNs = m_completion.readyNs,
                          .cpuNs = m_completion.cpuNs,
                          .bytes = bytes,
                          .correlation = static_cast<std::uint64_t>(m_request.sequence) + 1,
                          .kind = kind,
                          .microbatch = m_context.microbatch,
                          .step = m_context.step,
                          .track = m_track});
    }
}

RankContext::RankContext(const Parts& parts)
    : rank(parts.rank), scenario(*parts.scenario), coordinates(parts.mesh->coordinates(parts.rank)), groups(*parts.groups),
      device(*parts.device), kinds(*parts.kinds), recorder(parts.recorder),
      kernelTimes(parts.recorder ? parts.kernelTimes : nullptr), memory(*parts.device), queue(device.makeQueue()),
      activation(device.info().activation), accumulation(device.info().accumulation), pipelineRank(coordinates.pp),
      flight(parts.rank), m_communicator(*parts.communicator), m_hasMarks(device.info().runsBeside)
{
    memory.beforeGivingBack([this] { queue->flush(); });
    queue->keepMarks(recorder != nullptr);
    if (recorder)
        memory.onChange([this](std::int64_t bytes) { recorder->memory.push({.timeNs = nowNs(), .value = bytes}); });
}

void RankContext::startStep(int number)
{
    step = number;
    m_issued = 0;
}

std::uint32_t RankContext::kindOf(std::size_t ordinal, std::string_view name, sim::OpClass opClass, const CommGroup& group)
{
    if (ordinal >= m_commKinds.size())
        m_commKinds.resize(ordinal + 1);
    KindOfRequest& known = m_commKinds[ordinal];
    if (known.name != name.data() || known.group != group.id)
        known = {name.data(), group.id, kinds.id({.name = std::string(name), .opClass = opClass, .group = group.name})};
    return known.kind;
}

void RankContext::record(const SpanRecord& span)
{
    if (!recorder)
        return;
    if (!m_hasMarks) {
        recorder->spans.push(span);
        return;
    }
    m_marked.push_back(span);
    constexpr std::size_t kSometimes = 256;
    if (m_marked.size() % kSometimes == 0)
        recordPassed();
}

/// Those that the GPU is done with, in their order: so that they neither pile up nor come to the reader all at once.
void RankContext::recordPassed()
{
    while (!m_marked.empty()) {
        SpanRecord& span = m_marked.front();
        std::array<std::int64_t, 3> times = {span.startNs, span.readyNs, span.endNs};
        if (!queue->readMarks(times))
            return;
        std::tie(span.startNs, span.readyNs, span.endNs) = std::tie(times[0], times[1], times[2]);
        recorder->spans.push(span);
        m_marked.pop_front();
    }
}

void RankContext::endStep()
{
    queue->stepDone();
    if (m_hasMarks && recorder)
        recordMarked();
    if (kernelTimes)
        recordKernels();
}

void RankContext::recordMarked()
{
    recordPassed();
    std::vector<std::int64_t> marks;
    marks.reserve(3 * m_marked.size());
    for (const SpanRecord& span : m_marked)
        marks.insert(marks.end(), {span.startNs, span.readyNs, span.endNs});
    queue->resolveMarks(marks);
    for (auto time = marks.begin(); !m_marked.empty(); m_marked.pop_front()) {
        SpanRecord& span = m_marked.front();
        span.startNs = *time++;
        span.readyNs = *time++;
        span.endNs = *time++;
        recorder->spans.push(span);
    }
}

KernelScope RankContext::openScope(std::uint32_t kind)
{
    m_scopes.push_back({.kind = kind, .microbatch = microbatch, .step = step});
    return scopeOf(rank, m_firstScope + m_scopes.size() - 1);
}

void RankContext::recordKernels()
{
    for (const KernelTime& kernel : kernelTimes->take(rank)) {
        const std::uint64_t place = numberOf(kernel.scope) - m_firstScope;
        if (place >= m_scopes.size()) // of a step that is long over
            continue;
        const Scope& scope = m_scopes[place];
        const auto [known, isNew] = m_kernelKinds.try_emplace({scope.kind, kernel.name}, 0);
        if (isNew) {
            sim::SpanKind kind = kinds.of(scope.kind);
            kind.name += ": " + kernel.name;
            known->second = kinds.id(kind);
        }
        recorder->spans.push({.startNs = kernel.startNs,
                              .endNs = kernel.endNs,
                              .readyNs = kernel.startNs,
                              .kind = known->second,
                              .microbatch = scope.microbatch,
                              .step = scope.step,
                              .track = SpanTrack::gpuKernels});
    }
    // The profiler may be late with a step's last: those of one more step are kept.
    const std::uint64_t next = m_firstScope + m_scopes.size();
    m_scopes.erase(m_scopes.begin(), m_scopes.begin() + static_cast<std::ptrdiff_t>(m_scopesBefore - m_firstScope));
    m_firstScope = m_scopesBefore;
    m_scopesBefore = next;
}

void RankContext::inspect(const KernelLabel& label, const Tensor& tensor, GradientOf gradient)
{
    if (!inspects)
        return;
    const sim::SpanKind kind = kinds.of(label.kind(pass, gradient));
    inspect(kind.name + (kind.layer < 0 ? "" : " of layer " + std::to_string(kind.layer)), tensor);
}

void RankContext::inspect(const std::string& name, const Tensor& tensor)
{
    constexpr std::int64_t kPiece = 1 << 16; // elements
    if (!inspects || tensor.elements() == 0)
        return;
    const std::int64_t rows = std::clamp<std::int64_t>(kPiece / tensor.columns, 1, tensor.rows);
    const std::int64_t columns = std::min(kPiece, tensor.columns);
    const Array exact = buffer(DType::f64, rows, columns);
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (std::int64_t row = 0; row < tensor.rows; row += rows)
        for (std::int64_t column = 0; column < tensor.columns; column += columns) {
            const std::int64_t height = std::min(rows, tensor.rows - row), width = std::min(columns, tensor.columns - column);
            const Tensor piece = exact->rowRange(0, height).columnRange(0, width);
            queue->copy(tensor.rowRange(row, height).columnRange(column, width), piece);
            queue->toHost(piece, values.data());
            flight.moves(); // no mark and no request says so
            const auto end = values.begin() + height * width;
            const auto bad = std::find_if(values.begin(), end, [](double value) { return !std::isfinite(value); });
            if (bad == end)
                continue;
            const std::int64_t place = bad - values.begin();
            throw sim::Error(name + (microbatch < 0 ? "" : " in micro-batch " + std::to_string(microbatch)) + " on rank " +
                             std::to_string(rank) + ": element (" + std::to_string(row + place / width) + ", " +
                             std::to_string(column + place % width) + ") of " + std::to_string(tensor.rows) + " x " +
                             std::to_string(tensor.columns) + " is " + std::to_string(*bad));
        }
}

Communication RankContext::allReduce(Group group, const Tensor& tensor, std::string_view name, ReduceOp reduce)
{
    return {*this, group, {.kind = CommKind::allReduce, .reduce = reduce, .input = tensor, .output = tensor}, name};
}

Communication RankContext::reduceScatter(Group group, const Tensor& whole, const Tensor& part, std::string_view name)
{
    return {*this, group, {.kind = CommKind::reduceScatter, .input = whole, .output = part}, name};
}

Communication RankContext::allGather(Group group, const Tensor& part, const Tensor& whole, std::string_view name)
{
    return {*this, group, {.kind = CommKind::allGather, .input = part, .output = whole}, name};
}

Communication RankContext::allToAll(Group group, const Tensor& input, std::vector<std::int64_t> sendRows, const Tensor& output,
                                    std::vector<std::int64_t> receiveRows, std::string_view name)
{
    return {*this,
            group,
            {.kind = CommKind::allToAll,
             .input = input,
             .output = output,
             .sendRows = std::move(sendRows),
             .receiveRows = std::move(receiveRows)},
            name};
}

Communication RankContext::shift(Group group, int by, const Tensor& input, const Tensor& output, std::string_view name)
{
    const int size = in(group).size();
    const int index = in(group).index;
    const auto memberAt = [&](int distance) { return static_cast<std::size_t>((index + distance + size) % size); };
    std::vector<std::int64_t> sendRows(static_cast<std::size_t>(size), 0), receiveRows(sendRows);
    sendRows[memberAt(by)] = input.rows;
    receiveRows[memberAt(-by)] = output.rows;
    return allToAll(group, input, std::move(sendRows), output, std::move(receiveRows), name);
}

Communication RankContext::send(int to, bool forward, const Tensor& tensor, std::string_view name)
{
    return {*this,
            groups.pair(rank, to),
            forward ? SpanTrack::sendForward : SpanTrack::sendBackward,
            {.kind = CommKind::send, .member = 0, .peer = 1, .input = tensor},
            name};
}

Communication RankContext::receive(int from, const Tensor& tensor, std::string_view name)
{
    return {*this,
            groups.pair(from, rank),
            SpanTrack::receive,
            {.kind = CommKind::receive, .member = 1, .peer = 0, .output = tensor},
            name};
}

Task<> RankContext::queueReached()
{
    Completion completion;
    if (!m_communicator.completeAfter(*queue, completion))
        co_return;
    flight.waits(true);
    co_await completion;
    flight.waits(false);
}

void KernelSpan::begin()
{
    m_startNs = m_context.queue->mark();
    if (m_context.kernelTimes)
        m_context.kernelTimes->enter(m_context.openScope(m_label.kind(m_context.pass, m_gradient)));
    m_startCpuNs = m_context.m_hasMarks ? 0 : estimatedCpuNs(m_startNs);
}

KernelSpan::~KernelSpan()
{
    if (!m_recorder)
        return;
    try {
        end();
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): the GPU is lost, as the rank's next call says
    }
}

void KernelSpan::end()
{
    if (m_context.kernelTimes)
        m_context.kernelTimes->leave();
    const std::int64_t endNs = m_context.queue->mark();
    const std::int64_t cpuNs = m_context.m_hasMarks ? 0 : std::max<std::int64_t>(estimatedCpuNs(endNs) - m_startCpuNs, 1);
    m_context.record({.startNs = m_startNs,
                      .endNs = endNs,
                      .readyNs = m_startNs,
                      .cpuNs = cpuNs,
                      .kind = m_label.kind(m_context.pass, m_gradient),
                      .microbatch = m_context.microbatch,
                      .step = m_context.step,
                      .track = SpanTrack::compute});
}

} // namespace live
