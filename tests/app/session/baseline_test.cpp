// The baseline, what differs from it, and what is taken over from it.
#include "app/session/baseline.h"

#include "app/session/comparison_rows.h"
#include "app/session/lineup.h"
#include "app/session/scenario_changes.h"
#include "app/session/scenario_name.h"
#include "tests/app/session/session_fixtures.h"

#include <QCoreApplication>
#include <QFile>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

using namespace test;

struct Simulated {
    sim::ScenarioDocument document;
    SimulationPtr simulation;
    explicit Simulated(sim::ScenarioDocument of) : document(std::move(of)), simulation(sim::simulate(scenario(document))) {}
};

TEST(Baseline, KeepsWhatWasPinnedUntilItIsForgotten)
{
    Baseline baseline;
    int changes = 0;
    QObject::connect(&baseline, &Baseline::changed, [&] { ++changes; });
    EXPECT_FALSE(baseline.isPinned());
    EXPECT_FALSE(baseline.metrics());
    const Simulated tiny(document(kTiny));
    baseline.pin(QStringLiteral("tiny"), tiny.document, {tiny.simulation});
    EXPECT_TRUE(baseline.isReady());
    EXPECT_EQ(baseline.metrics()->stepTimeSeconds, tiny.simulation->metrics().stepTimeSeconds);
    EXPECT_EQ(baseline.document().text(), tiny.document.text());
    baseline.unpin();
    EXPECT_FALSE(baseline.isPinned());
    baseline.unpin();
    EXPECT_EQ(changes, 2);
}

TEST(Baseline, AnotherFileIsSimulatedBesides)
{
    Baseline baseline;
    ASSERT_TRUE(baseline.open(galleryFile(kSixteen), catalogue()).empty());
    EXPECT_TRUE(baseline.isPinned());
    EXPECT_FALSE(baseline.name().isEmpty());
    ASSERT_TRUE(waitFor([&] { return baseline.isReady(); }));
    EXPECT_EQ(baseline.metrics()->worldSize, 16);
    EXPECT_TRUE(baseline.actions());
}

/// As in figures and at the window's head, where it is the one that is open.
TEST(Baseline, AFileWithoutANameIsCalledWhatItIs)
{
    QTemporaryDir folder;
    sim::ScenarioDocument unnamed = document(kTiny);
    unnamed.erase("/name");
    const QString path = folder.filePath(QStringLiteral("run-7b.json"));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(unnamed.text()));
    file.close();
    const QString expected = generatedName(*unnamed.resolve(catalogue()).scenario);
    Baseline baseline;
    ASSERT_TRUE(baseline.open(path, catalogue()).empty());
    EXPECT_EQ(baseline.name(), expected);
    Lineup lineup;
    ASSERT_TRUE(lineup.open(path, catalogue()).empty());
    EXPECT_EQ(lineup.entries().front().name, expected);
}

TEST(Baseline, ABadFileChangesNothing)
{
    Baseline baseline;
    const Simulated tiny(document(kTiny));
    baseline.pin(QStringLiteral("tiny"), tiny.document, {tiny.simulation});
    EXPECT_FALSE(baseline.open(QStringLiteral("/no/such/file.json"), catalogue()).empty());
    EXPECT_EQ(baseline.name(), QStringLiteral("tiny"));
    QTemporaryDir folder;
    sim::ScenarioDocument wrong = document(kTiny);
    wrong.set("/layout/tp", "3");
    const QString path = folder.filePath(QStringLiteral("wrong.json"));
    wrong.saveFile(path.toStdString());
    const Problems problems = baseline.open(path, catalogue());
    EXPECT_FALSE(problems.empty());
    EXPECT_TRUE(baseline.isReady());
}

TEST(Baseline, ANewerOneIsNotOvertakenByAnOlder)
{
    Baseline baseline;
    ASSERT_TRUE(baseline.open(galleryFile(kLarge), catalogue()).empty());
    const Simulated tiny(document(kTiny));
    baseline.pin(QStringLiteral("tiny"), tiny.document, {tiny.simulation});
    for (int round = 0; round < 50; ++round) {
        QCoreApplication::processEvents();
        QThread::msleep(1);
    }
    EXPECT_EQ(baseline.metrics()->worldSize, tiny.simulation->metrics().worldSize);
}

