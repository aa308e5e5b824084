#include "app/shell/window/transport_bar.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/groove_slider.h"
#include "app/shell/widgets/style.h"

#include <QComboBox>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <functional>

namespace app {
namespace {

constexpr int kSliderSteps = 10000;
constexpr int kShortestSlider = 48;
constexpr int kAroundTime = 8; ///< slider and what stands beside it

QString timeOf(std::int64_t ns)
{
    return ns == 0 ? QStringLiteral("0") : durationQuantity(static_cast<double>(ns) * 1e-9).text();
}

QString speedText(double speed)
{
    return QString::number(speed) + QStringLiteral("×");
}

QToolButton* button(const QString& name)
{
    auto* out = new QToolButton;
    out->setAccessibleName(name);
    out->setAutoRaise(true);
    out->setIconSize({14, 14});
    return out;
}

} // namespace

TransportBar::TransportBar(Playback& playback, QWidget* parent)
    : QFrame(parent), m_playback(playback), m_begin(button(tr("To the begin"))), m_play(button(tr("Play"))),
      m_repeat(button(tr("Repeat"))), m_previous(button(tr("Previous action"))), m_next(button(tr("Next action"))),
      m_leave(button(tr("Leave Step Through"))), m_slider(new GrooveSlider(Qt::Horizontal)), m_speed(new QComboBox),
      m_time(new QLabel)
{
    setRole(this, "transport");
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    setAccessibleName(tr("Playback"));
    m_begin->setToolTip(tr("Time cursor to the begin"));
    m_repeat->setCheckable(true);
    m_repeat->setToolTip(tr("Play over and over"));
    m_slider->setRange(0, kSliderSteps);
    m_slider->setMinimumWidth(kShortestSlider); // shorter, nobody finds a moment on it
    m_slider->setPageStep(kSliderSteps / 20);
    m_slider->setSingleStep(kSliderSteps / 200);
    m_slider->setAccessibleName(tr("Time cursor"));
    m_speed->setAccessibleName(tr("Speed"));
    for (const double speed : Playback::kSpeeds)
        m_speed->addItem(speedText(speed), speed);
    m_speed->setCurrentIndex(m_speed->findData(playback.speed()));
    setRole(m_time, "time");
    m_time->setContentsMargins(kAroundTime, 0, kAroundTime, 0);
    m_time->setAlignment(Qt::AlignRight | Qt::AlignVCenter);

    connect(m_begin, &QToolButton::clicked, this, [this] { Q_EMIT scrubbed(m_playback.span().beginNs); });
    connect(m_play, &QToolButton::clicked, &m_playback, &Playback::toggle);
    connect(m_repeat, &QToolButton::toggled, &m_playback, &Playback::setRepeating);
    connect(m_speed, &QComboBox::activated, this, [this] { m_playback.setSpeed(m_speed->currentData().toDouble()); });
    connect(m_slider, &QSlider::valueChanged, this, [this](int value) {
        const TimeRange span = m_playback.span();
        const double share = static_cast<double>(value) / kSliderSteps;
        Q_EMIT scrubbed(span.beginNs + std::llround(static_cast<double>(span.endNs - span.beginNs) * share));
    });
    connect(&m_playback, &Playback::stateChanged, this, &TransportBar::refresh);

    m_previous->setToolTip(tr("The action before  (,)"));
    m_next->setToolTip(tr("The next action  (.)"));
    m_leave->setObjectName(QStringLiteral("leaveStepping"));
    m_leave->setText(tr("Leave"));
    m_leave->setToolTip(tr("All actions again  (Esc)"));
    connect(m_previous, &QToolButton::clicked, this, [this] { Q_EMIT stepRequested(false); });
    connect(m_next, &QToolButton::clicked, this, [this] { Q_EMIT stepRequested(true); });
    connect(m_leave, &QToolButton::clicked, this, &TransportBar::steppingLeft);
    for (QToolButton* step : {m_previous, m_next, m_leave}) {
        step->setAutoRepeat(step != m_leave);
        setRole(step, "button");
        step->hide();
    }

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 2, 12, 2);
    row->setSpacing(2);
    row->addWidget(m_begin);
    row->addWidget(m_play);
    row->addWidget(m_repeat);
    for (QToolButton* step : {m_previous, m_next, m_leave})
        row->addWidget(step);
    row->addSpacing(kAroundTime);
    row->addWidget(m_slider, 1);
    row->addWidget(m_time);
    row->addWidget(m_speed);
    refresh();
}

