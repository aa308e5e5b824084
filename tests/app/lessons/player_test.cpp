// Every lesson played from end to end: by one who answers right, and by one who makes each mistake that the lesson names.
#include "app/canvas/masked_canvas.h"
#include "app/canvas/qt/canvas_widget.h"
#include "app/lessons/curve_input.h"
#include "app/lessons/lesson_panel.h"
#include "app/lessons/lesson_text.h"
#include "app/lessons/list_inputs.h"
#include "app/lessons/order_editor_dialog.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QAccessible>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QRadioButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QToolButton>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

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
            EXPECT_FALSE(panel.text().contains(QStringLiteral("Right")));
            player.answer(asked->rightAnswer());
            EXPECT_TRUE(panel.text().contains(QStringLiteral("Right."))) << qPrintable(panel.text());
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
    EXPECT_TRUE(waitFor([&] { return lesson.text().contains(QStringLiteral("Not yet: peak memory gib is 33.8")); }))
        << qPrintable(lesson.text());
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
    auto* open = input.findChild<QToolButton*>();
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
    EXPECT_EQ(withoutQuantities(""), "");
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

} // namespace app
