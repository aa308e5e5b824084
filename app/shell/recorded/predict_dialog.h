// What no trace says and a prediction needs: which model ran on which GPUs, how long its sequences were.
#pragma once

#include "sim/scenario/catalogue.h"

#include <QDialog>
#include <QString>

#include <string>

class QComboBox;
class QSpinBox;

namespace app {

class PredictDialog : public QDialog {
    Q_OBJECT
public:
    /// `openName`, `openText`: of the scenario that is open, which may be taken; empty: none is.
    PredictDialog(const sim::Catalogue&, int worldSize, const QString& openName, const std::string& openText,
                  QWidget* parent = nullptr);

Q_SIGNALS:
    void chosen(const QString& name, const std::string& text); ///< a scenario's JSON, perhaps without a layout
    void fileRequested();

private:
    std::string text() const;

    const sim::Catalogue m_catalogue;
    const int m_world;
    QComboBox *m_model, *m_cluster;
    QSpinBox *m_sequence, *m_microbatch;
};

} // namespace app
