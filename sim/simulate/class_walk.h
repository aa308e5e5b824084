// How a class of ranks goes through its step: which kernels run, and what they wait for meanwhile. Private to sim/simulate.
#pragma once

#include "sim/cancel.h"
#include "sim/checked.h"
#include "sim/engine/engine.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sim {

/// How long transfers of a class run. Asked in the order of its ops.
class TransferTimes {
public:
    TransferTimes(const Program& program, const RankClasses& classes, const PricedProgram& prices, const EngineResult& times,
                  int c)
        : m_program(program), m_classes(classes), m_prices(prices), m_times(times), m_class(c),
          m_stretched(std::lower_bound(times.stretched.begin(), times.stretched.end(),
                                       EngineResult::Stretch{.place = times.firstOp[asIndex(c)]}))
    {
    }

    /// A collective runs once all of its members are there.
    std::int64_t ns(const Step& step, std::size_t op, std::size_t place)
    {
        const std::int64_t ns = m_times.opEndNs[place] - m_times.opStartNs[place];
        if (m_program.passes[step.pass].ops[op].kind != OpKind::collective)
            return ns;
        const auto ofClass = static_cast<std::int64_t>(place - m_times.firstOp[asIndex(m_class)]);
        return std::min(ns, opDurationNs(m_prices, m_classes, m_program, m_class, step, op, ofClass) +
                                (isStretchedIn(place, place + 1) ? m_stretched->byNs : 0));
    }
    /// Whether one of these places met others on its way.
    bool isStretchedIn(std::size_t first, std::size_t last)
    {
        while (m_stretched != m_times.stretched.end() && m_stretched->place < first)
            ++m_stretched;
        return m_stretched != m_times.stretched.end() && m_stretched->place < last;
    }

private:
    const Program& m_program;
    const RankClasses& m_classes;
    const PricedProgram& m_prices;
    const EngineResult& m_times;
    int m_class;
    std::vector<EngineResult::Stretch>::const_iterator m_stretched;
};

/// Streams in the order in which they get the blame when several transfers fill the same gap.
inline constexpr std::array kBlameOrder = {Stream::tp,          Stream::cp,           Stream::ep,    Stream::receive,
                                           Stream::sendForward, Stream::sendBackward, Stream::dp,    Stream::replicas,
                                           Stream::fromHost,    Stream::host,         Stream::toHost};
static_assert(kBlameOrder.size() + 1 == kStreamCount, "all but that of kernels");

/// Calls kernel(op, shape, ns, beyondMeanNs) for each kernel, exposed(stream, label, begin, end) for each stretch of time in
/// which a kernel waits for a transfer of the stream, called so, and nothing computes; without a stream: in which it or a
/// transfer that it waits for could begin, and is not launched yet. Every instant once.
template <typename Kernel, typename Exposed>
class ClassWalk {
public:
    ClassWalk(const Program& program, const RankClasses& classes, const PricedProgram& prices, const EngineResult& times, int c,
              Kernel kernel, Exposed exposed)
        : m_program(program), m_prices(prices), m_times(times),
          m_durations(prices.durations[asIndex(classes.geometry[asIndex(c)])]),
          m_steps(program.ranks[asIndex(classes.pipelineRank[asIndex(c)])].steps), m_kernel(std::move(kernel)),
          m_exposed(std::move(exposed)), m_transferTimes(program, classes, prices, times, c), m_place(times.firstOp[asIndex(c)])
    {
    }

    const std::vector<Step>& steps() const { return m_steps; }
    void throughAll()
    {
        for (const Step& step : m_steps) {
            begin(step);
            goTo(m_program.passes[step.pass].ops.size());
        }
    }
    /// The next of the steps.
    void begin(const Step& step)
    {
        m_step = &step;
        m_op = 0;
        m_passStartNs = m_kernelStartNs; // what runs beside kernels is issued behind the last one before
        m_poll(2 * m_program.passes[step.pass].ops.size() + 1);
    }
    /// Through the ops of the step before this one.
    void goTo(std::size_t end)
    {
        const Pass& pass = m_program.passes[m_step->pass];
        for (; m_op < end; ++m_op, ++m_place)
            if (pass.ops[m_op].stream == Stream::compute)
                compute(pass.ops[m_op], pass.shapes[m_op]);
            else
                transfer(pass.ops[m_op]);
    }

    /// Where it stands among all ops, and until when kernels have run.
    std::size_t place() const { return m_place; }
    std::int64_t computedUntilNs() const { return m_computedUntilNs; }
    /// No transfer of these streams, nor wait for its launch, goes on: what comes next on them does not depend on what was.
    bool isQuiet(StreamMask streams)
    {
        for (Logs* logs : {&m_transfers, &m_launches})
            for (unsigned left = streams & logs->filled; left != 0; left &= left - 1)
                if (!goingOn(*logs, static_cast<Stream>(std::countr_zero(left))).empty())
                    return false;
        return true;
    }
    bool isStretchedUntil(std::size_t end) { return m_transferTimes.isStretchedIn(m_place, m_place + end - m_op); }
    /// Leaves out ops, the last of them on the compute stream, on streams that are quiet now and then, too.
    void skipTo(std::size_t end, std::int64_t computedUntilNs)
    {
        m_place += end - m_op;
        m_op = end;
        m_computedUntilNs = computedUntilNs;
        m_kernelStartNs = m_times.opStartNs[m_place - 1];
        m_tails[asIndex(Stream::compute)] = m_times.opEndNs[m_place - 1];
    }

private:
    struct Interval {
        std::int64_t begin = 0, end = 0;
    };
    struct Logged {
        Interval interval;
        std::uint16_t label = 0; ///< of its op
    };
    /// Of each stream, in order of time; those that ended before what is computed now are forgotten, so that it stays short.
    struct Log {
        std::vector<Logged> logged;
        std::size_t first = 0;
    };
    struct Logs {
        std::array<Log, kStreamCount> of; ///< [stream]
        StreamMask filled = 0;            ///< with something that is not forgotten
    };

