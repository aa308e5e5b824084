#include "app/shell/findings/findings_panel.h"

#include "app/shell/details/details_panel.h"
#include "app/shell/findings/finding_row.h"
#include "app/shell/widgets/severity_icon.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QApplication>
#include <QDockWidget>
#include <QImage>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

constexpr const char* kRecomputes = "50-mixtral-8x7b-ep8.json"; // and need not
constexpr const char* kFine = "57-tiny-dp4.json";

sim::Finding finding(sim::FindingKind kind, sim::FindingSeverity severity, std::vector<sim::SuggestedEdit> suggestions = {})
{
    sim::Finding out{.kind = kind, .severity = severity, .title = "Too slow", .reason = "It waits."};
    out.show.ranks = {3};
    out.suggestions = std::move(suggestions);
    return out;
}

const sim::SuggestedEdit kFewer{"tp 8 → 4, dp 2 → 4", {{"/layout/tp", "4"}, {"/layout/dp", "4"}}};
const sim::SuggestedEdit kWithout{"without perturbations", {{"/perturbations", std::nullopt}}};

QPushButton* button(QWidget& in, const QString& text)
{
    const auto all = in.findChildren<QPushButton*>();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const QPushButton* b) { return b->text() == text || b->accessibleName() == text; });
    return found == all.end() ? nullptr : *found;
}

TEST(FindingsPanel, WhatWasTriedHasTheWholeWidth)
{
    FindingRow row(finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kWithout}), lightTheme());
    row.setEffect(0, sim::EditEffect{.stepSeconds = 1, .timePerToken = 0.03, .peakGib = 32});
    row.resize(260, 300);
    row.show();
    const auto labels = row.findChildren<QLabel*>();
    const auto tried = std::find_if(labels.begin(), labels.end(),
                                    [](const QLabel* label) { return label->text().startsWith(QStringLiteral("Tried")); });
    ASSERT_NE(tried, labels.end());
    EXPECT_GE((*tried)->width(), 230) << "not in a column beside the buttons";
}

TEST(FindingsPanel, OnlyAGainIsSetAgainstTheRoomThatIsLost)
{
    const auto triedText = [](double timePerToken) {
        FindingRow row(finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kWithout}), lightTheme());
        row.setEffect(0, sim::EditEffect{.stepSeconds = 1, .timePerToken = timePerToken, .peakGib = 79, .leavesNoRoom = true});
        QString all;
        for (const QLabel* label : row.findChildren<QLabel*>())
            all += label->text();
        return all;
    };
    EXPECT_TRUE(triedText(-0.13).contains(QStringLiteral("time a token, but leaves no room"))) << triedText(-0.13).toStdString();
    EXPECT_TRUE(triedText(0.13).contains(QStringLiteral("time a token, and leaves no room"))) << triedText(0.13).toStdString();
}

TEST(FindingsPanel, WhatMendsAJobStandsBesideWhatIsWrongAndIsReadBeforeWhatWasTried)
{
    FindingRow row(finding(sim::FindingKind::doesNotFit, sim::FindingSeverity::broken, {kFewer, kWithout}), lightTheme());
    for (const std::size_t edit : {0U, 1U})
        row.setEffect(
            edit,
            sim::EditEffect{.stepSeconds = 1, .timePerToken = -0.2, .peakGib = 32, .peakChangeGib = edit == 0 ? -55.0 : -50.0});
    row.resize(300, 400);
    row.show();
    const auto* fix = row.findChild<QPushButton*>(QStringLiteral("fixThis"));
    const auto tried = row.findChildren<SuggestionButton*>();
    ASSERT_TRUE(fix && tried.size() == 2);
    const auto isTitle = [&](const QLabel* label) { return label->property("role").toString() == QStringLiteral("strong"); };
    const auto labels = row.findChildren<QLabel*>();
    const auto title = std::find_if(labels.begin(), labels.end(), isTitle);
    ASSERT_NE(title, labels.end());
    const auto top = [&](const QWidget* part) { return part->mapTo(&row, QPoint(0, 0)).y(); };
    EXPECT_LT(top(fix), top(*title) + (*title)->height());
    for (const SuggestionButton* button : tried)
        EXPECT_LT(top(fix) + fix->height(), top(button));
    QAccessibleInterface* const tree = QAccessible::queryAccessibleInterface(&row);
    const auto place = [&](const QWidget* part) {
        return tree->indexOfChild(QAccessible::queryAccessibleInterface(const_cast<QWidget*>(part)));
    };
    ASSERT_GE(place(fix), 0);
    EXPECT_EQ(place(fix), place(*title) + 1) << "read right after the line that says what is wrong";
    for (const SuggestionButton* button : tried)
        EXPECT_LT(place(fix), place(button));
}

