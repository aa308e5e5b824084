// A window in which scenarios are compared.
#pragma once

#include "app/shell/compare/compare_page.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/widgets/metric_card.h"
#include "app/shell/widgets/scenario_header.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QStatusBar>
#include <QString>
#include <QUrl>

#include <algorithm>
#include <string>

namespace app::test {

inline constexpr const char* k1F1B = "17-schedule-1f1b.json";
inline constexpr const char* kZeroBubble = "65-schedule-zb-h1.json";

class CompareTest : public WindowTest {
protected:
    void setTp(int tp)
    {
        window.session().edit(
            makeEdit(window.session().document(), window.session().scenario(), Control::tp, tp, LayoutRule::keepGpus));
        settle();
    }
    QString stepDelta()
    {
        for (const MetricCard* card : window.details().findChildren<MetricCard*>())
            if (card->accessibleName() == QStringLiteral("Step time"))
                return card->deltaText();
        return {};
    }
    void drop(const char* name, Qt::KeyboardModifiers modifiers)
    {
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(galleryFile(name))});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
        QApplication::sendEvent(&window, &enter);
        QDropEvent event(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, modifiers);
        QApplication::sendEvent(&window, &event);
        QCoreApplication::processEvents();
    }
    ComparePage& page() { return window.comparePage(); }
    bool says(const std::string& text)
    {
        const auto& nodes = page().canvas().nodes();
        return std::any_of(nodes.begin(), nodes.end(),
                           [&](const Node& node) { return node.name.find(text) != std::string::npos; });
    }

    bool statusSays(const QString& text)
    {
        const auto labels = window.statusBar()->findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
            const auto* whole = dynamic_cast<const ElidedLabel*>(label->parentWidget());
            return (whole != nullptr ? whole->text() : label->text()).contains(text);
        });
    }
};

} // namespace app::test
