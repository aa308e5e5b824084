#include "app/shell/share/page.h"

#include "app/canvas/qt/fonts.h"
#include "app/canvas/svg_canvas.h"
#include "app/session/scenario_link.h"
#include "app/session/scenario_name.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/text_habit.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/pictures.h"
#include "app/views/tables.h"
#include "sim/analysis/goodput.h"
#include "sim/analysis/whole_run.h"
#include "sim/error.h"
#include "sim/scenario/named_files.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "sim/text/duration_text.h"

#include <QFile>
#include <QObject>
#include <QRegularExpression>
#include <QTextDocument>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace app {
namespace {

constexpr float kPageWidth = 1200;
constexpr qsizetype kPackedFrom = 150'000; ///< a larger picture is unpacked by the browser
constexpr std::size_t kMostTableRows = 64; ///< of a table: a page is no data sheet

QString escaped(const std::string& text)
{
    return QString::fromStdString(text).toHtmlEscaped();
}

float heightOf(const PictureInfo& picture, const sim::Trace& trace)
{
    constexpr float kUsual = 620, kMost = 900;
    return picture.picture == Picture::timeline ? std::min(kMost, suitableTimelineHeight(trace.processes.size())) : kUsual;
}

QByteArray svgOf(const PictureInfo& picture, const ShownStep& step, const Theme& theme)
{
    Selection selection;
    const auto view = picture.make(selection, theme, nullptr);
    view->setStep(step);
    const float height = view->contentHeight(kPageWidth).value_or(heightOf(picture, *step.trace));
    SvgCanvas canvas({0, 0, kPageWidth, height}, printedType(), std::string(picture.name) + "-clip");
    drawOnPaper(*view, canvas);
    const QByteArray file = QString::fromStdString(canvas.document(view->title())).toUtf8();
    return file.mid(file.indexOf("<svg")); // within a page without its XML declaration
}

QString figureHtml(const PictureInfo& picture, const QByteArray& svg)
{
    const QString title = QObject::tr(picture.title).toHtmlEscaped();
    const QString held = svg.size() < kPackedFrom ? QString::fromUtf8(svg)
                                                  : QStringLiteral("<p class=\"packed\" data-packed=\"%1\">%2</p>")
                                                        .arg(QString::fromLatin1(zipped(svg).toBase64()),
                                                             QObject::tr("A browser with JavaScript draws this picture."));
    return QStringLiteral("<section class=\"picture\" id=\"%1\"><h2>%2</h2><div class=\"frame\">%3</div></section>\n")
        .arg(QLatin1String(picture.name), title, held);
}

QString cardHtml(const QString& title, const QString& value, const QString& note)
{
    return QStringLiteral("<div class=\"card\"><h3>%1</h3><p class=\"value\">%2</p><p class=\"note\">%3</p></div>\n")
        .arg(title.toHtmlEscaped(), value.toHtmlEscaped(), note.toHtmlEscaped());
}

/// In front of what is told of a step that cannot run.
QString ifItFitted(const sim::Simulation& simulation)
{
    return sim::fitsEverywhere(simulation) ? QString() : QObject::tr("if it fitted; ");
}

/// Of the tokens that the scenario says, else of as many as one can compare by; with what its failures cost.
QString wholeRunHtml(const sim::Simulation& simulation)
{
    const double tokens = sim::tokensToTell(simulation.scenario());
    const sim::WholeRun ideal = sim::wholeRun(simulation, tokens), run = sim::lastingRun(simulation, tokens);
    const auto lasts = [](const sim::WholeRun& of) {
        constexpr double kSecondsADay = 86400;
        return std::isfinite(of.days) ? QString::fromStdString(sim::durationText(of.days * kSecondsADay))
                                      : QObject::tr("practically never ends");
    };
    QString note = ifItFitted(simulation) + QString::fromStdString(sim::tokensText(run.tokens));
    if (simulation.scenario().training.tokens <= 0)
        note += QObject::tr(", supposed, to compare jobs by: the scenario names none");
    if (std::isfinite(run.days))
        note +=
            QObject::tr("; %1 GPU hours; %2").arg(countQuantity(run.gpuHours).text(), QString::fromStdString(run.energyText()));
    QString cards;
    if (const auto failing = sim::goodput(simulation)) {
        note += QObject::tr("; with failures; without %1").arg(lasts(ideal));
        cards = cardHtml(QObject::tr("Goodput"), percentQuantity(failing->shares.useful).text(),
                         QObject::tr("failures: %1").arg(QString::fromStdString(failing->failuresText())));
    }
    return cardHtml(QObject::tr("Whole run"), lasts(run), note) + cards;
}

QString cardsHtml(const sim::Simulation& simulation)
{
    const sim::Metrics& m = simulation.metrics();
    const sim::Uncertainty& sure = simulation.scenario().uncertainty;
    const double capacity = sim::capacityGib(simulation.scenario());
    const QString parameters = countQuantity(static_cast<double>(m.parameters)).text(), all = separated(m.parameters);
    const auto misfit = sim::misfit(simulation);
    const auto [peak, limit] = memoryBesideLimit(m.peakMemoryGib, capacity);
    const QString supposed = ifItFitted(simulation);
    return cardHtml(
               QObject::tr("Step time"), durationQuantity(m.stepTimeSeconds).text(),
               (misfit ? QObject::tr("does not fit: %1; if it did: ").arg(QString::fromStdString(misfit->text())) : QString()) +
                   (sure.isKnown() ? QObject::tr("likely %1 to %2")
                                         .arg(durationQuantity(m.stepTimeSeconds * sure.stepLow).text(),
                                              durationQuantity(m.stepTimeSeconds * sure.stepHigh).text())
                                   : QString::fromStdString(sure.basis))) +
           cardHtml(QObject::tr("Tokens/s"), countQuantity(m.tokensPerSecond).text(),
                    supposed + QObject::tr("%1 a GPU").arg(countQuantity(m.tokensPerSecondPerGpu).text())) +
           cardHtml(QObject::tr("MFU"), percentQuantity(m.mfu).text(),
                    supposed + (simulation.scenario().training.causal
                                    ? QObject::tr("causal; attention in full %1").arg(percentQuantity(m.mfuFullAttention).text())
                                    : QObject::tr("attention in full"))) +
           cardHtml(QObject::tr("Bubble"), percentQuantity(m.bubbleFraction).text(),
                    QObject::tr("of the step; mean over ranks")) +
           cardHtml(QObject::tr("Exposed communication"), percentQuantity(m.exposedComm.total()).text(),
                    QObject::tr("of the step; mean over ranks")) +
           cardHtml(QObject::tr("Peak memory"), peak.text(),
                    m.peakMemoryGib <= capacity ? QObject::tr("fits in %1 GiB").arg(limit)
                                                : QObject::tr("does not fit in %1 GiB").arg(limit)) +
           wholeRunHtml(simulation) + cardHtml(QObject::tr("Parameters"), parameters, all == parameters ? QString() : all);
}

/// A number of a table as people read it elsewhere; a file has all its digits and one unit for all.
QString readNumber(double value, const std::string& unit)
{
    constexpr double kNsPerSecond = 1e9, kBytesPerGib = 1024.0 * 1024.0 * 1024.0, kSecondsADay = 86400;
    if (unit == "s")
        return durationQuantity(value).text();
    if (unit == "ns")
        return durationQuantity(value / kNsPerSecond).text();
    if (unit == "d")
        return QString::fromStdString(sim::durationText(value * kSecondsADay));
    if (unit == "h")
        return QObject::tr("%1 h").arg(countQuantity(value).text());
    if (unit == "bytes")
        return memoryQuantity(value / kBytesPerGib).text();
    if (unit == "GiB")
        return memoryQuantity(value).text();
    if (unit == "kWh")
        return QString::fromStdString(sim::energyText(value));
    if (unit.starts_with("fraction"))
        return percentQuantity(value).text();
    constexpr double kCounted = 1e15; // beyond, a double has no ones
    if (value == std::round(value) && std::abs(value) < kCounted)
        return separated(std::llround(value));
    return countQuantity(value).text();
}

/// What is left to say of a unit beside a number that was read with it.
std::string besideNumber(const std::string& unit)
{
    constexpr std::string_view kFraction = "fraction ";
    if (unit.starts_with(kFraction))
        return unit.substr(kFraction.size());
    if (unit == "1/s")
        return "a second";
    return unit == "TFLOP/s" ? unit : std::string();
}

/// "busy (s)" is "busy" and "s".
std::pair<std::string, std::string> nameAndUnit(const std::string& header)
{
    const auto open = header.rfind(" (");
    if (open == std::string::npos || header.back() != ')')
        return {header, {}};
    return {header.substr(0, open), header.substr(open + 2, header.size() - open - 3)};
}

/// Of a table with a unit in each row, or one a column.
Table readTable(Table table)
{
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(table.header, name) - table.header.begin());
    };
    const std::size_t valueColumn = column("value"), unitColumn = column("unit");
    const bool hasUnits = valueColumn < table.header.size() && unitColumn < table.header.size();
    std::vector<std::string> units;
    for (std::string& head : table.header) {
        auto [name, unit] = nameAndUnit(head);
        head = std::move(name);
        units.push_back(std::move(unit));
    }
    for (auto& row : table.rows)
        for (std::size_t i = 0; i < row.size() && i < units.size(); ++i) {
            bool isNumber = false;
            const double value = QString::fromStdString(row[i]).toDouble(&isNumber);
            const bool isValue = hasUnits && i == valueColumn;
            if (!isNumber || !std::isfinite(value) || (hasUnits && !isValue))
                continue;
            row[i] = readNumber(value, isValue ? row[unitColumn] : units[i]).toStdString();
            if (isValue)
                row[unitColumn] = besideNumber(row[unitColumn]);
        }
    return table;
}

