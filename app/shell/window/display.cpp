#include "app/shell/window/display.h"

#ifdef Q_OS_LINUX
#include <QRegularExpression>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#endif

namespace app {

QString noDisplay()
{
#ifdef Q_OS_LINUX
    if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY"))
        return {};
    if (!qEnvironmentVariableIsSet("DISPLAY"))
        return QStringLiteral("there is no display (DISPLAY and WAYLAND_DISPLAY are not set)");
    const QByteArray display = qgetenv("DISPLAY");
    static const QRegularExpression local(QStringLiteral(R"(^(?:unix)?:(\d+)(?:\.\d+)?$)"));
    const auto number = local.match(QString::fromLocal8Bit(display));
    if (!number.hasMatch())
        return {}; // another machine's
    const QByteArray name = "/tmp/.X11-unix/X" + number.captured(1).toLatin1();
    for (const bool isAbstract : {true, false}) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const auto size = std::min<std::size_t>(static_cast<std::size_t>(name.size()), sizeof(address.sun_path) - 2);
        std::memcpy(address.sun_path + (isAbstract ? 1 : 0), name.constData(), size);
        const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
        const bool answers = socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
        ::close(socket);
        if (answers)
            return {};
    }
    return QStringLiteral("there is no display: no X server answers as DISPLAY %1").arg(QString::fromLocal8Bit(display));
#else
    return {};
#endif
}

} // namespace app
