#include "app/views/plan/plan_robust_view.h"

#include "app/views/common/measures.h"
#include "tests/app/views/plan/plan_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

TEST(PlanRobustView, ShowsEachStepAndHowFarItIsBehind)
{
    auto choice = std::make_shared<sim::RobustChoice>();
    choice->cases = {{"as given", ""}, {"one GPU computes 10 % slower", ""}};
    choice->layouts = {{.grid = {.tp = 8, .etp = 8}}, {.grid = {.tp = 4, .etp = 4}}};
    choice->seconds = {{1.00, 1.30}, {1.02, 1.04}};
    choice->best = 1;
    PlanRobustView view(lightTheme());
    view.setHint("No plan yet", "");
    EXPECT_THAT(drawnPlan(view).texts(), testing::Contains("No plan yet"));
    view.set(choice);
    std::optional<sim::PlanGrid> chosen;
    view.setChosen([&](const sim::PlannedLayout& layout) { chosen = layout.grid; });
    const Rect area{0, 0, 520, 320};
    const RecorderCanvas canvas = drawnPlan(view, area);
    EXPECT_TRUE(canvas.cutTexts().empty());
    EXPECT_THAT(canvas.texts(), testing::IsSupersetOf({"1.30 s", "1.04 s", "25.0 %", "2.0 %", "as given"}));
    std::vector<std::string> said;
    for (const Node& node : canvas.nodesOf("cell"))
        said.push_back(node.name);
    EXPECT_THAT(said,
                testing::IsSupersetOf({std::string("one GPU computes 10 % slower: A 1.30 s, 25.0 % behind the best of these"),
                                       std::string("as given: A 1.00 s, the best of these"),
                                       std::string("B at most 2.0 % behind the best of these")}));
    const auto luminanceAt = [&](const std::string& name) {
        std::uint32_t light = 0;
        for (const Node& node : canvas.nodesOf("cell"))
            for (const Primitive& primitive : canvas.primitives())
                if (node.name == name && primitive.kind == Primitive::Kind::fillRect && primitive.rect == node.rect)
                    light = 2 * (primitive.color.value & 0xFF) + 5 * (primitive.color.value >> 8 & 0xFF) +
                            (primitive.color.value >> 16 & 0xFF);
        EXPECT_GT(light, 0U) << name;
        return light;
    };
    EXPECT_LT(luminanceAt("as given: A 1.00 s, the best of these"),
              luminanceAt("one GPU computes 10 % slower: A 1.30 s, 25.0 % behind the best of these"))
        << "the best is the strongest, as on the map";
    EXPECT_TRUE(view.command(ViewCommand::previous, false, area)); // it stands at the one that loses least
    EXPECT_EQ(chosen, choice->layouts[0].grid);
    EXPECT_FALSE(view.command(ViewCommand::previous, false, area));
    const std::vector<Node> cells = canvas.nodesOf("cell");
    view.pointer(
        {.kind = PointerEvent::Kind::press, .at = {cells[1].rect.left + 3, cells[1].rect.top + 3}, .button = PointerButton::left},
        area);
    EXPECT_EQ(chosen, choice->layouts[1].grid);
    // So narrow that names of cases do not fit: numbers still do.
    const RecorderCanvas narrow = drawnPlan(view, {0, 0, 160, 640});
    EXPECT_TRUE(narrow.cutTexts().empty());
    EXPECT_THAT(narrow.texts(), testing::Contains("1.30 s"));
    // They are numbered then, and told below.
    const RecorderCanvas numbered = drawnPlan(view, {0, 0, 260, 640});
    EXPECT_THAT(numbered.texts(), testing::Contains("case 1"));
    EXPECT_THAT(numbered.texts(), testing::Contains(testing::StartsWith("case 1  one GPU computes")));
}

TEST(PlanRobustView, NamesCasesAboveTheirNumbersWhereItIsNarrow)
{
    auto choice = std::make_shared<sim::RobustChoice>();
    choice->cases = {{"as given", ""}, {"one GPU computes 10 % slower", ""}};
    for (const int tp : {1, 2, 4, 8, 16, 32}) {
        choice->layouts.push_back({.grid = {.tp = tp, .etp = tp}});
        choice->seconds.push_back({10.1e-3, 11.5e-3});
    }
    PlanRobustView view(lightTheme());
    view.set(choice);
    const Rect area{0, 0, 330, 640};
    const RecorderCanvas canvas = drawnPlan(view, area);
    EXPECT_TRUE(canvas.cutTexts().empty());
    EXPECT_THAT(canvas.texts(),
                testing::IsSupersetOf({"as given", "one GPU computes 10 % slower", "most behind the best of them"}));
    EXPECT_EQ(std::ranges::count(canvas.texts(), "11.5 ms"), 6);
    for (const Node& cell : canvas.nodesOf("cell"))
        EXPECT_LE(cell.rect.right, area.right - kMargin) << cell.name;
}

} // namespace
} // namespace app
