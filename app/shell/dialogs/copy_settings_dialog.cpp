#include "app/shell/dialogs/copy_settings_dialog.h"

#include "app/session/plain_words.h"
#include "app/session/refusal_remedies.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "sim/scenario/files.h"
#include "sim/scenario/pointer_text.h"

#include <QClipboard>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {
namespace {

constexpr int kKindRole = Qt::UserRole;

QString textOf(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

CopySettingsDialog::CopySettingsDialog(const sim::ScenarioDocument& document, const sim::Scenario& scenario,
                                       const sim::Catalogue& catalogue, const QString& fileName, QWidget* parent)
    : QDialog(parent), m_document(document), m_scenario(scenario), m_catalogue(catalogue), m_fileName(fileName),
      m_kinds(new QListWidget), m_text(new QPlainTextEdit), m_notes(new QLabel), m_failure(new QLabel),
      m_remedies(new QVBoxLayout), m_copy(new QPushButton(tr("Copy"))), m_save(new QPushButton(tr("Save…")))
{
    setWindowTitle(tr("Copy as Settings"));
    setAttribute(Qt::WA_DeleteOnClose);
    m_kinds->setAccessibleName(tr("Framework"));
    setRole(m_kinds, "plain");
    const auto kinds = sim::frameworkKinds();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (!kinds[i].isExported)
            continue;
        auto* item = new QListWidgetItem(textOf(kinds[i].name), m_kinds);
        item->setData(kKindRole, static_cast<int>(i));
        item->setToolTip(tr("As of %1").arg(textOf(kinds[i].versions)));
    }
    m_kinds->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_kinds->setWordWrap(true);
    m_text->setAccessibleName(tr("Settings"));
    m_text->setReadOnly(true);
    m_text->setLineWrapMode(QPlainTextEdit::NoWrap);
    QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    fixed.setPixelSize(uiFont().pixelSize());
    m_text->setFont(fixed);
    setRole(m_notes, "small");
    m_notes->setWordWrap(true);
    setRole(m_failure, "error");
    m_failure->setWordWrap(true);
    m_failure->setTextInteractionFlags(Qt::TextSelectableByMouse);

    setRole(m_copy, "primary");
    m_copy->setDefault(true);
    auto* close = new QPushButton(tr("Close"));
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_copy, &QPushButton::clicked, this, &CopySettingsDialog::copy);
    connect(m_save, &QPushButton::clicked, this, &CopySettingsDialog::chooseFile);
    connect(m_kinds, &QListWidget::currentRowChanged, this, &CopySettingsDialog::kindChanged);

    auto* right = new QVBoxLayout;
    right->addWidget(m_text, 1);
    right->addWidget(m_failure);
    right->addLayout(m_remedies);
    right->addWidget(m_notes);
    auto* middle = new QHBoxLayout;
    constexpr int kKindsWidth = 220;
    m_kinds->setFixedWidth(kKindsWidth);
    middle->addWidget(m_kinds);
    middle->addLayout(right, 1);
    auto* foot = new QHBoxLayout;
    foot->addWidget(close);
    foot->addStretch(1);
    foot->addWidget(m_save);
    foot->addWidget(m_copy);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 24, 24, 24);
    column->setSpacing(12);
    column->addLayout(middle, 1);
    column->addLayout(foot);
    constexpr QSize kSize{900, 560};
    resize(kSize);
    m_kinds->setCurrentRow(0);
    m_kinds->setFocus();
}

const sim::FrameworkKind& CopySettingsDialog::kind() const
{
    return sim::frameworkKinds()[static_cast<std::size_t>(m_kinds->currentItem()->data(kKindRole).toInt())];
}

void CopySettingsDialog::show(std::string_view id)
{
    for (int row = 0; row < m_kinds->count(); ++row)
        if (sim::frameworkKinds()[static_cast<std::size_t>(m_kinds->item(row)->data(kKindRole).toInt())].id == id)
            m_kinds->setCurrentRow(row);
}

QString CopySettingsDialog::text() const
{
    return m_text->toPlainText();
}

