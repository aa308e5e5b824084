// What one answers with: each input by mouse, keys and words.
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/curve_input.h"
#include "app/lessons/list_inputs.h"
#include "app/lessons/order_editor_dialog.h"
#include "app/lessons/typed_number.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QAccessible>
#include <QApplication>
#include <QDoubleSpinBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QRadioButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSlider>
#include <QTemporaryDir>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace app {
namespace {

using namespace test;

TEST(CurveInput, IsDrawnByDraggingAndByKeysAndSpoken)
{
    CurveInput curve({QStringLiteral("0"), QStringLiteral("1"), QStringLiteral("2"), QStringLiteral("3")}, QStringLiteral("GiB"),
                     {0, 10}, 1, 1);
    curve.resize(300, 200);
    int changes = 0;
    QObject::connect(&curve, &AnswerInput::changed, &curve, [&] { ++changes; });
    const auto mouse = [&](QEvent::Type type, QPointF at) {
        QMouseEvent event(type, at, at, Qt::LeftButton, type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton,
                          Qt::NoModifier);
        QCoreApplication::sendEvent(&curve, &event);
    };
    EXPECT_TRUE(curve.value().is_null());
    mouse(QEvent::MouseButtonPress, {0, 0});
    EXPECT_TRUE(curve.value().is_null()) << "one place of four";
    EXPECT_TRUE(curve.accessibleDescription().contains(QStringLiteral("3 of 4 places are empty")))
        << qPrintable(curve.accessibleDescription());
    mouse(QEvent::MouseMove, {299, 199}); // fast, over all places
    mouse(QEvent::MouseButtonRelease, {299, 199});
    const auto drawn = curve.value().get<std::vector<double>>();
    ASSERT_EQ(drawn.size(), 4U);
    EXPECT_EQ(drawn.front(), 10);
    EXPECT_EQ(drawn.back(), 0);
    EXPECT_NEAR(drawn[1], 10 - 10.0 / 3, 0.01) << "what the drag jumped over lies between";
    const auto key = [&](Qt::Key pressed) {
        QKeyEvent event(QEvent::KeyPress, pressed, Qt::NoModifier);
        QCoreApplication::sendEvent(&curve, &event);
    };
    key(Qt::Key_Home);
    key(Qt::Key_Right);
    EXPECT_EQ(curve.place(), 1);
    key(Qt::Key_Down);
    EXPECT_NEAR(curve.value()[1].get<double>(), drawn[1] - 1, 1e-9);
    EXPECT_TRUE(curve.accessibleDescription().startsWith(QStringLiteral("At 1: 5.67 GiB")))
        << qPrintable(curve.accessibleDescription());
    key(Qt::Key_PageUp);
    EXPECT_EQ(curve.value()[1].get<double>(), 10) << "not over the range";
    EXPECT_GE(changes, 4);
    curve.setEngines({1, 2, 3, 4});
    key(Qt::Key_Down);
    EXPECT_EQ(curve.value()[1].get<double>(), 10) << "what is committed stays";
    EXPECT_TRUE(curve.accessibleDescription().contains(QStringLiteral("the engine: 2 GiB")))
        << qPrintable(curve.accessibleDescription());
}

TEST(CurveInput, HasAxesAndTellsTheValueUnderThePointer)
{
    CurveInput curve({QStringLiteral("1"), QStringLiteral("2"), QStringLiteral("4")}, QStringLiteral("%"), {0, 0.8}, 100, 0);
    curve.setAlong(QStringLiteral("virtual stages"));
    curve.resize(320, 200);
    const std::vector<double> ticks = curve.ticks();
    ASSERT_GE(ticks.size(), 3U);
    EXPECT_EQ(ticks.front(), 0);
    for (const double tick : ticks) // round numbers, as they are written
        EXPECT_NEAR(std::remainder(tick * 100, 5), 0, 1e-9) << tick;
    EXPECT_TRUE(curve.readout().isEmpty());
    const auto move = [&](QPointF at) {
        QMouseEvent event(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&curve, &event);
    };
    move({318, 0});
    EXPECT_EQ(curve.readout(), QStringLiteral("4 virtual stages: 80 %"));
    EXPECT_TRUE(curve.value().is_null()) << "pointing draws nothing";
    curve.setValue({0.5, 0.25, 0.125});
    curve.setAnswered();
    curve.setEngines({0.5, 0.35, 0.24});
    move({318, 0});
    EXPECT_EQ(curve.readout(), QStringLiteral("4 virtual stages: you 12.5 %, the engine 24 %"));
    curve.fitInto(120);
    EXPECT_LT(curve.sizeHint().height(), 110) << "leaves room for the reason";
    curve.resize(320, curve.sizeHint().height());
    EXPECT_GE(curve.ticks().size(), 2U) << "an axis all the same";
}

TEST(OrderInput, ShowsCardsWithHandlesThatCutNoWords)
{
    OrderInput input(
        {QStringLiteral("short"), QStringLiteral("a card of so many words that no panel has room for them in one line")},
        nullptr);
    input.resize(260, 200);
    input.show();
    QCoreApplication::processEvents();
    auto* list = input.findChild<SortedList*>();
    ASSERT_TRUE(list);
    ASSERT_EQ(list->count(), 2);
    for (int row = 0; row < 2; ++row)
        EXPECT_FALSE(list->item(row)->icon().isNull());
    EXPECT_GT(list->visualItemRect(list->item(1)).height(), list->visualItemRect(list->item(0)).height() + 10);
    EXPECT_GE(list->height(), list->visualItemRect(list->item(1)).bottom()) << "nothing to scroll";
    EXPECT_TRUE(input.value().is_null()) << "nobody has said that it is right as it stands";
    Q_EMIT list->itemClicked(list->item(1));
    EXPECT_EQ(input.value(), (sim::LessonValue{0, 1}));
}

TEST(ActionsInput, LeavesOutTheStageThatAllAreOfAndAnswersWithIt)
{
    ActionsInput input({QStringLiteral("0F0 0B0"), QStringLiteral("1F0 3F0 1B0 3B0")}, {1, 1, 1, 0}, nullptr);
    const auto lists = input.findChildren<SortedList*>();
    ASSERT_EQ(lists.size(), 2);
    EXPECT_EQ(lists[0]->item(0)->text(), QStringLiteral("F0"));
    EXPECT_EQ(lists[1]->item(1)->text(), QStringLiteral("3F0")) << "of two stages";
    lists[0]->setCurrentRow(0);
    lists[0]->moveCurrent(1);
    EXPECT_EQ(input.value(), (sim::LessonValue{"0B0 0F0", "1F0 3F0 1B0 3B0"}));
}

TEST(NumberInput, IsEmptyUntilItIsAnswered)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/borrowed-experts.json");
    while (player.play->asked(player.panel.at()) == nullptr ||
           player.play->asked(player.panel.at())->question().input != sim::QuestionInput::number) {
        if (const sim::AskedQuestion* asked = player.play->asked(player.panel.at()))
            player.answer(asked->rightAnswer());
        player.panel.next();
    }
    auto* box = player.panel.input()->findChild<QDoubleSpinBox*>();
    ASSERT_TRUE(box);
    EXPECT_TRUE(box->cleanText().isEmpty()) << qPrintable(box->text());
    EXPECT_TRUE(player.panel.input()->value().is_null());
    player.panel.show();
    QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, QStringLiteral("\r"));
    QCoreApplication::sendEvent(box, &enter);
    EXPECT_TRUE(player.panel.input()->value().is_null()) << "Return in the empty box answers nothing";
    EXPECT_TRUE(player.panel.masks());
    player.panel.input()->setValue(0);
    EXPECT_FALSE(box->cleanText().isEmpty()) << "nought is an answer";
    EXPECT_EQ(player.panel.input()->value(), 0);
}

