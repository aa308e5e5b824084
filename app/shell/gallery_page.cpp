#include "app/shell/gallery_page.h"

#include "app/shell/format.h"
#include "app/shell/style.h"
#include "app/shell/thumbnail.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <map>

namespace app {
namespace {

constexpr int kCardHeight = 116;
constexpr int kCardGap = 12;
constexpr int kNarrowestCard = 340;
constexpr int kEntryRole = Qt::UserRole;
const QString kDemoName = QStringLiteral("64-tiny-4d-sixteen-ranks");

/// Text in at most `lines` lines, the last one elided.
void drawLines(QPainter& painter, const QRectF& area, const QString& text, int lines)
{
    QTextLayout layout(text, painter.font());
    layout.beginLayout();
    const QFontMetricsF metrics(painter.font());
    double y = area.top();
    for (int i = 0; i < lines; ++i) {
        QTextLine line = layout.createLine();
        if (!line.isValid())
            break;
        line.setLineWidth(area.width());
        const bool last = i == lines - 1;
        const QString part = last ? metrics.elidedText(text.mid(line.textStart()), Qt::ElideRight, area.width())
                                  : text.mid(line.textStart(), line.textLength());
        painter.drawText(QPointF(area.left(), y + metrics.ascent()), part.trimmed());
        y += metrics.height() + 1;
    }
    layout.endLayout();
}

} // namespace

class GalleryDelegate : public QStyledItemDelegate {
public:
    GalleryDelegate(const std::vector<GalleryEntry>& entries, QObject* parent)
        : QStyledItemDelegate(parent), m_entries(entries), m_theme(&lightTheme())
    {
    }
    void setTheme(const Theme& theme)
    {
        m_theme = &theme;
        m_thumbnails.clear();
    }
    void forgetThumbnails() { m_thumbnails.clear(); }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const GalleryEntry& entry = m_entries[static_cast<std::size_t>(index.data(kEntryRole).toInt())];
        const bool chosen = option.state & (QStyle::State_Selected | QStyle::State_MouseOver);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QRectF card = QRectF(option.rect).adjusted(0.5, 0.5, -kCardGap - 0.5, -kCardGap - 0.5);
        painter->setPen(QPen(toQColor(chosen ? m_theme->accent : m_theme->border), 1));
        painter->setBrush(toQColor(m_theme->panel));
        painter->drawRoundedRect(card, 6, 6);

        const QRectF picture(card.left() + 12, card.top() + 12, 96, card.height() - 24);
        if (entry.scenario)
            painter->drawPixmap(picture.topLeft(), thumbnail(entry, picture.size(), painter->device()->devicePixelRatioF()));
        const QRectF text(picture.right() + 16, card.top() + 12, card.right() - picture.right() - 28, card.height() - 24);
        painter->setFont(uiFont(13, QFont::DemiBold));
        painter->setPen(toQColor(m_theme->text));
        drawLines(*painter, text, entry.name, 1);
        painter->setFont(uiFont(12));
        painter->setPen(toQColor(entry.scenario ? m_theme->mutedText : m_theme->error));
        drawLines(*painter, text.adjusted(0, 21, 0, 0), entry.summary, 3);
        if (entry.scenario) {
            painter->setFont(uiFont(11, QFont::Medium));
            painter->setPen(toQColor(m_theme->text));
            const QFontMetricsF metrics(painter->font());
            painter->drawText(QPointF(text.left(), text.bottom() - metrics.descent() + 1),
                              metrics.elidedText(layoutLine(entry.scenario->layout), Qt::ElideRight, text.width()));
        }
        painter->restore();
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        const auto* list = qobject_cast<const QListView*>(option.widget);
        return list ? list->gridSize() : QSize(kNarrowestCard, kCardHeight + kCardGap);
    }

private:
    QPixmap thumbnail(const GalleryEntry& entry, QSizeF size, qreal ratio) const
    {
        QPixmap& pixmap = m_thumbnails[entry.path];
        if (pixmap.isNull() || pixmap.devicePixelRatio() != ratio) {
            pixmap = QPixmap((size * ratio).toSize());
            pixmap.setDevicePixelRatio(ratio);
            pixmap.fill(Qt::transparent);
            QPainter painter(&pixmap);
            paintThumbnail(painter, QRectF(QPointF(), size), *entry.scenario, *m_theme);
        }
        return pixmap;
    }

