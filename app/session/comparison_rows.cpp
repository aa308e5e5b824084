#include "app/session/comparison_rows.h"

#include "sim/analysis/explain/explain_whole_run.h"
#include "sim/text/csv_cell.h"

#include <QObject>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0, kSecondsPerNs = 1e-9;

QString rowName(sim::StepPart part, const std::string& dataTransfers)
{
    if (const auto dimension = sim::dimensionOfPart(part)) {
        const std::string name = *dimension == sim::Dimension::dp ? dataTransfers : sim::dimensionName(*dimension);
        const bool isShort = name == sim::dimensionName(*dimension);
        const QString shown = QString::fromStdString(name), first = shown.section(QLatin1Char(' '), 0, 0); // "dp / copies"
        const bool isAxis = isShort || first == QLatin1String(sim::dimensionName(*dimension));
        return QObject::tr("%1 exposed")
            .arg(isAxis ? first.toUpper() + shown.mid(first.size()) : shown.left(1).toUpper() + shown.mid(1));
    }
    if (part == sim::StepPart::host)
        return QObject::tr("Host exposed"); // as its neighbours are called
    const QString name = QString::fromUtf8(sim::factsOf(part).name);
    return name.left(1).toUpper() + name.mid(1);
}

const char* unitName(RowUnit unit)
{
    switch (unit) {
    case RowUnit::seconds:
        return "s";
    case RowUnit::gib:
        return "GiB";
    case RowUnit::fraction:
        return "of 1";
    case RowUnit::perSecond:
        return "1/s";
    case RowUnit::days:
        return "d";
    case RowUnit::gpuHours:
        return "GPU h";
    case RowUnit::kilowattHours:
        return "kWh";
    case RowUnit::count:
    case RowUnit::money:
        return "";
    }
    return "";
}

QString line(const QStringList& fields)
{
    QStringList out;
    for (const QString& text : fields)
        out << QString::fromStdString(sim::guardedCsvCell(text.toStdString()));
    return out.join(QLatin1Char(',')) + QLatin1Char('\n');
}

QString number(double value)
{
    return std::isfinite(value) ? QString::number(value, 'g', 15) : QString(); // practically never ends
}

/// Low and high of the interval, both empty where it is not known.
QStringList likelyDifference(double a, const std::optional<sim::LikelyRatio>& likely)
{
    if (!likely || !likely->isKnown())
        return {QString(), QString()};
    return {number(a * (likely->low - 1)), number(a * (likely->high - 1))};
}

} // namespace

