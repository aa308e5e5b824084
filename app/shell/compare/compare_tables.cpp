#include "app/shell/compare/compare_tables.h"

#include "app/session/scenario_keys.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/views/common/labels.h"
#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr int kRowHeight = 22;
const QString kNone = QStringLiteral("–");

QString valueText(RowUnit unit, double value)
{
    if (value == 0)
        return kNone;
    if (!std::isfinite(value)) // of a run whose failures undo all that it trains
        return QObject::tr("practically never ends");
    switch (unit) {
    case RowUnit::seconds:
        return durationQuantity(value).text();
    case RowUnit::gib:
        return memoryQuantity(value).text();
    case RowUnit::fraction:
        return percentQuantity(value).text();
    case RowUnit::perSecond:
        return countQuantity(value).text();
    case RowUnit::days: {
        constexpr double kSecondsADay = 86400;
        return QString::fromStdString(sim::durationText(value * kSecondsADay));
    }
    case RowUnit::gpuHours:
        return QObject::tr("%1 h").arg(countQuantity(value).text());
    case RowUnit::kilowattHours:
        return QString::fromStdString(sim::energyText(value));
    case RowUnit::money:
        return countQuantity(value).text();
    case RowUnit::count: {
        constexpr double kCounted = 1e6; // beyond, three digits say it
        return value < kCounted ? separated(std::llround(value)) : countQuantity(value).text();
    }
    }
    return {};
}

QString deltaText(RowUnit unit, double delta)
{
    if (delta == 0 || !std::isfinite(delta))
        return kNone;
    const QString size =
        unit == RowUnit::fraction
            ? QObject::tr("%1 pts").arg(QString::number(std::fabs(delta) * 100, 'f', std::fabs(delta) < 0.0995 ? 2 : 1))
            : valueText(unit, std::fabs(delta));
    return (delta > 0 ? QStringLiteral("+") : QStringLiteral("−")) + size;
}

/// What differs by less than both could ever be told apart by is none.
QString deltaText(const ComparisonRow& row)
{
    constexpr double kNoise = 1e-5;
    const double size = std::max(std::fabs(row.a), std::fabs(row.b));
    return row.delta() != 0 && std::fabs(row.delta()) < kNoise * size ? QStringLiteral("≈0") : deltaText(row.unit, row.delta());
}

/// Why the three of a row may not add up as they are told; empty where they do.
QString roundingText(RowUnit unit, double a, double b)
{
    const auto told = [unit](double value) { return valueText(unit, value).toStdString(); };
    return addsUpAsTold(told(a), told(b), told(std::fabs(b - a)))
               ? QString()
               : QObject::tr("The exact difference, rounded once: %1.").arg(QLatin1String(kFiguresAreRounded));
}

/// With air at the left, so that lists of neighbouring columns do not run together.
class AiryCells : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        constexpr int kAir = 12;
        return QStyledItemDelegate::sizeHint(option, index) + QSize(kAir, 0);
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyleOptionViewItem inner = option;
        if (index.column() > 0)
            inner.rect.setLeft(inner.rect.left() + kLeft);
        QStyledItemDelegate::paint(painter, inner, index);
    }

private:
    static constexpr int kLeft = 8;
};

constexpr int kNameColumn = 0;

/// The names of rows, which stay where they are while columns scroll: written as the cells beside them.
class RowNames : public QHeaderView {
public:
    explicit RowNames(QWidget* parent) : QHeaderView(Qt::Vertical, parent)
    {
        setSectionsClickable(false);
        setHighlightSections(false);
        setSectionResizeMode(QHeaderView::Fixed);
    }
    int neededWidth() const
    {
        int width = 0;
        for (int row = 0; row < count(); ++row)
            width = std::max(width, static_cast<int>(std::ceil(QFontMetricsF(fontOf(row)).horizontalAdvance(textOf(row)))));
        return width + kLeft + kRight;
    }

protected:
    void paintSection(QPainter* painter, const QRect& rect, int row) const override
    {
        const QVariant color = model()->headerData(row, Qt::Vertical, Qt::ForegroundRole);
        const QFont font = fontOf(row);
        painter->save();
        painter->setFont(font);
        painter->setPen(color.isValid() ? color.value<QBrush>().color() : palette().color(QPalette::Text));
        const QRect inside = rect.adjusted(kLeft, 0, -kRight, 0);
        painter->drawText(inside, Qt::AlignLeft | Qt::AlignVCenter,
                          QFontMetrics(font).elidedText(textOf(row), Qt::ElideRight, inside.width()));
        painter->restore();
    }

private:
    static constexpr int kLeft = 4, kRight = 8;
    QString textOf(int row) const { return model()->headerData(row, Qt::Vertical).toString(); }
    QFont fontOf(int row) const
    {
        const QVariant font = model()->headerData(row, Qt::Vertical, Qt::FontRole);
        return font.isValid() ? font.value<QFont>() : uiFont(12);
    }
};

