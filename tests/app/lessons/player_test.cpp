// A lesson in its window: what is in sight, what comes on screen with an answer, how it goes on and ends.
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/lesson_panel.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/style.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace app {

using namespace test;

/// In 1280 × 720, however long the answer: it and the reason are on screen when one has committed.
TEST(LessonWindow, AnAnswerAndItsReasonAreInSightWithoutScrolling)
{
    for (const auto& [lesson, id] : {std::pair("share-the-states", "stages"), std::pair("cut-finer", "bubbles"),
                                     std::pair("cut-the-matrix", "block"), std::pair("forward-input-weight", "fill")}) {
        SCOPED_TRACE(lesson);
        LessonInWindow in(QString::fromLatin1(lesson), {1280, 720});
        in.playUntil(id);
        LessonPanel& panel = in.window.lesson();
        auto* scroll = panel.findChild<QScrollArea*>();
        ASSERT_TRUE(scroll);
        const auto isInSight = [&](const QWidget* widget) {
            const QRect rect(widget->mapTo(scroll->viewport(), QPoint(0, 0)), widget->size());
            return rect.top() >= 0 && rect.bottom() <= scroll->viewport()->height();
        };
        for (QPushButton* button : panel.findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Commit")) {
                EXPECT_TRUE(waitFor([&] { return isInSight(button); }));
            }
        const sim::AskedQuestion& asked = *panel.play()->asked(panel.at());
        panel.input()->setValue(asked.question().mistakes.empty() ? asked.rightAnswer()
                                                                  : asked.valueOf(asked.question().mistakes.front().near));
        sayHowSure(panel, QStringLiteral("certain"));
        panel.commit();
        ASSERT_FALSE(panel.canCommit());
        if (asked.question().input == sim::QuestionInput::order) {
            EXPECT_TRUE(waitFor([&] { return panel.text().contains(QStringLiteral("\n2\\. ")); }))
                << "no list of Markdown, which begins each with 1: " << qPrintable(panel.text());
        }
        const auto last = [&] { // the reason, or what the lesson says to everybody
            const QLabel* found = nullptr;
            for (const QLabel* label : scroll->widget()->findChildren<QLabel*>())
                if (label->isVisible())
                    found = label;
            return found;
        };
        EXPECT_TRUE(waitFor([&] { return last() != nullptr && last()->parentWidget()->width() > 0 && isInSight(last()); }))
            << (last() != nullptr ? qPrintable(last()->text()) : "nothing");
        const QWidget& body = *scroll->widget();
        EXPECT_LE(body.height(), std::max(body.heightForWidth(body.width()), scroll->viewport()->height()) +
                                     QFontMetrics(uiFont(15)).lineSpacing()) // so that no line is cut
            << "nothing to scroll to";
        for (int lower = 1; lower < 120; lower += 17) { // the verdict is kept in sight
            in.window.resize(1280, 720 - lower);
            QCoreApplication::processEvents();
            for (const QLabel* label : body.findChildren<QLabel*>(QString(), Qt::FindDirectChildrenOnly)) {
                const int above = -label->mapTo(scroll->viewport(), QPoint(0, 0)).y(), line = label->fontMetrics().lineSpacing();
                EXPECT_TRUE(label->isHidden() || above <= 0 || above >= label->height() || above % line == 0)
                    << above << " of lines of " << line << ": the first line is cut";
            }
        }
    }
}

/// The longest order: its rows, the editor and Commit, without scrolling.
TEST(LessonWindow, AnOrderIsCommittedWithoutScrolling)
{
    LessonInWindow in(QStringLiteral("exam"), {1280, 720});
    LessonPanel& panel = in.window.lesson();
    while (panel.play()->id(panel.at()) != "order") { // tasks may be skipped
        if (panel.masks()) {
            panel.input()->setValue(panel.play()->asked(panel.at())->rightAnswer());
            sayHowSure(panel, QStringLiteral("certain"));
            panel.commit();
        }
        ASSERT_TRUE(panel.canGoOn());
        panel.next();
        ASSERT_TRUE(waitFor([&] { return in.window.isSettled(); }));
    }
    auto* scroll = panel.findChild<QScrollArea*>();
    ASSERT_TRUE(scroll);
    for (int round = 0; round < 10; ++round)
        QCoreApplication::processEvents();
    int seen = 0;
    for (const QPushButton* button : panel.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Commit") || button->text() == QStringLiteral("Order Editor…")) {
            const int bottom = button->mapTo(scroll->viewport(), QPoint(0, button->height())).y();
            EXPECT_LE(bottom, scroll->viewport()->height()) << qPrintable(button->text());
            ++seen;
        }
    EXPECT_EQ(seen, 2);
}

/// It says what to compare, and how to go on.
TEST(LessonWindow, ALessonStaysBesideTheTrainingItAsksFor)
{
    LessonInWindow in(QStringLiteral("same-loss"), {1280, 720});
    in.playUntil("digits"); // past the steps that train
    in.window.lesson().back();
    in.window.showLive();
    EXPECT_TRUE(in.window.isLiveShown());
    EXPECT_TRUE(waitFor([&] { return in.window.lesson().isVisible(); }));
    EXPECT_GE(in.window.lesson().width(), 280);
    EXPECT_GE(in.window.live().width(), 600) << "and the training has room";
    in.window.lesson().back(); // shows a scenario
    EXPECT_TRUE(waitFor([&] { return !in.window.isLiveShown() && in.window.lesson().isVisible(); }));
}

/// Words of the glossary open it, also while a question is open: there they are needed most.
TEST(LessonWindow, WordsOpenTheGlossary)
{
    LessonInWindow in(QStringLiteral("two-copies"), {1280, 720});
    LessonPanel& panel = in.window.lesson();
    EXPECT_TRUE(panel.text().contains(QStringLiteral("[data parallelism](term:"))) << qPrintable(panel.text());
    QLabel* prose = nullptr;
    for (QLabel* label : panel.findChildren<QLabel*>())
        if (label->text().contains(QStringLiteral("](term:")))
            prose = prose != nullptr ? prose : label;
    ASSERT_TRUE(prose);
    const QRegularExpressionMatch link =
        QRegularExpression(QStringLiteral("\\[data parallelism\\]\\((term:\\d+)\\)")).match(prose->text());
    ASSERT_TRUE(link.hasMatch());
    QStringList opened;
    QObject::connect(&panel, &LessonPanel::termRequested, &panel, [&](const QString& title) { opened << title; });
    Q_EMIT prose->linkActivated(link.captured(1));
    EXPECT_EQ(opened, QStringList{QStringLiteral("Data parallel")});
    in.playUntil("bytes");
    const QString asked = panel.text();
    EXPECT_TRUE(asked.contains(QStringLiteral("[gradient](term:"))) << qPrintable(asked);
    panel.input()->setValue(panel.play()->asked(panel.at())->rightAnswer());
    panel.commit();
    for (int round = 0; round < 5; ++round)
        QCoreApplication::processEvents(); // it is shown by then
    const QRegularExpression term(QStringLiteral("\\]\\(term:"));
    EXPECT_GE(panel.text().count(term), asked.count(term)) << qPrintable(panel.text());
    for (QLabel* label : panel.findChildren<QLabel*>())
        if (label->text().contains(QStringLiteral("[gradient](term:"))) {
            opened.clear();
            Q_EMIT label->linkActivated(QStringLiteral("term:0"));
            EXPECT_EQ(opened.size(), 1) << "one click, one page, also when it has been answered";
            EXPECT_EQ(label->text().count(QStringLiteral("[gradient")), 1) << qPrintable(label->text());
        }
}

TEST(LessonWindow, NumbersBesideEachOtherAreBarsThatAreSpoken)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    std::size_t at = 0;
    while (player.play->chart(at).empty())
        ASSERT_LT(++at, player.play->steps());
    ASSERT_EQ(player.play->chart(at).size(), 3U);
    EXPECT_EQ(player.play->chart(at)[2].number, "10.9 GB") << "of eight servers";
    player.progress.setStep(player.play->lesson(), at);
    player.panel.start(player.play);
    QStringList spoken;
    for (const QWidget* widget : player.panel.findChildren<QWidget*>())
        spoken << widget->accessibleName();
    EXPECT_TRUE(spoken.contains(QStringLiteral("2 servers: 6.23 GB; 4 servers: 9.35 GB; 8 servers: 10.9 GB")))
        << qPrintable(spoken.join(QLatin1Char('\n')));
}

