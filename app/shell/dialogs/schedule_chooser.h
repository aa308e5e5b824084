// All schedule families beside each other: what each is about, what it would make of this job, and why some cannot be had.
#pragma once

#include "app/views/common/theme.h"

#include <QDialog>

#include <memory>
#include <vector>

class QComboBox;
class QLabel;
class QListWidget;
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
    /// Until then the list is empty and says that it is being filled.
    void setCandidates(const ScheduleCandidates&);
    /// Why it stays empty.
    void setFailure(const QString& why);
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
    void showSelected();
    void choose();
    const ScheduleCandidate* selected() const;

    const Theme& m_theme;
    const std::unique_ptr<ScheduleCandidates> m_candidates;
    QComboBox* m_order;
    QListWidget* m_list;
    QWidget* m_headings = nullptr;
    QLabel *m_source, *m_note;
    bool m_tells = true; ///< the note is news, not what columns mean
    QPushButton *m_use, *m_compare;
};

} // namespace app
