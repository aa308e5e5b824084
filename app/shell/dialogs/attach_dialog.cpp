#include "app/shell/dialogs/attach_dialog.h"

#include "app/session/settings.h"
#include "app/shell/widgets/style.h"
#include "sim/error.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {
namespace {

const QString kExample = QStringLiteral("tcp://127.0.0.1:5555");

QLabel* smallLabel(const QString& text)
{
    auto* label = new QLabel(text);
    setRole(label, "small");
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

AttachDialog::AttachDialog(QWidget* parent)
    : QDialog(parent), m_address(new QComboBox), m_addressNote(smallLabel({})), m_problem(new QLabel),
      m_demandsKeys(new QCheckBox(tr("The run demands keys"))), m_keys(new QWidget), m_attach(new QPushButton(tr("Attach")))
{
    setObjectName(QStringLiteral("attachDialog"));
    setWindowTitle(tr("Attach to a Run"));
    setAttribute(Qt::WA_DeleteOnClose);
    constexpr int kWidth = 560;
    setMinimumWidth(kWidth);

    auto* title = new QLabel(tr("Watch a training that runs already"));
    setRole(title, "heading");
    auto* addressLabel = new QLabel(tr("Address"));
    addressLabel->setBuddy(m_address);
    m_address->setEditable(true);
    m_address->setInsertPolicy(QComboBox::NoInsert);
    m_address->addItems(recentAddresses());
    m_address->setCurrentText(m_address->count() > 0 ? m_address->itemText(0) : kExample);
    m_address->lineEdit()->setPlaceholderText(kExample);
    m_address->lineEdit()->selectAll();
    m_address->setAccessibleName(tr("Address"));

    auto* keys = new QGridLayout(m_keys);
    keys->setContentsMargins(0, 8, 0, 0);
    keys->setHorizontalSpacing(8);
    keys->setVerticalSpacing(6);
    auto* heading = new QLabel(tr("KEYS"));
    setRole(heading, "section");
    keys->addWidget(heading, 0, 0, 1, 3);
    keys->addWidget(smallLabel(tr("Runs that listen beyond their machine talk only to viewers they know, encrypted. Once: "
                                  "rankscope-live keys NAME makes your key NAME and its public part NAME.pub. The run is "
                                  "started with --key RUN --allow FILE, where FILE holds the text of your NAME.pub.")),
                    1, 0, 1, 3);
    m_own = addKeyRow(*keys, 2, tr("Your key file"), tr("NAME, which only you may read"));
    m_server = addKeyRow(*keys, 3, tr("Key of the run"), tr("Its .pub file, or the 40 characters in it"));
    const QSettings settings = userSettings();
    m_own->setText(settings.value(QStringLiteral("attach/key")).toString());
    m_server->setText(settings.value(QStringLiteral("attach/serverKey")).toString());
    keys->setColumnStretch(1, 1);

    setRole(m_problem, "error");
    m_problem->setWordWrap(true);
    m_problem->hide();
    setRole(m_attach, "primary");
    m_attach->setDefault(true);
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_attach, &QPushButton::clicked, this, &AttachDialog::tryToAttach);
    connect(m_demandsKeys, &QCheckBox::toggled, this, &AttachDialog::addressChanged);
    connect(m_address, &QComboBox::currentTextChanged, this, &AttachDialog::addressChanged);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    buttons->addWidget(m_attach);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 16, 20, 16);
    column->setSpacing(6);
    column->addWidget(title);
    column->addSpacing(4);
    column->addWidget(addressLabel);
    column->addWidget(m_address);
    column->addWidget(m_addressNote);
    column->addWidget(m_demandsKeys);
    column->addWidget(m_keys);
    column->addWidget(m_problem);
    column->addSpacing(8);
    column->addLayout(buttons);
    m_address->setFocus();
    addressChanged();
}

QLineEdit* AttachDialog::addKeyRow(QGridLayout& grid, int row, const QString& name, const QString& hint)
{
    auto* field = new QLineEdit;
    field->setPlaceholderText(hint);
    field->setAccessibleName(name);
    auto* choose = new QPushButton(tr("Choose…"));
    choose->setAccessibleName(tr("Choose: %1").arg(name));
    choose->setAutoDefault(false);
    connect(choose, &QPushButton::clicked, this, [this, field, name] {
        const QString path = QFileDialog::getOpenFileName(this, name);
        if (!path.isEmpty())
            field->setText(path);
    });
    grid.addWidget(new QLabel(name), row, 0);
    grid.addWidget(field, row, 1);
    grid.addWidget(choose, row, 2);
    return field;
}

void AttachDialog::addressChanged()
{
    const QString endpoint = m_address->currentText().trimmed();
    const bool known = endpoint.startsWith(QLatin1String("tcp://")) || endpoint.startsWith(QLatin1String("ipc://"));
    const bool local = live::isLocalEndpoint(endpoint.toStdString());
    m_addressNote->setText(!known  ? tr("An address begins with tcp:// or ipc://, as in %1 or ipc:///tmp/run.").arg(kExample)
                           : local ? tr("What the run said it listens at: rankscope-live run FILE --listen %1").arg(endpoint)
                                   : tr("On another machine: both sides must show keys."));
    m_demandsKeys->setVisible(known && local);
    m_keys->setVisible(known && needsKeys());
    m_attach->setEnabled(known);
    m_problem->hide();
    adjustSize();
}

bool AttachDialog::needsKeys() const
{
    return !live::isLocalEndpoint(m_address->currentText().trimmed().toStdString()) || m_demandsKeys->isChecked();
}

void AttachDialog::tryToAttach()
{
    const QString endpoint = m_address->currentText().trimmed();
    std::optional<live::ViewerKeys> keys;
    if (needsKeys()) {
        try {
            if (m_own->text().isEmpty() || m_server->text().isEmpty())
                throw sim::Error(tr("Both keys are needed: your own key file and the key of the run.").toStdString());
            keys = live::ViewerKeys{live::readPublicKey(m_server->text().trimmed().toStdString()),
                                    live::readKeyPair(m_own->text().trimmed().toStdString())};
        } catch (const sim::Error& error) {
            m_problem->setText(QString::fromUtf8(error.what()));
            m_problem->show();
            adjustSize();
            return;
        }
        QSettings settings = userSettings();
        settings.setValue(QStringLiteral("attach/key"), m_own->text().trimmed());
        settings.setValue(QStringLiteral("attach/serverKey"), m_server->text().trimmed());
    }
    addRecentAddress(endpoint);
    Q_EMIT chosen(endpoint, keys);
    accept();
}

} // namespace app
