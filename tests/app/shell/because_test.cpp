#include "app/shell/widgets/because_popup.h"
#include "sim/analysis/sensitivity.h"

#include "app/shell/details/details_panel.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/workspace.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QTest>
#include <QTreeWidget>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

SimulationPtr simulationOf(const char* name)
{
    return sim::simulate(scenario(document(name)));
}

class BecauseTest : public testing::Test {
protected:
    BecauseTest()
    {
        panel.setSimulation(simulationOf(kLarge), std::nullopt);
        panel.resize(300, 800);
        panel.show();
    }
    void letGpusFail()
    {
        auto failing = document(kLarge);
        failing.set("/perturbations", R"([{"kind":"failure","mtbf_hours":45565}])");
        const SimulationPtr simulation = sim::simulate(scenario(failing));
        panel.setSimulation(simulation, std::nullopt, sim::goodput(*simulation));
        QCoreApplication::processEvents();
    }
    MetricCard* card(const char* title)
    {
        for (MetricCard* card : panel.findChildren<MetricCard*>())
            if (card->accessibleName() == QLatin1String(title))
                return card;
        return nullptr;
    }
    BecausePopup* opened()
    {
        const auto all = panel.findChildren<BecausePopup*>();
        const auto found = std::find_if(all.begin(), all.end(), [](const BecausePopup* p) { return p->isVisible(); });
        return found == all.end() ? nullptr : *found;
    }

    DetailsPanel panel;
};

TEST_F(BecauseTest, CardsOfAStepThatDoesNotFitSayThatItCannotRun)
{
    const auto says = [this](const char* title, const char* words) {
        const auto labels = card(title)->findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* label) { return label->text().contains(QLatin1String(words)); });
    };
    ASSERT_TRUE(card("Step time"));
    EXPECT_FALSE(says("Step time", "does not fit"));
    auto large = document(kLarge);
    large.set("/cluster/gpu/memory_gib", "1");
    const SimulationPtr simulation = sim::simulate(scenario(large));
    ASSERT_FALSE(simulation->metrics().fits);
    panel.setSimulation(simulation, std::nullopt);
    EXPECT_TRUE(says("Step time", "does not fit"));
    EXPECT_TRUE(says("Step time", " GiB; if it did:"));
    for (const char* title : {"Tokens/s", "MFU"})
        EXPECT_TRUE(says(title, "if it fitted")) << title;
    auto offloaded = document("86-sizing-7b.json");
    offloaded.set("/training/offload", R"({"optimizer":1})");
    panel.setSimulation(sim::simulate(scenario(offloaded)), std::nullopt);
    EXPECT_FALSE(says("Step time", "does not fit"));
    offloaded.set("/cluster/host/memory_gib", "30");
    const SimulationPtr onFullHosts = sim::simulate(scenario(offloaded));
    ASSERT_TRUE(onFullHosts->metrics().fits);
    panel.setSimulation(onFullHosts, std::nullopt);
    EXPECT_TRUE(says("Step time", " GiB of a host; if it did:"));
    EXPECT_TRUE(says("MFU", "if it fitted"));
    auto capped = document("73-schedule-auto.json");
    capped.set("/schedule/memory_cap_gib", "3");
    const SimulationPtr overItsCap = sim::simulate(scenario(capped));
    ASSERT_TRUE(overItsCap->metrics().fits);
    panel.setSimulation(overItsCap, std::nullopt);
    EXPECT_TRUE(says("Step time", " of 3 GiB of the schedule's cap; if it did:"));
    EXPECT_TRUE(says("Peak memory of the fullest rank", "does not fit</b> in 3.00 GiB")) << "as the step";
}

TEST_F(BecauseTest, GoodputIsShownWhereGpusFailAndOpensItsFactors)
{
    EXPECT_TRUE(card("Goodput")->isHidden()) << "nothing fails";
    QTest::keyClick(card("Goodput"), Qt::Key_Return);
    EXPECT_FALSE(opened());
    letGpusFail();
    ASSERT_TRUE(card("Goodput")->isVisible());
    QTest::mouseClick(card("Goodput"), Qt::LeftButton);
    const BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    EXPECT_TRUE(popup->text().contains(QStringLiteral("G = u_r × u_w × u_s"))) << popup->text().toStdString();
    EXPECT_GT(popup->shown().result.value, 0.9);
}

