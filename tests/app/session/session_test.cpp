#include "app/session/scenario_name.h"
#include "app/session/session.h"

#include "app/session/gallery.h"
#include "app/session/settings.h"
#include "sim/scenario/hardware_profile.h"
#include "tests/app/session/session_fixtures.h"

#include <QDeadlineTimer>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <csignal>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace app {
namespace {

using namespace test;

/// What this program has allocated and not given back.
std::size_t heldBytes()
{
    const struct mallinfo2 held = ::mallinfo2();
    return held.uordblks + held.hblkhd;
}

/// While it lives no file takes a byte, as on a full disk.
class FullDisk {
public:
    FullDisk() : m_handler(std::signal(SIGXFSZ, SIG_IGN))
    {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const struct rlimit none = {0, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk()
    {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    struct rlimit m_before {};
    void (*m_handler)(int);
};

class SessionTest : public testing::Test {
protected:
    QString write(const char* name, const QByteArray& text)
    {
        QFile file(folder.filePath(QLatin1String(name)));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(text);
        return file.fileName();
    }
    void set(std::string_view control, int value, int gesture = 0)
    {
        Edit edit = makeEdit(session.document(), session.scenario(), control, value, LayoutRule::keepGpus);
        edit.gesture = gesture;
        session.edit(edit);
    }
    int tp() const { return session.scenario()->layout.tp; }

    QTemporaryDir folder;
    Session session{catalogue(), folder.filePath(QStringLiteral("autosave"))};
};

TEST_F(SessionTest, StartsEmpty)
{
    EXPECT_FALSE(session.isOpen());
    EXPECT_FALSE(session.isModified());
    EXPECT_EQ(session.scenario(), nullptr);
    EXPECT_EQ(session.displayName(), QString());
    session.edit(makeKeyEdit("/layout/tp", "2", "tp", "1", "2")); // nothing to edit, nothing happens
    EXPECT_FALSE(session.isModified());
}

TEST_F(SessionTest, OpensAFile)
{
    int opened = 0, changed = 0;
    QObject::connect(&session, &Session::opened, [&] { ++opened; });
    QObject::connect(&session, &Session::changed, [&] { ++changed; });
    EXPECT_TRUE(session.open(galleryFile(kSixteen)).empty());
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(changed, 1);
    EXPECT_TRUE(session.isLegal());
    EXPECT_FALSE(session.isModified());
    EXPECT_EQ(session.displayName(), QStringLiteral("Sixteen ranks, four dimensions"));
    session.show(sim::ScenarioDocument(session.document())); // as a lesson does
    EXPECT_EQ(session.displayName(), QStringLiteral("Sixteen ranks, four dimensions"));
    session.edit({{{"/training/recompute", "\"full\""}}, "recompute", 0});
    EXPECT_EQ(session.displayName(), QStringLiteral("Sixteen ranks, four dimensions, now recompute whole layers"));
    session.edit({{{"/layout/placement", "\"round-robin\""}}, "placement", 0});
    EXPECT_EQ(session.displayName(),
              QStringLiteral("Sixteen ranks, four dimensions, now recompute whole layers, placement round-robin"));
}

/// "m 4" beside a field that says micro-batch 8 would read as wrong.
TEST_F(SessionTest, AChangedMicroBatchIsToldByItsSize)
{
    ASSERT_TRUE(session.open(galleryFile("16-schedule-gpipe.json")).empty());
    const QString name = session.displayName();
    session.edit({{{"/training/micro_batch_size", "8"}}, "micro-batch", 0});
    EXPECT_EQ(session.displayName(), name + QStringLiteral(", now micro-batch 8"));
    session.undoStack().undo();
    session.edit({{{"/training/global_batch_size", "64"}}, "global batch", 0});
    EXPECT_EQ(session.displayName(), name + QStringLiteral(", now m 16"));
}

TEST_F(SessionTest, ItsDescriptionIsOfTheScenarioAsItWasOpened)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    EXPECT_TRUE(session.isAsDescribed());
    const QString before = shownDescription(*session.scenario(), true);
    session.edit({{{"/training/recompute", "\"full\""}}, "recompute", 0});
    EXPECT_FALSE(session.isAsDescribed());
    EXPECT_EQ(shownDescription(*session.scenario(), session.isAsDescribed()),
              QStringLiteral("*Of the scenario as it was opened:* ") + before);
    session.edit({{{"/description", "\"All is run again.\""}}, "description", 0});
    EXPECT_TRUE(session.isAsDescribed()) << "somebody describes it as it is";
}

TEST_F(SessionTest, UndoGivesBackExactlyWhatWasThere)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    const std::string before = session.document().text();
    set(Control::tp, 4);
    const std::string after = session.document().text();
    EXPECT_EQ(tp(), 4);
    EXPECT_TRUE(session.isModified());
    EXPECT_EQ(session.undoStack().undoText(), QStringLiteral("tp 2 → 4, dp 2 → 1"));
    session.undoStack().undo();
    EXPECT_EQ(session.document().text(), before);
    EXPECT_FALSE(session.isModified());
    session.undoStack().redo();
    EXPECT_EQ(session.document().text(), after);
}

/// A scenario whose text is that long.
std::string longText(std::size_t bytes, char letter)
{
    sim::ScenarioDocument scenario = document(kSixteen);
    scenario.set("/live/data", '"' + std::string(bytes, letter) + '"'); // the longest text that a file may have
    return scenario.text();
}

TEST_F(SessionTest, AStepOfTheHistoryTakesNoMoreThanItChanges)
{
    constexpr std::size_t kLong = 1U << 20U;
    ASSERT_TRUE(session.open(write("long.json", QByteArray::fromStdString(longText(kLong, 'a')))).empty());
    const std::string before = session.document().text();
    const std::size_t bytesBefore = heldBytes();
    for (int step = 0; step < 60; ++step)
        set(Control::microBatchSize, 1 + step % 2);
    set(Control::tp, 4);
    EXPECT_LT(heldBytes(), bytesBefore + 20 * kLong);
    EXPECT_GE(session.undoStack().count(), 50);
    while (session.undoStack().canUndo())
        session.undoStack().undo();
    EXPECT_EQ(session.document().text(), before);
    EXPECT_FALSE(session.isModified());
}

TEST_F(SessionTest, TheHistoryForgetsItsOldestStepsWhereTheyAreTooMany)
{
    constexpr std::size_t kLong = 6U << 20U;
    constexpr int kSteps = 16; // each replaces all of it: 12 MiB
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    std::vector<std::string> texts{session.document().text()};
    const std::size_t bytesBefore = heldBytes();
    for (int step = 0; step < kSteps; ++step) {
        session.replaceContent(sim::ScenarioDocument::parse(longText(kLong, static_cast<char>('a' + step))),
                               QStringLiteral("step %1").arg(step));
        texts.push_back(session.document().text());
        texts.back().shrink_to_fit();
    }
    set(Control::tp, 4);
    EXPECT_LT(heldBytes(), bytesBefore + texts.size() * kLong + (std::size_t{120} << 20U));
    EXPECT_LT(session.undoStack().count(), kSteps);
    EXPECT_GT(session.undoStack().count(), 2);
    EXPECT_TRUE(session.isModified());
    session.undoStack().undo();
    EXPECT_EQ(session.document().text(), texts.back());
    EXPECT_EQ(session.undoStack().undoText(), QStringLiteral("step 15"));
    for (std::size_t text = texts.size() - 1; session.undoStack().canUndo(); --text) {
        session.undoStack().undo();
        EXPECT_EQ(session.document().text(), texts.at(text - 1));
        EXPECT_TRUE(session.isModified()) << "what was in the file is no longer in the history";
    }
    while (session.undoStack().canRedo())
        session.undoStack().redo();
    EXPECT_EQ(tp(), 4);
}

TEST_F(SessionTest, WhatIsNoFileIsRefusedAtOnce)
{
    const QString pipe = folder.filePath(QStringLiteral("pipe.json"));
    ASSERT_EQ(::mkfifo(pipe.toUtf8().constData(), 0600), 0);
    const QString hollow = folder.filePath(QStringLiteral("hollow.json"));
    ASSERT_TRUE(QFile(hollow).open(QIODevice::WriteOnly));
    ASSERT_TRUE(QFile::resize(hollow, std::int64_t{100} << 20));
    for (const QString& path : {pipe, hollow, folder.path(), QStringLiteral("/dev/zero")}) {
        const Problems problems = session.open(path);
        ASSERT_FALSE(problems.empty()) << path.toStdString();
        EXPECT_EQ(problems.front().file, path.toStdString());
        EXPECT_FALSE(problems.front().message.empty());
    }
    EXPECT_FALSE(session.isOpen());
    EXPECT_EQ(readGallery(folder.path().toStdString(), catalogue()).size(), 2U) << "with the pipe among them";
}

TEST_F(SessionTest, ValuesOfAnyTypeAreProblemsAndNeverMore)
{
    const QByteArray begin =
        R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-h100","nodes":1,"gpu":{"base":"h100-sxm","peak_tflops":)";
    const QByteArray end = R"(}},"layout":{"tp":8},"training":{"sequence_length":4096,"global_batch_size":8}})";
    for (const char* value : {R"({"int8":"624"})", R"({"bf16":"989"})", R"({"bf16":{"bf16":1}})", R"([1])", R"("989")", "null"}) {
        const QString path = write("odd.json", begin + value + end);
        const Problems problems = session.open(path);
        if (session.isOpen() && problems.empty())
            continue; // it may mean something one day
        ASSERT_FALSE(problems.empty()) << value;
        EXPECT_EQ(problems.front().file, path.toStdString()) << value;
        EXPECT_FALSE(readGalleryEntry(path, catalogue()).summary.isEmpty()) << value;
        (void)session.recover({path, path, QString::fromUtf8(begin + value + end), {}});
    }
}

TEST_F(SessionTest, AStepThatCannotBeTakenLeavesDocumentAndHistoryAlone)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    const std::string file = session.document().text();
    std::string many = "[0"; // values that a file may have once, and not twice
    for (int i = 0; i < 1'100'000; ++i)
        many += ",0";
    many += "]";
    session.edit(Edit{{{"/view/a", many}}, "a", 0});
    ASSERT_EQ(session.undoStack().count(), 1);
    const std::string once = session.document().text();
    session.edit(Edit{{{"/view/b", many}}, "b", 0});
    EXPECT_EQ(session.undoStack().count(), 1);
    EXPECT_EQ(session.document().text(), once);
    ASSERT_FALSE(session.problems().empty());
    EXPECT_NE(session.problems().front().message.find("values"), std::string::npos) << session.problems().front().message;
    session.undoStack().undo();
    EXPECT_EQ(session.document().text(), file);
    EXPECT_TRUE(session.isLegal());
}

TEST_F(SessionTest, OneDragIsOneStep)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 1, 5);
    set(Control::tp, 2, 5);
    set(Control::tp, 4, 5);
    EXPECT_EQ(session.undoStack().count(), 1);
    EXPECT_TRUE(session.undoStack().undoText().startsWith(QStringLiteral("tp 2 → 4")));
    set(Control::pp, 1, 6);
    EXPECT_EQ(session.undoStack().count(), 2);
    session.undoStack().undo();
    session.undoStack().undo();
    EXPECT_EQ(tp(), 2);
}

