#include "app/shell/window/application.h"

#include <csignal>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

int main(int argc, char** argv)
{
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of writing, told and tidied up as a full disk is
#if defined(__GLIBC__)
    // A moving slider asks for the same tens of megabytes again and again: keep them instead of giving them back each time.
    constexpr int kKeptBytes = 512 << 20;
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
#endif
    return app::runApplication(argc, argv, QStringLiteral(RANKSCOPE_VERSION));
}
