// Windows without a screen, with settings of their own.
#include "app/shell/window/guarded_application.h"

#include <QTemporaryDir>

#include <gtest/gtest.h>

int main(int argc, char** argv)
{
    const QTemporaryDir home;
    qputenv("XDG_CONFIG_HOME", home.path().toUtf8());
    qputenv("XDG_DATA_HOME", home.path().toUtf8());
    if (qgetenv("QT_QPA_PLATFORM") != "xcb") // the tests of a real window
        qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("LC_ALL", "C.UTF-8"); // a locale that every machine has and that is not the one programs start with
    qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& message) {
        if (type == QtCriticalMsg || type == QtFatalMsg)
            ADD_FAILURE() << message.toStdString();
    });
    const app::GuardedApplication application(argc, argv);
    QObject::connect(&application, &app::GuardedApplication::failed, [](const QString& why) {
        if (!why.contains(QLatin1String("as the test wishes")))
            ADD_FAILURE() << "thrown out of a slot: " << why.toStdString();
    });
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
