#include "app/lessons/handout.h"

#include "app/canvas/masked_canvas.h"
#include "app/canvas/qt/fonts.h"
#include "app/canvas/qt/qpainter_canvas.h"
#include "app/canvas/recorder_canvas.h"
#include "app/lessons/answer_input.h"
#include "app/lessons/lesson_text.h"
#include "app/session/scenario_name.h"
#include "app/session/view_state.h"
#include "app/shell/widgets/style.h"
#include "app/views/pictures.h"
#include "sim/lesson/live_text.h"
#include "sim/lesson/room.h"
#include "sim/scenario/json_text.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QHashSeed>
#include <QPainter>
#include <QPdfWriter>
#include <QTextDocument>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace app {
namespace {

// All lengths in logical pixels of 1/96 inch.
constexpr double kPaperWidth = 794, kPaperHeight = 1123; ///< A4
constexpr double kMargin = 60, kTextWidth = kPaperWidth - 2 * kMargin;
constexpr double kFoot = kPaperHeight - kMargin + 14, kBottom = kPaperHeight - kMargin - 6;
constexpr int kBody = 14, kSmall = 11, kHeading = 22, kQuestion = 15;
constexpr double kRuled = 30; ///< between two lines to write on
constexpr double kPictureHeight = 210;

/// How a picture stands on paper: as high as all of it needs, and smaller where a page has not that much room.
struct PaperShape {
    double height = kPictureHeight, scale = 1;
    bool isWhole = false; ///< nothing of it would have to be scrolled to
    Rect area() const { return {0, 0, static_cast<float>(kTextWidth / scale), static_cast<float>(height / scale)}; }
};

PaperShape paperShapeOf(StepView& view, Picture picture)
{
    PaperShape shape;
    if (picture == Picture::traffic) { // it never scrolls: keys go along its rows
        shape.isWhole = true;
        return shape;
    }
    const auto tried = [&](double height, double scale) {
        shape = {.height = height, .scale = scale};
        RecorderCanvas drawn(shape.area());
        view.draw(drawn);
        shape.isWhole = !view.command(ViewCommand::panDown, false, shape.area());
        if (!shape.isWhole)
            view.command(ViewCommand::panUp, true, shape.area());
        return shape.isWhole;
    };
    constexpr double kHighest = 620; // two on a page are not
    for (const double height : {kPictureHeight, 280.0, 360.0, 460.0, kHighest})
        if (tried(height, 1))
            return shape;
    for (const double scale : {0.85, 0.7, 0.6, 0.5, 0.4})
        if (tried(kHighest, scale))
            return shape;
    return shape;
}

QString paperText(const std::string& text)
{
    return QString::fromStdString(text);
}

/// Pages from top to bottom.
class Sheets {
public:
    Sheets(QPdfWriter& pdf, QPainter& painter, QString foot) : m_pdf(pdf), m_painter(painter), m_foot(std::move(foot))
    {
        drawFoot();
    }

    void newPage()
    {
        m_pdf.newPage();
        ++m_page;
        m_y = kMargin;
        drawFoot();
    }
    /// Begins a page where less than that is left.
    void keep(double height)
    {
        if (m_y + height > kBottom && m_y > kMargin)
            newPage();
    }
    void space(double height) { m_y += height; }

