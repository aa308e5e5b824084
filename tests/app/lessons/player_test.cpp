// Every lesson played from end to end: by one who answers right, and by one who makes each mistake that the lesson names.
#include "app/canvas/masked_canvas.h"
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/curve_input.h"
#include "app/lessons/goal_text.h"
#include "app/lessons/lesson_panel.h"
#include "app/lessons/lesson_text.h"
#include "app/lessons/list_inputs.h"
#include "app/lessons/order_editor_dialog.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

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
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace app {
namespace {

using namespace test;

std::vector<std::filesystem::path> lessonFiles()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/assets/lessons"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// The player alone, on a desk.
struct Player {
    explicit Player(const std::filesystem::path& file)
        : desk(catalogue(), {}), panel(desk, progress),
          play(std::make_shared<sim::LessonPlay>(sim::readLesson(file, catalogue()), 1, catalogue()))
    {
        QObject::connect(&panel, &LessonPanel::sceneChanged, &panel, [this](const LessonScene& scene) {
            if (scene.shown != nullptr)
                desk.session().show(*scene.shown);
        });
        QObject::connect(&panel, &LessonPanel::solutionRequested, &panel, [this](const sim::ScenarioDocument& solved) {
            desk.session().replaceContent(solved, QStringLiteral("solution"));
        });
        panel.start(play);
    }
    /// By its words, as a screen reader finds it.
    QPushButton* button(const QString& text) const
    {
        for (QPushButton* each : panel.findChildren<QPushButton*>())
            if (QAccessible::queryAccessibleInterface(each)->text(QAccessible::Name) == text && !each->isHidden())
                return each;
        return nullptr;
    }
    void answer(const sim::LessonValue& value)
    {
        panel.input()->setValue(value);
        for (QRadioButton* sure : panel.findChildren<QRadioButton*>())
            if (sure->text() == QStringLiteral("fairly sure"))
                sure->setChecked(true);
        QPushButton* commit = button(QStringLiteral("Commit"));
        ASSERT_TRUE(commit);
        ASSERT_TRUE(commit->isEnabled()) << qPrintable(panel.text());
        commit->click();
    }

    LessonProgress progress{QString()};
    Desk desk;
    LessonPanel panel;
    std::shared_ptr<sim::LessonPlay> play;
};

class LessonPlayed : public testing::TestWithParam<std::filesystem::path> {};

} // namespace

TEST_P(LessonPlayed, ByOneWhoAnswersRight)
{
    Player player(GetParam());
    LessonPanel& panel = player.panel;
    for (std::size_t at = 0; at < player.play->steps(); ++at) {
        SCOPED_TRACE(player.play->step(at).pointer);
        ASSERT_EQ(panel.at(), at);
        if (const sim::AskedQuestion* asked = player.play->asked(at)) {
            EXPECT_TRUE(panel.masks());
            EXPECT_FALSE(panel.canGoOn());
            EXPECT_FALSE(panel.text().contains(QStringLiteral("**Right.**")));
            player.answer(asked->rightAnswer());
            EXPECT_TRUE(panel.text().contains(QStringLiteral("**Right.**"))) << qPrintable(panel.text());
            EXPECT_FALSE(panel.masks());
        }
        if (player.play->step(at).challenge) {
            ASSERT_TRUE(waitFor([&] { return player.desk.isSettled(); }));
            EXPECT_FALSE(panel.text().contains(QStringLiteral("Reached")));
            EXPECT_TRUE(player.button(QStringLiteral("Skip")));
            for (std::size_t i = 0; i <= player.play->hints(at).size(); ++i)
                panel.hint(); // the last is the solution
            ASSERT_TRUE(waitFor([&] { return player.desk.isSettled(); }));
            EXPECT_TRUE(waitFor([&] { return panel.text().contains(QStringLiteral("Reached")); })) << qPrintable(panel.text());
        }
        ASSERT_TRUE(panel.canGoOn());
        panel.next();
    }
    EXPECT_TRUE(panel.text().contains(QStringLiteral("Done."))) << qPrintable(panel.text());
    EXPECT_TRUE(player.progress.isFinished(player.play->lesson().id));
    EXPECT_EQ(player.progress.share(player.play->lesson()), 1);
}

TEST_P(LessonPlayed, ByOneWhoMakesEachMistake)
{
    const sim::Lesson lesson = sim::readLesson(GetParam(), catalogue());
    const sim::LessonPlay play(lesson, 1, catalogue());
    for (std::size_t at = 0; at < play.steps(); ++at) {
        const sim::AskedQuestion* asked = play.asked(at);
        if (asked == nullptr)
            continue;
        std::vector<sim::LessonValue> wrong;
        for (const sim::Mistake& mistake : asked->question().mistakes)
            wrong.push_back(asked->valueOf(mistake.near));
        const auto& options = asked->question().options;
        for (std::size_t i = 0; i < options.size(); ++i)
            if (!options[i].say.empty() && asked->valueOf(options[i].rightIf) == sim::LessonValue(false))
                wrong.push_back(asked->question().many ? sim::LessonValue::array({i}) : sim::LessonValue(i));
        for (const sim::LessonValue& value : wrong) {
            SCOPED_TRACE(asked->question().id + ": " + value.dump());
            Player player(GetParam());
            player.progress.setStep(lesson.id, at);
            player.panel.start(player.play);
            const std::string reason = player.play->asked(at)->reasonFor(value);
            ASSERT_FALSE(reason.empty());
            player.answer(value);
            const QString shown = player.panel.text();
            EXPECT_TRUE(shown.contains(QStringLiteral("Not so."))) << qPrintable(shown);
            EXPECT_TRUE(shown.contains(QString::fromStdString(reason))) << qPrintable(shown);
            EXPECT_TRUE(player.panel.canGoOn()) << "a miss costs nothing";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Course, LessonPlayed, testing::ValuesIn(lessonFiles()), [](const auto& file) {
    std::string name = file.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

TEST(LessonWindow, HidesWhatIsAskedUntilItIsCommitted)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1280, 800);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    LessonPanel& lesson = window.lesson();
    EXPECT_TRUE(lesson.isVisible());
    EXPECT_TRUE(window.session().isOpen());
    const auto tells = [&] {
        for (const QLabel* label : window.details().findChildren<QLabel*>())
            if (label->isVisibleTo(&window.details()) && label->text() == QStringLiteral("Bubble"))
                return true;
        return false;
    };
    EXPECT_TRUE(tells());
    while (!lesson.masks())
        lesson.next();
    EXPECT_FALSE(tells()) << "while a question is open";
    EXPECT_FALSE(lesson.canGoOn());
    lesson.input()->setValue(1);
    for (QRadioButton* sure : lesson.findChildren<QRadioButton*>())
        if (sure->text() == QStringLiteral("a guess"))
            sure->setChecked(true);
    lesson.commit();
    EXPECT_TRUE(tells());
    EXPECT_TRUE(window.session().path().isEmpty()) << "a lesson's scenario is in no file";
}

TEST(LessonWindow, IsPlayedToItsEndAndItsChallengeIsSolvedOnTheDesk)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1024, 640);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    LessonPanel& lesson = window.lesson();
    const sim::LessonPlay& play = *lesson.play();
    while (!play.step(lesson.at()).challenge) {
        if (lesson.masks()) {
            lesson.input()->setValue(play.asked(lesson.at())->rightAnswer());
            for (QRadioButton* sure : lesson.findChildren<QRadioButton*>())
                if (sure->text() == QStringLiteral("certain"))
                    sure->setChecked(true);
            lesson.commit();
        }
        ASSERT_TRUE(lesson.canGoOn());
        lesson.next();
        ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    }
    EXPECT_TRUE(waitFor([&] {
        return lesson.text().contains(QStringLiteral("Not yet: the peak memory is 33.8 GiB, at most 20 GiB is asked for"));
    })) << qPrintable(lesson.text());
    Edit edit;
    edit.assignments.push_back({"/schedule/kind", "\"1f1b\""});
    window.session().edit(edit);
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Reached.")); })) << qPrintable(lesson.text());
    lesson.next();
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("5 of 5 right")); })) << qPrintable(lesson.text());
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

