#include "app/shell/recorded/recorded_facts.h"

#include "app/shell/recorded/recorded_words.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/recovery/recovered_json.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace app {
namespace {

constexpr std::array<const char*, 5> kAxisNames{"tp", "cp", "dp", "pp", "ep"};
constexpr int kMostRanks = 1 << 20;

QString surely(double sure)
{
    return QObject::tr("%1 % sure").arg(std::lround(sure * 100));
}

/// Dense axes fastest first, as the recovered strides have them; those of one rank where Megatron has them.
QStringList orderOf(const sim::RecoveredAxes& axes)
{
    QStringList order{QStringLiteral("tp"), QStringLiteral("cp"), QStringLiteral("dp"), QStringLiteral("pp")};
    const auto stride = [&](const QString& name) {
        const sim::RecoveredAxis* axis = axes.find(name.toStdString());
        return axis == nullptr ? 0 : axis->stride;
    };
    QStringList placed; // axes of one rank have no stride to be sorted by
    for (const QString& name : order)
        if (stride(name) > 0)
            placed << name;
    std::stable_sort(placed.begin(), placed.end(), [&](const QString& a, const QString& b) { return stride(a) < stride(b); });
    for (QString& name : order)
        if (stride(name) > 0)
            name = placed.takeFirst();
    return order;
}

} // namespace

RecordedFacts::RecordedFacts(QWidget* parent)
    : QScrollArea(parent), m_order(new ChoiceBox), m_product(wordsLabel("muted12")), m_apply(new QPushButton(tr("Apply"))),
      m_asRecovered(new QPushButton(tr("As Recovered"))), m_facts(new QVBoxLayout), m_unknown(wordsLabel("muted12"))
{
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setRole(this, "clearPane");
    auto* inside = new QWidget;
    auto* column = new QVBoxLayout(inside);
    column->setContentsMargins(12, 8, 12, 12);
    column->setSpacing(8);
    m_facts->setSpacing(6);
    column->addLayout(m_facts);
    auto* correct = wordsLabel("section", tr("THE GRID, IF YOU KNOW IT BETTER"));
    column->addWidget(correct);
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    for (std::size_t i = 0; i < kAxisNames.size(); ++i) {
        auto* name = new QLabel(QLatin1String(kAxisNames[i]));
        m_sizes[i] = new QSpinBox;
        setRole(m_sizes[i], "field");
        m_sizes[i]->setRange(1, kMostRanks);
        m_sizes[i]->setButtonSymbols(QAbstractSpinBox::NoButtons);
        m_sizes[i]->setAccessibleName(tr("Size of axis %1").arg(QLatin1String(kAxisNames[i])));
        m_sizes[i]->setMaximumWidth(64);
        name->setBuddy(m_sizes[i]);
        row->addWidget(name);
        row->addWidget(m_sizes[i]);
        connect(m_sizes[i], &QSpinBox::valueChanged, this, &RecordedFacts::showProduct);
    }
    row->addStretch(1);
    column->addLayout(row);
    auto* second = new QHBoxLayout;
    second->setSpacing(6);
    m_order->setAccessibleName(tr("Order of the axes, fastest first"));
    for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-pp-cp", "tp-pp-dp-cp", "dp-tp-cp-pp", "cp-tp-dp-pp"})
        m_order->addItem(QLatin1String(order));
    second->addWidget(new QLabel(tr("order")));
    second->addWidget(m_order);
    second->addWidget(m_apply);
    second->addWidget(m_asRecovered);
    second->addStretch(1);
    column->addLayout(second);
    column->addWidget(m_product);
    column->addWidget(m_unknown);
    column->addStretch(1);
    setWidget(inside);
    connect(m_order, &QComboBox::currentTextChanged, this, &RecordedFacts::showProduct);
    connect(m_apply, &QPushButton::clicked, this, [this] { Q_EMIT gridSaid(said()); });
    connect(m_asRecovered, &QPushButton::clicked, this, [this] { Q_EMIT gridSaid({}); });
}

