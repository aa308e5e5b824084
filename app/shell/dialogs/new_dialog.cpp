#include "app/shell/dialogs/new_dialog.h"

#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_keys.h"
#include "app/session/scenario_state.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QStyledItemDelegate>

#include <algorithm>

namespace app {
namespace {

constexpr const char *kUsualModel = "llama3-8b", *kUsualCluster = "h100-sxm-ib400";
constexpr int kMostNodes = 2048;

QString idOf(const KeyOption& option)
{
    return QString::fromStdString(unquoted(option.json));
}

QListWidget* list(const QString& name)
{
    auto* out = new QListWidget;
    out->setAccessibleName(name);
    out->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    out->setTextElideMode(Qt::ElideRight);
    out->setWordWrap(true);
    setRole(out, "choice");
    return out;
}

constexpr int kWhatRole = Qt::UserRole; ///< of a goal: what it means

/// A goal's name above what it means, which wraps.
class GoalDelegate final : public QStyledItemDelegate {
public:
    explicit GoalDelegate(QListWidget* list) : QStyledItemDelegate(list), m_list(list) {}

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const int width = m_list->viewport()->width() - 2 * kAside;
        return {width, 2 * kAbove + boldOf(option.font).height() +
                           QFontMetrics(smallOf(option.font)).boundingRect({0, 0, width, 0}, kWrapped, what(index)).height()};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyleOptionViewItem item = option;
        initStyleOption(&item, index);
        const QString name = index.data().toString().section(QLatin1Char('\n'), 0, 0);
        item.text.clear();
        item.widget->style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);
        const QRect inside = option.rect.adjusted(kAside, kAbove, -kAside, -kAbove);
        painter->save();
        QFont bold = option.font;
        bold.setWeight(QFont::DemiBold);
        painter->setFont(bold);
        painter->setPen(item.palette.color(QPalette::Text));
        painter->drawText(inside, Qt::AlignLeft | Qt::AlignTop, name);
        painter->setFont(smallOf(option.font));
        painter->setPen(item.palette.color(QPalette::PlaceholderText));
        painter->drawText(inside.adjusted(0, boldOf(option.font).height(), 0, 0), kWrapped, what(index));
        painter->restore();
    }

private:
    static constexpr int kAside = 9, kAbove = 5, kWrapped = Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap;
    static QString what(const QModelIndex& index) { return index.data(kWhatRole).toString(); }
    static QFontMetrics boldOf(QFont font)
    {
        font.setWeight(QFont::DemiBold);
        return QFontMetrics(font);
    }
    static QFont smallOf(QFont font)
    {
        font.setPixelSize(std::max(11, font.pixelSize() - 1));
        return font;
    }
    QListWidget* m_list;
};

} // namespace

