#include "app/shell/widgets/scenario_header.h"

#include "app/session/gallery.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_name.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "app/shell/widgets/text_habit.h"

#include <QDesktopServices>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {

ElidedLabel::ElidedLabel(const char* role, QWidget* parent) : QFrame(parent), m_label(new QLabel(this))
{
    setRole(m_label, role);
    m_label->setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text, qsizetype shared)
{
    m_text = text;
    m_shared = shared;
    setAccessibleName(text);
    updateGeometry();
    elide();
}

void ElidedLabel::setParted(const QString& by)
{
    m_parted = by;
    elide();
}

QSize ElidedLabel::sizeHint() const
{
    m_label->ensurePolished();
    const QFontMetrics metrics(m_label->font());
    const QMargins around = contentsMargins();
    return {metrics.horizontalAdvance(m_text) + 1 + around.left() + around.right(), metrics.height() + 2};
}

void ElidedLabel::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    elide();
}

/// Of what is shared as much of its begin as there is room for beside all of the rest.
QString ElidedLabel::shownText() const
{
    constexpr qsizetype kLeast = 6; // letters: fewer tell nothing
    const QFontMetrics metrics(m_label->font());
    const int room = contentsRect().width();
    const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) <= room; };
    if (fits(m_text))
        return m_text;
    if (!m_parted.isEmpty())
        for (qsizetype end = m_text.lastIndexOf(m_parted); end > 0; end = m_text.lastIndexOf(m_parted, end - 1))
            if (const QString some = m_text.left(end) + m_parted + QStringLiteral("…"); fits(some))
                return some;
    if (m_shared <= kLeast)
        return metrics.elidedText(m_text, Qt::ElideRight, room);
    const QString rest = QStringLiteral("…") + m_text.mid(m_shared);
    qsizetype kept = m_shared;
    while (kept > kLeast && !fits(m_text.left(kept) + rest))
        --kept;
    return metrics.elidedText(m_text.left(kept).trimmed() + rest, Qt::ElideRight, room);
}

void ElidedLabel::elide()
{
    m_label->setGeometry(contentsRect());
    const QString shown = shownText();
    m_label->setText(shown);
    setToolTip(shown == m_text ? QString() : QStringLiteral("<p>%1</p>").arg(m_text.toHtmlEscaped()));
}

ScenarioHeader::ScenarioHeader(Session& session, QWidget* parent)
    : QFrame(parent), m_session(session), m_name(new ElidedLabel("heading")), m_summary(new ElidedLabel("muted")),
      m_layout(new ElidedLabel("muted")), m_notice(new QLabel), m_text(new QLabel), m_more(new QToolButton)
{
    setRole(this, "header");
    setRole(m_notice, "error");
    m_notice->setTextFormat(Qt::PlainText);
    m_notice->setWordWrap(true);
    m_notice->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text->setTextFormat(Qt::MarkdownText);
    m_text->setWordWrap(true);
    connect(m_text, &QLabel::linkActivated, this, [](const QString& link) {
        if (const QUrl url(link); url.scheme() == QLatin1String("https") || url.scheme() == QLatin1String("http"))
            QDesktopServices::openUrl(url); // whoever wrote the file: nothing of this machine is opened
    });
    m_text->setTextInteractionFlags(Qt::TextBrowserInteraction);
    m_text->hide();
    m_more->setText(tr("What to look at"));
    m_more->setCheckable(true);
    setRole(m_more, "link");
    m_more->setAccessibleDescription(tr("Show the whole description of the scenario"));
    connect(m_more, &QToolButton::toggled, this, &ScenarioHeader::showWholeText);

    auto* first = new QHBoxLayout;
    first->setSpacing(16);
    first->addWidget(m_name, 1);
    first->addWidget(m_layout);
    auto* second = new QHBoxLayout;
    second->setSpacing(16);
    second->addWidget(m_summary, 1);
    second->addWidget(m_text, 1);
    second->addWidget(m_more, 0, Qt::AlignTop | Qt::AlignRight);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 8, 12, 6);
    column->setSpacing(2);
    column->addLayout(first);
    column->addLayout(second);
    column->addWidget(m_notice);
    connect(&m_session, &Session::changed, this, &ScenarioHeader::refresh);
    connect(&m_session, &Session::fileChanged, this, &ScenarioHeader::refresh); // the name says what differs from the file
    connect(&m_session, &Session::opened, this, [this] { m_more->setChecked(false); });
    refresh();
}

