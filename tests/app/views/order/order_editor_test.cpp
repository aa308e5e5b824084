// Putting actions into another order: what it costs, why it would hang.
#include "app/canvas/recorder_canvas.h"
#include "app/views/order/order_editor_view.h"
#include "sim/schedule/families/families.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

namespace app {
namespace {

using testing::HasSubstr;

constexpr Rect kEditorArea{0, 0, 1100, 400};

OrderDraft draftOf(const sim::ScheduleRequest& request)
{
    return OrderDraft(sim::makeSchedule(request), {{.forward = 1e6, .backwardInput = 1e6, .backwardWeight = 1e6}});
}
OrderDraft fourStagesToEdit()
{
    return draftOf({.kind = "1f1b", .ranks = 4, .microbatches = 8});
}
std::size_t placeOf(const OrderDraft& draft, std::size_t rank, const char* action)
{
    const auto& list = draft.schedule().actions[rank];
    for (std::size_t i = 0; i < list.size(); ++i)
        if (sim::actionText(list[i]) == action)
            return i;
    ADD_FAILURE() << action << " is not on rank " << rank;
    return 0;
}

TEST(OrderDraft, AMoveCostsWhatTheEvaluatorSays)
{
    OrderDraft draft = fourStagesToEdit();
    EXPECT_FALSE(draft.isChanged());
    draft.moveEarlier({1, placeOf(draft, 1, "1B2")});
    ASSERT_TRUE(draft.canRun());
    const sim::PassTimes times{.forward = 1e6, .backwardInput = 1e6, .backwardWeight = 1e6};
    EXPECT_EQ(draft.times().makespan, sim::evaluateSchedule(draft.schedule(), times).makespan);
    EXPECT_GT(draft.times().makespan, draft.originalTimes().makespan);
    EXPECT_THAT(draft.verdict(), testing::AllOf(HasSubstr("Makespan "), HasSubstr(", +")));
    draft.moveLater({1, placeOf(draft, 1, "1B2")});
    EXPECT_FALSE(draft.isChanged()) << "there and back";
}

TEST(OrderDraft, AHangIsExplainedWithItsCycle)
{
    OrderDraft draft = fourStagesToEdit();
    // Rank 3 would take micro-batch 4 before it hands back micro-batch 0; rank 2 wants that before it sends even 2.
    draft.move({3, placeOf(draft, 3, "3B0")}, placeOf(draft, 3, "3F4"));
    EXPECT_FALSE(draft.canRun());
    EXPECT_THAT(draft.verdict(), HasSubstr("Would hang: deadlock: pp 2 waits at 2B0 for 3B0 of pp 3"));
    EXPECT_GE(draft.cycle().size(), 2U);
    EXPECT_EQ(draft.times().start[0], draft.originalTimes().start[0]) << "rows that are as before stay where they were";
    const auto& ends = draft.times().end[3];
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end())) << "the changed row is laid out in its new order";
}

TEST(OrderDraft, WhatContradictsItselfIsSaid)
{
    OrderDraft draft = fourStagesToEdit();
    draft.move({2, placeOf(draft, 2, "2B0")}, 0);
    EXPECT_FALSE(draft.canRun());
    EXPECT_TRUE(draft.cycle().empty());
    EXPECT_THAT(draft.verdict(), HasSubstr("Cannot run: 2B0 on pp 2 comes before 2F0"));
}

TEST(OrderDraft, BlocksStayTogether)
{
    OrderDraft draft = draftOf({.kind = "1f1b", .ranks = 4, .microbatches = 8, .overlapExpertComm = true});
    std::mt19937 random(3);
    const auto blocks = [](const sim::Schedule& schedule) {
        std::vector<std::string> out;
        for (const auto& list : schedule.actions)
            for (std::size_t i = 0; i < list.size(); i += sim::blockAt(list, i).size())
                out.push_back(sim::blockText(sim::blockAt(list, i)));
        std::sort(out.begin(), out.end());
        return out;
    };
    const auto before = blocks(draft.schedule());
    for (int i = 0; i < 400; ++i) {
        const std::size_t rank = random() % 4, size = draft.schedule().actions[rank].size();
        draft.move({rank, random() % size}, random() % (size + 1));
        ASSERT_EQ(blocks(draft.schedule()), before) << "after " << i << " moves";
    }
}

struct Editor {
    OrderEditorView view{lightTheme()};
    explicit Editor(OrderDraft draft = fourStagesToEdit()) { view.setDraft(std::move(draft)); }
    RecorderCanvas draw(Rect area = kEditorArea)
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    Rect boxOf(std::size_t rank, const char* action)
    {
        for (const Node& node : draw().nodesOf("action"))
            if (node.name == action && node.id >> 32 == rank)
                return node.rect;
        ADD_FAILURE() << action << " is not drawn";
        return {};
    }
    void drag(Rect from, float toX)
    {
        const Point at{(from.left + from.right) / 2, (from.top + from.bottom) / 2};
        view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kEditorArea);
        for (const float x : {(at.x + toX) / 2, toX})
            view.pointer({.kind = PointerEvent::Kind::move, .at = {x, at.y}, .button = PointerButton::left}, kEditorArea);
        view.pointer({.kind = PointerEvent::Kind::release, .at = {toX, at.y}, .button = PointerButton::left}, kEditorArea);
    }
    bool command(ViewCommand c) { return view.command(c, false, kEditorArea); }
    std::string verdict() { return draw().nodesOf("verdict").at(0).name; }
};

