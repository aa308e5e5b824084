// All schedule families beside each other: what each is about, what it would make of this job, and why some cannot be had.
#pragma once

#include "app/views/common/theme.h"

#include <QDialog>

#include <cstddef>
#include <memory>
#include <vector>

class QComboBox;
class QLabel;
class QListWidget;
class QListWidgetItem;
class QProgressBar;
class QPushButton;

namespace app {

struct ScheduleCandidate;
using ScheduleCandidates = std::vector<ScheduleCandidate>;

class ScheduleChooser : public QDialog {
    Q_OBJECT
public:
    enum class Order { listed, time, idle, memory };

    explicit ScheduleChooser(const Theme&, QWidget* parent = nullptr);
    ~ScheduleChooser() override;
    /// Those that are not weighed yet say so.
    void setCandidates(const ScheduleCandidates&);
    void setCandidate(std::size_t place, const ScheduleCandidate&);
    bool isReady() const;           ///< all are weighed
    void tell(const QString& what); ///< below the list
    void setOrder(Order);
    QStringList kindsShown() const; ///< top to bottom
    void select(const QString& kind);

Q_SIGNALS:
    void chosen(const QString& kind);
    void compareRequested(const QString& kind); ///< beside what is compared; the dialog stays

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void placeNotes();
    void fill();
    void dress(QListWidgetItem&, const ScheduleCandidate&) const;
    void tellProgress();
    void showSelected();
    void choose();
    const ScheduleCandidate* selected() const;

    const Theme& m_theme;
    const std::unique_ptr<ScheduleCandidates> m_candidates;
    QComboBox* m_order;
    QListWidget* m_list;
    QWidget* m_headings = nullptr;
    QLabel *m_source, *m_note;
    QProgressBar* m_progress;
    bool m_hasNews = false; ///< of a comparison, in the note
    bool m_tells = true;    ///< the note is news or how far it is, not what columns mean
    QPushButton *m_use, *m_compare;
};

} // namespace app
