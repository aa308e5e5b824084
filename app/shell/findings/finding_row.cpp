#include "app/shell/findings/finding_row.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/severity_icon.h"
#include "app/shell/widgets/style.h"
#include "sim/analysis/findings/finding_because.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

/// A number stays on the line of its unit.
QString withUnits(QString text)
{
    static const QRegularExpression kUnit(QStringLiteral("(\\d) (%|[KMGT]iB|GB/s|ms|µs|s\\b)"));
    return text.replace(kUnit, QStringLiteral("\\1\u00a0\\2"));
}

QLabel* wrapped(const QString& text, const char* role)
{
    auto* out = new QLabel(withUnits(text));
    setRole(out, role);
    out->setTextFormat(Qt::PlainText);
    out->setWordWrap(true);
    return out;
}

QString withSign(double value, const QString& size)
{
    return (value < 0 ? QStringLiteral("−") : QStringLiteral("+")) + size;
}

} // namespace

QString timeText(const sim::EditEffect& effect)
{
    const double percent = std::fabs(effect.timePerToken) * 100;
    if (percent < 0.05)
        return QObject::tr("same time");
    return QObject::tr("%1 % time a token")
        .arg(withSign(effect.timePerToken, QString::number(percent, 'f', percent < 9.95 ? 1 : 0)));
}

QString stepChangeText(const sim::EditEffect& effect)
{
    constexpr double kSame = 1e-6; // of sums in floating point
    const double change = (1 + effect.timePerToken) * effect.tokens - 1;
    const double percent = std::fabs(change) * 100;
    if (std::fabs(effect.tokens - 1) < kSame)
        return {};
    return percent < 0.05 ? QObject::tr("same step")
                          : QObject::tr("step %1 %").arg(withSign(change, QString::number(percent, 'f', percent < 9.95 ? 1 : 0)));
}

QString sureText(const sim::EditEffect& effect)
{
    constexpr double kShown = 0.0005; // what timeText tells from nothing
    if (std::fabs(effect.timePerToken) < kShown)
        return {};
    if (effect.likely.isKnown() && !effect.likely.canTell() && !memoryText(effect).isEmpty()) // which is counted
        return QObject::tr("the change of time is %1").arg(QLatin1String(sim::kCannotTell));
    return QString::fromStdString(sim::sureText(effect.likely));
}

QString memoryText(const sim::EditEffect& effect)
{
    const double size = std::fabs(effect.peakChangeGib);
    if (size < 0.005 * std::max(1e-9, effect.peakGib))
        return {};
    return withSign(effect.peakChangeGib, memoryQuantity(size).text());
}

namespace {

/// Of what does not help enough: a gain is told as one, and how small it is.
QString uselessText(const sim::EditEffect& effect)
{
    constexpr double kShown = 0.0005, kSmall = 0.005; // what counts as a gain begins there
    if (!effect.fitsAll())
        return QObject::tr("does not fit");
    if (effect.leavesNoRoom)
        return (-effect.timePerToken > kSmall ? QObject::tr("%1, but leaves no room for what the allocator reserves")
                                              : QObject::tr("%1, and leaves no room for what the allocator reserves"))
            .arg(timeText(effect));
    if (-effect.timePerToken > kSmall) // what is asked for is room
        return QObject::tr("%1, but no more room").arg(timeText(effect));
    if (-effect.timePerToken < kShown)
        return timeText(effect);
    return QObject::tr("only %1 % less time a token").arg(-effect.timePerToken * 100, 0, 'f', 1);
}

} // namespace