QString tableHtml(const TableInfo& info, const TableSource& source)
{
    const Table table = readTable(info.make(source));
    const auto line = [](const std::vector<std::string>& cells, const char* tag) {
        QString out = QStringLiteral("<tr>");
        for (const std::string& cell : cells)
            out += QStringLiteral("<%1>%2</%1>").arg(QLatin1String(tag), escaped(cell));
        return out + QStringLiteral("</tr>\n");
    };
    QString rows = QStringLiteral("<thead>") + line(table.header, "th") + QStringLiteral("</thead><tbody>");
    const std::size_t shown = std::min(table.rows.size(), kMostTableRows);
    for (std::size_t i = 0; i < shown; ++i)
        rows += line(table.rows[i], "td");
    const QString rest = shown < table.rows.size() ? QStringLiteral("<p class=\"note\">%1</p>")
                                                         .arg(QObject::tr("The first %1 of %2 rows.")
                                                                  .arg(shown)
                                                                  .arg(separated(static_cast<std::int64_t>(table.rows.size()))))
                                                   : QString();
    return QStringLiteral("<details><summary>%1</summary><div class=\"scrolled\"><table>%2</tbody></table></div>%3</details>\n")
        .arg(QObject::tr(info.title).toHtmlEscaped(), rows, rest);
}

