// One word for one thing: whatever the window labels bubble, anywhere, is the step's bubble as `simulate --json` has it.
#include "app/shell/dialogs/schedule_chooser.h"
#include "app/shell/dialogs/synthesis_dialog.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/order_editor_panel.h"
#include "app/shell/window/workspace.h"
#include "sim/analysis/findings/findings.h"
#include "tests/app/session/session_fixtures.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QLabel>
#include <QRegularExpression>

#include <gtest/gtest.h>

#include <cmath>

namespace app {
namespace {

using namespace test;

void gather(const QWidget& root, QStringList& texts)
{
    for (const auto* widget : root.findChildren<QWidget*>()) {
        texts << widget->accessibleName() << widget->accessibleDescription();
        if (const auto* label = qobject_cast<const QLabel*>(widget))
            texts << label->text();
        if (const auto* button = qobject_cast<const QAbstractButton*>(widget))
            texts << button->text();
        if (const auto* canvas = qobject_cast<const CanvasWidget*>(widget))
            for (const Node& node : canvas->nodes())
                texts << QString::fromStdString(node.name);
        if (const auto* items = qobject_cast<const QAbstractItemView*>(widget); items != nullptr && items->model() != nullptr)
            for (int row = 0; row < items->model()->rowCount(); ++row)
                for (int column = 0; column < items->model()->columnCount(); ++column)
                    for (const int role : {Qt::DisplayRole, Qt::AccessibleTextRole})
                        texts << items->model()->index(row, column).data(role).toString();
    }
}

/// "9.3" and "9.27" are both 9.2696.
bool isRounded(const QString& said, double value)
{
    const auto decimals = said.contains(QLatin1Char('.')) ? said.size() - said.indexOf(QLatin1Char('.')) - 1 : 0;
    return std::abs(said.toDouble() - value) <= 0.5001 * std::pow(10.0, -static_cast<double>(decimals));
}

class OneBubble : public testing::TestWithParam<const char*> {};

TEST_P(OneBubble, IsWhatEveryPlaceCallsBubble)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1600, 900);
    window.show();
    const auto settle = [&] { ASSERT_TRUE(waitFor([&] { return window.isSettled(); })); };
    ASSERT_TRUE(window.openFile(galleryFile(GetParam())).empty());
    settle();
    const double bubble = window.desk().simulation()->metrics().bubbleFraction;
    const QString said = percentQuantity(bubble).text();

    QStringList texts;
    for (const sim::Finding& finding : sim::findings(*window.desk().simulation(), window.session().document(), catalogue()))
        texts << QString::fromStdString(finding.title);
    gather(window, texts);
    window.run(CommandId::editOrder);
    QCoreApplication::processEvents();
    gather(window, texts);
    texts << QString::fromStdString(window.workspace().editor().draft()->verdict());
    EXPECT_TRUE(texts.last().contains(QLatin1String("slowest rank idle"))) << texts.last().toStdString();
    window.run(CommandId::chooseSchedule);
    auto* chooser = window.findChild<ScheduleChooser*>();
    ASSERT_TRUE(waitFor([&] { return chooser->isReady(); }));
    gather(*chooser, texts);
    chooser->reject();
    window.run(CommandId::findSchedule);
    auto* dialog = window.findChild<SynthesisDialog*>();
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->state().has_value(); }));
    gather(*dialog, texts);
    dialog->reject();

    const QRegularExpression wordFirst(QStringLiteral("\\bbubble:? *([0-9.]+) ?%"), QRegularExpression::CaseInsensitiveOption);
    const QRegularExpression wordLast(QStringLiteral("([0-9.]+) ?% of the step is bubble"));
    int checked = 0;
    for (const QString& text : texts)
        for (const QRegularExpression& pattern : {wordFirst, wordLast})
            for (auto match = pattern.globalMatch(text); match.hasNext(); ++checked) {
                const QString number = match.next().captured(1);
                EXPECT_TRUE(isRounded(number, 100 * bubble)) << text.toStdString() << ", is " << 100 * bubble;
            }
    EXPECT_GT(checked, 0);
    int cards = 0;
    for (const QLabel* label : window.findChildren<QLabel*>()) {
        if (label->text().compare(QLatin1String("Bubble"), Qt::CaseInsensitive) != 0)
            continue;
        const auto* card = qobject_cast<const MetricCard*>(label->parentWidget());
        if (card == nullptr)
            continue;
        ++cards;
        EXPECT_TRUE(card->accessibleDescription().contains(said.section(QLatin1Char(' '), 0, 0)))
            << card->accessibleDescription().toStdString();
    }
    EXPECT_EQ(cards, 1);
    for (const QLabel* label : dialog->findChildren<QLabel*>())
        EXPECT_FALSE(label->text().startsWith(QLatin1String("Bubble"))) << "the search knows pass times alone";
}

INSTANTIATE_TEST_SUITE_P(Of, OneBubble, testing::Values("45-llama3-70b-64-gpus.json", "17-schedule-1f1b.json"));

} // namespace
} // namespace app