/// Asked, answered, the engine's, why; in order, and the belief that it broke.
TEST(LessonWindow, TheEndGoesThroughWhatWasAsked)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    LessonPanel& panel = player.panel;
    std::vector<std::size_t> asked;
    while (player.play->asked(panel.at()) != nullptr || panel.at() + 1 < player.play->steps()) {
        if (const sim::AskedQuestion* question = player.play->asked(panel.at())) {
            asked.push_back(panel.at());
            player.answer(panel.at() == 2 ? sim::LessonValue(12.5) : question->rightAnswer());
        }
        panel.next();
    }
    panel.next();
    const QString text = panel.text();
    EXPECT_TRUE(text.contains(QStringLiteral("What is not so: *Data parallelism sends data"))) << qPrintable(text);
    for (const std::size_t at : asked) {
        const sim::AskedQuestion& question = *player.play->asked(at);
        EXPECT_TRUE(text.contains(QString::fromStdString(question.text()))) << question.text();
        EXPECT_TRUE(text.contains(QStringLiteral("The engine: **%1**").arg(answerText(question, question.rightAnswer()))));
        EXPECT_TRUE(text.contains(QString::fromStdString(player.play->because(at))));
    }
    EXPECT_TRUE(text.contains(QStringLiteral("You: 12.5 GB"))) << qPrintable(text);
    EXPECT_TRUE(text.contains(QStringLiteral("You: what they learned: one number for every parameter (fairly sure)")))
        << "what was said of it: " << qPrintable(text);
    EXPECT_TRUE(text.contains(QStringLiteral("not so")));
    panel.start(player.play); // once more, from the gallery
    ASSERT_EQ(panel.at(), 0U);
    EXPECT_TRUE(player.button(QStringLiteral("Begin Anew"))) << "the answers are those of the time before";
    panel.next();
    EXPECT_FALSE(player.button(QStringLiteral("Begin Anew")));
}