    std::span<const Logged> goingOn(Logs& logs, Stream stream)
    {
        Log& log = logs.of[asIndex(stream)];
        while (log.first < log.logged.size() && log.logged[log.first].interval.end <= m_computedUntilNs)
            ++log.first;
        if (log.first == log.logged.size()) {
            log.logged.clear();
            log.first = 0;
            logs.filled &= static_cast<StreamMask>(~maskOf(stream));
        }
        return std::span(log.logged).subspan(log.first);
    }
    void add(Logs& logs, Stream stream, const Logged& logged)
    {
        if ((logs.filled & maskOf(stream)) != 0)
            goingOn(logs, stream);
        logs.of[asIndex(stream)].logged.push_back(logged);
        logs.filled |= maskOf(stream);
    }

    /// When all that it waits for has ended. Most ops begin where the one before ended, and nobody asks.
    std::int64_t freeSince(const Op& op) const
    {
        std::int64_t since = op.stream == Stream::compute ? 0 : m_passStartNs;
        for (unsigned left = op.waits | maskOf(op.stream); left != 0; left &= left - 1)
            since = std::max(since, m_tails[asIndex(std::countr_zero(left))]);
        return since;
    }

    void transfer(const Op& op)
    {
        const std::int64_t start = m_times.opStartNs[m_place], end = m_times.opEndNs[m_place];
        add(m_transfers, op.stream, {{end - m_transferTimes.ns(*m_step, m_op, m_place), end}, op.label});
        if (op.kind == OpKind::collective || op.kind == OpKind::copy) // messages are launched in time
            if (const std::int64_t free = freeSince(op); start > free)
                add(m_launches, op.stream, {{free, start}, op.label});
        m_tails[asIndex(op.stream)] = end;
    }

    void compute(const Op& op, const OpShape& shape)
    {
        const std::int64_t start = m_times.opStartNs[m_place], end = m_times.opEndNs[m_place];
        if (start > m_computedUntilNs) {
            m_covered.clear();
            blame(m_transfers, op, [](Stream stream) { return std::optional(stream); });
            blame(m_launches, op, [](Stream) { return std::optional<Stream>(); }); // what was on its way meanwhile counts first
            if (const std::int64_t free = std::max(freeSince(op), m_computedUntilNs); free < start)
                m_exposed(std::optional<Stream>(), op.label, free, start);
        }
        if (op.kind == OpKind::compute) {
            // What slows a kernel slows a mean rank's as much.
            const std::int64_t price = m_durations[m_step->pass][m_op];
            const Wide beyond = m_prices.beyondMean.empty() || price == 0
                                    ? 0
                                    : Wide{m_prices.beyondMean[m_step->pass][m_op]} * (end - start) / price;
            m_kernel(op, shape, end - start, static_cast<std::int64_t>(beyond));
        }
        m_tails[asIndex(Stream::compute)] = end;
        m_kernelStartNs = start;
        m_computedUntilNs = std::max(m_computedUntilNs, end);
    }

    /// What filled the time since kernels ended until this one begins, of streams that it waits for.
    template <typename Whose>
    void blame(Logs& logs, const Op& op, Whose whose)
    {
        auto left = static_cast<StreamMask>(op.waits & logs.filled);
        for (auto stream = kBlameOrder.begin(); left != 0; ++stream) {
            if ((left & maskOf(*stream)) == 0)
                continue;
            left &= static_cast<StreamMask>(~maskOf(*stream));
            const std::size_t before = m_covered.size();
            for (const Logged& logged : goingOn(logs, *stream)) {
                const Interval clipped{std::max(m_computedUntilNs, logged.interval.begin),
                                       std::min(m_times.opStartNs[m_place], logged.interval.end)};
                if (clipped.begin >= clipped.end)
                    continue;
                forUncovered(clipped, [&](std::int64_t from, std::int64_t until) {
                    m_exposed(whose(*stream), logged.label, from, until);
                });
                m_covered.push_back(clipped);
            }
            if (before > 0)
                std::sort(m_covered.begin(), m_covered.end(),
                          [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
        }
    }

    /// f(begin, end) for each part of it that is not covered; what covers is in order of its beginnings.
    template <typename F>
    void forUncovered(Interval add, F f) const
    {
        for (std::size_t i = 0; i < m_covered.size() && add.begin < add.end; ++i) {
            if (m_covered[i].end <= add.begin)
                continue;
            if (m_covered[i].begin >= add.end)
                break;
            if (m_covered[i].begin > add.begin)
                f(add.begin, m_covered[i].begin);
            add.begin = m_covered[i].end;
        }
        if (add.begin < add.end)
            f(add.begin, add.end);
    }

    const Program& m_program;
    const PricedProgram& m_prices;
    const EngineResult& m_times;
    const OpDurations& m_durations;
    const std::vector<Step>& m_steps;
    Kernel m_kernel;
    Exposed m_exposed;
    TransferTimes m_transferTimes;
    Logs m_transfers, m_launches;
    std::array<std::int64_t, kStreamCount> m_tails{};
    std::vector<Interval> m_covered; ///< of the time that is being blamed on somebody
    const Step* m_step = nullptr;
    std::size_t m_op = 0, m_place; ///< the next one
    std::int64_t m_passStartNs = 0, m_kernelStartNs = 0, m_computedUntilNs = 0;
    CancelPoll m_poll;
};

} // namespace sim
