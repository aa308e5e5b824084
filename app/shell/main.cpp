#include "app/shell/application.h"

int main(int argc, char** argv)
{
    return app::runApplication(argc, argv, QStringLiteral(RANKSCOPE_VERSION));
}
