#include "app/shell/details/reality_card.h"

#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"
#include "sim/error.h"

#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr int kBandHeight = 10, kBarRoom = 18, kEndsRoom = 14, kEndsPixels = 11;

QString nameOf(Measurement::Quantity quantity)
{
    switch (quantity) {
    case Measurement::Quantity::stepTime:
        return QObject::tr("Step time");
    case Measurement::Quantity::modelFlopRate:
        return QObject::tr("Model FLOP/s a GPU");
    case Measurement::Quantity::peakMemory:
        return QObject::tr("Peak memory");
    }
    return {};
}

Quantity shown(Measurement::Quantity quantity, double value)
{
    constexpr double kTera = 1e12;
    switch (quantity) {
    case Measurement::Quantity::stepTime:
        return durationQuantity(value);
    case Measurement::Quantity::modelFlopRate:
        return flopRateQuantity(value * kTera);
    case Measurement::Quantity::peakMemory:
        return memoryQuantity(value);
    }
    return {};
}

QString intervalText(Measurement::Quantity quantity, const BesideMeasured& beside)
{
    const Quantity low = shown(quantity, beside.low), high = shown(quantity, beside.high);
    const QString text = (low.unit == high.unit ? low.number : low.text()) + QStringLiteral("–\u2060") + high.text();
    return QString(text).replace(QLatin1Char(' '),
                                 QChar(QChar::Nbsp)); // a line ends neither before a unit nor inside the interval
}

/// "4.2 % more than measured"; what three digits do not tell apart is no difference.
QString errorText(double predicted, double measured)
{
    const double ratio = predicted / measured;
    constexpr double kSame = 0.01;
    if (std::abs(ratio - 1) < kSame)
        return QObject::tr("the same within 1 %");
    return QObject::tr("%1 %2 than measured").arg(ratioText(ratio), ratio >= 1 ? QObject::tr("more") : QObject::tr("less"));
}

} // namespace

IntervalBar::IntervalBar(QWidget* parent) : QWidget(parent), m_theme(&lightTheme())
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void IntervalBar::setValues(double measured, const BesideMeasured& beside, const QString& low, const QString& high)
{
    m_low = low;
    m_high = high;
    m_measured = measured;
    m_beside = beside;
    update();
}

void IntervalBar::setTheme(const Theme& theme)
{
    m_theme = &theme;
    update();
}

QSize IntervalBar::sizeHint() const
{
    return {200, kBarRoom + kEndsRoom};
}

void IntervalBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double least = std::min(m_beside.low, m_measured), most = std::max(m_beside.high, m_measured);
    const double room = std::max((most - least) * 0.15, most * 1e-6); // beside the ends
    constexpr double kInset = 6; ///< the axis begins and ends inside the card, not cut off at its edge
    const double length = std::max(0.0, width() - 2 * kInset);
    const auto at = [&](double value) { return kInset + (value - least + room) / (most - least + 2 * room) * length; };
    const double middle = kBarRoom / 2.0, top = middle - kBandHeight / 2.0;
    painter.setPen(QPen(toQColor(m_theme->border), 2, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(kInset, middle), QPointF(kInset + length, middle));
    painter.setPen(Qt::NoPen);
    QColor band = toQColor(m_theme->accent);
    band.setAlphaF(0.28F);
    painter.setBrush(band);
    painter.drawRect(QRectF(at(m_beside.low), top, at(m_beside.high) - at(m_beside.low), kBandHeight));
    painter.setBrush(toQColor(m_theme->accent));
    for (const double end : {m_beside.low, m_beside.high}) // it ends there: nothing of it is cut
        painter.drawRect(QRectF(at(end) - 0.75, top - 1, 1.5, kBandHeight + 2));
    painter.drawRect(QRectF(at(m_beside.predicted) - 1, top - 3, 2, kBandHeight + 6));
    constexpr double kHalf = 5.5;
    const QPointF centre(at(m_measured), middle);
    QPainterPath diamond(centre - QPointF(0, kHalf));
    for (const QPointF& corner : {QPointF(kHalf, 0), QPointF(0, kHalf), QPointF(-kHalf, 0)})
        diamond.lineTo(centre + corner);
    diamond.closeSubpath();
    painter.setPen(QPen(toQColor(m_theme->panel), 1.5));
    painter.setBrush(m_beside.isInside(m_measured) ? toQColor(m_theme->text) : toQColor(m_theme->error));
    painter.drawPath(diamond);

    const QFont font = uiFont(kEndsPixels);
    const QFontMetricsF metrics(font);
    const double lowWidth = metrics.horizontalAdvance(m_low), highWidth = metrics.horizontalAdvance(m_high);
    constexpr double kBetween = 8;
    const double highAt = std::clamp(at(m_beside.high) - highWidth / 2, 0.0, std::max(0.0, width() - highWidth));
    const double lowAt = std::max(0.0, std::min(at(m_beside.low) - lowWidth / 2, highAt - kBetween - lowWidth));
    painter.setFont(font);
    painter.setPen(toQColor(m_theme->mutedText));
    const double base = kBarRoom + metrics.ascent() - 1;
    painter.drawText(QPointF(lowAt, base), m_low);
    painter.drawText(QPointF(highAt, base), m_high);
}

