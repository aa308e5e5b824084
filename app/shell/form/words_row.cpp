#include "app/shell/form/words_row.h"

#include "app/session/plain_words.h"

#include <QCheckBox>
#include <QGridLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QRegularExpression>
#include <QSignalBlocker>

#include <algorithm>

namespace app {
namespace {

QStringList wordsOf(const std::string& json)
{
    QStringList out;
    for (const QJsonValue& word : QJsonDocument::fromJson(QByteArray::fromStdString(json)).array())
        out << word.toString();
    return out;
}

std::string jsonOf(const QStringList& words)
{
    return QJsonDocument(QJsonArray::fromStringList(words)).toJson(QJsonDocument::Compact).toStdString();
}

const QString kTypeEnd = QStringLiteral("_attention");

/// "5×sliding, full".
QString runs(const QStringList& words)
{
    QStringList out;
    for (qsizetype begin = 0; begin < words.size();) {
        qsizetype end = begin;
        while (end < words.size() && words[end] == words[begin])
            ++end;
        QString word = words[begin];
        if (word.endsWith(kTypeEnd))
            word.chop(kTypeEnd.size());
        out << (end - begin > 1 ? QStringLiteral("%1×%2").arg(end - begin).arg(word) : word);
        begin = end;
    }
    return out.join(QStringLiteral(", "));
}

/// What repeats itself, as short as it can be; all of it where nothing does.
qsizetype periodOf(const QStringList& words)
{
    for (qsizetype period = 2; 2 * period <= words.size(); ++period) {
        bool repeats = true;
        for (qsizetype i = period; repeats && i < words.size(); ++i)
            repeats = words[i] == words[i - period];
        if (repeats)
            return period;
    }
    return words.size();
}

constexpr qsizetype kMostLayers = 65536;

/// Of "5×sliding, full"; false for what is no such text.
bool readRuns(const QString& text, QStringList& out)
{
    static const QRegularExpression kRun(QStringLiteral("^(?:(\\d{1,5})\\s*[×x*]\\s*)?([a-z_]+)$"));
    for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        const auto match = kRun.match(part.trimmed());
        const qsizetype times = match.captured(1).isEmpty() ? 1 : match.captured(1).toInt();
        if (!match.hasMatch() || out.size() + times > kMostLayers)
            return false;
        const QString word = match.captured(2);
        for (qsizetype i = 0; i < times; ++i)
            out << (word.endsWith(kTypeEnd) ? word : word + kTypeEnd);
    }
    return true;
}

} // namespace

WordsRow::WordsRow(const ScenarioKey& key, std::string pointer, const QString& what, std::vector<KeyOption> options,
                   QWidget* parent)
    : FormRow(key, std::move(pointer), what, parent), m_options(std::move(options))
{
}

const std::vector<QCheckBox*>& WordsRow::boxes()
{
    build();
    return m_boxes;
}

void WordsRow::buildControls()
{
    putLabelAbove();
    auto* grid = new QWidget(this);
    auto* cells = new QGridLayout(grid);
    cells->setContentsMargins(0, 0, 0, 0);
    cells->setHorizontalSpacing(8);
    cells->setVerticalSpacing(2);
    constexpr std::size_t kLongestBeside = 10; // letters; two columns of longer words are wider than the form
    const bool areShort = std::all_of(m_options.begin(), m_options.end(),
                                      [](const KeyOption& option) { return option.text.size() <= kLongestBeside; });
    const int columns = areShort ? 2 : 1;
    for (const KeyOption& option : m_options) {
        auto* box = new QCheckBox(QString::fromStdString(option.text), grid);
        const int place = static_cast<int>(m_boxes.size());
        cells->addWidget(box, place / columns, place % columns);
        watch(box);
        box->setAccessibleName(tr("%1: %2").arg(labelText(), box->text()));
        connect(box, &QCheckBox::clicked, this, &WordsRow::take);
        m_boxes.push_back(box);
    }
    addControl(grid, 1);
}