TEST(NumberInput, WhatIsTypedCountsAlsoWhereTheBoxHoldsItAlready)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/borrowed-experts.json");
    while (player.play->asked(player.panel.at()) == nullptr ||
           player.play->asked(player.panel.at())->question().input != sim::QuestionInput::number) {
        if (const sim::AskedQuestion* asked = player.play->asked(player.panel.at()))
            player.answer(asked->rightAnswer());
        player.panel.next();
    }
    auto* box = player.panel.input()->findChild<QDoubleSpinBox*>();
    ASSERT_TRUE(box);
    ASSERT_EQ(box->value(), 0);
    for (const auto& [key, text] : {std::pair(Qt::Key_0, QStringLiteral("0")), std::pair(Qt::Key_Tab, QStringLiteral("\t"))}) {
        QKeyEvent press(QEvent::KeyPress, key, Qt::NoModifier, text);
        QCoreApplication::sendEvent(box, &press);
    }
    EXPECT_EQ(box->cleanText(), QStringLiteral("0"));
    EXPECT_EQ(player.panel.input()->value(), 0) << "it is shown, so it is the answer";
}

TEST(TypedNumber, TakesPointsAndCommasAndRefusesWhatMayBeTwoThings)
{
    for (const auto& [text, value] :
         {std::pair("6.2", 6.2), std::pair("6,2", 6.2), std::pair(" 6,25 ", 6.25), std::pair("0,125", 0.125),
          std::pair("-3,5", -3.5), std::pair("1,234.5", 1234.5), std::pair("1.234,5", 1234.5), std::pair("1 234", 1234.0),
          std::pair("1,234,567", 1234567.0), std::pair("1.234", 1.234), std::pair("1234,567", 1234.567), std::pair(".5", 0.5),
          std::pair("6,", 6.0)}) {
        const TypedNumber typed = readTypedNumber(QString::fromUtf8(text));
        ASSERT_TRUE(typed.value) << text << ": " << qPrintable(typed.problem);
        EXPECT_DOUBLE_EQ(*typed.value, value) << text;
    }
    const TypedNumber two = readTypedNumber(QStringLiteral("1,234"));
    EXPECT_FALSE(two.value);
    EXPECT_EQ(two.problem, QStringLiteral("“1,234” may be 1234 or 1.234: write one of these."));
    for (const char* text : {"", "-", "six", "1,2,3", "1.2.3", "1,23.4", "12 34", ",", "1e3"})
        EXPECT_FALSE(readTypedNumber(QString::fromUtf8(text)).value) << text;
}

