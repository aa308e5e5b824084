#include "app/shell/recorded/predict_dialog.h"

#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_keys.h"
#include "app/session/scenario_state.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/style.h"
#include "sim/recovery/to_scenario.h"
#include "sim/scenario/document.h"

#include <nlohmann/json.hpp>

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

namespace app {

PredictDialog::PredictDialog(const sim::Catalogue& catalogue, int worldSize, const QString& openName, const std::string& openText,
                             QWidget* parent)
    : QDialog(parent), m_catalogue(catalogue), m_world(std::max(1, worldSize)), m_model(new ChoiceBox), m_cluster(new ChoiceBox),
      m_sequence(new QSpinBox), m_microbatch(new QSpinBox)
{
    setWindowTitle(tr("Predict This Run"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* what =
        new QLabel(tr("A trace says neither the model nor the links of the cluster. Layout, schedule and micro-batches are "
                      "taken from what was recovered."));
    setRole(what, "muted");
    what->setWordWrap(true);
    const auto fill = [this](QComboBox& box, const char* pointer, const QString& usual) {
        for (const KeyOption& option : keyOptions(m_catalogue, *findScenarioKey(pointer)))
            box.addItem(QString::fromStdString(option.text), QString::fromStdString(unquoted(option.json)));
        box.setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        constexpr int kLetters = 36;
        box.setMinimumContentsLength(kLetters);
        box.setCurrentIndex(std::max(0, box.findData(usual)));
    };
    fill(*m_model, "/model", QStringLiteral("llama3-8b"));
    fill(*m_cluster, "/cluster", QStringLiteral("h100-sxm-ib400"));
    m_model->setAccessibleName(tr("Model"));
    m_cluster->setAccessibleName(tr("Cluster"));
    constexpr int kLongest = 1 << 21, kUsualLength = 4096, kMostSequences = 1024;
    for (QSpinBox* box : {m_sequence, m_microbatch}) {
        setRole(box, "field");
        box->setProperty("arrows", true);
        box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    }
    m_sequence->setRange(1, kLongest);
    m_sequence->setValue(kUsualLength);
    m_sequence->setAccessibleName(tr("Tokens of a sequence"));
    m_microbatch->setRange(1, kMostSequences);
    m_microbatch->setAccessibleName(tr("Sequences of a micro-batch"));
    auto* form = new QFormLayout;
    form->addRow(tr("Model"), m_model);
    form->addRow(tr("Cluster"), m_cluster);
    form->addRow(tr("Tokens of a sequence"), m_sequence);
    form->addRow(tr("Sequences of a micro-batch"), m_microbatch);

    auto* predict = new QPushButton(tr("Predict"));
    predict->setDefault(true);
    setRole(predict, "primary");
    connect(predict, &QPushButton::clicked, this, [this] {
        Q_EMIT chosen(m_model->currentText(), text());
        accept();
    });
    auto* file = new QPushButton(tr("From a Scenario File…"));
    connect(file, &QPushButton::clicked, this, [this] {
        accept();
        Q_EMIT fileRequested();
    });
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(predict);
    if (!openText.empty()) {
        constexpr int kMostShown = 28;
        auto* open = new QPushButton(
            tr("From “%1”").arg(openName.size() > kMostShown ? openName.left(kMostShown - 1) + QStringLiteral("…") : openName));
        open->setToolTip(tr("Model, cluster and batch of the scenario that is open"));
        connect(open, &QPushButton::clicked, this, [this, openName, openText] {
            Q_EMIT chosen(openName, openText);
            accept();
        });
        buttons->addWidget(open);
    }
    buttons->addWidget(file);
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);
    column->addWidget(what);
    column->addLayout(form);
    column->addLayout(buttons);
}

/// Without a layout: that is the recording's.
std::string PredictDialog::text() const
{
    const std::string cluster = m_cluster->currentData().toString().toStdString();
    const int gpus = std::max(1, gpusPerNode(m_catalogue, cluster)), perNode = std::min(m_world, gpus);
    nlohmann::ordered_json nodes{{"base", cluster}, {"gpus_per_node", gpus}};
    if (const nlohmann::ordered_json* known = m_catalogue.clusterJson(cluster); known != nullptr && known->contains("tiers"))
        nodes["tiers"] = (*known)["tiers"]; // written out: the recording's hosts may have fewer GPUs at work
    sim::fitNodes(nodes, perNode);
    nodes["gpus_per_node"] = perNode;
    nodes["nodes"] = (m_world + perNode - 1) / perNode;
    auto out = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1})");
    out.set("/model", app::quoted(m_model->currentData().toString().toStdString()));
    out.set("/cluster", nodes.dump());
    out.set("/training/sequence_length", std::to_string(m_sequence->value()));
    out.set("/training/micro_batch_size", std::to_string(m_microbatch->value()));
    return out.text();
}

} // namespace app