TEST(FindingsPanel, DropsWhatFewerSettingsBringAsWell)
{
    for (const std::size_t first : {0U, 1U}) {
        FindingRow row(finding(sim::FindingKind::nearlyFull, sim::FindingSeverity::costly, {kFewer, kWithout}), lightTheme());
        for (const std::size_t edit : {first, 1 - first})
            row.setEffect(edit, sim::EditEffect{.stepSeconds = 1, .peakGib = 60, .peakChangeGib = edit == 0 ? -15.6 : -19.8});
        const auto offered = row.findChildren<SuggestionButton*>();
        ASSERT_EQ(offered.size(), 1) << "whichever is tried first";
        EXPECT_TRUE(offered.front()->accessibleName().contains(QString::fromStdString(kWithout.text)));
    }
}

TEST(FindingsPanel, OffersWhatHelpsAndNamesWhatDoesNot)
{
    const QWidgetList before = QApplication::topLevelWidgets();
    FindingsPanel panel;
    panel.setFindings({finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kFewer, kWithout}),
                       finding(sim::FindingKind::composition, sim::FindingSeverity::note)});
    EXPECT_FALSE(panel.isComplete());
    EXPECT_TRUE(panel.text().contains(QStringLiteral("Trying"))) << panel.text().toStdString();
    panel.setResult({.finding = 0,
                     .edit = 0,
                     .effect = sim::EditEffect{.stepSeconds = 1, .timePerToken = -0.123, .peakGib = 40, .peakChangeGib = 8}});
    panel.setResult({.finding = 0, .edit = 1, .effect = sim::EditEffect{.stepSeconds = 1, .timePerToken = 0.03, .peakGib = 32}});
    EXPECT_TRUE(panel.isComplete());
    const SuggestionButton* offered = panel.findChild<SuggestionButton*>();
    ASSERT_TRUE(offered);
    EXPECT_EQ(panel.findChildren<SuggestionButton*>().size(), 1);
    EXPECT_EQ(offered->accessibleDescription(), QStringLiteral("−12 % time a token, +8.00 GiB"));
    EXPECT_TRUE(
        panel.text().contains(QStringLiteral("Tried, and not worth it: without perturbations (+3.0\u00a0% time a token)")));
    EXPECT_EQ(QApplication::topLevelWidgets().size(), before.size() + 1) << "nothing became a window on the way";
}

TEST(FindingsPanel, SaysHowSureAGainIs)
{
    const auto described = [](double low, double high) {
        const SuggestionButton tried(QStringLiteral("tp 8 → 4"),
                                     sim::EditEffect{.stepSeconds = 1,
                                                     .timePerToken = -0.05,
                                                     .peakGib = 40,
                                                     .likely = {.predicted = 0.95, .low = low, .high = high, .level = 0.8}});
        return tried.accessibleDescription();
    };
    EXPECT_EQ(described(0.92, 0.98), QStringLiteral("−5.0 % time a token, likely −8.0 % to −2.0 %"));
    EXPECT_EQ(described(0.89, 1.01), QStringLiteral("−5.0 % time a token, smaller than the model's own error"));
    const SuggestionButton room(QStringLiteral("cp 1 → 2"),
                                sim::EditEffect{.stepSeconds = 1,
                                                .timePerToken = 0.032,
                                                .peakGib = 60,
                                                .peakChangeGib = -19.8,
                                                .likely = {.predicted = 1.032, .low = 0.97, .high = 1.1, .level = 0.8}});
    EXPECT_TRUE(room.accessibleDescription().endsWith(QStringLiteral("the change of time is smaller than the model's own error")))
        << "the memory is counted: " << qPrintable(room.accessibleDescription());
}

TEST(FindingsPanel, ALongerStepOfMoreTokensIsTold)
{
    const SuggestionButton tried(QStringLiteral("micro-batch 1 → 2, global batch 80 → 160"),
                                 sim::EditEffect{.stepSeconds = 10.8, .timePerToken = -0.375, .tokens = 2, .peakGib = 32});
    EXPECT_EQ(tried.accessibleDescription(), QStringLiteral("−38 % time a token, step +25 %"));
}