/// Each {{word}} of the template, once: what is put in is not looked at again.
QByteArray filled(const QString& page, const std::map<QString, QString>& parts)
{
    static const QRegularExpression place(QStringLiteral("\\{\\{(\\w+)\\}\\}"));
    QString out;
    qsizetype done = 0;
    for (auto match = place.globalMatch(page); match.hasNext();) {
        const auto found = match.next();
        const auto part = parts.find(found.captured(1));
        if (part == parts.end())
            throw sim::Error("page.html asks for {{" + found.captured(1).toStdString() + "}}, which no page has");
        out += QStringView(page).mid(done, found.capturedStart() - done);
        out += part->second;
        done = found.capturedEnd();
    }
    out += QStringView(page).mid(done);
    return out.toUtf8();
}

QString templateOf(const sim::Catalogue& catalogue)
{
    const std::string path = (catalogue.assets() / "page.html").string();
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly))
        throw sim::Error(path + ": " + file.errorString().toStdString());
    return QString::fromUtf8(file.readAll());
}

/// A name in one line as it is read: no control characters, none that turn the direction of what follows.
QString printable(const QString& name)
{
    static const QRegularExpression controls(
        QStringLiteral("[\\x{0000}-\\x{001F}\\x{007F}\\x{202A}-\\x{202E}\\x{2066}-\\x{2069}]+"));
    return QString(name).replace(controls, QStringLiteral(" ")).trimmed();
}

} // namespace

