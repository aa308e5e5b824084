// What the style sheet does to windows that are not our own.
#include "app/shell/widgets/style.h"
#include "app/views/common/theme.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QImage>
#include <QLineEdit>

#include <gtest/gtest.h>

namespace app {
namespace {

/// A window without a parent: nothing lies behind it that could be seen through it.
TEST(Style, TheListOfACompleterHasAGround)
{
    applyStyle(lightTheme(), QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets"));
    QLineEdit field;
    field.setCompleter(new QCompleter(QStringList{QStringLiteral("one"), QStringLiteral("other")}, &field));
    QAbstractItemView* const list = field.completer()->popup();
    list->resize(200, 120);
    const QColor ground = list->grab().toImage().pixelColor(150, 100);
    EXPECT_EQ(ground.alpha(), 255);
    EXPECT_GT(ground.lightness(), 200) << qPrintable(ground.name());
}

} // namespace
} // namespace app
