// Where a run listens, and who we are to it: an address, and keys where it is on another machine.
#pragma once

#include "live/stream/keys.h"

#include <QDialog>

#include <optional>

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace app {

class AttachDialog : public QDialog {
    Q_OBJECT
public:
    explicit AttachDialog(QWidget* parent = nullptr);

Q_SIGNALS:
    void chosen(const QString& endpoint, const std::optional<live::ViewerKeys>& keys);

private:
    QLineEdit* addKeyRow(QGridLayout&, int row, const QString& name, const QString& hint);
    void addressChanged();
    bool needsKeys() const;
    void tryToAttach();

    QComboBox* m_address;
    QLabel *m_addressNote, *m_problem;
    QCheckBox* m_demandsKeys; ///< of a local address: the end of a tunnel, perhaps
    QWidget* m_keys;
    QLineEdit *m_own, *m_server;
    QPushButton* m_attach;
};

} // namespace app
