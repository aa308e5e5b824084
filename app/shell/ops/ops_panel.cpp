#include "app/shell/ops/ops_panel.h"

#include "app/shell/ops/duration_column.h"
#include "app/shell/ops/word_completer.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/scenario_header.h"
#include "app/shell/widgets/style.h"
#include "app/step/op_selection.h"
#include "app/views/common/labels.h"
#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/text/number_text.h"

#include <QAbstractItemView>
#include <QClipboard>
#include <QComboBox>
#include <QCompleter>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {
namespace {

constexpr int kSoonMs = 60;         ///< after a change: typing and dragging go on
constexpr int kClassSwatch = 10;    ///< of a class
constexpr int kButtonsBeside = 460; ///< narrower, the buttons stand below what they are about
constexpr int kWholeWords = 340;

QToolButton* button(const QString& text, const QString& what)
{
    auto* out = new QToolButton;
    out->setText(text);
    out->setToolTip(what);
    setRole(out, "button");
    return out;
}

/// `examples`: that find something in what is shown.
QString queryHelp(const sim::OpQueryExamples& examples)
{
    QString out = OpsPanel::tr("A part of a name, such as %1; a kind of collective: all-reduce, all-gather, reduce-scatter, "
                               "all-to-all, ring-shift, send, receive;\n"
                               "a pass as the timeline writes it: F3 (of micro-batch 3), 3B (of stage 3), 0F3; or an "
                               "expression, such as %2.\n"
                               "and, or, not, + - * /, contains(name, \"attn\"), and of each op:")
                      .arg(QString::fromStdString(examples.part), QString::fromStdString(examples.expression));
    for (const sim::OpQueryName& name : sim::opQueryNames())
        out += QStringLiteral("\n%1: %2").arg(QString::fromLatin1(name.name), QString::fromUtf8(name.what));
    return out;
}

/// Nothing was found among passes.
QString whyNoPass(const QString& query, const sim::Simulation* of)
{
    static const QRegularExpression kStage(QStringLiteral("^(\\d+)[FBWIOfbwio]\\d*$"));
    if (const auto match = kStage.match(query.trimmed()); match.hasMatch() && of != nullptr)
        if (const int stages = of->scenario().stages(); match.captured(1).toLongLong() >= stages)
            return stages == 1 ? OpsPanel::tr("There is no stage %1: all layers are of stage 0.").arg(match.captured(1))
                               : OpsPanel::tr("There is no stage %1: they are 0 to %2.").arg(match.captured(1)).arg(stages - 1);
    return OpsPanel::tr("No pass is so. Kernels and collectives have names of their own: show them first.");
}

/// Does a table of what one selects say the same as of the other?
bool selectSameOps(const Selection& a, const Selection& b)
{
    return a.ranks == b.ranks && a.range == b.range && a.classes == b.classes;
}

/// "4,608 ops of 16 ranks in 12.3 ms"
QString summaryText(const sim::OpTable& table, bool isRange)
{
    const QString what = QString::fromStdString(table.ofKernels ? sim::countedText(table.all.count, "op")
                                                                : sim::countedText(table.all.count, "pass"));
    const QString ranks = table.ranks == 1 ? OpsPanel::tr("1 rank") : OpsPanel::tr("%1 ranks").arg(separated(table.ranks));
    const QString length = QString::fromStdString(durationText(static_cast<double>(table.lengthNs())));
    const bool isCut = table.all.wholeNs > table.all.totalNs; // of those that begin before it, or end after
    return isRange ? OpsPanel::tr("%1 of %2 in the selected %3").arg(what, ranks, length) +
                         (isCut ? OpsPanel::tr("; totals are of that time, means and lengths of whole ops") : QString())
                   : OpsPanel::tr("%1 of %2 in %3").arg(what, ranks, length);
}

} // namespace