TEST(NumberInput, AFractionIsTypedWhereAShareIsAskedFor)
{
    const auto told = [](const QString& typed, double counts) {
        Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/bubble.json");
        while (player.play->id(player.panel.at()) != "over-ideal")
            player.panel.next();
        auto* box = player.panel.input()->findChild<QDoubleSpinBox*>();
        auto* line = box->findChild<QLineEdit*>();
        for (const QChar c : typed) {
            QKeyEvent press(QEvent::KeyPress, 0, Qt::NoModifier, QString(c));
            QCoreApplication::sendEvent(line, &press);
        }
        EXPECT_EQ(line->text(), typed);
        EXPECT_EQ(player.panel.input()->problem(), QString());
        EXPECT_NEAR(player.panel.input()->value().get<double>(), counts, 1e-9) << qPrintable(typed);
        player.panel.input()->setValue(counts);
        player.answer(counts);
        return player.panel.text();
    };
    for (const char* typed : {"3/8", "37.5", "37,5 %"})
        EXPECT_TRUE(told(QString::fromUtf8(typed), 0.375).contains(QStringLiteral("Right."))) << typed;
    const QString share = told(QStringLiteral("0.38"), 0.0038);
    EXPECT_TRUE(share.contains(QStringLiteral("Right."))) << qPrintable(share);
    EXPECT_TRUE(share.contains(QStringLiteral("0.38 %, as it stands there, is taken for 38.0 %."))) << qPrintable(share);
}

