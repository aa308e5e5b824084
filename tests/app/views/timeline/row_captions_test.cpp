// What a row's caption says of its rank: busy is computing, exposed is communication that nothing hides, bubble the rest of the
// step.
#include "app/views/common/labels.h"
#include "app/views/timeline/range_statistics.h"
#include "tests/app/views/timeline/timeline_fixture.h"
#include "tests/support/gallery.h"

#include <gmock/gmock.h>

#include <numeric>
#include <regex>

using namespace test;

namespace {

/// The percentages of a caption, in order.
std::vector<double> percentages(const std::string& caption)
{
    std::vector<double> out;
    const std::regex number("([0-9.]+) %");
    for (auto at = std::sregex_iterator(caption.begin(), caption.end(), number); at != std::sregex_iterator(); ++at)
        out.push_back(std::stod((*at)[1]));
    return out;
}

Timeline ofFile(const char* number, sim::TraceDetail detail, const std::vector<std::string>& overrides = {})
{
    return Timeline(openNumber(number, overrides).simulation->scenario(), detail);
}

} // namespace

TEST(RowCaptions, StandUnderEveryRowOrUnderNone)
{
    Timeline timeline = ofFile("05", sim::TraceDetail::actions);
    const TimelineModel model({timeline.simulation, timeline.trace});
    std::size_t most = 0;
    for (float width = 240; width < 700; width += 10) {
        timeline.area = {0, 0, width, 420};
        const std::vector<std::string> texts = timeline.draw().texts();
        std::size_t told = 0;
        for (const TimelineRow& row : model.rows())
            told += std::any_of(row.details.begin(), row.details.end(), [&](const std::string& detail) {
                return std::find(texts.begin(), texts.end(), detail) != texts.end();
            });
        EXPECT_TRUE(told == 0 || told == model.rows().size()) << width;
        most = std::max(most, told);
    }
    EXPECT_EQ(most, model.rows().size());
}

TEST(RowCaptions, SumToTheStepAndAreWhatTheSimulationSays)
{
    for (const char* number : {"13", "45", "09", "17", "52", "58"})
        for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
            SCOPED_TRACE(number);
            const Timeline timeline = ofFile(number, detail);
            const TimelineModel model({timeline.simulation, timeline.trace});
            const sim::Metrics& metrics = timeline.simulation->metrics();
            std::vector<double> bubble(metrics.perPipelineRank.size()), ranks(bubble.size());
            for (std::size_t row = 0; row < model.rows().size(); ++row) {
                const TimelineRow& data = model.rows()[row];
                const sim::TimeShares times = timeline.simulation->timeOfClass(static_cast<int>(row));
                ASSERT_TRUE(data.exposedShare);
                EXPECT_NEAR(data.busyShare, static_cast<double>(times.busyNs) / (metrics.stepTimeSeconds * 1e9), 1e-9);
                EXPECT_NEAR(data.busyShare + *data.exposedShare + data.bubbleShare(), 1, 1e-9);
                const std::vector<double> said = percentages(data.details.front());
                EXPECT_NEAR(std::accumulate(said.begin(), said.end(), 0.0), 100, 0.16) << data.details.front();
                EXPECT_THAT(data.details.front(), testing::StartsWith(percentText(data.busyShare) + " busy"));
                const int rank = timeline.trace->processes[row].rank;
                const auto pp = static_cast<std::size_t>(timeline.simulation->mesh().coordinates(rank).pp);
                bubble[pp] += data.bubbleShare() * timeline.trace->processes[row].multiplicity;
                ranks[pp] += timeline.trace->processes[row].multiplicity;
            }
            for (std::size_t pp = 0; pp < bubble.size(); ++pp)
                EXPECT_NEAR(bubble[pp] / ranks[pp], metrics.perPipelineRank[pp].bubbleSeconds / metrics.stepTimeSeconds, 1e-6);
            EXPECT_NEAR(std::accumulate(bubble.begin(), bubble.end(), 0.0) / std::accumulate(ranks.begin(), ranks.end(), 0.0),
                        metrics.bubbleFraction, 1e-6)
                << "the mean of what rows call bubble is the step's";
        }
}

TEST(RowCaptions, DoNotCallARankBusyThatWaitsForItsTransfers)
{
    // Tensor parallelism with FSDP at micro-batch 1: more than half of the step is exposed communication.
    const Timeline timeline = ofFile("13", sim::TraceDetail::actions, {"training.micro_batch_size=1"});
    const TimelineModel model({timeline.simulation, timeline.trace});
    EXPECT_LT(model.rows().front().busyShare, 0.6);
    EXPECT_GT(*model.rows().front().exposedShare, 0.3);
}

TEST(RangeStatistics, CallBusyOnlyWhatComputes)
{
    for (const char* number : {"13", "45"}) {
        const Timeline kernels = ofFile(number, sim::TraceDetail::kernels);
        const TimelineModel model({kernels.simulation, kernels.trace});
        const RangeStatistics all = rangeStatistics(model, {0, kernels.trace->endNs});
        const sim::Metrics& metrics = kernels.simulation->metrics();
        EXPECT_NEAR(all.counted, 1 - metrics.bubbleFraction - metrics.exposedComm.total() - metrics.exposedHost, 1e-6);
        EXPECT_GT(metrics.exposedHost, 1e-5) << "launches, which are not busy either";
        EXPECT_STREQ(all.busyWord(), "busy");
        EXPECT_EQ(tableOf(all, model).header.at(2), "busy %");
        // Passes alone do not tell how long kernels run in them.
        const Timeline actions = ofFile(number, sim::TraceDetail::actions);
        const TimelineModel passes({actions.simulation, actions.trace});
        const RangeStatistics ofPasses = rangeStatistics(passes, {0, actions.trace->endNs});
        EXPECT_GT(ofPasses.counted, all.counted);
        EXPECT_STREQ(ofPasses.busyWord(), "in passes");
        EXPECT_EQ(tableOf(ofPasses, passes).header.at(2), "in passes %");
    }
}
