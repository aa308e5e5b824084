// What was found in a recorded run, a row each, with the way to its place.
#pragma once

#include "app/session/recorded_run.h"

#include <QScrollArea>

class QVBoxLayout;

namespace app {

class RecordedFindings : public QScrollArea {
    Q_OBJECT
public:
    explicit RecordedFindings(QWidget* parent = nullptr);
    void show(const RecoveredRun&);

Q_SIGNALS:
    void asked(std::size_t finding); ///< to be shown: by its place in the run's answers

private:
    void add(const QString& title, const QString& detail, std::optional<std::size_t> finding = {});

    QVBoxLayout* m_rows;
};

} // namespace app