    const std::vector<GalleryEntry>& m_entries;
    const Theme* m_theme;
    mutable std::map<QString, QPixmap> m_thumbnails;
};

CardList::CardList(QWidget* parent) : QListView(parent)
{
    connect(this, &QListView::clicked, this, &CardList::chosen);
}

void CardList::keyPressEvent(QKeyEvent* event)
{
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && currentIndex().isValid())
        emit chosen(currentIndex());
    else
        QListView::keyPressEvent(event);
}

void CardList::resizeEvent(QResizeEvent* event)
{
    QListView::resizeEvent(event);
    // The bar's width is always kept free, or cards would jump when it comes and goes.
    const int width = this->width() - verticalScrollBar()->sizeHint().width() - 2;
    const int columns = std::max(1, width / kNarrowestCard);
    setGridSize({width / columns, kCardHeight + kCardGap});
}

GalleryPage::GalleryPage(QWidget* parent)
    : QFrame(parent), m_search(new QLineEdit), m_cards(new CardList), m_model(new QStandardItemModel(this)),
      m_delegate(new GalleryDelegate(m_entries, this)), m_recent(new QListWidget), m_recentTitle(new QLabel(tr("RECENT"))),
      m_nothing(new QLabel(tr("Nothing in the gallery matches."))), m_recoveries(new QVBoxLayout), m_demo(makeDemo())
{
    setRole(this, "page");
    auto* title = new QLabel(QStringLiteral("Rankscope"));
    setRole(title, "title");
    auto* subtitle = new QLabel(tr("See, ask and run\nhybrid-parallel training."));
    setRole(subtitle, "muted");
    auto* open = new QPushButton(tr("Open file…"));
    setRole(open, "primary");
    setRole(m_recentTitle, "section");
    setRole(m_recent, "plain");
    m_recent->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_recent->setTextElideMode(Qt::ElideMiddle);
    m_recentTitle->hide();
    auto* drop = new QLabel(tr("or drop a scenario file on the window"));
    drop->setWordWrap(true);
    setRole(drop, "small");

    auto* side = new QFrame;
    setRole(side, "side");
    side->setFixedWidth(248);
    auto* sideColumn = new QVBoxLayout(side);
    sideColumn->setContentsMargins(24, 24, 16, 16);
    sideColumn->setSpacing(8);
    sideColumn->addWidget(title);
    sideColumn->addWidget(subtitle);
    sideColumn->addSpacing(16);
    sideColumn->addWidget(open);
    sideColumn->addWidget(drop);
    sideColumn->addLayout(m_recoveries);
    sideColumn->addSpacing(16);
    sideColumn->addWidget(m_recentTitle);
    sideColumn->addWidget(m_recent, 1);

    auto* heading = new QLabel(tr("Gallery"));
    setRole(heading, "heading");
    m_search->setPlaceholderText(tr("Search by name, model, cluster, schedule, GPUs"));
    m_search->setClearButtonEnabled(true);
    m_search->setMinimumWidth(160);
    m_search->setMaximumWidth(340);
    m_search->setAccessibleName(tr("Search the gallery"));
    m_cards->setAccessibleName(tr("Gallery"));
    m_cards->setModel(m_model);
    m_cards->setItemDelegate(m_delegate);
    m_cards->setViewMode(QListView::IconMode);
    m_cards->setMovement(QListView::Static);
    m_cards->setResizeMode(QListView::Adjust);
    m_cards->setUniformItemSizes(true);
    m_cards->setMouseTracking(true);
    m_cards->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_cards->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    m_cards->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setRole(m_nothing, "muted");
    m_nothing->hide();

    auto* head = new QHBoxLayout;
    head->addWidget(heading);
    head->addStretch(1);
    head->addWidget(m_search, 2);
    head->addSpacing(kCardGap + 12);
    auto* main = new QVBoxLayout;
    main->setContentsMargins(24, 24, 8, 0);
    main->setSpacing(16);
    main->addLayout(head);
    auto* demoRow = new QHBoxLayout; // as wide as the cards
    demoRow->setContentsMargins(0, 0, kCardGap + 12, 0);
    demoRow->addWidget(m_demo);
    main->addLayout(demoRow);
    main->addWidget(m_nothing);
    main->addWidget(m_cards, 1);
    auto* page = new QHBoxLayout(this);
    page->setContentsMargins(0, 0, 0, 0);
    page->setSpacing(0);
    page->addWidget(side);
    page->addLayout(main, 1);

    const auto openIndex = [this](const QModelIndex& index) {
        emit openRequested(m_entries[static_cast<std::size_t>(index.data(kEntryRole).toInt())].path);
    };
    connect(m_cards, &CardList::chosen, this, openIndex);
    connect(m_search, &QLineEdit::textChanged, this, &GalleryPage::filter);
    connect(m_search, &QLineEdit::returnPressed, this, [this, openIndex] {
        if (m_model->rowCount() > 0)
            openIndex(m_model->index(0, 0));
    });
    connect(m_recent, &QListWidget::itemActivated, this,
            [this](const QListWidgetItem* item) { emit openRequested(item->data(Qt::UserRole).toString()); });
    connect(m_recent, &QListWidget::itemClicked, this,
            [this](const QListWidgetItem* item) { emit openRequested(item->data(Qt::UserRole).toString()); });
    connect(open, &QPushButton::clicked, this, &GalleryPage::openOtherRequested);
}