TEST(FindingsPanel, WhatCannotBeToldComesAfterWhatCan)
{
    FindingsPanel panel;
    auto first = finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kFewer});
    auto second = finding(sim::FindingKind::exposedData, sim::FindingSeverity::costly, {kFewer});
    first.title = "The first";
    second.title = "The second";
    panel.setFindings({first, second});
    const auto effect = [](double high) {
        return sim::EditEffect{
            .timePerToken = -0.05, .peakGib = 40, .likely = {.predicted = 0.95, .low = 0.9, .high = high, .level = 0.8}};
    };
    const auto firstIsFirst = [&] {
        return panel.text().indexOf(QStringLiteral("The first")) < panel.text().indexOf(QStringLiteral("The second"));
    };
    panel.setResult({.finding = 0, .edit = 0, .effect = effect(1.01)});
    EXPECT_TRUE(firstIsFirst()) << "the other is not known yet";
    panel.setResult({.finding = 1, .edit = 0, .effect = effect(0.98)});
    EXPECT_FALSE(firstIsFirst());
    EXPECT_TRUE(panel.text().contains(QLatin1String(sim::kCannotTell)));
    panel.setTheme(darkTheme());
    EXPECT_FALSE(firstIsFirst()) << "it stays";
}

TEST(FindingsPanel, AGainThatIsTooSmallIsToldAsOne)
{
    FindingsPanel panel;
    panel.setFindings({finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kFewer})});
    panel.setResult(
        {.finding = 0, .edit = 0, .effect = sim::EditEffect{.stepSeconds = 1, .timePerToken = -0.002, .peakGib = 32}});
    EXPECT_TRUE(panel.text().contains(QStringLiteral("tp 8 → 4, dp 2 → 4 (only 0.2\u00a0% less time a token)")))
        << panel.text().toStdString();
    EXPECT_FALSE(panel.text().contains(QStringLiteral("without gain")));
}

TEST(FindingsPanel, WhatOnlyMissesItsCapRuns)
{
    FindingsPanel panel;
    panel.setFindings({finding(sim::FindingKind::capMissed, sim::FindingSeverity::broken)});
    const auto said = [&] {
        QStringList texts{panel.text()};
        for (const QLabel* label : panel.findChildren<QLabel*>())
            texts << label->text();
        return texts.join(QLatin1Char('\n'));
    };
    EXPECT_TRUE(said().contains(QStringLiteral("Cap not kept"))) << said().toStdString();
    EXPECT_FALSE(said().contains(QStringLiteral("Does not run"))) << said().toStdString();
    panel.setFindings({finding(sim::FindingKind::doesNotFit, sim::FindingSeverity::broken)});
    EXPECT_TRUE(said().contains(QStringLiteral("Does not run"))) << said().toStdString();
}

TEST(FindingsPanel, AsksForEditsAndPlaces)
{
    FindingsPanel panel;
    panel.setFindings({finding(sim::FindingKind::bubble, sim::FindingSeverity::costly, {kFewer, kWithout})});
    panel.setResult({.finding = 0, .edit = 1, .effect = sim::EditEffect{.timePerToken = -0.5}});
    std::optional<Edit> edit;
    std::optional<sim::ShowHint> hint;
    QObject::connect(&panel, &FindingsPanel::editRequested, [&](const Edit& asked) { edit = asked; });
    QObject::connect(&panel, &FindingsPanel::showRequested, [&](const sim::ShowHint& asked) { hint = asked; });
    button(panel, QStringLiteral("Show me"))->click();
    button(panel, QStringLiteral("Try without perturbations"))->click();
    ASSERT_TRUE(hint && edit);
    EXPECT_EQ(hint->ranks, std::vector<int>{3});
    EXPECT_EQ(edit->text, "without perturbations");
    ASSERT_EQ(edit->assignments.size(), 1U);
    EXPECT_FALSE(edit->assignments[0].json) << "the key is erased";
}

