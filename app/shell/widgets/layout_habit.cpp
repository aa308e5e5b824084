#include "app/shell/widgets/layout_habit.h"

#include "app/shell/widgets/style.h"

#include <QBoxLayout>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QEvent>
#include <QFileDialog>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QTimer>

#include <algorithm>
#include <array>

namespace app {
namespace {

constexpr QSize kDialogFrame{16, 40};            ///< what a window manager adds
constexpr std::array kFramedMs{400, 1500, 4000}; ///< the window manager's frame comes later, and may reach beyond the screen
constexpr int kAboveButtons = 8, kBesideButtons = 16;
constexpr auto kFitsSoon = "fitsSoon";
constexpr auto kScrolledArea = "scrolledDialog";

QSize roomFor(const QDialog& dialog)
{
    return dialog.screen()->availableGeometry().size() - kDialogFrame;
}

/// Those of the toolkit lay themselves out anew when they like.
bool isOfToolkit(const QDialog& dialog)
{
    return qobject_cast<const QMessageBox*>(&dialog) || qobject_cast<const QFileDialog*>(&dialog);
}

/// What a layout needs where it has that width: text wraps.
QSize leastSize(QLayout& layout, int width)
{
    QSize least = layout.totalMinimumSize();
    if (layout.hasHeightForWidth())
        least.setHeight(std::max(least.height(), layout.totalHeightForWidth(std::max(width, least.width()))));
    return least;
}

/// The layout that has the widget among its own items, and the place there.
std::pair<QLayout*, int> holderOf(QLayout& in, const QWidget& widget)
{
    for (int i = 0; i < in.count(); ++i) {
        QLayoutItem* item = in.itemAt(i);
        if (item->widget() == &widget)
            return {&in, i};
        QLayout* inner = item->layout() ? item->layout() : item->widget() ? item->widget()->layout() : nullptr;
        if (!inner)
            continue;
        if (const auto found = holderOf(*inner, widget); found.first)
            return found;
    }
    return {nullptr, -1};
}

/// The row of buttons, taken from where it lies: a layout or a widget; neither if there are none.
struct ButtonRow {
    QLayout* layout = nullptr;
    QWidget* widget = nullptr;
};

ButtonRow takeButtons(QDialog& dialog)
{
    QWidget* button = dialog.findChild<QDialogButtonBox*>();
    const QList<QPushButton*> all = dialog.findChildren<QPushButton*>();
    const auto usual = std::find_if(all.begin(), all.end(), [](const QPushButton* each) { return each->isDefault(); });
    if (!button)
        button = usual != all.end() ? *usual : all.isEmpty() ? nullptr : all.back();
    if (!button)
        return {};
    const auto [row, place] = holderOf(*dialog.layout(), *button);
    if (!row)
        return {};
    auto* above = qobject_cast<QLayout*>(row->parent());
    const auto* box = qobject_cast<const QBoxLayout*>(row);
    if (box && above && box->direction() == QBoxLayout::LeftToRight) {
        above->removeItem(row);
        row->setParent(nullptr);
        return {row, nullptr};
    }
    delete row->takeAt(place);
    return {nullptr, button};
}

void scrollContents(QDialog& dialog)
{
    QLayout* inner = dialog.layout();
    const QMargins around = inner->contentsMargins();
    const QPointer<QWidget> focus = dialog.focusWidget();
    const ButtonRow buttons = takeButtons(dialog);
    inner->setSizeConstraint(QLayout::SetDefaultConstraint);
    auto* contents = new QWidget;
    contents->setLayout(inner); // which leaves the dialog, with all that it holds
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidgetResizable(true);
    area->setWidget(contents);
    area->setObjectName(QLatin1String(kScrolledArea));
    setRole(area, "clear");
    auto* outer = new QVBoxLayout(&dialog);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    outer->addWidget(area, 1);
    auto* below = new QHBoxLayout;
    below->setContentsMargins(std::max(kBesideButtons, around.left()), kAboveButtons, std::max(kBesideButtons, around.right()),
                              std::max(kAboveButtons, around.bottom() / 2));
    if (buttons.layout)
        below->addLayout(buttons.layout, 1);
    else if (buttons.widget)
        below->addWidget(buttons.widget, 1);
    outer->addLayout(below);
    dialog.setMinimumSize(0, 0);
    if (focus)
        QMetaObject::invokeMethod(
            &dialog,
            [focus, area] {
                if (focus) {
                    focus->setFocus();
                    area->ensureWidgetVisible(focus);
                }
            },
            Qt::QueuedConnection);
}

} // namespace

LayoutHabit::LayoutHabit(QObject* parent) : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool LayoutHabit::eventFilter(QObject* watched, QEvent* event)
{
    const QEvent::Type type = event->type();
    if (type == QEvent::UpdateRequest) {
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        return false;
    }
    const bool concerns =
        type == QEvent::Polish || type == QEvent::Show || type == QEvent::LayoutRequest || type == QEvent::Resize;
    if (!concerns || !watched->isWidgetType() || !static_cast<QWidget*>(watched)->isWindow())
        return false;
    auto* dialog = qobject_cast<QDialog*>(watched);
    if (!dialog)
        return false;
    const bool comes = type == QEvent::Polish || (type == QEvent::Show && !event->spontaneous());
    if (comes)
        fit(*dialog);
    if (type == QEvent::Show || (!comes && dialog->isVisible())) // once more where it has its place
        fitSoon(*dialog);
    if (type == QEvent::Show && !event->spontaneous())
        for (const int late : kFramedMs)
            QTimer::singleShot(late, dialog, [this, guard = QPointer<LayoutHabit>(this), dialog] {
                if (guard && dialog->isVisible())
                    fit(*dialog);
            });
    return false;
}

/// In a turn of its own: it is being laid out just now.
void LayoutHabit::fitSoon(QDialog& dialog)
{
    if (dialog.property(kFitsSoon).toBool())
        return;
    dialog.setProperty(kFitsSoon, true);
    QMetaObject::invokeMethod(
        &dialog,
        [this, guard = QPointer<LayoutHabit>(this), &dialog] {
            dialog.setProperty(kFitsSoon, false);
            if (guard && dialog.isVisible())
                fit(dialog);
        },
        Qt::QueuedConnection);
}

void LayoutHabit::fit(QDialog& dialog)
{
    const QSize room = roomFor(dialog);
    if (room.isEmpty())
        return;
    const auto* scrolled = dialog.findChild<QScrollArea*>(QLatin1String(kScrolledArea), Qt::FindDirectChildrenOnly);
    if (scrolled && dialog.isVisible()) { // sideways only where it must
        const int missing = scrolled->widget()->minimumSizeHint().width() - scrolled->viewport()->width();
        if (missing > 0 && dialog.width() < room.width())
            dialog.resize(std::min(room.width(), dialog.width() + missing), dialog.height());
    } else if (!scrolled && dialog.layout() && !isOfToolkit(dialog)) {
        for (QWidget* part : dialog.findChildren<QWidget*>())
            part->ensurePolished(); // or they are smaller than they will be
        dialog.layout()->invalidate();
        const bool hasSize = dialog.testAttribute(Qt::WA_Resized) || dialog.isVisible();
        const QSize wanted = hasSize ? dialog.size() : dialog.layout()->totalSizeHint();
        const QSize least = leastSize(*dialog.layout(), std::min(room.width(), wanted.width())).expandedTo(dialog.minimumSize());
        if (least.width() > room.width() || least.height() > room.height()) {
            scrollContents(dialog);
            const int bar = dialog.style()->pixelMetric(QStyle::PM_ScrollBarExtent);
            dialog.resize((wanted.expandedTo(least) + QSize(bar, 0)).boundedTo(room));
        } else if (dialog.isVisible() && !dialog.testAttribute(Qt::WA_Resized) &&
                   dialog.height() < least.height()) { // Qt gives two thirds of the screen, whatever wraps
            dialog.resize(dialog.width(), least.height());
        }
    }
    if (dialog.isVisible() && dialog.size().isEmpty()) // a busy window manager has been seen to leave it none
        dialog.resize(dialog.sizeHint().boundedTo(room));
    if (dialog.width() > room.width() || dialog.height() > room.height())
        dialog.resize(dialog.size().boundedTo(room));
    const QRect screen = dialog.screen()->availableGeometry();
    if (const QRect frame = dialog.frameGeometry(); dialog.isVisible() && !screen.contains(frame))
        dialog.move(std::clamp(frame.x(), screen.x(), std::max(screen.x(), screen.right() + 1 - frame.width())),
                    std::clamp(frame.y(), screen.y(), std::max(screen.y(), screen.bottom() + 1 - frame.height())));
}

} // namespace app
