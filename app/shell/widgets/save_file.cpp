#include "app/shell/widgets/save_file.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QRegularExpression>

namespace app {
namespace {

class SaveDialog : public QFileDialog {
public:
    SaveDialog(QWidget* parent, const QString& title, const QString& suggested, const QString& kinds, FileEnding ending)
        : QFileDialog(parent, title, suggested, kinds), m_ending(ending)
    {
        setAcceptMode(QFileDialog::AcceptSave);
        setFileMode(QFileDialog::AnyFile);
    }

    void accept() override
    {
        const QString path = selectedFiles().value(0);
        const QFileInfo chosen(path);
        if (!path.isEmpty() && !chosen.isDir()) {
            static const QRegularExpression pattern(QStringLiteral(R"(\*\.(\w+))"));
            QStringList endings;
            for (auto found = pattern.globalMatch(selectedNameFilter()); found.hasNext();)
                endings.append(found.next().captured(1));
            const bool lacks = m_ending == FileEnding::required ? !endings.contains(chosen.suffix(), Qt::CaseInsensitive)
                                                                : chosen.suffix().isEmpty();
            if (lacks && !endings.isEmpty())
                selectFile(path + QLatin1Char('.') + endings.front());
        }
        QFileDialog::accept(); // asks before a file is written over
    }

private:
    FileEnding m_ending;
};

} // namespace

QString chooseSaveFile(QWidget* parent, const QString& title, const QString& suggested, const QString& kinds, FileEnding ending)
{
    SaveDialog dialog(parent, title, suggested, kinds, ending);
    return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

} // namespace app