TEST(LessonPanel, PicturesThatTheLessonHasShownStayWhileItAsks)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json");
    while (player.play->id(player.panel.at()) != "bubble")
        player.panel.next();
    EXPECT_EQ(player.panel.pictures(), (std::vector<Picture>{Picture::timeline, Picture::memory}));
}

TEST(AnswerInput, ReturnOnWhatIsChosenCommitsAndASliderSaysWhereItEnds)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.show();
    const auto pressReturnOn = [&](QWidget* focused) {
        focused->setFocus();
        QKeyEvent event(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, QStringLiteral("\r"));
        QCoreApplication::sendEvent(focused, &event);
        if (!event.isAccepted())
            QCoreApplication::sendEvent(&player.panel, &event); // as it comes up to the panel
    };
    player.panel.next();
    const auto options = player.panel.input()->findChildren<QRadioButton*>();
    ASSERT_GE(options.size(), 2);
    pressReturnOn(options[0]);
    for (QLabel* words : player.panel.input()->findChildren<QLabel*>())
        if (words->buddy() == options[2]) {
            QMouseEvent release(QEvent::MouseButtonRelease, {2, 2}, words->mapToGlobal(QPointF(2, 2)), Qt::LeftButton,
                                Qt::NoButton, Qt::NoModifier);
            QCoreApplication::sendEvent(words, &release);
        }
    EXPECT_TRUE(options[2]->isChecked());
    EXPECT_EQ(player.panel.focusWidget(), options[2]) << "keys go on where the mouse was";
    pressReturnOn(options[1]);
    EXPECT_TRUE(options[1]->isChecked()) << "it is chosen";
    pressReturnOn(options[1]);
    EXPECT_TRUE(player.panel.masks());
    const auto* missing = qobject_cast<QRadioButton*>(player.panel.focusWidget());
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->text().toStdString(), "a guess") << "it is to be said how sure one is";
    sayHowSure(player.panel, QStringLiteral("a guess"));
    pressReturnOn(options[0]);
    EXPECT_TRUE(player.panel.masks()) << "another one is chosen first";
    pressReturnOn(options[1]);
    pressReturnOn(options[1]);
    EXPECT_FALSE(player.panel.masks());
    player.panel.next();
    const QString question = player.panel.text();
    EXPECT_TRUE(question.contains(QStringLiteral("\n0 GB\n60 GB"))) << qPrintable(question);
    auto* slider = player.panel.input()->findChild<QSlider*>();
    ASSERT_TRUE(slider);
    pressReturnOn(slider);
    EXPECT_TRUE(player.panel.masks()) << "nothing is answered";
    slider->setValue(slider->value() + 1);
    pressReturnOn(slider);
    EXPECT_FALSE(player.panel.masks());
}

TEST(AnswerInput, NothingIsWiderThanTheNarrowestPanel)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.resize(kNarrowestDock, 240);
    player.panel.show();
    const auto* area = player.panel.findChild<QScrollArea*>();
    ASSERT_TRUE(area);
    while (player.panel.at() + 1 < player.play->steps()) {
        if (const sim::AskedQuestion* asked = player.play->asked(player.panel.at()))
            player.answer(asked->rightAnswer());
        player.panel.next();
        QCoreApplication::processEvents();
        EXPECT_LE(area->widget()->width(), area->viewport()->width()) << "step " << player.panel.at() + 1;
    }
}

/// Of the second question, which it comes to.
QDoubleSpinBox* firstNumberOf(Player& player)
{
    player.panel.show();
    player.panel.next();
    player.answer(player.play->asked(1)->rightAnswer());
    player.panel.next();
    return player.panel.input()->findChild<QDoubleSpinBox*>();
}