OpsPanel::OpsPanel(QWidget* parent)
    : QWidget(parent), m_grouping(new ChoiceBox), m_query(new QLineEdit), m_kernels(button(tr("Show kernels"), {})),
      m_copy(button(tr("Copy"), tr("The selected rows, else all, as spreadsheets take them"))),
      m_save(button(tr("Save CSV…"), tr("The selected rows, else all, with exact numbers"))),
      m_summary(new ElidedLabel("muted12")), m_failure(new QLabel), m_view(new QTableView), m_model(new OpTableModel(this)),
      m_sorted(new QSortFilterProxyModel(this))
{
    setRole(this, "form");
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Table of ops"));
    setFocusProxy(m_query);
    for (const auto& [grouping, text] : {std::pair{sim::OpGrouping::name, tr("By name")},
                                         {sim::OpGrouping::opClass, tr("By class")},
                                         {sim::OpGrouping::rank, tr("By rank")},
                                         {sim::OpGrouping::stage, tr("By stage")}})
        m_grouping->addItem(text, static_cast<int>(grouping));
    m_grouping->setAccessibleName(tr("What ops are added up by"));
    m_query->setAccessibleName(tr("Only these ops"));
    m_query->setClearButtonEnabled(true);
    QStringList words;
    for (const char* word : sim::opQueryWords())
        words << QLatin1String(word);
    for (const sim::OpQueryName& name : sim::opQueryNames())
        words << QLatin1String(name.name);
    words.removeDuplicates();
    const auto* completer = new WordCompleter(*m_query, words);
    completer->list().popup()->setAccessibleName(tr("Words of the query"));
    m_kernels->setToolTip(tr("Every kernel and collective, not only the passes they are in"));
    m_kernels->hide();
    setRole(m_failure, "error");
    m_failure->setWordWrap(true);
    m_failure->hide();

    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(OpTableModel::kSortRole);
    setRole(m_view, "table");
    m_view->setHorizontalHeader(new OpTableHeader(m_view));
    m_view->setModel(m_sorted);
    m_view->setAccessibleName(tr("Ops"));
    m_view->setSortingEnabled(true);
    m_view->sortByColumn(-1, Qt::DescendingOrder); // as the table comes: the most time first
    m_view->verticalHeader()->hide();
    m_view->setShowGrid(false);
    m_view->setWordWrap(false);
    m_view->setTabKeyNavigation(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_view->setFont(uiFont(12));
    m_view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->setItemDelegateForColumn(static_cast<int>(OpColumn::durations), new DurationBarsDelegate(m_view));
    m_view->setIconSize({kClassSwatch, kClassSwatch});
    QHeaderView& header = *m_view->horizontalHeader();
    header.setSectionResizeMode(QHeaderView::ResizeToContents);
    header.setResizeContentsPrecision(64); // rows that are looked at for the width of a column
    header.setSectionResizeMode(static_cast<int>(OpColumn::durations), QHeaderView::Fixed);
    header.setMinimumSectionSize(56);
    m_view->verticalHeader()->setDefaultSectionSize(m_view->fontMetrics().height() + 8);

    constexpr int kLowestTable = 56; // its heading in two lines and the beginning of a row: lower windows have no more
    m_view->setMinimumHeight(kLowestTable);

    auto* asked = new QHBoxLayout;
    asked->setSpacing(8);
    asked->addWidget(m_query, 1);
    asked->addWidget(m_grouping);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch(1);
    for (QToolButton* each : {m_kernels, m_copy, m_save}) {
        each->setAccessibleName(each->text());
        buttons->addWidget(each);
    }
    m_found = new QBoxLayout(QBoxLayout::LeftToRight);
    m_found->setSpacing(8);
    m_found->addWidget(m_summary, 1);
    m_found->addLayout(buttons);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 6, 12, 6);
    column->setSpacing(4);
    column->addLayout(asked);
    column->addLayout(m_found);
    column->addWidget(m_failure);
    column->addWidget(m_view, 1);

    m_soon.setSingleShot(true);
    m_soon.setInterval(kSoonMs);
    connect(&m_soon, &QTimer::timeout, this, &OpsPanel::refresh);
    connect(m_grouping, &QComboBox::currentIndexChanged, this, [this] {
        m_view->sortByColumn(-1, Qt::DescendingOrder);
        refreshSoon();
    });
    connect(m_query, &QLineEdit::textChanged, this, &OpsPanel::refreshSoon);
    connect(m_kernels, &QToolButton::clicked, this, &OpsPanel::kernelsRequested);
    connect(m_copy, &QToolButton::clicked, this, &OpsPanel::copy);
    connect(m_save, &QToolButton::clicked, this, &OpsPanel::chooseFile);
    m_view->installEventFilter(this);
    connect(m_view, &QTableView::activated, this, &OpsPanel::goToLongest);
}

OpsPanel::~OpsPanel()
{
    m_worker.stop();
}

void OpsPanel::follow(Desk& desk)
{
    m_desk = &desk;
    for (const auto changed : {&Desk::opened, &Desk::stepChanged, &Desk::detailChanged})
        connect(&desk, changed, this, &OpsPanel::refreshSoon);
    connect(&desk, &Desk::selectionChanged, this, [this](bool onlyCursor) {
        if (!onlyCursor && !selectSameOps(m_desk->selection(), m_shownSelection))
            refreshSoon();
    });
}

void OpsPanel::setTheme(const Theme& theme)
{
    m_model->setTheme(theme);
}

void OpsPanel::setGrouping(sim::OpGrouping grouping)
{
    m_grouping->setCurrentIndex(m_grouping->findData(static_cast<int>(grouping)));
}

void OpsPanel::setQuery(const QString& query)
{
    m_query->setText(query);
}

/// What a table copies by itself is the one cell that is current.
bool OpsPanel::eventFilter(QObject* of, QEvent* event)
{
    if (event->type() != QEvent::KeyPress || !static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy))
        return QWidget::eventFilter(of, event);
    copy();
    return true;
}

void OpsPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    refreshSoon();
}

