// How a scenario reaches others: as a page, as a link, and how a link is taken up.
#include "app/canvas/qt/save_whole.h"
#include "app/session/scenario_link.h"
#include "app/shell/share/page.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/problem_banner.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/main_window.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QFileInfo>
#include <QGuiApplication>
#include <QStatusBar>

namespace app {
namespace {

constexpr int kToldMs = 6000;

} // namespace

void MainWindow::exportPage()
{
    const QString ending = QStringLiteral(".html");
    const QString path = chooseSaveFile(this, tr("Export Page"), exportName() + ending, tr("Pages (*.html)"));
    if (path.isEmpty())
        return;
    statusBar()->showMessage(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_fileExport.start(path, [path, document = m_session.document(), catalogue = m_session.catalogue(),
                              &theme = themeFor(m_settings.theme), version = QCoreApplication::applicationVersion()] {
        saveWhole(path, pageOf(document, catalogue, theme, version));
    });
    updateActions();
}

void MainWindow::copyLink()
{
    const QString link = scenarioLink(m_session.document().text());
    QGuiApplication::clipboard()->setText(link);
    statusBar()->showMessage(
        tr("Link of %1 characters copied; Rankscope opens it with File > Open from Clipboard").arg(separated(link.size())),
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
        const Problems problems =
            problemsOf(tr("clipboard"), [&]() -> Problems { return importSettings({settings}, QStringList()); });
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

} // namespace app