RealityCard::RealityCard(QWidget* parent) : QFrame(parent), m_theme(&lightTheme())
{
    setRole(this, "card");
    setAccessibleName(tr("Measured by others"));
    auto* title = new QLabel(tr("Measured by others"));
    setRole(title, "small");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 8, 8, 8);
    column->setSpacing(2);
    column->addWidget(title);
    hide();
}

void RealityCard::setCatalogue(const sim::Catalogue& catalogue)
{
    m_catalogue = &catalogue;
    try {
        m_reality = Reality::read(catalogue.assets());
        m_problem.clear();
    } catch (const sim::Error& error) {
        m_reality = {};
        m_problem = tr("The published measurements cannot be read: %1").arg(QString::fromUtf8(error.what()));
    }
}

void RealityCard::setTheme(const Theme& theme)
{
    m_theme = &theme;
    for (IntervalBar* bar : findChildren<IntervalBar*>())
        bar->setTheme(theme);
}

void RealityCard::addLine(QVBoxLayout& rows, const QString& text, const char* role)
{
    auto* label = new QLabel(text);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setRole(label, role);
    rows.addWidget(label);
    m_told += text + QLatin1Char('\n');
}

void RealityCard::setSimulation(const std::shared_ptr<const sim::Simulation>& simulation)
{
    if (simulation == m_simulation)
        return;
    m_simulation = simulation;
    m_told.clear();
    delete m_rows;
    m_rows = new QWidget; // filled before it is put in: each line that comes into a visible card lays all of them out
    auto* rows = new QVBoxLayout(m_rows);
    rows->setContentsMargins({});
    rows->setSpacing(2);
    const auto measured =
        simulation && m_catalogue ? m_reality.of(simulation->scenario(), *m_catalogue) : std::vector<const Measurement*>();
    setVisible(!measured.empty() || !m_problem.isEmpty());
    QStringList reasons, sources;
    if (!m_problem.isEmpty())
        addLine(*rows, m_problem, "small");
    if (!measured.empty())
        addLine(*rows, tr("◆ measured    ┃ predicted    ▬ likely"), "small");
    for (const Measurement* one : measured) {
        const BesideMeasured beside = besideMeasured(one->quantity, *simulation);
        addLine(*rows, tr("%1: %2 measured").arg(nameOf(one->quantity), shown(one->quantity, one->measured).text()), "heading");
        auto* bar = new IntervalBar;
        bar->setTheme(*m_theme);
        bar->setValues(one->measured, beside, shown(one->quantity, beside.low).text(), shown(one->quantity, beside.high).text());
        rows->addWidget(bar);
        addLine(
            *rows,
            tr("predicted %1, %2").arg(shown(one->quantity, beside.predicted).text(), errorText(beside.predicted, one->measured)),
            "small");
        addLine(*rows,
                (beside.isInside(one->measured) ? tr("what was measured is inside the likely %1")
                                                : tr("what was measured is outside the likely %1"))
                    .arg(intervalText(one->quantity, beside)),
                "small");
        const QString source = QStringLiteral("%1, %2 (%3)").arg(one->title, one->table, one->reference);
        addLine(*rows, one->how, "small");
        if (!sources.contains(source))
            sources << source;
        for (const QString& reason : one->differs)
            if (!reasons.contains(reason))
                reasons << reason;
    }
    for (const QString& source : sources)
        addLine(*rows, tr("From: %1").arg(source), "small");
    if (!reasons.empty())
        addLine(*rows, tr("Why they may differ"), "heading");
    for (const QString& reason : reasons)
        addLine(*rows, QStringLiteral("• ") + reason, "small");
    layout()->addWidget(m_rows);
    setAccessibleDescription(m_told);
}

QString RealityCard::told() const
{
    return m_told;
}

} // namespace app