QSpinBox* RecordedFacts::size(const char* axis) const
{
    const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), std::string_view(axis));
    return found == kAxisNames.end() ? nullptr : m_sizes[static_cast<std::size_t>(found - kAxisNames.begin())];
}

std::vector<sim::NamedAxis> RecordedFacts::said() const
{
    std::vector<std::pair<std::string, int>> sizes;
    for (const QString& name : m_order->currentText().split(QLatin1Char('-')))
        sizes.emplace_back(name.toStdString(), size(name.toStdString().c_str())->value());
    const bool isAsShown = m_order->currentText() == m_shownOrder &&
                           std::equal(m_sizes.begin(), m_sizes.end(), m_shownSizes.begin(),
                                      [](const QSpinBox* box, int shown) { return box->value() == shown; });
    return sim::namedGrid(sizes, size("ep")->value(), isAsShown ? m_shownExpertStride : 0);
}

void RecordedFacts::showProduct()
{
    const std::string problem = sim::gridProblem(said(), m_world);
    setRole(m_product, problem.empty() ? "muted12" : "error");
    m_product->setText(problem.empty() ? tr("%1, as the recording has.").arg(counted(m_world, "rank"))
                                       : QString::fromStdString(problem) + QLatin1Char('.'));
    m_apply->setEnabled(problem.empty() && m_world > 1);
}

void RecordedFacts::addFact(const QString& what, const QString& sure, const QString& why)
{
    auto* row = new QWidget;
    auto* grid = new QGridLayout(row);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(0);
    grid->addWidget(wordsLabel("strong", what), 0, 0);
    auto* how = wordsLabel("small", sure);
    how->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    grid->addWidget(how, 0, 1);
    if (!why.isEmpty())
        grid->addWidget(wordsLabel("muted12", why), 1, 0, 1, 2);
    grid->setColumnStretch(0, 1);
    m_facts->addWidget(row);
    m_lines << QStringList{inOneLine(what), inOneLine(sure), inOneLine(why)}.join(QLatin1Char('\t'));
}

