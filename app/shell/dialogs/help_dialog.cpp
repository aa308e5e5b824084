#include "app/shell/dialogs/help_dialog.h"

#include "app/shell/widgets/style.h"
#include "app/shell/widgets/term_image.h"

#include <QHBoxLayout>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QResizeEvent>
#include <QScreen>
#include <QScrollBar>
#include <QShowEvent>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

const QString kSetting = QStringLiteral("setting:"); ///< links to keys of the form

/// The manual's pictures as wide as the page.
class ManualBrowser : public QTextBrowser {
public:
    using QTextBrowser::QTextBrowser;

protected:
    QVariant loadResource(int type, const QUrl& name) override
    {
        const QVariant loaded = QTextBrowser::loadResource(type, name);
        if (type != QTextDocument::ImageResource || name.scheme() == QLatin1String("data")) // a term's drawing
            return loaded;
        constexpr int kMargin = 32;
        const QImage image = QImage::fromData(loaded.toByteArray());
        const int room = viewport()->width() - kMargin;
        return image.width() > room && room > 0 ? image.scaledToWidth(room, Qt::SmoothTransformation) : image;
    }
};

} // namespace

HelpDialog::HelpDialog(Help help, const std::function<QString(const std::string&)>& nameOf, const Theme& theme, QWidget* parent)
    : QDialog(parent), m_help(std::move(help)), m_theme(&theme), m_nameOf(nameOf), m_side(new QWidget), m_line(new QLineEdit),
      m_list(new QListWidget), m_text(new ManualBrowser)
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Glossary and Manual"));
    resize(880, 560);
    m_line->setPlaceholderText(tr("Find a term: MFU, OOM, cost …"));
    m_line->setClearButtonEnabled(true);
    m_line->setAccessibleName(tr("Find a term"));
    m_list->setAccessibleName(tr("Terms and sections"));
    setRole(m_list, "plain");
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setWordWrap(true);
    m_text->setSearchPaths({m_help.manualFolder()});
    m_text->setOpenLinks(false);
    m_text->setAccessibleName(tr("What it means"));
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->document()->setDocumentMargin(16);
    auto* left = new QVBoxLayout;
    left->setSpacing(8);
    left->addWidget(m_line);
    left->addWidget(m_list, 1);
    m_side->setLayout(left);
    left->setContentsMargins(0, 0, 0, 0);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 12, 12, 12);
    row->setSpacing(12);
    row->addWidget(m_side);
    row->addWidget(m_text, 1);
    connect(m_line, &QLineEdit::textChanged, this, &HelpDialog::fill);
    connect(m_list, &QListWidget::currentRowChanged, this, &HelpDialog::tell);
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& to) {
        if (to.toString().startsWith(kSetting))
            Q_EMIT settingRequested(to.toString().mid(kSetting.size()));
    });
    fill();
}

void HelpDialog::fitInto(const QRect& room)
{
    constexpr QSize kFrame{16, 44}; // the window manager's
    resize(size().boundedTo(room.size() - kFrame));
    if (!room.contains(QRect(pos(), size() + kFrame)))
        move(room.topLeft() + QPoint(std::max(0, room.width() - width() - kFrame.width()) / 2,
                                     std::max(0, room.height() - height() - kFrame.height()) / 2));
}

/// Text may be larger than when it was open last.
void HelpDialog::showEvent(QShowEvent* event)
{
    QDialog::showEvent(event);
    if (!event->spontaneous())
        fitInto(screen()->availableGeometry());
}

void HelpDialog::resizeEvent(QResizeEvent* event)
{
    constexpr int kNarrowestList = 130, kWidestList = 240;
    m_side->setFixedWidth(std::clamp(width() * 3 / 10, kNarrowestList, kWidestList));
    QDialog::resizeEvent(event);
    if (event->oldSize().width() == event->size().width())
        return;
    layout()->activate();
    tell(); // its drawing is as wide as there is room
}

void HelpDialog::fill()
{
    m_list->clear();
    m_found = m_help.find(m_line->text().trimmed());
    for (const HelpEntry* entry : m_found)
        m_list->addItem(entry->kind == HelpEntry::Kind::term ? entry->title : tr("Manual: %1").arg(entry->title));
    m_list->setCurrentRow(0);
}

void HelpDialog::tell()
{
    const int row = m_list->currentRow();
    if (row < 0 || row >= static_cast<int>(m_found.size())) {
        m_text->setPlainText(m_found.empty() ? tr("Nothing here is called so.") : QString());
        return;
    }
    const HelpEntry& entry = *m_found[static_cast<std::size_t>(row)];
    if (entry.kind == HelpEntry::Kind::manual) {
        m_text->setMarkdown(QStringLiteral("## %1\n").arg(entry.title) + entry.text);
        return;
    }
    constexpr int kAround = 36;                                                         // the document's margins
    const int room = m_text->width() - m_text->verticalScrollBar()->sizeHint().width(); // it may come with the drawing
    QString html = QStringLiteral("<h2>%1</h2><p>%2</p>").arg(entry.title.toHtmlEscaped(), entry.text.toHtmlEscaped()) +
                   termImageHtml(entry, *m_theme, room - kAround);
    if (!entry.also.isEmpty())
        html += QStringLiteral("<p style=\"color:%1\">%2</p>")
                    .arg(palette().color(QPalette::PlaceholderText).name(),
                         tr("Also: %1").arg(entry.also.join(QStringLiteral(", "))).toHtmlEscaped());
    QStringList links;
    for (const std::string& pointer : entry.settings)
        if (const QString name = m_nameOf(pointer); !name.isEmpty())
            links
                << QStringLiteral("<a href=\"%1%2\">%3</a>").arg(kSetting, QString::fromStdString(pointer), name.toHtmlEscaped());
    if (!links.isEmpty())
        html += QStringLiteral("<p>%1</p>").arg(tr("Settings: %1").arg(links.join(QStringLiteral(", "))));
    m_text->setHtml(html);
}

void HelpDialog::setTheme(const Theme& theme)
{
    m_theme = &theme;
    tell();
}

void HelpDialog::showEntry(const QString& title)
{
    m_line->clear();
    for (std::size_t i = 0; i < m_found.size(); ++i)
        if (m_found[i]->title == title)
            m_list->setCurrentRow(static_cast<int>(i));
}

QStringList HelpDialog::listed() const
{
    QStringList out;
    for (int i = 0; i < m_list->count(); ++i)
        out << m_list->item(i)->text();
    return out;
}

bool HelpDialog::showsPicture() const
{
    return m_text->toHtml().contains(QLatin1String("data:image/png"));
}

QString HelpDialog::told() const
{
    return m_text->toPlainText();
}

} // namespace app