TEST_F(SessionTest, ADragBackToWhereItBeganIsNoStep)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 4, 3);
    set(Control::tp, 2, 3);
    EXPECT_EQ(session.undoStack().count(), 0);
    EXPECT_FALSE(session.isModified());
}

TEST_F(SessionTest, AnEditThatChangesNothingIsNoStep)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 2);
    EXPECT_EQ(session.undoStack().count(), 0);
}

TEST_F(SessionTest, IllegalEditKeepsTheLastLegalScenario)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    session.edit(makeKeyEdit("/layout/tp", "3", "tp", "2", "3"));
    EXPECT_FALSE(session.isLegal());
    EXPECT_EQ(tp(), 2);
    EXPECT_EQ(session.document().get("/layout/tp"), "3");
    ASSERT_FALSE(session.problems().empty());
    bool told = false;
    for (const sim::Problem& problem : session.problems())
        told = told || problem.pointer == "/layout/tp";
    EXPECT_TRUE(told);
    session.undoStack().undo();
    EXPECT_TRUE(session.isLegal());
}

TEST_F(SessionTest, BadFilesLeaveTheOpenOneAlone)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 4);
    const std::string before = session.document().text();
    int signalled = 0;
    QObject::connect(&session, &Session::opened, [&] { ++signalled; });
    QObject::connect(&session, &Session::changed, [&] { ++signalled; });
    const Problems unreadable = session.open(folder.filePath(QStringLiteral("none.json")));
    const Problems broken = session.open(write("broken.json", "{ \"format\": "));
    const Problems illegal = session.open(
        write("illegal.json",
              R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":{"base":"dgx-h100","nodes":1},)"
              R"("layout":{"tp":3,"pp":7},"training":{"sequence_length":4096,"global_batch_size":8},"wrong":1})"));
    EXPECT_EQ(unreadable.size(), 1U);
    EXPECT_EQ(broken.size(), 1U);
    EXPECT_GE(illegal.size(), 2U) << "all problems at once";
    EXPECT_EQ(session.document().text(), before);
    EXPECT_TRUE(session.isModified());
    EXPECT_EQ(signalled, 0);
}

