// Numbers of the form: typed, stepped and dragged; refused, and mended.
#include "app/shell/form/token_count.h"
#include "app/shell/widgets/groove_slider.h"
#include "tests/app/shell/scenario_form_fixture.h"

#include <QAction>
#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSlider>
#include <QToolButton>

#include <set>

namespace app {
namespace {

using namespace test;

TEST_F(FormTest, DigitsOnASliderAreWrittenIntoItsField)
{
    open(kSixteen);
    NumberRow& row = *form.row(Control::globalBatchSize);
    row.slider()->setFocus();
    QKeyEvent wanted(QEvent::ShortcutOverride, Qt::Key_6, Qt::NoModifier, QStringLiteral("6"));
    wanted.ignore();
    QCoreApplication::sendEvent(row.slider(), &wanted);
    EXPECT_TRUE(wanted.isAccepted()) << "no shortcut of the window takes it";
    QTest::keyClick(row.slider(), Qt::Key_6);
    QTest::keyClick(row.spinBox(), Qt::Key_4);
    EXPECT_EQ(row.spinBox()->text(), QStringLiteral("64"));
    QTest::keyClick(row.spinBox(), Qt::Key_Return);
    EXPECT_EQ(session.scenario()->training.globalBatchSize, 64);
    row.slider()->setFocus();
    for (const auto type : {QEvent::ShortcutOverride, QEvent::KeyPress}) {
        QKeyEvent usualSize(type, Qt::Key_0, Qt::ControlModifier, QStringLiteral("0"));
        usualSize.ignore();
        QCoreApplication::sendEvent(row.slider(), &usualSize);
        EXPECT_FALSE(usualSize.isAccepted()) << "a shortcut is no number";
        EXPECT_EQ(row.slider()->window()->focusWidget(), row.slider());
    }
}

TEST_F(FormTest, AClickOnAStepperTakesTheKeysFromTheSearch)
{
    open(kTiny);
    form.search(QStringLiteral("micro-b"));
    auto* search = form.findChild<QLineEdit*>();
    ASSERT_TRUE(search);
    search->setFocus();
    FormRow* row = form.row("/training/micro_batch_size");
    row->build();
    QCoreApplication::processEvents();
    QToolButton* step = nullptr;
    for (auto* button : row->findChildren<QToolButton*>())
        if (button->isEnabled() && button->accessibleName().startsWith(QStringLiteral("Micro-batch ")))
            step = button;
    ASSERT_TRUE(step);
    const QString before = nowText();
    QTest::mouseClick(step, Qt::LeftButton);
    EXPECT_NE(nowText(), before);
    EXPECT_FALSE(search->hasFocus()) << "Ctrl+Z would undo what was typed there";
    EXPECT_TRUE(form.row("/training/micro_batch_size")->spinBox()->hasFocus());
    EXPECT_TRUE(row->isWhyShown());
    session.undoStack().undo();
    form.search({});
}

TEST_F(FormTest, AnIllegalNumberStaysAndTheNearestLegalOnesAreOneClickAway)
{
    open(kSixteen);
    type(Control::tp, "3");
    NumberRow* row = form.row(Control::tp);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_FALSE(session.isLegal());
    EXPECT_TRUE(row->hasProblem());
    EXPECT_TRUE(row->problemLabel()->text().contains(QStringLiteral("use 2")));
    EXPECT_TRUE(row->problemLabel()->text().contains(QStringLiteral("use 4")));
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("4"));
    EXPECT_TRUE(session.isLegal());
    EXPECT_EQ(session.scenario()->layout.tp, 4);
    EXPECT_EQ(session.scenario()->layout.worldSize(), 16);
    EXPECT_FALSE(row->hasProblem());
}

/// Four GPUs, one of which would idle.
TEST_F(FormTest, ASizeThatCannotKeepTheGpusIsNotTakenWhereTheyAreToBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_EQ(nowText(), fileText());
    EXPECT_TRUE(row->hasProblem());
    for (const char* offer : {"use 2", "use 4"})
        EXPECT_TRUE(row->problemLabel()->text().contains(QLatin1String(offer))) << qPrintable(row->problemLabel()->text());
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("4"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4")) << "as it was";
    type(Control::pp, "3");
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("2"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(session.scenario()->layout.pp, 2);
    EXPECT_EQ(session.scenario()->layout.worldSize(), 4);
    type(Control::pp, "3");
    open("17-schedule-1f1b.json");
    EXPECT_FALSE(row->hasProblem()) << "it was of the scenario before";
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4"));
}

TEST_F(FormTest, ARefusedSizeIsTakenOnceTheGpusNeedNotBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    ASSERT_TRUE(row->hasProblem());
    QCheckBox* keeps = keepGpus();
    ASSERT_TRUE(keeps);
    keeps->setChecked(false);
    EXPECT_EQ(json(Control::pp), "3");
    EXPECT_FALSE(row->problemLabel()->text().contains(QStringLiteral("GPUs cannot be shared out")));
    keeps->setChecked(true);
}

TEST_F(FormTest, EachOfSeveralRefusedSizesIsTakenOnceTheGpusNeedNotBeKept)
{
    open("17-schedule-1f1b.json");
    type(Control::cp, "2");
    type(Control::pp, "3");
    NumberRow *slices = form.row(Control::cp), *stages = form.row(Control::pp);
    ASSERT_TRUE(slices->refused() && stages->refused()) << "the second leaves the first as it is";
    QCheckBox* keeps = keepGpus();
    ASSERT_TRUE(keeps);
    keeps->setChecked(false);
    EXPECT_EQ(json(Control::cp), "2");
    EXPECT_EQ(json(Control::pp), "3");
    for (NumberRow* row : {slices, stages})
        EXPECT_FALSE(row->refused() || row->problemLabel()->text().contains(QStringLiteral("GPUs cannot be shared out")));
    keeps->setChecked(true);
}

TEST_F(FormTest, ARefusedSizeStaysWhileWhatItWasJudgedByDoes)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    const QString why = row->problemLabel()->text();
    ASSERT_TRUE(row->refused() && why.contains(QStringLiteral("use 2")));
    type(Control::globalBatchSize, "64");
    ASSERT_EQ(json(Control::globalBatchSize), "64");
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("3"));
    EXPECT_EQ(row->problemLabel()->text(), why) << "with what is legal near it";
    Q_EMIT row->problemLabel()->linkActivated(QStringLiteral("2"));
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(json(Control::pp), "2");
}

TEST_F(FormTest, UndoAndRedoShowWhatTheScenarioHasInPlaceOfWhatWasNotTaken)
{
    open("17-schedule-1f1b.json");
    type(Control::globalBatchSize, "64");
    NumberRow *stages = form.row(Control::pp), *batch = form.row(Control::globalBatchSize);
    const auto typeBoth = [&] {
        type(Control::pp, "3");
        type(Control::globalBatchSize, "abc");
        ASSERT_TRUE(stages->refused() && stages->hasProblem() && batch->hasProblem());
    };
    const auto expectNothingTyped = [&](const char* batchText) {
        EXPECT_EQ(stages->spinBox()->text(), QStringLiteral("4"));
        EXPECT_EQ(batch->spinBox()->text(), QLatin1String(batchText));
        for (NumberRow* row : {stages, batch})
            EXPECT_FALSE(row->refused() || row->hasProblem());
    };
    const QString inFile = QString::fromStdString(std::to_string(session.savedScenario()->training.globalBatchSize));
    typeBoth();
    session.undoStack().undo();
    expectNothingTyped(inFile.toLatin1().constData());
    typeBoth();
    session.undoStack().redo();
    expectNothingTyped("64");
}

TEST_F(FormTest, EscapeGivesUpWhatWasTypedAndOfTextNothingIsNear)
{
    open(kSixteen);
    NumberRow* row = form.row(Control::tp);
    const QString before = row->spinBox()->text(), text = nowText();
    type(Control::tp, "abc");
    EXPECT_TRUE(row->problemLabel()->text().contains(QStringLiteral("“abc” is not a number")));
    EXPECT_FALSE(row->problemLabel()->text().contains(QStringLiteral("use "))) << qPrintable(row->problemLabel()->text());
    QTest::keyClick(row->spinBox(), Qt::Key_Escape);
    EXPECT_EQ(row->spinBox()->text(), before);
    EXPECT_FALSE(row->hasProblem());
    QTest::keyClicks(row->spinBox(), QStringLiteral("7")); // not entered yet
    QTest::keyClick(row->spinBox(), Qt::Key_Escape);
    EXPECT_EQ(row->spinBox()->text(), before);
    EXPECT_EQ(nowText(), text);
}

TEST_F(FormTest, ARefusedSizeIsGivenUpWithTheGpusThatItWasJudgedBy)
{
    open("17-schedule-1f1b.json");
    type(Control::pp, "3");
    NumberRow* row = form.row(Control::pp);
    ASSERT_TRUE(row->hasProblem());
    type(Control::nodes, "2");
    ASSERT_TRUE(session.isLegal());
    EXPECT_FALSE(row->hasProblem()) << row->problemLabel()->text().toStdString();
    EXPECT_EQ(row->spinBox()->text().toStdString(), json(Control::pp));
}

TEST_F(FormTest, StepsGoOnFromARefusedNumber)
{
    open("17-schedule-1f1b.json");
    NumberRow* row = form.row(Control::pp);
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(1);
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("4")) << "which is in force, and the largest";
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(nowText(), fileText());
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(-1);
    EXPECT_EQ(json(Control::pp), "2");
    EXPECT_FALSE(row->hasProblem());
    type(Control::pp, "3");
    ASSERT_TRUE(row->hasProblem());
    row->spinBox()->stepBy(-1);
    EXPECT_EQ(json(Control::pp), "2") << "in force, and below what is shown";
    EXPECT_FALSE(row->hasProblem());
}

