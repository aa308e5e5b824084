#include "app/shell/gallery/gallery_page.h"

#include "app/shell/gallery/gallery_cards.h"
#include "app/shell/widgets/style.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>
#include <iterator>
#include <utility>

namespace app {
namespace {

constexpr int kRightOfCards = 12; ///< that the cards leave at their right
constexpr int kSideWidth = 248;
const QString kRecoveryButtons = QStringLiteral("recovery-buttons");
constexpr int kNarrowSideWidth = 190; ///< where text is twice as large on a small screen
constexpr int kNarrowPage = 640, kLowPage = 400;
constexpr int kSpace = 16; ///< between its parts
constexpr int kSideSpace = 8;
const QString kDemoName = QStringLiteral("64-tiny-4d-sixteen-ranks");
constexpr int kAroundRows = 4; ///< pixels of a list

/// What a list of so many rows needs.
int heightOf(const QListWidget& list, int rows)
{
    return rows * std::max(1, list.sizeHintForRow(0)) + kAroundRows;
}

} // namespace

GalleryPage::GalleryPage(QWidget* parent)
    : QFrame(parent), m_search(new QLineEdit), m_cards(new CardList), m_contents(new QListWidget), m_recent(new QListWidget),
      m_contentsTitle(new QLabel(tr("CONTENTS"))), m_recentTitle(new QLabel(tr("RECENT"))),
      m_nothing(new QLabel(tr("Nothing in the gallery matches."))), m_recoveries(new QVBoxLayout),
      m_recoveryArea(new QScrollArea), m_demo(makeDemo())
{
    setRole(this, "page");
    auto* title = new QLabel(QStringLiteral("Rankscope"));
    setRole(title, "title");
    m_subtitle = new QLabel(tr("See, ask and run\nhybrid-parallel training."));
    setRole(m_subtitle, "muted");
    auto* open = new QPushButton(tr("Open file…"));
    setRole(open, "primary");
    for (QLabel* of : {m_contentsTitle, m_recentTitle}) {
        setRole(of, "section");
        of->hide();
    }
    for (QListWidget* list : {m_contents, m_recent}) {
        setRole(list, "plain");
        list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        list->setTextElideMode(Qt::ElideMiddle);
        list->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored); // they scroll rather than the page
    }
    m_contents->setAccessibleName(tr("Contents of the gallery"));
    m_drop = new QLabel(tr("or drop a scenario, the traces of a run or a framework’s settings on the window"));
    m_drop->setWordWrap(true);
    setRole(m_drop, "small");

    auto* recoveries = new QWidget;
    recoveries->setLayout(m_recoveries);
    m_recoveries->setContentsMargins(0, 0, 0, 0);
    m_recoveryArea->setWidget(recoveries);
    m_recoveryArea->setWidgetResizable(true);
    m_recoveryArea->setFrameShape(QFrame::NoFrame);
    m_recoveryArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_recoveryArea->setFocusPolicy(Qt::NoFocus); // its buttons have the keyboard, and it follows
    m_recoveryArea->setAccessibleName(tr("Unsaved work"));
    setRole(m_recoveryArea, "clear");

    m_side = new QFrame;
    setRole(m_side, "side");
    m_side->setFixedWidth(kSideWidth);
    auto* sideColumn = new QVBoxLayout(m_side);
    sideColumn->setSpacing(kSideSpace);
    sideColumn->addWidget(title);
    sideColumn->addWidget(m_subtitle);
    sideColumn->addSpacing(kSpace);
    sideColumn->addWidget(open);
    sideColumn->addWidget(m_drop);
    sideColumn->addWidget(m_recoveryArea);
    sideColumn->addSpacing(kSpace);
    sideColumn->addWidget(m_contentsTitle);
    sideColumn->addWidget(m_contents, 100); // as high as it is, where there is room
    sideColumn->addSpacing(kSideSpace);
    sideColumn->addWidget(m_recentTitle);
    sideColumn->addWidget(m_recent, 1);
    sideColumn->addStretch(0); // shareSide() lets it stretch where nothing else does

    auto* heading = new QLabel(tr("Gallery"));
    setRole(heading, "heading");
    m_search->setPlaceholderText(tr("Search names, models, schedules, GPUs"));
    m_search->setClearButtonEnabled(true);
    m_search->setMinimumWidth(120);
    m_search->setMaximumWidth(340);
    m_search->setAccessibleName(tr("Search the gallery"));
    m_cards->setAccessibleName(tr("Gallery"));
    setRole(m_nothing, "muted");
    m_nothing->hide();

