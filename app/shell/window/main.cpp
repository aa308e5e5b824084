#include "app/shell/window/application.h"

#include <csignal>

int main(int argc, char** argv)
{
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing, told and tidied up as a full disk is
    app::keepMemory();
    return app::runApplication(argc, argv, QStringLiteral(RANKSCOPE_VERSION));
}
