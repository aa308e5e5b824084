// Perfetto's packets with an event in Chrome's words: a phase, a name by number, and how long it lasts.
#include "sim/trace/readers/read_recording.h"

#include <protozero/pbf_writer.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using protozero::pbf_writer;

class LegacyTrace {
public:
    LegacyTrace()
    {
        packet([](pbf_writer& p) {
            {
                pbf_writer descriptor(p, 60);
                descriptor.add_uint64(1, 7);
                descriptor.add_string(2, "row");
            }
            p.add_uint32(10, 1);
            p.add_uint32(13, 1);
            pbf_writer interned(p, 12);
            pbf_writer name(interned, 2);
            name.add_uint64(1, 4);
            name.add_string(2, "work");
        });
    }
    LegacyTrace& event(char phase, std::uint64_t atNs, std::int64_t lastsUs = 0)
    {
        packet([&](pbf_writer& p) {
            p.add_uint64(8, atNs);
            p.add_uint32(10, 1);
            pbf_writer event(p, 11);
            event.add_uint64(11, 7);
            pbf_writer legacy(event, 6);
            legacy.add_uint64(1, 4);
            legacy.add_int32(2, phase);
            if (phase == 'X')
                legacy.add_int64(3, lastsUs);
        });
        return *this;
    }
    sim::Recording read() const { return sim::readRecording(m_bytes.data(), m_bytes.size(), "trace"); }

private:
    template <typename Fill>
    void packet(Fill fill)
    {
        pbf_writer trace(m_bytes);
        pbf_writer one(trace, 1);
        fill(one);
    }
    std::string m_bytes;
};

TEST(PerfettoLegacy, EventsOfAPhaseAreSpansWhereTheyLast)
{
    const sim::Recording recording = LegacyTrace().event('B', 1000).event('X', 2000, 3).event('E', 9000).event('i', 9500).read();
    const sim::RankRecording& rank = recording.ranks.at(0);
    ASSERT_EQ(rank.spans.size(), 2U);
    EXPECT_EQ(rank.spans.startNs[0], 1000);
    EXPECT_EQ(rank.spans.durationNs[0], 8000);
    EXPECT_EQ(rank.spans.startNs[1], 2000);
    EXPECT_EQ(rank.spans.durationNs[1], 3000);
    EXPECT_EQ(recording.names[rank.spans.name[1]], "work");
    EXPECT_TRUE(recording.problems.empty());
    ASSERT_EQ(recording.skipped.size(), 1U);
    EXPECT_EQ(recording.skipped[0].what, "instant");
}

} // namespace