TEST(LessonWindow, TheEndOffersTheNextLesson)
{
    LessonInWindow in(QStringLiteral("two-copies"), {1280, 720});
    LessonPanel& panel = in.window.lesson();
    in.playUntil("hide");
    panel.next();
    EXPECT_TRUE(waitFor([&] { return panel.text().contains(QStringLiteral("The next lesson:")); })) << qPrintable(panel.text());
    for (QPushButton* button : panel.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Next Lesson")) {
            EXPECT_EQ(in.window.focusWidget(), button);
            button->click();
            break;
        }
    EXPECT_TRUE(waitFor([&] { return in.window.isSettled() && panel.isPlaying() && panel.play()->lesson().number == 2; }));
}

/// Opened with the program, where nobody has been in the gallery yet.
TEST(LessonWindow, BesideALessonOfWordsTheGalleryIsNotBlankAndTheEndHasTheKeyboard)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("words.json"));
    std::ofstream(path.toStdString()) << R"({"format": "rankscope-lesson", "version": 1, "id": "words", "title": "Words",
        "steps": [{"say": "One."}, {"say": "Two."}]})";
    LessonInWindow in(path, {1280, 720});
    LessonPanel& panel = in.window.lesson();
    ASSERT_TRUE(in.window.isGalleryShown());
    EXPECT_FALSE(in.window.gallery().isEmpty());
    panel.next();
    panel.next();
    ASSERT_TRUE(panel.text().contains(QStringLiteral("**Done.**"))) << qPrintable(panel.text());
    EXPECT_TRUE(in.window.isGalleryShown());
    EXPECT_FALSE(in.window.gallery().isEmpty());
    const QWidget* focused = in.window.focusWidget();
    ASSERT_TRUE(focused);
    EXPECT_TRUE(panel.isAncestorOf(focused)) << focused->metaObject()->className() << " has it";
}

TEST(LessonWindow, OneThatCannotBePlayedLeavesTheGallery)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.show();
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("bad.json"));
    std::ofstream(path.toStdString()) << R"({"format": "rankscope-lesson", "version": 1, "id": "bad", "title": "Bad",
        "steps": [{"say": "It takes {no_case.mfu|percent}."}]})";
    ASSERT_TRUE(window.openLesson(path).empty());
    ASSERT_TRUE(waitFor([&] { return !window.isInLesson(); }));
    ASSERT_TRUE(window.isGalleryShown());
    EXPECT_TRUE(window.banner().isVisible());
    EXPECT_FALSE(window.gallery().isEmpty());
}

TEST(LessonWindow, ABadLessonIsToldWithItsPlace)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("bad.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"format":"rankscope-lesson","version":1,"id":"bad","title":"Bad","steps":[{"sey":"?"}]})");
    file.close();
    const Problems problems = window.openFile(path);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems.front().pointer, "/steps/0/sey");
    EXPECT_FALSE(window.openLesson(QStringLiteral("no-such-lesson")).empty());
}