void TransportBar::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fit();
}

/// What is least missed goes first, until nothing of the rest is cut.
void TransportBar::fit()
{
    const bool isStepping = !m_leave->isHidden();
    const auto nameSteps = [this](bool isShort) {
        m_previous->setText(isShort ? QStringLiteral("‹") : tr("‹ Previous"));
        m_next->setText(isShort ? QStringLiteral("›") : tr("Next ›"));
    };
    for (QWidget* part : std::initializer_list<QWidget*>{m_begin, m_play, m_repeat, m_slider, m_speed, m_time})
        part->show();
    nameSteps(false);
    tellLength(true);
    for (const std::function<void()>& letGo :
         {std::function([&] { m_speed->hide(); }), std::function([&] { m_repeat->hide(); }),
          std::function([&] { m_slider->setVisible(!isStepping); }), std::function([&] { tellLength(false); }),
          std::function([&] { m_begin->setVisible(!isStepping); }), std::function([&] { nameSteps(isStepping); }),
          std::function([&] { m_time->hide(); }), std::function([&] { m_play->setVisible(!isStepping); })}) {
        layout()->invalidate();
        if (layout()->minimumSize().width() <= width())
            return;
        letGo();
    }
}

void TransportBar::setIcons(const QString& assets, const Theme& theme)
{
    m_playIcon = themedIcon(assets, QStringLiteral("play"), theme);
    m_pauseIcon = themedIcon(assets, QStringLiteral("pause"), theme);
    m_begin->setIcon(themedIcon(assets, QStringLiteral("begin"), theme));
    m_repeat->setIcon(themedIcon(assets, QStringLiteral("repeat"), theme));
    refresh();
}

void TransportBar::setStepping(bool on)
{
    for (QToolButton* step : {m_previous, m_next, m_leave})
        step->setVisible(on);
    fit();
}

void TransportBar::setMasked(bool masked)
{
    m_isMasked = masked;
    refresh();
}

QString TransportBar::timeText() const
{
    return m_time->text();
}

void TransportBar::refresh()
{
    const bool playing = m_playback.isPlaying();
    m_play->setIcon(playing ? m_pauseIcon : m_playIcon);
    m_play->setAccessibleName(playing ? tr("Pause") : tr("Play"));
    m_play->setToolTip(playing ? tr("Pause  (Space)") : tr("Play the step: every rank at every moment  (Space)"));
    const double slower = m_playback.nsASecond() > 0 ? 1e9 / m_playback.nsASecond() : 0;
    m_speed->setToolTip(slower == 0 || m_isMasked ? QString()
                        : slower > 1              ? tr("%1 of the step in a second: %2 times slower than it really is")
                                           .arg(timeOf(std::llround(m_playback.nsASecond())), shortNumber(slower))
                                     : tr("%1 of the step in a second: %2 times faster than it really is")
                                           .arg(timeOf(std::llround(m_playback.nsASecond())), shortNumber(1 / slower)));
    setEnabled(!m_playback.isEmpty());
    showPosition();
    fit();
}

/// Whether the clock tells not only where it is but of what. It is as wide for every time.
void TransportBar::tellLength(bool told)
{
    m_tellsLength = told;
    const QString widest = clock(QStringLiteral("000.0 ms"));
    m_time->setMinimumWidth(QFontMetrics(m_time->font()).horizontalAdvance(widest) + 2 * kAroundTime);
    showPosition();
}

QString TransportBar::clock(const QString& position) const
{
    const TimeRange span = m_playback.span();
    return !m_tellsLength     ? position
           : span.beginNs > 0 ? tr("%1 · %2 to %3").arg(position, timeOf(span.beginNs), timeOf(span.endNs))
                              : tr("%1 of %2").arg(position, timeOf(span.endNs));
}

void TransportBar::showPosition()
{
    const TimeRange span = m_playback.span();
    const QSignalBlocker quiet(m_slider);
    const auto length = static_cast<double>(std::max<std::int64_t>(1, span.endNs - span.beginNs));
    m_slider->setValue(static_cast<int>(
        std::lround(kSliderSteps * std::clamp(static_cast<double>(m_playback.positionNs() - span.beginNs) / length, 0.0, 1.0))));
    m_time->setText(m_playback.isEmpty() || m_isMasked ? QString() : clock(timeOf(m_playback.positionNs())));
}

} // namespace app
