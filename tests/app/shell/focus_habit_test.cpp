// The wheel, Tab and Undo as people take them for granted.
#include "app/shell/widgets/focus_habit.h"
#include "app/shell/widgets/style.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QRadioButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <gtest/gtest.h>

namespace app {
namespace {

/// Whether it took the wheel.
bool turn(QWidget& over)
{
    const QPointF at(over.width() / 2.0, over.height() / 2.0);
    QWheelEvent event(at, over.mapToGlobal(at), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&over, &event);
    return event.isAccepted();
}

TEST(FocusHabit, ReturnPressesAButtonThatHasTheKeyboard)
{
    const FocusHabit habit;
    QWidget page;
    auto* column = new QVBoxLayout(&page);
    auto* push = new QPushButton(QStringLiteral("a"));
    auto* tool = new QToolButton;
    auto* off = new QPushButton(QStringLiteral("b"));
    off->setEnabled(false);
    int pressed = 0;
    for (QAbstractButton* button : std::initializer_list<QAbstractButton*>{push, tool, off}) {
        column->addWidget(button);
        QObject::connect(button, &QAbstractButton::clicked, &page, [&pressed] { ++pressed; });
    }
    page.show();
    QTest::keyClick(push, Qt::Key_Return);
    EXPECT_EQ(pressed, 1);
    QTest::keyClick(tool, Qt::Key_Enter, Qt::KeypadModifier);
    EXPECT_EQ(pressed, 2);
    QTest::keyClick(push, Qt::Key_Return, Qt::ControlModifier);
    QTest::keyClick(off, Qt::Key_Return);
    EXPECT_EQ(pressed, 2);
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

/// A box that was closed with Esc has the keyboard still.
TEST(FocusHabit, TheWheelOverAPageTurnsNothingInItWhateverHasTheKeyboard)
{
    const FocusHabit habit;
    QScrollArea page;
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    auto* choices = new QComboBox;
    choices->addItems({QStringLiteral("a"), QStringLiteral("b")});
    auto* spin = new QSpinBox;
    auto* slider = new QSlider(Qt::Horizontal);
    for (QWidget* widget : std::initializer_list<QWidget*>{choices, spin, slider})
        column->addWidget(widget);
    spin->setValue(5);
    slider->setValue(5);
    page.setWidget(content);
    page.show();
    QApplication::setActiveWindow(&page);
    for (QWidget* widget : std::initializer_list<QWidget*>{choices, spin, slider}) {
        widget->setFocus();
        QCoreApplication::processEvents();
        ASSERT_TRUE(widget->hasFocus());
        EXPECT_FALSE(turn(*widget)) << "what it lies in gets it";
    }
    EXPECT_EQ(choices->currentIndex(), 0);
    EXPECT_EQ(spin->value(), 5);
    EXPECT_EQ(slider->value(), 5);
}

TEST(FocusRing, IsSeenOnWhatIsChosenAndOnButtonsOfEveryKind)
{
    for (const Theme* theme : {&lightTheme(), &darkTheme()}) {
        applyStyle(*theme, QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets"));
        QWidget page;
        auto* column = new QVBoxLayout(&page);
        auto* chosen = new QRadioButton(QStringLiteral("certain"));
        auto* commit = new QPushButton(QStringLiteral("Commit"));
        auto* other = new QPushButton(QStringLiteral("Back"));
        auto* tool = new QToolButton;
        auto* menu = new QToolButton;
        for (QToolButton* button : {tool, menu})
            button->setText(QStringLiteral("What if"));
        setRole(commit, "primary");
        setRole(menu, "button");
        for (QWidget* widget : std::initializer_list<QWidget*>{chosen, commit, other, tool, menu})
            column->addWidget(widget);
        chosen->setChecked(true);
        page.show();
        QApplication::setActiveWindow(&page);
        for (QWidget* widget : std::initializer_list<QWidget*>{chosen, commit, tool, menu}) {
            other->setFocus();
            const QImage without = widget->grab().toImage();
            widget->setFocus();
            ASSERT_TRUE(widget->hasFocus());
            const QImage with = widget->grab().toImage();
            ASSERT_EQ(with.size(), without.size()) << "nothing moves";
            int differ = 0;
            for (int y = 0; y < with.height(); ++y)
                for (int x = 0; x < with.width(); ++x)
                    differ += with.pixel(x, y) != without.pixel(x, y) ? 1 : 0;
            EXPECT_GE(differ, 2 * (with.width() + with.height()) * 4 / 5) << "all round it";
        }
    }
}

TEST(MessageBoxes, HaveTheProgramsOwnIconsAndNoneOnTheirButtons)
{
    const QString assets = QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets");
    applyStyle(lightTheme(), assets);
    for (const auto& [kind, name] : {std::pair{QMessageBox::Question, "question"}, {QMessageBox::Warning, "warning"}}) {
        QMessageBox box(kind, {}, QStringLiteral("Save the changes?"), QMessageBox::Save | QMessageBox::Cancel);
        box.ensurePolished();
        box.setIcon(kind);
        const QPixmap shown = box.iconPixmap();
        const QIcon own(assets + QStringLiteral("/icons/%1.svg").arg(QLatin1String(name)));
        ASSERT_FALSE(shown.isNull());
        EXPECT_EQ(shown.toImage(), own.pixmap(shown.deviceIndependentSize().toSize()).toImage()) << name;
        for (const QAbstractButton* button : box.buttons())
            EXPECT_TRUE(button->icon().isNull()) << button->text().toStdString();
    }
}

TEST(FocusHabit, AFieldInWhichNothingWasWrittenLeavesUndoToTheWindow)
{
    const FocusHabit habit;
    QWidget page;
    auto* edit = new QLineEdit(&page);
    auto* spin = new QSpinBox(&page);
    auto* choices = new QComboBox(&page);
    choices->setEditable(true);
    int undone = 0;
    QAction undo;
    undo.setShortcut(QKeySequence::Undo);
    QObject::connect(&undo, &QAction::triggered, &page, [&undone] { ++undone; });
    page.addAction(&undo);
    page.show();
    QApplication::setActiveWindow(&page);
    for (const auto& [field, line] :
         {std::pair<QWidget*, QLineEdit*>{edit, edit}, {spin, spin->findChild<QLineEdit*>()}, {choices, choices->lineEdit()}}) {
        undone = 0;
        const QString before = line->text();
        field->setFocus();
        const auto press = [field = field] { QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier); };
        press();
        EXPECT_EQ(undone, 1) << field->metaObject()->className();
        QTest::keyClicks(field, QStringLiteral("12"));
        ASSERT_NE(line->text(), before);
        press();
        EXPECT_EQ(undone, 1) << "the letters come first";
        EXPECT_EQ(line->text(), before);
        press();
        EXPECT_EQ(undone, 2) << field->metaObject()->className();
    }
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