TEST(FindingsPanel, SaysWhenThereIsNothing)
{
    FindingsPanel panel;
    EXPECT_FALSE(panel.text().isEmpty());
    panel.setFindings({finding(sim::FindingKind::bubble, sim::FindingSeverity::hint)});
    panel.clear();
    EXPECT_TRUE(panel.isComplete());
    EXPECT_FALSE(panel.text().contains(QStringLiteral("Too slow")));
    panel.setResult({.finding = 0, .edit = 0, .effect = {}}); // late, of a step that is gone
}

TEST(FindingsPanel, SaysWhyThereIsNothing)
{
    FindingsPanel panel;
    const QString before = panel.text();
    panel.setFindings({});
    EXPECT_FALSE(panel.text().isEmpty());
    EXPECT_NE(panel.text(), before) << "a step that nothing is found in is not a step that is still awaited";
    panel.setFailure(QStringLiteral("no order fits into 3 GiB"));
    EXPECT_TRUE(panel.text().contains(QStringLiteral("no order fits into 3 GiB"))) << panel.text().toStdString();
    EXPECT_TRUE(panel.isComplete());
    panel.clear();
    EXPECT_EQ(panel.text(), before);
}

TEST(FindingsPanel, ShapesDifferAsColoursDo)
{
    std::vector<QImage> shapes;
    for (const auto severity :
         {sim::FindingSeverity::broken, sim::FindingSeverity::costly, sim::FindingSeverity::hint, sim::FindingSeverity::note}) {
        SeverityIcon icon(finding(sim::FindingKind::bubble, severity), lightTheme());
        QImage picture(icon.size(), QImage::Format_ARGB32);
        picture.fill(Qt::transparent);
        icon.render(&picture, {}, {}, QWidget::DrawChildren);
        shapes.push_back(picture.convertToFormat(QImage::Format_Alpha8));
    }
    for (std::size_t a = 0; a < shapes.size(); ++a)
        for (std::size_t b = a + 1; b < shapes.size(); ++b)
            EXPECT_NE(shapes[a], shapes[b]);
}

class FindingsWindow : public testing::Test {
protected:
    FindingsWindow() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1600, 1000);
        window.show();
    }
    void open(const char* name)
    {
        ASSERT_TRUE(window.openFile(galleryFile(name)).empty());
        settle();
    }
    void settle()
    {
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
    }
    /// Whether its kernels are shown then.
    bool showExposed()
    {
        open("02-tp8-dp2-two-nodes.json");
        for (FindingRow* row : window.findings().findChildren<FindingRow*>())
            if (row->accessibleName().contains(QStringLiteral("exposed tp communication")))
                button(*row, QStringLiteral("Show me"))->click();
        settle();
        return window.desk().wantsKernels();
    }

    MainWindow window;
};

TEST_F(FindingsWindow, FixThisMakesTheSmallestChangeThatFitsAsOneStep)
{
    open("05-dp2-tp4-pp2-sixteen-gpus.json");
    Edit small;
    small.text = "a small GPU";
    small.assignments.push_back(
        {"/cluster/gpu/memory_gib", std::to_string(0.7 * window.desk().simulation()->metrics().peakMemoryGib)});
    window.session().edit(small);
    settle();
    ASSERT_FALSE(window.desk().simulation()->metrics().fits);
    const std::string before = window.session().document().text();
    const double stepBefore = window.desk().simulation()->metrics().stepTimeSeconds;
    const int steps = window.session().undoStack().count();
    auto* fix = window.findings().findChild<QPushButton*>(QStringLiteral("fixThis"));
    ASSERT_TRUE(fix);
    EXPECT_EQ(fix->text(), QStringLiteral("Fix this"));
    EXPECT_FALSE(fix->isHidden());
    fix->click();
    window.findings().setTheme(darkTheme());
    for (const auto* each : window.findings().findChildren<QPushButton*>(QStringLiteral("fixThis")))
        EXPECT_EQ(each->text(), QStringLiteral("Searching…")) << "also where its row was made anew meanwhile";
    settle();
    EXPECT_TRUE(window.desk().simulation()->metrics().fits);
    EXPECT_EQ(window.session().undoStack().count(), steps + 1);
    const Fix wanted = leastFix(sim::ScenarioDocument::parse(before), window.session().catalogue());
    const sim::LeastChange& change = wanted.change;
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, change.stepSeconds);
    EXPECT_EQ(stepBefore, change.stepBeforeSeconds);
    const QString said = window.findings().text();
    EXPECT_TRUE(said.contains(QString::fromStdString(change.text()))) << said.toStdString();
    EXPECT_EQ(said.contains(QStringLiteral("5 % was kept free: allocators reserve about 4 % more")), wanted.leavesRoom)
        << said.toStdString();
    EXPECT_TRUE(window.session().undoStack().undoText().contains(QString::fromStdString(change.edit.text)));
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(window.session().document().text(), before);
    EXPECT_FALSE(window.findings().text().contains(QStringLiteral("Fixed"))) << "it is not fixed any more";
    const auto fixes = window.findings().findChildren<QPushButton*>(QStringLiteral("fixThis"));
    EXPECT_TRUE(std::any_of(fixes.begin(), fixes.end(), [](const QPushButton* one) {
        return one->isVisible() && one->isEnabled();
    })) << "rows of before may wait to be deleted";
}