TEST_F(SessionTest, SavedFilesOpenAsTheSameScenario)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::pp, 4);
    const QString path = folder.filePath(QStringLiteral("mine.json"));
    EXPECT_TRUE(session.saveAs(path).empty());
    EXPECT_FALSE(session.isModified());
    EXPECT_EQ(session.path(), path);
    const sim::Scenario saved = *session.scenario();
    set(Control::tp, 1);
    EXPECT_TRUE(session.isModified());
    EXPECT_TRUE(session.save().empty());
    ASSERT_TRUE(session.open(path).empty());
    EXPECT_EQ(tp(), 1);
    EXPECT_EQ(session.scenario()->layout.pp, saved.layout.pp);
    EXPECT_EQ(session.scenario()->model, saved.model);
}

TEST_F(SessionTest, WhatCannotBeSavedStaysModified)
{
    EXPECT_FALSE(session.save().empty());
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 4);
    const QString path = session.path();
    EXPECT_FALSE(session.saveAs(folder.filePath(QStringLiteral("no/such/folder/mine.json"))).empty());
    EXPECT_TRUE(session.isModified());
    EXPECT_EQ(session.path(), path);
}

TEST_F(SessionTest, KnowsAFileThatSomebodyElseHasWritten)
{
    const QString file = write("mine.json", QByteArray::fromStdString(document(kSixteen).text()));
    ASSERT_TRUE(session.open(file).empty());
    EXPECT_FALSE(session.isChangedOnDisk());
    set(Control::tp, 4);
    ASSERT_TRUE(session.save().empty());
    EXPECT_FALSE(session.isChangedOnDisk()) << "it was this one";
    write("mine.json", "{}");
    EXPECT_TRUE(session.isChangedOnDisk());
    QFile::remove(file);
    EXPECT_FALSE(session.isChangedOnDisk()) << "there is nothing to lose";
}