    auto* head = new QHBoxLayout;
    head->addWidget(heading);
    head->addStretch(1);
    head->addWidget(m_search, 2);
    head->addSpacing(kRightOfCards + 12);
    m_main = new QVBoxLayout;
    m_main->addLayout(head);
    m_main->addWidget(m_nothing);
    m_main->addWidget(m_cards, 1);
    auto* demoRow = new QHBoxLayout; // as wide as the cards, which come first: they begin with the lessons
    demoRow->setContentsMargins(0, 0, kRightOfCards + 12, 16);
    demoRow->addWidget(m_demo);
    m_main->addLayout(demoRow);
    auto* page = new QHBoxLayout(this);
    page->setContentsMargins(0, 0, 0, 0);
    page->setSpacing(0);
    page->addWidget(m_side);
    page->addLayout(m_main, 1);
    arrange();

    connect(m_cards, &CardList::chosen, this, [this](std::size_t entry) { Q_EMIT openRequested(m_entries[entry].path); });
    connect(m_search, &QLineEdit::textChanged, this, &GalleryPage::filter);
    connect(m_search, &QLineEdit::textChanged, m_cards, &CardList::scrollToTop); // the best match is first
    connect(m_search, &QLineEdit::returnPressed, m_cards, &CardList::chooseFirst);
    m_search->installEventFilter(this);
    connect(m_recent, &QListWidget::itemActivated, this,
            [this](const QListWidgetItem* item) { Q_EMIT openRequested(item->data(Qt::UserRole).toString()); });
    connect(m_recent, &QListWidget::itemClicked, this,
            [this](const QListWidgetItem* item) { Q_EMIT openRequested(item->data(Qt::UserRole).toString()); });
    const auto goTo = [this](const QListWidgetItem* item) {
        m_search->clear();
        m_cards->goTo(item->data(Qt::UserRole).toString());
    };
    connect(m_contents, &QListWidget::itemActivated, this, goTo);
    connect(m_contents, &QListWidget::itemClicked, this, goTo);
    connect(m_cards, &CardList::headingSeen, this, &GalleryPage::markInContents);
    connect(open, &QPushButton::clicked, this, &GalleryPage::openOtherRequested);
}

void GalleryPage::setEntries(std::vector<GalleryEntry> entries, std::vector<GallerySection> sections)
{
    m_entries = std::move(entries);
    m_sections = std::move(sections);
    m_demoPath.clear();
    for (const GalleryEntry& entry : m_entries)
        if (QFileInfo(entry.path).completeBaseName() == kDemoName)
            m_demoPath = entry.path;
    listContents();
    filter();
}

void GalleryPage::listContents()
{
    m_contents->clear();
    for (const GallerySection& section : m_sections)
        if (!section.title.isEmpty()) {
            auto* item =
                new QListWidgetItem(section.title + QStringLiteral("  ") + QString::number(section.entries.size()), m_contents);
            item->setData(Qt::UserRole, section.title);
            item->setToolTip(section.about);
        }
    m_contents->setMaximumHeight(heightOf(*m_contents, m_contents->count()));
    m_contentsTitle->setVisible(m_contents->count() > 0);
    m_contents->setVisible(m_contents->count() > 0);
    shareSide();
}

void GalleryPage::markInContents(const QString& heading)
{
    int row = m_contents->count() - 1;
    while (row >= 0 && m_contents->item(row)->data(Qt::UserRole).toString() != heading)
        --row;
    m_contents->setCurrentRow(row);
}

void GalleryPage::setRecentFiles(const QStringList& files)
{
    m_recent->clear();
    const QStringList names = titlesOf(files);
    for (qsizetype i = 0; i < files.size(); ++i) {
        auto* item = new QListWidgetItem(names[i], m_recent);
        item->setData(Qt::UserRole, files[i]);
        item->setToolTip(files[i]);
    }
    shareSide();
}

