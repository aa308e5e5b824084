#include "app/shell/dialogs/train_dialog.h"

#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/decimal_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QVBoxLayout>

namespace app {

TrainDialog::TrainDialog(SimulationPtr simulation, const sim::Catalogue& catalogue, const Machine& machine, QWidget* parent,
                         SimulateFunction simulate)
    : QDialog(parent), m_catalogue(catalogue), m_simulate(std::move(simulate)), m_machine(machine),
      m_simulation(std::move(simulation)), m_name(new QLabel), m_layout(new QLabel), m_text(new QLabel), m_problem(new QLabel),
      m_deviceNote(new QLabel), m_device(new ChoiceBox), m_dtype(new ChoiceBox), m_steps(new QSpinBox), m_rate(new DecimalBox),
      m_shrink(new QPushButton(tr("Shrink to a Tiny Model"))), m_start(new QPushButton(tr("Start Training")))
{
    setObjectName(QStringLiteral("trainDialog"));
    setWindowTitle(tr("Train This Scenario"));
    setAttribute(Qt::WA_DeleteOnClose);
    constexpr int kWidth = 560;
    setMinimumWidth(kWidth);
    const sim::LiveSettings& live = m_simulation->scenario().live;

    setRole(m_name, "heading");
    m_name->setWordWrap(true);
    setRole(m_layout, "muted");
    m_device->addItem(tr("Automatic"), QStringLiteral("auto"));
    m_device->addItem(m_machine.cores == 1 ? tr("CPU, 1 core") : tr("CPU, %1 cores").arg(m_machine.cores), QStringLiteral("cpu"));
    m_device->addItem(tr("CUDA"), QStringLiteral("cuda"));
    if (!m_machine.cudaProblem.isEmpty())
        if (auto* items = qobject_cast<QStandardItemModel*>(m_device->model()))
            items->item(m_device->count() - 1)->setEnabled(false);
    m_device->addItem(tr("Emulated GPUs: proves the order, slow"), QStringLiteral("emulated"));
    m_device->setAccessibleName(tr("Device"));
    const QString wanted = QString::fromStdString(live.device);
    m_device->setCurrentIndex(std::max(0, m_device->findData(wanted == QLatin1String("cuda") && !m_machine.cudaProblem.isEmpty()
                                                                 ? QStringLiteral("auto")
                                                                 : wanted)));
    setRole(m_deviceNote, "small");
    m_deviceNote->setWordWrap(true);
    connect(m_device, &QComboBox::currentIndexChanged, this, &TrainDialog::showDevice);
    showDevice();
    for (const auto& [text, id] : {std::pair{tr("Double (fp64): equals serial training to 1e-12"), "fp64"},
                                   {tr("Single (fp32)"), "fp32"},
                                   {tr("bf16 with fp32 master weights: on GPUs"), "bf16"}})
        m_dtype->addItem(text, QString::fromLatin1(id));
    m_dtype->setCurrentIndex(m_dtype->findData(QString::fromStdString(live.dtype)));
    m_dtype->setAccessibleName(tr("Arithmetic"));
    constexpr int kMostSteps = 1'000'000;
    m_steps->setRange(1, kMostSteps);
    m_steps->setGroupSeparatorShown(true);
    m_steps->setValue(live.steps);
    m_steps->setAccessibleName(tr("Steps"));
    m_rate->setDecimals(6);
    m_rate->setRange(0, 1);
    m_rate->setSingleStep(1e-4);
    m_rate->setValue(live.learningRate);
    m_rate->setAccessibleName(tr("Learning rate"));
    constexpr int kNumberWidth = 140;
    for (QAbstractSpinBox* number : std::initializer_list<QAbstractSpinBox*>{m_steps, m_rate}) {
        number->setMaximumWidth(kNumberWidth);
        number->setButtonSymbols(QAbstractSpinBox::NoButtons);
    }
    setRole(m_steps, "field");
    m_steps->setProperty("arrows", true);
    m_text->setWordWrap(true);
    setRole(m_problem, "error");
    m_problem->setWordWrap(true);
    setRole(m_start, "primary");
    m_start->setDefault(true);
    connect(m_dtype, &QComboBox::currentIndexChanged, this, &TrainDialog::showPlan);
    connect(m_shrink, &QPushButton::clicked, this, &TrainDialog::shrink);
    connect(m_start, &QPushButton::clicked, this, [this] {
        Q_EMIT chosen(scenario());
        accept();
    });
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);

