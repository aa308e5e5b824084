#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/traffic/traffic_diagram.h"
#include "sim/index.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

constexpr int kOneByOne = 64;                ///< so many are shown one by one
constexpr double kExposure = 1.0 / 300;      ///< of the step: a frame of its ten seconds at 30 a second
constexpr double kTail = 0.16;               ///< of the way: what is bright behind a packet
constexpr double kSlowed = 1.02;             ///< times as long as alone: links are shared
constexpr float kNameShare = 0.45F;          ///< of a box at least: its name
constexpr float kSmallest = 3, kLargest = 8; ///< radius of a packet
constexpr float kRing = 3;                   ///< round one that is slowed

class MotionPainter {
public:
    MotionPainter(Canvas& canvas, const TrafficScene& scene, const TrafficDiagramFrame& frame)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_frame(frame),
          m_byRank(frame.level == TrafficLevel::ranks || (!frame.gpus.empty() && scene.model.traffic().worldSize() <= kOneByOne)),
          m_motion(scene.model.motion(m_byRank ? TrafficLevel::ranks : frame.level, frame.mostParts)),
          m_now(m_motion.at(scene.selection.cursorNs,
                            std::max<std::int64_t>(1, std::llround(kExposure * static_cast<double>(scene.model.stepNs())))))
    {
        for (const auto& part : scene.model.picture(frame.level, frame.mostParts).parts.parts)
            m_nameWidth = std::max(m_nameWidth, canvas.textWidth(part.name, FontFace::small));
    }

    void paint()
    {
        caption();
        gpus();
        for (const TrafficNow& flow : m_now.flows)
            if (m_scene.shows(flow.purpose) && flow.bytes > 0)
                this->flow(flow);
        for (const TrafficPacket& packet : m_now.packets)
            if (m_scene.shows(packet.purpose))
                this->packet(packet);
        if (m_frame.details.width() > 0 && !m_scene.hovered && !m_scene.selection.focusRank())
            tiers(m_frame.details);
    }

private:
    template <class Parts>
    double shownBytes(const Parts& parts) const
    {
        double sum = 0;
        for (const auto& part : parts)
            sum += m_scene.shows(part.purpose) ? part.bytes : 0;
        return sum;
    }

    std::string nowText() const
    {
        const auto step = static_cast<double>(m_scene.model.stepNs());
        return timeText(static_cast<double>(m_now.atNs), step / 1000, step);
    }

    void caption()
    {
        const double passed = shownBytes(m_now.flows), onTheWay = shownBytes(m_now.packets);
        const std::string exposure = durationText(static_cast<double>(m_now.exposureNs));
        const std::string sent = passed > 0 ? bytesText(passed) + " in the last " + exposure : "nothing in the last " + exposure,
                          what = sent + (onTheWay > 0 ? ", " + bytesText(onTheWay) + " under way" : "") + " at " + nowText();
        const bool slowed = std::any_of(m_now.packets.begin(), m_now.packets.end(),
                                        [&](const TrafficPacket& p) { return p.stretch > kSlowed && m_scene.shows(p.purpose); });
        const std::string ring = slowed ? " · ringed: slowed by what shares their links" : "";
        textInside(m_canvas, m_frame.caption,
                   fitting(m_canvas, {what + ring, what, sent}, m_frame.caption.width(), FontFace::small), m_theme.text,
                   FontFace::small);
    }

    /// The rank of a part that is one; of the others' part none.
    std::optional<int> rankOf(int part) const
    {
        const std::vector<int>& ranks = m_scene.selection.ranks;
        if (!m_scene.model.isRestricted())
            return part;
        return asIndex(part) < ranks.size() ? std::optional(ranks[asIndex(part)]) : std::nullopt;
    }