TEST(OrderEditor, DrawsEveryActionOfEveryRank)
{
    Editor editor;
    EXPECT_EQ(editor.draw().nodesOf("action").size(), 4U * 16);
}

TEST(OrderEditor, HasRowsToReadHoweverLowItIs)
{
    Editor editor;
    for (const float height : {110.0F, 130.0F, 189.0F}) { // 1280x720 with text of 200 and 150 %
        const RecorderCanvas canvas = editor.draw({0, 0, 640, height});
        const auto actions = canvas.nodesOf("action");
        EXPECT_GE(actions.size(), 2U * 16) << height;
        for (const Node& action : actions)
            EXPECT_GE(action.rect.height(), 12) << height;
        EXPECT_NE(canvas.asText().find("Makespan"), std::string::npos) << "and what the order costs, at " << height;
    }
}

TEST(OrderEditor, EqualActionsSayAsMuchAsEachOther)
{
    Editor editor(draftOf({.kind = "1f1b", .ranks = 2, .microbatches = 12}));
    for (float width = 300; width <= 1400; width += 30) {
        const RecorderCanvas canvas = editor.draw({0, 0, width, 400});
        std::set<std::pair<char, bool>> ways; // pass, and whether it is named
        for (const Node& node : canvas.nodesOf("action"))
            ways.insert({node.name[1], std::any_of(canvas.primitives().begin(), canvas.primitives().end(), [&](const auto& p) {
                             return p.kind == Primitive::Kind::text &&
                                    node.rect.contains({(p.rect.left + p.rect.right) / 2, (p.rect.top + p.rect.bottom) / 2});
                         })});
        EXPECT_EQ(ways.size(), 2U) << "all forwards or none, at width " << width;
    }
}

TEST(OrderEditor, DraggingMovesAnActionPastThoseItIsDraggedOver)
{
    Editor editor;
    const Rect target = editor.boxOf(3, "3F4");
    editor.drag(editor.boxOf(3, "3B0"), target.right - 1);
    const auto& list = editor.view.draft()->schedule().actions[3];
    const std::size_t at = placeOf(*editor.view.draft(), 3, "3B0");
    EXPECT_EQ(sim::actionText(list[at - 1]), "3F4");
    EXPECT_THAT(editor.verdict(), HasSubstr("Would hang"));
    const RecorderCanvas canvas = editor.draw();
    EXPECT_TRUE(std::any_of(canvas.primitives().begin(), canvas.primitives().end(), [](const Primitive& p) {
        return p.kind == Primitive::Kind::polyline && p.color == lightTheme().error;
    })) << "the cycle is drawn";
    EXPECT_TRUE(editor.view.takeBack());
    EXPECT_FALSE(editor.view.draft()->isChanged());
    EXPECT_FALSE(editor.view.canTakeBack());
}

TEST(OrderEditor, APlainClickMovesNothing)
{
    Editor editor;
    const Rect box = editor.boxOf(2, "2B3");
    editor.drag(box, (box.left + box.right) / 2 + 1);
    EXPECT_FALSE(editor.view.draft()->isChanged());
    EXPECT_FALSE(editor.view.canTakeBack());
    ASSERT_TRUE(editor.view.selected());
    EXPECT_EQ(editor.view.selected()->rank, 2U);
}

TEST(OrderEditor, WorksByKeysAlone)
{
    Editor editor;
    EXPECT_FALSE(editor.command(ViewCommand::moveLater)) << "nothing is selected";
    editor.command(ViewCommand::next);      // the first action of the first rank
    editor.command(ViewCommand::stepRight); // the arrow keys choose
    EXPECT_EQ(editor.view.selected()->index, 1U);
    EXPECT_TRUE(editor.command(ViewCommand::stepLeft));
    EXPECT_EQ(editor.view.selected()->index, 0U);
    editor.command(ViewCommand::next);
    editor.command(ViewCommand::panDown);
    ASSERT_EQ(editor.view.selected()->rank, 1U);
    EXPECT_TRUE(editor.command(ViewCommand::moveLater));
    EXPECT_TRUE(editor.view.draft()->isChanged());
    EXPECT_TRUE(editor.command(ViewCommand::moveEarlier));
    EXPECT_FALSE(editor.view.draft()->isChanged());
}

TEST(OrderEditor, TextsStayWholeWhateverTheSize)
{
    Editor editor;
    editor.drag(editor.boxOf(3, "3B0"), 700);
    for (int width = 60; width <= 1500; width += 120)
        for (int height = 100; height <= 800; height += 130)
            for (const Primitive& text : editor.draw({0, 0, static_cast<float>(width), static_cast<float>(height)}).cutTexts())
                ADD_FAILURE() << width << "x" << height << " cut: " << text.text;
}

} // namespace
} // namespace app
