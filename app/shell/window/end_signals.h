// A request to end that comes from outside: kill, a session that logs out, Ctrl+C in the terminal that started the window.
#pragma once

#include <QObject>

#include <functional>

namespace app {

class EndSignals final : public QObject {
public:
    /// Before SIGTERM, SIGINT or SIGHUP ends the program, `before` is called in whichever event loop runs; a second one does not
    /// wait for that. One such object at a time.
    explicit EndSignals(std::function<void()> before, QObject* parent = nullptr);
    ~EndSignals() override;
};

} // namespace app