NewDialog::NewDialog(const sim::Catalogue& catalogue, QWidget* parent)
    : QDialog(parent), m_catalogue(catalogue), m_models(list(tr("Model"))), m_gpus(list(tr("GPUs"))), m_goals(list(tr("Goal"))),
      m_clusters(new ChoiceBox), m_status(new QLabel), m_busy(new QProgressBar)
{
    setWindowTitle(tr("New Scenario"));
    setAttribute(Qt::WA_DeleteOnClose);
    for (const KeyOption& option : keyOptions(m_catalogue, *findScenarioKey("/model"))) {
        auto* item = new QListWidgetItem(QString::fromStdString(option.text), m_models);
        item->setData(Qt::UserRole, idOf(option));
        if (idOf(option) == QLatin1String(kUsualModel))
            m_models->setCurrentItem(item);
    }
    for (const KeyOption& option : keyOptions(m_catalogue, *findScenarioKey("/cluster")))
        m_clusters->addItem(QString::fromStdString(option.text), idOf(option));
    m_clusters->setAccessibleName(tr("Kind of GPUs"));
    m_clusters->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_clusters->setCurrentIndex(std::max(0, m_clusters->findData(QLatin1String(kUsualCluster))));
    for (const Goal& goal : goals()) {
        auto* item = new QListWidgetItem(tr("%1\n%2").arg(tr(goal.name), tr(goal.what)), m_goals); // as a screen reader says it
        item->setData(kWhatRole, tr(goal.what));
    }
    m_goals->setItemDelegate(new GoalDelegate(m_goals));
    m_goals->setResizeMode(QListView::Adjust); // what wraps is as high as its lines
    m_goals->setCurrentRow(0);                 // what Create takes unless another is clicked
    setRole(m_status, "muted");
    m_status->setWordWrap(true);
    m_status->setText(
        tr("Of the layouts that people would try, the fastest that fits is opened; where none fits, the one that needs least."));

    m_busy->setTextVisible(false);
    m_busy->setMaximumHeight(4);
    m_busy->setAccessibleName(tr("Trying layouts"));
    setBusy(false);

    auto* create = new QPushButton(tr("Create"));
    create->setDefault(true);
    setRole(create, "primary");
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(create, &QPushButton::clicked, this, &NewDialog::make);
    connect(m_clusters, &QComboBox::currentIndexChanged, this, &NewDialog::fillGpus);
    connect(m_goals, &QListWidget::itemClicked, this, &NewDialog::make); // the third click
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(24, 20, 24, 20);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(6);
    int column = 0;
    for (const QString& title : {tr("1. MODEL"), tr("2. GPUS"), tr("3. GOAL")}) {
        auto* label = new QLabel(title);
        setRole(label, "section");
        grid->addWidget(label, 0, column);
        grid->setColumnStretch(column++, 1);
    }
    grid->addWidget(m_models, 1, 0, 2, 1);
    grid->addWidget(m_clusters, 1, 1);
    grid->addWidget(m_gpus, 2, 1);
    grid->addWidget(m_goals, 1, 2, 2, 1);
    grid->setRowStretch(2, 1);
    auto* foot = new QHBoxLayout;
    foot->setSpacing(8);
    foot->addWidget(m_status, 1);
    foot->addWidget(cancel);
    foot->addWidget(create);
    grid->addWidget(m_busy, 3, 0, 1, 3);
    grid->addLayout(foot, 4, 0, 1, 3);
    fillGpus();
    constexpr QSize kSize{800, 470};
    resize(kSize);
    m_models->setFocus();
    m_models->scrollToItem(m_models->currentItem(), QAbstractItemView::PositionAtCenter);
}

/// Whole nodes of the kind that is chosen: 1, 2, 4 …
void NewDialog::fillGpus()
{
    const int perNode = gpusPerNode(m_catalogue, m_clusters->currentData().toString().toStdString());
    const int chosen = std::max(0, m_gpus->currentRow());
    m_gpus->clear();
    for (int nodes = 1; nodes <= kMostNodes; nodes *= 2) {
        const int gpus = nodes * perNode;
        auto* item = new QListWidgetItem(counted(gpus, "GPU") + QStringLiteral(", ") + counted(nodes, "node"), m_gpus);
        item->setData(Qt::UserRole, nodes);
    }
    m_gpus->setCurrentRow(chosen);
}

/// Large models on many GPUs take seconds.
void NewDialog::setBusy(bool busy)
{
    m_busy->setRange(0, busy ? 0 : 1); // without an end it moves
    QSizePolicy policy = m_busy->sizePolicy();
    policy.setRetainSizeWhenHidden(true); // nothing jumps under the pointer
    m_busy->setSizePolicy(policy);
    m_busy->setVisible(busy);
}

void NewDialog::make()
{
    if (!m_models->currentItem() || !m_gpus->currentItem())
        return;
    NewScenario wanted;
    wanted.model = m_models->currentItem()->data(Qt::UserRole).toString().toStdString();
    wanted.cluster = m_clusters->currentData().toString().toStdString();
    wanted.nodes = m_gpus->currentItem()->data(Qt::UserRole).toInt();
    wanted.goal = static_cast<std::size_t>(std::max(0, m_goals->currentRow()));
    setBusy(true);
    setRole(m_status, "muted");
    m_status->setText(tr("Trying layouts…"));
    m_worker.ask(
        0, [wanted, catalogue = m_catalogue] { return makeNewScenario(wanted, catalogue); },
        [this](const sim::ScenarioDocument& document) {
            setBusy(false);
            Q_EMIT made(document);
            accept();
        },
        [this](const QString& why) {
            setBusy(false);
            setRole(m_status, "error");
            m_status->setText(plainWords(why));
        });
}

} // namespace app
