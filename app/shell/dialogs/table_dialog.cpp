#include "app/shell/dialogs/table_dialog.h"

#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "sim/error.h"
#include "sim/scenario/files.h"

#include <QAbstractTableModel>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <memory>
#include <utility>

namespace app {
namespace {

bool isNumber(const std::string& cell)
{
    return !cell.empty() && cell.find_first_not_of("0123456789.+-e") == std::string::npos;
}

} // namespace

class TableModel : public QAbstractTableModel {
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setTable(Table table)
    {
        beginResetModel();
        m_table = std::move(table);
        endResetModel();
    }
    const Table& table() const { return m_table; }
    int rowCount(const QModelIndex& parent) const override
    {
        return parent.isValid() ? 0 : static_cast<int>(m_table.rows.size());
    }
    int columnCount(const QModelIndex& parent) const override
    {
        return parent.isValid() ? 0 : static_cast<int>(m_table.header.size());
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        const std::string& cell = m_table.rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
        if (role == Qt::DisplayRole)
            return QString::fromStdString(cell);
        return role == Qt::TextAlignmentRole ? alignmentOf(cell) : QVariant();
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal)
            return {};
        if (role == Qt::DisplayRole)
            return QString::fromStdString(m_table.header[static_cast<std::size_t>(section)]);
        // Over numbers it stands as they do.
        const bool tells = role == Qt::TextAlignmentRole && !m_table.rows.empty();
        return tells ? alignmentOf(m_table.rows.front()[static_cast<std::size_t>(section)]) : QVariant();
    }

private:
    static QVariant alignmentOf(const std::string& cell)
    {
        return QVariant(Qt::AlignVCenter | (isNumber(cell) ? Qt::AlignRight : Qt::AlignLeft));
    }

    Table m_table;
};

TableDialog::TableDialog(SimulationPtr simulation, TracePtr trace, const Selection& selection, const QString& fileName,
                         QWidget* parent)
    : QDialog(parent), m_simulation(std::move(simulation)), m_trace(std::move(trace)), m_selection(selection),
      m_fileName(fileName), m_tables(new ChoiceBox), m_view(new QTableView), m_model(new TableModel(this)), m_what(new QLabel),
      m_failure(new QLabel), m_copy(new QPushButton(tr("Copy"))), m_save(new QPushButton(tr("Save CSV…")))
{
    setWindowTitle(tr("Export Table"));
    resize(980, 600);
    for (const TableInfo& info : tables())
        m_tables->addItem(tr(info.title), QLatin1String(info.name));
    m_tables->setAccessibleName(tr("Table"));
    m_tables->setMinimumWidth(220);
    setRole(m_what, "muted");
    m_what->setWordWrap(true);
    setRole(m_failure, "error");
    m_failure->setWordWrap(true);
    m_failure->hide();
    setRole(m_view, "table");
    m_view->setModel(m_model);
    m_view->setAccessibleName(tr("Preview"));
    m_view->verticalHeader()->hide();
    m_view->horizontalHeader()->setHighlightSections(false);
    m_view->verticalHeader()->setDefaultSectionSize(24);
    m_view->setShowGrid(false);
    m_view->setWordWrap(false);
    m_view->setSelectionMode(QAbstractItemView::NoSelection);
    m_view->horizontalHeader()->setResizeContentsPrecision(64); // rows that are looked at for the width of a column

    auto* close = new QPushButton(tr("Close"));
    m_copy->setToolTip(tr("Cells apart by tabs, as spreadsheets take them"));
    setRole(m_save, "primary");
    m_save->setDefault(true);
    auto* head = new QHBoxLayout;
    head->setSpacing(12);
    head->addWidget(m_tables);
    head->addWidget(m_what, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(close);
    buttons->addStretch(1);
    buttons->addWidget(m_copy);
    buttons->addWidget(m_save);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(12);
    column->addLayout(head);
    column->addWidget(m_view, 1);
    column->addWidget(m_failure);
    column->addLayout(buttons);

    connect(m_tables, &QComboBox::currentIndexChanged, this, &TableDialog::tableChanged);
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_copy, &QPushButton::clicked, this, &TableDialog::copy);
    connect(m_save, &QPushButton::clicked, this, &TableDialog::chooseFile);
    tableChanged();
}

TableDialog::~TableDialog()
{
    m_worker.stop();
}

const Table& TableDialog::table() const
{
    return m_model->table();
}

void TableDialog::show(const char* table)
{
    m_tables->setCurrentIndex(m_tables->findData(QLatin1String(table)));
}

/// A row a span of thousands of ranks takes its time.
void TableDialog::tableChanged()
{
    const TableInfo& info = tables()[static_cast<std::size_t>(m_tables->currentIndex())];
    m_worker.dropAll();
    m_model->setTable({});
    m_failure->hide();
    setPreparing(true);
    m_worker.submit({.kind = 0,
                     .work =
                         [this, &info](const Task& task) {
                             auto made = std::make_shared<Table>(info.make({*m_simulation, *m_trace, m_selection}));
                             task.tell([this, &info, made] { showTable(info, std::move(*made)); });
                         },
                     .failed = [this](const QString& why) { showFailure(why); }});
}

void TableDialog::setPreparing(bool preparing)
{
    m_isPreparing = preparing;
    m_copy->setEnabled(!preparing);
    m_save->setEnabled(!preparing);
    if (preparing)
        m_what->setText(tr("Preparing…"));
}

void TableDialog::showFailure(const QString& why)
{
    m_isPreparing = false;
    m_what->setText({});
    m_failure->setText(tr("The table cannot be made: %1").arg(why));
    m_failure->show();
}

void TableDialog::showTable(const TableInfo& info, Table made)
{
    setPreparing(false);
    m_model->setTable(std::move(made));
    m_view->resizeColumnsToContents();
    constexpr int kWidestColumn = 380;
    for (int column = 0; column < m_model->columnCount({}); ++column)
        m_view->setColumnWidth(column, std::min(m_view->columnWidth(column), kWidestColumn));
    const auto rows = static_cast<std::int64_t>(table().rows.size());
    m_what->setText(rows == 1 ? tr("1 row: %1").arg(tr(info.what)) : tr("%1 rows: %2").arg(separated(rows), tr(info.what)));
}

void TableDialog::save(const QString& path) const
{
    sim::replaceFile(path.toStdString(), csvText(table()));
}

void TableDialog::copy() const
{
    QGuiApplication::clipboard()->setText(QString::fromStdString(tabbedText(table())));
}

void TableDialog::chooseFile()
{
    const QString path =
        chooseSaveFile(this, tr("Save Table"), QStringLiteral("%1-%2.csv").arg(m_fileName, m_tables->currentData().toString()),
                       tr("Tables (*.csv)"));
    if (path.isEmpty())
        return;
    try {
        save(path);
        Q_EMIT saved(path);
        accept();
    } catch (const sim::Error& error) {
        m_failure->setText(QString::fromUtf8(error.what()));
        m_failure->show();
        Q_EMIT failed(path, m_failure->text());
    }
}

} // namespace app
