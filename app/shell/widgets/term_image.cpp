#include "app/shell/widgets/term_image.h"

#include "app/canvas/qt/qpainter_canvas.h"
#include "sim/error.h"

#include <QBuffer>
#include <QJsonArray>
#include <QPainter>

#include <algorithm>
#include <array>

namespace app {
namespace {

std::vector<int> numbersOf(const QJsonArray& json)
{
    std::vector<int> out;
    for (const QJsonValue& value : json)
        out.push_back(value.toInt(-1));
    return out;
}

/// Cells that there are.
void check(const std::vector<int>& cells, std::size_t count, const HelpEntry& entry)
{
    for (const int cell : cells)
        if (cell < 0 || static_cast<std::size_t>(cell) >= count)
            throw sim::Error("glossary.json: the picture of " + entry.title.toStdString() + " speaks of cell " +
                             std::to_string(cell) + " of " + std::to_string(count));
}

} // namespace

TermPicture termPictureOf(const HelpEntry& entry)
{
    using Kind = TermPicture::Kind;
    const QJsonObject& json = entry.picture;
    TermPicture out;
    if (json.isEmpty())
        return out;
    constexpr std::array<std::pair<const char*, Kind>, 5> kKinds{
        {{"rows", Kind::rows}, {"bars", Kind::bars}, {"grid", Kind::grid}, {"flow", Kind::flow}, {"curve", Kind::curve}}};
    const QString kind = json.value(QLatin1String("kind")).toString();
    for (const auto& [name, value] : kKinds)
        if (kind == QLatin1String(name))
            out.kind = value;
    if (out.kind == Kind::none)
        throw sim::Error("glossary.json: the picture of " + entry.title.toStdString() +
                         " is none of rows, bars, grid, flow, curve: " + kind.toStdString());
    const auto text = [](const QJsonValue& value) { return value.toString().toStdString(); };
    out.note = text(json.value(QLatin1String("note")));
    for (const QJsonValue& row : json.value(QLatin1String("rows")).toArray()) {
        out.rows.emplace_back(text(row.toArray().at(0)), text(row.toArray().at(1)));
        termPasses(out.rows.back().second);
    }
    for (const QJsonValue& bar : json.value(QLatin1String("bars")).toArray()) {
        std::vector<TermPicture::Part> parts;
        for (const QJsonValue& part : bar.toArray().at(1).toArray())
            parts.push_back({text(part.toArray().at(0)), part.toArray().at(1).toDouble()});
        out.bars.emplace_back(text(bar.toArray().at(0)), std::move(parts));
    }
    out.limit = json.value(QLatin1String("limit")).toDouble();
    for (const char* cells : {"cells", "boxes"})
        for (const QJsonValue& cell : json.value(QLatin1String(cells)).toArray())
            out.cells.push_back(text(cell));
    out.columns = json.value(QLatin1String("columns")).toInt();
    out.lit = numbersOf(json.value(QLatin1String("lit")).toArray());
    check(out.lit, out.cells.size(), entry);
    for (const QJsonValue& group : json.value(QLatin1String("groups")).toArray()) {
        if (group.toArray().isEmpty())
            continue;
        out.groups.push_back(numbersOf(group.toArray()));
        check(out.groups.back(), out.cells.size(), entry);
    }
    out.xName = text(json.value(QLatin1String("x")));
    out.yName = text(json.value(QLatin1String("y")));
    for (const QJsonValue& point : json.value(QLatin1String("points")).toArray())
        out.points.push_back(
            {static_cast<float>(point.toArray().at(0).toDouble()), static_cast<float>(point.toArray().at(1).toDouble())});
    out.markAt = static_cast<float>(json.value(QLatin1String("mark")).toDouble(-1));
    return out;
}

QImage termImage(const HelpEntry& entry, const Theme& theme)
{
    constexpr int kDense = 2;
    if (entry.picture.isEmpty())
        return {};
    try {
        const TermPicture picture = termPictureOf(entry);
        QImage image(static_cast<int>(kTermPictureWidth) * kDense, static_cast<int>(kTermPictureHeight) * kDense,
                     QImage::Format_RGB32);
        image.setDevicePixelRatio(kDense);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        const Rect area{0, 0, kTermPictureWidth, kTermPictureHeight};
        QPainterCanvas canvas(painter, area);
        paintTermPicture(canvas, theme, area, picture);
        return image;
    } catch (const sim::Error&) { // its words say it, too
        return {};
    }
}

QString termImageHtml(const HelpEntry& entry, const Theme& theme, int widest)
{
    const QImage image = termImage(entry, theme);
    if (image.isNull())
        return {};
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    const int width = std::clamp(widest, 1, static_cast<int>(kTermPictureWidth));
    return QStringLiteral("<p><img width=\"%1\" height=\"%2\" src=\"data:image/png;base64,%3\"></p>")
        .arg(width)
        .arg(static_cast<int>(kTermPictureHeight * static_cast<float>(width) / kTermPictureWidth))
        .arg(QString::fromLatin1(png.toBase64()));
}

} // namespace app
