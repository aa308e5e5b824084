#include "app/shell/presentation/presentation.h"

#include "app/canvas/qt/canvas_widget.h"
#include "app/canvas/type_metrics.h"
#include "app/session/desk.h"
#include "app/shell/presentation/notes_window.h"
#include "app/shell/widgets/style.h"
#include "app/shell/window/workspace.h"
#include "app/views/common/step_view.h"

#include <QCursor>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMessageBox>
#include <QMouseEvent>
#include <QPainter>
#include <QScreen>
#include <QTextDocument>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {

constexpr int kLinesOnScreen = 45; ///< of the smallest text: what stays readable as the screen grows
constexpr int kSpot = 96;          ///< logical pixels across
constexpr int kHeadMargin = 28;
constexpr int kAboveHead = 14, kBelowHead = 8, kAboveFoot = 10, kBelowFoot = 20;

/// What a lecturer points with: light where it is, and the picture seen through.
class Spot final : public QWidget {
public:
    Spot(QWidget* parent, QColor color) : QWidget(parent), m_color(color)
    {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        resize(kSpot, kSpot);
        hide();
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        constexpr int kRing = 4;
        QColor inside = m_color;
        inside.setAlphaF(0.22F);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(m_color, kRing));
        painter.setBrush(inside);
        painter.drawEllipse(QRectF(rect()).adjusted(kRing, kRing, -kRing, -kRing));
    }

private:
    QColor m_color;
};

bool isAPress(const QKeyEvent& event) // and not Shift alone, on the way to one
{
    return event.key() != Qt::Key_Shift && event.key() != Qt::Key_Control && event.key() != Qt::Key_Alt;
}

/// What its keys do, as a table.
QString tellingKeys()
{
    const std::vector<std::pair<QString, QString>> keys{
        {Presentation::tr("Page Down, Space, →"), Presentation::tr("next")},
        {Presentation::tr("Page Up, Backspace, ←"), Presentation::tr("back")},
        {Presentation::tr("Home, End"), Presentation::tr("first, last")},
        {Presentation::tr("P, Enter"), Presentation::tr("play the step")},
        {QStringLiteral("1–%1").arg(pictures().size()), Presentation::tr("a picture comes or goes")},
        {Presentation::tr("B, ."), Presentation::tr("black")},
        {QStringLiteral("S"), Presentation::tr("spot where the pointer is")},
        {QStringLiteral("N"), Presentation::tr("notes")},
        {QStringLiteral("A"), Presentation::tr("ask the room")},
        {QStringLiteral("?"), Presentation::tr("these keys")},
        {Presentation::tr("Esc"), Presentation::tr("back to the window")},
    };
    QString rows;
    for (const auto& [key, does] : keys)
        rows += QStringLiteral("<tr><td style=\"padding-right: 24px\"><b>%1</b></td><td>%2</td></tr>")
                    .arg(key.toHtmlEscaped(), does.toHtmlEscaped());
    return QStringLiteral("<table>%1</table>").arg(rows);
}
} // namespace

Presentation::Presentation(Desk& desk, Workspace& workspace, std::unique_ptr<Talk> talk, Renderer renderer, const Theme& theme,
                           QWidget* parent)
    : QWidget(parent, Qt::Window), m_desk(desk), m_workspace(workspace), m_talk(std::move(talk)), m_renderer(renderer),
      m_heading(new QLabel), m_count(new QLabel), m_caption(new QLabel), m_row(new QHBoxLayout), m_black(new QWidget(this)),
      m_keys(new QLabel(this)), m_spot(new Spot(this, toQColor(theme.warning)))
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Presentation – Rankscope"));
    setAccessibleName(tr("Presentation"));
    setFocusPolicy(Qt::StrongFocus);
    setAutoFillBackground(true);
    setPalette(QPalette(toQColor(theme.canvas)));
    m_heading->setTextFormat(Qt::PlainText);
    m_caption->setTextFormat(Qt::PlainText);
    m_caption->setWordWrap(true);
    m_caption->setAlignment(Qt::AlignTop);
    setRole(m_count, "muted");
    m_heading->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // a long name does not make the screen wider
    m_row->setSpacing(0);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(kHeadMargin, kAboveHead, kHeadMargin, kBelowHead);
    head->setSpacing(kHeadMargin);
    head->addWidget(m_heading, 1);
    head->addWidget(m_count);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(kHeadMargin, kAboveFoot, kHeadMargin, kBelowFoot);
    foot->addWidget(m_caption);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(head);
    column->addLayout(m_row, 1);
    column->addLayout(foot);

    m_black->setAutoFillBackground(true);
    m_black->setPalette(QPalette(Qt::black));
    m_black->setAccessibleName(tr("Black"));
    m_black->hide();
    setRole(m_keys, "card");
    m_keys->setTextFormat(Qt::RichText);
    m_keys->setText(tellingKeys());
    m_keys->setAccessibleName(tr("Keys"));
    m_keys->setMargin(kHeadMargin);
    m_keys->hide();

    connect(&m_desk, &Desk::stepChanged, this, &Presentation::bringUpToDate);
    connect(&m_desk, &Desk::detailChanged, this, &Presentation::bringUpToDate);
    connect(&m_desk, &Desk::modelReady, this, &Presentation::bringUpToDate);
    connect(&m_desk, &Desk::selectionChanged, this, &Presentation::requestFrames);
    connect(&m_desk, &Desk::zoomChanged, this, &Presentation::requestFrames);
    m_workspace.setCovered(true);
    m_desk.playback().pause();
    for (const Picture picture : m_workspace.leaveNow())
        m_leftNow.push_back({picture, m_workspace.view(picture).mode()});
    connect(&m_desk, &Desk::opened, this, [this] { m_leftNow.clear(); });
    goTo(0);
    if (QGuiApplication::screens().size() > 1)
        showNotes(true);
}

