// The player's own widgets, without a window around it.
#include "tests/app/lessons/lesson_fixture.h"

#include <QLabel>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

} // namespace

TEST(LessonPanel, AStepComesWholeNotPieceByPiece)
{
    Player player(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json");
    player.panel.show();
    player.panel.next();
    int labels = 0;
    for (const QLabel* label : player.panel.findChildren<QLabel*>())
        if (!label->isHidden()) {
            EXPECT_TRUE(label->isVisible()) << qPrintable(label->text());
            ++labels;
        }
    EXPECT_GT(labels, 3);
}

} // namespace app
