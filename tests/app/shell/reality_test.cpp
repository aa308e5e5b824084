// What others measured stands beside the prediction, for jobs that somebody published and for no others.
#include "app/shell/details/details_panel.h"
#include "app/shell/details/reality_card.h"
#include "tests/app/shell/window_fixture.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class RealityWindow : public WindowTest {
protected:
    const RealityCard& card() { return window.findChild<DetailsPanel*>()->reality(); }
};

TEST_F(RealityWindow, SaysWhatWasMeasuredWhatIsPredictedAndWhyTheyMayDiffer)
{
    open("39-recompute-175b-full.json");
    EXPECT_FALSE(card().isHidden());
    const QString told = card().told();
    for (const char* part : {"Step time: 18.1 s measured", "18.13 s, as printed", "predicted 18.", "the same within 1 %",
                             "what was measured is inside the likely 16.6–\u2060", "◆ measured",
                             "Reducing Activation Recomputation", "arXiv:2205.05198", "Why they may differ", "fitted"})
        EXPECT_TRUE(told.contains(QString::fromUtf8(part))) << part << " in " << told.toStdString();
    const auto bars = card().findChildren<IntervalBar*>();
    EXPECT_EQ(bars.size(), 1);
    window.desk().baseline().pin(QStringLiteral("itself"), window.session().document(), window.desk().step());
    EXPECT_EQ(card().findChildren<IntervalBar*>(), bars) << "what it is compared with changes nothing that was measured";
    open(kTiny);
    EXPECT_TRUE(card().isHidden()) << "nobody published that";
    EXPECT_EQ(card().told(), QString());
}

} // namespace
} // namespace app