TEST(ScenarioFormWaiting, OffersNothingThatWasLegalBeforeTheChange)
{
    Session session(catalogue(), {});
    ScenarioForm form(session);
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    const auto judge = [&] {
        form.setLegalValues(legalValues(session.document(), catalogue(), *session.scenario(), form.layoutRule()));
    };
    judge();
    NumberRow* batch = form.row(Control::globalBatchSize);
    const auto offers = [&] { return batch->problemLabel()->text().contains(QStringLiteral("use ")); };
    session.edit(makeKeyEdit(std::string(Control::globalBatchSize), "7", "batch", "", "7"));
    EXPECT_TRUE(batch->hasProblem());
    EXPECT_FALSE(offers());
    judge();
    EXPECT_TRUE(offers());
}

TEST_F(FormTest, WhatIsNoNumberStaysAsTypedAndChangesNothing)
{
    open(kSixteen);
    type(Control::sequenceLength, "many");
    NumberRow* row = form.row(Control::sequenceLength);
    EXPECT_EQ(nowText(), fileText());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("many"));
    EXPECT_TRUE(row->hasProblem());
    type(Control::globalBatchSize, "64"); // another edit does not wipe it out
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("many"));
    type(Control::sequenceLength, "16,384");
    EXPECT_EQ(json(Control::sequenceLength), "16384");
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(row->spinBox()->text(), QStringLiteral("16,384"));
}