Presentation::~Presentation()
{
    m_desk.disconnect(this);
    delete m_notes;
    for (const Shown& shown : m_shown) {
        shown.item.view->setForAudience(false);
        delete shown.canvas; // before the talk, whose view it may show
    }
    m_workspace.leaveNow(); // what was played here
    for (const LeftNow& left : m_leftNow)
        if (StepView& view = m_workspace.view(left.picture); view.mode() == left.mode)
            view.showNow();
    m_workspace.setCovered(false);
    Q_EMIT left();
}

void Presentation::goTo(int place)
{
    if (place < 0 || place >= m_talk->size())
        return;
    if (place != m_place) // a passage speaks of the ranks, not of what they did when the one before was shown
        m_desk.playback().pause();
    m_place = place;
    m_isAtPictures = false;
    m_workspace.leaveNow();
    m_slide = m_talk->goTo(place);
    m_caption->setText(m_slide.caption);
    m_caption->setVisible(!m_slide.caption.isEmpty());
    delete m_panel;
    m_panel = m_slide.beside ? m_slide.beside(this) : nullptr;
    if (m_panel != nullptr) {
        m_row->insertWidget(0, m_panel);
        m_panel->show();
    }
    show(itemsOf(m_slide));
    tellNotes();
}

NotesWindow* Presentation::notes() const
{
    return m_notes;
}

void Presentation::showNotes(bool wanted)
{
    if (!wanted) {
        delete m_notes;
        return;
    }
    if (m_notes)
        return m_notes->raise();
    m_notes = new NotesWindow(*this);
    tellNotes();
    const QScreen* mine = screen();
    for (const QScreen* other : QGuiApplication::screens())
        if (other != mine) {
            m_notes->setGeometry(other->availableGeometry());
            return m_notes->showMaximized();
        }
    m_notes->show();
}