TEST(NumberInput, ACommaIsTypedAndReturnCommits)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    auto* box = firstNumberOf(player);
    ASSERT_TRUE(box);
    box->setFocus();
    const auto type = [&](const QString& text) {
        for (const QChar c : text) {
            QKeyEvent press(QEvent::KeyPress, 0, Qt::NoModifier, QString(c));
            QCoreApplication::sendEvent(box, &press);
        }
    };
    const auto clear = [&] { box->findChild<QLineEdit*>()->selectAll(); };
    const auto press = [&](int key) {
        QKeyEvent event(QEvent::KeyPress, key, Qt::NoModifier, QStringLiteral("\r"));
        QCoreApplication::sendEvent(box, &event);
        if (!event.isAccepted() && key == Qt::Key_Return)
            QCoreApplication::sendEvent(&player.panel, &event); // as it comes up to the panel
    };
    clear();
    type(QStringLiteral("600"));
    EXPECT_FALSE(player.panel.canCommit());
    EXPECT_TRUE(player.panel.text().contains(QStringLiteral("Between 0 and 60."))) << qPrintable(player.panel.text());
    press(Qt::Key_Return);
    EXPECT_EQ(box->text(), QStringLiteral("600")) << "nobody else's number takes its place";
    clear();
    type(QStringLiteral("6,2"));
    EXPECT_EQ(player.panel.input()->value(), 6.2);
    press(Qt::Key_Return);
    EXPECT_FALSE(player.panel.masks()) << "committed";
    EXPECT_TRUE(player.panel.text().contains(QStringLiteral("**Right.**")));
}

/// Of what was legible on the way to nothing, no number is meant.
TEST(NumberInput, EmptiedIsNoAnswerAlsoWhenItIsLeft)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    auto* box = firstNumberOf(player);
    ASSERT_TRUE(box);
    sayHowSure(player.panel, QStringLiteral("certain"));
    const auto type = [&](int key, const QString& text = {}) {
        QKeyEvent press(QEvent::KeyPress, key, Qt::NoModifier, text);
        QCoreApplication::sendEvent(box, &press);
    };
    type(Qt::Key_4, QStringLiteral("4"));
    type(Qt::Key_0, QStringLiteral("0"));
    EXPECT_EQ(player.panel.input()->value(), 40);
    EXPECT_TRUE(player.panel.canCommit());
    type(Qt::Key_Backspace);
    EXPECT_EQ(player.panel.input()->value(), 4);
    type(Qt::Key_Backspace);
    EXPECT_TRUE(box->text().isEmpty()) << qPrintable(box->text());
    EXPECT_TRUE(player.panel.input()->value().is_null());
    EXPECT_FALSE(player.panel.canCommit());
    EXPECT_FALSE(player.button(QStringLiteral("Commit"))->isEnabled());
    QFocusEvent left(QEvent::FocusOut, Qt::TabFocusReason);
    QCoreApplication::sendEvent(box, &left);
    EXPECT_TRUE(box->text().isEmpty()) << qPrintable(box->text());
    EXPECT_FALSE(player.panel.canCommit());
    type(Qt::Key_4, QStringLiteral("4"));
    EXPECT_EQ(player.panel.input()->value(), 4) << "typed again, it is meant";
    EXPECT_EQ(box->text(), QStringLiteral("4"));
    EXPECT_TRUE(player.panel.canCommit());
}

TEST(ActionsInput, HasOneEditorAndNoListIsChangedBesideIt)
{
    ActionsInput input({QStringLiteral("0F0 0F1 0B0 0B1"), QStringLiteral("1F0 1F1 1B0 1B1")}, {1, 1, 1, 0}, nullptr);
    auto* open = input.findChild<QPushButton*>();
    ASSERT_TRUE(open);
    open->click();
    open->click();
    const auto editors = input.findChildren<OrderEditorDialog*>();
    ASSERT_EQ(editors.size(), 1);
    EXPECT_EQ(editors.front()->windowModality(), Qt::WindowModal) << "it would take back what is done in the lists";
    editors.front()->close();
    input.setEnabled(false); // answered: an order is but looked at
    input.openEditor({QStringLiteral("0F0 0B0 0F1 0B1"), QStringLiteral("1F0 1B0 1F1 1B1")});
    OrderEditorDialog* looked = nullptr;
    for (OrderEditorDialog* each : input.findChildren<OrderEditorDialog*>())
        if (each->isVisible())
            looked = each;
    ASSERT_TRUE(looked);
    EXPECT_EQ(looked->rows().front(), QStringLiteral("0F0 0B0 0F1 0B1"));
    EXPECT_EQ(looked->windowModality(), Qt::NonModal);
}