TEST_F(SessionTest, SaysOnceThatUnsavedWorkCannotBeKeptSafe)
{
    write("autosave", "a file where the folder would be");
    int told = 0;
    QObject::connect(&session, &Session::notKeptSafe, [&] { ++told; });
    session.setAutosaveDelay(0);
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    set(Control::tp, 4);
    ASSERT_TRUE(waitFor([&] { return told > 0; }));
    set(Control::tp, 1);
    const QDeadlineTimer soon(100); // the second try, which says nothing
    waitFor([&] { return soon.hasExpired(); });
    EXPECT_EQ(told, 1);
}

TEST_F(SessionTest, UndoingToWhatWasRefusedShowsWhatWasLegalThen)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen)).empty());
    const auto setTp = [this](const char* value) { session.edit(makeKeyEdit("/layout/tp", value, "tp", "?", value)); };
    setTp("3");
    EXPECT_FALSE(session.isLegal());
    EXPECT_EQ(tp(), 2);
    setTp("1");
    EXPECT_EQ(tp(), 1);
    session.undoStack().undo();
    EXPECT_FALSE(session.isLegal());
    EXPECT_EQ(tp(), 2) << "not what was just undone";
    session.undoStack().redo();
    EXPECT_EQ(tp(), 1);
}

TEST_F(SessionTest, OverridesAreTheFirstStep)
{
    ASSERT_TRUE(session.open(galleryFile(kSixteen), {QStringLiteral("layout.tp=4"), QStringLiteral("layout.dp=1")}).empty());
    EXPECT_EQ(tp(), 4);
    EXPECT_TRUE(session.isModified());
    session.undoStack().undo();
    EXPECT_EQ(tp(), 2);
    const QString path = galleryFile(kSixteen),
                  bad = write("bad.json", R"({"format":"rankscope-scenario","version":1,"wrong":1})");
    for (const char* setting : {"layout.tp=3", "no.such.key=3", "/x=bad", "=4"}) {
        const Problems problems = session.open(path, {QLatin1String(setting)});
        ASSERT_FALSE(problems.empty()) << setting;
        EXPECT_EQ(problems.front().file, path.toStdString() + " --set " + setting) << "not the file is to blame";
        EXPECT_EQ(session.open(bad, {QLatin1String(setting)}).front().file, bad.toStdString());
    }
    EXPECT_EQ(tp(), 2);
}