void RecordedFacts::show(const RecoveredRun& run)
{
    emptyLayout(*m_facts);
    m_lines.clear();
    const sim::Recovered& recovered = run.recovered;
    m_world = recovered.axes.worldSize;
    const auto recordedRanks = static_cast<std::int64_t>(recovered.evidence.ranks.size());
    std::map<std::string, int> hosts;
    for (const sim::RankEvidence& rank : recovered.evidence.ranks)
        if (!rank.host.empty())
            ++hosts[rank.host];
    addFact(tr("%1 of %2 ranks recorded").arg(separated(recordedRanks), separated(m_world)), {},
            hosts.empty() ? tr("no file names its host")
                          : tr("%1, from %2")
                                .arg(counted(static_cast<std::int64_t>(hosts.size()), "host"),
                                     counted(static_cast<std::int64_t>(run.recording->files.size()), "file")));
    for (const sim::RecoveredAxis& axis : recovered.axes.axes)
        addFact(tr("%1 %2, ranks %3 apart")
                    .arg(axis.name.empty() ? tr("An axis without a name, of") : QString::fromStdString(axis.name))
                    .arg(axis.size)
                    .arg(axis.stride),
                surely(axis.sure), QString::fromStdString(axis.evidence));
    if (const auto& exchanging = recovered.axes.allToAlls)
        addFact(tr("All-to-alls of %1 ranks, %2 apart").arg(exchanging->size).arg(exchanging->stride), surely(exchanging->sure),
                QString::fromStdString(exchanging->evidence));
    const std::string unknownGrid = recovered.axes.unknownGrid();
    if (!unknownGrid.empty())
        addFact(tr("The grid of ranks is not known: if you know it, say it below"), {}, QString::fromStdString(unknownGrid));
    if (sim::hasPipeline(recovered))
        addFact(tr("Schedule %1, %2, %3")
                    .arg(recovered.schedule->kind.empty() ? tr("unknown") : QString::fromStdString(recovered.schedule->kind),
                         counted(recovered.schedule->stages, "stage"), counted(recovered.schedule->microbatches, "micro-batch")),
                surely(recovered.schedule->sure), QString::fromStdString(recovered.schedule->evidence));
    else
        addFact(tr("No pipeline was found"), {},
                recovered.schedule && recovered.schedule->microbatches > 1
                    ? tr("%1 a step").arg(counted(recovered.schedule->microbatches, "micro-batch"))
                    : QString());
    addFact(counted(static_cast<std::int64_t>(recovered.steps.steps.size()), "step"), surely(recovered.steps.sure),
            QString::fromStdString(recovered.steps.evidence));
    addFact(recovered.clock.isAligned       ? tr("Clocks are aligned")
            : recovered.evidence.isOneClock ? tr("One clock")
            : recordedRanks > 1             ? tr("Clocks are not aligned")
                                            : tr("One rank's clock"),
            {}, QString::fromStdString(recovered.clock.why));
    addFact(tr("%1 of ranks").arg(counted(static_cast<std::int64_t>(recovered.groups.size()), "group")), {},
            recovered.groups.empty() ? QString() : tr("from %1").arg(QString::fromStdString(recovered.groups.front().evidence)));
    constexpr std::size_t kMostProblems = 12;
    std::vector<std::string> problems = sim::toldProblems(recovered);
    std::erase(problems, unknownGrid); // told above
    problems.insert(problems.end(), run.recording->problems.begin(), run.recording->problems.end());
    std::map<std::string, std::pair<std::size_t, std::string>> left;
    for (const sim::RecordedSkip& skip : run.recording->skipped) {
        left[skip.what].first += skip.count;
        left[skip.what].second = skip.why;
    }
    for (const auto& [what, skip] : left)
        problems.push_back(std::to_string(skip.first) + " × " + what + " left out: " + skip.second);
    for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i)
        addFact(tr("To know"), {}, beginningOf(problems[i]));
    if (problems.size() > kMostProblems)
        addFact(tr("To know"), {}, tr("… and %1 more").arg(problems.size() - kMostProblems));
    if (!run.whyNotFromCache.isEmpty())
        addFact(tr("The cache beside the files was not taken"), {}, run.whyNotFromCache);
    if (!run.whyNoGrid.isEmpty())
        addFact(tr("The grid of ranks cannot be drawn"), {}, run.whyNoGrid);

    for (std::size_t i = 0; i < kAxisNames.size(); ++i) {
        const QSignalBlocker quiet(m_sizes[i]);
        m_sizes[i]->setValue(recovered.axes.sizeOf(kAxisNames[i]));
        m_shownSizes[i] = m_sizes[i]->value();
    }
    const sim::RecoveredAxis* expert = recovered.axes.find("ep");
    m_shownExpertStride = expert == nullptr ? 0 : expert->stride;
    const QString order = orderOf(recovered.axes).join(QLatin1Char('-'));
    if (m_order->findText(order) < 0)
        m_order->addItem(order);
    m_order->setCurrentText(order);
    m_shownOrder = order;
    m_asRecovered->setEnabled(!run.said.empty());
    m_unknown->clear();
    m_unknown->hide();
    showProduct();
}

void RecordedFacts::showUnknown(const std::vector<sim::UnknownKey>& unknown)
{
    QStringList lines;
    for (const sim::UnknownKey& key : unknown)
        lines << QString::fromStdString(key.pointer) + QStringLiteral(": ") + QString::fromStdString(key.why);
    m_unknown->setText(lines.join(QLatin1Char('\n')));
    m_unknown->setVisible(!lines.isEmpty());
}

QString RecordedFacts::text() const
{
    return m_lines.join(QLatin1Char('\n'));
}

} // namespace app