    /// Markdown; never HTML and never pictures: words of a file from anywhere.
    void text(const QString& markdown, int pixels = kBody, double indent = 0, bool bold = false, bool hasBox = false)
    {
        for (QString block : markdown.split(QStringLiteral("\n\n"), Qt::SkipEmptyParts)) {
            block.replace(QStringLiteral("!["), QStringLiteral("! ["));
            QTextDocument document;
            QFont font = qtFont(FontFace::body);
            font.setPixelSize(pixels);
            font.setBold(bold);
            document.setDefaultFont(font);
            document.setDocumentMargin(0);
            document.setMarkdown(block, QTextDocument::MarkdownFeatures(QTextDocument::MarkdownDialectGitHub) |
                                            QTextDocument::MarkdownNoHTML);
            document.setTextWidth(kTextWidth - indent);
            double height = document.size().height();
            if (height <= kBottom - kMargin)
                keep(height);
            if (std::exchange(hasBox, false)) // beside the first line, on whichever page it comes to stand
                drawBox();
            for (double done = 0; done < height;) { // a block longer than a page goes on on the next
                const double part = std::min(height - done, kBottom - m_y);
                m_painter.save();
                m_painter.translate(kMargin + indent, m_y - done);
                document.drawContents(&m_painter, QRectF(0, done, kTextWidth - indent, part));
                m_painter.restore();
                done += part;
                m_y += part;
                if (done < height)
                    newPage();
            }
            m_y += pixels * 0.45;
        }
    }
    /// "Answer: ______ GiB"
    void blank(const QString& before, const QString& after, double across = 220)
    {
        keep(kRuled);
        m_y += kRuled * 0.75;
        QFont font = qtFont(FontFace::body);
        font.setPixelSize(kBody);
        m_painter.setFont(font);
        m_painter.setPen(Qt::black);
        const double width = m_painter.fontMetrics().horizontalAdvance(before + QLatin1Char(' '));
        m_painter.drawText(QPointF(kMargin, m_y), before);
        m_painter.setPen(QPen(Qt::darkGray, 0.8));
        m_painter.drawLine(QPointF(kMargin + width, m_y + 3), QPointF(kMargin + width + across, m_y + 3));
        m_painter.setPen(Qt::black);
        m_painter.drawText(QPointF(kMargin + width + across + 6, m_y), after);
        m_y += kRuled * 0.4;
    }
    void ruled(int lines)
    {
        keep(kRuled * lines);
        m_painter.setPen(QPen(Qt::lightGray, 0.8));
        for (int i = 0; i < lines; ++i) {
            m_y += kRuled;
            m_painter.drawLine(QPointF(kMargin, m_y), QPointF(kMargin + kTextWidth, m_y));
        }
        m_y += 8;
    }
    /// "☐ text", the box drawn: no font needs to have it.
    void box(const QString& markdown)
    {
        constexpr double kIndent = 24;
        keep(kBody * 2);
        text(markdown, kBody, kIndent, false, true);
    }
    /// `masked`: quantities are not told.
    void picture(StepView& view, const PaperShape& shape, const QString& caption, bool masked)
    {
        keep(shape.height + 2.0 * kBody);
        m_painter.save();
        m_painter.translate(kMargin, m_y);
        m_painter.setClipRect(QRectF(0, 0, kTextWidth, shape.height));
        m_painter.scale(shape.scale, shape.scale);
        QPainterCanvas canvas(m_painter, shape.area());
        if (masked) {
            MaskedCanvas hiding(canvas);
            view.draw(hiding);
        } else {
            view.draw(canvas);
        }
        m_painter.restore();
        m_painter.setPen(QPen(Qt::lightGray, 0.8));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(QRectF(kMargin, m_y, kTextWidth, shape.height));
        m_y += shape.height + 4;
        text(caption, kSmall);
    }
    /// Axes to draw a curve in.
    void axes(const QStringList& places, const QString& from, const QString& to)
    {
        constexpr double kHigh = 150, kLeft = 70;
        keep(kHigh + 30);
        const double width = kTextWidth - kLeft - 10;
        const QRectF area(kMargin + kLeft, m_y, width, kHigh);
        QFont font = qtFont(FontFace::body);
        font.setPixelSize(kSmall);
        m_painter.setFont(font);
        m_painter.setPen(QPen(Qt::lightGray, 0.6));
        const qsizetype steps = std::max<qsizetype>(1, places.size() - 1);
        for (qsizetype i = 0; i < places.size(); ++i) {
            const double x = area.left() + width * static_cast<double>(i) / static_cast<double>(steps);
            m_painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        }
        for (int i = 0; i <= 4; ++i)
            m_painter.drawLine(QPointF(area.left(), area.top() + kHigh * i / 4),
                               QPointF(area.right(), area.top() + kHigh * i / 4));
        m_painter.setPen(Qt::black);
        m_painter.drawRect(area);
        m_painter.drawText(QRectF(kMargin, area.top() - 7, kLeft - 6, 14), Qt::AlignRight, to);
        m_painter.drawText(QRectF(kMargin, area.bottom() - 7, kLeft - 6, 14), Qt::AlignRight, from);
        const qsizetype each = std::max<qsizetype>(1, places.size() / 8);
        for (qsizetype i = 0; i < places.size(); i += each)
            m_painter.drawText(
                QRectF(area.left() + width * static_cast<double>(i) / static_cast<double>(steps) - 40, area.bottom() + 3, 80, 14),
                Qt::AlignHCenter, places[i]);
        m_y += kHigh + 28;
    }

private:
    void drawBox()
    {
        constexpr double kSide = 11;
        m_painter.setPen(QPen(Qt::black, 1));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(QRectF(kMargin + 4, m_y + 3, kSide, kSide));
    }
    void drawFoot()
    {
        QFont font = qtFont(FontFace::body);
        font.setPixelSize(kSmall);
        font.setBold(false);
        m_painter.setFont(font);
        m_painter.setPen(Qt::darkGray);
        m_painter.drawText(QRectF(kMargin, kFoot, kTextWidth, 16), Qt::AlignLeft, m_foot);
        m_painter.drawText(QRectF(kMargin, kFoot, kTextWidth, 16), Qt::AlignRight, QString::number(m_page));
    }
    QPdfWriter& m_pdf;
    QPainter& m_painter;
    const QString m_foot;
    double m_y = kMargin;
    int m_page = 1;
};

class Handout {
public:
    Handout(Sheets& sheets, const sim::LessonPlay& play, std::uint64_t seed, QStringList* cut)
        : m_sheets(sheets), m_play(play), m_seed(seed), m_cut(cut)
    {
    }

