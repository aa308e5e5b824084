// Whatever the bytes of a cache are, with hashes that fit: they are refused with Error, or are a recording that can be drawn,
// told and recovered as one that was read; so is what was found out of it and kept with it.
#include "sim/trace/cache/recording_cache.h"
#include "sim/answers/recording.h"
#include "sim/error.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/run_answers.h"
#include "sim/recovery/run_digest.h"
#include "sim/recovery/stand_in.h"
#include "sim/trace/recorded_trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    // Columns are read where they lie: as a mapped file begins at a page, so do these bytes.
    constexpr std::size_t kAligned = 64;
    std::vector<std::byte> held(size + kAligned);
    std::byte* const at = held.data() + (kAligned - reinterpret_cast<std::uintptr_t>(held.data()) % kAligned) % kAligned;
    std::copy(data, data + size, reinterpret_cast<std::uint8_t*>(at));
    try {
        const sim::RecordingCache cache({at, size}, {"run"}, false);
        try {
            if (const auto kept = cache.attachment(sim::kDigestName)) {
                const sim::RunDigest digest = sim::readDigest(*kept);
                static_cast<void>(sim::answersText(digest.recovered, digest.answers));
                static_cast<void>(sim::standInScenario(digest.recovered)); // the window's grid
            }
        } catch (const sim::Error&) {
        }
        const sim::Recording recording = cache.recording(1);
        static_cast<void>(sim::recordedTrace(recording));
        static_cast<void>(sim::traceInfoAnswer(recording).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        const sim::Recovered recovered = sim::recover(recording);
        static_cast<void>(sim::answersText(recovered, sim::answersOf(recovered)));
    } catch (const sim::Error&) {
    }
    return 0;
}
