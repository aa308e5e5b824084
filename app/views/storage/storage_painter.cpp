#include "app/views/storage/storage_painter.h"

#include "sim/analysis/explain/explain_holdings.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/memory_parts.h"
#include "app/views/storage/storage_text.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr std::uint64_t kBarNode = std::uint64_t{1} << 62, kSliceNodes = std::uint64_t{1} << 32; ///< apart from those of lines

class StoragePainter {
public:
    StoragePainter(Canvas& canvas, const StorageScene& scene)
        : m_canvas(canvas), m_scene(scene), m_holdings(scene.holdings), m_theme(scene.theme), m_frame(scene.frame),
          m_largest(largestSide(scene.holdings))
    {
    }

    void paint()
    {
        m_canvas.fillRect(m_canvas.area(), m_theme.canvas);
        title();
        bar();
        headings();
        const Rect table = m_frame.table;
        m_canvas.pushClip(table);
        for (std::size_t i = 0; i < m_scene.table.lines.size(); ++i) {
            const StorageLine& line = m_scene.table.lines[i];
            const float top = table.top + line.top - m_scene.scrollY;
            if (top + line.height <= table.top || top >= table.bottom)
                continue;
            if (line.tensor < 0)
                heading(line, {table.left, top, table.right, top + line.height});
            else
                tensor(static_cast<int>(i), line, {table.left, top, table.right, top + line.height});
        }
        m_canvas.popClip();
        scrollBar();
        legend();
    }

private:
    void title();
    void bar();
    void headings();
    void heading(const StorageLine&, Rect);
    void tensor(int index, const StorageLine&, Rect);
    void names(const sim::TensorHolding&, Rect);
    void picture(int index, const sim::TensorHolding&, StoredState, Rect cell);
    void ownSlice(const sim::TensorHolding&, StoredState, Rect);
    void asked(int index, const sim::TensorHolding&, StoredState, Rect whole, const std::vector<TensorSlice>&);
    bool asks() const { return m_scene.selection.asksForSlice; }
    void tensorNode(int index, const StorageLine&, Rect);
    void scrollBar();
    void legend();
    std::vector<std::string> shareTexts(StoredState) const;
    /// Text where all of it is in sight: the edges of the table cut nothing.
    float write(Rect rect, const std::vector<std::string>& longestFirst, Color color, FontFace face, Align align = Align::left)
    {
        const float height = m_canvas.textHeight(face), top = std::floor((rect.top + rect.bottom - height) / 2);
        if (top < m_frame.table.top || top + height > m_frame.table.bottom)
            return 0;
        return textInside(m_canvas, rect, fitting(m_canvas, longestFirst, rect.width(), face), color, face, align);
    }
    /// The same at the right, of bytes that can be asked about.
    float writeBytes(Rect rect, const std::vector<std::string>& longestFirst, FontFace face,
                     std::function<sim::Explanation()> explain)
    {
        const std::string text = fitting(m_canvas, longestFirst, rect.width(), face);
        return writeNumber(m_scene.numbers, m_canvas, m_theme, rect, text, m_theme.text, face, Align::right,
                           [explain = std::move(explain)] {
                               return Becauses{{"", explain}};
                           });
    }
    bool isInSight(Rect rect, FontFace face) const
    {
        const float height = m_canvas.textHeight(face), top = std::floor((rect.top + rect.bottom - height) / 2);
        return top >= m_frame.table.top && top + height <= m_frame.table.bottom;
    }
    Color colorOf(StoredState state) const
    {
        return state == StoredState::parameters  ? m_theme.parameters
               : state == StoredState::gradients ? m_theme.gradients
                                                 : m_theme.optimizer;
    }
    using Member = std::int64_t sim::MemoryBreakdown::*;
    static Member memberOf(StoredState state)
    {
        return state == StoredState::parameters  ? &sim::MemoryBreakdown::parameters
               : state == StoredState::gradients ? &sim::MemoryBreakdown::gradients
                                                 : &sim::MemoryBreakdown::optimizer;
    }
    static std::int64_t bytesOf(const sim::MemoryBreakdown& bytes, StoredState state) { return bytes.*memberOf(state); }

