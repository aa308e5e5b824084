// Nothing is cut at its right edge, with text of any size: what 200 % leaves of a screen is a window of half its width.
#include "app/canvas/qt/canvas_widget.h"
#include "tests/app/shell/window_fixture.h"

#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>

namespace app {
namespace {

using namespace test;

class RightEdges : public WindowTest {
protected:
    /// Whether something has to be seen whole from left to right. Lines that scroll inside of a field are the field's.
    static bool counts(const QWidget& part)
    {
        const bool isOfKind = qobject_cast<const QLabel*>(&part) || qobject_cast<const QAbstractButton*>(&part) ||
                              qobject_cast<const QAbstractSpinBox*>(&part) || qobject_cast<const QComboBox*>(&part) ||
                              qobject_cast<const QLineEdit*>(&part) || qobject_cast<const QSlider*>(&part) ||
                              dynamic_cast<const CanvasWidget*>(&part) != nullptr;
        return isOfKind && part.isVisible() && part.width() > 0 && !part.visibleRegion().isEmpty();
    }
    static void expectWhole(const QWidget& root, const QString& where)
    {
        for (const QWidget* part : root.findChildren<QWidget*>()) {
            if (!counts(*part))
                continue;
            for (const QWidget* around = part->parentWidget(); around != nullptr; around = around->parentWidget()) {
                const int left = part->mapTo(around, QPoint(0, 0)).x(), right = left + part->width();
                const auto* area = qobject_cast<const QAbstractScrollArea*>(around->parentWidget());
                const bool scrolls = area != nullptr && area->viewport() == around &&
                                     area->horizontalScrollBar()->maximum() > 0 &&
                                     area->horizontalScrollBarPolicy() != Qt::ScrollBarAlwaysOff;
                if (scrolls)
                    break; // is scrolled to
                if (left < 0 || right > around->width()) {
                    const auto* label = qobject_cast<const QLabel*>(part);
                    const auto* button = qobject_cast<const QAbstractButton*>(part);
                    ADD_FAILURE() << where.toStdString() << ": " << part->metaObject()->className() << " “"
                                  << (label    ? label->text()
                                      : button ? button->text()
                                               : part->accessibleName())
                                         .toStdString()
                                  << "” from " << left << " to " << right << " of " << around->width() << " of "
                                  << around->metaObject()->className() << " " << around->objectName().toStdString();
                    break;
                }
                if (around == &root)
                    break;
            }
        }
    }
};

TEST_F(RightEdges, OfTheOrderEditorAreInSightAtTwiceTheText)
{
    open("17-schedule-1f1b.json");
    for (const QSize size : {QSize(683, 384), QSize(512, 320)}) {
        window.resize(size);
        settle();
        window.run(CommandId::editOrder);
        settle();
        ASSERT_TRUE(window.workspace().isEditing());
        const QWidget& editor = window.workspace().editor();
        expectWhole(editor, QStringLiteral("editing at %1x%2").arg(size.width()).arg(size.height()));
        EXPECT_LE(editor.mapTo(&window, QPoint(0, 0)).x() + editor.width(), window.width()) << size.width();
        EXPECT_EQ(window.workspace().editor().saveButton()->accessibleName(), QStringLiteral("Save as Custom"));
        window.run(CommandId::editOrder);
    }
}

} // namespace
} // namespace app
