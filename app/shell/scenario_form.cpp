#include "app/shell/scenario_form.h"

#include "app/shell/choice_box.h"
#include "app/shell/format.h"
#include "app/shell/style.h"
#include "sim/schedule/families.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <array>

namespace app {
namespace {

struct Option {
    const char* value; ///< JSON
    const char* text;
};
constexpr std::array<Option, 4> kZeroStages{{{"0", "0 · replicate everything"},
                                             {"1", "1 · shard optimizer"},
                                             {"2", "2 · and gradients"},
                                             {"3", "3 · and parameters (FSDP)"}}};
constexpr std::array<Option, 3> kRecompute{
    {{"\"none\"", "None"}, {"\"selective\"", "Selective: attention"}, {"\"full\"", "Full: whole layers"}}};
constexpr std::array<Option, 5> kPrecisions{
    {{"\"bf16\"", "BF16"}, {"\"fp16\"", "FP16"}, {"\"fp8\"", "FP8"}, {"\"tf32\"", "TF32"}, {"\"fp32\"", "FP32"}}};

QString recomputeJson(sim::Recompute recompute)
{
    return QString::fromLatin1(kRecompute[static_cast<std::size_t>(recompute)].value);
}

QString precisionJson(sim::Precision precision)
{
    switch (precision) {
    case sim::Precision::fp32:
        return QStringLiteral("\"fp32\"");
    case sim::Precision::tf32:
        return QStringLiteral("\"tf32\"");
    case sim::Precision::bf16:
        return QStringLiteral("\"bf16\"");
    case sim::Precision::fp16:
        return QStringLiteral("\"fp16\"");
    case sim::Precision::fp8:
        return QStringLiteral("\"fp8\"");
    }
    return {};
}

template <std::size_t N>
void fill(QComboBox& box, const std::array<Option, N>& options)
{
    for (const Option& option : options)
        box.addItem(QString::fromUtf8(option.text), QString::fromLatin1(option.value));
}

QString modelNote(const sim::Model& m)
{
    QString note = QStringLiteral("%1 layers · hidden %2 · %3 heads")
                       .arg(m.numHiddenLayers)
                       .arg(separated(m.hiddenSize))
                       .arg(m.numAttentionHeads);
    if (m.numExperts > 0)
        note += QStringLiteral(" · %1 experts").arg(m.numExperts);
    return note;
}

QString clusterNote(const sim::Scenario& s)
{
    const int gpus = s.cluster.gpus(), used = s.layout.worldSize();
    return QStringLiteral("%1 GPUs · %2 a node · %3 GiB")
               .arg(separated(gpus))
               .arg(s.cluster.gpusPerNode)
               .arg(threeDigits(s.cluster.gpu.memoryGib)) +
           (used < gpus ? QStringLiteral(" · %1 idle").arg(separated(gpus - used)) : QString());
}

} // namespace

void fillScheduleChooser(QComboBox& box)
{
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        box.addItem(QString::fromUtf8(family.title.data(), static_cast<qsizetype>(family.title.size())),
                    QString::fromUtf8(family.kind.data(), static_cast<qsizetype>(family.kind.size())));
        box.setItemData(box.count() - 1,
                        QString::fromUtf8(family.character.data(), static_cast<qsizetype>(family.character.size())),
                        Qt::ToolTipRole);
    }
}

void selectData(QComboBox& box, const QString& data, const QString& nameIfMissing)
{
    const QSignalBlocker quiet(box);
    int index = box.findData(data);
    if (index < 0) {
        box.insertItem(0, nameIfMissing, data);
        index = 0;
    }
    box.setCurrentIndex(index);
}

ScenarioForm::ScenarioForm(Session& session, QWidget* parent) : QScrollArea(parent), m_session(session)
{
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    build();
    connect(&m_session, &Session::changed, this, &ScenarioForm::refresh);
}