    Canvas& m_canvas;
    const StorageScene& m_scene;
    const sim::Holdings& m_holdings;
    const Theme& m_theme;
    const StorageFrame& m_frame;
    std::int64_t m_largest;
};

/// The rank, where it stands, and what part of the model that makes it keep.
void StoragePainter::title()
{
    const Rect area = m_frame.title;
    const std::string all = bytesText(static_cast<double>(m_holdings.bytes.total()));
    const float right =
        writeBytes({area.left + area.width() * 0.6F, area.top, area.right, area.bottom}, {all + " from step to step", all},
                   FontFace::bold, [kept = m_scene.kept] { return sim::explainStored(*kept); });
    const float left = textInside(m_canvas, area, "Rank " + countText(m_holdings.rank), m_theme.text, FontFace::bold);
    const sim::Scenario& scenario = m_scene.simulation.scenario();
    std::string layers = m_holdings.layers.size() == 1 ? "layer " : "layers ";
    layers += runsText(m_holdings.layers) + " of " + countText(scenario.model.numHiddenLayers);
    if (m_holdings.layers.empty())
        layers = "no layers";
    std::string ends;
    for (const sim::HoldingGroup& group : m_holdings.groups) {
        ends += group.part == sim::ModelPart::embedding ? ", embedding" : "";
        ends += group.part == sim::ModelPart::head ? ", head" : "";
        ends += group.part == sim::ModelPart::prediction ? ", multi-token prediction" : "";
    }
    const std::string where = coordinatesText(m_scene.simulation.mesh(), m_holdings.rank);
    const std::string hint = m_scene.selection.focusRank() ? "" : "  ·  choose a rank to see another";
    const Rect rest{area.left + left + 12, area.top, area.right - right - 16, area.bottom};
    textInside(m_canvas, rest,
               fitting(m_canvas,
                       {where + "  ·  " + layers + ends + hint, where + "  ·  " + layers + ends, layers + ends, layers, where},
                       rest.width(), FontFace::body),
               m_theme.mutedText, FontFace::body);
}

void StoragePainter::bar()
{
    const Rect area = m_frame.bar;
    if (area.height() <= 0)
        return;
    const double total = std::max<double>(1, static_cast<double>(m_holdings.bytes.total()));
    paintMemoryBar(m_canvas, m_theme, m_holdings.bytes, area, total / static_cast<double>(area.width()));
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kBarNode,
                       .role = "bar",
                       .name = "rank " + countText(m_holdings.rank) + " stores " +
                               bytesText(static_cast<double>(m_holdings.bytes.total())) + ": " +
                               memoryPartsText(m_holdings.bytes),
                       .rect = area});
}

/// "1/64 of the slice (ZeRO)": how much of what tensor, expert and pipeline parallelism leave it a rank keeps. Longest first.
std::vector<std::string> StoragePainter::shareTexts(StoredState state) const
{
    const auto share = [](const sim::ShardGroup& shards) {
        return shards.ranks.size() > 1 ? "1/" + countText(static_cast<std::int64_t>(shards.ranks.size())) : std::string("all");
    };
    if (!isShared(m_holdings, state))
        return {"all of the slice"};
    const bool routed = m_scene.simulation.scenario().model.numExperts > 0;
    const std::string dense = share(m_holdings.dense), experts = share(m_holdings.routed);
    if (!routed || dense == experts)
        return {dense + " of the slice (ZeRO)", dense};
    return {dense + " of the slice, experts " + experts + " (ZeRO)", dense + ", experts " + experts, "ZeRO"};
}