std::vector<ComparisonRow> comparisonRows(const sim::Comparison& c, const std::string& dataTransfers, double gpuHourPrice)
{
    std::vector<ComparisonRow> rows;
    const auto add = [&](const QString& name, RowUnit unit, double a, double b, std::optional<bool> lowerIsBetter,
                         bool isTotal = false) {
        if (a != 0 || b != 0)
            rows.push_back({.name = name, .unit = unit, .a = a, .b = b, .isTotal = isTotal, .lowerIsBetter = lowerIsBetter});
    };
    const auto sureBy = [&](const sim::LikelyRatio& likely) {
        if (!rows.empty())
            rows.back().likely = likely;
    };
    // Of what is known exactly over the step's time: as sure as that.
    const auto sureAsStep = [&](const sim::Both<double>& rate) {
        if (rate.a <= 0 || rate.b <= 0)
            return;
        sim::LikelyRatio likely = c.likely;
        likely.predicted = rate.b / rate.a;
        likely.low = likely.predicted * c.likely.predicted / c.likely.high;
        likely.high = likely.predicted * c.likely.predicted / c.likely.low;
        sureBy(likely);
    };
    // Of what is known exactly times the step's time: likewise.
    const auto sureAsTime = [&](double a, double b) {
        if (!(a > 0 && b > 0 && std::isfinite(b / a)))
            return;
        sim::LikelyRatio likely = c.likely;
        likely.predicted = b / a;
        likely.low = likely.predicted * c.likely.low / c.likely.predicted;
        likely.high = likely.predicted * c.likely.high / c.likely.predicted;
        sureBy(likely);
    };
    const auto of = [&](auto number) { // what sim::explain is to explain
        if (!rows.empty() && !rows.back().because)
            rows.back().because = [number](const sim::Simulation& simulation) { return sim::explain(simulation, number); };
    };
    const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * kSecondsPerNs; };
    const auto gibOf = [](std::int64_t bytes) { return static_cast<double>(bytes) / kBytesPerGib; };
    add(QObject::tr("Step time"), RowUnit::seconds, seconds(c.stepNs.a), seconds(c.stepNs.b), true, true);
    sureBy(c.likely);
    of(sim::MetricId::stepTime);
    for (const sim::StepPart part : sim::kStepParts) {
        add(rowName(part, dataTransfers), RowUnit::seconds, seconds(c.use.a[part]), seconds(c.use.b[part]), true);
        of(part);
    }
    add(QObject::tr("Tokens a second"), RowUnit::perSecond, c.tokensPerSecond.a, c.tokensPerSecond.b, false, true);
    sureAsStep(c.tokensPerSecond);
    of(sim::MetricId::tokensPerSecond);
    add(QObject::tr("Of each GPU"), RowUnit::perSecond, c.tokensPerSecondPerGpu.a, c.tokensPerSecondPerGpu.b, false);
    sureAsStep(c.tokensPerSecondPerGpu);
    of(sim::MetricId::tokensPerSecondPerGpu);
    add(QObject::tr("MFU"), RowUnit::fraction, c.mfu.a, c.mfu.b, false);
    sureAsStep(c.mfu);
    of(sim::MetricId::mfu);
    const auto ofRun = [&, tokens = c.run.a.tokens](auto why) {
        if (!rows.empty() && !rows.back().because)
            rows.back().because = [why, tokens](const sim::Simulation& simulation) { return why(simulation, tokens); };
    };
    add(QString::fromStdString(sim::tokensText(c.run.a.tokens)), RowUnit::days, c.run.a.days, c.run.b.days, true, true);
    sureAsTime(c.run.a.days, c.run.b.days);
    ofRun(sim::explainRunTime);
    const auto addOfRun = [&](const QString& name, RowUnit unit, double a, double b) {
        add(name, unit, a, b, true);
        sureAsTime(a, b);
    };
    addOfRun(QObject::tr("GPU hours"), RowUnit::gpuHours, c.run.a.gpuHours, c.run.b.gpuHours);
    ofRun(sim::explainRunGpuHours);
    if (gpuHourPrice > 0)
        addOfRun(QObject::tr("Price"), RowUnit::money, c.run.a.gpuHours * gpuHourPrice, c.run.b.gpuHours * gpuHourPrice);
    if (const auto a = c.run.a.mostEnergyKwh(), b = c.run.b.mostEnergyKwh(); a && b)
        addOfRun(QObject::tr("Energy at most"), RowUnit::kilowattHours, *a, *b);
    add(QObject::tr("Peak memory"), RowUnit::gib, gibOf(c.memory.a.total()), gibOf(c.memory.b.total()), true, true);
    of(sim::MetricId::peakMemory);
    struct Part {
        const char* name;
        std::int64_t sim::MemoryBreakdown::*bytes;
        sim::MetricId id;
    };
    constexpr std::array<Part, 5> kParts{{{"Parameters", &sim::MemoryBreakdown::parameters, sim::MetricId::parameterMemory},
                                          {"Gradients", &sim::MemoryBreakdown::gradients, sim::MetricId::gradientMemory},
                                          {"Optimizer states", &sim::MemoryBreakdown::optimizer, sim::MetricId::optimizerMemory},
                                          {"Activations", &sim::MemoryBreakdown::activations, sim::MetricId::activationMemory},
                                          {"Buffers", &sim::MemoryBreakdown::buffers, sim::MetricId::bufferMemory}}};
    for (const Part& part : kParts) {
        add(QObject::tr(part.name), RowUnit::gib, gibOf(c.memory.a.*part.bytes), gibOf(c.memory.b.*part.bytes),
            std::nullopt); // another rank may be the fullest: the sum alone is better or worse
        of(part.id);
    }
    add(QObject::tr("Memory of a GPU"), RowUnit::gib, gibOf(c.capacityBytes.a), gibOf(c.capacityBytes.b), std::nullopt, true);
    add(QObject::tr("GPUs"), RowUnit::count, c.worldSize.a, c.worldSize.b, std::nullopt, true);
    add(QObject::tr("Model parameters"), RowUnit::count, static_cast<double>(c.parameters.a), static_cast<double>(c.parameters.b),
        std::nullopt, true);
    of(sim::MetricId::parameters);
    return rows;
}