QString firstProblemText(const Session& session)
{
    if (!session.isOpen() || session.isLegal())
        return {};
    const Problems& problems = session.problems();
    const auto first =
        std::find_if(problems.begin(), problems.end(), [](const sim::Problem& p) { return p.severity == sim::Severity::error; });
    QString text = session.scenario() ? QObject::tr("The pictures show the last layout that works. ") : QString();
    if (first != problems.end())
        text +=
            plainWords(QString::fromStdString(first->pointer.empty() ? first->message : first->pointer + ": " + first->message));
    return text;
}

QString ScenarioHeader::notice() const
{
    return m_noticeText;
}

void ScenarioHeader::setMasked(const QString& why, bool tellsMore)
{
    const bool masked = !why.isEmpty();
    m_whyMasked = why;
    m_tellsMore = tellsMore;
    if (masked || !tellsMore)
        m_more->setChecked(false);
    m_more->setEnabled(!masked);
    refresh();
}

void ScenarioHeader::refresh()
{
    m_name->setText(m_session.displayName());
    m_noticeText = firstProblemText(m_session);
    constexpr qsizetype kMostShown = 600; // of a hostile file's: the picture below needs a place, too
    m_notice->setText(m_noticeText.size() > kMostShown ? m_noticeText.left(kMostShown) + QStringLiteral("…") : m_noticeText);
    m_notice->setAccessibleName(m_noticeText);
    m_notice->setVisible(!m_noticeText.isEmpty());

    const sim::Scenario* scenario = m_session.scenario();
    const QString description = scenario ? plainDescription(QString::fromStdString(scenario->description)) : QString();
    const QString source = scenario ? QString::fromStdString(scenario->source) : QString();
    m_layout->setText(scenario ? layoutLine(scenario->layout) : QString());
    m_summary->setText(firstSentence(description));
    const QString whole = scenario ? shownDescription(*scenario, m_session.isAsDescribed()) : QString();
    m_text->setText(withoutHtml(source.isEmpty() ? whole : whole + tr("\n\n*Source: %1*").arg(source)));
    m_more->setVisible(m_tellsMore && (!description.isEmpty() || !source.isEmpty()) && (!m_isLow || m_more->isChecked()));
    m_summary->setVisible(!m_more->isChecked() && !m_isLow);
    if (!m_whyMasked.isEmpty()) {
        m_name->setText(m_whyMasked);
        m_layout->setText({});
        m_summary->setText({});
    }
    fitLayout(); // of the texts that stand there now
}

/// In low windows pictures need the place of the second line; in narrow ones the name that of the layout.
void ScenarioHeader::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fitLayout();
    constexpr int kLow = 560;
    const bool isLow = window()->height() < kLow;
    if (std::exchange(m_isLow, isLow) != isLow)
        refresh();
}

/// The form says the layout too; which scenario it is stands only here.
void ScenarioHeader::fitLayout()
{
    constexpr int kReadableName = 110, kAroundBoth = 44;
    const int left = width() - kAroundBoth - m_layout->sizeHint().width();
    m_layout->setVisible(left >= std::min(kReadableName, m_name->sizeHint().width()));
}

void ScenarioHeader::mouseDoubleClickEvent(QMouseEvent*)
{
    Q_EMIT renameRequested();
}

void ScenarioHeader::showWholeText(bool whole)
{
    m_text->setVisible(whole);
    m_more->setText(whole ? tr("Less") : tr("What to look at"));
    refresh();
}

} // namespace app