/// Each state with how ZeRO shares it out.
void StoragePainter::headings()
{
    const Rect area = m_frame.headings;
    constexpr std::array kNames{"parameters", "gradients", "optimizer"};
    for (int i = 0; i < m_frame.states; ++i) {
        const auto s = static_cast<std::size_t>(i);
        const float middle = std::floor((area.top + area.bottom) / 2);
        const Rect words{m_frame.pictures[s].left + 17, area.top, m_frame.bytes[s].right, area.bottom};
        const std::string name = kNames[s];
        std::vector<std::string> texts;
        if (m_frame.states == 1) { // the bytes beside it are of all states
            texts = {"parameters; bytes with all states", "bytes with all states", "all states"};
        } else {
            for (const std::string& share : shareTexts(kStoredStates[s]))
                texts.push_back(name + " · " + share);
            texts.push_back(name);
        }
        m_canvas.fillRect({words.left - 17, middle - 5, words.left - 6, middle + 6}, colorOf(kStoredStates[s]));
        if (m_canvas.wantsNodes())
            m_canvas.node({.id = (std::uint64_t{1} << 62) + s,
                           .role = "heading",
                           .name = name,
                           .rect = {words.left - 17, words.top, words.right, words.bottom}});
        textInside(m_canvas, words, fitting(m_canvas, texts, words.width(), FontFace::small), m_theme.mutedText, FontFace::small);
    }
    const std::string y = "y = x · A: rows are inputs, columns outputs";
    textInside(
        m_canvas, {m_frame.names.left, area.top, m_frame.names.right, area.bottom},
        fitting(m_canvas, {y, "rows: inputs, columns: outputs", "inputs × outputs"}, m_frame.names.width(), FontFace::small),
        m_theme.mutedText, FontFace::small);
    m_canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, m_theme.border);
}

void StoragePainter::heading(const StorageLine& line, Rect rect)
{
    const sim::HoldingGroup& group = m_holdings.groups[static_cast<std::size_t>(line.group)];
    m_canvas.fillRect({rect.left, rect.top + 2, rect.right, rect.bottom - 1}, mix(m_theme.canvas, m_theme.text, 0.045F));
    std::vector<std::string> names;
    const auto many = static_cast<std::int64_t>(group.layers.size());
    const std::string runs = runsText(group.layers), kind = group.part == sim::ModelPart::moe ? "MoE layer" : "layer";
    switch (group.part) {
    case sim::ModelPart::embedding:
        names = {"Embedding"};
        break;
    case sim::ModelPart::head:
        names = {"Head"};
        break;
    case sim::ModelPart::prediction:
        names = {"Multi-token prediction" + (many > 1 ? " · × " + countText(many) : "")};
        break;
    default:
        if (many == 1)
            names = {(kind == "layer" ? "Layer " : "MoE layer ") + runs};
        else
            names = {(kind == "layer" ? "Layers " : "MoE layers ") + runs + ": " + countText(many) + " alike, one is drawn",
                     (kind == "layer" ? "Layers " : "MoE layers ") + runs + " · × " + countText(many),
                     countText(many) + " " + kind + "s"};
    }
    const std::string bytes = bytesText(static_cast<double>(group.bytes.total()));
    const Rect right{rect.left + 8, rect.top, rect.right - 8, rect.bottom};
    const auto index = static_cast<std::size_t>(&group - m_holdings.groups.data());
    const float used = !isInSight(right, FontFace::small)
                           ? 0
                           : writeBytes(right, {bytes}, FontFace::small, [kept = m_scene.kept, index, name = names.back()] {
                                 return sim::explainStored(*kept, kept->groups[index], name);
                             });
    write({rect.left + 8, rect.top, rect.right - 24 - used, rect.bottom}, names, m_theme.text, FontFace::bold);
}

void StoragePainter::names(const sim::TensorHolding& tensor, Rect rect)
{
    const std::string name(tensor.name);
    const std::string split = splitText(tensor), size = sizeText(tensor);
    const std::string slice = asks() ? split : sliceText(tensor, tensor.expertBlock, tensor.piece);
    const float body = m_canvas.textHeight(FontFace::body), small = m_canvas.textHeight(FontFace::small);
    const auto title = [&](Rect line) {
        const float used = write(line, {name}, m_theme.text, FontFace::body);
        return used > 0 ? used : write(line, {name}, m_theme.text, FontFace::small);
    };
    if (rect.height() < body + small + 4) { // a vector's low line
        const float used = title(rect);
        const bool whole = tensor.split == sim::TensorSplit::whole;
        write({rect.left + used + 8, rect.top, rect.right, rect.bottom}, {size + (whole ? "" : ", " + slice), size},
              m_theme.mutedText, FontFace::small, Align::right);
        return;
    }
    const float top = std::floor((rect.top + rect.bottom - body - small - 1) / 2);
    const Rect first{rect.left, top, rect.right, top + body},
        second{rect.left, top + body + 1, rect.right, top + body + 1 + small};
    const float used = title(first);
    write({first.left + used + 8, first.top, first.right, first.bottom}, {size}, m_theme.mutedText, FontFace::small,
          Align::right);
    const std::string shortSlice = slice.substr(0, slice.find(" of "));
    if (asks())
        write(second, {split}, m_theme.mutedText, FontFace::small);
    else if (slice == wholeText())
        write(second, {"whole on every rank that has the layer", "whole"}, m_theme.mutedText, FontFace::small);
    else
        write(second, {split + ": " + slice, split + ": " + shortSlice, slice, shortSlice, split}, m_theme.mutedText,
              FontFace::small);
}