/// Pictures are of what the words speak of: the question's case, then its answer's, and compared only where a step compares.
TEST(LessonWindow, AnAnswerIsSeenInThePicturesWithIt)
{
    LessonInWindow in(QStringLiteral("eighteen-bytes"), {1280, 720});
    MainWindow& window = in.window;
    const auto precision = [&] { return window.desk().simulation()->scenario().training.precision; };
    const auto settled = [&] { return window.isSettled(); };
    in.playUntil("states");
    EXPECT_FALSE(window.workspace().isPictureInFront(Picture::memory)) << "it would tell";
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    sayHowSure(window.lesson(), QStringLiteral("certain"));
    window.lesson().commit();
    EXPECT_TRUE(waitFor([&] { return window.workspace().isPictureInFront(Picture::memory); }))
        << "the case is the same, the picture is the one that its reveal has";
    in.playUntil("fp32");
    EXPECT_EQ(precision(), sim::Precision::bf16) << "which it is compared with in words";
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    window.lesson().commit();
    QCoreApplication::processEvents(); // pictures follow the words
    ASSERT_TRUE(waitFor(settled));
    EXPECT_EQ(precision(), sim::Precision::fp32);
    window.lesson().next();
    ASSERT_TRUE(waitFor(settled));
    EXPECT_TRUE(window.desk().baseline().isPinned());
    window.lesson().next();
    ASSERT_TRUE(waitFor(settled));
    EXPECT_EQ(precision(), sim::Precision::bf16) << "“Back to bf16”";
    EXPECT_FALSE(window.desk().baseline().isPinned()) << "nothing is compared any more";
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    window.lesson().commit();
    QCoreApplication::processEvents(); // pictures follow the words
    ASSERT_TRUE(waitFor(settled));
    EXPECT_EQ(window.desk().simulation()->scenario().training.sequenceLength, 2048) << "the shorter one is spoken of";
    in.playUntil("node");
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    window.lesson().commit();
    QCoreApplication::processEvents(); // pictures follow the words
    ASSERT_TRUE(waitFor(settled));
    EXPECT_EQ(window.desk().simulation()->mesh().worldSize(), 8)
        << "eight GPUs are spoken of, however their number is worked out";
    in.open(QStringLiteral("ring-for-long-texts"));
    in.playUntil("weights");
    ASSERT_TRUE(window.workspace().isPictureInFront(Picture::memory));
    window.lesson().input()->setValue(0);
    sayHowSure(window.lesson(), QStringLiteral("certain"));
    window.lesson().commit();
    QCoreApplication::processEvents(); // pictures follow the words
    ASSERT_TRUE(waitFor(settled));
    EXPECT_EQ(window.desk().simulation()->scenario().layout.cp, 8);
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::memory)) << "another case does not turn the pictures over";
}

TEST(LessonWindow, WhatIsSpokenOfLiesInFront)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1000, 620); // where pictures lie behind each other
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    EXPECT_TRUE(waitFor([&] { return window.workspace().isPictureInFront(Picture::timeline); })) << "it points at its colours";
    window.lesson().next();
    EXPECT_TRUE(waitFor([&] { return window.workspace().isPictureInFront(Picture::memory); })) << "and at the tent";
}

TEST(LessonWindow, PicturesKeepHalfOfANarrowWindow)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    for (const QSize size : {QSize(640, 360), QSize(853, 480), QSize(1100, 700)}) {
        SCOPED_TRACE(size.width());
        window.setMinimumSize(0, 0);
        window.resize(size);
        window.show();
        if (!window.lesson().isPlaying()) {
            ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
            ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
        }
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_GE(window.workspace().width(), window.width() / 2);
        EXPECT_FALSE(window.lesson().visibleRegion().isEmpty()) << "in front of the form";
        window.run(CommandId::resetLayout);
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_FALSE(window.lesson().visibleRegion().isEmpty()) << "and so after all is put back in its place";
        EXPECT_GE(window.workspace().width(), window.width() / 2);
    }
}

