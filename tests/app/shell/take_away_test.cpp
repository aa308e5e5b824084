// Figures, tables, traces and views that leave the window, and how it says that they could not.
#include "app/shell/dialogs/export_dialog.h"
#include "app/shell/dialogs/settings_dialog.h"
#include "app/shell/dialogs/table_dialog.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/palette_sources.h"
#include "app/views/grid/grid_view.h"
#include "app/views/timeline/timeline_view.h"
#include "sim/error.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/memory_cap.h"
#include "tests/app/session/session_fixtures.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStatusBar>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>

#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>

namespace app {
namespace {

using namespace test;

class TakeAwayTest : public testing::Test {
protected:
    TakeAwayTest() : window(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1280, 800);
        window.show();
    }
    void open(const QString& file)
    {
        ASSERT_TRUE(window.openFile(file).empty());
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
    }
    QString path(const char* name) const { return folder.filePath(QLatin1String(name)); }
    template <typename Dialog>
    Dialog* openedBy(CommandId id)
    {
        window.run(id);
        return window.findChild<Dialog*>();
    }
    /// Answers the next file dialog.
    static void chooseFile(const QString& path)
    {
        QTimer::singleShot(0, [path] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_TRUE(dialog);
            dialog->selectFile(path);
            static_cast<QDialog*>(dialog)->done(QDialog::Accepted);
        });
    }
    static QByteArray contents(const QString& file)
    {
        QFile in(file);
        return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
    }

    QTemporaryDir folder;
    MainWindow window;
};

TEST_F(TakeAwayTest, AFigureIsOfThePictureAsItIsOnScreen)
{
    open(galleryFile(kSixteen));
    TimelineView& timeline = window.workspace().timeline();
    const std::int64_t end = window.desk().step().trace->endNs;
    const TimeRange window1{end / 4, end / 2};
    timeline.setVisibleRange(window1);
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    dialog->grab();
    for (const char* name : {"a.svg", "a.pdf", "a.png"}) {
        dialog->save(path(name));
        EXPECT_GT(QFile(path(name)).size(), 1000) << name;
    }
    EXPECT_TRUE(contents(path("a.svg")).contains("Sixteen ranks, four dimensions")) << "the title";
    EXPECT_TRUE(contents(path("a.svg")).contains("MFU")) << "the caption";
    EXPECT_EQ(timeline.visibleRange(), window1) << "the picture on screen stays as it was";
    dialog->reject();
}

/// Whoever asks for a figure while a step is on its way gets that step in the picture: the words are not of the one before.
TEST_F(TakeAwayTest, WordsOfAFigureAreOfTheStepInItUnlessSomebodyTypedThem)
{
    open(galleryFile(kTiny));
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    auto* title = dialog->findChild<QLineEdit*>();
    auto* caption = dialog->findChild<QPlainTextEdit*>();
    ASSERT_TRUE(title && caption);
    title->setText(QStringLiteral("Mine"));
    const QString before = caption->toPlainText();
    const auto stepTime = [&] { return durationQuantity(window.desk().simulation()->metrics().stepTimeSeconds).number; };
    ASSERT_TRUE(before.contains(stepTime()));
    window.session().edit(makeEdit(window.session().document(), window.session().scenario(), Control::globalBatchSize,
                                   4 * window.session().scenario()->training.globalBatchSize, LayoutRule::keepGpus));
    ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
    EXPECT_NE(caption->toPlainText(), before);
    EXPECT_TRUE(caption->toPlainText().contains(stepTime())) << caption->toPlainText().toStdString();
    EXPECT_EQ(title->text(), QStringLiteral("Mine"));
    dialog->save(path("a.svg"));
    EXPECT_TRUE(contents(path("a.svg")).contains("Mine") && contents(path("a.svg")).contains(stepTime().toUtf8()));
    dialog->reject();
}