void StoragePainter::tensor(int index, const StorageLine& line, Rect rect)
{
    const sim::TensorHolding& tensor = *m_scene.tensor(line);
    if (m_scene.pointed && m_scene.pointed->line == index)
        m_canvas.fillRect(rect, m_theme.hover);
    if (m_scene.marked == index) {
        m_canvas.fillRect(rect, mix(m_theme.canvas, m_theme.accent, 0.16F));
        m_canvas.fillRect({rect.left - 6, rect.top, rect.left - 2, rect.bottom}, m_theme.accent);
    }
    names(tensor, {m_frame.names.left, rect.top, m_frame.names.right, rect.bottom});
    const bool isNamed = isInSight(rect, FontFace::small); // at the edge of the table a picture without its name says nothing
    for (int i = 0; i < m_frame.states; ++i) {
        const auto s = static_cast<std::size_t>(i);
        const StoredState state = kStoredStates[s];
        if (isNamed)
            picture(index, tensor, state, m_scene.cell(line, state));
        const bool same = tensor.tied == sim::TensorHolding::Tied::same;
        const std::int64_t bytes = m_frame.states == 1 ? tensor.bytes.total() : bytesOf(tensor.bytes, state);
        const Rect right{m_frame.bytes[s].left, rect.top, m_frame.bytes[s].right, rect.bottom};
        if (same || !isInSight(right, FontFace::small)) {
            write(right, {same ? "0" : bytesText(static_cast<double>(bytes))}, m_theme.text, FontFace::small, Align::right);
            continue;
        }
        writeBytes(right, {bytesText(static_cast<double>(bytes))}, FontFace::small,
                   [kept = m_scene.kept, group = static_cast<std::size_t>(line.group),
                    place = static_cast<std::size_t>(line.tensor), of = m_frame.states == 1 ? nullptr : memberOf(state)] {
                       return sim::explainStored(*kept, kept->groups[group].tensors[place], of);
                   });
    }
    m_canvas.fillRect({rect.left, rect.bottom - 1, rect.right, rect.bottom}, mix(m_theme.canvas, m_theme.border, 0.5F));
    if (m_canvas.wantsNodes())
        tensorNode(index, line, rect);
}