    /// Where packets and flows move; nothing where no link of their kind is drawn.
    template <class Moving>
    std::vector<Point> curveOf(const Moving& packet) const
    {
        if (m_byRank && m_frame.level != TrafficLevel::ranks) {
            const std::optional<int> from = rankOf(packet.from), to = rankOf(packet.to);
            const auto *sender = from ? m_frame.gpuOf(*from) : nullptr, *receiver = to ? m_frame.gpuOf(*to) : nullptr;
            return sender && receiver ? m_frame.curveBetween(*sender, *receiver, packet.purpose) : std::vector<Point>{};
        }
        if (packet.from == packet.to) { // beside its name, purposes below each other
            const Rect box = m_frame.boxes[asIndex(packet.from)].inset(4);
            const float y = box.top + box.height() * (static_cast<float>(packet.purpose) + 0.5F) /
                                          static_cast<float>(sim::kDimensions.size());
            constexpr float kAfterName = 8, kLeastWay = 24;
            const float left = std::min(std::max(box.left + box.width() * kNameShare, box.left + m_nameWidth + kAfterName),
                                        box.right - kWithinRadius - kLeastWay);
            return {{left, y}, {box.right - kWithinRadius, y}};
        }
        const auto* strand = m_frame.strandOf({packet.from, packet.to}, packet.purpose);
        return strand == nullptr ? std::vector<Point>{} : strand->curve;
    }

    /// What passed lately, the brighter and wider the fuller the ports of its sender.
    void flow(const TrafficNow& flow)
    {
        constexpr float kThin = 1.5F, kThick = 5, kFaint = 0.65F;
        const std::vector<Point> curve = curveOf(flow);
        if (curve.empty())
            return;
        const auto load = static_cast<float>(std::min(1.0, flow.load));
        m_canvas.polyline(curve, withAlpha(m_scene.fill(flow.purpose), kFaint + (1 - kFaint) * load),
                          flow.from == flow.to ? 2.0F : kThin + (kThick - kThin) * load);
    }

    /// In each GPU a column of what it sends now, as high as its ports are full.
    void gpus()
    {
        if (!m_byRank || m_frame.level == TrafficLevel::ranks)
            return;
        const float name = m_canvas.textHeight(FontFace::small);
        for (const auto& gpu : m_frame.gpus) {
            const Rect room{gpu.rect.left + 3, gpu.rect.top + name + 4, gpu.rect.right - 3, gpu.rect.bottom};
            if (room.height() < 4)
                continue;
            float bottom = room.bottom;
            for (const TrafficNow& flow : m_now.flows) {
                if (rankOf(flow.from) != gpu.rank || !m_scene.shows(flow.purpose))
                    continue;
                const float top = std::max(room.top, bottom - room.height() * static_cast<float>(flow.load));
                m_canvas.fillRect({room.left, top, room.right, bottom}, m_scene.fill(flow.purpose));
                bottom = top;
            }
        }
    }

    void disc(Point at, float radius, Color fill)
    {
        constexpr int kCorners = 12;
        std::vector<Point> points;
        for (int i = 0; i < kCorners; ++i) {
            const float angle = 6.2831853F * static_cast<float>(i) / kCorners;
            points.push_back({at.x + radius * std::cos(angle), at.y + radius * std::sin(angle)});
        }
        m_canvas.fillConvex(points, fill);
    }

    /// Between boxes, not between GPUs in them.
    bool isOnStrand(const TrafficPacket& packet) const
    {
        return packet.from != packet.to && (!m_byRank || m_frame.level == TrafficLevel::ranks);
    }

    /// Where both ends lie in one box: what moves there stays in it.
    std::optional<Rect> boxAround(const TrafficPacket& packet) const
    {
        if (packet.from == packet.to)
            return m_frame.boxes[asIndex(packet.from)];
        if (!m_byRank || m_frame.level == TrafficLevel::ranks)
            return std::nullopt;
        const std::optional<int> from = rankOf(packet.from), to = rankOf(packet.to);
        const auto *sender = from ? m_frame.gpuOf(*from) : nullptr, *receiver = to ? m_frame.gpuOf(*to) : nullptr;
        return sender && receiver && sender->part == receiver->part ? std::optional(m_frame.boxes[asIndex(sender->part)])
                                                                    : std::nullopt;
    }