/// Of what is beside its lists the words go first; then the recent files, which the File menu has, too: in a low page, or below
/// much unsaved work, their place is the contents'.
void GalleryPage::shareSide()
{
    constexpr int kRecentRows = 3, kContentsRows = 4; // with less one sees neither
    const QLayout& column = *m_side->layout();
    const int width = m_side->maximumWidth(), inside = width - column.contentsMargins().left() - column.contentsMargins().right();
    const auto heightWith = [](int height) { return height + kSideSpace; };
    const int recentTitle = heightWith(m_recentTitle->sizeHint().height());
    const int leastRecent = heightWith(heightOf(*m_recent, std::min(m_recent->count(), kRecentRows)));
    int words = 0, rest = column.totalHeightForWidth(width); // without what comes and goes
    for (const QLabel* label : {m_drop, m_subtitle}) {
        const int height = heightWith(label->hasHeightForWidth() ? label->heightForWidth(inside) : label->sizeHint().height());
        words += height;
        rest -= label->isHidden() ? 0 : height;
    }
    if (!m_recentTitle->isHidden())
        rest -= recentTitle;
    if (!m_recent->isHidden())
        rest -= heightWith(0); // a list that scrolls wishes for no height of its own

    const int room = heightInSight() - rest;
    const int recent = m_recent->count() > 0 ? recentTitle + leastRecent : 0;
    const bool hasRecent = recent > 0 && !isLow() && heightOf(*m_contents, kContentsRows) + recent <= room;
    const bool hasWords = !isLow() && words + m_contents->maximumHeight() + (hasRecent ? recent : 0) <= room;
    for (QLabel* label : {m_drop, m_subtitle})
        label->setVisible(hasWords);
    m_recentTitle->setVisible(hasRecent);
    m_recent->setVisible(hasRecent);
    m_recent->setMinimumHeight(hasRecent ? leastRecent - kSideSpace : 0);
    auto* sideColumn = static_cast<QVBoxLayout*>(m_side->layout());
    sideColumn->setStretch(sideColumn->count() - 1, hasRecent ? 0 : 1);
}

void GalleryPage::setRecoveries(const std::vector<Recovery>& recoveries)
{
    while (QLayoutItem* item = m_recoveries->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (std::size_t i = 0; i < recoveries.size(); ++i) {
        const Recovery& r = recoveries[i];
        auto* box = new QFrame;
        setRole(box, "card");
        auto* text = new QLabel(tr("<b>Unsaved work</b><br>%1<br>%2")
                                    .arg(r.name.toHtmlEscaped(), QLocale().toString(r.time.toLocalTime(), QLocale::ShortFormat)));
        text->setTextFormat(Qt::RichText);
        text->setWordWrap(true);
        auto* restore = new QPushButton(tr("Restore"));
        auto* discard = new QPushButton(tr("Discard"));
        auto* buttons = new QHBoxLayout;
        buttons->setObjectName(kRecoveryButtons);
        buttons->addWidget(restore);
        buttons->addWidget(discard);
        auto* column = new QVBoxLayout(box);
        column->addWidget(text);
        column->addLayout(buttons);
        m_recoveries->addWidget(box);
        connect(restore, &QPushButton::clicked, this, [this, i] { Q_EMIT recoverRequested(static_cast<int>(i)); });
        connect(discard, &QPushButton::clicked, this, [this, i] { Q_EMIT discardRequested(static_cast<int>(i)); });
    }
    arrangeRecoveries();
    shareSide();
}

/// Beside each other their buttons would be cut where letters are large; of many cards those that do not fit are scrolled to.
void GalleryPage::arrangeRecoveries()
{
    constexpr double kMostOfPage = 0.3;
    const QMargins margins = m_side->layout()->contentsMargins();
    const int wide = m_side->maximumWidth() - margins.left() - margins.right();
    for (int i = 0; i < m_recoveries->count(); ++i) {
        const QWidget* card = m_recoveries->itemAt(i)->widget();
        auto* buttons = card ? card->findChild<QBoxLayout*>(kRecoveryButtons) : nullptr;
        if (buttons == nullptr)
            continue;
        int needed = -kSpace; // between them
        for (int each = 0; each < buttons->count(); ++each)
            needed += buttons->itemAt(each)->sizeHint().width() + kSpace;
        const QMargins within = card->layout()->contentsMargins();
        const int bar = m_recoveryArea->verticalScrollBar()->sizeHint().width(),
                  room = wide - bar - within.left() - within.right();
        buttons->setDirection(needed > room ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    }
    const bool hasAny = m_recoveries->count() > 0;
    m_recoveryArea->setVisible(hasAny);
    if (!hasAny)
        return;
    const QLayoutItem& first = *m_recoveries->itemAt(0);
    const int whole =
        m_recoveries->hasHeightForWidth() ? m_recoveries->totalHeightForWidth(wide) : m_recoveries->totalSizeHint().height();
    const int one = first.hasHeightForWidth() ? first.heightForWidth(wide) : first.sizeHint().height();
    const int most = std::max(one, static_cast<int>(kMostOfPage * heightInSight()));
    m_recoveryArea->setFixedHeight(std::min(whole, most));
}

bool GalleryPage::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) { // letters may be of another size
        arrangeRecoveries();
        shareSide();
    }
    return QFrame::event(event);
}

