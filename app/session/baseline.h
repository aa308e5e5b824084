// What one compares with: the scenario as it stood when it was pinned, or another file. Kept beside the session, so that edits,
// undo and other files leave it alone.
#pragma once

#include "app/session/session.h"
#include "app/session/worker.h"
#include "app/step/shown_step.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>

namespace app {

class Baseline : public QObject {
    Q_OBJECT
public:
    explicit Baseline(QObject* parent = nullptr);
    ~Baseline() override;

    bool isPinned() const { return m_document.has_value(); }
    bool isReady() const { return isPinned() && m_step.simulation; } ///< pinned and simulated
    QString name() const { return m_name; }
    const sim::ScenarioDocument& document() const { return *m_document; } ///< only if isPinned()
    const SimulationPtr& simulation() const { return m_step.simulation; } ///< nullptr while it is on its way
    const TracePtr& actions() const { return m_step.trace; }              ///< of the simulation
    std::optional<sim::Metrics> metrics() const;                          ///< nothing unless ready

    /// The step is of the document.
    void pin(const QString& name, const sim::ScenarioDocument&, const ShownStep&);
    /// Another file, simulated off the GUI thread. What is wrong comes back, and then nothing has changed.
    [[nodiscard]] Problems open(const QString& path, const sim::Catalogue&);
    /// The same of a document that is in no file.
    [[nodiscard]] Problems compareWith(const QString& name, const sim::ScenarioDocument&, const sim::Catalogue&);
    void unpin();

Q_SIGNALS:
    void changed();
    void failed(const QString& message); ///< the file's step cannot be simulated; it is unpinned

private:
    QString m_name;
    std::optional<sim::ScenarioDocument> m_document;
    ShownStep m_step;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