TEST(ScenarioChanges, ValuesAreAsPeopleReadThem)
{
    EXPECT_EQ(valueText("8"), "8");
    EXPECT_EQ(valueText("131072"), "131,072");
    EXPECT_EQ(valueText("0.5"), "0.5");
    EXPECT_EQ(valueText("true"), "on");
    EXPECT_EQ(valueText("\"zb-h1\""), "zb-h1");
    EXPECT_EQ(valueText("[4,4,4,4,3,3]"), "4, 4, 4, 4 … (6)");
    EXPECT_EQ(valueText("{\"name\":\"H100\",\"memory_gib\":80}"), "H100");
}

TEST(ScenarioChanges, WhatFilesSayComesBeforeWhatFollows)
{
    const sim::ScenarioDocument a = document(kTiny);
    sim::ScenarioDocument b = a;
    b.set("/layout/dp", "4");
    b.set("/training/global_batch_size", "32");
    b.set("/cluster/nodes", "2");
    const auto changes = scenarioChanges(a, scenario(a), b, scenario(b));
    ASSERT_GE(changes.size(), 2U);
    EXPECT_EQ(changes[0].key.pointer, "/cluster/nodes");
    EXPECT_EQ(changes[1].key.pointer, "/layout/dp");
    EXPECT_EQ(changes[1].textA, "2");
    EXPECT_EQ(changes[1].textB, "4");
    EXPECT_TRUE(
        std::is_partitioned(changes.begin(), changes.end(), [](const ScenarioChange& change) { return !change.follows; }));
}

TEST(ScenarioChanges, SayHowManyLayersAreRecomputed)
{
    const sim::ScenarioDocument a = document("17-schedule-1f1b.json");
    sim::ScenarioDocument b = a;
    b.set("/training/recompute", R"({"kind":"full","layers":2})");
    const auto changes = scenarioChanges(a, scenario(a), b, scenario(b));
    const auto found = std::find_if(changes.begin(), changes.end(),
                                    [](const ScenarioChange& change) { return change.key.pointer == "/training/recompute"; });
    ASSERT_NE(found, changes.end());
    EXPECT_EQ(found->textB, "full, 2 layers a chunk");
}

TEST(ScenarioChanges, TakingThemAllOverMakesTheOther)
{
    const sim::ScenarioDocument a = document("17-schedule-1f1b.json");
    for (const char* file : {"18-schedule-interleaved-1f1b.json", "65-schedule-zb-h1.json", "21-slow-gpu.json", kSixteen}) {
        sim::ScenarioDocument b = document(file);
        // One after the other, each as it is offered then: what one takes along is no difference any more.
        for (auto changes = scenarioChanges(a, scenario(a), b, scenario(b)); !changes.empty() && !changes.front().follows;
             changes = scenarioChanges(a, scenario(a), b, scenario(b)))
            apply(b, makeAdoptEdit(changes, 0, {.from = a, .to = b, .catalogue = catalogue(), .fromIsA = true}));
        EXPECT_TRUE(sim::changedKeys(scenario(a), scenario(b)).empty()) << file;
    }
}

/// One chunk a rank is no interleaved schedule: the kind comes along, and the layers of the stages, but nothing else.
TEST(ScenarioChanges, WhatIsNotLegalAloneIsTakenWithWhatItNeeds)
{
    const sim::ScenarioDocument a = document("17-schedule-1f1b.json");
    sim::ScenarioDocument b = document("18-schedule-interleaved-1f1b.json");
    b.set("/training/overlap/grad_reduce", "false");
    const auto changes = scenarioChanges(a, scenario(a), b, scenario(b));
    for (std::size_t i = 0; i < changes.size(); ++i) {
        if (changes[i].follows)
            continue;
        sim::ScenarioDocument changed = b;
        const Edit edit = makeAdoptEdit(changes, i, {.from = a, .to = b, .catalogue = catalogue(), .fromIsA = true});
        apply(changed, edit);
        EXPECT_TRUE(changed.resolve(catalogue()).scenario) << edit.text;
        EXPECT_EQ(edit.assignments.front().pointer, changes[i].key.pointer);
        const bool alone = changes[i].key.pointer == "/training/overlap/grad_reduce";
        EXPECT_EQ(edit.assignments.size() == 1, alone) << edit.text;
        if (!alone) {
            EXPECT_EQ(edit.text.find("grad reduce"), std::string::npos) << edit.text;
        }
    }
}

