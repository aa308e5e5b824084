#include "app/shell/dialogs/name_dialog.h"

#include "app/shell/widgets/style.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QShortcut>
#include <QVBoxLayout>

namespace app {

NameDialog::NameDialog(const QString& name, const QString& description, const QString& generated, QWidget* parent)
    : QDialog(parent), m_name(new QLineEdit(name)), m_description(new QPlainTextEdit(description))
{
    setWindowTitle(tr("Name and Description"));
    setAttribute(Qt::WA_DeleteOnClose);
    m_name->setPlaceholderText(generated);
    m_name->setAccessibleName(tr("Name"));
    m_name->selectAll();
    m_description->setPlaceholderText(
        tr("What there is to see, and what to try. Markdown; its first sentence stands below the name."));
    m_description->setAccessibleName(tr("Description"));
    m_description->setTabChangesFocus(true);
    auto* hint = new QLabel(tr("Without a name the scenario is called after its settings, and follows them."));
    setRole(hint, "small");
    hint->setWordWrap(true);
    auto* nameLabel = new QLabel(tr("Name"));
    nameLabel->setBuddy(m_name);
    auto* descriptionLabel = new QLabel(tr("Description"));
    descriptionLabel->setBuddy(m_description);

    auto* buttons = new QDialogButtonBox;
    auto* rename = buttons->addButton(tr("Rename"), QDialogButtonBox::AcceptRole);
    buttons->addButton(tr("Cancel"), QDialogButtonBox::RejectRole);
    rename->setDefault(true);
    setRole(rename, "primary");
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT chosen(m_name->text().trimmed(), m_description->toPlainText().trimmed());
        accept();
    });
    for (const Qt::Key enter : {Qt::Key_Return, Qt::Key_Enter}) // in the description Enter alone begins a line
        connect(new QShortcut(QKeySequence(Qt::CTRL | enter), this), &QShortcut::activated, rename, &QPushButton::click);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(6);
    for (QWidget* part : {static_cast<QWidget*>(nameLabel), static_cast<QWidget*>(m_name), static_cast<QWidget*>(hint)})
        column->addWidget(part);
    column->addSpacing(8);
    column->addWidget(descriptionLabel);
    column->addWidget(m_description, 1);
    column->addSpacing(8);
    column->addWidget(buttons);
    constexpr QSize kSize{520, 320};
    resize(kSize);
}

} // namespace app
