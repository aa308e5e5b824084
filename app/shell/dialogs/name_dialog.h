// What a scenario is called and what it shows, in its author's words.
#pragma once

#include <QDialog>

class QLineEdit;
class QPlainTextEdit;

namespace app {

class NameDialog : public QDialog {
    Q_OBJECT
public:
    /// `generated`: what it is called while its author has no name for it.
    NameDialog(const QString& name, const QString& description, const QString& generated, QWidget* parent = nullptr);

Q_SIGNALS:
    void chosen(const QString& name, const QString& description);

private:
    QLineEdit* m_name;
    QPlainTextEdit* m_description;
};

} // namespace app
