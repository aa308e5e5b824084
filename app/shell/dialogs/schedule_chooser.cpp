#include "app/shell/dialogs/schedule_chooser.h"

#include "app/session/schedule_candidates.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/thumbnail.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace app {
namespace {

constexpr int kIndexRole = Qt::UserRole;
constexpr int kFamilyHeight = 78, kFamilyMargin = 12, kSketchWidth = 150, kColumnWidth = 92, kColumns = 3, kFamilyScrollBar = 10;
constexpr double kWidestIdle = 0.5;   ///< where the bar ends
constexpr qreal kRoomForSketch = 640; ///< pixels of a row's width, below which words need the sketch's room
constexpr int kRoomForNotes = 480;    ///< pixels of the dialog's height, below which notes are the headings' tip

QString fromView(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString sentence(std::string_view text)
{
    QString out = fromView(text);
    if (!out.isEmpty())
        out[0] = out[0].toUpper();
    return out;
}

QString memoryText(const ScheduleWorth& worth)
{
    constexpr double kGib = 1024.0 * 1024 * 1024;
    return memoryQuantity(static_cast<double>(worth.activationBytes) / kGib).text();
}

/// Right edge of a column of numbers, from the left: time, idle, memory.
qreal columnRight(qreal rowRight, int column)
{
    return rowRight - kFamilyMargin - (kColumns - 1 - column) * kColumnWidth;
}

class CandidateDelegate : public QStyledItemDelegate {
public:
    CandidateDelegate(const ScheduleCandidates& candidates, const Theme& theme, QObject* parent)
        : QStyledItemDelegate(parent), m_candidates(candidates), m_theme(theme)
    {
    }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        return {option.rect.width(), kFamilyHeight};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const ScheduleCandidate& candidate = m_candidates[static_cast<std::size_t>(index.data(kIndexRole).toInt())];
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QRectF row = QRectF(option.rect).adjusted(0.5, 2.5, -0.5, -2.5);
        const bool selected = option.state & QStyle::State_Selected;
        painter->setPen(QPen(toQColor(selected ? m_theme.accent : m_theme.border), selected ? 2 : 1));
        painter->setBrush(toQColor(m_theme.canvas));
        painter->drawRoundedRect(row, 6, 6);

        const bool legal = candidate.whyNot.empty();
        const bool hasSketch = row.width() >= kRoomForSketch;
        const QRectF sketch(row.left() + kFamilyMargin, row.top() + 10, hasSketch ? kSketchWidth : 0, row.height() - 20);
        if (candidate.sketch && hasSketch) {
            painter->setOpacity(legal ? 1 : 0.45);
            paintSchedule(*painter, sketch, candidate.sketch->schedule, candidate.sketch->times, m_theme);
            painter->setOpacity(1);
        } else if (!candidate.isWeighed && hasSketch) {
            painter->setPen(QPen(toQColor(m_theme.border), 1, Qt::DashLine));
            painter->setBrush(Qt::NoBrush);
            painter->drawRect(sketch);
            painter->setFont(uiFont(11));
            painter->setPen(toQColor(m_theme.mutedText));
            painter->drawText(sketch, Qt::AlignCenter, ScheduleChooser::tr("being drawn…"));
        }
        const qreal left = hasSketch ? sketch.right() + 16 : sketch.left();
        const qreal textRight = columnRight(row.right(), 0) - kColumnWidth + 8;
        paintWords(*painter, {left, row.top() + 8, (legal ? textRight : row.right() - kFamilyMargin) - left, row.height() - 14},
                   candidate);
        if (candidate.worth) {
            paintNumbers(*painter, row, candidate);
        } else if (!candidate.isWeighed) {
            painter->setFont(uiFont(12));
            painter->setPen(toQColor(m_theme.mutedText));
            painter->drawText(QRectF(textRight, row.top() + 16, row.right() - kFamilyMargin - textRight, 20),
                              Qt::AlignRight | Qt::AlignVCenter, ScheduleChooser::tr("being weighed…"));
        }
        painter->restore();
    }

private:
    void paintWords(QPainter& painter, const QRectF& area, const ScheduleCandidate& candidate) const
    {
        const bool legal = candidate.whyNot.empty();
        painter.setFont(uiFont(13, QFont::DemiBold));
        painter.setPen(toQColor(legal ? m_theme.text : m_theme.mutedText));
        const QFontMetricsF titleMetrics(painter.font());
        const QString title = fromView(candidate.title);
        painter.drawText(QPointF(area.left(), area.top() + titleMetrics.ascent()), title);
        qreal x = area.left() + titleMetrics.horizontalAdvance(title) + 8;
        painter.setFont(uiFont(11, QFont::DemiBold));
        const auto tag = [&](const QString& text, Color color) {
            painter.setPen(toQColor(color));
            painter.drawText(QPointF(x, area.top() + titleMetrics.ascent()), text);
            x += QFontMetricsF(painter.font()).horizontalAdvance(text) + 8;
        };
        if (candidate.virtualStages > 1)
            tag(ScheduleChooser::tr("%1 chunks a rank").arg(candidate.virtualStages), m_theme.mutedText);
        if (candidate.isCurrent)
            tag(ScheduleChooser::tr("in use"), m_theme.accent);
        qreal top = area.top() + titleMetrics.height() + 2;
        painter.setFont(uiFont(12));
        painter.setPen(toQColor(m_theme.mutedText));
        top += paintLines(painter, {area.left(), top, area.width(), 0}, sentence(candidate.character), legal ? 2 : 1);
        if (!legal) {
            painter.setPen(toQColor(m_theme.warning));
            paintLines(painter, {area.left(), top, area.width(), 0}, sentence(candidate.whyNot), 2);
        }
    }

    /// At most so many lines, the last one elided. Returns their height.
    static qreal paintLines(QPainter& painter, const QRectF& area, const QString& text, int lines)
    {
        const QFontMetricsF metrics(painter.font());
        QTextLayout layout(text, painter.font());
        layout.beginLayout();
        qreal y = area.top();
        for (int i = 0; i < lines; ++i) {
            QTextLine line = layout.createLine();
            if (!line.isValid())
                break;
            line.setLineWidth(area.width());
            const QString part = i == lines - 1 ? metrics.elidedText(text.mid(line.textStart()), Qt::ElideRight, area.width())
                                                : text.mid(line.textStart(), line.textLength());
            painter.drawText(QPointF(area.left(), y + metrics.ascent()), part.trimmed());
            y += metrics.height();
        }
        layout.endLayout();
        return y - area.top();
    }

    void paintNumbers(QPainter& painter, const QRectF& row, const ScheduleCandidate& candidate) const
    {
        const ScheduleWorth& worth = *candidate.worth;
        const std::array<QString, kColumns> texts{durationQuantity(worth.stepSeconds).text(),
                                                  percentQuantity(worth.idleOfSpan).text(), memoryText(worth)};
        const std::array<double, kColumns> shares{-1, worth.idleOfSpan / kWidestIdle,
                                                  static_cast<double>(worth.activationBytes) / mostActivationBytes()};
        const std::array<Color, kColumns> colors{m_theme.text, m_theme.warning, m_theme.activations};
        const qreal top = row.top() + 16;
        for (int column = 0; column < kColumns; ++column) {
            const auto c = static_cast<std::size_t>(column);
            const qreal right = columnRight(row.right(), column);
            painter.setFont(uiFont(14, QFont::DemiBold));
            painter.setPen(toQColor(m_theme.text));
            painter.drawText(QRectF(right - kColumnWidth, top, kColumnWidth, 20), Qt::AlignRight | Qt::AlignVCenter, texts[c]);
            if (shares[c] < 0) {
                if (worth.misfit) { // a time of no run
                    painter.setFont(uiFont(11, QFont::DemiBold));
                    painter.setPen(toQColor(m_theme.error));
                    painter.drawText(QRectF(right - kColumnWidth, top + 20, kColumnWidth, 16), Qt::AlignRight | Qt::AlignVCenter,
                                     ScheduleChooser::tr("does not fit"));
                }
                continue;
            }
            const qreal width = kColumnWidth - 28;
            const QRectF bar(right - width, top + 26, width, 4);
            painter.fillRect(bar, toQColor(m_theme.border));
            painter.fillRect(QRectF(bar.left(), bar.top(), width * std::clamp(shares[c], 0.0, 1.0), bar.height()),
                             toQColor(colors[c]));
        }
    }

    double mostActivationBytes() const
    {
        double most = 1;
        for (const ScheduleCandidate& candidate : m_candidates)
            if (candidate.worth)
                most = std::max(most, static_cast<double>(candidate.worth->activationBytes));
        return most;
    }

    const ScheduleCandidates& m_candidates;
    const Theme& m_theme;
};

/// Headings of the columns of numbers.
class ColumnHeadings : public QWidget {
public:
    explicit ColumnHeadings(const Theme& theme) : m_theme(theme) { setFixedHeight(20); }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setFont(uiFont(11, QFont::DemiBold));
        painter.setPen(toQColor(m_theme.mutedText));
        const std::array<QString, kColumns> texts{ScheduleChooser::tr("Step"), ScheduleChooser::tr("Idle"),
                                                  ScheduleChooser::tr("Activations")};
        for (int column = 0; column < kColumns; ++column)
            painter.drawText(QRectF(columnRight(width() - kFamilyScrollBar, column) - kColumnWidth, 0, kColumnWidth, height()),
                             Qt::AlignRight | Qt::AlignVCenter, texts[static_cast<std::size_t>(column)]);
    }

private:
    const Theme& m_theme;
};

