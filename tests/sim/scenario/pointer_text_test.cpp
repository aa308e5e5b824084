#include "sim/scenario/pointer_text.h"

#include <gtest/gtest.h>

namespace {

TEST(PointerText, EitherWayOfWritingAKeyBecomesEither)
{
    EXPECT_EQ(sim::dotted("/layout/tp"), "layout.tp");
    EXPECT_EQ(sim::dotted("layout.tp"), "layout.tp");
    EXPECT_EQ(sim::slashed("layout.tp"), "/layout/tp");
    EXPECT_EQ(sim::slashed("/layout/tp"), "/layout/tp");
    EXPECT_EQ(sim::slashed("/a.b"), "/a.b") << "a pointer stays as it is";
}

} // namespace