void ScenarioForm::build()
{
    auto* page = new QWidget;
    m_column = new QVBoxLayout(page);
    m_column->setContentsMargins(16, 4, 16, 16);
    m_column->setSpacing(6);
    m_general = new QLabel;
    m_general->setWordWrap(true);
    setRole(m_general, "error");
    m_column->addWidget(m_general);

    const auto note = [this] {
        auto* label = new QLabel;
        label->setWordWrap(true);
        setRole(label, "small");
        m_column->addWidget(label);
        return label;
    };

    QComboBox* model = addChoice("/model", tr("Model"), tr("What is trained. Choosing one replaces the model's own keys")).box;
    for (const auto& entry : m_session.catalogue().models())
        model->addItem(QString::fromStdString(entry.name), QString::fromStdString(entry.id));
    connect(model, &QComboBox::activated, this, [this, model] {
        m_session.edit(makeModelEdit(m_session.document(), m_session.catalogue(), model->currentData().toString().toStdString()));
    });
    m_modelNote = note();

    QComboBox* cluster = addChoice("/cluster", tr("Cluster"), tr("What it is trained on")).box;
    for (const auto& entry : m_session.catalogue().clusters())
        cluster->addItem(QString::fromStdString(entry.name), QString::fromStdString(entry.id));
    connect(cluster, &QComboBox::activated, this, [this, cluster] {
        m_session.edit(makeClusterEdit(m_session.document(), m_session.scenario(), m_session.catalogue(),
                                       cluster->currentData().toString().toStdString()));
    });
    m_clusterNote = note();
    addNumber(Control::nodes, tr("Nodes"), tr("Machines of the cluster"));

    addSection(tr("LAYOUT"));
    addNumber(Control::tp, tr("Tensor"), tr("tp: GPUs that share every matrix of a layer"));
    addNumber(Control::cp, tr("Context"), tr("cp: GPUs that share the tokens of a sequence"));
    addNumber(Control::pp, tr("Pipeline"), tr("pp: groups of layers, one after the other"));
    addNumber(Control::dp, tr("Data"), tr("dp: replicas that train on different sequences"));
    addNumber(Control::ep, tr("Expert"), tr("ep: GPUs that share the experts of a mixture-of-experts layer"));
    m_keepGpus =
        addCheck(tr("Keep the number of GPUs"), tr("tp, cp and pp then take from dp; otherwise the world grows and shrinks"));
    m_keepGpus->setChecked(true);
    connect(m_keepGpus, &QCheckBox::toggled, this, &ScenarioForm::layoutRuleChanged);
    m_sequenceParallel =
        addCheck(tr("Sequence parallel"), tr("Split what lies between the tensor-parallel parts along the sequence"));
    connect(m_sequenceParallel, &QCheckBox::clicked, this, [this](bool on) {
        chooseKey("/layout/sequence_parallel", on ? "true" : "false", "sequence parallel", on ? "off" : "on",
                  on ? tr("on") : tr("off"));
    });
    QComboBox* zero =
        addChoice("/layout/zero_stage", tr("ZeRO"), tr("What data-parallel ranks share out instead of each holding it")).box;
    fill(*zero, kZeroStages);
    connect(zero, &QComboBox::activated, this, [this, zero] {
        const std::string before = m_session.scenario() ? std::to_string(m_session.scenario()->layout.zeroStage) : "";
        chooseKey("/layout/zero_stage", zero->currentData().toString().toStdString(), "ZeRO", before,
                  zero->currentData().toString());
    });

    addSection(tr("SCHEDULE"));
    QComboBox* schedule =
        addChoice("/schedule/kind", tr("Kind"), tr("In which order pipeline stages work through the micro-batches")).box;
    fillScheduleChooser(*schedule);
    connect(schedule, &QComboBox::activated, this, [this, schedule] {
        m_session.edit(
            makeScheduleEdit(m_session.document(), m_session.scenario(), schedule->currentData().toString().toStdString()));
    });
    m_scheduleNote = note();
    auto* compare = new QPushButton(tr("Compare all schedules…"));
    compare->setToolTip(tr("Bubble and memory of every schedule, with the pass times of this step"));
    connect(compare, &QPushButton::clicked, this, &ScenarioForm::chooseScheduleRequested);
    m_column->addWidget(compare);
    addNumber(Control::virtualStages, tr("Chunks"), tr("virtual_stages: pieces of the model that one pipeline rank holds"));
    addNumber(Control::globalBatchSize, tr("Batch"), tr("global_batch_size: sequences in one step of the whole job"));
    addNumber(Control::microBatchSize, tr("Micro-batch"),
              tr("micro_batch_size: sequences that go through the pipeline together"));

    addSection(tr("TRAINING"));
    addNumber(Control::sequenceLength, tr("Sequence"), tr("sequence_length: tokens of one sequence"));
    QComboBox* recompute = addChoice("/training/recompute", tr("Recompute"),
                                     tr("Activations that are made again in the backward pass instead of kept"))
                               .box;
    fill(*recompute, kRecompute);
    connect(recompute, &QComboBox::activated, this, [this, recompute] {
        const int before = m_session.scenario() ? static_cast<int>(m_session.scenario()->training.recompute) : 0;
        chooseKey("/training/recompute", recompute->currentData().toString().toStdString(), "recompute",
                  kRecompute[static_cast<std::size_t>(before)].text, recompute->currentText());
    });
    QComboBox* precision = addChoice("/training/precision", tr("Precision"), tr("Number format of the matrix products")).box;
    fill(*precision, kPrecisions);
    connect(precision, &QComboBox::activated, this, [this, precision] {
        const QString before = m_session.scenario() ? precisionJson(m_session.scenario()->training.precision) : QString();
        chooseKey("/training/precision", precision->currentData().toString().toStdString(), "precision",
                  before.mid(1, before.size() - 2).toUpper().toStdString(), precision->currentText());
    });
    m_column->addStretch();
    setWidget(page);
}