/// `areAllWeighed`: until then those that are listed stay where they are.
double keyOf(const ScheduleCandidate& candidate, ScheduleChooser::Order order, bool areAllWeighed)
{
    if (order == ScheduleChooser::Order::listed && !areAllWeighed)
        return 0;
    if (!candidate.worth || !candidate.whyNot.empty())  // or is not weighed yet
        return std::numeric_limits<double>::infinity(); // what cannot be had comes last
    switch (order) {
    case ScheduleChooser::Order::listed:
        return 0;
    case ScheduleChooser::Order::time:
        return candidate.worth->stepSeconds;
    case ScheduleChooser::Order::idle:
        return candidate.worth->idleOfSpan;
    case ScheduleChooser::Order::memory:
        return static_cast<double>(candidate.worth->activationBytes);
    }
    return 0;
}

/// What a screen reader says of a row.
QString spoken(const ScheduleCandidate& candidate)
{
    QString text = fromView(candidate.title) + QStringLiteral(": ") + fromView(candidate.character);
    if (!candidate.isWeighed)
        return text + ScheduleChooser::tr(". Being weighed");
    if (!candidate.whyNot.empty())
        return text + ScheduleChooser::tr(". Not possible: %1").arg(fromView(candidate.whyNot));
    if (candidate.worth)
        text += ScheduleChooser::tr(". Step %1, slowest rank idle %2, activations %3")
                    .arg(durationQuantity(candidate.worth->stepSeconds).text(),
                         percentQuantity(candidate.worth->idleOfSpan).text(), memoryText(*candidate.worth));
    if (candidate.worth && candidate.worth->misfit)
        text += ScheduleChooser::tr(". Does not fit: %1").arg(QString::fromStdString(candidate.worth->misfit->text()));
    return text;
}

} // namespace