    void questions()
    {
        const sim::Lesson& lesson = m_play.lesson();
        m_sheets.text(paperText(lesson.title), kHeading, 0, true);
        m_sheets.blank(tr("Name:"), {}, 320);
        m_sheets.space(10);
        bool hasAsked = false;
        for (std::size_t at = 0; at < m_play.steps() && m_play.asked(at) == nullptr; ++at)
            m_open.insert(m_play.shownName(at));
        for (std::size_t at = 0; at < m_play.steps(); ++at) {
            const sim::AskedQuestion* asked = m_play.asked(at);
            const bool isChallenge = m_play.step(at).challenge.has_value();
            if (asked == nullptr && !isChallenge) {
                // What is said later may tell an answer: it stands on the key, unless the lesson says that it does not.
                if ((!hasAsked && !m_play.step(at).reveal) || m_play.step(at).isOnPaper)
                    m_sheets.text(paperText(m_play.textOnPaper(at)));
                continue;
            }
            hasAsked = true;
            pictures(at);
            m_sheets.keep(110);
            m_sheets.text(QStringLiteral("**%1.**  %2").arg(++m_number).arg(paperText(m_play.textOnPaper(at))), kQuestion);
            if (asked != nullptr)
                room(*asked);
            else
                challengeRoom(*m_play.step(at).challenge);
            m_sheets.space(12);
        }
    }