/// Others' slices in outline, with their rank where it fits; the rank's own filled, as far as it keeps it.
void StoragePainter::picture(int index, const sim::TensorHolding& tensor, StoredState state, Rect cell)
{
    const Rect whole = tensorRect(tensor, cell, m_largest);
    const std::vector<TensorSlice> slices = tensorSlices(tensor, whole);
    const Color line = mix(m_theme.canvas, m_theme.mutedText, 0.6F), fill = mix(m_theme.canvas, m_theme.text, 0.035F);
    const bool first = state == StoredState::parameters;
    if (asks())
        return asked(index, tensor, state, whole, slices);
    for (const TensorSlice& slice : slices) {
        const Rect rect = slice.rect;
        if (slice.own || rect.width() <= 0 || rect.height() <= 0)
            continue;
        m_canvas.fillRect(rect, fill);
        if (m_scene.selection.hoveredRank == slice.owner && slice.owner != m_holdings.rank)
            m_canvas.fillRect(rect, mix(m_theme.canvas, m_theme.accent, 0.35F));
        if (first)
            write(rect.inset(1), {countText(slice.owner)}, m_theme.mutedText, FontFace::small, Align::center);
        if (first && m_canvas.wantsNodes())
            m_canvas.node({.id = kSliceNodes * static_cast<std::uint64_t>(index + 1) +
                                 static_cast<std::uint64_t>(slice.expertBlock * tensor.pieces + slice.piece),
                           .role = "slice",
                           .name = std::string(tensor.name) + ", " + sliceText(tensor, slice.expertBlock, slice.piece) +
                                   ", rank " + countText(slice.owner),
                           .rect = intersected(rect, m_frame.table)});
    }
    // One line between neighbours, not two; slices that are little more than a line do without.
    constexpr float kOutlined = 4, kBesidePicture = 8;
    const bool isCutIntoRows = tensor.split == sim::TensorSplit::rows && tensor.expertBlocks == 1 && slices.size() > 1;
    const float across = isCutIntoRows ? whole.height() : whole.width();
    const bool outlined = across >= kOutlined * static_cast<float>(slices.size());
    for (const TensorSlice& slice : slices) {
        const Rect r = slice.rect;
        if (slice.own || !outlined)
            continue;
        m_canvas.strokeRect({r.left, r.top, std::min(r.right + 1, whole.right), std::min(r.bottom + 1, whole.bottom)}, line);
    }
    if (slices.size() > 1)
        m_canvas.strokeRect(whole, line);
    if (const bool areLow = slices.front().rect.height() < m_canvas.textHeight(FontFace::small);
        first && areLow && isCutIntoRows) {
        const std::string top = countText(slices.front().owner), bottom = countText(slices.back().owner);
        write({whole.right + kBesidePicture, whole.top, cell.right, whole.bottom},
              {"rank " + top + " at the top, " + bottom + " at the bottom", top + " at the top, " + bottom + " at the bottom",
               top + " … " + bottom},
              m_theme.mutedText, FontFace::small);
    }
    for (const TensorSlice& slice : slices) {
        if (!slice.own)
            continue;
        ownSlice(tensor, state, slice.rect);
        if (first && slices.size() > 1 && !isShared(m_holdings, state) && tensor.tied != sim::TensorHolding::Tied::same)
            write(slice.rect.inset(1), {countText(slice.owner)}, readableOn(colorOf(state)), FontFace::small, Align::center);
    }
    if (m_scene.pointed && m_scene.pointed->line == index && m_scene.pointed->state == state)
        m_canvas.strokeRect(m_scene.pointed->rect.inset(-1), m_theme.selection, 2);
}

/// Pieces that look alike, whoever keeps them, and what is marked of them.
void StoragePainter::asked(int index, const sim::TensorHolding& tensor, StoredState state, Rect whole,
                           const std::vector<TensorSlice>& slices)
{
    const Color line = mix(m_theme.canvas, m_theme.mutedText, 0.6F), fill = mix(m_theme.canvas, m_theme.text, 0.035F);
    const auto& marked = m_scene.selection.marked;
    for (const TensorSlice& slice : slices) {
        const sim::IndexRange range = sliceRange(tensor, slice.piece);
        const bool isMarked = marked && marked->tensor == tensor.name && range.begin >= marked->begin && range.end <= marked->end;
        const Rect r = slice.rect;
        m_canvas.fillRect(r, isMarked ? mix(m_theme.canvas, m_theme.accent, 0.6F) : fill);
        m_canvas.strokeRect({r.left, r.top, std::min(r.right + 1, whole.right), std::min(r.bottom + 1, whole.bottom)}, line);
        if (state == StoredState::parameters && m_canvas.wantsNodes())
            m_canvas.node({.id = kSliceNodes * static_cast<std::uint64_t>(index + 1) +
                                 static_cast<std::uint64_t>(slice.expertBlock * tensor.pieces + slice.piece),
                           .role = "slice",
                           .name = std::string(tensor.name) + ", " + sliceText(tensor, slice.expertBlock, slice.piece) +
                                   (isMarked ? ", marked" : ""),
                           .rect = intersected(r, m_frame.table)});
    }
    if (m_scene.pointed && m_scene.pointed->line == index && m_scene.pointed->state == state)
        m_canvas.strokeRect(m_scene.pointed->rect.inset(-1), m_theme.selection, 2);
}