void ScenarioForm::addSection(const QString& title)
{
    auto* label = new QLabel(title);
    setRole(label, "section");
    m_column->addSpacing(10);
    m_column->addWidget(label);
}

NumberRow* ScenarioForm::addNumber(Control control, const QString& label, const QString& what)
{
    auto* row = new NumberRow(label, what);
    m_column->addWidget(row);
    m_rows.emplace(control, row);
    connect(row, &NumberRow::chosen, this, [this, control](int value, int gesture) {
        if (!m_session.isOpen() || value == controlValue(m_session.document(), m_session.scenario(), control))
            return;
        Edit edit = makeEdit(m_session.document(), m_session.scenario(), control, value, layoutRule());
        edit.gesture = gesture;
        m_session.edit(edit);
    });
    return row;
}

ScenarioForm::Choice& ScenarioForm::addChoice(const std::string& pointer, const QString& label, const QString& what)
{
    auto* name = new QLabel(label);
    name->setFixedWidth(84);
    name->setToolTip(what);
    auto* box = new ChoiceBox;
    box->setAccessibleName(label);
    box->setWhat(what);
    box->setMaxVisibleItems(24);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(8);
    leaveWheelToForm(box);
    auto* problem = new QLabel;
    problem->setWordWrap(true);
    problem->hide();
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(name);
    line->addWidget(box, 1);
    m_column->addLayout(line);
    m_column->addWidget(problem);
    return m_choices.emplace(pointer, Choice{pointer, box, problem}).first->second;
}

QCheckBox* ScenarioForm::addCheck(const QString& label, const QString& what)
{
    auto* check = new QCheckBox(label);
    check->setToolTip(what);
    m_column->addWidget(check);
    return check;
}

LayoutRule ScenarioForm::layoutRule() const
{
    return m_keepGpus->isChecked() ? LayoutRule::keepGpus : LayoutRule::resize;
}

void ScenarioForm::setLegalValues(const LegalValueTable& table)
{
    for (const auto& [control, values] : table)
        m_rows.at(control)->setLegalValues(values);
}

void ScenarioForm::refresh()
{
    if (!m_session.isOpen())
        return;
    for (const auto& [control, row] : m_rows)
        row->setValue(controlValue(m_session.document(), m_session.scenario(), control));
    if (const sim::Scenario* s = m_session.scenario())
        refreshChoices(*s);
    refreshProblems();
}

