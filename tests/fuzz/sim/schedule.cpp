// Somebody's schedule: the first byte ('0' to '4') says in which format it is read, the rest is the file. It is refused with
// Error, or read; what is read is checked without harm, and if it can run it does, and reads the same from what is written of it.
#include "sim/engine/in_order.h"
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/text/csv.h"
#include "sim/schedule/text/export.h"
#include "sim/schedule/text/import.h"

#include "sim/error.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/// Writers may have no words for a schedule; what they write is read back.
template <typename Write>
void writtenReadsBack(const sim::Schedule& schedule, sim::ScheduleFormat format, Write&& write)
{
    std::string text;
    try {
        text = write();
    } catch (const sim::Error&) {
        return;
    }
    const sim::Schedule again = sim::importSchedule(text, format).schedule;
    require(again.stageToRank == schedule.stageToRank && again.actions == schedule.actions);
}

void exercise(const sim::ImportedSchedule& imported)
{
    const sim::Schedule& schedule = imported.schedule;
    if (imported.communication) {
        for (const sim::CommStreams streams : {sim::CommStreams::shared, sim::CommStreams::perPeer})
            static_cast<void>(sim::checkInOrder(*imported.communication, streams));
        return;
    }
    if (!sim::checkSchedule(schedule).empty())
        return;
    const sim::ScheduleTimes times = sim::evaluateSchedule(schedule);
    require(std::isfinite(times.makespan) && times.makespan > 0 && times.span <= times.makespan);
    writtenReadsBack(schedule, sim::ScheduleFormat::automatic, [&] { return sim::scheduleCsv(schedule); });
    writtenReadsBack(schedule, sim::ScheduleFormat::pytorch2024,
                     [&] { return sim::pytorchCsv(schedule, sim::ScheduleFormat::pytorch2024); });
    writtenReadsBack(schedule, sim::ScheduleFormat::megatron, [&] { return sim::megatronOrder(schedule); });
    writtenReadsBack(schedule, sim::ScheduleFormat::sail, [&] { return sim::sailStrings(schedule); });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::array kFormats = {sim::ScheduleFormat::automatic, sim::ScheduleFormat::pytorch,
                                     sim::ScheduleFormat::pytorch2024, sim::ScheduleFormat::megatron, sim::ScheduleFormat::sail};
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    sim::ImportedSchedule imported;
    try {
        imported = sim::importSchedule(text, kFormats.at((data[0] + 2U) % kFormats.size()));
    } catch (const sim::Error&) {
        return 0;
    }
    exercise(imported);
    return 0;
}