/// On the only screen the class would read the answer with whoever presents.
void Presentation::askForNotes()
{
    auto* question = new QMessageBox(
        QMessageBox::Question, tr("Notes"),
        tr("There is one screen: the class would read the notes, and they tell the answers. Show them all the same?"),
        QMessageBox::Yes | QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setDefaultButton(QMessageBox::Cancel);
    question->setStyleSheet(QStringLiteral("font-size: %1px;").arg(m_smallestText));
    connect(question, &QMessageBox::finished, this, [this](int answer) {
        if (answer == QMessageBox::Yes)
            showNotes(true);
    });
    question->open();
}

void Presentation::askRoom()
{
    constexpr int kNotesText = 18; // read at arm's length
    QWidget* const reader = m_notes ? static_cast<QWidget*>(m_notes) : this;
    if (m_talk->askRoom(m_place, reader, m_notes ? kNotesText : m_smallestText, [this] { goTo(m_place); }))
        return;
    m_caption->setText(tr("Nothing is asked here. A asks the room on a slide with a question."));
    m_caption->show();
}

void Presentation::tellNotes()
{
    if (m_notes)
        m_notes->tell(m_count->text(), m_slide.notes, m_talk->upNext(m_place));
}

Presentation::Item Presentation::itemOf(Picture picture)
{
    return {picture, &m_workspace.view(picture)};
}

std::vector<Presentation::Item> Presentation::itemsOf(const Slide& slide)
{
    std::vector<Item> items;
    if (slide.own != nullptr)
        items.push_back({std::nullopt, slide.own});
    else
        for (const Picture picture : slide.pictures)
            items.push_back(itemOf(picture));
    return items;
}

/// What is shown already keeps its canvas.
void Presentation::show(const std::vector<Item>& wanted)
{
    std::vector<Shown> shown;
    for (const Item& item : wanted) {
        const auto known = std::find_if(m_shown.begin(), m_shown.end(), [&](const Shown& s) { return s.item == item; });
        if (known != m_shown.end()) {
            shown.push_back(*known);
            m_shown.erase(known);
            m_row->removeWidget(shown.back().canvas);
        } else {
            auto* canvas = new CanvasWidget(*item.view, m_renderer, this);
            item.view->setForAudience(true);
            canvas->setFocusPolicy(Qt::NoFocus); // keys are the clicker's
            canvas->setMinimumSize(1, 1);        // whatever room there is: the screen is not made wider
            canvas->installEventFilter(this);
            connect(canvas, &CanvasWidget::viewChanged, this, [this] {
                m_desk.selectionMayHaveChanged();
                requestFrames();
            });
            shown.push_back({item, canvas});
        }
        m_row->addWidget(shown.back().canvas, 1);
    }
    for (const Shown& gone : m_shown) {
        gone.item.view->setForAudience(false);
        delete gone.canvas;
    }
    m_shown = std::move(shown);
    for (const Shown& each : m_shown) {
        each.canvas->setMasked(m_slide.hidesQuantities);
        each.canvas->show();
    }
    m_black->raise();
    m_keys->raise();
    m_spot->raise();
    bringUpToDate();
}

/// A key of a picture: it comes first, for the last of two, or goes. The talk's own has the screen for itself.
void Presentation::toggle(Picture picture)
{
    std::vector<Item> wanted;
    for (const Shown& shown : m_shown)
        wanted.push_back(shown.item);
    const Item item = itemOf(picture);
    if (const auto at = std::find(wanted.begin(), wanted.end(), item); m_slide.own != nullptr) {
        wanted = at == wanted.end() ? std::vector{item} : itemsOf(m_slide);
    } else if (at == wanted.end()) {
        if (wanted.size() > 1)
            wanted.pop_back();
        wanted.insert(wanted.begin(), item);
    } else if (wanted.size() > 1) {
        wanted.erase(at);
    }
    m_isAtPictures = m_panel != nullptr; // where words leave no room for them
    show(wanted);
}

/// On a small screen a slide has its words first, then its pictures, or one picture after the other.
void Presentation::turn(int by)
{
    setBlack(false);
    if (!m_isSplit || m_isAtPictures == (by > 0))
        return goTo(m_place + by);
    m_isAtPictures = by > 0;
    fit();
    requestFrames();
}

void Presentation::bringUpToDate()
{
    for (const Shown& shown : m_shown)
        if (shown.item.picture)
            m_workspace.upToDateView(*shown.item.picture);
    fit(); // what is in them decides whether there is room for both
    requestFrames();
}

void Presentation::requestFrames()
{
    for (const Shown& shown : m_shown)
        shown.canvas->requestFrame();
}

std::vector<CanvasWidget*> Presentation::canvases() const
{
    std::vector<CanvasWidget*> out;
    for (const Shown& shown : m_shown)
        out.push_back(shown.canvas);
    return out;
}

QString Presentation::caption() const
{
    return m_caption->text();
}

void Presentation::setTextPercent(int percent)
{
    m_smallestText = std::max(1, kSmallestText * 100 / percent);
    fit();
}

bool Presentation::isBlack() const
{
    return !m_black->isHidden();
}

void Presentation::setBlack(bool black)
{
    m_black->setVisible(black);
    m_spot->setVisible(m_hasSpot && !black);
}

void Presentation::setSpot(bool on)
{
    m_hasSpot = on;
    m_spot->setVisible(on && !isBlack());
    moveSpot(QCursor::pos());
}

void Presentation::moveSpot(QPointF global)
{
    m_spot->move(mapFromGlobal(global).toPoint() - QPoint(kSpot / 2, kSpot / 2));
}

/// As large as it can be read from afar: texts grow with the screen, pictures with their smallest text.
void Presentation::fit()
{
    int text = std::max(m_smallestText, height() / kLinesOnScreen);
    m_isSplit = false;
    const bool wasAtPictures = m_isAtPictures;
    const auto sized = [](QLabel& label, int pixels, int weight) {
        label.setStyleSheet(QStringLiteral("font-size: %1px; font-weight: %2;").arg(pixels).arg(weight));
    };
    sized(*m_caption, text * 7 / 6, QFont::Normal);
    m_caption->ensurePolished();
    keepRoomForCaptions();
    if (m_panel != nullptr)
        text = fitPanel(text);
    else
        m_isSplit = !showAsManyAsFit(width(), text, wasAtPictures ? 1 : 0);
    m_isAtPictures = m_isAtPictures && m_isSplit;
    if (m_panel != nullptr) {
        m_panel->setVisible(!m_isAtPictures);
        if (m_isAtPictures)
            showAsManyAsFit(width(), text);
    }
    const QString place = tr("%1 of %2").arg(m_place + 1).arg(m_talk->size());
    m_count->setText(m_isSplit ? tr("%1, %2 of 2", "slide, part").arg(place).arg(m_isAtPictures ? 2 : 1) : place);
    const float magnification = static_cast<float>(text) / fontPixels(FontFace::small);
    for (const Shown& shown : m_shown) {
        shown.item.view->setForAudience(true, magnification);
        shown.canvas->setMagnification(magnification);
    }
    sized(*m_count, text, QFont::Normal);
    constexpr int kAroundHead = 3 * kHeadMargin;
    const int across = width() - kAroundHead - m_count->sizeHint().width();
    for (const int pixels : {text * 4 / 3, text * 7 / 6, text}) { // a long name is smaller, a longer one ends in "…"
        sized(*m_heading, pixels, QFont::DemiBold);
        m_heading->ensurePolished();
        if (m_heading->fontMetrics().horizontalAdvance(m_slide.heading) <= across)
            break;
    }
    m_heading->setText(m_heading->fontMetrics().elidedText(m_slide.heading, Qt::ElideRight, across));
    m_heading->setAccessibleName(m_slide.heading);
    const QString tips = QStringLiteral("QToolTip, QLabel[role=\"tip\"] { font-size: %1px; }").arg(text);
    if (styleSheet() != tips)
        setStyleSheet(tips); // tooltips are styled as what they are about
    m_black->setGeometry(rect());
    placeKeys(text);
}

/// In the middle, no larger than the window.
void Presentation::placeKeys(int text)
{
    QTextDocument keys; // a label that is hidden says the size of the text before
    keys.setHtml(m_keys->text());
    QFont font = m_keys->font();
    int pixels = text;
    QSize size;
    for (;; --pixels) {
        font.setPixelSize(pixels);
        keys.setDefaultFont(font);
        size = keys.size().toSize() + 2 * QSize(kHeadMargin, kHeadMargin);
        if (pixels <= m_smallestText / 2 || (size.width() <= width() && size.height() <= height()))
            break;
    }
    m_keys->setStyleSheet(QStringLiteral("font-size: %1px;").arg(pixels));
    m_keys->setGeometry(QRect(QPoint((width() - size.width()) / 2, (height() - size.height()) / 2), size));
}

bool Presentation::tellsKeys() const
{
    return !m_keys->isHidden();
}

void Presentation::tellKeys(bool tell)
{
    m_keys->setVisible(tell);
}

/// As high as the longest of them, or the pictures above would be laid out anew at every slide.
void Presentation::keepRoomForCaptions()
{
    QLabel probe;
    probe.setTextFormat(Qt::PlainText);
    probe.setWordWrap(true);
    probe.setFont(m_caption->font());
    int most = 0;
    for (const QString& caption : m_talk->captions()) {
        probe.setText(caption);
        most = std::max(most, caption.isEmpty() ? 0 : probe.heightForWidth(width() - 2 * kHeadMargin));
    }
    m_caption->setMinimumHeight(most);
}

int Presentation::roomBelowHead(int text) const
{
    // Their margins do not shrink with the text.
    const int head = kAboveHead + text * 5 / 3 + kBelowHead; // a line of its largest
    const int caption =
        m_caption->isHidden() ? 0 : std::max(m_caption->minimumHeight(), m_caption->heightForWidth(width() - 2 * kHeadMargin));
    return height() - head - kAboveFoot - caption - kBelowFoot;
}

/// One of two alone where both would be too narrow to be read, or one would be cut. False: one is not shown.
bool Presentation::showAsManyAsFit(int across, int text, std::size_t alone)
{
    constexpr int kLeastAcross = 12; // times the text
    const auto count = static_cast<int>(m_shown.size());
    const auto isWhole = [&](const Shown& shown) {
        const float scale = static_cast<float>(text) / fontPixels(FontFace::small);
        if (!shown.item.picture)
            return true;
        const auto least = m_workspace.view(*shown.item.picture).leastHeight(static_cast<float>(across / count) / scale);
        return !least || *least * scale <= static_cast<float>(roomBelowHead(text));
    };
    const bool hasRoomForAll = across >= count * kLeastAcross * text && std::ranges::all_of(m_shown, isWhole);
    for (std::size_t i = 0; i < m_shown.size(); ++i)
        m_shown[i].canvas->setVisible(i == std::min(alone, m_shown.size() - 1) || hasRoomForAll);
    return hasRoomForAll || count < 2;
}

/// Words and pictures share the width; where words are many they get more of it, and at last all: pictures come after them. The
/// size of its text.
int Presentation::fitPanel(int text)
{
    constexpr std::array kShares{0.36, 0.46, 0.6};
    const int room = roomBelowHead(text);
    const auto take = [&](int pixels, int across, bool withPictures) {
        m_panel->setTextPixels(pixels);
        m_panel->setFixedWidth(across);
        if (withPictures)
            return static_cast<void>(showAsManyAsFit(width() - across, text));
        for (const Shown& shown : m_shown)
            shown.canvas->hide();
    };
    for (const double share : kShares)
        for (const int pixels : {text * 3 / 2, text * 4 / 3, text * 7 / 6, text, m_smallestText}) {
            if (m_shown.empty())
                break;
            m_panel->setTextPixels(pixels);
            if (m_panel->neededHeight(static_cast<int>(width() * share)) <= room) {
                take(pixels, static_cast<int>(width() * share), true);
                return text;
            }
        }
    m_isSplit = !m_shown.empty();
    take(text, width(), false);
    if (!m_isSplit) // words alone: as large as they fit
        for (const int pixels : {text * 2, text * 5 / 3, text * 3 / 2, text * 4 / 3, text * 7 / 6}) {
            m_panel->setTextPixels(pixels);
            if (m_panel->neededHeight(width()) <= room)
                return text;
        }
    for (const int pixels : {text, m_smallestText, m_smallestText * 5 / 6, m_smallestText * 2 / 3}) { // no word is lost
        m_panel->setTextPixels(pixels);
        if (m_panel->neededHeight(width()) <= room)
            break;
    }
    return text;
}

bool Presentation::event(QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride) { // no key is the main window's
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

bool Presentation::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseMove && m_hasSpot)
        moveSpot(static_cast<QMouseEvent*>(event)->globalPosition());
    return QWidget::eventFilter(watched, event);
}