    void key()
    {
        m_sheets.newPage();
        m_sheets.text(tr("Key: %1").arg(paperText(m_play.lesson().title)), kHeading, 0, true);
        m_sheets.text(tr("Seed %1. The engine's answers.").arg(m_seed), kSmall);
        int number = 0;
        for (std::size_t at = 0; at < m_play.steps(); ++at) {
            if (const sim::AskedQuestion* asked = m_play.asked(at)) {
                const auto input = asked->question().input;
                const bool isActions = input == sim::QuestionInput::actions;
                QString answer = isActions ? tr("any order that reaches the goal, such as this: %1")
                                                 .arg(orderText(asked->outcomeOf(asked->rightAnswer())))
                                           : answerText(*asked, asked->rightAnswer());
                if (input == sim::QuestionInput::choice || input == sim::QuestionInput::order) {
                    const sim::LessonValue right = asked->rightAnswer();
                    QStringList letters;
                    for (const auto& place : right.is_array() ? right : sim::LessonValue::array({right}))
                        letters << paperText(sim::letterOf(place.get<std::size_t>()));
                    answer = letters.join(QStringLiteral(" ")) + QStringLiteral("  ") + answer;
                }
                m_sheets.space(6);
                m_sheets.keep(40);
                m_sheets.text(
                    QStringLiteral("**%1.  %2**").arg(++number).arg(answer.replace(QLatin1Char('\n'), QStringLiteral(" / "))));
                if (isActions)
                    rows(asked->rightAnswer(), 24);
                const sim::Tolerance tolerance = asked->tolerance();
                const bool isNumber = asked->rightAnswer().is_number() && input != sim::QuestionInput::choice;
                if (isNumber && tolerance.relative > 0)
                    m_sheets.text(tr("counts within %1 %").arg(tolerance.relative * 100), kSmall, 24);
                m_sheets.text(paperText(m_play.because(at)), kBody, 24);
                for (const sim::Mistake& mistake : asked->question().mistakes)
                    m_sheets.text(
                        tr("*%1*: %2")
                            .arg(answerText(*asked, asked->valueOf(mistake.near)), paperText(asked->filled(mistake.say))),
                        kSmall + 1, 24);
                std::size_t place = 0;
                for (const sim::QuestionOption& option : asked->question().options) {
                    if (!option.say.empty())
                        m_sheets.text(tr("*%1*: %2").arg(paperText(sim::letterOf(place)), paperText(asked->filled(option.say))),
                                      kSmall + 1, 24);
                    ++place;
                }
            } else if (const auto& challenge = m_play.step(at).challenge) {
                m_sheets.space(6);
                QStringList ways;
                for (const sim::LessonValue& solution : challenge->solvedBy)
                    ways << changesText(solution, m_play.cases().catalogue());
                m_sheets.text(QStringLiteral("**%1.**  ").arg(++number) + ways.join(tr("; or ")));
                for (const std::string& hint : m_play.hints(at))
                    m_sheets.text(tr("Hint: %1").arg(paperText(hint)), kSmall + 1, 24);
                m_sheets.text(paperText(m_play.because(at)), kBody, 24);
            } else if (number > 0 && !m_play.step(at).isOnPaper) {
                m_sheets.text(paperText(m_play.text(at)), kBody, 24);
            }
        }
        if (!m_play.lesson().breaks.empty())
            m_sheets.text(tr("What is not so: *%1*.").arg(paperText(m_play.lesson().breaks)));
        if (!m_play.lesson().source.empty())
            m_sheets.text(tr("Source: %1").arg(paperText(m_play.lesson().source)), kSmall);
    }

private:
    static QString tr(const char* text) { return QCoreApplication::translate("app::Handout", text); }