void GalleryPage::setEntries(std::vector<GalleryEntry> entries)
{
    m_entries = std::move(entries);
    m_delegate->forgetThumbnails();
    m_demoPath.clear();
    for (const GalleryEntry& entry : m_entries)
        if (QFileInfo(entry.path).completeBaseName() == kDemoName)
            m_demoPath = entry.path;
    filter();
}

void GalleryPage::setRecentFiles(const QStringList& files)
{
    m_recent->clear();
    for (const QString& path : files) {
        auto* item = new QListWidgetItem(QFileInfo(path).completeBaseName(), m_recent);
        item->setData(Qt::UserRole, path);
        item->setToolTip(path);
    }
    m_recentTitle->setVisible(!files.isEmpty());
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
                                    .arg(r.path.isEmpty() ? tr("Untitled") : QFileInfo(r.path).fileName().toHtmlEscaped(),
                                         QLocale().toString(r.time.toLocalTime(), QLocale::ShortFormat)));
        text->setWordWrap(true);
        auto* restore = new QPushButton(tr("Restore"));
        auto* discard = new QPushButton(tr("Discard"));
        auto* buttons = new QHBoxLayout;
        buttons->addWidget(restore);
        buttons->addWidget(discard);
        auto* column = new QVBoxLayout(box);
        column->addWidget(text);
        column->addLayout(buttons);
        m_recoveries->addWidget(box);
        connect(restore, &QPushButton::clicked, this, [this, i] { emit recoverRequested(static_cast<int>(i)); });
        connect(discard, &QPushButton::clicked, this, [this, i] { emit discardRequested(static_cast<int>(i)); });
    }
}

void GalleryPage::setTheme(const Theme& theme)
{
    m_delegate->setTheme(theme);
    m_cards->viewport()->update();
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
    for (int row = 0; row < m_model->rowCount(); ++row)
        out << m_entries[static_cast<std::size_t>(m_model->item(row)->data(kEntryRole).toInt())].path;
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
                      "they come, below what was predicted. No GPU is needed."));
    setRole(text, "muted");
    text->setWordWrap(true);
    auto* start = new QPushButton(tr("Start Live Demo"));
    setRole(start, "primary");
    connect(start, &QPushButton::clicked, this, [this] { emit demoRequested(m_demoPath); });
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addWidget(title);
    words->addWidget(text);
    auto* row = new QHBoxLayout(card);
    row->setContentsMargins(16, 10, 16, 10);
    row->setSpacing(16);
    row->addLayout(words, 1);
    row->addWidget(start, 0, Qt::AlignVCenter);
    return card;
}

void GalleryPage::filter()
{
    m_demo->setVisible(!m_demoPath.isEmpty() && m_search->text().isEmpty());
    m_model->clear();
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        if (!m_entries[i].matches(m_search->text()))
            continue;
        auto* item = new QStandardItem(m_entries[i].name); // read out by screen readers, painted by the delegate
        item->setData(static_cast<int>(i), kEntryRole);
        item->setToolTip(m_entries[i].summary +
                         (m_entries[i].source.isEmpty() ? QString() : QStringLiteral("\n\n") + m_entries[i].source));
        item->setEditable(false);
        m_model->appendRow(item);
    }
    m_nothing->setVisible(m_model->rowCount() == 0 && !m_entries.empty());
}

} // namespace app
