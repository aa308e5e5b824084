#include "app/shell/widgets/save_file.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>

namespace app {
namespace {

QString withEnding(const QString& path, const QString& kind, FileEnding ending)
{
    static const QRegularExpression pattern(QStringLiteral(R"(\*\.(\w+))"));
    QStringList endings;
    for (auto found = pattern.globalMatch(kind); found.hasNext();)
        endings.append(found.next().captured(1));
    const QString has = QFileInfo(path).suffix();
    const bool lacks = ending == FileEnding::required ? !endings.contains(has, Qt::CaseInsensitive) : has.isEmpty();
    return lacks && !endings.isEmpty() ? path + QLatin1Char('.') + endings.front() : path;
}

bool mayReplace(QWidget* parent, const QString& title, const QString& path)
{
    const auto tr = [](const char* text) { return QCoreApplication::translate("SaveFile", text); };
    QMessageBox box(QMessageBox::Warning, title, tr("There is a file “%1” already.").arg(QFileInfo(path).fileName()),
                    QMessageBox::Cancel, parent);
    box.setInformativeText(tr("Replacing it loses what it holds."));
    const QPushButton* replace = box.addButton(tr("Replace"), QMessageBox::DestructiveRole);
    box.setDefaultButton(QMessageBox::Cancel);
    box.exec();
    return box.clickedButton() == replace;
}

} // namespace

QString whyNoSaveName(const QString& path)
{
    if (!path.contains(QChar(QChar::ReplacementCharacter)) && QFile::decodeName(QFile::encodeName(path)) == path)
        return {};
    return QCoreApplication::translate("SaveFile",
                                       "“%1” is no valid UTF-8, and would be written under another name. Choose a name "
                                       "and a folder that are.")
        .arg(path);
}

QString chooseSaveFile(QWidget* parent, const QString& title, const QString& suggested, const QString& kinds, FileEnding ending)
{
    QFileDialog dialog(parent, title, suggested, kinds);
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setFileMode(QFileDialog::AnyFile);
    dialog.setOption(QFileDialog::DontConfirmOverwrite); // it would ask of the name without its ending
    while (dialog.exec() == QDialog::Accepted) {
        const QString path = withEnding(dialog.selectedFiles().value(0), dialog.selectedNameFilter(), ending);
        if (const QString why = whyNoSaveName(path); !why.isEmpty()) {
            QMessageBox::warning(parent, title, why);
            continue;
        }
        if (!QFileInfo::exists(path) || mayReplace(parent, title, path))
            return path;
    }
    return {};
}

} // namespace app