ScheduleChooser::ScheduleChooser(const Theme& theme, QWidget* parent)
    : QDialog(parent), m_theme(theme), m_candidates(std::make_unique<ScheduleCandidates>()), m_order(new ChoiceBox),
      m_list(new QListWidget), m_source(new QLabel), m_note(new QLabel), m_progress(new QProgressBar),
      m_use(new QPushButton(tr("Use This Schedule"))), m_compare(new QPushButton(tr("Add to Comparison")))
{
    setObjectName(QStringLiteral("scheduleChooser"));
    setWindowTitle(tr("Choose a Schedule"));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(920, 640);

    m_order->addItem(tr("As listed"), static_cast<int>(Order::listed));
    m_order->addItem(tr("Shortest first"), static_cast<int>(Order::time));
    m_order->addItem(tr("Least idle"), static_cast<int>(Order::idle));
    m_order->addItem(tr("Least activations"), static_cast<int>(Order::memory));
    m_order->setAccessibleName(tr("Order"));
    connect(m_order, &QComboBox::currentIndexChanged, this, &ScheduleChooser::fill);
    auto* orderLabel = new QLabel(tr("&Order"));
    orderLabel->setBuddy(m_order);
    auto* top = new QHBoxLayout;
    top->setSpacing(8);
    top->addWidget(orderLabel);
    top->addWidget(m_order);
    m_headings = new ColumnHeadings(theme);
    top->addWidget(m_headings, 1);

    m_list->setAccessibleName(tr("Schedules"));
    m_list->setItemDelegate(new CandidateDelegate(*m_candidates, theme, m_list));
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(m_list, &QListWidget::currentRowChanged, this, &ScheduleChooser::showSelected);
    connect(m_list, &QListWidget::itemActivated, this, &ScheduleChooser::choose);

    setRole(m_note, "small");
    m_note->setWordWrap(true);
    setRole(m_source, "small");
    m_source->setWordWrap(true);
    setRole(m_use, "primary");
    m_use->setObjectName(QStringLiteral("useSchedule"));
    m_use->setDefault(true);
    m_use->setEnabled(false);
    connect(m_use, &QPushButton::clicked, this, &ScheduleChooser::choose);
    m_compare->setEnabled(false);
    m_compare->setToolTip(tr("Lays this job with that schedule beside the others of the comparison, up to six"));
    connect(m_compare, &QPushButton::clicked, this, [this] {
        if (const ScheduleCandidate* candidate = selected(); candidate && candidate->whyNot.empty())
            Q_EMIT compareRequested(QString::fromStdString(candidate->kind));
    });
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addWidget(m_source);
    words->addWidget(m_note);
    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(8);
    bottom->addWidget(m_compare);
    bottom->addStretch();
    bottom->addWidget(cancel);
    bottom->addWidget(m_use);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(8);
    column->addLayout(top);
    column->addWidget(m_progress);
    column->addWidget(m_list, 1);
    column->addLayout(words);
    column->addLayout(bottom);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(4);
    m_progress->setAccessibleName(tr("Schedules weighed"));
    QSizePolicy keepsItsRoom = m_progress->sizePolicy(); // rows do not jump when it goes
    keepsItsRoom.setRetainSizeWhenHidden(true);
    m_progress->setSizePolicy(keepsItsRoom);
    tellProgress();
    m_list->setFocus();
}