TEST(ScenarioChanges, AnEditSaysWhatItDoes)
{
    const sim::ScenarioDocument a = document(kTiny);
    sim::ScenarioDocument b = a;
    b.set("/training/overlap/grad_reduce", "false");
    const auto changes = scenarioChanges(a, scenario(a), b, scenario(b));
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(makeAdoptEdit(changes, 0, {.from = a, .to = b, .catalogue = catalogue(), .fromIsA = true}).text,
              "training overlap grad reduce off → on");
    EXPECT_EQ(makeAdoptEdit(changes, 0, {.from = b, .to = a, .catalogue = catalogue(), .fromIsA = false}).text,
              "training overlap grad reduce on → off");
}

TEST(ComparisonRows, PartsAddUpToTheirTotals)
{
    const Simulated a(document("17-schedule-1f1b.json")), b(document("65-schedule-zb-h1.json"));
    const auto rows = comparisonRows(sim::compare(*a.simulation, *b.simulation));
    double total = 0, parts = 0;
    RowUnit unit = RowUnit::count;
    const auto check = [&] {
        if (unit == RowUnit::seconds || unit == RowUnit::gib) {
            EXPECT_NEAR(total, parts, 1e-9 * std::abs(total));
        }
    };
    for (const ComparisonRow& row : rows) {
        if (row.isTotal) {
            check();
            total = row.delta();
            parts = 0;
            unit = row.unit;
        } else {
            parts += row.delta();
        }
    }
    EXPECT_EQ(rows.front().name, QStringLiteral("Step time"));
}

TEST(ComparisonRows, TellWhatTheSameTokensTakeAndCost)
{
    const Simulated a(document("17-schedule-1f1b.json")), b(document("65-schedule-zb-h1.json"));
    const sim::Comparison c = sim::compare(*a.simulation, *b.simulation);
    EXPECT_EQ(c.run.a.tokens, c.run.b.tokens);
    EXPECT_DOUBLE_EQ(c.run.a.days, sim::wholeRun(*a.simulation, c.run.a.tokens).days);
    const auto valueOf = [](const std::vector<ComparisonRow>& rows, RowUnit unit) {
        const auto row = std::find_if(rows.begin(), rows.end(), [unit](const ComparisonRow& of) { return of.unit == unit; });
        return row == rows.end() ? std::nullopt : std::optional(*row);
    };
    const auto untold = comparisonRows(c), told = comparisonRows(c, "dp", 2.5);
    EXPECT_FALSE(valueOf(untold, RowUnit::money));
    ASSERT_TRUE(valueOf(told, RowUnit::money) && valueOf(told, RowUnit::gpuHours) && valueOf(told, RowUnit::days));
    EXPECT_DOUBLE_EQ(valueOf(told, RowUnit::money)->b, 2.5 * c.run.b.gpuHours);
    EXPECT_DOUBLE_EQ(valueOf(told, RowUnit::kilowattHours)->a, *c.run.a.mostEnergyKwh());
    EXPECT_EQ(valueOf(told, RowUnit::days)->canTell(), told.front().canTell()) << "as sure as the step's time";
}

TEST(ComparisonRows, AsCsvAreALineEach)
{
    const Simulated a(document("17-schedule-1f1b.json")), b(document("65-schedule-zb-h1.json"));
    const auto rows = comparisonRows(sim::compare(*a.simulation, *b.simulation));
    ScenarioChange odd;
    odd.key = {"/schedule/layers_per_stage", "[1,2]", "\"a \"\"b\""};
    const QString csv = comparisonCsv(rows, {odd});
    EXPECT_EQ(csv.count(QLatin1Char('\n')), static_cast<qsizetype>(rows.size()) + 2);
    EXPECT_TRUE(csv.startsWith(QStringLiteral("kind,name,unit,A,B,difference,likely low,likely high\nresult,Step time,s,")));
    EXPECT_TRUE(csv.contains(QStringLiteral("key,/schedule/layers_per_stage,,\"[1,2]\",\"\"\"a \"\"\"\"b\"\"\",,,\n")));
}

