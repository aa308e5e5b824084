#include "live/kernels/versions.h"

#include "sim/error.h"

namespace live {

std::string versionText(int version)
{
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

void requireVersion(const std::string& library, int found, int built)
{
    constexpr int kMajor = 10000, kMinor = 100;
    if (found / kMajor == built / kMajor && found / kMinor >= built / kMinor)
        return;
    throw sim::Error(library + " " + versionText(found) + " was found, and this program was built for " + versionText(built) +
                     ": it needs " + std::to_string(built / kMajor) + "." + std::to_string(built / kMinor % kMinor) +
                     " or a later " + std::to_string(built / kMajor) +
                     ".x. Install that, or name its folder in LD_LIBRARY_PATH.");
}

} // namespace live
