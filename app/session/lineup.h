// Further scenarios beside the baseline and the one on the desk: all of them are laid on one time axis. Each as it stood when it
// was taken in; edits and undo leave it alone.
#pragma once

#include "app/session/session.h"
#include "app/session/worker.h"
#include "app/step/shown_step.h"

#include <QObject>
#include <QString>

#include <vector>

namespace app {

class Lineup : public QObject {
    Q_OBJECT
public:
    static constexpr std::size_t kMost = 4; ///< with the baseline and the desk's scenario six

    struct Entry {
        QString name;
        sim::ScenarioDocument document;
        ShownStep step; ///< nothing while it is on its way
    };

    explicit Lineup(QObject* parent = nullptr);
    ~Lineup() override;

    const std::vector<Entry>& entries() const { return m_entries; }
    bool isFull() const { return m_entries.size() >= kMost; }
    bool isReady() const; ///< every step is there

    /// A file, simulated off the GUI thread. What is wrong comes back, and then nothing has changed.
    [[nodiscard]] Problems open(const QString& path, const sim::Catalogue&);
    [[nodiscard]] Problems add(const QString& name, const sim::ScenarioDocument&, const sim::Catalogue&);
    void remove(std::size_t place);
    void clear();

Q_SIGNALS:
    void changed();
    void failed(const QString& message); ///< a step cannot be simulated; its scenario is taken out

private:
    void simulateNext();

    std::vector<Entry> m_entries;
    const sim::Catalogue* m_catalogue = nullptr;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