TEST(LessonProgressFile, KeepsWhatWasCommittedAndAsksAgainAfterDays)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    const sim::Lesson lesson = sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", catalogue());
    const QDateTime day0 = QDateTime::fromString(QStringLiteral("2026-03-01T12:00:00Z"), Qt::ISODate);
    {
        LessonProgress progress(path);
        EXPECT_TRUE(progress.commit(lesson.id, "peak", {.value = 17.0, .isRight = true, .sure = 0.6, .seconds = 3}));
        EXPECT_TRUE(progress.commit(lesson.id, "peak", {.value = 40.0, .isRight = false, .sure = {}, .seconds = 1}));
        progress.setStep(lesson.id, 3);
        progress.finish(lesson.id, day0);
    }
    LessonProgress progress(path);
    ASSERT_TRUE(progress.answer(lesson.id, "peak"));
    EXPECT_EQ(progress.answer(lesson.id, "peak")->value, 17.0) << "what was committed stays";
    EXPECT_EQ(progress.step(lesson.id), 3U);
    EXPECT_TRUE(progress.due(lesson, day0.addSecs(3600)).empty());
    EXPECT_EQ(progress.due(lesson, day0.addDays(1)).size(), lesson.remember.size());
    progress.remembered(lesson.id, lesson.remember[0].id, true, day0.addDays(1));
    EXPECT_EQ(progress.due(lesson, day0.addDays(2)).size(), lesson.remember.size() - 1);
    EXPECT_EQ(progress.due(lesson, day0.addDays(4)).size(), lesson.remember.size());
    progress.remembered(lesson.id, lesson.remember[0].id, false, day0.addDays(4));
    EXPECT_EQ(progress.due(lesson, day0.addDays(5)).size(), lesson.remember.size()) << "a wrong one comes back tomorrow";
    EXPECT_EQ(progress.answers(lesson.id).at("answers").at("peak").at("value"), 17.0);
}