TEST(ComparisonRows, SayHowSureTheyAre)
{
    const Simulated a(document("17-schedule-1f1b.json")), b(document("65-schedule-zb-h1.json"));
    const sim::Comparison c = sim::compare(*a.simulation, *b.simulation);
    const auto rows = comparisonRows(c);
    const auto speed = std::find_if(rows.begin(), rows.end(),
                                    [](const ComparisonRow& row) { return row.name == QStringLiteral("Tokens a second"); });
    ASSERT_TRUE(rows.front().likely && speed != rows.end() && speed->likely);
    EXPECT_EQ(*rows.front().likely, c.likely);
    EXPECT_EQ(rows.front().canTell(), speed->canTell()) << "the batch is the same";
    EXPECT_NEAR(speed->likely->low * rows.front().likely->high, 1, 1e-9);
    for (const char* name : {"Of each GPU", "MFU"}) { // what is divided by the step's time is as sure as that
        const auto row =
            std::find_if(rows.begin(), rows.end(), [&](const ComparisonRow& of) { return of.name == QLatin1String(name); });
        ASSERT_TRUE(row != rows.end() && row->likely) << name;
        EXPECT_EQ(row->canTell(), speed->canTell()) << name;
        EXPECT_NEAR(row->likely->predicted, row->b / row->a, 1e-9) << name;
        EXPECT_NEAR(row->likely->high / row->likely->predicted, speed->likely->high / speed->likely->predicted, 1e-9) << name;
    }
    EXPECT_FALSE(rows[1].likely) << "of parts nothing is known";
    const QStringList fields = comparisonCsv(rows, {}).section(QLatin1Char('\n'), 1, 1).split(QLatin1Char(','));
    ASSERT_EQ(fields.size(), 8);
    EXPECT_LT(fields[6].toDouble(), fields[5].toDouble());
    EXPECT_GT(fields[7].toDouble(), fields[5].toDouble());
    const auto same = comparisonRows(sim::compare(*a.simulation, *a.simulation));
    EXPECT_FALSE(same.front().canTell()) << "nothing differs";
}

TEST(Session, ContentIsReplacedInOneStepThatCanBeUndone)
{
    Session session(catalogue(), {});
    ASSERT_TRUE(session.open(galleryFile(kTiny)).empty());
    const std::string before = session.document().text();
    const sim::ScenarioDocument other = document(kSixteen);
    session.replaceContent(other, QStringLiteral("back to the baseline"));
    EXPECT_EQ(session.document().text(), other.text());
    EXPECT_EQ(session.path(), galleryFile(kTiny)) << "the file stays";
    EXPECT_EQ(session.undoStack().undoText(), QStringLiteral("back to the baseline"));
    session.replaceContent(other, QStringLiteral("again"));
    EXPECT_EQ(session.undoStack().count(), 1);
    session.undoStack().undo();
    EXPECT_EQ(session.document().text(), before);
}

TEST(Lineup, TakesFourBesideTheTwoAndNoMore)
{
    Lineup lineup;
    for (const char* name : {kTiny, kSixteen, "17-schedule-1f1b.json", "16-schedule-gpipe.json"})
        ASSERT_TRUE(lineup.open(galleryFile(name), catalogue()).empty()) << name;
    EXPECT_TRUE(lineup.isFull());
    EXPECT_FALSE(lineup.isReady());
    const Problems refused = lineup.open(galleryFile(kTiny), catalogue());
    ASSERT_FALSE(refused.empty());
    EXPECT_NE(refused.front().text().find("six"), std::string::npos) << refused.front().text();
    ASSERT_TRUE(waitFor([&] { return lineup.isReady(); }));
    for (const Lineup::Entry& entry : lineup.entries())
        EXPECT_EQ(entry.step.simulation->scenario().name, entry.name.toStdString());
    lineup.remove(1);
    ASSERT_EQ(lineup.entries().size(), 3U);
    EXPECT_TRUE(lineup.isReady()) << "the others keep their steps";
    lineup.remove(7);
    EXPECT_EQ(lineup.entries().size(), 3U);
    lineup.clear();
    EXPECT_TRUE(lineup.entries().empty());
    EXPECT_TRUE(lineup.isReady());
}

