// When every op of ten gallery files ends and what every rank holds, as one number a file: the same on every machine, with every
// compiler, optimised or not. A change of costs changes them, knowingly: the test prints what to write here.
#include "tests/support/gallery.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

using namespace sim;

namespace {

/// FNV-1a.
class Hash {
public:
    void add(std::int64_t number)
    {
        for (int byte = 0; byte < 8; ++byte) {
            m_value ^= static_cast<std::uint64_t>(number) >> (8 * byte) & 0xFFU;
            m_value *= 0x100000001b3U;
        }
    }
    std::uint64_t value() const { return m_value; }

private:
    std::uint64_t m_value = 0xcbf29ce484222325U;
};

struct Pinned {
    const char* number; ///< of the gallery's file
    std::uint64_t hash;
    std::vector<std::string> overrides = {};
};

void PrintTo(const Pinned& pinned, std::ostream* out)
{
    *out << pinned.number;
}

class PinnedStep : public testing::TestWithParam<Pinned> {};

} // namespace

TEST_P(PinnedStep, IsTheSameEverywhere)
{
    const auto simulation = test::openNumber(GetParam().number, GetParam().overrides).simulation;
    Hash hash;
    for (const std::int64_t end : simulation->times().opEndNs)
        hash.add(end);
    for (int c = 0; c < simulation->classCount(); ++c) {
        hash.add(simulation->memoryOfClass(c).total());
        hash.add(simulation->classSize(c));
    }
    EXPECT_EQ(hash.value(), GetParam().hash) << "now {\"" << GetParam().number << "\", 0x" << std::hex << hash.value() << "U}";
}

INSTANTIATE_TEST_SUITE_P(
    Of, PinnedStep,
    testing::Values(Pinned{"05", 0xdcba4f32d14ecc6eU, {R"(perturbations=[{"kind":"jitter","sigma":0.02,"seed":3}])"}},
                    Pinned{"09", 0x5a1242dc3ed77f52U}, Pinned{"11", 0x77bd87c268bd5a89U}, Pinned{"21", 0xbc193e3c46f364e4U},
                    Pinned{"38", 0x88a863ac9df017a3U}, Pinned{"42", 0x526325d65e586d6eU}, Pinned{"44", 0xef82dabb7557cacU},
                    Pinned{"50", 0x87e696b0c07bd4d2U}, Pinned{"54", 0x14403f581f173475U}, Pinned{"66", 0xb49df069a92d8dcU}),
    [](const auto& of) { return std::string("File") + of.param.number; });