TEST(LessonProgressFile, TwoWindowsKeepEachOthersAnswers)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    LessonProgress one(path), other(path);
    EXPECT_TRUE(one.commit("bubble", "p", {.value = 1, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(other.commit("one-f-one-b", "peak", {.value = 17, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.commit("one-f-one-b", "peak", {.value = 40, .isRight = false, .sure = {}, .seconds = 1}));
    const LessonProgress both(path);
    ASSERT_TRUE(both.answer("bubble", "p"));
    ASSERT_TRUE(both.answer("one-f-one-b", "peak"));
    EXPECT_EQ(both.answer("one-f-one-b", "peak")->value, 17) << "the first one counts, whoever gave it";
}

TEST(LessonText, LongWordsBreakAndNothingIsMarkup)
{
    const QString word(80, QLatin1Char('x'));
    const QString safe = safeMarkdown(word + QStringLiteral(" <b>![p](file)"));
    for (const QString& part : safe.split(QRegularExpression(QStringLiteral("[\\s\u200B]"))))
        EXPECT_LE(part.size(), 26) << qPrintable(part);
    EXPECT_EQ(QString(safe).remove(QChar(0x200B)), word + QStringLiteral(" &lt;b>! [p](file)"));
    EXPECT_EQ(safeMarkdown(QStringLiteral("short words **stay**")), QStringLiteral("short words **stay**"));
}

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

TEST(MaskedText, QuantitiesAreHiddenAndNamesStay)
{
    EXPECT_EQ(withoutQuantities("Rank 13 · pp 1, 33.8 GiB of 1,024.5 GiB"), "Rank 13 · pp 1, … GiB of … GiB");
    EXPECT_EQ(withoutQuantities("step 753 ms, 41.3 %, 2.5 GB/s"), "step … ms, … %, … GB/s");
    EXPECT_EQ(withoutQuantities("F0 B7, 8 micro-batches, layer 3 of 40"), "F0 B7, 8 micro-batches, layer 3 of 40");
    EXPECT_EQ(withoutQuantities("3 sends"), "3 sends") << "no seconds";
    EXPECT_EQ(withoutQuantities("12."), "12.");
    EXPECT_EQ(withoutQuantities("query, 5,120 × 640; 1.5 × more"), "query, 5,120 × 640; … × more");
    EXPECT_EQ(withoutQuantities(""), "");
    for (const char* axis : {"40 GiB", "0.5 s", "1,024.5\xC2\xA0MiB", "10%"})
        EXPECT_TRUE(isBareQuantity(axis)) << axis;
    for (const char* words : {"peak 33.8 GiB", "33.8 GiB of 40 GiB", "8", "", "GiB", "3 sends"})
        EXPECT_FALSE(isBareQuantity(words)) << words;
}

TEST(LessonWindow, SaysThatNumbersAreHiddenAndKeepsThePicturesInTheirPlace)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1280, 1000);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("two-copies")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    const auto texts = [&] {
        QStringList all;
        for (const QLabel* label : window.findChildren<QLabel*>())
            if (label->isVisible())
                all << label->text();
        return all.join(QLatin1Char('\n'));
    };
    const auto settle = [&] {
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
    };
    settle();
    const QString hidden = QStringLiteral("idden until you have answered");
    EXPECT_FALSE(texts().contains(hidden));
    EXPECT_TRUE(texts().contains(QStringLiteral("0 of 3.26 s"))) << "it is there to be hidden";
    const QRect place = window.workspace().geometry();
    window.lesson().next();
    ASSERT_TRUE(window.lesson().masks());
    settle();
    EXPECT_GE(texts().count(hidden), 3) << qPrintable(texts());
    EXPECT_FALSE(texts().contains(QStringLiteral("3.26 s"))) << qPrintable(texts());
    EXPECT_EQ(window.workspace().geometry(), place) << "pictures do not jump";
    window.lesson().input()->setValue(1);
    for (QRadioButton* sure : window.lesson().findChildren<QRadioButton*>())
        if (sure->text() == QStringLiteral("certain"))
            sure->setChecked(true);
    window.lesson().commit();
    ASSERT_FALSE(window.lesson().masks());
    settle();
    EXPECT_FALSE(texts().contains(hidden)) << "nothing is hidden any more";
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
    EXPECT_FALSE(scene.comparedName.contains(QStringLiteral("1F1B"))) << qPrintable(scene.comparedName);
    EXPECT_NEAR(scene.comparedPeakGib, 33.8, 0.1) << "which the axis of memory still reaches";
    EXPECT_EQ(
        changesText(sim::LessonValue{{"/layout", {{"tp", 4}, {"zero_stage", 3}}}, {"/training/recompute", nullptr}}, catalogue()),
        QStringLiteral("tp 4, ZeRO 3, recompute none"));
}

TEST(LessonWindow, ADrawnQuestionHasNoPictureOfAnotherCase)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/exam.json");
    QString note;
    const sim::ScenarioDocument* shown = nullptr;
    QObject::connect(&player.panel, &LessonPanel::sceneChanged, &player.panel, [&](const LessonScene& scene) {
        note = scene.note;
        shown = scene.shown;
    });
    bool hasShown = false;
    for (player.panel.next(); player.play->isDrawn(player.panel.at()); player.panel.next()) {
        EXPECT_EQ(shown, nullptr);
        EXPECT_FALSE(note.isEmpty());
        player.answer(player.play->asked(player.panel.at())->rightAnswer());
        if (player.play->drawnCase(player.panel.at()) != nullptr) {
            EXPECT_EQ(shown, player.play->drawnCase(player.panel.at())) << "now that it is answered";
            EXPECT_TRUE(note.isEmpty());
            hasShown = true;
        }
    }
    EXPECT_TRUE(hasShown);
    EXPECT_TRUE(note.isEmpty()) << "the tasks are on screen";
    EXPECT_NE(shown, nullptr);
}

TEST(LessonWindow, WhatCoversThePicturesLetsNothingThrough)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1280, 800);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("exam")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    const auto colours = [&] { // of the lower half, where the cover has no words
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        const QImage seen = window.workspace().grab().toImage();
        std::set<QRgb> found;
        for (int y = seen.height() / 2; y < seen.height(); y += 3)
            for (int x = 0; x < seen.width(); x += 3)
                found.insert(seen.pixel(x, y));
        return found.size();
    };
    EXPECT_GT(colours(), 10U) << "pictures";
    window.lesson().next();
    ASSERT_TRUE(window.lesson().play()->isDrawn(window.lesson().at()));
    EXPECT_EQ(colours(), 1U);
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
    player.panel.input()->findChild<QPushButton*>()->click();
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
}

