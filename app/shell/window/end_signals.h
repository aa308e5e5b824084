// A request to end that comes from outside: kill, a session that logs out, Ctrl+C in the terminal that started the window.
#pragma once

#include <QObject>

#include <functional>

namespace app {

class EndSignals final : public QObject {
public:
    /// `end`: called in the event loop with SIGTERM, SIGINT or SIGHUP, once; the next of them ends the program at once. One such
    /// object at a time.
    explicit EndSignals(std::function<void(int)> end, QObject* parent = nullptr);
    ~EndSignals() override;

private:
    std::function<void(int)> m_end;
};

} // namespace app