TEST_F(FormTest, TheValueInForceTypedAgainMendsWhatWasTyped)
{
    open(kSixteen);
    type(Control::tp, "x");
    EXPECT_TRUE(form.row(Control::tp)->hasProblem());
    type(Control::tp, "2");
    EXPECT_FALSE(form.row(Control::tp)->hasProblem());
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, AnEmptyFieldIsTheDefault)
{
    open(kSixteen);
    type("/cluster/gpu/memory_gib", "141");
    EXPECT_EQ(session.scenario()->cluster.gpu.memoryGib, 141);
    type("/cluster/gpu/memory_gib", "\b");
    EXPECT_EQ(session.scenario()->cluster.gpu.memoryGib, 80);
}

TEST_F(FormTest, SharesMayBeTypedAsPercent)
{
    EXPECT_EQ(typedNumber(QStringLiteral("75 %"), true), 0.75);
    EXPECT_EQ(typedNumber(QStringLiteral("75 %"), false), std::nullopt);
    EXPECT_EQ(typedNumber(QStringLiteral(" 16,384 "), false), 16384);
    EXPECT_EQ(typedNumber(QStringLiteral("1,234,567.5"), false), 1234567.5);
    EXPECT_EQ(typedNumber(QStringLiteral("19,5"), false), 19.5) << "as many write it";
    EXPECT_EQ(typedNumber(QStringLiteral("12,5 %"), true), 0.125);
    EXPECT_EQ(typedNumber(QStringLiteral("1,23,4"), false), std::nullopt);
    EXPECT_EQ(typedTokenCount(QStringLiteral("1,5T")), 1.5e12);
    EXPECT_EQ(typedNumber(QStringLiteral("1e400"), false), std::nullopt);
}

