// What was recovered of a recorded run, fact by fact, with how sure and why; and the grid of ranks, which a person can correct.
#pragma once

#include "app/session/recorded_run.h"

#include <QScrollArea>

#include <array>
#include <vector>

class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QVBoxLayout;

namespace app {

class RecordedFacts : public QScrollArea {
    Q_OBJECT
public:
    explicit RecordedFacts(QWidget* parent = nullptr);
    void show(const RecoveredRun&);
    /// What of the predicted scenario is whose.
    void showUnknown(const std::vector<sim::UnknownKey>&);
    QString text() const; ///< a line a fact
    QSpinBox* size(const char* axis) const;
    QPushButton* applyButton() const { return m_apply; }

Q_SIGNALS:
    void gridSaid(const std::vector<sim::NamedAxis>& grid); ///< empty: as recovered

private:
    void addFact(const QString& what, const QString& sure, const QString& why);
    void showProduct();
    std::vector<sim::NamedAxis> said() const;

    static constexpr int kAxes = 5; ///< tp, cp, dp, pp, ep
    std::array<QSpinBox*, kAxes> m_sizes{};
    QComboBox* m_order;
    QLabel* m_product;
    QPushButton *m_apply, *m_asRecovered;
    QVBoxLayout* m_facts;
    QLabel* m_unknown;
    QStringList m_lines;
    int m_world = 0;
    std::array<int, 5> m_shownSizes{}; ///< as recovered, or as was said last
    QString m_shownOrder;
    int m_shownExpertStride = 0; ///< 0: no such axis
};

} // namespace app