TEST(LessonWindow, APartOfATensorIsMarkedOnTheStoragePicture)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1400, 900);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("cut-the-matrix")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    LessonPanel& lesson = window.lesson();
    const auto commit = [&](const sim::LessonValue& value) {
        lesson.input()->setValue(value);
        for (QRadioButton* sure : lesson.findChildren<QRadioButton*>())
            if (sure->text() == QStringLiteral("certain"))
                sure->setChecked(true);
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

TEST(LessonWindow, TakesNothingAwayWhileItIsAskedFor)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1280, 800);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    const std::vector<CommandId> telling{CommandId::exportFigure, CommandId::exportTable,  CommandId::exportTrace,
                                         CommandId::exportFilm,   CommandId::exportPage,   CommandId::copyFigure,
                                         CommandId::showCompare,  CommandId::trainScenario};
    for (const CommandId id : telling)
        EXPECT_TRUE(window.isEnabled(id)) << plainText(command(id)).toStdString();
    while (!window.lesson().masks())
        window.lesson().next();
    for (const CommandId id : telling)
        EXPECT_FALSE(window.isEnabled(id)) << plainText(command(id)).toStdString();
    // Pictures of what the answer hangs on tell no quantities.
    const auto tellsQuantity = [&] {
        for (const Node& node : window.workspace().canvas(Picture::memory).nodes())
            if (node.name.find("27.6 GiB") != std::string::npos)
                return true;
        return false;
    };
    window.workspace().setPictureVisible(Picture::memory, true);
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && !window.workspace().canvas(Picture::memory).nodes().empty(); }));
    ASSERT_TRUE(window.lesson().play()->showsWhatIsAsked(window.lesson().at()));
    EXPECT_FALSE(tellsQuantity());
    window.workspace().setMasked(false);
    EXPECT_TRUE(tellsQuantity()) << "it is there to be hidden";
    window.workspace().setMasked(true);
    EXPECT_FALSE(tellsQuantity());
}