/// Numbers of a step that cannot run never leave the window without that.
TEST_F(TakeAwayTest, CaptionAndStatusSayThatAStepDoesNotFit)
{
    open(galleryFile(kTiny));
    const auto status = [this] {
        QString all;
        for (const QLabel* label : window.statusBar()->findChildren<QLabel*>())
            all += label->text() + QLatin1Char('\n');
        return all;
    };
    EXPECT_FALSE(status().contains(QStringLiteral("Does not fit")));
    window.session().edit(makeKeyEdit("/cluster/gpu/memory_gib", "0.001", "memory", "80", "0.001"));
    ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
    const auto misfit = sim::misfit(*window.desk().simulation());
    ASSERT_TRUE(misfit);
    const QString told = QStringLiteral("Does not fit: needs ") + QString::fromStdString(misfit->text());
    EXPECT_TRUE(status().contains(told)) << status().toStdString();
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    EXPECT_TRUE(dialog->findChild<QPlainTextEdit*>()->toPlainText().contains(told + QStringLiteral("; if it did: step ")));
    dialog->reject();
}

TEST_F(TakeAwayTest, AFigureBeginsWithThePictureThatATabLaidInFront)
{
    open(galleryFile(kTiny));
    window.workspace().goToOrHide(Picture::grid);
    ASSERT_EQ(window.workspace().lastUsedPicture(), Picture::grid);
    const QString wanted = QStringLiteral("Memory");
    for (QTabBar* bar : window.workspace().findChildren<QTabBar*>())
        for (int tab = 0; tab < bar->count(); ++tab)
            if (bar->tabText(tab) == wanted)
                QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(tab).center());
    QCoreApplication::processEvents();
    ASSERT_TRUE(window.workspace().isPictureInFront(Picture::memory));
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    EXPECT_EQ(dialog->findChildren<QComboBox*>().front()->currentText(), wanted);
    dialog->reject();
}

TEST_F(TakeAwayTest, EveryPictureInEverySizeAndThemeCanBeHad)
{
    open(galleryFile(kTiny));
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    const auto boxes = dialog->findChildren<QComboBox*>(); // picture, size, colours, format
    ASSERT_EQ(boxes.size(), 4);
    for (int picture = 0; picture < boxes[0]->count(); ++picture) {
        for (int size = 0; size < boxes[1]->count(); ++size) {
            boxes[0]->setCurrentIndex(picture);
            boxes[1]->setCurrentIndex(size);
            boxes[2]->setCurrentIndex((picture + size) % boxes[2]->count());
            dialog->save(path("a.svg"));
            EXPECT_TRUE(contents(path("a.svg")).endsWith("</svg>\n")) << picture << " " << size;
        }
    }
    dialog->reject();
    const QColor corner = window.workspace().canvas(Picture::grid).grab().toImage().pixelColor(2, 2);
    EXPECT_GT(corner.lightness(), 200) << "on screen the theme is as it was";
}

TEST_F(TakeAwayTest, TitleAndCaptionLeaveAPictureAsLargeAsOnScreen)
{
    open(galleryFile(kTiny));
    const QSize onScreen = window.workspace().canvas(window.workspace().lastUsedPicture()).size();
    auto* dialog = openedBy<ExportDialog>(CommandId::exportFigure);
    ASSERT_TRUE(dialog);
    auto* size = dialog->findChildren<QComboBox*>()[1];
    size->setCurrentIndex(size->findData(static_cast<int>(FigureSize::screen)));
    const auto words = dialog->findChildren<QCheckBox*>();
    ASSERT_EQ(words.size(), 2);
    for (QCheckBox* of : words)
        of->setChecked(true);
    constexpr int kTwoLinesAtLeast = 40;
    EXPECT_GE(dialog->shape().logical.height(), onScreen.height() + kTwoLinesAtLeast);
    EXPECT_EQ(dialog->shape().logical.width(), onScreen.width());
    const auto* height = dialog->findChildren<QDoubleSpinBox*>()[1];
    EXPECT_EQ(height->value(), dialog->shape().logical.height());
    for (QCheckBox* of : words)
        of->setChecked(false);
    EXPECT_EQ(dialog->shape().logical, onScreen);
    EXPECT_EQ(height->value(), onScreen.height());
    dialog->reject();
}