QString comparisonCsv(const std::vector<ComparisonRow>& rows, const std::vector<ScenarioChange>& changes)
{
    QString out = QStringLiteral("kind,name,unit,A,B,difference,likely low,likely high\n");
    for (const ComparisonRow& row : rows) {
        out += line(QStringList{QStringLiteral("result"), row.name, QString::fromLatin1(unitName(row.unit)), number(row.a),
                                number(row.b), number(row.delta())} +
                    likelyDifference(row.a, row.likely));
    }
    for (const ScenarioChange& change : changes)
        out += line({QStringLiteral("key"),
                     QString::fromStdString(change.key.pointer),
                     {},
                     QString::fromStdString(change.key.a.value_or(std::string())),
                     QString::fromStdString(change.key.b.value_or(std::string())),
                     {},
                     {},
                     {}});
    return out;
}

std::vector<SeveralRow> severalRows(const std::vector<std::vector<ComparisonRow>>& toA)
{
    std::vector<SeveralRow> out;
    for (std::size_t other = 0; other < toA.size(); ++other) {
        std::size_t place = 0; // where a row that is not there yet goes: after the one before it
        for (const ComparisonRow& row : toA[other]) {
            const auto found = std::find_if(out.begin(), out.end(), [&](const SeveralRow& r) { return r.name == row.name; });
            if (found == out.end()) {
                out.insert(out.begin() + static_cast<std::ptrdiff_t>(place),
                           {row.name, row.unit, row.isTotal, row.lowerIsBetter, std::vector<double>(toA.size() + 1, 0.0),
                            std::vector<std::optional<sim::LikelyRatio>>(toA.size() + 1)});
            } else {
                place = static_cast<std::size_t>(found - out.begin());
            }
            out[place].values[0] = row.a;
            out[place].values[other + 1] = row.b;
            out[place].likely[other + 1] = row.likely;
            ++place;
        }
    }
    return out;
}

QString severalCsv(const QStringList& names, const std::vector<std::vector<ComparisonRow>>& toA, const QString& letters)
{
    QStringList head{QStringLiteral("name"), QStringLiteral("unit")};
    for (qsizetype i = 0; i < names.size(); ++i)
        head << QStringLiteral("%1: %2").arg(letters[i]).arg(names[i]);
    for (qsizetype i = 1; i < names.size(); ++i)
        for (const char* const end : {"low", "high"})
            head << QStringLiteral("%1 - A likely %2").arg(letters[i]).arg(QLatin1String(end));
    QString out = line(head);
    for (const SeveralRow& row : severalRows(toA)) {
        QStringList cells{row.name, QString::fromLatin1(unitName(row.unit))};
        for (const double value : row.values)
            cells << number(value);
        for (std::size_t i = 1; i < row.likely.size(); ++i)
            cells << likelyDifference(row.values.front(), row.likely[i]);
        out += line(cells);
    }
    return out;
}

} // namespace app