QTableWidget* table(const QStringList& headers, const QString& name)
{
    auto* out = new QTableWidget(0, static_cast<int>(headers.size()));
    out->setHorizontalHeaderLabels(headers);
    out->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    out->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    out->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    out->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    out->horizontalHeader()->setHighlightSections(false);
    out->horizontalHeader()->setSectionsClickable(false);
    out->verticalHeader()->hide();
    out->verticalHeader()->setDefaultSectionSize(kRowHeight);
    out->verticalHeader()->setMinimumSectionSize(kRowHeight);
    out->setEditTriggers(QAbstractItemView::NoEditTriggers);
    out->setSelectionMode(QAbstractItemView::NoSelection);
    out->setShowGrid(false);
    out->setWordWrap(false);
    out->setTextElideMode(Qt::ElideRight);
    out->setFont(uiFont(12));
    out->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    out->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // the tables scroll together
    out->setAccessibleName(name);
    return out;
}

/// Of several scenarios: columns below each other lie below one head, and scroll with it.
QTableWidget* severalTable(const QString& first, const QString& name)
{
    QTableWidget* out = table({first}, name);
    out->setItemDelegate(new AiryCells(out));
    out->setVerticalHeader(new RowNames(out));
    out->verticalHeader()->setDefaultSectionSize(kRowHeight);
    out->verticalHeader()->setMinimumSectionSize(kRowHeight);
    out->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed); // before a column is hidden, which would keep its room
    out->setCornerButtonEnabled(false);
    out->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    out->setTabKeyNavigation(false); // Tab goes on to what is beside the table
    return out;
}

QString askHint()
{
    return CompareTables::tr("Click: where this number comes from");
}

QLabel* section(const QString& text)
{
    auto* out = new QLabel(text);
    setRole(out, "section");
    out->setContentsMargins(4, 10, 0, 2);
    return out;
}

/// "/schedule/virtual_stages" -> "virtual stages", "/schedule/kind" -> "schedule kind": as the form calls it, behind so many of
/// the words that it lies under. The whole pointer is in the tooltip.
QString keyName(const std::string& pointer, int under)
{
    const QString whole = QString::fromStdString(pointer), last = whole.section(QLatin1Char('/'), -1);
    const bool saysLittle = last == QLatin1String("kind") || last == QLatin1String("name") || last == QLatin1String("id") ||
                            last == QLatin1String("base");
    const ScenarioKey* const key = saysLittle ? nullptr : findScenarioKey(pointer);
    const int parents = under + (saysLittle ? 1 : 0);
    QString name = key != nullptr ? QString::fromStdString(sentenceName(*key)) : last;
    if (parents > 0)
        name = whole.section(QLatin1Char('/'), -1 - parents, -2) + QLatin1Char(' ') + name;
    return name.replace(QLatin1Char('/'), QLatin1Char(' ')).replace(QLatin1Char('_'), QLatin1Char(' ')).trimmed();
}

/// Those that would be called alike say more of where they lie, until they can be told apart.
QStringList keyNames(const std::vector<ScenarioChange>& changes)
{
    QStringList names;
    for (const ScenarioChange& change : changes)
        names << keyName(change.key.pointer, 0);
    constexpr int kDeepest = 4;
    for (int depth = 1; depth <= kDeepest; ++depth) {
        const QStringList before = names;
        for (qsizetype i = 0; i < names.size(); ++i)
            if (before.count(before[i]) > 1)
                names[i] = keyName(changes[static_cast<std::size_t>(i)].key.pointer, depth);
    }
    return names;
}

} // namespace

