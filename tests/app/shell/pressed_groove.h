// A slider whose groove is pressed, and let go.
#pragma once

#include <QSlider>
#include <QTest>

namespace app::test {

/// Where its handle would stand with this share of what it goes over on its left.
inline void pressGroove(QSlider& slider, double share)
{
    constexpr int kHalfHandle = 6;
    const int x = kHalfHandle + qRound(share * (slider.width() - 2 * kHalfHandle));
    QTest::mouseClick(&slider, Qt::LeftButton, Qt::NoModifier, {x, slider.height() / 2});
}

} // namespace app::test
