// Numbers with a point in dialogs, on a desktop whose language has a comma there.
#include "app/shell/widgets/decimal_box.h"

#include <QLineEdit>
#include <QLocale>
#include <QTest>

#include <gtest/gtest.h>

namespace app {
namespace {

class Box : public DecimalBox {
public:
    using QDoubleSpinBox::lineEdit;
};

TEST(DecimalBox, ShowsAPointAndTakesBoth)
{
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    Box box;
    box.setRange(0, 1000);
    box.setDecimals(2);
    box.setSuffix(QStringLiteral(" GiB"));
    box.setSpecialValueText(QStringLiteral("not told"));
    box.setValue(2.5);
    EXPECT_EQ(box.text(), QStringLiteral("2.50 GiB"));
    for (const char* typed : {"3.75", "3,75"}) {
        box.setValue(1);
        box.lineEdit()->selectAll();
        QTest::keyClicks(&box, QLatin1String(typed));
        QTest::keyClick(&box, Qt::Key_Return);
        EXPECT_EQ(box.value(), 3.75) << typed;
    }
    box.setValue(0);
    EXPECT_EQ(box.text(), QStringLiteral("not told"));
    QTest::keyClick(&box, Qt::Key_Up);
    EXPECT_EQ(box.value(), 1);
    QLocale::setDefault(before);
}

} // namespace
} // namespace app