    auto* form = new QFormLayout;
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(8);
    form->addRow(tr("Device"), m_device);
    form->addRow(QString(), m_deviceNote);
    form->addRow(tr("Arithmetic"), m_dtype);
    form->addRow(tr("Steps"), m_steps);
    form->addRow(tr("Learning rate"), m_rate);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_shrink);
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    buttons->addWidget(m_start);
    auto* what = new QLabel(tr("WHAT WILL HAPPEN"));
    setRole(what, "section");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 16, 20, 16);
    column->setSpacing(6);
    column->addWidget(m_name);
    column->addWidget(m_layout);
    column->addSpacing(8);
    column->addLayout(form);
    column->addSpacing(8);
    column->addWidget(what);
    column->addWidget(m_text);
    column->addWidget(m_problem);
    column->addSpacing(8);
    column->addLayout(buttons);
    showPlan();
}

TrainDialog::~TrainDialog()
{
    m_worker.stop();
}

sim::Scenario TrainDialog::scenario() const
{
    sim::Scenario scenario = m_simulation->scenario();
    scenario.live.device = m_device->currentData().toString().toStdString();
    scenario.live.dtype = m_dtype->currentData().toString().toStdString();
    scenario.live.steps = m_steps->value();
    scenario.live.learningRate = m_rate->value();
    return scenario;
}

void TrainDialog::showDevice()
{
    if (m_device->currentData().toString() == QLatin1String("emulated")) {
        m_deviceNote->setText(
            tr("A GPU that is not there: the code for GPUs runs on the CPU's kernels, in an order drawn by a seed, "
               "and a race or a circle of waits ends it with both names. For proofs of tiny jobs, in fp32 or "
               "fp64; its times are its own."));
        return;
    }
    m_deviceNote->setText(m_machine.cudaProblem.isEmpty() ? tr("Automatic takes the GPU.")
                                                          : tr("Automatic takes the CPU: %1.").arg(m_machine.cudaProblem));
}

void TrainDialog::showPlan()
{
    const sim::Scenario& shown = m_simulation->scenario();
    m_name->setText(QString::fromStdString(shown.name));
    m_layout->setText(QString::fromStdString(shown.model.name) + QStringLiteral("  ·  ") + layoutLine(shown.layout));
    const std::string dtype = m_dtype->currentData().toString().toStdString();
    m_plan = planTraining(*m_simulation, m_machine, dtype);
    m_text->setText(m_plan.text);
    m_problem->setText(m_plan.problem.isEmpty() ? QString()
                                                : m_plan.problem + tr(" A tiny model with the same layout fits: shrink it."));
    m_problem->setVisible(!m_plan.fits);
    m_shrink->setVisible(!m_plan.fits);
    m_shrink->setEnabled(!m_isPreparing);
    m_start->setEnabled(m_plan.fits && !m_isPreparing);
    if (!m_isPreparing)
        return;
    m_text->setText(tr("Preparing a tiny model of the same layout…"));
    m_problem->hide();
}

void TrainDialog::shrink()
{
    m_isPreparing = true;
    if (focusWidget() == m_shrink)
        setFocus(); // a button that goes grey would hand it on to the next: Cancel
    m_worker.submit({.kind = 0,
                     .work =
                         [this, scenario = m_simulation->scenario(), catalogue = m_catalogue](const Task& task) {
                             const SimulationPtr tiny = m_simulate(shrunk(scenario, catalogue), {});
                             task.tell([this, tiny] { showShrunk(tiny); });
                         },
                     .failed = [this](const QString& why) { showFailure(why); }});
    showPlan();
}

void TrainDialog::showShrunk(const SimulationPtr& simulation)
{
    m_isPreparing = false;
    m_simulation = simulation;
    m_dtype->setCurrentIndex(m_dtype->findData(QString::fromStdString(m_simulation->scenario().live.dtype)));
    showPlan();
    if (focusWidget() == this)
        m_start->setFocus();
}

void TrainDialog::showFailure(const QString& why)
{
    m_isPreparing = false;
    showPlan();
    m_problem->setText(tr("It cannot be shrunk: %1").arg(why));
    m_problem->show();
    m_shrink->hide();
    if (focusWidget() == this)
        m_device->setFocus();
}

} // namespace app