TEST(LessonWindow, AComparedRevealSaysWhichOfTheTwoIsShown)
{
    const sim::LessonPlay play(sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", catalogue()), 1,
                               catalogue());
    std::size_t at = 0;
    while (!play.step(at).reveal)
        ++at;
    const LessonScene scene = sceneOf(play, at);
    EXPECT_TRUE(scene.shownName.endsWith(QStringLiteral(": schedule 1F1B"))) << qPrintable(scene.shownName);
    EXPECT_TRUE(scene.comparedName.isEmpty()) << "as its file names it, as nothing was changed";
    EXPECT_NEAR(scene.comparedPeakGib, 33.8, 0.1) << "which the axis of memory still reaches";
    EXPECT_EQ(
        changesText(sim::LessonValue{{"/layout", {{"tp", 4}, {"zero_stage", 3}}}, {"/training/recompute", nullptr}}, catalogue()),
        QStringLiteral("tp 4, ZeRO 3, recompute as usual"));
}

TEST(LessonWindow, ReturnGoesOnWhereNothingIsAsked)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.show();
    const auto press = [&] {
        QKeyEvent event(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
        QCoreApplication::sendEvent(&player.panel, &event);
    };
    press();
    EXPECT_EQ(player.panel.at(), 1U);
    press();
    EXPECT_EQ(player.panel.at(), 1U) << "a question is answered first";
}

TEST(LessonWindow, ReturnDoesWhatTheButtonWithTheFocusDoesAndOnce)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.show();
    player.panel.next();
    player.answer(player.play->asked(1)->rightAnswer());
    QKeyEvent held(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, QString(), true);
    QCoreApplication::sendEvent(&player.panel, &held);
    EXPECT_EQ(player.panel.at(), 1U) << "a key that is held turns no further step";
    player.button(QStringLiteral("Back"))->setFocus();
    QKeyEvent once(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
    QCoreApplication::sendEvent(&player.panel, &once);
    EXPECT_EQ(player.panel.at(), 0U);
}

TEST(LessonWindow, APartOfATensorIsMarkedOnTheStoragePicture)
{
    LessonInWindow played(QStringLiteral("cut-the-matrix"), QSize(1400, 900));
    MainWindow& window = played.window;
    LessonPanel& lesson = window.lesson();
    const auto commit = [&](const sim::LessonValue& value) {
        lesson.input()->setValue(value);
        sayHowSure(lesson, QStringLiteral("certain"));
        lesson.commit();
    };
    while (lesson.play()->id(lesson.at()) != "slice") {
        if (lesson.masks())
            commit(lesson.play()->asked(lesson.at())->rightAnswer());
        lesson.next();
        ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    }
    CanvasWidget& storage = window.workspace().canvas(Picture::storage);
    EXPECT_TRUE(window.workspace().isPictureInFront(Picture::storage));
    const auto pieces = [&] {
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        std::vector<Node> found;
        for (const Node& node : storage.nodes())
            if (node.role == "slice" && node.name.starts_with("MLP gate,"))
                found.push_back(node);
        return found;
    };
    ASSERT_EQ(pieces().size(), 8U);
    for (const Node& piece : pieces())
        EXPECT_EQ(piece.name.find("rank"), std::string::npos) << piece.name;
    const Rect fourth = pieces()[3].rect;
    const QPointF at((fourth.left + fourth.right) / 2, (fourth.top + fourth.bottom) / 2);
    for (const QEvent::Type type : {QEvent::MouseMove, QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
        QMouseEvent event(type, at, storage.mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                          type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&storage, &event);
    }
    const sim::LessonValue right = lesson.play()->asked(lesson.at())->rightAnswer();
    EXPECT_TRUE(waitFor([&] { return lesson.input()->value() == right; })) << lesson.input()->value().dump();
    EXPECT_EQ(window.desk().selection().selectedRank, 3) << "it is rank 3 that is asked about";
    commit(right);
    EXPECT_EQ(pieces().size(), 7U) << "its own is told again, and the others' owners";
}

TEST(LessonWindow, IsLeftByACommandToo)
{
    LessonInWindow played(QStringLiteral("two-copies"), QSize(1280, 800));
    ASSERT_TRUE(played.window.isEnabled(CommandId::leaveLesson));
    played.window.run(CommandId::leaveLesson);
    EXPECT_TRUE(played.window.isGalleryShown());
    EXPECT_FALSE(played.window.isEnabled(CommandId::leaveLesson));
}

TEST(LessonWindow, LeavesNoKernelsBehind)
{
    LessonInWindow played(QStringLiteral("two-copies"), QSize(1280, 800));
    ASSERT_FALSE(played.window.desk().wantsKernels());
    played.window.desk().setKernels(true); // as a step of a lesson does
    played.window.run(CommandId::leaveLesson);
    EXPECT_FALSE(played.window.desk().wantsKernels());
}

} // namespace app
