// One finding in the list: how bad, what, why, where to look, and what to try with what it would bring.
#pragma once

#include "app/views/common/theme.h"
#include "sim/analysis/findings/findings.h"

#include <QFrame>
#include <QPushButton>
#include <QStringList>

#include <optional>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace app {

/// An edit with its effect beside it.
class SuggestionButton : public QPushButton {
    Q_OBJECT
public:
    SuggestionButton(const QString& edit, const sim::EditEffect&, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
};

/// "−12.3 % time".
QString timeText(const sim::EditEffect&);
/// "step +25 %", where the step has another number of tokens; else time a token says it.
QString stepChangeText(const sim::EditEffect&);
/// "likely −14.1 % to −8.3 %", or that it cannot be told; empty where time stays or nothing is known.
QString sureText(const sim::EditEffect&);
/// "−8.20 GiB"; empty where the peak stays.
QString memoryText(const sim::EditEffect&);

class FindingRow : public QFrame {
    Q_OBJECT
public:
    FindingRow(const sim::Finding&, const Theme&, QWidget* parent = nullptr);
    /// Nothing: the edit could not be simulated.
    void setEffect(std::size_t edit, const std::optional<sim::EditEffect>&);
    bool isComplete() const { return m_measured == m_finding.suggestions.size(); }
    QString text() const;
    /// What would be enough is being searched.
    void setFixing(bool);

Q_SIGNALS:
    void showRequested();
    void fixRequested();                    ///< by the smallest change that is enough
    void becauseRequested(QWidget* beside); ///< where its numbers come from
    void editRequested(std::size_t edit);

private:
    void showProgress();

    const sim::Finding m_finding;
    std::size_t m_measured = 0;
    std::vector<sim::TriedEdit> m_offered; ///< by place in m_edits: sim::isOfferedBefore
    QStringList m_useless;                 ///< edits that were tried and do not help
    QLabel* m_progress;
    QVBoxLayout* m_edits;
    QPushButton* m_fix;
};

} // namespace app
