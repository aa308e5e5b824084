#include "app/shell/window/end_signals.h"

#include <QSocketNotifier>

#include <array>
#include <csignal>
#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace app {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};
std::array<int, 2> g_pipe{-1, -1}; ///< all that a handler may use
std::array<struct sigaction, kSignals.size()> g_before{};

void tell(int signal)
{
    const auto byte = static_cast<char>(signal);
    [[maybe_unused]] const ssize_t told = ::write(g_pipe[1], &byte, 1);
}

void listen()
{
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals[i], nullptr, &g_before[i]);
        if (g_before[i].sa_handler == SIG_IGN) // nohup, a shell's background job: whoever started it wants it so
            continue;
        struct sigaction action {};
        action.sa_handler = tell;
        action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
        ::sigaction(kSignals[i], &action, nullptr);
    }
}

/// Ends the program by the signal, as whoever sent it will see, also where what is done before it fails.
class Raise {
public:
    explicit Raise(int signal) : m_signal(signal) {}
    ~Raise() { ::raise(m_signal); } // nobody listens to it any more
    Raise(const Raise&) = delete;
    Raise& operator=(const Raise&) = delete;

private:
    int m_signal;
};

} // namespace

EndSignals::EndSignals(std::function<void()> before, QObject* parent) : QObject(parent)
{
    if (::pipe2(g_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        return; // they end the program as ever
    auto* notifier = new QSocketNotifier(g_pipe[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, [before = std::move(before)] {
        char came = 0;
        if (::read(g_pipe[0], &came, 1) != 1)
            return;
        const Raise raise(came);
        before();
    });
    listen();
}

EndSignals::~EndSignals()
{
    if (g_pipe[0] < 0)
        return;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
        ::sigaction(kSignals[i], &g_before[i], nullptr);
    for (int& end : g_pipe)
        ::close(std::exchange(end, -1));
}

} // namespace app