/// Nobody sees it: it is made when somebody does.
void OpsPanel::refresh()
{
    if (!isVisible() || !m_desk)
        return;
    m_shownSelection = m_desk->selection();
    m_worker.dropAll();
    m_isAsked = false;
    if (!m_desk->step().trace) {
        m_kernels->hide();
        showNothing(m_desk->whyNoStep());
        return;
    }
    auto query = std::make_shared<const sim::OpQuery>();
    try {
        query = std::make_shared<const sim::OpQuery>(sim::OpQuery::parse(m_query->text().toStdString()));
    } catch (const sim::ExpressionError& error) {
        showNothing(QString::fromUtf8(error.what()));
        return;
    }
    m_isAsked = true;
    const auto grouping = static_cast<sim::OpGrouping>(m_grouping->currentData().toInt());
    m_worker.ask(
        0,
        [step = m_desk->step(), selection = m_shownSelection, query, grouping] {
            sim::OpSelection ops = opSelection(step.simulation.get(), *step.trace, selection);
            ops.filter = query->filterOf(*step.trace, step.simulation.get());
            const ClassNames names(*step.trace, step.simulation.get());
            const auto table = std::make_shared<const sim::OpTable>(shownOpTable(*step.trace, names, grouping, ops));
            return MadeTable{table, names, sim::opQueryExamples(*step.trace, *table)};
        },
        [this](const MadeTable& made) { show(made); },
        [this](const QString& why) {
            m_isAsked = false;
            showNothing(why);
        });
}

void OpsPanel::show(const MadeTable& made)
{
    const auto& [table, names, examples] = made;
    m_isAsked = false;
    m_model->setTable(table, names);
    m_summary->setText(summaryText(*table, m_shownSelection.range.has_value()));
    m_kernels->setVisible(!table->ofKernels && m_desk->simulation());
    if (!examples.expression.empty()) {
        m_query->setPlaceholderText(
            examples.part.empty()
                ? QString::fromStdString(examples.expression)
                : tr("%1, or %2").arg(QString::fromStdString(examples.part), QString::fromStdString(examples.expression)));
        m_query->setToolTip(queryHelp(examples));
    }
    for (const OpColumn column : {OpColumn::bytes, OpColumn::flopRate}) // passes have none
        m_view->setColumnHidden(static_cast<int>(column), opValue(*table, table->all, column) == 0);
    fitDurations();
    tellFailure(table->all.count == 0 && !table->ofKernels && !m_query->text().isEmpty()
                    ? whyNoPass(m_query->text(), m_desk->simulation().get())
                    : QString());
}

/// Rows beside an error would be read as what it asked for.
void OpsPanel::showNothing(const QString& why)
{
    m_summary->setText({});
    m_model->clear();
    tellFailure(why);
}

/// They have what the other columns leave, and never less than can be told apart.
void OpsPanel::fitDurations()
{
    QHeaderView& header = *m_view->horizontalHeader();
    const auto durations = static_cast<int>(OpColumn::durations);
    const int others = header.length() - header.sectionSize(durations);
    header.resizeSection(durations, std::max(narrowestDurations(m_view->fontMetrics()), m_view->viewport()->width() - others));
}

void OpsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fold();
    fitDurations();
}

/// Behind the form, where a low window has it, it is as narrow as the form is.
void OpsPanel::fold()
{
    m_kernels->setText(width() < kWholeWords ? tr("Kernels") : tr("Show kernels"));
    m_save->setText(width() < kWholeWords ? tr("CSV…") : tr("Save CSV…"));
    const auto wanted = width() < kButtonsBeside ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight;
    if (m_found->direction() != wanted)
        m_found->setDirection(wanted);
}

void OpsPanel::tellFailure(const QString& why)
{
    m_failure->setText(why);
    m_failure->setVisible(!why.isEmpty());
    m_copy->setEnabled(m_model->rowCount() > 0);
    m_save->setEnabled(m_model->rowCount() > 0);
}

QString OpsPanel::summary() const
{
    return m_summary->text();
}

QString OpsPanel::failure() const
{
    return m_failure->text();
}

/// Of the group in that row.
void OpsPanel::goToLongest(const QModelIndex& index)
{
    const sim::OpGroup& group = m_model->group(m_sorted->mapToSource(index).row());
    Q_EMIT spanRequested({group.longestTrack, static_cast<std::uint32_t>(group.longestSpan)});
}

Table OpsPanel::shownTable() const
{
    if (!m_model->table())
        return {};
    const Table all = tableOf(*m_model->table());
    Table out{.header = all.header, .rows = {}};
    const bool isSome = m_view->selectionModel()->hasSelection();
    for (int row = 0; row < m_sorted->rowCount(); ++row)
        if (!isSome || m_view->selectionModel()->isRowSelected(row, {}))
            out.rows.push_back(all.rows[static_cast<std::size_t>(m_sorted->mapToSource(m_sorted->index(row, 0)).row())]);
    return out;
}

void OpsPanel::copy()
{
    QGuiApplication::clipboard()->setText(QString::fromStdString(tabbedText(shownTable())));
}

void OpsPanel::chooseFile()
{
    const QString path = chooseSaveFile(this, tr("Save Table"), QStringLiteral("ops.csv"), tr("Tables (*.csv)"));
    if (path.isEmpty())
        return;
    try {
        sim::replaceFile(path.toStdString(), csvText(shownTable()));
        Q_EMIT saved(path);
    } catch (const sim::Error& error) {
        Q_EMIT failed(path, QString::fromUtf8(error.what()));
    }
}

} // namespace app