QString htmlOfMarkdown(const QString& markdown)
{
    QTextDocument document;
    document.setMarkdown(readableMarkdown(markdown), QTextDocument::MarkdownFeatures(QTextDocument::MarkdownDialectCommonMark) |
                                                         QTextDocument::MarkdownNoHTML);
    QString html = document.toHtml();
    html = html.mid(html.indexOf(QLatin1Char('>'), html.indexOf(QLatin1String("<body"))) + 1);
    html.truncate(html.indexOf(QLatin1String("</body>")));
    // Of Qt's styles those that mean something; the page has its own.
    static const QRegularExpression styled(QStringLiteral(" style=\"([^\"]*)\""));
    static const QRegularExpression loaded(QStringLiteral("<img[^>]*>"));
    static const QRegularExpression leading(QStringLiteral("<a href=\"(?!https?:)[^\"]*\">(.*?)</a>"),
                                            QRegularExpression::DotMatchesEverythingOption);
    QString out;
    qsizetype done = 0;
    for (auto match = styled.globalMatch(html); match.hasNext();) {
        const auto found = match.next();
        const QString style = found.captured(1);
        out += QStringView(html).mid(done, found.capturedStart() - done);
        out += style.contains(QLatin1String("font-weight:"))      ? QStringLiteral(" class=\"strong\"")
               : style.contains(QLatin1String("monospace"))       ? QStringLiteral(" class=\"code\"")
               : style.contains(QLatin1String("font-style:ital")) ? QStringLiteral(" class=\"emphasis\"")
                                                                  : QString();
        done = found.capturedEnd();
    }
    out += QStringView(html).mid(done);
    return out.remove(loaded).replace(leading, QStringLiteral("\\1")).trimmed();
}

QByteArray pageOf(const sim::ScenarioDocument& document, const QString& name, const sim::Catalogue& catalogue, const Theme& theme,
                  const QString& version)
{
    const sim::Scenario scenario = sim::resolvedScenario(document, catalogue);
    const auto simulation = sim::simulate(scenario);
    const auto trace = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
    const Selection selection;
    const TableSource source{*simulation, *trace, selection};
    QString figures, tabled;
    for (const PictureInfo& picture : pictures())
        figures += figureHtml(picture, svgOf(picture, {simulation, trace}, theme));
    for (const char* table : {"metrics", "pipeline-ranks", "memory"})
        tabled += tableHtml(*findTable(table), source);
    const QString from =
        scenario.source.empty() ? QString() : QObject::tr("Source: %1").arg(QString::fromStdString(scenario.source));
    const std::string text = sim::withFilesInside(document, catalogue).text();
    const QByteArray page =
        filled(templateOf(catalogue),
               {
                   {QStringLiteral("title"), printable(name).toHtmlEscaped()},
                   {QStringLiteral("theme"), theme.dark ? QStringLiteral("dark") : QStringLiteral("light")},
                   {QStringLiteral("layout"), layoutLine(scenario.layout).simplified().toHtmlEscaped()},
                   {QStringLiteral("description"), htmlOfMarkdown(shownDescription(scenario, name == nameOf(scenario)))},
                   {QStringLiteral("source"), from.toHtmlEscaped()},
                   {QStringLiteral("cards"), cardsHtml(*simulation)},
                   {QStringLiteral("figures"), figures},
                   {QStringLiteral("tables"), tabled},
                   {QStringLiteral("scenario"), escaped(text)},
                   {QStringLiteral("link"), scenarioLink(text)},
                   {QStringLiteral("version"), version.toHtmlEscaped()},
               });
    if (page.size() > kMostPageBytes)
        throw sim::Error("the page would have " + std::to_string(page.size()) + " bytes, more than the " +
                         std::to_string(kMostPageBytes) + " that a message takes; export figures instead");
    return page;
}

} // namespace app