TEST(ActionsInput, TakesWhatIsDoneInTheOrderEditor)
{
    ActionsInput input({QStringLiteral("0F0 0F1 0B0 0B1"), QStringLiteral("1F0 1F1 1B0 1B1")}, {1, 1, 1, 0}, nullptr);
    auto* open = input.findChild<QPushButton*>();
    ASSERT_TRUE(open);
    ASSERT_TRUE(open->isEnabled());
    open->click();
    auto* editor = input.findChild<OrderEditorDialog*>();
    ASSERT_TRUE(editor);
    EXPECT_TRUE(input.value().is_null()) << "nothing has been moved";
    editor->canvas().runCommand(ViewCommand::stepDown);
    editor->canvas().runCommand(ViewCommand::stepRight);
    for (int i = 0; i < 8 && input.value().is_null(); ++i) {
        editor->canvas().runCommand(ViewCommand::moveLater);
        editor->canvas().runCommand(ViewCommand::stepRight);
    }
    ASSERT_TRUE(input.value().is_array());
    EXPECT_NE(input.value(), (sim::LessonValue{"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}));
    input.setValue(sim::LessonValue{"0B0 0F0 0F1 0B1", "1F0 1F1 1B0 1B1"});
    EXPECT_FALSE(open->isEnabled()) << "an order that cannot run is mended in the lists";
}

TEST(ActionsInput, OnlyOneUpperLimitIsPutInOtherWords)
{
    const auto told = [](const char* unmet) {
        sim::OrderOutcome outcome;
        outcome.unmet = {unmet};
        return unmetText(outcome);
    };
    EXPECT_EQ(told("mine.bubble.over_ideal <= 1/8 + 0.0001 does not hold: mine.bubble.over_ideal is 0.4"),
              QStringLiteral("the bubble is too large"));
    EXPECT_EQ(told("max(mine.peak_activations) <= 4 does not hold: max(mine.peak_activations) is 5"),
              QStringLiteral("too many micro-batches are held"));
    for (const char* other : {"mine.bubble.over_ideal >= 0.2 does not hold: mine.bubble.over_ideal is 0.1",
                              "mine.bubble.over_ideal < 0.2 and mine.fits does not hold: mine.fits is false",
                              "mine.peak_activations[0] == 2 does not hold: mine.peak_activations[0] is 1"})
        EXPECT_EQ(told(other), QString::fromUtf8(other));
}

TEST(ActionsInput, SaysWhatAnOrderComesToAndWhichGoalItMisses)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/forward-input-weight.json");
    while (player.play->id(player.panel.at()) != "fill") {
        if (const sim::AskedQuestion* asked = player.play->asked(player.panel.at()))
            player.answer(asked->rightAnswer());
        player.panel.next();
    }
    const sim::AskedQuestion& asked = *player.play->asked(player.panel.at());
    player.button(QStringLiteral("Order Editor…"))->click();
    auto* editor = player.panel.input()->findChild<OrderEditorDialog*>();
    ASSERT_TRUE(editor);
    QStringList told;
    for (const QLabel* label : editor->findChildren<QLabel*>())
        told << label->text();
    const QString all = told.join(QLatin1Char('\n'));
    EXPECT_TRUE(all.contains(QStringLiteral("**1/8**"))) << qPrintable(all);
    EXPECT_TRUE(all.contains(QStringLiteral("Not yet: the bubble is too large"))) << qPrintable(all);
    ASSERT_TRUE(editor->findChild<QPushButton*>());
    editor->findChild<QPushButton*>()->click(); // Done
    EXPECT_FALSE(editor->isVisible());
    player.answer(asked.valueOf("split.ranks"));
    const QString text = player.panel.text();
    EXPECT_TRUE(text.contains(QStringLiteral("Missed: the bubble is too large."))) << qPrintable(text);
    EXPECT_TRUE(text.contains(QStringLiteral("The engine: bubble 12.5"))) << qPrintable(text);
    EXPECT_FALSE(text.contains(QStringLiteral("0F0 0F1"))) << "no wall of codes";
    EXPECT_TRUE(player.panel.input()->isHidden()) << "nor of cards";
    const auto editors = player.panel.input()->findChildren<OrderEditorDialog*>();
    player.button(QStringLiteral("See That Order…"))->click();
    QStringList rows;
    for (const OrderEditorDialog* each : player.panel.input()->findChildren<OrderEditorDialog*>())
        if (!editors.contains(each))
            rows = each->rows();
    ASSERT_EQ(rows.size(), 4);
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(rows[rank].toStdString(), asked.rightAnswer()[static_cast<std::size_t>(rank)].get<std::string>());
}

TEST(LessonWindow, RanksMayBeTypedAsTheProgramWritesThem)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/cut-the-matrix.json");
    while (player.play->id(player.panel.at()) != "tp-group") {
        if (const sim::AskedQuestion* asked = player.play->asked(player.panel.at()))
            player.answer(asked->rightAnswer());
        player.panel.next();
    }
    auto* line = player.panel.input()->findChild<QLineEdit*>();
    ASSERT_TRUE(line);
    for (const auto& [text, value] :
         {std::pair("8-15", sim::LessonValue({8, 9, 10, 11, 12, 13, 14, 15})),
          std::pair("1, 4 – 6 9", sim::LessonValue({1, 4, 5, 6, 9})), std::pair("Rank 5 and 6", sim::LessonValue({5, 6})),
          std::pair("5-3", sim::LessonValue()), std::pair("3-", sim::LessonValue()), std::pair("0-99999999", sim::LessonValue()),
          std::pair("two", sim::LessonValue())}) {
        line->setText(QString::fromUtf8(text));
        EXPECT_EQ(player.panel.input()->value(), value) << text;
    }
    const QRegularExpression number(QStringLiteral("\\d"));
    EXPECT_FALSE(line->placeholderText().contains(number)) << "an example may be what is asked for";
    EXPECT_FALSE(player.panel.input()->problem().contains(number)) << qPrintable(player.panel.input()->problem());
}

/// A lesson of these steps, by somebody.
std::filesystem::path strangersLesson(const QTemporaryDir& folder, const std::string& steps)
{
    const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "strange.json";
    std::ofstream(file) << R"({"format":"rankscope-lesson","version":1,"id":"strange","title":"Strange",
"cases":{"tiny":{"scenario":"57-tiny-dp4"}},"steps":[)" +
                               steps + "]}";
    return file;
}

TEST(NumberInput, TakesWhatLiesBetweenTheNotchesOfItsSlider)
{
    const QTemporaryDir folder;
    Player player(strangersLesson(folder, R"({"predict":{"id":"a","ask":"?","input":"slider","range":[0,1000],
"answer":"tiny.world_size * 3.1","tolerance":{"relative":0.01}}})"));
    player.answer(player.play->asked(0)->rightAnswer());
    EXPECT_TRUE(player.panel.text().contains(QStringLiteral("**Right.**"))) << qPrintable(player.panel.text());
}