TEST_F(SessionTest, UnsavedWorkIsKeptAndTakenUpAgain)
{
    const QString autosaves = folder.filePath(QStringLiteral("autosave"));
    std::string text;
    {
        Session crashing(catalogue(), autosaves);
        ASSERT_TRUE(crashing.open(galleryFile(kSixteen)).empty());
        crashing.edit(makeKeyEdit("/layout/tp", "4", "tp", "2", "4"));
        text = crashing.document().text();
        ASSERT_TRUE(waitFor([&] { return !QDir(autosaves).entryList({QStringLiteral("*.autosave")}).isEmpty(); }));
        EXPECT_TRUE(Autosave::recoverable(autosaves).empty()) << "a living window's work is not offered to others";
    } // gone without save() or close()
    const auto left = Autosave::recoverable(autosaves);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left.front().path, galleryFile(kSixteen));
    ASSERT_TRUE(session.recover(left.front()).empty());
    EXPECT_EQ(session.document().text(), text);
    EXPECT_TRUE(session.isModified());
    EXPECT_EQ(session.path(), galleryFile(kSixteen));
    EXPECT_TRUE(Autosave::recoverable(autosaves).empty());
    session.close();
    EXPECT_TRUE(QDir(autosaves).entryList({QStringLiteral("*.autosave")}).isEmpty()) << "closed in peace: nothing to restore";
}

TEST_F(SessionTest, AFileThatAnotherWroteSinceACrashIsNotOverwrittenUnasked)
{
    const QString autosaves = folder.filePath(QStringLiteral("autosave"));
    const QByteArray text = QByteArray::fromStdString(document(kSixteen).text());
    const QString file = write("mine.json", text);
    const auto crash = [&] {
        Session crashing(catalogue(), autosaves);
        ASSERT_TRUE(crashing.open(file).empty());
        crashing.edit(makeKeyEdit("/layout/tp", "4", "tp", "2", "4"));
        crashing.keepSafe();
    };
    crash();
    ASSERT_TRUE(session.recover(Autosave::recoverable(autosaves).front()).empty());
    EXPECT_FALSE(session.isChangedOnDisk()) << "nobody did";
    session.close();
    crash();
    write("mine.json", text + "\n");
    const auto left = Autosave::recoverable(autosaves);
    ASSERT_EQ(left.size(), 1U);
    ASSERT_TRUE(session.recover(left.front()).empty());
    EXPECT_TRUE(session.isChangedOnDisk());
    ASSERT_TRUE(session.save().empty());
    EXPECT_FALSE(session.isChangedOnDisk());
}