CompareTables::CompareTables(QWidget* parent)
    : QFrame(parent), m_theme(&lightTheme()), m_changesTitle(section(tr("WHAT IS DIFFERENT"))), m_changesNote(new QLabel),
      m_rowsTitle(section(tr("WHAT IT DOES"))), m_sure(new QLabel), m_stagesTitle(section(tr("BY PIPELINE RANK"))),
      m_changes(table({tr("Key"), tr("A"), tr("B"), {}}, tr("Keys that differ"))),
      m_rows(table({tr("Number"), tr("A"), tr("B"), tr("Difference")}, tr("Numbers of the step"))),
      m_stages(
          table({tr("Rank"), tr("Computing"), tr("Exposed"), tr("Bubble"), tr("Memory")}, tr("Differences by pipeline rank"))),
      m_severalKeys(severalTable(tr("Key"), tr("Keys that differ, a column a scenario"))),
      m_severalRows(severalTable(tr("Number"), tr("Numbers of the steps, a column a scenario"))),
      m_severalHead(severalTable({}, tr("Scenarios"))), m_pane(new QScrollArea), m_headPlace(new QHBoxLayout),
      m_across(new QScrollBar(Qt::Horizontal))
{
    setRole(this, "side");
    m_severalHead->setFocusPolicy(Qt::NoFocus);
    for (QTableWidget* below : {m_severalKeys, m_severalRows})
        below->horizontalHeader()->hide(); // theirs is the head's
    for (QTableWidget* each : severalTables()) {
        connect(each->horizontalScrollBar(), &QScrollBar::valueChanged, m_across, &QScrollBar::setValue);
        connect(m_across, &QScrollBar::valueChanged, each->horizontalScrollBar(), &QScrollBar::setValue);
    }
    connect(m_severalHead->horizontalScrollBar(), &QScrollBar::rangeChanged, this, [this](int least, int most) {
        m_across->setPageStep(m_severalHead->horizontalScrollBar()->pageStep());
        m_across->setRange(least, most);
        m_across->setVisible(most > least && m_severalHead->isVisibleTo(this));
    });
    m_across->hide();
    // Keys are short and say what it is about; long values (names of clusters) give way, and their tooltips have the rest.
    for (const auto& [c, mode] :
         {std::pair{0, QHeaderView::ResizeToContents}, {1, QHeaderView::Stretch}, {2, QHeaderView::Stretch}})
        m_changes->horizontalHeader()->setSectionResizeMode(c, mode);
    for (QLabel* note : {m_changesNote, m_sure}) {
        setRole(note, "muted");
        note->setWordWrap(true);
        note->setContentsMargins(4, 0, 0, 0);
    }
    letAsk(m_rows, &CompareTables::becauseRequested);
    letAsk(m_stages, &CompareTables::stageBecauseRequested);
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(12, 0, 8, 12);
    column->setSpacing(2);
    for (QWidget* part : std::initializer_list<QWidget*>{m_changesTitle, m_changesNote, m_changes, m_severalKeys, m_rowsTitle,
                                                         m_rows, m_severalRows, m_sure, m_stagesTitle, m_stages})
        column->addWidget(part);
    column->addStretch(1);
    m_pane->setWidgetResizable(true);
    m_pane->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setRole(m_pane, "pane");
    m_pane->setWidget(page);
    m_pane->viewport()->installEventFilter(this);
    m_headPlace->addWidget(m_severalHead);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->setSpacing(0);
    whole->addLayout(m_headPlace);
    whole->addWidget(m_pane);
    whole->addWidget(m_across);
    clear();
}

/// The head is as wide as what it heads, with a scroll bar beside that and without.
void CompareTables::placeHead()
{
    constexpr int kLeft = 12, kRight = 8; // of the page
    const QRect seen = m_pane->viewport()->geometry();
    m_headPlace->setContentsMargins(seen.left() + kLeft, 0, m_pane->width() - seen.right() - 1 + kRight, 0);
}

bool CompareTables::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize)
        placeHead();
    return QFrame::eventFilter(watched, event);
}

/// A click, or Enter on the current cell.
void CompareTables::letAsk(QTableWidget* table, void (CompareTables::*requested)(int row, int column))
{
    table->setTabKeyNavigation(false); // Tab goes on to what is beside the table
    table->viewport()->setCursor(Qt::PointingHandCursor);
    connect(table, &QTableWidget::cellClicked, this, requested);
    connect(table, &QTableWidget::cellActivated, this, requested);
}

