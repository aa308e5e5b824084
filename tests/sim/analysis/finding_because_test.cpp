// The numbers of findings and their explanations are the same numbers.
#include "sim/analysis/findings/finding_because.h"

#include "tests/sim/analysis/explained.h"
#include "tests/support/catalogue.h"
#include "tests/support/gallery.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(FindingBecause, ExplainsTheVeryNumbersThatAreSaidOfTheGallery)
{
    std::size_t explained = 0, costly = 0;
    for (const auto& file : test::galleryFiles()) {
        SCOPED_TRACE(file.filename().string());
        const test::Opened opened = test::open(file);
        for (const Finding& finding : findings(*opened.simulation, opened.document, test::catalogue())) {
            const auto all = becauseOf(*opened.simulation, finding);
            for (const ClaimBecause& each : all) {
                EXPECT_NE((finding.title + finding.reason).find(each.text), std::string::npos) << each.text;
                EXPECT_NEAR(each.because.result.value, each.value, 1e-9 * std::abs(each.value))
                    << finding.title << ": " << each.text;
            }
            explained += all.size();
            const bool saysStep = finding.stepShare > 0 && finding.severity == FindingSeverity::costly &&
                                  (finding.kind == FindingKind::bubble || finding.kind == FindingKind::exposedData);
            costly += saysStep ? 1 : 0;
            if (saysStep) {
                EXPECT_FALSE(all.empty()) << finding.title;
            }
        }
    }
    EXPECT_GT(explained, 100U);
    EXPECT_GT(costly, 5U);
}
