// A comparison as rows of numbers: for a table on screen and for a file.
#pragma once

#include "app/session/scenario_changes.h"
#include "sim/analysis/compare.h"
#include "sim/analysis/explain/explain_rank.h"

#include <QString>
#include <QStringList>

#include <functional>
#include <optional>
#include <vector>

namespace app {

enum class RowUnit { seconds, gib, fraction, perSecond, count, days, gpuHours, kilowattHours, money };

/// False: the difference is within what the model can tell apart.
inline bool canTellApart(const std::optional<sim::LikelyRatio>& likely)
{
    return !likely || !likely->isKnown() || likely->canTell();
}

struct ComparisonRow {
    QString name;
    RowUnit unit = RowUnit::seconds;
    double a = 0, b = 0;                                               ///< in the unit
    bool isTotal = false;                                              ///< what follows are its parts
    std::optional<bool> lowerIsBetter = true;                          ///< nothing: neither is
    std::optional<sim::LikelyRatio> likely{};                          ///< of b over a, where that is known
    std::function<sim::Explanation(const sim::Simulation&)> because{}; ///< of a side's number; nullptr: it was given
    double delta() const { return b - a; }
    bool canTell() const { return canTellApart(likely); }
};

/// The step and its parts, throughput, the whole run, memory and its parts, sizes; what neither has is left out.
/// `dataTransfers`: what goes the way of dp in both (purposeName). `gpuHourPrice`: 0 where it was not told.
std::vector<ComparisonRow> comparisonRows(const sim::Comparison&, const std::string& dataTransfers = "dp",
                                          double gpuHourPrice = 0);

/// "kind,name,unit,A,B,difference,likely low,likely high": the rows in full precision, with the interval of the difference where
/// it is known, then the keys that differ. RFC 4180, newline at the end.
QString comparisonCsv(const std::vector<ComparisonRow>&, const std::vector<ScenarioChange>&);

/// Rows of several comparisons with A as one table: a name, its unit, and the value of each scenario, 0 where one lacks it.
struct SeveralRow {
    QString name;
    RowUnit unit = RowUnit::seconds;
    bool isTotal = false;
    std::optional<bool> lowerIsBetter = true;
    std::vector<double> values;                          ///< [scenario], A first
    std::vector<std::optional<sim::LikelyRatio>> likely; ///< [scenario] of it over A, where that is known
    bool canTell(std::size_t scenario) const { return canTellApart(likely[scenario]); }
};
std::vector<SeveralRow> severalRows(const std::vector<std::vector<ComparisonRow>>& toA);
/// "name,unit,A: …,B: …,B - A likely low,B - A likely high,…": those rows in full precision. RFC 4180, newline at the end.
/// `letters`: one for each name.
QString severalCsv(const QStringList& names, const std::vector<std::vector<ComparisonRow>>& toA,
                   const QString& letters = QStringLiteral("ABCDEF"));

} // namespace app
