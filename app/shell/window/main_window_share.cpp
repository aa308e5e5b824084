// How a scenario reaches others, as a page or a link, and how a link or a dragged file is taken up.
#include "app/canvas/qt/save_whole.h"
#include "app/session/scenario_link.h"
#include "app/session/settings_import.h"
#include "app/session/trace_file.h"
#include "app/shell/share/page.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/main_window.h"
#include "sim/scenario/named_files.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QStatusBar>
#include <QUrl>

#include <algorithm>

namespace app {
namespace {

constexpr int kToldMs = 6000;

/// The files and folders that are being dragged; none if one of them lies elsewhere.
QStringList draggedFiles(const QMimeData* mime)
{
    QStringList paths;
    for (const QUrl& url : mime->urls()) {
        if (!url.isLocalFile() || !QFileInfo::exists(url.toLocalFile()))
            return {};
        paths << url.toLocalFile();
    }
    return paths;
}

} // namespace

void MainWindow::exportPage()
{
    const QString ending = QStringLiteral(".html");
    const QString path = chooseSaveFile(this, tr("Export Page"), exportName() + ending, tr("Pages (*.html)"));
    if (path.isEmpty())
        return;
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_fileExport.start(path,
                       [path, document = m_session.document(), name = m_session.displayName(), catalogue = m_session.catalogue(),
                        &theme = themeFor(m_settings.theme), version = QCoreApplication::applicationVersion()] {
                           saveWhole(path, pageOf(document, name, catalogue, theme, version));
                       });
    updateActions();
}

void MainWindow::copyLink()
{
    const QString link = scenarioLink(sim::withFilesInside(m_session.document(), m_session.catalogue()).text());
    if (const QString why = whyNotOpened(link); !why.isEmpty()) {
        m_banner->tell(tr("No link is copied, as none could be opened"), {{{}, {}, why.toStdString(), sim::Severity::error}});
        return;
    }
    QGuiApplication::clipboard()->setText(link);
    statusBar()->showMessage(tr("Link of %1 characters copied; Rankscope opens it with File > Import > Open from Clipboard")
                                 .arg(separated(link.size())),
                             kToldMs);
}

/// A link, or the text of a file, which becomes one: both are read the same way.
void MainWindow::openFromClipboard()
{
    constexpr qsizetype kMostCharacters = 8 << 20; // of a scenario's text; more is another thing, and would hold the window
    const QString text = QGuiApplication::clipboard()->text();
    if (text.size() > kMostCharacters) {
        m_banner->tell(tr("The clipboard holds no scenario"), {{{},
                                                                {},
                                                                tr("it holds %1 million characters, a scenario at most %2")
                                                                    .arg(text.size() / 1'000'000)
                                                                    .arg(kMostCharacters / 1'000'000)
                                                                    .toStdString(),
                                                                sim::Severity::error}});
    } else if (isScenarioLink(text)) {
        openFile(text);
    } else if (text.trimmed().startsWith(QLatin1Char('{')) && sim::recognisedKind({"", text.toStdString()}).empty()) {
        openFile(scenarioLink(text.toStdString()));
    } else if (const sim::SettingsFile settings{tr("clipboard").toStdString(), text.toStdString()};
               !sim::recognisedKind(settings).empty()) {
        const Problems problems = problemsOf(tr("clipboard"), [&]() -> Problems {
            importSettings(SettingsImport({settings}, m_session.catalogue()), QStringList());
            return {};
        });
        if (!problems.empty())
            tellUnopened(tr("clipboard"), problems, {});
    } else {
        const std::string what =
            text.trimmed().isEmpty()
                ? tr("it holds no text").toStdString()
                : tr("it begins with “%1”").arg(beginningOf(text.simplified().left(40).toStdString())).toStdString();
        m_banner->tell(
            tr("The clipboard holds no scenario"),
            {{{},
              {},
              what + tr("; a rankscope: link, the text of a scenario or settings of a framework are expected").toStdString(),
              sim::Severity::error}});
    }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!draggedFiles(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QStringList paths = draggedFiles(event->mimeData());
    if (paths.isEmpty())
        return;
    const bool asBaseline = m_session.isOpen() && (isCompareShown() || (event->modifiers() & Qt::ShiftModifier));
    event->acceptProposedAction();
    // Later: a question about unsaved changes must not hold up the program it was dragged from.
    QMetaObject::invokeMethod(
        this, [this, paths, asBaseline] { takeDropped(paths, asBaseline); }, Qt::QueuedConnection);
}

/// Several files are those of one recorded run or one job's settings, or scenarios to be compared.
void MainWindow::takeDropped(const QStringList& paths, bool asBaseline)
{
    const bool isOneThing = paths.size() == 1 || std::all_of(paths.begin(), paths.end(), isTrace) || areSettings(paths);
    if (isOneThing && asBaseline && !isTrace(paths.front()))
        compareWith(paths.front());
    else if (isOneThing)
        openAll(paths);
    else if (m_session.isOpen())
        compareWithAll(paths);
    else if (openFile(paths.front()).empty() && m_session.isOpen())
        compareWithAll(paths.mid(1));
}

} // namespace app
