// A file that cannot be opened: the window says which, what is wrong where, and how to go on.
#include "app/shell/window/problem_page.h"

#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"
#include "tests/app/shell/cut_labels.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QFile>
#include <QGuiApplication>
#include <QLabel>
#include <QProcess>
#include <QProcessEnvironment>
#include <QPushButton>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace app {
namespace {

using namespace test;

const char* const kIllegal =
    R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-h100","nodes":1},)"
    R"("layout":{"tp":3,"pp":7},"training":{"sequence_length":4096,"global_batch_size":8},"wrong":1})";

class ProblemPageTest : public testing::Test {
protected:
    ProblemPageTest() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1280, 800);
    }
    QString write(const char* name, const QByteArray& text)
    {
        QFile file(folder.filePath(QLatin1String(name)));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(text);
        return file.fileName();
    }
    QPushButton* button(const QString& text)
    {
        for (QPushButton* button : window.problemPage().findChildren<QPushButton*>())
            if (button->text() == text)
                return button;
        ADD_FAILURE() << "no button " << text.toStdString();
        return nullptr;
    }
    /// What is read on the page, and what a screen reader says of its problems.
    QString seen()
    {
        QStringList texts;
        for (const QLabel* label : window.problemPage().findChildren<QLabel*>())
            texts << label->text();
        for (const QFrame* frame : window.problemPage().findChildren<QFrame*>())
            texts << frame->accessibleName();
        return texts.join(QLatin1Char('\n'));
    }

    QTemporaryDir folder;
    MainWindow window;
};

TEST_F(ProblemPageTest, ALessonThatIsNotThereIsToldByItsOwnName)
{
    const Problems problems = window.openLesson(QStringLiteral("nope"));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems.front().text(), "nope: is neither the id of a lesson nor a file; the gallery has all lessons");
    const QString notOne = write("none.json", "{}");
    const std::string text = window.openLesson(notOne).front().text(), name = notOne.toStdString();
    EXPECT_EQ(text.find(name, text.find(name) + 1), std::string::npos) << text;
}

TEST_F(ProblemPageTest, EveryProblemStandsWithItsPlace)
{
    const QString path = write("bad.json", kIllegal);
    const Problems problems = window.openFile(path);
    window.show();
    for (int round = 0; round < 10; ++round)
        QCoreApplication::processEvents();
    ASSERT_GE(problems.size(), 2U);
    EXPECT_TRUE(window.isProblemPageShown());
    EXPECT_FALSE(window.isGalleryShown());
    EXPECT_TRUE(seen().contains(QStringLiteral("bad.json cannot be opened")));
    EXPECT_TRUE(seen().contains(path));
    for (const sim::Problem& problem : problems) {
        EXPECT_TRUE(seen().contains(QString::fromStdString("In the file: " + problem.pointer))) << problem.text();
        EXPECT_TRUE(window.problemPage().text().contains(QString::fromStdString(problem.text()))) << problem.text();
    }
    EXPECT_TRUE(seen().contains(QStringLiteral("Tensor tp: 3 does not divide the 32 heads"))) << seen().toStdString();
    EXPECT_TRUE(seen().contains(QStringLiteral("Cluster: the catalogue has no cluster"))) << seen().toStdString();
    EXPECT_TRUE(seen().contains(QStringLiteral("There is no setting “wrong”")));
    EXPECT_EQ(cutLabels(window.problemPage()).join(QLatin1Char('\n')).toStdString(), "");
    EXPECT_TRUE(window.problemPage().isAncestorOf(window.focusWidget())) << "keys reach it";
}

TEST_F(ProblemPageTest, OnceMendedItOpens)
{
    const QString path = write("mine.json", "{ \"format\": ");
    EXPECT_FALSE(window.openFile(path).empty());
    ASSERT_TRUE(window.isProblemPageShown());
    button(QStringLiteral("Try Again"))->click();
    ASSERT_TRUE(window.isProblemPageShown());
    QFile::remove(path);
    ASSERT_TRUE(QFile::copy(galleryFile(kTiny), path));
    button(QStringLiteral("Try Again"))->click();
    EXPECT_FALSE(window.isProblemPageShown());
    ASSERT_TRUE(waitFor([&] { return window.isSettled(); }));
    EXPECT_EQ(window.session().path(), path);
}

TEST_F(ProblemPageTest, TheGalleryIsOneClickAway)
{
    EXPECT_FALSE(window.openFile(QStringLiteral("/no/such/file.json")).empty());
    ASSERT_TRUE(window.isProblemPageShown());
    EXPECT_FALSE(window.isEnabled(CommandId::save));
    EXPECT_FALSE(window.isEnabled(CommandId::play));
    EXPECT_TRUE(window.isEnabled(CommandId::open));
    button(QStringLiteral("Go to the Gallery"))->click();
    EXPECT_TRUE(window.isGalleryShown());
}