TEST_F(FindingsWindow, WhatFitsHasNothingToFix)
{
    open(kFine);
    const auto fixes = window.findings().findChildren<QPushButton*>(QStringLiteral("fixThis"));
    ASSERT_FALSE(fixes.empty());
    for (const QPushButton* fix : fixes)
        EXPECT_TRUE(fix->isHidden());
}

TEST_F(FindingsWindow, WhatIsTriedIsAnEditThatUndoTakesBack)
{
    open(kRecomputes);
    const double before = window.desk().simulation()->metrics().stepTimeSeconds;
    EXPECT_TRUE(window.findings().isComplete());
    QPushButton* edit = button(window.findings(), QStringLiteral("Try recompute full → none"));
    ASSERT_TRUE(edit) << window.findings().text().toStdString();
    const QString promised = edit->accessibleDescription();
    edit->click();
    settle();
    EXPECT_EQ(window.desk().simulation()->scenario().training.recompute, sim::Recompute::none);
    const double change = window.desk().simulation()->metrics().stepTimeSeconds / before - 1;
    EXPECT_TRUE(promised.startsWith(QStringLiteral("−%1 % time").arg(-change * 100, 0, 'f', 0))) << promised.toStdString();
    EXPECT_FALSE(window.findings().text().contains(QStringLiteral("Recomputation is not needed")));
    window.run(CommandId::undo);
    settle();
    EXPECT_EQ(window.desk().simulation()->metrics().stepTimeSeconds, before);
    EXPECT_TRUE(window.findings().text().contains(QStringLiteral("Recomputation is not needed")));
}

TEST_F(FindingsWindow, ShowMeSelectsWhatItIsAbout)
{
    open("21-slow-gpu.json");
    for (FindingRow* row : window.findings().findChildren<FindingRow*>()) {
        if (row->accessibleName().contains(QStringLiteral("Rank 21")))
            button(*row, QStringLiteral("Show me"))->click();
    }
    EXPECT_EQ(window.desk().selection().selectedRank, 21);
    EXPECT_TRUE(window.workspace().isPictureVisible(Picture::timeline));
}

/// Nobody is slow: it is nobody's finding, and the timeline is in sight already.
TEST_F(FindingsWindow, ShowMeOfABubbleSelectsTheLongestWait)
{
    open("42-llama3-405b-16384-gpus.json");
    FindingRow* bubble = nullptr;
    for (FindingRow* row : window.findings().findChildren<FindingRow*>())
        if (row->accessibleName().contains(QStringLiteral("of the step is bubble")))
            bubble = row;
    ASSERT_TRUE(bubble);
    button(*bubble, QStringLiteral("Show me"))->click();
    const auto& idle = window.desk().selection().idle;
    ASSERT_TRUE(idle);
    EXPECT_EQ(window.desk().selection().selectedRank, idle->rank);
    EXPECT_FALSE(idle->why.empty());
    const double share =
        static_cast<double>(idle->time.endNs - idle->time.beginNs) / 1e9 / window.desk().simulation()->metrics().stepTimeSeconds;
    EXPECT_GT(share, 0.02);
}

TEST_F(FindingsWindow, WhatPointsNowhereHasNoShowMe)
{
    open(kFine);
    int rows = 0;
    for (FindingRow* row : window.findings().findChildren<FindingRow*>())
        if (row->accessibleName().contains(QStringLiteral("Nothing to complain about"))) {
            ++rows;
            EXPECT_TRUE(button(*row, QStringLiteral("Show me"))->isHidden());
        }
    EXPECT_GE(rows, 1) << window.findings().text().toStdString();
}