TEST(NumberInput, ASliderWithAStepGivesItsSteps)
{
    const QTemporaryDir folder;
    Player player(strangersLesson(folder, R"({"predict":{"id":"a","ask":"?","input":"slider","range":[0.1,2.1],"step":0.25,
"answer":"tiny.world_size / 4"}})"));
    auto* slider = player.panel.input()->findChild<QSlider*>();
    ASSERT_TRUE(slider);
    slider->setValue(1);
    EXPECT_NEAR(player.panel.input()->value().get<double>(), 0.35, 1e-12);
    EXPECT_EQ(slider->value(), 1);
}

TEST(LessonWindow, WordsOfAFileAreWordsOnEveryLabel)
{
    const QTemporaryDir folder;
    const std::string image = R"(<img src=/etc/hostname> ![x](file:///etc/hostname))";
    Player player(strangersLesson(folder, R"({"predict":{"id":"a","ask":")" + image + R"(","input":"bars","unit":"<b>u</b>",
"range":[0,9],"bars":[{"text":")" + image + R"(","answer":"tiny.world_size"},{"text":"b","answer":"1"}]}},
{"challenge":{"id":"c","ask":")" + image + R"(","from":"tiny","goal":["mine.world_size == 2 or ')" +
                                              image +
                                              R"(' == 'y'"],"changes":1,"allow":["/layout"],"solved_by":[{"/layout/dp":2}]}})"));
    const auto check = [&] {
        for (const QLabel* label : player.panel.findChildren<QLabel*>()) {
            EXPECT_FALSE(label->textFormat() == Qt::AutoText && Qt::mightBeRichText(label->text())) << qPrintable(label->text());
            EXPECT_NE(label->textFormat(), Qt::RichText) << qPrintable(label->text());
            if (label->textFormat() == Qt::MarkdownText) {
                EXPECT_FALSE(label->text().contains(QStringLiteral("!["))) << qPrintable(label->text());
                EXPECT_FALSE(label->text().contains(QLatin1Char('<'))) << qPrintable(label->text());
            }
        }
    };
    check();
    player.answer(player.play->asked(0)->rightAnswer());
    check();
    player.panel.next();
    ASSERT_TRUE(waitFor([&] { return player.panel.text().contains(QStringLiteral("Nothing changed yet")); }))
        << qPrintable(player.panel.text());
    check();
}

