#include "app/shell/window/end_signals.h"

#include <QSocketNotifier>

#include <array>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace app {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};
std::array<int, 2> g_pipe{-1, -1}; ///< all that a handler may use

void tell(int signal)
{
    const auto byte = static_cast<char>(signal);
    [[maybe_unused]] const ssize_t told = ::write(g_pipe[1], &byte, 1);
}

void listen(bool on)
{
    for (const int signal : kSignals) {
        struct sigaction action {};
        action.sa_handler = on ? tell : SIG_DFL;
        action.sa_flags = SA_RESTART | (on ? static_cast<int>(SA_RESETHAND) : 0);
        ::sigaction(signal, &action, nullptr);
    }
}

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
        before();
        ::raise(came); // nobody listens to it any more: it ends the program, as whoever sent it will see
    });
    listen(true);
}

EndSignals::~EndSignals()
{
    if (g_pipe[0] < 0)
        return;
    listen(false);
    for (int& end : g_pipe)
        ::close(std::exchange(end, -1));
}

} // namespace app
