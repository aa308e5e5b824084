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

/// Sentences, short ones together.
QStringList passagesOf(const QString& description)
{
    static const QRegularExpression kBetween(QStringLiteral("(?<=[.!?])\\s+(?=[^a-z])"));
    QStringList passages;
    for (const QString& sentence : plain(plainDescription(description)).split(kBetween, Qt::SkipEmptyParts)) {
        if (!passages.isEmpty() && passages.back().size() + sentence.size() < kPassage)
            passages.back() += QLatin1Char(' ') + sentence;
        else
            passages.push_back(sentence);
    }
    return passages;
}

/// Which pictures a passage speaks of, by its words: the two it speaks of most; none: it is about what was shown before.
std::vector<Picture> picturesOf(const QString& passage)
{
    struct Topic {
        Picture picture;
        const char* words;
    };
    static constexpr std::array kTopics{
        Topic{Picture::timeline,
              "timeline|bubbles?|schedules?|micro-batch\\w*|forwards?|backwards?|overlap\\w*|exposed|waits?|step|span"},
        Topic{Picture::grid, "grid|ranks?|groups?|hover|nodes?|tensor|pipeline|replicas?|stages?|order"},
        Topic{Picture::memory, "memory|GiB|peak|activations?|fits?|recompute\\w*|offload\\w*"},
        Topic{Picture::traffic, "NVLink|InfiniBand|network|links?|GB/s|gradients|all-to-all|all-reduce|sends?|Slingshot|traffic"},
        Topic{Picture::block, "block|operators?|column-parallel|row-parallel"},
        Topic{Picture::storage, "ZeRO|shard\\w*|weights|states|optimizer|copy|copies|parameters"},
    };
    std::vector<std::pair<qsizetype, Picture>> scores;
    for (const Topic& topic : kTopics) {
        const QRegularExpression words(QStringLiteral("\\b(%1)\\b").arg(QLatin1String(topic.words)));
        if (const qsizetype count = passage.count(words); count > 0)
            scores.emplace_back(count, topic.picture);
    }
    std::stable_sort(scores.begin(), scores.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Picture> out;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, scores.size()); ++i)
        out.push_back(scores[i].second);
    std::sort(out.begin(), out.end()); // at the same side whenever they come
    return out;
}

class ScenarioTalk final : public Talk {
public:
    ScenarioTalk(const QString& name, const QString& description)
    {
        const std::vector<Picture> whole{Picture::grid, Picture::timeline};
        const QStringList passages = passagesOf(description);
        for (const QString& passage : passages) {
            std::vector<Picture> spokenOf = picturesOf(passage);
            if (m_slides.empty() || spokenOf.empty())
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