/// Undone and done again, each step is between what it was between.
TEST_F(SessionTest, FilesBesideAScenarioAreFoundFromTheFolderItIsSavedIn)
{
    write("measured.json", QByteArray::fromStdString(sim::hardwareProfileText(
                               "mine", {.device = "here", .kernels = {{"adamw", {{.m = 1, .n = 5, .microseconds = 1}}}}})));
    const QString file = write("mine.json", QByteArray::fromStdString(document(kTiny).text()));
    ASSERT_TRUE(session.open(file).empty());
    session.edit(Edit{{{"/cluster/efficiency", "\"measured.json\""}}, "measured", 0});
    const std::string measured = session.document().text();
    session.edit(Edit{{{"/training/global_batch_size", "64"}}, "batch", 0});
    session.edit(Edit{{{"/training/global_batch_size", "32"}}, "batch", 0});
    session.undoStack().undo();
    ASSERT_TRUE(session.isLegal()) << session.problems().front().text();

    ASSERT_TRUE(QDir(folder.path()).mkdir(QStringLiteral("other")));
    const QString there = folder.filePath(QStringLiteral("other/mine.json"));
    ASSERT_TRUE(session.saveAs(there).empty());
    EXPECT_FALSE(session.isModified());
    EXPECT_EQ(session.document().get("/cluster/efficiency"), "\"../measured.json\"");
    EXPECT_EQ(session.scenario()->cluster.efficiency.profile.device, "here");
    Session again(catalogue(), {});
    EXPECT_TRUE(again.open(there).empty()) << "as the file says";
    for (int way = 0; way < 3; ++way) {
        session.undoStack().setIndex(way == 1 ? 0 : session.undoStack().count());
        EXPECT_TRUE(session.isLegal()) << session.problems().front().text();
    }
    EXPECT_EQ(session.document().get("/training/global_batch_size"), "32");
    session.undoStack().setIndex(1);
    EXPECT_TRUE(session.isLegal());
    EXPECT_EQ(session.document().get("/cluster/efficiency"), "\"../measured.json\"");
    ASSERT_TRUE(session.saveAs(file).empty());
    EXPECT_EQ(session.document().get("/cluster/efficiency"), "\"./measured.json\"") << "and back";
    session.undoStack().undo();
    EXPECT_EQ(session.document().text(), document(kTiny).text());
}

TEST(Autosave, ForgetsWhatWasSavedOrDiscarded)
{
    const QTemporaryDir folder;
    Autosave autosave(folder.path());
    EXPECT_TRUE(autosave.write(QStringLiteral("a.json"), {}, {}, QStringLiteral("{}")));
    autosave.remove();
    EXPECT_TRUE(QDir(folder.path()).entryList({QStringLiteral("*.autosave")}).isEmpty());
    {
        Autosave crashed(folder.path());
        crashed.write({}, {}, QStringLiteral("A tiny model"), QStringLiteral("{}"));
    }
    const auto left = Autosave::recoverable(folder.path());
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left.front().name, QStringLiteral("A tiny model"));
    Autosave::discard(left.front().autosaveFile);
    EXPECT_TRUE(Autosave::recoverable(folder.path()).empty());
}

TEST(Autosave, OffersTheWorkOfADeadWindowOnAFullDiskToo)
{
    const QTemporaryDir folder;
    {
        Autosave crashed(folder.path());
        crashed.write({}, {}, {}, QStringLiteral("{}"));
    }
    const QString file = folder.filePath(QDir(folder.path()).entryList({QStringLiteral("*.autosave")}).value(0));
    const auto offered = [&] {
        const FullDisk full;
        return Autosave::recoverable(folder.path()).size();
    };
    EXPECT_EQ(offered(), 1U);
    QFile lock(file + QStringLiteral(".lock")); // as a window that was killed leaves it
    ASSERT_TRUE(lock.open(QIODevice::WriteOnly));
    constexpr int kNobody = 0x7fff'fffe;
    lock.write(QStringLiteral("%1\nrankscope\n%2\n\n\n").arg(kNobody).arg(QSysInfo::machineHostName()).toUtf8());
    lock.close();
    EXPECT_EQ(offered(), 1U);
    lock.remove();
    Autosave living(folder.path());
    living.write({}, {}, {}, QStringLiteral("{}"));
    EXPECT_EQ(offered(), 1U) << "what a window works on is its own";
}

