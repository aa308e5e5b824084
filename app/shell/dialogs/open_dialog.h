// Opens files, or the folder of a recorded run, whichever is typed or chosen.
#pragma once

#include <QFileDialog>

class QLabel;

namespace app {

/// Qt's dialog, which only ever goes into a folder; here one that holds traces is opened, and of one that holds none is said
/// what is missing while the dialog goes into it. A desktop's own dialog could do neither, and Qt shows none for a class of one's
/// own (QFileDialog::DontUseNativeDialog).
class OpenDialog : public QFileDialog {
    Q_OBJECT
public:
    OpenDialog(const QString& title, const QString& folder, const QString& filter, QWidget* parent = nullptr);
    QStringList chosen() const; ///< files, or one folder

public Q_SLOTS:
    void accept() override;

private:
    QStringList named() const;
    QLabel* m_missing;
    QStringList m_chosen;
};

} // namespace app
