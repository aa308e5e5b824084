// Numbers inside pictures and where they come from: what a click or the key opens is the number that stands there.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/grid/grid_view.h"
#include "app/views/pictures.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace app {
namespace {

constexpr Rect kArea{0, 0, 1100, 640};

/// As pictures write it.
std::vector<std::string> written(const sim::Quantity& q)
{
    switch (q.unit) {
    case sim::Unit::bytes:
        return {bytesText(q.value)};
    case sim::Unit::seconds:
        return {durationText(q.value * 1e9)};
    case sim::Unit::fraction: // against peers: "as fast as its peers"
        return {percentText(std::abs(q.value)), std::abs(q.value) < 0.0005 ? "as fast" : percentText(q.value)};
    default:
        return {"a unit that no picture writes"};
    }
}

struct Asked {
    Selection selection;
    std::unique_ptr<StepView> view;
    std::vector<Because> opened;

    Asked(const PictureInfo& info, const ShownStep& step) : view(info.make(selection, lightTheme(), nullptr))
    {
        view->setAskBecause([this](const Becauses& of, Rect) { opened.push_back(of.front()); });
        view->setStep(step, info.prepare != nullptr ? info.prepare(step) : nullptr);
    }
    RecorderCanvas draw()
    {
        RecorderCanvas canvas(kArea);
        view->draw(canvas);
        return canvas;
    }
    void point(Point at) { view->pointer({.kind = PointerEvent::Kind::move, .at = at}, kArea); }
    std::string textAt(Point at)
    {
        std::string out;
        const RecorderCanvas canvas = draw();
        for (const Primitive& each : canvas.primitives())
            if (each.kind == Primitive::Kind::text && each.rect.contains(at))
                out += each.text + "\n";
        return out;
    }
    /// Texts, and whatever has a node: a place in each, and what is written there.
    std::vector<std::pair<Point, std::string>> places(std::size_t most)
    {
        std::vector<std::pair<Point, std::string>> out;
        const RecorderCanvas canvas = draw();
        const auto add = [&](Rect rect, const std::string& text) {
            const Rect seen = intersected(rect, kArea);
            if (seen.width() > 0)
                out.emplace_back(Point{(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2}, text);
        };
        for (const Primitive& each : canvas.primitives())
            if (each.kind == Primitive::Kind::text && intersected(each.rect, each.clip) == each.rect)
                add(each.rect, each.text);
        const std::vector<Node>& nodes = canvas.nodes();
        for (std::size_t i = 0; i < nodes.size(); i += 1 + nodes.size() / most)
            add(nodes[i].rect, {});
        return out;
    }
};

/// How many numbers could be asked about.
int expectTheNumberThatStandsThere(const PictureInfo& info, const ShownStep& step)
{
    Asked picture(info, step);
    int asked = 0;
    for (const auto& [at, text] : picture.places(40)) {
        picture.point(at);
        const std::string there = picture.textAt(at) + "\n" + picture.view->tooltip();
        const Becauses because = picture.view->becauseAt(at);
        if (because.empty())
            continue;
        ++asked;
        const sim::Explanation why = because.front().explain();
        const std::vector<std::string> numbers = written(why.result);
        EXPECT_TRUE(std::any_of(numbers.begin(), numbers.end(),
                                [&](const std::string& number) { return there.find(number) != std::string::npos; }))
            << info.name << ": " << why.name << " is " << numbers.front() << ", and there stands: " << there;
        if (picture.view->tooltip() == kAskNumber) {
            EXPECT_EQ(picture.view->cursor(), CursorShape::pointingHand) << info.name << ": " << there;
        }
    }
    return asked;
}

ShownStep stepOf(const SimulationPtr& simulation)
{
    return {.simulation = simulation, .trace = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))};
}