TEST(LessonProgressFile, OneThatCannotBeReadIsPutAside)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{\"one-f-one-b\": ");
    file.close();
    LessonProgress progress(path);
    EXPECT_FALSE(progress.isFinished("one-f-one-b"));
    EXPECT_TRUE(QFile::exists(path + QStringLiteral(".unread")));
}

namespace {

/// Answers right until the step with that question or challenge.
void playUntil(MainWindow& window, const std::string& id)
{
    LessonPanel& lesson = window.lesson();
    while (lesson.play()->id(lesson.at()) != id) {
        if (lesson.masks()) {
            lesson.input()->setValue(lesson.play()->asked(lesson.at())->rightAnswer());
            for (QRadioButton* sure : lesson.findChildren<QRadioButton*>())
                if (sure->text() == QStringLiteral("certain"))
                    sure->setChecked(true);
            lesson.commit();
        }
        ASSERT_TRUE(lesson.canGoOn());
        lesson.next();
        ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    }
}

QPushButton* shownButton(const QWidget& in, const QString& text)
{
    for (QPushButton* each : in.findChildren<QPushButton*>())
        if (each->text() == text && each->isVisibleTo(&in))
            return each;
    return nullptr;
}

} // namespace

TEST(LessonWindow, AChallengeIsNotSolvedByWhatTheStepBeforeShows)
{
    for (const char* lesson : {"share-the-states", "norms-too", "cut-finer"}) {
        SCOPED_TRACE(lesson);
        MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
        window.resize(1280, 800);
        window.show();
        ASSERT_TRUE(window.openLesson(QString::fromUtf8(lesson)).empty());
        ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
        const auto challenges = window.lesson().play()->lesson().challenges();
        ASSERT_FALSE(challenges.empty());
        playUntil(window, challenges.front()->id);
        EXPECT_TRUE(shownButton(window.lesson(), QStringLiteral("Skip"))) << "nothing was done yet";
        EXPECT_FALSE(window.lesson().text().contains(QStringLiteral("Reached"))) << qPrintable(window.lesson().text());
    }
}

