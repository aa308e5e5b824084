// Times of Perfetto's packets on clocks other than the boot clock: of one sequence, of the trace, and such that count on.
#include "sim/trace/readers/read_recording.h"

#include <protozero/pbf_writer.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using protozero::pbf_writer;
using testing::ElementsAre;

constexpr std::uint32_t kBoot = 6, kMonotonic = 3, kOwn = 64, kOfTheTrace = 130;

struct ClockReading {
    std::uint32_t id;
    std::uint64_t ns;
    bool isIncremental = false;
};

class PerfettoBytes {
public:
    PerfettoBytes()
    {
        packet([](pbf_writer& p) {
            pbf_writer descriptor(p, 60);
            descriptor.add_uint64(1, 7);
            descriptor.add_string(2, "row");
        });
    }
    template <typename Fill>
    PerfettoBytes& packet(Fill fill)
    {
        pbf_writer trace(m_bytes);
        pbf_writer one(trace, 1);
        fill(one);
        return *this;
    }
    PerfettoBytes& snapshot(std::uint32_t sequence, const std::vector<ClockReading>& clocks)
    {
        return packet([&](pbf_writer& p) {
            p.add_uint32(10, sequence);
            pbf_writer snapshot(p, 6);
            for (const ClockReading& reading : clocks) {
                pbf_writer clock(snapshot, 1);
                clock.add_uint32(1, reading.id);
                clock.add_uint64(2, reading.ns);
                clock.add_bool(3, reading.isIncremental);
            }
        });
    }
    PerfettoBytes& begin(std::uint32_t sequence, std::uint32_t clock, std::uint64_t at, bool clears = false)
    {
        return packet([&](pbf_writer& p) {
            p.add_uint64(8, at);
            p.add_uint32(10, sequence);
            p.add_uint32(58, clock);
            p.add_uint32(13, clears ? 1 : 0);
            pbf_writer event(p, 11);
            event.add_int32(9, 1);
            event.add_uint64(11, 7);
            event.add_string(23, "span");
        });
    }
    std::vector<std::int64_t> starts() const
    {
        return sim::readRecording(m_bytes.data(), m_bytes.size(), "trace").ranks.at(0).spans.startNs.own();
    }

private:
    std::string m_bytes;
};

TEST(PerfettoClocks, OfTheTraceHoldForSequencesThatComeLater)
{
    for (const std::uint32_t clock : {kMonotonic, kOfTheTrace})
        EXPECT_THAT(PerfettoBytes().snapshot(1, {{kBoot, 1000}, {clock, 100}}).begin(2, clock, 150).begin(1, clock, 160).starts(),
                    ElementsAre(1050, 1060))
            << clock;
}

TEST(PerfettoClocks, OfASequenceAreItsOwn)
{
    EXPECT_THAT(PerfettoBytes().snapshot(1, {{kBoot, 1000}, {kOwn, 100}}).begin(2, kOwn, 150).begin(1, kOwn, 160).starts(),
                ElementsAre(150, 1060));
}

TEST(PerfettoClocks, OutliveAClearedState)
{
    EXPECT_THAT(PerfettoBytes()
                    .snapshot(1, {{kBoot, 1000}, {kOwn, 100}, {kMonotonic, 10}})
                    .begin(1, kOwn, 150, true)
                    .begin(1, kMonotonic, 70)
                    .starts(),
                ElementsAre(1050, 1060));
}

TEST(PerfettoClocks, CountOnFromPacketsWithoutAnEvent)
{
    EXPECT_THAT(PerfettoBytes()
                    .snapshot(1, {{kBoot, 1000}, {kOwn, 0, true}})
                    .begin(1, kOwn, 5)
                    .packet([](pbf_writer& p) {
                        p.add_uint64(8, 10);
                        p.add_uint32(10, 1);
                        p.add_uint32(58, kOwn);
                    })
                    .begin(1, kOwn, 20)
                    .starts(),
                ElementsAre(1005, 1035));
}

} // namespace
