// "Why not that?", asked of many: each answer's terms add up, what it lays beside the first simulates to what it says, and the
// rule or the memory that it names holds when such a layout is opened.
#include "tests/sim/planner/every_layout.h"

#include "sim/index.h"
#include "sim/scenario/pointer_text.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace sim;
using test::PlanDice;

namespace {

/// A setting that somebody may ask for; not all of them can be.
PlanSetting anyQuestion(PlanDice& dice)
{
    const std::vector<std::pair<const char*, std::vector<std::string>>> kinds{
        {"layout.tp", {"1", "2", "3", "4", "8", "16"}},
        {"layout.cp", {"1", "2", "3", "4", "5"}},
        {"layout.pp", {"1", "2", "3", "4", "6", "8"}},
        {"layout.dp", {"1", "2", "3", "4", "8"}},
        {"layout.ep", {"1", "2", "3", "4", "8"}},
        {"layout.zero_stage", {"0", "1", "2", "3"}},
        {"layout.sequence_parallel", {"true", "false"}},
        {"layout.order", {"\"tp-cp-ep-pp-dp\"", "\"dp-tp-cp-ep-pp\""}},
        {"training.micro_batch_size", {"1", "2", "3", "4", "8"}},
        {"training.global_batch_size", {"3", "5", "16", "24"}},
        {"training.recompute", {"none", "selective", "full"}},
        {"schedule.kind", {"1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "zb-v", "dualpipe"}},
        {"schedule.virtual_stages", {"1", "2", "3", "4"}}};
    const auto& [pointer, values] = dice.of(kinds);
    return {pointer, dice.of(values)};
}

PlanRequest askedOf(PlanRequest request, const PlanSetting& asked)
{
    std::erase_if(request.fixed, [&](const PlanSetting& fixed) { return fixed.first == asked.first; });
    request.fixed.push_back(asked);
    return request;
}

std::shared_ptr<const Simulation> openedStep(const PlanRequest& request, const std::vector<PlanSetting>& settings)
{
    return simulate(resolvedScenario(withSettings(request, settings), test::catalogue()));
}

/// What the reader says of a grid with micro-batches of one, under each kind of schedule that may be: nothing where it takes it.
std::vector<std::string> readerRefusals(const PlanRequest& request, const PlanGrid& grid)
{
    std::vector<std::string> kinds, messages;
    for (const ScheduleFamily& family : scheduleFamilies())
        if (!family.isSearched && !family.isWrittenOut && !family.cutsSequences())
            kinds.emplace_back(family.kind);
    const ScenarioDocument held = withSettings(request, {});
    const auto isHeld = [&](const char* pointer) {
        return std::any_of(request.fixed.begin(), request.fixed.end(),
                           [&](const PlanSetting& fixed) { return fixed.first == pointer; });
    };
    if (isHeld("schedule.kind"))
        kinds = {*held.get("schedule.kind")};
    for (const std::string& kind : kinds)
        for (int chunks = 1; chunks <= (isHeld("schedule.virtual_stages") ? 1 : 3); ++chunks) {
            std::vector<PlanSetting> settings;
            const auto put = [&](const char* pointer, const std::string& value) {
                if (!isHeld(pointer))
                    settings.emplace_back(pointer, value);
            };
            for (const auto& [pointer, size] : {std::pair{"layout.tp", grid.tp},
                                                {"layout.cp", grid.cp},
                                                {"layout.pp", grid.pp},
                                                {"layout.dp", grid.dp},
                                                {"layout.ep", grid.ep},
                                                {"layout.etp", grid.etp},
                                                {"schedule.virtual_stages", chunks},
                                                {"training.micro_batch_size", 1}})
                put(pointer, std::to_string(size));
            put("schedule.kind", kind);
            const auto resolved = withSettings(request, settings).resolve(test::catalogue());
            if (resolved.scenario)
                return {};
            for (const Problem& problem : resolved.problems)
                if (problem.severity == Severity::error)
                    messages.push_back(problem.pointer + ": " + problem.message);
        }
    return messages;
}

std::map<PlanReason, int> g_reasons;

/// Of each grid that was not chosen: what is said of it is so.
void checkReasons(const PlanRequest& request, const PlanAnswer& answer)
{
    for (const RejectedGrid& rejected : answer.rejected) {
        SCOPED_TRACE(rejected.grid.text() + ": " + rejected.text);
        EXPECT_FALSE(rejected.text.empty());
        ++g_reasons[rejected.reason];
        if (rejected.reason == PlanReason::rule) {
            const std::vector<std::string> messages = readerRefusals(request, rejected.grid);
            EXPECT_FALSE(messages.empty()) << "the reader takes it";
            // But for what is nearest: here it divides the GPUs, too.
            const std::string rule = rejected.text.substr(0, rejected.text.find("; nearest: "));
            EXPECT_TRUE(std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
                return message.starts_with(rule);
            })) << testing::PrintToString(messages);
        } else if (rejected.reason == PlanReason::memory && rejected.needGib > 0) {
            EXPECT_GT(rejected.needGib, 80 - request.marginGib);
            EXPECT_NEAR(openedStep(request, rejected.needSettings)->metrics().peakMemoryGib, rejected.needGib, 1e-9);
        } else if (rejected.reason == PlanReason::slower) {
            ASSERT_TRUE(rejected.best);
            const auto step = openedStep(request, rejected.best->settings);
            EXPECT_EQ(step->metrics().stepTimeSeconds, rejected.best->stepSeconds);
            EXPECT_GE(rejected.best->stepSeconds, answer.best.front().stepSeconds);
        } else if (rejected.reason == PlanReason::floor) {
            EXPECT_GE(rejected.leastFloorSeconds, answer.best.front().stepSeconds);
        }
    }
}

/// Of a layout that is laid beside the first: it is what was asked for and simulates to what is said.
void checkOther(const PlanRequest& request, const PlanAnswer& answer, const PlanWhy& why)
{
    const PlannedLayout& first = answer.best.front();
    double sum = 0;
    for (const auto& [part, seconds] : why.terms)
        sum += seconds;
    EXPECT_NEAR(sum, why.deltaSeconds, 1e-12);
    EXPECT_NEAR(why.deltaSeconds, why.other->stepSeconds - first.stepSeconds, 1e-12);
    const PlanRequest with = askedOf(request, why.asked.front());
    const auto step = openedStep(with, why.other->settings);
    EXPECT_EQ(step->metrics().stepTimeSeconds, why.other->stepSeconds);
    EXPECT_EQ(step->metrics().peakMemoryGib, why.other->peakMemoryGib);
    EXPECT_LE(why.other->peakMemoryGib, 80 - request.marginGib);
    for (const auto& [pointer, value] : why.other->settings)
        EXPECT_NE(pointer, why.asked.front().first) << "what is asked for is held";
    const bool wasFree = std::none_of(request.fixed.begin(), request.fixed.end(),
                                      [&](const PlanSetting& fixed) { return fixed.first == why.asked.front().first; });
    if (wasFree && why.asked.front().first != "training.global_batch_size" && why.asked.front().first != "layout.order" &&
        answer.proved) {
        EXPECT_GE(why.other->stepSeconds, first.stepSeconds) << "it is no better than the best of all";
    }
}

} // namespace

