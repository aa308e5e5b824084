#include "app/canvas/qt/figure.h"
#include "app/canvas/qt/fonts.h"
#include "app/canvas/svg_canvas.h"
#include "sim/error.h"
#include "tests/app/canvas/qt/sample_view.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QXmlStreamReader>

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <sys/resource.h>

using namespace app;

namespace {

class DrawnView final : public View {
public:
    explicit DrawnView(std::function<void(Canvas&)> draw) : m_draw(std::move(draw)) {}
    std::string title() const override { return "a < b & \"c\""; }
    void draw(Canvas& canvas) override { m_draw(canvas); }

private:
    std::function<void(Canvas&)> m_draw;
};

QByteArray contents(const QString& path)
{
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
    return file.readAll();
}

QByteArray svgOf(const std::function<void(Canvas&)>& draw)
{
    SvgCanvas canvas({0, 0, 200, 140}, printedType());
    draw(canvas);
    return QByteArray::fromStdString(canvas.document("a < b & \"c\""));
}

QImage shown(const QByteArray& svg)
{
    QImage image(200, 140, QImage::Format_RGB32);
    image.fill(Qt::white);
    QSvgRenderer renderer(svg);
    EXPECT_TRUE(renderer.isValid());
    QPainter painter(&image);
    renderer.render(&painter);
    return image;
}

void expectWellFormed(const QByteArray& svg)
{
    QXmlStreamReader reader(svg);
    while (!reader.atEnd())
        reader.readNext();
    EXPECT_FALSE(reader.hasError()) << reader.errorString().toStdString() << "\n" << svg.toStdString();
}

std::string messageOf(const std::function<void()>& act)
{
    try {
        act();
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST(Figure, PngHasThePixelsOfTheView)
{
    const QTemporaryDir folder;
    test::SampleView view;
    const QString path = folder.filePath(QStringLiteral("figure.PNG"));
    saveFigure(view, path, {200, 140}, 3);
    const QImage png(path);
    EXPECT_EQ(png.size(), QSize(600, 420));
    EXPECT_EQ(png.pixel(75, 60), 0xFF0072B2U);
    EXPECT_EQ(png.pixel(29, 60), 0xFFFFFFFFU);
    EXPECT_EQ(png.pixel(30, 60), 0xFF0072B2U);
    EXPECT_EQ(png.pixel(90, 396), 0xFFFFFFFFU) << "outside the clip";
}

TEST(Figure, PdfIsVectorAndAsLargeAsTheView)
{
    const QTemporaryDir folder;
    test::SampleView view;
    const QString path = folder.filePath(QStringLiteral("figure.pdf"));
    saveFigure(view, path, {960, 480});
    const QByteArray pdf = contents(path);
    EXPECT_TRUE(pdf.startsWith("%PDF-"));
    EXPECT_TRUE(pdf.contains("/MediaBox [0 0 720")) << "960 pixels at 96 to the inch are 720 points";
    EXPECT_TRUE(pdf.contains("/FontFile")) << "text is text, with its font";
    EXPECT_FALSE(pdf.contains("/Subtype /Image")) << "and nothing is a picture";
}

TEST(Figure, SvgShowsWhatTheViewDraws)
{
    const QTemporaryDir folder;
    test::SampleView view;
    const QString path = folder.filePath(QStringLiteral("figure.svg"));
    saveFigure(view, path, {200, 140});
    const QByteArray svg = contents(path);
    expectWellFormed(svg);
    EXPECT_TRUE(svg.contains("<title>Sample</title>"));
    EXPECT_TRUE(svg.contains("Small 0123456789</text>")) << "text stays text";
    EXPECT_TRUE(svg.contains("<title>blue box</title>")) << "names show as tooltips";
    const QImage image = shown(svg);
    EXPECT_EQ(image.pixel(25, 20), 0xFF0072B2U);
    EXPECT_EQ(image.pixel(39, 29), 0xFF0072B2U);
    EXPECT_EQ(image.pixel(40, 30), 0xFFFFFFFFU);
    EXPECT_EQ(image.pixel(50, 10), 0xFF202020U);
    EXPECT_EQ(image.pixel(52, 12), 0xFFFFFFFFU) << "outlines lie inside their rectangle";
    EXPECT_EQ(image.pixel(20, 40), 0xFF202020U);
    EXPECT_EQ(image.pixel(20, 39), 0xFFFFFFFFU) << "lines lie below their coordinate";
    EXPECT_EQ(image.pixel(152, 50), 0xFF202020U);
    EXPECT_NEAR(qRed(image.pixel(30, 125)), 0xF2, 1) << "half of E69F00 over white";
    EXPECT_NEAR(qBlue(image.pixel(30, 125)), 0x7F, 1);
    EXPECT_EQ(image.pixel(30, 132), 0xFFFFFFFFU) << "outside the clip";
}

TEST(Figure, SvgClipsWhatIsCutAndLeavesOutWhatIsHidden)
{
    const QByteArray svg = svgOf([](Canvas& canvas) {
        canvas.pushClip({20, 20, 80, 60});
        canvas.text({30, 30}, "inside", test::kInk);
        canvas.text({60, 30}, "cut in half", test::kInk);
        canvas.text({100, 30}, "hidden", test::kInk);
        canvas.fillRect({0, 0, 200, 140}, test::kBlue);
        canvas.fillRect({100, 100, 120, 120}, test::kOrange);
        canvas.pushClip({70, 50, 200, 140});
        canvas.strokeRect({60, 40, 90, 70}, test::kInk);
        canvas.popClip();
        canvas.popClip();
        canvas.text({100, 100}, "after", test::kInk);
    });
    expectWellFormed(svg);
    EXPECT_FALSE(svg.contains("hidden"));
    EXPECT_FALSE(svg.contains("#e69f00"));
    EXPECT_TRUE(svg.contains(R"(<rect x="20" y="20" width="60" height="40" fill="#0072b2"/>)"));
    EXPECT_EQ(svg.count("clip-path="), 2) << svg.toStdString();
    EXPECT_EQ(svg.count("<clipPath"), 2);
    EXPECT_TRUE(svg.contains(R"(<rect x="70" y="50" width="10" height="10"/></clipPath>)")) << "clips narrow each other";
}

TEST(Figure, SvgIsValidWhateverTheTextsHold)
{
    const QByteArray svg = svgOf([](Canvas& canvas) {
        canvas.text({10, 10}, "std::vector<float> & \"quotes\" 'a' ]]>", test::kInk);
        canvas.text({10, 30}, std::string("\x01\x1b[31m\0red", 9), test::kInk);
        canvas.text({10, 50}, "\xFF\xC3 broken", test::kInk);
        canvas.node({.id = 1, .role = "cell", .name = "<&>", .rect = {0, 0, 10, 10}});
    });
    expectWellFormed(svg);
    EXPECT_TRUE(svg.contains("std::vector&lt;float&gt; &amp;"));
    EXPECT_TRUE(svg.contains("<title>a &lt; b &amp;"));
}

TEST(Figure, TellsWhatIsWrong)
{
    const QTemporaryDir folder;
    test::SampleView view;
    const auto save = [&](const QString& path, QSize size = {200, 140}, qreal scale = 2) {
        return messageOf([&] { saveFigure(view, path, size, scale); });
    };
    EXPECT_NE(save(folder.filePath(QStringLiteral("figure.bmp"))).find(".svg, .pdf or .png"), std::string::npos);
    EXPECT_NE(save(QStringLiteral("/nowhere/figure.svg")).find("/nowhere/figure.svg: cannot be written"), std::string::npos);
    EXPECT_NE(save(folder.filePath(QStringLiteral("figure.png")), {0, 140}).find("0 x 140"), std::string::npos);
    EXPECT_NE(save(folder.filePath(QStringLiteral("figure.png")), {200, 140}, 1e6).find("200 x 140"), std::string::npos);
    EXPECT_FALSE(QFileInfo::exists(folder.filePath(QStringLiteral("figure.png")))) << "nothing half written";
}

TEST(Figure, AFullDiskLeavesNothing)
{
    const QTemporaryDir folder;
    test::SampleView view;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN); // the write fails instead
    for (const char* name : {"figure.svg", "figure.pdf", "figure.png"}) {
        const QString path = folder.filePath(QLatin1String(name));
        const rlimit few{100, before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &few);
        const std::string why = messageOf([&] { saveFigure(view, path, {200, 140}); });
        ::setrlimit(RLIMIT_FSIZE, &before);
        EXPECT_NE(why.find("cannot be written: File too large"), std::string::npos) << name << ": " << why;
    }
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(QDir(folder.path()).isEmpty(QDir::Files | QDir::Hidden));
}

TEST(Figure, AFailedViewLeavesTheOldFileAlone)
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("figure.svg"));
    test::SampleView view;
    saveFigure(view, path, {200, 140});
    const QByteArray before = contents(path);
    DrawnView failing([](Canvas&) { throw sim::Error("no data"); });
    EXPECT_EQ(messageOf([&] { saveFigure(failing, path, {200, 140}); }), "no data");
    EXPECT_EQ(contents(path), before);
}