    void packet(const TrafficPacket& packet)
    {
        const std::vector<Point> curve = curveOf(packet);
        if (curve.empty())
            return;
        Point at = pointAlong(curve, packet.way);
        const auto share = static_cast<float>(std::sqrt(std::min(1.0, packet.bytes / m_motion.mostBytes())));
        const std::optional<Rect> within = boxAround(packet);
        float radius = (kSmallest + (kLargest - kSmallest) * share) * (within ? 0.6F : 1.0F);
        if (within) // with its edge and ring
            radius =
                std::clamp(std::min({at.y - within->top, within->bottom - at.y, within->right - at.x}) - kRing, 1.0F, radius);
        if (!within &&
            isOnStrand(packet)) { // up on the left, down on the right; at its ends beside the boxes, not on their names
            const Rect box = m_frame.boxes[asIndex(packet.from)];
            const float clear = radius + (packet.stretch > kSlowed ? kRing : 1);
            at.x = packet.from < packet.to ? std::max(at.x, box.right + clear) : std::min(at.x, box.left - clear);
        }
        const Color fill = m_scene.fill(packet.purpose), edge = mix(fill, m_theme.text, 0.45F);
        m_canvas.polyline(piece(curve, std::max(0.0, packet.way - kTail), packet.way), fill, within ? 2.0F : radius);
        if (packet.stretch > kSlowed)
            disc(at, radius + kRing, m_theme.warning);
        disc(at, radius + 1, edge);
        disc(at, radius, fill);
        if (m_canvas.wantsNodes())
            m_canvas.node({.id = kTrafficPacketNodes + static_cast<std::uint64_t>(packet.from) * 65536 +
                                 static_cast<std::uint64_t>(packet.to),
                           .role = "message",
                           .name = textOf(packet),
                           .rect = {at.x - radius, at.y - radius, at.x + radius, at.y + radius}});
    }

    std::string textOf(const TrafficPacket& packet) const
    {
        std::string text = sim::purposeName(m_scene.model.simulation(), packet.purpose) + " " + bytesText(packet.bytes) + ", " +
                           percentText(packet.way) + " of the way";
        if (packet.stretch > kSlowed)
            text += ", " + threeDigits(packet.stretch) + " times as long as alone";
        return text;
    }

    /// What each tier's ports carry now, of what they could; what is more than that is slowed by sharing.
    void tiers(Rect area)
    {
        constexpr float kBar = 8, kApart = 12;
        const float small = m_canvas.textHeight(FontFace::small);
        float top = area.top;
        textInside(m_canvas, {area.left, top, area.right, top + small}, "at " + nowText() + ", of what ports carry",
                   m_theme.mutedText, FontFace::small);
        top += small + kApart;
        for (std::size_t i = 0; i < m_now.tiers.size() && top + small + kBar <= area.bottom; ++i) {
            const TrafficMoment::TierNow& tier = m_now.tiers[i];
            const double share = tier.share(), scale = std::max(1.0, share);
            const bool isFull = share > 1;
            const float used = textInside(m_canvas, {area.left, top, area.right, top + small}, percentText(share),
                                          isFull ? m_theme.warning : m_theme.text, FontFace::small, Align::right);
            textInside(m_canvas, {area.left, top, area.right - used - 8, top + small},
                       sim::spokenNetwork(m_scene.model.tiers()[i].name), m_theme.text, FontFace::small);
            const Rect bar{area.left, top + small + 2, area.right, top + small + 2 + kBar};
            m_canvas.fillRect(bar, mix(m_theme.canvas, m_theme.text, 0.1F));
            float x = bar.left;
            for (const sim::Dimension purpose : sim::kDimensions) {
                const auto length =
                    static_cast<float>(tier.bytesPerSecond[purpose] / tier.capacityBytesPerSecond / scale) * bar.width();
                if (length > 0 && m_scene.shows(purpose))
                    m_canvas.fillRect({x, bar.top, x + length, bar.bottom}, m_scene.fill(purpose));
                x += length;
            }
            if (isFull) { // where the ports are full
                const float full = bar.left + bar.width() / static_cast<float>(scale);
                m_canvas.line({full, bar.top - 2}, {full, bar.bottom + 2}, m_theme.warning, 2);
            }
            top = bar.bottom + kApart;
        }
    }

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    const TrafficDiagramFrame& m_frame;
    bool m_byRank;
    TrafficMotion& m_motion;
    const TrafficMoment& m_now;
    float m_nameWidth = 0; ///< of the widest
};

} // namespace

bool isMoving(const TrafficScene& scene)
{
    return scene.selection.cursorNs > 0 && scene.selection.cursorNs < scene.model.stepNs();
}

void paintTrafficMotion(Canvas& canvas, const TrafficScene& scene, const TrafficDiagramFrame& frame)
{
    MotionPainter(canvas, scene, frame).paint();
}

} // namespace app
