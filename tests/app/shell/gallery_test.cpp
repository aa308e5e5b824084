// The first screen: cards under headings that play and tell their numbers, and are reached by keys.
#include "app/shell/gallery/gallery_cards.h"
#include "app/shell/gallery/gallery_page.h"
#include "tests/app/session/session_fixtures.h"

#include <QAbstractItemModel>
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTest>

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

class GalleryTest : public testing::Test {
protected:
    GalleryTest()
    {
        auto entries = readGallery(catalogue().scenarios(), catalogue());
        auto sections = sectionsOf(entries, catalogue().assets());
        page.setEntries(std::move(entries), std::move(sections));
        page.resize(1280, 720);
        page.show();
        QObject::connect(&page, &GalleryPage::openRequested, [this](const QString& path) { opened = path; });
        cards = page.findChild<CardList*>();
        QCoreApplication::processEvents();
    }
    QModelIndex card(const char* name) const
    {
        for (int row = 0; row < cards->model()->rowCount(); ++row) {
            const QModelIndex index = cards->model()->index(row, 0);
            if (index.data().toString().contains(QLatin1String(name)))
                return index;
        }
        return {};
    }
    /// From somewhere else: a pointer that stands still tells nobody.
    void pointAt(const QModelIndex& index) const
    {
        QTest::mouseMove(cards->viewport(), QPoint(1, 1));
        QTest::mouseMove(cards->viewport(), cards->visualRect(index).center());
    }
    QImage picture(const QModelIndex& index) const { return cards->viewport()->grab(cards->visualRect(index)).toImage(); }

    GalleryPage page;
    CardList* cards = nullptr;
    QString opened;
};

/// 1024 × 640 at text of 200 %.
TEST_F(GalleryTest, FoldsInANarrowWindowAndIsNotScrolledSideways)
{
    constexpr int kNarrow = 502;              // but for the bar that scrolls it down
    for (int round = 0; round < 5; ++round) { // by itself it is a window, which is as wide as it was before it folds
        page.resize(kNarrow, 320);
        QCoreApplication::processEvents();
    }
    EXPECT_LE(page.minimumSizeHint().width(), kNarrow);
    const QLineEdit* search = page.findChild<QLineEdit*>();
    EXPECT_LE(search->mapTo(&page, QPoint(search->width(), 0)).x(), kNarrow);
    page.resize(1280, 720);
    for (int round = 0; round < 5; ++round)
        QCoreApplication::processEvents();
    EXPECT_GE(search->mapTo(&page, QPoint(search->width(), 0)).x(), 900) << "as before";
}

/// The same, within menus and bars: nothing but the cards and the contents scroll, and both can be seen.
TEST_F(GalleryTest, ALowWindowShowsCardsAndContentsWithoutScrollingThePage)
{
    constexpr QSize kLow(502, 226);
    page.setRecentFiles({QStringLiteral("/a.json")});
    for (int round = 0; round < 5; ++round) {
        page.resize(kLow);
        QCoreApplication::processEvents();
    }
    EXPECT_LE(page.minimumSizeHint().height(), kLow.height());
    EXPECT_EQ(page.height(), kLow.height());
    const QListWidget* contents = nullptr;
    for (const QListWidget* list : page.findChildren<QListWidget*>())
        if (list->accessibleName() == QLatin1String("Contents of the gallery"))
            contents = list;
    ASSERT_NE(contents, nullptr);
    EXPECT_GE(contents->visibleRegion().boundingRect().height(), 2 * contents->sizeHintForRow(0));
    constexpr int kACard = 116;
    EXPECT_GE(cards->viewport()->height(), kACard);
    page.resize(1280, 720);
    for (int round = 0; round < 5; ++round)
        QCoreApplication::processEvents();
    bool hasRecent = false;
    for (const QListWidget* list : page.findChildren<QListWidget*>())
        hasRecent = hasRecent || (list != contents && list->isVisible());
    EXPECT_TRUE(hasRecent) << "as before";
}

/// What the middle of a window of 1280 × 720 leaves the page.
TEST_F(GalleryTest, BelowUnsavedWorkRecentFilesAreSeenAsRowsNotAsAHeadingAlone)
{
    const auto settle = [this] { // by itself it is a window, which grows with what is in it for a moment
        for (int round = 0; round < 10; ++round) {
            page.resize(1280, 588);
            QCoreApplication::processEvents();
        }
    };
    QStringList files;
    for (int i = 0; i < 5; ++i)
        files << QStringLiteral("/recent-%1.json").arg(i);
    page.setRecentFiles(files);
    page.setRecoveries({Recovery{}});
    settle();
    EXPECT_EQ(page.height(), 588);
    for (const QListWidget* list : page.findChildren<QListWidget*>()) {
        ASSERT_TRUE(list->isVisible());
        const bool isContents = list->accessibleName() == QLatin1String("Contents of the gallery");
        EXPECT_GE(list->visibleRegion().boundingRect().height(), (isContents ? 4 : 3) * list->sizeHintForRow(0));
    }
    // Much of it is scrolled, and takes no more room from the rows.
    page.setRecoveries(std::vector<Recovery>(4));
    settle();
    bool isHeaded = false;
    for (const QLabel* label : page.findChildren<QLabel*>())
        isHeaded = isHeaded || (label->isVisible() && label->text() == QStringLiteral("RECENT"));
    for (const QListWidget* list : page.findChildren<QListWidget*>()) {
        const bool isContents = list->accessibleName() == QLatin1String("Contents of the gallery");
        EXPECT_TRUE(isContents || list->isVisible() == isHeaded) << "the heading and its rows together";
        if (list->isVisible()) {
            EXPECT_GE(list->visibleRegion().boundingRect().height(), (isContents ? 4 : 3) * list->sizeHintForRow(0));
        }
    }
}