void ScenarioForm::refreshChoices(const sim::Scenario& s)
{
    selectData(*m_choices.at("/model").box, QString::fromStdString(s.model.base),
               s.model.name.empty() ? tr("Own model") : QString::fromStdString(s.model.name));
    selectData(*m_choices.at("/cluster").box, QString::fromStdString(s.cluster.base),
               s.cluster.name.empty() ? tr("Own cluster") : QString::fromStdString(s.cluster.name));
    m_modelNote->setText(modelNote(s.model));
    m_clusterNote->setText(clusterNote(s));

    selectData(*m_choices.at("/layout/zero_stage").box, QString::number(s.layout.zeroStage), {});
    m_sequenceParallel->setChecked(s.layout.sequenceParallel);
    selectData(*m_choices.at("/schedule/kind").box, QString::fromStdString(s.schedule.kind),
               QString::fromStdString(s.schedule.kind));
    const sim::ScheduleFamily* family = sim::findScheduleFamily(s.schedule.kind);
    m_scheduleNote->setText(family ? QString::fromUtf8(family->character.data(), static_cast<qsizetype>(family->character.size()))
                                   : QString());
    m_rows.at(Control::ep)->setVisible(s.model.numExperts > 0);
    m_rows.at(Control::virtualStages)
        ->setVisible(!family || family->maxVirtualStages != family->minVirtualStages || s.schedule.virtualStages > 1);

    const int microbatches = s.microbatches();
    m_rows.at(Control::globalBatchSize)
        ->setNote(tr("%1 micro-batches · %2 tokens")
                      .arg(separated(microbatches),
                           countQuantity(static_cast<double>(s.training.globalBatchSize) * s.training.sequenceLength).text()));
    selectData(*m_choices.at("/training/recompute").box, recomputeJson(s.training.recompute), {});
    selectData(*m_choices.at("/training/precision").box, precisionJson(s.training.precision), {});
}

void ScenarioForm::refreshProblems()
{
    m_shownProblems.clear();
    std::map<std::string, bool> isError;
    std::map<std::string, std::string> owners; // pointer of a control -> the same; longest prefix wins
    for (const auto& [pointer, choice] : m_choices)
        owners.emplace(pointer, pointer);
    for (const Control control : kControls)
        owners.emplace(std::string(controlPointer(control)), std::string(controlPointer(control)));

    for (const sim::Problem& problem : m_session.problems()) {
        std::string at = problem.pointer;
        while (!at.empty() && !owners.contains(at))
            at.erase(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'));
        const QString text = (at == problem.pointer || problem.pointer.empty())
                                 ? QString::fromStdString(problem.message)
                                 : QString::fromStdString(problem.pointer + ": " + problem.message);
        QString& shown = m_shownProblems[at];
        shown += (shown.isEmpty() ? QString() : QStringLiteral("\n")) + text;
        isError[at] = isError[at] || problem.severity == sim::Severity::error;
    }

    const auto textAt = [&](const std::string& pointer) {
        const auto found = m_shownProblems.find(pointer);
        return found == m_shownProblems.end() ? QString() : found->second;
    };
    m_general->setText(textAt({}));
    m_general->setVisible(!m_general->text().isEmpty());
    setRole(m_general, isError[{}] ? "error" : "warning");
    for (const Control control : kControls) {
        const std::string pointer(controlPointer(control));
        m_rows.at(control)->setProblem(textAt(pointer), isError[pointer]);
    }
    for (auto& [pointer, choice] : m_choices) {
        choice.problem->setText(textAt(pointer));
        choice.problem->setVisible(!choice.problem->text().isEmpty());
        setRole(choice.problem, isError[pointer] ? "error" : "warning");
    }
}

QString ScenarioForm::problemAt(const std::string& pointer) const
{
    const auto found = m_shownProblems.find(pointer);
    return found == m_shownProblems.end() ? QString() : found->second;
}

void ScenarioForm::chooseKey(const std::string& pointer, const std::string& json, std::string_view name,
                             const std::string& before, const QString& after)
{
    if (m_session.isOpen())
        m_session.edit(makeKeyEdit(pointer, json, name, before, after.toStdString()));
}

} // namespace app