TEST(PlannerWhy, IsAnsweredByWhatHoldsWhenItIsOpened)
{
    PlanDice dice(21);
    int beside = 0, impossible = 0;
    std::map<std::string, int> refused;
    for (int job = 0; job < test::tries(55); ++job) { // five questions each
        PlanRequest request = test::randomJob(dice, {2, 3, 4, 6, 8});
        request.top = 1;
        for (const auto& [held, value] : {std::pair{"layout.zero_stage", "1"},
                                          {"training.recompute", "none"},
                                          {"schedule.kind", "1f1b"},
                                          {"training.micro_batch_size", "1"}})
            if (!dice.oneIn(3))
                request.fixed.emplace_back(held, value);
        PlanAnswer answer = plan(request, test::catalogue());
        if (!answer.best.empty() && dice.oneIn(2)) { // so that not everything fits
            request.marginGib = 80 - answer.best.front().peakMemoryGib * dice.of(std::vector{0.5, 0.8, 0.99});
            answer = plan(request, test::catalogue());
        }
        SCOPED_TRACE(request.document.text() + " on " + std::to_string(request.gpus) + " margin " +
                     std::to_string(request.marginGib));
        checkReasons(request, answer);
        for (int i = 0; i < 5; ++i) {
            const PlanSetting asked = anyQuestion(dice);
            SCOPED_TRACE(asked.first + "=" + asked.second);
            const PlanWhy why = whyNot(request, test::catalogue(), answer, {asked});
            if (why.other) {
                ++beside;
                checkOther(request, answer, why);
                continue;
            }
            ++impossible;
            EXPECT_FALSE(why.text.empty());
            if (answer.best.empty())
                continue;
            PlanAnswer of;
            try {
                of = plan(askedOf(request, asked), test::catalogue());
            } catch (const Error& error) { // of the model and the job, whatever the layout
                EXPECT_EQ(why.text, error.what());
                ++refused[asked.first];
                continue;
            }
            EXPECT_TRUE(of.best.empty());
            checkReasons(askedOf(request, asked), of);
            if (of.rejected.empty())
                continue;
            const auto told = std::find_if(of.rejected.begin(), of.rejected.end(), [&](const RejectedGrid& grid) {
                return why.text.starts_with(grid.grid.text() + ": " + grid.text);
            });
            ASSERT_NE(told, of.rejected.end()) << why.text;
            for (const RejectedGrid& grid : of.rejected) // what is legal is nearer, and of it what needs least
                if (grid.reason == PlanReason::memory) {
                    EXPECT_EQ(told->reason, PlanReason::memory) << why.text;
                    EXPECT_LE(told->needGib + told->needHostGib, grid.needGib + grid.needHostGib) << why.text;
                }
            const std::size_t others = of.rejected.size() - 1;
            EXPECT_THAT(why.text, testing::EndsWith(others == 0   ? told->text
                                                    : others == 1 ? "; nor does the other grid with it take the job"
                                                                  : "any of the " + std::to_string(others) +
                                                                        " other grids with it take the job"));
        }
    }
    std::printf("%d beside the first, %d impossible; reasons:", beside, impossible);
    for (const auto& [reason, count] : g_reasons)
        std::printf(" %d %s", count, planReasonName(reason));
    std::printf("\n");
    EXPECT_GE(beside + impossible, 50);
    EXPECT_GT(beside, 10);
    EXPECT_GT(impossible, 5);
}