TEST(LessonWindow, RanksThatAreAskedForAreNotToldByTheGrid)
{
    MainWindow window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.resize(1400, 900);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("cut-the-matrix")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    playUntil(window, "tp-group");
    const auto picture = [&](std::optional<int> rank) {
        Selection selection = window.desk().selection();
        selection.selectedRank = rank;
        selection.ranks.clear();
        window.desk().setSelection(selection);
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        return window.workspace().canvas(Picture::grid).grab().toImage();
    };
    EXPECT_TRUE(window.desk().selection().asksForRanks);
    const auto differing = [&] { // of the cells beside its own, in rank 13's row
        const QImage none = picture({}), one = picture(13);
        int pixels = 0;
        for (int y = 0; y < none.height(); ++y)
            for (int x = 0; x < none.width(); ++x)
                pixels += none.pixel(x, y) != one.pixel(x, y) ? 1 : 0;
        return pixels;
    };
    const int asked = differing();
    window.lesson().input()->setValue(window.lesson().play()->asked(window.lesson().at())->rightAnswer());
    window.lesson().commit();
    EXPECT_FALSE(window.desk().selection().asksForRanks) << "the answer is told again";
    EXPECT_LT(2 * asked, differing()) << "its groups are outlined, and the others stand back";
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
    for (const auto& [text, value] : {std::pair("8-15", sim::LessonValue({8, 9, 10, 11, 12, 13, 14, 15})),
                                      std::pair("1, 4 – 6 9", sim::LessonValue({1, 4, 5, 6, 9})),
                                      std::pair("5-3", sim::LessonValue()), std::pair("3-", sim::LessonValue()),
                                      std::pair("0-99999999", sim::LessonValue()), std::pair("two", sim::LessonValue())}) {
        line->setText(QString::fromUtf8(text));
        EXPECT_EQ(player.panel.input()->value(), value) << text;
    }
}

TEST(LessonWindow, WhatALessonLeavesIsNobodysWork)
{
    QStandardPaths::setTestModeEnabled(true); // answers are kept, but not beside anybody's own
    MainWindow window(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
    window.resize(1024, 640);
    window.show();
    ASSERT_TRUE(window.openLesson(QStringLiteral("eighteen-bytes")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    playUntil(window, "fit");
    Edit edit;
    edit.assignments.push_back({"/training/optimizer", "\"sgd\""});
    window.session().edit(edit);
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    int asked = 0;
    QTimer watch;
    QObject::connect(&watch, &QTimer::timeout, &watch, [&] {
        if (QWidget* question = QApplication::activeModalWidget()) {
            ++asked;
            question->close();
        }
    });
    watch.start(5);
    Q_EMIT window.lesson().left();
    EXPECT_FALSE(window.isInLesson());
    ASSERT_TRUE(window.openLesson(QStringLiteral("share-the-states")).empty());
    ASSERT_TRUE(waitFor([&] { return window.isSettled() && window.lesson().isPlaying(); }));
    EXPECT_EQ(window.session().displayName(), QStringLiteral("Llama 2 7B on eight GPUs"));
    EXPECT_EQ(asked, 0);
    userSettings().clear();
    QFile::remove(LessonProgress::usualPath());
    QStandardPaths::setTestModeEnabled(false);
}

TEST(GoalText, SaysInPlainWordsWhatIsAskedFor)
{
    EXPECT_EQ(goalText("mine.exposed_comm_fraction.dp < 0.05 does not hold: mine.exposed_comm_fraction.dp is 0.162595"),
              QStringLiteral("the exposed communication is 16.3 % of the step, less than 5 % is asked for"));
    EXPECT_EQ(goalText("mine.world_size == pair.world_size does not hold: mine.world_size is 4, pair.world_size is 2"),
              QStringLiteral("the number of GPUs is 4, 2 is asked for"));
    EXPECT_EQ(goalText("mine.fits does not hold: it is false"), QStringLiteral("it does not fit into the memory of its GPUs"));
    EXPECT_EQ(goalText("mine.groups(0).dp == [0, 1] does not hold"), QStringLiteral("mine.groups(0).dp == [0, 1] does not hold"));
    sim::ChallengeState state;
    state.forbidden = {"/layout/pp"};
    EXPECT_EQ(goalText(state), QStringLiteral("“pp” may not be changed here"));
}

} // namespace app