TEST(Because, EveryPictureOfTheGalleryOpensTheNumberThatStandsThere)
{
    std::map<std::string, int> asked;
    const auto files = test::galleryFiles();
    for (std::size_t i = 0; i < files.size(); i += 4) {
        SCOPED_TRACE(files[i].filename().string());
        const ShownStep step = stepOf(test::open(files[i]).simulation);
        for (const PictureInfo& info : pictures())
            if (info.picture != Picture::traffic) // whose cells show purposes by themselves; its own tests
                asked[info.name] += expectTheNumberThatStandsThere(info, step);
    }
    for (const char* name : {"grid", "timeline", "memory", "storage"})
        EXPECT_GT(asked[name], 50) << name;
}

TEST(Because, EveryLensOfTheGridOpensItsOwnNumber)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 3, .factor = 1.4});
    const ShownStep step = stepOf(sim::simulate(scenario));
    for (const GridLens lens : {GridLens::memory, GridLens::busy, GridLens::sent, GridLens::bubble, GridLens::straggler}) {
        Asked picture(pictureInfo(Picture::grid), step);
        static_cast<GridView&>(*picture.view).setLens(lens);
        int asked = 0;
        for (const Node& cell : picture.draw().nodesOf("cell")) {
            const Point at{(cell.rect.left + cell.rect.right) / 2, (cell.rect.top + cell.rect.bottom) / 2};
            picture.point(at);
            const Becauses because = picture.view->becauseAt(at);
            ASSERT_FALSE(because.empty());
            const sim::Explanation why = because.front().explain();
            const std::string there = picture.view->tooltip();
            const std::vector<std::string> numbers = written(why.result);
            EXPECT_TRUE(std::any_of(numbers.begin(), numbers.end(),
                                    [&](const std::string& number) { return there.find(number) != std::string::npos; }))
                << gridLensName(lens) << ": " << why.name << " is " << numbers.front() << ", and there stands: " << there;
            ++asked;
        }
        EXPECT_EQ(asked, 8) << gridLensName(lens);
    }
}

TEST(Because, AClickOnANumberOpensItAndSelectsNothing)
{
    Asked picture(pictureInfo(Picture::memory), stepOf(sim::simulate(test::smallScenario(1, 2, 2))));
    int clicked = 0;
    for (const auto& [at, text] : picture.places(1)) {
        picture.opened.clear();
        picture.point(at);
        picture.draw();
        if (picture.view->tooltip() != kAskNumber)
            continue;
        picture.view->pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kArea);
        picture.view->pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, kArea);
        ASSERT_EQ(picture.opened.size(), 1U) << text;
        ++clicked;
        EXPECT_FALSE(picture.selection.selectedRank);
    }
    EXPECT_GE(clicked, 3) << "two rows and the fullest";
}

TEST(Because, TheKeyAsksOfWhatIsUnderThePointerAndElseOfWhatIsInFocus)
{
    for (const Picture which : {Picture::grid, Picture::timeline, Picture::memory, Picture::storage}) {
        Asked picture(pictureInfo(which), stepOf(sim::simulate(test::smallScenario(1, 2, 2))));
        picture.selection.selectRank(1);
        picture.draw();
        picture.view->command(ViewCommand::because, false, kArea);
        EXPECT_EQ(picture.opened.size(), 1U) << pictureInfo(which).name;
    }
}

TEST(Because, WithoutAnybodyToAskNothingPromisesAnAnswer)
{
    Selection selection;
    const ShownStep step = stepOf(sim::simulate(test::smallScenario(1, 2, 2)));
    for (const PictureInfo& info : pictures()) {
        const auto view = info.make(selection, lightTheme(), nullptr);
        view->setStep(step);
        RecorderCanvas canvas(kArea);
        view->draw(canvas);
        for (float y = 5; y < kArea.bottom; y += 15)
            for (float x = 5; x < kArea.right; x += 40) {
                view->pointer({.kind = PointerEvent::Kind::move, .at = {x, y}}, kArea);
                EXPECT_THAT(view->tooltip(), testing::Not(testing::HasSubstr("numbers come from"))) << info.name;
            }
    }
}

} // namespace
} // namespace app
