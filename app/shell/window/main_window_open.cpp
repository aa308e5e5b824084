// What is opened: a scenario, a link, the traces of a run, a framework's settings or a lesson, by what is in the file; and how it
// is told that it cannot be.
#include "app/session/autosave.h"
#include "app/session/scenario_link.h"
#include "app/session/settings.h"
#include "app/session/settings_import.h"
#include "app/session/trace_file.h"
#include "app/shell/dialogs/open_dialog.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/window/file_filters.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/problem_page.h"

#include <QEventLoop>
#include <QFileInfo>
#include <QLocale>
#include <QStatusBar>

#include <algorithm>
#include <utility>

namespace app {

void MainWindow::chooseFile()
{
    OpenDialog dialog(tr("Open a Scenario or a Recorded Run"),
                      m_session.path().isEmpty() ? QString() : QFileInfo(m_session.path()).path(), openFilter(), this);
    if (dialog.exec() == QDialog::Accepted)
        openAll(dialog.chosen());
}

Problems MainWindow::openAll(const QStringList& paths)
{
    if (paths.size() > 1 && areSettings(paths)) {
        const Problems problems = importSettings(paths);
        if (!problems.empty())
            tellUnopened(paths.front(), problems, {});
        return problems;
    }
    if (paths.size() > 1) {
        openTraces(paths); // several files are one run, or are told not to be
        return {};
    }
    return paths.isEmpty() ? Problems() : openFile(paths.front());
}

Problems MainWindow::openFile(const QString& path, const QStringList& overrides)
{
    bool isLesson = false;
    readBeside({path}, [&] { isLesson = isLessonFile(path); });
    if (isLesson)
        return openLesson(path);
    if (overrides.isEmpty() && !isScenarioLink(path) && isTrace(path)) {
        openTraces({path});
        return {};
    }
    Problems problems = !isScenarioLink(path) && areSettings({path}) ? importSettings(QStringList(path), overrides)
                                                                     : openScenario(path, overrides);
    if (!problems.empty())
        tellUnopened(path, problems, overrides);
    return problems;
}

/// Read first: nobody is asked about changes for the sake of what cannot be opened.
Problems MainWindow::openScenario(const QString& path, const QStringList& overrides)
{
    Session::FileRead read = readFile(path, overrides);
    if (!read.document)
        return std::move(read.problems);
    const bool wasModified = m_session.isModified();
    if (!mayLoseChanges())
        return {};
    if (wasModified && !m_session.isModified()) // the answer was to save them, perhaps into this very file
        read = readFile(path, overrides);
    if (Problems problems = m_session.open(std::move(read)); !problems.empty())
        return problems;
    m_banner->dismiss();
    if (!m_options.reproducible && !m_session.path().isEmpty())
        tellIfForgotten(addRecentFile(m_session.path()));
    if (!m_options.reproducible)
        tellOfUnsaved(m_session.path());
    return {};
}

/// That an earlier window ended with changes to this very file.
void MainWindow::tellOfUnsaved(const QString& path)
{
    for (const Recovery& recovery : Autosave::recoverable(autosaveFolder()))
        if (!path.isEmpty() && recovery.path == path)
            m_banner->tell(tr("There is unsaved work on %1").arg(QFileInfo(path).fileName()),
                           {{{},
                             {},
                             tr("of %1; the gallery (Ctrl+G) restores it")
                                 .arg(QLocale().toString(recovery.time, QLocale::ShortFormat))
                                 .toStdString(),
                             sim::Severity::warning}});
}

void MainWindow::tellUnopened(const QString& path, const Problems& problems, const QStringList& overrides)
{
    const QString settings = Session::overridesText(overrides);
    const bool areToBlame = !settings.isEmpty() && QString::fromStdString(problems.front().file).endsWith(settings);
    if (m_session.isOpen() || isLiveShown() || isRecordedShown()) {
        m_banner->tell(tr("%1 cannot be opened").arg(isScenarioLink(path) ? shortLink(path) : QFileInfo(path).fileName()),
                       problems);
        m_banner->offerFile(path, areToBlame ? settings : QString());
        return;
    }
    m_banner->dismiss(); // of an earlier attempt
    m_problemPage->setProblems(path, problems, areToBlame ? settings : QString());
    showPage(*m_problemPage.area());
    m_problemPage->setFocus();
}

Session::FileRead MainWindow::readFile(const QString& path, const QStringList& overrides)
{
    Session::FileRead out;
    const QString failure =
        readBeside({path}, [&out, path, overrides, &catalogue = m_session.catalogue()] { // which nobody changes meanwhile
            out = Session::read(path, overrides, catalogue);
        });
    if (!failure.isEmpty())
        out.problems = {{path.toStdString(), {}, failure.toStdString(), sim::Severity::error}};
    return out;
}

/// Settings of another framework, by what is in the files.
bool MainWindow::areSettings(const QStringList& paths)
{
    bool are = false;
    readBeside(paths, [&] { are = !SettingsImport::kindOf(paths).empty(); });
    return are;
}

/// Large files are read beside the window, which goes on drawing but takes no other orders. Returns what `read` threw, if it did.
QString MainWindow::readBeside(const QStringList& paths, const std::function<void()>& read)
{
    constexpr qint64 kLarge = 1 << 20;
    constexpr double kMegabyte = 1e6;
    qint64 bytes = 0;
    for (const QString& path : paths)
        bytes += QFileInfo(path).size();
    QString failure;
    if (bytes <= kLarge) {
        try {
            read();
        } catch (...) {
            failure = QString::fromStdString(failureText());
        }
        return failure;
    }
    statusBar()->showMessage(tr("Reading %1, %2 MB…")
                                 .arg(QFileInfo(paths.front()).fileName(),
                                      separated(std::max(qint64{1}, qRound64(static_cast<double>(bytes) / kMegabyte)))));
    QEventLoop loop;
    Worker reader;
    reader.ask(
        0,
        [&read] {
            read();
            return true;
        },
        [&](bool) { loop.quit(); },
        [&](const QString& why) {
            failure = why;
            loop.quit();
        });
    loop.exec(QEventLoop::ExcludeUserInputEvents);
    statusBar()->clearMessage();
    return failure;
}

} // namespace app
