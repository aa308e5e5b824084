// What the pictures of a plan share: one choice among them, pointing, keys. Each says where its spots are.
#pragma once

#include "app/canvas/view.h"
#include "app/views/common/theme.h"
#include "app/views/plan/plan_picture.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// What is chosen of a plan: a cell of the map, and a layout where one was simulated.
struct PlanChoice {
    int tp = 1, pp = 1;
    std::optional<sim::PlannedLayout> layout;
    bool isLayout(const sim::PlannedLayout& other) const { return layout && layout->settings == other.settings; }
    bool isSame(const PlanChoice& other) const
    {
        return tp == other.tp && pp == other.pp && layout.has_value() == other.layout.has_value() &&
               (!layout || isLayout(*other.layout));
    }
};
PlanChoice choiceOf(const sim::PlannedLayout&);
PlanChoice choiceOf(const PlanCell&);

using PlanPicturePtr = std::shared_ptr<const PlanPicture>;
using PlanChoicePtr = std::shared_ptr<std::optional<PlanChoice>>; ///< the same for all pictures of a plan

class PlanView : public View {
public:
    PlanView(PlanChoicePtr, const Theme&);
    void setPicture(PlanPicturePtr picture);
    void setTheme(const Theme& theme) { m_theme = theme; }
    void setHint(std::string title, std::string hint);
    /// After a press or a key chose something; a double click opens it.
    void setChosen(std::function<void()> chosen) { m_chosen = std::move(chosen); }
    void setOpened(std::function<void()> opened) { m_opened = std::move(opened); }

    void draw(Canvas&) final;
    bool takesWheel() const override { return false; }
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override { return m_hovered ? CursorShape::pointingHand : CursorShape::arrow; }
    std::string tooltip() const override;

protected:
    /// Something that can be chosen, where it lies, and what a screen reader and the tooltip say of it.
    struct Spot {
        Rect rect;
        PlanChoice choice;
        std::string name;
    };
    virtual std::vector<Spot> spots(Rect area) const = 0;
    virtual void paint(Canvas&) const = 0; ///< of a picture that is not empty

    bool hasPicture() const { return m_picture && !m_picture->isEmpty(); }
    const PlanPicture& picture() const { return *m_picture; } ///< only where there is one
    const Theme& theme() const { return m_theme; }
    bool isChosen(const PlanChoice& choice) const { return *m_choice && (*m_choice)->isSame(choice); }
    bool isChosenCell(int tp, int pp) const { return *m_choice && (*m_choice)->tp == tp && (*m_choice)->pp == pp; }
    bool isHovered(const PlanChoice& choice) const { return m_hovered && m_hovered->choice.isSame(choice); }

private:
    void choose(const PlanChoice&);

    PlanChoicePtr m_choice;
    Theme m_theme;
    PlanPicturePtr m_picture;
    std::string m_title = "No plan yet", m_hint = "Press Plan: every layout of these GPUs is judged, the best is proved.";
    std::optional<Spot> m_hovered;
    std::function<void()> m_chosen, m_opened;
};

/// tp across, pp down: the best step of each, how much more than the first it takes; hatched what does not fit or is not legal.
class PlanHeatMap final : public PlanView {
public:
    using PlanView::PlanView;
    std::string title() const override { return "Plan: tensor by pipeline parallelism"; }
    /// With which a column has room for a number, and with which, so wide, each cell has room for a line of text and the legend
    /// for all its signs.
    float leastWidth() const;
    float leastHeight(float width) const;

protected:
    std::vector<Spot> spots(Rect area) const override;
    void paint(Canvas&) const override;

private:
    struct Frame;
    Frame frame(Rect area) const;
    void paintLegend(Canvas&, const Frame&) const;
};

/// The best layouts below each other, each split by what its step goes to.
class PlanBestLayouts final : public PlanView {
public:
    using PlanView::PlanView;
    std::string title() const override { return "Plan: the best layouts by what their steps go to"; }
    /// With which each layout has a row, of one line or of a line above its bar, and what the places mean is said below them.
    float leastHeight(bool hasWordsAboveBars) const;

protected:
    std::vector<Spot> spots(Rect area) const override;
    void paint(Canvas&) const override;

private:
    struct Frame;
    Frame frame(Rect area) const;
    void paintHead(Canvas&, const Frame&, const std::vector<std::string>& rows) const; ///< `rows`: what stands in them
};

/// Step time against memory: of all that were simulated, and the frontier where neither can be had for less of the other.
class PlanScatter final : public PlanView {
public:
    using PlanView::PlanView;
    std::string title() const override { return "Plan: step time against memory"; }

protected:
    std::vector<Spot> spots(Rect area) const override;
    void paint(Canvas&) const override;

private:
    struct Frame;
    Frame frame(Rect area) const;
};

/// 1, 2 or 5 times a power of ten, at least that.
double niceStepOf(double least);

} // namespace app