void CompareTables::setTheme(const Theme& theme)
{
    m_theme = &theme;
    m_severalHead->setStyleSheet(
        QStringLiteral("QTableCornerButton::section { background: transparent; border: none; border-bottom: 1px solid %1; }")
            .arg(toQColor(theme.border).name()));
}

void CompareTables::clear()
{
    showChanges({}, true);
    showRows({});
    showStages({});
    showSeveral({}, {});
    m_changesNote->hide();
    m_changesTitle->hide();
}

void CompareTables::addRow(QTableWidget* to, const std::vector<Cell>& cells)
{
    const int row = to->rowCount();
    to->insertRow(row);
    for (int c = 0; c < static_cast<int>(cells.size()); ++c) {
        const Cell& cell = cells[static_cast<std::size_t>(c)];
        auto* item = new QTableWidgetItem(cell.text);
        item->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        item->setToolTip(cell.tip.isEmpty() ? cell.text : cell.tip);
        if (cell.isBold)
            item->setFont(uiFont(12, QFont::DemiBold));
        if (cell.tint != Tint::none)
            item->setForeground(cell.tint == Tint::better  ? betterColor(*m_theme)
                                : cell.tint == Tint::worse ? toQColor(m_theme->error)
                                                           : toQColor(m_theme->mutedText));
        to->setItem(row, c, item);
    }
}

/// As high as its rows: what is around it scrolls.
void CompareTables::fit(QTableWidget* of) const
{
    of->setFixedHeight(of->horizontalHeader()->sizeHint().height() + of->rowCount() * kRowHeight + 4);
}

void CompareTables::showChanges(const std::vector<ScenarioChange>& changes, bool baselineIsA)
{
    m_changes->setRowCount(0);
    const QString letter = baselineIsA ? QStringLiteral("A") : QStringLiteral("B");
    const QStringList names = keyNames(changes);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const ScenarioChange& change = changes[i];
        const QString& name = names[static_cast<qsizetype>(i)];
        const QString pointer = QString::fromStdString(change.key.pointer);
        const QString a = QString::fromStdString(change.textA), b = QString::fromStdString(change.textB);
        const Tint tint = change.follows ? Tint::muted : Tint::none;
        addRow(m_changes,
               {{name, change.follows ? tr("%1: neither file says it, other keys decide").arg(pointer) : pointer, tint},
                {a, {}, tint},
                {b, {}, tint},
                {change.follows ? tr("follows") : QString(), {}, tint}});
        if (change.follows)
            continue;
        auto* button = new QToolButton;
        button->setText(tr("Use %1").arg(letter));
        setRole(button, "link");
        const QString what = tr("Use %1's %2: %3").arg(letter, name, baselineIsA ? a : b);
        button->setToolTip(what);
        button->setAccessibleName(what);
        connect(button, &QToolButton::clicked, this, [this, i] { Q_EMIT adoptRequested(static_cast<int>(i)); });
        m_changes->setCellWidget(static_cast<int>(i), 3, button);
    }
    m_changesTitle->show();
    m_changesNote->setText(tr("Both scenarios say the same."));
    m_changesNote->setVisible(changes.empty());
    m_changes->setVisible(!changes.empty());
    fit(m_changes);
}

namespace {

/// Of the first row, the step time.
QString surenessText(const ComparisonRow& row)
{
    const sim::LikelyRatio& likely = *row.likely;
    const QString by = QString::fromStdString(likely.basis);
    return row.canTell()
               ? QObject::tr("%1: %2 in %3 of cases, by %4.")
                     .arg(row.name, QString::fromStdString(sim::sureText(likely)),
                          QString::fromStdString(sim::chosenPercentText(likely.level)), by)
               : QObject::tr("%1: the difference is %2, by %3.").arg(row.name, QString::fromLatin1(sim::kCannotTell), by);
}

} // namespace

