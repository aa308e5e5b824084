// What the user may choose about the program. Every change is told at once; there is nothing to confirm.
#pragma once

#include "app/session/settings.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QDoubleSpinBox;

namespace app {

class SettingsDialog : public QDialog {
    Q_OBJECT
public:
    /// `languages`: the codes of those that the program speaks besides English.
    SettingsDialog(const Settings&, const QStringList& languages, QWidget* parent = nullptr);
    Settings settings() const;
    void askForPrice(); ///< of a GPU hour: the keyboard goes there
    void setSettings(const Settings&);

Q_SIGNALS:
    void changed(const app::Settings&);

private:
    QComboBox* addChoice(QFormLayout&, const QString& title, const QString& note = {});
    void tell();

    Settings m_before; ///< as last told
    QComboBox *m_theme, *m_size, *m_language, *m_navigation, *m_renderer, *m_autosave;
    QCheckBox* m_motion;
    QDoubleSpinBox* m_price;
};

} // namespace app
