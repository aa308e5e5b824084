// Every answer to a question has its letter.
#include "app/shell/widgets/mnemonic_habit.h"

#include <QApplication>
#include <QKeySequence>
#include <QMessageBox>
#include <QPushButton>
#include <QSet>
#include <QTest>

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(MnemonicHabit, GivesEachButtonOfAQuestionALetterOfItsOwn)
{
    const MnemonicHabit habit;
    QMessageBox box(QMessageBox::Question, QStringLiteral("Unsaved Changes"), QStringLiteral("Save the changes?"),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel);
    box.addButton(QStringLiteral("Save as Custom"), QMessageBox::ActionRole);
    box.addButton(QStringLiteral("&Help"), QMessageBox::HelpRole);
    box.show();
    QSet<QString> letters;
    for (const QAbstractButton* button : box.buttons()) {
        const QString letter = QKeySequence::mnemonic(button->text()).toString();
        EXPECT_FALSE(letter.isEmpty()) << button->text().toStdString();
        EXPECT_FALSE(letters.contains(letter)) << button->text().toStdString();
        letters.insert(letter);
    }
    EXPECT_TRUE(letters.contains(QStringLiteral("Alt+H"))) << "as it was";
    EXPECT_EQ(box.button(QMessageBox::Discard)->text(), QStringLiteral("&Discard"));
    box.activateWindow(); // keys of windows behind others are nobody's
    ASSERT_TRUE(QTest::qWaitForWindowActive(&box));
    QTest::keyClick(&box, Qt::Key_D, Qt::AltModifier);
    EXPECT_TRUE(QTest::qWaitFor([&] { return box.clickedButton() != nullptr; })) << "a button is seen to be pressed first";
    EXPECT_EQ(box.clickedButton(), box.button(QMessageBox::Discard));
}

} // namespace
} // namespace app
