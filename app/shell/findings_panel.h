// What there is to say about the layout on screen, worst first: each with a place to look at and with edits that were tried and
// help. Edits that were tried and do not help are named, not offered.
#pragma once

#include "app/session/edit.h"
#include "app/session/simulator.h"
#include "app/views/theme.h"

#include <QScrollArea>

#include <vector>

class QLabel;
class QVBoxLayout;

namespace app {

class FindingRow;

class FindingsPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit FindingsPanel(QWidget* parent = nullptr);
    /// Of the step on screen; what is known about an older one goes.
    void setFindings(const FindingList&);
    void setResult(const TryResult&);
    /// Nothing can be found, and why.
    void setFailure(const QString& why);
    /// There is no step to speak of.
    void clear();
    void setTheme(const Theme&);
    /// Every edit has been tried.
    bool isComplete() const;
    /// As shown, a line each: for tests and for copying.
    QString text() const;

signals:
    void showRequested(const sim::ShowHint&);
    void tryRequested(const app::Edit&);

private:
    void rebuild();
    void showSummary();

    FindingList m_findings;
    bool m_isOfStep = false; ///< what is shown, even if it is nothing
    QString m_failure;       ///< why there are none
    std::vector<TryResult> m_results;
    std::vector<FindingRow*> m_rows;
    const Theme* m_theme;
    QLabel* m_summary;
    QVBoxLayout* m_column;
};

/// The edit as the session makes it.
Edit editOf(const sim::Try&);

} // namespace app