TEST(TokenCount, IsToldAndReadAsPeopleSayIt)
{
    for (const auto& [typed, tokens] : {std::pair{"15T", 15e12},
                                        {"15 t", 15e12},
                                        {"1.5e13", 15e12},
                                        {"400B", 400e9},
                                        {"1.1 T", 1.1e12},
                                        {"15,000,000,000,000", 15e12},
                                        {"250M", 250e6},
                                        {"15 trillion", 15e12},
                                        {"1.5 Billion tokens", 1.5e9},
                                        {"250million", 250e6},
                                        {"20 thousand", 20e3},
                                        {"2T tokens", 2e12},
                                        {"15 tokens", 15.0},
                                        {"7", 7.0}})
        EXPECT_EQ(typedTokenCount(QString::fromLatin1(typed)), tokens) << typed;
    for (const char* none : {"T", "trillion", "tokens", "15 zillion", "many", ""})
        EXPECT_EQ(typedTokenCount(QString::fromLatin1(none)), std::nullopt) << none;
    EXPECT_EQ(tokenCountText(15e12), QStringLiteral("15 T"));
    EXPECT_EQ(tokenCountText(1.1e12), QStringLiteral("1.1 T"));
    EXPECT_EQ(tokenCountText(400e9), QStringLiteral("400 B"));
    EXPECT_EQ(tokenCountText(1234567890123), QStringLiteral("1,234,567,890,123")) << "few digits would not say it";
    EXPECT_EQ(tokenCountText(250'000), QStringLiteral("250,000"));
    for (const double tokens : {1e18, 9.5e17, 123'456'000.0, 999'999'999.0})
        EXPECT_EQ(typedTokenCount(tokenCountText(tokens)), tokens) << tokenCountText(tokens).toStdString();
}

TEST_F(FormTest, SlidersHaveNoHandleUntilTheirStopsAreKnown)
{
    open(kSixteen);
    GrooveSlider* slider = form.row(Control::tp)->slider();
    ASSERT_TRUE(slider->isKnown());
    const QImage known = slider->grab().toImage();
    bool isKnownBefore = true;
    QImage unknown;
    const QObject here;
    QObject::connect(&session, &Session::opened, &here, [&] {
        isKnownBefore = slider->isKnown();
        unknown = slider->grab().toImage();
    });
    open(kSixteen);
    EXPECT_FALSE(isKnownBefore) << "what was known was of the scenario before";
    EXPECT_TRUE(slider->isKnown());
    std::set<QRgb> rows; // a groove is the same all along
    const int middle = unknown.height() / 2;
    for (int x = unknown.width() / 8; x < unknown.width() * 7 / 8; ++x)
        rows.insert(unknown.pixel(x, middle));
    EXPECT_EQ(rows.size(), 1U) << "no handle";
    EXPECT_NE(known, unknown);
}

TEST_F(FormTest, TokensOfTheWholeRunBeginAtWhatIsReckonedWith)
{
    open(kSixteen);
    unfoldAll();
    constexpr std::string_view kTokens = "/training/tokens";
    auto* row = qobject_cast<NumberRow*>(form.row(kTokens));
    ASSERT_TRUE(row);
    LegalSpinBox* spin = row->spinBox();
    EXPECT_EQ(spin->text(), QString());
    spin->stepBy(1);
    EXPECT_EQ(session.scenario()->training.tokens, 1e12);
    EXPECT_EQ(spin->text(), QStringLiteral("1 T"));
    spin->stepBy(1);
    EXPECT_EQ(spin->text(), QStringLiteral("1.5 T"));
    row->slider()->setValue(row->slider()->maximum());
    EXPECT_EQ(spin->text(), QStringLiteral("20 T"));
    row->slider()->setValue(0);
    EXPECT_EQ(spin->text(), QStringLiteral("1 B"));
    type(kTokens, "15T");
    EXPECT_FALSE(row->hasProblem());
    EXPECT_EQ(json(kTokens), "15000000000000");
    EXPECT_EQ(spin->text(), QStringLiteral("15 T"));
    type(kTokens, "1234567890123");
    EXPECT_EQ(spin->text(), QStringLiteral("1,234,567,890,123"));
    EXPECT_GE(spin->width(), spin->fontMetrics().horizontalAdvance(spin->text())) << "all digits are seen";
    type(kTokens, "\b");
    EXPECT_EQ(json(kTokens), "nothing");
    EXPECT_EQ(spin->width(), 64);
}

TEST_F(FormTest, ADragIsOneStep)
{
    open(kSixteen);
    QSlider* slider = form.row(Control::globalBatchSize)->slider();
    ASSERT_GT(slider->maximum(), 4);
    slider->setSliderDown(true);
    for (int position = 0; position < 4; ++position)
        slider->setValue(position);
    slider->setSliderDown(false);
    EXPECT_EQ(session.undoStack().count(), 1);
    session.undoStack().undo();
    EXPECT_EQ(nowText(), fileText());
}

TEST_F(FormTest, ARightClickOnAStepperHoldsAndFreesBeforeItCopies)
{
    open(kTiny);
    const auto menu = form.row("/layout/tp")->spinBox()->makeMenu();
    QStringList texts;
    for (const QAction* action : menu->actions())
        texts << action->text();
    ASSERT_GE(texts.size(), 4);
    EXPECT_TRUE(texts[0].startsWith(QStringLiteral("Hold "))) << texts.join(QLatin1Char('|')).toStdString();
    EXPECT_TRUE(texts[1].startsWith(QStringLiteral("Free ")));
    EXPECT_TRUE(menu->actions().at(2)->isSeparator());
    EXPECT_FALSE(texts.filter(QStringLiteral("Paste")).isEmpty());
    QString planned;
    const auto heard = QObject::connect(&form, &ScenarioForm::planRequested, [&](const QString& pointer) { planned = pointer; });
    menu->actions().at(0)->trigger();
    QObject::disconnect(heard);
    EXPECT_EQ(planned, QStringLiteral("layout.tp"));
}

} // namespace
} // namespace app
