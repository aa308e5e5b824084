// The passes that the glossary draws can run as they are drawn.
#include "app/views/glossary/term_picture.h"

#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace app {
namespace {

/// Pass of a drawn row, and when it runs.
struct DrawnPass {
    char letter = '.';
    int begin = 0, end = 0;
    bool isLit = false;
};

struct DrawnRow {
    std::string name, text;
    std::vector<DrawnPass> passes;
    std::vector<DrawnPass> all(char letter) const
    {
        std::vector<DrawnPass> out;
        std::copy_if(passes.begin(), passes.end(), std::back_inserter(out),
                     [&](const DrawnPass& p) { return p.letter == letter; });
        return out;
    }
};

/// [term]: its rows.
std::map<std::string, std::vector<DrawnRow>> drawnRows()
{
    std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/glossary.json");
    std::map<std::string, std::vector<DrawnRow>> out;
    const nlohmann::json glossary = nlohmann::json::parse(file);
    for (const auto& term : glossary.at("terms")) {
        if (!term.contains("picture") || term["picture"].at("kind") != "rows")
            continue;
        for (const auto& row : term["picture"].at("rows")) {
            DrawnRow drawn{row.at(0), row.at(1), {}};
            int at = 0;
            for (const TermPass& pass : termPasses(drawn.text)) {
                drawn.passes.push_back({pass.letter, at, at + pass.length, pass.isLit});
                at += pass.length;
            }
            out[term.at("term")].push_back(std::move(drawn));
        }
    }
    return out;
}

/// "F F . B2": what the first of two ranks runs, and where it waits.
std::string playedRow(const std::string& kind, int microbatches)
{
    const sim::Schedule schedule = sim::makeSchedule({.kind = kind, .ranks = 2, .microbatches = microbatches});
    const sim::ScheduleTimes times = sim::evaluateSchedule(schedule, sim::PassTimes{});
    std::string row;
    int now = 0;
    for (std::size_t i = 0; i < schedule.actions[0].size(); ++i) {
        for (; now < static_cast<int>(times.start[0][i]); ++now)
            row += ". ";
        row += schedule.actions[0][i].kind == sim::ActionKind::forward ? "F " : "B2 ";
        now = static_cast<int>(times.end[0][i]);
    }
    row.pop_back();
    return row;
}

TEST(GlossaryPictures, NoStageRunsAPassBeforeItsInputsAreThere)
{
    std::set<std::string> played;
    for (const auto& [term, rows] : drawnRows())
        for (std::size_t stage = 0; stage + 1 < rows.size(); ++stage) {
            if (!rows[stage].name.starts_with("pp ") || !rows[stage + 1].name.starts_with("pp "))
                continue;
            played.insert(term);
            const auto forwards = rows[stage].all('F'), next = rows[stage + 1].all('F');
            for (std::size_t i = 0; i < next.size(); ++i) {
                ASSERT_LT(i, forwards.size()) << term;
                EXPECT_GE(next[i].begin, forwards[i].end) << term << ": forward " << i << " of stage " << stage + 1;
            }
            const auto backwards = rows[stage].all('B'), from = rows[stage + 1].all('B');
            for (std::size_t i = 0; i < backwards.size(); ++i) {
                ASSERT_LT(i, from.size()) << term;
                EXPECT_GE(backwards[i].begin, from[i].end) << term << ": backward " << i << " of stage " << stage;
            }
        }
    EXPECT_TRUE(played.contains("Step time") && played.contains("Bubble") && played.contains("Critical path"));
}

TEST(GlossaryPictures, TheCriticalPathIsAChainAsLongAsTheStep)
{
    const auto drawn = drawnRows();
    std::vector<std::pair<int, int>> chain;
    int end = 0;
    for (const DrawnRow& row : drawn.at("Critical path"))
        for (const DrawnPass& pass : row.passes) {
            end = std::max(end, pass.end);
            if (pass.isLit)
                chain.emplace_back(pass.begin, pass.end);
        }
    std::sort(chain.begin(), chain.end());
    int reached = 0;
    for (const auto& [begins, ends] : chain) {
        EXPECT_EQ(begins, reached) << "each begins where the one before ends";
        reached = ends;
    }
    EXPECT_EQ(reached, end);
}

TEST(GlossaryPictures, EveryGapOfTheBubbleIsMarked)
{
    int gaps = 0;
    const auto drawn = drawnRows();
    for (const DrawnRow& row : drawn.at("Bubble"))
        for (const DrawnPass& pass : row.all('.')) {
            EXPECT_TRUE(pass.isLit) << row.name << " at " << pass.begin;
            ++gaps;
        }
    EXPECT_EQ(gaps, 6);
}

TEST(GlossaryPictures, LaunchesThatTakeLongerThanKernelsMakeTheGpuWait)
{
    const auto drawn = drawnRows();
    const std::vector<DrawnRow>& rows = drawn.at("Launch");
    ASSERT_EQ(rows.size(), 2U);
    const auto launches = rows[0].all('h'), kernels = rows[1].all('F');
    EXPECT_TRUE(rows[0].all('O').empty()) << "the optimizer's letter";
    ASSERT_EQ(launches.size(), kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        EXPECT_LT(kernels[i].end - kernels[i].begin, launches[i].end - launches[i].begin);
        EXPECT_EQ(kernels[i].begin, launches[i].end) << "the GPU waits for this launch, and for nothing else";
    }
}

TEST(GlossaryPictures, SchedulesAreThoseOfTheEngine)
{
    const auto drawn = drawnRows();
    for (const DrawnRow& row : drawn.at("Schedule"))
        EXPECT_EQ(row.text, playedRow(row.name == "GPipe" ? "gpipe" : "1f1b", static_cast<int>(row.all('F').size()))) << row.name;
}

} // namespace
} // namespace app