void CompareTables::showRows(const std::vector<ComparisonRow>& rows)
{
    m_rows->setRowCount(0);
    const auto tintOf = [](const ComparisonRow& row) {
        const bool readsSame = valueText(row.unit, row.a) == valueText(row.unit, row.b);
        if (readsSame || !row.lowerIsBetter || !row.canTell())
            return Tint::muted;
        return (row.delta() < 0) == *row.lowerIsBetter ? Tint::better : Tint::worse;
    };
    const auto joined = [](const QString& tip, const QString& more) {
        return tip.isEmpty() ? more : more.isEmpty() ? tip : tip + QLatin1Char('\n') + more;
    };
    const auto withHint = [joined](const ComparisonRow& row, const QString& tip) {
        return joined(tip, row.because ? askHint() : QString());
    };
    for (const ComparisonRow& row : rows) {
        const QString indent = row.isTotal ? QString() : QStringLiteral("   ");
        addRow(m_rows, {{indent + row.name, row.name, Tint::none, row.isTotal},
                        {valueText(row.unit, row.a), withHint(row, {}), Tint::none, row.isTotal},
                        {valueText(row.unit, row.b), withHint(row, {}), Tint::none, row.isTotal},
                        {deltaText(row),
                         withHint(row, joined(row.likely ? QString::fromStdString(sim::sureText(*row.likely)) : QString(),
                                              roundingText(row.unit, row.a, row.b))),
                         tintOf(row), row.isTotal}});
    }
    m_rowsTitle->setVisible(!rows.empty());
    m_rows->setVisible(!rows.empty());
    const bool isSureKnown = !rows.empty() && rows.front().likely && rows.front().likely->isKnown() && rows.front().delta() != 0;
    m_sure->setVisible(isSureKnown);
    m_sure->setText(isSureKnown ? surenessText(rows.front()) : QString());
    fit(m_rows);
}

void CompareTables::showStages(const std::vector<sim::StageComparison>& stages)
{
    m_stages->setRowCount(0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const sim::StageComparison& stage = stages[i];
        const auto seconds = [](std::int64_t ns) {
            return Cell{deltaText(RowUnit::seconds, static_cast<double>(ns) * 1e-9), askHint()};
        };
        addRow(m_stages, {{tr("pp %1").arg(i)},
                          seconds(stage.use.b.busy() - stage.use.a.busy()),
                          seconds(stage.use.b.exposed() - stage.use.a.exposed()),
                          seconds(stage.deltaNs(sim::StepPart::bubble)),
                          {deltaText(RowUnit::gib, gib(stage.memory.b.total()) - gib(stage.memory.a.total())), askHint()}});
    }
    const bool worthIt = stages.size() > 1;
    m_stagesTitle->setVisible(worthIt);
    m_stages->setVisible(worthIt);
    fit(m_stages);
}

void CompareTables::headSeveral(QTableWidget* of, const QString& nameOfA, const std::vector<Column>& others,
                                const QString& first) const
{
    of->setRowCount(0);
    of->setColumnCount(static_cast<int>(others.size()) + 2);
    of->setHorizontalHeaderItem(kNameColumn, new QTableWidgetItem(first));
    const auto head = [&](int column, QChar letter, const QString& name) {
        auto* item = new QTableWidgetItem(QString(letter));
        item->setToolTip(name);
        of->setHorizontalHeaderItem(column, item);
    };
    head(1, QLatin1Char('A'), nameOfA);
    for (std::size_t i = 0; i < others.size(); ++i)
        head(static_cast<int>(i) + 2, others[i].letter, others[i].name);
    of->setColumnHidden(kNameColumn, true); // its texts stand at the left of what scrolls
}

void CompareTables::nameRows(QTableWidget* of) const
{
    for (int row = 0; row < of->rowCount(); ++row)
        of->setVerticalHeaderItem(row, of->item(row, kNameColumn)->clone());
}

/// Columns of both tables are equally wide, and so are their heads.
void CompareTables::alignSeveral()
{
    constexpr int kWidestColumn = 110, kWidestName = 200; // long lists end in …, their tooltips have them whole
    int names = 0;
    for (const QTableWidget* of : {m_severalKeys, m_severalRows})
        names = std::max(names, static_cast<const RowNames*>(of->verticalHeader())->neededWidth());
    for (QTableWidget* of : severalTables())
        of->verticalHeader()->setFixedWidth(std::min(names, kWidestName));
    for (int column = 1; column < m_severalHead->columnCount(); ++column) {
        int width = m_severalHead->horizontalHeader()->sectionSizeHint(column);
        for (const QAbstractItemView* of : std::initializer_list<const QAbstractItemView*>{m_severalKeys, m_severalRows})
            width = std::max(width, of->sizeHintForColumn(column));
        for (QTableWidget* of : severalTables())
            of->setColumnWidth(column, std::min(width, kWidestColumn));
    }
}

