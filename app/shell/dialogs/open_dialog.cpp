#include "app/shell/dialogs/open_dialog.h"

#include "app/session/trace_file.h"
#include "app/shell/widgets/style.h"

#include <QAbstractItemView>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>

namespace app {

OpenDialog::OpenDialog(const QString& title, const QString& folder, const QString& filter, QWidget* parent)
    : QFileDialog(parent, title, folder, filter), m_missing(new QLabel)
{
    // Qt sees only when it is shown that a class of one's own is no dialog of the desktop's; the label wants its layout here.
    setOption(QFileDialog::DontUseNativeDialog);
    setFileMode(QFileDialog::ExistingFiles);
    setRole(m_missing, "small");
    m_missing->setObjectName(QStringLiteral("whatIsMissing"));
    m_missing->setWordWrap(true);
    m_missing->setTextFormat(Qt::PlainText);
    m_missing->hide();
    auto* grid = qobject_cast<QGridLayout*>(layout());
    Q_ASSERT(grid);
    grid->addWidget(m_missing, grid->rowCount(), 0, 1, grid->columnCount());
}

QStringList OpenDialog::chosen() const
{
    return m_folder.isEmpty() ? selectedFiles() : QStringList(m_folder);
}

/// The one thing that is typed, or chosen in the list; of several nothing.
QString OpenDialog::named() const
{
    const auto* name = findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    QString typed = name != nullptr ? name->text().trimmed() : QString();
    if (typed == QLatin1Char('~') || typed.startsWith(QLatin1String("~/")))
        typed.replace(0, 1, QDir::homePath());
    if (!typed.isEmpty() && QFileInfo::exists(directory().absoluteFilePath(typed)))
        return directory().absoluteFilePath(typed);
    const QStringList files = selectedFiles();
    return files.size() == 1 ? files.front() : QString();
}

void OpenDialog::accept()
{
    const QFileInfo only(named());
    m_missing->hide();
    m_folder.clear();
    if (only.isFile()) { // Qt counts a folder that was gone into beside it
        m_folder = only.absoluteFilePath();
        return QDialog::accept();
    }
    if (!only.isDir())
        return QFileDialog::accept();
    const QString why = whyNoRun(only.filePath());
    if (!why.isEmpty()) {
        m_missing->setText(why);
        m_missing->show();
        setDirectory(only.filePath());
        for (QAbstractItemView* const list : findChildren<QAbstractItemView*>()) // else it is chosen beside what is typed next
            list->clearSelection();
        if (auto* const name = findChild<QLineEdit*>(QStringLiteral("fileNameEdit")))
            name->clear();
        return;
    }
    m_folder = QDir(only.filePath()).absolutePath();
    QDialog::accept();
}

} // namespace app
