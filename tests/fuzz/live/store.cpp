// However the bytes of a connection to the store are cut into pieces, the same messages are read, or the same refusal; and a
// message is written as it was read.
#include "live/comm/store_messages.h"
#include "sim/error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// The messages written again, and a mark where it was refused.
std::string read(const std::string& bytes, std::size_t piece)
{
    std::string received, written;
    try {
        for (std::size_t i = 0; i < bytes.size(); i += piece) {
            received += bytes.substr(i, piece);
            while (const auto message = live::store::decode(received, live::store::kBudget.strangerBytes))
                written += live::store::encode(*message);
        }
    } catch (const sim::Error&) {
        written += "refused";
    }
    return written;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = read(bytes, std::max<std::size_t>(size, 1));
    if (read(bytes, 1) != whole || read(bytes, 7) != whole)
        std::abort();
    if (!whole.ends_with("refused") && bytes.substr(0, whole.size()) != whole)
        std::abort();
    return 0;
}