    /// What is on screen when it is asked, once each. On paper all is seen at once: what an earlier answer uncovers is left out,
    /// but for what a question or a challenge is itself about.
    void pictures(std::size_t at)
    {
        const sim::ScenarioDocument* shown = m_play.shown(at);
        const sim::LessonStep& asking = m_play.step(at);
        const bool isAboutIt = asking.challenge || (asking.predict && asking.predict->on == m_play.shownName(at));
        if (shown == nullptr || (!isAboutIt && !m_open.contains(m_play.shownName(at))))
            return;
        std::vector<const PictureInfo*> wanted;
        const sim::LessonValue& view = m_play.view(at);
        if (const sim::LessonValue* names = view.is_object() ? sim::memberOf(view, "pictures") : nullptr)
            for (const std::string& name : sim::valueAs<std::vector<std::string>>(*names).value_or(std::vector<std::string>()))
                if (const PictureInfo* info = findPicture(name); info != nullptr && wanted.size() < 2)
                    wanted.push_back(info);
        if (wanted.empty())
            wanted = {&pictureInfo(Picture::timeline)};
        // What is asked of a picture is asked of it alone, and it does not tell it.
        const auto input = asking.predict ? std::optional(asking.predict->input) : std::nullopt;
        const bool asksForSlice = input == sim::QuestionInput::tensor, asksForRanks = input == sim::QuestionInput::ranks;
        if (asksForSlice)
            wanted = {&pictureInfo(Picture::storage)};
        if (asksForRanks) // by what is seen of them, where the lesson shows it
            std::erase_if(wanted, [](const PictureInfo* info) { return info->picture != Picture::timeline; });
        if (asksForRanks)
            wanted.insert(wanted.begin(), &pictureInfo(Picture::grid));
        if (const std::string drawn = m_play.shownName(at) + view.dump() + wanted.front()->name; drawn != m_drawn)
            m_drawn = drawn;
        else
            return;
        const SimulationPtr simulation = sim::simulate(sim::resolvedScenario(*shown, m_play.cases().catalogue()));
        const ShownStep step{simulation, std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))};
        Selection selection;
        if (view.is_object()) {
            const ViewState state = readViewState(view.dump(), simulation->mesh().worldSize()).state;
            selection.ranks = state.ranks;
            selection.selectedRank = state.rank;
        }
        if (asksForRanks)
            selection = {};
        selection.asksForSlice = asksForSlice;
        selection.asksForRanks = asksForRanks;
        std::vector<std::pair<std::unique_ptr<StepView>, PaperShape>> drawn;
        double height = 140; // of the question under them
        for (const PictureInfo* info : wanted) {
            drawn.emplace_back(info->make(selection, themeFor(ThemeChoice::light), nullptr), PaperShape());
            drawn.back().first->setStep(step);
            drawn.back().first->setForAudience(true);
            drawn.back().second = paperShapeOf(*drawn.back().first, info->picture);
            height += drawn.back().second.height + 24;
        }
        m_sheets.keep(height);
        bool tellsAnswers = false; // of any question: all are seen at once
        for (std::size_t question = 0; question < m_play.steps(); ++question)
            tellsAnswers = tellsAnswers || m_play.showsWhatIsAsked(question, at);
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            const QString caption = tr("%1: %2").arg(QCoreApplication::translate("Pictures", wanted[i]->title),
                                                     paperText(nameOf(simulation->scenario()).toStdString()));
            if (m_cut != nullptr && !drawn[i].second.isWhole)
                *m_cut << caption;
            m_sheets.picture(*drawn[i].first, drawn[i].second, caption, tellsAnswers);
        }
    }

    void room(const sim::AskedQuestion& asked)
    {
        using enum sim::QuestionInput;
        const sim::Question& question = asked.question();
        const QString unit = paperText(question.unit);
        const auto lettered = [&](std::size_t place, const std::string& text) {
            return QStringLiteral("**%1**  %2").arg(paperText(sim::letterOf(place)), paperText(asked.filled(text)));
        };
        switch (question.input) {
        case choice:
            for (std::size_t i = 0; i < question.options.size(); ++i)
                m_sheets.box(lettered(i, question.options[i].text));
            if (question.many)
                m_sheets.text(tr("Tick all that are so."), kSmall);
            break;
        case slider:
        case number:
            m_sheets.blank(question.range.empty()
                               ? tr("Answer:")
                               : tr("Between %1 and %2:").arg(rangeTexts(asked).first, rangeTexts(asked).second),
                           unit);
            break;
        case order:
            for (std::size_t i = 0; i < question.parts.size(); ++i)
                m_sheets.text(lettered(i, question.parts[i].text), kBody, 24);
            m_sheets.blank(tr("In order, by their letters:"), {}, 320);
            break;
        case bars:
            for (const sim::QuestionPart& part : question.parts)
                m_sheets.blank(paperText(asked.filled(part.text)).replace(QStringLiteral("**"), QString()) + QLatin1Char(':'),
                               unit, 140);
            break;
        case sketch: {
            QStringList places;
            for (const sim::LessonValue& place : asked.valueOf(question.over))
                places << paperText(sim::writtenValue(place, ""));
            m_sheets.axes(places, rangeTexts(asked).first, rangeTexts(asked).second);
            break;
        }
        case ranks:
            m_sheets.blank(tr("Ranks:"), {}, 420);
            break;
        case tensor:
            m_sheets.blank(tr("From:"), {}, 140);
            m_sheets.blank(tr("To (not in it any more):"), {}, 140);
            break;
        case actions:
            rows(asked.valueOf(question.on + ".ranks"), 0);
            m_sheets.ruled(static_cast<int>(std::min<std::size_t>(8, asked.valueOf(question.on + ".ranks").size())));
            break;
        }
        if (question.sure)
            m_sheets.blank(tr("How sure, in percent?"), {}, 80);
    }

    /// Actions, a line a rank.
    void rows(const sim::LessonValue& ranks, int indent)
    {
        for (const sim::LessonValue& row : ranks)
            m_sheets.text(QStringLiteral("`%1`").arg(paperText(row.get<std::string>())), kSmall + 1, indent);
    }

    void challengeRoom(const sim::Challenge& challenge)
    {
        constexpr int kLines = 4;
        m_sheets.text(challenge.changes == 1 ? tr("One change is possible: which, and why?")
                                             : tr("%1 changes are possible: which, and why?").arg(challenge.changes),
                      kSmall + 1);
        m_sheets.ruled(kLines);
    }

    Sheets& m_sheets;
    const sim::LessonPlay& m_play;
    std::uint64_t m_seed;
    QStringList* m_cut = nullptr;
    int m_number = 0;
    std::string m_drawn;          ///< case and view of the pictures drawn last
    std::set<std::string> m_open; ///< cases that are seen before anything is asked
};

