#include "app/shell/gallery/gallery_cards.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/text/beside_limit.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr int kCardHeight = 116, kCardGap = 12, kNarrowestCard = 340;
constexpr int kHeadingHeight = 52, kFirstHeadingHeight = 34;
constexpr int kEntryRole = Qt::UserRole, kAboutRole = Qt::UserRole + 1;
constexpr int kFrameMs = 33, kDwellMs = 140;
constexpr double kPlaySeconds = 4; ///< that a step lasts in miniature

/// Text in at most `lines` lines, the last one elided. Returns how many it took.
int drawLines(QPainter& painter, const QRectF& area, const QString& text, int lines)
{
    QTextLayout layout(text, painter.font());
    layout.beginLayout();
    const QFontMetricsF metrics(painter.font());
    double y = area.top();
    int drawn = 0;
    for (; drawn < lines; ++drawn) {
        QTextLine line = layout.createLine();
        if (!line.isValid())
            break;
        line.setLineWidth(area.width());
        const bool last = drawn == lines - 1;
        const QString part = last ? metrics.elidedText(text.mid(line.textStart()), Qt::ElideRight, area.width())
                                  : text.mid(line.textStart(), line.textLength());
        painter.drawText(QPointF(area.left(), y + metrics.ascent()), part.trimmed());
        y += metrics.height() + 1;
    }
    layout.endLayout();
    return drawn;
}

/// "5.06 s a step · MFU 41.3 % · 71.2 of 80 GiB"
QString numbersText(const sim::Metrics& m, const sim::Scenario& scenario)
{
    const double has = scenario.cluster.gpu.memoryGib;
    const sim::BesideLimit beside(m.peakMemoryGib, has, sim::Unit::number);
    const QString memory =
        beside.isUsual()
            ? CardList::tr("%1 of %2 GiB").arg(shortNumber(m.peakMemoryGib), shortNumber(has))
            : CardList::tr("%1 of %2 GiB").arg(QString::fromStdString(beside.need()), QString::fromStdString(beside.limit()));
    return CardList::tr("%1 a step  ·  MFU %2  ·  %3")
        .arg(durationQuantity(m.stepTimeSeconds).text(), percentQuantity(m.mfu).text(), memory);
}

bool isCard(const QModelIndex& index)
{
    return index.isValid() && index.data(kEntryRole).isValid();
}

} // namespace

class CardList::Delegate : public QStyledItemDelegate {
public:
    explicit Delegate(CardList& list) : QStyledItemDelegate(&list), m_list(list) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        isCard(index) ? paintCard(*painter, option, index) : paintHeading(*painter, option.rect, index);
        painter->restore();
    }
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override
    {
        // The bar's width is always kept free, or cards would jump when it comes and goes.
        const int width = m_list.maximumViewportSize().width() - m_list.verticalScrollBar()->sizeHint().width() -
                          m_list.style()->pixelMetric(QStyle::PM_ScrollView_ScrollBarSpacing, nullptr, &m_list) - 2;
        if (!isCard(index))
            return {width, index.row() == 0 ? kFirstHeadingHeight : kHeadingHeight};
        return {width / std::max(1, width / kNarrowestCard), kCardHeight + kCardGap};
    }