/// What a window of 1024 × 640 leaves the page; four cards of it were 616 pixels high.
TEST_F(GalleryTest, MuchUnsavedWorkIsScrolledAndLeavesTheContentsTheirPlace)
{
    page.setRecoveries(std::vector<Recovery>(4));
    for (int round = 0; round < 10; ++round) {
        page.resize(1024, 500);
        QCoreApplication::processEvents();
    }
    EXPECT_EQ(page.height(), 500);
    EXPECT_LT(page.minimumSizeHint().height(), 500);
    auto* area = page.findChild<QScrollArea*>();
    ASSERT_TRUE(area && area->isVisible());
    EXPECT_GT(area->verticalScrollBar()->maximum(), 0);
    const auto* contents = page.findChild<QListWidget*>();
    EXPECT_GE(contents->visibleRegion().boundingRect().height(), 4 * contents->sizeHintForRow(0));
    const auto buttons = area->findChildren<QPushButton*>();
    ASSERT_EQ(buttons.size(), 8);
    page.activateWindow();
    for (const Qt::KeyboardModifier shift : {Qt::NoModifier, Qt::ShiftModifier}) { // Tab and back, from outside
        page.findChild<QListWidget*>()->setFocus();
        QCoreApplication::processEvents();
        int reached = 0;
        for (int presses = 0; presses < 60 && reached < 8; ++presses) {
            QTest::keyClick(QApplication::focusWidget(), shift == Qt::NoModifier ? Qt::Key_Tab : Qt::Key_Backtab, shift);
            QCoreApplication::processEvents();
            const QWidget* at = QApplication::focusWidget();
            ASSERT_TRUE(at);
            if (!area->isAncestorOf(at))
                continue;
            ++reached;
            EXPECT_EQ(at->visibleRegion().boundingRect(), at->rect()) << "the keyboard is where nobody sees it";
        }
        EXPECT_EQ(reached, 8);
    }
    page.setRecoveries({});
    QCoreApplication::processEvents();
    EXPECT_FALSE(area->isVisible());
}

TEST_F(GalleryTest, HeadingsAreWideAndCannotBeChosen)
{
    const QModelIndex heading = cards->model()->index(0, 0);
    EXPECT_EQ(heading.data().toString(), QStringLiteral("First steps"));
    EXPECT_FALSE(heading.flags() & Qt::ItemIsEnabled);
    const QRect first = cards->visualRect(cards->model()->index(1, 0)), second = cards->visualRect(cards->model()->index(2, 0));
    EXPECT_GE(first.top(), cards->visualRect(heading).bottom());
    EXPECT_EQ(first.top(), second.top()) << "side by side";
    QTest::mouseClick(cards->viewport(), Qt::LeftButton, {}, cards->visualRect(heading).center());
    EXPECT_TRUE(opened.isEmpty());
}

TEST_F(GalleryTest, TheContentsLeadToEachHeading)
{
    auto* contents = page.findChild<QListWidget*>();
    ASSERT_EQ(contents->accessibleName(), QStringLiteral("Contents of the gallery"));
    ASSERT_GE(contents->count(), 5);
    page.search(QStringLiteral("llama"));
    for (const int row : {3, 1}) {
        QTest::mouseClick(contents->viewport(), Qt::LeftButton, {}, contents->visualItemRect(contents->item(row)).center());
        const QModelIndex top = cards->indexAt({40, 20});
        EXPECT_TRUE(contents->item(row)->text().startsWith(top.data().toString())) << top.data().toString().toStdString();
        EXPECT_TRUE(cards->hasFocus());
        EXPECT_EQ(cards->currentIndex().row(), top.row() + 1) << "Enter opens the first below it";
    }
}

