// The scenario's layout as the settings of another framework: seen, copied or saved.
#pragma once

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/scenario.h"

#include <QDialog>

class QLabel;
class QListWidget;
class QPlainTextEdit;
class QPushButton;

namespace app {

class CopySettingsDialog : public QDialog {
    Q_OBJECT
public:
    /// `fileName` is without its ending.
    CopySettingsDialog(const sim::Scenario&, const sim::Catalogue&, const QString& fileName, QWidget* parent = nullptr);
    void show(std::string_view kind); ///< by its id
    QString text() const;             ///< of the kind that is chosen; empty where the framework would refuse the layout
    void copy();

Q_SIGNALS:
    void copied(const QString& name);
    void saved(const QString& path);

private:
    void kindChanged();
    void chooseFile();
    const sim::FrameworkKind& kind() const;

    const sim::Scenario m_scenario;
    const sim::Catalogue m_catalogue;
    const QString m_fileName;
    QListWidget* m_kinds;
    QPlainTextEdit* m_text;
    QLabel *m_notes, *m_failure;
    QPushButton *m_copy, *m_save;
};

} // namespace app