private:
    void paintHeading(QPainter& painter, const QRect& area, const QModelIndex& index) const
    {
        constexpr int kAboveCards = 14;
        const int baseline = area.bottom() - kAboveCards;
        painter.setFont(uiFont(14, QFont::DemiBold));
        painter.setPen(toQColor(m_list.m_theme->text));
        const QString title = index.data().toString();
        painter.drawText(area.left() + 1, baseline, title);
        const int left = area.left() + painter.fontMetrics().horizontalAdvance(title) + 14;
        painter.setFont(uiFont(12));
        painter.setPen(toQColor(m_list.m_theme->mutedText));
        // The heading says enough where there is no room for more.
        const QString about = index.data(kAboutRole).toString();
        if (painter.fontMetrics().horizontalAdvance(about) <= area.right() - kCardGap - left)
            painter.drawText(left, baseline, about);
    }
    void paintCard(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
    {
        const Theme& theme = *m_list.m_theme;
        const GalleryEntry& entry = (*m_list.m_entries)[index.data(kEntryRole).value<std::size_t>()];
        const bool plays = index == m_list.m_playing;
        const bool hasFocus = m_list.hasFocus() && index == m_list.currentIndex();
        const QRectF card = QRectF(option.rect).adjusted(0.5, 0.5, -kCardGap - 0.5, -kCardGap - 0.5);
        painter.setPen(QPen(toQColor(plays ? theme.accent : theme.border), hasFocus ? 2 : 1));
        painter.setBrush(toQColor(theme.panel));
        painter.drawRoundedRect(card, 6, 6);
        const QRectF picture(card.left() + 12, card.top() + 12, 96, card.height() - 24);
        if (entry.scenario)
            m_list.thumbnailOf(entry).paint(painter, picture, theme, plays ? m_list.moment() : std::nullopt);
        if (entry.lesson)
            paintProgress(painter, picture, theme, *entry.lesson);

        const QRectF text(picture.right() + 16, card.top() + 12, card.right() - picture.right() - 28, card.height() - 24);
        painter.setFont(uiFont(13, QFont::DemiBold));
        painter.setPen(toQColor(theme.text));
        const int nameLines = drawLines(painter, text, entry.name, 2);
        const QString numbers = plays ? m_list.keyNumbers() : QString();
        painter.setFont(uiFont(12));
        painter.setPen(toQColor(entry.scenario || entry.lesson ? theme.mutedText : theme.error));
        constexpr int kNameLine = 17, kBelowName = 4;
        drawLines(painter, text.adjusted(0, nameLines * kNameLine + kBelowName, 0, 0), entry.summary,
                  (numbers.isEmpty() ? 4 : 3) - nameLines);
        if (!entry.scenario && !entry.lesson)
            return;
        const auto drawBottomLine = [&](const QString& line, int above, Color color, QFont::Weight weight) {
            painter.setFont(uiFont(11, weight));
            painter.setPen(toQColor(color));
            const QFontMetricsF metrics(painter.font());
            painter.drawText(QPointF(text.left(), text.bottom() - metrics.descent() + 1 - above),
                             metrics.elidedText(line, Qt::ElideRight, text.width()));
        };
        constexpr int kLine = 17;
        if (!numbers.isEmpty())
            drawBottomLine(numbers, kLine, theme.accent, QFont::DemiBold);
        if (entry.lesson)
            drawBottomLine(progressLine(*entry.lesson), 0, entry.lesson->due > 0 ? theme.accent : theme.text, QFont::Medium);
        else
            drawBottomLine(layoutLine(entry.scenario->layout), 0, theme.text, QFont::Medium);
    }
    static QString progressLine(const GalleryEntry::LessonState& lesson)
    {
        const QString minutes = lesson.minutes > 0 ? QObject::tr("%1 min").arg(lesson.minutes) : QString();
        if (lesson.due > 0)
            return lesson.due == 1 ? QObject::tr("1 question to remember")
                                   : QObject::tr("%1 questions to remember").arg(lesson.due);
        if (lesson.share >= 1)
            return QObject::tr("done");
        if (lesson.share <= 0)
            return minutes;
        return QObject::tr("%1 % done").arg(qRound(lesson.share * 100));
    }
    /// The lesson's number in a ring that closes as one goes on.
    static void paintProgress(QPainter& painter, const QRectF& area, const Theme& theme, const GalleryEntry::LessonState& lesson)
    {
        constexpr double kRing = 56, kStroke = 4;
        constexpr int kTurn = 360 * 16; // as Qt counts angles
        const QRectF ring(area.center().x() - kRing / 2, area.center().y() - kRing / 2, kRing, kRing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(toQColor(theme.border), kStroke));
        painter.drawEllipse(ring);
        painter.setPen(QPen(toQColor(theme.accent), kStroke, Qt::SolidLine, Qt::RoundCap));
        if (lesson.share > 0)
            painter.drawArc(ring, kTurn / 4, -static_cast<int>(kTurn * std::min(1.0, lesson.share)));
        painter.setFont(uiFont(20, QFont::DemiBold));
        painter.setPen(toQColor(theme.text));
        painter.drawText(ring, Qt::AlignCenter,
                         lesson.share >= 1   ? QStringLiteral("✓")
                         : lesson.number > 0 ? QString::number(lesson.number)
                                             : QStringLiteral("?"));
    }

    CardList& m_list;
};