TEST_F(GalleryTest, TheContentsMarkWhatIsLookedAt)
{
    const auto* contents = page.findChild<QListWidget*>();
    ASSERT_EQ(contents->accessibleName(), QStringLiteral("Contents of the gallery"));
    EXPECT_EQ(contents->currentRow(), 0);
    cards->verticalScrollBar()->setValue(cards->verticalScrollBar()->maximum() / 2);
    const int middle = contents->currentRow();
    EXPECT_GT(middle, 0);
    cards->verticalScrollBar()->setValue(cards->verticalScrollBar()->maximum());
    EXPECT_GT(contents->currentRow(), middle);
    cards->verticalScrollBar()->setValue(0);
    EXPECT_EQ(contents->currentRow(), 0);
    QTest::mouseClick(contents->viewport(), Qt::LeftButton, {},
                      contents->visualItemRect(contents->item(contents->count() - 1)).center());
    EXPECT_EQ(contents->currentRow(), contents->count() - 1) << "though what is before it is seen, too";
}

TEST_F(GalleryTest, AClickOpensTheCardUnderThePointerHoweverFarTheListIsScrolled)
{
    cards->verticalScrollBar()->setValue(cards->verticalScrollBar()->maximum() / 2);
    const int scrolled = cards->verticalScrollBar()->value();
    ASSERT_GT(scrolled, 500);
    const QModelIndex index = cards->indexAt(cards->viewport()->rect().center());
    ASSERT_TRUE(index.flags() & Qt::ItemIsEnabled);
    const QPoint at = cards->viewport()->rect().center();
    cards->setFocus(Qt::MouseFocusReason); // as a press of the mouse does first
    QTest::mouseClick(cards->viewport(), Qt::LeftButton, {}, at);
    EXPECT_EQ(cards->verticalScrollBar()->value(), scrolled);
    EXPECT_EQ(opened, page.entries()[index.data(Qt::UserRole).value<std::size_t>()].path);
}

TEST_F(GalleryTest, KeysReachEveryCardAndEnterOpens)
{
    page.focusSearch();
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : page.findChild<QLineEdit*>(), Qt::Key_Down);
    cards->setFocus();
    cards->setCurrentIndex(cards->model()->index(1, 0));
    QTest::keyClick(cards, Qt::Key_Right);
    EXPECT_EQ(cards->currentIndex().row(), 2);
    int steps = 0;
    for (int before = -1; cards->currentIndex().row() != before && steps < 100; ++steps) {
        before = cards->currentIndex().row();
        QTest::keyClick(cards, Qt::Key_Down);
        EXPECT_TRUE(cards->currentIndex().flags() & Qt::ItemIsEnabled) << "headings are passed over";
    }
    EXPECT_GT(steps, 20);
    EXPECT_GE(cards->currentIndex().row(), cards->model()->rowCount() - 3) << "down to the last row";
    QTest::keyClick(cards, Qt::Key_Return);
    EXPECT_FALSE(opened.isEmpty());
}

TEST_F(GalleryTest, ACardUnderThePointerPlaysAndTellsItsNumbers)
{
    const QModelIndex index = card("2-stage pipeline");
    ASSERT_TRUE(index.isValid());
    const QImage still = picture(index);
    pointAt(index);
    ASSERT_TRUE(waitFor([this] { return !cards->keyNumbers().isEmpty(); }));
    EXPECT_TRUE(cards->keyNumbers().contains(QStringLiteral("MFU"))) << cards->keyNumbers().toStdString();
    const QImage playing = picture(index);
    EXPECT_NE(playing, still);
    EXPECT_TRUE(waitFor([&] { return picture(index) != playing; })) << "it moves";
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(cards->viewport(), &leave);
    EXPECT_TRUE(cards->keyNumbers().isEmpty());
    EXPECT_EQ(picture(index), still);
}

TEST_F(GalleryTest, WithReducedMotionNothingMoves)
{
    page.setReducedMotion(true);
    const QModelIndex index = card("2-stage pipeline");
    pointAt(index);
    ASSERT_TRUE(waitFor([this] { return !cards->keyNumbers().isEmpty(); }));
    const QImage before = picture(index);
    QTest::qWait(100);
    EXPECT_EQ(picture(index), before);
}

TEST_F(GalleryTest, WhatIsFoundIsSeenFromItsBeginning)
{
    QScrollBar* const bar = cards->verticalScrollBar();
    bar->setValue(bar->maximum());
    page.search(QStringLiteral("1F1B"));
    QCoreApplication::processEvents();
    ASSERT_GT(bar->maximum(), 0);
    EXPECT_EQ(bar->value(), 0);
}

TEST_F(GalleryTest, WhatIsFoundNeedsNoHeadings)
{
    page.search(QStringLiteral("405b"));
    EXPECT_EQ(page.shownFiles().size(), cards->model()->rowCount());
    EXPECT_GE(page.shownFiles().size(), 3);
    page.search(QStringLiteral("schedules 2"));
    EXPECT_TRUE(page.shownFiles().front().contains(QStringLiteral("1f1b"))) << page.shownFiles().front().toStdString();
    page.search(QStringLiteral("no such thing"));
    EXPECT_TRUE(page.shownFiles().isEmpty());
    page.search({});
    EXPECT_GT(page.shownFiles().size(), 60);
}

} // namespace
} // namespace app
