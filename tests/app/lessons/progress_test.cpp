// What is kept of answers, and when they are asked for again.
#include "app/session/gallery.h"
#include "app/session/lesson_progress.h"
#include "tests/app/lessons/lesson_fixture.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <fstream>

namespace app {
namespace {

using namespace test;

std::filesystem::path course()
{
    return sim::lessonFolder(catalogue());
}

sim::Lesson ofCourse(const char* id)
{
    sim::Lesson lesson;
    lesson.id = id;
    lesson.fileName = (course() / (std::string(id) + ".json")).string();
    return lesson;
}

TEST(LessonProgressFile, KeepsWhatWasCommittedAndAsksAgainAfterDays)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    const sim::Lesson lesson = sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", catalogue());
    const QDateTime day0 = QDateTime::fromString(QStringLiteral("2026-03-01T12:00:00Z"), Qt::ISODate);
    {
        LessonProgress progress(path, course());
        EXPECT_TRUE(progress.commit(lesson, "peak", {.value = 17.0, .isRight = true, .sure = 0.6, .seconds = 3}));
        EXPECT_TRUE(progress.commit(lesson, "peak", {.value = 40.0, .isRight = false, .sure = {}, .seconds = 1}));
        progress.setStep(lesson, 3);
        progress.finish(lesson, day0);
    }
    LessonProgress progress(path, course());
    ASSERT_TRUE(progress.answer(lesson, "peak"));
    EXPECT_EQ(progress.answer(lesson, "peak")->value, 17.0) << "what was committed stays";
    EXPECT_EQ(progress.step(lesson), 3U);
    EXPECT_TRUE(progress.due(lesson, day0.addSecs(3600)).empty());
    EXPECT_EQ(progress.due(lesson, day0.addDays(1)).size(), lesson.remember.size());
    progress.remembered(lesson, lesson.remember[0].id, true, {}, day0.addDays(1));
    EXPECT_EQ(progress.due(lesson, day0.addDays(2)).size(), lesson.remember.size() - 1);
    EXPECT_EQ(progress.due(lesson, day0.addDays(4)).size(), lesson.remember.size());
    progress.remembered(lesson, lesson.remember[0].id, false, {}, day0.addDays(4));
    EXPECT_EQ(progress.due(lesson, day0.addDays(5)).size(), lesson.remember.size()) << "a wrong one comes back tomorrow";
    EXPECT_EQ(progress.answers(lesson).at("answers").at("peak").at("value"), 17.0);
}

TEST(LessonProgressFile, TwoWindowsKeepEachOthersAnswers)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    LessonProgress one(path, course()), other(path, course());
    EXPECT_TRUE(one.commit(ofCourse("bubble"), "p", {.value = 1, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(other.commit(ofCourse("one-f-one-b"), "peak", {.value = 17, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.commit(ofCourse("one-f-one-b"), "peak", {.value = 40, .isRight = false, .sure = {}, .seconds = 1}));
    const LessonProgress both(path, course());
    ASSERT_TRUE(both.answer(ofCourse("bubble"), "p"));
    ASSERT_TRUE(both.answer(ofCourse("one-f-one-b"), "peak"));
    EXPECT_EQ(both.answer(ofCourse("one-f-one-b"), "peak")->value, 17) << "the first one counts, whoever gave it";
}

TEST(LessonProgressFile, AnswersTellWhereASolutionWasShown)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    QFile file(path); // an entry without a value is none; challenges were once kept without saying it
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"one": {"answers": {"empty": {"right": true}, "old": {"value": {"/a": 1}, "right": false}}}})");
    file.close();
    LessonProgress progress(path, course());
    EXPECT_TRUE(progress.commit(ofCourse("one"), "new",
                                {.value = {{"/a", 1}}, .isRight = false, .sure = {}, .seconds = 1, .isSolutionShown = true}));
    EXPECT_TRUE(progress.commit(ofCourse("one"), "own", {.value = {{"/a", 1}}, .isRight = true, .sure = {}, .seconds = 1}));
    const sim::LessonValue answers = progress.answers(ofCourse("one")).at("answers");
    EXPECT_FALSE(answers.contains("empty"));
    EXPECT_TRUE(answers.at("old").at("solution_shown"));
    EXPECT_TRUE(answers.at("new").at("solution_shown"));
    EXPECT_FALSE(answers.at("own").contains("solution_shown"));
    EXPECT_TRUE(progress.answer(ofCourse("one"), "old")->isSolutionShown);
}

TEST(LessonProgressFile, WhatCouldNotBeWrittenIsWrittenLater)
{
    const QTemporaryDir folder;
    const QString inTheWay = folder.filePath(QStringLiteral("rankscope")), path = inTheWay + QStringLiteral("/lessons.json");
    LessonProgress one(path, course());
    ASSERT_TRUE(QFile(inTheWay).open(QIODevice::WriteOnly)); // a file where its folder is to be
    EXPECT_FALSE(one.commit(ofCourse("bubble"), "p", {.value = 1, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.answer(ofCourse("bubble"), "p"));
    ASSERT_TRUE(QFile::remove(inTheWay));
    LessonProgress other(path, course());
    EXPECT_TRUE(other.commit(ofCourse("bubble"), "q", {.value = 2, .isRight = true, .sure = {}, .seconds = 1}));
    EXPECT_TRUE(one.commit(ofCourse("bubble"), "r", {.value = 3, .isRight = true, .sure = {}, .seconds = 1}));
    const LessonProgress all(path, course());
    for (const char* question : {"p", "q", "r"})
        EXPECT_TRUE(all.answer(ofCourse("bubble"), question)) << question;
}

TEST(LessonProgressFile, WhoseFileIsAnotherIsAnotherLesson)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    QFile file(path); // before files told them apart
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"bubble": {"step": 3, "finished": "2026-03-01T12:00:00Z"}, "mine": {"step": 2}})");
    file.close();
    LessonProgress progress(path, course());
    sim::Lesson recorded = ofCourse("bubble"), mine = ofCourse("mine");
    recorded.fileName = folder.filePath(QStringLiteral("bubble.json")).toStdString();
    mine.fileName = folder.filePath(QStringLiteral("mine.json")).toStdString();
    EXPECT_EQ(progress.step(ofCourse("bubble")), 3U);
    EXPECT_EQ(progress.step(recorded), 0U) << "it only has the id of one of the course";
    EXPECT_EQ(progress.step(mine), 2U) << "what was kept of it is found";
    progress.setStep(recorded, 1);
    progress.setStep(mine, 4);
    progress.forget(recorded);
    EXPECT_TRUE(progress.isFinished(ofCourse("bubble")));
    const LessonProgress again(path, course());
    EXPECT_EQ(again.step(ofCourse("bubble")), 3U);
    EXPECT_EQ(again.step(mine), 4U);
    mine.fileName = folder.filePath(QStringLiteral("mine-too.json")).toStdString();
    EXPECT_EQ(again.step(mine), 0U);
}

TEST(LessonProgressFile, WhatIsRememberedIsAskedWithOtherNumbers)
{
    LessonProgress progress(QString(), course());
    const sim::Lesson lesson = ofCourse("bubble");
    sim::Question question;
    question.id = "later";
    question.vary = {{"p", {4}}, {"m", {8, 16, 32}}, {"v", {1, 2}}};
    EXPECT_EQ(progress.withOtherNumbers(lesson, question).vary, question.vary) << "it was never asked";
    progress.remembered(lesson, question.id, true, {{"p", 4}, {"m", 16}, {"v", 2}}, QDateTime::currentDateTime());
    const sim::Question next = progress.withOtherNumbers(lesson, question);
    EXPECT_EQ(next.vary[0].second, std::vector<double>{4}) << "there is no other";
    EXPECT_EQ(next.vary[1].second, (std::vector<double>{8, 32}));
    EXPECT_EQ(next.vary[2].second, (std::vector<double>{1, 2}));
}

TEST(LessonGallery, ABadLessonHidesNone)
{
    namespace fs = std::filesystem;
    const QTemporaryDir folder;
    const fs::path assets(folder.path().toStdString());
    for (const auto& each : fs::directory_iterator(catalogue().assets()))
        if (each.path().filename() != "lessons")
            fs::create_symlink(each.path(), assets / each.path().filename());
    fs::create_directory(assets / "lessons");
    fs::create_symlink(course() / "bubble.json", assets / "lessons" / "bubble.json");
    std::ofstream(assets / "lessons" / "bad.json") << "{";
    std::vector<GalleryEntry> entries;
    std::vector<GallerySection> sections;
    addLessons(entries, sections, sim::Catalogue::load(assets), LessonProgress(QString(), course()));
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_TRUE(entries[0].lesson);
    EXPECT_FALSE(entries[1].lesson);
    EXPECT_EQ(entries[1].name, QStringLiteral("bad"));
    EXPECT_TRUE(entries[1].summary.contains(QStringLiteral("line 1"))) << qPrintable(entries[1].summary);
}

TEST(LessonProgressFile, OneThatCannotBeReadIsPutAside)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("lessons.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{\"one-f-one-b\": ");
    file.close();
    LessonProgress progress(path, course());
    EXPECT_FALSE(progress.isFinished(ofCourse("one-f-one-b")));
    EXPECT_TRUE(QFile::exists(path + QStringLiteral(".unread")));
}

} // namespace
} // namespace app