void CopySettingsDialog::kindChanged()
{
    QString failure, notes;
    try {
        const sim::Exported exported = sim::exportSettings(m_scenario, kind().id, m_catalogue);
        m_text->setPlainText(QString::fromStdString(exported.text));
        const auto lost = static_cast<std::int64_t>(std::count_if(exported.notes.begin(), exported.notes.end(),
                                                                  [](const sim::Note& note) { return !note.pointer.empty(); }));
        notes = lost == 0 ? tr("Read back, these settings are this scenario.")
                : lost == 1
                    ? tr("Read back, these settings are this scenario but for 1 key that the framework does not have.")
                    : tr("Read back, these settings are this scenario but for %1 keys that the framework does not have or "
                         "sets otherwise; each stands in a comment at the end where the form has comments.")
                          .arg(separated(lost));
        constexpr std::int64_t kFew = 3;
        const bool hasComments = exported.text.find("not expressible") != std::string::npos;
        if (lost > 0 && (lost <= kFew || !hasComments)) {
            QStringList keys;
            for (const sim::Note& note : exported.notes)
                if (!note.pointer.empty())
                    keys << QString::fromStdString(sim::dotted(note.pointer));
            constexpr qsizetype kMost = 8;
            notes +=
                QLatin1Char(' ') + (keys.size() == 1      ? tr("It is %1.").arg(keys.front())
                                    : keys.size() > kMost ? tr("They are %1, …").arg(keys.mid(0, kMost).join(QLatin1String(", ")))
                                                          : tr("They are %1.").arg(keys.join(QLatin1String(", "))));
        }
        QStringList names;
        for (const sim::Note& note : exported.notes)
            names << plainWords(beginningOf(note.setting + (note.text.empty() ? "" : ": " + note.text)));
        m_notes->setToolTip(names.join(QLatin1Char('\n')));
    } catch (const sim::Error& error) {
        m_text->clear();
        failure = tr("%1 would refuse this layout: %2").arg(textOf(kind().name), plainWords(QString::fromUtf8(error.what())));
    }
    m_failure->setText(failure);
    m_failure->setVisible(!failure.isEmpty());
    if (!m_changed.isEmpty())
        notes = tr("Changed in the scenario: %1; Edit > Undo takes it back.").arg(m_changed) +
                (notes.isEmpty() ? QString() : QLatin1Char(' ') + notes);
    m_notes->setText(notes);
    m_notes->setVisible(!notes.isEmpty());
    m_copy->setEnabled(failure.isEmpty());
    m_save->setEnabled(failure.isEmpty());
    offer({});
    if (failure.isEmpty())
        m_worker.dropAll();
    else
        findRemedies();
}

void CopySettingsDialog::findRemedies()
{
    m_worker.ask(
        0,
        [document = m_document, scenario = m_scenario, id = kind().id, &catalogue = m_catalogue] {
            return refusalRemedies(document, scenario, id, catalogue);
        },
        [this](const std::vector<Edit>& remedies) { offer(remedies); }, [](const QString&) {});
}

void CopySettingsDialog::offer(const std::vector<Edit>& remedies)
{
    while (QLayoutItem* item = m_remedies->takeAt(0)) {
        if (QWidget* button = item->widget()) {
            button->hide();
            button->deleteLater(); // it may be the one that was pressed
        }
        delete item;
    }
    for (const Edit& edit : remedies) {
        const QString said = QString::fromStdString(edit.text);
        auto* button = new QPushButton(tr("Set %1").arg(said));
        button->setToolTip(tr("Changes the scenario by one step that can be undone: %1").arg(said));
        connect(button, &QPushButton::clicked, this, [this, edit, said] {
            m_changed += (m_changed.isEmpty() ? QString() : QStringLiteral("; ")) + said;
            Q_EMIT remedyChosen(edit);
        });
        m_remedies->addWidget(button, 0, Qt::AlignLeft);
    }
}

void CopySettingsDialog::setScenario(const sim::ScenarioDocument& document, const sim::Scenario& scenario)
{
    m_document = document;
    m_scenario = scenario;
    kindChanged();
}

void CopySettingsDialog::copy()
{
    QGuiApplication::clipboard()->setText(text());
    Q_EMIT copied(textOf(kind().name));
}

void CopySettingsDialog::chooseFile()
{
    const QString ending = textOf(kind().ending);
    const QString path = chooseSaveFile(this, tr("Save Settings"), m_fileName + ending, tr("Settings (*%1)").arg(ending));
    if (path.isEmpty())
        return;
    try {
        sim::replaceFile(path.toStdU16String(), text().toStdString());
        Q_EMIT saved(path);
        accept();
    } catch (const sim::Error& error) {
        m_failure->setText(QString::fromUtf8(error.what()));
        m_failure->show();
    }
}

} // namespace app
