// A whole window with nothing remembered, drawn by software.
#pragma once

#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QTest>

#include <gtest/gtest.h>

namespace app::test {

class WindowTest : public testing::Test {
protected:
    explicit WindowTest(bool reproducible = true)
        : window(catalogue(), {.reproducible = reproducible, .theme = {}, .renderer = Renderer::software})
    {
        window.resize(1600, 900);
        window.showGallery();
        window.show();
    }
    void open(const char* name)
    {
        ASSERT_TRUE(window.openFile(galleryFile(name)).empty());
        settle();
    }
    void settle()
    {
        ASSERT_TRUE(waitFor([this] { return window.isSettled(); }));
        for (int round = 0; round < 10; ++round) // nested layouts
            QCoreApplication::processEvents();
    }
    QPoint middleOf(Picture picture, std::uint64_t id)
    {
        for (const Node& node : window.workspace().canvas(picture).nodes()) {
            if (node.id == id)
                return {static_cast<int>((node.rect.left + node.rect.right) / 2),
                        static_cast<int>((node.rect.top + node.rect.bottom) / 2)};
        }
        ADD_FAILURE() << "nothing with id " << id;
        return {};
    }
    void pointAt(Picture picture, QPoint at)
    {
        QTest::mouseMove(&window.workspace().canvas(picture), at);
        QCoreApplication::processEvents();
    }
    const sim::Layout& shownLayout() { return window.desk().simulation()->scenario().layout; }

    MainWindow window;
};

} // namespace app::test