/// While it lives: hashes are the same in every run.
struct FixedHashes {
    FixedHashes() { QHashSeed::setDeterministicGlobalSeed(); }
    ~FixedHashes() { QHashSeed::resetRandomGlobalSeed(); }
    FixedHashes(const FixedHashes&) = delete;
    FixedHashes& operator=(const FixedHashes&) = delete;
};

} // namespace

QByteArray handoutPdf(const sim::LessonPlay& play, std::uint64_t seed, const QString& version, QStringList* cut)
{
    constexpr int kDotsPerInch = 1200;
    constexpr double kPixelsPerInch = 96;
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    const FixedHashes fixed; // Qt writes the fonts in the order of a hash
    {
        QPdfWriter pdf(&buffer);
        pdf.setResolution(kDotsPerInch);
        pdf.setTitle(paperText(play.lesson().title));
        pdf.setCreator(QStringLiteral("Rankscope ") + version);
        pdf.setPageSize(QPageSize(QPageSize::A4));
        pdf.setPageMargins(QMarginsF());
        QPainter painter(&pdf);
        painter.scale(kDotsPerInch / kPixelsPerInch, kDotsPerInch / kPixelsPerInch);
        Sheets sheets(pdf, painter,
                      QCoreApplication::translate("app::Handout", "%1 · seed %2 · Rankscope %3")
                          .arg(paperText(play.lesson().id))
                          .arg(seed)
                          .arg(version));
        Handout handout(sheets, play, seed, cut);
        handout.questions();
        handout.key();
    }
    // The one thing in it that differs from run to run: when it was made.
    constexpr QByteArrayView kMade = "/CreationDate (D:";
    if (const qsizetype at = bytes.indexOf(kMade); at >= 0)
        for (qsizetype i = at + kMade.size(); i < bytes.size() && bytes[i] != ')'; ++i)
            if (bytes[i] >= '0' && bytes[i] <= '9')
                bytes[i] = '0';
    return bytes;
}

} // namespace app