TEST_F(FindingsWindow, ExposedCommunicationIsShownInTheKernels)
{
    ASSERT_TRUE(showExposed());
    EXPECT_EQ(window.desk().selection().classes, maskOf(sim::OpClass::tpComm));
    const auto& kinds = window.desk().step().trace->kinds;
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) { return kind.opClass == sim::OpClass::tpComm; }));
}

TEST_F(FindingsWindow, KernelsThatNobodyAskedForGoWithWhatTheyWereShownFor)
{
    ASSERT_TRUE(showExposed());
    window.run(CommandId::clear);
    settle();
    EXPECT_FALSE(window.desk().wantsKernels());
    EXPECT_EQ(window.desk().selection().classes, kAllClasses);
    ASSERT_TRUE(showExposed());
    open("01-dp2-two-nodes.json");
    EXPECT_FALSE(window.desk().wantsKernels()) << "another document";
    window.run(CommandId::showKernels);
    ASSERT_TRUE(showExposed());
    window.run(CommandId::clear);
    EXPECT_TRUE(window.desk().wantsKernels()) << "somebody asked for them";
}

TEST_F(FindingsWindow, KernelsThatNobodyAskedForDoNotComeBackAfterALesson)
{
    ASSERT_TRUE(showExposed());
    ASSERT_TRUE(window.openLesson(QStringLiteral("two-copies")).empty());
    EXPECT_FALSE(window.desk().wantsKernels());
    ASSERT_TRUE(waitFor([this] { return window.isEnabled(CommandId::leaveLesson); }));
    window.run(CommandId::leaveLesson);
    EXPECT_FALSE(window.desk().wantsKernels());
}

TEST_F(FindingsWindow, NothingToComplainAboutIsSaidToo)
{
    open(kFine);
    EXPECT_TRUE(window.findings().text().contains(QStringLiteral("Nothing to complain about")))
        << window.findings().text().toStdString();
}

TEST_F(FindingsWindow, NoFindingsAreNotCountedAndTheReasonIsSaid)
{
    open(kFine);
    const auto* dock = window.findChild<QDockWidget*>(QStringLiteral("findings"));
    Q_EMIT window.desk().findingsReady({});
    EXPECT_EQ(dock->windowTitle(), QStringLiteral("FINDINGS"));
    EXPECT_FALSE(window.findings().text().isEmpty());
    Q_EMIT window.desk().findingsFailed(QStringLiteral("no order fits into 3 GiB"));
    EXPECT_EQ(dock->windowTitle(), QStringLiteral("FINDINGS"));
    EXPECT_TRUE(window.findings().text().contains(QStringLiteral("no order fits into 3 GiB")));
    EXPECT_TRUE(window.isSettled());
    Q_EMIT window.desk().findingsReady({finding(sim::FindingKind::bubble, sim::FindingSeverity::hint)});
    EXPECT_EQ(dock->windowTitle(), QStringLiteral("FINDINGS · 1")) << "whatever else is among them";
}

TEST_F(FindingsWindow, TextIsWholeAndDocksShareTheirPlaceWhereTheWindowIsLow)
{
    open("41-llama3-405b-8192-gpus.json");
    const auto* dock = window.findChild<QDockWidget*>(QStringLiteral("findings"));
    const auto* details = window.findChild<QDockWidget*>(QStringLiteral("details"));
    ASSERT_TRUE(dock && details);
    EXPECT_TRUE(window.tabifiedDockWidgets(const_cast<QDockWidget*>(details)).isEmpty());
    for (int round = 0; round < 10; ++round)
        QCoreApplication::processEvents();
    for (const QLabel* label : window.findings().findChildren<QLabel*>()) {
        if (label->isVisible() && !label->text().isEmpty()) {
            EXPECT_GE(label->height(), label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height())
                << label->text().toStdString();
        }
    }
    window.resize(1280, 720);
    QCoreApplication::processEvents();
    EXPECT_FALSE(window.tabifiedDockWidgets(const_cast<QDockWidget*>(details)).isEmpty());
    window.resize(1600, 1000);
    QCoreApplication::processEvents();
    EXPECT_TRUE(window.tabifiedDockWidgets(const_cast<QDockWidget*>(details)).isEmpty());
}

} // namespace
} // namespace app