SuggestionButton::SuggestionButton(const QString& edit, const sim::EditEffect& effect, QWidget* parent) : QPushButton(parent)
{
    setRole(this, "try");
    auto* words = wrapped(tr("Try %1").arg(edit), "plain");
    auto* time = new QLabel(timeText(effect));
    const bool isNoise = effect.likely.isKnown() && !effect.likely.canTell();
    setRole(time, isNoise                         ? "changed"
                  : effect.timePerToken < -0.0005 ? "better"
                  : effect.timePerToken > 0.0005  ? "worse"
                                                  : "changed");
    const QString memory = effect.fitsAll() ? memoryText(effect) : tr("does not fit");
    auto* room = new QLabel(memory);
    setRole(room, !effect.fitsAll() ? "worse" : "changed");
    auto* step = new QLabel(stepChangeText(effect));
    setRole(step, "changed");
    for (QLabel* line : {room, step})
        if (line->text().isEmpty())
            line->hide(); // shown, it would be a window until the button has it
    auto* numbers = new QVBoxLayout;
    numbers->setSpacing(0);
    for (QLabel* line : {time, step, room}) {
        line->setAlignment(Qt::AlignRight);
        numbers->addWidget(line);
    }
    const QString sure = sureText(effect);
    auto* left = new QVBoxLayout;
    left->setSpacing(0);
    left->addWidget(words);
    if (!sure.isEmpty())
        left->addWidget(wrapped(sure, "small"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 6, 10, 6);
    row->setSpacing(10);
    row->addLayout(left, 1);
    row->addLayout(numbers);
    for (QLabel* label : findChildren<QLabel*>())
        label->setAttribute(Qt::WA_TransparentForMouseEvents);
    setAccessibleName(tr("Try %1").arg(edit));
    QStringList told{timeText(effect)};
    for (const QString& more : {stepChangeText(effect), memory, sure})
        if (!more.isEmpty())
            told << more;
    setAccessibleDescription(told.join(QStringLiteral(", ")));
    const QString tip = tr("Try this: the step takes %1, the fullest rank %2. Undo takes it back.")
                            .arg(durationQuantity(effect.stepSeconds).text(), memoryQuantity(effect.peakGib).text());
    setToolTip(sure.isEmpty() ? tip
                              : tip + QLatin1Char('\n') + tr("How sure: by %1").arg(QString::fromStdString(effect.likely.basis)));
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

QSize SuggestionButton::sizeHint() const
{
    return layout()->totalSizeHint();
}

QSize SuggestionButton::minimumSizeHint() const
{
    return layout()->totalMinimumSize();
}

FindingRow::FindingRow(const sim::Finding& finding, const Theme& theme, QWidget* parent)
    : QFrame(parent), m_finding(finding), m_progress(wrapped({}, "small")), m_edits(new QVBoxLayout), m_fix(new QPushButton)
{
    setRole(this, "card");
    const QString title = QString::fromStdString(finding.title);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    auto* first = new QHBoxLayout; // what mends it stands beside what is wrong, before all that was tried
    first->setSpacing(6);
    first->addWidget(wrapped(title, "strong"), 1);
    first->addWidget(m_fix, 0, Qt::AlignTop);
    words->addLayout(first);
    words->addWidget(wrapped(QString::fromStdString(finding.reason), "muted12"));
    auto* head = new QHBoxLayout;
    head->setSpacing(10);
    head->addWidget(new SeverityIcon(finding, theme), 0, Qt::AlignTop);
    head->addLayout(words, 1);

    auto* show = new QPushButton(tr("Show me"));
    setRole(show, "link");
    show->setAccessibleDescription(title);
    show->setCursor(Qt::PointingHandCursor);
    if (!finding.show.pointsSomewhere())
        show->hide();
    connect(show, &QPushButton::clicked, this, &FindingRow::showRequested);
    auto* because = new QPushButton(tr("Numbers"));
    setRole(because, "link");
    because->setToolTip(tr("Where its numbers come from: formula, values, source"));
    because->setAccessibleName(tr("Where the numbers come from"));
    because->setAccessibleDescription(title);
    because->setCursor(Qt::PointingHandCursor);
    if (std::none_of(finding.claims.begin(), finding.claims.end(),
                     [](const sim::Claim& claim) { return sim::hasBecause(claim.of); }))
        because->hide();
    connect(because, &QPushButton::clicked, this, [this, because] { Q_EMIT becauseRequested(because); });
    setRole(m_fix, "button");
    m_fix->setObjectName(QStringLiteral("fixThis"));
    m_fix->setToolTip(tr("Changes as few settings as are enough, of those the ones that cost least time, as one step that can be "
                         "undone"));
    m_fix->setAccessibleDescription(title);
    m_fix->setCursor(Qt::PointingHandCursor);
    m_fix->setHidden(finding.kind != sim::FindingKind::doesNotFit);
    setFixing(false);
    connect(m_fix, &QPushButton::clicked, this, &FindingRow::fixRequested);
    m_edits->setSpacing(4);
    auto* foot = new QHBoxLayout;
    foot->addStretch(1);
    foot->addWidget(because, 0, Qt::AlignRight | Qt::AlignBottom);
    foot->addWidget(show, 0, Qt::AlignRight | Qt::AlignBottom);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 10, 12, 8);
    column->setSpacing(6);
    column->addLayout(head);
    column->addLayout(m_edits);
    column->addWidget(m_progress);
    column->addLayout(foot);
    setAccessibleName(severityName(finding) + QStringLiteral(": ") + title);
    setAccessibleDescription(QString::fromStdString(finding.reason));
    showProgress();
}

void FindingRow::setEffect(std::size_t edit, const std::optional<sim::EditEffect>& effect)
{
    ++m_measured;
    const QString text = QString::fromStdString(m_finding.suggestions.at(edit).text);
    if (effect && sim::helps(m_finding.kind, *effect)) {
        const sim::TriedEdit tried{m_finding.suggestions[edit], *effect};
        if (std::any_of(m_offered.begin(), m_offered.end(), [&](const auto& other) { return sim::isOutdone(tried, other); }))
            return showProgress();
        for (std::size_t i = m_offered.size(); i-- > 0;)
            if (sim::isOutdone(m_offered[i], tried)) {
                delete m_edits->itemAt(static_cast<int>(i))->widget(); // and with it its place
                m_offered.erase(m_offered.begin() + static_cast<std::ptrdiff_t>(i));
            }
        auto* button = new SuggestionButton(text, *effect);
        connect(button, &QPushButton::clicked, this, [this, edit] { Q_EMIT editRequested(edit); });
        const auto isBetter = [kind = m_finding.kind](const sim::TriedEdit& a, const sim::TriedEdit& b) {
            return sim::isOfferedBefore(kind, a.effect, b.effect);
        };
        const auto place = std::upper_bound(m_offered.begin(), m_offered.end(), tried, isBetter);
        m_edits->insertWidget(static_cast<int>(place - m_offered.begin()), button);
        m_offered.insert(place, tried);
    } else if (effect) {
        m_useless << tr("%1 (%2)").arg(text, uselessText(*effect));
    }
    showProgress();
}

void FindingRow::setFixing(bool fixing)
{
    m_fix->setText(fixing ? tr("Searching…") : tr("Fix this"));
    m_fix->setEnabled(!fixing);
}

void FindingRow::showProgress()
{
    QString text;
    if (!isComplete())
        text = tr("Trying what might help…");
    else if (!m_useless.isEmpty())
        text = tr("Tried, and not worth it: %1").arg(m_useless.join(QStringLiteral("; ")));
    m_progress->setText(withUnits(text));
    m_progress->setVisible(!text.isEmpty());
}

QString FindingRow::text() const
{
    QStringList lines{severityName(m_finding) + QStringLiteral(": ") + QString::fromStdString(m_finding.title),
                      QString::fromStdString(m_finding.reason)};
    for (const SuggestionButton* button : findChildren<SuggestionButton*>())
        lines << button->accessibleName() + QStringLiteral(": ") + button->accessibleDescription();
    if (!m_progress->text().isEmpty())
        lines << m_progress->text();
    return lines.join(QLatin1Char('\n'));
}

} // namespace app
