// Preparing a tiny job takes as long as it takes; the window does not wait for it.
#include "app/shell/dialogs/train_dialog.h"

#include "sim/cancel.h"
#include "tests/app/session/session_fixtures.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace app {
namespace {

using namespace test;

class TrainDialogTest : public testing::Test {
protected:
    TrainDialog& dialog(SimulateFunction simulate)
    {
        return *new TrainDialog(sim::simulate(scenario(document(kLarge))), catalogue(), thisMachine(), nullptr,
                                std::move(simulate));
    }
    static QPushButton* button(const TrainDialog& dialog, const QString& text)
    {
        for (QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->text() == text)
                return button;
        return nullptr;
    }
    static QString seen(const TrainDialog& dialog)
    {
        QStringList texts;
        for (const QLabel* label : dialog.findChildren<QLabel*>())
            if (!label->isHidden())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }
    const QString kShrink = QStringLiteral("Shrink to a Tiny Model"), kStart = QStringLiteral("Start Training");
};

TEST_F(TrainDialogTest, SaysThatItPreparesAndCanBeLeft)
{
    std::atomic<int> begun{0}, cancelled{0};
    const std::thread::id here = std::this_thread::get_id();
    TrainDialog& shown = dialog([&](const sim::Scenario&, const sim::SimulateOptions&) -> SimulationPtr {
        EXPECT_NE(std::this_thread::get_id(), here);
        ++begun;
        while (!sim::cancelRequested())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++cancelled;
        throw sim::Cancelled();
    });
    shown.show();
    button(shown, kShrink)->click(); // comes back at once
    EXPECT_TRUE(shown.isPreparing());
    EXPECT_TRUE(seen(shown).contains(QStringLiteral("Preparing"))) << seen(shown).toStdString();
    EXPECT_FALSE(button(shown, kStart)->isEnabled());
    EXPECT_FALSE(button(shown, kShrink)->isEnabled());
    ASSERT_TRUE(waitFor([&] { return begun == 1; }));
    delete &shown;
    EXPECT_EQ(cancelled, 1);
}

TEST_F(TrainDialogTest, WhatCannotBePreparedIsTold)
{
    TrainDialog& shown =
        dialog([](const sim::Scenario&, const sim::SimulateOptions&) -> SimulationPtr { throw std::bad_alloc(); });
    shown.show();
    button(shown, kShrink)->click();
    ASSERT_TRUE(waitFor([&] { return !shown.isPreparing(); }));
    EXPECT_TRUE(seen(shown).contains(QStringLiteral("memory"))) << seen(shown).toStdString();
    EXPECT_FALSE(button(shown, kStart)->isEnabled());
    delete &shown;
}

TEST_F(TrainDialogTest, ATinyJobCanBeStarted)
{
    TrainDialog& shown = dialog(sim::simulate);
    shown.show();
    button(shown, kShrink)->setFocus();
    button(shown, kShrink)->click();
    EXPECT_NE(shown.focusWidget(), button(shown, QStringLiteral("Cancel"))) << "Enter would end it";
    ASSERT_TRUE(waitFor([&] { return !shown.isPreparing(); }));
    EXPECT_TRUE(shown.plan().fits) << shown.plan().problem.toStdString();
    EXPECT_TRUE(button(shown, kStart)->isEnabled());
    EXPECT_EQ(shown.focusWidget(), button(shown, kStart));
    delete &shown;
}

TEST_F(TrainDialogTest, OffersEmulatedGpusAndSaysWhatTheyAre)
{
    TrainDialog& shown = dialog(sim::simulate);
    shown.show();
    auto* const device = shown.findChild<QComboBox*>();
    ASSERT_GE(device->findData(QStringLiteral("emulated")), 0);
    EXPECT_FALSE(seen(shown).contains(QStringLiteral("a GPU that is not there"), Qt::CaseInsensitive));
    device->setCurrentIndex(device->findData(QStringLiteral("emulated")));
    EXPECT_TRUE(seen(shown).contains(QStringLiteral("a GPU that is not there"), Qt::CaseInsensitive))
        << seen(shown).toStdString();
    delete &shown;
}

} // namespace
} // namespace app