void WordsRow::present(const std::optional<std::string>& json)
{
    const QStringList absent = QString::fromUtf8(key().ifAbsent).split(QLatin1Char(' '), Qt::SkipEmptyParts);
    const QStringList words = json ? wordsOf(*json) : absent;
    for (std::size_t i = 0; i < m_boxes.size(); ++i) {
        const QSignalBlocker quiet(m_boxes[i]);
        m_boxes[i]->setChecked(words.contains(QString::fromStdString(unquoted(m_options[i].json))));
    }
    offerWhatWorks();
}

/// What the job has no use for is grey and says why; where it is checked all the same it can be taken back.
void WordsRow::offerWhatWorks()
{
    const std::vector<Refusal>& refused = legalValues().refused;
    for (std::size_t i = 0; i < m_boxes.size(); ++i) {
        const std::string alone = "[" + m_options[i].json + "]";
        const auto refusal = std::ranges::find(refused, alone, &Refusal::json);
        m_boxes[i]->setEnabled(refusal == refused.end() || m_boxes[i]->isChecked());
        m_boxes[i]->setToolTip(
            refusal == refused.end()
                ? QString()
                : QStringLiteral("<p>%1</p>")
                      .arg(asSentence(plainWords(inItsWords(QString::fromStdString(refusal->why)))).toHtmlEscaped()));
    }
}

QString WordsRow::inItsWords(const QString& sentence) const
{
    QString out = sentence;
    for (const KeyOption& option : m_options)
        out.replace(QRegularExpression(QStringLiteral("\\b%1\\b").arg(QString::fromStdString(unquoted(option.json)))),
                    QString::fromStdString(option.text));
    return out;
}

void WordsRow::take()
{
    QStringList words;
    for (std::size_t i = 0; i < m_boxes.size(); ++i)
        if (m_boxes[i]->isChecked())
            words << QString::fromStdString(unquoted(m_options[i].json));
    Q_EMIT chosen(words.isEmpty() ? QString() : QString::fromStdString(jsonOf(words)), 0);
}

QString WordsRow::textOf(const std::string& json) const
{
    const QStringList words = wordsOf(json);
    QStringList out;
    for (const KeyOption& option : m_options)
        if (words.contains(QString::fromStdString(unquoted(option.json))))
            out << QString::fromStdString(option.text);
    return out.join(QStringLiteral(", "));
}

QString layerTypesText(const std::string& json)
{
    const QStringList words = wordsOf(json);
    const qsizetype period = periodOf(words), times = period > 0 ? words.size() / period : 0;
    if (times < 2 || words.count(words.front()) == words.size())
        return runs(words);
    const QString repeated = QStringLiteral("%1×(%2)").arg(times).arg(runs(words.mid(0, period)));
    const QStringList rest = words.mid(times * period);
    return rest.isEmpty() ? repeated : repeated + QStringLiteral(", ") + runs(rest);
}

std::string layerTypesJson(const QString& text)
{
    static const QRegularExpression kGroup(QStringLiteral("(\\d{1,5})\\s*[×x*]\\s*\\(([^()]*)\\)"));
    QStringList out;
    qsizetype read = 0;
    bool isGood = true;
    for (auto groups = kGroup.globalMatch(text); isGood && groups.hasNext();) {
        const auto group = groups.next();
        QStringList once;
        isGood = readRuns(text.mid(read, group.capturedStart() - read), out) && readRuns(group.captured(2), once) &&
                 out.size() + once.size() * group.captured(1).toInt() <= kMostLayers;
        for (int i = 0; isGood && i < group.captured(1).toInt(); ++i)
            out += once;
        read = group.capturedEnd();
    }
    isGood = isGood && readRuns(text.mid(read), out) && !out.isEmpty();
    return isGood ? jsonOf(out) : app::quoted(text.toStdString());
}

} // namespace app