ScheduleChooser::~ScheduleChooser() = default;

void ScheduleChooser::setCandidates(const ScheduleCandidates& candidates)
{
    *m_candidates = candidates;
    fill();
    tellProgress();
}

void ScheduleChooser::setCandidate(std::size_t place, const ScheduleCandidate& candidate)
{
    (*m_candidates)[place] = candidate;
    if (static_cast<Order>(m_order->currentData().toInt()) == Order::listed && !isReady()) {
        dress(*m_list->item(static_cast<int>(place)), candidate);
        m_list->viewport()->update(); // bars are as long beside the longest
        showSelected();
    } else {
        fill();
    }
    tellProgress();
}

bool ScheduleChooser::isReady() const
{
    return !m_candidates->empty() &&
           std::all_of(m_candidates->begin(), m_candidates->end(), [](const ScheduleCandidate& c) { return c.isWeighed; });
}

/// How far it is; then what columns mean, unless there is other news.
void ScheduleChooser::tellProgress()
{
    const auto all = static_cast<int>(m_candidates->size());
    const auto done = static_cast<int>(
        std::count_if(m_candidates->begin(), m_candidates->end(), [](const ScheduleCandidate& c) { return c.isWeighed; }));
    m_progress->setRange(0, all);
    m_progress->setValue(done);
    m_progress->setVisible(!isReady());
    if (m_hasNews)
        return;
    m_tells = !isReady();
    if (m_tells) {
        m_note->setText(all == 0 ? tr("Weighing every schedule…") : tr("Weighing every schedule: %1 of %2").arg(done).arg(all));
        placeNotes();
        return;
    }
    m_note->setText(
        tr("This job with each of them, simulated. Idle: time between passes of the rank that takes longest; the "
           "step's bubble is the mean of all ranks. Activations at the peak of the fullest rank.") +
        (std::any_of(m_candidates->begin(), m_candidates->end(), [](const ScheduleCandidate& c) { return c.isSketchOwn; })
             ? QString()
             : QLatin1Char(' ') + tr("So many passes are a blur: the drawings are of four ranks.")));
    m_headings->setToolTip(m_note->text());
    placeNotes();
}