CardList::CardList(QWidget* parent) : QListView(parent), m_model(new QStandardItemModel(this)), m_theme(&lightTheme())
{
    setModel(m_model);
    setItemDelegate(new Delegate(*this));
    setFlow(QListView::LeftToRight);
    setWrapping(true);
    setMovement(QListView::Static);
    setResizeMode(QListView::Adjust);
    setMouseTracking(true);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_frame.setInterval(kFrameMs);
    m_dwell.setInterval(kDwellMs);
    m_dwell.setSingleShot(true);
    connect(&m_frame, &QTimer::timeout, this, [this] { viewport()->update(visualRect(m_playing)); });
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &CardList::updateHeading);
    connect(this, &QListView::clicked, this, [this](const QModelIndex& index) {
        if (isCard(index))
            Q_EMIT chosen(index.data(kEntryRole).value<std::size_t>());
    });
    connect(this, &QListView::entered, this, &CardList::setPointed);
    connect(this, &QListView::viewportEntered, this, [this] { setPointed({}); });
    connect(&m_dwell, &QTimer::timeout, this, [this] {
        if (!m_playing.isValid())
            return;
        const GalleryEntry& entry = (*m_entries)[m_playing.data(kEntryRole).value<std::size_t>()];
        if (!entry.scenario || m_metrics.contains(entry.path))
            return;
        m_worker.ask(
            0, [scenario = *entry.scenario] { return simulateBeside(sim::simulate, scenario)->metrics(); },
            [this, path = entry.path](const sim::Metrics& metrics) {
                m_metrics.insert_or_assign(path, metrics);
                viewport()->update();
            },
            {}); // a card without numbers says that they are not known
    });
}

CardList::~CardList()
{
    m_worker.stop();
}

void CardList::setSections(const std::vector<GalleryEntry>& entries, const std::vector<GallerySection>& sections)
{
    m_entries = &entries;
    m_model->clear();
    for (const GallerySection& section : sections) {
        if (!section.title.isEmpty()) {
            auto* heading = new QStandardItem(section.title);
            heading->setData(section.about, kAboutRole);
            heading->setFlags(Qt::NoItemFlags);
            m_model->appendRow(heading);
        }
        for (const std::size_t place : section.entries) {
            const GalleryEntry& entry = entries[place];
            auto* card = new QStandardItem(entry.name); // read out by screen readers, painted by the delegate
            card->setData(QVariant::fromValue(place), kEntryRole);
            card->setData(entry.summary, Qt::AccessibleDescriptionRole);
            const bool saysMore = !entry.opening.isEmpty() && entry.opening != entry.summary;
            const QString said = saysMore ? entry.opening + QLatin1Char(' ') + entry.summary : entry.summary;
            card->setToolTip(said + (entry.source.isEmpty() ? QString() : QStringLiteral("\n\n") + entry.source));
            card->setEditable(false);
            m_model->appendRow(card);
        }
    }
    updatePlaying();
    updateHeading();
}

void CardList::goTo(const QString& heading)
{
    for (const QStandardItem* item : m_model->findItems(heading)) {
        if (isCard(item->index()))
            continue;
        setCurrentIndex(m_model->index(item->row() + 1, 0));
        setFocus();
        scrollTo(item->index(), PositionAtTop);
        return;
    }
}

/// Of the card that is reached while it is seen, else of what is at the top.
void CardList::updateHeading()
{
    const auto isSeen = [&](const QModelIndex& index) { return viewport()->rect().intersects(visualRect(index)); };
    int row = isCard(currentIndex()) && isSeen(currentIndex()) ? currentIndex().row() : 0;
    while (row < m_model->rowCount() && !isSeen(m_model->index(row, 0)))
        ++row;
    while (row > 0 && (row >= m_model->rowCount() || isCard(m_model->index(row, 0))))
        --row;
    const QModelIndex heading = m_model->index(row, 0);
    Q_EMIT headingSeen(!heading.isValid() || isCard(heading) ? QString() : heading.data().toString());
}

