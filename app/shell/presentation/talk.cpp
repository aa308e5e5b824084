#include "app/shell/presentation/talk.h"
#include "app/session/plain_words.h"

#include <QRegularExpression>
#include <QStringList>
#include <QTextDocument>

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {

/// Characters of a passage: what can be read aloud in one breath, two or three lines on a slide.
constexpr qsizetype kPassage = 190;

/// Without Markdown's marks.
QString plain(const QString& markdown)
{
    QTextDocument document;
    document.setMarkdown(markdown, QTextDocument::MarkdownNoHTML);
    return document.toPlainText().simplified();
}

/// What is said of a picture: its name counts most, words that are of many pictures least.
struct Topic {
    Picture picture;
    const char *names, *words, *hints; ///< nullptr: none
};
constexpr std::array kTopics{
    Topic{Picture::timeline, "timeline",
          "bubbles?|schedules?|micro-batch\\w*|forwards?|backwards?|overlap\\w*|exposed|waits?|span", "step"},
    Topic{Picture::grid, "grid", "groups?|hover|tensor|replicas?|order", "ranks?|nodes?|pipeline|stages?"},
    Topic{Picture::memory, "memory view|memory picture|[Ll]ook at (?:the )?memory",
          "memory|GiB|peak|activations?|fits?|recompute\\w*|offload\\w*", nullptr},
    Topic{Picture::traffic, "traffic", "NVLink|InfiniBand|network|links?|GB/s|gradients|all-to-all|all-reduce|sends?|Slingshot",
          nullptr},
    Topic{Picture::block, "block view|block picture", "block|operators?|column-parallel|row-parallel", nullptr},
    Topic{Picture::storage, "storage", "ZeRO|shard\\w*|weights|states|optimizer|copy|copies|parameters", nullptr},
};

qsizetype countOf(const char* words, const QString& text)
{
    return words == nullptr ? 0 : text.count(QRegularExpression(QStringLiteral("\\b(?:%1)\\b").arg(QLatin1String(words))));
}

/// That it calls by their names: whoever hears it looks for them.
std::vector<Picture> namedIn(const QString& passage)
{
    std::vector<Picture> out;
    for (const Topic& topic : kTopics)
        if (countOf(topic.names, passage) > 0)
            out.push_back(topic.picture);
    return out;
}

/// Which pictures a passage speaks of, by its words: the two it speaks of most; none: it is about what was shown before.
std::vector<Picture> picturesOf(const QString& passage)
{
    constexpr qsizetype kName = 100, kWord = 3, kHint = 1;
    std::vector<std::pair<qsizetype, Picture>> scores;
    for (const Topic& topic : kTopics) {
        const qsizetype score =
            kName * countOf(topic.names, passage) + kWord * countOf(topic.words, passage) + kHint * countOf(topic.hints, passage);
        if (score > 0)
            scores.emplace_back(score, topic.picture);
    }
    std::stable_sort(scores.begin(), scores.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Picture> out;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, scores.size()); ++i)
        out.push_back(scores[i].second);
    std::sort(out.begin(), out.end()); // at the same side whenever they come
    return out;
}

/// Sentences, short ones together where what they name is shown together.
QStringList passagesOf(const QString& description)
{
    static const QRegularExpression kBetween(QStringLiteral("(?<=[.!?])\\s+(?=[^a-z])"));
    const auto showsAllNamed = [](const QString& passage) {
        const std::vector<Picture> shown = picturesOf(passage);
        return std::ranges::all_of(namedIn(passage),
                                   [&](Picture named) { return std::ranges::find(shown, named) != shown.end(); });
    };
    QStringList passages;
    for (const QString& sentence : plain(plainDescription(description)).split(kBetween, Qt::SkipEmptyParts)) {
        const QString joined = passages.isEmpty() ? sentence : passages.back() + QLatin1Char(' ') + sentence;
        if (!passages.isEmpty() && passages.back().size() + sentence.size() < kPassage && showsAllNamed(joined))
            passages.back() = joined;
        else
            passages.push_back(sentence);
    }
    return passages;
}

class ScenarioTalk final : public Talk {
public:
    ScenarioTalk(const QString& name, const QString& description)
    {
        const std::vector<Picture> whole{Picture::grid, Picture::timeline};
        const QStringList passages = passagesOf(description);
        for (const QString& passage : passages) {
            std::vector<Picture> spokenOf = picturesOf(passage);
            if (m_slides.empty() ? namedIn(passage).empty() : spokenOf.empty()) // first the whole
                spokenOf = m_slides.empty() ? whole : m_slides.back().pictures;
            m_slides.push_back({name, passage, std::move(spokenOf)});
        }
        if (!m_slides.empty())
            return;
        m_slides.push_back({name, {}, whole});
        for (const PictureInfo& info : pictures())
            m_slides.push_back({name, {}, {info.picture}});
    }
    int size() const override { return static_cast<int>(m_slides.size()); }
    Slide goTo(int index) override { return m_slides[static_cast<std::size_t>(index)]; }
    QStringList captions() const override
    {
        QStringList out;
        for (const Slide& slide : m_slides)
            out.push_back(slide.caption);
        return out;
    }
    QString upNext(int index) const override
    {
        return index + 1 < size() ? m_slides[static_cast<std::size_t>(index) + 1].caption : QString();
    }

private:
    std::vector<Slide> m_slides;
};

} // namespace

std::unique_ptr<Talk> talkOfScenario(const QString& name, const QString& description)
{
    return std::make_unique<ScenarioTalk>(name, description);
}

} // namespace app