TEST(LessonWindow, LinksTakeTheColourOfTheThemeThatIsChosenMeanwhile)
{
    const QTemporaryDir folder;
    Player player(strangersLesson(folder, R"({"challenge":{"id":"c","ask":"?","from":"tiny","goal":["mine.world_size == 2"],
"changes":1,"allow":["/layout"],"solved_by":[{"/layout/dp":2}]}})"));
    const auto linkHue = [&] { // of the colour that is seen most; -1: none
        QCoreApplication::processEvents();
        std::map<int, int> pixels;
        for (QLabel* label : player.panel.findChildren<QLabel*>())
            if (label->textFormat() == Qt::MarkdownText && label->text().contains(QStringLiteral("]("))) {
                const QImage image = label->grab().toImage();
                constexpr int kColourful = 120;
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x)
                        if (const QColor at = image.pixelColor(x, y); at.saturation() > kColourful)
                            ++pixels[at.hue()];
            }
        const auto most =
            std::max_element(pixels.begin(), pixels.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
        return most == pixels.end() ? -1 : most->first;
    };
    EXPECT_GE(linkHue(), 0);
    const QPalette usual = QApplication::palette();
    QPalette other = usual;
    other.setColor(QPalette::Link, Qt::magenta);
    QApplication::setPalette(other);
    QEvent changed(QEvent::PaletteChange); // an application that does not run sends none
    QApplication::sendEvent(&player.panel, &changed);
    EXPECT_NEAR(linkHue(), QColor(Qt::magenta).hue(), 6);
    QApplication::setPalette(usual);
}

TEST(CurveInput, AxesOfAnyRangeEnd)
{
    for (const auto& [from, to] : {std::pair(1e17, 1e17 + 16), std::pair(-1e308, 1e307), std::pair(0.0, 1e-300)}) {
        CurveInput curve({QStringLiteral("0"), QStringLiteral("1")}, {}, {from, to}, 1, 0);
        curve.resize(300, 200);
        EXPECT_LE(curve.ticks().size(), 12U);
        EXPECT_GE(curve.ticks().size(), 2U);
    }
}

} // namespace
} // namespace app
