// Numbers inside pictures and where they come from: what a click or the key opens is the number that stands there.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/compare/compare_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/order/order_editor_view.h"
#include "app/views/pictures.h"
#include "sim/schedule/families/families.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>

namespace app {
namespace {

constexpr Rect kArea{0, 0, 1100, 640};

/// As pictures write it; of differences they write the sign by themselves.
std::vector<std::string> written(const sim::Quantity& q)
{
    switch (q.unit) {
    case sim::Unit::bytes:
        return {bytesText(std::abs(q.value))};
    case sim::Unit::seconds:
        return {durationText(std::abs(q.value) * 1e9)};
    case sim::Unit::count:
        return {countText(std::llround(q.value))};
    case sim::Unit::number:
        return {threeDigits(q.value)};
    case sim::Unit::fraction: // against peers: "as fast as its peers"
        return {percentText(std::abs(q.value)), std::abs(q.value) < 0.0005 ? "as fast" : percentText(q.value)};
    default:
        return {"a unit that no picture writes"};
    }
}

struct Asked {
    std::unique_ptr<AskedView> view;
    std::vector<Because> opened;

    explicit Asked(std::unique_ptr<AskedView> of) : view(std::move(of))
    {
        view->setAskBecause([this](const Becauses& because, Rect) { opened.push_back(because.front()); });
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

std::unique_ptr<StepView> viewOf(const PictureInfo& info, const ShownStep& step, Selection& selection)
{
    auto view = info.make(selection, lightTheme(), nullptr);
    view->setStep(step, info.prepare != nullptr ? info.prepare(step) : nullptr);
    return view;
}
struct Selecting {
    Selection selection;
};
struct PictureToAsk : Selecting, Asked {
    PictureToAsk(const PictureInfo& info, const ShownStep& step) : Asked(viewOf(info, step, selection)) {}
};

double valueOf(const sim::Explanation& why)
{
    std::vector<sim::Quantity> terms;
    for (const sim::Term& term : why.terms)
        terms.push_back(term.quantity);
    return why.formula ? why.formula->evaluate(terms) : why.result.value;
}

/// How many numbers could be asked about.
int expectTheNumberThatStandsThere(Asked& picture, const std::string& of, std::size_t mostNodes = 40)
{
    int asked = 0;
    for (const auto& [at, text] : picture.places(mostNodes)) {
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
            << of << ": " << why.name << " is " << numbers.front() << ", and there stands: " << there;
        for (const Because& each : because) {
            const sim::Explanation one = each.explain();
            EXPECT_NEAR(valueOf(one), one.result.value, 1e-12 + 1e-6 * std::abs(one.result.value)) << of << ": " << one.name;
        }
        if (picture.view->tooltip() == kAskNumber) {
            EXPECT_EQ(picture.view->cursor(), CursorShape::pointingHand) << of << ": " << there;
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
    for (const auto& file : test::tried(test::galleryFiles())) {
        SCOPED_TRACE(file.filename().string());
        const ShownStep step = stepOf(test::open(file).simulation);
        for (const PictureInfo& info : pictures())
            if (info.picture != Picture::traffic) { // whose cells show purposes by themselves; its own tests
                PictureToAsk picture(info, step);
                asked[info.name] += expectTheNumberThatStandsThere(picture, info.name);
            }
    }
    for (const char* name : {"grid", "timeline", "memory", "storage"})
        EXPECT_GT(asked[name], 50) << name;
}

TEST(Because, ASelectedRangeOpensEachOfItsNumbers)
{
    int asked = 0;
    const auto files = test::galleryFiles();
    for (std::size_t i = 1; i < files.size(); i += 8) {
        SCOPED_TRACE(files[i].filename().string());
        const ShownStep step = stepOf(test::open(files[i]).simulation);
        PictureToAsk picture(pictureInfo(Picture::timeline), step);
        picture.selection.range = TimeRange{step.trace->endNs / 5, step.trace->endNs / 2};
        std::vector<Node> numbers = picture.draw().nodesOf("number");
        EXPECT_GE(numbers.size(), 5U) << "length, classes, idle, spans";
        asked += expectTheNumberThatStandsThere(picture, "range", 10);
        picture.view->command(ViewCommand::because, false, kArea);
        EXPECT_FALSE(picture.opened.empty()) << "a range in focus can be asked by the key";
    }
    EXPECT_GT(asked, 40);
}

TEST(Because, MemoryAtTheTimeUnderThePointerIsWhatIsWrittenThere)
{
    const ShownStep step = stepOf(sim::simulate(test::smallScenario(1, 4, 2, 8)));
    PictureToAsk picture(pictureInfo(Picture::memory), step);
    const Rect plot = picture.draw().nodesOf("memory over time").at(0).rect;
    for (const float share : {0.2F, 0.5F, 0.8F}) {
        const Point at{plot.left + plot.width() * share, plot.top + plot.height() * 0.9F};
        picture.point(at);
        const Becauses because = picture.view->becauseAt(at);
        ASSERT_FALSE(because.empty());
        EXPECT_THAT(picture.view->tooltip(), testing::HasSubstr(bytesText(because.front().explain().result.value)));
        EXPECT_GT(expectTheNumberThatStandsThere(picture, "memory over time", 1), 8) << "parts at the peak and at that time";
        picture.point(at);
    }
}

/// Two layouts of one job, as the compare page shows them.
struct AskedComparison : Selecting, Asked {
    AskedComparison(const SimulationPtr& a, const SimulationPtr& b) : Asked(viewOf(a, b, selection)) {}
    static std::unique_ptr<CompareView> viewOf(const SimulationPtr& a, const SimulationPtr& b, Selection& selection)
    {
        const auto side = [](const SimulationPtr& of, const char* name) {
            return CompareView::Side{.simulation = of, .actions = stepOf(of).trace, .name = name, .message = {}};
        };
        auto view = std::make_unique<CompareView>(selection, lightTheme());
        view->setSides(side(a, "one"), side(b, "other"));
        return view;
    }
};

TEST(Because, EveryNumberOfAComparisonOpensTheNumberThatStandsThere)
{
    int asked = 0;
    const auto files = test::galleryFiles();
    for (std::size_t i = 2; i + 3 < files.size(); i += 9) {
        SCOPED_TRACE(files[i].filename().string());
        AskedComparison picture(test::open(files[i]).simulation, test::open(files[i + 3]).simulation);
        const std::size_t bars = picture.draw().nodesOf("bar").size();
        EXPECT_GE(picture.draw().nodesOf("number").size(), bars) << "each bar of the waterfall has its number";
        asked += expectTheNumberThatStandsThere(picture, "comparison", 30);
    }
    EXPECT_GT(asked, 60);
}

TEST(Because, AClickAnywhereInAColumnOfTheWaterfallAsks)
{
    AskedComparison picture(sim::simulate(test::smallScenario(1, 4, 1, 8)), sim::simulate(test::smallScenario(1, 2, 2, 8)));
    std::size_t clicked = 0;
    for (const Node& bar : picture.draw().nodesOf("bar")) { // what a screen reader presses
        const Point at{(bar.rect.left + bar.rect.right) / 2, (bar.rect.top + bar.rect.bottom) / 2};
        picture.view->pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kArea);
        picture.view->pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, kArea);
        EXPECT_EQ(picture.opened.size(), ++clicked) << bar.name;
    }
    EXPECT_GE(clicked, 4U);
}

struct AskedOrder : Asked {
    OrderEditorView& editor;
    AskedOrder() : Asked(std::make_unique<OrderEditorView>(lightTheme())), editor(static_cast<OrderEditorView&>(*view))
    {
        editor.setDraft(OrderDraft(sim::makeSchedule({.kind = "1f1b", .ranks = 4, .microbatches = 8}),
                                   {{.forward = 1e6, .backwardInput = 1.5e6, .backwardWeight = 1e6}}));
    }
};

TEST(Because, TheOrderEditorOpensWhatAnOrderCostsAndHowLongItsActionsTake)
{
    AskedOrder order;
    EXPECT_EQ(order.draw().nodesOf("number").size(), 3U) << "makespan, idle share, held micro-batches";
    EXPECT_GT(expectTheNumberThatStandsThere(order, "order", 64), 20);
    for (int i = 0; i < 6; ++i)
        order.editor.command(ViewCommand::next, false, kArea);
    order.editor.command(ViewCommand::moveLater, false, kArea);
    ASSERT_TRUE(order.editor.draft()->isChanged());
    EXPECT_GT(expectTheNumberThatStandsThere(order, "changed order", 64), 20);
    order.point({-1, -1});
    order.editor.pointer({.kind = PointerEvent::Kind::leave}, kArea);
    order.opened.clear();
    order.editor.command(ViewCommand::because, false, kArea);
    ASSERT_EQ(order.opened.size(), 1U) << "of the selected action, by the key alone";
    EXPECT_EQ(order.opened.front().choice, "Duration");
}

struct Unasked {
    const char* text; ///< a pattern of the whole text
    const char* reason;
};
constexpr std::array kUnasked{
    Unasked{"-?[0-9.,]+ (ns|µs|ms|s|B|KiB|MiB|GiB|TiB)", "muted: a mark of an axis; in the accent: the time that was chosen"},
    Unasked{".*(earlier|later)", "the legend of the ribbons"},
    Unasked{"(dashed: )?(the GPU has|GPUs have) .*", "given, not computed; the details ask it"},
    Unasked{"((activations|buffers) )?at [0-9.,]+ (ns|µs|ms|s)", "the time that was chosen, above what was held then"},
    Unasked{"GPU [0-9.,]+ (MiB|GiB)( →)?", "given, not computed: the limit of a scale"},
    Unasked{"peak [0-9.,]+ (MiB|GiB).*|[0-9.,]+ (MiB|GiB) of [0-9.,]+ (MiB|GiB)",
            "of the strip of memory below the timeline, whose row opens it"},
};

/// Every text with a measure in it: can it be asked where it stands?
int expectAnAnswerToEveryMeasure(Asked& picture, const std::string& of)
{
    static const std::regex kMeasure(
        "[0-9](ns|µs|ms|s|B|KiB|MiB|GiB|TiB|%)([^A-Za-z]|$)|[0-9] (ns|µs|ms|s|B|KiB|MiB|GiB|TiB|%)([^A-Za-z]|$)");
    int asked = 0;
    const RecorderCanvas canvas = picture.draw();
    for (const Primitive& each : canvas.primitives()) {
        if (each.kind != Primitive::Kind::text || !std::regex_search(each.text, kMeasure) ||
            !(intersected(each.rect, each.clip) == each.rect))
            continue;
        const auto excused = std::find_if(kUnasked.begin(), kUnasked.end(), [&](const Unasked& reason) {
            const bool isMark = &reason == kUnasked.data();
            return std::regex_match(each.text, std::regex(reason.text)) &&
                   (!isMark || each.color == lightTheme().mutedText || each.color == lightTheme().accent ||
                    each.color == readableOn(lightTheme().accent));
        });
        if (excused != kUnasked.end())
            continue;
        const Point at{(each.rect.left + each.rect.right) / 2, (each.rect.top + each.rect.bottom) / 2};
        picture.point(at);
        EXPECT_FALSE(picture.view->becauseAt(at).empty()) << of << ", unasked: " << each.text;
        ++asked;
    }
    return asked;
}

TEST(Because, NoMeasureInThesePicturesIsWithoutAnAnswer)
{
    std::map<std::string, int> asked;
    const auto files = test::tried(test::galleryFiles());
    for (std::size_t i = 0; i + 1 < files.size(); i += 2) {
        SCOPED_TRACE(files[i].filename().string());
        const SimulationPtr simulation = test::open(files[i]).simulation;
        const ShownStep step = stepOf(simulation);
        for (const Picture which : {Picture::timeline, Picture::memory}) {
            PictureToAsk picture(pictureInfo(which), step);
            asked["step"] += expectAnAnswerToEveryMeasure(picture, pictureInfo(which).name);
            picture.selection.range = TimeRange{step.trace->endNs / 3, step.trace->endNs / 2};
            picture.selection.cursorNs = step.trace->endNs / 2;
            asked["range"] += expectAnAnswerToEveryMeasure(picture, std::string(pictureInfo(which).name) + " with a range");
        }
        AskedComparison comparison(simulation, test::open(files[i + 1]).simulation);
        asked["comparison"] += expectAnAnswerToEveryMeasure(comparison, "comparison");
        if (simulation->mesh().pipelineRanks() > 1) {
            AskedOrder order;
            order.editor.setDraft(
                OrderDraft(simulation->schedule(), {{.forward = 2e6, .backwardInput = 2e6, .backwardWeight = 1e6}}));
            asked["order"] += expectAnAnswerToEveryMeasure(order, "order");
        }
    }
    for (const char* of : {"step", "range", "comparison", "order"})
        EXPECT_GT(asked[of], test::tries(20)) << of;
}

TEST(Because, EveryLensOfTheGridOpensItsOwnNumber)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 3, .factor = 1.4});
    const ShownStep step = stepOf(sim::simulate(scenario));
    for (const GridLens lens : {GridLens::memory, GridLens::busy, GridLens::sent, GridLens::bubble, GridLens::straggler}) {
        PictureToAsk picture(pictureInfo(Picture::grid), step);
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
    PictureToAsk picture(pictureInfo(Picture::memory), stepOf(sim::simulate(test::smallScenario(1, 2, 2))));
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
        PictureToAsk picture(pictureInfo(which), stepOf(sim::simulate(test::smallScenario(1, 2, 2))));
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
