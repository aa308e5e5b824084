// What pictures write, over the whole gallery: words for people, numbers that can be read.
#include "app/canvas/recorder_canvas.h"
#include "app/views/compare/compare_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/order/order_editor_view.h"
#include "app/views/pictures.h"
#include "tests/support/gallery.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <set>

namespace app {
namespace {

constexpr Rect kWordsArea{0, 0, 1280, 720};

/// All that a picture says: what is written, what a screen reader reads, and the tooltips of what can be pointed at.
std::set<std::string> saidBy(View& view)
{
    std::set<std::string> out;
    RecorderCanvas canvas(kWordsArea);
    view.draw(canvas);
    for (const std::string& text : canvas.texts())
        out.insert(text);
    const std::vector<Node>& nodes = canvas.nodes();
    for (const Node& node : nodes)
        out.insert(node.name);
    for (std::size_t i = 0; i < nodes.size(); i += 1 + nodes.size() / 30) {
        const Rect seen = intersected(nodes[i].rect, kWordsArea);
        view.pointer({.kind = PointerEvent::Kind::move, .at = {(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2}},
                     kWordsArea);
        out.insert(view.tooltip());
    }
    return out;
}

/// Something that a file calls so, and a person does not: "dp_cp", "grad.reduce", "attn.qkv.wgrad".
const std::regex& rawKey()
{
    static const std::regex kKey(R"(\b[A-Za-z]\w*_\w+|\b[a-z][a-z0-9]*\.[a-z][a-z0-9_.]*|\bembd\b|\bwgrad\b|\bdgrad\b)");
    return kKey;
}

struct Allowed {
    const char* key;
    const char* reason;
};
/// What matches and is no key.
constexpr std::array kAllowed{
    Allowed{R"(\b[a-pr-zA-Zψ]_[A-Za-z0-9]+\b)", "symbols of formulas, with their index: t_model"},
    Allowed{R"(\be\.g\.)", "an abbreviation"},
};

std::string withoutAllowed(std::string text)
{
    static const std::vector<std::regex> kReasons = [] {
        std::vector<std::regex> out;
        for (const Allowed& each : kAllowed)
            out.emplace_back(each.key);
        return out;
    }();
    for (const std::regex& reason : kReasons)
        text = std::regex_replace(text, reason, "");
    return text;
}

/// What is wrong with a text; empty: nothing.
std::string wrongWith(const std::string& text)
{
    static const std::regex kNoNumber(R"((^|[^A-Za-z])-?(nan|inf)([^A-Za-z]|$))");
    static const std::regex kLong(R"((^|[^0-9.,])[0-9]{4,}([^0-9]|$))");
    std::smatch match;
    const std::string kept = withoutAllowed(text);
    if (std::regex_search(kept, match, rawKey()))
        return "a raw key, " + match.str();
    if (std::regex_search(text, match, kNoNumber))
        return "no number, " + match.str();
    if (std::regex_search(text, match, kLong))
        return "a number without separators, " + match.str();
    return {};
}

class DrawnWords : public testing::Test {
protected:
    void expectWords(View& view, const std::string& of)
    {
        for (const std::string& text : saidBy(view))
            if (m_seen.insert(text).second) {
                const std::string wrong = wrongWith(text);
                EXPECT_EQ(wrong, "") << of << " says: " << text;
            }
    }
    std::size_t seen() const { return m_seen.size(); }

private:
    std::set<std::string> m_seen; ///< texts of several pictures are looked at once
};

TEST(Words, AreToldFromKeysAndNumbersThatCannotBeRead)
{
    for (const char* text : {"group dp_cp", "grad.reduce", "attn.qkv.wgrad 3", "Sent over embd", "layers_per_stage", "nan GiB",
                             "inf", "-nan", "1350 s", "rank 16383"})
        EXPECT_NE(wrongWith(text), "") << text;
    for (const char* text : {"dp × cp", "gradient reduction", "1,350 s", "3.21 GiB", "0.00001", "T = t_model + t_tp", "financial",
                             "information", "0F3", "rank 16,383"})
        EXPECT_EQ(wrongWith(text), "") << text;
}

TEST_F(DrawnWords, OfEveryPictureOfTheGalleryAreForPeople)
{
    constexpr std::int64_t kQuickOps = 60'000;
    for (const auto& file : test::tried(test::galleryFiles())) {
        SCOPED_TRACE(file.filename().string());
        const SimulationPtr step = test::open(file).simulation;
        for (const sim::TraceDetail detail : {sim::TraceDetail::actions, sim::TraceDetail::kernels}) {
            if (detail == sim::TraceDetail::kernels && step->metrics().simulatedOps > kQuickOps)
                continue;
            const ShownStep shown{.simulation = step, .trace = std::make_shared<const sim::Trace>(step->trace(detail))};
            for (const bool inRange : {false, true})
                for (const PictureInfo& info : pictures()) {
                    Selection selection;
                    selection.selectRank(step->mesh().worldSize() - 1);
                    if (inRange)
                        selection.range = TimeRange{shown.trace->endNs / 4, shown.trace->endNs / 2};
                    const auto view = info.make(selection, lightTheme(), nullptr);
                    view->setAskBecause([](const Becauses&, Rect) {});
                    view->setStep(shown, info.prepare != nullptr ? info.prepare(shown) : nullptr);
                    expectWords(*view, info.name);
                }
        }
    }
    EXPECT_GT(seen(), static_cast<std::size_t>(test::tries(50'000)));
}

TEST_F(DrawnWords, OfEveryLensAreForPeople)
{
    for (const auto& file : test::tried(test::galleryFiles())) {
        const SimulationPtr step = test::open(file).simulation;
        const ShownStep shown{.simulation = step,
                              .trace = std::make_shared<const sim::Trace>(step->trace(sim::TraceDetail::actions))};
        for (const GridLens lens : {GridLens::groups, GridLens::memory, GridLens::busy, GridLens::sent, GridLens::bubble,
                                    GridLens::straggler, GridLens::now}) {
            Selection selection;
            selection.cursorNs = shown.trace->endNs / 3;
            GridView view(selection, lightTheme());
            view.setStep(shown);
            view.setLens(lens);
            expectWords(view, std::string("grid, ") + gridLensName(lens));
        }
    }
}

TEST_F(DrawnWords, OfComparisonsAreForPeople)
{
    const auto files = test::tried(test::galleryFiles());
    for (std::size_t i = 0; i + 1 < files.size(); i += 2) {
        const auto side = [&](std::size_t file) {
            const SimulationPtr step = test::open(files[file]).simulation;
            return CompareView::Side{.simulation = step,
                                     .actions = std::make_shared<const sim::Trace>(step->trace(sim::TraceDetail::actions)),
                                     .name = step->scenario().name,
                                     .message = {}};
        };
        Selection selection;
        CompareView view(selection, lightTheme());
        view.setSides(side(i), side(i + 1));
        expectWords(view, "comparison");
    }
}

TEST_F(DrawnWords, OfTheOrderEditorAreForPeople)
{
    for (const auto& file : test::tried(test::galleryFiles())) {
        const SimulationPtr step = test::open(file).simulation;
        if (step->mesh().pipelineRanks() < 2)
            continue;
        OrderEditorView view(lightTheme());
        view.setDraft(OrderDraft(step->schedule(), {{.forward = 2e9, .backwardInput = 2e9, .backwardWeight = 1e9}}));
        expectWords(view, "order of " + file.filename().string());
    }
}

/// Explanations are read too: their words, and those of the terms that they are made of.
void expectWordsOf(const sim::Explanation& why, const std::string& of)
{
    std::vector<std::string> texts{why.name, why.convention, why.source, why.valueText()};
    for (const sim::Term& term : why.terms) {
        texts.push_back(term.meaning);
        if (term.because)
            expectWordsOf(*term.because, of);
    }
    static const std::regex kYear("(19|20)[0-9]{2}|arXiv"); // of a paper
    for (const std::string& text : texts) {
        const std::string wrong = std::regex_search(text, kYear) ? std::string() : wrongWith(text);
        EXPECT_EQ(wrong, "") << of << " explains: " << text;
    }
}

TEST(ExplainedWords, OfTheGalleryAreForPeople)
{
    for (const auto& file : test::tried(test::galleryFiles())) {
        const SimulationPtr step = test::open(file).simulation;
        const std::string of = file.filename().string();
        for (std::size_t id = 0; id < sim::kMetricIdCount; ++id)
            expectWordsOf(sim::explain(*step, static_cast<sim::MetricId>(id)), of);
        for (const sim::RankNumber number : {sim::RankNumber::busy, sim::RankNumber::exposed, sim::RankNumber::bubble,
                                             sim::RankNumber::againstPeers, sim::RankNumber::sent})
            expectWordsOf(sim::explain(*step, number, 0), of);
    }
}

} // namespace
} // namespace app