TEST(Autosave, WritesNothingWithoutItsLock)
{
    const QTemporaryDir folder;
    Autosave autosave(folder.path());
    bool wasWritten = true;
    {
        const FullDisk full;
        wasWritten = autosave.write({}, {}, {}, QStringLiteral("{}"));
    }
    EXPECT_FALSE(wasWritten);
    EXPECT_TRUE(autosave.write({}, {}, {}, QStringLiteral("{}")));
    EXPECT_TRUE(Autosave::recoverable(folder.path()).empty()) << "another window would offer it";
}

TEST_F(SessionTest, WhatWasRestoredStaysUntilItIsSafeElsewhere)
{
    const QString autosaves = folder.filePath(QStringLiteral("autosave"));
    {
        Session crashing(catalogue(), autosaves);
        crashing.setAutosaveDelay(0);
        ASSERT_TRUE(crashing.open(galleryFile(kSixteen)).empty());
        crashing.edit(makeKeyEdit("/layout/tp", "1", "tp", "2", "1"));
        ASSERT_TRUE(waitFor([&] { return !QDir(autosaves).entryList({QStringLiteral("*.autosave")}).isEmpty(); }));
    }
    const auto left = Autosave::recoverable(autosaves);
    ASSERT_EQ(left.size(), 1U);
    {
        const FullDisk full;
        (void)session.recover(left.front());
    }
    EXPECT_EQ(tp(), 1);
    EXPECT_TRUE(QFile::exists(left.front().autosaveFile)) << "there is no other copy";
    session.setAutosaveDelay(0);
    set(Control::tp, 2);
    EXPECT_TRUE(waitFor([&] { return !QFile::exists(left.front().autosaveFile); }));
    EXPECT_EQ(QDir(autosaves).entryList({QStringLiteral("*.autosave")}).size(), 1);
}

TEST(Autosave, ReadsNothingThatIsNone)
{
    const QTemporaryDir folder;
    QFile::link(QStringLiteral("/dev/zero"), folder.filePath(QStringLiteral("endless.autosave")));
    EXPECT_TRUE(Autosave::recoverable(folder.path()).empty());
}

TEST(Autosave, WithoutAFolderWritesNothing)
{
    Autosave none{QString()};
    EXPECT_FALSE(none.write(QStringLiteral("a.json"), {}, {}, QStringLiteral("{}")));
    EXPECT_TRUE(Autosave::recoverable(QStringLiteral("/no/such/folder")).empty());
}

TEST(Settings, RecentFilesAreTheNewestTenThatExist)
{
    const QTemporaryDir folder;
    clearRecentFiles();
    for (int i = 0; i < 12; ++i) {
        QFile file(folder.filePath(QString::number(i)));
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        addRecentFile(file.fileName());
    }
    addRecentFile(folder.filePath(QStringLiteral("5")));
    QFile::remove(folder.filePath(QStringLiteral("9")));
    const QStringList files = recentFiles();
    EXPECT_EQ(files.size(), 9);
    EXPECT_EQ(files.front(), folder.filePath(QStringLiteral("5")));
    EXPECT_EQ(files.count(folder.filePath(QStringLiteral("5"))), 1);
    clearRecentFiles();
    EXPECT_TRUE(recentFiles().isEmpty());
}

TEST(Gallery, EveryFileIsLegalAndSaysWhatItIsAbout)
{
    const auto entries = readGallery(catalogue().scenarios(), catalogue());
    EXPECT_GE(entries.size(), 25U);
    int world = 0;
    for (const GalleryEntry& entry : entries) {
        ASSERT_TRUE(entry.scenario) << entry.path.toStdString() << ": " << entry.summary.toStdString();
        EXPECT_FALSE(entry.summary.isEmpty()) << entry.path.toStdString();
        EXPECT_FALSE(entry.source.isEmpty()) << entry.path.toStdString();
        EXPECT_GE(entry.scenario->layout.worldSize(), world) << "small ones first";
        world = entry.scenario->layout.worldSize();
    }
}

/// A card is cut after some lines: what sets its scenario apart comes first.
TEST(Gallery, CardsOfOneSeriesBeginWithWhatIsTheirOwn)
{
    QStringList begins;
    for (const GalleryEntry& entry : readGallery(catalogue().scenarios(), catalogue()))
        if (entry.name.startsWith(QStringLiteral("Pipeline schedules"))) {
            begins << entry.summary.left(40);
            EXPECT_TRUE(entry.matches(QStringLiteral("classroom"))) << "what all say is found still";
        }
    EXPECT_EQ(begins.size(), 14);
    EXPECT_EQ(begins.removeDuplicates(), 0) << begins.join(QLatin1Char('\n')).toStdString();
}

