// The wheel and Tab as people take them for granted.
#include "app/shell/widgets/focus_habit.h"

#include <QApplication>
#include <QComboBox>
#include <QSpinBox>
#include <QTableWidget>
#include <QTest>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <gtest/gtest.h>

namespace app {
namespace {

void turn(QWidget& over)
{
    const QPointF at(over.width() / 2.0, over.height() / 2.0);
    QWheelEvent event(at, over.mapToGlobal(at), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&over, &event);
}

TEST(FocusHabit, TheWheelChangesWhatHasTheKeyboardAlone)
{
    const FocusHabit habit;
    QWidget page;
    auto* column = new QVBoxLayout(&page);
    auto *first = new QSpinBox, *second = new QSpinBox;
    auto* choices = new QComboBox;
    choices->addItems({QStringLiteral("a"), QStringLiteral("b")});
    for (QWidget* widget : std::initializer_list<QWidget*>{first, second, choices})
        column->addWidget(widget);
    for (QSpinBox* spin : {first, second})
        spin->setValue(5);
    page.show();
    QApplication::setActiveWindow(&page);
    first->setFocus();
    QCoreApplication::processEvents();
    ASSERT_TRUE(first->hasFocus());
    turn(*second);
    turn(*choices);
    EXPECT_EQ(second->value(), 5);
    EXPECT_EQ(choices->currentIndex(), 0);
    EXPECT_EQ(second->focusPolicy(), Qt::StrongFocus) << "nor does the wheel give it the keyboard";
    turn(*first);
    EXPECT_EQ(first->value(), 4);
}

TEST(FocusHabit, TabLeavesATable)
{
    const FocusHabit habit;
    QWidget page;
    auto* column = new QVBoxLayout(&page);
    auto* table = new QTableWidget(3, 3);
    auto* beside = new QSpinBox;
    column->addWidget(table);
    column->addWidget(beside);
    page.show();
    QApplication::setActiveWindow(&page);
    table->setFocus();
    QCoreApplication::processEvents();
    QTest::keyClick(table, Qt::Key_Tab);
    EXPECT_TRUE(beside->hasFocus());
}

} // namespace
} // namespace app
