// What is kept of answers, and when they are asked for again.
#include "app/session/lesson_progress.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

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

TEST(LessonProgressFile, AnswersTellWhereASolutionWasShown)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    QFile file(path); // an entry without a value is none; challenges were once kept without saying it
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"one": {"answers": {"empty": {"right": true}, "old": {"value": {"/a": 1}, "right": false}}}})");
    file.close();
    LessonProgress progress(path);
    EXPECT_TRUE(progress.commit("one", "new",
                                {.value = {{"/a", 1}}, .isRight = false, .sure = {}, .seconds = 1, .isSolutionShown = true}));
    EXPECT_TRUE(progress.commit("one", "own", {.value = {{"/a", 1}}, .isRight = true, .sure = {}, .seconds = 1}));
    const sim::LessonValue answers = progress.answers("one").at("answers");
    EXPECT_FALSE(answers.contains("empty"));
    EXPECT_TRUE(answers.at("old").at("solution_shown"));
    EXPECT_TRUE(answers.at("new").at("solution_shown"));
    EXPECT_FALSE(answers.at("own").contains("solution_shown"));
    EXPECT_TRUE(progress.answer("one", "old")->isSolutionShown);
}

TEST(LessonProgressFile, WhatCouldNotBeWrittenIsWrittenLater)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    LessonProgress one(path);
    ASSERT_TRUE(QDir().mkpath(path)); // in its way
    EXPECT_FALSE(one.commit("bubble", "p", {.value = 1, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.answer("bubble", "p"));
    ASSERT_TRUE(QDir().rmdir(path));
    LessonProgress other(path);
    EXPECT_TRUE(other.commit("bubble", "q", {.value = 2, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.commit("bubble", "r", {.value = 3, .isRight = true, .sure = {}, .seconds = 1}));
    const LessonProgress all(path);
    for (const char* question : {"p", "q", "r"})
        EXPECT_TRUE(all.answer("bubble", question)) << question;
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

} // namespace
} // namespace app