TEST(Gallery, EveryFileHasItsPlaceInOneTheme)
{
    const auto entries = readGallery(catalogue().scenarios(), catalogue());
    const auto sections = sectionsOf(entries, catalogue().assets());
    EXPECT_GE(sections.size(), 4U);
    std::vector<int> times(entries.size(), 0);
    for (const GallerySection& section : sections) {
        EXPECT_FALSE(section.about.isEmpty()) << section.title.toStdString() << ": a scenario is missing in assets/gallery.json";
        for (const std::size_t entry : section.entries)
            ++times[entry];
    }
    for (std::size_t i = 0; i < times.size(); ++i)
        EXPECT_EQ(times[i], 1) << entries[i].path.toStdString();
}

TEST(Gallery, WithoutThemesThereAreNoHeadings)
{
    const std::vector<GalleryEntry> entries{{.path = QStringLiteral("/a/b.json"), .name = QStringLiteral("b")}};
    const auto sections = sectionsOf(entries, "/no/such/folder");
    ASSERT_EQ(sections.size(), 1U);
    EXPECT_TRUE(sections.front().title.isEmpty());
    const auto others = sectionsOf(entries, catalogue().assets());
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(others.front().entries, std::vector<std::size_t>{0});
}

TEST_F(SessionTest, AListOfFilesCallsScenariosByTheirNames)
{
    const auto named = [this](const char* file, const QByteArray& name) {
        return write(file, R"({"format":"rankscope-scenario","version":1,"name":")" + name + "\"}");
    };
    const QStringList paths{named("one.json", "Small job"), named("two.json", "Twin"), named("three.json", "Twin"),
                            write("trace.json", R"({"traceEvents":[],"name":"no scenario"})"), write("run.sh", "echo")};
    EXPECT_EQ(titlesOf(paths), (QStringList{QStringLiteral("Small job"), QStringLiteral("Twin – two"),
                                            QStringLiteral("Twin – three"), QStringLiteral("trace"), QStringLiteral("run")}));
}

TEST(Gallery, SearchFindsAllWordsInAnyCase)
{
    const GalleryEntry entry = readGalleryEntry(galleryFile(kLarge), catalogue());
    EXPECT_TRUE(entry.matches(QString()));
    EXPECT_TRUE(entry.matches(QStringLiteral("LLAMA 16384")));
    EXPECT_TRUE(entry.matches(QStringLiteral("interleaved h100")));
    EXPECT_FALSE(entry.matches(QStringLiteral("llama mixtral")));
}

TEST(Gallery, BadFilesAreShownWithTheirProblem)
{
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("bad.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("[]");
    file.close();
    const auto entries = readGallery(folder.path().toStdString(), catalogue());
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_FALSE(entries.front().scenario);
    EXPECT_FALSE(entries.front().summary.isEmpty());
    EXPECT_TRUE(readGallery("/no/such/folder", catalogue()).empty());
}

TEST(Gallery, FirstSentenceIsPlain)
{
    EXPECT_EQ(firstSentence(QStringLiteral("**Look** at the [bubble](x.md). Then more.")), QStringLiteral("Look at the bubble."));
    EXPECT_EQ(firstSentence(QStringLiteral("MFU 51.7 % of the\npeak")), QStringLiteral("MFU 51.7 % of the peak"));
    for (const char* plain : {"a > b and c < d, 5 > 3", "global_batch_size and 2 * 3 * 4 in C#", "a*b, _x and y"})
        EXPECT_EQ(firstSentence(QString::fromUtf8(plain)), QString::fromUtf8(plain)) << "no mark of Markdown";
    EXPECT_EQ(firstSentence(QStringLiteral("# Of _all_ ***three***: `global_batch_size` ![p](p.png)")),
              QStringLiteral("Of all three: global_batch_size p"));
}

} // namespace
} // namespace app