void GalleryPage::setTheme(const Theme& theme)
{
    m_cards->setTheme(theme);
}

void GalleryPage::setReducedMotion(bool reduced)
{
    m_cards->setReducedMotion(reduced);
}

/// Of what scrolls the page, where something does: the page itself is never lower than it needs.
int GalleryPage::heightInSight() const
{
    return (parentWidget() ? parentWidget() : this)->height();
}

bool GalleryPage::isLow() const
{
    return heightInSight() < kLowPage;
}

/// In a low page it would leave no room for the cards; F5 on its scenario does the same.
void GalleryPage::showDemo()
{
    m_demo->setVisible(!m_demoPath.isEmpty() && m_search->text().isEmpty() && !isLow());
}

void GalleryPage::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    arrange();
}

/// In a narrow page the cards have what the side can spare, in a low one what surrounds them: without this it would scroll to
/// the right and down, with lists in it that scroll by themselves.
void GalleryPage::arrange()
{
    const bool low = isLow();
    showDemo();
    constexpr int kAround = 24, kLittleAround = 10, kRight = 8;
    const int around = low ? kLittleAround : kAround;
    m_side->layout()->setContentsMargins(kAround, around, kSpace, around - kRight);
    m_main->setContentsMargins(kAround, around, kRight, 0);
    m_main->setSpacing(low ? kRight : kSpace);
    const bool isNarrow = width() < kNarrowPage;
    m_side->setFixedWidth(isNarrow ? kNarrowSideWidth : kSideWidth);
    arrangeRecoveries();
    shareSide();
    m_demoRow->setDirection(isNarrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

/// Down goes from the search to what it found.
bool GalleryPage::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down) {
        m_cards->setFocus();
        return true;
    }
    return QFrame::eventFilter(watched, event);
}

void GalleryPage::focusSearch()
{
    m_search->setFocus();
    m_search->selectAll();
}

void GalleryPage::search(const QString& text)
{
    m_search->setText(text);
}

QStringList GalleryPage::shownFiles() const
{
    QStringList out;
    for (const std::size_t entry : m_cards->shownEntries())
        out << m_entries[entry].path;
    return out;
}

/// One click to a training that runs.
QFrame* GalleryPage::makeDemo()
{
    auto* card = new QFrame;
    setRole(card, "card");
    auto* title = new QLabel(tr("Live demo: sixteen ranks train on this machine"));
    setRole(title, "heading");
    title->setWordWrap(true);
    auto* text =
        new QLabel(tr("A tiny Llama, TP 2 × CP 2 × PP 2 × DP 2, really trained for a few seconds: loss, memory and every span as "
                      "they come, and the prediction above them. No GPU is needed."));
    setRole(text, "muted");
    text->setWordWrap(true);
    auto* start = new QPushButton(tr("Start Live Demo"));
    setRole(start, "primary");
    connect(start, &QPushButton::clicked, this, [this] { Q_EMIT demoRequested(m_demoPath); });
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addWidget(title);
    words->addWidget(text);
    m_demoRow = new QBoxLayout(QBoxLayout::LeftToRight, card);
    m_demoRow->setContentsMargins(16, 10, 16, 10);
    m_demoRow->setSpacing(16);
    m_demoRow->addLayout(words, 1);
    m_demoRow->addWidget(start, 0, Qt::AlignVCenter);
    return card;
}

void GalleryPage::filter()
{
    showDemo();
    std::vector<GallerySection> shown;
    if (m_search->text().isEmpty()) {
        shown = m_sections;
    } else {
        shown.emplace_back(); // what is found needs no headings
        for (const GallerySection& section : m_sections)
            std::copy_if(section.entries.begin(), section.entries.end(), std::back_inserter(shown.front().entries),
                         [&](std::size_t entry) { return m_entries[entry].matches(m_search->text()); });
        std::vector<std::size_t>& found = shown.front().entries;
        std::stable_partition(found.begin(), found.end(),
                              [&](std::size_t entry) { return m_entries[entry].isCalled(m_search->text()); });
    }
    m_cards->setSections(m_entries, shown);
    m_nothing->setVisible(m_cards->shownEntries().empty() && !m_entries.empty());
}

} // namespace app
