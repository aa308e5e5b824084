// A measured hardware profile: refused with Error, or read, written and read back to the same.
#include "sim/scenario/catalogue.h"
#include "sim/scenario/hardware_profile.h"

#include "sim/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    const std::string text(reinterpret_cast<const char*>(data), size);
    sim::HardwareProfile profile;
    try {
        profile = sim::readHardwareProfile(text, "fuzz.json", catalogue.schema());
    } catch (const sim::Error&) {
        return 0;
    }
    if (sim::readHardwareProfile(sim::hardwareProfileText("fuzz", profile), "again.json", catalogue.schema()) != profile)
        std::abort();
    return 0;
}
