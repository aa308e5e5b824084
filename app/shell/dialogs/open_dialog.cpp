#include "app/shell/dialogs/open_dialog.h"

#include "app/session/trace_file.h"
#include "app/shell/widgets/style.h"

#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>

#include <algorithm>

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
    return m_chosen;
}

/// What is typed, or chosen in the list. Qt counts a folder that was gone into beside it.
QStringList OpenDialog::named() const
{
    const auto* name = findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    QString typed = name != nullptr ? name->text().trimmed() : QString();
    if (typed == QLatin1Char('~') || typed.startsWith(QLatin1String("~/")))
        typed.replace(0, 1, QDir::homePath());
    if (!typed.isEmpty() && QFileInfo::exists(directory().absoluteFilePath(typed)))
        return {directory().absoluteFilePath(typed)};
    QStringList files = selectedFiles();
    if (files.size() > 1)
        files.removeAll(directory().absolutePath());
    return files;
}

void OpenDialog::accept()
{
    const QStringList files = named();
    m_missing->hide();
    m_chosen.clear();
    const bool isFolder = files.size() == 1 && QFileInfo(files.front()).isDir();
    if (isFolder)
        if (const QString why = whyNoRun(files.front()); !why.isEmpty()) {
            m_missing->setText(why);
            m_missing->show();
            return QFileDialog::accept(); // goes into it
        }
    const bool areFiles =
        !files.isEmpty() && std::all_of(files.begin(), files.end(), [](const QString& file) { return QFileInfo(file).isFile(); });
    if (!isFolder && !areFiles)
        return QFileDialog::accept(); // says what is not there
    for (const QString& file : files)
        m_chosen << QDir::cleanPath(QFileInfo(file).absoluteFilePath());
    QDialog::accept();
}

} // namespace app