TEST_F(ProblemPageTest, WhatIsNoScenarioAtAllIsToldToo)
{
    const QString pipe = folder.filePath(QStringLiteral("pipe.json")), huge = folder.filePath(QStringLiteral("huge.json"));
    ASSERT_EQ(::mkfifo(pipe.toUtf8().constData(), 0600), 0);
    ASSERT_TRUE(QFile(huge).open(QIODevice::WriteOnly));
    ASSERT_TRUE(QFile::resize(huge, std::int64_t{100} << 20));
    const QString deep = write("deep.json", QByteArray(200'000, '['));
    const QString words = write("words.json", "this is no JSON");
    const QString binary = write("binary.json", QByteArray("\0\xff\xfe\x80", 4));
    const QString text = write(
        "text.json",
        R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-h100","nodes":1,)"
        R"("gpu":{"peak_tflops":{"int8":"624"}}},"layout":{"tp":8},"training":{"sequence_length":4096,"global_batch_size":8}})");
    for (const QString& path : {pipe, huge, deep, words, binary, text, QStringLiteral("/no/such/file.json")}) {
        const Problems problems = window.openFile(path);
        if (problems.empty() && path == text)
            continue; // a reader may know better one day
        EXPECT_FALSE(problems.empty()) << path.toStdString();
        EXPECT_TRUE(window.isProblemPageShown());
        EXPECT_EQ(window.problemPage().path(), path);
        EXPECT_FALSE(window.problemPage().text().isEmpty());
    }
    EXPECT_TRUE(window.openFile(folder.path()).empty()) << "a folder is of a recorded run, and its page says what is wrong";
    EXPECT_TRUE(window.isRecordedShown());
}

TEST_F(ProblemPageTest, ThousandsOfProblemsAreMoreThanAreListed)
{
    QByteArray text = R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":"dgx-h100")";
    for (int i = 0; i < 5000; ++i)
        text += ",\"wrong" + QByteArray::number(i) + "\":1";
    const Problems problems = window.openFile(write("wrong.json", text + "}"));
    EXPECT_GT(problems.size(), 1000U);
    EXPECT_EQ(window.problemPage().text().count(QLatin1Char('\n')), static_cast<qsizetype>(problems.size()));
    EXPECT_TRUE(seen().contains(QStringLiteral("THE FIRST 200 OF MORE THAN 1,000 PROBLEMS"))) << seen().left(300).toStdString();
}

TEST_F(ProblemPageTest, ABannerListsTheFirstOfThousandsAndCopiesAll)
{
    Problems problems;
    for (int i = 0; i < 5000; ++i)
        problems.push_back({{}, "/view/ranks/" + std::to_string(i), "is left out", sim::Severity::warning});
    window.banner().tell(QStringLiteral("Much"), problems);
    QString shown;
    for (const QLabel* label : window.banner().findChildren<QLabel*>())
        shown += label->text();
    EXPECT_TRUE(shown.contains(QStringLiteral("/view/ranks/199<")));
    EXPECT_FALSE(shown.contains(QStringLiteral("/view/ranks/200<")));
    EXPECT_TRUE(shown.contains(QStringLiteral("… and 4,800 more")));
    EXPECT_FALSE(window.banner().accessibleName().contains(QStringLiteral("/view/ranks/200:")));
    for (QPushButton* of : window.banner().findChildren<QPushButton*>())
        if (of->text() == QStringLiteral("Copy"))
            of->click();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(QStringLiteral("/view/ranks/4999")));
}

TEST_F(ProblemPageTest, WhatTheCommandLineSetsIsNotBlamedOnTheFile)
{
    const QString path = galleryFile(kTiny);
    EXPECT_FALSE(window.openFile(path, {QStringLiteral("/x=bad")}).empty());
    ASSERT_TRUE(window.isProblemPageShown());
    EXPECT_TRUE(seen().contains(QStringLiteral(".json cannot be opened with --set /x=bad"))) << seen().toStdString();
    EXPECT_TRUE(window.problemPage().text().contains(path + QStringLiteral(" --set /x=bad: ")));
    button(QStringLiteral("Open Without It"))->click();
    EXPECT_FALSE(window.isProblemPageShown());
    EXPECT_EQ(window.session().path(), path);
}

/// The program itself.
class BadFileOnTheCommandLine : public testing::Test {
protected:
    BadFileOnTheCommandLine()
    {
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(kIllegal);
        file.close();
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        program.setProcessEnvironment(environment);
    }
    void start(const QStringList& more = {})
    {
        program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"), QStringList{path} + more);
        ASSERT_TRUE(program.waitForStarted());
    }
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("bad.json"));
    QProcess program;
};

TEST_F(BadFileOnTheCommandLine, OpensTheWindow)
{
    start();
    QByteArray said;
    ASSERT_TRUE(waitFor([&] { return (said += program.readAllStandardError()).contains("/layout/tp"); })) << said.toStdString();
    EXPECT_FALSE(program.waitForFinished(1000)) << "the window is there, and waits for somebody";
    program.kill();
    program.waitForFinished();
}

TEST_F(BadFileOnTheCommandLine, GivesNoPicture)
{
    const QString picture = folder.filePath(QStringLiteral("out.png")), figure = folder.filePath(QStringLiteral("out.svg"));
    for (const QStringList& options : {QStringList{QStringLiteral("--screenshot"), picture},
                                       QStringList{QStringLiteral("--figure"), QStringLiteral("grid"), figure}}) {
        start(options);
        ASSERT_TRUE(program.waitForFinished());
        EXPECT_EQ(program.exitCode(), 1);
        EXPECT_TRUE(program.readAllStandardError().contains("/layout/tp"));
    }
    EXPECT_FALSE(QFile::exists(picture));
    EXPECT_FALSE(QFile::exists(figure));
}

TEST_F(ProblemPageTest, ShowsTheBeginningOfWhatIsEndless)
{
    EXPECT_FALSE(window.openFile(write("a.json", "{\"" + QByteArray(1'000'000, 'k') + "\": 1}")).empty());
    EXPECT_LT(seen().size(), 100'000);
    window.banner().tell(QStringLiteral("a"), {{{}, "/" + std::string(1'000'000, 'k'), "b", sim::Severity::error}});
    for (const QLabel* label : window.banner().findChildren<QLabel*>())
        EXPECT_LT(label->text().size(), 10'000);
}

} // namespace
} // namespace app
