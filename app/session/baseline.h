// What one compares with: the scenario as it stood when it was pinned, or another file. Kept beside the session, so that edits,
// undo and other files leave it alone.
#pragma once

#include "app/session/session.h"
#include "app/session/simulator.h"

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
    bool isReady() const { return isPinned() && m_simulation; } ///< pinned and simulated
    QString name() const { return m_name; }
    const sim::ScenarioDocument& document() const { return *m_document; } ///< only if isPinned()
    const SimulationPtr& simulation() const { return m_simulation; }      ///< nullptr while it is on its way
    const TracePtr& actions() const { return m_actions; }                 ///< of the simulation
    std::optional<sim::Metrics> metrics() const;                          ///< nothing unless ready

    /// `simulation` and `actions` are of the document.
    void pin(const QString& name, const sim::ScenarioDocument&, SimulationPtr simulation, TracePtr actions);
    /// Another file, simulated off the GUI thread. What is wrong comes back, and then nothing has changed.
    [[nodiscard]] Problems open(const QString& path, const sim::Catalogue&);
    void unpin();

signals:
    void changed();
    void failed(const QString& message); ///< the file's step cannot be simulated; it is unpinned

private:
    void dropSimulator();

    QString m_name;
    std::optional<sim::ScenarioDocument> m_document;
    SimulationPtr m_simulation;
    TracePtr m_actions;
    std::unique_ptr<Simulator> m_simulator; ///< of another file; made when one is opened
};

} // namespace app
