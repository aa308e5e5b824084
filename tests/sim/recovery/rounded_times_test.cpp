// Recordings whose times are rounded to whole microseconds, as libkineto wrote them until 2024, say what they say in nanoseconds.
#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/byte_source.h"
#include "sim/trace/readers/read_recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

namespace {

enum class Rounding : std::uint8_t {
    down,     ///< begin and length: of libkineto's activities
    downEnds, ///< begin and end: of PyTorch's operators
    nearest   ///< begin and length, by whoever wrote the file again
};

std::string textOf(const std::string& file)
{
    std::string text(64 << 20, '\0');
    const auto source = sim::openBytes(std::filesystem::path(RANKSCOPE_TEST_DATA) / file);
    std::size_t size = 0;
    for (std::size_t read = 1; read > 0; size += read)
        read = source->read(text.data() + size, text.size() - size);
    EXPECT_EQ(source->damage(), "");
    text.resize(size);
    return text;
}

/// The number behind `key` from `from` on, in ns, and where it stands. Nothing before `to`: npos.
struct NumberOfText {
    std::size_t first = std::string::npos, last = 0;
    std::int64_t ns = 0;
};
NumberOfText numberBehind(const std::string& text, const std::string& key, std::size_t from, std::size_t to)
{
    NumberOfText number;
    const std::size_t at = text.find(key, from);
    if (at == std::string::npos || at >= to)
        return number;
    number.first = text.find_first_not_of(' ', at + key.size());
    number.last = text.find_first_not_of("0123456789.", number.first);
    const std::string digits = text.substr(number.first, number.last - number.first);
    const std::size_t point = std::min(digits.find('.'), digits.size());
    const std::string fraction = (point < digits.size() ? digits.substr(point + 1) : "") + "000";
    number.ns = std::stoll(digits.substr(0, point)) * 1000 + std::stoll(fraction.substr(0, 3));
    return number;
}

/// The same file in whole microseconds. Its keys stand as torch and Rankscope write them: ts before dur.
std::string rounded(const std::string& text, Rounding how)
{
    const auto whole = [how](std::int64_t ns) { return (how == Rounding::nearest ? ns + 500 : ns) / 1000; };
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = text.find("\"traceEvents\""); at != std::string::npos;) {
        const NumberOfText begin = numberBehind(text, "\"ts\":", at, text.size());
        if (begin.first == std::string::npos)
            break;
        const std::size_t next = std::min(text.find("\"ts\":", begin.last), text.size());
        const NumberOfText length = numberBehind(text, "\"dur\":", begin.last, next);
        out += text.substr(copied, begin.first - copied) + std::to_string(whole(begin.ns));
        copied = begin.last;
        if (length.first != std::string::npos) {
            const std::int64_t us = how == Rounding::downEnds ? whole(begin.ns + length.ns) - whole(begin.ns) : whole(length.ns);
            out += text.substr(copied, length.first - copied) + std::to_string(us);
            copied = length.last;
        }
        at = copied;
    }
    return out + text.substr(copied);
}

class RoundedTimes : public testing::TestWithParam<std::tuple<const char*, Rounding>> {};

TEST_P(RoundedTimes, SayWhatTheySayInNanoseconds)
{
    const auto& [file, how] = GetParam();
    const std::string text = textOf(file), coarse = rounded(text, how);
    ASSERT_NE(text, coarse);
    const auto read = [&](const std::string& of) { return sim::readRecording(of.data(), of.size(), "trace.json"); };
    const sim::Recording fine = read(text), whole = read(coarse);
    ASSERT_EQ(fine.ranks.size(), whole.ranks.size());
    const sim::Recovered a = sim::recover(fine), b = sim::recover(whole);
    const sim::RunAnswers of = sim::answersOf(a), like = sim::answersOf(b);
    constexpr double kUs = 1e-6;

    ASSERT_EQ(a.steps.steps.size(), b.steps.steps.size());
    for (std::size_t i = 0; i < a.steps.steps.size(); ++i) {
        EXPECT_EQ(a.steps.steps[i].number, b.steps.steps[i].number);
        EXPECT_NEAR(a.steps.steps[i].seconds(), b.steps.steps[i].seconds(), 3 * kUs);
    }
    ASSERT_EQ(a.axes.axes.size(), b.axes.axes.size());
    for (std::size_t i = 0; i < a.axes.axes.size(); ++i)
        EXPECT_EQ(std::tuple(a.axes.axes[i].name, a.axes.axes[i].size), std::tuple(b.axes.axes[i].name, b.axes.axes[i].size));
    ASSERT_EQ(a.schedule.has_value(), b.schedule.has_value());
    if (a.schedule) {
        EXPECT_EQ(std::tuple(a.schedule->kind, a.schedule->stages, a.schedule->microbatches),
                  std::tuple(b.schedule->kind, b.schedule->stages, b.schedule->microbatches));
    }
    for (std::size_t r = 0; r < fine.ranks.size(); ++r) {
        SCOPED_TRACE(r);
        EXPECT_EQ(fine.ranks[r].links.size(), whole.ranks[r].links.size()) << "launches";
        const sim::RankEvidence &first = a.evidence.ranks[r], &second = b.evidence.ranks[r];
        EXPECT_EQ(first.comms.size(), second.comms.size());
        std::map<sim::OpClass, int> classes, others;
        for (const sim::WorkSpan& span : first.work)
            ++classes[span.opClass];
        for (const sim::WorkSpan& span : second.work)
            ++others[span.opClass];
        EXPECT_EQ(classes, others) << "what kernels are launched for";
        const double spans = static_cast<double>(first.work.size() + first.comms.size()) /
                             std::max<double>(1, static_cast<double>(a.steps.usual().size()));
        EXPECT_NEAR(static_cast<double>(of.times.ranks[r].computingNs), static_cast<double>(like.times.ranks[r].computingNs),
                    1000 * spans);
    }
    // Along the critical path each piece is known to a microsecond: none of it is idle that was at work.
    std::map<sim::PathPart, double> pieces;
    for (const sim::RankPath* path : {&of.path, &like.path})
        for (const sim::PathSegment& segment : path->segments)
            pieces[segment.part] += 1000;
    ASSERT_EQ(of.path.step, like.path.step);
    for (const sim::PathPart part : {sim::PathPart::computing, sim::PathPart::communicating, sim::PathPart::copying}) {
        const auto ns = [part](const sim::RankPath& path) {
            const auto found = path.ns.find(part);
            return found == path.ns.end() ? 0.0 : static_cast<double>(found->second);
        };
        EXPECT_NEAR(ns(of.path), ns(like.path), pieces[part]) << sim::pathPartText(part);
    }
}

INSTANTIATE_TEST_SUITE_P(Golden, RoundedTimes,
                         testing::Combine(testing::Values("kineto/nccl_data.json.gz",
                                                          "kineto/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
                                                          "slow-rank/run.json.gz"),
                                          testing::Values(Rounding::down, Rounding::downEnds, Rounding::nearest)));

} // namespace