TEST_F(TakeAwayTest, CopiedFiguresArePixelsAndSvg)
{
    open(galleryFile(kTiny));
    window.run(CommandId::copyFigure);
    const QMimeData* copied = QApplication::clipboard()->mimeData();
    ASSERT_TRUE(copied);
    EXPECT_TRUE(copied->hasImage());
    EXPECT_TRUE(copied->data(QStringLiteral("image/svg+xml")).contains("</svg>"));

    ASSERT_TRUE(window.compareWith(galleryFile("17-schedule-1f1b.json")).empty());
    ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
    window.run(CommandId::copyFigure);
    const QByteArray comparison = QApplication::clipboard()->mimeData()->data(QStringLiteral("image/svg+xml"));
    window.saveComparison(path("comparison.svg"));
    EXPECT_EQ(comparison.size(), contents(path("comparison.svg")).size()) << "one figure, copied or saved";
}

/// A name without an ending is another file's name with it, and that one is asked about.
TEST_F(TakeAwayTest, NothingIsWrittenOverUnasked)
{
    QFile there(path("there.json"));
    ASSERT_TRUE(there.open(QIODevice::WriteOnly) && there.write("mine") == 4);
    there.close();
    QString asked;
    QTimer answers;
    QObject::connect(&answers, &QTimer::timeout, [&] {
        if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
            asked = box->text();
            box->button(QMessageBox::Cancel)->click();
        } else if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
            if (!asked.isEmpty())
                return dialog->reject();
            auto* name = dialog->findChild<QLineEdit*>();
            name->setFocus(); // as one types it
            name->setText(path("there"));
            static_cast<QDialog*>(dialog)->accept();
        }
    });
    answers.start(1);
    EXPECT_EQ(
        chooseSaveFile(&window, QStringLiteral("Save"), path("other.json"), QStringLiteral("Scenarios (*.json)")).toStdString(),
        "");
    EXPECT_TRUE(asked.contains(QStringLiteral("there.json"))) << asked.toStdString();
    EXPECT_EQ(contents(path("there.json")), "mine");
}

TEST_F(TakeAwayTest, ANameGetsTheEndingOfItsKind)
{
    const auto chosen = [&](const char* name, FileEnding ending) {
        QTimer::singleShot(0, [file = path(name)] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_TRUE(dialog);
            dialog->selectFile(file);
            static_cast<QDialog*>(dialog)->accept();
        });
        return QFileInfo(chooseSaveFile(&window, QStringLiteral("Save"), path("x.csv"), QStringLiteral("Tables (*.csv)"), ending))
            .fileName();
    };
    EXPECT_EQ(chosen("a", FileEnding::offered), QStringLiteral("a.csv"));
    EXPECT_EQ(chosen("a.txt", FileEnding::offered), QStringLiteral("a.txt"));
    EXPECT_EQ(chosen("a.txt", FileEnding::required), QStringLiteral("a.txt.csv"));
}

TEST_F(TakeAwayTest, ATableIsSeenSavedAndCopied)
{
    open(galleryFile(kSixteen));
    auto* dialog = openedBy<TableDialog>(CommandId::exportTable);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isReady(); }));
    EXPECT_EQ(dialog->table().header.front(), "quantity");
    dialog->show("memory");
    ASSERT_TRUE(waitFor([&] { return dialog->isReady(); }));
    dialog->save(path("memory.csv"));
    EXPECT_TRUE(contents(path("memory.csv")).startsWith("rank,ranks alike,"));
    dialog->copy();
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("rank\tranks alike\t")));
    dialog->reject();
}