/// All of it, or the ZeRO shard of it: the rest in a pale tone, hatched where it is gathered for the step.
void StoragePainter::ownSlice(const sim::TensorHolding& tensor, StoredState state, Rect slice)
{
    if (tensor.tied == sim::TensorHolding::Tied::same) {
        m_canvas.strokeRect(slice, m_theme.mutedText, 1, LineStyle::dashed);
        write(slice.inset(2), {"the embedding's", "tied"}, m_theme.mutedText, FontFace::small, Align::center);
        return;
    }
    const Color color = colorOf(state);
    const sim::ShardGroup& shards = shardsOf(m_holdings, tensor);
    const auto count = static_cast<int>(shards.ranks.size());
    if (!isShared(m_holdings, state) || count <= 1) {
        m_canvas.fillRect(slice, color);
        return;
    }
    m_canvas.fillRect(slice, mix(m_theme.canvas, color, 0.22F));
    if (state == StoredState::parameters && tensor.isGathered())
        paintHatch(m_canvas, slice, m_theme.buffers, 5);
    m_canvas.fillRect(shardRect(tensor, slice, shards.index, count), color);
    m_canvas.strokeRect(slice, color);
}

void StoragePainter::tensorNode(int index, const StorageLine& line, Rect rect)
{
    const sim::TensorHolding& tensor = *m_scene.tensor(line);
    const auto layers = m_holdings.groups[static_cast<std::size_t>(line.group)].layers.size();
    const std::string many = layers > 1 ? ", in " + countText(static_cast<std::int64_t>(layers)) + " layers" : "";
    m_canvas.node({.id = static_cast<std::uint64_t>(index),
                   .role = "tensor",
                   .name = std::string(tensor.name) + ", " + sizeText(tensor) + (tensor.biased ? " and bias" : "") + ", " +
                           splitText(tensor) + (asks() ? "" : ", " + sliceText(tensor, tensor.expertBlock, tensor.piece)) + many +
                           (tensor.bytes.total() > 0 ? ": " + memoryPartsText(tensor.bytes) : ": no memory of its own"),
                   .rect = intersected(rect, m_frame.table)});
}

void StoragePainter::scrollBar()
{
    const float content = m_scene.table.height, view = m_frame.table.height();
    if (content <= view + 1)
        return;
    const Rect track = m_frame.scroll;
    const float length = std::max(24.0F, track.height() * view / content);
    const float top = track.top + (track.height() - length) * m_scene.scrollY / (content - view);
    m_canvas.fillRect({track.left, top, track.right, top + length}, mix(m_theme.border, m_theme.mutedText, 0.35F));
}

/// What filled, outlined and pale mean: only what is in this picture.
void StoragePainter::legend()
{
    const Rect area = m_frame.legend;
    if (area.height() <= 0)
        return;
    if (asks()) {
        const Rect words{area.left, area.top + 4, area.right, area.bottom};
        textInside(m_canvas, words,
                   fitting(m_canvas,
                           {"Whose is whose is not told now. Drag over the part that is asked for.", "Drag over the part."},
                           words.width(), FontFace::small),
                   m_theme.text, FontFace::small);
        return;
    }
    bool cut = false, hatched = false;
    for (const sim::HoldingGroup& group : m_holdings.groups)
        for (const sim::TensorHolding& tensor : group.tensors) {
            cut = cut || tensor.owners.size() > 1;
            hatched = hatched || tensor.isGathered();
        }
    std::string text = "Filled: kept by rank " + countText(m_holdings.rank) + ".";
    const std::string filled = text;
    if (cut)
        text += "  Outlined: the slice of the rank with that number.";
    const std::string outlined = text;
    if (isShared(m_holdings, StoredState::optimizer))
        text += "  Pale: kept by other ranks of its ZeRO group.";
    const std::string pale = text;
    if (hatched)
        text += "  Hatched: gathered for the step.";
    const Rect line{area.left, area.top + 4, area.right, area.bottom};
    textInside(m_canvas, line, fitting(m_canvas, {text, pale, outlined, filled}, line.width(), FontFace::small),
               m_theme.mutedText, FontFace::small);
}

} // namespace

Rect StorageScene::cell(const StorageLine& line, StoredState state) const
{
    const Rect column = frame.pictures[static_cast<std::size_t>(state)];
    const float top = frame.table.top + line.top - scrollY, air = line.height > 30 ? 4.0F : 2.0F;
    return {column.left, top + air, column.right, top + line.height - air - 1};
}

void paintStorage(Canvas& canvas, const StorageScene& scene)
{
    StoragePainter(canvas, scene).paint();
}

} // namespace app
