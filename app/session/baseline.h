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

    bool isPinned() const { return m_pinned.has_value(); }
    bool isReady() const { return isPinned() && m_pinned->step.simulation; } ///< pinned and simulated
    QString name() const { return isPinned() ? m_pinned->name : QString(); }
    const sim::ScenarioDocument& document() const { return m_pinned->document; }                  ///< only if isPinned()
    SimulationPtr simulation() const { return isPinned() ? m_pinned->step.simulation : nullptr; } ///< nullptr: on its way
    TracePtr actions() const { return isPinned() ? m_pinned->step.trace : nullptr; }              ///< of the simulation
    std::optional<sim::Metrics> metrics() const;                                                  ///< nothing unless ready

    /// The step is of the document.
    void pin(const QString& name, const sim::ScenarioDocument&, const ShownStep&);
    /// Another file, simulated off the GUI thread. What is wrong comes back, and then nothing has changed.
    [[nodiscard]] Problems open(const QString& path, const sim::Catalogue&);
    /// The same of a document that is in no file.
    [[nodiscard]] Problems compareWith(const QString& name, const sim::ScenarioDocument&, const sim::Catalogue&);
    /// Another file has come in its place beside it, or it came from one: to go back to it would be to write one job into the
    /// other's file.
    bool isAnother() const { return isPinned() && m_pinned->isAnother; }
    /// Another scenario has been opened: what was pinned so far, and the one before that, are not of its file.
    void markAsAnother();
    void unpin();
    /// What was pinned before the last one was pinned or forgotten. To go back there twice is to stay.
    bool hasFormer() const { return m_former.has_value(); }
    void goBackToFormer(); ///< of another file it stays isAnother()

Q_SIGNALS:
    void changed();
    void failed(const QString& message); ///< the file's step cannot be simulated; it is unpinned

private:
    struct Pinned {
        QString name;
        sim::ScenarioDocument document;
        ShownStep step;
        bool isAnother = false;
    };
    void keepFormer();

    std::optional<Pinned> m_pinned, m_former;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