TEST_F(TakeAwayTest, AMarkedRangeIsWhatTheTableBeginsWith)
{
    open(galleryFile(kSixteen));
    Selection selection;
    selection.range = TimeRange{0, window.desk().step().trace->endNs / 8};
    window.desk().setSelection(selection);
    auto* dialog = openedBy<TableDialog>(CommandId::exportTable);
    ASSERT_TRUE(dialog);
    ASSERT_TRUE(waitFor([&] { return dialog->isReady(); }));
    EXPECT_LT(dialog->table().rows.size(), window.desk().step().trace->spanCount());
    EXPECT_EQ(dialog->table().header[8], "start (ns)");
    dialog->reject();
}

TEST_F(TakeAwayTest, ATraceIsWrittenBesideTheWork)
{
    open(galleryFile(kTiny));
    chooseFile(path("step.pftrace"));
    window.run(CommandId::exportTrace);
    EXPECT_FALSE(window.isEnabled(CommandId::exportTrace)) << "one at a time";
    ASSERT_TRUE(waitFor([this] { return window.isEnabled(CommandId::exportTrace); }));
    EXPECT_GT(QFile(path("step.pftrace")).size(), 1000);
    EXPECT_FALSE(window.banner().isVisible());
}

TEST_F(TakeAwayTest, WhatCannotBeWrittenIsToldWithPathAndReason)
{
    open(galleryFile(kTiny));
    QFile file(path("file"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    const QString inside = path("file/step.json"); // a file is no folder
    chooseFile(inside);
    window.run(CommandId::exportTrace);
    ASSERT_TRUE(waitFor([this] { return window.isEnabled(CommandId::exportTrace); }));
    EXPECT_TRUE(window.banner().isVisible());
    EXPECT_TRUE(window.banner().text().contains(inside)) << window.banner().text().toStdString();
    auto* tables = openedBy<TableDialog>(CommandId::exportTable);
    EXPECT_THROW(tables->save(path("file/t.csv")), sim::Error);
    tables->reject();
    auto* figures = openedBy<ExportDialog>(CommandId::exportFigure);
    EXPECT_THROW(figures->save(path("file/f.svg")), sim::Error);
    EXPECT_THROW(figures->save(path("f.bmp")), sim::Error);
    figures->reject();
}

/// The disk takes so many bytes of a file and no more.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes)
    {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit limit{bytes, m_before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk()
    {
        setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, SIG_DFL);
    }

private:
    rlimit m_before{};
};

TEST_F(TakeAwayTest, AFullDiskLeavesWhatWasThere)
{
    open(galleryFile(kSixteen));
    for (const char* name : {"a.svg", "t.csv"}) {
        QFile old(path(name));
        ASSERT_TRUE(old.open(QIODevice::WriteOnly));
        old.write("old");
    }
    auto* tables = openedBy<TableDialog>(CommandId::exportTable);
    tables->show("groups");
    ASSERT_TRUE(waitFor([&] { return tables->isReady(); }));
    auto* figures = openedBy<ExportDialog>(CommandId::exportFigure);
    {
        const FullDisk full(512);
        EXPECT_THROW(figures->save(path("a.svg")), sim::Error);
        EXPECT_THROW(tables->save(path("t.csv")), sim::Error);
    }
    EXPECT_EQ(contents(path("a.svg")), "old");
    EXPECT_EQ(contents(path("t.csv")), "old");
    EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden),
              (QStringList{QStringLiteral("a.svg"), QStringLiteral("t.csv")}))
        << "nothing half written";
    tables->reject();
    figures->reject();
}