void CompareTables::showSeveral(const QString& nameOfA, const std::vector<Column>& others)
{
    const bool isSeveral = !others.empty();
    for (QWidget* part : std::initializer_list<QWidget*>{m_severalKeys, m_severalRows, m_severalHead})
        part->setVisible(isSeveral);
    if (!isSeveral) {
        m_across->hide();
        return;
    }
    for (QWidget* part : std::initializer_list<QWidget*>{m_changes, m_changesNote, m_rows, m_sure, m_stagesTitle, m_stages})
        part->hide();
    headSeveral(m_severalHead, nameOfA, others, {});
    headSeveral(m_severalKeys, nameOfA, others, tr("Key"));
    headSeveral(m_severalRows, nameOfA, others, tr("Number"));

    std::vector<ScenarioChange> keys; // of any; its A is A's
    std::vector<std::vector<ComparisonRow>> toA;
    for (const Column& other : others) {
        toA.push_back(other.toA);
        for (const ScenarioChange& change : other.changes)
            if (std::none_of(keys.begin(), keys.end(),
                             [&](const ScenarioChange& k) { return k.key.pointer == change.key.pointer; }))
                keys.push_back(change);
    }
    std::stable_partition(keys.begin(), keys.end(), [](const ScenarioChange& key) { return !key.follows; });
    const QStringList keyTexts = keyNames(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Tint tint = keys[i].follows ? Tint::muted : Tint::none;
        std::vector<Cell> cells{{keyTexts[static_cast<qsizetype>(i)], QString::fromStdString(keys[i].key.pointer), tint},
                                {QString::fromStdString(keys[i].textA), {}, tint}};
        for (const Column& other : others) {
            const auto own = std::find_if(other.changes.begin(), other.changes.end(),
                                          [&](const ScenarioChange& c) { return c.key.pointer == keys[i].key.pointer; });
            const bool isOwn = own != other.changes.end();
            cells.push_back({QString::fromStdString(isOwn ? own->textB : keys[i].textA), {}, tint, isOwn});
        }
        addRow(m_severalKeys, cells);
    }
    for (const SeveralRow& row : app::severalRows(toA)) {
        std::vector<Cell> cells{
            {(row.isTotal ? QString() : QStringLiteral("   ")) + row.name, row.name, Tint::none, row.isTotal}};
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const double delta = row.values[i] - row.values[0];
            const bool readsSame = valueText(row.unit, row.values[i]) == valueText(row.unit, row.values[0]);
            const Tint tint = i == 0 || readsSame || !row.lowerIsBetter ? Tint::none
                              : !row.canTell(i)                         ? Tint::muted
                              : (delta < 0) == *row.lowerIsBetter       ? Tint::better
                                                                        : Tint::worse;
            cells.push_back({valueText(row.unit, row.values[i]),
                             i == 0 ? QString() : tr("%1 against A").arg(deltaText(row.unit, delta)), tint, row.isTotal});
        }
        addRow(m_severalRows, cells);
    }
    m_changesTitle->setVisible(!keys.empty());
    m_severalKeys->setVisible(!keys.empty());
    m_rowsTitle->show();
    for (QTableWidget* of : {m_severalKeys, m_severalRows}) {
        nameRows(of);
        of->setFixedHeight(of->rowCount() * kRowHeight + 4);
    }
    m_severalHead->setFixedHeight(m_severalHead->horizontalHeader()->sizeHint().height() + 2);
    alignSeveral();
    placeHead();
}

namespace {

constexpr int kAroundTables = 36; ///< tables: margins, and the scroll bar of all of them

} // namespace

int CompareTables::widthOfRows() const
{
    int width = kAroundTables;
    for (int column = 0; column < m_rows->columnCount(); ++column)
        width += std::max(m_rows->horizontalHeader()->sectionSizeHint(column),
                          static_cast<const QAbstractItemView*>(m_rows)->sizeHintForColumn(column));
    return width;
}

int CompareTables::widthOfSeveral() const
{
    return m_severalHead->verticalHeader()->width() + m_severalHead->horizontalHeader()->length() + kAroundTables;
}

} // namespace app
