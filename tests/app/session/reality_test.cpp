// What others measured of jobs of the gallery: the files are there, the numbers are those of the published rows, and a job is
// known by what it is.
#include "app/session/reality.h"

#include "sim/error.h"
#include "tests/app/session/session_fixtures.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace app {
namespace {

using namespace test;
using Quantity = Measurement::Quantity;

const Reality& reality()
{
    static const Reality kReality = Reality::read(catalogue().assets());
    return kReality;
}

std::map<QString, QJsonObject> publishedRows()
{
    QFile file(QStringLiteral(RANKSCOPE_SOURCE_DIR "/tests/data/published/core.json"));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    std::map<QString, QJsonObject> out;
    for (const QJsonValue& row : QJsonDocument::fromJson(file.readAll()).array())
        out[row.toObject().value(QLatin1String("id")).toString()] = row.toObject();
    return out;
}

TEST(Reality, EveryMeasurementIsOfAJobInTheGallery)
{
    ASSERT_GT(reality().measurements().size(), 30U);
    for (const Measurement& one : reality().measurements()) {
        SCOPED_TRACE(one.scenario.toStdString() + " " + one.row.toStdString());
        const sim::Scenario job = reality().scenarioOf(one, catalogue());
        EXPECT_EQ(one.gpus, job.layout.worldSize());
        EXPECT_EQ(one.stages, job.layout.pp);
        EXPECT_EQ(one.sequences, job.training.globalBatchSize);
        const auto found = reality().of(job, catalogue());
        EXPECT_EQ(std::count(found.begin(), found.end(), &one), 1);
        EXPECT_FALSE(one.differs.empty());
        for (const QString& reason : one.differs)
            EXPECT_TRUE(reason.endsWith(QLatin1Char('.'))) << reason.toStdString();
    }
}

TEST(Reality, NumbersAreThoseOfThePublishedRows)
{
    const auto rows = publishedRows();
    std::set<QString> withoutRow;
    for (const Measurement& one : reality().measurements()) {
        if (one.row.isEmpty()) {
            withoutRow.insert(one.title);
            const auto file = document((one.scenario + QStringLiteral(".json")).toUtf8().constData());
            const QString description = QString::fromStdString(scenario(file).description);
            EXPECT_TRUE(description.contains(QStringLiteral("reports %1 TFLOP/s a GPU").arg(one.measured)))
                << one.scenario.toStdString() << " does not quote " << one.measured;
            continue;
        }
        SCOPED_TRACE(one.row.toStdString());
        ASSERT_TRUE(rows.contains(one.row));
        const QJsonObject row = rows.at(one.row), measured = row.value(QLatin1String("measured")).toObject();
        const auto number = [](const QJsonObject& of, const char* key) { return of.value(QLatin1String(key)).toDouble(); };
        const double printed = one.quantity == Quantity::peakMemory
                                   ? std::max(number(measured, "mem_gib"), number(measured, "mem_gb"))
                                   : std::max(number(measured, "iter_time_s"),
                                              number(row.value(QLatin1String("derived")).toObject(), "iter_time_s"));
        EXPECT_EQ(one.measured, printed);
        EXPECT_EQ(one.title, row.value(QLatin1String("source")).toObject().value(QLatin1String("title")).toString());
        EXPECT_EQ(one.table, row.value(QLatin1String("source")).toObject().value(QLatin1String("table")).toString());
        EXPECT_TRUE(row.value(QLatin1String("verified")).toBool());

        // The same job, as far as the row says.
        const sim::Scenario job = reality().scenarioOf(one, catalogue());
        const QJsonObject par = row.value(QLatin1String("par")).toObject(), batch = row.value(QLatin1String("batch")).toObject();
        EXPECT_EQ(job.layout.tp, par.value(QLatin1String("tp")).toInt());
        EXPECT_EQ(job.layout.pp, par.value(QLatin1String("pp")).toInt());
        EXPECT_EQ(job.layout.dp, par.value(QLatin1String("dp")).toInt());
        EXPECT_EQ(job.layout.worldSize(), row.value(QLatin1String("hw")).toObject().value(QLatin1String("gpus")).toInt());
        EXPECT_EQ(job.schedule.virtualStages, par.value(QLatin1String("vpp")).toInt(job.schedule.virtualStages));
        EXPECT_EQ(job.training.globalBatchSize, batch.value(QLatin1String("gbs")).toInt());
        EXPECT_EQ(job.training.microBatchSize, batch.value(QLatin1String("mbs")).toInt(job.training.microBatchSize));
        EXPECT_EQ(job.training.sequenceLength, row.value(QLatin1String("model")).toObject().value(QLatin1String("seq")).toInt());
        const QString schedule = par.value(QLatin1String("schedule")).toString();
        if (job.layout.pp > 1 && !schedule.isEmpty()) {
            EXPECT_EQ(QString::fromStdString(job.schedule.kind), schedule);
        }
    }
    EXPECT_EQ(withoutRow, (std::set<QString>{QStringLiteral("The Llama 3 Herd of Models")}));
}

TEST(Reality, AJobIsKnownByWhatItIsAndNotByItsName)
{
    sim::ScenarioDocument file = document("46-zero-bubble-1.5b.json");
    file.set("/name", "\"Mine\"");
    const auto of = [](const sim::ScenarioDocument& d) { return reality().of(scenario(d), catalogue()); };
    ASSERT_EQ(of(file).size(), 2U) << "step time and memory";
    EXPECT_EQ(of(file)[0]->measured, 1.52542);
    file.set("/schedule/kind", "zb-2p");
    ASSERT_EQ(of(file).size(), 1U) << "the same job under the schedule of the paper's last column";
    EXPECT_EQ(of(file)[0]->measured, 1.24138);
    file.set("/training/micro_batch_size", "3");
    EXPECT_TRUE(of(file).empty()) << "nobody published that";
    EXPECT_TRUE(of(document(kTiny)).empty());
}

TEST(Reality, ADamagedFileIsToldWithItsPlace)
{
    const QTemporaryDir folder;
    const std::filesystem::path assets = folder.path().toStdString();
    EXPECT_TRUE(Reality::read(assets).measurements().empty()) << "without the file nothing is known";
    for (const char* text :
         {"{", R"({"measurements": [{"scenario": "a"}]})",
          R"({"measurements": [{"scenario": "a", "quantity": "speed", "measured": 1, "source": {"title": "t"}}]})",
          R"({"measurements": [{"scenario": "a", "quantity": "step_time_s", "measured": -1, "source": {"title": "t"}}]})"}) {
        std::ofstream(assets / "reality.json") << text;
        try {
            Reality::read(assets);
            ADD_FAILURE() << text;
        } catch (const sim::Error& error) {
            EXPECT_NE(std::string(error.what()).find("reality.json"), std::string::npos) << error.what();
        }
    }
}

} // namespace
} // namespace app
