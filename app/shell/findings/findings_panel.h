// What there is to say about the layout on screen, worst first: each with a place to look at and with edits that were tried and
// help. Edits that were tried and do not help are named, not offered.
#pragma once

#include "app/session/desk.h"
#include "app/session/edit.h"
#include "app/session/fix_search.h"
#include "app/views/common/theme.h"

#include <QScrollArea>

#include <memory>
#include <string>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace app {

class FindingRow;
class MaskNote;

class FindingsPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit FindingsPanel(QWidget* parent = nullptr);
    /// From now on what is found about the desk's step; edits that are wanted are made there. Ends before it.
    void follow(Desk&);
    /// Of the step on screen; what is known about an older one goes.
    void setFindings(const FindingList&, const SimulationPtr& of = {});
    void setResult(const EditResult&);
    /// Nothing can be found, and why.
    void setFailure(const QString& why);
    /// There is no step to speak of.
    void clear();
    void setTheme(const Theme&);
    /// Says nothing, as one of its numbers is being asked for.
    void setMasked(bool masked, const QString& why);
    bool isMasked() const { return widget()->isHidden(); }
    /// How many there are to do something about: what the step consists of is no complaint.
    int complaints() const;
    /// Every edit has been tried.
    bool isComplete() const;
    /// The smallest change that makes the job fit is being searched.
    bool isFixing() const { return m_fix && m_fix->isRunning(); }
    /// As shown, a line each: for tests and for copying.
    QString text() const;

Q_SIGNALS:
    void changed(); ///< other findings
    void showRequested(const sim::ShowHint&);
    void editRequested(const app::Edit&);

private:
    void rebuild();
    void rank();
    void openBecause(std::size_t finding, QWidget* beside);
    void showSummary();
    void fix();
    void fixed(const Fix&);
    void sayOfFix(const QString&);
    void showFixing();

    FindingList m_findings;
    SimulationPtr m_simulation; ///< that they are of
    bool m_isOfStep = false;    ///< what is shown, even if it is nothing
    QString m_failure;          ///< why there are none
    std::vector<EditResult> m_results;
    std::vector<FindingRow*> m_rows; ///< [finding]
    const Theme* m_theme;
    QLabel *m_summary, *m_fixNote; ///< what was fixed by what, while that is how the scenario is
    std::string m_fixNoteOf;       ///< the document that it is said of
    Desk* m_desk = nullptr;        ///< that is followed
    std::unique_ptr<FixSearch> m_fix;
    MaskNote* m_maskNote;
    QVBoxLayout* m_column;
};

/// The edit as the session makes it.
Edit editOf(const sim::SuggestedEdit&);

} // namespace app
