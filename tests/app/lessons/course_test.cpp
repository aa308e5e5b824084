// Every lesson played from end to end, through the accessibility tree and the keys: by one who answers right, and by one who
// makes each mistake that the lesson names.
#include "app/lessons/lesson_text.h"
#include "sim/lesson/live_text.h"
#include "tests/app/lessons/lesson_fixture.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace app {
namespace {

using namespace test;

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
    EXPECT_TRUE(player.progress.isFinished(player.play->lesson()));
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
            player.progress.setStep(lesson, at);
            player.panel.start(player.play);
            const std::string reason = player.play->asked(at)->reasonFor(value);
            ASSERT_FALSE(reason.empty());
            player.answer(value);
            const QString shown = player.panel.text();
            EXPECT_TRUE(shown.contains(QStringLiteral("Not so."))) << qPrintable(shown);
            EXPECT_TRUE(shown.contains(withoutCode(QString::fromStdString(reason)))) << qPrintable(shown);
            EXPECT_TRUE(player.panel.canGoOn()) << "a miss costs nothing";
        }
    }
}

/// After a step, and after an answer: the scenario of the step's case, and after an answer one that the answer speaks of.
TEST_P(LessonPlayed, OnScreenIsTheCaseThatIsSpokenOf)
{
    Player player(GetParam());
    LessonPanel& panel = player.panel;
    const sim::LessonPlay& play = *player.play;
    const auto isOnScreen = [&](const sim::ScenarioDocument& document) {
        return sim::resolvedScenario(document, catalogue()) == *player.desk.session().scenario();
    };
    /// Scenario cases in these expressions, and in the live numbers of that text.
    const auto spokenOf = [&](std::vector<std::string> expressions, const std::string& text) {
        for (const sim::LivePart& part : sim::liveParts(text))
            expressions.push_back(part.expression);
        std::set<std::string> out;
        for (const std::string& expression : expressions)
            if (!expression.empty())
                for (const auto& asked : sim::Expression::parse(expression).namesAsked())
                    if (play.scenario(asked.name) != nullptr)
                        out.insert(asked.name);
        return out;
    };
    const auto answersOf = [&](std::size_t at) {
        const sim::Question& question = play.asked(at)->question();
        std::vector<std::string> out{question.answer, question.on};
        for (const sim::QuestionPart& part : question.parts)
            out.push_back(part.value);
        for (const sim::QuestionOption& option : question.options)
            out.push_back(option.rightIf);
        return out;
    };
    for (std::size_t at = 0; at < play.steps(); ++at) {
        SCOPED_TRACE(play.step(at).pointer);
        if (play.shown(at) != nullptr) {
            EXPECT_TRUE(isOnScreen(*play.shown(at)));
        }
        if (const sim::AskedQuestion* asked = play.asked(at)) {
            player.answer(asked->rightAnswer());
            QCoreApplication::processEvents(); // pictures follow the words
            auto cases = play.isDrawn(at) ? std::set<std::string>() : spokenOf(answersOf(at), {});
            if (!cases.empty()) // else it is asked on paper
                cases.merge(spokenOf({}, asked->question().because));
            const auto tellsLater = [&](const std::string& name) {
                for (std::size_t later = at + 1; later < play.steps() && sim::shownBy(play.step(later)) != name; ++later)
                    if (play.asked(later) != nullptr && spokenOf(answersOf(later), {}).contains(name))
                        return true;
                return false;
            };
            EXPECT_TRUE(cases.empty() || std::any_of(cases.begin(), cases.end(),
                                                     [&](const std::string& name) {
                                                         return isOnScreen(*play.scenario(name)) || tellsLater(name);
                                                     }))
                << *cases.begin();
            const std::string shown = player.desk.session().document().text();
            panel.back();
            if (panel.at() < at)
                panel.next();
            EXPECT_EQ(shown, player.desk.session().document().text()) << "who comes back sees the same";
        }
        panel.next();
    }
}

INSTANTIATE_TEST_SUITE_P(Course, LessonPlayed, testing::ValuesIn(::test::lessonFiles()), [](const auto& file) {
    std::string name = file.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

} // namespace app