TEST_F(BecauseTest, AClickOnANumberOpensItsFormulaWithItsValues)
{
    QTest::mouseClick(card("MFU"), Qt::LeftButton);
    const BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    EXPECT_TRUE(popup->text().contains(QStringLiteral("MFU = C / (T × N × P)"))) << popup->text().toStdString();
    EXPECT_TRUE(popup->text().contains(QStringLiteral("16,384")));
    EXPECT_TRUE(popup->text().contains(QStringLiteral("PaLM")));
    EXPECT_TRUE(popup->accessibleName().contains(QStringLiteral("× 989 TFLOP/s")));
    EXPECT_EQ(card("MFU")->accessibleDescription(), QString::fromStdString(popup->shown().valueText()));
}

TEST_F(BecauseTest, TheStepTimeSaysWhichConstantsItHangsOn)
{
    QTest::mouseClick(card("Step time"), Qt::LeftButton);
    const BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    const std::string told = sim::sensitivityText(sim::sensitivities(*simulationOf(kLarge)));
    EXPECT_NE(told, "");
    const auto isTold = [&] { return popup->text().contains(QString::fromStdString(told)); };
    EXPECT_TRUE(QTest::qWaitFor(isTold, 20'000)) << popup->text().toStdString(); // a worker works them out
}

TEST_F(BecauseTest, TheKeyboardReachesEveryCardAndTheTerms)
{
    letGpusFail(); // every card is there
    for (MetricCard* each : panel.findChildren<MetricCard*>()) {
        EXPECT_NE(each->focusPolicy(), Qt::NoFocus);
        each->setFocus();
        QTest::keyClick(each, Qt::Key_Return);
        BecausePopup* popup = opened();
        ASSERT_TRUE(popup) << each->accessibleName().toStdString();
        EXPECT_FALSE(popup->text().isEmpty());
        QTest::keyClick(popup, Qt::Key_Escape);
        EXPECT_FALSE(popup->isVisible());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
}

TEST_F(BecauseTest, TermsOpenToWhatTheyConsistOf)
{
    QTest::keyClick(card("Step time"), Qt::Key_Space);
    BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    auto* terms = popup->findChild<QTreeWidget*>();
    ASSERT_GT(terms->topLevelItemCount(), 3);
    QTreeWidgetItem* first = terms->topLevelItem(0);
    EXPECT_EQ(first->text(2), QStringLiteral("model FLOPs at peak speed"));
    const int before = popup->height();
    terms->setCurrentItem(first);
    QTest::keyClick(terms, Qt::Key_Right);
    EXPECT_TRUE(first->isExpanded());
    EXPECT_TRUE(first->child(0)->text(0).startsWith(QStringLiteral("t_model = C / (N × P) = ")))
        << first->child(0)->text(0).toStdString();
    EXPECT_GT(popup->height(), before);
}

TEST_F(BecauseTest, OtherConventionsAreAClickAway)
{
    QTest::mouseClick(card("MFU"), Qt::LeftButton);
    BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    const double causal = popup->shown().result.value;
    for (QPushButton* choice : popup->findChildren<QPushButton*>())
        if (choice->text() == QStringLiteral("MFU, full attention"))
            choice->click();
    EXPECT_GT(popup->shown().result.value, causal);
    EXPECT_TRUE(popup->isVisible());
}

TEST_F(BecauseTest, MemoryIsThatOfTheRankPointedAt)
{
    panel.setRank(16383);
    QTest::mouseClick(card("Peak memory of rank 16,383"), Qt::LeftButton);
    ASSERT_TRUE(opened());
    EXPECT_EQ(opened()->shown().show.ranks, std::vector<int>{16383});
    EXPECT_EQ(card("Peak memory of rank 16,383")->accessibleDescription(), QString::fromStdString(opened()->shown().valueText()));
}

TEST_F(BecauseTest, OnASmallScreenItScrollsAndCutsNothing)
{
    // Of 1280 x 720 with text at 200 %; of 1024 x 640 with it.
    for (const QSize room : {QSize(640, 360), QSize(512, 320)}) {
        QTest::mouseClick(card("Step time"), Qt::LeftButton);
        BecausePopup* popup = opened();
        ASSERT_TRUE(popup);
        popup->fitInto(room);
        QCoreApplication::processEvents();
        EXPECT_LE(popup->width(), room.width());
        EXPECT_LE(popup->height(), room.height());
        const auto* scroll = popup->findChild<QScrollArea*>();
        ASSERT_TRUE(scroll);
        EXPECT_LE(scroll->widget()->width(), scroll->viewport()->width()) << "only up and down";
        for (const QLabel* label : popup->findChildren<QLabel*>()) {
            EXPECT_TRUE(!label->isVisibleTo(popup) || label->height() >= label->heightForWidth(label->width()))
                << label->text().toStdString();
        }
        EXPECT_GE(popup->findChild<QTreeWidget*>()->height(), 3 * 24);
        popup->close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
}

TEST_F(BecauseTest, ManyChoicesTakeSeveralLines)
{
    std::vector<BecauseSubject> many;
    for (int i = 0; i < 14; ++i)
        many.push_back(
            {QStringLiteral("input gradient %1").arg(i), [] { return sim::explain(*simulationOf(kLarge), sim::MetricId::mfu); }});
    BecausePopup popup(std::move(many));
    popup.setAttribute(Qt::WA_DeleteOnClose, false);
    popup.openBeside(panel);
    QCoreApplication::processEvents();
    int lines = 0, lastTop = -1;
    for (const QPushButton* choice : popup.findChildren<QPushButton*>()) {
        if (!choice->isCheckable())
            continue;
        EXPECT_LE(choice->geometry().right(), popup.width());
        EXPECT_GE(choice->width(), choice->sizeHint().width()) << choice->text().toStdString();
        lines += choice->y() != lastTop ? 1 : 0;
        lastTop = choice->y();
    }
    EXPECT_GT(lines, 1);
}

TEST_F(BecauseTest, ShowMeClosesAndSaysWhereToLook)
{
    std::optional<sim::ShowHint> hint;
    QObject::connect(&panel, &DetailsPanel::showRequested, [&](const sim::ShowHint& asked) { hint = asked; });
    QTest::mouseClick(card("Exposed communication"), Qt::LeftButton);
    BecausePopup* popup = opened();
    ASSERT_TRUE(popup);
    for (QPushButton* each : popup->findChildren<QPushButton*>())
        if (each->text() == QStringLiteral("Show me"))
            each->click();
    EXPECT_FALSE(opened());
    ASSERT_TRUE(hint);
    EXPECT_TRUE(std::find(hint->classes.begin(), hint->classes.end(), sim::OpClass::tpComm) != hint->classes.end());
}

TEST_F(BecauseTest, StaysOnTheScreenAndHoldsItsText)
{
    letGpusFail(); // every card is there
    for (MetricCard* each : panel.findChildren<MetricCard*>()) {
        QTest::mouseClick(each, Qt::LeftButton);
        BecausePopup* popup = opened();
        ASSERT_TRUE(popup);
        QCoreApplication::processEvents();
        EXPECT_TRUE(popup->screen()->availableGeometry().contains(popup->geometry())) << each->accessibleName().toStdString();
        popup->close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
}

TEST(BecauseOfTraffic, OpensInTheSamePopupFromThePicture)
{
    Desk desk(catalogue(), {}, std::vector<PrepareFunction>(pictures().size()));
    ASSERT_TRUE(desk.session().open(galleryFile(kLarge)).empty());
    Workspace workspace(desk, Renderer::software);
    workspace.resize(1200, 800);
    workspace.showOnly(Picture::traffic);
    workspace.show();
    ASSERT_TRUE(waitFor([&] { return desk.simulation() != nullptr; }));
    QCoreApplication::processEvents();
    CanvasWidget& canvas = workspace.canvas(Picture::traffic);
    const auto& nodes = canvas.nodes();
    const auto mark = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.role == "button"; });
    ASSERT_NE(mark, nodes.end());
    const std::string heard = mark->name;
    const Rect rect = mark->rect;
    QTest::mouseClick(&canvas, Qt::LeftButton, {},
                      QPoint(qRound((rect.left + rect.right) / 2), qRound((rect.top + rect.bottom) / 2)));
    const auto popups = workspace.findChildren<BecausePopup*>();
    ASSERT_EQ(popups.size(), 1);
    EXPECT_TRUE(popups.front()->isVisible());
    EXPECT_NE(heard.find(popups.front()->shown().inSymbols()), std::string::npos);
    EXPECT_GT(popups.front()->findChild<QTreeWidget*>()->topLevelItemCount(), 1);
    EXPECT_TRUE(popups.front()->text().contains(QStringLiteral("Source: "))) << popups.front()->text().toStdString();
}

TEST(BecauseWithoutAStep, NothingOpens)
{
    DetailsPanel panel;
    for (MetricCard* card : panel.findChildren<MetricCard*>())
        QTest::keyClick(card, Qt::Key_Return);
    EXPECT_EQ(panel.findChildren<BecausePopup*>().size(), 0);
}

} // namespace
} // namespace app