TEST_F(TakeAwayTest, ASharedFileOpensOnWhatItsAuthorSaw)
{
    ASSERT_TRUE(QFile::copy(galleryFile(kSixteen), path("shared.json")));
    open(path("shared.json"));
    const std::int64_t end = window.desk().step().trace->endNs;
    Selection selection;
    selection.selectRanks({4, 5, 13}, 13);
    selection.range = TimeRange{end / 8, end / 4};
    selection.cursorNs = end / 5;
    selection.classes = static_cast<ClassMask>(kAllClasses ^ maskOf(sim::OpClass::tpComm));
    window.desk().setSelection(selection);
    const TimeRange seen{end / 16, end / 3};
    window.workspace().timeline().setVisibleRange(seen);
    static_cast<GridView&>(window.workspace().view(Picture::grid)).setLens(GridLens::busy);
    window.showOnly(Picture::timeline);
    window.run(CommandId::saveWithView);
    EXPECT_FALSE(window.isWindowModified());

    MainWindow reader(catalogue(), {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    reader.show();
    ASSERT_TRUE(reader.openFile(path("shared.json")).empty());
    ASSERT_TRUE(waitFor([&] { return reader.isSettled(); }));
    EXPECT_EQ(reader.desk().selection().ranks, (std::vector<int>{4, 5, 13}));
    EXPECT_EQ(reader.desk().selection().selectedRank, 13);
    EXPECT_EQ(reader.desk().selection().range, selection.range);
    EXPECT_EQ(reader.desk().selection().cursorNs, selection.cursorNs);
    EXPECT_EQ(reader.desk().selection().classes, selection.classes);
    EXPECT_EQ(reader.workspace().timeline().visibleRange(), seen);
    EXPECT_EQ(static_cast<GridView&>(reader.workspace().view(Picture::grid)).lens(), GridLens::busy);
    EXPECT_TRUE(reader.workspace().isPictureVisible(Picture::timeline));
    EXPECT_FALSE(reader.workspace().isPictureVisible(Picture::grid));
    EXPECT_FALSE(reader.isWindowModified()) << "looking is no change";
}

TEST_F(TakeAwayTest, TheBubblesLensKeepsItsWordInFiles)
{
    auto& grid = static_cast<GridView&>(window.workspace().view(Picture::grid));
    for (const char* word : {"waiting", "bubble"}) {
        sim::ScenarioDocument shared = document(kTiny);
        shared.set("/view", std::string(R"({"lens": ")") + word + R"("})");
        shared.saveFile(path("shared.json").toStdString());
        open(path("shared.json"));
        EXPECT_EQ(grid.lens(), GridLens::bubble) << word;
        grid.setLens(GridLens::memory);
    }
    grid.setLens(GridLens::bubble);
    window.run(CommandId::saveWithView);
    EXPECT_EQ(window.session().document().get("/view/lens"), "\"waiting\"");
}

TEST_F(TakeAwayTest, AViewThatDoesNotFitIsAWarning)
{
    sim::ScenarioDocument shared = document(kTiny);
    shared.set("/view", R"({"ranks": [1, 900], "pictures": ["no-such-picture"]})");
    shared.saveFile(path("shared.json").toStdString());
    open(path("shared.json"));
    EXPECT_TRUE(window.desk().simulation());
    EXPECT_EQ(window.desk().selection().ranks, std::vector<int>{1});
    EXPECT_TRUE(window.banner().text().contains(QStringLiteral("/view/ranks/1"))) << window.banner().text().toStdString();
}

TEST_F(TakeAwayTest, SettingsApplyAtOnce)
{
    open(galleryFile(kTiny));
    auto* dialog = openedBy<SettingsDialog>(CommandId::settings);
    ASSERT_TRUE(dialog);
    std::vector<Settings> told;
    QObject::connect(dialog, &SettingsDialog::changed, [&](const Settings& s) { told.push_back(s); });
    auto* theme = dialog->findChildren<QComboBox*>().front();
    theme->setCurrentIndex(theme->findData(static_cast<int>(ThemeChoice::highContrast)));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().theme, ThemeChoice::highContrast);
    EXPECT_EQ(QApplication::palette().color(QPalette::Window), QColor(Qt::black));
    const Settings all{.theme = ThemeChoice::light,
                       .sizePercent = 125,
                       .navigation = NavigationStyle::tracy,
                       .reduceMotion = true,
                       .renderer = Renderer::software,
                       .autosaveSeconds = 30,
                       .gpuHourPrice = 2.5,
                       .language = {}};
    dialog->setSettings(all);
    EXPECT_EQ(dialog->settings(), all);
    dialog->reject();
}

TEST_F(TakeAwayTest, TheWheelFollowsTheHabit)
{
    open(galleryFile(kTiny));
    CanvasWidget& canvas = window.workspace().canvas(Picture::timeline);
    const auto wheel = [&](Qt::KeyboardModifiers modifiers) {
        const QPointF at = canvas.rect().center();
        QWheelEvent event(at, canvas.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&canvas, &event);
        const TimeRange now = window.workspace().timeline().visibleRange();
        return now.endNs - now.beginNs;
    };
    const std::int64_t whole = wheel(Qt::NoModifier);
    const std::int64_t zoomed = wheel(Qt::ControlModifier);
    EXPECT_LT(zoomed, whole);
    auto* dialog = openedBy<SettingsDialog>(CommandId::settings);
    dialog->setSettings({.theme = ThemeChoice::light, .navigation = NavigationStyle::tracy});
    dialog->reject();
    EXPECT_LT(wheel(Qt::NoModifier), zoomed) << "as in Tracy";
}

TEST(PaletteSources, FindSpansByTheirNameAndFilesByTheirs)
{
    const auto simulation = sim::simulate(scenario(document(kSixteen)));
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    std::optional<SpanRef> chosen;
    const auto found = findSpans(QStringLiteral("find F3"), trace, [&](SpanRef span) { chosen = span; });
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found.front().text.startsWith(QStringLiteral("F3 at "))) << found.front().text.toStdString();
    found.front().run();
    ASSERT_TRUE(chosen);
    EXPECT_EQ(spanName(trace, *chosen), QStringLiteral("F3"));
    EXPECT_TRUE(findSpans(QStringLiteral("F99999"), trace, {}).empty());
    EXPECT_TRUE(findSpans(QStringLiteral("F"), trace, {}).empty()) << "a letter is in everything";

    const auto gallery = readGallery(catalogue().scenarios(), catalogue());
    QString opened;
    const auto files = findFiles(QStringLiteral("131k"), {QStringLiteral("/folder/131k-mine.json")}, gallery,
                                 [&](const QString& path) { opened = path; });
    ASSERT_EQ(files.size(), 2U) << "the recent one and the gallery's";
    files.front().run();
    EXPECT_EQ(opened, QStringLiteral("/folder/131k-mine.json"));
    const GalleryEntry& known = gallery.front();
    for (const QStringList& recent : {QStringList{}, QStringList{known.path}}) {
        const auto byTitle = findFiles(known.name, recent, gallery, [&](const QString& path) { opened = path; });
        ASSERT_FALSE(byTitle.empty()) << "opened before or not";
        EXPECT_EQ(byTitle.front().text, known.name);
        EXPECT_TRUE(byTitle.front().isMeant);
        EXPECT_EQ(std::count_if(byTitle.begin(), byTitle.end(), [&](const PaletteEntry& e) { return e.text == known.name; }), 1);
        byTitle.front().run();
        EXPECT_EQ(opened, known.path);
    }
}

TEST(PaletteSources, FindSchedulesByTitleAndByTheirWordInTheFile)
{
    std::string chosen;
    const auto find = [&](const char* typed) {
        return findSchedules(QString::fromUtf8(typed), [&](std::string_view kind) { chosen = kind; });
    };
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        if (family.isWrittenOut)
            continue;
        EXPECT_FALSE(find(std::string(family.title).c_str()).empty()) << family.title;
        EXPECT_FALSE(find(std::string(family.kind).c_str()).empty()) << family.kind;
    }
    const auto found = find("gpipe");
    ASSERT_EQ(found.size(), 1U);
    found.front().run();
    EXPECT_EQ(chosen, "gpipe");
    EXPECT_TRUE(find("memory").empty());
}

} // namespace
} // namespace app
