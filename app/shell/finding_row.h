// One finding in the list: how bad, what, why, where to look, and what to try with what it would bring.
#pragma once

#include "app/views/theme.h"
#include "sim/analysis/findings.h"

#include <QFrame>
#include <QPushButton>
#include <QStringList>

#include <optional>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace app {

/// An edit with its effect beside it.
class TryButton : public QPushButton {
    Q_OBJECT
public:
    TryButton(const QString& edit, const sim::TryEffect&, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
};

/// "−12.3 % time".
QString timeText(const sim::TryEffect&);
/// "−8.20 GiB"; empty where the peak stays.
QString memoryText(const sim::TryEffect&);

class FindingRow : public QFrame {
    Q_OBJECT
public:
    FindingRow(const sim::Finding&, const Theme&, QWidget* parent = nullptr);
    /// Nothing: the edit could not be simulated.
    void setEffect(std::size_t edit, const std::optional<sim::TryEffect>&);
    bool isComplete() const { return m_measured == m_finding.tries.size(); }
    QString text() const;

signals:
    void showRequested();
    void tryRequested(std::size_t edit);

private:
    void showProgress();

    const sim::Finding m_finding;
    std::size_t m_measured = 0;
    std::vector<sim::TryEffect> m_offered; ///< by place in m_edits: what fits first, then what is fastest
    QStringList m_useless;                 ///< edits that were tried and do not help
    QLabel* m_progress;
    QVBoxLayout* m_edits;
};

} // namespace app