void CardList::setTheme(const Theme& theme)
{
    m_theme = &theme;
    viewport()->update();
}

void CardList::setReducedMotion(bool reduced)
{
    m_reducedMotion = reduced;
    updatePlaying();
}

std::vector<std::size_t> CardList::shownEntries() const
{
    std::vector<std::size_t> out;
    for (int row = 0; row < m_model->rowCount(); ++row) {
        if (const QModelIndex index = m_model->index(row, 0); isCard(index))
            out.push_back(index.data(kEntryRole).value<std::size_t>());
    }
    return out;
}

QString CardList::keyNumbers() const
{
    if (!m_playing.isValid())
        return {};
    const GalleryEntry& entry = (*m_entries)[m_playing.data(kEntryRole).value<std::size_t>()];
    const auto found = m_metrics.find(entry.path);
    return found == m_metrics.end() || !entry.scenario ? QString() : numbersText(found->second, *entry.scenario);
}

void CardList::chooseFirst()
{
    if (const auto shown = shownEntries(); !shown.empty())
        Q_EMIT chosen(shown.front());
}

const Thumbnail& CardList::thumbnailOf(const GalleryEntry& entry)
{
    auto found = m_thumbnails.find(entry.path);
    if (found == m_thumbnails.end())
        found = m_thumbnails.emplace(entry.path, Thumbnail(*entry.scenario)).first;
    return found->second;
}

std::optional<double> CardList::moment() const
{
    if (m_reducedMotion)
        return {};
    const double steps = static_cast<double>(m_sincePlaying.elapsed()) / (1000 * kPlaySeconds);
    return steps - std::floor(steps);
}

void CardList::setPointed(const QModelIndex& index)
{
    m_pointed = isCard(index) ? index : QModelIndex();
    updatePlaying();
}

/// The pointer goes before the keys.
void CardList::updatePlaying()
{
    const QModelIndex next = m_pointed.isValid()                    ? QModelIndex(m_pointed)
                             : hasFocus() && isCard(currentIndex()) ? currentIndex()
                                                                    : QModelIndex();
    if (next != m_playing) {
        viewport()->update(visualRect(m_playing));
        m_playing = next;
        m_sincePlaying.start();
        viewport()->update(visualRect(m_playing));
        if (next.isValid())
            m_dwell.start();
        else
            m_dwell.stop();
    }
    if (m_playing.isValid() && !m_reducedMotion)
        m_frame.start();
    else
        m_frame.stop();
}

void CardList::keyPressEvent(QKeyEvent* event)
{
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && isCard(currentIndex()))
        Q_EMIT chosen(currentIndex().data(kEntryRole).value<std::size_t>());
    else
        QListView::keyPressEvent(event);
}

void CardList::resizeEvent(QResizeEvent* event)
{
    QListView::resizeEvent(event);
    scheduleDelayedItemsLayout(); // cards are as wide as a column
}

void CardList::focusInEvent(QFocusEvent* event)
{
    QListView::focusInEvent(event);
    // The first in sight: nothing moves, least of all what is clicked just now.
    for (int row = 0; !isCard(currentIndex()) && row < m_model->rowCount(); ++row) {
        const QModelIndex index = m_model->index(row, 0);
        if (isCard(index) && viewport()->rect().contains(visualRect(index)))
            setCurrentIndex(index);
    }
    updatePlaying();
}

void CardList::focusOutEvent(QFocusEvent* event)
{
    QListView::focusOutEvent(event);
    updatePlaying();
}

void CardList::hideEvent(QHideEvent* event)
{
    QListView::hideEvent(event);
    setPointed({});
    m_frame.stop();
}

bool CardList::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave)
        setPointed({});
    return QListView::viewportEvent(event);
}

void CardList::currentChanged(const QModelIndex& current, const QModelIndex& previous)
{
    QListView::currentChanged(current, previous);
    updatePlaying();
    updateHeading();
}

} // namespace app