void Presentation::keyPressEvent(QKeyEvent* event)
{
    const auto turnTo = [this](int place) {
        setBlack(false);
        goTo(place);
    };
    const auto known = pictures();
    const int digit = event->key() - Qt::Key_1;
    const bool isAsked = event->key() == Qt::Key_Question || event->key() == Qt::Key_F1;
    if (tellsKeys() && isAPress(*event)) {
        tellKeys(false);
        if (isAsked || event->key() == Qt::Key_Escape) // of any other key the meaning was read there
            return;
    }
    switch (event->key()) {
    case Qt::Key_Question:
    case Qt::Key_F1:
        return tellKeys(true);
    case Qt::Key_PageDown:
    case Qt::Key_Right:
    case Qt::Key_Down:
    case Qt::Key_Space:
        return turn(1);
    case Qt::Key_PageUp:
    case Qt::Key_Left:
    case Qt::Key_Up:
    case Qt::Key_Backspace:
        return turn(-1);
    case Qt::Key_Home:
        return turnTo(0);
    case Qt::Key_End:
        return turnTo(m_talk->size() - 1);
    case Qt::Key_B:
    case Qt::Key_Period: // what the button of most clickers sends
        return setBlack(!isBlack());
    case Qt::Key_S:
        return setSpot(!m_hasSpot);
    case Qt::Key_N:
        return m_notes == nullptr && QGuiApplication::screens().size() < 2 ? askForNotes() : showNotes(m_notes == nullptr);
    case Qt::Key_A:
        return askRoom();
    case Qt::Key_P:
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return m_desk.playback().toggle();
    case Qt::Key_Escape:
    case Qt::Key_F9:
    case Qt::Key_F5: // of clickers that start and end with it
        close();
        return;
    default:
        if (digit >= 0 && digit < static_cast<int>(known.size()))
            return toggle(known[static_cast<std::size_t>(digit)].picture);
        QWidget::keyPressEvent(event);
    }
}

void Presentation::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fit();
}

} // namespace app