void ScheduleChooser::resizeEvent(QResizeEvent* event)
{
    QDialog::resizeEvent(event);
    placeNotes();
}

/// The list comes first.
void ScheduleChooser::placeNotes()
{
    const bool hasRoom = height() >= kRoomForNotes;
    m_source->setVisible(hasRoom);
    m_note->setVisible(hasRoom || m_tells);
}

void ScheduleChooser::fill()
{
    const auto* before = selected();
    const QString kind = before ? QString::fromStdString(before->kind) : QString();
    const auto order = static_cast<Order>(m_order->currentData().toInt());
    std::vector<std::size_t> places(m_candidates->size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    const bool areAllWeighed = isReady();
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        return keyOf((*m_candidates)[a], order, areAllWeighed) < keyOf((*m_candidates)[b], order, areAllWeighed);
    });
    const int scrolled = m_list->verticalScrollBar()->value();
    const QSignalBlocker quiet(m_list); // a button that is pressed meanwhile must not be disabled between two selections
    m_list->clear();
    for (const std::size_t place : places) {
        auto* item = new QListWidgetItem;
        item->setData(kIndexRole, static_cast<int>(place));
        dress(*item, (*m_candidates)[place]);
        m_list->addItem(item);
        const bool wanted = kind.isEmpty() ? (*m_candidates)[place].isCurrent : fromView((*m_candidates)[place].kind) == kind;
        if (wanted)
            m_list->setCurrentItem(item);
    }
    if (before)
        m_list->verticalScrollBar()->setValue(scrolled);
    showSelected();
}

/// What is said of a row; the delegate draws the rest.
void ScheduleChooser::dress(QListWidgetItem& item, const ScheduleCandidate& candidate) const
{
    item.setData(Qt::AccessibleTextRole, spoken(candidate));
    item.setToolTip(fromView(candidate.whyNot));
}

const ScheduleCandidate* ScheduleChooser::selected() const
{
    const QListWidgetItem* item = m_list->currentItem();
    return item ? &(*m_candidates)[static_cast<std::size_t>(item->data(kIndexRole).toInt())] : nullptr;
}

void ScheduleChooser::showSelected()
{
    const ScheduleCandidate* candidate = selected();
    m_use->setEnabled(candidate && candidate->isWeighed && candidate->whyNot.empty());
    m_compare->setEnabled(m_use->isEnabled());
    QString text;
    if (candidate) {
        text = tr("Source: %1").arg(fromView(candidate->source));
        if (candidate->worth)
            text = tr("Holds at most %1 micro-batches a rank · %2")
                       .arg(QString::number(candidate->worth->peakMicrobatches, 'g', 3), text);
    }
    m_source->setText(text);
}

void ScheduleChooser::choose()
{
    const ScheduleCandidate* candidate = selected();
    if (!candidate || !candidate->isWeighed || !candidate->whyNot.empty())
        return;
    Q_EMIT chosen(QString::fromStdString(candidate->kind));
    accept();
}

void ScheduleChooser::tell(const QString& what)
{
    m_note->setText(what);
    m_tells = m_hasNews = true;
    placeNotes();
}

void ScheduleChooser::setOrder(Order order)
{
    m_order->setCurrentIndex(m_order->findData(static_cast<int>(order)));
}

QStringList ScheduleChooser::kindsShown() const
{
    QStringList kinds;
    for (int row = 0; row < m_list->count(); ++row)
        kinds << QString::fromStdString(
            (*m_candidates)[static_cast<std::size_t>(m_list->item(row)->data(kIndexRole).toInt())].kind);
    return kinds;
}

void ScheduleChooser::select(const QString& kind)
{
    const qsizetype row = kindsShown().indexOf(kind);
    m_list->setCurrentRow(static_cast<int>(row));
}

} // namespace app
