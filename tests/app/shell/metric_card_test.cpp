// Numbers beside each other.
#include "app/shell/widgets/card_row.h"
#include "app/shell/widgets/metric_card.h"

#include <QApplication>
#include <QLabel>

#include <gtest/gtest.h>

namespace app {
namespace {

QLabel* labelOf(const MetricCard& card, const QString& text)
{
    for (QLabel* label : card.findChildren<QLabel*>())
        if (label->text() == text)
            return label;
    ADD_FAILURE() << "nothing says " << text.toStdString();
    return nullptr;
}

TEST(MetricCard, TitlesAndNumbersStandAtOneHeightWhateverIsSaidBelowThem)
{
    const QString few = QStringLiteral("175 a GPU");
    const QString many =
        QStringLiteral("likely 5.42 to 6.56 s, which is as sure as anybody can be who has not run it, and as long as "
                       "two lines of a card, or three");
    auto* wordy = new MetricCard(QStringLiteral("Step time"), Better::lower);
    auto* brief = new MetricCard(QStringLiteral("Tokens/s"), Better::higher);
    wordy->setValue({QStringLiteral("5.84"), QStringLiteral("s")});
    brief->setValue({QStringLiteral("2.87"), QStringLiteral("M")});
    wordy->setNote(many);
    brief->setNote(few);
    CardRow row({wordy, brief});
    row.resize(700, 220);
    row.show();
    QApplication::processEvents();
    ASSERT_EQ(wordy->y(), brief->y());
    ASSERT_GT(labelOf(*wordy, many)->height(), labelOf(*brief, few)->height());
    const auto middleOf = [&](const MetricCard& card, const QString& text) {
        const QLabel* label = labelOf(card, text);
        return label->mapTo(&row, QPoint(0, label->height() / 2)).y();
    };
    EXPECT_EQ(middleOf(*wordy, QStringLiteral("Step time")), middleOf(*brief, QStringLiteral("Tokens/s")));
    EXPECT_EQ(middleOf(*wordy, QStringLiteral("5.84")), middleOf(*brief, QStringLiteral("2.87")));
}

} // namespace
} // namespace app
