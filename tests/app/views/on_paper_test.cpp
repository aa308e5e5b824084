// Figures, films and what an audience sees: nobody can click there, so nothing is drawn to be clicked.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/captioned_view.h"
#include "app/views/common/side_by_side_view.h"
#include "app/views/compare/compare_view.h"
#include "app/views/pictures.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const auto kIsControl = AnyOf("button", "choice", "chip", "mode", "level", "slider");
const auto kInvites = AnyOf(StartsWith("Point at "), HasSubstr("lick"), StartsWith("sort: "), "Logical", "Diagram");

struct Drawn {
    std::vector<std::string> roles, texts;
    explicit Drawn(const RecorderCanvas& canvas) : texts(canvas.texts())
    {
        for (const Node& node : canvas.nodes())
            roles.push_back(node.role);
    }
};

RecorderCanvas onPaper(View& view)
{
    RecorderCanvas canvas({0, 0, 1100, 620});
    drawOnPaper(view, canvas);
    return canvas;
}

Drawn onScreen(View& view)
{
    RecorderCanvas canvas({0, 0, 1100, 620});
    view.draw(canvas);
    return Drawn(canvas);
}

ShownStep stepOf(const sim::Scenario& scenario)
{
    const SimulationPtr simulation = sim::simulate(scenario);
    return {simulation, std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))};
}

/// Every picture of one step: look(picture, its view, its selection).
template <typename Look>
void forEachPicture(const Look& look)
{
    const ShownStep step = stepOf(test::smallScenario(2, 2, 2));
    for (const Picture picture : {Picture::grid, Picture::timeline, Picture::memory, Picture::traffic, Picture::storage}) {
        const PictureInfo& info = pictureInfo(picture);
        SCOPED_TRACE(info.name);
        Selection selection;
        const auto view = info.make(selection, lightTheme(), nullptr);
        view->setStep(step);
        look(picture, *view, selection);
    }
}

TEST(OnPaper, PicturesHoldNoControls)
{
    forEachPicture([](Picture picture, View& view, const Selection&) {
        const Drawn before = onScreen(view);
        SideBySideView beside({&view}, lightTheme());
        CaptionedView figure(beside, lightTheme(), {.title = "A title", .caption = {}});
        const Drawn paper(onPaper(figure));
        EXPECT_THAT(paper.roles, Each(Not(kIsControl)));
        EXPECT_THAT(paper.texts, Each(Not(kInvites)));
        const Drawn after = onScreen(view);
        EXPECT_EQ(before.roles, after.roles) << "on the screen they stay";
        if (picture == Picture::grid || picture == Picture::traffic) {
            EXPECT_THAT(after.roles, Contains(kIsControl));
        }
    });
}

/// Copied with a key, a picture has the pointer over it.
TEST(OnPaper, NothingIsPointedAt)
{
    forEachPicture([](Picture, View& view, const Selection& selection) {
        const std::vector<std::string> before = Drawn(onPaper(view)).texts;
        for (float x = 60; x < 1000; x += 90)
            for (float y = 60; y < 600; y += 60) {
                view.pointer({.kind = PointerEvent::Kind::move, .at = {x, y}}, {0, 0, 1100, 620});
                EXPECT_EQ(Drawn(onPaper(view)).texts, before) << x << " " << y;
                EXPECT_FALSE(selection.hoveredRank || selection.hoveredSpan);
            }
    });
}

TEST(OnPaper, ComparisonsHoldNoControls)
{
    const ShownStep a = stepOf(test::smallScenario(1, 2, 1)), b = stepOf(test::smallScenario(1, 4, 1));
    Selection selection;
    CompareView view(selection, lightTheme());
    view.setSides({.simulation = a.simulation, .actions = a.trace, .name = "a", .message = {}},
                  {.simulation = b.simulation, .actions = b.trace, .name = "b", .message = {}});
    EXPECT_THAT(Drawn(onPaper(view)).roles, Each(Not(kIsControl)));
    EXPECT_THAT(onScreen(view).roles, Contains(kIsControl));
}

} // namespace
} // namespace app