TEST(Lineup, OneThatIsTakenOutOnItsWayLeavesTheOthersTheirOwnSteps)
{
    Lineup lineup;
    ASSERT_TRUE(lineup.open(galleryFile(kSixteen), catalogue()).empty());
    ASSERT_TRUE(lineup.open(galleryFile(kTiny), catalogue()).empty());
    lineup.remove(0); // while it is simulated
    ASSERT_TRUE(waitFor([&] { return lineup.isReady(); }));
    ASSERT_EQ(lineup.entries().size(), 1U);
    EXPECT_EQ(lineup.entries()[0].step.simulation->mesh().worldSize(), 8);
    const QTemporaryDir folder;
    EXPECT_FALSE(lineup.open(folder.filePath(QStringLiteral("none.json")), catalogue()).empty());
    EXPECT_EQ(lineup.entries().size(), 1U);
}

TEST(SeveralRows, HaveAValueForEachAndAreWhatPairsOfThemSay)
{
    const Simulated a(document("17-schedule-1f1b.json")), b(document("16-schedule-gpipe.json")), c(document(kTiny));
    const auto toB = comparisonRows(sim::compare(*a.simulation, *b.simulation));
    const auto toC = comparisonRows(sim::compare(*a.simulation, *c.simulation));
    const std::vector<SeveralRow> rows = severalRows({toB, toC});
    std::set<QString> names;
    for (const SeveralRow& row : rows) {
        ASSERT_EQ(row.values.size(), 3U);
        EXPECT_TRUE(names.insert(row.name).second) << row.name.toStdString() << " twice";
        for (const auto& [pair, place] : {std::pair{&toB, 1U}, {&toC, 2U}})
            for (const ComparisonRow& of : *pair)
                if (of.name == row.name) {
                    EXPECT_EQ(row.values[0], of.a);
                    EXPECT_EQ(row.values[place], of.b);
                }
    }
    for (const auto* pair : {&toB, &toC})
        for (const ComparisonRow& of : *pair)
            EXPECT_TRUE(names.contains(of.name));
    const QString csv = severalCsv({QStringLiteral("1F1B"), QStringLiteral("GPipe"), QStringLiteral("Tiny, small")}, {toB, toC});
    EXPECT_EQ(csv.section(QLatin1Char('\n'), 0, 0),
              QStringLiteral("name,unit,A: 1F1B,B: GPipe,\"C: Tiny, small\",B - A likely low,B - A likely high,"
                             "C - A likely low,C - A likely high"));
    const QStringList lines = csv.split(QLatin1Char('\n'));
    const auto memory =
        std::find_if(lines.begin(), lines.end(), [](const QString& l) { return l.startsWith(u"Memory of a GPU,GiB,"); });
    ASSERT_NE(memory, lines.end()) << "whether a peak fits can be seen";
    EXPECT_EQ(memory->section(QLatin1Char(','), 2, 2).toDouble(), a.simulation->scenario().cluster.gpu.memoryGib);
    const QStringList step = lines[1].split(QLatin1Char(','));
    ASSERT_EQ(step.size(), 9) << lines[1].toStdString();
    EXPECT_NEAR(step[5].toDouble(), toB.front().a * (toB.front().likely->low - 1), 1e-12);
    EXPECT_NEAR(step[6].toDouble(), toB.front().a * (toB.front().likely->high - 1), 1e-12);
    EXPECT_TRUE(step[7].isEmpty() && step[8].isEmpty()) << "no steps of CPUs were measured";
    EXPECT_EQ(csv.count(QLatin1Char('\n')), static_cast<qsizetype>(rows.size()) + 1);
}

} // namespace
} // namespace app
