// Open takes the folder of a recorded run, typed or chosen, and says of another what it lacks.
#include "app/shell/dialogs/open_dialog.h"

#include "app/session/trace_file.h"
#include "app/shell/window/file_filters.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

constexpr const char* kTrace = R"({"traceEvents": [{"ph": "X", "name": "step", "pid": 0, "tid": 0, "ts": 1, "dur": 2}]})";

class OpenDialogTest : public testing::Test {
protected:
    OpenDialogTest()
    {
        write("run/rank0.json", kTrace);
        write("other/notes.txt", "no trace");
        QDir(folder.path()).mkdir(QStringLiteral("empty"));
        write("above/run/rank0.json", kTrace);
        dialog.setDirectory(folder.path());
        dialog.show();
    }
    void write(const char* name, const char* text)
    {
        const QString path = folder.filePath(QLatin1String(name));
        QDir().mkpath(QFileInfo(path).path());
        QFile out(path);
        ASSERT_TRUE(out.open(QIODevice::WriteOnly));
        out.write(text);
    }
    /// As one types it and presses Enter.
    void type(const QString& text)
    {
        auto* name = dialog.findChild<QLineEdit*>();
        ASSERT_TRUE(name);
        name->setFocus();
        name->setText(text);
        static_cast<QDialog&>(dialog).accept();
    }
    std::string missing() const
    {
        const auto* label = dialog.findChild<QLabel*>(QStringLiteral("whatIsMissing"));
        return label != nullptr && label->isVisible() ? label->text().toStdString() : std::string();
    }
    bool isOpen() const { return dialog.isVisible(); }

    QTemporaryDir folder;
    OpenDialog dialog{QStringLiteral("Open"), folder.path(), openFilter()};
};

TEST_F(OpenDialogTest, ATypedFolderWithTracesIsOpened)
{
    type(folder.filePath(QStringLiteral("run")));
    EXPECT_FALSE(isOpen());
    EXPECT_EQ(dialog.result(), QDialog::Accepted);
    EXPECT_EQ(dialog.chosen(), QStringList(folder.filePath(QStringLiteral("run"))));
}

TEST_F(OpenDialogTest, OneWithoutSaysWhatItLacksAndIsGoneInto)
{
    type(folder.filePath(QStringLiteral("other")));
    EXPECT_TRUE(isOpen());
    EXPECT_THAT(missing(), testing::HasSubstr("“other” holds no trace"));
    EXPECT_EQ(dialog.directory(), QDir(folder.filePath(QStringLiteral("other"))));
    type(folder.filePath(QStringLiteral("empty")));
    EXPECT_THAT(missing(), testing::HasSubstr("“empty” holds no files"));
    type(folder.filePath(QStringLiteral("above")));
    EXPECT_THAT(missing(), testing::HasSubstr("with all folders in it")) << "a home folder is no run";
    EXPECT_TRUE(isOpen());
}

TEST_F(OpenDialogTest, ATraceBehindManyLogsIsFoundAndOneBehindManyOthersNotDenied)
{
    for (int i = 0; i < 210; ++i)
        write(("logs/" + std::to_string(i) + ".log").c_str(), "line");
    write("logs/rank0.json", kTrace);
    EXPECT_EQ(whyNoRun(folder.filePath(QStringLiteral("logs"))), QString());
    for (int i = 0; i < 210; ++i)
        write(("parts/" + std::to_string(i) + ".bin").c_str(), "part");
    write("parts/rank0.json", kTrace);
    EXPECT_EQ(whyNoRun(folder.filePath(QStringLiteral("parts"))),
              QStringLiteral("“parts” holds 211 files, and none of the first 200 is a trace of a profiler."));
}

TEST_F(OpenDialogTest, ATypedFileIsOpenedAsBefore)
{
    type(folder.filePath(QStringLiteral("other")));
    type(folder.filePath(QStringLiteral("run/rank0.json")));
    EXPECT_FALSE(isOpen());
    EXPECT_EQ(dialog.chosen(), QStringList(folder.filePath(QStringLiteral("run/rank0.json"))));
}

} // namespace
} // namespace app
